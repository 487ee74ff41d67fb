//! What a job wants of a data set, for each sample.

use super::bound::Bound;
use super::{DataError, Field, FieldKind, Samples};
use plimsoll_graph::{Graph, OpKind, Shape, TensorType, ValueId};
use plimsoll_train::{EvaluationGraph, HeadValues, Loss, TrainingGraph};
use std::sync::Arc;

/// What a graph wants of a data set.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// What is written for each sample, in the order of the values they are written to.
    pub slots: Vec<Slot>,
    /// How many samples are written at once.
    pub batch: usize,
}

/// One thing that is written for each sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// What it is for.
    pub kind: FieldKind,
    /// The name of the model's input, or of the output it is about.
    pub name: String,
    /// What it looks like, without the batch.
    pub tensor: TensorType,
    /// One more than the largest integer that makes sense: the classes of a target, the rows of a table of vectors.
    pub below: usize,
    /// What a target is compared by.
    pub loss: Option<Loss>,
    /// Whether the data may do without it; a weight is 1 then.
    pub optional: bool,
}

impl Wanted {
    /// What a training graph wants.
    pub fn of(training: &TrainingGraph) -> Self {
        Self::new(&training.graph, &training.inputs, &training.heads, false)
    }

    /// What an evaluation wants: the same, but sample weights are up to the data.
    pub fn of_evaluation(evaluation: &EvaluationGraph) -> Self {
        Self::new(&evaluation.graph, &evaluation.inputs, &evaluation.heads, true)
    }

    /// The values that samples are written to: the inputs, then the target of each head and the weights of its samples.
    pub(crate) fn values<'a>(
        inputs: &'a [ValueId],
        heads: &'a [HeadValues],
    ) -> impl Iterator<Item = ValueId> + 'a {
        let of_heads = heads.iter().flat_map(|head| [head.targets].into_iter().chain(head.sample_weights));
        inputs.iter().copied().chain(of_heads)
    }

    /// Fields that are exactly what is wanted, in the same order.
    pub fn fields(&self) -> Vec<Field> {
        let field = |slot: &Slot| Field::new(slot.kind, slot.name.clone(), slot.tensor.clone());
        self.slots.iter().map(field).collect()
    }

    /// Finds a field for everything that is wanted, or says what is missing.
    pub fn bind<'a>(self: &Arc<Self>, samples: &'a dyn Samples) -> Result<Bound<'a>, DataError> {
        Bound::new(self, samples)
    }

    fn new(graph: &Graph, inputs: &[ValueId], heads: &[HeadValues], optional: bool) -> Self {
        let ids = rows_of_tables(graph);
        let one = |kind, name: &str, value: ValueId| {
            let TensorType { element, shape } = graph.tensor(value);
            let tensor = TensorType::new(*element, Shape::new(&shape.extents()[1..]));
            Slot { kind, name: name.to_string(), tensor, below: ids, loss: None, optional: false }
        };
        let of_inputs = inputs.iter().map(|&id| one(FieldKind::Input, &graph.value(id).name, id));
        let of_heads = heads.iter().flat_map(|head| {
            let classes = graph.tensor(head.predictions).shape.last();
            let (below, loss) = (head.kind.classes(classes), Some(head.kind));
            let target = Slot { below, loss, ..one(FieldKind::Target, &head.output, head.targets) };
            let weights = head.sample_weights.map(|id| one(FieldKind::SampleWeight, &head.output, id));
            [target].into_iter().chain(weights.map(|slot| Slot { optional, ..slot }))
        });
        Self { slots: of_inputs.chain(of_heads).collect(), batch: graph.tensor(inputs[0]).shape[0] }
    }
}

/// The fewest rows of a table of vectors.
fn rows_of_tables(graph: &Graph) -> usize {
    let tables = graph.ops().iter().filter(|op| matches!(op.kind, OpKind::Embedding(_)));
    tables.map(|op| graph.tensor(op.inputs[0]).shape[0]).min().unwrap_or(2)
}
