//! Samples of a source as somebody wants them: which column becomes what.

mod bind;
mod element;

use crate::augment::Draw;
use crate::image::{self, Frame, probe};
use crate::room::Sizes;
use crate::samples::Drawn;
use crate::source::copy;
use crate::{
    Augment, Column, Content, Datum, Elements, Field, FieldKind, InputError, Pixels, Room, Settings, Source,
};
use element::{write_class, write_numbers, write_tokens, write_value};
use plimsoll_graph::{ElementType, TensorType};
use plimsoll_trace::Bytes;
use std::sync::Arc;

/// How often a file is read again; the second time there is room, unless somebody has changed it.
const MOST_TRIES: usize = 4;

/// Something that is wanted of each sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Want {
    /// What for.
    pub kind: FieldKind,
    /// What it is called.
    pub name: String,
    /// What it looks like.
    pub tensor: TensorType,
    /// One more than the largest class or number of a row, where integers are wanted.
    pub below: usize,
    /// Whether samples may do without it.
    pub optional: bool,
}

/// How the samples of a source become what is wanted.
pub struct Reading {
    source: Arc<dyn Source>,
    bound: Vec<Bound>,
    fields: Vec<Field>,
    augment: Augment,
    /// Whether every sample was read once, within the memory there is.
    is_checked: bool,
}

/// One field and where it comes from.
struct Bound {
    want: Want,
    /// Columns whose elements follow each other.
    columns: Vec<usize>,
    form: Form,
}

/// What is done with what is read.
#[derive(Clone, Debug, PartialEq)]
enum Form {
    Image(Frame),
    /// Numbers, those from 0 to 255 as brightness.
    Pixels(Pixels),
    Numbers,
    /// Tokens in a row, 0 where there are none left.
    Tokens,
    /// The number of a class.
    Class,
    /// A 1 in the place of the class.
    OneHot,
}

/// The elements of one field of one sample.
pub(crate) enum Values {
    F32(Vec<f32>),
    I32(Vec<i32>),
}

impl Reading {
    /// Finds a column for everything that is wanted, or says what is missing.
    pub fn new(
        source: Arc<dyn Source>,
        wants: &[Want],
        settings: &Settings,
        pixels: &Pixels,
    ) -> Result<Self, InputError> {
        let bound = bind::bind(&*source, wants, pixels)?;
        let field =
            |bound: &Bound| Field::new(bound.want.kind, bound.want.name.clone(), bound.want.tensor.clone());
        let fields = bound.iter().map(field).collect();
        Ok(Self { source, bound, fields, augment: settings.augment, is_checked: false })
    }

    /// The same for those samples that were found to be readable.
    pub fn of(&self, source: Arc<dyn Source>) -> Self {
        let bound = |bound: &Bound| Bound {
            want: bound.want.clone(),
            columns: bound.columns.clone(),
            form: bound.form.clone(),
        };
        let bound = self.bound.iter().map(bound).collect();
        Self { source, bound, fields: self.fields.clone(), augment: self.augment, is_checked: true }
    }

    /// Where samples come from.
    pub fn source(&self) -> &Arc<dyn Source> {
        &self.source
    }

    /// What samples become.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// What a sample takes when it is ready.
    pub fn sample_bytes(&self) -> Bytes {
        let elements: usize = self.bound.iter().map(|bound| bound.want.tensor.shape.elements()).sum();
        // Each field is a list of its own.
        Bytes((4 * elements + 64 * self.bound.len()) as u64)
    }

    /// What the work on a sample takes at most, as far as is known.
    pub fn room_bytes(&self) -> Bytes {
        let sizes =
            self.bound.iter().flat_map(|bound| bound.columns.iter().map(move |&column| (bound, column)));
        let sizes =
            sizes.map(|(bound, column)| match (&self.source.columns()[column].content, &bound.form) {
                (Content::Images(images), Form::Image(frame)) => {
                    images.worst.map_or(Sizes::default(), |worst| Sizes {
                        file: worst.1,
                        ..image::sizes(&worst.0, frame)
                    })
                }
                (Content::Numbers(numbers), _) => {
                    let bytes = (numbers.elements() * numbers.element.bytes()) as u64;
                    Sizes { file: bytes.max(64 << 10), inner: bytes, ..Sizes::default() }
                }
                (Content::Tokens(tokens), _) => {
                    // The text, and four bytes for each of its tokens.
                    let bytes = (5 * tokens.longest).max(4 * tokens.window.unwrap_or(0) as u64);
                    Sizes { file: bytes.max(64 << 10), ..Sizes::default() }
                }
                _ => Sizes { file: 64 << 10, ..Sizes::default() },
            });
        sizes.fold(Sizes::default(), Sizes::max).total()
    }

    /// Whether every sample was read once, within the memory there is.
    pub(crate) fn is_checked(&self) -> bool {
        self.is_checked
    }

    /// Room for the elements of one sample.
    pub(crate) fn values(&self) -> Vec<Values> {
        let values = |bound: &Bound| {
            let elements = bound.want.tensor.shape.elements();
            match bound.want.tensor.element {
                ElementType::I32 => Values::I32(vec![0; elements]),
                ElementType::F32 | ElementType::F16 | ElementType::Bf16 => Values::F32(vec![0.0; elements]),
            }
        };
        self.bound.iter().map(values).collect()
    }

    /// Writes all fields of a sample as it is drawn.
    pub(crate) fn write(&self, drawn: Drawn, room: &mut Room, into: &mut [Values]) -> Result<(), InputError> {
        let draw = match drawn.turn {
            Some((seed, epoch)) if self.augment != Augment::default() => {
                self.augment.draw(seed, epoch, drawn.sample)
            }
            _ => Draw::NONE,
        };
        self.bound.iter().zip(into).try_for_each(|(bound, into)| {
            let mut at = 0;
            for &column in &bound.columns {
                at += self.write_column(bound, (drawn.sample, column), &draw, room, into.after(at))?;
            }
            Ok(())
        })
    }

    /// The same for a sample as it is.
    pub(crate) fn write_plain(
        &self,
        sample: usize,
        room: &mut Room,
        into: &mut [Values],
    ) -> Result<(), InputError> {
        self.write(Drawn { sample, turn: None }, room, into)
    }

    /// Reads the targets of all samples, if that is quick and nobody has looked at them: those that make no sense are
    /// better found now.
    pub fn check_targets(&self, room: &mut Room) -> Result<(), InputError> {
        let is_new =
            |column: &Column| matches!(&column.content, Content::Numbers(numbers) if numbers.range.is_none());
        if !self.source.columns().iter().all(is_new) {
            return Ok(());
        }
        let targets: Vec<&Bound> =
            self.bound.iter().filter(|bound| bound.want.kind == FieldKind::Target).collect();
        for sample in 0..self.source.count() {
            for bound in &targets {
                let mut values = Values::F32(vec![0.0; bound.want.tensor.shape.elements()]);
                if bound.want.tensor.element == ElementType::I32 {
                    values = Values::I32(vec![0; bound.want.tensor.shape.elements()]);
                }
                let column = bound.columns[0];
                self.write_column(bound, (sample, column), &Draw::NONE, room, values.after(0))?;
            }
        }
        Ok(())
    }

    /// Writes what comes from one column; gives how many elements these are.
    fn write_column(
        &self,
        bound: &Bound,
        (sample, column): (usize, usize),
        draw: &Draw,
        room: &mut Room,
        into: Elements<'_>,
    ) -> Result<usize, InputError> {
        let place = || self.source.place(sample);
        let datum = self.source.read(sample, column, room)?;
        match (datum, &bound.form, &self.source.columns()[column].content) {
            (Datum::Image(bytes), Form::Image(frame), _) => {
                let Elements::F32(into) = into else { unreachable!("images are float32") };
                self.write_image((sample, column), bytes, frame, draw, room, into)?;
                Ok(into.len())
            }
            (Datum::Class(class), form, _) => write_class(class, form, &bound.want, into, &place),
            (Datum::Value(value), form, _) => write_value(value, form, &bound.want, into, &place),
            (Datum::Numbers(bytes), Form::Tokens, _) => Ok(write_tokens(&room.file[..bytes], into)),
            (Datum::Numbers(bytes), form, Content::Numbers(numbers)) => {
                let bytes = &room.file[..bytes];
                match (form, numbers.elements()) {
                    (Form::Class | Form::OneHot, 1) => {
                        write_value(numbers.element.value(bytes), form, &bound.want, into, &place)
                    }
                    _ => write_numbers(numbers.element, bytes, form, &bound.want, into, &place),
                }
            }
            _ => Err(InputError::sample(place(), "it is not what the first sample is")),
        }
    }

    /// Decodes and resizes the image that was read. Where the room has to grow for that, and others are in the way, the
    /// file is read again.
    fn write_image(
        &self,
        (sample, column): (usize, usize),
        mut bytes: usize,
        frame: &Frame,
        draw: &Draw,
        room: &mut Room,
        into: &mut [f32],
    ) -> Result<(), InputError> {
        let place = || self.source.place(sample);
        for _ in 0..MOST_TRIES {
            let header = probe(&|offset, into| copy(&room.file[..bytes], offset, into));
            let header = header.map_err(|problem| InputError::sample(place(), problem))?;
            let sizes = Sizes { file: bytes as u64, ..image::sizes(&header, frame) };
            if room.has(sizes) {
                return image::write(room, bytes, &header, frame, draw, into, &place);
            }
            room.fit_more(sizes, &place)?;
            match self.source.read(sample, column, room)? {
                Datum::Image(again) => bytes = again,
                _ => return Err(InputError::sample(place(), "it is no image any more")),
            }
        }
        Err(InputError::sample(place(), "it is another image each time it is read"))
    }
}

impl Values {
    pub(crate) fn after(&mut self, start: usize) -> Elements<'_> {
        match self {
            Self::F32(values) => Elements::F32(&mut values[start..]),
            Self::I32(values) => Elements::I32(&mut values[start..]),
        }
    }

    pub(crate) fn copy_to(&self, into: Elements<'_>) {
        match (self, into) {
            (Self::F32(from), Elements::F32(into)) => into.copy_from_slice(from),
            (Self::I32(from), Elements::I32(into)) => into.copy_from_slice(from),
            _ => unreachable!("fields are bound by their types"),
        }
    }
}
