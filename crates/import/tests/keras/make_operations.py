"""Small models that have, together, every function of `keras.ops` that can stand in a functional model.

`CASES` has expressions by the name of the function. Their variables are computed from inputs by trained layers, so that gradients can be compared:
`x`, `y` in [n, 3, 4]; `p`, `q` the same between 0 and 1; `u` between -1 and 1; `v`, `w` in [n, 4]; `m` in [n, 4, 4]; `image`, `other` in [n, 6, 6, 4]; `sequence` in [n, 6, 4];
`i` integers below 5 in [n, 3]. `O` is `keras.ops`, `N` is numpy.
"""

import gzip
import json
import re

import keras
import numpy as np
from keras import layers as L

SHAPES = {"x": (3, 4), "y": (3, 4), "p": (3, 4), "q": (3, 4), "u": (3, 4), "v": (4,), "w": (4,), "m": (4, 4), "image": (6, 6, 4), "other": (6, 6, 4), "sequence": (6, 4)}
ACTIVATIONS = {"p": "sigmoid", "q": "sigmoid", "u": "tanh"}

# One line a function: its name, then expressions. What stands alone as a constant is used in a sum or product.
CASES = """
abs | O.abs(x)
absolute | O.absolute(x) | abs(x)
adaptive_average_pool | O.adaptive_average_pool(image, (3, 2))
adaptive_max_pool | O.adaptive_max_pool(image, (3, 2))
add | O.add(x, y) | x + 2 | 3.5 + x | O.add(x, v[:, None, :]) | O.add(x, N.arange(4.0)) | i + 1
all | O.all(x > -1, axis=1) | O.all(x > -1, axis=(1, 2), keepdims=True) | O.all(x, axis=-1)
allclose | x * O.cast(O.allclose(x, x), "float32")
amax | O.amax(x, axis=1) | O.amax(x, axis=(1, 2), keepdims=True)
amin | O.amin(x, axis=2) | O.amin(x)
angle | O.angle(x)
any | O.any(x > 1, axis=1) | O.any(x > 1, axis=(1, 2), keepdims=True)
append | O.append(x, y, axis=1)
arange | x + O.arange(4, dtype="float32")
arccos | O.arccos(u)
arccosh | O.arccosh(p + 1.5)
arcsin | O.arcsin(u)
arcsinh | O.arcsinh(x)
arctan | O.arctan(x)
arctan2 | O.arctan2(x, y) | O.arctan2(x, 0.5)
arctanh | O.arctanh(0.9 * u)
argmax | O.argmax(x, axis=-1) | O.argmax(x, axis=1, keepdims=True) | O.argmax(x)
argmin | O.argmin(x, axis=-1) | O.argmin(x, axis=1, keepdims=True)
argpartition | O.argpartition(v, 1)
argsort | O.argsort(x) | O.argsort(x, axis=1)
array | x + O.array([1.0, 2.0, 3.0, 4.0])
array_split | O.array_split(x, 3, axis=2)
associative_scan | O.associative_scan(lambda a, b: a + b, x, axis=1)
average | O.average(x, axis=1) | O.average(x, axis=1, weights=p) | O.average(x, axis=-1)
average_pool | O.average_pool(image, 2) | O.average_pool(image, (3, 2), strides=(2, 1), padding="same") | O.average_pool(sequence, 3, strides=1, padding="same")
bartlett | x * O.bartlett(4)
batch_normalization | O.batch_normalization(x, N.float32([0.1, 0.2, 0.3, 0.4]), N.float32([1, 2, 3, 4]), -1, N.float32([0.5, 1, 2, 3]), N.float32([1, 0, 1, 0])) | O.batch_normalization(x, N.float32([0.1, 0.2, 0.3]), N.float32([1, 2, 3]), 1, epsilon=0.1)
binary_crossentropy | O.binary_crossentropy(p, q) | O.binary_crossentropy(p, x, from_logits=True)
bincount | O.bincount(i, minlength=7)
bitwise_and | O.bitwise_and(i, N.int32(3))
bitwise_invert | O.bitwise_invert(i)
bitwise_left_shift | O.bitwise_left_shift(i, 2)
bitwise_not | O.bitwise_not(i)
bitwise_or | O.bitwise_or(i, N.int32(2))
bitwise_right_shift | O.bitwise_right_shift(i, 1)
bitwise_xor | O.bitwise_xor(i, N.int32(5))
blackman | x * O.blackman(4)
broadcast_to | O.broadcast_to(O.sum(x, axis=0, keepdims=True), (2, 3, 4))
cast | O.cast(x * 3, "int32") | O.cast(x, "bool") | O.cast(i, "float32") | O.cast(x > 0, "float32") | O.cast(x * 3, "int64") | O.cast(x, "float32")
categorical_crossentropy | O.categorical_crossentropy(p, q) | O.categorical_crossentropy(p, x, from_logits=True)
cbrt | O.cbrt(p + 0.1)
cdist | O.cdist(x, y)
ceil | O.ceil(3 * x) + x
celu | O.celu(x) | O.celu(x, alpha=0.5)
cholesky | O.cholesky(O.matmul(m, O.transpose(m, (0, 2, 1))) + 3 * N.eye(4, dtype="float32"))
cholesky_inverse | O.cholesky_inverse(O.tril(m) + 4 * N.eye(4, dtype="float32"))
clip | O.clip(x, -0.4, 0.5) | O.clip(i, 1, 3)
concatenate | O.concatenate([x, y], axis=1) | O.concatenate([x, y, x], axis=-1)
cond | O.cond(O.sum(x) > 0, lambda: x, lambda: y)
conj | O.conj(x)
conjugate | O.conjugate(x)
conv | O.conv(image, N.linspace(-1, 1, 72).reshape(3, 3, 4, 2).astype("float32"), padding="same") | O.conv(image, N.linspace(-1, 1, 32).reshape(2, 2, 4, 2).astype("float32"), strides=2) | O.conv(sequence, N.linspace(-1, 1, 24).reshape(3, 4, 2).astype("float32"), dilation_rate=2)
conv_transpose | O.conv_transpose(image, O.convert_to_tensor(N.linspace(-1, 1, 72).reshape(3, 3, 2, 4).astype("float32")), strides=2, padding="same") | O.conv_transpose(image, O.convert_to_tensor(N.linspace(-1, 1, 72).reshape(3, 3, 2, 4).astype("float32")), strides=2, padding="valid", output_padding=1)
convert_to_numpy | O.convert_to_numpy(x)
convert_to_tensor | O.convert_to_tensor(x) + y
copy | O.copy(x)
corrcoef | O.corrcoef(O.reshape(x, (6, 4)))
correlate | O.correlate(O.reshape(v, (8,)), O.reshape(w, (8,)), mode="same")
cos | O.cos(3 * x)
cosh | O.cosh(x)
count_nonzero | O.count_nonzero(O.relu(x), axis=1) | O.count_nonzero(x > 0, axis=(1, 2))
cross | O.cross(x[:, :, :3], y[:, :, :3]) | O.cross(x[:, :, :2], y[:, :, :2])
ctc_decode | O.ctc_decode(sequence, O.cast(O.sum(i, axis=1) * 0 + 6, "int32"))
ctc_loss | O.ctc_loss(i, sequence, O.sum(i, axis=1) * 0 + 3, O.sum(i, axis=1) * 0 + 6)
cumprod | O.cumprod(x, axis=1) | O.cumprod(x, axis=-1)
cumsum | O.cumsum(x, axis=1) | O.cumsum(x, axis=-1) | O.cumsum(i, axis=1)
custom_gradient | O.custom_gradient(lambda a: (a, lambda g: g))(x)
deg2rad | O.deg2rad(x)
depth_to_space | O.depth_to_space(image, 2)
depthwise_conv | O.depthwise_conv(image, N.linspace(-1, 1, 72).reshape(3, 3, 4, 2).astype("float32"), padding="same") | O.depthwise_conv(sequence, N.linspace(-1, 1, 12).reshape(3, 4, 1).astype("float32"))
det | O.det(m)
diag | O.diag(O.reshape(v, (-1,))) | O.diag(O.reshape(m, (-1, 4)), k=1) | O.diag(O.reshape(v, (-1,)), k=-1)
diagflat | O.diagflat(v) | O.diagflat(v, k=1)
diagonal | O.diagonal(m, axis1=1, axis2=2) | O.diagonal(m, 1, axis1=1, axis2=2) | O.diagonal(x, -1, axis1=2, axis2=1)
diff | O.diff(x) | O.diff(x, axis=1) | O.diff(x, n=2)
digitize | O.digitize(x, N.float32([-0.5, 0.0, 0.5]))
divide | O.divide(x, p) | x / 2 | 2 / p | O.divide(i, 2)
divide_no_nan | O.divide_no_nan(x, O.relu(y)) | O.divide_no_nan(x, p)
dot | O.dot(x, N.linspace(-1, 1, 8).reshape(4, 2).astype("float32")) | O.dot(x, N.float32([1, 2, 3, 4])) | O.dot(x, 3.0)
dot_product_attention | O.dot_product_attention(image, other, image) | O.dot_product_attention(image, other, image, is_causal=True) | O.dot_product_attention(image, other, image, scale=0.3)
dsplit | O.dsplit(x, 2)
dstack | O.dstack([x, y])
dtype | O.cast(x, O.dtype(y))
eig | O.eig(m)
eigh | O.eigh(m + O.transpose(m, (0, 2, 1)))
einsum | O.einsum("bij,bkj->bik", x, y) | O.einsum("bij->bji", x) | O.einsum("bij->bi", x) | O.einsum("bij,jk->bik", x, N.linspace(-1, 1, 8).reshape(4, 2).astype("float32")) | O.einsum("...i,...j->...ij", v, w) | O.einsum("bij,bij->bij", x, y) | O.einsum("bij,bj,bj->bi", x, v, w) | O.einsum("bij,bkl->bik", x, y) | O.einsum("bii->bi", m)
elu | O.elu(x) | O.elu(x, alpha=0.3)
empty | O.empty((3, 4)) * 0 + x
empty_like | O.empty_like(x) * 0 + x
equal | O.equal(O.round(x), O.round(y)) | O.equal(i, 2)
erf | O.erf(2 * x)
erfc | O.erfc(2 * x)
erfinv | O.erfinv(0.9 * u)
exp | O.exp(x) | O.exp(i)
exp2 | O.exp2(x)
expand_dims | O.expand_dims(x, 1) | O.expand_dims(x, -1) | O.expand_dims(x, (1, 3))
expm1 | O.expm1(x)
extract_sequences | O.extract_sequences(O.reshape(v, (2, 4)), 2, 1)
eye | O.matmul(x, O.eye(4))
fabs | O.fabs(x)
fft | O.fft((x, y))
fft2 | O.fft2((x, y))
flip | O.flip(x, axis=1) | O.flip(x, axis=(1, 2)) | O.flip(x)
fliplr | O.fliplr(x)
flipud | O.flipud(x)
floor | O.floor(3 * x) + x
floor_divide | O.floor_divide(3 * x, p) | x // 0.3 | i // 2
fmax | O.fmax(x, y) | O.fmax(x, 0.1)
fmin | O.fmin(x, y)
fmod | O.fmod(5 * x, p + 0.2) | O.fmod(5 * x, 2.0)
fold | O.fold(O.reshape(image, (2, 16, 9)), (6, 6), 2, stride=2)
fori_loop | O.fori_loop(0, 3, lambda k, a: a + 1.0, x)
full | x * O.full((3, 4), 2.5)
full_like | O.full_like(x, 2.5) * y
gcd | O.gcd(i, 4)
gelu | O.gelu(x) | O.gelu(x, approximate=False)
geomspace | x * O.geomspace(1.0, 8.0, 4)
get_item | O.get_item(x, (slice(None), 1)) | x[:, ::2] | x[..., -1] | x[:, None, 1:] | x[:, ::-1, 1::2] | x[0] | x[:, -2:, :3] | x[:, 1:3:2]
glu | O.glu(x) | O.glu(image, axis=1)
greater | O.greater(x, y) | x > 0.1 | i > 2
greater_equal | O.greater_equal(x, y) | i >= 2
hamming | x * O.hamming(4)
hanning | x * O.hanning(4)
hard_shrink | O.hard_shrink(x) | O.hard_shrink(x, 0.2)
hard_sigmoid | O.hard_sigmoid(3 * x)
hard_silu | O.hard_silu(3 * x)
hard_swish | O.hard_swish(3 * x)
hard_tanh | O.hard_tanh(2 * x)
heaviside | O.heaviside(x, p)
histogram | O.histogram(O.reshape(v, (8,)), bins=4, range=(-1.0, 1.0))
hsplit | O.hsplit(x, 3)
hstack | O.hstack([x, y])
hypot | O.hypot(x, y)
i0 | O.i0(x)
identity | O.matmul(x, O.identity(4))
ifft2 | O.ifft2((x, y))
imag | O.imag(x)
in_top_k | O.in_top_k(N.int32([1, 2]), v, 2) | O.in_top_k(O.max(i, axis=1) - 1, v, 1)
inner | O.inner(x, N.linspace(-1, 1, 8).reshape(2, 4).astype("float32"))
inv | O.inv(m + 4 * N.eye(4, dtype="float32"))
irfft | O.irfft((x, y))
is_tensor | x * float(O.is_tensor(x))
isclose | O.isclose(x, x + 1e-7) | O.isclose(x, y)
isfinite | O.isfinite(x / O.relu(y)) | O.isfinite(O.relu(x) / O.relu(y))
isin | O.isin(i, [1, 3])
isinf | O.isinf(x / O.relu(y)) | O.isinf(O.relu(x) / O.relu(y))
isnan | O.isnan(x / O.relu(y)) | O.isnan(O.relu(x) / O.relu(y))
isneginf | O.isneginf(x / O.relu(y))
isposinf | O.isposinf(x / O.relu(y))
isreal | O.isreal(x)
istft | O.istft((O.reshape(image, (2, 9, 16))[:, :, :9], O.reshape(other, (2, 9, 16))[:, :, :9]), 16, 4, 16)
jvp | O.jvp(lambda a: a * a, (x,), (y,))
kaiser | x * O.kaiser(4, 2.0)
kron | O.kron(O.reshape(x, (-1, 4)), N.float32([[1, 2], [3, 4]]))
layer_normalization | O.layer_normalization(x) | O.layer_normalization(x, N.float32([1, 2, 3, 4]), N.float32([0, 1, 0, 1]), epsilon=0.1) | O.layer_normalization(x, axis=(1, 2))
lcm | O.lcm(i + 1, 4)
ldexp | O.ldexp(x, i[:, :, None])
leaky_relu | O.leaky_relu(x) | O.leaky_relu(x, 0.3)
left_shift | O.left_shift(i, 1)
less | O.less(x, y) | x < 0.1
less_equal | O.less_equal(x, y) | i <= 2
linspace | x * O.linspace(0.0, 1.0, 4) | O.linspace(x, y, 3, axis=1) | O.linspace(x, y, 3, axis=-1, endpoint=False)
log | O.log(p) | O.log(i + 1)
log10 | O.log10(p)
log1p | O.log1p(p)
log2 | O.log2(p)
log_sigmoid | O.log_sigmoid(3 * x)
log_softmax | O.log_softmax(x) | O.log_softmax(x, axis=1)
logaddexp | O.logaddexp(x, y)
logaddexp2 | O.logaddexp2(x, y)
logdet | O.logdet(O.matmul(m, O.transpose(m, (0, 2, 1))) + 3 * N.eye(4, dtype="float32"))
logical_and | O.logical_and(x > 0, y > 0) | O.logical_and(i, x[:, :, 0] > 0) | (x > 0) & (y > 0)
logical_not | O.logical_not(x > 0) | O.logical_not(i) | ~(x > 0)
logical_or | O.logical_or(x > 0, y > 0) | (x > 0) | (y > 0)
logical_xor | O.logical_xor(x > 0, y > 0) | (x > 0) ^ (y > 0)
logspace | x * O.logspace(0.0, 1.0, 4)
logsumexp | O.logsumexp(x, axis=-1) | O.logsumexp(x, axis=(1, 2), keepdims=True) | O.logsumexp(50 * x, axis=1)
lstsq | O.lstsq(O.reshape(x, (6, 4)), O.reshape(y, (6, 4)))
lu_factor | O.lu_factor(m + 4 * N.eye(4, dtype="float32"))
map | O.map(lambda a: a + 1, x)
matmul | O.matmul(x, m) | x @ N.linspace(-1, 1, 8).reshape(4, 2).astype("float32") | O.matmul(x, v[:, :, None]) | O.matmul(O.expand_dims(x, 1), O.expand_dims(m, 1)) | O.matmul(m[:, None], O.reshape(image, (-1, 6, 4, 6))) | O.matmul(v, N.linspace(-1, 1, 8).reshape(4, 2).astype("float32")) | O.matmul(N.linspace(-1, 1, 6).reshape(2, 3).astype("float32"), x)
matrix_rank | O.matrix_rank(m)
max | O.max(x, axis=1) | O.max(x, axis=(1, 2), keepdims=True) | O.max(x) + x | O.max(x, axis=1, initial=0.5) | O.max(i, axis=1)
max_pool | O.max_pool(image, 2) | O.max_pool(image, (3, 2), strides=(2, 1), padding="same") | O.max_pool(sequence, 3, strides=1, padding="same")
maximum | O.maximum(x, y) | O.maximum(x, 0.1) | O.maximum(i, 2)
mean | O.mean(x, axis=1) | O.mean(x, axis=(1, 2), keepdims=True) | O.mean(x) + x | O.mean(x > 0, axis=1) | O.mean(i, axis=1)
median | O.median(x, axis=1) | O.median(x, axis=-1) | O.median(x, axis=(1, 2), keepdims=True)
meshgrid | O.meshgrid(O.reshape(v, (8,)), O.reshape(w, (8,))) | O.meshgrid(O.reshape(v, (8,)), O.reshape(w, (8,)), indexing="ij")
min | O.min(x, axis=1) | O.min(x) + x | O.min(x, axis=-1, initial=-0.5)
minimum | O.minimum(x, y) | O.minimum(x, 0.1)
mod | O.mod(5 * x, p + 0.2) | (5 * x) % 0.7 | i % 2 | O.mod(x, -0.7)
moments | O.moments(x, (1,)) | O.moments(x, (1, 2), keepdims=True) | O.moments(image, (1, 2))
moveaxis | O.moveaxis(x, 1, 2) | O.moveaxis(image, (1, 3), (3, 2)) | O.moveaxis(image, -1, 1)
multi_hot | O.multi_hot(i, 5)
multiply | O.multiply(x, y) | x * 2 | 2 * x | x * v[:, None] | O.multiply(i, x[:, :, 0]) | i * 3
nan_to_num | O.nan_to_num(O.relu(x) / O.relu(y), nan=0.5, posinf=3.0, neginf=-3.0)
nanargmax | O.nanargmax(O.relu(x) / O.relu(y), axis=-1) | O.nanargmax(x, axis=1)
nanargmin | O.nanargmin(x, axis=-1)
nancumprod | O.nancumprod(x, axis=1)
nancumsum | O.nancumsum(x, axis=1)
nanmax | O.nanmax(x, axis=1)
nanmean | O.nanmean(x, axis=1)
nanmedian | O.nanmedian(x, axis=1)
nanmin | O.nanmin(x, axis=1)
nanpercentile | O.nanpercentile(x, 40, axis=1)
nanprod | O.nanprod(x, axis=1)
nanquantile | O.nanquantile(x, 0.4, axis=1)
nanstd | O.nanstd(x, axis=1)
nansum | O.nansum(x, axis=1)
nanvar | O.nanvar(x, axis=1)
ndim | x * len(x.shape)
negative | O.negative(x) | -x
nextafter | O.nextafter(x, y)
nonzero | O.nonzero(x)
norm | O.norm(x, axis=-1) | O.norm(x, axis=1, keepdims=True) | O.norm(x, ord=1, axis=1) | O.norm(x, ord="fro", axis=(1, 2)) | O.norm(x, axis=(1, 2)) | O.norm(x, ord=3, axis=1) | O.norm(x, ord=1, axis=(1, 2)) | O.norm(x, ord="nuc", axis=(1, 2))
normalize | O.normalize(x) | O.normalize(x, axis=1, order=1) | O.normalize(x, order=3) | O.normalize(x, axis=1)
not_equal | O.not_equal(i, 2) | O.not_equal(O.round(x), O.round(y))
one_hot | O.one_hot(i, 5) | O.one_hot(i, 4) | O.one_hot(i, 5, axis=1)
ones | x * O.ones((3, 4))
ones_like | O.ones_like(x) * y | O.ones_like(i)
outer | O.outer(v, w)
pad | O.pad(x, ((0, 0), (1, 2), (0, 1))) | O.pad(x, ((0, 0), (1, 2), (0, 1)), constant_values=1.5) | O.pad(x, ((0, 0), (1, 2), (2, 1)), mode="reflect") | O.pad(x, ((0, 0), (1, 2), (2, 1)), mode="symmetric")
percentile | O.percentile(x, 30, axis=1) | O.percentile(x, 50, axis=-1, keepdims=True)
pinv | O.pinv(m)
polar | O.polar(p, q)
power | O.power(p, x) | x ** 2 | x ** 3 | p ** 0.5 | 2 ** x | O.power(p, -1.5) | O.power(i, 2)
prod | O.prod(x, axis=1) | O.prod(x, axis=(1, 2), keepdims=True) | O.prod(x, axis=-1)
psnr | O.psnr(p, q, 1.0) + p
ptp | O.ptp(x, axis=1)
qr | O.qr(m)
quantile | O.quantile(x, 0.3, axis=1) | O.quantile(x, [0.25, 0.75], axis=-1) | O.quantile(x, 0.3, axis=1, method="nearest")
rad2deg | O.rad2deg(x)
ravel | O.ravel(x)
real | O.real(x)
rearrange | O.rearrange(x, "b h w -> b w h")
reciprocal | O.reciprocal(p)
relu | O.relu(x) | O.relu(i)
relu6 | O.relu6(8 * x)
repeat | O.repeat(x, 2, axis=1) | O.repeat(x, 3, axis=-1) | O.repeat(x, 2, axis=0)
reshape | O.reshape(x, (-1, 12)) | O.reshape(x, (-1, 2, 6)) | O.reshape(x, (2, 12))
rfft | O.rfft(x)
right_shift | O.right_shift(i, 1)
rms_normalization | O.rms_normalization(x) | O.rms_normalization(x, N.float32([1, 2, 3, 4]), axis=-1, epsilon=0.1)
roll | O.roll(x, 1, axis=1) | O.roll(x, -2, axis=2) | O.roll(x, 5, axis=1) | O.roll(x, 3) | O.roll(x, (1, 2), axis=(1, 2))
rot90 | O.rot90(image, axes=(1, 2)) | O.rot90(image, k=2, axes=(1, 2)) | O.rot90(image, k=3, axes=(1, 2))
round | O.round(3 * x) + x | O.round(x, 1)
rsqrt | O.rsqrt(p)
saturate_cast | O.saturate_cast(300 * x, "uint8") | O.saturate_cast(3 * x, "int32")
scan | O.scan(lambda c, a: (c + a, c), x[0], x)
scatter | O.scatter(N.int32([[1], [3]]), v, (5, 4))
scatter_update | O.scatter_update(x, N.int32([[0, 1], [1, 2]]), v)
searchsorted | O.searchsorted(N.float32([-0.5, 0.0, 0.5]), O.reshape(v, (-1,))) | O.searchsorted(N.float32([-0.5, 0.0, 0.5]), O.reshape(v, (-1,)), side="right")
segment_max | O.segment_max(x, N.int32([0, 0]), 1)
segment_min | O.segment_min(x, N.int32([0, 0]), 1)
segment_prod | O.segment_prod(x, N.int32([0, 0]), 1)
segment_sum | O.segment_sum(O.transpose(x, (1, 0, 2)), N.int32([0, 1, 0]), 2) | O.segment_sum(O.transpose(x, (1, 0, 2)), N.int32([2, 0, 2]), 4)
select | O.select([x > 0.5, x > 0], [x, y], 0.1)
selu | O.selu(x)
separable_conv | O.separable_conv(image, N.linspace(-1, 1, 36).reshape(3, 3, 4, 1).astype("float32"), N.linspace(-1, 1, 8).reshape(1, 1, 4, 2).astype("float32"), padding="same")
shape | O.reshape(x, (-1, O.shape(x)[1] * O.shape(x)[2]))
sigmoid | O.sigmoid(3 * x)
sign | O.sign(x) * y
signbit | O.signbit(x)
silu | O.silu(x)
sin | O.sin(3 * x)
sinc | O.sinc(x)
sinh | O.sinh(x)
size | x * O.size(N.zeros((3, 2)))
slice | O.slice(x, (0, 1, 0), (2, 2, 3))
slice_update | O.slice_update(x, (0, 1, 1), y[:, :2, :3])
slogdet | O.slogdet(m)
soft_shrink | O.soft_shrink(x) | O.soft_shrink(x, 0.2)
softmax | O.softmax(x) | O.softmax(x, axis=1)
softplus | O.softplus(3 * x)
softsign | O.softsign(x)
solve | O.solve(m + 4 * N.eye(4, dtype="float32"), m)
solve_triangular | O.solve_triangular(O.tril(m) + 4 * N.eye(4, dtype="float32"), m, lower=True)
sort | O.sort(x) | O.sort(x, axis=1)
space_to_depth | O.space_to_depth(image, 2)
sparse_categorical_crossentropy | O.sparse_categorical_crossentropy(i, O.softmax(O.concatenate([x, y], axis=-1))) | O.sparse_categorical_crossentropy(i, O.concatenate([x, y], axis=-1), from_logits=True)
sparse_plus | O.sparse_plus(2 * x)
sparse_sigmoid | O.sparse_sigmoid(2 * x)
sparsemax | O.sparsemax(x)
split | O.split(x, 2, axis=2) | O.split(x, [1, 2], axis=1) | O.split(x, 3, axis=1)
sqrt | O.sqrt(p) | O.sqrt(i + 1)
square | O.square(x) | O.square(i)
squareplus | O.squareplus(x) | O.squareplus(x, b=2)
squeeze | O.squeeze(x[:, :1], 1) | O.squeeze(x[:, :, 2:3]) | O.squeeze(x[:, :1, :1], (1, 2))
stack | O.stack([x, y], axis=1) | O.stack([x, y, x], axis=-1) | O.stack([x, y])
std | O.std(x, axis=1) | O.std(x, axis=(1, 2), keepdims=True)
stft | O.stft(O.reshape(image, (2, 144)), 16, 8, 16)
stop_gradient | O.stop_gradient(x) * y + x
subtract | O.subtract(x, y) | x - 1 | 1 - x | i - 2
sum | O.sum(x, axis=1) | O.sum(x, axis=(1, 2), keepdims=True) | O.sum(x) * x | O.sum(x > 0, axis=-1) | O.sum(i, axis=1)
svd | O.svd(m)
swapaxes | O.swapaxes(x, 1, 2) | O.swapaxes(image, -1, 1)
swish | O.swish(x)
switch | O.switch(O.sum(i), [lambda a: a, lambda a: -a], x)
take | O.take(x, [2, 0], axis=1) | O.take(x, [[0, 1], [3, -1]], axis=2) | O.take(N.linspace(-1, 1, 10).reshape(5, 2).astype("float32"), i, axis=0) | O.take(x, 1, axis=1) | O.take(x, [1, 0, 5])
take_along_axis | O.take_along_axis(x, O.argsort(y, axis=1), axis=1) | O.take_along_axis(x, O.argmax(x, axis=-1, keepdims=True), axis=-1) | O.take_along_axis(x, N.int32([[[0, 1, 2, 0]]]) , axis=1)
tan | O.tan(x)
tanh | O.tanh(x)
tanh_shrink | O.tanh_shrink(x)
tensordot | O.tensordot(x, N.linspace(-1, 1, 8).reshape(4, 2).astype("float32"), axes=1) | O.tensordot(x, N.linspace(-1, 1, 24).reshape(4, 3, 2).astype("float32"), axes=[[1, 2], [1, 0]])
threshold | O.threshold(x, 0.1, -1.0)
tile | O.tile(x, (1, 2, 3)) | O.tile(v, (1, 2)) | O.tile(x, 2)
top_k | O.top_k(x, 2) | O.top_k(x, 3, sorted=True)
trace | O.trace(m, axis1=1, axis2=2) | O.trace(m, 1, axis1=1, axis2=2)
transpose | O.transpose(x, (0, 2, 1)) | O.transpose(x) | O.transpose(image, (0, -1, 1, 2))
trapezoid | O.trapezoid(x) | O.trapezoid(x, dx=0.5, axis=1)
tri | x * O.tri(3, 4)
tril | O.tril(m) | O.tril(m, k=1) | O.tril(x, k=-1)
triu | O.triu(m) | O.triu(m, k=-1)
true_divide | O.true_divide(x, p) | O.true_divide(x, 3.0)
trunc | O.trunc(3 * x) + x
unfold | O.unfold(O.transpose(image, (0, 3, 1, 2)), 2) | O.unfold(O.transpose(image, (0, 3, 1, 2)), 3, dilation=1, padding=1, stride=2)
unique | O.unique(O.reshape(i, (6,)))
unravel_index | O.unravel_index(i, (2, 3))
unstack | O.unstack(x, axis=1) | O.unstack(x, num=4, axis=-1)
vander | O.vander(O.reshape(v, (-1,)), 3)
var | O.var(x, axis=1) | O.var(x, axis=(1, 2), keepdims=True)
vdot | O.vdot(x, y) + x
vectorize | O.vectorize(lambda a: a + 1)(x)
vectorized_map | O.vectorized_map(lambda a: a + 1, x)
view | O.view(x, "int32")
view_as_complex | O.view_as_real(O.view_as_complex(x[:, :, :2]))
view_as_real | O.view_as_real(O.view_as_complex(x[:, :, :2]))
vsplit | O.vsplit(O.transpose(x, (1, 0, 2)), 3)
vstack | O.vstack([x, y])
where | O.where(x > 0, x, y) | O.where(x > 0, 1.0, y) | O.where(i[:, :, None] > 2, x, 0.0) | O.where(x > 0, x / O.relu(y), 0.0)
while_loop | O.while_loop(lambda a: O.sum(a) < 0, lambda a: a + 1, x)
zeros | x + O.zeros((3, 4))
zeros_like | O.zeros_like(x) + y
image.affine_transform | O.image.affine_transform(image, N.float32([1, 0.1, 0.5, 0.1, 1, -0.5, 0, 0]), fill_mode="constant")
image.crop_images | O.image.crop_images(image, top_cropping=1, left_cropping=2, target_height=3, target_width=4)
image.elastic_transform | O.image.elastic_transform(image)
image.extract_patches | O.image.extract_patches(image, 2) | O.image.extract_patches(image, (3, 2), strides=(2, 1), padding="same")
image.extract_patches_3d | O.image.extract_patches_3d(O.reshape(image, (2, 3, 2, 6, 4)), 2)
image.gaussian_blur | O.image.gaussian_blur(image, (3, 3), (1.0, 1.0))
image.hsv_to_rgb | O.image.hsv_to_rgb(O.sigmoid(image[..., :3]))
image.map_coordinates | O.image.map_coordinates(O.reshape(v, (8,)), N.float32([[0.5, 1.5, 2.25]]), order=1)
image.pad_images | O.image.pad_images(image, top_padding=1, left_padding=2, bottom_padding=1, right_padding=0)
image.perspective_transform | O.image.perspective_transform(image, N.float32([[0, 0], [0, 5], [5, 0], [5, 5]]), N.float32([[0, 1], [1, 5], [5, 0], [4, 5]]))
image.resize | O.image.resize(image, (4, 9)) | O.image.resize(image, (9, 3), interpolation="nearest") | O.image.resize(image, (9, 12), interpolation="bicubic")
image.rgb_to_grayscale | O.image.rgb_to_grayscale(image[..., :3])
image.rgb_to_hsv | O.image.rgb_to_hsv(O.sigmoid(image[..., :3]))
image.scale_and_translate | O.image.scale_and_translate(image, (2, 9, 9, 4), N.float32([1.5, 1.5]), N.float32([0, 0]), (1, 2), "linear")
image.sobel_edges | O.image.sobel_edges(image)
image.ssim | O.image.ssim(O.sigmoid(image), O.sigmoid(other), 1.0, filter_size=3)
"""


def cases():
    """Names and expressions."""
    for line in CASES.strip().splitlines():
        # A single bar within an expression is an operator: expressions are cut at ` | ` outside of parentheses with the name in front.
        name, *expressions = split(line)
        for number, expression in enumerate(expressions):
            yield name, number, expression


def split(line):
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(line):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if line[position:position + 3] == " | " and depth == 0 and not line[start:position].strip().startswith("(x > 0)") and not line[position + 3:].startswith("(y > 0)"):
            parts.append(line[start:position].strip())
            start = position + 3
    return parts + [line[start:].strip()]


def build(expression, batch=2):
    """A model of an expression. Some functions only take a known number of samples."""
    scope, inputs = {"O": keras.ops, "N": np}, []
    fixed = batch if re.search(r"reshape\(\w+, \([26]|\(8,\)|scatter|extract_sequences|x\[0\]|broadcast_to|O.slice|roll\(x, 3\)|diagflat|O.outer|ravel|segment|in_top_k|dtype|rearrange|argmax\(x\)|unstack|vsplit|linspace\(x|map|O.pad\(x, 1\)|flip\(x\)|scale_and|trans?pose\(x\)|corrcoef|unravel|dstack", expression) else None
    for name in ["x", "y", "p", "q", "u", "v", "w", "m", "image", "other", "sequence"]:
        if re.search(rf"(?<![\w.\"])(?<!lambda ){name}\b(?!\")", expression):
            inputs.append(L.Input(SHAPES[name], batch_size=fixed, name=f"in_{name}"))
            scope[name] = L.Dense(4, activation=ACTIVATIONS.get(name), name=f"layer_{name}")(inputs[-1])
    if re.search(r"(?<![\w.\"'])i\b", expression):
        inputs.append(L.Input((3,), batch_size=fixed, dtype="int32", name="ids"))
        scope["i"] = inputs[-1]
    result = eval(expression, scope)  # noqa: S307 (the expressions are those above)
    return keras.Model(inputs, keras.tree.flatten(result))


def computed(model, samples, units, batch=2):
    """Predictions, and the gradients of a weighted sum of them."""
    import tensorflow as tf

    inputs = [samples(position, tensor, batch) for position, tensor in enumerate(model.inputs)]
    with tf.GradientTape() as tape:
        outputs = keras.tree.flatten(model(inputs if len(inputs) > 1 else inputs[0], training=False))
        terms = []
        for number, output in enumerate(outputs):
            if output.dtype.is_floating:
                weights = units(f"w{number}", int(np.prod(output.shape))).reshape(output.shape)
                terms.append(tf.reduce_sum(output * weights.astype("float32")))
        loss = tf.add_n(terms) if terms else tf.constant(0.0)
    try:
        found = tape.gradient(loss, [variable.value for variable in model.trainable_variables])
    except LookupError:  # TensorFlow has no gradient for some
        found = []
    gradients = {}
    for variable, gradient in zip(model.trainable_variables, found):
        gradients[variable.path] = None if gradient is None else numbers(gradient)
    return [numbers(output) for output in outputs], [bool(output.dtype.is_floating) for output in outputs], gradients


# Functions of one tensor along axes, for cases drawn at random: `A` is an axis that is not the batch, `B` several of them, `K` whether they stay.
DRAWN = """
O.sum(x, axis=B, keepdims=K); O.mean(x, axis=B, keepdims=K); O.max(x, axis=B, keepdims=K); O.min(x, axis=B, keepdims=K); O.prod(x, axis=B, keepdims=K); O.var(x, axis=B, keepdims=K)
O.std(x, axis=B, keepdims=K); O.logsumexp(x, axis=B, keepdims=K); O.any(x > 0.3, axis=B, keepdims=K); O.all(x > -0.5, axis=B, keepdims=K); O.argmax(x, axis=A, keepdims=K)
O.argmin(x, axis=A, keepdims=K); O.cumsum(x, axis=A); O.cumprod(x, axis=A); O.sort(x, axis=A); O.argsort(x, axis=A); O.flip(x, axis=B); O.roll(x, 2, axis=A); O.repeat(x, 2, axis=A)
O.softmax(x, axis=A); O.log_softmax(x, axis=A); O.norm(x, axis=A, keepdims=K); O.normalize(x, axis=A); O.median(x, axis=B, keepdims=K); O.quantile(x, 0.3, axis=A, keepdims=K); O.diff(x, axis=A)
O.expand_dims(x, A); O.swapaxes(x, A, -1); O.moveaxis(x, A, 1); O.take(x, [0, -1, 0], axis=A); O.stack([x, y], axis=A); O.concatenate([x, y], axis=A); O.split(x, [1], axis=A); O.unstack(x, axis=A)
O.take_along_axis(x, O.argsort(y, axis=A), axis=A); O.where(x > y, x, y); O.trapezoid(x, axis=A); O.average(x, axis=A, weights=O.abs(y) + 0.1); O.layer_normalization(x, axis=-1); O.moments(x, B, keepdims=K)
O.count_nonzero(O.relu(x), axis=B); O.ptp(x, axis=A, keepdims=K); O.sparsemax(x, axis=A); O.einsum("b...c,b...c->b...", x, y); O.matmul(x, O.swapaxes(y, -1, -2)); O.tile(x, (1, 2, 1)); O.nansum(x / O.relu(y + 2), axis=B)
"""


def drawn(count, seed):
    """So many expressions with shapes and axes drawn at random: expressions and shapes."""
    random = np.random.default_rng(seed)
    functions = [one.strip() for one in DRAWN.replace("\n", ";").split(";") if one.strip()]
    for _ in range(count):
        rank = int(random.integers(2, 4))
        shape = tuple(int(extent) for extent in random.integers(2, 6, rank - 1)) + (4,)
        axes = [int(axis) for axis in random.permutation(np.arange(1, rank + 1))[: random.integers(1, rank + 1)]]
        axis = axes[0] if random.integers(2) else axes[0] - rank - 1
        expression = str(random.choice(functions))
        if "tile" in expression and rank != 2:
            expression = "O.tile(x, (1, 2, 1, 2))"
        keep = "True" if random.integers(2) else "False"
        expression = re.sub(r"\bA\b", str(axis), expression)
        yield re.sub(r"\bB\b", str(tuple(axes)), re.sub(r"\bK\b", keep, expression)), shape


def make_drawn(path, count, seed, set_weights, samples, units):
    """The same for cases drawn at random; `PLIMSOLL_OPERATIONS=path` has them checked."""
    written = []
    for number, (expression, shape) in enumerate(drawn(count, seed)):
        keras.backend.clear_session()
        SHAPES["x"] = SHAPES["y"] = shape
        try:
            model = build(expression)
            config = json.loads(model.to_json())
            set_weights(model)
            predictions, floats, gradients = computed(model, samples, units)
        except Exception as error:  # noqa: BLE001 (whatever Keras says)
            print(expression, shape, type(error).__name__, flush=True)
            continue
        written.append({"name": f"drawn/{number}", "expression": f"{expression} of {shape}", "config": config, "predictions": predictions, "floats": floats, "gradients": gradients})
    with gzip.GzipFile(path, "wb", 9, mtime=0) as file:
        file.write(json.dumps(written).encode())


def numbers(tensor):
    """JSON has no NaN and no infinity: nothing stands for the one, something large for the other."""
    every = np.ravel(np.array(tensor)).astype(np.float64)
    return [None if np.isnan(x) else float(f"{np.clip(x, -1e300, 1e300):.7g}") for x in every]


def make(path, set_weights, samples, units, chosen=None):
    """Writes all cases into one packed file, also those that Keras itself cannot put into a functional model."""
    written = []
    for name, number, expression in cases():
        if chosen and name not in chosen:
            continue
        keras.backend.clear_session()
        try:
            model = build(expression)
            config = json.loads(model.to_json())
            set_weights(model)
            predictions, floats, gradients = computed(model, samples, units)
        except Exception as error:  # noqa: BLE001 (whatever Keras says)
            why = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:80]}"
            written.append({"name": f"{name}/{number}", "expression": expression, "why": why})
            print(name, number, why, flush=True)
            continue
        written.append({"name": f"{name}/{number}", "expression": expression, "config": config, "predictions": predictions, "floats": floats, "gradients": gradients})
    with gzip.GzipFile(path, "wb", 9, mtime=0) as file:
        file.write(json.dumps(written).encode())
