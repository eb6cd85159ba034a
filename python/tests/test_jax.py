"""JAX's results that NVIDIA's libraries compute on a GPU, under ``warpgrind exec``."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("jax_cuda13_plugin", reason="JAX for CUDA 13 is not installed")

TRANSFORM = "import jax, jax.numpy as jnp\nprint(float(jnp.abs(jnp.fft.fft(jnp.ones(4))).sum()), jax.devices()[0].platform)\n"


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "warpgrind", "exec", "--memory", "4G", "--", sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=600, env=os.environ | environment)


def test_a_script_that_knows_nothing_of_it() -> None:
    done = run("-m", "warpgrind.jax", str(Path(__file__).with_name("jax_results.py")), "to", "the", "end")
    assert done.returncode == 0 and done.stdout.endswith("results as expected to the end\n"), done.stdout + done.stderr


def test_for_a_process_and_beside_the_platforms_that_it_names() -> None:
    enabled = "import warpgrind.jax\nwarpgrind.jax.enable()\n" + TRANSFORM
    assert run("-c", enabled).stdout == "4.0 gpu\n"
    done = run("-c", enabled, JAX_PLATFORMS="cuda")
    assert done.stdout == "4.0 gpu\n", done.stderr


def test_jax_enables_it_where_the_package_is_installed() -> None:
    done = run("-c", TRANSFORM)
    assert done.stdout == "4.0 gpu\n", done.stderr


def test_without_a_script() -> None:
    assert "usage: python -m warpgrind.jax [-m MODULE | SCRIPT]" in run("-m", "warpgrind.jax").stderr
