//! Products of tensors: einsum, and what is one.

use super::Context;
use super::named::Named;
use super::terms::{Made, multiply, part, reduced, stretched, subtract};
use plimsoll_graph::op::{Concat, MatMul, Reduction};
use plimsoll_graph::{Shape, ShapeError, ValueId};

pub(super) fn apply(f: &Named, at: &mut Context<'_>, v: &[ValueId]) -> Result<Option<ValueId>, ShapeError> {
    if f.class == "Einsum" {
        return einsum(at, &f.text, v).map(Some);
    }
    let &[a, b] = v else { return Ok(None) };
    let letters =
        |from: u8, count: usize| -> Vec<char> { (0..count).map(|i| char::from(from + i as u8)).collect() };
    let (left, right) = (at.shape(a).rank(), at.shape(b).rank());
    if left > 8 || right > 8 {
        return Err(at.refusal(v, "the ranks are too high".to_string()));
    }
    let (mut one, mut two) = (letters(b'a', left), letters(b'n', right));
    Ok(Some(match f.class.as_str() {
        "Matmul" => matmul(at, a, b)?,
        "Dot" if left == 0 || right == 0 => multiply(at, a, b)?,
        "Dot" | "Inner" => {
            let place = if f.class == "Dot" && right > 1 { right - 2 } else { right - 1 };
            two[place] = one[left - 1];
            let result = one[..left - 1].iter().chain(two.iter().filter(|&&letter| letter != one[left - 1]));
            let result = result.copied().collect::<Vec<_>>();
            product(at, (a, &one), (b, &two), &result)?
        }
        "Outer" => {
            let (n, m) = (at.shape(a).elements(), at.shape(b).elements());
            let (a, b) = (at.reshaped(a, [n, 1])?, at.reshaped(b, [1, m])?);
            multiply(at, a, b)?
        }
        "Vdot" => {
            let (n, m) = (at.shape(a).elements(), at.shape(b).elements());
            let (a, b) = (at.reshaped(a, [n])?, at.reshaped(b, [m])?);
            let all = multiply(at, a, b)?;
            reduced(at, all, Reduction::Sum, &[0], false)?
        }
        "Tensordot" => {
            let (first, second) = f.integers.split_at(f.integers.len() / 2);
            for (&one_axis, &two_axis) in first.iter().zip(second) {
                two[at.axis(two_axis, b)?] = one[at.axis(one_axis, a)?];
            }
            let alone = |letter: &&char, other: &[char]| !other.contains(letter);
            let kept = one.iter().filter(|letter| alone(letter, &two));
            let result: Vec<char> =
                kept.chain(two.iter().filter(|letter| alone(letter, &one))).copied().collect();
            one.truncate(left);
            product(at, (a, &one), (b, &two), &result)?
        }
        "Kron" if left == 2 && right == 2 => {
            let ([n, m], [p, q]) = (at.extents(a)?, at.extents(b)?);
            let (a, b) = (at.reshaped(a, [n, 1, m, 1])?, at.reshaped(b, [1, p, 1, q])?);
            let all = multiply(at, a, b)?;
            at.reshaped(all, [n * p, m * q])?
        }
        "Cross" => cross(at, a, b)?,
        _ => return Ok(None),
    }))
}

/// As NumPy: vectors are rows on the left and columns on the right, leading axes are stretched to each other.
pub(super) fn matmul(at: &mut Context<'_>, a: ValueId, b: ValueId) -> Made {
    let (left, right) = (at.shape(a).extents().to_vec(), at.shape(b).extents().to_vec());
    if left.is_empty() || right.is_empty() {
        return Err(at.refusal(&[a, b], "it multiplies matrices".to_string()));
    }
    let own = |extents: &[usize], row: bool| match *extents {
        [n] if row => vec![1, n],
        [n] => vec![n, 1],
        _ => extents.to_vec(),
    };
    let (rows, columns) = (own(&left, true), own(&right, false));
    let (a, b) = (at.reshaped(a, Shape::new(rows.clone()))?, at.reshaped(b, Shape::new(columns.clone()))?);
    let [batch_a, batch_b] = [&rows, &columns].map(|extents| extents[..extents.len() - 2].to_vec());
    let y = if batch_a == batch_b || batch_b.is_empty() {
        at.op(MatMul::default(), &[a, b])?
    } else {
        let common = Shape::new(&batch_a[..]).broadcast(&Shape::new(&batch_b[..]));
        let unlike = || at.refusal(&[a, b], "the leading axes cannot be stretched to each other".to_string());
        let common = common.ok_or_else(unlike)?;
        let stretch = |at: &mut Context<'_>, x: ValueId, own: &[usize]| {
            let shape = Shape::new([common.extents(), &own[own.len() - 2..]].concat());
            stretched(at, x, &shape)
        };
        let (a, b) = (stretch(at, a, &rows)?, stretch(at, b, &columns)?);
        at.op(MatMul::default(), &[a, b])?
    };
    let mut shape = at.shape(y).extents().to_vec();
    if right.len() == 1 {
        shape.pop();
    }
    if left.len() == 1 {
        shape.remove(shape.len() - if right.len() == 1 { 1 } else { 2 });
    }
    at.reshaped(y, Shape::new(shape))
}

fn cross(at: &mut Context<'_>, a: ValueId, b: ValueId) -> Made {
    let last = at.axis(-1, a)?;
    let (size, other) = (at.shape(a)[last], at.shape(b).last());
    if size != other || !(size == 2 || size == 3) || at.shape(a) != at.shape(b) {
        return Err(at.refusal(&[a, b], "it takes vectors of 2 or 3 numbers in equal shapes".to_string()));
    }
    let mut term = |i: usize, j: usize| {
        let [ai, aj] = [part(at, a, last, i, 1)?, part(at, a, last, j, 1)?];
        let [bi, bj] = [part(at, b, last, i, 1)?, part(at, b, last, j, 1)?];
        let (first, second) = (multiply(at, ai, bj)?, multiply(at, aj, bi)?);
        subtract(at, first, second)
    };
    if size == 2 {
        let only = term(0, 1)?;
        let shape = at.shape(only).extents()[..last].to_vec();
        return at.reshaped(only, Shape::new(shape));
    }
    let parts = [term(1, 2)?, term(2, 0)?, term(0, 1)?];
    at.op(Concat { axis: last }, &parts)
}

/// `ij,jk->ik` and the like, `...` included: products of two at a time, from the left.
fn einsum(at: &mut Context<'_>, equation: &str, v: &[ValueId]) -> Made {
    let wrong = |at: &Context<'_>| at.refusal(v, format!("the equation `{equation}` is not understood"));
    let spaceless: String = equation.chars().filter(|letter| !letter.is_whitespace()).collect();
    let Some((operands, result)) = spaceless.split_once("->") else { return Err(wrong(at)) };
    let operands: Vec<&str> = operands.split(',').collect();
    if operands.len() != v.len() {
        return Err(wrong(at));
    }
    let mut elided = 0;
    for (operand, &x) in operands.iter().zip(v) {
        let named = operand.replace("...", "").chars().count();
        if operand.contains("...") {
            elided = elided.max(at.shape(x).rank().saturating_sub(named));
        }
    }
    // Digits stand for the axes of `...`, counted from the last.
    let letters = |side: &str, count: usize| -> Vec<char> {
        let digits: String =
            (elided - count.min(elided)..elided).map(|i| char::from(b'0' + i as u8)).collect();
        side.replacen("...", &digits, 1).chars().collect()
    };
    let mut terms = Vec::new();
    for (operand, &x) in operands.iter().zip(v) {
        let named = operand.replace("...", "").chars().count();
        let own = letters(operand, at.shape(x).rank().saturating_sub(named));
        let plain = own.iter().all(char::is_ascii_alphanumeric) && elided < 10;
        let once = own.iter().enumerate().all(|(i, letter)| !own[..i].contains(letter));
        if own.len() != at.shape(x).rank() || !plain || !once {
            return Err(wrong(at));
        }
        terms.push((x, own));
    }
    let result = letters(result, elided);
    if result.iter().any(|letter| !terms.iter().any(|(_, own)| own.contains(letter))) {
        return Err(wrong(at));
    }
    let mut terms = terms.into_iter();
    let (mut x, mut own) = terms.next().ok_or_else(|| wrong(at))?;
    while let Some((other, theirs)) = terms.next() {
        let later: Vec<char> =
            terms.clone().flat_map(|(_, letters)| letters).chain(result.iter().copied()).collect();
        let all = own.iter().chain(theirs.iter().filter(|letter| !own.contains(letter)));
        let kept: Vec<char> = all.filter(|letter| later.contains(letter)).copied().collect();
        x = product(at, (x, &own), (other, &theirs), &kept)?;
        own = kept;
    }
    (x, own) = summed(at, x, &own, &result)?;
    let order = result.iter().filter_map(|letter| own.iter().position(|other| other == letter));
    let order: Vec<usize> = order.collect();
    at.transposed(x, order)
}

/// Without the axes that nobody needs any more.
fn summed(
    at: &mut Context<'_>,
    x: ValueId,
    own: &[char],
    kept: &[char],
) -> Result<(ValueId, Vec<char>), ShapeError> {
    let gone: Vec<usize> = (0..own.len()).filter(|&axis| !kept.contains(&own[axis])).collect();
    if gone.is_empty() {
        return Ok((x, own.to_vec()));
    }
    let sum = reduced(at, x, Reduction::Sum, &gone, false)?;
    Ok((sum, own.iter().filter(|letter| kept.contains(letter)).copied().collect()))
}

/// The product of two tensors whose axes have letters, as a batch of matrix products: axes of both that stay, then
/// those of one side, those summed over, those of the other side.
fn product(at: &mut Context<'_>, a: (ValueId, &[char]), b: (ValueId, &[char]), result: &[char]) -> Made {
    let needed = |other: &[char]| -> Vec<char> { [other, result].concat() };
    let (a, one) = summed(at, a.0, a.1, &needed(b.1))?;
    let (b, two) = summed(at, b.0, b.1, &needed(&one))?;
    let pick = |from: &[char], other: &[char], shared: bool, stays: bool| -> Vec<char> {
        let fits = |letter: &&char| other.contains(letter) == shared && result.contains(letter) == stays;
        from.iter().filter(fits).copied().collect()
    };
    let (both, inner) = (pick(&one, &two, true, true), pick(&one, &two, true, false));
    let (rows, columns) = (pick(&one, &two, false, true), pick(&two, &one, false, true));
    let unequal = || at.refusal(&[a, b], "axes of one letter differ in their extents".to_string());
    let extent = |letter: &char| {
        let axis = |letters: &[char]| letters.iter().position(|other| other == letter);
        let sides = [axis(&one).map(|axis| at.shape(a)[axis]), axis(&two).map(|axis| at.shape(b)[axis])];
        match sides {
            [Some(first), Some(second)] if first != second => None,
            [first, second] => first.or(second),
        }
    };
    let extents = |letters: &[char]| -> Option<Vec<usize>> { letters.iter().map(extent).collect() };
    let sizes = [&both, &rows, &inner, &columns].map(|letters| extents(letters));
    let [Some(both_sizes), Some(row_sizes), Some(inner_sizes), Some(column_sizes)] = sizes else {
        return Err(unequal());
    };
    let count = |sizes: &[usize]| sizes.iter().product::<usize>();
    let order = |letters: &[char], wanted: Vec<char>| -> Vec<usize> {
        wanted.iter().filter_map(|letter| letters.iter().position(|other| other == letter)).collect()
    };
    let left = at.transposed(a, order(&one, [&both[..], &rows, &inner].concat()))?;
    let right = at.transposed(b, order(&two, [&both[..], &inner, &columns].concat()))?;
    let (m, k, n) = (count(&row_sizes), count(&inner_sizes), count(&column_sizes));
    let lead = if both.is_empty() { vec![] } else { vec![count(&both_sizes)] };
    let left = at.reshaped(left, Shape::new([&lead[..], &[m, k]].concat()))?;
    let right = at.reshaped(right, Shape::new([&lead[..], &[k, n]].concat()))?;
    let y = at.op(MatMul::default(), &[left, right])?;
    let y = at.reshaped(y, Shape::new([both_sizes, row_sizes, column_sizes].concat()))?;
    let made = [&both[..], &rows, &columns].concat();
    at.transposed(y, order(&made, result.to_vec()))
}
