"""Triton without torch: vector addition, softmax, matrix product."""
import ctypes
import numpy as np
import triton
import triton.language as tl

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    assert status == 0, f"{name}: error {status}"


call("cuInit", 0)
context = ctypes.c_void_p()
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)


class Array:
    """Device memory that Triton takes for a tensor."""

    def __init__(self, host):
        self.shape, self.host_dtype = host.shape, host.dtype
        self.dtype = {"float32": "fp32", "float16": "fp16", "int32": "i32"}[host.dtype.name]
        self.bytes = host.nbytes
        pointer = ctypes.c_uint64()
        call("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(max(self.bytes, 1)))
        self.pointer = pointer.value
        host = np.ascontiguousarray(host)
        call("cuMemcpyHtoD_v2", ctypes.c_uint64(self.pointer), host.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(self.bytes))

    def data_ptr(self):
        return self.pointer

    def numpy(self):
        call("cuCtxSynchronize")
        host = np.empty(self.shape, self.host_dtype)
        call("cuMemcpyDtoH_v2", host.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(self.pointer), ctypes.c_size_t(self.bytes))
        return host


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def softmax_kernel(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=-float("inf"))
    values = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * columns + at, values / tl.sum(values, axis=0), mask=at < columns)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for start in range(0, K, BK):
        left = tl.load(a + m[:, None] * K + (start + k)[None, :], mask=(m[:, None] < M) & ((start + k)[None, :] < K), other=0.0)
        right = tl.load(b + (start + k)[:, None] * N + n[None, :], mask=((start + k)[:, None] < K) & (n[None, :] < N), other=0.0)
        acc = tl.dot(left, right, acc)
    tl.store(c + m[:, None] * N + n[None, :], acc, mask=(m[:, None] < M) & (n[None, :] < N))


rng = np.random.default_rng(5)
n = 5000
x, y = rng.random(n, dtype=np.float32), rng.random(n, dtype=np.float32)
out = Array(np.zeros(n, np.float32))
add_kernel[(triton.cdiv(n, 1024),)](Array(x), Array(y), out, n, BLOCK=1024)
assert np.array_equal(out.numpy(), x + y)

rows = rng.random((37, 300), dtype=np.float32) * 4
out = Array(np.zeros_like(rows))
softmax_kernel[(37,)](out, Array(rows), 300, BLOCK=512)
e = np.exp(rows - rows.max(axis=1, keepdims=True))
assert np.allclose(out.numpy(), e / e.sum(axis=1, keepdims=True), rtol=1e-5)

a, b = rng.random((80, 96), dtype=np.float32).astype(np.float16), rng.random((96, 48), dtype=np.float32).astype(np.float16)
out = Array(np.zeros((80, 48), np.float32))
matmul_kernel[(triton.cdiv(80, 32), triton.cdiv(48, 32))](Array(a), Array(b), out, 80, 48, 96, BM=32, BN=32, BK=32)
assert np.allclose(out.numpy(), a.astype(np.float32) @ b.astype(np.float32), rtol=1e-3)


@triton.jit
def layernorm_kernel(x, weight, bias, out, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = at < columns
    values = tl.load(x + row * columns + at, mask=mask, other=0.0)
    mean = tl.sum(values, axis=0) / columns
    centred = tl.where(mask, values - mean, 0.0)
    variance = tl.sum(centred * centred, axis=0) / columns
    scaled = centred / tl.sqrt(variance + eps) * tl.load(weight + at, mask=mask)
    tl.store(out + row * columns + at, scaled + tl.load(bias + at, mask=mask), mask=mask)


@triton.jit
def histogram_kernel(values, bins, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.atomic_add(bins + tl.load(values + i, mask=mask, other=0), 1, mask=mask)


@triton.jit
def scan_kernel(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0))


@triton.jit
def attention_kernel(q, k, v, out, scale, N: tl.constexpr, D: tl.constexpr):
    n, d = tl.arange(0, N), tl.arange(0, D)
    at = n[:, None] * D + d[None, :]
    scores = tl.dot(tl.load(q + at), tl.trans(tl.load(k + at))) * scale
    scores = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    scores = scores / tl.sum(scores, axis=1)[:, None]
    tl.store(out + at, tl.dot(scores.to(tl.float16), tl.load(v + at)))


weight, bias = rng.random(300, dtype=np.float32), rng.random(300, dtype=np.float32)
out = Array(np.zeros_like(rows))
layernorm_kernel[(37,)](Array(rows), Array(weight), Array(bias), out, 300, 1e-5, BLOCK=512)
normal = (rows - rows.mean(axis=1, keepdims=True)) / np.sqrt(rows.var(axis=1, keepdims=True) + 1e-5)
assert np.allclose(out.numpy(), normal * weight + bias, atol=1e-4)

values = rng.integers(0, 10, 3000).astype(np.int32)
bins = Array(np.zeros(10, np.int32))
histogram_kernel[(3,)](Array(values), bins, 3000, BLOCK=1024)
assert np.array_equal(bins.numpy(), np.bincount(values, minlength=10))

whole = np.arange(256, dtype=np.int32)
out = Array(np.zeros_like(whole))
scan_kernel[(1,)](Array(whole), out, N=256)
assert np.array_equal(out.numpy(), np.cumsum(whole))

q, k, v = (rng.random((32, 32), dtype=np.float32).astype(np.float16) for _ in range(3))
out = Array(np.zeros((32, 32), np.float32))
attention_kernel[(1,)](Array(q), Array(k), Array(v), out, 0.2, N=32, D=32)
scores = q.astype(np.float32) @ k.astype(np.float32).T * 0.2
scores = np.exp(scores - scores.max(axis=1, keepdims=True))
assert np.allclose(out.numpy(), scores / scores.sum(axis=1, keepdims=True) @ v.astype(np.float32), rtol=1e-2)
print("triton", triton.__version__, "7 kernels as expected")
