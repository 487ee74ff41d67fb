//! The header of a safetensors file: which tensor lies where.
//!
//! ```text
//! begin <= end,  end - begin = elements x bytes of one
//! sorted by begin, the first begins at 0, each begins where the one before ends, the last ends with the file
//! ```

use crate::Tensor;
use crate::state::element_bytes;
use plimsoll_graph::{ElementType, Shape, TensorType};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::BTreeMap;
use std::fmt;

/// The most bytes of a header: enough for a hundred thousand tensors.
pub(super) const LARGEST_HEADER: u64 = 32 << 20;
/// The name that no tensor can have.
const METADATA: &str = "__metadata__";

/// A header.
pub(super) struct Header {
    pub(super) metadata: BTreeMap<String, String>,
    /// In the order of the text.
    pub(super) entries: Vec<Entry>,
}

/// A tensor and the range of its bytes after the header.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) tensor: TensorType,
    pub(super) begin: u64,
    pub(super) end: u64,
}

/// Places for tensors: those with wide elements first, so that all are aligned.
pub(super) fn lay_out(tensors: &[Tensor]) -> Vec<Entry> {
    let entry = |tensor: &Tensor| Entry {
        name: tensor.name.clone(),
        tensor: tensor.tensor.clone(),
        begin: 0,
        end: tensor.bytes().0,
    };
    let mut entries: Vec<Entry> = tensors.iter().map(entry).collect();
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|&position| std::cmp::Reverse(entries[position].tensor.element.bits()));
    let mut next = 0;
    for position in order {
        let entry = &mut entries[position];
        (entry.begin, entry.end) = (next, next + entry.end);
        next = entry.end;
    }
    entries
}

/// The positions of entries in the order of their bytes.
pub(super) fn order(entries: &[Entry]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|&position| (entries[position].begin, entries[position].end));
    order
}

impl Header {
    /// The text, filled up with spaces so that what follows is aligned.
    pub(super) fn print(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec(self).expect("texts and numbers are JSON");
        text.resize(text.len().next_multiple_of(8), b' ');
        text
    }

    /// Reads a header that so many bytes follow, or says what is wrong.
    pub(super) fn parse(text: &[u8], bytes: u64) -> Result<Self, String> {
        if text.first() != Some(&b'{') {
            return Err("its header does not begin as one".to_string());
        }
        let raw: RawHeader =
            serde_json::from_slice(text).map_err(|error| format!("its header is not valid: {error}"))?;
        let metadata = raw.metadata.unwrap_or_default().0;
        let count = metadata.len();
        let metadata: BTreeMap<String, String> = metadata.into_iter().collect();
        if metadata.len() < count {
            return Err("its metadata has a name twice".to_string());
        }
        let entries: Result<Vec<Entry>, String> =
            raw.entries.into_iter().map(|(name, raw)| raw.entry(name)).collect();
        let entries = entries?;
        check_places(&entries, bytes)?;
        Ok(Self { metadata, entries })
    }
}

/// Whether the tensors cover the bytes, each byte once.
fn check_places(entries: &[Entry], bytes: u64) -> Result<(), String> {
    let mut next = 0;
    for position in order(entries) {
        let Entry { name, begin, end, .. } = &entries[position];
        if *begin != next {
            let what =
                if *begin < next { "overlaps the tensor before it" } else { "leaves a hole before it" };
            return Err(format!("`{name}` {what}: it begins at {begin}, not {next}"));
        }
        next = *end;
    }
    match next == bytes {
        true => Ok(()),
        false if next > bytes => Err(format!("it is cut: its tensors have {next} bytes, {bytes} are there")),
        false => Err(format!("its tensors have {next} bytes, but {bytes} are there")),
    }
}

/// A tensor as JSON has it.
#[derive(serde::Serialize, serde::Deserialize)]
struct RawEntry {
    dtype: String,
    shape: Vec<usize>,
    data_offsets: [u64; 2],
}

impl RawEntry {
    fn of(entry: &Entry) -> Self {
        let shape = entry.tensor.shape.extents().to_vec();
        let dtype = dtype(entry.tensor.element).to_string();
        Self { dtype, shape, data_offsets: [entry.begin, entry.end] }
    }

    fn entry(self, name: String) -> Result<Entry, String> {
        let Self { dtype: text, shape, data_offsets: [begin, end] } = self;
        let known = ElementType::ALL.into_iter().find(|&element| dtype(element) == text);
        let element = known.ok_or_else(|| {
            format!("`{name}` has elements of type {text:.20}; F32, F16, BF16 and I32 are known")
        })?;
        let shape = Shape::new(shape);
        if !shape.is_reasonable() {
            return Err(format!("`{name}` has an absurd shape"));
        }
        let wanted = shape.elements() as u64 * element_bytes(element);
        match end.checked_sub(begin) == Some(wanted) {
            true => Ok(Entry { name, tensor: TensorType::new(element, shape), begin, end }),
            false => Err(format!("`{name}` has {wanted} bytes, but lies from {begin} to {end}")),
        }
    }
}

fn dtype(element: ElementType) -> &'static str {
    match element {
        ElementType::F32 => "F32",
        ElementType::F16 => "F16",
        ElementType::Bf16 => "BF16",
        ElementType::I32 => "I32",
    }
}

/// A header as JSON has it, with names in their order, be they there twice.
#[derive(Default)]
struct RawHeader {
    metadata: Option<Pairs>,
    entries: Vec<(String, RawEntry)>,
}

/// Texts by their names, as they stand there.
#[derive(Default)]
struct Pairs(Vec<(String, String)>);

impl Serialize for Header {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry(METADATA, &self.metadata)?;
        for entry in &self.entries {
            map.serialize_entry(&entry.name, &RawEntry::of(entry))?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for RawHeader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(HeaderVisitor)
    }
}

struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = RawHeader;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<RawHeader, A::Error> {
        let mut header = RawHeader::default();
        while let Some(name) = map.next_key::<String>()? {
            if name != METADATA {
                header.entries.push((name, map.next_value()?));
            } else if header.metadata.replace(map.next_value()?).is_some() {
                return Err(serde::de::Error::duplicate_field(METADATA));
            }
        }
        Ok(header)
    }
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with texts")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
        let mut pairs = Pairs::default();
        while let Some(pair) = map.next_entry()? {
            pairs.0.push(pair);
        }
        Ok(pairs)
    }
}
