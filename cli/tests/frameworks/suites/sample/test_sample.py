"""Tests of each outcome; a kernel that ends the context that the others need, a test that ends the process, one that hangs."""

import ctypes
import os
import time

import pytest

PTX = b"""
.version 8.0
.target sm_80
.address_size 64
.visible .entry reads_nowhere(.param .u64 to)
{
    .reg .b32 %r;
    .reg .b64 %rd;
    ld.param.u64 %rd, [to];
    ld.global.u32 %r, [%rd];
    st.global.u32 [%rd], %r;
    ret;
}
"""


@pytest.fixture(scope="module")
def driver():
    library = ctypes.CDLL("libcuda.so.1")
    context = ctypes.c_void_p()
    assert library.cuInit(0) == 0
    assert library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert library.cuCtxSetCurrent(context) == 0
    return library


def works(driver):
    address = ctypes.c_uint64()
    assert driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(64)) == 0


def test_before(driver):
    works(driver)


def test_ends_the_context(driver):
    module, kernel, address = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint64(64)
    assert driver.cuModuleLoadData(ctypes.byref(module), PTX) == 0
    assert driver.cuModuleGetFunction(ctypes.byref(kernel), module, b"reads_nowhere") == 0
    arguments = (ctypes.c_void_p * 1)(ctypes.addressof(address))
    assert driver.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, None, arguments, None) == 0
    assert driver.cuCtxSynchronize() == 0, "the context is lost"


def test_behind_a_lost_context(driver):
    works(driver)


def test_ends_the_process():
    os.abort()


def test_behind_an_ended_process(driver):
    works(driver)


def test_hangs():
    time.sleep(60)


@pytest.mark.skip(reason="not today")
def test_skipped():
    pass


@pytest.mark.xfail
def test_known_to_fail():
    assert False


def test_fails():
    assert 1 + 1 == 3, "the sum is wrong"


def test_last():
    pass
