//! The reference interpreter: what every op means, said as plainly as possible and computed in float64.
//!
//! In: a graph and the contents of its inputs and persistent values. Out: the contents of every value.
//! Nothing here is fast. Kernels and gradients are compared with it, so each op is written from its definition and
//! not from its kernel.

mod all_finite;
mod arg_sort;
mod attention;
mod batch_norm;
mod bias_add;
mod binary;
mod broadcast;
mod bucket;
mod cast;
mod concat;
mod constant;
mod conv2d;
mod cross_entropy;
mod cumulate;
mod depthwise_conv2d;
mod dropout;
mod embedding;
mod fill;
mod gru;
mod layer_norm;
mod lstm;
mod matmul;
mod moving_average;
mod not_equal;
mod one_hot;
mod pad;
mod pool2d;
mod random_normal;
mod random_uniform;
mod reduce;
mod reshape;
mod resize2d;
mod select;
mod slice;
mod softmax;
mod take_along;
mod tensor;
mod transpose;
mod transposed_conv2d;
mod unary;
mod update;
mod upsample2d;
mod warp;

pub use tensor::Tensor;

use plimsoll_graph::{Graph, OpKind, Source, ValueId, of_op};
use std::collections::HashMap;

/// Runs every op of the graph once and gives the contents of every value.
///
/// # Panics
/// If an input or a persistent value is missing from `given`.
pub fn interpret(graph: &Graph, given: &HashMap<ValueId, Tensor>) -> Vec<Tensor> {
    let mut contents: Vec<Option<Tensor>> = vec![None; graph.values().len()];
    for id in graph.value_ids() {
        if !matches!(graph.value(id).source, Source::Op(_)) {
            let tensor = given.get(&id).unwrap_or_else(|| panic!("{} is not given", graph.value(id).name));
            contents[id.index()] = Some(tensor.clone());
        }
    }
    for op in graph.ops() {
        let inputs: Vec<&Tensor> = op
            .inputs
            .iter()
            .map(|input| contents[input.index()].as_ref().expect("ops stand after their producers"))
            .collect();
        let results = run(&op.kind, &inputs);
        for (&output, result) in op.outputs.iter().zip(results) {
            contents[output.index()] = Some(result);
        }
    }
    contents.into_iter().map(|tensor| tensor.expect("every value has a source")).collect()
}

/// Runs one op.
pub fn run(kind: &OpKind, inputs: &[&Tensor]) -> Vec<Tensor> {
    let types: Vec<_> = inputs.iter().map(|input| input.tensor.clone()).collect();
    let outputs = kind.infer(&types).expect("the op takes these inputs");
    let results = of_op!(kind, op => op.run(inputs));
    results.into_iter().zip(outputs).map(|(data, tensor)| Tensor::new(tensor, data)).collect()
}

/// What an op means, in float64 and plain loops: one implementation in the file of the op's name. An op without one
/// does not compile.
trait Meaning {
    /// The contents of the outputs.
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>>;
}
