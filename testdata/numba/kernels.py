"""Numba kernels whose PTX is checked in under ptx/numba/."""

import math

from numba import cuda, float32, float64, int32


def axpy(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] += a * x[i]


def block_sum(x, out):
    shared = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    shared[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    d = 64
    while d > 0:
        if t < d:
            shared[t] += shared[t + d]
        cuda.syncthreads()
        d //= 2
    if t == 0:
        cuda.atomic.add(out, 0, shared[0])


def mandelbrot(image, left, top, step, limit):
    y, x = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        c = complex(left + x * step, top + y * step)
        z = 0j
        k = 0
        while k < limit and z.real * z.real + z.imag * z.imag <= 4.0:
            z = z * z + c
            k += 1
        image[y, x] = k


def distances(points, out):
    i, j = cuda.grid(2)
    if i < out.shape[0] and j < out.shape[1]:
        d = 0.0
        for k in range(points.shape[1]):
            d += (points[i, k] - points[j, k]) ** 2
        out[i, j] = math.sqrt(d)


# name: function, signature, compile options
KERNELS = {
    "axpy": (axpy, (float32, float32[::1], float32[::1]), {}),
    "block_sum": (block_sum, (float32[::1], float32[::1]), {}),
    "mandelbrot": (mandelbrot, (int32[:, ::1], float64, float64, float64, int32), {"lineinfo": True}),
    "distances": (distances, (float64[:, ::1], float64[:, ::1]), {}),
    "axpy_debug": (axpy, (float32, float32[::1], float32[::1]), {"debug": True, "opt": False}),
}
