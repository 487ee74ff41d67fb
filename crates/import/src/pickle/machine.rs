//! The machine that a pickle is a program for, without the instructions that could do harm.

mod input;

use super::{MOST_VALUES, Pickle, PickleError, Value};
use std::collections::HashMap;
use std::io::{BufReader, Read};

/// What the marker on the stack looks like.
const MARK: u32 = u32::MAX;
/// Containers that hold plain data and are made by calling their class.
const CONTAINERS: [&str; 8] = [
    "collections OrderedDict",
    "collections defaultdict",
    "builtins list",
    "builtins dict",
    "builtins int",
    "__builtin__ list",
    "__builtin__ dict",
    "__builtin__ int",
];

pub(super) struct Machine<R> {
    input: BufReader<R>,
    at: u64,
    values: Vec<Value>,
    stack: Vec<u32>,
    memo: HashMap<u32, u32>,
}

type Step<T = ()> = Result<T, PickleError>;

impl<R: Read> Machine<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input: BufReader::new(input),
            at: 0,
            values: Vec::new(),
            stack: Vec::new(),
            memo: HashMap::new(),
        }
    }

    pub(super) fn run(mut self) -> Step<Pickle> {
        loop {
            let code = self.byte()?;
            if code == b'.' {
                let root = self.pop()?;
                return Ok(Pickle { values: self.values, root });
            }
            if !(self.data(code)? || self.container(code)? || self.memory(code)?) {
                self.refuse(code)?;
            }
        }
    }

    /// Instructions that make plain data.
    fn data(&mut self, code: u8) -> Step<bool> {
        let value = match code {
            b'N' => Value::None,
            0x88 => Value::Bool(true),
            0x89 => Value::Bool(false),
            b'K' => Value::Int(i64::from(self.byte()?)),
            b'M' => Value::Int(i64::from(u16::from_le_bytes(self.array()?))),
            b'J' => Value::Int(i64::from(i32::from_le_bytes(self.array()?))),
            0x8a => self.long()?,
            b'G' => Value::Float(f64::from_be_bytes(self.array()?)),
            b'I' | b'L' => self.decimal()?,
            b'F' => Value::Float(self.line()?.parse().map_err(|_| self.senseless("a number"))?),
            b'V' => Value::Text(self.line()?.into()),
            0x8c | b'U' => self.text_of(1)?,
            b'X' | b'T' => self.text_of(4)?,
            0x8d => self.text_of(8)?,
            b'C' => self.bytes_of(1)?,
            b'B' => self.bytes_of(4)?,
            0x8e | 0x96 => self.bytes_of(8)?,
            b']' | b')' | 0x8f => Value::List(Vec::new()),
            b'}' => Value::Dict(Vec::new()),
            _ => return Ok(false),
        };
        self.make(value)?;
        Ok(true)
    }

    /// Instructions that fill containers.
    fn container(&mut self, code: u8) -> Step<bool> {
        match code {
            b'(' => self.push(MARK)?,
            b'a' => {
                let item = self.pop()?;
                self.list()?.push(item);
            }
            b'e' | 0x90 => {
                let items = self.marked()?;
                self.list()?.extend(items);
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.dict()?.push((key, value));
            }
            b'u' => {
                let entries = self.entries()?;
                self.dict()?.extend(entries);
            }
            b't' | b'l' | 0x91 => {
                let items = self.marked()?;
                self.make(Value::List(items))?;
            }
            b'd' => {
                let entries = self.entries()?;
                self.make(Value::Dict(entries))?;
            }
            0x85..=0x87 => {
                let start = self.stack.len().checked_sub(usize::from(code - 0x84));
                let items = start.map(|start| self.stack.split_off(start)).unwrap_or_default();
                if items.is_empty() || items.contains(&MARK) {
                    return Err(self.senseless("a tuple of what is not there"));
                }
                self.make(Value::List(items))?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Instructions about the stack, the memo and the file itself.
    fn memory(&mut self, code: u8) -> Step<bool> {
        match code {
            0x80 => {
                self.byte()?;
            }
            0x95 => {
                self.array::<8>()?;
            }
            0x94 => self.remember(self.memo.len() as u32)?,
            b'q' => {
                let place = self.byte()?;
                self.remember(u32::from(place))?;
            }
            b'r' => {
                let place = u32::from_le_bytes(self.array()?);
                self.remember(place)?;
            }
            b'p' => {
                let place = self.place()?;
                self.remember(place)?;
            }
            b'h' => {
                let place = self.byte()?;
                self.recall(u32::from(place))?;
            }
            b'j' => {
                let place = u32::from_le_bytes(self.array()?);
                self.recall(place)?;
            }
            b'g' => {
                let place = self.place()?;
                self.recall(place)?;
            }
            b'0' => {
                self.stack.pop();
            }
            b'1' => {
                self.marked()?;
            }
            b'2' => {
                let top = self.pop()?;
                self.push(top)?;
                self.push(top)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// What is left names or calls something: known containers are made, everything else is refused.
    fn refuse(&mut self, code: u8) -> Step {
        match code {
            b'c' => {
                let name = format!("{} {}", self.line()?, self.line()?);
                self.named(name)
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let name = format!("{} {}", self.text(module)?, self.text(name)?);
                self.named(name)
            }
            b'R' => {
                let (_, class) = (self.pop()?, self.pop()?);
                match self.values.get(class as usize) {
                    Some(Value::Container) => self.make(Value::Dict(Vec::new())),
                    _ => Err(PickleError::Forbidden { at: self.at, name: "a call".to_string() }),
                }
            }
            b'i' | b'o' | b'b' | 0x81 | 0x92 => {
                Err(PickleError::Forbidden { at: self.at, name: "an object of a class".to_string() })
            }
            b'P' | b'Q' | 0x82..=0x84 | 0x97 | 0x98 => Err(PickleError::Forbidden {
                at: self.at,
                name: "something outside of the pickle".to_string(),
            }),
            _ => Err(PickleError::Unknown { at: self.at, code }),
        }
    }

    fn named(&mut self, name: String) -> Step {
        match CONTAINERS.contains(&name.as_str()) {
            true => self.make(Value::Container),
            false => Err(PickleError::Forbidden { at: self.at, name: name.replacen(' ', ".", 1) }),
        }
    }

    fn make(&mut self, value: Value) -> Step {
        if self.values.len() >= MOST_VALUES {
            return Err(PickleError::TooLarge);
        }
        self.values.push(value);
        self.push(self.values.len() as u32 - 1)
    }

    fn push(&mut self, id: u32) -> Step {
        if self.stack.len() >= MOST_VALUES {
            return Err(PickleError::TooLarge);
        }
        self.stack.push(id);
        Ok(())
    }

    fn pop(&mut self) -> Step<u32> {
        match self.stack.pop() {
            Some(id) if id != MARK => Ok(id),
            _ => Err(self.senseless("it takes what is not there")),
        }
    }

    /// What lies above the last marker.
    fn marked(&mut self) -> Step<Vec<u32>> {
        let mark = self.stack.iter().rposition(|id| *id == MARK);
        let mark = mark.ok_or_else(|| self.senseless("a marker is missing"))?;
        let items = self.stack.split_off(mark + 1);
        self.stack.pop();
        Ok(items)
    }

    fn entries(&mut self) -> Step<Vec<(u32, u32)>> {
        let items = self.marked()?;
        if items.len() % 2 == 1 {
            return Err(self.senseless("a key without a value"));
        }
        Ok(items.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())
    }

    fn list(&mut self) -> Step<&mut Vec<u32>> {
        let problem = self.senseless("an item for what is no list");
        let top = self.stack.last().copied().unwrap_or(MARK);
        match self.values.get_mut(top as usize) {
            Some(Value::List(items)) if items.len() < MOST_VALUES => Ok(items),
            _ => Err(problem),
        }
    }

    fn dict(&mut self) -> Step<&mut Vec<(u32, u32)>> {
        let problem = self.senseless("an entry for what is no dictionary");
        let top = self.stack.last().copied().unwrap_or(MARK);
        match self.values.get_mut(top as usize) {
            Some(Value::Dict(entries)) if entries.len() < MOST_VALUES => Ok(entries),
            _ => Err(problem),
        }
    }

    fn remember(&mut self, place: u32) -> Step {
        let top = self.pop()?;
        if self.memo.len() >= MOST_VALUES {
            return Err(PickleError::TooLarge);
        }
        self.memo.insert(place, top);
        self.push(top)
    }

    fn recall(&mut self, place: u32) -> Step {
        let id = self.memo.get(&place).copied();
        let id = id.ok_or_else(|| self.senseless("it recalls what was not remembered"))?;
        self.push(id)
    }

    fn text(&self, id: u32) -> Step<&str> {
        match self.values.get(id as usize) {
            Some(Value::Text(text)) => Ok(text),
            _ => Err(self.senseless("a name that is no text")),
        }
    }

    fn senseless(&self, problem: &'static str) -> PickleError {
        PickleError::Senseless { at: self.at, problem }
    }
}
