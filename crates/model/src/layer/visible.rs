//! Which queries of an attention see which keys.

use super::Context;
use plimsoll_graph::op::{Binary, MatMul, Reduce, Reduction, Unary};
use plimsoll_graph::{Shape, ShapeError, ValueId};

/// Everything that hides keys from queries.
#[derive(Clone, Copy)]
pub(super) struct Visible {
    /// `[batch, queries]`
    pub(super) query: Option<ValueId>,
    /// `[batch, keys]`
    pub(super) keys: Option<ValueId>,
    /// Whether a query sees only keys up to its own position.
    pub(super) causal: bool,
    /// How many positions from itself a query does not see any more, on either side.
    pub(super) window: Option<usize>,
    /// `[batch, queries, keys]` or `[batch, heads, queries, keys]`, or stretched to that.
    pub(super) attention_mask: Option<ValueId>,
}

impl Visible {
    /// What the attention op gives, with what Keras gives for queries that see no key: 0, or the mean of all values.
    pub(super) fn finished(
        self,
        at: &mut Context<'_>,
        attended: ValueId,
        v: ValueId,
        alike: bool,
    ) -> Result<ValueId, ShapeError> {
        let Some(seeing) = self.seeing(at, attended, v)? else { return Ok(attended) };
        let seeing = at.mask_for(seeing, 4)?;
        let kept = at.op(Binary::Multiply, &[attended, seeing])?;
        if !alike {
            return Ok(kept);
        }
        let mean = Reduce { reduction: Reduction::Mean, axes: vec![1], keep_axes: true };
        let mean = at.op(mean, &[v])?;
        let others = at.opposite(seeing)?;
        let others = at.op(Binary::Multiply, &[mean, others])?;
        at.op(Binary::Add, &[kept, others])
    }

    /// 1 for each score that counts, stretched to `[batch, heads, queries, keys]`; nothing if all do.
    pub(super) fn of_scores(
        self,
        at: &mut Context<'_>,
        scores: ValueId,
    ) -> Result<Option<ValueId>, ShapeError> {
        let [_, _, queries, keys] = at.extents(scores)?;
        let mut masks = Vec::new();
        if let Some(mask) = self.query {
            let [batch, length] = at.extents(mask)?;
            masks.push(at.reshaped(mask, [batch, 1, length, 1])?);
        }
        if let Some(mask) = self.keys {
            let [batch, length] = at.extents(mask)?;
            masks.push(at.reshaped(mask, [batch, 1, 1, length])?);
        }
        if self.causal {
            masks.push(not_later(at, queries, keys)?);
        }
        if let Some(window) = self.window {
            masks.push(near(at, queries, keys, window)?);
        }
        if let Some(mask) = self.attention_mask {
            let mut extents = at.shape(mask).extents().to_vec();
            if extents.len() < 4 {
                let missing = 4 - extents.len();
                let place = extents.len().saturating_sub(2);
                extents.splice(place..place, vec![1; missing]);
            }
            masks.push(at.reshaped(mask, Shape::new(extents))?);
        }
        let Some((&first, rest)) = masks.split_first() else { return Ok(None) };
        let mut all = first;
        for &mask in rest {
            all = at.op(Binary::Multiply, &[all, mask])?;
        }
        let shape = at.shape(scores).clone();
        if at.shape(all).broadcast(&shape).as_ref() != Some(&shape) {
            let problem = format!("the attention mask is stretched to {}, not to {shape}", at.shape(all));
            return Err(at.refusal(&[scores], problem));
        }
        Ok(Some(all))
    }

    /// Which queries see a key: `[batch, queries]`; nothing if all do.
    fn seeing(
        self,
        at: &mut Context<'_>,
        attended: ValueId,
        v: ValueId,
    ) -> Result<Option<ValueId>, ShapeError> {
        let (queries, keys) = (at.shape(attended)[1], at.shape(v)[1]);
        let any = match self.keys {
            None => None,
            Some(mask) if self.causal => {
                let earlier = not_later(at, queries, keys)?;
                let count = at.op(MatMul { transpose_a: false, transpose_b: true }, &[mask, earlier])?;
                let half = at.scalar(0.5)?;
                Some(at.op(Binary::GreaterEqual, &[count, half])?)
            }
            Some(mask) => {
                let any = Reduce { reduction: Reduction::Max, axes: vec![1], keep_axes: true };
                Some(at.op(any, &[mask])?)
            }
        };
        Ok(match (self.query, any) {
            (Some(query), Some(any)) => Some(at.op(Binary::Multiply, &[query, any])?),
            (query, any) => query.or(any),
        })
    }
}

/// `[queries, keys]`: 1 where the key does not come after the query.
pub(super) fn not_later(at: &mut Context<'_>, queries: usize, keys: usize) -> Result<ValueId, ShapeError> {
    let (query, key) = positions(at, queries, keys)?;
    at.op(Binary::GreaterEqual, &[query, key])
}

/// `[queries, keys]`: 1 where the key is fewer positions away from the query than the window says.
fn near(at: &mut Context<'_>, queries: usize, keys: usize, window: usize) -> Result<ValueId, ShapeError> {
    let (query, key) = positions(at, queries, keys)?;
    let away = at.op(Binary::Subtract, &[query, key])?;
    let away = at.op(Unary::Abs, &[away])?;
    let window = at.scalar(window as f32)?;
    at.op(Binary::Less, &[away, window])
}

/// The positions of queries as a column and those of keys as a row.
fn positions(at: &mut Context<'_>, queries: usize, keys: usize) -> Result<(ValueId, ValueId), ShapeError> {
    let counted = |count: usize| (0..count).map(|position| position as f32).collect::<Vec<_>>();
    let query = at.constant(&counted(queries))?;
    let query = at.reshaped(query, [queries, 1])?;
    Ok((query, at.constant(&counted(keys))?))
}
