"""Attention of all kinds, with all kinds of masks."""

import keras
from keras import layers as L, ops


def ids(name, length):
    return L.Input((length,), dtype="int32", name=name)


def words(name, length, width):
    """Ids, and vectors with a mask for them."""
    i = ids(name, length)
    return i, L.Embedding(5, width, mask_zero=True, name=f"{name}_vectors")(i)


def dot_attention():
    a, b, c = L.Input((4, 3)), L.Input((5, 3)), L.Input((5, 2))
    y = L.Attention()([a, b])
    z = L.Attention(use_scale=True)([a, c, b])
    w, s = L.Attention(use_scale=True)([a, b], return_attention_scores=True, use_causal_mask=True)
    v = L.Attention()([y, a], use_causal_mask=True)
    return keras.Model([a, b, c], [y, z, w, s, v])


def summed_attention():
    a, b, c = L.Input((4, 3)), L.Input((5, 3)), L.Input((5, 2))
    y = L.Attention(score_mode="concat")([a, b])
    z, s = L.Attention(use_scale=True, score_mode="concat")([a, c, b], return_attention_scores=True)
    w = L.AdditiveAttention()([a, b], use_causal_mask=True)
    v = L.AdditiveAttention(use_scale=False)([a, c, b])
    return keras.Model([a, b, c], [y, z, s, w, v])


def attention_of_words():
    i, q = words("query_ids", 4, 3)
    j, v = words("value_ids", 5, 3)
    results = [
        L.Attention()([q, v]),
        L.Attention(use_scale=True)([q, v], use_causal_mask=True),
        L.AdditiveAttention()([q, v]),
        L.Attention(score_mode="concat")([q, v, L.Dense(3)(v)]),
        # What has no mask in the list has none.
        L.Attention()([q, v], mask=[None, ops.not_equal(j, 1)]),
        L.Attention()([q, v], mask=[ops.not_equal(i, 2), None]),
        L.Attention()([v, v]),
    ]
    # The mask of the query goes on.
    pooled = [L.GlobalAveragePooling1D()(result) for result in results]
    return keras.Model([i, j], results + pooled)


def attention_takes_masks_away():
    i, q = words("query_ids", 4, 4)
    y = L.MultiHeadAttention(2, 3)(q, q)
    z = L.Attention()([q, y])
    return keras.Model(i, [L.GlobalAveragePooling1D()(L.Add()([q, z])), L.GlobalAveragePooling1D()(z)])


def grouped_attention():
    a, b = L.Input((4, 6)), L.Input((5, 6))
    x = L.GroupQueryAttention(3, 4, 2)(a, b)
    y = L.GroupQueryAttention(2, 4, 1, use_bias=False)(x, x, use_causal_mask=True)
    z = L.GroupQueryAttention(2, 2, 2, use_gate=True)(a, b, b)
    w, s = L.GroupQueryAttention(2, 4, 2, sliding_window=2)(a, b, return_attention_scores=True)
    return keras.Model([a, b], [x, y, z, w, s])


def grouped_attention_of_words():
    i, q = words("query_ids", 4, 6)
    j, v = words("value_ids", 5, 6)
    x = L.GroupQueryAttention(3, 4, 2)(q, v)
    y = L.GroupQueryAttention(3, 4, 2)(q, v, use_causal_mask=True)
    z, s = L.GroupQueryAttention(3, 2, 1)(q, v, return_attention_scores=True)
    w = L.GroupQueryAttention(3, 2, 1)(q, v, query_mask=ops.not_equal(i, 1), value_mask=ops.not_equal(j, 1))
    results = [x, y, z, w]
    return keras.Model([i, j], results + [s] + [L.GlobalAveragePooling1D()(result) for result in results])


def attention_settings():
    a, b = L.Input((4, 6)), L.Input((5, 6))
    x, s = L.MultiHeadAttention(2, 3)(a, b, return_attention_scores=True)
    y = L.MultiHeadAttention(2, 3, use_gate=True)(a, a, use_causal_mask=True)
    z = L.MultiHeadAttention(2, 3, sliding_window=2)(a, b, use_causal_mask=True)
    w = L.MultiHeadAttention(2, 3, sliding_window=1)(a, a)
    return keras.Model([a, b], [x, s, y, z, w])


def attention_with_dropout():
    """Predictions alone: chance differs."""
    i, q = words("query_ids", 4, 6)
    j, v = words("value_ids", 5, 6)
    a = L.Attention(dropout=0.3)([q, v])
    b = L.AdditiveAttention(dropout=0.3)([q, v])
    c = L.GroupQueryAttention(3, 4, 2, dropout=0.3)(q, v)
    d, s = L.MultiHeadAttention(2, 3, dropout=0.3)(q, v, return_attention_scores=True)
    return keras.Model([i, j], [a, b, c, d, s])


LAYERS = {
    f.__name__: f
    for f in [
        dot_attention, summed_attention, attention_of_words, attention_takes_masks_away, grouped_attention, grouped_attention_of_words,
        attention_settings,
    ]
}
PLAIN = {"attention_with_dropout": attention_with_dropout}
