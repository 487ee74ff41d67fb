//! Scratch of the CPU's convolutions: images unrolled to matrices, as many at a time as a working set allows.
//!
//! From `conv_grad_filter_ops.cc` and `conv_grad_input_ops.cc`; every size in the traces of six models is reproduced.

/// The bytes of the working set that TensorFlow aims at.
const WORKING_SET: u64 = 30 << 20;

/// From this many elements a product is cut by itself, not by images.
const LARGE_PRODUCT: u64 = 64 << 10;

/// One image's convolution as a matrix product.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Pixels of the result.
    pub pixels: u64,
    /// Elements of a window over all input channels.
    pub window: u64,
    /// Channels of the result.
    pub filters: u64,
    /// Bytes of one element.
    pub element: u64,
}

impl Product {
    /// The bytes that the gradient of the filter unrolls; the number of images in the batch does not limit it.
    pub fn filter_gradient(self) -> u64 {
        self.images() * self.unrolled()
    }

    /// The bytes that the gradient of the image unrolls: one image if its product is large.
    pub fn input_gradient(self, batch: u64) -> u64 {
        let one = batch == 1 || self.elements() >= LARGE_PRODUCT;
        (if one { 1 } else { self.images() }) * self.unrolled()
    }

    fn images(self) -> u64 {
        (WORKING_SET / self.element).div_ceil(self.elements())
    }

    fn elements(self) -> u64 {
        self.pixels * self.window + self.pixels * self.filters + self.window * self.filters
    }

    fn unrolled(self) -> u64 {
        self.pixels * self.window * self.element
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes from traces: pixels, window, filters; scratch of the filter's and of the image's gradient.
    #[test]
    fn sizes_are_those_of_the_traces() {
        let table = [
            (100, 150, 16, 24_840_000, 24_840_000), // LeNet's second convolution
            (169, 288, 64, 19_663_488, 194_688),    // 3x3 over 13x13x32
            (16, 576, 64, 6_156_288, 6_156_288),    // 3x3 over 4x4x64
            (256, 64, 64, 14_024_704, 14_024_704),  // ResNet-50's first 1x1
            (64, 256, 128, 9_043_968, 9_043_968),   // 1x1 with stride 2
            (16, 4608, 512, 1_179_648, 294_912),    // VGG16's last
        ];
        for (pixels, window, filters, filter_gradient, input_gradient) in table {
            let product = Product { pixels, window, filters, element: 4 };
            assert_eq!(product.filter_gradient(), filter_gradient, "{product:?}");
            assert_eq!(product.input_gradient(8), input_gradient, "{product:?}");
        }
    }
}
