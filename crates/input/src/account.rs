//! The account of a pipeline: a number of bytes, who has how many of them, and the most there ever were.
//!
//! Bytes are taken before they are allocated. What is *held* stays for long: an index, the samples that wait. What is
//! *passing* is given back after each sample by somebody who waits for nobody, so it can be waited for.

use plimsoll_trace::Bytes;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A number of bytes that several threads share.
#[derive(Debug)]
pub struct Account {
    books: Mutex<Books>,
    changed: Condvar,
}

/// Bytes that were taken; they go back when this is dropped.
#[derive(Debug)]
pub struct Taken {
    account: Arc<Account>,
    bytes: Bytes,
    is_held: bool,
}

/// Bytes that cannot be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{who} would take {asked}, where the input memory of {limit} leaves {left}")]
pub struct Shortage {
    /// What for.
    pub who: String,
    /// How much.
    pub asked: Bytes,
    /// What there is in all.
    pub limit: Bytes,
    /// What could be had.
    pub left: Bytes,
}

#[derive(Debug, Default)]
struct Books {
    limit: Bytes,
    held: Bytes,
    passing: Bytes,
    peak: Bytes,
    waiting: usize,
}

impl Account {
    /// An account with a limit.
    pub fn new(limit: Bytes) -> Arc<Self> {
        let books = Books { limit, ..Books::default() };
        Arc::new(Self { books: Mutex::new(books), changed: Condvar::new() })
    }

    /// What there is in all.
    pub fn limit(&self) -> Bytes {
        self.books().limit
    }

    /// Gives it another limit; what is taken stays.
    pub fn set_limit(&self, limit: Bytes) {
        self.books().limit = limit;
        self.changed.notify_all();
    }

    /// What is taken now.
    pub fn in_use(&self) -> Bytes {
        let books = self.books();
        books.held + books.passing
    }

    /// The most that was taken at once.
    pub fn peak(&self) -> Bytes {
        self.books().peak
    }

    /// What nobody holds for long.
    pub fn left(&self) -> Bytes {
        let books = self.books();
        books.limit.saturating_sub(books.held)
    }

    /// Takes bytes for long, if they are there now.
    pub fn hold(self: &Arc<Self>, who: &str, bytes: Bytes) -> Result<Taken, Shortage> {
        let mut books = self.books();
        let left = books.limit.saturating_sub(books.held + books.passing);
        if bytes > left {
            return Err(books.shortage(who, bytes, left));
        }
        books.held += bytes;
        books.peak = books.peak.max(books.held + books.passing);
        // Who waits for what can no longer be had must know.
        self.changed.notify_all();
        Ok(Taken { account: self.clone(), bytes, is_held: true })
    }

    /// Takes bytes for a short while: waits until others have given theirs back. What can never be had is refused.
    pub fn pass(self: &Arc<Self>, who: &str, bytes: Bytes) -> Result<Taken, Shortage> {
        let mut books = self.books();
        books.waiting += 1;
        let outcome = loop {
            let left = books.limit.saturating_sub(books.held);
            if bytes > left {
                break Err(books.shortage(who, bytes, left));
            }
            if books.held + books.passing + bytes <= books.limit {
                books.passing += bytes;
                books.peak = books.peak.max(books.held + books.passing);
                break Ok(Taken { account: self.clone(), bytes, is_held: false });
            }
            books = self.changed.wait(books).unwrap_or_else(PoisonError::into_inner);
        };
        books.waiting -= 1;
        outcome
    }

    /// Whether somebody waits for bytes.
    pub fn is_wanted(&self) -> bool {
        self.books().waiting > 0
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Books {
    fn shortage(&self, who: &str, asked: Bytes, left: Bytes) -> Shortage {
        Shortage { who: who.to_string(), asked, limit: self.limit, left }
    }
}

impl Taken {
    /// How many they are.
    pub fn bytes(&self) -> Bytes {
        self.bytes
    }

    /// Gives back what is not needed after all.
    pub fn shrink(&mut self, bytes: Bytes) {
        let back = self.bytes.saturating_sub(bytes);
        self.give_back(back);
        self.bytes = self.bytes - back;
    }

    fn give_back(&self, bytes: Bytes) {
        let mut books = self.account.books();
        match self.is_held {
            true => books.held = books.held - bytes,
            false => books.passing = books.passing - bytes,
        }
        self.account.changed.notify_all();
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.give_back(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_refused_with_figures() {
        let account = Account::new(Bytes(100));
        let index = account.hold("an index", Bytes(70)).unwrap();
        let error = account.hold("samples", Bytes(31)).unwrap_err();
        assert_eq!((error.asked, error.left), (Bytes(31), Bytes(30)));
        assert!(account.pass("an image", Bytes(31)).is_err(), "it would wait for ever");
        drop(index);
        assert_eq!(account.pass("an image", Bytes(100)).unwrap().bytes(), Bytes(100));
        assert_eq!((account.in_use(), account.peak()), (Bytes(0), Bytes(100)));
    }

    #[test]
    fn many_threads_never_take_more_than_there_is() {
        let account = Account::new(Bytes(1000));
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let account = &account;
                scope.spawn(move || {
                    for turn in 0..500 {
                        let taken = account.pass("x", Bytes((thread * 397 + turn * 31) % 1000)).unwrap();
                        assert!(account.in_use() <= Bytes(1000));
                        drop(taken);
                    }
                });
            }
        });
        assert_eq!(account.in_use(), Bytes(0));
        assert!(account.peak() <= Bytes(1000));
    }
}
