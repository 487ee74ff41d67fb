//! Python's pickles, restricted: plain data and known containers. Nothing is ever called, and whatever names a function
//! or a class is refused.
//!
//! A pickle is a program for a small machine with a stack. Here it can make nothing but numbers, texts, lists, tuples
//! and dictionaries, which lie in one list and refer to each other by number: no depth, no cycle and no sharing can
//! hurt. Memory is bounded by [`MOST_VALUES`].

mod machine;

use machine::Machine;
use std::io::Read;

/// How many values a pickle may make.
pub const MOST_VALUES: usize = 1 << 23;
/// How long one text may be.
pub const LONGEST_TEXT: u64 = 1 << 24;

/// Reads a pickle up to its end mark.
pub fn read(input: impl Read) -> Result<Pickle, PickleError> {
    Machine::new(input).run()
}

/// The values of a pickle.
#[derive(Debug, Default)]
pub struct Pickle {
    pub(crate) values: Vec<Value>,
    pub(crate) root: u32,
}

/// One value; others are named by their number.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    None,
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Text.
    Text(Box<str>),
    /// Bytes; only their number is kept.
    Bytes(usize),
    /// A list, tuple or set.
    List(Vec<u32>),
    /// A dictionary, in the order of its making.
    Dict(Vec<(u32, u32)>),
    /// A container's class or its argument, which only the making of that container may use.
    Container,
}

/// Why a pickle is not read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each message says what the fields are
pub enum PickleError {
    #[error("the pickle ends or breaks at byte {at}: {error}")]
    Broken { at: u64, error: std::io::Error },
    #[error("the pickle wants `{name}` at byte {at}; only plain data and known containers are read")]
    Forbidden { at: u64, name: String },
    #[error("byte {at} of the pickle is no instruction for plain data: 0x{code:02x}")]
    Unknown { at: u64, code: u8 },
    #[error("the pickle makes no sense at byte {at}: {problem}")]
    Senseless { at: u64, problem: &'static str },
    #[error("the pickle has more than {MOST_VALUES} values or a text of more than {LONGEST_TEXT} bytes")]
    TooLarge,
}

impl Pickle {
    /// The whole.
    pub fn root(&self) -> Node<'_> {
        Node { pickle: self, id: self.root }
    }
}

/// A value in its pickle.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    pickle: &'a Pickle,
    id: u32,
}

impl<'a> Node<'a> {
    fn value(&self) -> &'a Value {
        &self.pickle.values[self.id as usize]
    }

    /// The number of the value, equal for what is shared.
    pub fn id(&self) -> u32 {
        self.id
    }

    /// The value of a dictionary's key.
    pub fn get(&self, key: &str) -> Option<Node<'a>> {
        let Value::Dict(entries) = self.value() else { return None };
        let is_key =
            |id: u32| matches!(&self.pickle.values[id as usize], Value::Text(text) if **text == *key);
        // A key that is set twice has the last value.
        entries
            .iter()
            .rev()
            .find(|(name, _)| is_key(*name))
            .map(|(_, id)| Node { pickle: self.pickle, id: *id })
    }

    /// The items of a list; none of anything else.
    pub fn items(&self) -> impl Iterator<Item = Node<'a>> + use<'a> {
        let items: &[u32] = if let Value::List(items) = self.value() { items } else { &[] };
        let pickle = self.pickle;
        items.iter().map(move |id| Node { pickle, id: *id })
    }

    /// Whether it is a list.
    pub fn is_list(&self) -> bool {
        matches!(self.value(), Value::List(_))
    }

    /// Whether it is a yes.
    pub fn is_true(&self) -> bool {
        matches!(self.value(), Value::Bool(true))
    }

    /// A whole number that is not negative.
    pub fn number(&self) -> Option<u64> {
        match self.value() {
            Value::Int(number) => u64::try_from(*number).ok(),
            _ => None,
        }
    }

    /// Text.
    pub fn text(&self) -> Option<&'a str> {
        match self.value() {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }
}
