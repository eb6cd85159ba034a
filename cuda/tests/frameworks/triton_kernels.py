"""Kernels of Triton without torch: vector addition, softmax, matrix product."""
import ctypes

import numpy as np
import triton
import triton.language as tl

cu = ctypes.CDLL("libcuda.so.1")


def check(status):
    assert status == 0, status


check(cu.cuInit(0))
context = ctypes.c_void_p()
check(cu.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cu.cuCtxSetCurrent(context))


class Buffer:
    dtype = tl.float32

    def __init__(self, array):
        self.array = np.ascontiguousarray(array, dtype=np.float32)
        address = ctypes.c_uint64()
        check(cu.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(self.array.nbytes)))
        self.address = address.value
        host = self.array.ctypes.data_as(ctypes.c_void_p)
        check(cu.cuMemcpyHtoD_v2(ctypes.c_uint64(self.address), host, ctypes.c_size_t(self.array.nbytes)))

    def data_ptr(self):
        return self.address

    def get(self):
        result = np.empty_like(self.array)
        host = result.ctypes.data_as(ctypes.c_void_p)
        check(cu.cuMemcpyDtoH_v2(host, ctypes.c_uint64(self.address), ctypes.c_size_t(result.nbytes)))
        return result


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) + tl.load(y + i, mask=i < n), mask=i < n)


@triton.jit
def softmax(out, x, stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i, mask=i < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * stride + i, e / tl.sum(e, 0), mask=i < n)


@triton.jit
def matmul(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        kk = k + tl.arange(0, BK)
        left, right = tl.load(a + i[:, None] * K + kk[None, :]), tl.load(b + kk[:, None] * N + j[None, :])
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(c + i[:, None] * N + j[None, :], total)


random = np.random.default_rng(1)
x, y, out = Buffer(random.random(5000)), Buffer(random.random(5000)), Buffer(np.zeros(5000))
add[(triton.cdiv(5000, 256),)](x, y, out, 5000, BLOCK=256)
assert np.array_equal(out.get(), x.array + y.array)
m, q = Buffer(random.random((32, 100))), Buffer(np.zeros((32, 100)))
softmax[(32,)](q, m, 100, 100, BLOCK=128)
e = np.exp(m.array - m.array.max(axis=1, keepdims=True))
assert np.allclose(q.get(), e / e.sum(axis=1, keepdims=True), atol=1e-7)
a, b, c = Buffer(random.random((64, 64))), Buffer(random.random((64, 64))), Buffer(np.zeros((64, 64)))
matmul[(2, 2)](a, b, c, 64, 64, BM=32, BN=32, BK=32)
assert np.allclose(c.get(), a.array @ b.array, rtol=1e-5)
print("triton", triton.__version__, "runs")
