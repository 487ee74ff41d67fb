//! Tables whose columns line up, for people.

use plimsoll_trace::visible;

/// Rows of text under a headline.
pub struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    right: Vec<bool>,
}

impl Table {
    /// A table with these column heads.
    pub fn new<const N: usize>(head: [&str; N]) -> Self {
        Self { head: head.map(str::to_string).to_vec(), rows: Vec::new(), right: vec![false; N] }
    }

    /// Aligns a column to the right, as numbers like it.
    pub fn right(mut self, column: usize) -> Self {
        self.right[column] = true;
        self
    }

    /// Adds a row. A cell is one line, whatever is in it.
    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        assert_eq!(N, self.head.len(), "a row has as many cells as the head");
        self.rows.push(cells.iter().map(|cell| visible::line(cell).into_owned()).collect());
    }

    /// The table as text; lines end without spaces and the last without a line break.
    pub fn print(&self) -> String {
        let widths: Vec<usize> = (0..self.head.len())
            .map(|column| self.lines().map(|line| line[column].chars().count()).max().unwrap_or(0))
            .collect();
        let print_line = |line: &Vec<String>| {
            let cells = line.iter().enumerate().map(|(column, cell)| match self.right[column] {
                true => format!("{cell:>width$}", width = widths[column]),
                false => format!("{cell:<width$}", width = widths[column]),
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_string()
        };
        self.lines().map(print_line).collect::<Vec<_>>().join("\n")
    }

    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        std::iter::once(&self.head).chain(&self.rows)
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
}
