"""Builds the command beside the extension module, then does what maturin does.

The command carries the libraries of ``warpgrind exec``; maturin puts it among the scripts of the wheel.
"""

import os
import shutil
import subprocess
from pathlib import Path

import maturin

from maturin import *  # noqa: F403: the hooks of PEP 517

HERE = Path(__file__).parent
DATA = HERE / "warpgrind.data"


def _scripts() -> Path:
    """The folder of the wheel's scripts, which maturin wants to see before anything is in it."""
    scripts = DATA / "scripts"
    scripts.mkdir(parents=True, exist_ok=True)
    return scripts


def _command() -> None:
    root = HERE.parent
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    subprocess.run(["cargo", "build", "--release", "--locked", "-p", "warpgrind-cli"], cwd=root, check=True)
    shutil.copy2(root / target / "release" / "warpgrind", _scripts() / "warpgrind")


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    _scripts()
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def prepare_metadata_for_build_editable(metadata_directory, config_settings=None):
    _scripts()
    return maturin.prepare_metadata_for_build_editable(metadata_directory, config_settings)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    _command()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    _command()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)
