#!/usr/bin/env python3
"""Makes a script of what a page of `cli/clients` tells a newcomer to do: its files, and its commands as they stand there.

    from_nothing.py PAGE HEADING… | bash

takes the blocks under the headings that contain one of these words. For an empty machine, such as a folder that debootstrap made;
the commands write into the current folder and install packages.
"""

import re
import sys
import textwrap

page, *headings = sys.argv[1:]
parts = re.split(r"^#+ (.*)$", open(page).read(), flags=re.M)
files, commands = [], []
for heading, part in zip(parts[1::2], parts[2::2]):
    if not any(word in heading for word in headings):
        continue
    for before, kind, text in re.findall(r"([^\n]*\n(?:[^\n]+\n)?\n?) *```(\w+)\n(.*?)\n *```", part, re.S):
        text = textwrap.dedent(text)
        named = re.findall(r"`([\w./]+\.(?:c|cpp|py|rs))`", before)
        if kind == "sh":
            commands.append(f'echo "=== {heading}"\nset -x\n{text}\n{{ set +x; }} 2>/dev/null')
        elif named:
            files.append(f"cat > {named[-1]} <<'END'\n{text}\nEND")
print("set -e", *files, *commands, sep="\n")
