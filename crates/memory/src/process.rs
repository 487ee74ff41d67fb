//! How much memory the whole process takes, as the operating system counts it.

use plimsoll_trace::Bytes;

/// The most memory the process has had resident so far, where the operating system tells.
pub fn peak_resident() -> Option<Bytes> {
    status_field("VmHWM:")
}

/// The memory the process has resident now, where the operating system tells.
pub fn resident() -> Option<Bytes> {
    status_field("VmRSS:")
}

fn status_field(name: &str) -> Option<Bytes> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(name))?;
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
