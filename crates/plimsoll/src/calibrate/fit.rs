//! Prices that explain measured times: least squares of relative errors, with no price below zero.

use plimsoll_plan::{Cost, Effort};

/// How many prices there are.
const TERMS: usize = 4;

/// What an op took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) effort: Effort,
    pub(super) seconds: f64,
}

/// The prices with the smallest sum of squared relative errors. There are so few terms that every choice of those that
/// are not zero can be tried; the best choice without a negative price is the answer.
pub(super) fn fit(measured: &[Measured]) -> Cost {
    let rows: Vec<[f64; TERMS]> =
        measured.iter().map(|one| one.effort.terms().map(|quantity| quantity / one.seconds)).collect();
    // The first term, an op's own price, is never alone: larger ops always take longer.
    let choices = (2..1usize << TERMS).filter_map(|choice| solve(&rows, choice));
    let best = choices.min_by(|a, b| error(&rows, a).total_cmp(&error(&rows, b)));
    Cost::from_prices(best.unwrap_or_default())
}

/// The sum of squared relative errors: every row should come to 1.
fn error(rows: &[[f64; TERMS]], prices: &[f64; TERMS]) -> f64 {
    let predicted = |row: &[f64; TERMS]| row.iter().zip(prices).map(|(x, price)| x * price).sum::<f64>();
    rows.iter().map(|row| (predicted(row) - 1.0).powi(2)).sum()
}

/// Least squares with the terms of a choice (a set of bits), by the normal equations; nothing if they do not determine
/// the prices or a price is negative.
fn solve(rows: &[[f64; TERMS]], choice: usize) -> Option<[f64; TERMS]> {
    let chosen: Vec<usize> = (0..TERMS).filter(|term| choice >> term & 1 == 1).collect();
    let dot = |a: usize, b: usize| rows.iter().map(|row| row[a] * row[b]).sum::<f64>();
    // Columns are scaled to length 1, since a flop and an op differ by many powers of ten.
    let lengths: Vec<f64> = chosen.iter().map(|&term| dot(term, term).sqrt()).collect();
    if lengths.contains(&0.0) {
        return None;
    }
    let mut system = Vec::with_capacity(chosen.len());
    for (&term, length) in chosen.iter().zip(&lengths) {
        let products = chosen.iter().zip(&lengths).map(|(&other, its)| dot(term, other) / length / its);
        let wanted = rows.iter().map(|row| row[term]).sum::<f64>() / length;
        system.push(products.chain([wanted]).collect::<Vec<f64>>());
    }
    let scaled = eliminate(&mut system)?;
    let mut prices = [0.0; TERMS];
    for (i, &term) in chosen.iter().enumerate() {
        prices[term] = scaled[i] / lengths[i];
    }
    prices.iter().all(|price| *price >= 0.0).then_some(prices)
}

/// Solves a small symmetric system, given with its right side as the last column.
fn eliminate(system: &mut [Vec<f64>]) -> Option<Vec<f64>> {
    let size = system.len();
    for pivot in 0..size {
        if system[pivot][pivot] < 1e-9 {
            return None;
        }
        let head = system[pivot].clone();
        for row in system.iter_mut().skip(pivot + 1) {
            let factor = row[pivot] / head[pivot];
            row.iter_mut().zip(&head).for_each(|(x, head)| *x -= factor * head);
        }
    }
    let mut solution = vec![0.0; size];
    for i in (0..size).rev() {
        let known: f64 = (i + 1..size).map(|j| system[i][j] * solution[j]).sum();
        solution[i] = (system[i][size] - known) / system[i][i];
    }
    Some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(cost: &Cost, flops: f64, cached_bytes: f64, memory_bytes: f64) -> Measured {
        let effort = Effort { flops, cached_bytes, memory_bytes };
        Measured { effort, seconds: cost.seconds(&effort) }
    }

    #[test]
    fn prices_that_made_the_times_are_found_again() {
        let cost = Cost { op: 2e-6, flop: 1e-11, cached_byte: 0.0, memory_byte: 1e-10 };
        let times = [(1e3, 1e3, 0.0), (1e9, 1e6, 1e4), (1e7, 2e6, 6e7), (1e8, 1e5, 1e6), (1e5, 3e5, 1e5)];
        let times: Vec<Measured> = times.iter().map(|&(f, c, m)| measured(&cost, f, c, m)).collect();
        let found = fit(&times);
        for (found, made) in found.prices().iter().zip(cost.prices()) {
            assert!((found - made).abs() <= 1e-6 * made + 1e-20, "{found} for {made}");
        }
    }

    #[test]
    fn no_price_is_negative() {
        // Larger ops that take less time would need one.
        let effort = |flops: f64| Effort { flops, cached_bytes: flops, memory_bytes: 0.0 };
        let times = [(1e6, 3e-3), (2e6, 2e-3), (3e6, 1e-3)];
        let times = times.map(|(flops, seconds)| Measured { effort: effort(flops), seconds });
        let found = fit(&times);
        assert!(found.prices().iter().all(|price| *price >= 0.0), "{found:?}");
        assert!(found.seconds(&effort(2e6)) > 0.0);
    }

    #[test]
    fn one_time_is_explained() {
        let effort = Effort { flops: 0.0, cached_bytes: 4096.0, memory_bytes: 0.0 };
        let found = fit(&[Measured { effort, seconds: 1e-5 }]);
        assert!((found.seconds(&effort) - 1e-5).abs() < 1e-8);
    }
}
