//! Ops on images and matrices. Small cases have their gradients checked by finite differences; cases that span several
//! tiles, blocks and threads compare kernels with the reference.

use crate::check::{Case, random, random_in};
use plimsoll_exec::reference::Tensor;
use plimsoll_graph::op::{
    AveragePool2dGradient, BatchNorm, BatchNormGradient, BatchNormInference, Conv2d, Conv2dFilterGradient,
    DepthwiseConv2d, DepthwiseConv2dFilterGradient, DepthwiseConv2dInputGradient, Interpolation, LayerNorm,
    LayerNormGradient, MatMul, MaxPool2dGradient, MovingAverage, Outside, Padding, Pool, Pool2d, Resize2d,
    Resize2dGradient, Sliding, TransposedConv2d, Upsample2d, Upsample2dGradient, Warp,
};

#[test]
fn matmul() {
    for (transpose_a, transpose_b) in [(false, false), (true, false), (false, true), (true, true)] {
        for (batch, [m, k, n]) in
            [(vec![], [3, 5, 4]), (vec![2], [3, 2, 6]), (vec![2, 3], [1, 4, 2]), (vec![], [1, 7, 1])]
        {
            let op = MatMul { transpose_a, transpose_b };
            Case::new(op, [matrix(&batch, m, k, transpose_a, 1), matrix(&batch, k, n, transpose_b, 2)])
                .check();
        }
        let shapes = [
            (vec![], [200, 130, 310]),
            (vec![], [2, 300, 1000]),
            (vec![], [700, 9, 80]),
            (vec![7], [65, 33, 70]),
        ];
        for (batch, [m, k, n]) in shapes {
            let op = MatMul { transpose_a, transpose_b };
            Case::new(op, [matrix(&batch, m, k, transpose_a, 1), matrix(&batch, k, n, transpose_b, 2)])
                .check_kernel();
        }
    }
}

#[test]
fn matmul_with_one_matrix_for_a_batch() {
    for transpose_b in [false, true] {
        let op = MatMul { transpose_a: false, transpose_b };
        for batch in [vec![4], vec![2, 3]] {
            Case::new(op, [matrix(&batch, 3, 5, false, 1), matrix(&[], 5, 2, transpose_b, 2)]).check();
        }
        Case::new(op, [matrix(&[9], 50, 40, false, 1), matrix(&[], 40, 130, transpose_b, 2)]).check_kernel();
    }
}

fn matrix(batch: &[usize], rows: usize, columns: usize, transposed: bool, seed: u64) -> Tensor {
    let extents = if transposed { [columns, rows] } else { [rows, columns] };
    random(&[batch, &extents].concat(), seed)
}

/// A convolution: image, window and number of filters.
struct Convolution {
    image: [usize; 4],
    window: [usize; 2],
    filters: usize,
    groups: usize,
    sliding: Sliding,
}

impl Convolution {
    fn op(&self) -> Conv2d {
        Conv2d { sliding: self.sliding, groups: self.groups }
    }

    fn output(&self) -> [usize; 4] {
        let [n, h, w, _] = self.image;
        let [oh, ow] = self.sliding.over([h, w], self.window).unwrap().output;
        [n, oh, ow, self.filters]
    }

    fn filter(&self) -> Tensor {
        random(&[self.window[0], self.window[1], self.image[3] / self.groups, self.filters], 2)
    }

    fn forward(&self) -> Case {
        Case::new(self.op(), [random(&self.image, 1), self.filter()])
    }

    fn transposed(&self) -> Case {
        let op = TransposedConv2d { conv: self.op(), size: [self.image[1], self.image[2]] };
        Case::new(op, [random(&self.output(), 3), self.filter()])
    }

    fn filter_gradient(&self) -> Case {
        let op = Conv2dFilterGradient { conv: self.op(), window: self.window };
        Case::new(op, [random(&self.image, 1), random(&self.output(), 3)])
    }
}

fn sliding(strides: [usize; 2], dilation: [usize; 2], padding: Padding) -> Sliding {
    Sliding { strides, dilation, padding }
}

const ODD: Padding = Padding::Explicit { before: [2, 0], after: [1, 3] };
/// No window of three rows and two columns lies wholly in it, since there is no largest element of nothing.
const NARROW: Padding = Padding::Explicit { before: [2, 0], after: [1, 1] };
const WIDE: Padding = Padding::Explicit { before: [4, 3], after: [3, 4] };

/// Every way to slide that kernels tell apart, for images small enough for finite differences.
fn small_slidings(explicit: Padding) -> Vec<Sliding> {
    let mut slidings = Vec::new();
    for padding in [Padding::Valid, Padding::Same, explicit] {
        for strides in [[1, 1], [2, 2], [1, 3]] {
            for dilation in [[1, 1], [2, 1], [1, 2]] {
                slidings.push(sliding(strides, dilation, padding));
            }
        }
    }
    slidings
}

fn small_convolutions() -> Vec<Convolution> {
    let mut cases = Vec::new();
    for sliding in small_slidings(ODD) {
        for (c, filters, groups) in [(3, 2, 1), (4, 6, 2)] {
            cases.push(Convolution { image: [2, 6, 7, c], window: [3, 2], filters, groups, sliding });
        }
    }
    for (window, strides, groups) in
        [([1, 1], [1, 1], 1), ([1, 1], [1, 1], 2), ([1, 1], [2, 2], 1), ([4, 5], [1, 1], 4)]
    {
        let sliding = sliding(strides, [1, 1], Padding::Valid);
        cases.push(Convolution { image: [1, 5, 5, 4], window, filters: 4, groups, sliding });
    }
    cases
}

/// Several tiles of pixels, several blocks of long patches, several parts of a filter gradient; each dimension odd
/// somewhere.
fn large_convolutions() -> Vec<Convolution> {
    let same = |stride: usize| sliding([stride, stride], [1, 1], Padding::Same);
    let case =
        |image, window, filters, groups, sliding| Convolution { image, window, filters, groups, sliding };
    vec![
        case([2, 23, 19, 5], [3, 3], 7, 1, same(1)),
        case([3, 31, 17, 3], [7, 7], 16, 1, sliding([2, 2], [1, 1], WIDE)),
        case([1, 9, 9, 100], [3, 3], 40, 1, same(1)),
        case([2, 20, 20, 24], [1, 1], 70, 1, same(1)),
        case([2, 21, 21, 24], [1, 1], 30, 1, same(2)),
        case([2, 18, 20, 12], [3, 3], 18, 3, sliding([2, 1], [1, 2], ODD)),
        case([2, 20, 20, 12], [1, 1], 18, 3, same(1)),
        case([1, 6, 300, 2], [2, 9], 3, 1, sliding([1, 2], [2, 1], WIDE)),
        case([1, 8, 8, 130], [3, 3], 900, 1, sliding([3, 3], [1, 1], Padding::Valid)),
    ]
}

#[test]
fn conv2d() {
    small_convolutions().iter().for_each(|case| case.forward().check());
    large_convolutions().iter().for_each(|case| case.forward().check_kernel());
}

#[test]
fn conv2d_filter_gradient() {
    small_convolutions().iter().for_each(|case| case.filter_gradient().check_kernel());
    large_convolutions().iter().for_each(|case| case.filter_gradient().check_kernel());
}

#[test]
fn transposed_conv2d() {
    small_convolutions().iter().for_each(|case| case.transposed().check());
    large_convolutions().iter().for_each(|case| case.transposed().check_kernel());
}

#[test]
fn depthwise_conv2d() {
    for sliding in small_slidings(ODD) {
        for multiplier in [1, 3] {
            let filter = random(&[3, 2, 2, multiplier], 2);
            Case::new(DepthwiseConv2d { sliding }, [random(&[2, 6, 7, 2], 1), filter]).check();
        }
    }
}

#[test]
fn depthwise_conv2d_kernels() {
    let mut cases = Vec::new();
    for sliding in small_slidings(ODD) {
        cases.push(([2, 6, 7, 3], [3, 2], 2, sliding));
    }
    cases.push(([3, 19, 23, 37], [3, 3], 1, sliding([2, 2], [1, 1], Padding::Same)));
    cases.push(([1, 40, 15, 20], [5, 5], 1, sliding([1, 1], [1, 1], WIDE)));
    for (image, window, multiplier, sliding) in cases {
        let [n, h, w, c] = image;
        let [oh, ow] = sliding.over([h, w], window).unwrap().output;
        let filter = random(&[window[0], window[1], c, multiplier], 2);
        let (x, dy) = (random(&image, 1), random(&[n, oh, ow, c * multiplier], 3));
        Case::new(DepthwiseConv2d { sliding }, [x.clone(), filter.clone()]).check_kernel();
        Case::new(DepthwiseConv2dInputGradient { sliding, size: [h, w] }, [dy.clone(), filter])
            .check_kernel();
        Case::new(DepthwiseConv2dFilterGradient { sliding, window }, [x, dy]).check_kernel();
    }
}

#[test]
fn pool2d() {
    for pool in [Pool::Max, Pool::Average] {
        for sliding in small_slidings(NARROW) {
            Case::new(Pool2d { pool, window: [3, 2], sliding }, [random(&[2, 6, 7, 2], 1)]).check();
        }
    }
}

#[test]
fn pool2d_kernels() {
    let same = sliding([2, 2], [1, 1], Padding::Same);
    let mut cases = vec![([3, 25, 31, 20], [3, 3], same), ([1, 8, 8, 70], [8, 8], Sliding::default())];
    cases.extend(small_slidings(NARROW).into_iter().map(|sliding| ([2, 6, 7, 3], [3, 2], sliding)));
    for (image, window, sliding) in cases {
        let [n, h, w, c] = image;
        let [oh, ow] = sliding.over([h, w], window).unwrap().output;
        // Few different numbers, so that windows have several largest elements.
        let coarse = random(&image, 1).data.iter().map(|x| (x * 3.0).round()).collect::<Vec<_>>();
        let x = Tensor::f32(image, coarse);
        let dy = random(&[n, oh, ow, c], 3);
        let max = Pool2d { pool: Pool::Max, window, sliding };
        let y = plimsoll_exec::reference::run(&max.into(), &[&x]).remove(0);
        Case::new(max, [x.clone()]).check_kernel();
        Case::new(Pool2d { pool: Pool::Average, ..max }, [x.clone()]).check_kernel();
        Case::new(MaxPool2dGradient { window, sliding }, [x, y, dy.clone()]).check_kernel();
        Case::new(AveragePool2dGradient { window, sliding, size: [h, w] }, [dy]).check_kernel();
    }
}

#[test]
fn batch_norm() {
    for shape in [vec![5, 3], vec![2, 3, 4, 2], vec![7, 20]] {
        let c = [shape[shape.len() - 1]];
        let vectors = [random_in(&c, 2, 0.5, 2.0), random(&c, 3), random(&c, 4), random_in(&c, 5, 0.1, 2.0)];
        let [gamma, beta, mean, variance] = vectors;
        let x = random(&shape, 1);
        Case::new(BatchNorm { epsilon: 1e-3 }, [x.clone(), gamma.clone(), beta.clone()]).check();
        Case::new(BatchNormInference { epsilon: 1e-3 }, [x, gamma, beta, mean, variance]).check();
    }
}

#[test]
fn batch_norm_kernels() {
    for (shape, centre) in [
        (vec![3, 21, 17, 37], 0.0),
        (vec![2, 70, 70, 16], 0.0),
        (vec![100_000, 3], 0.0),
        (vec![33, 600], 0.0),
        (vec![5000, 5], 100.0),
        (vec![4096, 2], 10_000.0),
        (vec![1, 4], 0.0),
    ] {
        // The mean is a float32; what it is rounded by is all that may be lost of numbers far from 0.
        let tolerance = f64::max(1e-5, centre * 1e-7);
        let c = [shape[shape.len() - 1]];
        let gamma = random(&c, 2);
        let x = random_in(&shape, 1, centre - 1.0, centre + 1.0);
        let forward = BatchNorm { epsilon: 1e-3 };
        let inputs = [x.clone(), gamma.clone(), random(&c, 3)];
        let outputs = plimsoll_exec::reference::run(&forward.into(), &inputs.each_ref());
        let [_, mean, variance] = outputs.try_into().expect("three outputs");
        Case::new(forward, inputs.clone()).tolerance(tolerance).check_kernel();
        let [x, gamma, beta] = inputs;
        let given = [x.clone(), gamma.clone(), beta, rounded(&mean), rounded(&variance)];
        Case::new(BatchNormInference { epsilon: 1e-3 }, given).tolerance(tolerance).check_kernel();
        let given = [x, gamma, rounded(&mean), rounded(&variance), random(&shape, 6)];
        Case::new(BatchNormGradient { epsilon: 1e-3 }, given).tolerance(tolerance).check_kernel();
    }
}

fn rounded(tensor: &Tensor) -> Tensor {
    let data = tensor.data.iter().map(|&x| f64::from(x as f32)).collect();
    Tensor::new(tensor.tensor.clone(), data)
}

#[test]
fn moving_average() {
    for momentum in [0.99, 0.5, 0.0] {
        Case::new(MovingAverage { momentum }, [random(&[37], 1), random(&[37], 2)]).check_kernel();
    }
}

#[test]
fn layer_norm() {
    for shape in [vec![5, 3], vec![2, 3, 20], vec![9]] {
        let c = [shape[shape.len() - 1]];
        let inputs = [random(&shape, 1), random(&c, 2), random(&c, 3)];
        Case::new(LayerNorm { epsilon: 1e-3 }, inputs).check();
    }
}

#[test]
fn layer_norm_kernels() {
    for shape in [vec![3, 50, 70], vec![5000, 6], vec![3, 20_000], vec![200, 768]] {
        let c = [shape[shape.len() - 1]];
        let forward = LayerNorm { epsilon: 1e-6 };
        let inputs = [random(&shape, 1), random(&c, 2), random(&c, 3)];
        let outputs = plimsoll_exec::reference::run(&forward.into(), &inputs.each_ref());
        let [_, mean, inverse] = outputs.try_into().expect("three outputs");
        Case::new(forward, inputs.clone()).check_kernel();
        let [x, gamma, _] = inputs;
        let given = [x, gamma, rounded(&mean), rounded(&inverse), random(&shape, 6)];
        Case::new(LayerNormGradient {}, given).check_kernel();
    }
}

#[test]
fn upsample2d() {
    for interpolation in [Interpolation::Nearest, Interpolation::Bilinear] {
        for (image, factor) in
            [([2, 3, 4, 2], [2, 2]), ([1, 2, 5, 1], [3, 1]), ([1, 1, 1, 3], [4, 5]), ([1, 3, 2, 2], [1, 4])]
        {
            let op = Upsample2d { interpolation, factor };
            let [n, h, w, c] = image;
            Case::new(op, [random(&image, 1)]).check();
            let dy = random(&[n, h * factor[0], w * factor[1], c], 2);
            Case::new(Upsample2dGradient(op), [dy]).check_kernel();
        }
        let op = Upsample2d { interpolation, factor: [2, 3] };
        Case::new(op, [random(&[3, 13, 11, 17], 1)]).check_kernel();
        Case::new(Upsample2dGradient(op), [random(&[3, 26, 33, 17], 1)]).check_kernel();
    }
}

#[test]
fn resize2d() {
    use Interpolation::{Bicubic, Bilinear, Lanczos3, Lanczos5, Nearest};
    for (interpolation, antialias) in
        [Nearest, Bilinear, Bicubic, Lanczos3, Lanczos5].into_iter().flat_map(|i| [(i, false), (i, true)])
    {
        for (image, size) in
            [([2, 3, 4, 2], [5, 6]), ([1, 7, 5, 1], [3, 2]), ([1, 1, 1, 3], [4, 5]), ([1, 3, 2, 2], [3, 7])]
        {
            let [n, h, w, c] = image;
            Case::new(Resize2d { interpolation, antialias, size }, [random(&image, 1)]).check();
            let gradient = Resize2dGradient { interpolation, antialias, size: [h, w] };
            Case::new(gradient, [random(&[n, size[0], size[1], c], 2)]).check_kernel();
        }
        let resize = Resize2d { interpolation, antialias, size: [17, 29] };
        Case::new(resize, [random(&[3, 13, 11, 17], 1)]).check_kernel();
        let gradient = Resize2dGradient { interpolation, antialias, size: [13, 11] };
        Case::new(gradient, [random(&[3, 17, 29, 17], 1)]).check_kernel();
    }
}

#[test]
fn warp() {
    use Interpolation::{Bilinear, Nearest};
    let outsides = [Outside::Constant(0.5), Outside::Nearest, Outside::Reflect, Outside::Wrap];
    let turned = [0.8, -0.61, 1.3, 0.58, 0.83, -0.7, 0.0, 0.0];
    let far = [1.9, 0.31, -13.3, 0.12, -2.1, 17.7, 0.01, -0.02];
    for (interpolation, outside) in outsides.into_iter().flat_map(|o| [(Nearest, o), (Bilinear, o)]) {
        for (image, size) in [([2, 5, 4, 3], [5, 4]), ([2, 3, 7, 1], [4, 6]), ([2, 1, 1, 2], [3, 2])] {
            let map = Tensor::f32([2, 8], [turned, far].concat());
            let map = rounded(&map);
            Case::new(Warp { interpolation, outside, size }, [random(&image, 1), map]).check_kernel();
        }
    }
}
