//! The CPU kernel of images seen through a projective map: a line of the result at a time.

use super::{Call, CpuKernel, KernelError};
use plimsoll_graph::op::{Interpolation, Outside, Warp};
use rayon::prelude::*;

impl CpuKernel for Warp {
    fn run(&self, call: Call<'_>) -> Result<(), KernelError> {
        let ([x, map], [y]) = (call.inputs, call.outputs) else {
            unreachable!("the shape rule has checked the inputs")
        };
        let (size, channels) = ([x.shape()[1], x.shape()[2]], x.shape().last());
        let [rows, columns] = self.size;
        let (x, maps) = (x.f32(), map.f32());
        let pixels = size[0] * size[1] * channels;
        y.f32().par_chunks_mut((columns * channels).max(1)).enumerate().for_each(|(line, y)| {
            let (image, row) = (line / rows, line % rows);
            let (x, map) = (&x[image * pixels..][..pixels], &maps[image * 8..][..8]);
            let image = Image { x, size, channels };
            for (column, y) in y.chunks_exact_mut(channels).enumerate() {
                match place(map, row as f32, column as f32) {
                    Some(place) => image.read(self, place, y),
                    None => y.fill(fill(self.outside)),
                }
            }
        });
        Ok(())
    }
}

/// Where a new pixel looks, as row and column.
fn place(map: &[f32], row: f32, column: f32) -> Option<[f32; 2]> {
    let scale = map[6] * column + map[7] * row + 1.0;
    let along = |first: usize| (map[first] * column + map[first + 1] * row + map[first + 2]) / scale;
    (scale != 0.0).then(|| [along(3), along(0)])
}

/// What stands where there is nothing.
fn fill(outside: Outside) -> f32 {
    match outside {
        Outside::Constant(value) => value,
        Outside::Nearest | Outside::Reflect | Outside::Wrap => 0.0,
    }
}

struct Image<'a> {
    x: &'a [f32],
    size: [usize; 2],
    channels: usize,
}

impl Image<'_> {
    fn read(&self, op: &Warp, place: [f32; 2], y: &mut [f32]) {
        let row = inside(op.outside, place[0], self.size[0]);
        let column = inside(op.outside, place[1], self.size[1]);
        let fill = fill(op.outside);
        if op.interpolation == Interpolation::Nearest {
            let pixel = self.pixel(row.round(), column.round());
            y.iter_mut().enumerate().for_each(|(c, y)| *y = pixel.map_or(fill, |pixel| pixel[c]));
            return;
        }
        let (above, left) = (row.floor(), column.floor());
        let (down, right) = (row - above, column - left);
        let corners = [(0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)];
        let corners = corners.map(|(r, c)| self.pixel(above + r, left + c));
        for (c, y) in y.iter_mut().enumerate() {
            let [a, b, d, e] = corners.map(|pixel| pixel.map_or(fill, |pixel| pixel[c]));
            let upper = (1.0 - right) * a + right * b;
            let lower = (1.0 - right) * d + right * e;
            *y = (1.0 - down) * upper + down * lower;
        }
    }

    fn pixel(&self, row: f32, column: f32) -> Option<&[f32]> {
        let within = |at: f32, extent: usize| at >= 0.0 && at < extent as f32;
        if !(within(row, self.size[0]) && within(column, self.size[1])) {
            return None;
        }
        let pixel = row as usize * self.size[1] + column as usize;
        Some(&self.x[pixel * self.channels..][..self.channels])
    }
}

/// A place along an axis, moved into the image as TensorFlow's `MapCoordinate` does.
fn inside(outside: Outside, at: f32, extent: usize) -> f32 {
    let (length, last) = (extent as f32, extent as f32 - 1.0);
    let moved = match outside {
        Outside::Constant(_) => return at,
        _ if at.is_nan() => return at,
        Outside::Nearest => at,
        _ if (0.0..=last).contains(&at) => at,
        _ if extent <= 1 => 0.0,
        Outside::Reflect => {
            let period = 2.0 * length;
            if at < 0.0 {
                let near = period * (-at / period).trunc() + at;
                if near < -length { near + period } else { -near - 1.0 }
            } else {
                let near = at - period * (at / period).trunc();
                if near >= length { period - near - 1.0 } else { near }
            }
        }
        Outside::Wrap if at < 0.0 => at + length * ((-at / last).trunc() + 1.0),
        Outside::Wrap => at - length * (at / last).trunc(),
    };
    moved.clamp(0.0, last)
}
