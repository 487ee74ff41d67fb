//! How a window slides over an image: strides, dilation, padding, and what follows from them.

use serde::{Deserialize, Serialize};

/// Zeros (or, for pooling, nothing) added around an image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Padding {
    /// None: the window stays inside.
    #[default]
    Valid,
    /// As much as makes `output = ceil(input / stride)`; the odd one goes after, as in TensorFlow.
    Same,
    /// So many rows and columns before and after.
    Explicit {
        /// Rows above, columns to the left.
        before: [usize; 2],
        /// Rows below, columns to the right.
        after: [usize; 2],
    },
}

/// How a window moves; the first of each pair is vertical.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sliding {
    /// Steps between neighbouring windows.
    pub strides: [usize; 2],
    /// Steps between neighbouring elements of a window.
    pub dilation: [usize; 2],
    /// What surrounds the image.
    pub padding: Padding,
}

/// A sliding window over an image of known size: everything a kernel needs to find its pixels.
/// Output pixel `o` reads input pixel `o * stride + k * dilation - before` for each window element `k`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Geometry {
    /// Rows and columns of the image.
    pub input: [usize; 2],
    /// Rows and columns of the window.
    pub window: [usize; 2],
    /// As in [`Sliding`].
    pub strides: [usize; 2],
    /// As in [`Sliding`].
    pub dilation: [usize; 2],
    /// Padding above and to the left.
    pub before: [usize; 2],
    /// Rows and columns of the result.
    pub output: [usize; 2],
}

impl Default for Sliding {
    fn default() -> Self {
        Self { strides: [1, 1], dilation: [1, 1], padding: Padding::Valid }
    }
}

impl Sliding {
    /// Applies the window to an image, or says why it cannot.
    pub fn over(&self, input: [usize; 2], window: [usize; 2]) -> Result<Geometry, String> {
        let (rows_before, rows) = self.along(0, input[0], window[0])?;
        let (columns_before, columns) = self.along(1, input[1], window[1])?;
        Ok(Geometry {
            input,
            window,
            strides: self.strides,
            dilation: self.dilation,
            before: [rows_before, columns_before],
            output: [rows, columns],
        })
    }

    /// Padding before and output extent along one axis.
    fn along(&self, axis: usize, input: usize, window: usize) -> Result<(usize, usize), String> {
        let (stride, dilation) = (self.strides[axis], self.dilation[axis]);
        if stride == 0 || dilation == 0 || window == 0 {
            return Err("strides, dilation and window must be at least 1".to_string());
        }
        let reach = (window - 1)
            .checked_mul(dilation)
            .and_then(|span| span.checked_add(1))
            .ok_or("the dilated window is absurdly large")?;
        let (before, after) = match self.padding {
            Padding::Valid => (0, 0),
            Padding::Same => {
                let output = input.div_ceil(stride);
                let total = (output.saturating_sub(1) * stride).saturating_add(reach).saturating_sub(input);
                (total / 2, total - total / 2)
            }
            Padding::Explicit { before, after } => (before[axis], after[axis]),
        };
        let padded = input.checked_add(before).and_then(|sum| sum.checked_add(after));
        let padded = padded.ok_or("the padding is absurdly large")?;
        let slack = padded.checked_sub(reach).ok_or_else(|| {
            format!("a window of {reach} (dilated) does not fit an image of {padded} (padded)")
        })?;
        Ok((before, slack / stride + 1))
    }
}

impl Geometry {
    /// The input row or column that window element `k` of output position `o` reads, unless it is padding.
    #[inline]
    pub fn source(&self, axis: usize, o: usize, k: usize) -> Option<usize> {
        let position = o * self.strides[axis] + k * self.dilation[axis];
        position.checked_sub(self.before[axis]).filter(|&position| position < self.input[axis])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_padding_is_tensorflows() {
        let sliding = Sliding { strides: [2, 2], padding: Padding::Same, ..Default::default() };
        let even = sliding.over([8, 7], [3, 3]).unwrap();
        assert_eq!((even.output, even.before), ([4, 4], [0, 1]));
    }

    #[test]
    fn valid_and_explicit_padding() {
        let valid = Sliding { dilation: [2, 1], ..Default::default() }.over([9, 9], [3, 3]).unwrap();
        assert_eq!(valid.output, [5, 7]);
        let padding = Padding::Explicit { before: [3, 3], after: [3, 3] };
        let resnet =
            Sliding { strides: [2, 2], padding, ..Default::default() }.over([224, 224], [7, 7]).unwrap();
        assert_eq!(resnet.output, [112, 112]);
        assert_eq!(resnet.source(0, 0, 2), None);
        assert_eq!(resnet.source(0, 0, 3), Some(0));
    }

    #[test]
    fn impossible_windows_are_refused() {
        assert!(Sliding::default().over([2, 2], [3, 3]).unwrap_err().contains("does not fit"));
        assert!(Sliding { strides: [0, 1], ..Default::default() }.over([2, 2], [1, 1]).is_err());
    }
}
