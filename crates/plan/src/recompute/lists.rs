//! Lists that stand one behind another: whoever goes through them in order goes through memory in order.

/// Lists by their number.
#[derive(Debug)]
pub(super) struct Lists<T> {
    /// Where each list begins, and where the last one ends.
    begins: Vec<u32>,
    members: Vec<T>,
}

impl<T> Lists<T> {
    /// These lists.
    pub(super) fn new<L: IntoIterator<Item = T>>(lists: impl IntoIterator<Item = L>) -> Self {
        let (mut begins, mut members) = (vec![0], Vec::new());
        for list in lists {
            members.extend(list);
            begins.push(members.len() as u32);
        }
        Self { begins, members }
    }

    /// One list.
    #[inline]
    pub(super) fn get(&self, list: usize) -> &[T] {
        &self.members[self.begins[list] as usize..self.begins[list + 1] as usize]
    }
}

impl Lists<u32> {
    /// Lists of small numbers.
    pub(super) fn of_numbers<L: IntoIterator<Item = usize>>(lists: impl IntoIterator<Item = L>) -> Self {
        Self::new(lists.into_iter().map(|list| list.into_iter().map(|number| number as u32)))
    }
}
