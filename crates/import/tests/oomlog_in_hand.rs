//! What people have in hand when memory ran out: tracebacks without a dump, notebooks, words of drivers, kernels,
//! containers and shells. All texts are made up here after the forms that these programs print.

use plimsoll_import::evidence;
use plimsoll_import::oomlog::{Activity, Dump, Figure, Killed, Killer, Log, RefusedBy, Source, read};

const GIB: u64 = 1 << 30;

fn log(text: &str) -> Log {
    read(text.as_bytes()).unwrap()
}

fn one(text: &str) -> Dump {
    let mut dumps = log(text).dumps;
    assert_eq!(dumps.len(), 1, "{text}: {dumps:#?}");
    dumps.remove(0)
}

fn bytes(figure: Option<Figure>) -> Option<u64> {
    figure.map(|figure| figure.bytes)
}

fn killed(dump: &Dump) -> &Killed {
    let RefusedBy::Killed(killed) = &dump.refused_by else { panic!("{dump:?}") };
    killed
}

const MESSAGE: &str = "ResourceExhaustedError: {{function_node __wrapped__AddV2_device_/job:localhost/replica:0/task:0/device:GPU:0}} OOM when allocating \
                       tensor with shape[4096,4096] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc [Op:AddV2]";

fn is_the_traceback(dump: &Dump) {
    assert_eq!(bytes(dump.request), Some(64 << 20));
    assert_eq!((&dump.shape[..], dump.op.as_deref()), (&[4096, 4096][..], Some("AddV2")));
    assert_eq!(dump.allocator.as_deref(), Some("GPU_0_bfc"));
    assert!(dump.missing.iter().any(|what| what == "the limit"), "{:?}", dump.missing);
}

#[test]
fn a_traceback_without_a_dump_is_a_report() {
    is_the_traceback(&one(MESSAGE));
    let built =
        format!("  File \"keras/layer.py\", line 232, in build_wrapper\n    original(*args)\n{MESSAGE}\n");
    let dump = one(&built);
    is_the_traceback(&dump);
    assert_eq!(dump.activity, Some(Activity::Weights));
    let slots = format!("  in add_variable_from_reference\n  in add_weight(\n{MESSAGE}\n");
    assert_eq!(one(&slots).activity, Some(Activity::Slots));
    // Two cells that failed are two reports.
    let other = MESSAGE.replace("[4096,4096]", "[8,8]");
    assert_eq!(log(&format!("{MESSAGE}\n{MESSAGE}\n{other}\n")).dumps.len(), 2);
}

#[test]
fn colours_and_json_do_not_hide_it() {
    let coloured = format!("\x1b[0;31m{}", MESSAGE.replace("OOM", "\x1b[0m\x1b[1mOOM"));
    is_the_traceback(&one(&coloured));
    let quoted = MESSAGE.replace("OOM when", r"\u001b[0;31mOOM\u001b[0m when");
    let notebook = format!(
        "{{\n \"cells\": [{{\"outputs\": [{{\"ename\": \"ResourceExhaustedError\",\n   \"traceback\": [\n    \
         \"\\u001b[0;31mTraceback\\u001b[0m\\n in build_wrapper\\n{quoted}\\n\"\n   ]}}]}}],\n \"nbformat\": 4\n}}\n"
    );
    let read = evidence::read(notebook.as_bytes()).unwrap().dumps;
    assert_eq!(read.len(), 1, "{read:#?}");
    is_the_traceback(&read[0]);
    assert_eq!((read[0].activity, read[0].line), (Some(Activity::Weights), 4));
}

#[test]
fn torch_messages_of_every_version_have_their_figures() {
    let request = |text: &str| (one(text).source, bytes(one(text).request), bytes(one(text).limit));
    let cases = [
        (
            "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 3.00 GiB already allocated; 1.00 GiB free; 4.68 MiB cached)",
            Some(8 * GIB),
        ),
        (
            "RuntimeError: HIP out of memory. Tried to allocate 2.00 GiB (GPU 0; 8.00 GiB total capacity; 3.00 GiB already allocated; 1.00 GiB free; 5.00 GiB reserved in total by PyTorch)",
            Some(8 * GIB),
        ),
        (
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 15.06 MiB is free. Including non-PyTorch memory, this process has 7.90 GiB memory in use. Of the allocated memory 3.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.",
            Some(8 * GIB),
        ),
        ("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.", None),
        (
            "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB. Of the allocated memory 3.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.",
            Some(8 * GIB),
        ),
        (
            "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 2147483648 bytes. Error code 12",
            None,
        ),
    ];
    for (text, limit) in cases {
        assert_eq!(request(text), (Source::PyTorch, Some(2 * GIB), limit), "{text}");
        let cell = format!("\x1b[31mOutOfMemoryError\x1b[39m: {text}");
        assert_eq!(request(&cell), (Source::PyTorch, Some(2 * GIB), limit), "{cell:?}");
    }
    for bare in [
        "RuntimeError: CUDA error: out of memory",
        "RuntimeError: cuda runtime error (2) : out of memory at x.cu:58",
    ] {
        let dump = one(bare);
        assert_eq!(dump.source, Source::PyTorch, "{bare}");
        assert!(matches!(dump.refused_by, RefusedBy::Driver(_)) && !dump.missing.is_empty());
    }
}

#[test]
fn a_driver_that_refuses_is_one_report() {
    let lines = "E cuda_driver.cc:924] failed to allocate 3.95G (4242145280 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n\
                 E cuda_driver.cc:924] failed to allocate 3.56G (3817930752 bytes) from device: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n";
    let dump = one(lines);
    assert_eq!((dump.source, bytes(dump.request), dump.repeated), (Source::Driver, Some(4_242_145_280), 2));
    assert!(matches!(&dump.refused_by, RefusedBy::Driver(said) if said.contains("CUDA_ERROR_OUT_OF_MEMORY")));
    let known = one(&format!("name: GeForce\ntotalMemory: 4.00GiB freeMemory: 3.90GiB\n{lines}"));
    assert_eq!(bytes(known.capacity), Some(4 * GIB));
    // A dump after it says more, and remembers it.
    let dump = one(&format!("{lines}{MESSAGE}\n"));
    assert_eq!((dump.source, bytes(dump.driver_refused)), (Source::TensorFlow, Some(3_817_930_752)));
    let pinned = one("failed to alloc 34359738368 bytes on host: CUDA_ERROR_OUT_OF_MEMORY: out of memory\n");
    assert_eq!(bytes(pinned.request), Some(32 * GIB));
    for library in ["CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED"] {
        assert!(matches!(one(&format!("RuntimeError: {library}")).refused_by, RefusedBy::Driver(_)));
    }
}

#[test]
fn a_copy_that_failed_names_its_op() {
    let text = "InternalError: Failed copying input tensor from /job:localhost/replica:0/task:0/device:CPU:0 to \
                /job:localhost/replica:0/task:0/device:GPU:0 in order to run _EagerConst: Dst tensor is not initialized.\n";
    let dump = one(text);
    assert_eq!((&dump.refused_by, dump.op.as_deref()), (&RefusedBy::Copy, Some("_EagerConst")));
    // Where TensorFlow printed why, that is the report.
    let both = one(&format!(
        "Allocator (GPU_0_bfc) ran out of memory trying to allocate 1.00MiB (rounded to 1048576)\nStats: \nLimit: 8388608\nInUse: 8000000\n{text}"
    ));
    assert_eq!((both.refused_by, bytes(both.request)), (RefusedBy::Pool, Some(1 << 20)));
}

/// A kernel's log of one kill, as `dmesg -T` prints it.
fn kernel(constraint: &str, kill: &str) -> String {
    let line = |text: &str| format!("[Mon Nov 16 17:00:00 2026] {text}\n");
    [
        "kworker/3 invoked oom-killer: gfp_mask=0x1100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0",
        "memory: usage 8388608kB, limit 8388608kB, failcnt 137",
        "memory+swap: usage 8388608kB, limit 9007199254740988kB, failcnt 0",
        "Node 0 Normal free:40000kB min:45056kB low:56320kB",
        "6291456 pages RAM",
        "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name",
        "[    900]     0   900    10000      256    90112        0          -900 sshd",
        "[   1234]  1000  1234  3145728  2031616 18000000        0             0 python3",
        constraint,
        kill,
        "oom_reaper: reaped process 1234 (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB",
    ]
    .map(line)
    .concat()
}

#[test]
fn the_kernels_log_says_who_held_what() {
    let figures = "total-vm:12582912kB, anon-rss:8126464kB, file-rss:1024kB, shmem-rss:0kB, UID:1000 pgtables:17000kB oom_score_adj:0";
    let container = kernel(
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=pod1,mems_allowed=0,oom_memcg=/kubepods/pod1,task_memcg=/kubepods/pod1/c,task=python3,pid=1234,uid=1000",
        &format!("Memory cgroup out of memory: Killed process 1234 (python3) {figures}"),
    );
    let dump = one(&container);
    let expected = Killed { by: Killer::Container, process: Some("python3".to_string()), pid: Some(1234) };
    assert_eq!((dump.source, killed(&dump)), (Source::Host, &expected));
    assert_eq!((bytes(dump.in_use), bytes(dump.limit)), (Some(8_127_488 << 10), Some(8 * GIB)));
    assert_eq!(bytes(dump.capacity), Some(24 * GIB));
    let holders: Vec<(&str, u64)> =
        dump.holders.iter().map(|holder| (holder.who.as_str(), holder.bytes.bytes)).collect();
    assert_eq!(holders, [("python3 (pid 1234)", 2_031_616 << 12), ("sshd (pid 900)", 1 << 20)]);
    // One line of it is enough for the most important.
    let alone = one(&format!("kernel: Out of memory: Killed process 7 (python) {figures}\n"));
    assert_eq!((killed(&alone).by, bytes(alone.in_use)), (Killer::Machine, Some(8_127_488 << 10)));
    let old = "Out of memory: Kill process 77 (python) score 900 or sacrifice child\nKilled process 77 (python) total-vm:12kB, anon-rss:8kB, file-rss:4kB\n";
    let dump = one(old);
    assert_eq!(
        (killed(&dump).by, killed(&dump).pid, bytes(dump.in_use)),
        (Killer::Machine, Some(77), Some(12 << 10))
    );
    let two = container.clone() + &container.replace("1234", "4321");
    assert_eq!(log(&two).dumps.len(), 2);
}

#[test]
fn ends_of_processes_are_recognised() {
    let cases = [
        ("Epoch 1/10\nKilled\n", Killer::Unnamed),
        ("./train.sh: line 3:  8156 Killed                  python3 main.py --epochs 400\n", Killer::Unnamed),
        ("zsh: killed     python train.py\n", Killer::Unnamed),
        ("[1]+  Killed                  python train.py\n", Killer::Unnamed),
        ("Process finished with exit code 137 (interrupted by signal 9: SIGKILL)\n", Killer::Unnamed),
        ("container exited with code 137.\n", Killer::Unnamed),
        (
            "subprocess.CalledProcessError: Command '['python']' died with <Signals.SIGKILL: 9>.\n",
            Killer::Unnamed,
        ),
        ("  exitcode  : -9 (pid: 1234)\n", Killer::Unnamed),
        ("RuntimeError: DataLoader worker (pid 99) is killed by signal: Killed.\n", Killer::Unnamed),
        ("The kernel appears to have died. It will restart automatically.\n", Killer::Unnamed),
        (
            "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n",
            Killer::Container,
        ),
        ("\"State\": {\"OOMKilled\": true, \"ExitCode\": 137}\n", Killer::Container),
        (
            "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=191.batch cgroup. Some of your processes may have been killed by the cgroup out-of-memory handler.\n",
            Killer::Slurm,
        ),
        (
            "slurmstepd: error: Detected 2 oom_kill events in StepId=7.13. Some of the step tasks have been OOM Killed.\nsrun: error: n1: task 0: Out Of Memory\n",
            Killer::Slurm,
        ),
        ("Your session crashed after using all available RAM.\n", Killer::Notebook),
    ];
    for (text, by) in cases {
        let dump = one(text);
        assert_eq!(killed(&dump).by, by, "{text}");
        assert!(!dump.missing.is_empty());
    }
    let exceeded = one("slurmstepd: error: Job 9 exceeded memory limit (8400000 > 8388608), being killed\n");
    assert_eq!((bytes(exceeded.in_use), bytes(exceeded.limit)), (Some(8_400_000 << 10), Some(8 * GIB)));
    let array = one(
        "numpy._ArrayMemoryError: Unable to allocate 7.45 GiB for an array with shape (1000000, 1000) and data type float64\n",
    );
    assert!(matches!(array.refused_by, RefusedBy::System(_)) && array.request.unwrap().agrees(8_000_000_000));
    assert!(matches!(one("MemoryError\n").refused_by, RefusedBy::System(_)));
}

#[test]
fn ordinary_lines_are_no_reports() {
    let ordinary = "loss: 1.137 exit code 0\nstep 137 of 500\nKilled the learning rate\nthe process was killed by hand\n\"OOMKilled\": false,\n\
                    saved 137 files, code 1\nexit code 1370\nException: MemoryErrorHandler\nfailed to allocate a name\n-9.5 returned\nUnable to allocate \
                    time\nepoch -9 exited\nmemory: usage is fine\n4 pages RAM\n";
    let found = log(ordinary).dumps;
    assert!(found.is_empty(), "{found:#?}");
}
