//! The command line of `cargo xtask`.

use crate::check::Part;
use crate::fuzz::Cases;
use crate::program::Which;

/// What the user asked for.
#[derive(Debug, PartialEq)]
pub(crate) enum Request {
    /// The help text.
    Help,
    /// These parts, in this order.
    Check(Vec<Part>),
    /// The licences of dependencies.
    Licences,
    /// The known holes of dependencies.
    Advisories,
    /// Other systems.
    Targets,
    /// The promises, measured.
    Audit {
        /// Only the few runs that CI has time for.
        short: bool,
        which: Which,
    },
    /// Damaged files and hostile flags.
    Fuzz(Cases),
}

/// Reads the arguments after the program's name. An error has its `hint:` on a line of its own.
pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Request, String> {
    let arguments: Vec<String> = arguments.collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    if words.iter().any(|word| ["-h", "--help"].contains(word)) {
        return Ok(Request::Help);
    }
    match words.as_slice() {
        ["licences"] => Ok(Request::Licences),
        ["advisories"] => Ok(Request::Advisories),
        ["targets"] => Ok(Request::Targets),
        ["audit", options @ ..] => audit(options),
        ["fuzz", options @ ..] => fuzz(options),
        ["check"] => Ok(Request::Check(Part::ALL.to_vec())),
        ["check", "--only"] => Err(format!("--only needs a part\nhint: {}", known_parts())),
        ["check", "--only", name] => Ok(Request::Check(vec![part(name)?])),
        ["check", "--only", _, unknown, ..] | ["check", unknown, ..] => {
            Err(format!("unknown argument `{unknown}`\nhint: cargo xtask check [--only PART]"))
        }
        [unknown, ..] => Err(format!("unknown command `{unknown}`\nhint: cargo xtask check")),
        [] => Err("which command?\nhint: cargo xtask check".to_owned()),
    }
}

/// The options of `audit`: whether it is short, and of which program.
fn audit(options: &[&str]) -> Result<Request, String> {
    match options {
        [] => Ok(Request::Audit { short: false, which: Which::Release }),
        ["--short"] => Ok(Request::Audit { short: true, which: Which::OfTests }),
        ["--program", path] => Ok(Request::Audit { short: false, which: Which::At(path.into()) }),
        ["--short", "--program", path] => Ok(Request::Audit { short: true, which: Which::At(path.into()) }),
        [unknown, ..] => {
            Err(format!("cannot read `{unknown}`\nhint: cargo xtask audit [--short] [--program PATH]"))
        }
    }
}

/// The options of `fuzz`.
fn fuzz(options: &[&str]) -> Result<Request, String> {
    let mut cases = match options.contains(&"--short") {
        true => Cases { count: 300, seed: 1, which: Which::OfTests },
        false => Cases { count: 10_000, seed: 1, which: Which::Release },
    };
    let mut words = options.iter().filter(|word| **word != "--short");
    while let Some(&flag) = words.next() {
        let value = words.next().copied().unwrap_or("");
        match (flag, value.parse()) {
            ("--cases", Ok(count)) => cases.count = count,
            ("--seed", Ok(seed)) => cases.seed = seed,
            ("--program", _) => cases.which = Which::At(value.into()),
            _ => {
                let usage = "cargo xtask fuzz [--short] [--cases N] [--seed N] [--program PATH]";
                return Err(format!("cannot read `{flag}`\nhint: {usage}"));
            }
        }
    }
    Ok(Request::Fuzz(cases))
}

fn part(name: &str) -> Result<Part, String> {
    let found = Part::ALL.into_iter().find(|part| part.name() == name);
    found.ok_or_else(|| format!("unknown part `{name}`\nhint: {}", known_parts()))
}

fn known_parts() -> String {
    format!("the parts are {}", Part::ALL.map(Part::name).join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_line(line: &str) -> Result<Request, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn good_lines_are_understood() {
        let cases = [
            ("check", Request::Check(Part::ALL.to_vec())),
            ("check --only fmt", Request::Check(vec![Part::Fmt])),
            ("check --only doc", Request::Check(vec![Part::Doc])),
            ("licences", Request::Licences),
            ("audit --short", Request::Audit { short: true, which: Which::OfTests }),
            ("fuzz --cases 5", Request::Fuzz(Cases { count: 5, seed: 1, which: Which::Release })),
            ("fuzz --seed 3 --short", Request::Fuzz(Cases { count: 300, seed: 3, which: Which::OfTests })),
            ("--help", Request::Help),
            ("check -h", Request::Help),
        ];
        for (line, expected) in cases {
            assert_eq!(parse_line(line), Ok(expected), "{line}");
        }
    }

    #[test]
    fn bad_lines_name_what_is_wrong_and_give_a_hint() {
        let cases = [
            ("", "which command?"),
            ("chek", "`chek`"),
            ("check --fast", "`--fast`"),
            ("check --only", "needs a part"),
            ("check --only tidy", "`tidy`"),
            ("check --only fmt doc", "`doc`"),
            ("fuzz --cases many", "`--cases`"),
        ];
        for (line, named) in cases {
            let error = parse_line(line).unwrap_err();
            assert!(error.contains(named) && error.contains("\nhint: "), "{line}: {error}");
        }
    }
}
