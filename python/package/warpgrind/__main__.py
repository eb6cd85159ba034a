"""``python -m warpgrind``: the command."""

import os
import sys

from ._command import path

if __name__ == "__main__":
    program = path()
    os.execv(program, [program, *sys.argv[1:]])
