"""Writes zoo.json: what TensorFlow computes for the models of the zoo, for comparison with ours.

  /path/to/venv/bin/python make_zoo.py        (TensorFlow and Keras 3; about two minutes on two cores)

Every number that goes in is made by a rule that the test repeats exactly, so only results are stored:
- unit(N, j), in [-1, 1), is SplitMix64 of (FNV-1a of the name N, j), its upper 24 bits.
- element j of parameter N is scale * unit(N, j) rounded to float32, where scale is sqrt(3 / fan) for kernels (fan: the
  product of all extents but the last; rows * columns of the window for depthwise kernels, [.., .., c, 1]), 1 for
  embeddings and 0.1 for the rest. `gamma` is 0.3 + 0.1 * unit and `beta` 0.5 + 0.1 * unit, so that most rectifiers are open: with 1
  and 0, gradients of the deep networks depend so wildly on rounding that float32 agrees with float64 in one digit.
  Moving statistics stay 0 and 1.
- the input x is low + (high - low) * (unit("x", j) + 1) / 2 rounded to float32, or for tokens hash("x", j) % vocab;
  the targets are hash("y", j) % classes.
What comes out, in float64: the loss and the gradients in training mode (dropout off), the predictions in inference mode. Of
a tensor t we keep its norm and its projection sum(t * unit(N + "/projection", j)) / sqrt(n). `float32_error` is how far
float32 TensorFlow is from that, relative to the norm: what tolerance to expect of a float32 kernel.
"""
import json, os, sys
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
os.environ['CUDA_VISIBLE_DEVICES'] = ''
os.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'
import numpy as np
import tensorflow as tf
import keras
from keras import layers as L
from keras.src.applications.efficientnet import EfficientNet

CLASSES = 10
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


def weight(name, shape):
    u = unit(name, int(np.prod(shape)))
    last = name.rsplit('/', 1)[-1]
    if last in ('gamma', 'beta'):
        u = (0.3 if last == 'gamma' else 0.5) + 0.1 * u
    elif last in ('kernel', 'recurrent_kernel'):
        depthwise = len(shape) == 4 and shape[3] == 1
        fan = shape[0] * shape[1] if depthwise else int(np.prod(shape[:-1]))
        u = np.sqrt(3.0 / fan) * u
    elif last != 'embeddings':
        u = 0.1 * u
    return u.astype(np.float32).reshape(shape)


def sketch(name, tensor):
    t = np.asarray(tensor, np.float64).ravel()
    return float(np.linalg.norm(t)), float(t @ unit(name + '/projection', t.size) / np.sqrt(t.size))


# The models. Those of keras.applications are taken from there; the others are spelled out, with Keras's own layer names.
def sequential(layers):
    i = x = layers[0]
    for layer in layers[1:]:
        x = layer(x)
    return keras.Model(i, x)


def mlp(features):
    return sequential([keras.Input((features,)), L.Dense(100, activation='relu'), L.Dense(CLASSES, activation='softmax')])


def cnn(size, channels=3):
    pad = dict(padding='same' if size < 18 else 'valid', activation='relu')
    return sequential([keras.Input((size, size, channels)), L.Conv2D(32, 3, **pad), L.MaxPooling2D(), L.Conv2D(64, 3, **pad), L.MaxPooling2D(),
                             L.Conv2D(64, 3, **pad), L.Flatten(), L.Dense(64, activation='relu'), L.Dense(CLASSES, activation='softmax')])


def lenet(size):
    pad = dict(padding='same' if size < 32 else 'valid', activation='tanh')
    return sequential([keras.Input((size, size, 1)), L.Conv2D(6, 5, **pad), L.AveragePooling2D(2), L.Conv2D(16, 5, **pad), L.AveragePooling2D(2),
                             L.Conv2D(120, 5, **pad), L.Flatten(), L.Dense(84, activation='tanh'), L.Dense(CLASSES, activation='softmax')])


def resnet20(size):
    def conv(x, name, filters, window=3, stride=1):
        return L.Conv2D(filters, window, strides=stride, padding='same', name=name)(x)
    i = keras.Input((size, size, 3))
    x = L.ReLU()(L.BatchNormalization(name='conv1_bn')(conv(i, 'conv1', 16)))
    for stage, filters in enumerate((16, 32, 64), 1):
        for block in (1, 2, 3):
            n = f'stage{stage}_block{block}'
            stride = 2 if stage > 1 and block == 1 else 1
            y = L.ReLU()(L.BatchNormalization(name=n + '_conv1_bn')(conv(x, n + '_conv1', filters, 3, stride)))
            y = L.BatchNormalization(name=n + '_conv2_bn')(conv(y, n + '_conv2', filters))
            if stride == 2:
                x = conv(x, n + '_shortcut', filters, 1, 2)
            x = L.ReLU()(L.Add()([x, y]))
    return keras.Model(i, L.Dense(CLASSES, activation='softmax', name='predictions')(L.GlobalAveragePooling2D()(x)))


def unet(size):
    def block(x, filters):
        for _ in range(2):
            x = L.ReLU()(L.BatchNormalization()(L.Conv2D(filters, 3, padding='same', use_bias=False)(x)))
        return x
    i = x = keras.Input((size, size, 3))
    skips = []
    for filters in (16, 32, 64):
        x = block(x, filters)
        skips.append(x)
        x = L.MaxPooling2D()(x)
    x = block(x, 128)
    for filters in (64, 32, 16):
        x = L.Conv2DTranspose(filters, 2, strides=2, padding='same')(x)
        x = block(L.Concatenate()([skips.pop(), x]), filters)
    return keras.Model(i, L.Conv2D(CLASSES, 1, activation='softmax')(x))


def recurrent(length, vocab, layer):
    i = keras.Input((length,), dtype='int32')
    x = layer()(L.Embedding(vocab, 128)(i))
    x = L.Dense(64, activation='relu')(x)
    return keras.Model(i, L.Dense(CLASSES, activation='softmax')(x))


def lstm(length, vocab=10000):
    return recurrent(length, vocab, lambda: L.LSTM(128))


def bilstm(length, vocab=10000):
    return recurrent(length, vocab, lambda: L.Bidirectional(L.LSTM(64)))


def transformer(length, layers=4, vocab=10000, width=256, heads=8, ff=1024):
    i = keras.Input((length,), dtype='int32')
    x = L.Embedding(vocab, width)(i)
    for _ in range(layers):
        y = L.MultiHeadAttention(heads, width // heads)(x, x)
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))
        y = L.Dense(ff, activation='relu')(x)
        y = L.Dense(width)(y)
        x = L.LayerNormalization(epsilon=1e-6)(L.Add()([x, y]))
    return keras.Model(i, L.Dense(CLASSES, activation='softmax')(L.GlobalAveragePooling1D()(x)))


# Small models of the layers that no model of the zoo has, the same as in layers.rs.
def masked_attention():
    i = keras.Input((8,), dtype='int32')
    x = L.Embedding(5, 8, mask_zero=True)(i)
    x = L.Bidirectional(L.GRU(4, return_sequences=True))(x)
    y = L.MultiHeadAttention(2, 3, value_dim=5)(x, x)
    x = L.LayerNormalization()(L.Add()([x, y]))
    return keras.Model(i, L.Dense(CLASSES, activation='softmax')(L.GlobalAveragePooling1D()(x)))


def masked_recurrence():
    i = keras.Input((8,), dtype='int32')
    x = L.Embedding(5, 8, mask_zero=True)(i)
    x = L.Bidirectional(L.LSTM(4, return_sequences=True))(x)
    x = L.Concatenate()([L.GRU(6)(x), L.LSTM(5, go_backwards=True, use_bias=False, name='backward')(x)])
    return keras.Model(i, L.Dense(CLASSES, activation='softmax')(x))


def causal_attention():
    i = keras.Input((6, 4))
    x = L.MultiHeadAttention(2, 3, use_bias=False, output_shape=7)(i, i, use_causal_mask=True)
    x = L.LayerNormalization(scale=False, center=False)(x)
    x = L.GRU(5, use_bias=False, return_sequences=True)(x)
    x = L.Dense(3, use_bias=False, activation='elu')(x)
    return keras.Model(i, L.Dense(CLASSES, activation='softmax')(L.Flatten()(x)))


def image_layers():
    i = keras.Input((7, 9, 4))
    x = L.ZeroPadding2D(((1, 2), (0, 1)))(i)
    x = L.Conv2D(6, 3, dilation_rate=2, activation='gelu')(x)
    x = L.Conv2DTranspose(5, 3, strides=2, activation='sigmoid')(x)
    x = L.Cropping2D(((1, 2), (3, 1)))(x)
    x = L.UpSampling2D((2, 1), interpolation='bilinear')(x)
    x = L.DepthwiseConv2D(3, depth_multiplier=2, padding='same', strides=2)(x)
    x = L.BatchNormalization(scale=False, momentum=0.9)(x)
    x = L.LeakyReLU(0.2)(x)
    x = L.Conv2DTranspose(4, 3, strides=2, padding='same', output_padding=1, use_bias=False)(x)
    x = L.AveragePooling2D(3, strides=2, padding='same')(x)
    x = L.UpSampling2D(2)(x)
    x = L.MaxPooling2D((2, 3), strides=(1, 2), padding='same')(x)
    x = L.Softmax(axis=1)(L.Permute((3, 1, 2))(x))
    return keras.Model(i, L.Dense(CLASSES, activation='softmax')(L.GlobalMaxPooling2D()(x)))


def merging_layers():
    i = keras.Input((4, 6))
    x = L.Normalization()(L.Rescaling(0.5, offset=0.25)(i))
    a, b = L.Dense(6, activation='tanh')(x), L.Dense(6, activation='swish')(x)
    x = L.Concatenate(axis=1)([L.Subtract()([a, b]), L.Multiply()([a, b]), L.Maximum()([a, b]), L.Minimum()([a, b]), L.Average()([a, b, x])])
    x = L.Activation('hard_swish')(L.Reshape((-1, 8))(x))
    return keras.Model(i, L.Dense(CLASSES, activation='softmax')(L.Flatten()(x)))


def application(build, **settings):
    return lambda size: build(input_shape=(size, size, 3), weights=None, classes=CLASSES, **settings)


A = keras.applications
resnet50 = application(A.ResNet50)
vgg16 = application(A.VGG16)
mobilenet_v2 = application(A.MobileNetV2)
mobilenet_v3_large = application(A.MobileNetV3Large, dropout_rate=0.0)
densenet121 = application(A.DenseNet121)
efficientnet_b0 = lambda size: EfficientNet(1.0, 1.0, 224, dropout_rate=0.0, drop_connect_rate=0.0, weights=None, classes=CLASSES, input_shape=(size, size, 3))

SYMMETRIC, PIXELS = dict(low=-1.0, high=1.0), dict(low=0.0, high=255.0)
# Spec of the zoo, batch, input, and the same model in Keras. Batches are large enough for batch statistics to be well conditioned.
CASES = [
    ('mlp@64', 4, SYMMETRIC, lambda: mlp(64)),
    ('cnn@8,channels=1', 4, SYMMETRIC, lambda: cnn(8, 1)),
    ('cnn@20', 4, SYMMETRIC, lambda: cnn(20)),
    ('lenet@32', 4, SYMMETRIC, lambda: lenet(32)),
    ('resnet20@16', 4, SYMMETRIC, lambda: resnet20(16)),
    ('resnet50@32', 8, SYMMETRIC, lambda: resnet50(32)),
    ('vgg16@32', 2, SYMMETRIC, lambda: vgg16(32)),
    ('mobilenet_v2@32', 8, SYMMETRIC, lambda: mobilenet_v2(32)),
    ('mobilenet_v3_large@32,dropout=0', 8, PIXELS, lambda: mobilenet_v3_large(32)),
    ('efficientnet_b0@32,dropout=0,drop_connect=0', 8, PIXELS, lambda: efficientnet_b0(32)),
    ('densenet121@32', 8, SYMMETRIC, lambda: densenet121(32)),
    ('unet@16', 2, SYMMETRIC, lambda: unet(16)),
    ('lstm@12,vocab=1000', 4, dict(vocab=1000), lambda: lstm(12, 1000)),
    ('bilstm@12,vocab=1000', 4, dict(vocab=1000), lambda: bilstm(12, 1000)),
    ('transformer@12,layers=2,vocab=1000', 4, dict(vocab=1000), lambda: transformer(12, 2, 1000)),
]
LAYERS = [
    ('masked_attention', 4, dict(vocab=5), masked_attention),
    ('masked_recurrence', 4, dict(vocab=5), masked_recurrence),
    ('causal_attention', 4, SYMMETRIC, causal_attention),
    ('image_layers', 4, SYMMETRIC, image_layers),
    ('merging_layers', 4, SYMMETRIC, merging_layers),
]
# Parameter counts of the models as they come, which need no computation.
COUNTED = [('mlp', lambda: mlp(784)), ('cnn', lambda: cnn(32)), ('lenet', lambda: lenet(32)), ('resnet20', lambda: resnet20(32)), ('resnet50', lambda: resnet50(224)),
           ('vgg16', lambda: vgg16(224)), ('mobilenet_v2', lambda: mobilenet_v2(224)), ('mobilenet_v3_large', lambda: mobilenet_v3_large(224)),
           ('efficientnet_b0', lambda: efficientnet_b0(224)), ('densenet121', lambda: densenet121(224)), ('unet', lambda: unet(64)), ('lstm', lambda: lstm(64)),
           ('bilstm', lambda: bilstm(64)), ('transformer', lambda: transformer(128))]


def built(build, floatx):
    keras.backend.clear_session()
    keras.backend.set_floatx(floatx)
    return build()


def counts(model):
    size = lambda variables: sum(int(np.prod(v.shape)) for v in variables if 'seed_generator' not in v.path)
    assert size(model.variables) == model.count_params()
    return dict(trainable=size(model.trainable_variables), statistics=size(model.non_trainable_variables))


def run(model, batch, given):
    shape = (batch,) + tuple(model.input_shape[1:])
    n = int(np.prod(shape))
    if 'vocab' in given:
        x = (hashes('x', n) % np.uint64(given['vocab'])).astype(np.int32).reshape(shape)
    else:
        half = (unit('x', n) + 1.0) / 2.0
        x = (given['low'] + (given['high'] - given['low']) * half).astype(np.float32).reshape(shape)
    rows = (batch,) + tuple(model.output_shape[1:-1])
    y = (hashes('y', int(np.prod(rows))) % np.uint64(CLASSES)).astype(np.int32).reshape(rows)
    for variable in model.trainable_variables:
        variable.assign(weight(variable.path, tuple(variable.shape)))
    x = tf.constant(x, tf.int32 if 'vocab' in given else keras.backend.floatx())
    predictions = np.asarray(model(x, training=False), np.float64)
    with tf.GradientTape() as tape:
        trained = model(x, training=True)
        loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, trained))
    gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
    gradients = [tf.convert_to_tensor(g) for g in gradients]
    # Keras would clip smaller probabilities if it had no logits at hand; none of ours needs that.
    assert min(predictions.min(), np.min(trained)) > 1e-6, (np.min(trained), predictions.min())
    return float(loss), predictions, {v.path: np.asarray(g, np.float64) for v, g in zip(model.trainable_variables, gradients)}


def case(spec, batch, given, build):
    model = built(build, 'float64')
    shapes = {v.path: list(v.shape) for v in model.trainable_variables}
    loss, predictions, gradients = run(model, batch, given)
    loss32, predictions32, gradients32 = run(built(build, 'float32'), batch, given)
    largest = max(np.linalg.norm(g) for g in gradients.values())
    errors = [np.linalg.norm(gradients32[n] - g) / (np.linalg.norm(g) + 1e-3 * largest) for n, g in gradients.items()]
    short = lambda pair: [float('%.9g' % number) for number in pair]
    print('%-44s loss %.6f (float32 %+.1e)  gradients %+.1e  predictions %.1e  p in %.1e..%.3f' % (spec, loss, loss32 - loss, max(errors),
          np.abs(predictions32 - predictions).max(), predictions.min(), predictions.max()), flush=True)
    return dict(spec=spec, batch=batch, input=given, **counts(model), loss=float('%.12g' % loss), float32_error=float('%.2g' % max(errors)),
                predictions=short(sketch('predictions', predictions)),
                gradients={n: dict(shape=shapes[n], sketch=short(sketch(n, g))) for n, g in gradients.items()})


def main():
    lists = {'cases': [case(*c) for c in CASES], 'layers': [case(*c) for c in LAYERS]}
    counted = {name: counts(built(build, 'float32')) for name, build in COUNTED}
    document = dict(tensorflow=tf.__version__, keras=keras.__version__, classes=CLASSES)
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'zoo.json')
    with open(path, 'w') as file:
        head = json.dumps(document)[:-1]
        lines = lambda items: ',\n'.join(items)
        file.write(head + ',\n"counts": {\n' + lines(f'{json.dumps(n)}: {json.dumps(c)}' for n, c in counted.items()) + '\n}')
        for name, cases in lists.items():
            blocks = []
            for c in cases:
                gradients = c.pop('gradients')
                rows = lines(f'{json.dumps(n)}: {json.dumps(g, separators=(",", ":"))}' for n, g in gradients.items())
                blocks.append(json.dumps(c)[:-1] + ', "gradients": {\n' + rows + '\n}}')
            file.write(f',\n"{name}": [\n' + lines(blocks) + '\n]')
        file.write('}\n')
    json.load(open(path))
    print('wrote', path, os.path.getsize(path), 'bytes')


if __name__ == '__main__':
    main()
