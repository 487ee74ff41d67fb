"""One layer with settings drawn at random, for `make_keras.py random`."""

import random

import keras
from keras import layers as L


def differentiable(name):
    return not name.endswith("counted")


def draw(seed, names=()):
    """Draws one of the kinds of these names, or of all, until Keras takes the settings."""
    r = random.Random(seed)
    kinds = [kind for kind in KINDS if not names or kind.__name__ in names]
    while True:
        kind = r.choice(kinds)
        try:
            return kind.__name__, kind(r)
        except Exception:  # noqa: BLE001: Keras refuses many combinations
            keras.backend.clear_session()


def counts(r, n, low=1, high=3):
    return tuple(r.randint(low, high) for _ in range(n))


def activation(r):
    return r.choice(["linear", "relu", "tanh", "sigmoid", "gelu", "silu", "elu", "softplus", "hard_sigmoid", "squareplus", "soft_shrink"])


def wired(shape, *layers):
    x = i = L.Input(shape)
    for layer in layers:
        x = layer(x)
    return keras.Model(i, x)


def moves(r, n):
    strides, dilation = counts(r, n), (1,) * n
    if max(strides) == 1:
        dilation = counts(r, n, 1, 2)
    return strides, dilation


def conv3d(r):
    strides, dilation = moves(r, 3)
    groups = r.choice([1, 1, 2])
    conv = L.Conv3D(2 * r.randint(1, 2), counts(r, 3), strides, r.choice(["valid", "same"]), dilation_rate=dilation, groups=groups, activation=activation(r), use_bias=r.random() < 0.7)
    return wired(counts(r, 3, 3, 6) + (2 * r.randint(1, 2),), conv)


def conv3d_transpose(r):
    strides = counts(r, 3)
    padding = r.choice([None, None, tuple(r.randint(0, max(s - 1, 0)) for s in strides)])
    conv = L.Conv3DTranspose(r.randint(1, 3), counts(r, 3), strides, r.choice(["valid", "same"]), output_padding=padding, activation=activation(r), use_bias=r.random() < 0.7)
    return wired(counts(r, 3, 2, 4) + (r.randint(1, 3),), conv)


def conv1d_transpose(r):
    stride = r.randint(1, 4)
    dilation = r.randint(1, 2) if stride == 1 else 1
    conv = L.Conv1DTranspose(r.randint(1, 3), r.randint(1, 4), stride, r.choice(["valid", "same"]), dilation_rate=dilation, activation=activation(r))
    return wired((r.randint(2, 7), r.randint(1, 3)), conv)


def pooling3d(r):
    layer = r.choice([L.MaxPooling3D, L.AveragePooling3D])
    return wired(counts(r, 3, 3, 6) + (2,), layer(counts(r, 3), counts(r, 3), r.choice(["valid", "same"])))


def volume_sizes(r):
    pairs = tuple(counts(r, 2, 0, 1) for _ in range(3))
    return wired(counts(r, 3, 3, 5) + (2,), r.choice([L.ZeroPadding3D(pairs), L.Cropping3D(pairs), L.UpSampling3D(counts(r, 3))]))


def adaptive(r):
    n = r.randint(1, 3)
    layer = getattr(L, f"Adaptive{r.choice(['Max', 'Average'])}Pooling{n}D")
    # With more windows than positions Keras 3.15 divides by zero.
    return wired(counts(r, n, 4, 7) + (2,), layer(counts(r, n, 1, 4) if n > 1 else r.randint(1, 4)))


def channels_first(r):
    first = {"data_format": "channels_first"}
    layer = r.choice([
        L.Conv2D(r.randint(1, 3), counts(r, 2), counts(r, 2), r.choice(["valid", "same"]), **first), L.MaxPooling2D(2, **first), L.AveragePooling2D(2, 1, "same", **first),
        L.GlobalMaxPooling2D(keepdims=r.random() < 0.5, **first), L.Conv2DTranspose(2, counts(r, 2), counts(r, 2), **first), L.DepthwiseConv2D(2, **first),
        L.SeparableConv2D(2, 2, **first), L.UpSampling2D(2, **first), L.ZeroPadding2D(1, **first), L.Flatten(**first),
    ])
    return wired((r.randint(1, 3),) + counts(r, 2, 4, 7), layer)


def resizing(r):
    aspect = r.choice([{}, {}, {"crop_to_aspect_ratio": True}, {"pad_to_aspect_ratio": True, "fill_value": 0.3}])
    how = r.choice(["nearest", "bilinear", "bicubic", "lanczos3", "lanczos5"])
    return wired(counts(r, 2, 3, 11) + (2,), L.Resizing(*counts(r, 2, 1, 11), interpolation=how, antialias=r.random() < 0.4, **aspect))


def center_crop(r):
    return wired(counts(r, 2, 3, 9) + (2,), L.CenterCrop(*counts(r, 2, 1, 9)))


def integers(r):
    x = i = L.Input((r.randint(1, 5),), dtype="int32", name="ids")
    mode = r.choice(["int", "one_hot"])
    mask = r.choice([None, 0, 3])
    layer = r.choice([
        L.Hashing(r.randint(2, 9), mask_value=mask, salt=r.choice([None, 3, [1, 2]]), output_mode="int"),
        L.IntegerLookup(vocabulary=r.sample(range(-2, 6), r.randint(1, 5)), mask_token=r.choice([None, 9]), num_oov_indices=r.randint(1, 3), output_mode=mode, oov_method=r.choice(["floormod", "farmhash"])),
    ])
    y = layer(x)
    y = L.Embedding(12, 2)(y) if len(y.shape) == 2 and "int" in y.dtype else L.Dense(2)(y)
    return keras.Model(i, y)


def integers_counted(r):
    x = i = L.Input((r.randint(1, 5),), dtype="int32", name="ids")
    mode = r.choice(["multi_hot", "count"])
    layer = r.choice([L.CategoryEncoding(r.randint(5, 8), mode), L.Hashing(r.randint(2, 9), output_mode=mode), L.IntegerLookup(vocabulary=[4, 1], output_mode=mode, mask_token=r.choice([None, 2]))])
    return keras.Model(i, L.Dense(2)(layer(x)))


def rnn_settings(r):
    return {"return_sequences": r.random() < 0.5, "go_backwards": r.random() < 0.3}


def cell(r):
    units, act = r.randint(1, 4), r.choice(["tanh", "relu", "softsign"])
    return r.choice([L.LSTMCell(units, act, use_bias=r.random() < 0.7), L.GRUCell(units, act, reset_after=r.random() < 0.5), L.SimpleRNNCell(units, act)])


def rnn_cells(r):
    cells = [cell(r) for _ in range(r.randint(1, 3))]
    return wired((r.randint(1, 5), 3), L.RNN(cells if len(cells) > 1 else cells[0], **rnn_settings(r)))


def rnn_states(r):
    a, b = L.Input((r.randint(1, 5), 3)), L.Input((r.randint(1, 4), 2))
    kind, units = r.choice([L.LSTM, L.GRU, L.SimpleRNN]), r.randint(1, 4)
    if r.random() < 0.5:
        y, *states = kind(units, return_state=True, **rnn_settings(r))(a)
        z = kind(units, **rnn_settings(r))(b, initial_state=states)
    else:
        y, *states = L.Bidirectional(kind(units, return_state=True, return_sequences=r.random() < 0.5), merge_mode=r.choice(["concat", "sum", "ave", "mul"]))(a)
        z = L.Bidirectional(kind(units))(b, initial_state=states)
    return keras.Model([a, b], [y, z])


def conv_lstm(r):
    n = r.choice([1, 2, 2, 3])
    strides, dilation = moves(r, n)
    layer = getattr(L, f"ConvLSTM{n}D")(r.randint(1, 3), counts(r, n), strides, r.choice(["valid", "same"]), dilation_rate=dilation, use_bias=r.random() < 0.7, activation=r.choice(["tanh", "relu"]), **rnn_settings(r))
    return wired((r.randint(1, 3),) + counts(r, n, 4, 6) + (2,), layer)


def distributed(r):
    inner = keras.Sequential([L.Input((4, 5, 2)), L.Conv2D(2, 2, activation=activation(r)), L.Flatten(), L.Dense(3)])
    return wired((r.randint(1, 4), 4, 5, 2), L.TimeDistributed(inner))


def dense(r):
    given = r.choice([L.LeakyReLU(r.random()), L.ELU(r.random()), L.ReLU(max_value=r.random() + 0.1, negative_slope=r.random(), threshold=r.random() / 2), activation(r)])
    return wired((3, 4), L.Dense(3, activation=given), L.Identity(), L.Activation(r.choice(["celu", "hard_shrink", "tanh_shrink", "sparse_plus", "sparse_sigmoid"])))


def attention_settings(r):
    causal, scores = r.random() < 0.4, r.random() < 0.3
    return {k: True for k, given in [("use_causal_mask", causal), ("return_attention_scores", scores)] if given}


def pair(r, width):
    """A query and a value, each with or without a mask."""
    inputs, tensors = [], []
    for _ in range(2):
        length = r.randint(2, 5)
        if r.random() < 0.6:
            inputs.append(L.Input((length,), dtype="int32", name=f"ids_{len(inputs)}"))
            tensors.append(L.Embedding(5, width, mask_zero=r.random() < 0.8)(inputs[-1]))
        else:
            inputs.append(L.Input((length, width)))
            tensors.append(inputs[-1])
    return inputs, tensors


def ended(inputs, results):
    """The results, and for sequences their means, which depend on masks."""
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    means = [L.GlobalAveragePooling1D()(result) for result in results if len(result.shape) == 3]
    return keras.Model(inputs, results + means)


def attention(r):
    inputs, (q, v) = pair(r, r.randint(1, 4))
    kind = r.choice([lambda: L.Attention(use_scale=r.random() < 0.5, score_mode=r.choice(["dot", "concat"])), lambda: L.AdditiveAttention(use_scale=r.random() < 0.5)])
    given = [q, v] + ([L.Dense(q.shape[-1])(v)] if r.random() < 0.3 else [])
    return ended(inputs, kind()(given, **attention_settings(r)))


def attention_of_heads(r):
    inputs, (q, v) = pair(r, 4)
    # With one number a head Keras 3.15 adds biases along time where there are as many positions as heads, so there are two or more.
    more = {"use_bias": r.random() < 0.6, "use_gate": r.random() < 0.3, "sliding_window": r.choice([None, None, 1, 2])}
    if r.random() < 0.5:
        heads = r.randint(1, 2)
        layer = L.GroupQueryAttention(r.randint(2, 3), heads * r.randint(1, 2), heads, **more)
    else:
        layer = L.MultiHeadAttention(r.randint(1, 3), r.randint(2, 3), **more)
    given = [q, v] + ([L.Dense(3)(v)] if r.random() < 0.3 else [])
    return ended(inputs, layer(*given, **attention_settings(r)))


def loop_settings(r):
    return {**rnn_settings(r), "zero_output_for_mask": r.random() < 0.4}


def on_words(r, width):
    """A layer from sequences with a mask to sequences of the same length and width."""
    kind = r.choice([L.LSTM, L.GRU, L.SimpleRNN])
    sequence = {"return_sequences": True, "zero_output_for_mask": r.random() < 0.3, "go_backwards": r.random() < 0.2}
    inner = keras.Sequential([L.Input((None, width)), L.Dense(width, activation="tanh"), L.Dropout(0.0)])
    return r.choice([
        lambda: kind(width, **sequence), lambda: L.RNN([L.GRUCell(2), L.LSTMCell(width)], **sequence),
        lambda: L.Bidirectional(kind(width, return_sequences=True), merge_mode=r.choice(["sum", "ave", "mul"])),
        lambda: L.TimeDistributed(L.Dense(width, activation=activation(r))), lambda: L.Dense(width, activation=activation(r)), lambda: inner,
        lambda: L.LayerNormalization(), lambda: L.BatchNormalization(), lambda: L.Conv1D(width, 2, padding="same"), lambda: L.Activation("relu"),
        lambda: L.Masking(r.choice([0.0, 0.5])), lambda: L.UnitNormalization(), lambda: L.GroupNormalization(1), lambda: L.RMSNormalization(),
        lambda: L.PReLU(shared_axes=[1]), lambda: L.ZeroPadding1D((0, 0)), lambda: L.Reshape((-1, width)), lambda: L.EinsumDense("abc,cd->abd", (None, width)),
        lambda: L.Identity(), lambda: L.SpatialDropout1D(0.0), lambda: L.Rescaling(0.5), lambda: L.ELU(0.5), lambda: L.LeakyReLU(0.1),
    ])()


def masks(r):
    """Two sequences with masks of their own, changed and merged at random."""
    length, width, inputs, tensors = r.randint(2, 5), r.randint(2, 3), [], []
    for number in range(r.randint(2, 3)):
        if r.random() < 0.7:
            inputs.append(L.Input((length,), dtype="int32", name=f"ids_{number}"))
            tensors.append(L.Embedding(5, width, mask_zero=r.random() < 0.8)(inputs[-1]))
        else:
            inputs.append(L.Input((length, width)))
            tensors.append(L.Masking(0.0)(L.ReLU(threshold=0.5)(inputs[-1])) if r.random() < 0.5 else inputs[-1])
    for _ in range(r.randint(1, 4)):
        if r.random() < 0.5:
            position = r.randrange(len(tensors))
            tensors[position] = on_words(r, width)(tensors[position])
        else:
            chosen = r.sample(tensors, 2)
            merge = r.choice([L.Add, L.Multiply, L.Average, L.Maximum, L.Minimum, L.Subtract, L.Concatenate, L.Attention])
            merged = merge()(chosen)
            tensors.append(L.Dense(width)(merged) if merge is L.Concatenate else merged)
    tensors.append(L.Concatenate(axis=1)(r.sample(tensors, 2)))
    ends = [r.choice([L.GlobalAveragePooling1D(), L.GlobalMaxPooling1D(), L.Flatten(), L.GRU(2), L.LSTM(2, go_backwards=True), L.Bidirectional(L.SimpleRNN(2))])(tensor) for tensor in tensors]
    return keras.Model(inputs, ends)


def states_and_masks(r):
    inputs, (a, b) = pair(r, 3)
    kind, units = r.choice([L.LSTM, L.GRU, L.SimpleRNN]), r.randint(1, 4)
    if r.random() < 0.6:
        y, *states = kind(units, return_state=True, **loop_settings(r))(a)
        z = kind(units, unroll=r.random() < 0.3, **loop_settings(r))(b, initial_state=states)
    else:
        y, *states = L.Bidirectional(kind(units, return_state=True, return_sequences=r.random() < 0.5))(a)
        z = L.Bidirectional(kind(units, return_sequences=r.random() < 0.5))(b, initial_state=states)
    return ended(inputs, [y, z])


KINDS = [conv3d, conv3d_transpose, conv1d_transpose, pooling3d, volume_sizes, adaptive, channels_first, resizing, center_crop, integers, integers_counted, rnn_cells, rnn_states, conv_lstm, distributed, dense, attention, attention_of_heads, masks, masks, states_and_masks]
