"""A launch under the debugger, as an object: forward, back, values, changes, findings."""

import signal
import threading
import time

import numpy as np
import pytest
from kernels import FOREVER, HEAD, SAXPY

import warpgrind

#: Adds up to its thread's number in a loop.
SUMS = HEAD + """
.visible .entry sums(.param .u64 out) {
    .reg .b64 %a, %b; .reg .b32 %t, %i, %s; .reg .pred %p;
    ld.param.u64 %a, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %i, 0;
    mov.u32 %s, 0;
again:
    add.u32 %s, %s, %i;
    add.u32 %i, %i, 1;
    setp.le.u32 %p, %i, %t;
    @%p bra again;
    mul.wide.u32 %b, %t, 4;
    add.u64 %b, %a, %b;
    st.global.u32 [%b], %s;
    ret;
}
"""

#: Threads read what their neighbours write.
RACE = HEAD + """
.visible .entry race(.param .u64 out) {
    .reg .b64 %a, %b; .reg .b32 %t, %v; .reg .pred %p;
    .shared .align 4 .b32 cell;
    ld.param.u64 %a, [out];
    mov.u32 %t, %tid.x;
    setp.eq.u32 %p, %t, 0;
    @%p st.shared.u32 [cell], 7;
    ld.shared.u32 %v, [cell];
    mul.wide.u32 %b, %t, 4;
    add.u64 %b, %a, %b;
    st.global.u32 [%b], %v;
    ret;
}
"""


@pytest.fixture
def sums():
    out = np.zeros(40, np.uint32)
    with warpgrind.load(SUMS)["sums"][1, 40].debug(out) as debugger:
        yield debugger
    assert not out.any(), "arrays stay as they are"


def test_forward_and_back(sums):
    number = sums.break_at("*10", "threadIdx.x == 35")
    stop = sums.run()
    assert (stop.reason, stop.breakpoints, stop.thread) == ("breakpoint", (number,), (35, 0, 0))
    assert stop.place.instruction == "st.global.u32 [%b], %s;"
    assert sums["%s"] == 630
    there = stop.time
    assert sums.reverse_stepi().place.position == 9
    assert sums.stepi().time == there
    sums.delete()
    assert sums.continue_().reason == "ended"
    assert sums["out[35]"] == 630
    stop = sums.last_write("out[35]")
    assert (stop.reason, stop.old, stop.new, stop.access) == ("watchpoint", "0", "630", "write")
    assert stop.time == there
    assert sums.goto("start").time == 0
    assert sums.reverse_continue().reason == "beginning"


def test_values_and_threads(sums):
    sums.break_at("*10", temporary=True)
    assert sums.run().warp == 0
    assert sums.across("%s")[7, 0, 0] == 28
    assert len(sums.across("%t", block=True)) == 40
    assert sums["out"] == [0] * 40
    assert sums["out[2]@3"] == [0, 0, 0]
    assert sums["threadIdx.x + 0.5"] == 0.5
    assert sums["%s == 0"] is True
    assert sums.text("255", "x") == "0xff"
    assert sums.type("out") == "unsigned int [40]"
    assert sums.focus(thread=9).thread == (9, 0, 0)
    assert sums.registers["%s"] == 45
    assert sums.buffers == ["out"]
    address = sums["&out[0]"]
    assert sums.read(address, 4) == bytes(4)
    assert [group.warp for group in sums.groups] == [0, 1]


def test_a_change_is_another_future_and_is_taken_back(sums):
    sums.break_at("*10", "threadIdx.x == 3", temporary=True)
    there = sums.run().time
    sums["%s"] = 77
    sums["out[0]"] = 5
    assert sums.goto("end").reason == "ended"
    assert sums["out[3]"] == 77
    sums.goto(there - 1)
    assert (sums["%s"], sums["out[0]"]) == (6, 0)
    sums.goto("end")
    assert sums["out[3]"] == 77, "going on, it is made again"


def test_steps_by_warp(sums):
    assert not sums.steps_by_warp
    sums.steps_by_warp = True
    sums.focus(thread=0)
    times = [sums.stepi().time for _ in range(20)]
    assert times == list(range(times[0], times[0] + 20)), "nothing of the warp is passed over"


def test_a_race_is_opened_at_both_ends():
    out = np.zeros(64, np.uint32)
    with warpgrind.load(RACE)["race"][1, 64].debug(out, tools="racecheck") as debugger:
        kinds = {finding.kind: finding.number for finding in debugger.findings}
        then = debugger.open(kinds["data-race"])
        assert then.reason == "finding" and "ld.shared" in then.place.instruction
        first = debugger.open(kinds["data-race"], other=True)
        assert "st.shared" in first.place.instruction and first.time < then.time


def test_findings_are_stops():
    x, y = np.ones(4, np.float32), np.ones(4, np.float32)
    with warpgrind.load(SAXPY)["saxpy"][1, 5].debug(x, y, 2.0) as debugger:
        stop = debugger.run()
        assert (stop.reason, stop.finding, stop.thread) == ("finding", 1, (4, 0, 0))
        assert "out-of-bounds" in stop.text
        debugger.stops_at_findings = False
        assert debugger.run().reason == "ended"


def test_mistakes_are_raised(sums):
    for mistake in [
        lambda: sums["nosuch"],
        lambda: sums["1 +"],
        lambda: sums.break_at("nowhere"),
        lambda: sums.break_at("*10", "1 +"),
        lambda: sums.watch("%s"),
        lambda: sums.delete(9),
        lambda: sums.focus(block=7),
        lambda: sums.focus(block=(1, 2, 3, 4)),
        lambda: sums.read(0, 4),
        lambda: sums.read(0, 1 << 62),
        lambda: sums.read(0, 4, space="nowhere"),
        lambda: sums.text("1", "?"),
        lambda: sums.open(0),
        lambda: sums.open(3),
        lambda: sums.frame(4),
        lambda: sums.finish(),
        lambda: sums.__setitem__("1", 2),
        lambda: sums.__setitem__("threadIdx.x", 2),
        lambda: sums.__setitem__("%s", object()),
        lambda: sums.type("nosuch"),
    ]:
        with pytest.raises(warpgrind.Error):
            mistake()
    with pytest.raises(warpgrind.Error):
        warpgrind.Debugger("nowhere.toml")
    plan = warpgrind.load(SUMS)["sums"].plan(1, 1, np.zeros(1, np.uint32))
    with pytest.raises(warpgrind.Error, match="no launch 1"):
        warpgrind.Debugger(plan, launch=1)
    with pytest.raises(warpgrind.Error, match="no tool"):
        warpgrind.Debugger(plan, tools="nosuch")


def test_closed_is_closed():
    debugger = warpgrind.load(SUMS)["sums"][1, 1].debug(np.zeros(1, np.uint32))
    debugger.close()
    debugger.close()
    with pytest.raises(warpgrind.Error, match="closed"):
        debugger.run()
    assert "closed" in repr(debugger)


@pytest.fixture
def interrupts():
    """Ctrl-C is KeyboardInterrupt: a shell's job in the background ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_has_it_stand_still(interrupts):
    with warpgrind.load(FOREVER)["forever"][1, 1].debug() as debugger:
        killer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
        killer.start()
        begun = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            debugger.run()
        killer.join()
        assert time.monotonic() - begun < 30
        assert debugger.stop.time > 0
