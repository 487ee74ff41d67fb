//! A program: the kernels that TensorFlow would run in one step, what they read and what they write.
//!
//! Reshapes and casts to the same type are not kernels: they give the same buffer another name.

use plimsoll_graph::{LayerId, Role};

/// Names a tensor of one program. Every tensor is a buffer of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TensorId(pub u32);

/// Names a kernel of one program; kernels are numbered in the order in which a node's consumers are scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KernelId(pub u32);

/// Something that takes memory.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Its size.
    pub bytes: u64,
    /// Why it exists.
    pub role: Role,
    /// The layer it is reported under.
    pub layer: Option<LayerId>,
    /// Who owns it.
    pub owner: Owner,
    /// For people: the kernel that writes it, or the variable's name.
    pub name: String,
}

/// Who owns a tensor, and so how long it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// A variable: lives across steps and can be assigned to.
    Variable(Start),
    /// The caller: the batch.
    Caller,
    /// The step: from the kernel that writes it to the last that reads it.
    Step,
}

/// How a variable gets its first contents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The same number everywhere.
    Filled,
    /// Random numbers, which are drawn, multiplied and moved, each into a tensor of its own.
    Drawn,
}

impl Owner {
    /// Whether it is a variable.
    pub fn is_variable(self) -> bool {
        matches!(self, Self::Variable(_))
    }
}

/// One call of a kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// TensorFlow's name for it.
    pub name: &'static str,
    /// The layer it is reported under.
    pub layer: Option<LayerId>,
    /// What it reads.
    pub reads: Vec<TensorId>,
    /// What it writes.
    pub writes: Vec<TensorId>,
    /// Buffers it has only while it runs.
    pub scratch: Vec<u64>,
    /// Whether its result may take the place of an operand of the same size that nobody else reads.
    pub in_place: bool,
    /// Kernels that must have run before, beside the writers of what it reads.
    pub after: Vec<KernelId>,
    /// What it does to a variable.
    pub assigns: Option<Assignment>,
    /// Whether it depends on nothing but a seed or a variable, and so runs before the first layer.
    pub early: bool,
    /// Whether it waits on the stack for all others that become ready together with it.
    pub deferred: bool,
}

/// What a kernel does to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignment {
    /// `AssignAdd`, `AssignSub`: changed where it is, unless somebody still reads the old contents; then it is copied
    /// first.
    Change(TensorId),
    /// `Assign`: the variable becomes the second tensor, whose buffer it takes over.
    Replace(TensorId, TensorId),
}

/// Kernels and tensors of one step.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// All tensors.
    pub tensors: Vec<Tensor>,
    /// All kernels.
    pub kernels: Vec<Kernel>,
    /// Layers whose rules have no evidence.
    pub unsure: Vec<LayerId>,
}

impl Program {
    /// One tensor.
    pub fn tensor(&self, id: TensorId) -> &Tensor {
        &self.tensors[id.0 as usize]
    }

    /// One kernel.
    pub fn kernel(&self, id: KernelId) -> &Kernel {
        &self.kernels[id.0 as usize]
    }

    /// The bytes of the batch: inputs and targets.
    pub fn batch(&self) -> u64 {
        self.tensors.iter().filter(|tensor| tensor.owner == Owner::Caller).map(|tensor| tensor.bytes).sum()
    }

    /// Adds a tensor.
    pub fn add_tensor(&mut self, tensor: Tensor) -> TensorId {
        self.tensors.push(tensor);
        TensorId(self.tensors.len() as u32 - 1)
    }

    /// Adds a kernel.
    pub fn add_kernel(&mut self, kernel: Kernel) -> KernelId {
        self.kernels.push(kernel);
        KernelId(self.kernels.len() as u32 - 1)
    }

    /// All tensors with their names.
    pub fn tensor_ids(&self) -> impl Iterator<Item = TensorId> + use<> {
        (0..self.tensors.len() as u32).map(TensorId)
    }

    /// All kernels' names.
    pub fn kernel_ids(&self) -> impl Iterator<Item = KernelId> + use<> {
        (0..self.kernels.len() as u32).map(KernelId)
    }
}
