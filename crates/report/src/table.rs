//! Tables whose columns line up, for people.

mod narrow;

use crate::chart;
use plimsoll_trace::visible;

/// Rows of text under a headline.
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
    /// Whether the head is a row like the others.
    list: bool,
}

impl Table {
    /// A table with these column heads.
    pub fn new<const N: usize>(head: [&str; N]) -> Self {
        Self { head: head.map(str::to_string).to_vec(), rows: Vec::new(), right: vec![false; N], list: false }
    }

    /// Aligns a column to the right, as numbers like it.
    pub fn right(mut self, column: usize) -> Self {
        self.right[column] = true;
        self
    }

    /// Says that the head is a row like the others: a name, a figure and what it means.
    pub fn list(mut self) -> Self {
        self.list = true;
        self
    }

    /// Adds a row. A cell is one line, whatever is in it, and cut where nobody would read on.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        assert_eq!(N, self.head.len(), "a row has as many cells as the head");
        self.rows.push(cells.iter().map(|cell| cut(visible::line(cell).into_owned())).collect());
    }

    /// The table in lines of at most so many characters: bars are shortened and long cells folded where that is needed.
    /// Without a number it has the room it likes.
    pub fn print_within(&self, columns: Option<usize>) -> String {
        let needed = self.print().lines().map(|line| line.chars().count()).max().unwrap_or(0);
        match columns.filter(|columns| needed > *columns) {
            Some(columns) => narrow::print(self, columns),
            None => self.print(),
        }
    }

    /// The table as text; lines end without spaces and the last without a line break.
    pub fn print(&self) -> String {
        let widths = self.widths();
        let print_line = |line: &Vec<String>| {
            let cells = line.iter().enumerate().map(|(column, cell)| match self.right[column] {
                true => format!("{cell:>width$}", width = widths[column]),
                false => format!("{cell:<width$}", width = widths[column]),
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
        };
        self.lines().map(print_line).collect::<Vec<_>>().join("\n")
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| self.lines().map(|line| line[column].chars().count()).max().unwrap_or(0);
        (0..self.head.len()).map(width).collect()
    }

    /// For a column that has no head and bars, how long the longest text beside one is; nothing for other columns.
    fn beside_bars(&self, column: usize) -> Option<usize> {
        let cells = || self.rows.iter().map(|row| chart::split_bar(&row[column]));
        let mut filled = cells().filter(|(bar, rest)| !bar.is_empty() || !rest.is_empty()).peekable();
        let is_bars =
            self.head[column].is_empty() && filled.peek().is_some() && filled.all(|(bar, _)| !bar.is_empty());
        if is_bars { cells().map(|(_, rest)| rest.chars().count()).max() } else { None }
    }

    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        std::iter::once(&self.head).chain(&self.rows)
    }
}

/// The longest cell; a name in a file may have millions of characters.
const LONGEST: usize = 400;

fn cut(cell: String) -> String {
    match cell.char_indices().nth(LONGEST) {
        Some(_) => cell.chars().take(LONGEST - 1).chain(['…']).collect(),
        None => cell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(["layer", "size"]).right(1);
        table.row(["conv".to_string(), "1.00 KiB".to_string()]);
        table.row(["größer".to_string(), "12 B".to_string()]);
        assert_eq!(table.print(), "layer       size\nconv    1.00 KiB\ngrößer      12 B");
    }

    #[test]
    fn a_cell_is_one_line_that_no_terminal_obeys() {
        let mut table = Table::new(["layer", "size"]);
        table.row(["a\nb\u{1b}[2J".to_string(), "12 B".to_string()]);
        assert_eq!(table.print(), "layer          size\na\\nb\\u{1b}[2J  12 B");
    }

    #[test]
    fn names_without_end_are_cut() {
        let mut table = Table::new(["layer", "size"]);
        table.row(["é".repeat(100_000), "12 B".to_string()]);
        for columns in [None, Some(40), Some(500)] {
            let printed = table.print_within(columns);
            assert!(printed.contains('…') && printed.chars().count() < 2000, "{columns:?}");
        }
    }
}
