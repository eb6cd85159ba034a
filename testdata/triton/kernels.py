"""Triton kernels whose PTX is checked in under ptx/triton/."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


@triton.jit
def softmax(x, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + i, mask=i < columns, other=-float("inf"))
    v = v - tl.max(v, axis=0)
    e = tl.exp(v)
    tl.store(out + row * stride + i, e / tl.sum(e, axis=0), mask=i < columns)


@triton.jit
def matmul(a, b, c, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    inner = tl.arange(0, K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for base in range(0, k, K):
        at = base + inner
        left = tl.load(a + rows[:, None] * k + at[None, :], mask=(rows[:, None] < m) & (at[None, :] < k), other=0.0)
        right = tl.load(b + at[:, None] * n + columns[None, :], mask=(at[:, None] < k) & (columns[None, :] < n), other=0.0)
        total += tl.dot(left, right)
    tl.store(c + rows[:, None] * n + columns[None, :], total, mask=(rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def histogram(x, bins, total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    v = tl.load(x + i, mask=mask, other=0)
    tl.atomic_add(bins + (v & 63), 1, mask=mask)
    tl.atomic_add(total, tl.sum(tl.where(mask, v, 0), axis=0))
    tl.atomic_max(total + 1, tl.max(v, axis=0))


@triton.jit
def layer_norm(x, weight, bias, out, columns, epsilon, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    mask = i < columns
    v = tl.load(x + row * columns + i, mask=mask, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / columns
    d = tl.where(mask, v - mean, 0.0)
    variance = tl.sum(d * d, axis=0) / columns
    y = d * tl.rsqrt(variance + epsilon) * tl.load(weight + i, mask=mask) + tl.load(bias + i, mask=mask)
    tl.store(out + row * columns + i, y.to(tl.float16), mask=mask)


@triton.jit
def cumulative(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, mask=i < n, other=0)
    tl.store(out + i, tl.cumsum(v, axis=0), mask=i < n)


@triton.jit
def matmul_ieee(a, b, c, n, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * n + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at), input_precision="ieee"))


@triton.jit
def matmul_s8(a, b, c, n, N: tl.constexpr):
    i = tl.arange(0, N)
    at = i[:, None] * n + i[None, :]
    tl.store(c + at, tl.dot(tl.load(a + at), tl.load(b + at)))


# Name of the PTX file, kernel, argument types (all pointers, and integers
# written i32:16, are multiples of 16), constants, warps, target if not sm_90.
VARIANTS = [
    ("vector_add", vector_add, dict(x="*fp32", y="*fp32", out="*fp32", n="i32:16"), dict(BLOCK=1024), 4),
    ("vector_add_masked", vector_add, dict(x="*fp64", y="*fp64", out="*fp64", n="i32"), dict(BLOCK=256), 8),
    ("softmax", softmax, dict(x="*fp32", out="*fp32", columns="i32", stride="i32"), dict(BLOCK=1024), 4),
    ("histogram", histogram, dict(x="*i32", bins="*i32", total="*i32", n="i32"), dict(BLOCK=256), 4),
    ("layer_norm", layer_norm,
     dict(x="*fp16", weight="*fp32", bias="*fp32", out="*fp16", columns="i32:16", epsilon="fp32"), dict(BLOCK=512), 4),
    ("cumulative", cumulative, dict(x="*i32", out="*i32", n="i32:16"), dict(BLOCK=512), 2),
    ("matmul_ieee", matmul_ieee, dict(a="*fp32", b="*fp32", c="*fp32", n="i32"), dict(N=32), 4, 80),
    ("matmul_f16", matmul,
     dict(a="*fp16", b="*fp16", c="*fp32", m="i32", n="i32:16", k="i32:16"), dict(M=64, N=64, K=32), 4),
    ("matmul_f16_sm_80", matmul,
     dict(a="*fp16", b="*fp16", c="*fp32", m="i32", n="i32:16", k="i32:16"), dict(M=64, N=64, K=32), 4, 80),
    ("matmul_tf32_sm_80", matmul,
     dict(a="*fp32", b="*fp32", c="*fp32", m="i32", n="i32:16", k="i32:16"), dict(M=32, N=32, K=16), 4, 80),
    ("matmul_s8_sm_80", matmul_s8, dict(a="*i8", b="*i8", c="*i32", n="i32:16"), dict(N=32), 4, 80),
]
