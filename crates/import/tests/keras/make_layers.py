"""Small models that have, together, every layer that is imported, with settings that are not the default."""

import keras
from keras import layers as L, ops


def ids(length):
    return L.Input((length,), dtype="int32", name="ids")


def images(*shape):
    return L.Input(shape or (9, 8, 4))


def model(inputs, outputs):
    return keras.Model(inputs, outputs)


def sequential():
    return keras.Sequential([
        L.Input((6,)), L.Dense(5, activation="tanh"), L.Dropout(0.3), L.Dense(4, use_bias=False, activation="selu"), L.Dense(3, "softmax"),
    ])


def convolutions():
    x = i = images()
    x = L.Conv2D(6, (3, 2), strides=(2, 1), padding="same", groups=2, activation="relu")(x)
    x = L.Conv2D(6, 3, dilation_rate=(1, 2), padding="same", use_bias=False)(x)
    x = L.SeparableConv2D(5, 3, depth_multiplier=2, padding="same", activation="elu")(x)
    x = L.SeparableConv2D(4, 2, strides=2, use_bias=False)(x)
    x = L.DepthwiseConv2D(2, depth_multiplier=2, padding="same", activation="sigmoid")(x)
    x = L.Conv2DTranspose(3, 3, strides=2, padding="same", activation="softplus")(x)
    x = L.Conv2DTranspose(3, 3, strides=2, output_padding=1, use_bias=False)(x)
    return model(i, x)


def sequences():
    x = i = L.Input((12, 4))
    x = L.Conv1D(6, 3, padding="causal", dilation_rate=2, activation="gelu")(x)
    x = L.Conv1D(4, 3, strides=2, groups=2, padding="same")(x)
    x = L.SeparableConv1D(5, 2, depth_multiplier=2)(x)
    x = L.DepthwiseConv1D(2, padding="same")(x)
    x = L.ZeroPadding1D((2, 1))(x)
    x = L.UpSampling1D(3)(x)
    x = L.Cropping1D((1, 2))(x)
    a = L.MaxPooling1D(3, strides=2, padding="same")(x)
    b = L.AveragePooling1D(3, strides=2, padding="same")(x)
    x = L.Concatenate(axis=1)([a, b])
    a, b = L.GlobalMaxPooling1D()(x), L.GlobalAveragePooling1D()(x)
    c = L.GlobalAveragePooling1D(keepdims=True)(x)
    return model(i, [L.Concatenate()([a, b]), c])


def image_sizes():
    x = i = images(7, 9, 3)
    x = L.ZeroPadding2D(((1, 2), (0, 3)))(x)
    x = L.UpSampling2D((2, 1))(x)
    x = L.UpSampling2D((1, 2), interpolation="bilinear")(x)
    x = L.Cropping2D(((1, 0), (2, 3)))(x)
    x = L.MaxPooling2D((2, 3), strides=(1, 2), padding="same")(x)
    x = L.AveragePooling2D(3, strides=2, padding="same")(x)
    a = L.GlobalMaxPooling2D(keepdims=True)(x)
    b = L.GlobalAveragePooling2D()(x)
    return model(i, [L.Flatten()(a), b, x])


def resizing():
    x = i = images(7, 9, 3)
    a = L.Resizing(5, 12, interpolation="bilinear")(x)
    b = L.Resizing(11, 4, interpolation="nearest")(x)
    return model(i, [a, b])


def normalizations():
    x = i = images(5, 4, 6)
    x = L.BatchNormalization(momentum=0.9, epsilon=1e-2)(x)
    x = L.BatchNormalization(axis=1, scale=False)(x)
    x = L.BatchNormalization(center=False)(x)
    x = L.LayerNormalization(epsilon=1e-4)(x)
    x = L.LayerNormalization(axis=[1, 2], center=False)(x)
    x = L.GroupNormalization(groups=3, scale=False)(x)
    x = L.GroupNormalization(groups=-1)(x)
    x = L.RMSNormalization(epsilon=1e-3)(x)
    x = L.UnitNormalization(axis=-1)(x)
    x = L.Normalization()(x)
    x = L.Normalization(mean=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6], variance=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])(x)
    x = L.Normalization(axis=None, mean=0.5, variance=2.0, invert=True)(x)
    x = L.Rescaling(0.5, offset=0.25)(x)
    x = L.Rescaling([1.0, 2.0, 3.0, 1.0, 2.0, 3.0])(x)
    return model(i, x)


def activations():
    x = i = L.Input((4, 6))
    names = "relu relu6 leaky_relu elu selu sigmoid hard_sigmoid tanh silu hard_silu gelu softplus softsign mish log_sigmoid hard_tanh exponential softmax log_softmax linear"
    outputs = [L.Activation(name)(x) for name in names.split()]
    outputs += [L.ReLU(max_value=1.0, negative_slope=0.1, threshold=0.2)(x), L.ReLU()(x), L.ReLU(6.0)(x), L.LeakyReLU(0.15)(x)]
    outputs += [L.PReLU()(x), L.PReLU(shared_axes=[1])(x), L.ELU(0.7)(x), L.Softmax()(x), L.Softmax(axis=1)(x)]
    return model(i, L.Concatenate(axis=1)(outputs))


def random_layers():
    x = i = images(5, 4, 6)
    x = L.Dropout(0.2, noise_shape=(None, 1, 1, 1))(x)
    x = L.SpatialDropout2D(0.3)(x)
    x = L.GaussianNoise(0.1)(x)
    x = L.Reshape((20, -1))(x)
    x = L.SpatialDropout1D(0.3)(x)
    return model(i, L.Dense(2)(x))


def shapes():
    x = i = L.Input((3, 4, 5))
    x = L.Permute((3, 1, 2))(x)
    x = L.Reshape((-1, 6))(x)
    x = L.Flatten()(x)
    x = L.Dense(4)(x)
    x = L.RepeatVector(3)(x)
    return model(i, x)


def merges():
    a, b = L.Input((4, 6)), L.Input((4, 6))
    x, y = L.Dense(6)(a), L.Dense(6)(b)
    merged = [L.Add()([x, y, a]), L.Subtract()([x, y]), L.Multiply()([x, y]), L.Average()([x, y, b]), L.Maximum()([x, y]), L.Minimum()([x, y])]
    joined = L.Concatenate(axis=1)(merged)
    dots = [L.Dot(axes=2)([x, y]), L.Dot(axes=(1, 1), normalize=True)([x, y])]
    return model([a, b], [joined] + dots)


def recurrences():
    x = i = ids(7)
    x = L.Embedding(5, 6, mask_zero=True)(x)
    x = L.Bidirectional(L.LSTM(4, return_sequences=True))(x)
    x = L.GRU(5, return_sequences=True, use_bias=False)(x)
    y = L.LSTM(3, go_backwards=True, unit_forget_bias=False)(x)
    z = L.Bidirectional(L.GRU(3))(x)
    return model(i, L.Concatenate()([y, z]))


def simple_rnn():
    x = i = L.Input((5, 4))
    x = L.SimpleRNN(6, return_sequences=True)(x)
    x = L.TimeDistributed(L.Dense(5, activation="relu"))(x)
    x = L.SimpleRNN(3, activation="relu", use_bias=False)(x)
    return model(i, x)


def recurrent_settings():
    x = i = L.Input((5, 4))
    a = L.GRU(3, reset_after=False)(x)
    b = L.LSTM(3, recurrent_activation="hard_sigmoid")(x)
    c = L.Bidirectional(L.LSTM(3), merge_mode="sum")(x)
    d = L.LSTM(3, activation="relu", dropout=0.2)(x)
    e = L.GRU(3, go_backwards=True, return_sequences=True)(x)
    return model(i, [a, b, c, d, e])


def attention():
    x = i = L.Input((6, 8))
    y = L.Dense(4)(x)
    x = L.MultiHeadAttention(2, 3)(x, x)
    x = L.MultiHeadAttention(2, 3, value_dim=5, use_bias=False)(x, y, key=x)
    x = L.MultiHeadAttention(2, 3, output_shape=7)(x, x, use_causal_mask=True)
    return model(i, x)


def masked_attention():
    x = i = ids(6)
    x = L.Embedding(5, 8, mask_zero=True)(x)
    y = L.MultiHeadAttention(2, 4)(x, x)
    x = L.Add()([x, y])
    x = L.LayerNormalization()(x)
    return model(i, L.GlobalAveragePooling1D()(x))


def einsum():
    x = i = L.Input((6, 8))
    x = L.EinsumDense("abc,cd->abd", output_shape=(None, 5), bias_axes="d", activation="relu")(x)
    x = L.EinsumDense("abc,cde->abde", output_shape=(None, 2, 3), bias_axes="de")(x)
    x = L.EinsumDense("abde,dec->abc", output_shape=(None, 4))(x)
    return model(i, x)


def nested():
    inner_input = L.Input((5,))
    hidden = L.Dense(4, activation="relu", name="hidden")(inner_input)
    normal = L.BatchNormalization(name="normal")(hidden)
    inner = keras.Model(inner_input, [normal, L.Dense(5, name="back")(normal)], name="inner")
    tail = keras.Sequential([L.Input((5,)), L.Dense(3, name="first"), L.Dense(5, name="second")], name="tail")
    outer_input = L.Input((5,))
    a, b = inner(outer_input)
    c, d = inner(tail(b))
    outer = keras.Model(outer_input, [L.Concatenate()([a, c]), tail(d)], name="outer")
    x = L.Input((5,))
    return model(x, outer(L.Dense(5)(x)))


def shared():
    a, b = L.Input((5,)), L.Input((5,))
    dense, normal = L.Dense(4, activation="tanh"), L.BatchNormalization()
    x, y = normal(dense(a)), normal(dense(b))
    return model([a, b], [L.Subtract()([x, y]), dense(L.Dense(5)(x))])


def frozen():
    x = i = L.Input((5,))
    x = L.Dense(4, trainable=False)(x)
    x = L.BatchNormalization(trainable=False)(x)
    return model(i, L.Dense(2)(x))


def arithmetic():
    a, b = L.Input((4, 6)), L.Input((4, 6))
    x, y = L.Dense(6)(a), L.Dense(6, activation="sigmoid")(b)
    z = 2.0 * x + y - 1.0
    z = (3.0 - z) / 4.0 + x * y - (y + 0.5) / (y + 1.0)
    z = -z + abs(x) + y ** 2.0
    w = ops.mean(z, axis=-1, keepdims=True)
    v = ops.sum(z, axis=1) + ops.max(z, axis=1)
    u = ops.sqrt(y) + ops.exp(z * 0.1) + ops.square(x) + ops.relu(x) + ops.sigmoid(x) + ops.tanh(y) + ops.log(y)
    u = ops.maximum(u, z) + ops.minimum(u, 0.5) + ops.maximum(x, 0.1)
    t = ops.concatenate([u, w], axis=-1)
    s = ops.reshape(t, (-1, 28)) * 0.5
    r = ops.transpose(z, (0, 2, 1)) @ x
    # Keras 3.15 adds wrongly where an axis happens to be as long as the batch, so this one is not.
    q = z[:, 1:4, ::1] + z[:, :1, 2:3]
    p = ops.matmul(x, ops.transpose(y, (0, 2, 1)))
    return model([a, b], [v, s, r, q, p, ops.softmax(w, axis=1), ops.expand_dims(v, 1), ops.squeeze(w, -1)])


def several():
    a, b = L.Input((4,)), ids(3)
    x = L.Dense(5, activation="relu")(a)
    y = L.Flatten()(L.Embedding(5, 2)(b))
    z = L.Concatenate()([x, y])
    return model([a, b], [L.Dense(3, "softmax")(z), L.Dense(1)(z), x])


def there_and_back():
    i = ids(6)
    tied, own = L.ReversibleEmbedding(5, 3, mask_zero=True), L.ReversibleEmbedding(5, 3, tie_weights=False, logit_soft_cap=2.0)
    x, y = tied(i), own(i)
    z = L.GRU(3, return_sequences=True)(x)
    return model(i, [tied(z, reverse=True), own(y, reverse=True), own(z, reverse=True), L.GlobalAveragePooling1D()(x)])


def attention_shared():
    """One layer in calls that say different things."""
    x = i = L.Input((4, 6))
    heads, single = L.MultiHeadAttention(2, 3), L.Attention(use_scale=True)
    y, s = heads(x, x, return_attention_scores=True)
    return model(i, [heads(y, x), heads(x, x, use_causal_mask=True), s, single([x, y]), single([y, x], use_causal_mask=True)])


LAYERS = {
    f.__name__: f
    for f in [
        sequential, convolutions, sequences, image_sizes, resizing, normalizations, activations, random_layers, shapes, merges, recurrences,
        simple_rnn, recurrent_settings, attention, masked_attention, einsum, nested, shared, frozen, arithmetic, several, there_and_back,
        attention_shared,
    ]
}


import attending  # noqa: E402
import augmentation  # noqa: E402
import padding  # noqa: E402
import preparation  # noqa: E402
import recurrence  # noqa: E402
import volumes  # noqa: E402

# These are compared in training, too: their gradients.
DIFFERENTIATED = {**preparation.LAYERS, **volumes.LAYERS, **recurrence.LAYERS, **augmentation.LAYERS, **attending.LAYERS, **padding.LAYERS}
# Of these the results in training are.
TRAINED = augmentation.TRAINED
LAYERS.update({**preparation.PLAIN, **augmentation.PLAIN, **attending.PLAIN})
