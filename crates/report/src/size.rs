//! Sizes as the logs print them, with two decimals, so that a reader finds them again.

/// `17.82 MiB`; from a tenth of a unit on in that unit.
pub fn print(bytes: u64) -> String {
    let units = [("GiB", 1u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    // A thousand MiB read better than 0.98 GiB.
    let unit = units.iter().find(|(name, unit)| bytes >= if *name == "GiB" { *unit } else { unit / 10 });
    match unit {
        Some((name, unit)) => format!("{:.2} {name}", bytes as f64 / *unit as f64),
        None => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::print;

    #[test]
    fn sizes_have_two_decimals() {
        let cases = [
            (0, "0 B"),
            (99, "99 B"),
            (256, "0.25 KiB"),
            (689_664, "0.66 MiB"),
            (18_684_904, "17.82 MiB"),
            (1 << 30, "1.00 GiB"),
            ((1 << 30) - 1, "1024.00 MiB"),
        ];
        for (bytes, text) in cases {
            assert_eq!(print(bytes), text);
        }
    }
}
