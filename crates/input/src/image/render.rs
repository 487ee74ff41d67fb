//! An image as a model wants it: turned, cut, resized, and its pixels as numbers.

use super::decode::decode;
use super::{Header, sizes};
use crate::augment::Draw;
use crate::room::{ImageRoom, Room, Stage, sized};
use crate::{InputError, Pixels};
use fast_image_resize::images::{TypedImage, TypedImageRef};
use fast_image_resize::pixels::{InnerPixel, U8, U8x3, U8x4, U16, U16x3, U16x4};
use fast_image_resize::{FilterType, PixelTrait, ResizeAlg, ResizeOptions, Resizer};

/// What an image becomes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Frame {
    pub(crate) height: usize,
    pub(crate) width: usize,
    /// 1, 3 or 4.
    pub(crate) channels: usize,
    pub(crate) pixels: Pixels,
}

impl Frame {
    /// Rows and columns before the image is turned.
    pub(super) fn stored(&self, orientation: u8) -> (usize, usize) {
        if orientation >= 5 { (self.width, self.height) } else { (self.height, self.width) }
    }
}

/// Writes the image in the room's file buffer: decoded, cut and changed as was drawn, resized to the frame.
pub(crate) fn write(
    room: &mut Room,
    file: usize,
    header: &Header,
    frame: &Frame,
    draw: &Draw,
    into: &mut [f32],
    place: &dyn Fn() -> String,
) -> Result<(), InputError> {
    let failed = |problem| InputError::sample(place(), problem);
    let channels =
        room.timed(Stage::Decode, |room| decode(&room.file[..file], header, frame.channels, &mut room.image));
    let channels = channels.map_err(failed)?;
    let resized =
        room.timed(Stage::Resize, |room| render(&mut room.image, header, channels, frame, draw, into));
    resized.map_err(failed)
}

/// What decoding and rendering takes beside the file; see [`sizes`].
fn render(
    room: &mut ImageRoom,
    header: &Header,
    channels: usize,
    frame: &Frame,
    draw: &Draw,
    into: &mut [f32],
) -> Result<(), String> {
    debug_assert!(sizes(header, frame).total().0 > 0);
    let turned = Turned::new(header.orientation, frame, draw.flip);
    let size = (header.width, header.height);
    let count = header.width as usize * header.height as usize * channels;
    let ImageRoom { pixels, wide, resized, resizer } = room;
    let stored = turned.rows * turned.columns * channels;
    if header.bits == 16 {
        let from: &[u16] = &wide[..count];
        let bytes = sized(resized, 2 * stored);
        let to: &mut [u16] = bytemuck::try_cast_slice_mut(bytes).map_err(|error| error.to_string())?;
        match channels {
            1 => resize::<U16, _>(resizer, from, to, size, &turned, draw)?,
            3 => resize::<U16x3, _>(resizer, from, to, size, &turned, draw)?,
            _ => resize::<U16x4, _>(resizer, from, to, size, &turned, draw)?,
        }
        turned.write(to, channels, frame, draw, 1.0 / 257.0, into);
        return Ok(());
    }
    let (from, to) = (&pixels[..count], sized(resized, stored));
    match channels {
        1 => resize::<U8, _>(resizer, from, to, size, &turned, draw)?,
        3 => resize::<U8x3, _>(resizer, from, to, size, &turned, draw)?,
        _ => resize::<U8x4, _>(resizer, from, to, size, &turned, draw)?,
    }
    turned.write(to, channels, frame, draw, 1.0, into);
    Ok(())
}

fn resize<P: PixelTrait + InnerPixel, T: bytemuck::Pod>(
    resizer: &mut Resizer,
    from: &[T],
    to: &mut [T],
    (width, height): (u32, u32),
    turned: &Turned,
    draw: &Draw,
) -> Result<(), String> {
    let failed = |error: &dyn std::fmt::Display| format!("the image cannot be resized: {error}");
    let source = TypedImageRef::<P>::from_buffer(width, height, bytemuck::cast_slice(from));
    let source = source.map_err(|error| failed(&error))?;
    let (columns, rows) = (turned.columns as u32, turned.rows as u32);
    let target = TypedImage::<P>::from_buffer(columns, rows, bytemuck::cast_slice_mut(to));
    let mut target = target.map_err(|error| failed(&error))?;
    let [left, top, wide, high] = draw.cut;
    let (width, height) = (f64::from(width), f64::from(height));
    let options = ResizeOptions::new()
        .resize_alg(ResizeAlg::Convolution(FilterType::Bilinear))
        .use_alpha(false)
        .crop(left * width, top * height, wide * width, high * height);
    resizer.resize_typed(&source, &mut target, &options).map_err(|error| failed(&error))
}

/// Where the pixels of a turned and perhaps mirrored image stand in the one that is not.
struct Turned {
    orientation: u8,
    /// Those before turning.
    rows: usize,
    columns: usize,
    is_mirrored: bool,
}

impl Turned {
    fn new(orientation: u8, frame: &Frame, is_mirrored: bool) -> Self {
        let (rows, columns) = frame.stored(orientation);
        Self { orientation, rows, columns, is_mirrored }
    }

    /// The place of a pixel before turning, by rows.
    fn place(&self, y: usize, x: usize) -> usize {
        let (last_row, last_column) = (self.rows - 1, self.columns - 1);
        let (row, column) = match self.orientation {
            2 => (y, last_column - x),
            3 => (last_row - y, last_column - x),
            4 => (last_row - y, x),
            5 => (x, y),
            6 => (last_row - x, y),
            7 => (last_row - x, last_column - y),
            8 => (x, last_column - y),
            _ => (y, x),
        };
        row * self.columns + column
    }

    /// Writes pixels as numbers: each channel on its line, grey as often as there are colours, alpha opaque where there
    /// is none.
    fn write<T: Copy + Into<f32>>(
        &self,
        from: &[T],
        channels: usize,
        frame: &Frame,
        draw: &Draw,
        unit: f32,
        into: &mut [f32],
    ) {
        let lines: Vec<(f32, f32)> = (0..frame.channels).map(|channel| frame.pixels.line(channel)).collect();
        let is_plain = self.orientation == 1 && !self.is_mirrored && !draw.changes_colours();
        if is_plain && channels == frame.channels {
            for (into, from) in into.chunks_exact_mut(channels).zip(from.chunks_exact(channels)) {
                for ((into, &from), (factor, summand)) in into.iter_mut().zip(from).zip(&lines) {
                    *into = from.into() * unit * factor + summand;
                }
            }
            return;
        }
        let mean = draw.mean_of(from, channels, unit);
        for (at, into) in into.chunks_exact_mut(frame.channels).enumerate() {
            let (y, x) = (at / frame.width, at % frame.width);
            let x = if self.is_mirrored { frame.width - 1 - x } else { x };
            let place = self.place(y, x) * channels;
            let pixel = draw.changed(spread(&from[place..place + channels], unit), mean);
            for ((into, value), (factor, summand)) in into.iter_mut().zip(pixel).zip(&lines) {
                *into = value * factor + summand;
            }
        }
    }
}

/// A pixel as red, green, blue and alpha.
fn spread<T: Copy + Into<f32>>(pixel: &[T], unit: f32) -> [f32; 4] {
    let of = |channel: usize| pixel[channel].into() * unit;
    match pixel.len() {
        1 => [of(0), of(0), of(0), 255.0],
        3 => [of(0), of(1), of(2), 255.0],
        _ => [of(0), of(1), of(2), of(3)],
    }
}
