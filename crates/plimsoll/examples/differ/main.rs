//! The other side of the differential tester in `bench/peers/keras`: opens files that Keras has saved, predicts, trains
//! as the library does, and says what came of it.
//!
//! A line of standard input is a case, a line of standard output its answer, both JSON. A panic is an answer, too, so
//! that one process lasts for a whole run.

mod case;
mod ways;

use case::{Answer, Case};
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn main() -> std::io::Result<()> {
    // A panic belongs into the answer, not among the messages of the other side.
    std::panic::set_hook(Box::new(|panic| PANIC.with(|text| *text.borrow_mut() = panic.to_string())));
    for line in std::io::stdin().lock().lines() {
        let answer = answer(&line?);
        let text = serde_json::to_string(&answer)?;
        writeln!(std::io::stdout(), "{text}")?;
    }
    Ok(())
}

thread_local! {
    static PANIC: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

fn answer(line: &str) -> Answer {
    let mut answer = Answer::default();
    let done = catch_unwind(AssertUnwindSafe(|| match serde_json::from_str::<Case>(line) {
        Ok(case) => case.answer(&mut answer),
        Err(error) => Err(case::Refused { stage: "case", message: error.to_string(), hint: None }),
    }));
    match done {
        Ok(Ok(())) => answer.outcome = "done",
        Ok(Err(refused)) => {
            answer.outcome = "refused";
            answer.refused = Some(refused);
        }
        Err(_) => {
            answer.outcome = "panic";
            let message = PANIC.with(|text| text.borrow().clone());
            answer.refused = Some(case::Refused { stage: "panic", message, hint: None });
        }
    }
    answer
}
