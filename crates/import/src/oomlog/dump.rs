//! The document: what one out-of-memory report says about a pool of memory, and what it does not say.

use super::figure::Figure;
use plimsoll_trace::Bytes;
use serde::Serialize;

/// Who printed a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// TensorFlow's allocator with chunks and regions (JAX uses it too).
    #[default]
    TensorFlow,
    /// TensorFlow on top of CUDA's own pool.
    TensorFlowAsync,
    /// PyTorch's message, or its snapshot.
    PyTorch,
    /// XLA's compiler or run time.
    Xla,
    /// This program.
    Plimsoll,
    /// The driver of a device, through whichever framework asked it.
    Driver,
    /// The host: its kernel, a container, a batch system, a shell.
    Host,
}

/// One out-of-memory report.
///
/// Equations, where the figures are known to the byte: `pool = in_use + free`, `largest_free <= free`,
/// `unreserved = limit - pool`; chunks of a region stand in the order of their addresses and do not overlap.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Dump {
    /// Who printed it.
    pub source: Source,
    /// The line it begins at, counted from 1.
    pub line: u64,
    /// The allocator's name, such as `GPU_0_bfc`.
    pub allocator: Option<String>,
    /// What refused.
    pub refused_by: RefusedBy,
    /// What was asked for.
    pub request: Option<Figure>,
    /// Who asked: an op's name.
    pub op: Option<String>,
    /// The shape of the tensor that was not had.
    pub shape: Vec<u64>,
    /// What the program was doing when it happened, where the lines before tell.
    pub activity: Option<Activity>,
    /// What the pool may have in all.
    pub limit: Option<Figure>,
    /// What its regions have.
    pub pool: Option<Figure>,
    /// What live chunks have.
    pub in_use: Option<Figure>,
    /// The part of it that was really asked for.
    pub requested_in_use: Option<Figure>,
    /// The most that was in use at once.
    pub peak_in_use: Option<Figure>,
    /// How many allocations were made before.
    pub allocations: Option<u64>,
    /// What is free inside the regions.
    pub free: Option<Figure>,
    /// The largest free chunk.
    pub largest_free: Option<Figure>,
    /// What the device has in all.
    pub capacity: Option<Figure>,
    /// What the device has left outside of this pool.
    pub device_free: Option<Figure>,
    /// What others hold of the device: other processes, and this one outside of its pool.
    pub others: Option<Figure>,
    /// The smallest region that the driver refused to the pool before.
    pub driver_refused: Option<Figure>,
    /// The regions.
    pub regions: Vec<Region>,
    /// The chunks by size.
    pub bins: Vec<Bin>,
    /// Live chunks of one size, as the summary counts them.
    pub sizes: Vec<SizeCount>,
    /// Who holds what, where names are given.
    pub holders: Vec<LoggedHolder>,
    /// How often the same message stood there.
    pub repeated: u64,
    /// What is not there or does not fit together.
    pub missing: Vec<String>,
}

/// What refused memory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusedBy {
    /// A pool: it was full or in pieces.
    #[default]
    Pool,
    /// The operating system, which said this.
    System(String),
    /// A budget, before anything ran: the request is the smallest plan that was found.
    Budget {
        /// The most bytes live at once in that plan.
        floor: Figure,
        /// What no plan for this batch can do without.
        least: Figure,
    },
    /// The driver of the device, which said this: no pool could help.
    Driver(String),
    /// A copy to the device, which found no room there.
    Copy,
    /// Somebody ended the whole process.
    Killed(Killed),
}

/// A process that was ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Killed {
    /// By whom.
    pub by: Killer,
    /// Its name.
    pub process: Option<String>,
    /// Its number.
    pub pid: Option<u64>,
}

/// Who ends processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Killer {
    /// Somebody who is not named: only a signal or an exit code is known.
    #[default]
    Unnamed,
    /// The host's memory ran out in a notebook service.
    Notebook,
    /// The kernel, because a container, job or service reached its limit; nobody says which kind.
    Cgroup,
    /// The same, of a container.
    Container,
    /// The same, of a Slurm job.
    Slurm,
    /// The kernel, because the whole machine had no more.
    Machine,
}

/// What a program was doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Activity {
    /// The optimizer's update.
    Optimizer,
    /// The backward pass.
    Backward,
    /// Building or loading weights.
    Weights,
    /// Building what the optimizer remembers of each weight.
    Slots,
}

/// One piece of memory that the pool got from the device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Region {
    /// Where it begins.
    pub base: u64,
    /// How long it is.
    pub bytes: u64,
    /// Its chunks by address.
    pub chunks: Vec<Chunk>,
}

/// A piece of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Chunk {
    /// Where it begins.
    pub address: u64,
    /// How long it is.
    pub bytes: u64,
    /// What was asked for, where the report says it of this chunk.
    pub requested: Option<u64>,
    /// Whether somebody has it.
    pub in_use: bool,
    /// The number of its holder among the dump's holders, plus 1; 0 where nobody is named.
    pub holder: u32,
}

/// The chunks of sizes from `smallest` to less than twice that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bin {
    /// The smallest size.
    pub smallest: u64,
    /// How many chunks there are.
    pub chunks: u64,
    /// How many are in use.
    pub chunks_in_use: u64,
    /// What all of them have.
    pub bytes: Figure,
    /// What those in use have.
    pub in_use: Figure,
    /// What was asked for by those in use.
    pub requested: Figure,
}

/// Live chunks of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SizeCount {
    /// The size of each.
    pub bytes: u64,
    /// How many.
    pub count: u64,
}

/// Somebody who holds memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoggedHolder {
    /// Who: an op, a buffer, a line of a program.
    pub who: String,
    /// How much.
    pub bytes: Figure,
}

impl Dump {
    /// What could still be reserved from the device without passing the limit.
    pub fn unreserved(&self) -> Option<Figure> {
        Some(self.limit?.minus(self.pool.filter(|pool| !pool.at_least)?))
    }

    /// All chunks, region by region.
    pub fn chunks(&self) -> impl Iterator<Item = &Chunk> {
        self.regions.iter().flat_map(|region| &region.chunks)
    }

    /// Whether every byte of every region is listed in a chunk.
    pub fn is_complete(&self) -> bool {
        let listed = |region: &Region| region.chunks.iter().map(|chunk| chunk.bytes).sum::<u64>();
        !self.regions.is_empty() && self.regions.iter().all(|region| listed(region) == region.bytes)
    }

    /// Whether it is more than a stray line that looks like part of a report.
    pub(crate) fn says_something(&self) -> bool {
        let figures = [self.request, self.in_use, self.peak_in_use];
        let lists = [self.bins.len(), self.sizes.len(), self.holders.len()];
        figures.iter().any(Option::is_some) || lists.iter().any(|&length| length > 0)
    }

    /// The name of a chunk's holder.
    pub fn holder(&self, chunk: &Chunk) -> Option<&str> {
        let index = usize::try_from(chunk.holder).ok()?.checked_sub(1)?;
        self.holders.get(index).map(|holder| holder.who.as_str())
    }

    /// The bytes that a tensor of this shape has with elements of 4 bytes, where a shape is known.
    pub fn shape_bytes(&self) -> Option<u64> {
        let product = self.shape.iter().try_fold(4u64, |product, &extent| product.checked_mul(extent));
        product.filter(|_| !self.shape.is_empty())
    }
}

impl Region {
    /// What is free in it.
    pub fn free(&self) -> Bytes {
        Bytes(self.chunks.iter().filter(|chunk| !chunk.in_use).map(|chunk| chunk.bytes).sum())
    }
}
