"""Builds the command beside the extension module, then does what maturin does.

The command carries the libraries of ``warpgrind exec``; maturin puts it among the scripts of the wheel, and its manual
pages and completions among the data.
"""

import os
import shutil
import subprocess
from pathlib import Path

import maturin

from maturin import *  # noqa: F403: the hooks of PEP 517

HERE = Path(__file__).parent
DATA = HERE / "warpgrind.data"
#: The profile of `pyproject.toml`.
PROFILE = "wheel"
#: Where shells look for completions, below `share`.
COMPLETIONS = {
    "bash": "bash-completion/completions/warpgrind",
    "fish": "fish/vendor_completions.d/warpgrind.fish",
    "zsh": "zsh/site-functions/_warpgrind",
}


def _scripts() -> Path:
    """The folder of the wheel's scripts, which maturin wants to see before anything is in it."""
    scripts = DATA / "scripts"
    scripts.mkdir(parents=True, exist_ok=True)
    return scripts


def _command() -> None:
    root = HERE.parent
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    subprocess.run(["cargo", "build", "--profile", PROFILE, "--locked", "-p", "warpgrind-cli"], cwd=root, check=True)
    program = _scripts() / "warpgrind"
    shutil.copy2(root / target / PROFILE / "warpgrind", program)
    share = DATA / "data" / "share"
    subprocess.run([program, "man", "--output", share / "man" / "man1"], check=True)
    for shell, name in COMPLETIONS.items():
        file = share / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(subprocess.run([program, "completions", shell], check=True, capture_output=True).stdout)


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


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("a wheel needs the command's sources, too: build it from a clone, with `pip wheel ./python`")
