//! Finding out what a path leads to: the kind of data, its parts, what each column is for.

mod classes;
mod parts;

use crate::source::{Arrays, ImageList, Records, Table, TextWindows, idx, listing, npy};
use crate::{Account, Blob, Content, FieldKind, Found, InputError, Settings, Source, Tokens, split};
use classes::{has_texts, open_images, open_texts};
use parts::{Split, npy_parts};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Opens what a path leads to: a folder of images by class, MNIST's files, NumPy's, tables, TFRecords, or a `data.toml`
/// that says more.
pub fn open(path: &Path, settings: &Settings, account: &Arc<Account>) -> Result<Found, InputError> {
    if let Some(problem) = settings.problem() {
        return Err(InputError::unsuitable(problem, None));
    }
    if !path.exists() {
        return Err(InputError::file(path, "there is no such file or folder"));
    }
    let (path, settings) = match end_of(path).as_str() {
        "toml" => settings.read(path)?,
        _ => (path.to_path_buf(), settings.clone()),
    };
    let mut opened = match path.is_dir() {
        true => open_folder(&path, &settings, account)?,
        false => open_file(&path, &settings, account)?,
    };
    if let Some(test) = &settings.test {
        if opened.kind.starts_with("text") && settings.tokens == Tokens::Words {
            let problem = "its words would have other numbers than those that are learned from";
            let hint = "put both into one folder, as train and test";
            return Err(InputError::file_with(test, problem, hint));
        }
        opened.test = Some(match test.is_dir() {
            true => open_folder(test, &settings, account)?.train,
            false => open_file(test, &settings, account)?.train,
        });
        same_columns(&*opened.train, &**opened.test.as_ref().expect("it is there"), test)?;
    }
    let mut found = Found {
        path,
        kind: opened.kind,
        train: opened.train,
        test: opened.test,
        notes: opened.notes,
        settings,
    };
    keep_apart(&mut found, account)?;
    Ok(found)
}

/// Data before samples are kept apart.
struct Opened {
    kind: &'static str,
    train: Arc<dyn Source>,
    test: Option<Arc<dyn Source>>,
    notes: Vec<String>,
}

impl Opened {
    fn new(kind: &'static str, train: impl Source + 'static) -> Self {
        Self { kind, train: Arc::new(train), test: None, notes: Vec::new() }
    }
}

fn keep_apart(found: &mut Found, account: &Arc<Account>) -> Result<(), InputError> {
    let Settings { validation, shard, seed, .. } = found.settings;
    match (validation, &found.test) {
        (Some(share), None) => {
            let (rest, apart) = split(&found.train, share, seed, account)?;
            found.train = Arc::new(rest);
            found.test = Some(Arc::new(apart));
        }
        (Some(_), Some(_)) => {
            found
                .notes
                .push("the data has a part to judge by, so that nothing else is kept apart".to_string());
        }
        (None, _) => {}
    }
    if let Some((part, of)) = shard {
        let shard = crate::Part::new(&found.train, account, |sample| sample % of == part)?;
        if shard.count() == 0 {
            return Err(InputError::unsuitable(format!("shard {part} of {of} has no samples"), None));
        }
        found.train = Arc::new(shard);
    }
    Ok(())
}

fn open_file(path: &Path, settings: &Settings, account: &Arc<Account>) -> Result<Opened, InputError> {
    let refuse = |problem: &str, hint: &str| Err(InputError::file_with(path, problem, hint));
    match end_of(path).as_str() {
        "csv" | "tsv" => open_table(path, settings, account),
        "txt" => {
            let text = TextWindows::open(path, settings, account)?;
            let left = text.left_over();
            let note = format!("{left} tokens at the end of the text are less than a window, and left aside");
            let notes = if left > 0 { vec![note] } else { Vec::new() };
            Ok(Opened { notes, ..Opened::new("text", text) })
        }
        "npz" => npy_parts(path, npy::open_all(path, account)?, settings),
        "npy" => refuse(
            "one array has no targets",
            "save both with np.savez(\"data.npz\", x=..., y=...), or name the folder that has x.npy and y.npy",
        ),
        "tfrecord" | "tfrecords" | "tfrec" => Ok(Opened::new("TFRecord", Records::open(&[path], account)?)),
        "parquet" => refuse(
            "Parquet is not read yet",
            "write it as CSV: pandas.read_parquet(...).to_csv(\"data.csv\", index=False)",
        ),
        "jpg" | "jpeg" | "png" => {
            refuse("one image is no data set", "name the folder that has a folder for each class")
        }
        _ if is_idx(path) => {
            let folder =
                path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
            open_idx(folder, account)?.ok_or_else(|| InputError::file(path, "there are no labels beside it"))
        }
        _ => refuse(
            "it is nothing that is known as data",
            "folders of images or texts, .csv, .txt, .npz, MNIST's IDX files, .tfrecord and data.toml are",
        ),
    }
}

fn open_folder(path: &Path, settings: &Settings, account: &Arc<Account>) -> Result<Opened, InputError> {
    if let Some(opened) = open_idx(path, account)? {
        return Ok(opened);
    }
    let entries = listing::entries(path)?;
    let files: Vec<&str> =
        entries.iter().filter(|(_, is_folder)| !is_folder).map(|(name, _)| name.as_str()).collect();
    let with_end = |end: &str| files.iter().filter(|name| end_of(Path::new(name)) == end).count();
    if with_end("npy") > 0 {
        let arrays = files.iter().filter(|name| name.ends_with(".npy")).map(|name| {
            let array = npy::open(Blob::open(&path.join(name), account)?)?;
            Ok((name.trim_end_matches(".npy").to_string(), array))
        });
        return npy_parts(path, arrays.collect::<Result<_, InputError>>()?, settings);
    }
    let folders = listing::folders(path)?;
    if folders.is_empty() && with_end("csv") > 0 {
        return open_tables(path, &files, settings, account);
    }
    if with_end("tfrecord") + with_end("tfrecords") > 0 {
        return open_records(path, &files, account);
    }
    match folders.is_empty() {
        true => Err(InputError::file_with(
            path,
            "there is nothing in it that is known as data",
            "images stand in a folder for each class: cats/1.jpg, dogs/1.jpg",
        )),
        false if has_texts(path)? => open_texts(path, &folders, settings, account),
        false => open_images(path, &folders, settings, account),
    }
}

/// A table, or the images that it lists.
fn open_table(path: &Path, settings: &Settings, account: &Arc<Account>) -> Result<Opened, InputError> {
    let table = Table::open(path, settings, account)?;
    Ok(match ImageList::open(table, path, settings, account)? {
        Ok(images) => Opened::new("list of images", images),
        Err(table) => Opened::new("table", table),
    })
}

fn open_tables(
    path: &Path,
    files: &[&str],
    settings: &Settings,
    account: &Arc<Account>,
) -> Result<Opened, InputError> {
    let tables: Vec<&&str> = files.iter().filter(|name| name.ends_with(".csv")).collect();
    let part = |split: Split| tables.iter().find(|name| Split::of_name(name) == Some(split));
    let open = |name: &str| open_table(&path.join(name), settings, account);
    match (part(Split::Train), &tables[..]) {
        (Some(train), _) => {
            let train = open(train)?;
            let test = part(Split::Test).or(part(Split::Validation)).map(|name| open(name)).transpose()?;
            let test = test.map(|test| test.train);
            if let Some(test) = &test {
                same_columns(&*train.train, &**test, path)?;
            }
            Ok(Opened { test, ..train })
        }
        (None, [only]) => open(only),
        (None, _) => Err(InputError::file_with(
            path,
            "it has several tables",
            "name one of them, or call one train.csv",
        )),
    }
}

fn open_records(path: &Path, files: &[&str], account: &Arc<Account>) -> Result<Opened, InputError> {
    let records = files.iter().filter(|name| name.contains(".tfrec"));
    let of = |split: Option<Split>| -> Vec<PathBuf> {
        records.clone().filter(|name| Split::of_name(name) == split).map(|name| path.join(name)).collect()
    };
    let open = |paths: &[PathBuf]| {
        let paths: Vec<&Path> = paths.iter().map(PathBuf::as_path).collect();
        Records::open(&paths, account)
    };
    let (train, mut test) = (of(Some(Split::Train)), of(Some(Split::Test)));
    if test.is_empty() {
        test = of(Some(Split::Validation));
    }
    let train = if train.is_empty() { of(None) } else { train };
    if train.is_empty() {
        return Err(InputError::file(path, "none of its records are to be learned from"));
    }
    let test = (!test.is_empty()).then(|| open(&test)).transpose()?;
    let test = test.map(|test| Arc::new(test) as Arc<dyn Source>);
    Ok(Opened { test, ..Opened::new("TFRecord", open(&train)?) })
}

/// MNIST's files: images and labels with the same beginning of their names.
fn open_idx(folder: &Path, account: &Arc<Account>) -> Result<Option<Opened>, InputError> {
    let entries = listing::entries(folder)?;
    let files: Vec<&String> =
        entries.iter().filter(|(_, is_folder)| !is_folder).map(|(name, _)| name).collect();
    let pair = |split: Split| {
        let images = files.iter().find(|name| {
            is_idx(Path::new(name)) && name.contains("images") && Split::of_name(name) == Some(split)
        })?;
        let start = &images[..images.find("images")?];
        let labels = files.iter().find(|name| {
            is_idx(Path::new(name)) && name.strip_prefix(start).is_some_and(|rest| rest.starts_with("labels"))
        })?;
        Some((folder.join(images), folder.join(labels)))
    };
    let open = |(images, labels): (PathBuf, PathBuf)| {
        let array = |path: &Path| idx::open(Blob::open(path, account)?);
        Arrays::new(vec![
            ("image".to_string(), Some(FieldKind::Input), array(&images)?),
            ("label".to_string(), Some(FieldKind::Target), array(&labels)?),
        ])
    };
    let Some(train) = pair(Split::Train) else { return Ok(None) };
    let test = pair(Split::Test).map(open).transpose()?;
    let test = test.map(|test| Arc::new(test) as Arc<dyn Source>);
    Ok(Some(Opened { test, ..Opened::new("IDX", open(train)?) }))
}

fn is_idx(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let name = name.trim_end_matches(".gz");
    name.ends_with("-ubyte") || name.ends_with(".idx") || name.contains("-idx")
}

/// How a name ends, without what says that it is packed.
fn end_of(path: &Path) -> String {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_ascii_lowercase();
    name.trim_end_matches(".gz").rsplit_once('.').map(|(_, end)| end.to_string()).unwrap_or_default()
}

/// Parts of one data set have the same columns.
fn same_columns(train: &dyn Source, test: &dyn Source, path: &Path) -> Result<(), InputError> {
    let names =
        |source: &dyn Source| source.columns().iter().map(|column| column.name.clone()).collect::<Vec<_>>();
    let classes = |source: &dyn Source| {
        let class = |content: &Content| matches!(content, Content::Class(_)).then(|| content.clone());
        source
            .columns()
            .iter()
            .filter(|column| column.role == Some(FieldKind::Target))
            .find_map(|column| class(&column.content))
    };
    match () {
        () if names(train) != names(test) => Err(InputError::file(
            path,
            format!(
                "its columns are {}, those to learn from {}",
                names(test).join(", "),
                names(train).join(", ")
            ),
        )),
        () if classes(train) != classes(test) => {
            Err(InputError::file(path, "its classes are others than those to learn from"))
        }
        () => Ok(()),
    }
}
