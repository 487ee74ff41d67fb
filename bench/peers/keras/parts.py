"""The catalogue that models are drawn from: layers and ops as text, with options drawn at random.

`{x}` stands for what the part is called with. Parts are listed by the rank of what they take, the batch counted; what does not fit is found out by trying.
"""

ACTIVATIONS = ["relu", "tanh", "sigmoid", "gelu", "elu", "selu", "silu", "softplus", "softsign", "leaky_relu", "relu6", "hard_sigmoid", "exponential", "mish", "linear",
               "softmax", "log_softmax", "hard_silu", "celu", "glu", "tanh_shrink", "hard_tanh", "hard_shrink", "soft_shrink", "squareplus", "sparse_plus", "log_sigmoid", "threshold"]
USUAL = ["relu", "tanh", "sigmoid", "gelu", "elu", "silu", "softplus", "linear", "leaky_relu", "swish"]
REGULARIZERS = ["'l2'", "'l1'", "keras.regularizers.L2(0.02)", "keras.regularizers.L1(0.02)", "keras.regularizers.L1L2(0.01, 0.02)", "keras.regularizers.OrthogonalRegularizer(0.02)"]
CONSTRAINTS = ["'max_norm'", "'non_neg'", "'unit_norm'", "keras.constraints.MaxNorm(0.7)", "keras.constraints.MinMaxNorm(0.3, 0.8)", "keras.constraints.MaxNorm(0.5, axis=0)"]


class Draw:
    """Random numbers and how often something unusual is drawn."""

    def __init__(self, random, unusual=0.12):
        self.random, self.unusual = random, unusual

    def pick(self, choices):
        return choices[self.random.randrange(len(choices))]

    def chance(self, p):
        return self.random.random() < p

    def units(self):
        return self.pick([1, 2, 3, 4, 6, 8])

    def activation(self):
        return repr(self.pick(USUAL if self.chance(0.8) else ACTIVATIONS))

    def options(self, p=None, **choices):
        """Some of the options, each with a value."""
        p = self.unusual if p is None else p
        return "".join(f", {name}={self.pick(values)}" for name, values in choices.items() if self.chance(p))

    def act(self, p=0.4):
        return f", activation={self.activation()}" if self.chance(p) else ""

    def kernel(self, bias=True, prefix="kernel"):
        """What layers with a kernel have in common."""
        given = {f"{prefix}_regularizer": REGULARIZERS, f"{prefix}_constraint": CONSTRAINTS}
        text = self.options(self.unusual / 4, **given, activity_regularizer=REGULARIZERS[:5])
        return text + (self.options(use_bias=["False"]) + self.options(self.unusual / 6, bias_regularizer=REGULARIZERS[:5], bias_constraint=CONSTRAINTS[:3]) if bias else "")


def dense(d):
    return f"L.Dense({d.units()}{d.act()}{d.kernel()})({{x}})"


def conv(kind, n):
    def part(d):
        size = d.pick(["1", "2", "3", "(3, 2)" if n == 2 else "2"])
        stride = d.options(0.25, strides=["2"]) or d.options(0.1, dilation_rate=["2"])
        extra = "" if "Transpose" in kind else d.options(0.1, groups=["2"]) if kind.startswith("Conv") else d.options(0.2, depth_multiplier=["2"])
        filters = "" if kind.startswith("Depthwise") else f"{d.pick([2, 4, 6])}, "
        padding = d.options(0.5, padding=["'same'", "'causal'" if kind == "Conv1D" else "'same'"])
        prefix = "depthwise" if kind.startswith(("Depthwise", "Separable")) else "kernel"
        return f"L.{kind}({filters}{size}{stride}{padding}{extra}{d.act()}{d.kernel(prefix=prefix)})({{x}})"
    return part


def pool(kind):
    return lambda d: f"L.{kind}({d.pick(['2', '3'])}{d.options(0.3, strides=['1', '2', '3'])}{d.options(0.4, padding=[repr('same')])})({{x}})"


def plain(text):
    return lambda d: text


def recurrent(kind, ending):
    def part(d):
        shared = d.options(go_backwards=["True"], unroll=["True"], use_bias=["False"], dropout=["0.0"]) + d.options(0.06, activation=["'relu'", "'sigmoid'", "'linear'"], kernel_regularizer=REGULARIZERS, recurrent_regularizer=REGULARIZERS)
        own = {"LSTM": dict(unit_forget_bias=["False"], recurrent_activation=["'hard_sigmoid'"]), "GRU": dict(reset_after=["False"], recurrent_activation=["'hard_sigmoid'"])}
        text = f"L.{kind}({d.pick([2, 3, 4])}{ending}{shared}{d.options(0.06, **own.get(kind, {}))}{d.options(0.03, stateful=['True'])})"
        if d.chance(0.25):
            text = f"L.Bidirectional({text}{d.options(0.3, merge_mode=[repr('sum'), repr('mul'), repr('ave')])})"
        return text + "({x})"
    return part


def attention(d):
    extra = d.options(value_dim=["3"], use_bias=["False"], output_shape=["5"], dropout=["0.0"])
    call = d.options(use_causal_mask=["True"])
    return f"L.MultiHeadAttention({d.pick([1, 2, 3])}, {d.pick([2, 3, 4])}{extra})({{x}}, {{x}}{call})"


ANY = [
    ("Activation", lambda d: f"L.Activation({d.activation()})({{x}})"),
    ("ReLU", lambda d: f"L.ReLU({d.pick(['', 'max_value=0.5', 'negative_slope=0.1', 'threshold=0.2'])})({{x}})"),
    ("LeakyReLU", lambda d: f"L.LeakyReLU({d.pick(['', 'negative_slope=0.1'])})({{x}})"),
    ("PReLU", plain("L.PReLU()({x})")),
    ("ELU", lambda d: f"L.ELU({d.pick(['', 'alpha=0.5'])})({{x}})"),
    ("Softmax", plain("L.Softmax()({x})")),
    ("Dropout", lambda d: f"L.Dropout({0.0 if d.chance(0.9) else 0.3})({{x}})"),
    ("GaussianNoise", lambda d: f"L.GaussianNoise({0.0 if d.chance(0.9) else 0.3})({{x}})"),
    ("GaussianDropout", lambda d: f"L.GaussianDropout({0.0 if d.chance(0.9) else 0.3})({{x}})"),
    ("AlphaDropout", lambda d: f"L.AlphaDropout({0.0 if d.chance(0.9) else 0.3})({{x}})"),
    ("BatchNormalization", lambda d: f"L.BatchNormalization({d.pick(['', 'momentum=0.8', 'epsilon=0.1', 'center=False', 'scale=False', 'renorm=False'][:5])}{d.options(0.05, gamma_regularizer=REGULARIZERS[:5]) if False else ''})({{x}})"),
    ("LayerNormalization", lambda d: f"L.LayerNormalization({d.pick(['', '', 'epsilon=0.1', 'center=False', 'scale=False'])})({{x}})"),
    ("RMSNormalization", plain("L.RMSNormalization()({x})")),
    ("UnitNormalization", plain("L.UnitNormalization()({x})")),
    ("Identity", plain("L.Identity()({x})")),
    ("Rescaling", lambda d: f"L.Rescaling({d.pick(['1 / 255', '2.0', '0.5, offset=-0.1'])})({{x}})"),
    ("ActivityRegularization", lambda d: f"L.ActivityRegularization({d.pick(['l1=0.01', 'l2=0.01'])})({{x}})"),
    ("residual", lambda d: "L.Add()([{x}, L.Dense({last}%s)({x})])" % d.act()),
    ("scaled", lambda d: d.pick(["{x} * 0.5", "{x} + 1.0", "1.0 - {x}", "{x} / 3.0", "-{x}", "{x} ** 2", "abs({x})", "2.0 * {x} + {x}"])),
    ("unary op", lambda d: f"ops.{d.pick(UNARY)}({{x}})"),
    ("stop_gradient", plain("{x} + ops.stop_gradient({x})")),
    ("clip", plain("ops.clip({x}, -0.4, 0.5)")),
    ("where", plain("ops.where({x} > 0.1, {x}, {x} * 0.3)")),
    ("reduce op", lambda d: f"{{x}} - ops.{d.pick(['mean', 'max', 'min', 'sum', 'std', 'var', 'logsumexp', 'amax'])}({{x}}, axis=-1, keepdims=True)"),
    ("norm op", plain("{x} / (1.0 + ops.norm({x}, axis=-1, keepdims=True))")),
    ("cumsum", plain("ops.cumsum({x}, axis=-1)")),
    ("split", plain("ops.concatenate(ops.split({x}, [1], axis=-1)[::-1], axis=-1)")),
    ("maximum", plain("ops.maximum({x}, 0.1) + ops.minimum({x}, -0.1)")),
    ("flip", plain("ops.flip({x}, axis=-1)")),
    ("roll", plain("ops.roll({x}, 1, axis=-1)")),
    ("top_k", plain("ops.top_k({x}, 2)[0]")),
    ("take", plain("ops.take({x}, [0, 0], axis=-1)")),
    ("pick", plain("{x}[..., :2]")),
    ("sort", plain("ops.sort({x}, axis=-1)")),
    ("normalize", plain("ops.normalize({x}, axis=-1)")),
    ("EinsumDense", lambda d: f"L.EinsumDense('...x,xy->...y', output_shape={d.pick([2, 4])}, bias_axes='y'{d.act()})({{x}})"),
]
UNARY = ["relu", "tanh", "sigmoid", "exp", "square", "sin", "cos", "softplus", "silu", "gelu", "abs", "negative", "sign", "floor", "log1p", "expm1", "erf", "softmax", "log_softmax", "elu", "leaky_relu", "sqrt", "rsqrt", "reciprocal",
         "arctan", "sinh", "cosh", "hard_sigmoid", "round", "log_sigmoid", "relu6", "selu", "ceil", "arcsinh", "identity" if False else "tan"]
BY_RANK = {
    2: [
        ("Dense", dense), ("Dense", dense), ("Dense", dense),
        ("RepeatVector", lambda d: f"L.RepeatVector({d.pick([2, 3])})({{x}})"),
        ("Reshape", plain("L.Reshape((-1, 1))({x})")),
        ("GroupNormalization", plain("L.GroupNormalization(1)({x})")),
        ("SpectralNormalization", plain("L.SpectralNormalization(L.Dense(3))({x})")),
        ("expand_dims", plain("ops.expand_dims({x}, 1)")),
        ("outer product", plain("ops.expand_dims({x}, 1) * ops.expand_dims({x}, 2)")),
    ],
    3: [
        ("Dense", dense), ("Conv1D", conv("Conv1D", 1)), ("Conv1D", conv("Conv1D", 1)), ("SeparableConv1D", conv("SeparableConv1D", 1)), ("DepthwiseConv1D", conv("DepthwiseConv1D", 1)), ("Conv1DTranspose", conv("Conv1DTranspose", 1)),
        ("MaxPooling1D", pool("MaxPooling1D")), ("AveragePooling1D", pool("AveragePooling1D")),
        ("GlobalAveragePooling1D", lambda d: f"L.GlobalAveragePooling1D({d.pick(['', '', 'keepdims=True'])})({{x}})"), ("GlobalMaxPooling1D", plain("L.GlobalMaxPooling1D()({x})")),
        ("LSTM", recurrent("LSTM", "")), ("GRU", recurrent("GRU", "")), ("SimpleRNN", recurrent("SimpleRNN", "")),
        ("LSTM sequences", recurrent("LSTM", ", return_sequences=True")), ("GRU sequences", recurrent("GRU", ", return_sequences=True")), ("SimpleRNN sequences", recurrent("SimpleRNN", ", return_sequences=True")),
        ("MultiHeadAttention", attention), ("MultiHeadAttention", attention),
        ("Attention", lambda d: f"L.Attention({d.pick(['', 'use_scale=True', 'score_mode=' + repr('concat')])})([{{x}}, {{x}}])"),
        ("AdditiveAttention", plain("L.AdditiveAttention()([{x}, {x}])")),
        ("GroupQueryAttention", plain("L.GroupQueryAttention(3, 4, 2)({x}, {x})")),
        ("TimeDistributed", lambda d: f"L.TimeDistributed({d.pick(['L.Dense(3)', 'L.Dense(2, activation=' + repr('relu') + ')', 'L.LayerNormalization()', 'L.BatchNormalization()', 'L.Dropout(0.0)'])})({{x}})"),
        ("Flatten", plain("L.Flatten()({x})")), ("Permute", plain("L.Permute((2, 1))({x})")), ("Reshape", plain("L.Reshape((-1,))({x})")),
        ("ZeroPadding1D", plain("L.ZeroPadding1D(1)({x})")), ("Cropping1D", plain("L.Cropping1D((1, 0))({x})")), ("UpSampling1D", plain("L.UpSampling1D(2)({x})")),
        ("SpatialDropout1D", plain("L.SpatialDropout1D(0.0)({x})")), ("GroupNormalization", plain("L.GroupNormalization(1)({x})")),
        ("Masking", plain("L.Masking()({x})")), ("mean over time", plain("ops.mean({x}, axis=1)")), ("last step", plain("{x}[:, -1]")), ("transpose", plain("ops.transpose({x}, (0, 2, 1))")),
        ("matmul", plain("ops.matmul({x}, ops.transpose({x}, (0, 2, 1)))")), ("RNN cell", lambda d: f"L.RNN({d.pick(['L.LSTMCell(3)', 'L.GRUCell(3)', 'L.SimpleRNNCell(3)', '[L.LSTMCell(3), L.GRUCell(2)]'])})({{x}})"),
        ("Reshape to image", plain("ops.expand_dims({x}, -1)")), ("pad", plain("ops.pad({x}, ((0, 0), (1, 0), (0, 0)))")), ("einsum", plain("ops.einsum('bij,bkj->bik', {x}, {x})")),
        ("LayerNormalization axes", plain("L.LayerNormalization(axis=(1, 2))({x})")), ("BatchNormalization axis", plain("L.BatchNormalization(axis=1)({x})")), ("Softmax axis", plain("L.Softmax(axis=1)({x})")),
    ],
    4: [
        ("Conv2D", conv("Conv2D", 2)), ("Conv2D", conv("Conv2D", 2)), ("Conv2D", conv("Conv2D", 2)), ("SeparableConv2D", conv("SeparableConv2D", 2)), ("DepthwiseConv2D", conv("DepthwiseConv2D", 2)), ("Conv2DTranspose", conv("Conv2DTranspose", 2)),
        ("MaxPooling2D", pool("MaxPooling2D")), ("AveragePooling2D", pool("AveragePooling2D")),
        ("GlobalAveragePooling2D", lambda d: f"L.GlobalAveragePooling2D({d.pick(['', '', 'keepdims=True'])})({{x}})"), ("GlobalMaxPooling2D", plain("L.GlobalMaxPooling2D()({x})")),
        ("Flatten", plain("L.Flatten()({x})")), ("Flatten", plain("L.Flatten()({x})")), ("Dense", dense), ("Permute", plain("L.Permute((2, 1, 3))({x})")),
        ("ZeroPadding2D", lambda d: f"L.ZeroPadding2D({d.pick(['1', '((0, 1), (1, 0))', '(1, 2)'])})({{x}})"), ("Cropping2D", plain("L.Cropping2D(1)({x})")), ("UpSampling2D", lambda d: f"L.UpSampling2D(2{d.options(0.4, interpolation=[repr('bilinear')])})({{x}})"),
        ("Resizing", lambda d: f"L.Resizing(4, 5{d.options(0.3, interpolation=[repr('nearest')])})({{x}})"), ("CenterCrop", plain("L.CenterCrop(2, 2)({x})")), ("SpatialDropout2D", plain("L.SpatialDropout2D(0.0)({x})")),
        ("GroupNormalization", lambda d: f"L.GroupNormalization({d.pick(['1', '2', '-1'])})({{x}})"), ("squeeze and excite", lambda d: "L.Multiply()([{x}, L.Dense({last}, activation='sigmoid')(L.GlobalAveragePooling2D(keepdims=True)({x}))])"),
        ("rows as steps", plain("ops.mean({x}, axis=2)")), ("TimeDistributed", lambda d: f"L.TimeDistributed({d.pick(['L.Conv1D(2, 2)', 'L.LSTM(2)', 'L.Flatten()', 'L.GlobalMaxPooling1D()', 'L.Dense(2)'])})({{x}})"),
        ("Reshape", plain("ops.reshape({x}, (-1, {h} * {w}, {last}))")), ("PReLU shared", plain("L.PReLU(shared_axes=[1, 2])({x})")), ("BatchNormalization axis", plain("L.BatchNormalization(axis=1)({x})")), ("moveaxis", plain("ops.moveaxis({x}, -1, 1)")),
    ],
    5: [
        ("Conv3D", conv("Conv3D", 3)), ("MaxPooling3D", pool("MaxPooling3D")), ("AveragePooling3D", pool("AveragePooling3D")), ("GlobalAveragePooling3D", plain("L.GlobalAveragePooling3D()({x})")), ("ConvLSTM2D", plain("L.ConvLSTM2D(2, 2)({x})")),
        ("TimeDistributed", lambda d: f"L.TimeDistributed({d.pick(['L.Conv2D(3, 2)', 'L.MaxPooling2D()', 'L.Flatten()', 'L.GlobalAveragePooling2D()'])})({{x}})"), ("Flatten", plain("L.Flatten()({x})")),
    ],
}
MERGES = ["L.Add()([{x}, {y}])", "L.Subtract()([{x}, {y}])", "L.Multiply()([{x}, {y}])", "L.Average()([{x}, {y}])", "L.Maximum()([{x}, {y}])", "L.Minimum()([{x}, {y}])", "L.Concatenate()([{x}, {y}])", "L.Concatenate(axis=1)([{x}, {y}])",
          "L.Dot(axes=1)([{x}, {y}])", "L.Dot(axes=-1, normalize=True)([{x}, {y}])", "{x} + {y}", "{x} * {y}", "{x} - {y}", "ops.maximum({x}, {y})", "L.MultiHeadAttention(2, 3)({x}, {y})", "L.Attention()([{x}, {y}])", "ops.concatenate([{x}, {y}], axis=-1)", "ops.stack([{x}, {y}], axis=1)"]
TO_VECTOR = {3: ["L.Flatten()({x})", "L.GlobalAveragePooling1D()({x})", "L.LSTM(3)({x})", "L.GlobalMaxPooling1D()({x})", "L.GRU(4)({x})"], 4: ["L.Flatten()({x})", "L.GlobalAveragePooling2D()({x})", "L.GlobalMaxPooling2D()({x})"], 5: ["L.Flatten()({x})"]}
