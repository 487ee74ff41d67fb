//! From gradients to updates: everything between them that an optimizer's settings ask for.
//!
//! In: parameters and their gradients. Out: one update of each parameter, in Keras's order: the scale of the loss is
//! taken off, gradients of several steps are added up, clipped, and applied.

mod clip;
mod muon;
mod rows;

pub(crate) use rows::{OfRows, Rows, find_rows};

use crate::descent::slot;
use crate::{Clip, Descent, LossScale, TrainError};
use plimsoll_graph::op::{Binary, Fill, Magnitude, Rule, Unary, Update};
use plimsoll_graph::{Graph, Init, OpKind, Phase, Role, Shape, ShapeError, Site, TensorType, ValueId};

/// A parameter that is trained, with what is known of its gradient.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trained {
    pub(crate) parameter: ValueId,
    pub(crate) gradient: ValueId,
    /// The sums of squares and absolute values of the rows that the gradient is a sum of, where they are asked for.
    pub(crate) rows: Rows,
    /// Whether its elements were clipped before they were added up.
    pub(crate) clipped: bool,
}

/// The most that an element of a row of a gradient may count for, where there is a limit: in the units of a scaled
/// loss, and of a part of a batch, whose weight is minus a value.
pub(crate) fn row_limit(
    graph: &mut Graph,
    descent: &Descent,
    scale: Option<ValueId>,
    minus_weight: Option<ValueId>,
) -> Result<Option<ValueId>, ShapeError> {
    let Some(Clip::Value(limit)) = descent.settings.clip else { return Ok(None) };
    let has_tables = graph.ops().iter().any(|op| matches!(op.kind, OpKind::EmbeddingGradient(_)));
    if descent.settings.every() > 1 || !has_tables {
        return Ok(None);
    }
    let site = Site { layer: None, phase: Phase::Backward };
    let fill = Fill { shape: Shape::scalar(), value: limit as f32 };
    let mut limit = graph.add_single(fill.into(), &[], site)?;
    if let Some(scale) = scale {
        limit = graph.add_single(Binary::Multiply.into(), &[limit, scale], site)?;
    }
    if let Some(minus_weight) = minus_weight {
        let weight = graph.add_single(Unary::Negate.into(), &[minus_weight], site)?;
        limit = graph.add_single(Binary::Divide.into(), &[limit, weight], site)?;
    }
    Ok(Some(limit))
}

/// Appends the updates of all parameters. `scale` is what the loss was multiplied by.
pub(crate) fn add_updates(
    graph: &mut Graph,
    descent: &Descent,
    trained: Vec<Trained>,
    scalars: [ValueId; 2],
    scale: Option<ValueId>,
    names: &SlotNames,
) -> Result<(), TrainError> {
    let mut adding = Adding::new(graph, descent, scalars, names);
    let mut trained = trained;
    for one in &mut trained {
        adding.site.layer = adding.graph.value(one.parameter).layer;
        if let Some(scale) = scale {
            adding.unscale(one, scale)?;
        }
        if descent.settings.every() > 1 {
            adding.gather(one)?;
        }
        if let Some(Clip::Norm(limit)) = descent.settings.clip {
            adding.clip_norm(one, limit)?;
        }
    }
    if let Some(Clip::GlobalNorm(limit)) = descent.settings.clip {
        adding.clip_global_norm(&mut trained, limit)?;
    }
    trained.into_iter().try_for_each(|one| adding.update(one))
}

/// Adds what the loss is multiplied by, if it is; gives the product and the scale.
pub(crate) fn scaled_loss(
    graph: &mut Graph,
    descent: &Descent,
    loss: ValueId,
    names: &SlotNames,
) -> Result<(ValueId, Option<ValueId>), TrainError> {
    let site = Site { layer: None, phase: Phase::Backward };
    let scale = match descent.settings.loss_scale {
        None => return Ok((loss, None)),
        Some(LossScale::Fixed(_)) => fixed_scale(graph, descent, site)?,
        Some(LossScale::Dynamic { .. }) => add_scale(graph, descent, names)?.0,
    };
    Ok((graph.add_single(Binary::Multiply.into(), &[loss, scale], site)?, Some(scale)))
}

/// The scale of the loss in a graph that has no loss.
pub(crate) fn scale(
    graph: &mut Graph,
    descent: &Descent,
    names: &SlotNames,
) -> Result<Option<ValueId>, TrainError> {
    let site = Site { layer: None, phase: Phase::Update };
    match descent.settings.loss_scale {
        None => Ok(None),
        Some(LossScale::Fixed(_)) => Ok(Some(fixed_scale(graph, descent, site)?)),
        Some(LossScale::Dynamic { .. }) => Ok(Some(add_scale(graph, descent, names)?.0)),
    }
}

/// Appends the update of a scale that changes by itself, from the value that says whether all gradients were finite.
pub(crate) fn add_scale_update(
    graph: &mut Graph,
    descent: &Descent,
    finite: ValueId,
    [learning_rate, step]: [ValueId; 2],
    names: &SlotNames,
) -> Result<(), TrainError> {
    let Some(LossScale::Dynamic { growth, .. }) = descent.settings.loss_scale else { return Ok(()) };
    let (scale, count) = add_scale(graph, descent, names)?;
    let site = Site { layer: None, phase: Phase::Update };
    graph.add_op(Rule::Scale { growth }.into(), &[scale, finite, learning_rate, step, count], site)?;
    Ok(())
}

fn fixed_scale(graph: &mut Graph, descent: &Descent, site: Site) -> Result<ValueId, ShapeError> {
    let Some(LossScale::Fixed(factor)) = descent.settings.loss_scale else {
        unreachable!("the caller looked")
    };
    graph.add_single(Fill { shape: Shape::scalar(), value: factor as f32 }.into(), &[], site)
}

/// The scale and the count of updates in a row, which are made if they are not there.
fn add_scale(
    graph: &mut Graph,
    descent: &Descent,
    names: &SlotNames,
) -> Result<(ValueId, ValueId), ShapeError> {
    let Some(LossScale::Dynamic { initial, .. }) = descent.settings.loss_scale else {
        unreachable!("the caller looked")
    };
    let mut keep = |name: &str, initial: f64| {
        let name = names.of(slot::SCALE, name);
        match graph.find(&name) {
            Some(found) => Ok(found),
            None => {
                let init = Init::Constant(initial as f32);
                graph.add_persistent(name, TensorType::f32([]), Role::OptimizerState, init, None)
            }
        }
    };
    Ok((keep("loss", initial)?, keep("in_a_row", 0.0)?))
}

/// What slots are called: names of the model's own give them others.
#[derive(Clone, Debug)]
pub struct SlotNames(Vec<(&'static str, String)>);

impl SlotNames {
    /// Those of a model, given any graph that has all its values.
    pub fn of_model(graph: &Graph, descent: &Descent) -> Self {
        let prefix = |&slot: &&'static str| (slot, graph.free_prefix(&descent.optimizer.slot_name(slot)));
        Self(slot::ALL.iter().map(prefix).collect())
    }

    /// The slot of a parameter.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn of(&self, slot: &str, parameter: &str) -> String {
        let (_, prefix) = self.0.iter().find(|(name, _)| *name == slot).expect("every slot is listed");
        format!("{prefix}{parameter}")
    }
}

/// Updates under construction.
struct Adding<'a> {
    graph: &'a mut Graph,
    descent: &'a Descent,
    learning_rate: ValueId,
    step: ValueId,
    site: Site,
    names: &'a SlotNames,
}

impl<'a> Adding<'a> {
    fn new(
        graph: &'a mut Graph,
        descent: &'a Descent,
        [learning_rate, step]: [ValueId; 2],
        names: &'a SlotNames,
    ) -> Self {
        let site = Site { layer: None, phase: Phase::Update };
        Self { graph, descent, learning_rate, step, site, names }
    }

    fn add(&mut self, kind: impl Into<OpKind>, inputs: &[ValueId]) -> Result<ValueId, ShapeError> {
        self.graph.add_single(kind.into(), inputs, self.site)
    }

    fn number(&mut self, value: f64) -> Result<ValueId, ShapeError> {
        self.add(Fill { shape: Shape::scalar(), value: value as f32 }, &[])
    }

    /// Something that is remembered of a parameter.
    fn slot(
        &mut self,
        parameter: ValueId,
        slot: &str,
        shape: Shape,
        initial: f64,
    ) -> Result<ValueId, ShapeError> {
        let value = self.graph.value(parameter);
        let (name, layer) = (self.names.of(slot, &value.name), value.layer);
        let init = Init::Constant(initial as f32);
        self.graph.add_persistent(name, TensorType::f32(shape), Role::OptimizerState, init, layer)
    }

    fn shape(&self, value: ValueId) -> Shape {
        self.graph.tensor(value).shape.clone()
    }

    /// Takes the scale of the loss off.
    fn unscale(&mut self, one: &mut Trained, scale: ValueId) -> Result<(), ShapeError> {
        one.gradient = self.add(Binary::Divide, &[one.gradient, scale])?;
        if let Some(squares) = &mut one.rows.squares {
            let once = self.add(Binary::Divide, &[*squares, scale])?;
            *squares = self.add(Binary::Divide, &[once, scale])?;
        }
        if let Some(absolutes) = &mut one.rows.absolutes {
            *absolutes = self.add(Binary::Divide, &[*absolutes, scale])?;
        }
        Ok(())
    }

    /// The mean of the gradients since the last update. Rows are no longer told apart, as in Keras.
    fn gather(&mut self, one: &mut Trained) -> Result<(), ShapeError> {
        let every = self.descent.settings.every();
        let shape = self.shape(one.parameter);
        let gathered = self.slot(one.parameter, slot::GATHERED, shape, 0.0)?;
        let (gradient, steps) = (one.gradient, self.number(f64::from(every))?);
        let sum = self.add(Binary::Add, &[gradient, gathered])?;
        *one = Trained { gradient: self.add(Binary::Divide, &[sum, steps])?, rows: Rows::default(), ..*one };
        let update = Update { every, ..Rule::Gather.into() };
        let inputs = [gathered, gradient, self.learning_rate, self.step];
        self.graph.add_op(update.into(), &inputs, self.site)?;
        Ok(())
    }

    /// The update of one parameter.
    fn update(&mut self, one: Trained) -> Result<(), TrainError> {
        let value = self.graph.value(one.parameter).clone();
        self.site.layer = value.layer;
        let (shape, settings) = (value.tensor.shape.clone(), &self.descent.settings);
        let follow = self.descent.optimizer.follow(&shape, self.descent.left_to_adam(&value.name));
        let one = self.clipped_for_muon(one, &follow.rule)?;
        let (gradient, learning_rate) = self.adapted(one, &follow.rule)?;
        let magnitude = match follow.rule.magnitude() {
            Some(Magnitude::Squares) => one.rows.squares,
            Some(Magnitude::Absolutes) => one.rows.absolutes,
            None => None,
        };
        let constraint = settings.constraints.iter().find(|(name, _)| *name == value.name);
        let update = Update {
            rule: follow.rule,
            weight_decay: settings.weight_decay.unwrap_or(follow.weight_decay)
                / self.descent.rate(&follow.rule),
            clip_value: match settings.clip {
                Some(Clip::Value(limit)) if !one.clipped => limit,
                _ => 0.0,
            },
            every: settings.every(),
            average: settings.average,
            constraint: constraint.map(|(_, constraint)| constraint.clone()),
            by_rows: magnitude.is_some(),
        };
        let mut inputs = vec![one.parameter, gradient, learning_rate, self.step];
        let names = follow.slots.iter().copied().chain(settings.average.map(|_| slot::AVERAGE));
        let shapes = update.slots(&shape).expect("the optimizer looked at the shape");
        for (position, (name, shape)) in names.zip(shapes).enumerate() {
            let initial = match (name, position) {
                ("u", 2) => 1.0,
                (_, 0) if name != slot::AVERAGE => follow.initial,
                _ => 0.0,
            };
            inputs.push(self.slot(one.parameter, name, shape, initial)?);
        }
        inputs.extend(magnitude);
        self.graph.add_op(update.into(), &inputs, self.site)?;
        Ok(())
    }
}
