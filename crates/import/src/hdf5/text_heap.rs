//! The global heap in which the texts of attributes lie (HDF5 File Format Specification 3.0, section III.E).

use std::collections::HashMap;
use std::io;

/// Bytes of the header of a heap, and of each object in it.
const HEADER: usize = 16;
/// A heap is never smaller.
const SMALLEST: usize = 4096;

/// Texts that lie at an address.
pub(super) struct TextHeap {
    address: u64,
    /// The number of each text.
    numbers: HashMap<String, u16>,
    pub(super) bytes: Vec<u8>,
}

impl TextHeap {
    /// A heap of texts that will lie at an address; without texts it takes nothing.
    pub(super) fn new(texts: &[&str], address: u64) -> io::Result<Self> {
        let mut heap = Self { address, numbers: HashMap::new(), bytes: Vec::new() };
        if texts.is_empty() {
            return Ok(heap);
        }
        heap.bytes.extend([0; HEADER]);
        for text in texts {
            heap.add(text)?;
        }
        heap.finish();
        Ok(heap)
    }

    /// How an attribute points to a text: its length, the heap and its number there.
    pub(super) fn place(&self, text: &str) -> Vec<u8> {
        // An empty text lies nowhere.
        let Some(&number) = self.numbers.get(text) else { return vec![0; 16] };
        let number = u32::from(number);
        [&(text.len() as u32).to_le_bytes()[..], &self.address.to_le_bytes(), &number.to_le_bytes()].concat()
    }

    fn add(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() || self.numbers.contains_key(text) {
            return Ok(());
        }
        let number = u16::try_from(self.numbers.len() + 1)
            .map_err(|_| io::Error::other("there are too many names for HDF5"))?;
        self.numbers.insert(text.to_string(), number);
        self.add_object(number, text.len());
        self.bytes.extend(text.as_bytes());
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        Ok(())
    }

    fn add_object(&mut self, number: u16, length: usize) {
        self.bytes.extend(number.to_le_bytes());
        self.bytes.extend([u8::from(number > 0), 0, 0, 0, 0, 0]);
        self.bytes.extend((length as u64).to_le_bytes());
    }

    /// Adds what is free at the end, whose length counts itself, and the header.
    fn finish(&mut self) {
        let whole = (self.bytes.len() + HEADER).max(SMALLEST);
        self.add_object(0, whole - self.bytes.len());
        self.bytes.resize(whole, 0);
        self.bytes[..8].copy_from_slice(b"GCOL\x01\0\0\0");
        self.bytes[8..16].copy_from_slice(&(whole as u64).to_le_bytes());
    }
}
