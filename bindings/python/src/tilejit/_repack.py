# SPDX-License-Identifier: Apache-2.0
"""repack: weights of 4 bits in the order that tensor cores take them in."""

from __future__ import annotations

from typing import Any, Optional

import numpy

from tilejit._arrays import A, current_stream, device_of, elements, empty_like, host_stream, look, stream_handle, tight
from tilejit._binding import ffi, lib
from tilejit._context import Context, context_of
from tilejit._errors import InvalidArgument, check
from tilejit._types import NAME


def repack(weights: A, *, undo: bool = False, stream: Any = None, context: Optional[Context] = None) -> A:
    """Return weights of 4 bits, two in a byte, in the order that tensor cores take them in. Do it once, when they are loaded.

    weights: an array of uint8 in row-major order, (l, k / 2) or with more dimensions before, for experts: neighbours of a row are
        neighbours along k, of which there is a multiple of 32. Shape, size and scales stay as they are.
    undo: True: they are repacked, and return to their natural order.
    stream: as for ``matmul``. On a device the call waits until the weights are written.

    Pass the result to ``matmul`` or ``matmul_grouped`` as the weights themselves, transposed, with a format that says so:
    ``format={"format": "mxfp4", "repacked_n": True}``.

    Returns a new array of the same kind and place. Raises InvalidArgument (another type, order or size).
    """
    view, handle = look(weights, "weights", None), stream_handle(stream)
    if NAME[view.type] != "u8" or not view.shape or view.strides != tight(view.shape):
        raise InvalidArgument(f"weights are {NAME[view.type]}, {view.shape} with strides of {view.strides}: pass a row-major array of uint8, (l, k / 2)")
    if view.shape[-1] % lib.TJ_REPACKED_BYTES:
        raise InvalidArgument(f"weights have rows of {view.shape[-1]} bytes: they are repacked in blocks of {lib.TJ_REPACKED_BLOCK} elements of k, "
                              f"{lib.TJ_REPACKED_BYTES} bytes; fill up k with zeros to a multiple of {lib.TJ_REPACKED_BLOCK}")
    order, error = lib.TJ_ORDER_NATURAL if undo else lib.TJ_ORDER_REPACKED, ffi.new("tj_error *")
    out: Any
    if view.device is None:
        host_stream(handle)
        source = numpy.frombuffer(ffi.buffer(ffi.cast("void *", view.address), elements(view.shape)), "u1") if elements(view.shape) else numpy.empty(0, "u1")
        out = source.reshape(view.shape).copy()
        check(lib.tj_repack_host(ffi.cast("void *", out.ctypes.data), ffi.cast("void *", view.address), out.size, order, error), error)
        return _like(weights, view.kind, out)  # type: ignore[no-any-return]
    context = context_of(context, weights)
    out = empty_like(view, view.shape, view.type, context)
    to = look(out, "out", None)
    if handle is None:
        handle = current_stream(view)
    with device_of(view):
        check(lib.tj_repack(context._open(), ffi.cast("void *", to.address), ffi.cast("void *", view.address), elements(view.shape), order,
                            ffi.cast("struct CUstream_st *", handle), error), error)
    return out  # type: ignore[no-any-return]


def _like(weights: Any, kind: str, out: Any) -> Any:
    """Return a host array of the kind of weights."""
    if kind == "torch":
        import torch

        return torch.from_numpy(out)
    if kind == "jax":
        import jax

        return jax.numpy.asarray(out)
    return out
