from collections.abc import Sequence
from os import PathLike
from typing import Any, TypedDict

import numpy as np

__version__: str

class Error(RuntimeError): ...
class PtxError(Error): ...
class LaunchError(Error): ...
class LitmusError(Error): ...
class NoDeviceError(Error): ...
class RecordingError(Error): ...

class Profile(TypedDict):
    kernel: str
    ptxas: str | None
    values: list[tuple[str, str, str, float]]
    warps: tuple[int, int] | None
    opcodes: list[tuple[str, int, int]]
    lines: str

class Report:
    @property
    def outcome(self) -> str: ...
    @property
    def found(self) -> int: ...
    def findings(self) -> list[tuple[str, str]]: ...
    @property
    def output(self) -> bytes: ...
    def json(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def table(self) -> str: ...
    @property
    def profile(self) -> Profile | None: ...

#: Bits of a type, an address, a number as it is written in PTX, bytes of a structure, or the name of a plan's buffer.
Argument = tuple[str, int] | int | str | bytes | tuple[str]
Extents = tuple[int, int, int]
#: A launch: kernel, grid, block, bytes of dynamic shared memory, cluster, whether it is cooperative, arguments.
Request = tuple[str, Extents, Extents, int, Extents | None, bool, Sequence[Argument]]
#: Bytes that lie one after the other.
Bytes = np.ndarray[Any, Any] | bytearray | memoryview
#: Name, element type, extents, bytes.
BufferOf = tuple[str, str, list[int], bytes]
#: Class of the fault, words for it, what was printed.
End = tuple[str | None, str, str]

class How(TypedDict):
    jobs: int
    timeout: float
    optimization: int
    contraction: bool
    as_optimised: bool
    driver: str | None
    device: int
    packed: bool
    program: str

class Identity(TypedDict):
    name: str
    capability: str
    cuda: str
    contraction: bool
    optimization: int

class LaunchOf(TypedDict):
    kernel: str
    simulator: End | None
    other: End | None
    same_end: bool
    printed: str

class Differing(TypedDict):
    name: str
    element: str
    shape: list[int]
    simulator: bytes
    other: bytes
    values: int
    differing: int
    first: int | None
    largest: int
    histogram: list[tuple[str, int]]

class Compared(TypedDict):
    agrees: bool
    identity: Identity | None
    cause: str | None
    contractable: bool
    launches: list[LaunchOf]
    buffers: list[Differing]

class Frame(TypedDict):
    function: str
    file: str
    line: int
    ptx: int
    position: int
    instruction: str
    inlined: bool

class Stop(TypedDict):
    reason: str
    text: str
    breakpoints: list[int]
    finding: int | None
    old: str | None
    new: str | None
    access: str | None
    time: int
    block: Extents
    thread: Extents
    warp: int
    lane: int
    place: Frame | None

class Group(TypedDict):
    block: Extents
    warp: int
    lanes: int
    waits: str | None
    file: str
    line: int
    instruction: str

class Debugger:
    def __init__(
        self, plan: Plan, launch: int, tools: list[str], seed: int, source_root: str | None
    ) -> None: ...
    def close(self) -> None: ...
    def restart(self) -> Stop: ...
    def go_on(self) -> Stop: ...
    def go_back(self) -> Stop: ...
    def step(self, how: str, times: int) -> Stop: ...
    def step_back(self, how: str, times: int) -> Stop: ...
    def advance_to(self, place: str) -> Stop: ...
    def go_to(self, time: int) -> Stop: ...
    def last_write(self, text: str) -> Stop: ...
    def open(self, number: int, other: bool) -> Stop: ...
    def where_it_is(self) -> Stop: ...
    def add_breakpoint(self, place: str, condition: str | None, temporary: bool) -> tuple[int, list[int]]: ...
    def add_watchpoint(self, text: str, reads: bool, writes: bool) -> int: ...
    def delete(self, id: int | None) -> bool: ...
    def set(self, by_warp: bool, stops_at_findings: bool) -> None: ...
    def value(self, text: str) -> Any: ...
    def text(self, text: str, letter: str | None) -> str: ...
    def type_of(self, text: str) -> str: ...
    def across(self, text: str, block: bool) -> list[tuple[Extents, Any]]: ...
    def assign(self, text: str) -> bool: ...
    def read(self, of: str, address: int, count: int) -> bytes: ...
    def write(self, of: str, address: int, bytes: bytes) -> None: ...
    def focus(self, block: Extents | None, thread: Extents | None) -> Stop: ...
    def frame(self, number: int) -> Stop: ...
    def frames(self) -> list[Frame]: ...
    def names(self, of: str) -> list[str]: ...
    def findings(self) -> list[tuple[int, int | None, str, str]]: ...
    def warps(self) -> list[Group]: ...
    def output(self) -> bytes: ...

class Plan:
    @staticmethod
    def read(path: str | PathLike[str]) -> Plan: ...
    @property
    def kernels(self) -> list[str]: ...
    def with_device(self, how: How, tolerance: int | None) -> Compared: ...
    def with_recording(self, how: How, tolerance: int | None, file: str | PathLike[str]) -> Compared: ...
    def with_expected(
        self, how: How, expected: Sequence[BufferOf], tolerance: tuple[int, float, float, bool]
    ) -> Compared: ...
    def record(self, how: How) -> tuple[Identity, bytes]: ...

class Device:
    def __init__(
        self,
        texts: Sequence[tuple[str, bytes]],
        files: Sequence[str | PathLike[str]],
        tools: Sequence[str],
        seed: int,
        asynchrony: str,
        jobs: int,
        timeout: float | None,
        max_instructions: int | None,
        contraction: bool,
        as_optimised: bool,
        count_memory: bool,
        source_root: str | PathLike[str] | None,
    ) -> None: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def kernels(self) -> list[tuple[str, str, list[str]]]: ...
    def kernel(self, name: str | None = None) -> str: ...
    def variable(self, name: str) -> tuple[int, int]: ...
    def allocate(self, bytes: int, name: str) -> int: ...
    def free(self, address: int) -> None: ...
    def adopt(self, bytes: Bytes, name: str) -> int: ...
    def release(self, address: int) -> None: ...
    def write(self, address: int, bytes: Bytes) -> None: ...
    def read(self, address: int, into: Bytes) -> None: ...
    def launch(self, launch: Request, profile: bool) -> Report: ...
    def plan(self, launch: Request, buffers: Sequence[BufferOf]) -> Plan: ...

class LitmusEvent(TypedDict):
    label: str
    thread: int | None
    line: int
    text: str
    action: str

class LitmusExecution(TypedDict):
    events: list[LitmusEvent]
    relations: list[tuple[str, list[tuple[int, int]]]]

class LitmusCut(TypedDict):
    axiom: str
    section: str
    events: list[LitmusEvent]
    reads_from: list[tuple[int, int]]
    cycle: list[tuple[int, str, int]]

class LitmusOutcome(TypedDict):
    values: list[int]
    satisfies: bool
    allowed: bool | None
    executions: int | None
    simulated: int | None

class LitmusSimulated(TypedDict):
    complete: int
    incomplete: int
    error: str | None

LitmusRace = TypedDict("LitmusRace", {"class": str, "accesses": list[tuple[int, int, str]]})

class LitmusTest(TypedDict):
    name: str
    assertion: str | None
    holds: bool | None
    verdict: str
    reason: str | None
    seconds: float
    bound: int
    observables: list[str]
    outcomes: list[LitmusOutcome]
    outcomes_complete: bool
    simulated: LitmusSimulated | None
    race: LitmusRace | None
    execution: LitmusExecution | None
    cuts: list[LitmusCut]

def litmus(
    text: bytes,
    name: str,
    form: str,
    model_name: str,
    model_file: str | None,
    property: str,
    bound: int | None,
    count: bool,
    explain: bool,
    timeout: float,
    simulate: int | None,
    weak: bool,
    seed: int,
) -> list[LitmusTest]: ...
