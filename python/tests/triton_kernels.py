"""Kernels in Triton's language, compiled with no device."""

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget


def compiled(kernel, signature, constants, **options):
    """A kernel for these types of arguments and these constants."""
    types = {**signature, **dict.fromkeys(constants, "constexpr")}
    source = triton.compiler.ASTSource(kernel, {name: types[name] for name in kernel.arg_names}, constants)
    return triton.compile(source, target=GPUTarget("cuda", 90, 32), options=options)


@triton.jit
def scale(x, out, by, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * by, mask=at < n)


@triton.jit
def row_sums(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * columns + at, mask=at < columns, other=0.0)
    tl.store(out + row, tl.sum(values.to(tl.float32), axis=0))


@triton.jit
def multiply(a, b, out, inner, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, along = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    total = tl.zeros((M, N), tl.float32)
    for start in range(0, inner, K):
        left = tl.load(a + rows[:, None] * inner + start + along[None, :])
        right = tl.load(b + (start + along[:, None]) * N + columns[None, :])
        total = tl.dot(left, right, total)
    tl.store(out + rows[:, None] * N + columns[None, :], total)
