//! Pixels out of a file's bytes.

use super::{Format, Header};
use crate::room::{ImageRoom, sized};
use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;

/// The channels that were decoded into the room: into `pixels`, or with 16 bits into `wide`.
pub(super) fn decode(
    bytes: &[u8],
    header: &Header,
    wanted: usize,
    room: &mut ImageRoom,
) -> Result<usize, String> {
    let channels = match header.format {
        Format::Jpeg => jpeg(bytes, header, wanted, room)?,
        Format::Png => png(bytes, header, room)?,
    };
    let pixels = header.width as usize * header.height as usize;
    Ok(match header.bits {
        16 => fewer(&mut room.wide[..pixels * channels], channels, wanted),
        _ => fewer(&mut room.pixels[..pixels * channels], channels, wanted),
    })
}

fn jpeg(bytes: &[u8], header: &Header, wanted: usize, room: &mut ImageRoom) -> Result<usize, String> {
    // The decoder makes up what is missing; somebody who trains wants to know.
    let scan = bytes.get(header.scan as usize..).unwrap_or_default();
    if memchr::memmem::rfind(scan, &[0xff, 0xd9]).is_none() {
        return Err("the JPEG is cut off".to_string());
    }
    let (colours, channels) = match (header.channels, wanted) {
        (1, _) | (3, 1) => (ColorSpace::Luma, 1),
        _ => (ColorSpace::RGB, 3),
    };
    let options = DecoderOptions::default().jpeg_set_out_colorspace(colours);
    let most = usize::from(u16::MAX);
    let options = options.set_max_width(most).set_max_height(most);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    let failed = |error| format!("the JPEG is damaged: {error:?}");
    decoder.decode_headers().map_err(failed)?;
    let size = header.width as usize * header.height as usize * channels;
    if decoder.output_buffer_size() != Some(size) {
        return Err("the JPEG is damaged: it says two sizes".to_string());
    }
    decoder.decode_into(sized(&mut room.pixels, size)).map_err(failed)?;
    Ok(channels)
}

fn png(bytes: &[u8], header: &Header, room: &mut ImageRoom) -> Result<usize, String> {
    let limits = png::Limits { bytes: header.decoder_bytes() as usize };
    let mut decoder = png::Decoder::new_with_limits(std::io::Cursor::new(bytes), limits);
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(png::Transformations::EXPAND);
    let failed = |error| format!("the PNG is damaged: {error}");
    let mut reader = decoder.read_info().map_err(failed)?;
    let (colours, depth) = reader.output_color_type();
    let channels = colours.samples();
    let pixels = header.width as usize * header.height as usize;
    let deep = if depth == png::BitDepth::Sixteen { 2 } else { 1 };
    let size = pixels * channels * deep;
    let is_as_said = reader.output_buffer_size() == Some(size)
        && channels as u64 <= header.most_channels()
        && (deep == 2) == (header.bits == 16);
    if !is_as_said {
        return Err("the PNG is damaged: it says two sizes".to_string());
    }
    reader.next_frame(sized(&mut room.pixels, size)).map_err(failed)?;
    if deep == 2 {
        let wide = sized(&mut room.wide, pixels * channels);
        for (wide, bytes) in wide.iter_mut().zip(room.pixels[..size].chunks_exact(2)) {
            *wide = u16::from_be_bytes([bytes[0], bytes[1]]);
        }
    }
    Ok(channels)
}

/// Leaves out channels that nobody wants, in place: alpha, or colours where grey is wanted.
fn fewer<T: Copy + Into<u32> + TryFrom<u32>>(pixels: &mut [T], channels: usize, wanted: usize) -> usize {
    let left = match (channels, wanted) {
        (2, _) | (3 | 4, 1) => 1,
        (4, 3) => 3,
        _ => return channels,
    };
    for pixel in 0..pixels.len() / channels {
        let at = pixel * channels;
        if left == 1 && channels > 2 {
            pixels[pixel] = grey([pixels[at], pixels[at + 1], pixels[at + 2]]);
            continue;
        }
        pixels.copy_within(at..at + left, pixel * left);
    }
    left
}

/// How bright a colour is, with the weights of ITU-R 601 as Pillow has them.
fn grey<T: Copy + Into<u32> + TryFrom<u32>>(colours: [T; 3]) -> T {
    let [red, green, blue] = colours.map(|colour| u64::from(colour.into()));
    let mixed = (19_595 * red + 38_470 * green + 7_471 * blue + 0x8000) >> 16;
    T::try_from(mixed as u32).unwrap_or(colours[0])
}
