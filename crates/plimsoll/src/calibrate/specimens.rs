//! The ops that are measured: a few of each class, small and large, with the shapes that models have.

use plimsoll_graph::op::{
    Attention, AttentionGradient, AveragePool2dGradient, BatchNorm, BatchNormGradient, BiasAdd, Binary,
    Broadcast, Concat, Conv2d, Conv2dFilterGradient, CrossEntropy, CrossEntropyGradient, DepthwiseConv2d,
    DepthwiseConv2dFilterGradient, DepthwiseConv2dInputGradient, Dropout, Embedding, EmbeddingGradient, Gru,
    GruGradient, Interpolation, LayerNorm, LayerNormGradient, Lstm, LstmGradient, MatMul, MaxPool2dGradient,
    Pad, Padding, Pool, Pool2d, Reduce, Reduction, Rule, Slice, Sliding, Softmax, SoftmaxGradient, Targets,
    Transpose, TransposedConv2d, Unary, UnaryGradient, Upsample2d, Upsample2dGradient,
};
use plimsoll_graph::{OpKind, TensorType};

/// An op to be measured.
pub(super) struct Specimen {
    pub(super) kind: OpKind,
    pub(super) inputs: Vec<TensorType>,
}

/// Every class has at least one that takes microseconds and some that take milliseconds.
pub(super) fn specimens() -> Vec<Specimen> {
    let mut all = Vec::new();
    products(&mut all);
    convolutions(&mut all);
    depthwise_convolutions(&mut all);
    sequences(&mut all);
    elementwise(&mut all);
    stretching(&mut all);
    rows(&mut all);
    channels(&mut all);
    pooling(&mut all);
    movement(&mut all);
    updates(&mut all);
    all
}

fn add<const N: usize>(all: &mut Vec<Specimen>, kind: impl Into<OpKind>, inputs: [&TensorType; N]) {
    all.push(Specimen { kind: kind.into(), inputs: inputs.map(TensorType::clone).to_vec() });
}

fn f32<const N: usize>(shape: [usize; N]) -> TensorType {
    TensorType::f32(shape)
}

fn products(all: &mut Vec<Specimen>) {
    // Large, thin, narrow, and one whose right factor is more than a cache holds.
    let sizes = [
        [32, 64, 10],
        [4, 1024, 10],
        [8, 48, 1152],
        [64, 1024, 64],
        [128, 100, 10],
        [1024, 256, 256],
        [512, 512, 512],
        [784, 1024, 256],
        [6272, 144, 40],
        [25088, 16, 96],
        [2, 4096, 2048],
    ];
    for [m, k, n] in sizes {
        add(all, MatMul::default(), [&f32([m, k]), &f32([k, n])]);
    }
    let left = MatMul { transpose_a: true, transpose_b: false };
    let right = MatMul { transpose_a: false, transpose_b: true };
    for [m, k, n] in [[64, 32, 10], [256, 1024, 512], [2048, 2, 1024]] {
        add(all, left, [&f32([k, m]), &f32([k, n])]);
        add(all, right, [&f32([m, k]), &f32([n, k])]);
    }
}

fn convolutions(all: &mut Vec<Specimen>) {
    // Batch, side, channels, window, filters, stride.
    let windows = [
        [1, 8, 8, 3, 16, 1],
        [16, 28, 1, 5, 6, 1],
        [16, 14, 6, 5, 16, 1],
        [8, 32, 16, 3, 16, 1],
        [2, 112, 3, 3, 32, 2],
        [1, 224, 3, 7, 64, 2],
        [2, 56, 64, 3, 64, 1],
        [2, 28, 128, 3, 32, 1],
        [2, 28, 128, 1, 256, 2],
        [2, 14, 256, 3, 256, 1],
        [2, 7, 512, 3, 512, 1],
    ];
    let pointwise = [
        [8, 1, 1152, 1, 48, 1],
        [8, 7, 960, 1, 160, 1],
        [4, 14, 512, 1, 128, 1],
        [8, 28, 144, 1, 40, 1],
        [2, 56, 64, 1, 256, 1],
        [4, 112, 32, 1, 16, 1],
    ];
    for [n, side, channels, window, filters, stride] in windows.into_iter().chain(pointwise) {
        let sliding = Sliding { strides: [stride; 2], padding: Padding::Same, ..Default::default() };
        let conv = Conv2d { sliding, groups: 1 };
        let out = side.div_ceil(stride);
        let (x, y) = (f32([n, side, side, channels]), f32([n, out, out, filters]));
        let filter = f32([window, window, channels, filters]);
        add(all, Conv2dFilterGradient { conv, window: [window; 2] }, [&x, &y]);
        add(all, conv, [&x, &filter]);
        // Nobody asks for the gradient of the first images.
        if channels != 3 {
            add(all, TransposedConv2d { conv, size: [side; 2] }, [&y, &filter]);
        }
    }
}

fn depthwise_convolutions(all: &mut Vec<Specimen>) {
    // Batch, side, channels, window, stride.
    let sizes = [
        [1, 8, 16, 3, 1],
        [4, 112, 16, 3, 1],
        [4, 112, 32, 3, 1],
        [4, 56, 144, 3, 1],
        [4, 56, 96, 3, 2],
        [4, 28, 72, 5, 2],
        [4, 14, 480, 5, 1],
        [4, 14, 384, 3, 1],
        [4, 7, 960, 3, 1],
    ];
    for [n, side, channels, window, stride] in sizes {
        let sliding = Sliding { strides: [stride; 2], padding: Padding::Same, ..Default::default() };
        let out = side.div_ceil(stride);
        let (x, y) = (f32([n, side, side, channels]), f32([n, out, out, channels]));
        let filter = f32([window, window, channels, 1]);
        add(all, DepthwiseConv2d { sliding }, [&x, &filter]);
        add(all, DepthwiseConv2dInputGradient { sliding, size: [side; 2] }, [&y, &filter]);
        add(all, DepthwiseConv2dFilterGradient { sliding, window: [window; 2] }, [&x, &y]);
    }
}

fn sequences(all: &mut Vec<Specimen>) {
    for [n, t, h, d] in [[1, 16, 2, 16], [4, 64, 8, 32], [2, 128, 8, 32], [1, 256, 4, 64], [1, 512, 2, 64]] {
        let op = Attention { scale: 0.1, causal: false };
        let (x, log_sum) = (f32([n, t, h, d]), f32([n, h, t]));
        add(all, op, [&x, &x, &x]);
        add(all, AttentionGradient(op), [&x, &x, &x, &x, &log_sum, &x]);
    }
    for [n, t, u] in [[2, 4, 16], [32, 16, 64], [32, 32, 128], [8, 16, 256]] {
        let (state, four) = (f32([n, t, u]), f32([n, t, 4 * u]));
        let kernel = f32([u, 4 * u]);
        add(all, Lstm::default(), [&four, &kernel]);
        add(all, LstmGradient::default(), [&kernel, &state, &state, &four, &state]);
    }
    let (state, three, kernel, bias) = (f32([32, 16, 64]), f32([32, 16, 192]), f32([64, 192]), f32([192]));
    add(all, Gru::default(), [&three, &kernel, &bias]);
    add(all, GruGradient::default(), [&kernel, &state, &three, &state, &state]);
}

fn elementwise(all: &mut Vec<Specimen>) {
    for elements in [64, 1 << 12, 1 << 16, 1 << 20, 6 << 20] {
        let x = f32([elements / 64, 64]);
        add(all, Unary::Relu, [&x]);
        add(all, UnaryGradient(Unary::Relu), [&x, &x]);
        add(all, Binary::Add, [&x, &x]);
        add(all, BiasAdd {}, [&x, &f32([64])]);
    }
    let functions =
        [Unary::HardSwish, Unary::HardSigmoid, Unary::Swish, Unary::Sigmoid, Unary::Tanh, Unary::Gelu];
    for function in functions {
        for elements in [64, 1 << 12, 1 << 19] {
            let x = f32([elements]);
            add(all, function, [&x]);
            add(all, UnaryGradient(function), [&x, &x]);
        }
    }
    for elements in [64, 1 << 12, 1 << 19] {
        let dropout = Dropout { rate: 0.2, seed: 1 };
        add(all, dropout, [&f32([elements]), &TensorType::i32([])]);
    }
}

fn stretching(all: &mut Vec<Specimen>) {
    for [n, side, channels] in [[1, 4, 16], [8, 14, 480], [8, 56, 96], [8, 7, 1152]] {
        let (image, a_channel) = (f32([n, side, side, channels]), f32([n, 1, 1, channels]));
        add(all, Binary::Multiply, [&image, &a_channel]);
        add(all, Broadcast { shape: image.shape.clone() }, [&a_channel]);
    }
    add(all, Binary::Subtract, [&f32([2, 112, 112, 3]), &f32([3])]);
    add(all, Broadcast { shape: [64].into() }, [&f32([1])]);
}

fn rows(all: &mut Vec<Specimen>) {
    let loss = CrossEntropy { targets: Targets::Sparse, from_logits: false };
    for [rows, classes] in [[8, 10], [128, 10], [16384, 10], [64, 1000]] {
        let (x, of_rows, labels) = (f32([rows, classes]), f32([rows]), TensorType::i32([rows]));
        add(all, Softmax {}, [&x]);
        add(all, SoftmaxGradient {}, [&x, &x]);
        add(all, loss, [&x, &labels]);
        add(all, CrossEntropyGradient(loss), [&x, &labels, &of_rows]);
    }
    for [rows, width] in [[8, 64], [1024, 256], [512, 768], [8192, 64]] {
        let (x, gamma, of_rows) = (f32([rows, width]), f32([width]), f32([rows]));
        add(all, LayerNorm { epsilon: 1e-3 }, [&x, &gamma, &gamma]);
        add(all, LayerNormGradient {}, [&x, &gamma, &of_rows, &of_rows, &x]);
    }
}

fn channels(all: &mut Vec<Specimen>) {
    let sizes = [[1, 4, 16], [8, 32, 16], [8, 7, 512], [8, 14, 192], [4, 28, 256], [4, 56, 64], [4, 112, 64]];
    for [n, side, channels] in sizes {
        let (x, c) = (f32([n, side, side, channels]), f32([channels]));
        add(all, BatchNorm { epsilon: 1e-3 }, [&x, &c, &c]);
        add(all, BatchNormGradient { epsilon: 1e-3 }, [&x, &c, &c, &c, &x]);
        let over =
            |axes: &[usize]| Reduce { reduction: Reduction::Mean, axes: axes.to_vec(), keep_axes: false };
        add(all, over(&[0, 1, 2]), [&x]);
        add(all, over(&[1, 2]), [&x]);
    }
}

fn pooling(all: &mut Vec<Specimen>) {
    for [n, side, channels, side_of_window] in
        [[1, 8, 8, 2], [16, 28, 6, 2], [8, 64, 16, 2], [4, 32, 64, 2], [2, 112, 64, 3]]
    {
        let sliding = Sliding { strides: [2; 2], padding: Padding::Same, ..Default::default() };
        let window = [side_of_window; 2];
        let (x, y) = (f32([n, side, side, channels]), f32([n, side / 2, side / 2, channels]));
        add(all, Pool2d { pool: Pool::Max, window, sliding }, [&x]);
        add(all, Pool2d { pool: Pool::Average, window, sliding }, [&x]);
        add(all, MaxPool2dGradient { window, sliding }, [&x, &y, &y]);
        add(all, AveragePool2dGradient { window, sliding, size: [side; 2] }, [&y]);
    }
    for [n, side, channels] in [[1, 4, 8], [4, 16, 64]] {
        let (x, y) = (f32([n, side, side, channels]), f32([n, 2 * side, 2 * side, channels]));
        for interpolation in [Interpolation::Nearest, Interpolation::Bilinear] {
            let op = Upsample2d { interpolation, factor: [2; 2] };
            add(all, op, [&x]);
            add(all, Upsample2dGradient(op), [&y]);
        }
    }
}

fn movement(all: &mut Vec<Specimen>) {
    for [n, side, channels] in [[1, 4, 16], [4, 7, 32], [4, 28, 128], [4, 56, 128]] {
        let x = f32([n, side, side, channels]);
        add(all, Concat { axis: 3 }, [&x, &x]);
        let size = vec![n, side, side, channels / 2];
        add(all, Slice { start: vec![0; 4], size }, [&x]);
        let around = vec![0, 1, 1, 0];
        add(all, Pad { before: around.clone(), after: around, value: 0.0 }, [&x]);
    }
    let ids = TensorType::i32([16, 64]);
    add(all, Embedding {}, [&f32([10_000, 128]), &ids]);
    add(all, EmbeddingGradient { rows: 10_000 }, [&ids, &f32([16, 64, 128])]);
    for [rows, columns] in [[8, 16], [256, 512], [1024, 1024]] {
        add(all, Transpose { order: vec![1, 0] }, [&f32([rows, columns])]);
        add(all, Transpose { order: vec![1, 0, 2] }, [&f32([rows, 8, columns / 8])]);
    }
}

fn updates(all: &mut Vec<Specimen>) {
    let adam = Rule::Adam { beta1: 0.9, beta2: 0.999, epsilon: 1e-7, amsgrad: false };
    let (rate, step) = (f32([]), TensorType::i32([]));
    for elements in [64, 1 << 12, 1 << 16, 1 << 20, 3 << 20] {
        let x = f32([elements]);
        add(all, adam, [&x, &x, &rate, &step, &x, &x]);
        add(all, Rule::Sgd, [&x, &x, &rate, &step]);
        add(all, Rule::Momentum { momentum: 0.9, nesterov: false }, [&x, &x, &rate, &step, &x]);
    }
}
