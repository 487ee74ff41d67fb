//! What the host says when it ends a process for its memory: the kernel's log, containers, Slurm, shells, notebooks;
//! and arrays that it had no memory for.

use super::dump::{Dump, Killed, Killer, LoggedHolder, RefusedBy, Source};
use super::figure::{Figure, number, size};
use super::marks::Mark;
use super::words::{find, text_until};

/// The kernel counts in pages of so many bytes, on nearly every machine.
const PAGE: u64 = 4096;
/// A limit of so many bytes is none.
const NO_LIMIT: u64 = 1 << 50;
/// How many processes are kept.
const MOST_TASKS: usize = 1 << 12;

/// A report that may go on.
pub(crate) struct Open {
    dump: Dump,
    killed: Killed,
    /// Whether lines are rows of the kernel's table of processes.
    table: bool,
}

impl Open {
    /// Begins a report, if the mark begins one.
    pub(crate) fn begin(line: u64, mark: Mark, before: &[u8], word: &[u8], rest: &[u8]) -> Option<Self> {
        let dump = Dump { source: Source::Host, line, ..Dump::default() };
        let mut open = Self { dump, killed: Killed::default(), table: false };
        open.accept(mark, before, word, rest).map(|()| open)
    }

    /// Whether a line belongs to a later report than this.
    pub(crate) fn ends_before(&self, mark: Mark, rest: &[u8]) -> bool {
        let another = |pid: Option<u64>| self.killed.pid.is_some() && pid.is_some() && pid != self.killed.pid;
        match mark {
            Mark::OomKiller => self.killed.pid.is_some(),
            Mark::KilledProcess => another(number(rest).map(|(pid, _)| pid)),
            _ => false,
        }
    }

    /// Takes what a line says: `word` is the mark itself. None where it is about something else.
    pub(crate) fn accept(&mut self, mark: Mark, before: &[u8], word: &[u8], rest: &[u8]) -> Option<()> {
        match mark {
            Mark::KilledProcess => self.killed_process(before, rest)?,
            Mark::OomKiller | Mark::SessionCrashed => {}
            Mark::OomConstraint => self.constraint(rest),
            Mark::CgroupUsage => self.usage(rest)?,
            Mark::PagesOfRam => self.machine(before)?,
            Mark::TaskTable => {}
            Mark::ContainerKilled if is_denied(rest) => return None,
            Mark::SlurmExceeded => self.exceeded(rest)?,
            Mark::ContainerKilled | Mark::SlurmKilled => {}
            Mark::ShellKilled if is_shell(before, word, rest) => {}
            Mark::Code137 if is_code(before, rest) => {}
            Mark::Signal9 if is_signal(before, word, rest) => {}
            Mark::KernelDied => {}
            Mark::ArrayFailed => self.array(rest)?,
            Mark::HostFailed if is_bare(before, rest) => self.no_memory(text_until(word, b"")),
            _ => return None,
        }
        self.table = mark == Mark::TaskTable;
        self.killed.by = self.killed.by.max(killer(mark));
        self.dump.repeated += 1;
        Some(())
    }

    /// Takes a row of the kernel's table, if one is open: `[ 1234]  1000  1234  6291456  4063232 33792 0 0 python3`
    pub(crate) fn row(&mut self, line: &[u8]) {
        if !self.table || self.dump.holders.len() >= MOST_TASKS {
            return;
        }
        let Some(row) = line.iter().rposition(|byte| *byte == b']').map(|at| &line[at + 1..]) else { return };
        let cells: Vec<&[u8]> = row.split(u8::is_ascii_whitespace).filter(|cell| !cell.is_empty()).collect();
        let [_, pid, _, resident, .., name] = cells[..] else { return };
        let (Some((pid, _)), Some((pages, _))) = (number(pid), number(resident)) else { return };
        let Some(bytes) = pages.checked_mul(PAGE).filter(|bytes| *bytes < NO_LIMIT) else { return };
        let who = format!("{} (pid {pid})", text_until(name, b" "));
        self.dump.holders.push(LoggedHolder { who, bytes: Figure::exact(bytes) });
    }

    /// The report with all its figures.
    pub(crate) fn finish(self) -> Dump {
        let Self { mut dump, killed, .. } = self;
        dump.holders.sort_by_key(|holder| std::cmp::Reverse(holder.bytes.bytes));
        if killed.by == Killer::Machine {
            dump.limit = dump.limit.or(dump.capacity);
        }
        let unnamed = killed.by == Killer::Unnamed;
        if dump.refused_by == RefusedBy::Pool {
            dump.refused_by = RefusedBy::Killed(killed);
        }
        let killed = matches!(dump.refused_by, RefusedBy::Killed(_));
        let absent = [
            (killed && unnamed, "who ended it: the kernel's log says whether it was for its memory"),
            (killed && dump.in_use.is_none(), "how much it held"),
            (dump.limit.is_none(), "how much it might have held"),
        ];
        dump.missing.extend(absent.iter().filter(|(absent, _)| *absent).map(|(_, what)| what.to_string()));
        dump
    }

    /// `1234 (python3) total-vm:25165824kB, anon-rss:16252928kB, file-rss:0kB, shmem-rss:0kB, ...`
    fn killed_process(&mut self, before: &[u8], rest: &[u8]) -> Option<()> {
        let (pid, rest) = number(rest)?;
        self.killed.pid = Some(pid);
        let name = rest.trim_ascii_start().strip_prefix(b"(").map(|name| text_until(name, b")"));
        self.killed.process = name.filter(|name| !name.is_empty()).or(self.killed.process.take());
        let parts: [&[u8]; 3] = [b"anon-rss:", b"file-rss:", b"shmem-rss:"];
        let parts = parts.iter().filter_map(|words| kilobytes(find(rest, words)?));
        if let Some(resident) = parts.reduce(Figure::plus) {
            self.dump.in_use = Some(resident);
        }
        let in_cgroup = find(before, b"cgroup out of memory").is_some();
        let by = if in_cgroup { Killer::Cgroup } else { Killer::Machine };
        // Old kernels say it in two lines, the second without a reason.
        if in_cgroup || self.killed.by == Killer::Unnamed || find(before, b"ut of memory: ").is_some() {
            self.killed.by = self.killed.by.max(by);
        }
        Some(())
    }

    /// `CONSTRAINT_MEMCG,...,oom_memcg=/kubepods/pod1,task_memcg=...,task=python3,pid=1234,uid=0`
    fn constraint(&mut self, rest: &[u8]) {
        let value = |key: &[u8]| find(rest, key).map(|value| text_until(value, b", "));
        let group = value(b"oom_memcg=").unwrap_or_default();
        let by = match group.as_str() {
            _ if !rest.starts_with(b"CONSTRAINT_MEMCG") => Killer::Machine,
            group if group.contains("slurm") => Killer::Slurm,
            group
                if ["kubepods", "docker", "containerd", "libpod"].iter().any(|name| group.contains(name)) =>
            {
                Killer::Container
            }
            _ => Killer::Cgroup,
        };
        self.killed.by = self.killed.by.max(by);
        self.killed.process = value(b"task=").or(self.killed.process.take());
        self.killed.pid = find(rest, b",pid=").and_then(number).map(|(pid, _)| pid).or(self.killed.pid);
    }

    /// `1048576kB, limit 1048576kB, failcnt 1559756`
    fn usage(&mut self, rest: &[u8]) -> Option<()> {
        let limit = kilobytes(find(rest, b"limit ")?)?;
        if limit.bytes < NO_LIMIT {
            self.dump.limit = Some(limit);
            self.dump.pool = kilobytes(rest);
            self.killed.by = self.killed.by.max(Killer::Cgroup);
        }
        Some(())
    }

    /// `6291455 pages RAM`
    fn machine(&mut self, before: &[u8]) -> Option<()> {
        let text = before.trim_ascii_end();
        let start = text.iter().rposition(|byte| !byte.is_ascii_digit()).map_or(0, |at| at + 1);
        let bytes = number(&text[start..])?.0.checked_mul(PAGE).filter(|bytes| *bytes < NO_LIMIT)?;
        self.dump.capacity = Some(Figure::exact(bytes));
        Some(())
    }

    /// `8400000 > 8388608), being killed`, in kibibytes
    fn exceeded(&mut self, rest: &[u8]) -> Option<()> {
        self.dump.in_use = kilobytes(rest);
        self.dump.limit = find(rest, b"> ").and_then(kilobytes);
        self.dump.limit.map(|_| ())
    }

    /// `7.45 GiB for an array with shape (1000000, 1000) and data type float64`
    fn array(&mut self, rest: &[u8]) -> Option<()> {
        let (asked, rest) = size(rest)?;
        find(rest, b"for an array")?;
        self.dump.request = Some(asked);
        self.no_memory("no memory for an array".to_string());
        Some(())
    }

    fn no_memory(&mut self, said: String) {
        if self.dump.refused_by == RefusedBy::Pool {
            self.dump.refused_by = RefusedBy::System(said);
        }
    }
}

/// Who ends processes with such a message.
fn killer(mark: Mark) -> Killer {
    match mark {
        Mark::ContainerKilled => Killer::Container,
        Mark::SlurmKilled | Mark::SlurmExceeded => Killer::Slurm,
        Mark::SessionCrashed => Killer::Notebook,
        _ => Killer::Unnamed,
    }
}

/// A number of kibibytes, as the kernel prints them.
fn kilobytes(text: &[u8]) -> Option<Figure> {
    number(text)?.0.checked_mul(1024).filter(|bytes| *bytes < 1 << 60).map(Figure::exact)
}

/// `"OOMKilled": false`
fn is_denied(rest: &[u8]) -> bool {
    let rest: Vec<u8> = rest.iter().copied().filter(|byte| !b"\" :=\\".contains(byte)).take(5).collect();
    rest.eq_ignore_ascii_case(b"false")
}

/// `Killed` alone, `train.sh: line 3:  1234 Killed   python ...`, `[1]+  Killed   python ...`, `zsh: killed   python`
fn is_shell(before: &[u8], word: &[u8], rest: &[u8]) -> bool {
    let before = before.trim_ascii();
    let ends = rest.trim_ascii().is_empty() || rest.starts_with(b"  ") || rest.starts_with(b"\\n");
    let job = before.ends_with(b"]+") || before.ends_with(b"]-");
    let numbered = before.last().is_some_and(u8::is_ascii_digit)
        && (before.starts_with(b"[") || find(before, b": line ").is_some());
    match word {
        b"Killed" => ends && (before.is_empty() || before.ends_with(b"\"") || job || numbered),
        _ => ends && (before.ends_with(b"zsh:") || job || numbered),
    }
}

/// Whether 137 is an exit code.
fn is_code(before: &[u8], rest: &[u8]) -> bool {
    let goes_on = rest.first().is_some_and(|byte| byte.is_ascii_alphanumeric() || b".:-/".contains(byte))
        && !matches!(rest, [b'.'] | [b'.', b' ' | b'"' | b'\\', ..] | [b':', b' ', ..]);
    !goes_on && ["exit", "code", "returned"].iter().any(|word| is_near(before, word))
}

/// Whether a process was ended by signal 9, which is also an exit code of -9.
fn is_signal(before: &[u8], word: &[u8], rest: &[u8]) -> bool {
    let goes_on = rest.first().is_some_and(u8::is_ascii_alphanumeric);
    !goes_on
        && (word != b"-9" || ["exit", "return code", "returncode"].iter().any(|word| is_near(before, word)))
}

/// Whether an error is all that a line says.
fn is_bare(before: &[u8], rest: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let begins = before.is_empty() || before.ends_with(b"'") || before.ends_with(b"\"");
    begins && (rest.trim_ascii().is_empty() || rest.starts_with(b":") || rest.starts_with(b"'"))
}

/// Whether a word stands shortly before.
fn is_near(before: &[u8], word: &str) -> bool {
    let tail = before[before.len().saturating_sub(28)..].to_ascii_lowercase();
    find(&tail, word.as_bytes()).is_some()
}
