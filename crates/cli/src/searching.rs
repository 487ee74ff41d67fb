//! How a search for a plan goes on, on stderr: one line on a terminal, a line now and then elsewhere. Nothing, if the
//! search takes less than a second.

use crate::{output, terminal};
use plimsoll::plan::recompute::Looked;
use plimsoll::{Bytes, Watch};
use std::io::{self, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// When the first line comes, and how far the others are apart on a terminal and elsewhere.
const FIRST: Duration = Duration::from_secs(1);
const ON_TERMINAL: Duration = Duration::from_millis(200);
const ELSEWHERE: Duration = Duration::from_secs(5);

/// Whether a line stands on the terminal.
static IS_SHOWN: AtomicBool = AtomicBool::new(false);

/// Somebody who shows a search.
pub fn watch() -> Watch {
    let search = Mutex::new(Search { next: Instant::now() + FIRST, looks: 0, smallest: None });
    Watch::with(move |looked| {
        if let Ok(mut search) = search.lock() {
            search.look(looked);
        }
    })
}

/// Takes the line away.
pub fn clear() {
    if IS_SHOWN.swap(false, Ordering::Relaxed) {
        show("\r\x1b[K");
    }
}

/// Who does not listen misses it.
fn show(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

struct Search {
    next: Instant,
    looks: u64,
    smallest: Option<Bytes>,
}

impl Search {
    fn look(&mut self, Looked { floor, .. }: Looked) {
        self.looks += 1;
        self.smallest = Some(self.smallest.map_or(floor, |smallest| smallest.min(floor)));
        if Instant::now() < self.next {
            return;
        }
        let line = format!(
            "planning: {} schedules looked at, the smallest needs {}",
            self.looks,
            self.smallest.unwrap_or(floor)
        );
        if terminal::is_rewritable() {
            let line: String = line.chars().take(terminal::progress_columns().saturating_sub(1)).collect();
            IS_SHOWN.store(true, Ordering::Relaxed);
            show(&format!("\r\x1b[K{line}"));
            self.next = Instant::now() + ON_TERMINAL;
        } else {
            output::tell(&line);
            self.next = Instant::now() + ELSEWHERE;
        }
    }
}
