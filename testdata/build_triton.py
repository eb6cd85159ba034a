#!/usr/bin/env python3
"""Rebuilds ptx/triton/ from triton/kernels.py. Needs the PyPI package triton==3.9.0; no GPU.

Each file is then checked with the ptxas that the package bundles.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"
here = pathlib.Path(__file__).resolve().parent
# A fixed folder, because its name ends up in the debug sections.
scratch = pathlib.Path("/tmp/warpgrind-testdata/triton")
scratch.mkdir(parents=True, exist_ok=True)
shutil.copy(here / "triton" / "kernels.py", scratch)
sys.path.insert(0, str(scratch))

try:
    import triton
except ImportError:
    sys.exit("build_triton.py: install triton==3.9.0 from PyPI first")
if triton.__version__ != "3.9.0":
    sys.exit(f"build_triton.py: triton is {triton.__version__}, the checked-in files are from 3.9.0")

from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import kernels

out = here / "ptx" / "triton"
out.mkdir(parents=True, exist_ok=True)
ptxas = pathlib.Path(triton.__file__).parent / "backends" / "nvidia" / "bin" / "ptxas-blackwell"

for name, kernel, arguments, constants, warps, *target in kernels.VARIANTS:
    signature = {k: t.split(":")[0] for k, t in arguments.items()} | {k: "constexpr" for k in constants}
    aligned = {(i,): [["tt.divisibility", 16]] for i, t in enumerate(arguments.values()) if t[0] == "*" or t[-3:] == ":16"}
    source = ASTSource(kernel, signature, constants, aligned)
    sm = target[0] if target else 90
    compiled = triton.compile(source, target=GPUTarget("cuda", sm, 32), options={"num_warps": warps})
    ptx = compiled.asm["ptx"].rstrip("\0")
    ptx = ptx.replace(f'"{scratch.parent}/', '"').replace(f'"{pathlib.Path(triton.__file__).parent.parent}/', '"')
    path = out / f"{name}.ptx"
    head = (f"// Triton {triton.__version__}: {kernel.fn.__name__}, {', '.join(f'{k}={v}' for k, v in constants.items())}, "
            f"block {32 * warps}, dynamic shared memory {compiled.metadata.shared} bytes\n")
    path.write_text(head + ptx)
    subprocess.run([ptxas, f"-arch=sm_{sm}" + "a" * (sm == 90), "-o", "/dev/null", path], check=True)
    print(path.relative_to(here))
