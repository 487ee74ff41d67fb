//! What the operating system says about processes: how much memory they take, and how much they may.

use plimsoll_trace::Bytes;

/// The most memory the process has had resident so far, where the operating system tells.
pub fn peak_resident() -> Option<Bytes> {
    status_field("VmHWM:")
}

/// The memory the process has resident now, where the operating system tells.
pub fn resident() -> Option<Bytes> {
    status_field("VmRSS:")
}

/// The memory another process has resident now, where the operating system tells.
pub fn resident_of(process: u32) -> Option<Bytes> {
    field(&format!("/proc/{process}/status"), "VmRSS:")
}

/// When this process began, in ticks of the system since it started, where it tells.
pub fn began() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name in parentheses may have spaces; the start is the 20th field behind it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

/// Why the operating system may have refused this process memory: each limit on it that is near, in words.
pub fn tight_limits(wanted: Bytes) -> Vec<String> {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap_or_default();
    let kinds = [("address space", "Max address space", "VmSize:"), ("data", "Max data size", "VmData:")];
    let process = kinds.into_iter().filter_map(|(what, name, used)| {
        let (limit, used) = (limit(&limits, name)?, status_field(used)?);
        let words = format!("the process's limit on {what} is {limit}, and it has {used}");
        (limit.saturating_sub(used) < wanted).then_some(words)
    });
    let meminfo = "/proc/meminfo";
    let strict =
        std::fs::read_to_string("/proc/sys/vm/overcommit_memory").is_ok_and(|mode| mode.trim() == "2");
    let system = field(meminfo, "CommitLimit:").zip(field(meminfo, "Committed_AS:"));
    let system = system.filter(|(limit, promised)| strict && limit.saturating_sub(*promised) < wanted);
    let system = system.map(|(limit, promised)| {
        format!("the system promises {limit} to all processes at most (vm.overcommit_memory is 2), and has promised {promised}")
    });
    process.chain(system).collect()
}

/// The soft limit of a kind, if there is one.
fn limit(limits: &str, name: &str) -> Option<Bytes> {
    let line = limits.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok().map(Bytes)
}

fn status_field(name: &str) -> Option<Bytes> {
    field("/proc/self/status", name)
}

fn field(path: &str, name: &str) -> Option<Bytes> {
    let text = std::fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib << 10))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn touching_memory_shows() {
        let before = resident().unwrap();
        let block = vec![1u8; 32 << 20];
        let during = resident().unwrap();
        assert!(during >= before + Bytes::mib(30), "{before} then {during}");
        assert!(peak_resident().unwrap() >= during.saturating_sub(Bytes::mib(1)));
        assert_eq!(block[12345], 1);
    }
}
