"""Launches beside expected arrays and recordings; what is said where there is no device."""

from pathlib import Path

import numpy as np
import pytest

import warpgrind
from warpgrind._command import path as command
from test_module import HEAD, SAXPY

DATA = Path(__file__).parents[2] / "testdata"


@pytest.fixture
def launch():
    x, y = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    return warpgrind.load(SAXPY).kernel[1, 64].plan(x, y, 2.0), 2 * x + y


def test_expected_arrays(launch):
    plan, result = launch
    comparison = warpgrind.compare(plan, expected={"x": result, "y": np.ones(64, np.float32)}).check()
    assert comparison.agrees and [buffer.name for buffer in comparison.buffers] == ["x", "y"]
    assert comparison.device is None and comparison.launches[0].simulator.fault is None
    other = result.copy()
    other[7] = np.nextafter(other[7], 100, dtype=np.float32)
    other[9] += 1
    with pytest.raises(warpgrind.DifferenceError, match=r"2 of 64 values differ.*first at \[7\]") as caught:
        warpgrind.compare(plan, expected={"x": other}).check()
    buffer, = caught.value.comparison.buffers
    assert (buffer.differing, buffer.first, buffer.values) == (2, 7, 64)
    assert buffer.simulator[7] == result[7] and dict(buffer.histogram)["1"] == 1
    assert warpgrind.compare(plan, expected={"x": other}, ulp=1).buffers[0].first == 9
    assert warpgrind.compare(plan, expected={"x": other}, abs=1.0).agrees
    assert "<table>" in caught.value.comparison._repr_html_()


def test_expectations_that_fit_nothing(launch):
    plan, result = launch
    with pytest.raises(warpgrind.LaunchError, match="there are x, y"):
        warpgrind.compare(plan, expected={"z": result})
    with pytest.raises(warpgrind.LaunchError, match="64 values of f32"):
        warpgrind.compare(plan, expected={"x": result[:3]})
    with pytest.raises(warpgrind.LaunchError, match="64 values of f32"):
        warpgrind.compare(plan, expected={"x": result.astype(np.float64)})
    with pytest.raises(warpgrind.LaunchError, match="not with both"):
        warpgrind.compare(plan, expected={"x": result}, recording="none")
    with pytest.raises(warpgrind.LaunchError, match="for expected arrays"):
        warpgrind.compare(plan, abs=1.0)


def test_a_launch_that_faults_does_not_agree():
    x = np.ones(4, np.float32)
    plan = warpgrind.load(SAXPY).kernel[1, 8].plan(x, x.copy(), 2.0)
    comparison = warpgrind.compare(plan, expected={"x": x})
    assert not comparison.agrees and comparison.launches[0].simulator.fault == "illegal-address"
    assert "out-of-bounds" in str(comparison)


def test_a_plan_takes_arrays_as_they_are():
    module = warpgrind.load(SAXPY)
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    device = module.array(y)
    plan = module.kernel[1, 8].plan(x, device, 1.0)
    device.set(5)
    x[:] = 0
    assert warpgrind.compare(plan, expected={"x": np.arange(8, dtype=np.float32) + 1}).agrees
    assert x.sum() == 0
    with pytest.raises(warpgrind.LaunchError, match="overlaps"):
        module.kernel[1, 8].plan(x, x[1:], 1.0)


def test_an_array_that_is_no_number_is_compared_as_bytes():
    module = warpgrind.load(HEAD + """
.visible .entry swap(.param .u64 p) {
    .reg .b64 %rd; .reg .f32 %f<2>;
    ld.param.u64 %rd, [p];
    ld.global.v2.f32 {%f0, %f1}, [%rd];
    st.global.v2.f32 [%rd], {%f1, %f0};
    ret;
}
""")
    plan = module.kernel[1, 1].plan(np.array([1 + 2j], np.complex64))
    assert warpgrind.compare(plan, expected={"p": np.array([2 + 1j], np.complex64)}).agrees


def test_a_recording_of_an_h200():
    file = DATA / "launches" / "stencil.toml"
    recording = DATA / "recordings" / "stencil.wgrec"
    comparison = warpgrind.compare(file, recording=recording)
    assert comparison.agrees and "H200" in comparison.device.name
    with pytest.raises(warpgrind.RecordingError, match="other PTX"):
        warpgrind.compare(DATA / "launches" / "trap.toml", recording=recording)
    with pytest.raises(warpgrind.RecordingError, match="not a recording"):
        warpgrind.compare(file, recording=file)


def test_without_a_device_there_is_a_name_for_it(launch, tmp_path):
    try:
        command()
    except warpgrind.Error as error:
        pytest.skip(str(error))
    nowhere = tmp_path / "libcuda.so.1"
    with pytest.raises(warpgrind.NoDeviceError, match="driver"):
        warpgrind.compare(launch[0], driver=nowhere)
    with pytest.raises(warpgrind.NoDeviceError, match="driver"):
        warpgrind.record(launch[0], tmp_path / "recording", driver=nowhere)
    assert not (tmp_path / "recording").exists()
    with pytest.raises(warpgrind.Error, match="0 to 4"):
        warpgrind.compare(launch[0], optimization=9)
