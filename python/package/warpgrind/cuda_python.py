"""The runtime interface of NVIDIA's ``cuda.bindings`` on a simulated device.

``cuda.bindings.runtime`` has NVIDIA's runtime library inside, which asks the driver to prove that it is NVIDIA's; that is not
answered. With this module its calls go to Warpgrind's ``libcudart.so`` instead. ``cuda.core`` needs it for ``Device.sync`` and
the device's properties, Numba for what it asks the runtime. Everything else of ``cuda.bindings`` runs without it.

For a script that knows nothing of it, and for a process, before ``cuda.bindings.runtime`` is imported::

    $ warpgrind exec -- python -m warpgrind.cuda_python script.py
    $ warpgrind exec -- python -m warpgrind.cuda_python -m pytest tests

    warpgrind.cuda_python.enable()
"""

# cuda.bindings need not be installed where types are checked.
# mypy: disable-error-code="import-not-found, import-untyped"
from __future__ import annotations

import ctypes
import importlib
import sys
from typing import Any

from . import _script

#: The modules of Cython functions that others import as C functions, as they are called in version 13.5 and as they were in 13.3, and
#: the endings of names in the library that they stand for.
_MODULES = {
    ("_internal.runtime", "_bindings.cyruntime"): ("",),
    ("_internal.runtime_ptds", "_bindings.cyruntime_ptds"): ("_ptsz", "_ptds", ""),
}


def _functions(names: tuple[str, ...]) -> dict[str, object]:
    """The C functions of the first module that there is."""
    for name in names:
        try:
            found: dict[str, object] = importlib.import_module(f"cuda.bindings.{name}").__pyx_capi__
        except ModuleNotFoundError:
            continue
        return found
    version = importlib.import_module("cuda.bindings").__version__
    raise RuntimeError(f"warpgrind: cuda-bindings {version} has no cuda.bindings.{names[0]}: its layout is not known")


def _capsule(old: object, function: Any) -> Any:
    """A capsule of a function, with the signature of another capsule."""
    name_of, new = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_New
    name_of.restype, name_of.argtypes = ctypes.c_void_p, [ctypes.py_object]
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    return new(ctypes.cast(function, ctypes.c_void_p), name_of(old), None)


def enable() -> None:
    """Sends the calls of ``cuda.bindings.runtime`` to the simulated runtime, from here on.

    Raises ``RuntimeError`` if the module is imported already or its layout is not known, and ``OSError`` if there is no runtime
    library.
    """
    if "cuda.bindings.cyruntime" in sys.modules:
        raise RuntimeError("warpgrind: cuda.bindings.runtime is imported already; call warpgrind.cuda_python.enable() before")
    major = importlib.import_module("cuda.bindings").__version__.split(".")[0]
    library = ctypes.CDLL(f"libcudart.so.{major}")
    for modules, endings in _MODULES.items():
        functions = _functions(modules)
        for name, capsule in list(functions.items()):
            names = (name.removeprefix("_") + ending for ending in endings)
            found = next((name for name in names if hasattr(library, name)), None)
            if found is not None:
                functions[name] = _capsule(capsule, library[found])


def main(arguments: list[str]) -> None:
    """Runs a script or a module with its arguments."""
    if arguments:
        enable()
    _script.run("warpgrind.cuda_python", arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
