//! Hostile command lines, made from what `--help` lists.

use super::random::Random;
use std::ffi::OsString;

/// A command with its flags.
pub(super) struct Command {
    name: String,
    /// Each flag, and what its value is called; none where it takes no value.
    flags: Vec<(String, Option<String>)>,
}

/// Values that good users, bad users and scripts give. Those that would make a run long are left out.
const VALUES: [&str; 40] = [
    "",
    "0",
    "1",
    "2",
    "-1",
    "3.5",
    "1e309",
    "-0",
    "NaN",
    "inf",
    "18446744073709551616",
    "4294967297",
    "1B",
    "1KiB",
    "1MiB",
    "64MiB",
    "999999999TiB",
    "-5MiB",
    "1 GiB",
    "adam",
    "sgd",
    "eager",
    "graph",
    "bfc",
    "torch",
    "on",
    "off",
    "host:0",
    "host:99",
    "1MiB,1MiB",
    ",",
    "16,32",
    "0,0",
    "mlp@6,classes=3",
    "cnn@",
    "@@@",
    "\u{1b}[31mred",
    "no/such/file",
    "/",
    "\u{1f980}\u{202e}",
];

/// What a first argument may be.
const MODELS: [&str; 9] =
    ["mlp@6,classes=3", "lenet", "cnn@8", "nothing", "mlp@0", "cnn@9999999999", "", "/dev/null", "/dev/zero"];

/// Every command with its flags, asked of the program through `help`.
pub(super) fn commands(help: impl Fn(&[&str]) -> Result<String, String>) -> Result<Vec<Command>, String> {
    let all = help(&["--help"])?;
    let names = all.lines().skip_while(|line| !line.starts_with("Commands:")).skip(1);
    let names = names.take_while(|line| !line.is_empty()).filter_map(|line| {
        let indented = line.strip_prefix("  ")?;
        (!indented.starts_with(' ')).then(|| indented.split_whitespace().next()).flatten()
    });
    // `calibrate` takes seconds by its nature and `help` only prints.
    let names = names.filter(|name| !["calibrate", "help"].contains(name));
    names.map(|name| Ok(Command { name: name.to_owned(), flags: flags(&help(&[name, "--help"])?) })).collect()
}

/// The flags of a help text.
fn flags(help: &str) -> Vec<(String, Option<String>)> {
    let words = help.lines().map(str::trim_start).filter_map(|line| {
        let line = if line.starts_with("--") {
            line
        } else {
            line.split_once(", ").filter(|(short, _)| short.len() == 2)?.1
        };
        let mut words = line.split_whitespace();
        let flag = words.next()?.strip_prefix("--")?;
        let value = words.next().filter(|word| word.starts_with('<'));
        Some((format!("--{flag}"), value.map(|word| word.trim_matches(['<', '>']).to_owned())))
    });
    words.filter(|(flag, _)| !["--help", "--version"].contains(&flag.as_str())).collect()
}

impl Command {
    /// The command with some of its flags, most of them with values that do not belong there.
    pub(super) fn hostile(&self, random: &mut Random) -> Vec<OsString> {
        let mut words = vec![self.name.clone()];
        if random.below(4) > 0 {
            words.push(random.one_of(&MODELS).to_owned());
        }
        // A small budget and one step keep what happens to be good short; later flags may say otherwise.
        if self.name == "train" {
            words.extend(["--data", "synthetic"].map(str::to_owned));
        }
        for _ in 0..random.below(5) {
            let Some((flag, value)) = self.flags.get(random.below(self.flags.len().max(1))) else { continue };
            if words.contains(flag) || ["--steps", "--epochs", "--memory"].contains(&flag.as_str()) {
                continue;
            }
            words.push(flag.clone());
            words.extend(value.iter().map(|_| random.one_of(&VALUES).to_owned()));
        }
        let has = |name: &str| self.flags.iter().any(|(flag, _)| flag == name);
        if has("--steps") {
            words.extend(["--steps".to_owned(), random.one_of(&["1", "0", "-1", "x", "2"]).to_owned()]);
        }
        if has("--memory") {
            let sizes = ["1MiB", "8MiB", "0", "1B", "x", "-1MiB", "99999999999999999999"];
            words.extend(["--memory".to_owned(), random.one_of(&sizes).to_owned()]);
        }
        words.into_iter().map(OsString::from).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_is_read() {
        let text = "Options:\n      --batch <N>\n          Samples\n  -o, --output <FILE>  Where\n      --json\n  -h, --help\n";
        let expected = [("--batch", Some("N")), ("--output", Some("FILE")), ("--json", None)];
        let expected = expected.map(|(flag, value)| (flag.to_owned(), value.map(str::to_owned)));
        assert_eq!(flags(text), expected);
    }
}
