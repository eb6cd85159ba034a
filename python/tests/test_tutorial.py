"""The tutorial is run, and its outputs are what running gives. ``WARPGRIND_BLESS=1`` writes what it gives now."""

import os
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="the tutorial is not run: `pip install nbformat nbclient ipykernel`")
nbclient = pytest.importorskip("nbclient", reason="the tutorial is not run: `pip install nbformat nbclient ipykernel`")
pytest.importorskip("ipykernel", reason="the tutorial is not run: `pip install nbformat nbclient ipykernel`")

TUTORIAL = Path(__file__).parents[1] / "tutorial.ipynb"


def outputs(cell):
    """What a cell shows, in every form; pieces of a stream are one."""
    texts, shown = "", []
    for output in cell.get("outputs", ()):
        if output["output_type"] == "stream":
            texts += output["text"]
        else:
            shown.append(dict(output["data"]))
    return texts, shown


@pytest.mark.filterwarnings("ignore")
def test_the_tutorial_shows_what_it_gives():
    kept = nbformat.read(TUTORIAL, as_version=4)
    nbformat.validate(kept)
    ran = nbformat.read(TUTORIAL, as_version=4)
    nbclient.NotebookClient(ran, timeout=300, resources={"metadata": {"path": str(TUTORIAL.parent)}}).execute()
    for cell in ran.cells:
        cell.metadata.pop("execution", None)
    if os.environ.get("WARPGRIND_BLESS"):
        ran.metadata = kept.metadata
        nbformat.write(ran, TUTORIAL)
        return
    for before, now in zip(kept.cells, ran.cells, strict=True):
        assert outputs(before) == outputs(now), before.source
