//! What a state says beyond its tensors, as the texts of a file's metadata.

use super::header::{Entry, Header};
use crate::{State, Tensor};
use plimsoll_graph::Role;
use std::collections::{BTreeMap, HashSet};

/// The version of what is written here; another one is refused.
const FORMAT: &str = "1";
/// What our names begin with.
const OURS: &str = "plimsoll.";
/// What the names of extras go on with.
const EXTRA: &str = "extra.";

/// The texts of a state.
pub(super) fn print(state: &State) -> BTreeMap<String, String> {
    let State { step, updates, epoch, position, seed, .. } = state;
    let counters =
        [("step", step), ("updates", updates), ("epoch", epoch), ("position", position), ("seed", seed)];
    let roles: BTreeMap<&str, &str> =
        state.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.role.name())).collect();
    let roles = serde_json::to_string(&roles).expect("texts are JSON");
    let texts = [("format", FORMAT.to_string()), ("model", state.model.clone()), ("roles", roles)];
    let counters = counters.into_iter().map(|(name, count)| (name.to_string(), count.to_string()));
    let extras = state.extras.iter().map(|(name, text)| (format!("{EXTRA}{name}"), text.clone()));
    let texts = texts.into_iter().map(|(name, text)| (name.to_string(), text));
    texts.chain(counters).chain(extras).map(|(name, text)| (format!("{OURS}{name}"), text)).collect()
}

/// The state of a header, or what is wrong with it.
pub(super) fn parse(header: &Header) -> Result<State, String> {
    let text = |name: &str| header.metadata.get(&format!("{OURS}{name}")).map(String::as_str);
    match text("format") {
        None => {
            return Ok(State {
                tensors: tensors(&header.entries, |_| Some(Role::Parameter))?,
                ..State::default()
            });
        }
        Some(FORMAT) => {}
        Some(other) => {
            return Err(format!("it is a state of format {other:.20}; this version reads format {FORMAT}"));
        }
    }
    let needed = |name: &str| text(name).ok_or(format!("its metadata has no {OURS}{name}"));
    let count = |name: &str| {
        let text = needed(name)?;
        text.parse::<u64>().map_err(|_| format!("{OURS}{name} in its metadata is no count: {text:.40}"))
    };
    let roles: BTreeMap<String, String> = serde_json::from_str(needed("roles")?)
        .map_err(|error| format!("{OURS}roles in its metadata is not valid: {error}"))?;
    let names: HashSet<&str> = header.entries.iter().map(|entry| entry.name.as_str()).collect();
    if let Some(name) = roles.keys().find(|name| !names.contains(name.as_str())) {
        return Err(format!("it says what `{name:.80}` is for, but has no such tensor"));
    }
    Ok(State {
        model: needed("model")?.to_string(),
        tensors: tensors(&header.entries, |name| Role::parse(roles.get(name)?))?,
        step: count("step")?,
        updates: count("updates")?,
        epoch: count("epoch")?,
        position: count("position")?,
        seed: count("seed")?,
        extras: extras(&header.metadata),
    })
}

fn tensors(entries: &[Entry], role: impl Fn(&str) -> Option<Role>) -> Result<Vec<Tensor>, String> {
    let tensor = |entry: &Entry| {
        let unknown = || format!("it does not say what `{:.80}` is for", entry.name);
        let role = role(&entry.name).ok_or_else(unknown)?;
        Ok(Tensor { name: entry.name.clone(), tensor: entry.tensor.clone(), role })
    };
    entries.iter().map(tensor).collect()
}

fn extras(metadata: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let ours = |(name, text): (&String, &String)| {
        let name = name.strip_prefix(OURS)?.strip_prefix(EXTRA)?;
        Some((name.to_string(), text.clone()))
    };
    metadata.iter().filter_map(ours).collect()
}
