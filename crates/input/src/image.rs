//! Images: what a file says about itself, its pixels, and these in another size.
//!
//! JPEG by `zune-jpeg`, PNG by `png`, resizing by `fast_image_resize`: bilinear, with as wide a filter as the reduction
//! asks for, as Pillow does it and TensorFlow with `antialias=True`.

mod decode;
mod header;
mod render;

pub use header::{Format, Header, probe};
pub(crate) use render::{Frame, write};

use crate::room::Sizes;

/// The most pixels an image may have, whatever the memory: what says it has more is a bomb or no image.
pub const MOST_PIXELS: u64 = 1 << 30;

/// What decoding an image and resizing it takes, without the file itself.
pub(crate) fn sizes(header: &Header, frame: &Frame) -> Sizes {
    let (width, height) = (u64::from(header.width), u64::from(header.height));
    let deep = u64::from(header.bits / 8).max(1);
    let channels = header.most_channels();
    let pixels = width * height * channels * deep;
    let (rows, columns) = frame.stored(header.orientation);
    let (rows, columns) = (rows as u64, columns as u64);
    let between = (columns * height).max(width * rows) * channels * deep;
    let filters = 64 * (width + height + rows + columns);
    Sizes {
        file: 0,
        pixels,
        wide: if deep == 2 { pixels } else { 0 },
        resized: rows * columns * channels * deep,
        inner: header.decoder_bytes() + between + filters,
    }
}
