//! HDF5 files, written in one pass: groups, datasets without chunks or filters, and attributes that are texts. That is
//! all that Keras asks for.
//!
//! In: a tree of groups with the types of their datasets. Out: the file, in the order of its bytes; datasets are asked
//! for one after the other, and each only when its place has come, so that nothing but names and shapes is held in
//! memory.
//!
//! ```text
//! superblock   version 2, 48 bytes
//! datasets     each at a multiple of 8
//! texts        one global heap, if there are attributes
//! headers      of datasets and groups, children before parents; the root is the last
//! ```
//! The format is that of the HDF5 File Format Specification 3.0; the sections are named where they are followed.

mod message;
mod text_heap;

use hdf5_reader::checksum::jenkins_lookup3;
use std::collections::BTreeMap;
use std::io::{self, Write};
use text_heap::TextHeap;

/// Bytes of the superblock.
const SUPERBLOCK: u64 = 48;
/// No address.
const UNDEFINED: u64 = u64::MAX;

/// A group with what stands in it.
#[derive(Default)]
pub(crate) struct Group {
    groups: BTreeMap<String, Group>,
    datasets: BTreeMap<String, Dataset>,
    attributes: BTreeMap<String, Attribute>,
}

/// A dataset, whose contents come when it is written.
pub(crate) struct Dataset {
    /// What an element is.
    pub(crate) number: Number,
    /// The extent of each axis.
    pub(crate) shape: Vec<usize>,
    /// What the caller calls its contents.
    pub(crate) source: usize,
}

/// Elements that Keras's files have; all are little-endian.
#[derive(Clone, Copy)]
pub(crate) enum Number {
    /// Single precision.
    F32,
    /// Signed, 4 bytes.
    I32,
    /// Signed, 8 bytes.
    I64,
}

/// What is said about a group.
pub(crate) enum Attribute {
    /// A text.
    Text(String),
    /// A list of texts.
    Texts(Vec<String>),
}

/// Writes a file; `fill` writes the contents of a dataset, little-endian, exactly as many bytes as its type has.
pub(crate) fn write<W: Write>(
    root: &Group,
    file: &mut W,
    mut fill: impl FnMut(usize, &mut W) -> io::Result<()>,
) -> io::Result<()> {
    let texts = root.texts();
    let start = SUPERBLOCK + root.data_bytes();
    let heap = TextHeap::new(&texts, start)?;
    let mut headers =
        Headers { start, bytes: heap.bytes.clone(), heap: &heap, next: SUPERBLOCK, datasets: Vec::new() };
    let address = headers.add_group(root)?;
    file.write_all(&superblock(start + headers.bytes.len() as u64, address))?;
    for (source, bytes) in &headers.datasets {
        fill(*source, file)?;
        file.write_all(&[0; 8][..padding(*bytes)])?;
    }
    file.write_all(&headers.bytes)
}

impl Group {
    /// The group at a path, which is made if it is not there.
    pub(crate) fn group(&mut self, path: &str) -> &mut Self {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.fold(self, |group, name| group.groups.entry(name.to_string()).or_default())
    }

    /// Adds a dataset at a path.
    pub(crate) fn insert(&mut self, path: &str, dataset: Dataset) {
        let (group, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.group(group).datasets.insert(name.to_string(), dataset);
    }

    /// Adds an attribute.
    pub(crate) fn set(&mut self, name: &str, value: Attribute) {
        self.attributes.insert(name.to_string(), value);
    }

    /// What all datasets take, each filled up to a multiple of 8.
    fn data_bytes(&self) -> u64 {
        let own: u64 = self.datasets.values().map(|dataset| dataset.bytes().next_multiple_of(8)).sum();
        own + self.groups.values().map(Self::data_bytes).sum::<u64>()
    }

    /// All texts of attributes.
    fn texts(&self) -> Vec<&str> {
        let own = self.attributes.values().flat_map(Attribute::texts);
        own.chain(self.groups.values().flat_map(Self::texts)).collect()
    }
}

impl Dataset {
    fn bytes(&self) -> u64 {
        let one = match self.number {
            Number::F32 | Number::I32 => 4,
            Number::I64 => 8,
        };
        one * self.shape.iter().product::<usize>() as u64
    }
}

impl Attribute {
    fn texts(&self) -> impl Iterator<Item = &str> {
        match self {
            Self::Text(text) => std::slice::from_ref(text),
            Self::Texts(texts) => texts,
        }
        .iter()
        .map(String::as_str)
    }
}

/// The headers so far, and the datasets in the order of their places.
struct Headers<'a> {
    /// Where the bytes begin in the file.
    start: u64,
    bytes: Vec<u8>,
    heap: &'a TextHeap,
    /// Where the next dataset goes.
    next: u64,
    /// Sources and lengths.
    datasets: Vec<(usize, u64)>,
}

impl Headers<'_> {
    /// Adds a group after all that stands in it; gives its address.
    fn add_group(&mut self, group: &Group) -> io::Result<u64> {
        let mut messages = vec![message::link_info(), message::group_info()];
        for (name, dataset) in &group.datasets {
            messages.push(message::link(name, self.add_dataset(dataset)?));
        }
        for (name, inner) in &group.groups {
            messages.push(message::link(name, self.add_group(inner)?));
        }
        for (name, attribute) in &group.attributes {
            messages.push(message::attribute(name, attribute, self.heap));
        }
        self.add_header(&messages)
    }

    fn add_dataset(&mut self, dataset: &Dataset) -> io::Result<u64> {
        let bytes = dataset.bytes();
        let address = if bytes == 0 { UNDEFINED } else { self.next };
        self.next += bytes.next_multiple_of(8);
        self.datasets.push((dataset.source, bytes));
        let messages = [
            message::dataspace(&dataset.shape),
            message::datatype(dataset.number),
            message::fill_value(),
            message::contiguous(address, bytes),
        ];
        self.add_header(&messages)
    }

    /// An object header, version 2 (section IV.A.1.b), with all messages in one piece.
    fn add_header(&mut self, messages: &[message::Message]) -> io::Result<u64> {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        let begin = self.bytes.len();
        // The length of the messages takes 4 bytes; no times, no order of attributes.
        self.bytes.extend(b"OHDR\x02\x02");
        let length: usize = messages.iter().map(|message| 4 + message.data.len()).sum();
        self.bytes.extend(u32::try_from(length).map_err(|_| too_long("a group"))?.to_le_bytes());
        for message in messages {
            let length = u16::try_from(message.data.len()).map_err(|_| too_long("a list of names"))?;
            self.bytes.push(message.kind);
            self.bytes.extend(length.to_le_bytes());
            self.bytes.push(0);
            self.bytes.extend(&message.data);
        }
        let checksum = jenkins_lookup3(&self.bytes[begin..]);
        self.bytes.extend(checksum.to_le_bytes());
        Ok(self.start + begin as u64)
    }
}

/// Section II.A, version 2.
fn superblock(end: u64, root: u64) -> Vec<u8> {
    let mut bytes = b"\x89HDF\r\n\x1a\n\x02\x08\x08\x00".to_vec();
    for address in [0, UNDEFINED, end, root] {
        bytes.extend(address.to_le_bytes());
    }
    let checksum = jenkins_lookup3(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

fn padding(bytes: u64) -> usize {
    (bytes.next_multiple_of(8) - bytes) as usize
}

fn too_long(what: &str) -> io::Error {
    io::Error::other(format!("{what} is too long for HDF5"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hdf5_reader::Hdf5File;
    use hdf5_reader::storage::BytesStorage;
    use std::sync::Arc;

    fn specimen() -> Group {
        let mut root = Group::default();
        let dataset =
            |shape: &[usize], source| Dataset { number: Number::F32, shape: shape.to_vec(), source };
        root.insert("layers/dense/vars/0", dataset(&[2, 3], 0));
        root.insert("layers/dense/vars/1", dataset(&[3], 1));
        root.insert("layers/empty/vars/0", dataset(&[0, 3], 2));
        root.insert("count", Dataset { number: Number::I32, ..dataset(&[], 3) });
        for layer in 0..300 {
            root.insert(&format!("many/layer_{layer}"), dataset(&[1], 4));
        }
        root.set("model_config", Attribute::Text("ä".repeat(50_000)));
        root.set("empty", Attribute::Text(String::new()));
        let names = (0..1000).map(|i| format!("name {i}")).collect();
        root.group("layers").set("names", Attribute::Texts(names));
        root.group("layers/dense").set("none", Attribute::Texts(Vec::new()));
        root
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut bytes = Vec::new();
        let contents: [&[f32]; 5] =
            [&[1., 2., 3., 4., 5., 6.], &[7., 8., 9.], &[], &[f32::from_bits(77)], &[0.5]];
        write(&specimen(), &mut bytes, |source, file: &mut Vec<u8>| {
            contents[source].iter().try_for_each(|x| file.write_all(&x.to_le_bytes()))
        })
        .unwrap();
        let file = Hdf5File::from_storage(Arc::new(BytesStorage::new(bytes))).unwrap();
        let floats = |path: &str, count: usize| {
            let mut found = vec![0f32; count];
            file.dataset(path).unwrap().read_into(&mut found).unwrap();
            found
        };
        assert_eq!(floats("layers/dense/vars/0", 6), contents[0]);
        assert_eq!(floats("layers/dense/vars/1", 3), contents[1]);
        assert_eq!(file.dataset("layers/dense/vars/0").unwrap().shape(), [2, 3]);
        assert_eq!(file.dataset("layers/empty/vars/0").unwrap().shape(), [0, 3]);
        assert_eq!(floats("many/layer_299", 1), [0.5]);
        let mut count = [0i32];
        file.dataset("count").unwrap().read_into(&mut count).unwrap();
        assert_eq!(count, [77]);
        let config = file.group("/").unwrap().attribute("model_config").unwrap().read_string().unwrap();
        assert_eq!(config, "ä".repeat(50_000));
        assert_eq!(file.group("/").unwrap().attribute("empty").unwrap().read_string().unwrap(), "");
        let names = file.group("layers").unwrap().attribute("names").unwrap().read_strings().unwrap();
        assert_eq!((names.len(), names[999].as_str()), (1000, "name 999"));
    }

    #[test]
    fn what_hdf5_cannot_hold_is_refused() {
        let mut root = Group::default();
        root.set("names", Attribute::Texts(vec!["same".to_string(); 5000]));
        let error = write(&root, &mut Vec::new(), |_, _| Ok(())).unwrap_err();
        assert_eq!(error.to_string(), "a list of names is too long for HDF5");
    }
}
