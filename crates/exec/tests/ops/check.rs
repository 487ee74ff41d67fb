//! What is checked of an op, and random tensors to check it on.

#![allow(unsafe_code)]

use plimsoll_exec::kernels::{Call, Input, KernelError, Output, cpu};
use plimsoll_exec::reference::{self, Tensor};
use plimsoll_graph::op::{Binary, Reduce, Reduction};
use plimsoll_graph::{ElementType, Graph, OpKind, Phase, Shape, Site, TensorType, ValueId};
use std::collections::HashMap;

/// An op on given inputs.
pub struct Case {
    kind: OpKind,
    inputs: Vec<Tensor>,
    /// The largest difference between kernel and reference, relative to the largest element (at least 1).
    tolerance: f64,
    /// The input that has no gradient by definition, though the result depends on it.
    constant: Option<usize>,
}

impl Case {
    /// An op on given inputs, with the tolerance that suits most float32 kernels.
    pub fn new(kind: impl Into<OpKind>, inputs: impl Into<Vec<Tensor>>) -> Self {
        Self { kind: kind.into(), inputs: inputs.into(), tolerance: 1e-5, constant: None }
    }

    /// The same with another tolerance for the kernel.
    pub fn tolerance(self, tolerance: f64) -> Self {
        Self { tolerance, ..self }
    }

    /// The same with an input that has no gradient by definition, though the result depends on it: targets.
    pub fn constant(self, input: usize) -> Self {
        Self { constant: Some(input), ..self }
    }

    /// Both checks.
    pub fn check(self) {
        self.check_kernel();
        self.check_gradient();
    }

    /// The kernel gives what the reference gives: with poisoned outputs and scratch, in place wherever it says it can,
    /// and the same bits with one thread and with three.
    pub fn check_kernel(&self) {
        self.check_finite();
        self.check_special();
    }

    fn check_finite(&self) {
        let references: Vec<&Tensor> = self.inputs.iter().collect();
        let wanted = reference::run(&self.kind, &references);
        let plain = run_kernel(&self.kind, &self.inputs, None, 1);
        self.compare("kernel", &plain, &wanted);
        assert_eq!(
            run_kernel(&self.kind, &self.inputs, None, 3),
            plain,
            "{:?}: another number of threads",
            self.kind
        );
        for &(input, output) in cpu::in_place(&self.kind) {
            let (from, to) = (&self.inputs[input].tensor, &wanted[output].tensor);
            if bytes(from) == bytes(to) {
                let in_place = run_kernel(&self.kind, &self.inputs, Some((input, output)), 2);
                assert_eq!(in_place, plain, "{:?}: in place {input} -> {output}", self.kind);
            }
        }
    }

    /// A NaN or an infinity among the inputs gives NaNs and infinities where the reference has them.
    fn check_special(&self) {
        if self.inputs.iter().any(|input| input.data.len() > SPECIAL_AT_MOST) {
            return;
        }
        // What a gradient op is given belongs together, except for the gradient that comes from above.
        let from_above = match self.kind.name() {
            "unary_gradient" => None,
            "lstm_gradient" | "gru_gradient" => Some(4),
            "attention_gradient" => Some(5),
            name => name.ends_with("_gradient").then(|| self.inputs.len() - 1),
        };
        let inputs = self.inputs.iter().enumerate();
        let inputs = inputs.filter(|(index, _)| from_above.is_none_or(|from_above| from_above == *index));
        for (input, element) in inputs.flat_map(special_places) {
            for special in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let mut inputs = self.inputs.clone();
                inputs[input].data[element] = special;
                let references: Vec<&Tensor> = inputs.iter().collect();
                let wanted = reference::run(&self.kind, &references);
                let found = run_kernel(&self.kind, &inputs, None, 2);
                let case = Self { inputs, kind: self.kind.clone(), ..*self };
                case.compare(&format!("input {input}[{element}] = {special}: kernel"), &found, &wanted);
            }
        }
    }

    /// The kernel refuses these inputs.
    pub fn kernel_error(&self) -> KernelError {
        try_kernel(&self.kind, &self.inputs, None, 1).expect_err("the kernel refuses these inputs")
    }

    /// The gradient graph, interpreted in float64, agrees with central differences, for every float input.
    /// The loss is a weighted sum of the first output, so that every element of it matters differently.
    pub fn check_gradient(&self) {
        let mut graph = Graph::new("case");
        let site = Site { layer: None, phase: Phase::Forward };
        let mut given = HashMap::new();
        let mut ids = Vec::new();
        for (index, input) in self.inputs.iter().enumerate() {
            let id = graph.add_input(format!("input {index}"), input.tensor.clone()).unwrap();
            given.insert(id, input.clone());
            ids.push(id);
        }
        let outputs = graph.add_op(self.kind.clone(), &ids, site).unwrap();
        let tensor = graph.tensor(outputs[0]).clone();
        let weights = graph.add_input("weights", tensor.clone()).unwrap();
        given.insert(weights, random(tensor.shape.extents(), 99));
        let weighted = graph.add_single(Binary::Multiply.into(), &[outputs[0], weights], site).unwrap();
        let sum = Reduce::all(Reduction::Sum, tensor.shape.rank());
        let loss = graph.add_single(sum.into(), &[weighted], site).unwrap();
        let forward = graph.clone();
        let wanted: Vec<ValueId> =
            ids.iter().copied().filter(|&id| graph.tensor(id).element == ElementType::F32).collect();
        let gradients = plimsoll_train::differentiate(&mut graph, loss, &wanted).unwrap();
        plimsoll_graph::verify(&graph).unwrap();
        let contents = reference::interpret(&graph, &given);
        for (&id, gradient) in wanted.iter().zip(gradients) {
            if self.constant.is_some_and(|constant| ids[constant] == id) {
                assert!(gradient.is_none(), "{:?}: a gradient of what is constant", self.kind);
                continue;
            }
            // No gradient says that the loss does not depend on this input: the numeric one must be 0.
            let zeros = || vec![0.0; given[&id].data.len()];
            let exact = gradient.map_or_else(zeros, |gradient| contents[gradient.index()].data.clone());
            let largest = exact.iter().fold(1.0f64, |max, g| max.max(g.abs()));
            for element in sampled(exact.len()) {
                let numeric = central_difference(&forward, &given, loss, id, element);
                let error = (numeric - exact[element]).abs() / largest;
                let name = &forward.value(id).name;
                assert!(
                    error < 1e-5,
                    "{:?} {name}[{element}]: {} but numerically {numeric}",
                    self.kind,
                    exact[element]
                );
            }
        }
    }

    /// Whether the kernel multiplies zeros that stand for nothing, as TensorFlow's do: those of a padding, of what is
    /// masked, of the state before the first step. 0 times NaN is NaN.
    fn multiplies_zeros(&self) -> bool {
        let special = self.inputs.iter().flat_map(|input| &input.data).any(|x| !x.is_finite());
        let may = ["conv2d", "transposed_conv2d", "attention", "lstm", "gru"];
        special && may.contains(&self.kind.name().trim_end_matches("_gradient").trim_end_matches("_filter"))
    }

    fn compare(&self, what: &str, found: &[Tensor], wanted: &[Tensor]) {
        for (index, (found, wanted)) in found.iter().zip(wanted).enumerate() {
            assert_eq!(found.tensor, wanted.tensor);
            let finite = wanted.data.iter().filter(|x| x.is_finite());
            let largest = finite.fold(1.0f64, |max, x| max.max(x.abs()));
            for (element, (f, w)) in found.data.iter().zip(&wanted.data).enumerate() {
                let agree = match w.is_finite() {
                    true => {
                        (f - w).abs() / largest <= self.tolerance || self.multiplies_zeros() && f.is_nan()
                    }
                    // The order of additions decides between infinity and NaN.
                    false => !f.is_finite(),
                };
                let kind = &self.kind;
                assert!(agree, "{what} {kind:?}: output {index}[{element}] is {f}, not {w}");
            }
        }
    }
}

/// Cases with larger inputs are about blocks and threads, not about numbers.
const SPECIAL_AT_MOST: usize = 4000;

/// Where special numbers are put: at the beginning, in the middle and at the end of each float input.
fn special_places((input, tensor): (usize, &Tensor)) -> Vec<(usize, usize)> {
    if tensor.tensor.element == ElementType::I32 || tensor.data.is_empty() {
        return Vec::new();
    }
    let last = tensor.data.len() - 1;
    let mut elements = vec![0, last / 2, last];
    elements.dedup();
    elements.into_iter().map(|element| (input, element)).collect()
}

/// Float32 numbers in [-1, 1), the same for the same seed.
pub fn random(shape: &[usize], seed: u64) -> Tensor {
    random_in(shape, seed, -1.0, 1.0)
}

/// Float32 numbers in [low, high).
pub fn random_in(shape: &[usize], seed: u64, low: f64, high: f64) -> Tensor {
    let shape = Shape::new(shape);
    let data = (0..shape.elements()).map(|i| {
        let unit = (hash(seed, i as u64) >> 40) as f64 / (1u64 << 24) as f64;
        f64::from((low + (high - low) * unit) as f32)
    });
    Tensor::new(TensorType::f32(shape.clone()), data.collect())
}

/// Int32 numbers in 0..limit.
pub fn random_ids(shape: &[usize], seed: u64, limit: u64) -> Tensor {
    let shape = Shape::new(shape);
    let data = (0..shape.elements()).map(|i| (hash(seed, i as u64) % limit) as f64);
    Tensor::new(TensorType::i32(shape.clone()), data.collect())
}

/// SplitMix64 of the two numbers.
fn hash(seed: u64, index: u64) -> u64 {
    let mut z =
        seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(index).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Up to twenty elements spread over a tensor.
fn sampled(length: usize) -> impl Iterator<Item = usize> {
    let step = length.div_ceil(20);
    (0..length).step_by(step)
}

fn central_difference(
    graph: &Graph,
    given: &HashMap<ValueId, Tensor>,
    loss: ValueId,
    input: ValueId,
    element: usize,
) -> f64 {
    const STEP: f64 = 1e-5;
    let loss_at = |shift: f64| {
        let mut given = given.clone();
        given.get_mut(&input).unwrap().data[element] += shift;
        reference::interpret(graph, &given)[loss.index()].data[0]
    };
    (loss_at(STEP) - loss_at(-STEP)) / (2.0 * STEP)
}

fn bytes(tensor: &TensorType) -> usize {
    tensor.shape.elements() * tensor.element.bits() as usize / 8
}

fn run_kernel(
    kind: &OpKind,
    inputs: &[Tensor],
    in_place: Option<(usize, usize)>,
    threads: usize,
) -> Vec<Tensor> {
    try_kernel(kind, inputs, in_place, threads).unwrap()
}

/// Runs the kernel on buffers of its own, all poisoned with NaNs where nothing was given.
fn try_kernel(
    kind: &OpKind,
    inputs: &[Tensor],
    in_place: Option<(usize, usize)>,
    threads: usize,
) -> Result<Vec<Tensor>, KernelError> {
    let input_types: Vec<TensorType> = inputs.iter().map(|input| input.tensor.clone()).collect();
    let output_types = kind.infer(&input_types).unwrap();
    let mut input_bytes: Vec<Vec<u32>> = inputs.iter().map(encode).collect();
    let mut output_bytes: Vec<Vec<u32>> =
        output_types.iter().map(|tensor| vec![u32::MAX; bytes(tensor).div_ceil(4)]).collect();
    if let Some((input, output)) = in_place {
        output_bytes[output] = std::mem::take(&mut input_bytes[input]);
    }
    // An update's outputs always take the place of its inputs.
    let updates = kind.updates();
    for update in &updates {
        output_bytes[update.output] = std::mem::take(&mut input_bytes[update.input]);
    }
    let replaced_by = |index: usize| {
        let update = updates.iter().find(|update| update.input == index).map(|update| update.output);
        update.or(in_place.filter(|&(input, _)| input == index).map(|(_, output)| output))
    };
    let views: Vec<Input> = input_types
        .iter()
        .enumerate()
        // SAFETY: the vectors outlive the views, hold the whole tensor, and are not touched while the kernel runs.
        .map(|(i, tensor)| unsafe {
            Input::new(tensor.clone(), input_bytes[i].as_ptr().cast(), replaced_by(i))
        })
        .collect();
    let mut outputs: Vec<Output> = output_types
        .iter()
        .zip(&mut output_bytes)
        // SAFETY: as above; every output has a vector of its own.
        .map(|(tensor, buffer)| unsafe { Output::new(tensor.clone(), buffer.as_mut_ptr().cast()) })
        .collect();
    let mut scratch = vec![f32::NAN; cpu::scratch(kind, &input_types, &output_types, threads)];
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    // Views hold raw pointers, which may not cross threads by themselves; the kernel takes slices out of them.
    struct Crossing<T>(T);
    // SAFETY: the calling thread waits, so only one thread at a time uses the call.
    unsafe impl<T> Send for Crossing<T> {}
    let call = Crossing(Call { inputs: &views, outputs: &mut outputs, scratch: &mut scratch });
    pool.install(move || {
        let crossing = call;
        cpu::run(kind, crossing.0)
    })?;
    Ok(output_types.iter().zip(&output_bytes).map(|(tensor, buffer)| decode(tensor, buffer)).collect())
}

fn encode(tensor: &Tensor) -> Vec<u32> {
    match tensor.tensor.element {
        ElementType::F32 => tensor.data.iter().map(|&x| (x as f32).to_bits()).collect(),
        ElementType::I32 => tensor.data.iter().map(|&x| x as i32 as u32).collect(),
        ElementType::F16 => pack(tensor.data.iter().map(|&x| half::f16::from_f64(x).to_bits())),
        ElementType::Bf16 => pack(tensor.data.iter().map(|&x| half::bf16::from_f64(x).to_bits())),
    }
}

fn pack(halves: impl Iterator<Item = u16>) -> Vec<u32> {
    let halves: Vec<u16> = halves.collect();
    halves.chunks(2).map(|pair| u32::from(pair[0]) | u32::from(*pair.get(1).unwrap_or(&0)) << 16).collect()
}

fn decode(tensor: &TensorType, words: &[u32]) -> Tensor {
    let half = |i: usize| (words[i / 2] >> (16 * (i % 2))) as u16;
    let element = |i: usize| match tensor.element {
        ElementType::F32 => f64::from(f32::from_bits(words[i])),
        ElementType::I32 => f64::from(words[i] as i32),
        ElementType::F16 => half::f16::from_bits(half(i)).to_f64(),
        ElementType::Bf16 => half::bf16::from_bits(half(i)).to_f64(),
    };
    Tensor::new(tensor.clone(), (0..tensor.shape.elements()).map(element).collect())
}
