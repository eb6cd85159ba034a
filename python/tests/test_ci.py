"""The workflow and the container file: their commands do here what they are to do there."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import warpgrind
from kernels import CLIENT
from warpgrind._command import path

CI = Path(__file__).parents[1] / "ci"


@pytest.fixture
def command():
    try:
        return Path(path())
    except warpgrind.Error as error:
        pytest.skip(str(error))


def test_the_step_of_the_workflow_finds_a_race(command, tmp_path):
    yaml = pytest.importorskip("yaml")
    workflow = yaml.safe_load((CI / "github.yml").read_text())
    steps = {step.get("name"): step for step in workflow["jobs"]["tests"]["steps"]}
    (tmp_path / "test_client.py").write_text(CLIENT)
    # The commands of this environment, as the container has them.
    folders = [str(command.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(folders)}
    done = subprocess.run(
        ["sh", "-c", steps["Tests"]["run"]], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 2 passed, 1 skipped" in done.stdout
    # What the next steps take is there.
    sarif = json.loads((tmp_path / steps["Findings as alerts"]["with"]["sarif_file"]).read_text())
    result, = sarif["runs"][0]["results"]
    assert result["ruleId"] == "data-race"
    assert (tmp_path / "tests.xml").exists()
    for kept in steps["Keep the results"]["with"]["path"].split():
        assert (tmp_path / kept).exists(), kept


def test_the_container_is_built_with_what_the_workspace_wants():
    text = (CI / "Containerfile").read_text()
    cargo = Path(__file__).parents[2] / "Cargo.toml"
    wanted = re.search(r'rust-version = "([\d.]+)"', cargo.read_text())[1]
    assert f"rust:{wanted}-slim" in text
    # Each stage that is copied from exists.
    stages = re.findall(r"^FROM .* AS (\w+)", text, re.M)
    assert set(re.findall(r"from=(\w+)", text)) <= set(stages)
