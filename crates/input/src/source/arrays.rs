//! Arrays whose first axis counts samples: NumPy's files and those of MNIST.

use super::{Column, Content, Datum, Number, Numbers, Source};
use crate::room::Sizes;
use crate::{Blob, FieldKind, InputError, Room, Stage};

/// Arrays of the same length, one for each column.
pub struct Arrays {
    columns: Vec<Column>,
    arrays: Vec<Array>,
    count: usize,
}

/// One array in a file.
pub struct Array {
    /// The bytes.
    pub blob: Blob,
    /// Where the first element is.
    pub start: u64,
    /// How each is stored.
    pub element: Number,
    /// Whether the high byte comes first.
    pub is_big_endian: bool,
    /// All extents.
    pub shape: Vec<usize>,
}

impl Array {
    /// How many samples there are.
    pub(crate) fn samples(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    /// Checks that the file has as many bytes as the shape asks for; gives those of one sample.
    pub(crate) fn row_bytes(&self) -> Result<u64, InputError> {
        let row = self
            .shape
            .iter()
            .skip(1)
            .try_fold(self.element.bytes() as u64, |size, &extent| size.checked_mul(extent as u64));
        let whole = row.and_then(|row| row.checked_mul(self.samples() as u64));
        let end = whole.and_then(|whole| whole.checked_add(self.start));
        match (row, end) {
            (Some(row), Some(end)) if end <= self.blob.length() && row > 0 && self.samples() > 0 => Ok(row),
            (Some(0), _) => Err(InputError::file(self.blob.path(), "its samples have no elements")),
            _ if self.samples() == 0 => Err(InputError::file(self.blob.path(), "it has no samples")),
            _ => Err(InputError::file(
                self.blob.path(),
                format!(
                    "it is cut off: {} bytes are not enough for the shape {:?}",
                    self.blob.length(),
                    self.shape
                ),
            )),
        }
    }
}

impl Arrays {
    /// Arrays with their names and what they seem to be for.
    pub fn new(named: Vec<(String, Option<FieldKind>, Array)>) -> Result<Self, InputError> {
        let mut count: Option<usize> = None;
        let (mut columns, mut arrays) = (Vec::new(), Vec::new());
        for (name, role, array) in named {
            array.row_bytes()?;
            let samples = array.samples();
            if let Some(count) = count.filter(|count| *count != samples) {
                let problem = format!("`{name}` has {samples} samples, where another array has {count}");
                return Err(InputError::file(array.blob.path(), problem));
            }
            count = Some(samples);
            let numbers = Numbers::new(array.element, array.shape[1..].to_vec());
            columns.push(Column::new(name, role, Content::Numbers(numbers)));
            arrays.push(array);
        }
        Ok(Self { columns, arrays, count: count.unwrap_or(0) })
    }

    fn row(&self, array: &Array, sample: usize, room: &mut Room) -> Result<usize, InputError> {
        let row = array.row_bytes()?;
        room.fit(Sizes { file: row, ..Sizes::default() }, &|| self.place(sample))?;
        let length = row as usize;
        let read = room
            .timed(Stage::Read, |room| array.blob.read(array.start + sample as u64 * row, room.file(length)));
        read?;
        if array.is_big_endian {
            room.file[..length].chunks_exact_mut(array.element.bytes()).for_each(<[u8]>::reverse);
        }
        Ok(length)
    }
}

impl Source for Arrays {
    fn count(&self) -> usize {
        self.count
    }

    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn read(&self, sample: usize, column: usize, room: &mut Room) -> Result<Datum, InputError> {
        Ok(Datum::Numbers(self.row(&self.arrays[column], sample, room)?))
    }

    fn place(&self, sample: usize) -> String {
        let path =
            self.arrays.first().map(|array| array.blob.path().display().to_string()).unwrap_or_default();
        format!("{path}, sample {sample}")
    }
}
