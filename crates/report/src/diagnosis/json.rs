//! A diagnosis as JSON.

use super::{Diagnosis, Finding, Remedy};
use plimsoll_import::oomlog::{Dump, Figure};
use serde_json::{Value, json};

/// How many of the largest chunks are listed.
const LARGEST: usize = 20;

/// One diagnosis as an object.
pub fn print(diagnosis: &Diagnosis) -> Value {
    let dump = &diagnosis.dump;
    let bytes = |figure: Option<Figure>| figure.map(|figure| figure.bytes);
    json!({
        "source": dump.source,
        "line": dump.line,
        "allocator": dump.allocator,
        "op": dump.op,
        "shape": dump.shape,
        "request_bytes": bytes(dump.request),
        "limit_bytes": bytes(dump.limit),
        "pool_bytes": bytes(dump.pool),
        "in_use_bytes": bytes(dump.in_use),
        "requested_in_use_bytes": bytes(dump.requested_in_use),
        "peak_in_use_bytes": bytes(dump.peak_in_use),
        "free_bytes": bytes(dump.free),
        "largest_free_bytes": bytes(dump.largest_free),
        "capacity_bytes": bytes(dump.capacity),
        "others_bytes": bytes(dump.others),
        "regions": dump.regions.len(),
        "not_exact": not_exact(dump),
        "kind": diagnosis.kind.name(),
        "reason": diagnosis.reason.key(),
        "cause": diagnosis.cause(),
        "summary": diagnosis.summary,
        "findings": diagnosis.findings.iter().map(finding).collect::<Vec<_>>(),
        "remedies": diagnosis.remedies.iter().map(remedy).collect::<Vec<_>>(),
        "largest_chunks": largest(dump),
        "holders": dump.holders.iter().map(|holder| json!({"who": holder.who, "bytes": holder.bytes.bytes})).collect::<Vec<_>>(),
        "refused_by": dump.refused_by,
        "repeated": dump.repeated,
        "missing": dump.missing,
    })
}

/// The figures that are rounded or lower bounds.
fn not_exact(dump: &Dump) -> Vec<&'static str> {
    let figures = [
        ("request_bytes", dump.request),
        ("limit_bytes", dump.limit),
        ("pool_bytes", dump.pool),
        ("in_use_bytes", dump.in_use),
        ("free_bytes", dump.free),
        ("largest_free_bytes", dump.largest_free),
    ];
    let rounded = figures.into_iter().filter(|(_, figure)| figure.is_some_and(|figure| !figure.is_exact()));
    rounded.map(|(name, _)| name).collect()
}

fn finding(finding: &Finding) -> Value {
    let window = finding.window.as_ref().map(|window| {
        let chunks: Vec<Value> = window
            .blockers
            .iter()
            .take(LARGEST)
            .map(|chunk| json!({"address": format!("0x{:x}", chunk.address), "bytes": chunk.bytes}))
            .collect();
        json!({"region": window.region, "bytes": window.bytes, "in_use_bytes": window.in_use(), "chunks": chunks})
    });
    json!({
        "finding": finding.reason.key(),
        "bytes": finding.bytes,
        "decisive": finding.decisive,
        "text": finding.text,
        "in_the_way": window,
    })
}

fn remedy(remedy: &Remedy) -> Value {
    json!({
        "remedy": remedy.key,
        "title": remedy.title,
        "enough": remedy.enough,
        "largest_block_bytes": remedy.largest_block,
        "text": remedy.text,
        "code": remedy.code.to_string(),
    })
}

fn largest(dump: &Dump) -> Vec<Value> {
    let mut chunks: Vec<_> = dump.chunks().filter(|chunk| chunk.in_use).collect();
    chunks.sort_by_key(|chunk| std::cmp::Reverse(chunk.bytes));
    let print = |chunk: &&plimsoll_import::oomlog::Chunk| json!({"address": format!("0x{:x}", chunk.address), "bytes": chunk.bytes, "holder": dump.holder(chunk)});
    chunks.iter().take(LARGEST).map(print).collect()
}
