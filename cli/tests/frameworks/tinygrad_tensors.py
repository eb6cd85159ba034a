"""Tensor operations of tinygrad, which compiles for CUDA with NVRTC, beside numpy's."""
import numpy as np
from tinygrad import Device, Tensor, dtypes

assert Device.DEFAULT == "CUDA"

rng = np.random.default_rng(3)
a, b = rng.random((33, 47), dtype=np.float32) - 0.5, rng.random((47, 21), dtype=np.float32) - 0.5
done = 0


def same(name, tensor, expected, tolerance=1e-4):
    global done
    found = tensor.numpy()
    assert found.shape == np.shape(expected), (name, found.shape, np.shape(expected))
    assert np.allclose(found, expected, rtol=tolerance, atol=tolerance), (name, found, expected)
    done += 1


ta, tb = Tensor(a), Tensor(b)
same("add", ta + 2, a + 2)
same("mul chain", (ta * ta - ta).relu(), np.maximum(a * a - a, 0))
same("matmul", ta @ tb, a @ b)
same("sum", ta.sum(), a.sum())
same("sum axis", ta.sum(axis=0), a.sum(axis=0))
same("max", ta.max(axis=1), a.max(axis=1))
same("mean", ta.mean(), a.mean())
same("exp", ta.exp(), np.exp(a))
same("log", (ta * ta + 1).log(), np.log(a * a + 1))
same("sin", ta.sin(), np.sin(a))
same("sqrt", (ta * ta).sqrt(), np.abs(a))
same("tanh", ta.tanh(), np.tanh(a))
same("sigmoid", ta.sigmoid(), 1 / (1 + np.exp(-a)))
same("transpose", ta.T + 0, a.T)
same("reshape", ta.reshape(47, 33) * 1, a.reshape(47, 33))
same("slice", ta[3:20, ::2] + 0, a[3:20, ::2])
same("cat", ta.cat(ta, dim=0), np.concatenate([a, a]))
e = np.exp(a - a.max(axis=1, keepdims=True))
same("softmax", ta.softmax(), e / e.sum(axis=1, keepdims=True))
same("where", (ta > 0).where(ta, -1.0), np.where(a > 0, a, -1.0))
same("argmax", ta.argmax(axis=1), a.argmax(axis=1))
same("cumsum", ta.cumsum(axis=1), a.cumsum(axis=1))
same("int", Tensor([1, 2, 3, -4], dtype=dtypes.int32) // 2, np.array([0, 1, 1, -2]))
same("half", (Tensor(a, dtype=dtypes.half) * 2).cast(dtypes.float), (a.astype(np.float16) * 2).astype(np.float32), 1e-3)
same("double", Tensor(a.astype(np.float64)) / 3, a.astype(np.float64) / 3, 1e-12)
image = rng.random((1, 3, 12, 12), dtype=np.float32)
kernel = rng.random((4, 3, 3, 3), dtype=np.float32)
expected = np.zeros((1, 4, 10, 10), dtype=np.float32)
for y in range(10):
    for x in range(10):
        expected[0, :, y, x] = (image[0, None, :, y:y + 3, x:x + 3] * kernel).sum(axis=(1, 2, 3))
same("conv2d", Tensor(image).conv2d(Tensor(kernel)), expected)
same("max_pool2d", Tensor(image).max_pool2d((2, 2)), image.reshape(1, 3, 6, 2, 6, 2).max(axis=(3, 5)))
same("avg_pool2d", Tensor(image).avg_pool2d((3, 3)), image.reshape(1, 3, 4, 3, 4, 3).mean(axis=(3, 5)))
rows = np.array([4, 0, 30, 4])
same("gather", ta[Tensor(rows)], a[rows])
same("one hot", Tensor(rows).one_hot(33), np.eye(33)[rows])
same("variance", ta.var(axis=1), a.var(axis=1, ddof=1))
normal = (a - a.mean(axis=1, keepdims=True)) / np.sqrt(a.var(axis=1, keepdims=True) + 1e-5)
same("layernorm", ta.layernorm(), normal)
same("sort", ta.sort(dim=1)[0], np.sort(a, axis=1))
same("half matmul", (ta.half() @ tb.half()).float(), a @ b, 2e-2)
same("bfloat16", ta.cast(dtypes.bfloat16).float(), a, 1e-2)
same("integers", Tensor(rows) * 7 % 5 ^ 3, rows * 7 % 5 ^ 3)
same("einsum", Tensor.einsum("ij,jk->ki", ta, tb), (a @ b).T)
large = rng.random((128, 256), dtype=np.float32)
same("large matmul", Tensor(large) @ Tensor(large.T.copy()), large @ large.T)
x = Tensor(a)
gradient = (x * x).sum().gradient(x)[0]
same("gradient", gradient, 2 * a)
assert 0.4 < Tensor.rand(1000).mean().item() < 0.6
print(f"tinygrad: {done} operations as expected")
