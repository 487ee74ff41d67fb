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
    /// A line of a traceback that tells what was going on.
    BuildsSlots,
    /// The driver had no more for a pool, or for the host.
    DriverFailed,
    /// The driver's error, whoever asked.
    DriverError,
    /// PyTorch passes on the driver's error, without figures.
    TorchDriver,
    /// What a device has, as TensorFlow says when it starts.
    DeviceTotal,
    /// A copy to the device that found no room.
    CopyFailed,
    /// The kernel ended a process, with figures.
    KilledProcess,
    /// The kernel begins to look for a process to end: who asked stands before.
    OomKiller,
    /// Why the kernel did, and which process.
    OomConstraint,
    /// What a cgroup holds and may hold.
    CgroupUsage,
    /// What the machine has: the number of pages stands before.
    PagesOfRam,
    /// The kernel's table of processes begins.
    TaskTable,
    /// A container was ended for its memory.
    ContainerKilled,
    /// Slurm ended a step for its memory.
    SlurmKilled,
    /// Slurm says what was held and what was allowed.
    SlurmExceeded,
    /// A notebook service says that the host's memory ran out.
    SessionCrashed,
    /// A notebook lost its kernel.
    KernelDied,
    /// A shell says that a process was ended.
    ShellKilled,
    /// The number 137, which may be an exit code.
    Code137,
    /// A process ended by signal 9.
    Signal9,
    /// An array that the host had no memory for.
    ArrayFailed,
    /// The host had no memory.
    HostFailed,
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
pub(crate) static MARKS: [(&str, Mark); 100] = [
    ("-9", Mark::Signal9),
    ("137", Mark::Code137),
    ("Attempting to reserve ", Mark::AttemptingToReserve),
    ("BFCAllocator dump for ", Mark::DumpFor),
    ("Bin (", Mark::Bin),
    ("Bin for ", Mark::BinFor),
    ("CUBLAS_STATUS_ALLOC_FAILED", Mark::DriverError),
    ("CUDA error: out of memory", Mark::TorchDriver),
    ("CUDA out of memory", Mark::TorchDriver),
    ("CUDA_ERROR_OUT_OF_MEMORY", Mark::DriverError),
    ("CUDNN_STATUS_ALLOC_FAILED", Mark::DriverError),
    ("Chunk at ", Mark::InUseAt),
    ("Chunks of size ", Mark::ChunksOfSize),
    ("Created TensorFlow device ", Mark::CreatedDevice),
    ("Created device ", Mark::CreatedDevice),
    ("Current usage from device: ", Mark::CurrentUsage),
    ("Dst tensor is not initialized", Mark::CopyFailed),
    ("Free  at ", Mark::FreeAt),
    ("Free at ", Mark::FreeAt),
    ("Free memory/Total memory: ", Mark::CudaFree),
    ("HIP error: out of memory", Mark::TorchDriver),
    ("InUse at ", Mark::InUseAt),
    ("InUse: ", Mark::InUse),
    ("Kill process ", Mark::KilledProcess),
    ("Killed process ", Mark::KilledProcess),
    ("Killed", Mark::ShellKilled),
    ("Limit: ", Mark::Limit),
    ("MPS backend out of memory ", Mark::MpsOutOfMemory),
    ("MaxInUse: ", Mark::MaxInUse),
    ("MemoryError", Mark::HostFailed),
    ("Next region of size ", Mark::NextRegion),
    ("NumAllocs: ", Mark::NumAllocs),
    ("OOM when allocating tensor with shape", Mark::OomShape),
    ("OOMKilled", Mark::ContainerKilled),
    ("Out Of Memory", Mark::SlurmKilled),
    ("Out of memory allocating ", Mark::OutOfMemoryTrying),
    ("Out of memory while trying to allocate ", Mark::OutOfMemoryTrying),
    ("Program hbm requirement ", Mark::ProgramRequirement),
    ("Ran out of memory in memory space ", Mark::RanOutHbm),
    ("Ran out of memory trying to allocate ", Mark::RanOut),
    ("Signal 9", Mark::Signal9),
    ("Signals.SIGKILL", Mark::Signal9),
    ("Size: ", Mark::Size),
    ("Stats:", Mark::Stats),
    ("Sum Total of in-use chunks: ", Mark::SumTotal),
    ("Total memory: ", Mark::DeviceTotal),
    ("Total size in pool: ", Mark::PoolTotal),
    ("Tried to allocate ", Mark::TriedToAllocate),
    ("Unable to allocate ", Mark::ArrayFailed),
    ("XLA Label: ", Mark::XlaLabel),
    ("XLA label: ", Mark::XlaLabel),
    ("[[Node: ", Mark::Node),
    ("[[{{node ", Mark::Node),
    ("add_slot(", Mark::BuildsSlots),
    ("add_variable_from_reference", Mark::BuildsSlots),
    ("add_weight(", Mark::LoadsWeights),
    ("build_wrapper", Mark::LoadsWeights),
    ("cuMemAllocAsync failed to allocate ", Mark::AsyncFailed),
    ("cuda runtime error (2) : out of memory", Mark::TorchDriver),
    ("exceeded memory limit (", Mark::SlurmExceeded),
    ("failed to alloc ", Mark::DriverFailed),
    ("failed to allocate ", Mark::DriverFailed),
    ("from ", Mark::From),
    ("initializers_v2.py", Mark::LoadsWeights),
    ("invoked oom-killer", Mark::OomKiller),
    ("is out of memory: ", Mark::OurSentence),
    ("kernel appears to have died", Mark::KernelDied),
    ("killed", Mark::ShellKilled),
    ("load_state_dict(", Mark::LoadsWeights),
    ("load_weights(", Mark::LoadsWeights),
    ("loss.backward(", Mark::TorchBackward),
    ("memory: usage ", Mark::CgroupUsage),
    ("oom-kill event", Mark::SlurmKilled),
    ("oom-kill:constraint=", Mark::OomConstraint),
    ("oom_kill event", Mark::SlurmKilled),
    ("op_name=\"", Mark::OpName),
    ("optimizer.build(", Mark::BuildsSlots),
    ("pages RAM", Mark::PagesOfRam),
    ("parameter allocation: ", Mark::ParameterAllocation),
    ("preallocated temp allocation: ", Mark::TempAllocation),
    ("preallocated temp fragmentation: ", Mark::TempFragmentation),
    ("ran out of memory trying to allocate ", Mark::RanOut),
    ("random_initializers.py", Mark::LoadsWeights),
    ("session crashed after using all available RAM", Mark::SessionCrashed),
    ("signal 9", Mark::Signal9),
    ("signal: Killed", Mark::Signal9),
    ("stateless_normal(", Mark::LoadsWeights),
    ("stateless_truncated_normal(", Mark::LoadsWeights),
    ("stateless_uniform(", Mark::LoadsWeights),
    ("std::bad_alloc", Mark::HostFailed),
    ("tgid  total_vm", Mark::TaskTable),
    ("tgid total_vm", Mark::TaskTable),
    ("torch/optim/", Mark::TorchOptim),
    ("torch\\optim\\", Mark::TorchOptim),
    ("total allocation: ", Mark::TotalAllocation),
    ("totalMemory: ", Mark::DeviceTotal),
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
        // The first that fits is taken, so what another begins with comes after it.
        for (index, (text, _)) in MARKS.iter().enumerate() {
            assert!(MARKS[..index].iter().all(|(earlier, _)| !text.starts_with(earlier)), "{text}");
        }
    }
}
