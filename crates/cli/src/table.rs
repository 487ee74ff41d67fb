//! Tables that fit the terminal.

use crate::terminal;
use plimsoll::report::table;

/// Rows of text under a headline.
pub struct Table(table::Table);

impl Table {
    /// A table with these column heads.
    pub fn new<const N: usize>(head: [&str; N]) -> Self {
        Self(table::Table::new(head))
    }

    /// Aligns a column to the right, as numbers like it.
    pub fn right(self, column: usize) -> Self {
        Self(self.0.right(column))
    }

    /// Says that the head is a row like the others.
    pub fn list(self) -> Self {
        Self(self.0.list())
    }

    /// Adds a row.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.0.row(cells);
    }

    /// The table as text, no wider than the terminal, and where there is none no wider than so many characters.
    pub fn print_usually(&self, columns: usize) -> String {
        self.0.print_within(terminal::columns().or(Some(columns)))
    }

    /// The table as text, no wider than the terminal.
    pub fn print(&self) -> String {
        self.0.print_within(terminal::columns())
    }
}
