"""``pip install .`` in the root of a clone: what ``build_backend`` does, in this folder."""

import os
from pathlib import Path

os.chdir(Path(__file__).parent)

from build_backend import *  # noqa: E402, F403: the hooks of PEP 517
