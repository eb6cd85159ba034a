"""Tensor operations of tinygrad, which compiles for CUDA with NVRTC's PTX."""
import numpy as np
from tinygrad import Device, Tensor

assert Device.DEFAULT == "CUDA"
a = np.random.default_rng(1).random((64, 64), dtype=np.float32)
product = (Tensor(a) @ Tensor(a)).relu().sum(axis=1).numpy()
assert np.allclose(product, (a @ a).sum(axis=1), rtol=1e-5)
assert np.allclose(Tensor(a).softmax().numpy().sum(axis=1), 1, atol=1e-6)
print("tinygrad runs on", Device.DEFAULT)
