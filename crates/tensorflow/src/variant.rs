//! Orders that TensorFlow's executor may take. Which one it does depends on how many nodes Grappler deletes and in
//! which order their names are hashed, and so on more than a model says: several are tried.

use crate::rules::{find_plain, gives_last_only};
use crate::setup::{Mode, Setup};
use crate::unrolled;
use plimsoll_graph::{Graph, Op, OpKind, Phase, Source};
use plimsoll_train::Optimizer;

/// One order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// How many layers after the first count as near the input, whose kernels' gradients come before that of their
    /// input.
    pub nearest: usize,
    /// Whether the branches of a model go backward in the order in which they went forward.
    pub reversed: bool,
    /// Whether the zeros to which a loop adds its kernels' gradients are made after everything else, so that these wait
    /// (a GRU over 8 frames of a video: all 8 gradients are live until the step is nearly over).
    pub late_zeros: bool,
    /// Whether it is one of those that live bytes have been seen to follow; limits must hold in the others, too.
    pub is_usual: bool,
}

/// All that are tried.
pub fn variants(graph: &Graph, setup: &Setup) -> Vec<Variant> {
    let branches = has_branches(graph);
    let (plain, loops) = (plain_loops(graph), loops(graph));
    // The zeros of a loop that is alone come first (five models); of several, behind an unrolled layer, of an LSTM that
    // gives a sequence or of a plain recurrent layer, some do not.
    let sequence = |op: &Op| matches!(op.kind, OpKind::Lstm(_)) && !gives_last_only(graph, op);
    let zeros_vary =
        loops > 1 || plain > 0 || loops == 1 && (unrolled::is_in(graph) || graph.ops().iter().any(sequence));
    let either = |is: bool| if is { &[false, true][..] } else { &[false][..] };
    let usual = usual(graph, setup, branches);
    let mut all = Vec::new();
    for nearest in [1, 3, 4, 5, usize::MAX] {
        // What branches change beside their order has been seen in limits, not in live bytes.
        let is_near = usual.contains(&nearest);
        if is_near || branches && RARE.contains(&nearest) {
            for &reversed in either(branches) {
                for &late_zeros in either(loops > 0 && setup.mode != Mode::Eager) {
                    let is_usual = is_near && (zeros_vary || !late_zeros);
                    all.push(Variant { nearest, reversed, late_zeros, is_usual });
                }
            }
        }
    }
    all
}

/// How many recurrent layers there are.
pub fn loops(graph: &Graph) -> usize {
    let is_loop = |op: &&Op| matches!(op.kind, OpKind::Lstm(_) | OpKind::Gru(_));
    graph.ops().iter().filter(is_loop).count() + plain_loops(graph)
}

/// How many plain ones there are.
fn plain_loops(graph: &Graph) -> usize {
    let ops: Vec<&Op> = graph.ops().iter().filter(|op| op.phase == Phase::Forward).collect();
    let begins = |place: &usize| *place == 0 || ops[place - 1].layer != ops[*place].layer;
    (0..ops.len()).filter(begins).filter(|&place| find_plain(graph, &ops[place..]).is_some()).count()
}

/// What may be near the input in a model with branches.
const RARE: [usize; 3] = [1, 3, 5];

/// In chains of layers it is always the same number; where a model is normalized and has branches several are tried.
/// What other optimizers compute before the first layer changes the order as far as the output (VGG16 with momentum:
/// its dense layers are like those near the input), and so does what a mixed policy casts (a segmentation model in
/// float16: its last).
fn usual(graph: &Graph, setup: &Setup, branches: bool) -> &'static [usize] {
    let normalized =
        graph.ops().iter().any(|op| matches!(op.kind, OpKind::BatchNorm(_) | OpKind::LayerNorm(_)));
    let is_whole = setup.accumulate <= 1 && setup.recompute == 0;
    let is_known = setup.mode == Mode::Graph && is_whole && !(branches && normalized);
    match setup.optimizer {
        Optimizer::Sgd | Optimizer::Adam { .. } if setup.precision.is_mixed() => &[1, 3, usize::MAX],
        Optimizer::Sgd if !is_known => &[1, 3, 5],
        Optimizer::Adam { .. } if !is_known => &[1, 3],
        Optimizer::Sgd if normalized => &[3],
        Optimizer::Sgd => &[4],
        Optimizer::Adam { .. } if normalized => &[1],
        Optimizer::Adam { .. } => &[3],
        _ => &[1, 3, 5, usize::MAX],
    }
}

/// Whether something is read by several layers.
fn has_branches(graph: &Graph) -> bool {
    let mut reader = vec![None; graph.values().len()];
    let forward = graph.ops().iter().filter(|op| op.phase == Phase::Forward);
    forward.flat_map(|op| op.inputs.iter().map(move |input| (input, op.layer))).any(|(input, layer)| {
        let first = *reader[input.index()].get_or_insert(layer);
        first != layer && !matches!(graph.value(*input).source, Source::Input)
    })
}
