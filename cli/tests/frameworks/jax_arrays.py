"""JAX with its CUDA plugin: what XLA compiles, beside numpy's; transforms and factorisations want libraries that hold machine
code only."""
import functools

import jax
import jax.numpy as jnp
import numpy as np

assert [device.platform for device in jax.devices()] == ["gpu"], jax.devices()

rng = np.random.default_rng(3)
x = np.linspace(-2, 3, 1000, dtype=np.float32)
a, b = rng.normal(size=(64, 48)).astype(np.float32), rng.normal(size=(48, 32)).astype(np.float32)
done = 0


def same(name, found, expected, tolerance=1e-5):
    global done
    np.testing.assert_allclose(np.asarray(found), expected, rtol=tolerance, atol=tolerance, err_msg=name)
    done += 1


exponents = np.exp(a - a.max(1, keepdims=True))
same("jit", jax.jit(lambda v: v * 2 + jnp.sin(v))(x), x * 2 + np.sin(x))
same("grad", jax.grad(lambda v: (v**3).sum())(x), 3 * x**2, 1e-4)
same("sum", jnp.sum(x), x.sum(), 1e-3)
same("sort", jnp.sort(-x), np.sort(-x))
same("cumsum", jnp.cumsum(x), np.cumsum(x), 1e-2)
same("softmax", jax.nn.softmax(a), exponents / exponents.sum(1, keepdims=True))
# Products are rounded to tf32 first.
same("matmul", jnp.dot(a, b), a @ b, 2e-2)
same("matmul of halves", jnp.dot(a.astype(np.float16), b.astype(np.float16)).astype(np.float32), a @ b, 5e-2)
same("matmul of batches", jnp.einsum("bij,bjk->bik", np.stack([a] * 3), np.stack([b] * 3)), np.stack([a @ b] * 3), 2e-2)
for type_, sums in ((np.int8, np.int32), (np.float16, np.float32), (jnp.bfloat16, np.float32), (np.float32, np.float32)):
    for rows, inner, columns in ((32, 32, 32), (5, 7, 3), (1, 64, 1), (100, 8, 20), (64, 200, 48)):
        small = [rng.integers(-3, 4, shape) for shape in ((rows, inner), (inner, columns))]
        found = jnp.dot(*(jnp.asarray(matrix).astype(type_) for matrix in small), preferred_element_type=sums)
        same(f"{type_} {rows} {inner} {columns}", found, small[0] @ small[1], 0)


def correlated(image, kernels):
    """A convolution as networks mean it: 3 by 3, with zeros around."""
    padded = np.pad(image, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, kernels)


image, kernels = rng.normal(size=(2, 3, 8, 7)).astype(np.float32), rng.normal(size=(4, 3, 3, 3)).astype(np.float32)
convolved = correlated(image, kernels)
same("convolution", jax.lax.conv(image, kernels, (1, 1), "SAME"), convolved, 1e-3)
loss = jax.jit(jax.grad(lambda k: (jax.lax.conv(image, k, (1, 1), "SAME") ** 2).sum() / 2))
along = np.zeros_like(kernels)
along[2, 1, 0, 2] = 1
same("its gradient", loss(kernels)[2, 1, 0, 2], (convolved * correlated(image, along)).sum(), 1e-2)
halved = functools.reduce(lambda carry, v: carry * np.float32(0.5) + v, x, np.float32(0))
same("scan", jax.lax.scan(lambda carry, v: (carry * 0.5 + v, carry), 0.0, x)[0], halved, 1e-4)
same("while", jax.lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 2), (0, 1.0))[1], 1024.0)
same("vmap", jax.vmap(lambda row: row.max())(a), a.max(1))
same("argmax", jnp.argmax(a, 1), a.argmax(1))
same("gather", jnp.asarray(x)[jnp.array([3, 1, 999])], x[[3, 1, 999]])
same("scatter", jnp.zeros(4).at[jnp.array([1, 1, 3])].add(1.0), np.array([0, 2, 0, 1]))
with jax.default_device(jax.local_devices(backend="cpu")[0]):
    numbers = np.asarray(jax.random.normal(jax.random.PRNGKey(7), (100,)))
same("random", jax.random.normal(jax.random.PRNGKey(7), (100,)), numbers, 1e-5)
target = np.tanh(a @ b)
step = jax.jit(jax.value_and_grad(lambda w: ((jnp.tanh(a @ w) - target) ** 2).mean()))
weights, losses = jnp.zeros_like(b), []
for _ in range(5):
    loss, slope = step(weights)
    weights, losses = weights - slope, losses + [float(loss)]
assert losses == sorted(losses, reverse=True), losses
done += 1
print(f"{done} of {done} as expected")
