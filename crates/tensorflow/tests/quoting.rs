//! Scripts for models whose names want to be code: whatever a file is called, the script is the same but for literals
//! that say that name.

use plimsoll_model::zoo;
use plimsoll_tensorflow::{Recipe, RecipeFile, Setup, script};
use plimsoll_trace::Bytes;
use std::io::Write;
use std::process::{Command, Stdio};

/// Names that end literals, begin lines, hide or look like something else.
const EVIL: [&str; 12] = [
    "\"\"\"\nimport os; os.system(\"id\")\n\"\"\"",
    "\"\"\"",
    "\\\"\"\"",
    "\\",
    "a\\\nb",
    "'; import os #",
    "\", compile=False); import os; x = (\"",
    "\\N{BULLET} \\x41 \\u0041 \\101 {0} %s",
    "\r\u{85}\u{2028}\u{2029}\x0c\x0b",
    "\u{202e}\u{2066}//\u{feff}",
    "\0\x07\x1b[2J\u{9b}",
    "größer 模型 😀 \u{e0041} \u{fffd}",
];
const PIECES: [&str; 14] =
    ["\"", "\"\"\"", "\\", "\n", "\r", "'", "#", "{", "\\u", "\\x", "\u{2028}", "\0", "ä", "import os"];

#[test]
fn names_stay_inside_their_literals() {
    let (plain_code, plain_literals) = cut(&written("NAME"));
    for name in names() {
        let (code, literals) = cut(&written(&name));
        assert_eq!(code, plain_code, "{name:?}");
        let meant: Vec<String> = plain_literals.iter().map(|text| text.replace("NAME", &name)).collect();
        assert_eq!(literals, meant, "{name:?}");
        assert_eq!(literals.iter().filter(|text| text.contains(&name)).count(), 2, "docstring and path");
    }
}

/// Python itself sees the same program.
#[test]
fn python_reads_names_as_names() {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI needs python3 for this test");
        return eprintln!("SKIPPED: there is no python3 to read the scripts");
    }
    let cases: Vec<[String; 2]> = names().into_iter().map(|name| [written(&name), name]).collect();
    let reader = "
import ast, json, sys
plain, cases = json.load(sys.stdin)
def shape(text, name):
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = node.value.replace(name, 'NAME')
    return ast.dump(tree)
for text, name in cases:
    assert shape(text, name) == shape(plain, 'NAME'), (name, text)
";
    let mut python = Command::new("python3").args(["-c", reader]).stdin(Stdio::piped()).spawn().unwrap();
    let input = serde_json::to_vec(&(written("NAME"), cases)).unwrap();
    python.stdin.take().unwrap().write_all(&input).unwrap();
    assert!(python.wait().unwrap().success());
}

/// The evil ones, and mixtures of pieces.
fn names() -> Vec<String> {
    let mut seed = 1u64;
    let mut below = |end: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % end
    };
    let mut mixed = |_| (0..1 + below(6)).map(|_| PIECES[below(PIECES.len())]).collect::<String>() + "é";
    EVIL.iter().map(|name| name.to_string()).chain((0..500).map(&mut mixed)).collect()
}

fn written(name: &str) -> String {
    let model = zoo::find("mlp@64").unwrap();
    let recipe = Recipe { batch: 32, setup: Setup::default(), growth: true };
    let needs = recipe.needs(&model).unwrap().unwrap();
    let file = RecipeFile::new(&format!("{name}.keras"), Bytes::mib(1024), recipe, needs);
    script(&file, &model).unwrap()
}

/// What stands outside of literals and comments, and what the literals say, by Python's rules.
fn cut(script: &str) -> (String, Vec<String>) {
    let (mut code, mut literals) = (String::new(), Vec::new());
    let mut rest = script;
    while let Some(at) = rest.find(['"', '\'', '#']) {
        code += &rest[..at];
        let quote = match &rest[at..] {
            comment if comment.starts_with('#') => {
                rest = &comment[comment.find('\n').unwrap_or(comment.len())..];
                continue;
            }
            text if text.starts_with("\"\"\"") => "\"\"\"",
            text => &text[..1],
        };
        let (said, after) = literal(&rest[at + quote.len()..], quote);
        literals.push(said);
        code.push('S');
        rest = after;
    }
    (code + rest, literals)
}

/// What a literal says up to its closing quote, and what follows.
fn literal<'a>(text: &'a str, quote: &str) -> (String, &'a str) {
    let mut said = String::new();
    let mut rest = text;
    while !rest.starts_with(quote) {
        let mut chars = rest.chars();
        let first = chars.next().expect("the literal has an end");
        assert!(first != '\n' || quote.len() == 3, "a line ends inside of a literal: {text:?}");
        rest = chars.as_str();
        if first != '\\' {
            said.push(first);
            continue;
        }
        let escape = chars.next().expect("an escape has a letter");
        let digits = match escape {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            'n' | '"' | '\\' => 0,
            other => panic!("`\\{other}` is no escape that is needed: {text:?}"),
        };
        let number = || u32::from_str_radix(&chars.as_str()[..digits], 16).unwrap();
        said.push(match escape {
            'n' => '\n',
            '"' | '\\' => escape,
            _ => char::from_u32(number()).unwrap(),
        });
        rest = &chars.as_str()[digits..];
    }
    (said, &rest[quote.len()..])
}
