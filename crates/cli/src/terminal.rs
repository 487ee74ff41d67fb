//! What the terminal can do: how wide it is, whether it takes colours, whether a line on it can be written anew.

use std::env;
use std::io::{IsTerminal, stderr, stdout};
use terminal_size::{Width, terminal_size_of};

/// No terminal counts as narrower: there would be no room for a name and a number.
const LEAST: usize = 40;
/// None counts as wider: lines would not be read any more.
const MOST: usize = 500;
/// How wide charts are where there is no terminal.
const USUAL: usize = 80;
/// What the labels on the left of a chart take.
const LABELS: usize = 12;

/// How many characters a line on standard output may have: what COLUMNS says, or what the terminal has. Where there is
/// neither, nothing is folded: the reader is a program.
pub fn columns() -> Option<usize> {
    let size = || terminal_size_of(stdout()).map(|(Width(columns), _)| usize::from(columns));
    told().or_else(size).map(|columns| columns.clamp(LEAST, MOST))
}

/// How many characters wide a chart on standard output is, beside its labels.
pub fn chart_columns() -> usize {
    columns().unwrap_or(USUAL) - LABELS
}

/// How many characters a line has that shows progress on standard error.
pub fn progress_columns() -> usize {
    let size = || terminal_size_of(stderr()).map(|(Width(columns), _)| usize::from(columns));
    told().or_else(size).unwrap_or(USUAL)
}

/// Whether a line on standard error can be written anew; plain lines are for all others.
pub fn is_rewritable() -> bool {
    stderr().is_terminal() && !is_dumb()
}

/// Whether standard output takes colours.
pub fn takes_colours() -> bool {
    let unwanted = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    stdout().is_terminal() && !is_dumb() && !unwanted
}

fn told() -> Option<usize> {
    env::var("COLUMNS").ok()?.parse().ok().filter(|columns| *columns > 0)
}

fn is_dumb() -> bool {
    env::var_os("TERM").is_some_and(|term| term == "dumb")
}
