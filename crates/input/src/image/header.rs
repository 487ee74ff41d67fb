//! What an image file says about itself, found without reading all of it.

/// What an image file says about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What it is packed as.
    pub format: Format,
    /// Pixels in a row, as stored.
    pub width: u32,
    /// Rows, as stored.
    pub height: u32,
    /// Channels, as stored; a palette has three.
    pub channels: u8,
    /// Bits a channel: 8, or 16.
    pub bits: u8,
    /// How it is to be turned, from 1 (not at all) to 8, as EXIF has it.
    pub orientation: u8,
    /// Whether its decoder needs all coefficients at once.
    is_whole: bool,
    /// Where its pixels begin.
    pub(super) scan: u64,
}

/// What an image is packed as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// JPEG.
    Jpeg,
    /// PNG.
    Png,
}

/// Reads exactly so many bytes at an offset, or says that it cannot.
pub(crate) type Read<'a> = dyn Fn(u64, &mut [u8]) -> Result<(), String> + 'a;

/// No file has more segments before its pixels; each costs a look.
const MOST_SEGMENTS: usize = 4096;

const PNG: [u8; 8] = *b"\x89PNG\r\n\x1a\n";

/// Finds out what an image is. What is found is checked: there are pixels, and no more than an image can have.
pub fn probe(read: &Read<'_>) -> Result<Header, String> {
    let mut start = [0; 8];
    read(0, &mut start[..3])?;
    let header = match start {
        [0xff, 0xd8, 0xff, ..] => jpeg(read)?,
        [0x89, b'P', b'N', ..] => {
            read(0, &mut start)?;
            png(start, read)?
        }
        _ => return Err(format!("it is neither JPEG nor PNG{}", looks_like(&start))),
    };
    let pixels = u64::from(header.width) * u64::from(header.height);
    match pixels {
        0 => Err("the image has no pixels".to_string()),
        1..=super::MOST_PIXELS => Ok(header),
        _ => Err(format!("the image says it has {} x {} pixels", header.width, header.height)),
    }
}

impl Header {
    /// How much memory it takes to decode, next to others.
    pub(crate) fn demand(&self) -> u64 {
        let pixels = u64::from(self.width) * u64::from(self.height) * self.most_channels();
        pixels * u64::from(self.bits / 8) * 2 + self.decoder_bytes()
    }

    /// The most channels that its decoder gives.
    pub(super) fn most_channels(&self) -> u64 {
        match (self.format, self.channels) {
            (Format::Jpeg, 1) => 1,
            (Format::Jpeg, _) => 3,
            (Format::Png, 1 | 2) => 2,
            (Format::Png, _) => 4,
        }
    }

    /// What its decoder takes inside, at most.
    pub(super) fn decoder_bytes(&self) -> u64 {
        let (width, height) = (u64::from(self.width), u64::from(self.height));
        let padded = |side: u64| side.next_multiple_of(32);
        let base = 512 << 10;
        match (self.format, self.is_whole) {
            (Format::Jpeg, true) => base + 2 * 4 * padded(width) * padded(height) + 1024 * padded(width),
            (Format::Jpeg, false) => base + 1024 * padded(width),
            (Format::Png, _) => base + 8 * u64::from(self.bits.max(8)) * width,
        }
    }
}

fn jpeg(read: &Read<'_>) -> Result<Header, String> {
    let (mut offset, mut orientation, mut frame) = (2, 1, None);
    for _ in 0..MOST_SEGMENTS {
        let mut head = [0; 4];
        read(offset, &mut head)?;
        if head[0] != 0xff {
            return Err("the JPEG is damaged: a marker is missing".to_string());
        }
        let length = u64::from(u16::from_be_bytes([head[2], head[3]]));
        match head[1] {
            // Markers may be preceded by any number of these.
            0xff => {
                offset += 1;
                continue;
            }
            0xc0..=0xc2 => frame = Some((read_frame(read, offset)?, head[1] == 0xc2)),
            0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Err("the JPEG is lossless, hierarchical or arithmetically coded, which is not read"
                    .to_string());
            }
            0xe1 if orientation == 1 => orientation = exif(read, offset + 4, length.saturating_sub(2)),
            0xda => return scan(read, offset, frame, orientation),
            0xd9 => break,
            _ => {}
        }
        offset += 2 + length.max(2);
    }
    Err("the JPEG has no pixels".to_string())
}

type JpegFrame = (u32, u32, u8);

/// Width, height and components.
fn read_frame(read: &Read<'_>, offset: u64) -> Result<JpegFrame, String> {
    let mut frame = [0; 6];
    read(offset + 4, &mut frame)?;
    let [bits, high, low, wide, narrow, components] = frame;
    let sides = [u16::from_be_bytes([wide, narrow]), u16::from_be_bytes([high, low])];
    match (bits, components) {
        (8, 1 | 3 | 4) => Ok((sides[0].into(), sides[1].into(), components)),
        (8, _) => Err(format!("the JPEG has {components} components")),
        _ => Err(format!("the JPEG has {bits} bits a channel, which is not read")),
    }
}

fn scan(
    read: &Read<'_>,
    offset: u64,
    frame: Option<(JpegFrame, bool)>,
    orientation: u8,
) -> Result<Header, String> {
    let ((width, height, channels), is_progressive) = frame.ok_or("the JPEG is damaged: it has no frame")?;
    let mut components = [0];
    read(offset + 4, &mut components)?;
    let is_whole = is_progressive || channels == 4 || components[0] != channels;
    Ok(Header { format: Format::Jpeg, width, height, channels, bits: 8, orientation, is_whole, scan: offset })
}

/// The orientation in an EXIF segment; 1 where there is none or it makes no sense, as viewers do it.
fn exif(read: &Read<'_>, offset: u64, length: u64) -> u8 {
    let mut segment = vec![0; length as usize];
    let found =
        read(offset, &mut segment).ok().and_then(|()| tiff_orientation(segment.strip_prefix(b"Exif\0\0")?));
    found.filter(|turn| (1..=8).contains(turn)).unwrap_or(1)
}

fn tiff_orientation(tiff: &[u8]) -> Option<u8> {
    let is_little = match tiff.get(..2)? {
        b"II" => true,
        b"MM" => false,
        _ => return None,
    };
    let word = |at: usize| {
        let bytes = tiff.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if is_little { u16::from_le_bytes(bytes) } else { u16::from_be_bytes(bytes) })
    };
    let long = |at: usize| {
        let bytes = tiff.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) } as usize)
    };
    let directory = long(4)?;
    let entries = usize::from(word(directory)?);
    let entry = |number: usize| directory.checked_add(2 + 12 * number);
    let at = (0..entries).filter_map(entry).find(|&at| word(at) == Some(0x0112))?;
    u8::try_from(word(at.checked_add(8)?)?).ok()
}

fn png(start: [u8; 8], read: &Read<'_>) -> Result<Header, String> {
    let mut chunk = [0; 18];
    read(8, &mut chunk)?;
    if start != PNG || chunk[4..8] != *b"IHDR" {
        return Err("the PNG is damaged: it has no header".to_string());
    }
    let side = |at: usize| u32::from_be_bytes(chunk[at..at + 4].try_into().expect("four bytes"));
    let channels = match chunk[17] {
        0 => 1,
        2 | 3 => 3,
        4 => 2,
        6 => 4,
        other => return Err(format!("the PNG is damaged: there is no colour type {other}")),
    };
    let bits = if chunk[16] == 16 { 16 } else { 8 };
    let (width, height) = (side(8), side(12));
    Ok(Header {
        format: Format::Png,
        width,
        height,
        channels,
        bits,
        orientation: 1,
        is_whole: false,
        scan: 0,
    })
}

/// What people take for images that can be read.
fn looks_like(start: &[u8]) -> &'static str {
    match start {
        [b'G', b'I', b'F', ..] => " but GIF",
        [b'B', b'M', ..] => " but BMP",
        [b'R', b'I', b'F', ..] => " but WebP",
        [b'I', b'I', ..] | [b'M', b'M', ..] => " but TIFF",
        [b'<', ..] => " but HTML or SVG",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: &[u8]) -> Result<Header, String> {
        probe(&|offset, into| {
            let start = usize::try_from(offset).unwrap();
            let from = bytes.get(start..start + into.len()).ok_or("it is cut off")?;
            into.copy_from_slice(from);
            Ok(())
        })
    }

    #[test]
    fn orientations_are_found_in_both_byte_orders() {
        let little =
            b"II*\0\x08\0\0\0\x02\0\x0f\x01\x02\0\x01\0\0\0\0\0\0\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0";
        assert_eq!(tiff_orientation(little), Some(6));
        let big = b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0";
        assert_eq!(tiff_orientation(big), Some(8));
        assert_eq!(tiff_orientation(b"II*\0\xff\xff\xff\xff"), None);
        assert_eq!(tiff_orientation(b""), None);
    }

    #[test]
    fn what_is_no_image_is_told() {
        assert_eq!(of(b"GIF89a..").unwrap_err(), "it is neither JPEG nor PNG but GIF");
        assert_eq!(of(b"").unwrap_err(), "it is cut off");
        let bomb = [&PNG[..], b"\0\0\0\rIHDR\xff\xff\xff\xff\xff\xff\xff\xff\x08\x02"].concat();
        assert_eq!(of(&bomb).unwrap_err(), "the image says it has 4294967295 x 4294967295 pixels");
        // Segments without end.
        let endless = [&[0xff, 0xd8][..], &[0xff, 0xe0, 0, 0].repeat(10_000)].concat();
        assert_eq!(of(&endless).unwrap_err(), "the JPEG has no pixels");
    }
}
