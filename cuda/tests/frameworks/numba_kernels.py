"""Kernels of Numba: element-wise, shared memory, atomics."""
import warnings

import numpy as np
from numba import cuda

warnings.simplefilter("ignore")


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


@cuda.jit
def histogram(x, counts):
    local = cuda.shared.array(16, dtype=np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        local[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(local, x[i] & 15, 1)
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(counts, t, local[t])


n = 5000
x = np.arange(n, dtype=np.float32)
out = np.zeros_like(x)
add[40, 128](x, x, out)
assert (out == 2 * x).all()
keys = np.arange(n, dtype=np.int32)
counts = np.zeros(16, np.int32)
histogram[40, 128](keys, counts)
assert (counts == np.bincount(keys & 15)).all()
print("numba-cuda runs on", cuda.get_current_device().name)
