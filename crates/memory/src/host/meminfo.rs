//! `/proc/meminfo`, which gives kibibytes and calls them kB.

use plimsoll_trace::Bytes;

/// A field such as `MemAvailable`.
pub(crate) fn field(text: &str, name: &str) -> Option<Bytes> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024).map(Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "MemTotal:       24682416 kB\nMemFree:         9171552 kB\nMemAvailable:   24100204 kB\nHugePages_Total:       3\n";
        let cases = [
            ("MemTotal", Some(24_682_416 << 10)),
            ("MemAvailable", Some(24_100_204 << 10)),
            ("Mem", None),
            ("SwapTotal", None),
            ("HugePages_Total", None),
        ];
        for (name, bytes) in cases {
            assert_eq!(field(text, name), bytes.map(Bytes), "{name}");
        }
        assert_eq!(field("MemTotal: 99999999999999999999 kB", "MemTotal"), None);
        assert_eq!(field("MemTotal: 18446744073709551615 kB", "MemTotal"), None);
    }
}
