"""Writes gemm_tiled.npy with numpy: the expected values of gemm_tiled.toml."""

from pathlib import Path

import numpy as np


def randint(seed, low, high, count):
    """The `randint` of launch files: SplitMix64, the high half of the product with the span."""
    mask = (1 << 64) - 1
    values = []
    for i in range(count):
        z = (seed + (i + 1) * 0x9E3779B97F4A7C15) & mask
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ z >> 27) * 0x94D049BB133111EB & mask
        z ^= z >> 31
        values.append(low + (z * (high - low) >> 64))
    return np.array(values, np.int64)


m, n, k = 100, 90, 75
a = randint(1, -8, 8, m * k).reshape(m, k)
b = randint(2, -8, 8, k * n).reshape(k, n)
np.save(Path(__file__).with_suffix(".npy"), (a @ b).astype(np.float32))
