//! Layout problems as CSV: one line a buffer, with the columns `id`, `lower`, `upper` and `size`, in any order.

use super::Interval;
use plimsoll_trace::{Bytes, Offset};
use std::collections::HashMap;

/// What no address space has; all sizes of a problem together stay below it.
const ABSURD: u64 = 1 << 60;

/// The buffers of a problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// For each buffer, what it is called.
    pub names: Vec<String>,
    /// For each buffer, when it lives (half-open) and how large it is.
    pub intervals: Vec<Interval>,
}

/// A line that is not part of a problem.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct CsvError {
    /// Where; the first line is 1.
    pub line: usize,
    /// What is wrong with it.
    pub problem: String,
}

/// Reads a problem.
pub fn parse(text: &str) -> Result<Problem, CsvError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, line))
        .filter(|(_, line)| !line.trim().is_empty());
    let (line, header) = lines
        .next()
        .ok_or_else(|| error(1, "the file is empty; it should begin with id,lower,upper,size"))?;
    let columns = Columns::find(header).map_err(|problem| error(line, problem))?;
    let (mut problem, mut seen, mut total) =
        (Problem { names: Vec::new(), intervals: Vec::new() }, HashMap::new(), 0);
    for (line, text) in lines {
        let (name, interval) = columns.row(text).map_err(|problem| error(line, problem))?;
        if let Some(before) = seen.insert(name.clone(), line) {
            return Err(error(line, format!("the id `{name}` was used in line {before}")));
        }
        total += interval.bytes.0;
        if total > ABSURD {
            return Err(error(line, format!("all sizes so far come to {}, which is absurd", Bytes(total))));
        }
        problem.names.push(name);
        problem.intervals.push(interval);
    }
    match problem.names.is_empty() {
        true => Err(error(line, "there is no buffer below the header")),
        false => Ok(problem),
    }
}

/// Prints offsets, in the order of the problem.
pub fn print(problem: &Problem, offsets: &[Offset]) -> String {
    let mut text = "id,lower,upper,size,offset\n".to_string();
    for ((name, Interval { live, bytes }), offset) in
        problem.names.iter().zip(&problem.intervals).zip(offsets)
    {
        text += &format!("{name},{},{},{},{}\n", live.start, live.end, bytes.0, offset.0);
    }
    text
}

fn error(line: usize, problem: impl Into<String>) -> CsvError {
    CsvError { line, problem: problem.into() }
}

/// Where each column is.
struct Columns {
    count: usize,
    id: usize,
    lower: usize,
    upper: usize,
    size: usize,
}

impl Columns {
    fn find(header: &str) -> Result<Self, String> {
        let names: Vec<&str> = header.split(',').map(str::trim).collect();
        let at = |name: &str| {
            let mut found = (0..names.len()).filter(|&column| names[column] == name);
            match (found.next(), found.next()) {
                (Some(column), None) => Ok(column),
                (Some(_), Some(_)) => Err(format!("the column `{name}` is there twice")),
                (None, _) => {
                    Err(format!("there is no column `{name}`; the header should name id,lower,upper,size"))
                }
            }
        };
        Ok(Self {
            count: names.len(),
            id: at("id")?,
            lower: at("lower")?,
            upper: at("upper")?,
            size: at("size")?,
        })
    }

    fn row(&self, text: &str) -> Result<(String, Interval), String> {
        let fields: Vec<&str> = text.split(',').map(str::trim).collect();
        if fields.len() != self.count {
            return Err(format!("{} fields where the header has {}", fields.len(), self.count));
        }
        let name = fields[self.id];
        if name.is_empty() {
            return Err("the id is missing".to_string());
        }
        let time = |column: usize, what: &str| {
            fields[column]
                .parse::<u32>()
                .map_err(|_| format!("{what} `{}` is not a whole number below 2^32", fields[column]))
        };
        let (lower, upper) = (time(self.lower, "lower")?, time(self.upper, "upper")?);
        if upper <= lower {
            return Err(format!("`{name}` lives from {lower} to {upper}; upper must be above lower"));
        }
        let size = fields[self.size];
        let bytes =
            size.parse::<u64>().map_err(|_| format!("size `{size}` is not a whole number of bytes"))?;
        if bytes > ABSURD {
            return Err(format!("a size of {size} bytes is absurd"));
        }
        Ok((name.to_string(), Interval { live: lower..upper, bytes: Bytes(bytes) }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_in_any_order() {
        let problem = parse("size,upper, id ,note,lower\r\n64,3,a,x,1\r\n\r\n0,9,b,,2\r\n").unwrap();
        assert_eq!(problem.names, ["a", "b"]);
        assert_eq!(problem.intervals[0], Interval { live: 1..3, bytes: Bytes(64) });
        let offsets = [Offset(0), Offset(64)];
        assert_eq!(print(&problem, &offsets), "id,lower,upper,size,offset\na,1,3,64,0\nb,2,9,0,64\n");
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let cases = [
            ("", 1, "empty"),
            ("\n\n", 1, "empty"),
            ("id,lower,upper,size\n", 1, "no buffer"),
            ("id,lower,size\n", 1, "no column `upper`"),
            ("id,lower,upper,size,size\n", 1, "twice"),
            ("id,lower,upper,size\na,1,2,3\nb,1,1,3\n", 3, "upper must be above lower"),
            ("id,lower,upper,size\na,5,2,3\n", 2, "upper must be above lower"),
            ("id,lower,upper,size\na,x,2,3\n", 2, "lower `x`"),
            ("id,lower,upper,size\na,1,4294967296,3\n", 2, "upper `4294967296`"),
            ("id,lower,upper,size\na,1,2,-3\n", 2, "size `-3`"),
            ("id,lower,upper,size\na,1,2,1e3\n", 2, "size `1e3`"),
            ("id,lower,upper,size\na,1,2\n", 2, "3 fields"),
            ("id,lower,upper,size\n,1,2,3\n", 2, "id is missing"),
            ("id,lower,upper,size\na,1,2,3\n\na,1,2,3\n", 4, "used in line 2"),
            ("id,lower,upper,size\na,1,2,18446744073709551615\n", 2, "absurd"),
            ("id,lower,upper,size\na,1,2,1152921504606846976\nb,1,2,1\n", 3, "absurd"),
        ];
        for (text, line, piece) in cases {
            let error = parse(text).unwrap_err();
            assert_eq!(error.line, line, "{text:?}: {error}");
            assert!(error.problem.contains(piece), "{text:?}: {error}");
        }
    }
}
