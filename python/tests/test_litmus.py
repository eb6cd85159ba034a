"""Verdicts on litmus tests, their tables and their pictures."""

import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as xml
from pathlib import Path

import pytest

import warpgrind

MP = r"""PTX MP
{ data=0; flag=0; }
 P0@cta 0,gpu 0          | P1@cta 1,gpu 0           ;
 st.weak data, 1         | ld.acquire.gpu r0, flag  ;
 st.release.gpu flag, 1  | ld.weak r1, data         ;
exists (1:r0 == 1 /\ 1:r1 == 0)
"""

SB = r"""PTX SB
{ x=0; y=0; }
 P0@cta 0,gpu 0          | P1@cta 1,gpu 0          ;
 st.relaxed.gpu x, 1     | st.relaxed.gpu y, 1     ;
 ld.relaxed.gpu r0, y    | ld.relaxed.gpu r0, x    ;
exists (0:r0 == 0 /\ 1:r0 == 0)
"""

RACY = r"""PTX racy
{ x=0; }
 P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;
 st.weak x, 1   | ld.weak r0, x  ;
exists (1:r0 == 1)
"""


def texts(picture):
    return ["".join(of.itertext()) for of in xml.fromstring(picture).iter("{http://www.w3.org/2000/svg}text")]


def test_what_is_forbidden_has_its_cycle():
    verdict = warpgrind.litmus(MP)
    assert (verdict.name, verdict.verdict, verdict.holds) == ("MP", "forbidden", False)
    assert [tuple(outcome.values.values()) for outcome in verdict.outcomes] == [(0, 0), (0, 1), (1, 1)]
    assert verdict.outcomes_complete and verdict.execution is None and not verdict.alarms
    cut = verdict.cuts[0]
    assert cut.axiom == "Causality" and "Causality" in str(verdict)
    assert cut.cycle[-1].target == cut.cycle[0].source
    shown = texts(verdict._repr_svg_())
    assert shown[0] == "MP: forbidden by Causality" and {"P0", "P1", "rf"} <= set(shown)
    table = verdict._repr_html_()
    assert table.count("<tr") == 4 and "<svg" in table and "forbidden" in table


def test_what_is_allowed_has_an_execution():
    verdict = warpgrind.litmus(SB, count=True)
    assert (verdict.verdict, verdict.holds, verdict.cuts) == ("allowed", True, ())
    assert all(outcome.executions for outcome in verdict.outcomes)
    execution = verdict.execution
    assert {event.thread for event in execution.events if event.line} == {0, 1}
    assert len(execution.relations["rf"]) == 2
    shown = texts(execution._repr_svg_())
    assert {"po", "rf", "fr"} <= set(shown)
    # Boxes, arrows and names lie within the picture.
    root = xml.fromstring(execution._repr_svg_())
    width, height = float(root.get("width")), float(root.get("height"))
    for rect in root.iter("{http://www.w3.org/2000/svg}rect"):
        x, y = float(rect.get("x", 0)), float(rect.get("y", 0))
        assert 0 <= x and x + float(rect.get("width")) <= width and 0 <= y and y + float(rect.get("height")) <= height


def test_the_model_is_chosen(tmp_path):
    assert warpgrind.litmus(SB, model="sc").verdict == "forbidden"
    file = tmp_path / "sc.cat"
    file.write_text("PTX\nacyclic po | rf | co | fr as sc\n")
    verdict = warpgrind.litmus(SB, model=file)
    assert verdict.verdict == "forbidden" and verdict.model == str(file)
    with pytest.raises(warpgrind.Error, match="one of isa"):
        warpgrind.litmus(SB, model="tso")
    file.write_text("PTX\nacyclic po | nosuch\n")
    with pytest.raises(warpgrind.LitmusError, match="nosuch"):
        warpgrind.litmus(SB, model=file)
    with pytest.raises(warpgrind.LitmusError, match="none.cat"):
        warpgrind.litmus(SB, model=tmp_path / "none.cat")


def test_properties():
    verdict = warpgrind.litmus(RACY, property="races")
    assert verdict.verdict == "racy" and verdict.race.kind == "weak against weak"
    assert [line for _, line, _ in verdict.race.accesses] == [4, 4] and "race" in verdict._repr_html_()
    assert warpgrind.litmus(RACY, property="termination").verdict == "terminates"
    with pytest.raises(warpgrind.Error, match="termination"):
        warpgrind.litmus(RACY, property="fairness")


def test_the_simulator_shows_what_is_allowed_alone():
    verdict = warpgrind.litmus(SB, simulate=200, weak=True)
    assert verdict.simulated.complete == 200 and verdict.simulated.error is None
    assert sum(outcome.simulated for outcome in verdict.outcomes) == 200
    assert not verdict.alarms and "simulated" in verdict._repr_html_()


TESTS = Path(__file__).parents[2] / "testdata" / "litmus"


def test_a_kernel_is_a_test():
    lock = TESTS / "spin_lock.ptx"
    verdict = warpgrind.litmus(lock)
    assert verdict.holds is True
    # A text says so by its header.
    assert warpgrind.litmus(lock.read_text()).verdict == verdict.verdict


def test_what_is_no_test_says_where(tmp_path):
    with pytest.raises(warpgrind.LitmusError, match="-->"):
        warpgrind.litmus("PTX broken\n{ x=0; }\n P0@cta 0,gpu 0 ;\n st.weak x ;\nexists (x == 1)\n")
    with pytest.raises(warpgrind.Error, match="cannot read"):
        warpgrind.litmus(tmp_path / "none.litmus")
    with pytest.raises(warpgrind.Error, match="chooses one of MP"):
        warpgrind.litmus(MP, name="SB")


def test_a_time_limit_leaves_it_unknown():
    verdict = warpgrind.litmus(MP, timeout=0.0)
    assert verdict.verdict == "unknown" and verdict.holds is None and "time limit" in verdict.reason


def test_ctrl_c_ends_the_wait_for_a_verdict():
    slow = Path(__file__).parents[2] / "memory-model" / "testdata" / "large" / "adds-10-distinct.litmus"
    for options in ("", "simulate=1 << 60"):
        # In a process of its own, with which the check ends.
        program = (
            "import pathlib, warpgrind\n"
            f"text = pathlib.Path({str(slow)!r}).read_text()\n"
            "print('begun', flush=True)\n"
            f"try:\n    warpgrind.litmus(text, timeout=60, {options})\n"
            "except KeyboardInterrupt:\n    print('ended')\n"
        )
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "begun\n"
            time.sleep(0.5)
            process.send_signal(signal.SIGINT)
            began = time.monotonic()
            assert process.stdout.read() == "ended\n" and process.wait() == 0
            assert time.monotonic() - began < 5
