//! Which columns become what is wanted: by their names, or the only ones that can be meant.

use super::{Bound, Form, Want};
use crate::image::Frame;
use crate::source::{Numbers, TokenRange};
use crate::{Column, Content, FieldKind, InputError, Number, Pixels, Source};
use plimsoll_graph::ElementType;

pub(super) fn bind(source: &dyn Source, wants: &[Want], pixels: &Pixels) -> Result<Vec<Bound>, InputError> {
    let mut bound = Vec::new();
    for want in wants {
        let columns = find(source.columns(), want, wants);
        if columns.is_empty() && want.optional {
            continue;
        }
        if columns.is_empty() {
            return Err(missing(source, want));
        }
        let form = form(source.columns(), &columns, want, pixels)?;
        bound.push(Bound { want: want.clone(), columns, form });
    }
    Ok(bound)
}

/// The column of the name; or all columns for the same purpose, where one thing is wanted for it.
fn find(columns: &[Column], want: &Want, wants: &[Want]) -> Vec<usize> {
    let is_alone = wants.iter().filter(|other| other.kind == want.kind).count() == 1;
    let role = Some(want.kind);
    let named = columns
        .iter()
        .position(|column| column.name == want.name && (column.role == role || column.role.is_none()));
    let of_role = (0..columns.len()).filter(|&at| columns[at].role == role);
    match named {
        Some(column) => vec![column],
        None if is_alone => of_role.collect(),
        None => Vec::new(),
    }
}

/// What is done with columns so that they become what is wanted.
fn form(columns: &[Column], chosen: &[usize], want: &Want, pixels: &Pixels) -> Result<Form, InputError> {
    let elements = want.tensor.shape.elements();
    let contents: Vec<&Content> = chosen.iter().map(|&column| &columns[column].content).collect();
    let unfit = |found: String| {
        let problem =
            format!("the {} `{}` takes {}, but the data has {found}", want.kind, want.name, want.tensor);
        InputError::unsuitable(problem, hint(want, columns))
    };
    if let Some(&text) = chosen.iter().find(|&&column| matches!(columns[column].content, Content::Text)) {
        return Err(unfit(format!("text in `{}`", columns[text].name)));
    }
    match contents[..] {
        [Content::Images(_)] => {
            frame(want, pixels).map(Form::Image).ok_or_else(|| unfit("images".to_string()))
        }
        [Content::Tokens(tokens)] => token_form(tokens, want).ok_or_else(|| {
            let length = tokens.window.map_or(String::new(), |window| format!("{window} "));
            unfit(format!("{length}tokens from 0 to {} in `{}`", tokens.below - 1, columns[chosen[0]].name))
        }),
        [Content::Class(names)] if want.kind == FieldKind::Target => class_form(names.len(), want)
            .ok_or_else(|| {
                let found = format!("{} classes in `{}`", names.len(), columns[chosen[0]].name);
                unfit(found)
            }),
        [Content::Numbers(numbers)] if numbers.elements() == elements && is_same(&numbers.shape, want) => {
            number_form(numbers, want, pixels, &unfit)
        }
        // A class as a number, where a place for each class is wanted.
        [Content::Numbers(numbers)]
            if numbers.elements() == 1
                && want.kind == FieldKind::Target
                && want.tensor.element == ElementType::F32 =>
        {
            Ok(Form::OneHot)
        }
        _ => {
            let scalars = contents.iter().all(|content| elements_of(content) == Some(1));
            let sum: Option<usize> = contents.iter().map(|content| elements_of(content)).sum();
            match sum == Some(elements) && scalars && is_same(&[elements], want) {
                true => Ok(Form::Numbers),
                false => Err(unfit(listed(columns, chosen))),
            }
        }
    }
}

/// Whether numbers of a shape can be read as what is wanted, element by element: the same axes, or all in a row. Where
/// there are three axes nobody knows whether those in a row begin with the channels.
fn is_same(shape: &[usize], want: &Want) -> bool {
    let long = |shape: &[usize]| shape.iter().copied().filter(|&extent| extent != 1).collect::<Vec<_>>();
    let (found, wanted) = (long(shape), long(want.tensor.shape.extents()));
    found == wanted || wanted.len() <= 1 || found.len() <= 1 && wanted.len() <= 2
}

fn number_form(
    numbers: &Numbers,
    want: &Want,
    pixels: &Pixels,
    unfit: &dyn Fn(String) -> InputError,
) -> Result<Form, InputError> {
    let is_integer = want.tensor.element == ElementType::I32;
    let is_class = is_integer && want.kind == FieldKind::Target && numbers.elements() == 1;
    if let (true, Some((low, high))) = (is_integer, numbers.range) {
        let fits = low >= 0.0 && high < want.below as f64 && numbers.whole != Some(false);
        if !fits {
            let parts = if numbers.whole == Some(false) { "not only whole " } else { "" };
            return Err(unfit(format!(
                "{parts}numbers from {low} to {high}, where 0 to {} are meant",
                want.below - 1
            )));
        }
    }
    Ok(match numbers.element {
        _ if is_class => Form::Class,
        Number::U8 if !is_integer && numbers.shape.len() >= 2 => Form::Pixels(pixels.clone()),
        _ => Form::Numbers,
    })
}

/// Tokens, where so many different ones can be had, in a row; a target for each has to be as long.
fn token_form(tokens: &TokenRange, want: &Want) -> Option<Form> {
    let length = want.tensor.shape.elements();
    let is_row = is_same(&[length], want);
    let is_length = match (tokens.window, want.kind) {
        (Some(window), _) => window == length,
        (None, kind) => kind == FieldKind::Input,
    };
    let is_known = match want.tensor.element {
        ElementType::I32 => tokens.below <= want.below,
        ElementType::F32 => want.kind == FieldKind::Input,
        ElementType::F16 | ElementType::Bf16 => false,
    };
    (is_row && is_length && is_known).then_some(Form::Tokens)
}

/// How a class is written.
fn class_form(classes: usize, want: &Want) -> Option<Form> {
    let elements = want.tensor.shape.elements();
    match (want.tensor.element, elements) {
        (ElementType::I32, 1) if classes <= want.below => Some(Form::Class),
        (ElementType::F32, 1) if classes <= 2 => Some(Form::Class),
        (ElementType::F32, 2..) if classes <= elements => Some(Form::OneHot),
        _ => None,
    }
}

/// Height, width and channels, if images can become this.
fn frame(want: &Want, pixels: &Pixels) -> Option<Frame> {
    let (height, width, channels) = match *want.tensor.shape.extents() {
        [height, width, channels @ (1 | 3 | 4)] => (height, width, channels),
        [height, width] => (height, width, 1),
        _ => return None,
    };
    let is_float = want.tensor.element == ElementType::F32 && want.kind == FieldKind::Input;
    (is_float && height > 0 && width > 0).then(|| Frame { height, width, channels, pixels: pixels.clone() })
}

/// How many elements a column gives, if that is fixed.
fn elements_of(content: &Content) -> Option<usize> {
    match content {
        Content::Numbers(numbers) => Some(numbers.elements()),
        Content::Class(_) => Some(1),
        Content::Images(_) | Content::Text | Content::Tokens(_) => None,
    }
}

fn missing(source: &dyn Source, want: &Want) -> InputError {
    let columns: Vec<usize> = (0..source.columns().len()).collect();
    let found = listed(source.columns(), &columns);
    let problem = format!("the data has nothing for the {} `{}`; it has {found}", want.kind, want.name);
    InputError::unsuitable(problem, hint(want, source.columns()))
}

/// Columns for people, not too many.
fn listed(columns: &[Column], chosen: &[usize]) -> String {
    const SHOWN: usize = 8;
    let one = |&at: &usize| {
        let Column { name, content, .. } = &columns[at];
        match content {
            Content::Images(_) => format!("images in `{name}`"),
            Content::Numbers(numbers) => match numbers.shape[..] {
                [] => format!("`{name}`"),
                _ => format!("`{name}` of {}{:?}", numbers.element.name(), numbers.shape),
            },
            Content::Class(names) => format!("{} classes in `{name}`", names.len()),
            Content::Text | Content::Tokens(_) => format!("text in `{name}`"),
        }
    };
    let shown: Vec<String> = chosen.iter().take(SHOWN).map(one).collect();
    match chosen.len() {
        count if count > SHOWN => format!("{count} columns: {}, ...", shown.join(", ")),
        count if count > 1 => format!("{count} columns: {}", shown.join(", ")),
        _ => shown.join(", "),
    }
}

fn hint(want: &Want, columns: &[Column]) -> Option<String> {
    let is_table = columns.len() > 2 || columns.iter().all(|column| elements_of(&column.content) == Some(1));
    let tokens = columns.iter().find_map(|column| match &column.content {
        Content::Tokens(tokens) => Some(tokens),
        _ => None,
    });
    match (tokens, want.tensor.element) {
        (Some(tokens), ElementType::I32) if tokens.below > want.below => {
            return Some(format!("vocabulary = {} in a data.toml leaves out rare words", want.below));
        }
        (Some(TokenRange { window: Some(_), .. }), _) => {
            let length = want.tensor.shape.elements();
            return Some(format!("window = {length} in a data.toml gives samples of that many tokens"));
        }
        _ => {}
    }
    match want.kind {
        FieldKind::Input if is_table => Some(
            "say in a data.toml which column is the target, and which are the columns to learn from"
                .to_string(),
        ),
        FieldKind::Target => Some("give the model an output for each class, or another loss".to_string()),
        FieldKind::Input | FieldKind::SampleWeight => None,
    }
}
