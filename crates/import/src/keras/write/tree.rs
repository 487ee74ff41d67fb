//! Groups and datasets of an HDF5 file under construction.

use hdf5_pure::{AttrValue, FileBuilder, GroupBuilder};
use std::collections::BTreeMap;

/// A group with what stands in it.
#[derive(Default)]
pub(super) struct Group {
    groups: BTreeMap<String, Group>,
    datasets: BTreeMap<String, Contents>,
    attributes: Vec<(String, AttrValue)>,
}

/// What a dataset holds.
pub(super) enum Contents {
    /// Floats of a shape.
    Floats(Vec<usize>, Vec<f32>),
    /// One integer.
    Integer(i32),
}

impl Group {
    /// The group at a path, which is made if it is not there.
    pub(super) fn group(&mut self, path: &str) -> &mut Self {
        let names = path.split('/').filter(|name| !name.is_empty());
        names.fold(self, |group, name| group.groups.entry(name.to_string()).or_default())
    }

    /// Adds a dataset at a path.
    pub(super) fn insert(&mut self, path: &str, contents: Contents) {
        let (group, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.group(group).datasets.insert(name.to_string(), contents);
    }

    /// Adds an attribute.
    pub(super) fn set(&mut self, name: &str, value: AttrValue) {
        self.attributes.push((name.to_string(), value));
    }

    /// The file whose root this group is.
    pub(super) fn to_file(&self) -> FileBuilder {
        let mut file = FileBuilder::new();
        for (name, value) in &self.attributes {
            file.set_attr(name, value.clone());
        }
        for (name, group) in &self.groups {
            let builder = file.create_group(name);
            file.add_group(group.fill(builder).finish());
        }
        file
    }

    fn fill(&self, mut builder: GroupBuilder) -> GroupBuilder {
        for (name, contents) in &self.datasets {
            let dataset = builder.create_dataset(name);
            match contents {
                Contents::Floats(shape, elements) => {
                    let shape: Vec<u64> = shape.iter().map(|&extent| extent as u64).collect();
                    dataset.with_f32_data(elements).with_shape(&shape);
                }
                Contents::Integer(integer) => {
                    dataset.with_i32_data(&[*integer]).with_shape(&[]);
                }
            }
        }
        for (name, value) in &self.attributes {
            builder.set_attr(name, value.clone());
        }
        for (name, group) in &self.groups {
            let inner = builder.create_group(name);
            builder.add_group(group.fill(inner).finish());
        }
        builder
    }
}
