//! Names, each kept once.

use std::collections::HashMap;

/// Names a text of one table; the default is the empty text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TextId(pub u32);

/// A table of texts; the first is the empty one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Texts {
    list: Vec<String>,
    ids: HashMap<String, TextId>,
}

impl Default for Texts {
    fn default() -> Self {
        Self { list: vec![String::new()], ids: HashMap::from([(String::new(), TextId(0))]) }
    }
}

impl Texts {
    /// The name of a text, which is added where it is new.
    pub fn add(&mut self, text: &str) -> TextId {
        if let Some(&id) = self.ids.get(text) {
            return id;
        }
        let id = TextId(self.list.len() as u32);
        self.list.push(text.to_string());
        self.ids.insert(text.to_string(), id);
        id
    }

    /// A text; empty where there is none of that name.
    pub fn get(&self, id: TextId) -> &str {
        self.list.get(id.0 as usize).map_or("", String::as_str)
    }

    /// All texts in the order of their names.
    pub fn list(&self) -> &[String] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_kept_once() {
        let mut texts = Texts::default();
        let [a, b, again] = ["a", "b", "a"].map(|text| texts.add(text));
        assert_eq!((a, b, again), (TextId(1), TextId(2), a));
        assert_eq!((texts.get(b), texts.get(TextId::default()), texts.get(TextId(9))), ("b", "", ""));
        assert_eq!(texts.list().len(), 3);
    }
}
