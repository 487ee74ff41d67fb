//! The views that kernels get in an eager run: made for one op, after its blocks were taken and before any is freed.

#![allow(unsafe_code)]

use super::pool::{Held, Pool};
use super::residents::Residents;
use super::script::{Place, Step};
use crate::kernels::{Input, Output, Scratch};
use plimsoll_graph::{Graph, Op};

/// Binds an op to the blocks its values stand in now.
pub(super) fn bind(
    step: &mut Step,
    graph: &Graph,
    places: &[Place],
    blocks: &[Option<Held>],
    scratch: Option<Held>,
    residents: &Residents,
    pool: &Pool,
) {
    let op = graph.op(step.bound.op);
    let start = |place: Place| {
        let held = match place {
            Place::Resident(position) => residents.held(position),
            Place::Block(owner) => blocks[owner.index()].expect("a value is computed before it is read"),
        };
        pool.pointer(held)
    };
    step.bound.inputs.clear();
    for (input, &value) in op.inputs.iter().enumerate() {
        let (tensor, from) = (graph.tensor(value).clone(), start(places[value.index()]).cast_const());
        // SAFETY: the block is live until the op is done, the pool has checked that it has the tensor's bytes at a
        // multiple of a cache line, allocators do not give out bytes twice, and only the output that is named here has
        // the same block.
        step.bound.inputs.push(unsafe { Input::new(tensor, from, replaced_by(op, input, places)) });
    }
    step.bound.outputs.clear();
    for &value in &op.outputs {
        let (tensor, from) = (graph.tensor(value).clone(), start(places[value.index()]));
        // SAFETY: as above; no two outputs of an op share a block.
        step.bound.outputs.push(unsafe { Output::new(tensor, from) });
    }
    step.bound.scratch = scratch.zip(step.scratch).map(|(held, (bytes, _))| {
        // SAFETY: as above; nothing else has the block of the scratch.
        unsafe { Scratch::new(pool.pointer(held), bytes.as_usize() / 4) }
    });
}

/// Forgets the views of an op, whose blocks may be freed now.
pub(super) fn unbind(step: &mut Step) {
    step.bound.inputs.clear();
    step.bound.outputs.clear();
    step.bound.scratch = None;
}

/// The output that shares its block with an input: an update's, since views run no kernel.
fn replaced_by(op: &Op, input: usize, places: &[Place]) -> Option<usize> {
    let place = places[op.inputs[input].index()];
    op.outputs.iter().position(|output| places[output.index()] == place)
}
