"""Sweeps over executors and Dask, with workers that die on the way."""

import json
import os
import signal
import sys
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import pytest

import warpgrind
from kernels import RACE, RACE_LAUNCH

# The package's `sweep` is the function.
warpgrind_sweep = sys.modules["warpgrind.sweep"]

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture
def race(tmp_path, monkeypatch):
    """A racy launch; results do not depend on where it lies."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "race.ptx").write_text(RACE)
    (tmp_path / "race.toml").write_text(RACE_LAUNCH)
    return "race.toml"


def test_equal_findings_are_one(race):
    with ThreadPoolExecutor(2) as executor:
        result = warpgrind.sweep(warpgrind.seeds(race, range(8), tools=["racecheck"]), executor)
    found, = result.findings
    assert found.kind == "data-race" and len(found.seen) == 8 and found.places == ("race.ptx:9", "race.ptx:9")
    assert found.command.startswith("warpgrind run --seed ")
    assert "data-race" in result._repr_html_()


def test_a_folder_of_launches(race):
    assert [work.file for work in warpgrind.launches(".", seeds=[0, 1])] == [race, race]
    with pytest.raises(warpgrind.Error, match="save-launches"):
        os.mkdir("empty")
        warpgrind.launches("empty")


def test_what_cannot_run_is_said_and_the_rest_goes_on(race):
    result = warpgrind.sweep(warpgrind.seeds(race, [0]) + [warpgrind.Work("run", "nowhere.toml")])
    failed, = result.failed
    assert "nowhere.toml" in failed.error and len(result.results) == 2


def test_a_journal_is_gone_on_with(race):
    work = warpgrind.seeds(race, range(6))

    class Enough(Exception):
        pass

    def stop(_):
        if len(open("journal").readlines()) == 3:
            raise Enough

    with pytest.raises(Enough) as caught:
        warpgrind.sweep(work, journal="journal", on_result=stop)
    assert len(caught.value.sweep.results) == 3
    with open("journal", "a") as journal:
        journal.write('{"work": {"verb"')
    again = []
    result = warpgrind.sweep(work, journal="journal", resume=True, on_result=again.append)
    assert len(again) == 3 and len(result.results) == 6
    assert len({json.loads(line)["work"]["options"][1] for line in open("journal")}) == 6
    open("journal", "w").write("{}\n")
    with pytest.raises(warpgrind.Error, match="journal:1"):
        warpgrind.sweep(work, journal="journal", resume=True)


def test_a_pool_that_breaks_loses_nothing_that_was_done(race):
    work = warpgrind.seeds(race, range(40))
    with ProcessPoolExecutor(2) as pool:

        def kill(_):
            if len(open("journal").readlines()) == 5:
                os.kill(next(iter(pool._processes)), signal.SIGKILL)

        with pytest.raises(BrokenProcessPool) as caught:
            warpgrind.sweep(work, pool, journal="journal", on_result=kill)
    assert len(caught.value.sweep.results) >= 5
    with ProcessPoolExecutor(2) as pool:
        assert len(warpgrind.sweep(work, pool, journal="journal", resume=True).results) == 40


def test_dask_gives_the_work_of_a_dead_worker_to_another(race):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
        with distributed.Client(cluster) as client:
            first = next(iter(cluster.workers.values()))

            def kill():
                while len(open("journal").readlines() if os.path.exists("journal") else ()) < 3:
                    time.sleep(0.02)
                os.kill(first.pid, signal.SIGKILL)

            killer = threading.Thread(target=kill)
            killer.start()
            work = warpgrind.seeds(race, range(60), tools=["racecheck"])
            result = warpgrind.sweep(work, client, journal="journal")
            killer.join()
    assert len(result.results) == 60 and not result.failed
    found, = result.findings
    assert len(found.seen) == 60


def test_progress_says_how_long_it_takes(race, capsys):
    work = warpgrind.seeds(race, range(4))
    warpgrind.sweep(work, journal="journal", progress=True)
    shown = capsys.readouterr().err
    assert "Sweep: 4 of 4 done" in shown and " a second" in shown and shown.endswith("\n")
    # A file is no terminal: nothing is shown.
    warpgrind.sweep(work)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("seconds, text", [(0.2, "1 s"), (59, "59 s"), (61, "1 min 1 s"), (7320, "2 h 2 min")])
def test_durations(seconds, text):
    assert warpgrind_sweep._duration(seconds) == text


def test_litmus_tests_of_a_folder(tmp_path):
    (tmp_path / "a.litmus").write_text("PTX a\n{ x=0; }\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\nexists (x == 1)\n")
    (tmp_path / "kernel.ptx").write_text(RACE)
    work, = warpgrind.litmus_tests(tmp_path)
    assert work.command == ["warpgrind", "litmus", str(tmp_path / "a.litmus")]
    result, = warpgrind.sweep([work]).results
    assert result.exit_code == 0 and result.document["tests"][0]["verdict"] == "allowed"
