//! Functions are short: at most 2 % of all are longer than 70 lines.

use crate::rust_source::{cut, is_name};

const LONG: usize = 70;
const PERCENT: usize = 2;

/// Where a function stands, and how long it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Function {
    path: String,
    name: String,
    /// The line of its `fn`.
    line: usize,
    /// From `fn` to the closing brace, both included.
    lines: usize,
}

/// Every function of a source text that has a body.
pub(crate) fn functions(path: &str, text: &str) -> Vec<Function> {
    let code = cut(text).code;
    let starts = code.match_indices("fn ").filter(|(at, _)| !code[..*at].ends_with(is_name));
    starts
        .filter_map(|(at, keyword)| {
            let name: String = code[at + keyword.len()..].chars().take_while(|c| is_name(*c)).collect();
            let body = body(&code[at..])?;
            let line = 1 + code[..at].matches('\n').count();
            let function =
                Function { path: path.to_owned(), name, line, lines: 1 + body.matches('\n').count() };
            (!function.name.is_empty()).then_some(function)
        })
        .collect()
}

/// The long functions, where they are more than their share.
pub(crate) fn check(functions: &[Function]) -> Vec<String> {
    let long: Vec<&Function> = functions.iter().filter(|function| function.lines > LONG).collect();
    let reports = long
        .iter()
        .map(|Function { path, name, line, lines }| format!("{path}:{line}: `{name}` has {lines} lines"));
    let reports: Vec<String> = reports.collect();
    println!("{} of {} functions have more than {LONG} lines", long.len(), functions.len());
    println!("{}", reports.join("\n"));
    if long.len() * 100 > functions.len() * PERCENT { reports } else { Vec::new() }
}

/// From the start of a function to its closing brace; none where it has no body.
fn body(code: &str) -> Option<&str> {
    let mut parentheses = 0;
    let mut braces = 0;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => parentheses += 1,
            ')' | ']' => parentheses -= 1,
            ';' if parentheses == 0 && braces == 0 => return None,
            '{' => braces += 1,
            '}' => {
                braces -= 1;
                if braces == 0 && parentheses == 0 {
                    return Some(&code[..=at]);
                }
            }
            _ => {}
        }
    }
    None
}

#[test]
fn functions_are_measured() {
    let text = "trait A {\n    fn none(&self) -> [u8; 2];\n    fn one(f: fn (u8)) {}\n}\n\n/// fn comment {\npub fn three(\n    a: [u8; 2]) {\n    \"}\"; }\n";
    let measured: Vec<_> = functions("a.rs", text)
        .into_iter()
        .map(|function| (function.name, function.line, function.lines))
        .collect();
    assert_eq!(measured, [("one".to_owned(), 3, 1), ("three".to_owned(), 7, 3)]);
}

#[test]
fn a_few_long_functions_are_allowed() {
    let sample = |lines| Function { path: "a.rs".to_owned(), name: "f".to_owned(), line: 4, lines };
    let mut functions = vec![sample(LONG); 98];
    functions.extend([sample(LONG + 1), sample(LONG + 1)]);
    assert_eq!(check(&functions), [""; 0]);

    functions.push(sample(300));
    let findings = check(&functions);
    assert_eq!(findings.len(), 3);
    assert_eq!(findings[2], "a.rs:4: `f` has 300 lines");
}
