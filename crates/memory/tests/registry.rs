//! The registry of promises, with real processes: whoever lives is seen, whoever dies is forgotten, and whatever else
//! lies in the folder changes nothing.
#![cfg(unix)]

use plimsoll_memory::{Promise, Registry};
use plimsoll_trace::Bytes;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};

const FOLDER: &str = "PLIMSOLL_TEST_REGISTRY";
/// Whether the other process promises something only if nobody else has.
const ALONE: &str = "PLIMSOLL_TEST_ALONE";

/// Not a test by itself: the other process, which promises something and waits to be ended.
#[test]
fn another_process() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let registry = Registry::at(folder.into()).unwrap();
    // Looking takes a while, in which others look, too, unless it is not their turn.
    let admit = || match std::env::var(ALONE) {
        Ok(_) => {
            let alone = registry.others().is_empty();
            std::thread::sleep(std::time::Duration::from_millis(30));
            alone.then_some(()).ok_or(())
        }
        Err(_) => Ok(()),
    };
    let promised = registry.promise("a model", Bytes::mib(7 << 10), admit);
    println!("promised {}", matches!(promised, Ok(Some(_))));
    std::thread::sleep(std::time::Duration::from_secs(600));
}

fn start(folder: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "another_process", "--nocapture"]).env(FOLDER, folder).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("promised true")));
    child
}

fn registry(folder: &Path) -> Registry {
    Registry::at(folder.join("plimsoll")).unwrap()
}

#[test]
fn who_lives_is_seen_and_who_dies_is_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry(folder.path());
    assert_eq!(registry.others(), []);
    let mut children: Vec<Child> = (0..3).map(|_| start(&folder.path().join("plimsoll"))).collect();
    let mut numbers: Vec<u32> = children.iter().map(Child::id).collect();
    numbers.sort_unstable();
    let others = registry.others();
    assert_eq!(others.iter().map(|promise| promise.process).collect::<Vec<_>>(), numbers);
    for Promise { who, bytes, resident, .. } in &others {
        assert_eq!((who.as_str(), *bytes), ("a model", Bytes::mib(7 << 10)));
        assert!(resident.is_some_and(|resident| resident > Bytes::ZERO && resident < Bytes::mib(512)));
    }
    let outstanding = others[0].outstanding();
    assert!(outstanding < Bytes::mib(7 << 10) && outstanding > Bytes::mib(6 << 10), "{outstanding}");
    let files = || std::fs::read_dir(folder.path().join("plimsoll")).unwrap().count();
    let before = files();
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(registry.others(), []);
    assert_eq!(files(), before - 3, "files of the dead are removed");
}

#[test]
fn of_those_that_start_at_one_moment_one_is_admitted() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("plimsoll");
    registry(folder.path());
    let spawn = |_| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "another_process", "--nocapture"]);
        command.env(FOLDER, &inside).env(ALONE, "1").stdout(Stdio::piped()).spawn().unwrap()
    };
    let mut children: Vec<Child> = (0..4).map(spawn).collect();
    let mut admitted = 0;
    for child in &mut children {
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        admitted += usize::from(lines.find(|line| line.contains("promised ")).unwrap().contains("true"));
    }
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert_eq!(admitted, 1);
}

#[test]
fn own_promises_are_not_those_of_others_and_end_when_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry(folder.path());
    let files = || std::fs::read_dir(folder.path().join("plimsoll")).unwrap().count();
    let promised = registry.promise("mine", Bytes(1), || Ok::<_, ()>(())).unwrap().unwrap();
    assert_eq!((registry.others(), files()), (vec![], 2));
    drop(promised);
    assert_eq!(files(), 1, "only the turn is left");
    assert_eq!(registry.promise("refused", Bytes(1), || Err("no")).unwrap_err(), "no");
    assert_eq!(files(), 1);
}

#[test]
fn whatever_lies_in_the_folder_is_no_promise() {
    let folder = tempfile::tempdir().unwrap();
    let registry = registry(folder.path());
    let inside = folder.path().join("plimsoll");
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "plimsoll-promise 1 5 x").unwrap();
    symlink(&secret, inside.join("1-1-1")).unwrap();
    symlink("/dev/zero", inside.join("1-1-2")).unwrap();
    std::fs::create_dir(inside.join("1-1-3")).unwrap();
    assert!(Command::new("mkfifo").arg(inside.join("1-1-4")).status().unwrap().success());
    std::fs::write(inside.join("garbage"), [0xff; 5000]).unwrap();
    // Locked, as an owner would, but not written by one.
    let locked: Vec<std::fs::File> =
        ["", "plimsoll-promise 1 many x", "plimsoll-promise 9 5 x", "\u{1b}[31m"]
            .iter()
            .enumerate()
            .map(|(index, text)| {
                let path = inside.join(format!("2-2-{index}"));
                std::fs::write(&path, text).unwrap();
                let file = std::fs::File::open(&path).unwrap();
                file.lock().unwrap();
                file
            })
            .collect();
    assert_eq!(registry.others(), []);
    assert!(secret.exists(), "what a link points to is left alone");
    assert!(inside.join("garbage").exists(), "what is not called as a promise is left alone");
    drop(locked);
}

#[test]
fn a_folder_of_others_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let (open, link) = (folder.path().join("open"), folder.path().join("link"));
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
    symlink(&open, &link).unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    for bad in ["open", "link", "file", "missing/below"] {
        assert!(Registry::at(folder.path().join(bad)).is_err(), "{bad}");
    }
}
