//! What a model was compiled to minimize: the forms of `compile(loss=..., loss_weights=...)`, honoured as Keras does or
//! refused by name.

use plimsoll_import::keras::{Compiled, ForOutputs, Setting};
use plimsoll_model::Model;
use plimsoll_train::{Head, Loss, LossReduction, Objective};
use serde_json::Value;

/// The losses that are known, as Keras names them.
pub const LOSSES: &str = "sparse_categorical_crossentropy, categorical_crossentropy, binary_crossentropy, \
                          binary_focal_crossentropy, categorical_focal_crossentropy, mean_squared_error, \
                          mean_absolute_error, mean_absolute_percentage_error, mean_squared_logarithmic_error, huber, \
                          log_cosh, cosine_similarity, kl_divergence, poisson, hinge, squared_hinge, \
                          categorical_hinge, dice, tversky, circle, ctc, categorical_generalized_cross_entropy";

/// What a model was compiled to minimize, if it was, or why it cannot be used. An output whose loss is `None`, or which
/// a dictionary does not name, is not trained.
pub fn objective(compiled: &Compiled, model: &Model) -> Result<Option<Objective>, String> {
    let Some(losses) = &compiled.loss else { return Ok(None) };
    let mut heads = Vec::new();
    for (output, setting) in for_each_output(losses, model, "losses")?.into_iter().enumerate() {
        if let Some(setting) = setting.and_then(Option::as_ref) {
            heads.push(head(setting, output, model.outputs[output].name.clone())?);
        }
    }
    if heads.is_empty() {
        return Err("none of the outputs has a loss".to_string());
    }
    if let Some(weights) = &compiled.loss_weights {
        weigh(&mut heads, losses, weights, model)?;
    }
    Ok(Some(Objective { heads }))
}

/// What is said about each output; nothing where a dictionary does not name it.
fn for_each_output<'a, T>(
    said: &'a ForOutputs<T>,
    model: &Model,
    what: &str,
) -> Result<Vec<Option<&'a T>>, String> {
    let count = model.outputs.len();
    match said {
        ForOutputs::All(one) => Ok(vec![Some(one); count]),
        ForOutputs::Listed(all) if all.len() == count => Ok(all.iter().map(Some).collect()),
        ForOutputs::Listed(all) => Err(format!("there are {} {what} for {count} outputs", all.len())),
        ForOutputs::Named(all) => {
            let known = |name: &str| model.output_names().any(|output| output == name);
            if let Some((name, _)) = all.iter().find(|(name, _)| !known(name)) {
                let outputs: Vec<&str> = model.output_names().collect();
                return Err(format!("the {what} name `{name}`; the outputs are {}", outputs.join(", ")));
            }
            let of = |output: &str| all.iter().find(|(name, _)| name == output).map(|(_, one)| one);
            Ok(model.output_names().map(of).collect())
        }
    }
}

/// Sets the weights of the heads. Keras pairs losses and weights of different forms by their order, which for
/// dictionaries is not the one they were written in: that is refused.
fn weigh(
    heads: &mut [Head],
    losses: &ForOutputs<Option<Setting>>,
    weights: &ForOutputs<Value>,
    model: &Model,
) -> Result<(), String> {
    let alike = matches!(
        (losses, weights),
        (ForOutputs::All(_), ForOutputs::All(_))
            | (ForOutputs::Listed(_) | ForOutputs::Named(_), ForOutputs::Listed(_))
            | (ForOutputs::Named(_), ForOutputs::Named(_))
    );
    if !alike && model.outputs.len() > 1 {
        return Err("losses and loss_weights are not of the same form".to_string());
    }
    let weights = for_each_output(weights, model, "loss_weights")?;
    for head in heads {
        let none = || format!("loss_weights have none for `{}`", head.name);
        let weight = weights[head.output].ok_or_else(none)?;
        if weight.is_null() {
            continue;
        }
        let number = weight.as_f64().map(|weight| weight as f32).filter(|weight| weight.is_finite());
        head.weight = number.ok_or_else(|| format!("`{}` has the loss weight {weight}", head.name))?;
    }
    Ok(())
}

/// The loss that a setting names for an output, or why it cannot be used.
fn head(setting: &Setting, output: usize, name: String) -> Result<Head, String> {
    let refused = |argument: &str, value: &Value| {
        format!("the loss {} has {argument}={value}, which is not supported", setting.name)
    };
    let mut head = Head::new(output, name, loss(setting)?);
    if let Some(value) = setting.field("reduction") {
        head.reduction = match value.as_str() {
            Some("sum_over_batch_size" | "auto" | "mean") => LossReduction::SumOverBatchSize,
            Some("sum") => LossReduction::Sum,
            Some("mean_with_sample_weight") => LossReduction::MeanWithSampleWeight,
            _ => return Err(refused("reduction", value)),
        };
    }
    if let Some(value) = setting.field("axis").filter(|_| !has_axes(setting)) {
        let axis = value.as_i64().and_then(|axis| i32::try_from(axis).ok());
        head.axis = axis.ok_or_else(|| refused("axis", value))?;
        if head.axis != -1 && setting.field("label_smoothing").and_then(Value::as_f64).unwrap_or(0.0) != 0.0 {
            // Keras smooths by the extent of the last axis, whatever the axis of the classes.
            return Err(refused("label_smoothing and axis", value));
        }
    }
    Ok(head)
}

/// Whether a loss sums over axes of its own, rather than looking along one.
fn has_axes(setting: &Setting) -> bool {
    matches!(setting.name.as_str(), "dice" | "tversky")
}

fn loss(setting: &Setting) -> Result<Loss, String> {
    let name = setting.name.as_str();
    let idle = |key: &str, value: &Value| match key {
        "name" | "dtype" | "fn" | "reduction" => true,
        "axis" => !has_axes(setting),
        _ => value.is_null(),
    };
    let mut arguments = Vec::new();
    for (key, value) in setting.fields.iter().filter(|(key, value)| !idle(key, value)) {
        let argument = format!("{key}={}", argument(value));
        if Loss::parse(&format!("{name}({argument})")).is_none() {
            return match Loss::parse(name) {
                Some(_) => Err(format!("the loss {name} has {argument}, which is not supported")),
                None => Err(format!("the loss {name} is not supported")),
            };
        }
        arguments.push(argument);
    }
    let text =
        if arguments.is_empty() { name.to_string() } else { format!("{name}({})", arguments.join(", ")) };
    Loss::parse(&text).ok_or_else(|| format!("the loss {name} is not supported"))
}

/// A setting as Python writes it; a tuple is a list.
fn argument(value: &Value) -> String {
    match value {
        Value::Bool(true) => "True".to_string(),
        Value::Bool(false) => "False".to_string(),
        Value::Object(tuple) if tuple.contains_key("items") => tuple["items"].to_string(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plimsoll_model::Builder;
    use plimsoll_model::layer::Dense;
    use serde_json::json;

    fn setting(name: &str, fields: Value) -> Setting {
        let fields = fields.as_object().unwrap().iter().map(|(key, value)| (key.clone(), value.clone()));
        Setting { name: name.to_string(), fields: fields.collect() }
    }

    #[test]
    fn losses_are_keras_s() {
        let sparse = json!({"from_logits": true, "reduction": "sum_over_batch_size", "name": "x"});
        let known = loss(&setting("sparse_categorical_crossentropy", sparse)).unwrap();
        assert_eq!(known, Loss::SparseCategoricalCrossEntropy { from_logits: true });
        assert_eq!(loss(&setting("mse", json!({}))), Ok(Loss::MeanSquaredError));
        assert_eq!(loss(&setting("huber", json!({"delta": 0.5}))), Ok(Loss::Huber { delta: 0.5 }));
        let smoothed = json!({"label_smoothing": 0.1, "from_logits": false, "axis": -1});
        let smoothed = loss(&setting("categorical_crossentropy", smoothed)).unwrap();
        assert_eq!(smoothed.to_string(), "categorical_crossentropy(label_smoothing=0.1)");
        let head = |name: &str, fields: Value| head(&setting(name, fields), 0, "out".to_string());
        let sum = head("mean_squared_error", json!({"reduction": "sum"})).unwrap();
        assert_eq!(sum.reduction, LossReduction::Sum);
        for none in [json!("none"), json!(null)] {
            let refused = head("mean_squared_error", json!({"reduction": none})).unwrap_err();
            assert!(refused.contains(&format!("reduction={none}")));
        }
        assert_eq!(head("binary_crossentropy", json!({"axis": 1})).unwrap().axis, 1);
        let smoothed = head("categorical_crossentropy", json!({"axis": 1, "label_smoothing": 0.1}));
        assert!(smoothed.unwrap_err().contains("label_smoothing"));
        let tuple = json!({"axis": {"class_name": "__tuple__", "items": [1, 2]}, "alpha": 0.3});
        let tversky = loss(&setting("tversky", tuple)).unwrap();
        assert_eq!(tversky.to_string(), "tversky(alpha=0.3, axis=[1, 2])");
        assert_eq!(loss(&setting("dice", json!({}))).unwrap().to_string(), "dice");
        assert!(loss(&setting("own", json!({}))).unwrap_err().contains("own"));
    }

    fn model() -> Model {
        let mut net = Builder::new("two");
        let x = net.input([3]);
        let (class, age) = (net.add("class", Dense::new(4), &[x]), net.add("age", Dense::new(1), &[x]));
        net.build_all(&[class, age])
    }

    fn named(name: &str) -> Option<Setting> {
        Some(setting(name, json!({})))
    }

    fn read(
        loss: ForOutputs<Option<Setting>>,
        loss_weights: Option<ForOutputs<Value>>,
    ) -> Result<Vec<(String, Loss, f32)>, String> {
        let compiled = Compiled { loss: Some(loss), loss_weights, optimizer: None };
        let heads = objective(&compiled, &model())?.unwrap().heads;
        Ok(heads.into_iter().map(|head| (head.name, head.loss, head.weight)).collect())
    }

    #[test]
    fn every_form_of_losses_and_weights_becomes_heads() {
        const MSE: Loss = Loss::MeanSquaredError;
        let heads = |class: Loss, age: Loss, weights: [f32; 2]| {
            Ok(vec![("class".to_string(), class, weights[0]), ("age".to_string(), age, weights[1])])
        };
        let all = |weight: Option<Value>| read(ForOutputs::All(named("mse")), weight.map(ForOutputs::All));
        assert_eq!(all(None), heads(MSE, MSE, [1.0, 1.0]));
        assert_eq!(all(Some(json!(0.5))), heads(MSE, MSE, [0.5, 0.5]));
        let listed = || ForOutputs::Listed(vec![named("mae"), named("MSE")]);
        let weights = || Some(ForOutputs::Listed(vec![json!(2), json!(0.25)]));
        assert_eq!(read(listed(), weights()), heads(Loss::MeanAbsoluteError, MSE, [2.0, 0.25]));
        let by_name = || {
            ForOutputs::Named(vec![("age".to_string(), named("mse")), ("class".to_string(), named("mae"))])
        };
        assert_eq!(read(by_name(), weights()), heads(Loss::MeanAbsoluteError, MSE, [2.0, 0.25]));
        let named_weights =
            ForOutputs::Named(vec![("age".to_string(), json!(3.0)), ("class".to_string(), json!(0.5))]);
        assert_eq!(read(by_name(), Some(named_weights)), heads(Loss::MeanAbsoluteError, MSE, [0.5, 3.0]));
        let partly = ForOutputs::Listed(vec![None, named("mse")]);
        assert_eq!(read(partly, None), Ok(vec![("age".to_string(), MSE, 1.0)]));
    }

    #[test]
    fn what_cannot_be_honoured_is_refused_by_name() {
        let listed = |names: &[&str]| ForOutputs::Listed(names.iter().map(|name| named(name)).collect());
        let refused = |loss, weights| read(loss, weights).unwrap_err();
        assert!(refused(listed(&["mse"]), None).contains("1 losses for 2 outputs"));
        assert!(refused(listed(&["mse", "jaccard"]), None).contains("jaccard"));
        let other = ForOutputs::Named(vec![("other".to_string(), named("mse"))]);
        assert!(refused(other, None).contains("`other`; the outputs are class, age"));
        assert!(refused(ForOutputs::All(None), None).contains("none of the outputs"));
        let some = ForOutputs::Named(vec![("class".to_string(), json!(1.0))]);
        assert!(refused(listed(&["mse", "mse"]), Some(some.clone())).contains("not of the same form"));
        let all =
            ForOutputs::Named(vec![("class".to_string(), named("mse")), ("age".to_string(), named("mse"))]);
        assert!(refused(all, Some(some)).contains("none for `age`"));
        let text = Some(ForOutputs::All(json!("much")));
        assert!(refused(ForOutputs::All(named("mse")), text).contains("the loss weight \"much\""));
    }
}
