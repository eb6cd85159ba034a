"""``pytest --warpgrind`` on tests that call CUDA's driver, as frameworks do."""

import subprocess
import sys

import pytest

from kernels import CLIENT, RACE
from warpgrind import Error
from warpgrind._command import path

@pytest.fixture
def run(tmp_path):
    try:
        path()
    except Error as error:
        pytest.skip(str(error))
    (tmp_path / "test_client.py").write_text(CLIENT)

    def run(*arguments):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rA", *arguments, "test_client.py"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)

    return run


def test_a_finding_fails_its_test(run):
    done = run("--warpgrind=racecheck")
    assert "FAILED test_client.py::test_blocks_race" in done.stdout, done.stdout + done.stderr
    assert "PASSED test_client.py::test_one_block" in done.stdout
    assert "PASSED test_client.py::test_again_one_block" in done.stdout
    assert done.stdout.count("in kernel last") == 1 and "data-race: " in done.stdout
    assert "1 failed, 2 passed, 1 skipped" in done.stdout
    assert done.returncode != 0


def test_without_the_tool_nothing_is_found(run):
    done = run("--warpgrind")
    assert "3 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0


def test_workers_of_xdist_find_as_much(run):
    pytest.importorskip("xdist")
    done = run("--warpgrind=racecheck", "-n", "2")
    assert "FAILED test_client.py::test_blocks_race" in done.stdout, done.stdout + done.stderr
    assert "1 failed, 2 passed, 1 skipped" in done.stdout


def test_what_is_suppressed_fails_no_test(run, tmp_path):
    known = tmp_path / "known races.toml"
    known.write_text('[[suppression]]\nkind = "data-race"\nkernel = "last"\nreason = "the last block may win"\n')
    done = run("--warpgrind=racecheck", f"--warpgrind-args=--suppressions '{known}'")
    assert "3 passed, 1 skipped" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0


def test_options_of_exec_are_handed_on(run):
    done = run("--warpgrind=racecheck", "--warpgrind-args=--no-such-option")
    assert "--no-such-option" in done.stderr and done.returncode != 0


FIXTURE = f"RACE = {RACE!r}\n" + '''
import numpy as np, pytest

def test_plain(warpgrind_device):
    word = np.zeros(1, np.uint32)
    warpgrind_device.load(RACE).kernel[4, 1](word)
    assert word[0] < 4

@pytest.mark.warpgrind(tools="racecheck")
def test_marked(warpgrind_device):
    warpgrind_device.load(RACE).kernel[4, 1](np.zeros(1, np.uint32))

@pytest.mark.warpgrind(tools="racecheck")
class TestClass:
    @pytest.mark.warpgrind(raises=False, seed=7)
    def test_both(self, warpgrind_device):
        assert warpgrind_device.options == {"jobs": 1, "tools": "racecheck", "raises": False, "seed": 7}
        assert not warpgrind_device.load(RACE).kernel[4, 1](np.zeros(1, np.uint32)).is_clean

def test_each_device_is_its_own(warpgrind_device):
    one, other = warpgrind_device.load(RACE), warpgrind_device.load(RACE)
    assert one.array(np.zeros(1)).address == other.array(np.zeros(1)).address
'''


def test_the_fixture_is_a_fresh_device(tmp_path):
    (tmp_path / "test_fixture.py").write_text(FIXTURE)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-rA", "--strict-markers", "test_fixture.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "1 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    assert "FAILED test_fixture.py::test_marked - warpgrind.report.FindingError: error[da" in done.stdout
