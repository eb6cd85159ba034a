"""Measurements, and what needs packages that may not be there, is not looked through for examples."""

collect_ignore_glob = ["jax_results.py", "measure_*.py", "torch_eager.py", "triton_kernels.py"]
