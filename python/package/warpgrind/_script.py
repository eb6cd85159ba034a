"""Runs a script or a module as Python itself does, for modules that prepare something first."""

from __future__ import annotations

import runpy
import sys


def run(name: str, arguments: list[str]) -> None:
    """Runs what the arguments of ``python -m name`` say."""
    is_module = arguments[:1] == ["-m"]
    sys.argv = arguments[is_module:]
    if not sys.argv:
        sys.exit(f"usage: python -m {name} [-m MODULE | SCRIPT] [ARGUMENT…]")
    if is_module:
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(sys.argv[0], run_name="__main__")
