//! Random edits of a JSON document, of the kinds that hurt plans most: entries swapped, numbers changed, lines of
//! graphs moved.

use serde_json::{Value, json};

/// Makes edits from a seed.
pub struct Editor {
    state: u64,
}

impl Editor {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Changes a document in one place, sometimes in two; says what was done.
    pub fn edit(&mut self, json: &mut Value) -> String {
        let count = if self.below(8) == 0 { 2 } else { 1 };
        let done: Vec<String> = (0..count).map(|_| self.once(json)).collect();
        done.join("; ")
    }

    fn once(&mut self, json: &mut Value) -> String {
        match self.below(10) {
            0 | 1 => self.change_graph(json),
            2 | 3 => self.swap_fields_of_buffers(json),
            4 => self.change_figure(json),
            5 | 6 => self.change_plan(json),
            _ => self.change_anywhere(json),
        }
    }

    /// Any node, all the same likely.
    fn change_anywhere(&mut self, json: &mut Value) -> String {
        let mut paths = Vec::new();
        collect(json, String::new(), &mut paths);
        let path = paths[self.below(paths.len())].clone();
        self.change(json.pointer_mut(&path).unwrap(), &path)
    }

    /// A figure at the top.
    fn change_figure(&mut self, json: &mut Value) -> String {
        let keys: Vec<String> = json.as_object().unwrap().keys().cloned().collect();
        let key = &keys[self.below(keys.len())];
        self.change(&mut json[key], key)
    }

    /// Order, storage, scratch, buffers or a figure of one of the plans.
    fn change_plan(&mut self, json: &mut Value) -> String {
        let path = self.plan(json);
        let fields =
            ["order", "storage", "scratch", "buffers", "peak", "floor", "persistent", "page", "alignment"];
        let path = format!("{path}/plan/{}", fields[self.below(fields.len())]);
        let node = json.pointer_mut(&path).unwrap();
        match node.as_array().map_or(0, Vec::len) {
            0 => self.change(node, &path),
            count if self.below(2) == 0 => {
                let index = self.below(count);
                self.change(&mut node[index], &format!("{path}/{index}"))
            }
            _ => self.change(node, &path),
        }
    }

    /// The same field of two buffers of one plan, exchanged.
    fn swap_fields_of_buffers(&mut self, json: &mut Value) -> String {
        let path = format!("{}/plan/buffers", self.plan(json));
        let buffers = json.pointer_mut(&path).unwrap().as_array_mut().unwrap();
        let field = ["offset", "offset", "offset", "bytes", "live", "role", "values"][self.below(7)];
        let [a, b] = [self.below(buffers.len()), self.below(buffers.len())];
        let (one, other) = (buffers[a][field].clone(), buffers[b][field].clone());
        (buffers[a][field], buffers[b][field]) = (other, one);
        format!("{field} of {path}/{a} and {b} exchanged")
    }

    /// A line of a graph: gone, twice, exchanged with another, or with other words.
    fn change_graph(&mut self, json: &mut Value) -> String {
        let path = format!("{}/graph", self.plan(json));
        let text = json.pointer(&path).unwrap().as_str().unwrap().to_string();
        let mut lines: Vec<String> = text.lines().map(str::to_string).collect();
        let [a, b] = [self.below(lines.len()), self.below(lines.len())];
        let before = lines[a].clone();
        match self.below(6) {
            0 => drop(lines.remove(a)),
            1 => lines.insert(b, before.clone()),
            2 => lines.swap(a, b),
            _ => lines[a] = self.reworded(&before),
        }
        let after = lines.get(a).cloned().unwrap_or_default();
        *json.pointer_mut(&path).unwrap() = json!(lines.join("\n") + "\n");
        format!("{path}: `{before}` became `{after}`")
    }

    fn reworded(&mut self, line: &str) -> String {
        let pairs = [
            ("parameter", "statistic"),
            ("statistic", "parameter"),
            ("forward", "backward"),
            ("backward", "update"),
            ("f32", "i32"),
            ("true", "false"),
            ("false", "true"),
            ("%1", "%2"),
            ("relu", "tanh"),
            ("kernel", "bias"),
            ("dense", "dense_1"),
            ("dense_1", "dense"),
            ("0.9", "0.8"),
            ("[", "[1,"),
            ("6", "99999999999"),
            ("2", "3"),
            ("8", "0"),
            ("%", "%9999"),
            ("\"", "\\"),
            ("0", "-1"),
            (" (again)", ""),
            ("/", " (again)/"),
            ("@", "@9"),
            ("accumulator", "parameter"),
        ];
        let known: Vec<_> = pairs.iter().filter(|(from, _)| line.contains(from)).collect();
        match known.len() {
            0 => line.chars().rev().collect(),
            count => {
                let (from, to) = known[self.below(count)];
                line.replacen(from, to, 1 + self.below(2))
            }
        }
    }

    /// Where one of the plans is.
    fn plan(&mut self, json: &Value) -> String {
        let mut paths = vec!["/evaluation".to_string()];
        paths.extend((0..json["parts"].as_array().map_or(0, Vec::len)).map(|part| format!("/parts/{part}")));
        paths.extend(json["updates"].is_object().then(|| "/updates".to_string()));
        let whole = |path: &String| {
            let field = |name: &str| json.pointer(&format!("{path}/{name}"));
            field("graph").is_some_and(|graph| graph.as_str().is_some_and(|text| !text.is_empty()))
                && field("plan/buffers")
                    .is_some_and(|buffers| buffers.as_array().is_some_and(|all| !all.is_empty()))
                && ["order", "storage", "scratch", "peak", "floor", "persistent", "page", "alignment"]
                    .iter()
                    .all(|name| field(&format!("plan/{name}")).is_some())
        };
        let paths: Vec<String> = paths.into_iter().filter(whole).collect();
        paths[self.below(paths.len())].clone()
    }

    fn change(&mut self, node: &mut Value, path: &str) -> String {
        let before = short(node);
        match node {
            Value::Array(all) if !all.is_empty() => {
                let [a, b] = [self.below(all.len()), self.below(all.len())];
                match self.below(4) {
                    0 => drop(all.remove(a)),
                    1 => all.insert(b, all[a].clone()),
                    2 => all.swap(a, b),
                    _ => all[a] = all[b].clone(),
                }
            }
            Value::Object(fields) if !fields.is_empty() => {
                let keys: Vec<String> = fields.keys().cloned().collect();
                let [a, b] = [self.below(keys.len()), self.below(keys.len())];
                match self.below(3) {
                    0 => drop(fields.remove(&keys[a])),
                    1 => drop(fields.insert(keys[a].clone() + "x", json!(1))),
                    _ => {
                        let (one, other) = (fields[&keys[a]].clone(), fields[&keys[b]].clone());
                        fields.insert(keys[a].clone(), other);
                        fields.insert(keys[b].clone(), one);
                    }
                }
            }
            Value::Number(number) => *node = self.number(number.as_u64().unwrap_or(0)),
            Value::String(text) => {
                let others = ["", "sgd", "parameter", "workspace", "accuracy", "8192"];
                let other = others[self.below(others.len())];
                *node = if self.below(2) == 0 { json!(format!("{text}1")) } else { json!(other) };
            }
            Value::Bool(flag) => *node = json!(!*flag),
            Value::Null | Value::Array(_) | Value::Object(_) => *node = self.number(64),
        }
        format!("{path}: {before} became {}", short(node))
    }

    fn number(&mut self, before: u64) -> Value {
        let near = [
            before + 1,
            before.saturating_sub(1),
            before * 2,
            before + 64,
            before.saturating_sub(64),
            before / 2,
        ];
        let far = [0, 1, 99_999, u64::from(u32::MAX), u64::MAX, 1 << 40, u64::MAX - 63];
        match self.below(8) {
            0 => json!(-1),
            1 => json!(0.5),
            2 => Value::Null,
            3 | 4 => json!(far[self.below(far.len())]),
            _ => json!(near[self.below(near.len())]),
        }
    }

    /// Splitmix: the same edits every time.
    fn below(&mut self, limit: usize) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % limit as u64) as usize
    }
}

fn collect(node: &Value, path: String, into: &mut Vec<String>) {
    match node {
        Value::Array(all) => {
            (0..all.len()).for_each(|index| collect(&all[index], format!("{path}/{index}"), into));
        }
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| collect(value, format!("{path}/{key}"), into));
        }
        _ => {}
    }
    into.push(path);
}

fn short(node: &Value) -> String {
    node.to_string().chars().take(60).collect()
}
