//! The command line of `cargo xtask`.

use crate::check::Part;

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
        ];
        for (line, named) in cases {
            let error = parse_line(line).unwrap_err();
            assert!(error.contains(named) && error.contains("\nhint: "), "{line}: {error}");
        }
    }
}
