# SPDX-License-Identifier: Apache-2.0
"""Arrays in device memory of TileJIT's own, as other libraries see them."""

import ctypes
import gc

import numpy
import pytest
import tilejit
from tilejit import _arrays


def test_numpy_is_told_to_copy(random, context):
    array = context.to_device(random(3, 4))
    for call in (numpy.asarray, numpy.array, lambda each: numpy.ones((3, 4)) + each):
        with pytest.raises(TypeError, match=r"in device memory.*call \.numpy\(\)"):
            call(array)


def test_len(random, context):
    assert len(context.to_device(random(3, 4))) == 3 and len(context.empty(5)) == 5
    with pytest.raises(TypeError, match="no len"):
        len(context.empty(()))


class Exported:
    """Shows DLPack's side of an array alone."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_dlpack(random, context):
    """A tensor is read where it lies, and lives as long as somebody has it."""
    a, b = random(3, 4), random(4, 5)
    product = context.empty((3, 5))
    exported = Exported(context.to_device(a))
    tilejit.matmul(exported, Exported(context.to_device(b)), Exported(product), context=context, stream=0)
    assert numpy.array_equal(product.numpy(), a @ b)
    assert exported.__dlpack_device__() == (2, 0) and not _arrays._exported
    capsule = exported.__dlpack__(stream=2)
    exported.array.free()
    assert len(_arrays._exported) == 1
    with pytest.raises(BufferError, match="freed"):
        exported.__dlpack__()
    del capsule
    gc.collect()
    assert not _arrays._exported
    for options in ({"copy": True}, {"dl_device": (1, 0)}):
        with pytest.raises(BufferError, match=r"device \(2, 0\)"):
            product.__dlpack__(**options)


def test_whoever_takes_a_tensor_deletes_it(context):
    capsule = context.empty((2, 3), "f16").__dlpack__()
    get, rename = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_SetName
    get.restype, get.argtypes, rename.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p], [ctypes.py_object, ctypes.c_char_p]
    tensor = _arrays.ffi.cast("dl_managed_tensor *", get(capsule, b"dltensor"))
    assert [tensor.tensor.shape[i] for i in range(2)] == [2, 3] and tensor.tensor.type_bits == 16
    rename(capsule, b"used_dltensor")
    del capsule
    gc.collect()
    assert len(_arrays._exported) == 1
    tensor.deleter(tensor)
    assert not _arrays._exported
