//! Probe.
use plimsoll::exec::kernels::CpuKernels;
use plimsoll::model::{Mode, zoo};
use plimsoll::plan::recompute::{Problem, rewrite, schedule::Scheduler, search, verify_same};
use plimsoll::plan::{Options, Residents, graph_work, plan};
use plimsoll::train::{Loss, Optimizer, training_graph};
use std::time::Instant;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let model = zoo::find(&args[1]).unwrap();
    let batch: usize = args[2].parse().unwrap();
    let effort: u64 = args[3].parse().unwrap();
    let forward = model.lower(batch, Mode::Training).unwrap();
    let training = training_graph(
        forward,
        Loss::SparseCategoricalCrossEntropy { from_logits: false },
        Optimizer::parse("adam").unwrap(),
    )
    .unwrap();
    let graph = &training.graph;
    let kernels = CpuKernels { threads: 2 };
    let options = Options::default();
    let costs: Vec<f64> = graph.op_ids().map(|id| graph_work(graph, id).flops as f64).collect();
    let problem = Problem::of(graph, &costs, &kernels, options);
    let made = plan(graph, &kernels, options, &Residents::default());
    println!(
        "tasks {} updates {} items {} turn {} floor {} MiB peak {} least {} MiB persistent {}",
        problem.tasks.len(),
        problem.updates.len(),
        problem.items.len(),
        problem.turn,
        made.floor,
        made.peak,
        problem.least() >> 20,
        problem.persistent >> 20
    );
    let mut s = Scheduler::new(&problem);
    let held = s.all_held();
    let sums = s.sums(&held, 0);
    assert_eq!(sums.floor, made.floor.0);
    for mib in &args[4..] {
        let budget = mib.parse::<u64>().unwrap() << 20;
        let t = Instant::now();
        let found = search(&problem, budget, effort);
        let took = t.elapsed();
        let mut s = Scheduler::new(&problem);
        let runs = s.runs(&found.gaps).to_vec();
        let rewritten = rewrite(graph, &problem, &runs);
        verify_same(graph, &rewritten).unwrap();
        let t = Instant::now();
        let made = plan(&rewritten.graph, &kernels, options, &Residents::default());
        let counts = [
            found.gaps.iter().filter(|g| **g as u8 == 1).count(),
            found.gaps.iter().filter(|g| **g as u8 == 2).count(),
        ];
        println!(
            "{mib} MiB: extra {:.2} % floor {:.1} excess {} again {} {counts:?} search {took:?}; plan floor {} peak {} in {:?}",
            100.0 * found.sums.extra / problem.cost(),
            found.sums.floor as f64 / 1048576.0,
            found.sums.excess,
            rewritten.again.len(),
            made.floor,
            made.peak,
            t.elapsed()
        );
        assert_eq!(found.sums.floor, made.floor.0);
        if found.sums.excess > 0 {
            let u = plimsoll::plan::usage(&rewritten.graph, &made);
            println!("worst {} {} {}", u.worst_step, u.worst_op, u.worst_layer);
            for h in u.live.iter().filter(|h| !h.role.is_persistent()).take(16) {
                println!("   {} {} {} {:?}", h.bytes, h.value, h.layer, h.role);
            }
            let mut g = found.gaps.clone();
            for gap in s.candidates() {
                let item = s.item(gap);
                let t = problem.items[item].producer.unwrap();
                let name = &graph.value(graph.op(problem.tasks[t].op).outputs[0]).name;
                if name.starts_with("conv2_block3_3_conv/bias")
                    || name.starts_with("conv2_block3_3_bn/ba")
                    || name.starts_with("conv2_block2_out/u")
                    || name.starts_with("conv2_block2_add")
                {
                    let was = g[gap];
                    for to in [
                        plimsoll::plan::recompute::schedule::Gap::Held,
                        plimsoll::plan::recompute::schedule::Gap::Once,
                        plimsoll::plan::recompute::schedule::Gap::Fleeting,
                    ] {
                        g[gap] = to;
                        println!("{name} {:?} {was:?} -> {to:?} {:?}", s.span(gap), s.sums(&g, budget));
                    }
                    g[gap] = was;
                }
            }
            let w = u.worst_step as usize;
            for b in made
                .buffers
                .iter()
                .filter(|b| b.live.contains(&u.worst_step) && b.bytes.0 > 20 << 20 && !b.role.is_persistent())
            {
                println!("  buffer {:?}", b.live);
                for v in &b.values {
                    let users: Vec<String> = made
                        .order
                        .iter()
                        .enumerate()
                        .filter(|(_, o)| rewritten.graph.op(**o).inputs.contains(v))
                        .map(|(i, o)| {
                            let op = rewritten.graph.op(*o);
                            format!("{i}:{}", rewritten.graph.value(op.outputs[0]).name)
                        })
                        .collect();
                    println!("     {} used by {users:?}", rewritten.graph.value(*v).name);
                }
            }
            for &id in &made.order[w - 8..w + 6] {
                let op = rewritten.graph.op(id);
                println!("      {} {}", op.kind.name(), rewritten.graph.value(op.outputs[0]).name);
            }
        }
    }
}
