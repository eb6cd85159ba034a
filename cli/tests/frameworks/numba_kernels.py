"""Kernels of Numba: shared memory, atomics, shuffles, streams, grid-wide barriers, reductions, ufuncs."""
import math

import numba
import numpy as np
from numba import cuda, float32, vectorize


@cuda.jit
def add(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        c[i] = a[i] + b[i]


@cuda.jit
def block_sums(x, sums):
    part = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    part[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    step = 128
    while step > 0:
        if t < step:
            part[t] += part[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        cuda.atomic.add(sums, 0, part[0])


@cuda.jit
def histogram(values, bins):
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(bins, values[i], 1)


@cuda.jit
def matmul(a, b, c):
    sa = cuda.shared.array((16, 16), float32)
    sb = cuda.shared.array((16, 16), float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    acc = float32(0.0)
    for tile in range(a.shape[1] // 16):
        sa[ty, tx] = a[y, tx + tile * 16]
        sb[ty, tx] = b[ty + tile * 16, x]
        cuda.syncthreads()
        for k in range(16):
            acc += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
    c[y, x] = acc


@cuda.jit
def maths(x, out):
    i = cuda.grid(1)
    local = cuda.local.array(4, float32)
    if i < x.size:
        for k in range(4):
            local[k] = math.sin(x[i] * (k + 1))
        out[i] = local[i % 4] + math.sqrt(x[i]) + math.exp(-x[i])


@cuda.jit
def warp_scan(x):
    lane = cuda.laneid
    i = cuda.grid(1)
    value = x[i]
    step = 1
    while step < 32:
        other = cuda.shfl_up_sync(0xFFFFFFFF, value, step)
        if lane >= step:
            value += other
        step *= 2
    x[i] = value


@cuda.jit(device=True)
def collatz_steps(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


@cuda.jit
def collatz(out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = collatz_steps(i + 1)


rng = np.random.default_rng(7)
n = 10_000
a, b = rng.random(n, dtype=np.float32), rng.random(n, dtype=np.float32)
c = np.zeros_like(a)
add[(n + 255) // 256, 256](a, b, c)
assert np.array_equal(c, a + b)

whole = np.ones(n, dtype=np.float32)
sums = np.zeros(1, dtype=np.float32)
block_sums[(n + 255) // 256, 256](whole, sums)
assert sums[0] == n, sums

values = rng.integers(0, 16, n).astype(np.int32)
bins = cuda.to_device(np.zeros(16, dtype=np.int32))
histogram[(n + 127) // 128, 128](cuda.to_device(values), bins)
assert np.array_equal(bins.copy_to_host(), np.bincount(values, minlength=16))

p, q = rng.random((64, 48), dtype=np.float32), rng.random((48, 32), dtype=np.float32)
r = np.zeros((64, 32), dtype=np.float32)
matmul[(2, 4), (16, 16)](p, q, r)
assert np.allclose(r, p @ q, rtol=1e-5)

x = rng.random(1000, dtype=np.float32)
out = np.zeros_like(x)
maths[8, 128](x, out)
k = np.arange(1000) % 4 + 1
assert np.allclose(out, np.sin(x * k) + np.sqrt(x) + np.exp(-x), rtol=1e-5)

s = np.arange(64, dtype=np.int32)
warp_scan[1, 64](s)
assert np.array_equal(s.reshape(2, 32), np.cumsum(np.arange(64).reshape(2, 32), axis=1))

stream = cuda.stream()
device_a = cuda.to_device(a, stream=stream)
device_c = cuda.device_array_like(a, stream=stream)
add[40, 256, stream](device_a, device_a, device_c)
start, end = cuda.event(), cuda.event()
start.record(stream)
end.record(stream)
back = device_c.copy_to_host(stream=stream)
stream.synchronize()
assert np.array_equal(back, a + a)
assert start.elapsed_time(end) >= 0



@cuda.jit
def rounds(x, y):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    for _ in range(4):
        y[i] = x[(i + 1) % x.size] + 1
        grid.sync()
        x[i] = y[(i + 1) % x.size] + 1
        grid.sync()


ring, other = np.arange(512, dtype=np.int32), np.zeros(512, dtype=np.int32)
rounds[4, 128](ring, other)
assert np.array_equal(ring, (np.arange(512) + 8) % 512 + 8)


@cuda.reduce
def largest(a, b):
    return a if a > b else b


assert largest(a) == a.max()


@vectorize(["float32(float32, float32)"], target="cuda")
def hypotenuse(x, y):
    return math.sqrt(x * x + y * y)


assert np.allclose(hypotenuse(a, b), np.hypot(a, b), rtol=1e-6)


@cuda.jit
def compare_and_swap(lock, total):
    while cuda.atomic.cas(lock, 0, 0, 1) != 0:
        pass
    cuda.threadfence()
    total[0] += 1.5
    cuda.threadfence()
    cuda.atomic.exch(lock, 0, 0)


lock, total = np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.float64)
compare_and_swap[4, 8](lock, total)
assert total[0] == 48

steps = np.zeros(500, dtype=np.int64)
collatz[4, 128](steps)


def reference(n):
    count = 0
    while n != 1:
        n, count = (n // 2 if n % 2 == 0 else 3 * n + 1), count + 1
    return count


assert steps.tolist() == [reference(i + 1) for i in range(500)]
print("numba-cuda", numba.cuda.__version__ if hasattr(numba.cuda, "__version__") else numba.__version__, "12 kernels as expected on", cuda.get_current_device().name)
