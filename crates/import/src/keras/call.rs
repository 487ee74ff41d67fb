//! One call of a layer: what it reads, and with which arguments.

use super::KerasError;
use super::config::History;
use super::fields::shortened;
use serde_json::{Map, Value};

/// One call of a layer.
pub(super) struct Call<'a> {
    /// The arguments in order.
    pub(super) arguments: Vec<Argument<'a>>,
    /// The arguments by name.
    pub(super) named: Vec<(&'a str, Argument<'a>)>,
    /// The arguments in order as the file has them, with shapes and types; nothing in files of Keras 2.
    pub(super) raw: &'a [Value],
}

/// What a layer is called with.
#[derive(Clone, Debug)]
pub(super) enum Argument<'a> {
    /// A result of another layer.
    Tensor(History<'a>),
    /// Several arguments as one.
    List(Vec<Argument<'a>>),
    /// Several arguments by their keys, which are in alphabetical order.
    Keyed(Vec<(&'a str, Argument<'a>)>),
    /// Anything else.
    Constant(&'a Value),
}

/// How deep lists of arguments may be nested.
const DEEPEST: usize = 4;

impl<'a> Call<'a> {
    /// Reads one entry of `inbound_nodes`, of Keras 3 or 2.
    pub(super) fn read(value: &'a Value) -> Result<Self, KerasError> {
        match value {
            Value::Object(call) => Self::read_modern(call),
            Value::Array(call) => Self::read_legacy(call),
            _ => Err(KerasError::Config(format!("{} is no call of a layer", shortened(value)))),
        }
    }

    /// A call with one argument, as in a sequential model.
    pub(super) fn of(history: History<'a>) -> Self {
        Self { arguments: vec![Argument::Tensor(history)], named: Vec::new(), raw: &[] }
    }

    /// The results of other layers that it reads, without masks: those follow from what is read.
    pub(super) fn tensors(&self) -> Vec<History<'a>> {
        let mut tensors = Vec::new();
        let named = self.named.iter().filter(|(name, _)| !is_mask(name)).map(|(_, argument)| argument);
        self.arguments.iter().chain(named).for_each(|argument| argument.collect(&mut tensors));
        tensors
    }

    /// Whether it says `True` to something.
    pub(super) fn says(&self, wanted: &str) -> bool {
        let said = |(name, argument): &(&str, Argument<'_>)| {
            *name == wanted && matches!(argument, Argument::Constant(Value::Bool(true)))
        };
        self.named.iter().any(said)
    }

    fn read_modern(call: &'a Map<String, Value>) -> Result<Self, KerasError> {
        let raw = call.get("args").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let arguments = raw.iter().map(|one| Argument::read(one, DEEPEST)).collect::<Result<_, _>>()?;
        let mut named = Vec::new();
        for (name, value) in call.get("kwargs").and_then(Value::as_object).into_iter().flatten() {
            named.push((name.as_str(), Argument::read(value, DEEPEST)?));
        }
        Ok(Self { arguments, named, raw })
    }

    /// `[[layer, call, result, {arguments by name}], ...]`
    fn read_legacy(call: &'a [Value]) -> Result<Self, KerasError> {
        let broken =
            |value: &Value| KerasError::Config(format!("{} is no call of a layer", shortened(value)));
        let mut tensors = Vec::new();
        let mut named = Vec::new();
        for tensor in call {
            tensors.push(Argument::Tensor(History::read(tensor).ok_or_else(|| broken(tensor))?));
            for (name, value) in tensor.get(3).and_then(Value::as_object).into_iter().flatten() {
                let argument = History::read(value).map_or(Argument::Constant(value), Argument::Tensor);
                named.push((name.as_str(), argument));
            }
        }
        Ok(Self { arguments: tensors, named, raw: &[] })
    }
}

impl<'a> Argument<'a> {
    fn read(value: &'a Value, depth: usize) -> Result<Self, KerasError> {
        if value.get("class_name").and_then(Value::as_str) == Some("__keras_tensor__") {
            let history = value.pointer("/config/keras_history").and_then(History::read);
            let broken = || KerasError::Config(format!("{} does not say where it is from", shortened(value)));
            return Ok(Self::Tensor(history.ok_or_else(broken)?));
        }
        if depth == 0 && (value.is_array() || value.is_object()) {
            return Err(KerasError::Config("arguments are nested too deeply".to_string()));
        }
        // What has a class is a constant that Keras has written out.
        if let Some(keyed) = value.as_object().filter(|keyed| !keyed.contains_key("class_name")) {
            let read = |(key, one): (&'a String, &'a Value)| Ok((key.as_str(), Self::read(one, depth - 1)?));
            let keyed: Vec<(&str, Self)> = keyed.iter().map(read).collect::<Result<_, KerasError>>()?;
            let constant = keyed.iter().all(|(_, one)| matches!(one, Self::Constant(_)));
            return Ok(if constant { Self::Constant(value) } else { Self::Keyed(keyed) });
        }
        let Some(list) = value.as_array() else { return Ok(Self::Constant(value)) };
        let list: Vec<Self> = list.iter().map(|one| Self::read(one, depth - 1)).collect::<Result<_, _>>()?;
        let constant = list.iter().all(|one| matches!(one, Self::Constant(_)));
        Ok(if constant { Self::Constant(value) } else { Self::List(list) })
    }

    pub(super) fn collect(&self, tensors: &mut Vec<History<'a>>) {
        match self {
            Self::Tensor(history) => tensors.push(history.clone()),
            Self::List(list) => list.iter().for_each(|argument| argument.collect(tensors)),
            Self::Keyed(keyed) => keyed.iter().for_each(|(_, argument)| argument.collect(tensors)),
            Self::Constant(_) => {}
        }
    }
}

/// Whether an argument is a mask of padding.
pub(super) fn is_mask(name: &str) -> bool {
    name == "mask" || name.ends_with("_mask") && name != "attention_mask" && name != "use_causal_mask"
}
