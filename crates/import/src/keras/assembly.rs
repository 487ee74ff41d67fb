//! A model put together from its configuration. Models inside models are laid out flat: their layers become nodes whose
//! names begin with the inner model's, and a model that is called twice gives nodes of the same names, which share
//! their parameters.

use super::call::Call;
use super::config::{LayerConfig, Object};
use super::fields::Fields;
use super::naming::Names;
use super::{KerasError, functional, input, layers, regularizers, sequential};
use plimsoll_graph::ElementType;
use plimsoll_model::layer::{Activation, Beside, Fold, MaskOperation, Merge, Rescaling, Unfold};
use plimsoll_model::{InputSpec, Layer, Model, Node, NodeRef, Penalized, Penalty};
use std::cell::RefCell;

/// How many nodes a model may have: models that call models can say more than memory can hold.
const MOST_NODES: usize = 1 << 17;
/// How deep models may stand in models.
const DEEPEST: usize = 32;

/// A model under construction.
pub(super) struct Assembly<'a> {
    pub(super) model: Model,
    /// Where the weights of each node stand in a file.
    pub(super) places: Vec<Place>,
    /// The extent of axes that the file leaves open.
    size: Option<usize>,
    notes: &'a RefCell<Vec<String>>,
}

/// What a call reads.
pub(super) struct Read {
    pub(super) values: Vec<NodeRef>,
    /// Masks that take the place of those of the values, by their positions.
    pub(super) masks: Vec<Option<NodeRef>>,
}

impl Read {
    /// Values with the masks that they have.
    pub(super) fn of(values: Vec<NodeRef>) -> Self {
        Self { values, masks: Vec::new() }
    }
}

/// Where the weights of a layer stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// In Keras 3's weights, such as `layers/sequential/layers/dense_1`.
    pub(super) path: String,
    /// In legacy files: the layer of the outermost model that it belongs to.
    pub(super) top: String,
}

/// The model whose layers are being added.
#[derive(Clone)]
pub(super) struct Scope {
    /// What the names of nodes begin with.
    name: String,
    /// What the paths of weights begin with.
    path: String,
    top: Option<String>,
    trainable: bool,
    depth: usize,
}

impl Scope {
    /// The outermost model.
    pub(super) fn outermost(trainable: bool) -> Self {
        Self { name: String::new(), path: String::new(), top: None, trainable, depth: 0 }
    }

    /// How a layer is called in messages.
    pub(super) fn name_of(&self, layer: &str) -> String {
        format!("{}{layer}", self.name)
    }

    fn place(&self, layer: &LayerConfig<'_>, file_name: &str) -> Place {
        let top = self.top.clone().unwrap_or_else(|| layer.name.to_string());
        Place { path: format!("{}layers/{file_name}", self.path), top }
    }

    /// In a nested model each layer says for itself whether it is trained: one may be thawed where its model is frozen.
    fn inside(&self, layer: &LayerConfig<'_>, place: Place) -> Self {
        let (name, path) = (format!("{}/", self.name_of(layer.name)), format!("{}/", place.path));
        let trainable = self.trainable;
        Self { name, path, top: Some(place.top), trainable, depth: self.depth + 1 }
    }
}

impl<'a> Assembly<'a> {
    pub(super) fn new(name: &str, size: Option<usize>, notes: &'a RefCell<Vec<String>>) -> Self {
        let (inputs, nodes, outputs) = (Vec::new(), Vec::new(), Vec::new());
        let (name, penalties) = (name.to_string(), Vec::new());
        let model = Model { name, inputs, nodes, outputs, loses_masks: true, penalties };
        Self { model, places: Vec::new(), size, notes }
    }

    /// Adds the layers of a model that reads the given values, or inputs of its own; gives its results.
    pub(super) fn add_model(
        &mut self,
        object: &Object<'a>,
        scope: &Scope,
        inputs: Option<Vec<NodeRef>>,
    ) -> Result<Vec<NodeRef>, KerasError> {
        if scope.depth > DEEPEST {
            return Err(KerasError::Config(format!("models stand in models more than {DEEPEST} deep")));
        }
        match object.class {
            "Sequential" => sequential::add(self, object, scope, inputs),
            _ => functional::add(self, object, scope, inputs),
        }
    }

    /// Adds one call of a layer; gives its results.
    pub(super) fn add_call(
        &mut self,
        layer: &LayerConfig<'a>,
        file_name: &str,
        scope: &Scope,
        call: &Call<'a>,
        read: Read,
    ) -> Result<Vec<NodeRef>, KerasError> {
        let place = scope.place(layer, file_name);
        let trainable = scope.trainable && layers::is_trainable(&layer.object);
        if layer.object.is_model() {
            let values = self.masked(&scope.name_of(layer.name), read, &place)?;
            let inside = scope.inside(layer, place);
            return self.add_model(&layer.object, &inside, Some(values));
        }
        if let Some(model) = layers::distributed_model(&layer.object) {
            return self.add_distributed(layer, &model, scope.inside(layer, place), read);
        }
        let fields = self.fields(layer, scope);
        if let Some(scale) = layers::scale_of_sum(&layer.object, &fields)? {
            return self.add_scaled_sum(scope.name_of(layer.name), scale, read.values, place);
        }
        if layers::is_operation(&layer.object) {
            let built = layers::build_operation(&layer.object, &fields, call)?;
            fields.finish()?;
            return self.add_results(&scope.name_of(layer.name), built, &read.values, &place);
        }
        let built = layers::build(&layer.object, &fields, call)?;
        let penalty = regularizers::of_results(&layer.object, &fields)?;
        fields.finish()?;
        let (name, beside) = (scope.name_of(layer.name), layers::beside(&built));
        let node = self.add_node(name.clone(), built, read, trainable, place.clone())?;
        let mut results = vec![node];
        for index in 0..beside {
            let (name, other) = (format!("{name}/beside_{index}"), Beside { index });
            let read = Read::of(vec![node]);
            results.push(self.add_node(name, other.into(), read, true, place.clone())?);
        }
        if let Some(regularizer) = penalty {
            let added = self.model.nodes.len() - results.len()..self.model.nodes.len();
            let of = added.map(Penalized::Result);
            self.model.penalties.extend(of.map(|of| Penalty { of, regularizer }));
        }
        Ok(results)
    }

    /// Adds a model at every position of a sequence: time is a part of the batch for its layers.
    fn add_distributed(
        &mut self,
        layer: &LayerConfig<'a>,
        model: &Object<'a>,
        mut inside: Scope,
        read: Read,
    ) -> Result<Vec<NodeRef>, KerasError> {
        let fields = Fields::new(layer.object.config, inside.name.clone(), layer.object.class, self.notes);
        let [sequence] = read.values[..] else {
            return Err(fields.problem("a model of several inputs at every position is not supported"));
        };
        let place = Place { path: inside.path.clone(), top: inside.top.clone().unwrap_or_default() };
        inside.path.push_str("layer/");
        let first = self.model.nodes.len();
        let fold = format!("{}fold", inside.name);
        let folded = self.add_node(fold, Fold {}.into(), Read::of(vec![sequence]), true, place.clone())?;
        let results = self.add_model(model, &inside, Some(vec![folded]))?;
        let normalizes = |node: &Node| matches!(node.layer, Layer::BatchNormalization(_));
        if self.model.nodes[first..].iter().any(normalizes) {
            let problem = "a model with BatchNormalization at every position is not supported";
            let hint = "Keras normalizes each position by itself; call the model on the positions one by one";
            return Err(fields.problem_with_hint(problem, Some(hint)));
        }
        if self.model.nodes[first..].iter().any(|node| node.layer.is_stateful()) {
            return Err(fields.problem("a model with a stateful layer at every position is not supported"));
        }
        let unfold = |result: NodeRef, name: String, all: &mut Self| {
            let read = Read {
                values: vec![result, sequence],
                masks: vec![None, read.masks.first().copied().flatten()],
            };
            all.add_node(name, Unfold {}.into(), read, true, place.clone())
        };
        match results[..] {
            [result] => Ok(vec![unfold(result, format!("{}unfold", inside.name), self)?]),
            _ => Err(fields.problem("a model of several outputs at every position is not supported")),
        }
    }

    /// What a model is called with, each value with the mask that is said of it.
    fn masked(&mut self, model: &str, read: Read, place: &Place) -> Result<Vec<NodeRef>, KerasError> {
        let Read { mut values, masks } = read;
        for (position, value) in values.iter_mut().enumerate() {
            if let Some(Some(_)) = masks.get(position) {
                let (name, linear) = (format!("{model}/masked_{position}"), Activation::Linear.into());
                let one = Read { values: vec![*value], masks: vec![masks[position]] };
                *value = self.add_node(name, linear, one, true, place.clone())?;
            }
        }
        Ok(values)
    }

    /// Adds an input of the outermost model. In a dictionary it is called by its key, as data are.
    pub(super) fn add_input(
        &mut self,
        layer: &LayerConfig<'a>,
        key: Option<&str>,
        scope: &Scope,
    ) -> Result<NodeRef, KerasError> {
        let fields = self.fields(layer, scope);
        let (shape, element) = input::read(&fields, layer.name, self.size)?;
        Ok(self.push_input(key.unwrap_or(layer.name), shape, element))
    }

    /// Adds an input whose shape, with the batch, only the first layer or the model knows.
    pub(super) fn add_input_of(
        &mut self,
        shape: &'a serde_json::Value,
        name: &str,
    ) -> Result<NodeRef, KerasError> {
        let shape = input::sample_shape(shape, name, self.size)?;
        Ok(self.push_input(name, shape, ElementType::F32))
    }

    /// The names of layers in files, in the order of a model's list.
    pub(super) fn file_names(layers: &[LayerConfig<'_>]) -> Vec<String> {
        let mut names = Names::default();
        let file_name = |layer: &LayerConfig<'_>| match layers::is_operation(&layer.object) {
            true => String::new(),
            false => names.next(layer.object.class),
        };
        layers.iter().map(file_name).collect()
    }

    /// Inputs that only tables of vectors read hold ids, whatever type Keras writes for them.
    pub(super) fn finish(mut self, outputs: Vec<(String, NodeRef)>) -> (Model, Vec<Place>) {
        self.model.set_outputs(outputs.iter().map(|(name, from)| (name.as_str(), *from)));
        for position in 0..self.model.inputs.len() {
            let reference = NodeRef::Input(position);
            let mut readers = self.model.nodes.iter().filter(|node| node.inputs.contains(&reference));
            let first = readers.next();
            let ids = |node: &Node| {
                matches!(node.layer, Layer::Embedding(_) | Layer::MaskOperation(MaskOperation::NotEqual(_)))
            };
            if first.is_some_and(ids)
                && readers.all(ids)
                && !self.model.outputs.iter().any(|output| output.from == reference)
            {
                self.model.inputs[position].element = ElementType::I32;
            }
        }
        (self.model, self.places)
    }

    fn fields(&self, layer: &LayerConfig<'a>, scope: &Scope) -> Fields<'a> {
        Fields::new(layer.object.config, scope.name_of(layer.name), layer.object.class, self.notes)
    }

    /// The results of an op, a node for each. They have no weights.
    fn add_results(
        &mut self,
        name: &str,
        results: Vec<Layer>,
        read: &[NodeRef],
        place: &Place,
    ) -> Result<Vec<NodeRef>, KerasError> {
        let mut nodes = Vec::with_capacity(results.len());
        for (number, layer) in results.into_iter().enumerate() {
            let name = if number == 0 { name.to_string() } else { format!("{name}/{number}") };
            nodes.push(self.add_node(name, layer, Read::of(read.to_vec()), true, place.clone())?);
        }
        Ok(nodes)
    }

    /// The first value and a multiple of the second.
    fn add_scaled_sum(
        &mut self,
        name: String,
        scale: f32,
        read: Vec<NodeRef>,
        place: Place,
    ) -> Result<Vec<NodeRef>, KerasError> {
        let [first, second] = read[..] else {
            return Err(KerasError::Config(format!("layer `{name}` adds two values, not {}", read.len())));
        };
        let (scaled, factor) = (format!("{name}/scaled"), Rescaling::new(scale, 0.0));
        let scaled = self.add_node(scaled, factor.into(), Read::of(vec![second]), true, place.clone())?;
        Ok(vec![self.add_node(name, Merge::Add.into(), Read::of(vec![first, scaled]), true, place)?])
    }

    fn push_input(&mut self, name: &str, shape: plimsoll_graph::Shape, element: ElementType) -> NodeRef {
        let name = name.to_string();
        self.model.inputs.push(InputSpec { name, shape, element });
        NodeRef::Input(self.model.inputs.len() - 1)
    }

    fn add_node(
        &mut self,
        name: String,
        layer: Layer,
        read: Read,
        trainable: bool,
        place: Place,
    ) -> Result<NodeRef, KerasError> {
        if self.model.nodes.len() >= MOST_NODES {
            return Err(KerasError::Config(format!("it has more than {MOST_NODES} layers")));
        }
        self.model.nodes.push(Node { name, layer, inputs: read.values, trainable, masks: read.masks });
        self.places.push(place);
        Ok(NodeRef::Node(self.model.nodes.len() - 1))
    }
}
