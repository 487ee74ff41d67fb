"""Models in the style of tutorials and applications, with sizes and options drawn at random, as lines of Python."""

import random

import compiling
from draw import avoided
from parts import Draw

STYLES = []


def style(function):
    STYLES.append(function)
    return function


def drawn(seed):
    """A model of a random style."""
    for attempt in range(20):
        d = Draw(random.Random(seed * 31 + attempt), unusual=0.08)
        source = d.pick(STYLES)(d)
        if not avoided(source) or d.chance(0.05):
            return source
    return None


def act(d):
    return repr(d.pick(["relu", "tanh", "gelu", "elu", "silu", "relu", "selu"]))


def classes(d, x="x", name=None):
    """A last layer and its loss, as most tutorials have it."""
    kind = d.pick(["sparse", "onehot", "binary", "logits", "number", "any"])
    ending = f", name={name!r}" if name else ""
    if kind == "any":
        loss, activation, least = compiling.loss(d)
        return f"L.Dense({max(least, d.pick([1, 3]))}, activation={activation!r}{ending})({x})", loss
    return {
        "sparse": (f"L.Dense(4, activation='softmax'{ending})({x})", "'sparse_categorical_crossentropy'"),
        "onehot": (f"L.Dense(3, activation='softmax'{ending})({x})", "'categorical_crossentropy'"),
        "binary": (f"L.Dense(1, activation='sigmoid'{ending})({x})", "'binary_crossentropy'"),
        "logits": (f"L.Dense(4{ending})({x})", "keras.losses.SparseCategoricalCrossentropy(from_logits=True)"),
        "number": (f"L.Dense({d.pick([1, 2])}{ending})({x})", d.pick(["'mse'", "'mae'", "'huber'"])),
    }[kind]


def finish(d, lines, inputs, x="x", loss=None):
    if loss is None:
        line, loss = classes(d, x)
        lines, x = lines + [f"y = {line}"], "y"
    while True:
        compiled = compiling.compile_line(d, [("out", loss)])
        if not avoided(compiled) or d.chance(0.03):
            break
    return "\n".join(lines + [f"model = keras.Model({inputs}, {x})", compiled])


@style
def perceptron(d):
    layers = [f"L.Dense({d.pick([4, 6, 8])}, activation={act(d)}{d.kernel()})" for _ in range(d.pick([1, 2, 3]))]
    between = d.pick(["", "L.BatchNormalization()", "L.Dropout(0.0)", "L.LayerNormalization()"])
    body = sum(([layer] + [between] * bool(between) for layer in layers), [])
    last, loss = classes(d)
    first = d.pick(["L.Input((6,), name='i')", "L.Input((4, 4, 1), name='i_pixels'), L.Rescaling(1 / 255), L.Flatten()", "L.Input((5, 5), name='i_pixels'), L.Flatten()"])
    return "\n".join([f"model = keras.Sequential([{first}, {', '.join(body)}, {last[:-3]}])", compiling.compile_line(d, [("out", loss)])])


@style
def convolutional(d):
    lines = ["i = L.Input((8, 8, %d), name=%r)" % (d.pick([1, 3]), d.pick(["i", "i_pixels"])), f"x = {d.pick(['i', 'L.Rescaling(1 / 255)(i)'])}"]
    for _ in range(d.pick([1, 2])):
        lines.append(f"x = L.Conv2D({d.pick([3, 4])}, 3, padding={d.pick([repr('same'), repr('valid')])}{d.pick([', activation=' + act(d), ''])}{d.options(use_bias=['False'])}{d.kernel()})(x)")
        lines += d.pick([[], ["x = L.BatchNormalization()(x)", "x = L.ReLU()(x)"], ["x = L.BatchNormalization()(x)", f"x = L.Activation({act(d)})(x)"], ["x = L.SpatialDropout2D(0.0)(x)"]])
        lines.append(d.pick(["x = L.MaxPooling2D()(x)", "x = L.AveragePooling2D(2, padding='same')(x)", "x = L.MaxPooling2D(2, strides=1)(x)", "x = L.Conv2D(4, 3, strides=2, padding='same')(x)"]))
    return finish(d, lines + [d.pick(["x = L.Flatten()(x)", "x = L.GlobalAveragePooling2D()(x)", "x = L.GlobalMaxPooling2D()(x)"]), f"x = L.Dense(5, activation={act(d)})(x)"], "i")


@style
def residual(d):
    c = d.pick([2, 4])
    lines = [f"i = L.Input((6, 6, {d.pick([1, 3])}), name='i')", f"x = L.Conv2D({c}, 3, padding='same')(i)"]
    for n in range(d.pick([1, 2])):
        lines += [f"s{n} = x", f"x = L.Conv2D({c}, 3, padding='same', use_bias={d.pick([True, False])})(x)", "x = L.BatchNormalization()(x)", f"x = L.Activation({act(d)})(x)", f"x = L.Conv2D({c}, 3, padding='same')(x)", d.pick(["x = L.BatchNormalization()(x)", "x = L.GroupNormalization(2)(x)", "x = L.LayerNormalization()(x)"])]
        lines += [d.pick([f"x = L.Add()([x, s{n}])", f"x = L.add([x, s{n}])", f"x = x + s{n}", f"x = L.Concatenate()([x, s{n}])\nx = L.Conv2D({c}, 1)(x)"]), "x = L.ReLU()(x)"]
    return finish(d, lines + ["x = L.GlobalAveragePooling2D()(x)"], "i")


@style
def tagger(d):
    """A class for each token; padding does not count."""
    lines = ["i = L.Input((7,), dtype='int32', name='i')", f"x = L.Embedding({d.pick([8, 12])}, 4, mask_zero={d.pick([True, True, False])})(i)"]
    for _ in range(d.pick([1, 2])):
        cell = f"L.{d.pick(['LSTM', 'GRU', 'SimpleRNN'])}({d.pick([3, 4])}, return_sequences=True{d.options(go_backwards=['True'], use_bias=['False'])})"
        lines.append(f"x = {cell}(x)" if d.chance(0.5) else f"x = L.Bidirectional({cell}{d.options(0.3, merge_mode=[repr('sum'), repr('ave')])})(x)")
    dense = d.pick(["L.Dense(4, activation='softmax')", "L.TimeDistributed(L.Dense(4, activation='softmax'))"])
    return finish(d, lines + [f"y = {dense}(x)"], "i", "y", d.pick(["'sparse_categorical_crossentropy'", "'categorical_crossentropy'"]))


@style
def text(d):
    lines = ["i = L.Input((%d,), dtype='int32', name='i')" % d.pick([6, 7]), f"x = L.Embedding({d.pick([8, 12])}, {d.pick([3, 4])}{d.pick(['', ', mask_zero=True'])})(i)"]
    lines += d.pick([["x = L.GlobalAveragePooling1D()(x)"], ["x = L.Conv1D(4, 3, activation='relu')(x)", "x = L.GlobalMaxPooling1D()(x)"], ["x = L.LSTM(4)(x)"], ["x = L.Bidirectional(L.LSTM(3))(x)"], ["x = L.Bidirectional(L.GRU(3, return_sequences=True))(x)", "x = L.GlobalAveragePooling1D()(x)"],
                     ["x = L.SpatialDropout1D(0.0)(x)", "x = L.GRU(4, return_sequences=True)(x)", "x = L.GlobalMaxPooling1D()(x)"], ["x = L.Flatten()(x)"], ["x = L.LSTM(3, return_sequences=True)(x)", "x = L.LSTM(4)(x)"], ["x = L.GRU(3, return_sequences=True)(x)", "x = L.Attention()([x, x])", "x = L.GlobalAveragePooling1D()(x)"],
                     ["x = L.Bidirectional(L.LSTM(3, return_sequences=True))(x)", "x = L.Conv1D(3, 2)(x)", "x = L.GlobalMaxPooling1D()(x)"], ["x = ops.mean(x, axis=1)"]])
    return finish(d, lines + [f"x = L.Dense(4, activation={act(d)})(x)"] * d.chance(0.5), "i")


@style
def transformer(d):
    width = 4
    lines = ["i = L.Input((6,), dtype='int32', name='i')", f"t = L.Embedding(9, {width}{d.pick(['', ', mask_zero=True'])})(i)"]
    lines.append(d.pick([f"x = t + L.Embedding(6, {width})(ops.arange(6))", "x = t", f"x = t * {width} ** 0.5", "x = L.Dropout(0.0)(t)"]))
    for n in range(d.pick([1, 1, 2])):
        causal = d.pick(["", ", use_causal_mask=True"])
        before = d.chance(0.4)
        lines += [f"a{n} = L.LayerNormalization(epsilon=1e-6)(x)" if before else f"a{n} = x", f"b{n} = L.MultiHeadAttention(2, {d.pick([2, 4])}, dropout=0.0)(a{n}, a{n}{causal})", f"x = x + b{n}" if d.chance(0.4) else f"x = L.Add()([x, b{n}])"]
        lines += ([] if before else ["x = L.LayerNormalization()(x)"]) + [f"f{n} = L.Dense(6, activation={d.pick([repr('relu'), repr('gelu')])})(x)", f"f{n} = L.Dense({width})(f{n})", f"x = L.LayerNormalization()(x + f{n})"]
    if d.chance(0.5):
        return finish(d, lines + ["y = L.Dense(9, activation='softmax')(x)" if d.chance(0.5) else "y = L.Dense(9)(x)\ny = L.Softmax()(y)"], "i", "y", "'sparse_categorical_crossentropy'")
    return finish(d, lines + [d.pick(["x = L.GlobalAveragePooling1D()(x)", "x = x[:, 0]", "x = L.GlobalMaxPooling1D()(x)", "x = L.Flatten()(x)"])], "i")


@style
def autoencoder(d):
    if d.chance(0.5):
        lines = ["i = L.Input((8,), name='i')", f"e = L.Dense(4, activation={act(d)}{d.options(activity_regularizer=['keras.regularizers.L1(1e-3)'])})(i)", "x = L.Dense(2)(e)", f"x = L.Dense(4, activation={act(d)})(x)", "y = L.Dense(8, activation='sigmoid')(x)"]
        return finish(d, lines, "i", "y", d.pick(["'mse'", "'binary_crossentropy'"]))
    lines = ["i = L.Input((8, 8, 1), name='i')", "x = L.Conv2D(3, 3, strides=2, padding='same', activation='relu')(i)", d.pick(["x = L.BatchNormalization()(x)", "x = L.Conv2D(4, 3, strides=2, padding='same')(x)\nx = L.Conv2DTranspose(3, 3, strides=2, padding='same')(x)", "x = L.LeakyReLU()(x)"]),
             d.pick(["x = L.Conv2DTranspose(3, 3, strides=2, padding='same', activation='relu')(x)", "x = L.UpSampling2D()(x)\nx = L.Conv2D(3, 3, padding='same', activation='relu')(x)"]), "y = L.Conv2D(1, 3, padding='same', activation='sigmoid')(x)"]
    return finish(d, lines, "i", "y", d.pick(["'mse'", "'binary_crossentropy'", "'mae'"]))


@style
def unet(d):
    block = lambda c: [f"x = L.Conv2D({c}, 3, padding='same')(x)", d.pick(["x = L.BatchNormalization()(x)", "x = L.GroupNormalization(1)(x)", "x = L.Dropout(0.0)(x)"]), "x = L.Activation('relu')(x)"]
    up = d.pick(["x = L.Conv2DTranspose(3, 2, strides=2)(x)", "x = L.UpSampling2D()(x)", "x = L.UpSampling2D(interpolation='bilinear')(x)"])
    lines = ["i = L.Input((8, 8, 1), name='i')", "x = i"] + block(3) + ["a = x", "x = L.MaxPooling2D()(x)"] + block(4) + [up, "x = L.Concatenate()([x, a])"] + block(3)
    lines.append(d.pick(["y = L.Conv2D(1, 1, activation='sigmoid')(x)", "y = L.Conv2D(1, 1)(x)\ny = L.Activation('sigmoid')(y)"]))
    return finish(d, lines, "i", "y", d.pick(["'binary_crossentropy'", "keras.losses.Dice()", "'mse'", "keras.losses.BinaryFocalCrossentropy()"]))


@style
def siamese(d):
    lines = ["a = L.Input((6,), name='a')", "b = L.Input((6,), name='b')", f"base = keras.Sequential([L.Input((6,)), L.Dense(5, activation={act(d)}), {d.pick(['', 'L.BatchNormalization(), ', 'L.Dropout(0.0), '])}L.Dense(4)], name='base')", "p = base(a)", "q = base(b)"]
    lines.append(d.pick(["x = ops.abs(p - q)", "x = L.Subtract()([p, q])", "x = L.Dot(axes=1, normalize=True)([p, q])", "x = L.Concatenate()([p, q, L.Multiply()([p, q])])", "x = ops.sqrt(ops.sum(ops.square(p - q), axis=1, keepdims=True) + 1e-3)"]))
    return finish(d, lines + ["y = L.Dense(1, activation='sigmoid')(x)"], "[a, b]", "y", "'binary_crossentropy'")


@style
def several_heads(d):
    lines = ["a = L.Input((6,), name='a')", "b = L.Input((5,), dtype='int32', name='b')", f"x = L.Dense(5, activation={act(d)})(a)", "e = " + d.pick(["L.GlobalAveragePooling1D()(L.Embedding(8, 3)(b))", "L.LSTM(3)(L.Embedding(8, 3, mask_zero=True)(b))", "L.Flatten()(L.Embedding(8, 2)(b))"]), "x = L.Concatenate()([x, e])"]
    one, loss_one = classes(d, "x", "one")
    two, loss_two = classes(d, "x", "two")
    lines += [f"p = {one}", f"q = {two}", "model = keras.Model(%s, %s)" % (d.pick(["[a, b]", "{'a': a, 'b': b}"]), d.pick(["[p, q]", "[p, q]", "{'one': p, 'two': q}"]))]
    return "\n".join(lines + [compiling.compile_line(d, [("one", loss_one), ("two", loss_two)])])


@style
def transfer(d):
    """A frozen or half frozen model in a new one."""
    lines = ["j = L.Input((6, 6, 3), name='j')", "h = L.Conv2D(4, 3, name='c1')(j)", "h = L.BatchNormalization(name='b1')(h)", "h = L.ReLU()(h)", "h = L.Conv2D(4, 3, name='c2')(h)", "base = keras.Model(j, h, name='base')"]
    lines += d.pick([["base.trainable = False"], ["base.trainable = False", "base.get_layer('c2').trainable = True"], ["base.get_layer('c1').trainable = False"], ["base.get_layer('b1').trainable = False"], []])
    lines += ["i = L.Input((6, 6, 3), name='i')", f"x = base(i{d.pick(['', ', training=False'])})", "x = L.GlobalAveragePooling2D()(x)", "x = L.Dropout(0.0)(x)"]
    return finish(d, lines, "i")


@style
def video(d):
    lines = ["i = L.Input((3, 6, 6, 1), name='i')", "x = L.TimeDistributed(L.Conv2D(3, 3, activation='relu'))(i)", d.pick(["x = L.TimeDistributed(L.MaxPooling2D())(x)", "x = L.TimeDistributed(L.BatchNormalization())(x)", "x = L.TimeDistributed(L.Dropout(0.0))(x)"]), "x = L.TimeDistributed(%s)(x)" % d.pick(["L.Flatten()", "L.GlobalAveragePooling2D()"]), "x = L.%s(3)(x)" % d.pick(["LSTM", "GRU"])]
    return finish(d, lines, "i")


@style
def mobile(d):
    lines = ["i = L.Input((8, 8, 3), name='i')", "x = L.Conv2D(4, 3, strides=2, padding='same', use_bias=False)(i)", "x = L.BatchNormalization()(x)", "x = L.ReLU(6.0)(x)"]
    lines += d.pick([["x = L.DepthwiseConv2D(3, padding='same', use_bias=False)(x)", "x = L.BatchNormalization()(x)", "x = L.Activation('hard_silu')(x)", "x = L.Conv2D(6, 1)(x)"], ["x = L.SeparableConv2D(6, 3, padding='same', depth_multiplier=2)(x)", "x = L.BatchNormalization(momentum=0.9)(x)"],
                     ["x = L.ZeroPadding2D(((0, 1), (0, 1)))(x)", "x = L.DepthwiseConv2D(3, strides=2)(x)"]])
    lines += ["s = L.GlobalAveragePooling2D(keepdims=True)(x)", "s = L.Dense(2, activation='relu')(s)", "s = L.Dense(int(x.shape[-1]), activation='sigmoid')(s)", "x = L.Multiply()([x, s])"] * d.chance(0.5)
    return finish(d, lines + ["x = L.GlobalAveragePooling2D()(x)"], "i")


@style
def forecast(d):
    lines = [f"i = L.Input((7, {d.pick([1, 3])}), name='i')"]
    lines += d.pick([["x = L.LSTM(4, return_sequences=True)(i)", "x = L.LSTM(3)(x)"], ["x = L.Conv1D(4, 3, padding='causal', activation='relu')(i)", "x = L.Conv1D(4, 3, padding='causal', dilation_rate=2, activation='relu')(x)", "x = L.Flatten()(x)"], ["x = L.GRU(4)(i)", "x = L.RepeatVector(3)(x)", "x = L.GRU(4, return_sequences=True)(x)", "x = L.TimeDistributed(L.Dense(2))(x)", "x = L.Flatten()(x)"],
                     ["x = L.Lambda(lambda t: t[:, -1])(i)"] if d.chance(0.05) else ["x = i[:, -1]"], ["x = L.SimpleRNN(4, activation='relu')(i)"], ["x = L.Conv1D(4, 3)(i)", "x = L.MaxPooling1D()(x)", "x = L.LSTM(3)(x)"], ["x = L.Bidirectional(L.LSTM(3, return_sequences=True))(i)", "x = L.Attention()([x, x])", "x = L.GlobalAveragePooling1D()(x)"]])
    return finish(d, lines + ["y = L.Dense(2)(x)"], "i", "y", d.pick(["'mse'", "'mae'", "'huber'", "'log_cosh'"]))


@style
def recommender(d):
    lines = ["u = L.Input((1,), dtype='int32', name='u')", "m = L.Input((1,), dtype='int32', name='m')", "a = L.Flatten()(L.Embedding(8, 3%s)(u))" % d.options(0.3, embeddings_regularizer=["keras.regularizers.L2(1e-2)"]), "b = L.Flatten()(L.Embedding(9, 3)(m))"]
    lines.append(d.pick(["x = L.Dot(axes=1)([a, b])", "x = L.Concatenate()([a, b])", "x = L.Multiply()([a, b])", "x = ops.sum(a * b, axis=-1, keepdims=True)"]))
    return finish(d, lines + d.pick([["y = L.Dense(1)(x)"], ["x = L.Dense(4, activation='relu')(x)", "y = L.Dense(1)(x)"]]), "[u, m]", "y", "'mse'")


@style
def encoder_decoder(d):
    lines = ["a = L.Input((5,), dtype='int32', name='a')", "b = L.Input((4,), dtype='int32', name='b')", f"e = L.Embedding(8, 4{d.pick(['', ', mask_zero=True'])})(a)", f"f = L.Embedding(8, 4{d.pick(['', ', mask_zero=True'])})(b)"]
    lines += d.pick([["e, h, c = L.LSTM(3, return_state=True)(e)", "x = L.LSTM(3, return_sequences=True)(f, initial_state=[h, c])"], ["e, h = L.GRU(3, return_state=True)(e)", "x = L.GRU(3, return_sequences=True)(f, initial_state=h)"], ["x = L.MultiHeadAttention(2, 3)(f, e)", "x = L.Add()([x, f])", "x = L.LayerNormalization()(x)"],
                     ["s = L.LSTM(4, return_sequences=True)(e)", "x = L.LSTM(4, return_sequences=True)(f)", "x = L.Concatenate()([x, L.Attention()([x, s])])"]])
    return finish(d, lines + ["y = L.Dense(8, activation='softmax')(x)"], "[a, b]", "y", "'sparse_categorical_crossentropy'")


@style
def inception(d):
    lines = ["i = L.Input((6, 6, 2), name='i')", "a = L.Conv2D(2, 1, activation='relu')(i)", "b = L.Conv2D(3, 3, padding='same', activation='relu')(i)", "c = L.%s(3, strides=1, padding='same')(i)" % d.pick(["MaxPooling2D", "AveragePooling2D"]), d.pick(["x = L.Concatenate()([a, b, c])", "x = L.concatenate([a, b, c], axis=-1)", "x = ops.concatenate([a, b, c], axis=-1)", "x = L.Concatenate(axis=1)([a, L.Conv2D(2, 1)(b), c])"]), "x = L.Flatten()(x)"]
    return finish(d, lines, "i")


@style
def tabular(d):
    lines = ["a = L.Input((4,), name='a')", "b = L.Input((1,), dtype='int32', name='b')", "n = " + d.pick(["L.Normalization(mean=[0.1, 0.2, 0.3, 0.4], variance=[1.0, 2.0, 0.5, 1.5])(a)", "L.BatchNormalization()(a)", "L.LayerNormalization()(a)", "L.UnitNormalization()(a)"]), "c = " + d.pick(["L.CategoryEncoding(num_tokens=8, output_mode='one_hot')(b)", "L.Flatten()(L.Embedding(8, 2)(b))"]), "x = L.Concatenate()([n, c])",
             f"x = L.Dense(6, activation={act(d)}{d.kernel()})(x)", "g = L.Dense(6, activation='sigmoid')(x)", "x = x * g"]
    return finish(d, lines, "[a, b]")


@style
def vision_transformer(d):
    lines = ["i = L.Input((6, 6, 2), name='i')", "x = L.Conv2D(4, 3, strides=3)(i)", "x = L.Reshape((4, 4))(x)", d.pick(["x = L.LayerNormalization()(x)", "x = x * 1.0"]), "x = L.Add()([x, L.MultiHeadAttention(2, 2)(x, x)])", "x = L.LayerNormalization()(x)", "x = L.Add()([x, L.Dense(4)(L.Dense(6, activation='gelu')(x))])", d.pick(["x = L.Flatten()(x)", "x = L.GlobalAveragePooling1D()(x)", "x = ops.max(x, axis=1)"])]
    return finish(d, lines, "i")


@style
def repeated(d):
    """One block called several times, weights shared."""
    lines = ["i = L.Input((5,), name='i')", f"block = L.Dense(5, activation={act(d)}, name='block')", "norm = L.%s(name='norm')" % d.pick(["BatchNormalization", "LayerNormalization"]), "x = i"] + ["x = norm(block(x))" if d.chance(0.5) else "x = x + block(x)" for _ in range(d.pick([2, 3]))]
    return finish(d, lines, "i")


@style
def tied(d):
    """Sequential models in a sequential model."""
    inner = f"keras.Sequential([L.Input((6,)), L.Dense(4, activation={act(d)}), {d.pick(['L.BatchNormalization()', 'L.Dropout(0.0)', 'L.Dense(4)'])}])"
    last, loss = classes(d)
    return "\n".join([f"encoder = {inner}", d.pick(["encoder.trainable = False", "encoder.layers[0].trainable = False", "encoder.trainable = True"]), f"model = keras.Sequential([L.Input((6,), name='i'), encoder, L.Dense(5, activation={act(d)}), {last[:-3]}])", compiling.compile_line(d, [("out", loss)])])


@style
def wide_and_deep(d):
    lines = ["a = L.Input((5,), name='a')", "b = L.Input((4,), name='b')", d.pick(["n = L.Normalization(mean=[0.1] * 4, variance=[0.8] * 4)(b)", "n = L.BatchNormalization()(b)", "n = b"]), f"h = L.Dense(6, activation={act(d)}{d.kernel()})(n)", f"h = L.Dense(4, activation={act(d)})(h)", d.pick(["x = L.concatenate([a, h])", "x = L.Concatenate()([a, h])"])]
    if d.chance(0.4):
        lines += ["p = L.Dense(1, name='main')(x)", "q = L.Dense(1, name='aux')(h)", "model = keras.Model(inputs=[a, b], outputs=[p, q])"]
        return "\n".join(lines + [compiling.compile_line(d, [("main", "'mse'"), ("aux", d.pick(["'mse'", "'mae'"]))])])
    return finish(d, lines, "[a, b]", loss=None)


@style
def generator(d):
    lines = ["i = L.Input((4,), name='i')", f"x = L.Dense(2 * 2 * 4{d.pick(['', ', use_bias=False'])})(i)", d.pick(["x = L.BatchNormalization()(x)", "x = L.LayerNormalization()(x)"]), d.pick(["x = L.LeakyReLU(negative_slope=0.2)(x)", "x = L.ReLU()(x)"]), "x = L.Reshape((2, 2, 4))(x)", f"x = L.Conv2DTranspose(3, {d.pick([2, 3, 4])}, strides=2, padding='same'{d.pick(['', ', use_bias=False'])})(x)",
             d.pick(["x = L.BatchNormalization(momentum=0.8)(x)", "x = L.BatchNormalization()(x)\nx = L.LeakyReLU()(x)"]), "y = L.Conv2DTranspose(1, 3, strides=2, padding='same', activation='tanh')(x)"]
    return finish(d, lines, "i", "y", d.pick(["'mse'", "'mae'", "keras.losses.LogCosh()"]))


@style
def discriminator(d):
    """A discriminator, sometimes frozen behind a generator as in the training of the latter."""
    inner = ["j = L.Input((8, 8, 1), name='j')", f"h = L.Conv2D(3, {d.pick([3, 4, 5])}, strides=2, padding='same')(j)", "h = L.LeakyReLU(0.2)(h)", d.pick(["h = L.Dropout(0.0)(h)", "h = L.BatchNormalization()(h)", "h = L.SpatialDropout2D(0.0)(h)"]), "h = L.Conv2D(4, 3, strides=2, padding='same')(h)", "h = L.LeakyReLU(0.2)(h)", d.pick(["h = L.Flatten()(h)", "h = L.GlobalMaxPooling2D()(h)"]), d.pick(["v = L.Dense(1, activation='sigmoid')(h)", "v = L.Dense(1)(h)\nv = L.Activation('sigmoid')(v)"])]
    if d.chance(0.5):
        return finish(d, inner, "j", "v", "'binary_crossentropy'")
    lines = inner + ["disc = keras.Model(j, v, name='disc')", "disc.trainable = False", "i = L.Input((4,), name='i')", "x = L.Dense(32, activation='relu')(i)", "x = L.Reshape((4, 4, 2))(x)", "x = L.UpSampling2D()(x)", "x = L.Conv2D(1, 3, padding='same', activation='tanh')(x)", "y = disc(x)"]
    return finish(d, lines, "i", "y", "'binary_crossentropy'")


@style
def wavenet(d):
    c = d.pick([2, 3])
    lines = [f"i = L.Input((8, {d.pick([1, 2])}), name='i')", f"x = L.Conv1D({c}, 2, padding='causal')(i)", "skips = []"]
    for n, rate in enumerate([1, 2, 4][: d.pick([2, 3])]):
        gate = f"f{n} = L.Conv1D({c}, 2, padding='causal', dilation_rate={rate}, activation='tanh')(x)\ng{n} = L.Conv1D({c}, 2, padding='causal', dilation_rate={rate}, activation='sigmoid')(x)\nz{n} = L.Multiply()([f{n}, g{n}])"
        lines += [gate, f"s{n} = L.Conv1D({c}, 1)(z{n})", f"x = L.Add()([x, s{n}])", f"skips.append(s{n})"]
    lines += [d.pick(["x = L.Add()(skips)", "x = L.add(skips)"]), "x = L.Activation('relu')(x)"]
    if d.chance(0.5):
        return finish(d, lines + ["y = L.Conv1D(4, 1, activation='softmax')(x)"], "i", "y", "'sparse_categorical_crossentropy'")
    return finish(d, lines + [d.pick(["y = L.Conv1D(1, 1)(x)", "y = L.TimeDistributed(L.Dense(1))(x)"])], "i", "y", d.pick(["'mse'", "'mae'"]))


@style
def frames(d):
    """The next frame of a film."""
    lines = ["i = L.Input((3, 5, 5, 1), name='i')", f"x = L.ConvLSTM2D(2, 3, padding='same', return_sequences={d.pick([True, True, False])}{d.options(0.3, activation=[repr('relu')], recurrent_activation=[repr('hard_sigmoid')])})(i)"]
    if "return_sequences=False" in lines[-1]:
        return finish(d, lines + ["y = L.Conv2D(1, 3, padding='same', activation='sigmoid')(x)"], "i", "y", "'binary_crossentropy'")
    lines += [d.pick(["x = L.BatchNormalization()(x)", "x = L.LayerNormalization()(x)"]), "y = L.Conv3D(1, 3, padding='same', activation='sigmoid')(x)"]
    return finish(d, lines, "i", "y", d.pick(["'binary_crossentropy'", "'mse'"]))


@style
def text_cnn(d):
    """Windows of several widths over words, their maxima side by side."""
    lines = ["i = L.Input((7,), dtype='int32', name='i')", f"e = L.Embedding(10, 4{d.pick(['', '', ', mask_zero=True'])})(i)", "parts = []"]
    for width in [2, 3, 4][: d.pick([2, 3])]:
        lines += [f"c{width} = L.Conv1D(3, {width}, activation='relu'{d.options(0.3, padding=[repr('same')])})(e)", f"parts.append(L.GlobalMaxPooling1D()(c{width}))"]
    lines += ["x = L.concatenate(parts)", "x = L.Dropout(0.0)(x)"]
    return finish(d, lines + [f"x = L.Dense(4, activation={act(d)}{d.kernel()})(x)"] * d.chance(0.5), "i")


@style
def preprocessing(d):
    """Columns of a table prepared in the model."""
    lines = ["a = L.Input((3,), name='a')", "b = L.Input((1,), dtype='int32', name='b')", "c = L.Input((4,), name='c_pixels')",
             "n = L.Normalization(mean=[0.2, -0.1, 0.4], variance=[0.5, 1.5, 2.0])(a)", "k = " + d.pick(["L.CategoryEncoding(num_tokens=8, output_mode='one_hot')(b)", "L.IntegerLookup(vocabulary=[1, 2, 5], output_mode='one_hot')(b)", "L.CategoryEncoding(num_tokens=8, output_mode='multi_hot')(b)", "L.Flatten()(L.Embedding(6, 2)(L.IntegerLookup(vocabulary=[1, 2, 3, 5])(b)))"]),
             "r = " + d.pick(["L.Rescaling(1.0 / 255)(c)", "L.Rescaling(1.0 / 127.5, offset=-1)(c)", "ops.cast(L.Discretization(bin_boundaries=[50.0, 100.0, 200.0])(c), 'float32')"]), "x = L.Concatenate()([n, k, r])", f"x = L.Dense(6, activation={act(d)})(x)"]
    return finish(d, lines, "[a, b, c]")


@style
def dense_blocks(d):
    """Every layer reads all before it."""
    lines = ["i = L.Input((6, 6, 2), name='i')", "x = L.Conv2D(3, 3, padding='same')(i)", "def block(x):\n    y = L.BatchNormalization()(x)\n    y = L.Activation('relu')(y)\n    y = L.Conv2D(2, 3, padding='same', use_bias=False)(y)\n    return L.Concatenate()([x, y])", "x = block(x)", "x = block(x)"]
    lines += [d.pick(["x = L.AveragePooling2D(2)(x)", "x = L.Conv2D(4, 1)(x)\nx = L.AveragePooling2D(2, strides=2)(x)"]), "x = L.GlobalAveragePooling2D()(x)"]
    return finish(d, lines, "i")


@style
def bottlenecks(d):
    """A residual net written with functions, as in the papers' code."""
    first = d.chance(0.5)
    lines = ["i = L.Input((8, 8, 3), name='i')", f"def unit(x, filters, stride, name):\n    short = x\n    if stride > 1 or x.shape[-1] != filters:\n        short = L.Conv2D(filters, 1, strides=stride, use_bias=False, name=name + '_short')(x)\n        short = L.BatchNormalization(name=name + '_short_norm')(short)\n    y = L.Conv2D(2, 1, use_bias=False, name=name + '_1')(x)\n    y = L.BatchNormalization(name=name + '_norm_1')(y)\n    y = L.ReLU()(y)\n    y = L.Conv2D(2, 3, strides=stride, padding='same', use_bias=False, name=name + '_2')(y)\n    y = L.BatchNormalization(name=name + '_norm_2')(y)\n    y = L.ReLU()(y)\n    y = L.Conv2D(filters, 1, name=name + '_3')(y)\n    return {'L.ReLU()(L.Add()([short, y]))' if first else 'L.Add()([short, y])'}",
             "x = L.ZeroPadding2D(1)(i)", "x = L.Conv2D(4, 3)(x)", f"x = unit(x, 4, {d.pick([1, 2])}, 'a')", f"x = unit(x, {d.pick([4, 6])}, {d.pick([1, 2])}, 'b')", "x = L.GlobalAveragePooling2D()(x)"]
    return finish(d, lines, "i")


@style
def mixer(d):
    """Perceptrons along patches and along channels in turn."""
    lines = ["i = L.Input((6, 6, 1), name='i')", "x = L.Conv2D(4, 2, strides=2)(i)", "x = L.Reshape((9, 4))(x)"]
    for _ in range(d.pick([1, 2])):
        lines += ["y = L.LayerNormalization()(x)", d.pick(["y = L.Permute((2, 1))(y)", "y = ops.transpose(y, axes=(0, 2, 1))"]), f"y = L.Dense(5, activation={act(d)})(y)", "y = L.Dense(9)(y)", d.pick(["y = L.Permute((2, 1))(y)", "y = ops.swapaxes(y, 1, 2)"]), "x = x + y", "y = L.LayerNormalization()(x)", "y = L.Dense(5, activation='gelu')(y)", "y = L.Dense(4)(y)", "x = L.Add()([x, y])"]
    return finish(d, lines + ["x = L.GlobalAveragePooling1D()(x)"], "i")


@style
def convnext(d):
    lines = ["i = L.Input((6, 6, 2), name='i')", "x = L.Conv2D(4, 2, strides=2)(i)", "s = x", "x = L.DepthwiseConv2D(3, padding='same')(x)", "x = L.LayerNormalization(epsilon=1e-6)(x)", f"x = L.Dense(8, activation={d.pick([repr('gelu'), repr('silu')])})(x)", "x = L.Dense(4)(x)", "x = L.Add()([s, x])", d.pick(["x = L.GlobalAveragePooling2D()(x)", "x = L.Flatten()(x)"]), d.pick(["x = L.LayerNormalization()(x)", "x = L.Dense(5, activation='relu')(x)"])]
    return finish(d, lines, "i")


@style
def attention_pooling(d):
    """Weights for the steps of a recurrent layer, written out."""
    lines = ["i = L.Input((6,), dtype='int32', name='i')", f"e = L.Embedding(9, 4{d.pick(['', ', mask_zero=True'])})(i)", f"h = L.Bidirectional(L.{d.pick(['LSTM', 'GRU'])}(3, return_sequences=True))(e)"]
    lines += d.pick([["s = L.Dense(1, activation='tanh')(h)", "w = L.Softmax(axis=1)(s)", "x = ops.sum(h * w, axis=1)"], ["s = L.Dense(1)(h)", "s = L.Flatten()(s)", "w = L.Activation('softmax')(s)", "w = L.RepeatVector(6)(w)", "w = L.Permute((2, 1))(w)", "x = L.Multiply()([h, w])", "x = L.GlobalAveragePooling1D()(x)"], ["s = L.Dense(1, activation='tanh')(h)", "s = L.Flatten()(s)", "w = L.Activation('softmax')(s)", "x = L.Dot(axes=1)([w, h])"],
                     ["x = L.AdditiveAttention()([h, h])", "x = L.GlobalAveragePooling1D()(x)"], ["q = L.Dense(4)(h)", "x = L.Attention(use_scale=True)([q, L.Dense(4)(h)])", "x = L.Flatten()(x)"]])
    return finish(d, lines, "i")


@style
def experts(d):
    """Several small networks and one that weighs them."""
    lines = ["i = L.Input((5,), name='i')", "g = L.Dense(3, activation='softmax')(i)", f"parts = [L.Dense(4, activation={act(d)})(i) for _ in range(3)]", d.pick(["x = ops.stack(parts, axis=1)\nx = ops.sum(x * ops.expand_dims(g, -1), axis=1)", "x = L.add([L.Multiply()([p, g[:, n : n + 1]]) for n, p in enumerate(parts)])", "x = ops.einsum('bn,bnd->bd', g, ops.stack(parts, axis=1))"])]
    return finish(d, lines, "i")


@style
def crossing(d):
    """Products of all features with each other, as recommenders have them."""
    lines = ["i = L.Input((5,), name='i')", "x = i"] + ["x = i * L.Dense(5)(x) + x" if d.chance(0.5) else "x = L.Add()([L.Multiply()([i, L.Dense(5, use_bias=False)(x)]), x])" for _ in range(d.pick([1, 2]))]
    lines += ["h = L.Dense(4, activation='relu')(i)", "x = L.Concatenate()([x, h])"]
    return finish(d, lines, "i")


@style
def conditional(d):
    """A class as a second input that scales and shifts."""
    lines = ["i = L.Input((6, 6, 1), name='i')", "c = L.Input((1,), dtype='int32', name='c')", "x = L.Conv2D(3, 3, activation='relu')(i)", "e = L.Flatten()(L.Embedding(8, 4)(c))", "s = L.Dense(3)(e)", "t = L.Dense(3)(e)", d.pick(["x = x * L.Reshape((1, 1, 3))(s) + L.Reshape((1, 1, 3))(t)", "x = L.Add()([L.Multiply()([x, L.Reshape((1, 1, 3))(s)]), L.Reshape((1, 1, 3))(t)])", "x = x * ops.reshape(s, (-1, 1, 1, 3)) + t[:, None, None, :]"]), "x = L.Flatten()(x)"]
    return finish(d, lines, "[i, c]")


@style
def tuned(d):
    """A model from Sequential parts, frozen, thawed in part, with a head of its own; regularized."""
    lines = ["base = keras.Sequential([L.Input((6, 6, 2)), L.Conv2D(3, 3, activation='relu', name='low'), L.BatchNormalization(name='norm'), L.Conv2D(4, 3, activation='relu', name='high')], name='backbone')", d.pick(["base.trainable = False", "base.trainable = True\nfor layer in base.layers[:-1]:\n    layer.trainable = False", "for layer in base.layers:\n    layer.trainable = not isinstance(layer, L.BatchNormalization)"])]
    last, loss = classes(d)
    lines.append(f"model = keras.Sequential([L.Input((6, 6, 2), name='i'), {d.pick(['', 'L.Rescaling(2.0), '])}base, {d.pick(['L.Flatten()', 'L.GlobalAveragePooling2D()'])}, L.Dense(4, activation='relu', kernel_regularizer={d.pick([repr('l2'), 'keras.regularizers.L2(0.01)', 'None'])}), {last[:-3]}])")
    return "\n".join(lines + [compiling.compile_line(d, [("out", loss)])])


@style
def language_model(d):
    """The next token at every step."""
    lines = ["i = L.Input((6,), dtype='int32', name='i')", f"x = L.Embedding(8, 4{d.pick(['', ', mask_zero=True'])})(i)"] + [f"x = L.{d.pick(['LSTM', 'GRU', 'SimpleRNN'])}(4, return_sequences=True{d.options(0.2, dropout=['0.0'], recurrent_dropout=['0.0'], unroll=['True'])})(x)" for _ in range(d.pick([1, 2]))]
    lines.append(d.pick(["y = L.Dense(8, activation='softmax')(x)", "y = L.Dense(8)(x)", "y = L.TimeDistributed(L.Dense(8, activation='softmax'))(x)"]))
    loss = "keras.losses.SparseCategoricalCrossentropy(from_logits=True)" if "softmax" not in lines[-1] else "'sparse_categorical_crossentropy'"
    return finish(d, lines, "i", "y", loss)


@style
def segmentation(d):
    """A class for each pixel."""
    lines = ["i = L.Input((8, 8, 2), name='i')", "x = L.Conv2D(3, 3, strides=2, padding='same', activation='relu')(i)", d.pick(["x = L.SeparableConv2D(4, 3, padding='same', activation='relu')(x)", "x = L.Conv2D(4, 3, padding='same', dilation_rate=2, activation='relu')(x)"]), d.pick(["x = L.Conv2DTranspose(4, 3, strides=2, padding='same', activation='relu')(x)", "x = L.UpSampling2D(2, interpolation='bilinear')(x)", "x = L.Resizing(8, 8)(x)"]), "y = L.Conv2D(3, 1, activation='softmax')(x)"]
    return finish(d, lines, "i", "y", d.pick(["'sparse_categorical_crossentropy'", "'categorical_crossentropy'", "keras.losses.Dice()", "keras.losses.Dice(axis=(1, 2, 3))", "keras.losses.Tversky(axis=[1, 2])", "keras.losses.CategoricalFocalCrossentropy()"]))
