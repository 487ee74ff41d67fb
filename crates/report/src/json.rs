//! An exhibit as JSON: its figures, and who is live at its peak.

use crate::exhibit::{Buffer, Exhibit, Figures, Sum, TextId};
use serde_json::{Map, Value, json};

/// The figures of an exhibit.
pub fn print(exhibit: &Exhibit) -> Value {
    let figures = Figures::of(exhibit);
    let text = |id: TextId| exhibit.texts.get(id);
    let layers = figures.at_floor_by(exhibit, |buffer| buffer.layer);
    let layers = layers.iter().filter(|sum| sum.text != TextId::default());
    let layer = |sum: &Sum| json!({"name": text(sum.text), "bytes_at_peak": sum.bytes});
    let value = |buffer: &Buffer| {
        json!({
            "value": text(buffer.value), "role": text(buffer.role), "layer": text(buffer.layer),
            "op": text(buffer.op), "bytes": buffer.bytes, "offset": buffer.offset.0, "again": buffer.again,
        })
    };
    let by_role: Map<String, Value> = (figures.at_floor_by(exhibit, |buffer| buffer.role).iter())
        .map(|sum| (text(sum.text).to_string(), json!(sum.bytes)))
        .collect();
    json!({
        "name": exhibit.name,
        "headline": exhibit.headline,
        "peak_bytes": figures.peak,
        "floor_bytes": figures.floor,
        "fragmentation_bytes": figures.fragmentation(),
        "reported_peak_bytes": exhibit.reported,
        "reserved_bytes": figures.reserved,
        "limit_bytes": exhibit.limit,
        "clock": exhibit.clock.unit(),
        "peak_at": exhibit.time(figures.floor_tick),
        "by_role": by_role,
        "layers": layers.map(layer).collect::<Vec<_>>(),
        "live_at_peak": figures.at_floor.iter().map(|&index| value(&exhibit.buffers[index])).collect::<Vec<_>>(),
        "notes": exhibit.notes,
    })
}
