"""Recurrent layers with states that are given and taken, cells, convolutions through time, models at every position."""

import keras
from keras import layers as L


def states():
    a, b = L.Input((4, 3)), L.Input((5, 3))
    y, h, c = L.LSTM(2, return_state=True, return_sequences=True)(a)
    z, g = L.GRU(2, return_state=True)(a)
    r, q = L.SimpleRNN(3, return_state=True, return_sequences=True, go_backwards=True)(a)
    outputs = [y, z, r, L.LSTM(2, return_sequences=True)(b, initial_state=[h, c]), L.GRU(2)(b, initial_state=g)]
    outputs += [L.SimpleRNN(3)(b, initial_state=[q]), L.GRU(2, reset_after=False, return_sequences=True)(b, initial_state=[g])]
    return keras.Model([a, b], outputs)


def two_ways():
    a, b = L.Input((4, 3)), L.Input((5, 3))
    y, h, c, g, d = L.Bidirectional(L.LSTM(2, return_state=True, return_sequences=True), merge_mode="ave")(a)
    z = L.Bidirectional(L.LSTM(2), merge_mode="mul")(b, initial_state=[h, c, g, d])
    p, q = L.Bidirectional(L.GRU(3, return_sequences=True), merge_mode=None)(a)
    r = L.Bidirectional(L.LSTM(2), backward_layer=L.GRU(3, go_backwards=True))(a)
    return keras.Model([a, b], [y, z, p, q, r])


def cells():
    x = i = L.Input((4, 3))
    outputs = [
        L.RNN(L.LSTMCell(2, activation="relu"), return_sequences=True)(x),
        L.RNN(L.GRUCell(3, reset_after=False), go_backwards=True)(x),
        L.RNN(L.SimpleRNNCell(2, use_bias=False), unroll=True)(x),
        L.RNN([L.LSTMCell(2), L.GRUCell(3), L.LSTMCell(2, use_bias=False)], return_sequences=True, go_backwards=True)(x),
        L.RNN([L.SimpleRNNCell(3), L.GRUCell(2, reset_after=False, use_bias=False)])(x),
        L.Bidirectional(L.RNN(L.GRUCell(2)))(x),
    ]
    return keras.Model(i, outputs)


def convolved_through_time():
    x, y, z = L.Input((3, 5, 2)), L.Input((3, 4, 5, 2)), L.Input((2, 3, 4, 2, 1))
    a = L.ConvLSTM1D(2, 3, strides=2, padding="same", return_sequences=True)(x)
    b = L.ConvLSTM2D(2, (2, 3), dilation_rate=(1, 2), activation="relu", recurrent_activation="hard_sigmoid", go_backwards=True, return_sequences=True)(y)
    c, h, d = L.ConvLSTM2D(3, 3, padding="same", use_bias=False, return_state=True)(y)
    e = L.ConvLSTM2D(3, 3, padding="same")(y, initial_state=[h, d])
    f = L.ConvLSTM3D(2, 2, unit_forget_bias=False)(z)
    return keras.Model([x, y, z], [a, b, c, e, f])


def at_every_position():
    x = i = L.Input((4, 6, 5, 2))
    inner = keras.Sequential([L.Input((6, 5, 2)), L.Conv2D(3, 3, activation="relu"), L.MaxPooling2D(2), L.Flatten(), L.Dense(4)], name="inner")
    j = L.Input((4,))
    other = keras.Model(j, L.Add()([L.Dense(4)(j), j]), name="other")
    y = L.TimeDistributed(inner)(x)
    z = L.TimeDistributed(other)(y)
    return keras.Model(i, [L.LSTM(3)(z), L.TimeDistributed(L.LayerNormalization())(y)])


LAYERS = {f.__name__: f for f in [states, two_ways, cells, convolved_through_time, at_every_position]}
