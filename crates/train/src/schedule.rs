//! Learning rates that change from step to step: Keras 3's schedules, in float32 as there.

use serde::{Deserialize, Serialize};

/// A learning rate as a function of the number of steps made before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // the fields are Keras's
pub enum Schedule {
    /// `initial rate^(step / steps)`
    Exponential { initial: f64, steps: f64, rate: f64, staircase: bool },
    /// `initial / (1 + rate step / steps)`
    InverseTime { initial: f64, steps: f64, rate: f64, staircase: bool },
    /// A value for each interval between boundaries, which belong to the interval before them.
    Piecewise { boundaries: Vec<f64>, values: Vec<f64> },
    /// `(initial - end)(1 - step / steps)^power + end`
    Polynomial { initial: f64, steps: f64, end: f64, power: f64, cycle: bool },
    /// Half a wave of a cosine from the initial rate to `alpha` of it, after a rise to a target where there is one.
    Cosine { initial: f64, steps: f64, alpha: f64, warmup: Option<(f64, f64)> },
    /// Such waves again and again, `longer` times as long and `lower` times as high as the one before.
    CosineRestarts { initial: f64, steps: f64, longer: f64, lower: f64, alpha: f64 },
}

impl Schedule {
    /// The learning rate after so many steps.
    pub fn at(&self, steps_made: u64) -> f32 {
        let step = steps_made as f32;
        match *self {
            Self::Exponential { initial, steps, rate, staircase } => {
                initial as f32 * (rate as f32).powf(share(step, steps, staircase))
            }
            Self::InverseTime { initial, steps, rate, staircase } => {
                initial as f32 / (1.0 + rate as f32 * share(step, steps, staircase))
            }
            Self::Piecewise { ref boundaries, ref values } => {
                // Keras casts boundaries to the type of the step, which is an integer.
                let passed =
                    boundaries.iter().filter(|&&boundary| steps_made as i128 > boundary as i128).count();
                values.get(passed).map_or(0.0, |&value| value as f32)
            }
            Self::Polynomial { initial, steps, end, power, cycle } => {
                polynomial(step, [initial, steps, end, power].map(|x| x as f32), cycle)
            }
            Self::Cosine { initial, steps, alpha, warmup } => {
                cosine(step, initial, steps as f32, alpha, warmup)
            }
            Self::CosineRestarts { initial, steps, longer, lower, alpha } => {
                restarts(step, [initial, steps, longer, lower, alpha].map(|x| x as f32))
            }
        }
    }
}

fn share(step: f32, steps: f64, staircase: bool) -> f32 {
    let share = step / steps as f32;
    if staircase { share.floor() } else { share }
}

fn polynomial(step: f32, [initial, steps, end, power]: [f32; 4], cycle: bool) -> f32 {
    let (step, steps) = match cycle {
        true => (step, steps * if step == 0.0 { 1.0 } else { (step / steps).ceil() }),
        false => (step.min(steps), steps),
    };
    (initial - end) * (1.0 - step / steps).powf(power) + end
}

fn cosine(step: f32, initial: f64, steps: f32, alpha: f64, warmup: Option<(f64, f64)>) -> f32 {
    let decayed = |step: f32, from: f64| {
        let wave = 0.5 * (1.0 + (std::f32::consts::PI * (step / steps)).cos());
        from as f32 * ((1.0 - alpha) as f32 * wave + alpha as f32)
    };
    let Some((target, rise)) = warmup else { return decayed(step.min(steps), initial) };
    let (rise, step) = (rise as f32, step.min(steps + rise as f32));
    match step < rise {
        true => (target as f32 - initial as f32) * (step / rise) + initial as f32,
        false => decayed(step - rise, target),
    }
}

fn restarts(step: f32, [initial, steps, longer, lower, alpha]: [f32; 5]) -> f32 {
    let share = step / steps;
    let (wave, share) = match longer == 1.0 {
        true => (share.floor(), share - share.floor()),
        false => {
            let wave = ((1.0 - share * (1.0 - longer)).ln() / longer.ln()).floor();
            let before = (1.0 - longer.powf(wave)) / (1.0 - longer);
            (wave, (share - before) / longer.powf(wave))
        }
    };
    let decayed = 0.5 * lower.powf(wave) * (1.0 + (std::f32::consts::PI * share).cos());
    initial * ((1.0 - alpha) * decayed + alpha)
}
