//! NumPy's files: `.npy` has one array, `.npz` is a zip of several. (NumPy enhancement proposal 1.)

use super::{Array, Number};
use crate::{Account, Blob, InputError};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;
use zip::{CompressionMethod, ZipArchive};

/// No header is longer: it says a type, an order and a shape.
const LONGEST_HEADER: usize = 64 << 10;

/// No archive has more arrays.
const MOST_ARRAYS: usize = 256;

/// The array in a `.npy` file.
pub(crate) fn open(blob: Blob) -> Result<Array, InputError> {
    let failed = |problem: &str| InputError::file(blob.path(), problem);
    let mut start = [0; 12];
    let read = blob.read_some(0, &mut start)?;
    if read < 10 || start[..6] != *b"\x93NUMPY" {
        return Err(failed("it is no array of NumPy"));
    }
    let (offset, length) = match start[6] {
        1 => (10, usize::from(u16::from_le_bytes([start[8], start[9]]))),
        2 | 3 => (12, u32::from_le_bytes([start[8], start[9], start[10], start[11]]) as usize),
        version => return Err(failed(&format!("version {version} of NumPy's form is not known"))),
    };
    if length > LONGEST_HEADER {
        return Err(failed("its header is too long"));
    }
    let mut header = vec![0; length];
    blob.read(offset, &mut header)?;
    let header = String::from_utf8_lossy(&header).into_owned();
    let Some(described) = describe(&header) else {
        return Err(failed(&format!("its header cannot be read: {}", header.trim())));
    };
    let Described { kind, is_fortran, shape } = described;
    let Some((element, is_big_endian)) = number(&kind) else {
        let hint = "save it as numbers: float32, int32, uint8, ...";
        return Err(InputError::file_with(blob.path(), format!("it has elements of type `{kind}`"), hint));
    };
    if is_fortran && shape.len() > 1 {
        let problem = "its columns lie together (Fortran order), so its samples do not";
        return Err(InputError::file_with(blob.path(), problem, "save np.ascontiguousarray(...) of it"));
    }
    let array = Array { start: offset + length as u64, blob, element, is_big_endian, shape };
    array.row_bytes().map(|_| array)
}

/// The arrays of a `.npz` file with their names. What is stored is read in place; what is packed is unpacked into
/// memory, if there is room for it.
pub(crate) fn open_all(path: &Path, account: &Arc<Account>) -> Result<Vec<(String, Array)>, InputError> {
    let count = archive(path)?.len();
    if count > MOST_ARRAYS {
        return Err(InputError::file(path, format!("it has {count} files; an archive of arrays has fewer")));
    }
    (0..count).map(|member| open_member(path, member, account)).collect()
}

fn open_member(path: &Path, member: usize, account: &Arc<Account>) -> Result<(String, Array), InputError> {
    let failed = |error| InputError::file(path, format!("it is a damaged archive: {error}"));
    let mut archive = archive(path)?;
    let file = archive.by_index(member).map_err(failed)?;
    let name = file.name().map_err(failed)?.trim_end_matches(".npy").to_string();
    let method = file.compression();
    let (start, length) = (file.data_start(), file.size());
    drop(file);
    let blob = match (method, start) {
        (CompressionMethod::Stored, Some(start)) => Blob::part(path, start, length)?,
        _ => Blob::unpack(path, account, |work| {
            let mut archive = self::archive(path)?;
            let mut file = archive.by_index(member).map_err(failed)?;
            Ok(work(&mut file))
        })?,
    };
    let array = open(blob).map_err(|error| match error {
        InputError::File { path, problem, hint } => {
            InputError::File { path: format!("{path}, `{name}`"), problem, hint }
        }
        other => other,
    })?;
    Ok((name, array))
}

fn archive(path: &Path) -> Result<ZipArchive<BufReader<File>>, InputError> {
    let file = crate::blob::open_file(path)?;
    ZipArchive::new(BufReader::new(file))
        .map_err(|error| InputError::file(path, format!("it is no archive: {error}")))
}

struct Described {
    kind: String,
    is_fortran: bool,
    shape: Vec<usize>,
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
fn describe(header: &str) -> Option<Described> {
    let after = |key: &str| {
        let rest = &header[header.find(key)? + key.len()..];
        Some(rest.trim_start().strip_prefix(':')?.trim_start())
    };
    let kind = after("'descr'")?.strip_prefix('\'')?.split('\'').next()?.to_string();
    let is_fortran = after("'fortran_order'")?.starts_with("True");
    let shape = after("'shape'")?.strip_prefix('(')?.split(')').next()?;
    let extents = shape.split(',').map(str::trim).filter(|extent| !extent.is_empty());
    let shape = extents.map(|extent| extent.trim_end_matches('L').parse().ok()).collect::<Option<_>>()?;
    Some(Described { kind, is_fortran, shape })
}

/// The type of an element, and whether its high byte comes first.
fn number(kind: &str) -> Option<(Number, bool)> {
    let element = match kind.trim_start_matches(['<', '>', '|', '=']) {
        "b1" | "?" => Number::Bool,
        "u1" | "B" => Number::U8,
        "i1" | "b" => Number::I8,
        "u2" => Number::U16,
        "i2" => Number::I16,
        "u4" => Number::U32,
        "i4" => Number::I32,
        "u8" => Number::U64,
        "i8" => Number::I64,
        "f2" => Number::F16,
        "f4" => Number::F32,
        "f8" => Number::F64,
        _ => return None,
    };
    Some((element, kind.starts_with('>') && element.bytes() > 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_read() {
        let described =
            describe("{'descr': '>i2', 'fortran_order': False, 'shape': (60000, 28, 28), }  \n").unwrap();
        assert_eq!((described.shape, described.is_fortran), (vec![60000, 28, 28], false));
        assert_eq!(number(&described.kind), Some((Number::I16, true)));
        assert_eq!(describe("{'descr': '<f4', 'fortran_order': True, 'shape': (5,), }").unwrap().shape, [5]);
        assert!(describe("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (5,), }").is_none());
        assert!(describe("").is_none() && describe("{'shape': (-1,)}").is_none());
        assert_eq!(number("<U7"), None);
    }
}
