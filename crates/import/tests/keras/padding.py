"""Recurrent layers and padding: states that are given, results that are set to 0, masks that are overlooked and go on."""

import keras
from keras import layers as L, ops


def words(name, length, width):
    i = L.Input((length,), dtype="int32", name=name)
    return i, L.Embedding(5, width, mask_zero=True, name=f"{name}_vectors")(i)


def states_with_padding():
    """A sequence that comes with states is read as if it had no padding, and its mask goes on."""
    i, x = words("ids", 6, 3)
    s = L.Input((4,))
    _, h, c = L.LSTM(4, return_state=True)(x)
    results = [
        L.LSTM(4, return_sequences=True)(x, initial_state=[h, c]),
        L.GRU(4, return_sequences=True, go_backwards=True)(x, initial_state=s),
        L.SimpleRNN(4, return_sequences=True)(x, initial_state=[s]),
        L.Bidirectional(L.GRU(4, return_sequences=True))(x, initial_state=[s, h]),
        # A mask that is given is used; before the first position that counts the result is 0, not the state.
        L.GRU(4, return_sequences=True)(x, initial_state=s, mask=ops.not_equal(i, 1)),
        L.LSTM(4, return_sequences=True, unroll=True)(x, initial_state=[s, c], mask=ops.not_equal(i, 0)),
    ]
    pooled = [L.GlobalAveragePooling1D()(result) for result in results]
    last = L.GRU(4)(x, initial_state=s, mask=ops.not_equal(i, 3))
    return keras.Model([i, s], results + pooled + [last])


def zeros_at_padding():
    i, x = words("ids", 6, 3)
    zero = {"zero_output_for_mask": True}
    sequences = [
        L.LSTM(4, return_sequences=True, **zero)(x),
        L.GRU(4, return_sequences=True, go_backwards=True, **zero)(x),
        L.SimpleRNN(4, return_sequences=True, **zero)(x),
        L.LSTM(4, activation="relu", return_sequences=True, **zero)(x),
        L.RNN([L.GRUCell(3), L.LSTMCell(2)], return_sequences=True, **zero)(x),
    ]
    lasts = [L.LSTM(4, **zero)(x), L.GRU(4, go_backwards=True, **zero)(x), L.SimpleRNN(4, **zero)(x)]
    y, h = L.GRU(4, return_state=True, **zero)(x)
    z = L.Bidirectional(L.GRU(2, **zero))(x)
    pooled = [L.GlobalAveragePooling1D()(sequence) for sequence in sequences]
    return keras.Model(i, sequences + lasts + [y, h, z] + pooled)


def padded_frames():
    x = i = L.Input((3, 4, 5, 2))
    j = L.Input((3,), dtype="int32", name="ids")
    mask = ops.not_equal(j, 0)
    a = L.ConvLSTM2D(2, 2, return_sequences=True)(x, mask=mask)
    b = L.ConvLSTM2D(2, 2, return_sequences=True, zero_output_for_mask=True)(x, mask=mask)
    c = L.ConvLSTM2D(2, 2)(x, mask=mask)
    return keras.Model([i, j], [a, b, c])


LAYERS = {f.__name__: f for f in [states_with_padding, zeros_at_padding, padded_frames]}
