//! Tables where there is not enough room: bars are shortened, then long cells folded; what still does not fit is told
//! row by row.

use super::Table;
use crate::chart;
use std::cmp::Reverse;

/// Bars shorter than this say nothing and are left out; text is not folded to less than this, and names in the first
/// column only if nothing else helps.
const LEAST_BAR: usize = 6;
const LEAST_TEXT: usize = 13;
const USUAL_NAME: usize = 20;
/// What stands between two columns.
const GAP: usize = 2;

/// The table in lines of at most so many characters, as far as its words allow.
pub(super) fn print(table: &Table, columns: usize) -> String {
    let mut fitting = Fitting::of(table, columns);
    fitting.shorten_bars(LEAST_BAR);
    fitting.wrap_heads();
    fitting.fold_text(USUAL_NAME);
    fitting.fold_text(LEAST_TEXT);
    fitting.shorten_bars(0);
    let (cards, folded) = (fitting.cards(), fitting.folded());
    // What is folded so often that it takes more lines than rows one by one is not read as a table any more.
    let is_table = fitting.excess() == 0 && folded.lines().count() <= cards.lines().count();
    if table.list || is_table { folded } else { cards }
}

/// How many rows are asked where folding costs the fewest lines.
const ASKED: usize = 64;

/// The widths of columns while they are brought down; a column of width 0 is left out.
struct Fitting<'a> {
    table: &'a Table,
    columns: usize,
    widths: Vec<usize>,
    /// What they were at first.
    wanted: Vec<usize>,
    /// For columns of bars, how long the longest text beside one is.
    beside: Vec<Option<usize>>,
}

impl<'a> Fitting<'a> {
    fn of(table: &'a Table, columns: usize) -> Self {
        let wanted = table.widths();
        let beside = (0..wanted.len()).map(|column| table.beside_bars(column)).collect();
        Self { table, columns, widths: wanted.clone(), wanted, beside }
    }

    /// How many characters a line has too many.
    fn excess(&self) -> usize {
        let shown = self.widths.iter().filter(|width| **width > 0).count();
        let total = self.widths.iter().sum::<usize>() + GAP * shown.saturating_sub(1);
        total.saturating_sub(self.columns)
    }

    fn shorten_bars(&mut self, least: usize) {
        for column in 0..self.widths.len() {
            if let Some(beside) = self.beside[column].filter(|_| self.excess() > 0) {
                let width = self.widths[column];
                let least = least.min(width.saturating_sub(beside));
                let left = width.saturating_sub(beside + self.excess()).max(least);
                let enough = left >= LEAST_BAR.min(width.saturating_sub(beside));
                self.widths[column] = if enough { left + beside } else { beside };
            }
        }
    }

    /// Heads above numbers are broken between words, the longest first; numbers stay whole.
    fn wrap_heads(&mut self) {
        let word = |text: &str| text.split(' ').map(length).max().unwrap_or(0);
        let least = |column: usize| {
            let cells = self.table.rows.iter().map(|row| length(&row[column])).max().unwrap_or(0);
            cells.max(word(&self.table.head[column]))
        };
        let least: Vec<usize> = (0..self.widths.len()).map(least).collect();
        for _ in 0..self.excess() {
            let numbers = (0..self.widths.len()).filter(|&column| self.table.right[column]);
            let widest = numbers
                .filter(|&column| self.widths[column] > least[column])
                .max_by_key(|&column| self.widths[column]);
            let Some(widest) = widest else { return };
            self.widths[widest] -= 1;
        }
    }

    /// Takes from columns of text, a character at a time, from the one in which that costs the fewest lines. The first
    /// has names and keeps so many characters.
    fn fold_text(&mut self, names: usize) {
        let least = |column: usize| if column == 0 { names } else { LEAST_TEXT };
        for _ in 0..self.excess() {
            let is_text = |column: usize| !self.table.right[column] && self.beside[column].is_none();
            let may = |column: &usize| is_text(*column) && self.widths[*column] > least(*column);
            let cheapest = (0..self.widths.len())
                .filter(may)
                .min_by_key(|&column| (self.more_lines(column), Reverse(self.widths[column])));
            let Some(cheapest) = cheapest else { return };
            self.widths[cheapest] -= 1;
        }
    }

    /// The lines that the cells of a column have more if it is a character narrower.
    fn more_lines(&self, column: usize) -> usize {
        let lines = |width: usize| -> usize {
            self.table.lines().take(ASKED).map(|line| fold(&line[column], width).len()).sum()
        };
        lines(self.widths[column] - 1).saturating_sub(lines(self.widths[column]))
    }

    fn folded(&self) -> String {
        let lines = self.table.lines().flat_map(|line| self.fold_row(line));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn fold_row(&self, line: &[String]) -> Vec<String> {
        let shown: Vec<usize> = (0..line.len()).filter(|&column| self.widths[column] > 0).collect();
        let cell = |&column: &usize| match self.beside[column] {
            Some(beside) => vec![self.shortened(column, beside, &line[column])],
            None => fold(&line[column], self.widths[column]),
        };
        let cells: Vec<Vec<String>> = shown.iter().map(cell).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let print = |row: usize| {
            let parts = shown.iter().zip(&cells).map(|(&column, lines)| {
                let (text, width) = (lines.get(row).map_or("", String::as_str), self.widths[column]);
                if self.table.right[column] { format!("{text:>width$}") } else { format!("{text:<width$}") }
            });
            parts.collect::<Vec<_>>().join("  ").trim_end().to_string()
        };
        (0..height).map(print).collect()
    }

    /// A bar as long as its column allows, with what stands beside it.
    fn shortened(&self, column: usize, beside: usize, cell: &str) -> String {
        let (bar, rest) = chart::split_bar(cell);
        let [from, to] = [self.wanted[column], self.widths[column]].map(|width| width - beside);
        format!("{}{rest}", chart::shortened(bar, from, to))
    }

    /// Each row as lines of its own, below the head of the first column: its name, then what each column says.
    fn cards(&self) -> String {
        let Self { table, columns, .. } = *self;
        let heads = table.head.iter().skip(1).map(|head| length(head)).max().unwrap_or(0).min(columns / 2);
        let room = columns.saturating_sub(heads + 2 * GAP).max(LEAST_TEXT);
        let mut lines = fold(&table.head[0], columns);
        for row in &table.rows {
            lines.extend(fold(&row[0], columns));
            let told =
                (1..row.len()).filter(|&column| !row[column].is_empty() && self.beside[column].is_none());
            for column in told {
                let (names, values) = (fold(&table.head[column], heads), fold(&row[column], room));
                for line in 0..names.len().max(values.len()) {
                    let at = |list: &[String]| list.get(line).cloned().unwrap_or_default();
                    lines.push(format!("  {:<heads$}  {}", at(&names), at(&values)).trim_end().to_string());
                }
            }
        }
        lines.join("\n")
    }
}

/// Text in lines of at most so many characters: cut between words, then inside names, then anywhere. Lines after the
/// first are set in, where there is room, so that they are not taken for rows.
fn fold(text: &str, width: usize) -> Vec<String> {
    let width = width.max(1);
    let indent = if width >= LEAST_TEXT { "  " } else { "" };
    let mut lines = vec![String::new()];
    for piece in pieces(text, width) {
        let last = lines.last_mut().expect("there is a first line");
        match length(piece.trim_end()) {
            more if length(last) + more <= width => last.push_str(piece),
            more if indent.len() + more <= width => lines.push(format!("{indent}{piece}")),
            _ => lines.push(piece.to_string()),
        }
    }
    lines.into_iter().map(|line| line.trim_end().to_string()).filter(|line| !line.trim().is_empty()).collect()
}

/// Text cut behind everything it may be broken at, in pieces of at most so many characters.
fn pieces(text: &str, most: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    for mut piece in text.split_inclusive([' ', '/', ',', '_']) {
        while length(piece.trim_end()) > most {
            let at = piece.char_indices().nth(most).map_or(piece.len(), |(at, _)| at);
            pieces.push(&piece[..at]);
            piece = &piece[at..];
        }
        pieces.push(piece);
    }
    pieces
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["layer", "peak in use", ""]).right(1);
        table.row(["conv5_block1_2_conv/kernel".to_string(), "9.00 MiB".to_string(), "█".repeat(24)]);
        table.row(["dense".to_string(), "4.50 MiB".to_string(), "█".repeat(12)]);
        table
    }

    #[test]
    fn with_room_enough_nothing_changes() {
        assert_eq!(table().print_within(Some(80)), table().print());
        assert_eq!(table().print_within(None), table().print());
    }

    #[test]
    fn bars_give_way_first_then_heads_then_names() {
        let within = |columns| table().print_within(Some(columns));
        assert_eq!(
            within(53),
            "layer                       peak in use\n\
             conv5_block1_2_conv/kernel     9.00 MiB  ████████████\n\
             dense                          4.50 MiB  ██████"
        );
        assert_eq!(
            within(40),
            "layer                    peak in\n                             use\n\
             conv5_block1_2_conv/    9.00 MiB  ██████\n  kernel\n\
             dense                   4.50 MiB  ███"
        );
    }

    #[test]
    fn what_does_not_fit_at_all_is_told_row_by_row() {
        let mut table = Table::new(["allocator", "peak in use", "peak reserved", "smallest limit"]);
        table = (1..4).fold(table, Table::right);
        let cells = ["torch-expandable", "26.7 MiB", "44.0 MiB", "44.0 MiB"];
        table.row(cells.map(str::to_string));
        assert_eq!(
            table.print_within(Some(30)),
            "allocator\ntorch-expandable\n  peak in use     26.7 MiB\n  peak reserved   44.0 MiB\n  smallest limit  44.0 MiB"
        );
    }

    #[test]
    fn a_list_stays_a_list() {
        let mut list = Table::new(["peak", "366 MiB", "383267584 bytes"]).right(1).list();
        let meaning = "of the peak that is not live at the floor";
        list.row(["worst fragmentation".to_string(), "19.8 MiB".to_string(), meaning.to_string()]);
        let printed = list.print_within(Some(40));
        assert!(printed.starts_with("peak "), "{printed}");
        assert!(printed.lines().all(|line| length(line) <= 40), "{printed}");
    }

    #[test]
    fn no_line_is_longer_than_it_may_be() {
        let mut long = Table::new(["name", "size", "what it is"]).right(1);
        long.row(["a".repeat(90), "12.3 MiB".to_string(), "some words that say what this is".to_string()]);
        for columns in 40..120 {
            for table in [&table(), &long] {
                let printed = table.print_within(Some(columns));
                let longest = printed.lines().map(length).max().unwrap();
                assert!(longest <= columns, "{longest} of {columns}\n{printed}");
            }
        }
    }
}
