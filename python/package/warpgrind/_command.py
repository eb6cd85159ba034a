"""Where the command ``warpgrind`` of this installation is."""

import os
import shutil
import sysconfig

from ._native import Error


#: Where pip puts scripts. Read once: threads that ask `sysconfig` first at the same time disturb each other.
SCRIPTS = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]


def path() -> str:
    """The command that was installed with this package, else the one on the path."""
    for folder in SCRIPTS:
        file = os.path.join(folder, "warpgrind") if folder else ""
        if os.access(file, os.X_OK):
            return file
    found = shutil.which("warpgrind")
    if found is None:
        raise Error("the command `warpgrind` is not found\nhelp: `pip install warpgrind` puts it beside python")
    return found
