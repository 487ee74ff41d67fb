//! Images seen through a projective map, from the definition.

use super::conv2d::triples;
use super::{Meaning, Tensor};
use plimsoll_graph::op::{Interpolation, Outside, Warp};

impl Meaning for Warp {
    fn run(&self, inputs: &[&Tensor]) -> Vec<Vec<f64>> {
        let [x, maps] = inputs else { unreachable!("the shape rule has checked the inputs") };
        let [n, h, w, c] = x.extents();
        let mut y = Vec::new();
        for (image, row, column) in triples(n, self.size[0], self.size[1]) {
            let m: Vec<f64> = (0..8).map(|i| maps.at([image, i])).collect();
            let (row, column) = (row as f64, column as f64);
            let scale = m[6] * column + m[7] * row + 1.0;
            let from_column = (m[0] * column + m[1] * row + m[2]) / scale;
            let from_row = (m[3] * column + m[4] * row + m[5]) / scale;
            let place = [inside(self.outside, from_row, h), inside(self.outside, from_column, w)];
            for channel in 0..c {
                let fill = if let Outside::Constant(value) = self.outside { f64::from(value) } else { 0.0 };
                let pixel = |row: f64, column: f64| {
                    let within = row >= 0.0 && row < h as f64 && column >= 0.0 && column < w as f64;
                    if within { x.at([image, row as usize, column as usize, channel]) } else { fill }
                };
                y.push(if scale == 0.0 { fill } else { interpolated(self.interpolation, place, pixel) });
            }
        }
        vec![y]
    }
}

fn interpolated(how: Interpolation, [row, column]: [f64; 2], pixel: impl Fn(f64, f64) -> f64) -> f64 {
    if how == Interpolation::Nearest {
        return pixel(row.round(), column.round());
    }
    let (down, right) = (row - row.floor(), column - column.floor());
    let line =
        |row: f64| (1.0 - right) * pixel(row, column.floor()) + right * pixel(row, column.floor() + 1.0);
    (1.0 - down) * line(row.floor()) + down * line(row.floor() + 1.0)
}

/// `MapCoordinate` of TensorFlow, word for word.
fn inside(outside: Outside, at: f64, extent: usize) -> f64 {
    let length = extent as f64;
    let last = length - 1.0;
    let alone = extent <= 1;
    let mut place = at;
    match outside {
        Outside::Constant(_) => return at,
        Outside::Nearest => {}
        Outside::Reflect | Outside::Wrap if alone => {}
        Outside::Reflect => {
            let twice = 2.0 * length;
            if place < 0.0 {
                place = twice * (-place / twice).trunc() + place;
                place = if place < -length { place + twice } else { -place - 1.0 };
            } else if place > last {
                place -= twice * (place / twice).trunc();
                if place >= length {
                    place = twice - place - 1.0;
                }
            }
        }
        Outside::Wrap => {
            if place < 0.0 {
                place += length * ((-place / last).trunc() + 1.0);
            } else if place > last {
                place -= length * (place / last).trunc();
            }
        }
    }
    place.clamp(0.0, last)
}
