//! A list that its copies share until one of them changes: graphs are copied often and changed seldom.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ops::Deref;
use std::sync::Arc;

/// A list whose copies cost nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CheapList<T>(Arc<Vec<T>>);

impl<T: Clone> CheapList<T> {
    /// The list to be changed; what others share of it is copied first.
    pub(crate) fn to_mut(&mut self) -> &mut Vec<T> {
        Arc::make_mut(&mut self.0)
    }

    /// Gives back the room that was kept for more; not what others share.
    pub(crate) fn trim(&mut self) {
        if let Some(list) = Arc::get_mut(&mut self.0) {
            list.shrink_to_fit();
        }
    }
}

impl<T> Default for CheapList<T> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<T> Deref for CheapList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T: Serialize> Serialize for CheapList<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_slice().serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for CheapList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(|list| Self(Arc::new(list)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_until_one_changes() {
        let mut one: CheapList<u32> = CheapList::default();
        one.to_mut().extend([1, 2]);
        let other = one.clone();
        assert!(Arc::ptr_eq(&one.0, &other.0));
        one.to_mut().push(3);
        assert_eq!((&one[..], &other[..]), (&[1, 2, 3][..], &[1, 2][..]));
    }
}
