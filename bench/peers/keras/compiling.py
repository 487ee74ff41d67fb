"""Compile settings as text: losses that go with an activation, optimizers with their options, schedules."""

# A loss, what the last layer ends in, whether it wants at least two units.
LOSSES = [
    ("'sparse_categorical_crossentropy'", "softmax", 2), ("'categorical_crossentropy'", "softmax", 2), ("'binary_crossentropy'", "sigmoid", 1), ("'mse'", "linear", 1), ("'mae'", "linear", 1), ("'MSE'", "linear", 1), ("'mean_squared_error'", "tanh", 1),
    ("keras.losses.SparseCategoricalCrossentropy(from_logits=True)", "linear", 2), ("keras.losses.CategoricalCrossentropy(from_logits=True)", "linear", 2), ("keras.losses.BinaryCrossentropy(from_logits=True)", "linear", 1),
    ("keras.losses.SparseCategoricalCrossentropy()", "softmax", 2), ("keras.losses.CategoricalCrossentropy()", "softmax", 2), ("keras.losses.BinaryCrossentropy()", "sigmoid", 1), ("keras.losses.MeanSquaredError()", "linear", 1), ("'huber'", "linear", 1), ("keras.losses.Huber()", "linear", 1),
]
RARE_LOSSES = [
    ("keras.losses.SparseCategoricalCrossentropy(from_logits=True)", "softmax", 2), ("keras.losses.BinaryCrossentropy(from_logits=True)", "sigmoid", 1), ("'sparse_categorical_crossentropy'", "linear", 2), ("'categorical_crossentropy'", "relu", 2), ("'binary_crossentropy'", "linear", 1),
    ("keras.losses.CategoricalCrossentropy(label_smoothing=0.1)", "softmax", 2), ("keras.losses.BinaryCrossentropy(label_smoothing=0.2)", "sigmoid", 1), ("keras.losses.SparseCategoricalCrossentropy(ignore_class=0)", "softmax", 2), ("keras.losses.Huber(delta=0.3)", "linear", 1),
    ("keras.losses.BinaryFocalCrossentropy()", "sigmoid", 1), ("keras.losses.BinaryFocalCrossentropy(apply_class_balancing=True, gamma=3.0)", "sigmoid", 1), ("keras.losses.CategoricalFocalCrossentropy()", "softmax", 2), ("'kl_divergence'", "softmax", 2), ("'poisson'", "softplus", 1),
    ("keras.losses.CosineSimilarity()", "linear", 2), ("'cosine_similarity'", "tanh", 2), ("'log_cosh'", "linear", 1), ("'hinge'", "tanh", 1), ("'squared_hinge'", "linear", 1), ("'categorical_hinge'", "softmax", 2), ("'mape'", "linear", 1), ("'msle'", "softplus", 1), ("'mean_absolute_percentage_error'", "relu", 1),
    ("keras.losses.Dice()", "sigmoid", 2), ("keras.losses.Dice(axis=[1])", "softmax", 2), ("keras.losses.Dice(axis=(0, 1))", "sigmoid", 2), ("keras.losses.Tversky(alpha=0.3, beta=0.7)", "sigmoid", 2), ("keras.losses.Tversky(axis=-1)", "sigmoid", 2),
    ("keras.losses.Circle()", "tanh", 3), ("keras.losses.Circle(gamma=10.0, remove_diagonal=False)", "linear", 3), ("keras.losses.CategoricalGeneralizedCrossEntropy(q=0.3)", "softmax", 2), ("keras.losses.BinaryCrossentropy(reduction='sum')", "sigmoid", 1),
    ("keras.losses.CategoricalCrossentropy(from_logits=True, axis=1)", "linear", 2), ("keras.losses.SparseCategoricalCrossentropy(reduction='mean_with_sample_weight')", "softmax", 2), ("keras.losses.Poisson(reduction='sum')", "softplus", 1), ("keras.losses.MeanSquaredError(reduction='sum')", "linear", 1), ("keras.losses.MeanAbsoluteError(reduction='mean')", "linear", 1), ("keras.losses.mean_squared_error", "linear", 1),
    ("keras.losses.MeanSquaredError(reduction='mean_with_sample_weight')", "linear", 1), ("keras.losses.LogCosh()", "linear", 1), ("'bce'", "sigmoid", 1), ("'mean_squared_logarithmic_error'", "softplus", 1), ("keras.losses.KLDivergence()", "softmax", 2),
]
SCHEDULES = [
    "keras.optimizers.schedules.ExponentialDecay(0.05, 2, 0.7)", "keras.optimizers.schedules.ExponentialDecay(0.05, 2, 0.5, staircase=True)", "keras.optimizers.schedules.PiecewiseConstantDecay([1, 2], [0.1, 0.05, 0.01])",
    "keras.optimizers.schedules.PolynomialDecay(0.05, 4, 0.01, power=2.0)", "keras.optimizers.schedules.PolynomialDecay(0.05, 2, 0.01, cycle=True)", "keras.optimizers.schedules.InverseTimeDecay(0.05, 2, 0.5)",
    "keras.optimizers.schedules.CosineDecay(0.05, 5, alpha=0.1)", "keras.optimizers.schedules.CosineDecay(0.01, 5, warmup_target=0.05, warmup_steps=2)", "keras.optimizers.schedules.CosineDecayRestarts(0.05, 2)",
]
CLIPS = ["clipnorm=0.1", "clipvalue=0.02", "global_clipnorm=0.2"]
OPTIMIZERS = {
    "SGD": ["momentum=0.9", "momentum=0.9, nesterov=True"], "Adam": ["amsgrad=True", "beta_1=0.8", "epsilon=1e-3"], "RMSprop": ["momentum=0.5", "centered=True", "rho=0.8"], "AdamW": ["weight_decay=0.1", "amsgrad=True"],
    "Nadam": ["beta_1=0.8"], "Adamax": ["beta_2=0.9"], "Adagrad": ["initial_accumulator_value=0.5"], "Adadelta": ["rho=0.9"], "Ftrl": ["l1_regularization_strength=0.01", "l2_regularization_strength=0.01", "beta=0.1"], "Lion": ["beta_1=0.8"],
    "Adafactor": ["relative_step=False"], "Lamb": ["beta_1=0.8"], "Muon": ["momentum=0.8"],
}


def optimizer(d):
    """An optimizer; the usual ones most often."""
    name = d.pick(["SGD", "SGD", "SGD", "Adam", "Adam", "RMSprop", "AdamW"]) if d.chance(1 - 1.5 * d.unusual) else d.pick(list(OPTIMIZERS))
    if d.chance(0.08):
        return repr({"RMSprop": "rmsprop"}.get(name, name.lower()))
    rate = d.pick(["0.1", "0.01", "0.05"]) if not d.chance(d.unusual) else d.pick(SCHEDULES)
    rare = [d.pick(CLIPS)] * d.chance(d.unusual) + [d.pick(["weight_decay=0.05", "use_ema=True, ema_momentum=0.9", "gradient_accumulation_steps=2", "use_ema=True, ema_overwrite_frequency=2", "loss_scale_factor=8.0"])] * d.chance(d.unusual / 2)
    own = [d.pick(OPTIMIZERS[name])] * d.chance(0.35)
    options = own + [option for option in rare if option.split("=")[0] not in "".join(own)]
    return f"keras.optimizers.{name}({', '.join([rate] + options)})"


def loss(d):
    return d.pick(RARE_LOSSES if d.chance(1.5 * d.unusual) else LOSSES)


def compile_line(d, named_losses):
    """The call for outputs and their losses, in one of the forms that Keras takes."""
    names, given = [name for name, _ in named_losses], [text for _, text in named_losses]
    weights = [str(d.pick([0.3, 1.0, 2.0])) for _ in names]
    said = {}
    if len(names) == 1:
        said["loss"] = given[0]
        if d.chance(0.08):
            said["loss_weights"] = f"[{weights[0]}]"
    elif d.chance(0.5):
        said["loss"] = "{" + ", ".join(f"{name!r}: {text}" for name, text in named_losses) + "}"
        if d.chance(0.5):
            said["loss_weights"] = "{" + ", ".join(f"{name!r}: {weight}" for name, weight in zip(names, weights)) + "}"
    else:
        given = ["None" if position and d.chance(0.1) else text for position, text in enumerate(given)]
        said["loss"] = "[" + ", ".join(given) + "]"
        if d.chance(0.5):
            said["loss_weights"] = "[" + ", ".join(weights) + "]"
    said["optimizer"] = optimizer(d)
    return f"model.compile({', '.join(f'{key}={value}' for key, value in said.items())})"
