//! A table that lists images: a column with their paths, as seen from the table, and others with what is known of them.

use super::folder::{IMAGES, header, look, read_image};
use super::{Column, Content, Datum, Source, Table};
use crate::{Account, FieldKind, InputError, Room, Settings};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Images by the rows of a table.
pub struct ImageList {
    table: Table,
    /// The folder that paths begin in.
    root: PathBuf,
    /// The column with paths.
    paths: usize,
    columns: Vec<Column>,
}

impl ImageList {
    /// The images of a table, or the table again if it lists none.
    pub fn open(
        table: Table,
        path: &Path,
        settings: &Settings,
        account: &Arc<Account>,
    ) -> Result<Result<Self, Table>, InputError> {
        let Some(paths) = path_column(&table, account)? else { return Ok(Err(table)) };
        let columns = roles(table.columns(), paths, settings);
        let root = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let mut list = Self { table, root, paths, columns };
        let header = |sample: usize| header(&list.path(sample, &mut Room::new(account))?);
        let images = look(list.count(), settings, &header)?;
        list.columns[paths].content = Content::Images(images);
        Ok(Ok(list))
    }

    fn path(&self, sample: usize, room: &mut Room) -> Result<PathBuf, InputError> {
        Ok(self.root.join(self.table.text(sample, self.paths, room)?))
    }
}

impl Source for ImageList {
    fn count(&self) -> usize {
        self.table.count()
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn read(&self, sample: usize, column: usize, room: &mut Room) -> Result<Datum, InputError> {
        if column != self.paths {
            return self.table.read(sample, column, room);
        }
        let path = self.path(sample, room)?;
        // The image takes the place of the row.
        room.kept = None;
        read_image(&path, room)
    }

    fn place(&self, sample: usize) -> String {
        self.table.place(sample)
    }
}

/// The column whose texts end as images do, if there is one.
fn path_column(table: &Table, account: &Arc<Account>) -> Result<Option<usize>, InputError> {
    let mut room = Room::new(account);
    for (at, column) in table.columns().iter().enumerate() {
        let is_path = match &column.content {
            Content::Class(names) => names.iter().all(|name| is_image(name)),
            Content::Text => is_image(&table.text(0, at, &mut room)?),
            Content::Images(_) | Content::Numbers(_) | Content::Tokens(_) => false,
        };
        if is_path && column.role.is_some() {
            return Ok(Some(at));
        }
    }
    Ok(None)
}

fn is_image(name: &str) -> bool {
    let end = name.rsplit_once('.').map(|(_, end)| end.to_ascii_lowercase());
    end.is_some_and(|end| IMAGES.contains(&end.as_str()))
}

/// Images are learned from, and nothing else where nobody says so.
fn roles(columns: &[Column], paths: usize, settings: &Settings) -> Vec<Column> {
    let mut columns = columns.to_vec();
    let is_target = columns[paths].role == Some(FieldKind::Target);
    if let (true, [one, other]) = (is_target && settings.target.is_none(), &mut columns[..]) {
        // Two columns, the paths last.
        std::mem::swap(&mut one.role, &mut other.role);
    }
    for (at, column) in columns.iter_mut().enumerate() {
        let is_said = settings.columns.as_ref().is_some_and(|said| said.contains(&column.name));
        if at != paths && column.role == Some(FieldKind::Input) && !is_said {
            column.role = None;
        }
    }
    columns
}
