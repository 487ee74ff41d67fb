//! Compaction stays within its device: what is moved is never there twice. Alone in its file, because the most memory a
//! process has had is that of all its tests.

use plimsoll_exec::{Eager, RunSettings};
use plimsoll_graph::{Graph, Init, Role, TensorType};
use plimsoll_memory::{AllocatorOptions, Device, by_name, process};
use plimsoll_trace::Bytes;

const BLOCKS: usize = 12;
const FLOATS: usize = 2 << 20;

#[test]
#[cfg(target_os = "linux")]
fn what_is_moved_is_never_there_twice() {
    let device = Device::host(Bytes::mib(160));
    let make = || by_name("best-fit", &AllocatorOptions::default()).unwrap();
    let mut eager = Eager::new(&device, Box::new(make), 1, RunSettings::default()).unwrap();
    let mut weights = Vec::new();
    for index in 0..BLOCKS {
        let mut graph = Graph::new("weights");
        let tensor = TensorType::f32([FLOATS]);
        let name = format!("weights {index}");
        let value = graph.add_persistent(name, tensor, Role::Parameter, Init::Constant(0.0), None).unwrap();
        let filler = graph.add_input("filler", TensorType::f32([1000])).unwrap();
        graph.add_output(filler);
        let program = eager.load(graph, &[]).unwrap();
        eager.f32_mut(program, value).fill(index as f32);
        eager.begin(program).unwrap();
        weights.push((program, value));
    }
    let before = process::peak_resident().unwrap();
    assert!(before > Bytes((BLOCKS * FLOATS * 4) as u64), "{before}");
    let done = eager.compact().unwrap().unwrap();
    assert!(done.moved >= Bytes((BLOCKS * FLOATS * 4) as u64), "{done:?}");
    let after = process::peak_resident().unwrap();
    assert!(after <= before + Bytes::mib(8), "{before} before, {after} with the compaction");
    for (index, (program, value)) in weights.into_iter().enumerate() {
        assert!(eager.f32(program, value).iter().all(|&x| x == index as f32), "weights {index}");
    }
}
