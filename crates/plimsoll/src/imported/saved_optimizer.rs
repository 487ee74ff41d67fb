//! What an optimizer of Keras saves, and which of our slots each part is.
//!
//! The order is that in which Keras 3 makes variables: the number of iterations, the learning rate where there is no
//! schedule, averages, gradients that are added up, then the rule's own, most of them parameter by parameter.

use plimsoll_graph::{Role, Shape, TensorType};
use plimsoll_import::keras::{Keras, KerasError, OptimizerVariable};
use plimsoll_state::{Contents, State, Tensor};
use plimsoll_train::{Descent, LossScale, Optimizer, SlotNames, slot};
use std::io;

/// One variable of an optimizer.
#[derive(Clone, Debug, PartialEq)]
enum Variable {
    /// Updates made.
    Iterations,
    LearningRate,
    /// A slot of a parameter, by its position among the trainable ones.
    Slot(&'static str, usize),
    /// A place that is kept for nothing.
    Nothing,
    /// The outer optimizer's own count and rate, which it never uses.
    Unused,
    UnusedRate,
    /// Nadam's product of momenta, one for all parameters.
    Product,
    /// Updates in a row, and the scale of the loss.
    InARow,
    Scale,
}

/// A parameter as Keras lists it.
struct Parameter {
    name: String,
    shape: Shape,
}

/// The variables of an optimizer with the parameters they belong to.
struct Layout {
    parameters: Vec<Parameter>,
    variables: Vec<Variable>,
    /// From which on they are the inner optimizer's.
    inner: usize,
}

impl Layout {
    fn of(keras: &Keras, descent: &Descent) -> Self {
        let parameter = |position: usize| {
            let weight = &keras.weights[position];
            Parameter { name: weight.name.clone(), shape: Shape::new(&weight.shape[..]) }
        };
        let parameters: Vec<Parameter> = keras.trainable().into_iter().map(parameter).collect();
        let mut variables = Vec::new();
        if descent.settings.scales_itself() {
            variables.extend([Variable::Unused, Variable::UnusedRate, Variable::InARow, Variable::Scale]);
        }
        let inner = variables.len();
        variables.push(Variable::Iterations);
        if descent.settings.schedule.is_none() {
            variables.push(Variable::LearningRate);
        }
        let all = 0..parameters.len();
        let each = |slot: &'static str| all.clone().map(move |parameter| Variable::Slot(slot, parameter));
        variables.extend(descent.settings.average.iter().flat_map(|_| each(slot::AVERAGE)));
        variables.extend(descent.settings.accumulate.iter().flat_map(|_| each(slot::GATHERED)));
        if let Optimizer::RmsProp { .. } = descent.optimizer {
            let slots = descent.optimizer.follow(&Shape::new([2]), false).slots;
            variables.extend(slots.iter().flat_map(|slot| each(slot)));
            return Self { parameters, variables, inner };
        }
        for (position, parameter) in parameters.iter().enumerate() {
            own(descent, position, parameter, &mut variables);
        }
        let amsgrad = matches!(
            descent.optimizer,
            Optimizer::Adam { amsgrad: true, .. } | Optimizer::AdamW { amsgrad: true, .. }
        );
        if amsgrad {
            variables.extend(each("vhat"));
        }
        // Inside an optimizer that scales the loss it is not saved.
        if is_nadam(descent) && inner == 0 {
            variables.push(Variable::Product);
        }
        Self { parameters, variables, inner }
    }

    /// What a slot is called in the state of a run.
    fn slot_name(&self, names: &SlotNames, slot: &str, parameter: usize) -> String {
        names.of(slot, &self.parameters[parameter].name)
    }
}

/// The rule's own slots of one parameter, as far as they are saved with it.
fn own(descent: &Descent, position: usize, parameter: &Parameter, variables: &mut Vec<Variable>) {
    let follow = descent.optimizer.follow(&parameter.shape, descent.left_to_adam(&parameter.name));
    match descent.optimizer {
        Optimizer::Adafactor { .. } if follow.slots.len() == 1 => {
            variables.extend([Variable::Nothing, Variable::Nothing]);
        }
        Optimizer::Muon(_) if follow.slots.is_empty() => {
            variables.push(Variable::Slot(slot::MOTION, position));
        }
        _ => {}
    }
    // Nadam's product and the largest squares of AMSGrad stand at the end.
    let saved = follow.slots.iter().filter(|&&slot| slot != "vhat" && !(is_nadam(descent) && slot == "u"));
    variables.extend(saved.map(|&slot| Variable::Slot(slot, position)));
}

fn is_nadam(descent: &Descent) -> bool {
    matches!(descent.optimizer, Optimizer::Nadam { .. })
}

/// How many updates an optimizer had made, and its learning rate where there is no schedule.
pub(crate) fn saved_numbers(keras: &Keras, descent: &Descent) -> Option<(u64, Option<f32>)> {
    let (layout, paths) = (Layout::of(keras, descent), keras.optimizer_variables());
    if paths.len() != layout.variables.len() {
        return None;
    }
    let number = |wanted: Variable| {
        let position = layout.variables.iter().position(|variable| *variable == wanted)?;
        keras.optimizer_number(&paths[position])
    };
    let rate = number(Variable::LearningRate).map(|rate| rate as f32);
    Some((number(Variable::Iterations)? as u64, rate))
}

/// What a file has of its optimizer, as tensors of a state.
pub(crate) struct SavedOptimizer<'a> {
    keras: &'a Keras,
    /// Where each tensor stands in the file, or its only element.
    sources: Vec<Source>,
    pub(crate) tensors: Vec<Tensor>,
    /// Updates made.
    pub(crate) iterations: u64,
}

enum Source {
    Path(String),
    Number(f32),
}

impl<'a> SavedOptimizer<'a> {
    /// Reads which variables there are; nothing where the file has none, or none that fit the optimizer, which Keras
    /// then leaves out, too.
    pub(crate) fn of(keras: &'a Keras, descent: &Descent, names: &SlotNames) -> Option<Self> {
        let (layout, paths) = (Layout::of(keras, descent), keras.optimizer_variables());
        if paths.len() != layout.variables.len() {
            return None;
        }
        let mut saved = Self {
            keras,
            sources: Vec::new(),
            tensors: Vec::new(),
            iterations: saved_numbers(keras, descent)?.0,
        };
        for (variable, path) in layout.variables.iter().zip(paths) {
            let number = keras.optimizer_number(&path);
            match variable {
                Variable::Slot(slot, parameter) => {
                    let shape = slot_shape(descent, &layout.parameters[*parameter], slot);
                    saved.push(layout.slot_name(names, slot, *parameter), shape, Source::Path(path));
                }
                Variable::Product => {
                    for parameter in 0..layout.parameters.len() {
                        let name = layout.slot_name(names, "u", parameter);
                        saved.push(name, Shape::scalar(), Source::Path(path.clone()));
                    }
                }
                Variable::InARow => {
                    saved.push(names.of(slot::SCALE, "in_a_row"), Shape::scalar(), number_source(number?))
                }
                Variable::Scale => {
                    saved.push(names.of(slot::SCALE, "loss"), Shape::scalar(), number_source(number?))
                }
                Variable::Iterations | Variable::LearningRate => {}
                Variable::Nothing | Variable::Unused | Variable::UnusedRate => {}
            }
        }
        Some(saved)
    }

    fn push(&mut self, name: String, shape: Shape, source: Source) {
        self.tensors.push(Tensor { name, tensor: TensorType::f32(shape), role: Role::OptimizerState });
        self.sources.push(source);
    }
}

fn number_source(number: f64) -> Source {
    Source::Number(number as f32)
}

/// The shape of a slot of a parameter.
fn slot_shape(descent: &Descent, parameter: &Parameter, slot: &str) -> Shape {
    let follow = descent.optimizer.follow(&parameter.shape, descent.left_to_adam(&parameter.name));
    let position = follow.slots.iter().position(|name| *name == slot);
    let shapes = follow.rule.slots(&parameter.shape).unwrap_or_default();
    position.and_then(|position| shapes.get(position).cloned()).unwrap_or(parameter.shape.clone())
}

/// The tensors of an optimizer, in pieces.
impl Contents for SavedOptimizer<'_> {
    fn read(&self, tensor: usize, offset: u64, into: &mut [u8]) -> io::Result<()> {
        let source = self.sources.get(tensor).ok_or(io::ErrorKind::NotFound)?;
        let start = usize::try_from(offset / 4).map_err(|_| io::ErrorKind::UnexpectedEof)?;
        let mut floats = vec![0f32; into.len() / 4];
        match source {
            Source::Number(number) => floats.fill(*number),
            Source::Path(path) => {
                let shape = self.tensors[tensor].tensor.shape.extents();
                self.keras.read_optimizer(path, shape, start, &mut floats).map_err(io::Error::other)?;
            }
        }
        into.chunks_exact_mut(4).zip(floats).for_each(|(into, x)| into.copy_from_slice(&x.to_le_bytes()));
        Ok(())
    }
}

/// What is written for a model's optimizer after a run: its variables by the place they go to. `scale` and the updates
/// in a row are read from the run; how many updates were made and the learning rate are told.
pub(crate) fn variables(
    keras: &Keras,
    descent: &Descent,
    names: &SlotNames,
    (state, contents): (&State, &dyn Contents),
    (iterations, learning_rate): (u64, f32),
) -> Result<Vec<(&'static str, Vec<OptimizerVariable>)>, KerasError> {
    let layout = Layout::of(keras, descent);
    let position = |name: &str| state.tensors.iter().position(|tensor| tensor.name == name);
    let number = |name: &str, otherwise: f64| {
        let Some(tensor) = position(name) else { return Ok(otherwise as f32) };
        let mut bytes = [0; 4];
        contents.read(tensor, 0, &mut bytes).map_err(KerasError::Write)?;
        Ok::<_, KerasError>(f32::from_le_bytes(bytes))
    };
    let initial = match descent.settings.loss_scale {
        Some(LossScale::Dynamic { initial, .. }) => initial,
        _ => 0.0,
    };
    let mut all = Vec::with_capacity(layout.variables.len());
    for variable in &layout.variables {
        all.push(match variable {
            Variable::Iterations => OptimizerVariable::Count(iterations as i64),
            Variable::LearningRate => OptimizerVariable::Number(learning_rate),
            Variable::Nothing => OptimizerVariable::Nothing,
            Variable::Unused => OptimizerVariable::Count(0),
            Variable::UnusedRate => OptimizerVariable::Number(0.0),
            Variable::Product => {
                let mut products = (0..layout.parameters.len()).map(|one| layout.slot_name(names, "u", one));
                let kept = products.find(|name| position(name).is_some());
                OptimizerVariable::Number(kept.map_or(Ok(1.0), |name| number(&name, 1.0))?)
            }
            Variable::InARow => {
                OptimizerVariable::Count(number(&names.of(slot::SCALE, "in_a_row"), 0.0)? as i64)
            }
            Variable::Scale => OptimizerVariable::Number(number(&names.of(slot::SCALE, "loss"), initial)?),
            Variable::Slot(slot, parameter) => {
                let name = layout.slot_name(names, slot, *parameter);
                let parameter = &layout.parameters[*parameter];
                match (position(&name), *slot == slot::AVERAGE) {
                    (Some(_), _) => OptimizerVariable::Tensor(name),
                    // A parameter that no loss depends on is its own average.
                    (None, true) => OptimizerVariable::Tensor(parameter.name.clone()),
                    (None, false) => {
                        let shape = slot_shape(descent, parameter, slot);
                        OptimizerVariable::Filled(
                            shape.extents().to_vec(),
                            first_of(descent, parameter, slot),
                        )
                    }
                }
            }
        });
    }
    let inner = (layout.inner > 0).then(|| ("optimizer/inner_optimizer/vars", all[layout.inner..].to_vec()));
    Ok([("optimizer/vars", all)].into_iter().chain(inner).collect())
}

/// What a slot has before the first update.
fn first_of(descent: &Descent, parameter: &Parameter, slot: &str) -> f32 {
    let follow = descent.optimizer.follow(&parameter.shape, false);
    if follow.slots.first() == Some(&slot) { follow.initial as f32 } else { 0.0 }
}
