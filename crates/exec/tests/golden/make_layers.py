"""Writes layers.json: what Keras computes for each layer at a tiny size, for comparison with ours.

  /path/to/venv/bin/python make_layers.py        (TensorFlow and Keras 3; about a minute)

Every number that goes in is made by a rule that the test repeats exactly:
- unit(N, j), in [-1, 1), is SplitMix64 of (FNV-1a of the name N, j), its upper 24 bits.
- element j of input i is unit("x<i>", j), or for token ids hash("x<i>", j) % vocabulary.
- element j of weight i, in the order of `model.weights`, is unit("w<i>", j) / 2; variances are 1 more, counts are 0.
- the loss is the sum of the output times unit("dy", j).
What comes out, in float64: the names and shapes of the weights, the output in inference mode, and in training mode the gradients of
all float inputs, then of all weights (null for those that are not learned). The batch is 2.
"""
import json, os
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
os.environ['CUDA_VISIBLE_DEVICES'] = ''
os.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'
import numpy as np
import tensorflow as tf
import keras
from keras import layers as L, ops
from keras.src.applications.convnext import LayerScale
from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

keras.backend.set_floatx('float64')
BATCH = 2
CASES = {}
M64 = (1 << 64) - 1


def hashes(name, n):
    seed = 0xcbf29ce484222325
    for byte in name.encode():
        seed = ((seed ^ byte) * 0x100000001b3) & M64
    golden = np.uint64(0x9e3779b97f4a7c15)
    start = np.uint64((seed * 0x9e3779b97f4a7c15) & M64)
    with np.errstate(over='ignore'):
        z = (start + np.arange(n, dtype=np.uint64)) * golden
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
        return z ^ (z >> np.uint64(31))


def unit(name, n):
    return (hashes(name, n) >> np.uint64(40)).astype(np.float64) / float(1 << 24) * 2.0 - 1.0


def case(name, inputs, build, vocab=None):
    """inputs: shapes of samples; with a vocabulary they are token ids."""
    assert name not in CASES, name
    CASES[name] = (inputs, build, vocab)


def one(name, shape, layer):
    case(name, [shape], lambda x: layer(x))


def run(name, inputs, build, vocab):
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    dtype = 'int32' if vocab else 'float64'
    symbolic = [keras.Input(shape, dtype=dtype) for shape in inputs]
    outputs = build(*symbolic)
    model = keras.Model(symbolic, outputs)
    weights = []
    for i, weight in enumerate(model.weights):
        last = weight.path.rsplit('/', 1)[-1]
        u = unit(f'w{i}', int(np.prod(weight.shape))).reshape(weight.shape) * 0.5
        value = 0 * u if last == 'count' else u + 1.0 if 'variance' in last else u
        weight.assign(value.astype(np.float32))
        weights.append([last, list(weight.shape)])
    for layer in model._flatten_layers():
        if isinstance(layer, L.Normalization):
            layer.finalize_state()
    data = []
    for i, shape in enumerate(inputs):
        full = (BATCH,) + tuple(shape)
        n = int(np.prod(full))
        values = hashes(f'x{i}', n) % np.uint64(vocab) if vocab else unit(f'x{i}', n).astype(np.float32)
        data.append(tf.constant(np.asarray(values).reshape(full), dtype))
    calm = np.asarray(model(data, training=False))
    with tf.GradientTape() as tape:
        tape.watch(data)
        y = model(data, training=True)
        dy = unit('dy', int(np.prod(y.shape))).astype(np.float32).reshape(y.shape)
        loss = tf.reduce_sum(tf.cast(y, 'float64') * dy)
    wanted = ([] if vocab else data) + [weight.value for weight in model.trainable_weights]
    found = tape.gradient(loss, wanted)
    floats = 0 if vocab else len(data)
    learned = {id(weight): gradient for weight, gradient in zip(model.trainable_weights, found[floats:])}
    gradients = list(found[:floats]) + [learned.get(id(weight)) for weight in model.weights]
    return dict(name=name, inputs=[list(shape) for shape in inputs], vocab=vocab, weights=weights,
                shape=list(calm.shape), output=flat(calm), gradients=[None if g is None else flat(tf.convert_to_tensor(g)) for g in gradients])


def flat(tensor):
    return [float(f'{x:.9g}') for x in np.asarray(tensor, np.float64).ravel()]


# Convolutions and pooling.
one('dense', (3, 4), L.Dense(3, activation='gelu', use_bias=False))
one('conv1d_causal', (7, 3), L.Conv1D(4, 3, padding='causal', dilation_rate=2, activation='tanh'))
one('conv1d_same_groups', (7, 4), L.Conv1D(4, 3, padding='same', strides=2, groups=2, use_bias=False))
one('conv2d_dilated_groups', (6, 7, 4), L.Conv2D(6, (2, 3), padding='same', dilation_rate=2, groups=2))
one('conv2d_groups_of_one', (6, 5, 3), L.Conv2D(6, 3, groups=3, strides=2))
one('conv2d_transpose', (3, 4, 2), L.Conv2DTranspose(3, 3, strides=2, padding='same', output_padding=1))
one('depthwise_conv1d', (7, 3), L.DepthwiseConv1D(3, strides=2, padding='same', depth_multiplier=2))
one('depthwise_conv2d_dilated', (6, 7, 2), L.DepthwiseConv2D((2, 3), dilation_rate=(2, 1), depth_multiplier=2, padding='same'))
one('separable_conv2d', (6, 5, 3), L.SeparableConv2D(4, 3, strides=2, padding='same', depth_multiplier=2, activation='relu'))
one('separable_conv1d', (7, 3), L.SeparableConv1D(4, 3, padding='same', depth_multiplier=2, use_bias=False))
one('max_pooling1d', (7, 3), L.MaxPooling1D(3, strides=2, padding='same'))
one('average_pooling1d', (7, 3), L.AveragePooling1D(3, strides=2, padding='same'))
one('max_pooling2d', (6, 7, 2), L.MaxPooling2D((3, 2), strides=(2, 3), padding='same'))
one('average_pooling2d', (6, 7, 2), L.AveragePooling2D(3, strides=1, padding='same'))
one('global_max_pooling1d', (5, 3), L.GlobalMaxPooling1D(keepdims=True))
one('global_average_pooling2d', (4, 3, 2), L.GlobalAveragePooling2D(keepdims=True))
case('masked_global_average_pooling1d', [(6,)], lambda x: L.GlobalAveragePooling1D()(L.Embedding(4, 3, mask_zero=True)(x)), 4)
one('zero_padding1d', (4, 3), L.ZeroPadding1D((1, 2)))
one('zero_padding2d', (3, 4, 2), L.ZeroPadding2D(((1, 2), (0, 3))))
one('cropping1d', (6, 2), L.Cropping1D((1, 2)))
one('cropping2d', (5, 6, 2), L.Cropping2D(((1, 2), (3, 0))))
one('up_sampling1d', (3, 2), L.UpSampling1D(3))
one('up_sampling2d_nearest', (2, 3, 2), L.UpSampling2D((2, 3)))
one('up_sampling2d_bilinear', (2, 3, 2), L.UpSampling2D((2, 3), interpolation='bilinear'))
one('resizing_bilinear', (4, 3, 2), L.Resizing(3, 5))
one('resizing_nearest', (4, 3, 2), L.Resizing(3, 5, interpolation='nearest'))

# Normalization.
one('batch_normalization', (3, 4), L.BatchNormalization(momentum=0.8, epsilon=0.01, scale=False))
one('batch_normalization_axis1', (3, 4, 2), L.BatchNormalization(axis=1, center=False))
one('layer_normalization_axes', (3, 4, 2), L.LayerNormalization(axis=[2, 3], epsilon=0.1))
one('layer_normalization_axis1', (3, 4), L.LayerNormalization(axis=1, center=False))
one('layer_normalization_outer_axes', (3, 4, 2), L.LayerNormalization(axis=[1, 3]))
one('rms_normalization', (3, 4), L.RMSNormalization(epsilon=0.01))
one('rms_normalization_axes', (3, 4, 2), L.RMSNormalization(axis=[2, 3], epsilon=0.1))
one('layer_normalization_rms', (3, 4), L.LayerNormalization(rms_scaling=True, epsilon=0.01))
one('group_normalization', (3, 2, 6), L.GroupNormalization(groups=3, epsilon=0.01))
one('group_normalization_each', (5, 4), L.GroupNormalization(groups=-1, center=False))
one('group_normalization_axis1', (4, 3, 2), L.GroupNormalization(groups=2, axis=1, scale=False))
one('unit_normalization', (3, 4), L.UnitNormalization(axis=[1, 2]))
one('normalization', (3, 4), L.Normalization())
one('normalization_axis1', (3, 4), L.Normalization(axis=1, invert=True))
one('normalization_given', (3, 4), L.Normalization(mean=[1.0, 2.0, 2.0, -1.0], variance=[4.0, 1.0, 0.25, 0.25]))
one('normalization_scalar', (3, 4), L.Normalization(axis=None, mean=0.5, variance=2.0, invert=True))
one('rescaling', (3, 4), L.Rescaling(0.5, offset=-1.0))
one('rescaling_channels', (2, 2, 3), L.Rescaling([0.5, 2.0, 2.0], offset=[1.0, 0.0, -1.0]))
one('layer_scale', (2, 3), LayerScale(1e-6, 3))

# Activations.
for activation in ('relu', 'relu6', 'leaky_relu', 'elu', 'selu', 'gelu', 'silu', 'sigmoid', 'hard_sigmoid', 'hard_silu', 'tanh', 'softplus',
                   'softsign', 'exponential', 'mish', 'linear', 'softmax', 'log_softmax', 'log_sigmoid', 'hard_tanh'):
    case('activation_' + activation, [(3, 5)], lambda x, a=activation: L.Activation(a)(L.Rescaling(5.0)(x)))
case('gelu_approximate', [(3, 5)], lambda x: ops.gelu(L.Rescaling(5.0)(x), approximate=True))
case('relu', [(3, 5)], lambda x: L.ReLU(max_value=2.0, negative_slope=0.25, threshold=0.5)(L.Rescaling(5.0)(x)))
case('relu_max', [(3, 5)], lambda x: L.ReLU(max_value=2.0)(L.Rescaling(5.0)(x)))
one('leaky_relu', (3, 4), L.LeakyReLU(negative_slope=0.1))
one('prelu', (3, 4, 2), L.PReLU(shared_axes=[1, 2]))
one('prelu_own', (3, 4), L.PReLU())
one('elu', (3, 4), L.ELU(alpha=0.5))
one('softmax_axis1', (3, 4), L.Softmax(axis=1))

# Random in training only: what they compute in inference mode. Their rate is 0 where gradients are compared.
one('dropout', (3, 4), L.Dropout(0.0))
one('gaussian_noise', (3, 4), L.GaussianNoise(0.0))

# Shapes and merging.
one('flatten', (3, 4), L.Flatten())
one('reshape', (3, 4), L.Reshape((2, -1)))
one('permute', (3, 4, 2), L.Permute((3, 1, 2)))
one('repeat_vector', (4,), L.RepeatVector(3))
for kind in ('Add', 'Subtract', 'Multiply', 'Average', 'Maximum', 'Minimum'):
    case('merge_' + kind.lower(), [(3, 4), (1, 4)], lambda a, b, k=kind: getattr(L, k)()([a, b]))
case('custom_scale_layer', [(3, 4), (3, 4)], lambda a, b: CustomScaleLayer(0.17)([a, b]))
case('merge_ranks', [(2, 3, 4), (4,)], lambda a, b: L.Multiply()([a, b]))
case('concatenate', [(3, 4), (2, 4)], lambda a, b: L.Concatenate(axis=1)([a, b]))
case('dot_vectors', [(4,), (4,)], lambda a, b: L.Dot(axes=1, normalize=True)([a, b]))
case('dot_sequences', [(3, 4), (5, 4)], lambda a, b: L.Dot(axes=2)([a, b]))
case('dot_mixed', [(3, 4), (4, 2)], lambda a, b: L.Dot(axes=(2, 1))([a, b]))
case('embedding', [(5,)], lambda x: L.Embedding(4, 3)(x), 4)

# Recurrence.
def masked(layer):
    return lambda x: layer(L.Embedding(4, 3, mask_zero=True)(x))
one('simple_rnn', (5, 3), L.SimpleRNN(4, activation='relu', return_sequences=True))
one('simple_rnn_backwards', (5, 3), L.SimpleRNN(4, use_bias=False, go_backwards=True, return_sequences=True))
case('simple_rnn_masked', [(6,)], masked(L.SimpleRNN(4)), 4)
one('lstm_activations', (5, 3), L.LSTM(4, activation='softsign', recurrent_activation='hard_sigmoid', return_sequences=True))
case('lstm_activations_masked', [(6,)], masked(L.LSTM(4, activation='relu', go_backwards=True)), 4)
one('lstm_backwards', (5, 3), L.LSTM(4, go_backwards=True, return_sequences=True, unit_forget_bias=False))
one('gru_reset_before', (5, 3), L.GRU(4, reset_after=False, return_sequences=True))
case('gru_reset_before_masked', [(6,)], masked(L.GRU(4, reset_after=False, use_bias=False)), 4)
one('gru_activations', (5, 3), L.GRU(4, activation='elu', recurrent_activation='hard_sigmoid'))
one('gru_backwards', (5, 3), L.GRU(4, go_backwards=True, return_sequences=True))
one('bidirectional_sum', (5, 3), L.Bidirectional(L.LSTM(4, return_sequences=True), merge_mode='sum'))
one('bidirectional_mul', (5, 3), L.Bidirectional(L.GRU(4, reset_after=False), merge_mode='mul'))
one('bidirectional_ave', (5, 3), L.Bidirectional(L.SimpleRNN(4, return_sequences=True), merge_mode='ave'))
case('bidirectional_masked', [(6,)], masked(L.Bidirectional(L.SimpleRNN(4))), 4)
one('time_distributed_dense', (4, 3), L.TimeDistributed(L.Dense(2, activation='tanh')))
one('time_distributed_conv', (2, 4, 5, 2), L.TimeDistributed(L.Conv2D(3, 2)))

# Attention and einsum.
one('einsum_dense', (3, 4), L.EinsumDense('abc,cde->abde', output_shape=(None, 2, 3), bias_axes='de', activation='relu'))
one('einsum_dense_combine', (3, 2, 4), L.EinsumDense('abcd,cde->abe', output_shape=(None, 5), bias_axes='e'))
one('einsum_dense_ellipsis', (3, 4), L.EinsumDense('...x,xy->...y', output_shape=5, bias_axes='y'))
one('einsum_dense_shared', (3, 4), L.EinsumDense('abc,bcd->abd', output_shape=(3, 2), bias_axes='bd'))
one('einsum_dense_turned', (3, 4), L.EinsumDense('abc,bd->adc', output_shape=(2, 4)))
case('attention_three', [(3, 4), (5, 4), (5, 3)], lambda q, v, k: L.MultiHeadAttention(2, 3, value_dim=2, output_shape=5)(q, v, k))
case('attention_causal', [(4, 3)], lambda x: L.MultiHeadAttention(2, 3, use_bias=False)(x, x, use_causal_mask=True))
case('shared_dense', [(3,), (3,)], lambda a, b: (lambda d: L.Subtract()([d(a), d(b)]))(L.Dense(4, activation='tanh')))

# Operations on tensors.
case('op_arithmetic', [(3, 4), (1, 4)], lambda a, b: (2.0 - a * 3.0 + b) / (ops.square(b) + 1.5) - 1.0)
case('op_power', [(3, 4)], lambda a: ops.power(ops.exp(a), 1.5) + 2.0 ** a)
case('op_divide_number', [(3, 4)], lambda a: 1.0 / (ops.absolute(a) + 1.0) + a / 4.0)
case('op_roots', [(3, 4)], lambda a: ops.log(ops.sqrt(ops.square(a) + 1.0)) - ops.rsqrt(ops.exp(-a)))
case('op_extremes', [(3, 4), (3, 4)], lambda a, b: ops.maximum(a, 0.25) + ops.minimum(a, b) + ops.minimum(b, 0.5))
case('op_mean', [(3, 4)], lambda a: ops.mean(a, axis=-1, keepdims=True) * ops.sum(a, axis=1, keepdims=True))
case('op_max', [(3, 4)], lambda a: ops.max(a, axis=[1, 2], keepdims=True) - ops.min(a, axis=1, keepdims=True))
case('op_get_item', [(5, 4)], lambda a: a[:, -1] * a[:, 1:-1][:, 0] + a[..., 0:1][:, 2])
case('op_new_axis', [(3, 4)], lambda a: a[:, None, 1:] * ops.expand_dims(a, -1)[:, :, 1:2, :])
case('op_shapes', [(3, 4)], lambda a: ops.matmul(ops.transpose(a, (0, 2, 1)), ops.reshape(a, (-1, 3, 4))))
case('op_squeeze', [(1, 4)], lambda a: ops.concatenate([ops.squeeze(a, 1), a[:, 0] * 2.0], axis=-1))
case('op_stack', [(4,), (4,)], lambda a, b: ops.softmax(ops.stack([a, b], axis=1), axis=1))
case('op_activations', [(3, 4)], lambda a: ops.relu(a) + ops.sigmoid(a) * ops.tanh(a) + ops.silu(a))

if __name__ == '__main__':
    results = [run(name, *rest) for name, rest in CASES.items()]
    head = dict(tensorflow=tf.__version__, keras=keras.__version__)
    lines = ',\n'.join(json.dumps(result, separators=(',', ':')) for result in results)
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, 'layers.json'), 'w') as file:
        file.write(json.dumps(head)[:-1] + ', "cases": [\n' + lines + '\n]}\n')
    print(len(results), 'cases')
