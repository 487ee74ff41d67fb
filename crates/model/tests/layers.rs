//! Shapes, parameters and refusals of single layers.

use plimsoll_graph::op::{Interpolation, Padding, Pool, Reduction};
use plimsoll_graph::{Graph, OpKind, Role, verify};
use plimsoll_model::layer::{
    Activation, BatchNormalization, Bidirectional, Concatenate, Conv1d, Conv2d, Conv2dTranspose, Cropping1d,
    Cropping2d, Dense, DepthwiseConv2d, Dot, Dropout, EinsumDense, Embedding, Flatten, Function,
    GaussianDropout, GaussianNoise, GlobalPooling, GroupNormalization, Gru, Layer, LayerNormalization,
    LayerScale, Lstm, Merge, MultiHeadAttention, Normalization, Operand, Operation, PRelu, Permute,
    Pooling2d, Rescaling, Reshape, Resizing, RmsNormalization, SeparableConv2d, SimpleRnn, Softmax,
    StochasticDepth, TimeDistributed, TimePadding, UpSampling2d, ZeroPadding2d,
};
use plimsoll_model::{Builder, Mode, Model, ModelError, Node, NodeRef, OutputSpec};

/// A model of one layer that reads the same float input so many times.
fn single(layer: impl Into<Layer>, shape: &[usize], times: usize) -> Model {
    let mut net = Builder::new("single");
    let x = net.input(plimsoll_graph::Shape::new(shape));
    let y = net.add("layer", layer, &vec![x; times]);
    net.build(y)
}

fn lowered(model: &Model) -> Graph {
    let graph = model.lower(2, Mode::Training).unwrap_or_else(|error| panic!("{error}"));
    verify(&graph).unwrap();
    verify(&model.lower(2, Mode::Inference).unwrap()).unwrap();
    graph
}

/// Layer, shape of a sample, how many inputs, shape of the result with a batch of 2, number of parameters and
/// statistics.
type Row = (Layer, &'static [usize], usize, &'static [usize], usize, usize);

#[test]
fn shapes_and_counts_are_keras_s() {
    let image = &[6, 8, 3][..];
    let strided = |conv: Conv2d| conv.strides(2).same();
    let grouped = Conv2d { groups: 2, ..Conv2d::new(6, 3) };
    let dilated = Conv2d { dilation_rate: [2, 2], ..Conv2d::new(4, 3) };
    let multiplied = DepthwiseConv2d { depth_multiplier: 2, ..DepthwiseConv2d::new(3) };
    let same_pool = Pooling2d { padding: Padding::Same, ..Pooling2d::average(3).strides(2) };
    let widened = Conv2dTranspose { output_padding: Some([1, 1]), ..Conv2dTranspose::new(4, 3, 2).same() };
    let unscaled = BatchNormalization { scale: false, center: false, ..BatchNormalization::default() };
    let up = UpSampling2d { size: [2, 3], interpolation: Interpolation::Bilinear };
    let uneven =
        MultiHeadAttention { value_dim: Some(5), output_shape: Some(6), ..MultiHeadAttention::new(2, 4) };
    let without_bias = Gru { use_bias: false, ..Gru::new(4) };
    let noise = Dropout { rate: 0.5, noise_shape: Some(vec![None, Some(1), None]) };
    let rows: Vec<Row> = vec![
        (Dense::new(5).into(), &[7], 1, &[2, 5], 40, 0),
        (Dense::new(5).relu().into(), &[4, 7], 1, &[2, 4, 5], 40, 0),
        (Conv2d::new(4, 3).into(), image, 1, &[2, 4, 6, 4], 112, 0),
        (strided(Conv2d::new(4, 3)).into(), image, 1, &[2, 3, 4, 4], 112, 0),
        (grouped.into(), &[6, 8, 4], 1, &[2, 4, 6, 6], 114, 0),
        (dilated.into(), image, 1, &[2, 2, 4, 4], 112, 0),
        (multiplied.into(), image, 1, &[2, 4, 6, 6], 60, 0),
        (Conv2dTranspose::new(4, 2, 2).same().into(), image, 1, &[2, 12, 16, 4], 52, 0),
        (Conv2dTranspose::new(4, 3, 2).into(), image, 1, &[2, 13, 17, 4], 112, 0),
        (Conv2dTranspose::new(4, 1, 2).into(), image, 1, &[2, 12, 16, 4], 16, 0),
        (widened.into(), image, 1, &[2, 12, 16, 4], 112, 0),
        (Pooling2d::max(2).into(), image, 1, &[2, 3, 4, 3], 0, 0),
        (same_pool.into(), image, 1, &[2, 3, 4, 3], 0, 0),
        (GlobalPooling::average().into(), image, 1, &[2, 3], 0, 0),
        (GlobalPooling::max().keepdims().into(), image, 1, &[2, 1, 1, 3], 0, 0),
        (ZeroPadding2d::uneven(1, 2).into(), image, 1, &[2, 9, 11, 3], 0, 0),
        (Cropping2d { cropping: [[1, 2], [3, 1]] }.into(), image, 1, &[2, 3, 4, 3], 0, 0),
        (up.into(), image, 1, &[2, 12, 24, 3], 0, 0),
        (BatchNormalization::default().into(), image, 1, &[2, 6, 8, 3], 6, 6),
        (unscaled.into(), &[5], 1, &[2, 5], 0, 10),
        (LayerNormalization::default().into(), &[4, 5], 1, &[2, 4, 5], 10, 0),
        (Activation::Gelu.into(), &[4], 1, &[2, 4], 0, 0),
        (Softmax { axis: 1 }.into(), &[4, 5], 1, &[2, 4, 5], 0, 0),
        (Dropout::new(0.5).into(), &[4], 1, &[2, 4], 0, 0),
        (noise.into(), &[4, 5], 1, &[2, 4, 5], 0, 0),
        (Flatten {}.into(), image, 1, &[2, 144], 0, 0),
        (Reshape::new(&[3, -1]).into(), image, 1, &[2, 3, 48], 0, 0),
        (Permute { dims: vec![3, 1, 2] }.into(), image, 1, &[2, 3, 6, 8], 0, 0),
        (Merge::Average.into(), &[4], 3, &[2, 4], 0, 0),
        (Merge::Subtract.into(), &[4], 2, &[2, 4], 0, 0),
        (Concatenate { axis: 1 }.into(), &[4, 5], 2, &[2, 8, 5], 0, 0),
        (Lstm::new(4).into(), &[7, 3], 1, &[2, 4], 128, 0),
        (Lstm::new(4).return_sequences().into(), &[7, 3], 1, &[2, 7, 4], 128, 0),
        (Gru::new(4).into(), &[7, 3], 1, &[2, 4], 108, 0),
        (without_bias.into(), &[7, 3], 1, &[2, 4], 84, 0),
        (Bidirectional::gru(Gru::new(4)).into(), &[7, 3], 1, &[2, 8], 216, 0),
        (Bidirectional::lstm(Lstm::new(4).return_sequences()).into(), &[7, 3], 1, &[2, 7, 8], 256, 0),
        (MultiHeadAttention::new(2, 4).into(), &[7, 6], 2, &[2, 7, 6], 222, 0),
        (MultiHeadAttention::new(2, 4).dropout(0.1).into(), &[7, 6], 2, &[2, 7, 6], 222, 0),
        (uneven.into(), &[7, 3], 3, &[2, 7, 6], 170, 0),
        (Rescaling::new(2.0, 1.0).into(), &[4], 1, &[2, 4], 0, 0),
        (Normalization::default().into(), image, 1, &[2, 6, 8, 3], 0, 7),
    ];
    for (layer, sample, times, result, parameters, statistics) in rows {
        let graph = lowered(&single(layer.clone(), sample, times));
        assert_eq!(graph.tensor(graph.outputs()[0]).shape.extents(), result, "{layer:?}");
        assert_eq!(graph.elements_of(Role::Parameter), parameters, "{layer:?}");
        assert_eq!(graph.elements_of(Role::Statistic), statistics, "{layer:?}");
    }
}

#[test]
fn wrong_inputs_are_refused_with_the_layer_and_the_shapes() {
    let huge = usize::MAX / 2;
    let rate = Dropout::new(1.0);
    let backwards = Bidirectional::lstm(Lstm { go_backwards: true, ..Lstm::new(4) });
    let hollow = vec![Operand::Input, Operand::Constant { shape: vec![2, 2], values: vec![1.0] }];
    let einsum = |equation: &str| EinsumDense {
        equation: equation.to_string(),
        output_shape: vec![Some(2)],
        bias_axes: None,
        activation: Activation::Linear,
        kernel_initializer: Default::default(),
    };
    let rows: Vec<(Layer, &[usize], usize, &str)> = vec![
        (Dense::new(0).into(), &[4], 1, "no elements"),
        (Dense::new(huge).into(), &[4], 1, "more elements than"),
        (Dense::new(4).into(), &[4], 2, "takes 1 inputs, not 2"),
        (Dense::new(4).into(), &[], 1, "no axis of features"),
        (Conv2d::new(4, 9).into(), &[6, 8, 3], 1, "does not fit"),
        (Conv2d::new(4, 3).into(), &[6, 8], 1, "rank 4, not 3"),
        (Conv2d { groups: 0, ..Conv2d::new(4, 3) }.into(), &[6, 8, 3], 1, "groups"),
        (Conv2d { groups: 2, ..Conv2d::new(4, 3) }.into(), &[6, 8, 3], 1, "groups"),
        (Conv2d::new(4, 3).strides(0).into(), &[6, 8, 3], 1, "at least 1"),
        (Conv2dTranspose::new(4, 3, huge).into(), &[6, 8, 3], 1, "absurdly large"),
        (Conv2dTranspose::new(4, 3, 0).same().into(), &[6, 8, 3], 1, "at least 1"),
        (ZeroPadding2d::new(usize::MAX).into(), &[6, 8, 3], 1, "absurdly large"),
        (Cropping2d { cropping: [[3, 3], [0, 0]] }.into(), &[6, 8, 3], 1, "leaves nothing"),
        (UpSampling2d::new(huge).into(), &[6, 8, 3], 1, "absurdly large"),
        (Pooling2d::max(0).into(), &[6, 8, 3], 1, "at least 1"),
        (GlobalPooling::average().into(), &[6], 1, "no positions"),
        (Reshape::new(&[5, -1]).into(), &[6], 1, "does not fit"),
        (Permute { dims: vec![1, 1] }.into(), &[4, 5], 1, "no order"),
        (Merge::Add.into(), &[4], 1, "does not take 1"),
        (Merge::Subtract.into(), &[4], 3, "does not take 3"),
        (Concatenate::default().into(), &[4], 0, "nothing to join"),
        (Concatenate { axis: 2 }.into(), &[4], 2, "no axis 2"),
        (Softmax { axis: -3 }.into(), &[4], 1, "no axis -3"),
        (Conv1d::new(4, 9).into(), &[6, 3], 1, "does not fit"),
        (
            Conv1d { dilation_rate: huge, padding: TimePadding::Causal, ..Conv1d::new(4, 4) }.into(),
            &[6, 3],
            1,
            "absurdly large",
        ),
        (
            SeparableConv2d { depth_multiplier: huge, ..SeparableConv2d::new(4, 3) }.into(),
            &[6, 8, 3],
            1,
            "absurdly large",
        ),
        (Cropping1d { cropping: [3, 3] }.into(), &[6, 3], 1, "leaves nothing"),
        (BatchNormalization { axis: 0, ..Default::default() }.into(), &[4], 1, "no axis of features"),
        (
            LayerNormalization { axis: vec![1, -1], ..Default::default() }.into(),
            &[4, 5],
            1,
            "does not normalize",
        ),
        (LayerNormalization { axis: vec![1, 1], ..Default::default() }.into(), &[4, 5], 1, "name one twice"),
        (RmsNormalization { axis: vec![1], epsilon: 0.1 }.into(), &[4, 5], 1, "does not normalize"),
        (GroupNormalization { groups: 3, ..Default::default() }.into(), &[4], 1, "cannot be cut into 3"),
        (GroupNormalization { groups: 0, ..Default::default() }.into(), &[4], 1, "cannot be cut into 0"),
        (
            Normalization { mean: Some(vec![1.0; 3]), variance: Some(vec![1.0; 3]), ..Default::default() }
                .into(),
            &[4],
            1,
            "3 numbers",
        ),
        (Normalization { mean: Some(vec![1.0]), ..Default::default() }.into(), &[4], 1, "given together"),
        (
            Rescaling { scale: (0..5000).map(|i| i as f32).collect(), offset: vec![0.0] }.into(),
            &[5000],
            1,
            "more than 4096",
        ),
        (LayerScale { init_values: 1.0, projection_dim: 3 }.into(), &[4], 1, "3 factors for 4"),
        (PRelu { shared_axes: vec![0] }.into(), &[4], 1, "no axis 0 to share"),
        (SimpleRnn::new(4).into(), &[5000, 3], 1, "at most 4096 positions"),
        (TimeDistributed::new(Dense::new(4)).into(), &[4], 1, "no axis of features"),
        (Dot { axes: [0, 1], normalize: false }.into(), &[4], 2, "over the batch"),
        (Resizing::new(0, 3, Interpolation::Nearest).into(), &[6, 8, 3], 1, "no elements"),
        (GaussianDropout { rate: 1.0 }.into(), &[4], 1, "not in [0, 1)"),
        (backwards.into(), &[7, 3], 1, "must not run backwards"),
        (einsum("ab,cd->ad").into(), &[4], 1, "not understood"),
        (einsum("abc,cd->abd").into(), &[4], 1, "does not take rank 2"),
        (Operation::of_inputs(Function::Add, 3).into(), &[4], 3, "2 operands, not 3"),
        (Operation::of_inputs(Function::Add, 2).into(), &[4], 1, "2 inputs, not 1"),
        (Operation::of_inputs(Function::Squeeze { axis: Some(vec![0]) }, 1).into(), &[4], 1, "is the batch"),
        (Operation { function: Function::Add, operands: hollow }.into(), &[4], 1, "do not fill"),
        (rate.into(), &[4], 1, "not in [0, 1)"),
        (Lstm::new(huge).into(), &[7, 3], 1, "absurdly large"),
        (MultiHeadAttention::new(huge, 8).into(), &[7, 3], 2, "absurdly large"),
        (MultiHeadAttention::new(2, 4).into(), &[7, 3], 1, "2 or 3 inputs"),
    ];
    for (layer, sample, times, wanted) in rows {
        let error = single(layer.clone(), sample, times).lower(2, Mode::Training).unwrap_err();
        assert!(matches!(&error, ModelError::Layer { layer, .. } if layer == "layer"), "{layer:?}: {error}");
        let message = error.to_string();
        assert!(message.contains(wanted) && message.contains("layer `layer`"), "{layer:?}: {message}");
    }
}

#[test]
fn models_that_do_not_hold_together_are_refused() {
    let good = single(Flatten {}, &[4, 5], 1);
    assert_eq!(good.lower(0, Mode::Inference), Err(ModelError::EmptyBatch));
    let mut twice = good.clone();
    twice.nodes.push(Node { layer: Softmax::default().into(), ..twice.nodes[0].clone() });
    assert!(matches!(twice.lower(1, Mode::Inference), Err(ModelError::SameName { .. })));
    let mut frozen = good.clone();
    frozen.nodes.push(Node { trainable: false, ..frozen.nodes[0].clone() });
    assert!(matches!(frozen.lower(1, Mode::Inference), Err(ModelError::SameName { .. })));
    let mut input = good.clone();
    input.inputs.push(input.inputs[0].clone());
    assert!(matches!(input.lower(1, Mode::Inference), Err(ModelError::SameName { .. })));
    for name in ["x", "step"] {
        let mut free = good.clone();
        free.nodes[0].name = name.to_string();
        assert!(free.lower(1, Mode::Inference).is_ok(), "layers and inputs have names of their own");
    }
    let mut later = good.clone();
    later.nodes[0].inputs = vec![NodeRef::Node(0)];
    assert!(matches!(later.lower(1, Mode::Inference), Err(ModelError::Reference { .. })));
    for outputs in [vec![], vec![NodeRef::Node(9)]] {
        let outputs: Vec<OutputSpec> =
            outputs.into_iter().map(|from| OutputSpec { name: "y".to_string(), from }).collect();
        let model = Model { outputs, ..good.clone() };
        assert_eq!(model.lower(1, Mode::Inference), Err(ModelError::NoOutput));
    }
    let huge = single(Flatten {}, &[usize::MAX, 2], 1);
    assert!(matches!(huge.lower(1, Mode::Inference), Err(ModelError::Input { .. })));
}

fn masked(layer: impl Into<Layer>) -> Graph {
    let mut net = Builder::new("masked");
    let ids = net.tokens(6);
    let x = net.push(Embedding { mask_zero: true, ..Embedding::new(9, 4) }, &[ids]);
    let x = net.push(LayerNormalization::default(), &[x]);
    let y = net.push(Dense::new(4), &[x]);
    let x = net.push(Merge::Add, &[x, y]);
    let y = net.push(layer, &[x]);
    lowered(&net.build(y))
}

#[test]
fn masks_reach_the_layers_that_leave_padding_out() {
    let mean = GlobalPooling { reduction: Reduction::Mean, keepdims: false };
    for layer in
        [Layer::Lstm(Lstm::new(4)), Gru::new(4).into(), Bidirectional::lstm(Lstm::new(4)).into(), mean.into()]
    {
        let graph = masked(layer.clone());
        let masks: Vec<_> = graph.ops().iter().filter(|op| matches!(op.kind, OpKind::NotEqual(_))).collect();
        let [mask] = masks[..] else { panic!("one mask serves all") };
        let readers = graph.ops().iter().filter(|op| op.inputs.contains(&mask.outputs[0])).count();
        assert!(readers > 0, "{layer:?} does not read the mask");
    }
    let mut net = Builder::new("attention");
    let ids = net.tokens(6);
    let x = net.push(Embedding { mask_zero: true, ..Embedding::new(9, 4) }, &[ids]);
    let y = net.push(MultiHeadAttention::new(2, 2), &[x, x]);
    let graph = lowered(&net.build(y));
    let attention = graph.ops().iter().find(|op| matches!(op.kind, OpKind::Attention(_))).unwrap();
    assert_eq!(attention.inputs.len(), 4, "query, key, value and mask");
}

#[test]
fn pooling_kinds_are_told_apart() {
    assert_eq!(Layer::from(Pooling2d::max(2)).kind(), "max_pooling2d");
    assert_eq!(
        Layer::from(Pooling2d { pool: Pool::Average, ..Pooling2d::max(2) }).kind(),
        "average_pooling2d"
    );
}

/// Two inputs go through the same layers.
fn siamese() -> Model {
    let mut net = Builder::new("siamese");
    let inputs = [net.input([4]), net.input([4])];
    let mut embed = |x: NodeRef| {
        let x = net.add("dense", Dense::new(3), &[x]);
        net.add("norm", BatchNormalization::default(), &[x])
    };
    let [a, b] = inputs.map(&mut embed);
    let both = net.add("both", Merge::Multiply, &[a, b]);
    net.build_all(&[both, a, b])
}

#[test]
fn nodes_of_one_name_share_their_parameters() {
    let model = siamese();
    let graph = lowered(&model);
    assert_eq!(graph.outputs().len(), 3);
    assert_eq!(graph.elements_of(Role::Parameter), 4 * 3 + 3 + 3 + 3);
    assert_eq!(graph.layers(), ["dense", "norm", "dense:2", "norm:2", "both"]);
    let names = |node: usize| -> Vec<&str> {
        Model::weights(&graph, node).into_iter().map(|id| graph.value(id).name.as_str()).collect()
    };
    assert_eq!(names(0), ["dense/kernel", "dense/bias"]);
    assert_eq!(names(1), ["norm/gamma", "norm/beta", "norm/moving_mean", "norm/moving_variance"]);
    assert_eq!(names(2), Vec::<&str>::new());
    let averages = graph.ops().iter().filter(|op| matches!(op.kind, OpKind::MovingAverage(_)));
    assert_eq!(averages.count(), 2, "one update a statistic");
    let mut wider = model.clone();
    wider.inputs[1].shape = [5].into();
    let message = wider.lower(2, Mode::Training).unwrap_err().to_string();
    assert!(message.contains("`dense/kernel` is f32[4,3] in another use"), "{message}");
}

#[test]
fn frozen_layers_learn_nothing() {
    let mut model = siamese();
    model.nodes.iter_mut().filter(|node| node.name == "norm").for_each(|node| node.trainable = false);
    let graph = lowered(&model);
    assert_eq!(graph.elements_of(Role::Parameter), 4 * 3 + 3);
    assert_eq!(graph.elements_of(Role::Statistic), 4 * 3);
    let learns =
        |op: &&plimsoll_graph::Op| matches!(op.kind, OpKind::BatchNorm(_) | OpKind::MovingAverage(_));
    assert_eq!(graph.ops().iter().filter(learns).count(), 0);
}

/// How many ops of a kind a layer has in training and in inference, on two sequences.
fn random_ops(layer: impl Into<Layer>, name: &str) -> [usize; 2] {
    let model = single(layer, &[3, 4], 1);
    [Mode::Training, Mode::Inference].map(|mode| {
        let graph = model.lower(2, mode).unwrap();
        verify(&graph).unwrap();
        graph.ops().iter().filter(|op| op.kind.name() == name).count()
    })
}

#[test]
fn noise_is_for_training_only() {
    assert_eq!(random_ops(GaussianNoise { stddev: 0.1 }, "random_normal"), [1, 0]);
    assert_eq!(random_ops(GaussianDropout { rate: 0.1 }, "random_normal"), [1, 0]);
    assert_eq!(random_ops(StochasticDepth { drop_path_rate: 0.1 }, "dropout"), [1, 0]);
    assert_eq!(random_ops(Dropout::spatial1d(0.1), "dropout"), [1, 0]);
    let dropping = Lstm { dropout: 0.1, recurrent_dropout: 0.2, ..Lstm::new(4) };
    assert_eq!(random_ops(dropping.clone(), "dropout"), [2, 0]);
    assert_eq!(random_ops(Bidirectional::lstm(dropping), "dropout"), [4, 0]);
}

#[test]
fn masks_of_one_layer_have_seeds_of_their_own() {
    let dropping = Gru { dropout: 0.1, recurrent_dropout: 0.1, ..Gru::new(4) };
    let graph = lowered(&single(Bidirectional::gru(dropping), &[3, 4], 1));
    let mut seeds: Vec<u64> = graph
        .ops()
        .iter()
        .filter_map(|op| match &op.kind {
            OpKind::Dropout(dropout) => Some(dropout.seed),
            _ => None,
        })
        .collect();
    seeds.sort_unstable();
    seeds.dedup();
    assert_eq!(seeds.len(), 4);
}
