"""Writes libspirv out of libsycl-jit.so to where DPC++ looks for it: `libspirv.py libsycl-jit.so /`.

DPC++ 2026 links kernels for CUDA with libspirv. It has that inside, in a folder `/sycl-jit-toolchain` of its own, but forgets this
folder's name and opens a file of the disk.
"""

import re
import struct
import sys
from pathlib import Path

TOOLCHAIN = b"/sycl-jit-toolchain"
NAME = re.compile(TOOLCHAIN + rb"/[\w./-]*l64[.-]signed_char[\w./-]*\.bc")
LOADED, RELOCATIONS, RELATIVE = 1, 4, 8

library, root = sys.argv[1:]
data = Path(library).read_bytes()
program_headers, section_headers = struct.unpack_from("<QQ", data, 32)
_, programs, _, sections = struct.unpack_from("<4H", data, 54)

#: (offset, address, size) of what is loaded.
segments = []
for number in range(programs):
    kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", data, program_headers + 56 * number)
    if kind == LOADED:
        segments.append((offset, address, size))


def address_of(place):
    return next(place - offset + address for offset, address, size in segments if offset <= place < offset + size)


def offset_of(place):
    return next(place - address + offset for offset, address, size in segments if address <= place < address + size)


# What pointers of the library point at, by their addresses, and the other way round.
target, pointer = {}, {}
for number in range(sections):
    _, kind, _, _, offset, size = struct.unpack_from("<IIQQQQ", data, section_headers + 64 * number)
    if kind == RELOCATIONS:
        for place, how, value in struct.iter_unpack("<QQq", data[offset : offset + size]):
            if how & 0xFFFFFFFF == RELATIVE:
                target[place], pointer[value] = value, place

written = 0
for found in NAME.finditer(data):
    # A file is a name, its length, what is in it, and how much that is.
    entry = pointer.get(address_of(found.start()))
    if b"nvptx64" not in found.group() or entry is None or entry + 16 not in target:
        continue
    _, length, _, size = struct.unpack_from("<4Q", data, offset_of(entry))
    name = data[found.start() + len(TOOLCHAIN) : found.start() + length].decode()
    begin = offset_of(target[entry + 16])
    path = Path(root) / name.lstrip("/")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data[begin : begin + size])
    print(path)
    written += 1
sys.exit(not written)
