//! Muon: matrices move in orthogonal steps, found by the iteration of Newton and Schulz.

use super::{Adding, Trained, slot};
use crate::optimizer::Muon;
use crate::{Clip, Descent, Optimizer};
use plimsoll_graph::op::{Binary, MatMul, Rule, Transpose, Unary, Update};
use plimsoll_graph::{ShapeError, ValueId};

impl Descent {
    /// Whether Muon leaves a parameter to Adam because of its name.
    pub fn left_to_adam(&self, name: &str) -> bool {
        let Optimizer::Muon(muon) = self.optimizer else { return false };
        let is_table = muon.exclude_embeddings && name.to_lowercase().contains("embedding");
        is_table || self.settings.exclude.iter().any(|word| name.contains(word.as_str()))
    }

    /// What the learning rate is multiplied by for a rule.
    pub(super) fn rate(&self, rule: &Rule) -> f64 {
        match (self.optimizer, rule) {
            (Optimizer::Muon(muon), Rule::Adam { .. }) => muon.adam_rate,
            _ => 1.0,
        }
    }
}

impl Adding<'_> {
    /// What a rule is given instead of a gradient and the learning rate: of Muon a step, or another rate.
    pub(super) fn adapted(&mut self, one: Trained, rule: &Rule) -> Result<(ValueId, ValueId), ShapeError> {
        let (gradient, rate) = (one.gradient, self.learning_rate);
        let Optimizer::Muon(muon) = self.descent.optimizer else { return Ok((gradient, rate)) };
        match *rule {
            Rule::Adam { .. } if muon.adam_rate == 1.0 => Ok((gradient, rate)),
            Rule::Adam { .. } => {
                Ok((gradient, self.add(Unary::MultiplyScalar(muon.adam_rate as f32), &[rate])?))
            }
            _ => Ok((self.orthogonal(muon, one)?, rate)),
        }
    }

    /// Elements are clipped before a step is made orthogonal, not after.
    pub(super) fn clipped_for_muon(&mut self, one: Trained, rule: &Rule) -> Result<Trained, ShapeError> {
        let Some(Clip::Value(limit)) = self.descent.settings.clip else { return Ok(one) };
        let matrix = matches!(self.descent.optimizer, Optimizer::Muon(_)) && *rule == Rule::Sgd;
        if !matrix || one.clipped {
            return Ok(one);
        }
        let (most, least) = (self.number(limit)?, self.number(-limit)?);
        let below = self.add(Binary::Minimum, &[one.gradient, most])?;
        Ok(Trained { gradient: self.add(Binary::Maximum, &[below, least])?, clipped: true, ..one })
    }

    fn orthogonal(&mut self, muon: Muon, one: Trained) -> Result<ValueId, ShapeError> {
        let moved = self.motion(muon, one)?;
        let shape = self.shape(moved);
        let (rows, columns) = (shape[0], shape[1]);
        let transpose = |adding: &mut Self, x: ValueId| match rows > columns {
            true => adding.add(Transpose { order: vec![1, 0] }, &[x]),
            false => Ok(x),
        };
        let x = transpose(self, moved)?;
        let square = self.square(x)?;
        let norm = self.add(Unary::Sqrt, &[square])?;
        let norm = self.add(Unary::AddScalar(1e-7), &[norm])?;
        let mut x = self.add(Binary::Divide, &[x, norm])?;
        for _ in 0..muon.iterations {
            x = self.iterate(muon.polynomial, x)?;
        }
        let x = transpose(self, x)?;
        match muon.rms_rate {
            None => Ok(x),
            Some(rate) => {
                let factor = (rows.max(columns) as f64).sqrt() * rate;
                self.add(Unary::MultiplyScalar(factor as f32), &[x])
            }
        }
    }

    /// `a x + (b A + c A A) x` with `A = x x^T`.
    fn iterate(&mut self, polynomial: [f64; 3], x: ValueId) -> Result<ValueId, ShapeError> {
        let [a, b, c] = polynomial.map(|factor| Unary::MultiplyScalar(factor as f32));
        let plain = MatMul { transpose_a: false, transpose_b: false };
        let square = self.add(MatMul { transpose_b: true, ..plain }, &[x, x])?;
        let (linear, scaled) = (self.add(b, &[square])?, self.add(c, &[square])?);
        let quadratic = self.add(plain, &[scaled, square])?;
        let sum = self.add(Binary::Add, &[linear, quadratic])?;
        let (own, product) = (self.add(a, &[x])?, self.add(plain, &[sum, x])?);
        self.add(Binary::Add, &[own, product])
    }

    /// The motion after this step, or the gradient seen from there; the slot follows by an update of its own.
    fn motion(&mut self, muon: Muon, one: Trained) -> Result<ValueId, ShapeError> {
        let shape = self.shape(one.parameter);
        let slot = self.slot(one.parameter, slot::MOTION, shape, 0.0)?;
        let lost = self.add(Unary::MultiplyScalar((muon.momentum - 1.0) as f32), &[slot])?;
        let change = self.add(Binary::Add, &[one.gradient, lost])?;
        let motion = self.add(Binary::Add, &[slot, change])?;
        let every = self.descent.settings.every();
        let update = Update { every, ..Rule::Motion { momentum: muon.momentum }.into() };
        let inputs = [slot, one.gradient, self.learning_rate, self.step];
        let ahead = match muon.nesterov {
            false => motion,
            true => {
                let ahead = self.add(Unary::MultiplyScalar(muon.momentum as f32), &[motion])?;
                self.add(Binary::Add, &[one.gradient, ahead])?
            }
        };
        self.graph.add_op(update.into(), &inputs, self.site)?;
        Ok(ahead)
    }
}
