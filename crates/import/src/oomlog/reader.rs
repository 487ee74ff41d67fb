//! Where each mark of a log goes: to the report that is open for it, or to a new one.

use super::dump::{Activity, Dump};
use super::figure::{Figure, size};
use super::kept::Kept;
use super::marks::Mark;
use super::words::find;
use super::{Log, driver, host, ours, tensorflow, torch, xla};

/// How many dumps may be open at once, each from a thread of its own.
const MOST_OPEN: usize = 16;
/// What a mark means stands so near to it, in bytes; looking further would make long lines slow.
const NEAR: usize = 4096;
/// So many lines after a line of a traceback it no longer tells what was going on.
const ACTIVITY_LINES: u64 = 60;

/// The reports that are open, and those that are whole.
#[derive(Default)]
pub(super) struct Reader {
    /// TensorFlow's dumps by the thread that prints them.
    tensorflow: Vec<(u64, tensorflow::Open)>,
    /// The thread of the last such line.
    thread: u64,
    torch: Option<torch::Open>,
    last_torch: Option<Dump>,
    xla: Option<xla::Open>,
    ours: Option<ours::Open>,
    driver: Option<driver::Open>,
    host: Option<host::Open>,
    activity: Option<(Activity, u64)>,
    device_limit: Option<Figure>,
    device_total: Option<Figure>,
    /// The smallest region that the driver refused to a pool.
    driver_refused: Option<Figure>,
    kept: Kept,
    /// Whether a report of TensorFlow's is kept.
    has_tensorflow: bool,
    did_without: u64,
    sentences: u64,
    unread: Option<String>,
    /// The line that is read, and where in it the mark stands.
    pub(super) line: u64,
    pub(super) mark: (usize, usize),
}

impl Reader {
    pub(super) fn accept(&mut self, mark: Mark, line: &[u8]) {
        let (start, end) = self.mark;
        let before = &line[start.saturating_sub(NEAR)..start];
        let rest = &line[end..line.len().min(end + NEAR)];
        match mark {
            Mark::TorchOptim => self.note(Activity::Optimizer),
            Mark::TorchBackward => self.note(Activity::Backward),
            Mark::LoadsWeights => self.note(Activity::Weights),
            Mark::BuildsSlots => self.note(Activity::Slots),
            Mark::TriedToAllocate => self.torch_message(before, rest),
            Mark::MpsOutOfMemory | Mark::TorchAsync | Mark::CpuTriedToAllocate => {
                self.begin_torch(&line[start..line.len().min(end + NEAR)]);
            }
            Mark::RanOutHbm | Mark::AttemptingToReserve | Mark::OutOfMemoryTrying => {
                self.finish_xla();
                self.xla = xla::Open::begin(self.line, mark, rest);
            }
            Mark::OurSentence => self.sentences += 1,
            Mark::CreatedDevice => {
                self.device_limit = find(rest, b"with ").and_then(size).map(|(limit, _)| limit);
            }
            Mark::DeviceTotal => self.device_total = size(rest).map(|(total, _)| total),
            Mark::DriverFailed | Mark::DriverError | Mark::TorchDriver | Mark::CopyFailed => {
                self.driver_message(mark, before, rest);
            }
            Mark::KilledProcess
            | Mark::OomKiller
            | Mark::OomConstraint
            | Mark::CgroupUsage
            | Mark::PagesOfRam
            | Mark::TaskTable
            | Mark::ContainerKilled
            | Mark::SlurmKilled
            | Mark::SlurmExceeded
            | Mark::SessionCrashed
            | Mark::KernelDied
            | Mark::ShellKilled
            | Mark::Code137
            | Mark::Signal9
            | Mark::ArrayFailed
            | Mark::HostFailed => self.host_message(mark, before, &line[start..end], rest),
            _ => self.either(mark, before, rest),
        }
    }

    /// What a driver says is a report of its own where no dump explains it.
    fn driver_message(&mut self, mark: Mark, before: &[u8], rest: &[u8]) {
        let told = mark == Mark::TorchDriver && find(rest, b"ried to allocate").is_some();
        let explained = !self.tensorflow.is_empty() || self.has_tensorflow;
        if told || explained {
            return;
        }
        match &mut self.driver {
            Some(open) => {
                open.accept(mark, before, rest);
            }
            None => self.driver = driver::Open::begin(self.line, mark, before, rest),
        }
    }

    /// A report of a framework says more than the driver's words before it.
    fn supersede_driver(&mut self) {
        if let Some(open) = self.driver.take() {
            self.driver_refused = open.refused().or(self.driver_refused);
        }
    }

    fn host_message(&mut self, mark: Mark, before: &[u8], word: &[u8], rest: &[u8]) {
        if self.host.as_ref().is_some_and(|open| open.ends_before(mark, rest)) {
            self.finish_host();
        }
        match &mut self.host {
            Some(open) => {
                open.accept(mark, before, word, rest);
            }
            // What only adds to a report begins none.
            None if matches!(mark, Mark::CgroupUsage | Mark::PagesOfRam | Mark::TaskTable) => {}
            None => self.host = host::Open::begin(self.line, mark, before, word, rest),
        }
    }

    fn finish_host(&mut self) {
        self.host.take().into_iter().for_each(|open| self.kept.push(open.finish()));
    }

    /// The kernel's table of processes has no words of its own.
    pub(super) fn continue_table(&mut self, line: &[u8]) {
        if let Some(open) = &mut self.host {
            open.row(line);
        }
    }

    /// Marks that XLA and TensorFlow share go to the one that is open.
    fn either(&mut self, mark: Mark, before: &[u8], rest: &[u8]) {
        let is_chunk_state = mark == Mark::Size && find(rest, b"| Requested Size").is_some();
        let taken =
            !is_chunk_state && self.xla.as_mut().is_some_and(|open| open.accept(mark, rest).is_some());
        let foreign = matches!(
            mark,
            Mark::ParameterAllocation
                | Mark::TempAllocation
                | Mark::TempFragmentation
                | Mark::TotalAllocation
                | Mark::ProgramRequirement
                | Mark::OpName
                | Mark::XlaLabel
        );
        if !taken && !foreign {
            self.tensorflow(mark, before, rest);
        }
    }

    fn tensorflow(&mut self, mark: Mark, before: &[u8], rest: &[u8]) {
        if mark == Mark::RanOut && find(rest, b"this is not a failure").is_some() {
            self.did_without += 1;
            return;
        }
        self.thread = thread(before).unwrap_or(self.thread);
        let place = self.tensorflow.iter().position(|(thread, _)| *thread == self.thread);
        let place =
            place.filter(|&place| !self.tensorflow[place].1.ends_before(mark, rest) || self.close(place));
        match place {
            Some(place) => {
                self.tensorflow[place].1.accept(mark, before, rest);
                self.tell_activity(mark, place);
            }
            None if begins(mark) => self.open(mark, before, rest),
            None => {}
        }
    }

    /// Ends a dump; gives false, so that its place is no longer used.
    fn close(&mut self, place: usize) -> bool {
        let (_, open) = self.tensorflow.remove(place);
        let dump = self.completed(open.finish());
        if dump.says_something() {
            self.has_tensorflow = true;
            self.kept.push(dump);
        }
        false
    }

    fn open(&mut self, mark: Mark, before: &[u8], rest: &[u8]) {
        if mark == Mark::OomShape && !self.tensorflow.is_empty() {
            return;
        }
        let mut open = tensorflow::Open::new(self.line);
        if open.accept(mark, before, rest).is_none() {
            return;
        }
        if self.tensorflow.len() >= MOST_OPEN {
            self.close(0);
        }
        self.supersede_driver();
        self.tensorflow.push((self.thread, open));
        self.tell_activity(mark, self.tensorflow.len() - 1);
    }

    /// The traceback stands before the message that names the tensor.
    fn tell_activity(&mut self, mark: Mark, place: usize) {
        let recent = self.activity.filter(|(_, at)| at + ACTIVITY_LINES >= self.line);
        let dump = self.tensorflow[place].1.dump_mut();
        if mark == Mark::OomShape && dump.activity.is_none() {
            dump.activity = recent.map(|(activity, _)| activity);
        }
    }

    /// A dump with what lines elsewhere say.
    fn completed(&self, mut dump: Dump) -> Dump {
        dump.repeated = 1;
        dump.driver_refused = self.driver_refused;
        dump.capacity = dump.capacity.or(self.device_total);
        if let (None, Some(limit)) = (dump.limit, self.device_limit) {
            dump.limit = Some(limit);
            dump.missing.retain(|what| what != "the limit");
        }
        dump
    }

    fn torch_message(&mut self, before: &[u8], rest: &[u8]) {
        let is_torch = find(before, b"out of memory").is_some() || find(rest, b"GPU ").is_some();
        if is_torch && find(before, b"MPS backend").is_none() {
            self.begin_torch(&[b"Tried to allocate ", rest].concat());
        }
    }

    fn begin_torch(&mut self, text: &[u8]) {
        self.finish_torch();
        if self.driver.as_ref().is_some_and(driver::Open::is_bare_torch) {
            self.driver = None;
        }
        self.torch = Some(torch::Open::new(self.line, text));
    }

    /// A message of PyTorch's goes on until it has all its figures.
    pub(super) fn continue_message(&mut self, line: &[u8]) {
        let Some(open) = &mut self.torch else { return };
        if open.is_whole() {
            self.finish_torch();
        } else if !line.is_empty() {
            open.push(line);
        }
    }

    fn finish_torch(&mut self) {
        let Some(mut dump) = self.torch.take().and_then(torch::Open::finish) else { return };
        let recent = |(_, at): &(Activity, u64)| at + ACTIVITY_LINES >= dump.line;
        dump.activity = self.activity.filter(recent).map(|(activity, _)| activity);
        match &mut self.last_torch {
            Some(last) if same_message(last, &dump) => last.repeated += 1,
            last => {
                if let Some(last) = last.replace(dump) {
                    self.kept.push(last);
                }
            }
        }
    }

    fn finish_xla(&mut self) {
        let Some(open) = self.xla.take() else { return };
        let request = open.request();
        let same =
            |(_, dump): &&mut (u64, tensorflow::Open)| request.is_some_and(|bytes| dump.asked_for(bytes));
        match self.tensorflow.iter_mut().rev().find(same) {
            // XLA's buffers explain the dump of the same failure.
            Some((_, dump)) => dump.dump_mut().holders.extend(open.into_holders()),
            None => self.kept.push(open.finish()),
        }
    }

    /// Begins to read evidence; says how much of the line belongs to it.
    pub(super) fn begin_evidence(&mut self, rest: &[u8]) -> usize {
        self.finish_evidence();
        self.ours = Some(ours::Open::new(self.line));
        self.continue_evidence(rest)
    }

    /// Goes on with evidence whose line is longer than what is looked at in one piece; says how much of the piece
    /// belongs to it.
    pub(super) fn continue_evidence(&mut self, piece: &[u8]) -> usize {
        let Some(open) = self.ours.as_mut().filter(|open| open.line == self.line) else {
            self.finish_evidence();
            return 0;
        };
        let taken = open.push(piece);
        if open.is_whole() {
            self.finish_evidence();
        }
        taken
    }

    fn finish_evidence(&mut self) {
        match self.ours.take().map(ours::Open::finish) {
            None => {}
            Some(Ok(dump)) => self.kept.push(dump),
            Some(Err(error)) => {
                self.unread.get_or_insert(error.to_string());
            }
        }
    }

    /// Slots are weights to the lines below, so what builds them says it first.
    fn note(&mut self, activity: Activity) {
        let slots = matches!(self.activity, Some((Activity::Slots, at)) if at + ACTIVITY_LINES >= self.line);
        if !(slots && activity == Activity::Weights) {
            self.activity = Some((activity, self.line));
        }
    }

    pub(super) fn finish(mut self) -> Log {
        self.finish_torch();
        self.finish_xla();
        self.finish_evidence();
        self.finish_host();
        let driver = self.driver.take().map(|open| open.finish(self.device_total));
        driver.into_iter().for_each(|dump| self.kept.push(dump));
        while !self.tensorflow.is_empty() {
            self.close(0);
        }
        self.last_torch.take().into_iter().for_each(|dump| self.kept.push(dump));
        let Kept { first, last, skipped, .. } = self.kept;
        let mut dumps: Vec<Dump> = first.into_iter().chain(last).collect();
        dumps.sort_by_key(|dump| dump.line);
        let (did_without, sentences) = (self.did_without, self.sentences);
        Log { dumps, skipped, did_without, broken: None, sentences, unread: self.unread }
    }
}

/// Whether a line can begin a dump whose first lines are missing.
fn begins(mark: Mark) -> bool {
    !matches!(
        mark,
        Mark::Size
            | Mark::From
            | Mark::CudaFree
            | Mark::Stats
            | Mark::InUse
            | Mark::MaxInUse
            | Mark::NumAllocs
            | Mark::Limit
    )
}

/// The thread in `W0000 00:00:1794770573.112103   21772 bfc_allocator.cc:502] `; older formats have none.
fn thread(before: &[u8]) -> Option<u64> {
    let at = memchr::memmem::rfind(before, b"bfc_allocator.cc:")?;
    let before = before[..at].trim_ascii_end();
    let start = before.iter().rposition(|byte| *byte == b' ')? + 1;
    let text = std::str::from_utf8(&before[start..]).ok()?;
    Some(text.parse().unwrap_or(0))
}

fn same_message(last: &Dump, next: &Dump) -> bool {
    let figures = |dump: &Dump| {
        [dump.request, dump.limit, dump.pool, dump.in_use, dump.free, dump.device_free]
            .map(|f| f.map(|f| f.bytes))
    };
    last.allocator == next.allocator && figures(last) == figures(next)
}
