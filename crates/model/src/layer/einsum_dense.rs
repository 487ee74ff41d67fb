//! A product with a kernel along any axes.

use super::{Activation, Context, Lowered, Signal};
use crate::Initializer;
use plimsoll_graph::op::{Binary, MatMul};
use plimsoll_graph::{Init, Shape, ShapeError, ValueId};
use serde::{Deserialize, Serialize};

/// `activation(einsum(equation, x, kernel) + bias)`, as a transposition, a matrix product and a transposition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EinsumDense {
    /// Such as `abc,cd->abd`: the axes of the input, of the kernel, of the result. `...` stands for axes that stay.
    pub equation: String,
    /// The extents of the result without the batch; `None` where the input says it.
    pub output_shape: Vec<Option<usize>>,
    /// The axes of the result that have a bias of their own at each index, if a bias is added.
    pub bias_axes: Option<String>,
    /// Applied last.
    pub activation: Activation,
    /// How the kernel starts.
    pub kernel_initializer: Initializer,
}

/// The axes of one equation, with letters in the place of `...`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Axes {
    input: Vec<char>,
    kernel: Vec<char>,
    result: Vec<char>,
}

impl EinsumDense {
    pub(super) fn kind(&self) -> &'static str {
        "einsum_dense"
    }

    pub(super) fn lower(&self, at: &mut Context<'_>, inputs: &[Signal]) -> Lowered {
        let [x] = at.operands(inputs)?;
        let shape = at.shape(x.value).clone();
        let parsed = Axes::parse(&self.equation, shape.rank());
        let axes = parsed.map_err(|problem| at.refusal(&[x.value], problem))?;
        let extent = |letter: char| self.extent(&axes, &shape, letter);
        let kernel_shape = axes.kernel.iter().map(|&letter| extent(letter)).collect::<Option<Vec<_>>>();
        let unknown = || format!("the output shape {:?} does not fit `{}`", self.output_shape, self.equation);
        let kernel_shape = Shape::new(kernel_shape.ok_or_else(|| at.refusal(&[x.value], unknown()))?);
        let init = self.kernel_initializer.for_kernel(&kernel_shape);
        let kernel = at.parameter("kernel", kernel_shape, init)?;
        let mut y = axes.product(at, x.value, kernel)?;
        if let Some(bias_axes) = &self.bias_axes {
            let shape =
                axes.bias_shape(at.shape(y), bias_axes).map_err(|problem| at.refusal(&[], problem))?;
            let bias = at.parameter("bias", shape, Init::Constant(0.0))?;
            y = at.op(Binary::Add, &[y, bias])?;
        }
        Ok(x.with(self.activation.apply(at, y)?))
    }

    /// The extent of an axis of the kernel: the input's, or what the output shape says.
    fn extent(&self, axes: &Axes, shape: &Shape, letter: char) -> Option<usize> {
        if let Some(axis) = axes.input.iter().position(|&other| other == letter) {
            return Some(shape[axis]);
        }
        let axis = axes.result.iter().position(|&other| other == letter)?;
        // The output shape may leave out axes at the left, of which the batch is one.
        let left_out = axes.result.len().checked_sub(self.output_shape.len())?;
        *self.output_shape.get(axis.checked_sub(left_out)?)?
    }
}

impl Axes {
    /// The axes of an equation for an input of that rank.
    fn parse(equation: &str, rank: usize) -> Result<Self, String> {
        let wrong = || format!("the equation `{equation}` is not understood");
        let spaceless: String = equation.chars().filter(|letter| !letter.is_whitespace()).collect();
        let (operands, result) = spaceless.split_once("->").ok_or_else(wrong)?;
        let (input, kernel) = operands.split_once(',').ok_or_else(wrong)?;
        let elided = (rank + 3).checked_sub(input.chars().count()).filter(|_| input.contains("..."));
        let free: Vec<char> =
            (0..elided.unwrap_or(0)).filter_map(|i| char::from_digit(i as u32, 10)).collect();
        let letters = |side: &str| -> Option<Vec<char>> {
            let filled: Vec<char> =
                side.replacen("...", &free.iter().collect::<String>(), 1).chars().collect();
            let plain = filled.iter().all(|letter| letter.is_ascii_alphanumeric());
            let once = filled.iter().enumerate().all(|(i, letter)| !filled[..i].contains(letter));
            (plain && once).then_some(filled)
        };
        let [input, kernel, result] = [input, kernel, result].map(|side| letters(side).ok_or_else(wrong));
        let axes = Self { input: input?, kernel: kernel?, result: result? };
        if axes.input.len() != rank {
            return Err(format!("`{equation}` does not take rank {rank}"));
        }
        let known = |letter: &char| axes.input.contains(letter) || axes.kernel.contains(letter);
        let summed = |letter: &&char| !axes.result.contains(letter);
        let alone = axes.input.iter().filter(summed).any(|letter| !axes.kernel.contains(letter))
            || axes.kernel.iter().filter(summed).any(|letter| !axes.input.contains(letter));
        let supported = axes.result.iter().all(known) && !alone && axes.result.first() == axes.input.first();
        if supported { Ok(axes) } else { Err(wrong()) }
    }

    /// Both operands as batches of matrices: axes of both that stay, then the input's own, those summed over, the
    /// kernel's own.
    fn product(&self, at: &mut Context<'_>, x: ValueId, kernel: ValueId) -> Result<ValueId, ShapeError> {
        let (input, weights, result) = (&self.input, &self.kernel, &self.result);
        let pick = |from: &[char], in_kernel: bool, in_result: bool| -> Vec<char> {
            let fits = |letter: &&char| {
                weights.contains(letter) == in_kernel
                    && result.contains(letter) == in_result
                    && input.contains(letter)
            };
            from.iter().filter(fits).copied().collect()
        };
        let shared = pick(input, true, true);
        let rows = pick(input, false, true);
        let summed = pick(input, true, false);
        let columns: Vec<char> = weights.iter().filter(|letter| !input.contains(letter)).copied().collect();
        let (x, x_extents) = arranged(at, x, input, &[&shared, &rows, &summed])?;
        let (kernel, kernel_extents) = arranged(at, kernel, weights, &[&shared, &summed, &columns])?;
        let count = |extents: &[usize]| extents.iter().product::<usize>();
        let [batch, m, k] = [0, 1, 2].map(|part| count(&x_extents[part]));
        let n = count(&kernel_extents[2]);
        let product = if shared.is_empty() {
            let (x, kernel) = (at.reshaped(x, [m, k])?, at.reshaped(kernel, [k, n])?);
            at.op(MatMul::default(), &[x, kernel])?
        } else {
            let (x, kernel) = (at.reshaped(x, [batch, m, k])?, at.reshaped(kernel, [batch, k, n])?);
            at.op(MatMul::default(), &[x, kernel])?
        };
        let extents = [&x_extents[0][..], &x_extents[1], &kernel_extents[2]].concat();
        let product = at.reshaped(product, Shape::new(extents))?;
        let letters = [&shared[..], &rows, &columns].concat();
        let order = result.iter().filter_map(|letter| letters.iter().position(|other| other == letter));
        at.transposed(product, order.collect())
    }

    /// Keras's bias has the axes from its first one on, with extent 1 where it has no bias of its own.
    fn bias_shape(&self, result: &Shape, bias_axes: &str) -> Result<Shape, String> {
        let first = self.result.iter().position(|&letter| bias_axes.contains(letter));
        let known = bias_axes.chars().all(|letter| self.result.contains(&letter));
        let first = first.filter(|_| known).ok_or_else(|| format!("the result has no axes `{bias_axes}`"))?;
        let extent = |axis: usize| if bias_axes.contains(self.result[axis]) { result[axis] } else { 1 };
        Ok(Shape::new((first..result.rank()).map(extent).collect::<Vec<_>>()))
    }
}

/// A value with its axes in the order of the parts, and the extents of each part.
fn arranged(
    at: &mut Context<'_>,
    value: ValueId,
    letters: &[char],
    parts: &[&[char]],
) -> Result<(ValueId, Vec<Vec<usize>>), ShapeError> {
    let shape = at.shape(value).clone();
    let axis = |letter: &char| letters.iter().position(|other| other == letter);
    let axes: Vec<Vec<usize>> = parts.iter().map(|part| part.iter().filter_map(axis).collect()).collect();
    let extents = axes.iter().map(|part| part.iter().map(|&axis| shape[axis]).collect()).collect();
    Ok((at.transposed(value, axes.concat())?, extents))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations() {
        let axes = Axes::parse("...x,xy->...y", 3).unwrap();
        assert_eq!((axes.input, axes.result), (vec!['0', '1', 'x'], vec!['0', '1', 'y']));
        assert!(Axes::parse("abc, cde -> abde", 3).is_ok());
        for wrong in [
            "abc",
            "abc,cd",
            "abc,cd->abq",
            "abc,cd->ad",
            "aac,cd->aad",
            "abc,cd->bad",
            "ab,bc->ac",
            "...,->",
        ] {
            assert!(Axes::parse(wrong, 3).is_err(), "{wrong}");
        }
    }
}
