//! Keras's learning-rate schedules.

use super::numbers::Numbers;
use plimsoll_import::keras::Setting;
use plimsoll_train::Schedule;

/// The schedule that a setting names, or why it cannot be used.
pub(super) fn schedule(setting: &Setting) -> Result<Schedule, String> {
    let numbers = Numbers { setting, what: "learning-rate schedule" };
    let initial = || numbers.number("initial_learning_rate", 0.001);
    let steps = |key: &str| match numbers.optional(key)? {
        Some(steps) if steps > 0.0 => Ok(steps),
        _ => Err(format!("the learning-rate schedule {} has no {key}", setting.name)),
    };
    let rate = || numbers.number("decay_rate", 1.0);
    let known: &[&str] = match setting.name.as_str() {
        "exponential_decay" | "inverse_time_decay" => {
            &["initial_learning_rate", "decay_steps", "decay_rate", "staircase"]
        }
        "piecewise_constant_decay" => &["boundaries", "values"],
        "polynomial_decay" => {
            &["initial_learning_rate", "decay_steps", "end_learning_rate", "power", "cycle"]
        }
        "cosine_decay" => &["initial_learning_rate", "decay_steps", "alpha", "warmup_target", "warmup_steps"],
        "cosine_decay_restarts" => &["initial_learning_rate", "first_decay_steps", "t_mul", "m_mul", "alpha"],
        other => return Err(format!("the learning-rate schedule {other} is not supported")),
    };
    numbers.only(&[known, &["name"]].concat())?;
    let (staircase, alpha) = (numbers.flag("staircase", false)?, numbers.number("alpha", 0.0)?);
    Ok(match setting.name.as_str() {
        "exponential_decay" => Schedule::Exponential {
            initial: initial()?,
            steps: steps("decay_steps")?,
            rate: rate()?,
            staircase,
        },
        "inverse_time_decay" => Schedule::InverseTime {
            initial: initial()?,
            steps: steps("decay_steps")?,
            rate: rate()?,
            staircase,
        },
        "piecewise_constant_decay" => {
            let (boundaries, values) = (numbers.list("boundaries")?, numbers.list("values")?);
            if values.len() != boundaries.len() + 1 || boundaries.is_empty() {
                return Err("the learning-rate schedule has no value for each interval".to_string());
            }
            Schedule::Piecewise { boundaries, values }
        }
        "polynomial_decay" => Schedule::Polynomial {
            initial: initial()?,
            steps: steps("decay_steps")?,
            end: numbers.number("end_learning_rate", 0.0001)?,
            power: numbers.number("power", 1.0)?,
            cycle: numbers.flag("cycle", false)?,
        },
        "cosine_decay" => {
            let target = numbers.optional("warmup_target")?;
            let warmup = target.map(|target| Ok::<_, String>((target, numbers.number("warmup_steps", 0.0)?)));
            Schedule::Cosine {
                initial: initial()?,
                steps: steps("decay_steps")?,
                alpha,
                warmup: warmup.transpose()?,
            }
        }
        _ => Schedule::CosineRestarts {
            initial: initial()?,
            steps: steps("first_decay_steps")?,
            longer: numbers.number("t_mul", 2.0)?,
            lower: numbers.number("m_mul", 1.0)?,
            alpha,
        },
    })
}
