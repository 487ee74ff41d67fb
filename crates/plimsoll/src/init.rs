//! How persistent values start: what their `Init` says, from a generator keyed by the seed and the value's position, so
//! that a value starts the same whatever else the model has.

use plimsoll_exec::philox::Philox;
use plimsoll_graph::{Init, Shape};

/// Fills a value as its description says.
pub(crate) fn fill(init: Init, shape: &Shape, seed: u64, stream: u64, into: &mut [f32]) {
    let mut random = Philox::new(seed, stream);
    match init {
        Init::Constant(value) => into.fill(value),
        Init::Uniform(limit) => into.iter_mut().for_each(|x| *x = limit * (2.0 * random.next_unit() - 1.0)),
        Init::TruncatedNormal(deviation) => {
            into.iter_mut().for_each(|x| *x = deviation * truncated_normal(&mut random));
        }
        Init::Orthogonal => {
            into.iter_mut().for_each(|x| *x = random.next_normal());
            orthonormalize(into, shape.rows(), shape.last());
        }
        Init::ForgetGateOnes => {
            let quarter = into.len() / 4;
            into.fill(0.0);
            into[quarter..2 * quarter].fill(1.0);
        }
    }
}

fn truncated_normal(random: &mut Philox) -> f32 {
    loop {
        let x = random.next_normal();
        if x.abs() < 2.0 {
            return x;
        }
    }
}

/// Makes the rows of a matrix orthonormal, or the columns if there are fewer of them (Gram and Schmidt, twice: the
/// second pass removes the rounding of the first).
fn orthonormalize(matrix: &mut [f32], rows: usize, columns: usize) {
    let (count, length, step, stride) =
        if rows <= columns { (rows, columns, columns, 1) } else { (columns, rows, 1, columns) };
    let at = |vector: usize, element: usize| vector * step + element * stride;
    for vector in 0..count {
        for _ in 0..2 {
            for other in 0..vector {
                let dot: f64 = (0..length)
                    .map(|i| f64::from(matrix[at(vector, i)]) * f64::from(matrix[at(other, i)]))
                    .sum();
                (0..length).for_each(|i| matrix[at(vector, i)] -= dot as f32 * matrix[at(other, i)]);
            }
        }
        let norm: f64 = (0..length).map(|i| f64::from(matrix[at(vector, i)]).powi(2)).sum::<f64>().sqrt();
        (0..length).for_each(|i| matrix[at(vector, i)] /= norm as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(init: Init, shape: [usize; 2]) -> Vec<f32> {
        let mut values = vec![f32::NAN; shape.iter().product()];
        fill(init, &shape.into(), 1, 2, &mut values);
        values
    }

    #[test]
    fn orthogonal_matrices_are() {
        for [rows, columns] in [[8, 32], [32, 8], [5, 5]] {
            let m = filled(Init::Orthogonal, [rows, columns]);
            let few = rows.min(columns);
            for a in 0..few {
                for b in 0..few {
                    let dot: f32 = match rows <= columns {
                        true => (0..columns).map(|i| m[a * columns + i] * m[b * columns + i]).sum(),
                        false => (0..rows).map(|i| m[i * columns + a] * m[i * columns + b]).sum(),
                    };
                    assert!(
                        (dot - f32::from(u8::from(a == b))).abs() < 1e-5,
                        "{rows}x{columns}: {a} {b} {dot}"
                    );
                }
            }
        }
    }

    #[test]
    fn random_values_have_the_spread_they_are_described_with() {
        let uniform = filled(Init::Uniform(0.5), [100, 100]);
        assert!(uniform.iter().all(|x| x.abs() <= 0.5));
        let spread =
            |values: &[f32]| (values.iter().map(|x| x * x).sum::<f32>() / values.len() as f32).sqrt();
        assert!((spread(&uniform) - 0.5 / 3f32.sqrt()).abs() < 0.01);
        let normal = filled(Init::TruncatedNormal(1.0), [100, 100]);
        assert!(normal.iter().all(|x| x.abs() < 2.0));
        // The deviation of a normal cut at two deviations is 0.8796.
        assert!((spread(&normal) - 0.8796).abs() < 0.02);
    }

    #[test]
    fn forget_gates_start_open() {
        assert_eq!(filled(Init::ForgetGateOnes, [1, 8]), [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]);
    }
}
