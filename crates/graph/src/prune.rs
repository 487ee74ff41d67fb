//! Leaving out what nobody needs.
//!
//! In: a graph and the values that are needed. Out: the same graph without the ops that none of them, no output and no
//! update depends on.

use crate::{Beside, Graph, OpId, Site, Source, ValueId};

/// The graph without the ops that nothing depends on: neither the values that are needed, nor outputs, nor updates.
/// Gives what stands for each value, too. Inputs and persistent values stay.
pub fn prune(graph: &Graph, needed: &[ValueId]) -> (Graph, Vec<Option<ValueId>>) {
    let lives = lives(graph, needed);
    if lives.iter().all(|&lives| lives) {
        return (graph.clone(), graph.value_ids().map(Some).collect());
    }
    let mut new = Graph::new(graph.name());
    for layer in graph.layers() {
        new.add_layer(layer);
    }
    let mut values = vec![None; graph.values().len()];
    for id in graph.value_ids() {
        match &graph.value(id).source {
            Source::Op(op) if !lives[op.index()] => {}
            Source::Op(op) if graph.op(*op).outputs[0] == id => copy_op(graph, *op, &mut new, &mut values),
            Source::Op(_) => {}
            Source::Input | Source::Persistent(_) => {
                values[id.index()] = Some(copy_given(graph, id, &mut new))
            }
        }
    }
    let now = |id: ValueId| values[id.index()].expect("outputs are needed");
    for (position, &output) in graph.outputs().iter().enumerate() {
        let Beside { logits, mask } = graph.beside(position);
        new.add_output_beside(now(output), Beside { logits: logits.map(now), mask: mask.map(now) });
    }
    graph.penalties().iter().for_each(|&penalty| new.add_penalty(now(penalty)));
    (new, values)
}

/// For each op whether something depends on it.
fn lives(graph: &Graph, needed: &[ValueId]) -> Vec<bool> {
    let beside = (0..graph.outputs().len()).map(|position| graph.beside(position));
    let beside = beside.flat_map(|beside| [beside.logits, beside.mask]).flatten();
    let mut wanted = vec![false; graph.values().len()];
    needed
        .iter()
        .chain(graph.outputs())
        .chain(graph.penalties())
        .copied()
        .chain(beside)
        .for_each(|id| wanted[id.index()] = true);
    let mut lives = vec![false; graph.ops().len()];
    for id in graph.op_ids().rev() {
        let op = graph.op(id);
        if !op.kind.updates().is_empty() || op.outputs.iter().any(|output| wanted[output.index()]) {
            lives[id.index()] = true;
            op.inputs.iter().for_each(|input| wanted[input.index()] = true);
        }
    }
    lives
}

fn copy_given(graph: &Graph, id: ValueId, new: &mut Graph) -> ValueId {
    let value = graph.value(id).clone();
    let added = match value.source {
        Source::Persistent(init) => {
            new.add_persistent(value.name, value.tensor, value.role, init, value.layer)
        }
        Source::Input | Source::Op(_) => new.add_input(value.name, value.tensor),
    };
    added.expect("its type was checked before")
}

fn copy_op(graph: &Graph, id: OpId, new: &mut Graph, values: &mut [Option<ValueId>]) {
    let op = graph.op(id);
    let inputs: Vec<ValueId> =
        op.inputs.iter().map(|input| values[input.index()].expect("what is needed is there")).collect();
    let site = Site { layer: op.layer, phase: op.phase };
    let outputs = new.add_op(op.kind.clone(), &inputs, site).expect("its types were checked before");
    for (&old, &output) in op.outputs.iter().zip(&outputs) {
        new.rename(output, graph.value(old).name.clone());
        values[old.index()] = Some(output);
    }
    if op.again {
        new.mark_again();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::op::Unary;
    use crate::{TensorType, text, verify};

    #[test]
    fn only_what_something_depends_on_stays() {
        let mut graph = Graph::new("fork");
        let x = graph.add_input("x", TensorType::f32([2, 3])).unwrap();
        let layer = graph.add_layer("layer");
        let site = Site::forward(layer);
        let add = |graph: &mut Graph, input| graph.add_single(Unary::Tanh.into(), &[input], site).unwrap();
        let first = add(&mut graph, x);
        let dead = add(&mut graph, first);
        let second = add(&mut graph, first);
        let needed = add(&mut graph, second);
        graph.rename(needed, "needed");
        let beside = Beside { logits: Some(first), mask: None };
        graph.add_output_beside(second, beside);
        let printed = text::print(&graph);
        assert!(printed.ends_with("output %3 logits %1\n"), "{printed}");
        assert_eq!(text::parse(&printed).unwrap(), graph);
        let (pruned, values) = prune(&graph, &[needed]);
        verify(&pruned).unwrap();
        assert_eq!((pruned.ops().len(), values[dead.index()]), (3, None));
        assert_eq!(pruned.value(values[needed.index()].unwrap()).name, "needed");
        assert_eq!((pruned.outputs(), pruned.beside(0)), (&[ValueId(2)][..], beside));
        let whole = prune(&graph, &[needed, dead]).0;
        assert_eq!(whole, graph);
    }

    #[test]
    fn what_is_added_to_the_loss_stays() {
        let mut graph = Graph::new("penalized");
        let x = graph.add_input("x", TensorType::f32([2, 3])).unwrap();
        let layer = graph.add_layer("layer");
        let mut add = |kind: Unary| graph.add_single(kind.into(), &[x], Site::forward(layer)).unwrap();
        let (output, _, penalty) = (add(Unary::Tanh), add(Unary::Sqrt), add(Unary::Abs));
        graph.add_output(output);
        graph.add_penalty(penalty);
        assert_eq!(text::parse(&text::print(&graph)).unwrap(), graph);
        let (mut pruned, values) = prune(&graph, &[]);
        verify(&pruned).unwrap();
        assert_eq!(pruned.ops().len(), 2);
        assert_eq!(pruned.penalties(), [values[penalty.index()].unwrap()]);
        pruned.take_outputs();
        assert!(pruned.penalties().is_empty());
    }
}
