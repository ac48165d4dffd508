# SPDX-License-Identifier: Apache-2.0
# tier: change
"""All tests compute on the emulator, whatever the machine has, and keep no kernel on disk."""

import os

os.environ["TILEJIT_DRIVER"] = "emulator"
os.environ["TILEJIT_CACHE_DIR"] = "off"
os.environ["CUDA_EMULATOR_CHECKS"] = "none"
os.environ["JAX_PLATFORMS"] = "cpu"

import numpy
import pytest
import tilejit


@pytest.fixture(scope="session")
def context():
    return tilejit.default_context()


@pytest.fixture(scope="session", autouse=True)
def compiler(context):
    """Without NVRTC there is nothing to test: said once, and loudly."""
    if any(finding.topic == "nvrtc" and finding.state == "missing" for finding in context.doctor()):
        message = "SKIPPED, not tested: NVRTC is not on this machine"
        if os.environ.get("TILEJIT_REQUIRE_NVRTC") == "1":
            pytest.fail(message)
        pytest.skip(message, allow_module_level=True)


@pytest.fixture
def random():
    generator = numpy.random.default_rng(7)
    return lambda *shape, dtype="f4": generator.integers(-4, 5, shape).astype(dtype)


class Foreign:
    """A part of device memory as another library would show it: __cuda_array_interface__, with any strides."""

    def __init__(self, array, shape, strides, *, offset=0, read_only=False, address=None, mask=None):
        size = numpy.dtype(array.dtype).itemsize
        self.owner = array
        self.dtype = array.dtype
        self.__cuda_array_interface__ = {
            "version": 3, "shape": shape, "typestr": array.dtype.str, "strides": None if strides is None else tuple(size * each for each in strides),
            "data": (array.address + size * offset if address is None else address, read_only), "mask": mask, "stream": None}


@pytest.fixture
def foreign():
    return Foreign
