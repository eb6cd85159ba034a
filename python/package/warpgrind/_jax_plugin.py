"""What JAX calls as it begins, where this package is installed: under ``warpgrind exec`` it has `warpgrind.jax` without asking for it,
as gradients of grouped convolutions would be wrong in silence.
"""

import os


def initialize() -> None:
    """Enables `warpgrind.jax` in a program that runs on a simulated device."""
    # What `exec` tells its programs: see `protocol/src/settings.rs`.
    if "WARPGRIND_SESSION" in os.environ:
        from . import jax

        jax.enable()
