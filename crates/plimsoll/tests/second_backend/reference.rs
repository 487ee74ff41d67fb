//! The reference interpreter as a backend: kernels in float64, memory in drawers that have no addresses.
//!
//! It does nothing that the CPU's does: no op runs in place, none takes scratch, offsets are multiples of 256, and each
//! page of the arena is a vector of its own.

use plimsoll::Bytes;
use plimsoll::exec::reference::{self, Tensor};
use plimsoll::exec::{Backend, BindError, Cause, Fault, Guard, ProgramId, Session};
use plimsoll::graph::{ElementType, Op, OpKind, TensorType, ValueId};
use plimsoll::memory::{Arena, Device, Growth, Hardware, Mapping, Memory, PhysicalDevice};
use plimsoll::plan::{Kernels, Profile, Target, VerifiedArena, VerifiedPlan, bytes_of};
use plimsoll::trace::{Alignment, Offset};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// The interpreter on devices whose memory comes in pages of this size.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    pub page: Bytes,
}

/// A device for it with so much memory.
pub fn cabinet(limit: Bytes) -> Device {
    PhysicalDevice::new(Cabinet(limit)).logical("cabinet", limit, Growth::On).unwrap()
}

#[derive(Debug)]
struct Cabinet(Bytes);

#[derive(Debug)]
struct Drawer(Mutex<Vec<u8>>);

impl Hardware for Cabinet {
    fn name(&self) -> &str {
        "cabinet"
    }

    fn kind(&self) -> &'static str {
        "cabinet"
    }

    fn capacity(&self) -> Bytes {
        self.0
    }

    fn available(&self) -> Bytes {
        self.0
    }

    fn map(&self, bytes: Bytes) -> std::io::Result<Mapping> {
        Ok(Mapping::elsewhere(Drawer(Mutex::new(vec![0; bytes.as_usize()]))))
    }

    fn commit(&self, bytes: Bytes) -> std::io::Result<Mapping> {
        self.map(bytes)
    }
}

impl Memory for Drawer {
    fn bytes(&self) -> Bytes {
        Bytes(self.0.lock().unwrap().len() as u64)
    }

    fn read(&self, from: Offset, into: &mut [u8]) {
        into.copy_from_slice(&self.0.lock().unwrap()[from.as_usize()..][..into.len()]);
    }

    fn write(&self, into: Offset, from: &[u8]) {
        self.0.lock().unwrap()[into.as_usize()..][..from.len()].copy_from_slice(from);
    }

    fn zero(&self, start: Offset, bytes: Bytes) {
        self.0.lock().unwrap()[start.as_usize()..][..bytes.as_usize()].fill(0);
    }

    fn discard(&self, _: Offset, _: Bytes) -> bool {
        false
    }
}

#[derive(Debug)]
struct ReferenceKernels;

impl Kernels for ReferenceKernels {
    fn name(&self) -> String {
        "reference".to_string()
    }

    fn scratch(&self, _: &OpKind, _: &[TensorType], _: &[TensorType]) -> Bytes {
        Bytes::ZERO
    }

    fn in_place(&self, _: &OpKind) -> &'static [(usize, usize)] {
        &[]
    }
}

impl Backend for Reference {
    fn name(&self) -> &str {
        "reference"
    }

    fn target(&self, profile: Profile) -> Target {
        let alignment = Alignment::try_from(256).expect("256 is a power of two");
        Target { profile, alignment, page: Some(self.page), ..Target::new(ReferenceKernels) }
    }

    fn bind(
        &self,
        arena: Arc<VerifiedArena>,
        guards: &[Vec<Guard>],
        device: &Device,
        who: &str,
    ) -> Result<Box<dyn Session>, BindError> {
        let memory = device.arena(who, arena.peak(), arena.page())?;
        assert!(memory.pages() > 3, "pages are small, so that there are several");
        Ok(Box::new(Interpreter { arena, guards: guards.to_vec(), memory, reach: Bytes::ZERO }))
    }
}

struct Interpreter {
    arena: Arc<VerifiedArena>,
    guards: Vec<Vec<Guard>>,
    memory: Arena,
    reach: Bytes,
}

impl Session for Interpreter {
    fn run(&mut self, program: ProgramId, steps: Range<usize>) -> Result<(), Fault> {
        let arena = self.arena.clone();
        let plan = &arena.plans()[program.position()];
        for step in steps {
            let op = plan.graph().op(plan.plan().order[step]);
            let guard = self.guards[program.position()][step];
            let fault = |value| Err(Fault { step, cause: Cause::NotFinite(value) });
            match self.run_op(plan, op, guard) {
                Some(value) => return fault(value),
                None => continue,
            }
        }
        Ok(())
    }

    fn write(&mut self, start: Offset, bytes: Bytes, fill: &mut dyn FnMut(&mut [u8])) {
        let mut staged = vec![0u32; bytes.as_usize().div_ceil(4)];
        let staged = &mut bytemuck::cast_slice_mut(&mut staged)[..bytes.as_usize()];
        fill(staged);
        self.touch(start, bytes);
        self.memory.write(start, staged);
    }

    fn read(&self, start: Offset, into: &mut [u8]) {
        self.memory.read(start, into);
    }

    fn is_finite(&mut self, start: Offset, tensor: &TensorType) -> bool {
        self.load(start, tensor).data.iter().all(|x| x.is_finite())
    }

    fn reach(&self) -> Bytes {
        self.reach
    }
}

impl Interpreter {
    /// Runs one op; gives the value that is guarded and not finite, if it is so.
    fn run_op(&mut self, plan: &VerifiedPlan, op: &Op, guard: Guard) -> Option<ValueId> {
        for &value in op.inputs.iter().chain(&op.outputs) {
            let buffer = plan.plan().buffer_of(value).expect("a proved plan stores what it computes");
            self.touch(buffer.offset, buffer.bytes);
        }
        let place = |value: ValueId| {
            let buffer = plan.plan().buffer_of(value).expect("a proved plan stores what it computes");
            (buffer.offset, plan.graph().tensor(value))
        };
        let inputs: Vec<Tensor> =
            op.inputs.iter().map(|&id| place(id)).map(|(at, t)| self.load(at, t)).collect();
        let is_finite = |tensor: &Tensor| tensor.data.iter().all(|x| x.is_finite());
        if let Guard::Input(index) = guard
            && !is_finite(&inputs[index])
        {
            return Some(op.inputs[index]);
        }
        if op.kind.is_view() {
            return None;
        }
        let results = reference::run(&op.kind, &inputs.iter().collect::<Vec<_>>());
        for (&value, result) in op.outputs.iter().zip(&results) {
            self.store(place(value).0, result);
        }
        match guard {
            Guard::Output(index) if !is_finite(&results[index]) => Some(op.outputs[index]),
            _ => None,
        }
    }

    fn load(&self, start: Offset, tensor: &TensorType) -> Tensor {
        let mut words = vec![0u32; tensor.shape.elements()];
        assert_eq!(bytes_of(tensor), Bytes(4 * words.len() as u64), "float32 and int32 only");
        self.memory.read(start, bytemuck::cast_slice_mut(&mut words));
        let number = |&word: &u32| match tensor.element {
            ElementType::I32 => f64::from(word as i32),
            _ => f64::from(f32::from_bits(word)),
        };
        Tensor::new(tensor.clone(), words.iter().map(number).collect())
    }

    fn store(&mut self, start: Offset, tensor: &Tensor) {
        let word = |&number: &f64| match tensor.tensor.element {
            ElementType::I32 => number as i32 as u32,
            _ => (number as f32).to_bits(),
        };
        let words: Vec<u32> = tensor.data.iter().map(word).collect();
        self.memory.write(start, bytemuck::cast_slice(&words));
    }

    /// A range lies in one drawer.
    fn touch(&mut self, start: Offset, bytes: Bytes) {
        let page = self.arena.page().expect("its memory comes in pages").0;
        let last = (start + bytes).0.saturating_sub(1).max(start.0);
        assert_eq!(start.0 / page, last / page, "{bytes} at {} cross two pages of {page}", start.0);
        self.reach = self.reach.max((start + bytes).distance());
    }
}
