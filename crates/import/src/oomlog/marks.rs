//! The words that only out-of-memory reports contain, one group a first letter.

use plimsoll_trace::evidence::MARK;

/// What a mark announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// TensorFlow's request, before its dump or (until 1.0) after it.
    RanOut,
    /// TensorFlow's allocator dump begins.
    DumpFor,
    /// One bin's chunks.
    Bin,
    /// The bin of the request; free chunks of it may follow.
    BinFor,
    /// A region, then its chunks.
    NextRegion,
    /// A live chunk.
    InUseAt,
    /// A free chunk.
    FreeAt,
    /// Live chunks of one size: the count stands before.
    ChunksOfSize,
    /// What live chunks have together.
    SumTotal,
    /// What the regions have together, limit and rest.
    PoolTotal,
    /// The statistics begin.
    Stats,
    /// One statistic.
    Limit,
    /// One statistic.
    InUse,
    /// One statistic.
    MaxInUse,
    /// One statistic.
    NumAllocs,
    /// The tensor that was not had.
    OomShape,
    /// The op that wanted it.
    Node,
    /// The list of ops that hold memory.
    CurrentUsage,
    /// An op that holds memory: the size stands before.
    From,
    /// TensorFlow's device, with its limit.
    CreatedDevice,
    /// TensorFlow with CUDA's pool: the request.
    AsyncFailed,
    /// What CUDA says about the device.
    CudaFree,
    /// PyTorch's message.
    TriedToAllocate,
    /// PyTorch on a Mac.
    MpsOutOfMemory,
    /// PyTorch with CUDA's pool.
    TorchAsync,
    /// PyTorch on the host.
    CpuTriedToAllocate,
    /// A line of a traceback that tells what was going on.
    TorchOptim,
    /// A line of a traceback that tells what was going on.
    TorchBackward,
    /// A line of a traceback that tells what was going on.
    LoadsWeights,
    /// XLA: a program larger than the device.
    RanOutHbm,
    /// XLA: the device was too full for the program.
    AttemptingToReserve,
    /// XLA: an allocation failed.
    OutOfMemoryTrying,
    /// XLA: one figure of a buffer assignment.
    ParameterAllocation,
    /// XLA: one figure of a buffer assignment.
    TempAllocation,
    /// XLA: one figure of a buffer assignment.
    TempFragmentation,
    /// XLA: one figure of a buffer assignment.
    TotalAllocation,
    /// XLA: one figure of a program.
    ProgramRequirement,
    /// XLA: a buffer's size.
    Size,
    /// XLA: whose it is.
    OpName,
    /// XLA: whose it is, where no op is named.
    XlaLabel,
    /// Ours: evidence, whole.
    Evidence,
    /// Ours: the sentence for people, without figures that could be relied upon.
    OurSentence,
}

/// All of them, sorted by first letter.
pub(crate) static MARKS: [(&str, Mark); 51] = [
    ("Attempting to reserve ", Mark::AttemptingToReserve),
    ("BFCAllocator dump for ", Mark::DumpFor),
    ("Bin (", Mark::Bin),
    ("Bin for ", Mark::BinFor),
    ("Chunk at ", Mark::InUseAt),
    ("Chunks of size ", Mark::ChunksOfSize),
    ("Created TensorFlow device ", Mark::CreatedDevice),
    ("Created device ", Mark::CreatedDevice),
    ("Current usage from device: ", Mark::CurrentUsage),
    ("Free at ", Mark::FreeAt),
    ("Free  at ", Mark::FreeAt),
    ("Free memory/Total memory: ", Mark::CudaFree),
    ("InUse at ", Mark::InUseAt),
    ("InUse: ", Mark::InUse),
    ("Limit: ", Mark::Limit),
    ("MPS backend out of memory ", Mark::MpsOutOfMemory),
    ("MaxInUse: ", Mark::MaxInUse),
    ("Next region of size ", Mark::NextRegion),
    ("NumAllocs: ", Mark::NumAllocs),
    ("OOM when allocating tensor with shape", Mark::OomShape),
    ("Out of memory while trying to allocate ", Mark::OutOfMemoryTrying),
    ("Out of memory allocating ", Mark::OutOfMemoryTrying),
    ("Program hbm requirement ", Mark::ProgramRequirement),
    ("Ran out of memory in memory space ", Mark::RanOutHbm),
    ("Ran out of memory trying to allocate ", Mark::RanOut),
    ("Size: ", Mark::Size),
    ("Stats:", Mark::Stats),
    ("Sum Total of in-use chunks: ", Mark::SumTotal),
    ("Total size in pool: ", Mark::PoolTotal),
    ("Tried to allocate ", Mark::TriedToAllocate),
    ("XLA Label: ", Mark::XlaLabel),
    ("XLA label: ", Mark::XlaLabel),
    ("[[Node: ", Mark::Node),
    ("[[{{node ", Mark::Node),
    ("cuMemAllocAsync failed to allocate ", Mark::AsyncFailed),
    ("from ", Mark::From),
    ("is out of memory: ", Mark::OurSentence),
    ("loss.backward(", Mark::TorchBackward),
    ("load_state_dict(", Mark::LoadsWeights),
    ("op_name=\"", Mark::OpName),
    ("parameter allocation: ", Mark::ParameterAllocation),
    ("preallocated temp allocation: ", Mark::TempAllocation),
    ("preallocated temp fragmentation: ", Mark::TempFragmentation),
    ("ran out of memory trying to allocate ", Mark::RanOut),
    ("torch/optim/", Mark::TorchOptim),
    ("torch\\optim\\", Mark::TorchOptim),
    ("total allocation: ", Mark::TotalAllocation),
    ("total_region_allocated_bytes_: ", Mark::PoolTotal),
    ("would exceed allowed memory", Mark::TorchAsync),
    ("you tried to allocate ", Mark::CpuTriedToAllocate),
    (MARK, Mark::Evidence),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order() {
        assert!(MARKS.is_sorted_by_key(|(text, _)| text.as_bytes()[0]));
    }
}
