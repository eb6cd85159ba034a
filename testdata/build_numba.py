#!/usr/bin/env python3
"""Rebuilds ptx/numba/ from numba/kernels.py; no GPU.

Needs numba==0.62.1 numba-cuda==0.22.1 nvidia-nvvm==13.0.88 nvidia-cuda-nvcc==13.0.88 nvidia-cuda-nvrtc==13.0.88
nvidia-cuda-runtime==13.0.96 nvidia-cuda-cccl==13.0.85 from PyPI. Each file is then checked with ptxas.
"""

import pathlib
import re
import shutil
import subprocess
import sys

here = pathlib.Path(__file__).resolve().parent
# A fixed folder, because its name ends up in .file directives and in names.
scratch = pathlib.Path("/tmp/warpgrind-testdata/numba")
scratch.mkdir(parents=True, exist_ok=True)
shutil.copy(here / "numba" / "kernels.py", scratch)
sys.path.insert(0, str(scratch))
# Our folder is called numba too: the script's own folder must not shadow the package.
sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != here]

try:
    import numba
    import numba_cuda
    from numba import cuda
    import nvidia.cu13
except ImportError as missing:
    sys.exit(f"build_numba.py: {missing}; the packages are named at the top of this file")
if (numba.__version__, numba_cuda.__version__) != ("0.62.1", "0.22.1"):
    sys.exit("build_numba.py: the checked-in files are from numba 0.62.1 and numba-cuda 0.22.1")

from kernels import KERNELS

out = here / "ptx" / "numba"
out.mkdir(parents=True, exist_ok=True)
ptxas = pathlib.Path(nvidia.cu13.__path__[0]) / "bin" / "ptxas"

for name, (function, signature, options) in KERNELS.items():
    ptx, _ = cuda.compile_ptx(function, signature, cc=(9, 0), **options)
    ptx = ptx.replace(f'"{scratch.parent}/', '"').rstrip("\0")
    path = out / f"{name}.ptx"
    path.write_text(f"// numba-cuda {numba_cuda.__version__}: {name}\n{ptx}")
    subprocess.run([ptxas, "-arch=sm_90", "-o", "/dev/null", path], check=True)
    print(path.relative_to(here))
