//! The table of an audit.

use super::{ALLOWANCE, Finding};

/// One row, printed as soon as it is known.
pub(super) fn line(finding: &Finding) -> String {
    let bytes = |bytes: Option<u64>| bytes.map_or("-".to_owned(), size);
    let verdict = match finding.violations.as_slice() {
        [] => "held".to_owned(),
        violations => format!("BROKEN: {}", violations.join("; ")),
    };
    format!(
        "{:<36} budget {:>9}  planned {:>9}  measured {:>9}  process {:>9}  {:>6.1} s  {verdict}",
        finding.name,
        bytes(finding.budget),
        bytes(finding.planned),
        bytes(finding.measured),
        size(finding.resident),
        finding.seconds,
    )
}

/// The last line.
pub(super) fn summary(findings: &[Finding]) -> String {
    let broken = findings.iter().filter(|finding| !finding.violations.is_empty()).count();
    let beside = |finding: &Finding| finding.resident.saturating_sub(finding.budget.unwrap_or(u64::MAX));
    let most = findings.iter().max_by_key(|finding| beside(finding));
    let most = most.map_or(String::new(), |finding| format!("{} ({})", size(beside(finding)), finding.name));
    format!(
        "{} runs, {broken} broken; the most a process took beside its budget: {most} of {}",
        findings.len(),
        size(ALLOWANCE),
    )
}

/// Three digits and a unit.
pub(super) fn size(bytes: u64) -> String {
    let mut number = bytes as f64;
    for unit in ["B", "KiB", "MiB"] {
        if number < 1000.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{number:.1} {unit}") };
        }
        number /= 1024.0;
    }
    format!("{number:.2} GiB")
}
