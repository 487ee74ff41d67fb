//! The zoo: well-known models by name.
//!
//! A spec is `NAME[@SIZE][,key=value...]`, such as `resnet50@224` or `efficientnet_b0@64,classes=10,dropout=0`. The
//! size is what the entry says it is: pixels a side, positions of a sequence, or features. Layers have the names Keras
//! gives them, and parameters the shapes, so weights and counts can be compared.

mod convnet;
mod densenet;
mod efficientnet;
mod mobilenet;
mod resnet;
mod settings;
mod spec;
mod text;
mod unet;
mod vgg;

pub use settings::{SettingValue, Settings};
pub use spec::ZooError;

use crate::Model;

/// One kind of model of the zoo.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// How it is called.
    pub name: &'static str,
    /// What it is, in a line.
    pub description: &'static str,
    /// What the size after `@` is, in a word: pixels, positions or features.
    pub unit: &'static str,
    /// The size if none is given.
    pub default_size: usize,
    /// The smallest size that makes sense.
    pub smallest_size: usize,
    /// What sizes are multiples of.
    pub size_step: usize,
    /// What can be set besides the size.
    pub options: &'static [Setting],
    build: fn(&Settings) -> Model,
}

/// Something that can be set by `key=value`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setting {
    /// The key.
    pub name: &'static str,
    /// What it is if it is not given, which also says what it may be.
    pub default: SettingValue,
    /// What it sets, in a few words.
    pub description: &'static str,
}

/// All models of the zoo.
pub fn entries() -> &'static [Entry] {
    ENTRIES
}

/// The model a spec names.
pub fn find(spec: &str) -> Result<Model, ZooError> {
    let (entry, settings) = spec::parse(spec)?;
    Ok((entry.build)(&settings))
}

const CLASSES: Setting =
    Setting { name: "classes", default: SettingValue::Count(10), description: "number of classes" };
const CHANNELS: Setting =
    Setting { name: "channels", default: SettingValue::Count(3), description: "channels of the image" };
const GREY: Setting = Setting { default: SettingValue::Count(1), ..CHANNELS };
const VOCABULARY: Setting =
    Setting { name: "vocab", default: SettingValue::Count(10_000), description: "number of token ids" };
const DROPOUT: Setting = Setting {
    name: "dropout",
    default: SettingValue::Rate(0.2),
    description: "share of features dropped before the classifier",
};
const DROP_CONNECT: Setting = Setting {
    name: "drop_connect",
    default: SettingValue::Rate(0.2),
    description: "share of images that skip the last block; earlier blocks less",
};

const fn count(name: &'static str, default: usize, description: &'static str) -> Setting {
    Setting { name, default: SettingValue::Count(default), description }
}

const IMAGE: &[Setting] = &[CLASSES, CHANNELS];
const TEXT: &[Setting] = &[CLASSES, VOCABULARY];
const TRANSFORMER: &[Setting] = &[
    CLASSES,
    count("layers", 4, "number of encoder blocks"),
    count("width", 256, "features a position"),
    count("heads", 8, "heads of attention; they divide the width"),
    count("ff", 1024, "width of the inner layer of a block"),
    VOCABULARY,
    Setting {
        name: "dropout",
        default: SettingValue::Rate(0.0),
        description: "share of scores and block results dropped",
    },
];

const ENTRIES: &[Entry] = &[
    Entry {
        name: "mlp",
        description: "one hidden layer of 100 units on a flat vector",
        unit: "features",
        default_size: 784,
        smallest_size: 1,
        size_step: 1,
        options: &[CLASSES],
        build: convnet::mlp,
    },
    Entry {
        name: "cnn",
        description: "three convolutions and a dense layer, as in TensorFlow's CIFAR tutorial",
        unit: "pixels",
        default_size: 32,
        smallest_size: 4,
        size_step: 1,
        options: IMAGE,
        build: convnet::cnn,
    },
    Entry {
        name: "lenet",
        description: "LeNet-5 (LeCun et al. 1998)",
        unit: "pixels",
        default_size: 32,
        smallest_size: 4,
        size_step: 1,
        options: &[CLASSES, GREY],
        build: convnet::lenet,
    },
    Entry {
        name: "resnet20",
        description: "ResNet v1 for small images, 3 stages of 3 blocks (He et al. 2015, section 4.2)",
        unit: "pixels",
        default_size: 32,
        smallest_size: 4,
        size_step: 1,
        options: IMAGE,
        build: resnet::resnet20,
    },
    Entry {
        name: "resnet50",
        description: "ResNet v1 of 50 layers with bottlenecks (He et al. 2015)",
        unit: "pixels",
        default_size: 224,
        smallest_size: 32,
        size_step: 1,
        options: IMAGE,
        build: resnet::resnet50,
    },
    Entry {
        name: "vgg16",
        description: "13 convolutions and 3 dense layers (Simonyan and Zisserman 2014)",
        unit: "pixels",
        default_size: 224,
        smallest_size: 32,
        size_step: 1,
        options: IMAGE,
        build: vgg::vgg16,
    },
    Entry {
        name: "mobilenet_v2",
        description: "inverted residuals and linear bottlenecks (Sandler et al. 2018)",
        unit: "pixels",
        default_size: 224,
        smallest_size: 32,
        size_step: 1,
        options: IMAGE,
        build: mobilenet::mobilenet_v2,
    },
    Entry {
        name: "mobilenet_v3_large",
        description: "MobileNet with squeeze and excitation and hard-swish (Howard et al. 2019)",
        unit: "pixels",
        default_size: 224,
        smallest_size: 32,
        size_step: 1,
        options: &[CLASSES, CHANNELS, DROPOUT],
        build: mobilenet::mobilenet_v3_large,
    },
    Entry {
        name: "efficientnet_b0",
        description: "EfficientNet, the base model (Tan and Le 2019)",
        unit: "pixels",
        default_size: 224,
        smallest_size: 32,
        size_step: 1,
        options: &[CLASSES, CHANNELS, DROPOUT, DROP_CONNECT],
        build: efficientnet::efficientnet_b0,
    },
    Entry {
        name: "densenet121",
        description: "every layer reads all layers before it (Huang et al. 2016)",
        unit: "pixels",
        default_size: 224,
        smallest_size: 32,
        size_step: 1,
        options: IMAGE,
        build: densenet::densenet121,
    },
    Entry {
        name: "unet",
        description: "a small U-Net that gives each pixel a class (Ronneberger et al. 2015)",
        unit: "pixels",
        default_size: 64,
        smallest_size: 8,
        size_step: 8,
        options: IMAGE,
        build: unet::unet,
    },
    Entry {
        name: "lstm",
        description: "embedding, LSTM of 128 units, two dense layers",
        unit: "positions",
        default_size: 64,
        smallest_size: 1,
        size_step: 1,
        options: TEXT,
        build: text::lstm,
    },
    Entry {
        name: "bilstm",
        description: "embedding, LSTM of 64 units in both directions, two dense layers",
        unit: "positions",
        default_size: 64,
        smallest_size: 1,
        size_step: 1,
        options: TEXT,
        build: text::bilstm,
    },
    Entry {
        name: "transformer",
        description: "encoder of attention blocks (Vaswani et al. 2017), mean over positions, classifier",
        unit: "positions",
        default_size: 128,
        smallest_size: 1,
        size_step: 1,
        options: TRANSFORMER,
        build: text::transformer,
    },
];
