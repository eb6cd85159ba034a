#!/usr/bin/env python3
"""Writes patterns.toml: which kernels of patterns.cu access which patterns of addresses. patterns_more.toml has more
in the same form."""
import random

LANES = range(32)


def named(width):
    """Patterns by name, in elements of `width` bytes; -1 is no access."""
    pick = random.Random(width)
    for stride in (0, 1, 2, 3, 4, 5, 8, 16, 32):
        yield f"stride_{stride}", [lane * stride for lane in LANES]
    yield "reversed", [31 - lane for lane in LANES]
    yield "neighbours_swapped", [lane ^ 1 for lane in LANES]
    yield "pairs", [lane // 2 for lane in LANES]
    yield "eights", [lane // 8 for lane in LANES]
    yield "halves_equal", [lane % 16 for lane in LANES]
    yield "quarters_equal", [lane % 8 for lane in LANES]
    yield "quarters_banks", [lane % 8 + 32 * (lane // 8) for lane in LANES]
    yield "halves_banks", [lane % 16 + 64 * (lane // 16) for lane in LANES]
    yield "alternating", [lane // 2 + 128 * (lane % 2) for lane in LANES]
    yield "last_other", [lane if lane < 31 else 200 for lane in LANES]
    yield "one_lane", [lane if lane == 5 else -1 for lane in LANES]
    yield "even_lanes", [lane if lane % 2 == 0 else -1 for lane in LANES]
    yield "low_half", [lane if lane < 16 else -1 for lane in LANES]
    yield "first_of_quarters", [8 * lane if lane % 8 == 0 else -1 for lane in LANES]
    yield "nobody", [-1 for _ in LANES]
    yield "shuffled", pick.sample(LANES, 32)
    for within in (16, 32, 64, 256):
        for seed in (1, 2):
            yield f"random_{within}_{seed}", [pick.randrange(within) for _ in LANES]
    for seed in (1, 2, 3):
        yield f"some_lanes_{seed}", [pick.randrange(128) if pick.random() < 0.6 else -1 for _ in LANES]


tables = {}
launches = []


def table(name, values, width):
    key = f"{name}_x{width}"
    tables[key] = [-1 if value < 0 else value * width for value in values]
    return key


def launch(kernel, key, before=(), after=()):
    launches.append((kernel, [*before, key, *after]))


ALL = {width: dict(named(width)) for width in (1, 2, 4, 8, 16)}
FEW = ["stride_1", "stride_2", "stride_3", "stride_8", "stride_32", "pairs", "one_lane", "even_lanes", "nobody", "random_64_1",
       "random_256_1", "some_lanes_1"]


def some(width, names):
    return [(name, ALL[width][name]) for name in names]


for width, kernel in ((4, "shared_load_u32"), (8, "shared_load_u64"), (16, "shared_load_v4")):
    for name, values in ALL[width].items():
        launch(kernel, table(name, values, width), after=["out"])
        launch(kernel.replace("load", "store"), table(name, values, width))
for width, kernel in ((1, "shared_load_u8"), (2, "shared_load_u16")):
    for name, values in some(width, ["stride_1", "stride_2", "stride_3", "random_256_1"]):
        launch(kernel, table(name, values, width), after=["out"])
        launch(kernel.replace("load", "store"), table(name, values, width))

for width, kernel in ((1, "load_u8"), (2, "load_u16"), (4, "load_u32"), (8, "load_u64"), (16, "load_v4")):
    for name, values in some(width, FEW):
        launch(kernel, table(name, values, width), ["memory"], ["out"])
        launch(kernel.replace("load", "store"), table(name, values, width), ["memory"])
    for offset in (1, 3, 7):
        values = [lane + offset for lane in LANES]
        launch(kernel, table(f"offset_{offset}", values, width), ["memory"], ["out"])
        launch(kernel.replace("load", "store"), table(f"offset_{offset}", values, width), ["memory"])
for kernel in ("load_nc_u32", "load_volatile_u32", "load_acquire_u32", "load_cg_u32", "load_generic_u32"):
    for name, values in some(4, ["stride_1", "stride_3", "random_256_1", "some_lanes_1", "nobody"]):
        launch(kernel, table(name, values, 4), ["memory"], ["out"])

ATOMS = ["stride_0", "stride_1", "stride_2", "stride_8", "stride_32", "pairs", "eights", "halves_equal", "alternating", "one_lane",
         "nobody", "random_16_1", "random_64_1", "random_256_1", "some_lanes_1"]
for kernel in ("atom_add_u32", "atom_cas_u32", "atom_exch_u32", "atom_add_u64", "atom_cas_u64", "atom_add_f32", "atom_add_f64"):
    width = 8 if kernel.endswith("64") else 4
    for name, values in some(width, ATOMS):
        launch(kernel, table(name, values, width), ["memory"], ["out"])
for kernel in ("red_add_u32", "red_max_u32", "red_add_u64", "red_add_f32", "red_add_f64", "red_add_f16x2", "red_add_v4_f32"):
    width = 16 if "v4" in kernel else 8 if kernel.endswith("64") else 4
    for name, values in some(width, ATOMS):
        launch(kernel, table(name, values, width), ["memory"])
for kernel in ("add_u32", "max_u32", "exch_u32", "cas_u32", "exch_u64", "cas_u64", "add_u64", "add_f32"):
    width = 8 if kernel.endswith("64") else 4
    for name, values in some(width, ATOMS):
        launch("shared_atom_" + kernel, table(name, values, width), after=["out"])
for kernel in ("add_u32", "inc_u32", "add_f32"):
    for name, values in some(4, ATOMS):
        launch("shared_red_" + kernel, table(name, values, 4))

for stride in (16, 32, 48, 64, 80, 128, 144, 256):
    key = table(f"rows_{stride}", [lane * stride for lane in LANES], 1)
    for kernel in ("ldmatrix_x1", "ldmatrix_x2", "ldmatrix_x4"):
        launch(kernel, key, after=["out"])
    launch("stmatrix_x4", key)
for name in ("random_256_1", "random_64_1", "shuffled", "stride_0", "quarters_equal"):
    key = table(name, ALL[16][name], 16)
    for kernel in ("ldmatrix_x1", "ldmatrix_x2", "ldmatrix_x4"):
        launch(kernel, key, after=["out"])
    launch("stmatrix_x4", key)

for width, kernels in ((4, ["cp_async_4"]), (8, ["cp_async_8"]), (16, ["cp_async_16", "cp_async_cg_16"])):
    pairs = [("stride_1", "stride_1"), ("stride_2", "stride_1"), ("stride_1", "stride_2"), ("stride_1", "stride_8"),
             ("stride_8", "stride_1"), ("random_256_1", "stride_1"), ("stride_1", "random_256_1"), ("low_half", "stride_1"),
             ("stride_1", "shuffled"), ("random_256_2", "random_256_1"), ("even_lanes", "stride_3"), ("nobody", "stride_1")]
    for of, to in pairs:
        key = f"{of}_to_{to}_x{width}"
        tables[key] = [-1 if at < 0 else at * width for at in ALL[width][of] + ALL[width][to]]
        for kernel in kernels:
            launch(kernel, key, ["memory"])

for name in ("stride_0", "stride_1", "stride_8", "pairs", "eights", "random_64_1", "nobody"):
    launch("load_constant", table(name, ALL[4][name], 4), after=["out"])
for name in ("stride_0", "stride_1", "stride_2", "stride_8", "pairs", "random_16_1", "some_lanes_1"):
    launch("local_memory", table(name, ALL[1][name], 1), after=["out"])
    launch("local_memory_u64", table(name, ALL[1][name], 1), after=["out64"])

with open("patterns.toml", "w") as file:
    print("# Written by generate.py: the kernels of patterns.cu, each with many patterns of addresses.", file=file)
    print('modules = ["patterns.ptx"]\n', file=file)
    for name, count in (("memory", 16384), ("out", 128), ("out64", 32)):
        kind = "u64" if name == "out64" else "u32"
        print(f'[buffers.{name}]\ntype = "{kind}"\nshape = {count}\ninit = 0\n', file=file)
    for name, values in tables.items():
        print(f'[buffers.{name}]\ntype = "i32"\ninit = {values}\n', file=file)
    for kernel, args in launches:
        shown = ", ".join(f'"{arg}"' for arg in args)
        print(f'[[launch]]\nkernel = "{kernel}"\ngrid = 1\nblock = 32\nargs = [{shown}]\n', file=file)
