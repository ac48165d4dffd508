# SPDX-License-Identifier: Apache-2.0
"""matmul_grouped: one launch for products of different numbers of rows."""

from __future__ import annotations

import sys
from typing import Any, Optional, Tuple

import numpy

from tilejit._arrays import DeviceArray, View, current_stream, device_of, elements, empty_like, look, stream_handle, tight
from tilejit._binding import ffi
from tilejit._context import Context, default_context, host_context
from tilejit._errors import InvalidArgument
from tilejit._matmul import _as_jax, _compact, _must_live, _new_host, _queue, _remembered, _store, _to_device, _write
from tilejit._problem import BROADCAST, Epilogue, Request, checked, request
from tilejit._types import BYTES, NAME

_PLAIN = Epilogue()


def matmul_grouped(a: Any, b: Any, offsets: Any, out: Any = None, *, stream: Any = None, dtype: Any = None, compute: Optional[str] = None,
                   context: Optional[Context] = None) -> Any:
    """Multiply groups of rows of a, each by its own matrix of b: the experts of a mixture, in one launch.

    ``out[offsets[g]:offsets[g + 1]] = a[offsets[g]:offsets[g + 1]] @ b[g]`` for each group g.

    a: (rows, k), row-major: the rows of all groups, one group after the other.
    b: (groups, k, l); the rows or the columns of each matrix must be contiguous.
    offsets: groups + 1 numbers that do not fall, from 0 to rows. On the device of a, of int32 or int64, they are not looked at before
        the kernel runs: an earlier kernel of the stream may have written them, and each replay of a captured graph takes those that it
        finds. Wrong ones then lead nowhere outside of the arrays (docs/grouped.md). A list or a NumPy array, of 767 groups at most,
        travels with the launch and is checked.
    out: receives the product, (rows, l). Rows that belong to no group stay as they are; in a new array on a device they hold anything.
    stream, dtype, compute, context: as for ``matmul``.

    Returns out, as ``matmul`` does, and raises what that raises.
    """
    handle = stream_handle(stream)
    va, vb = look(a, "a", handle), look(b, "b", handle)
    vo = None if out is None else look(out, "out", handle)
    if len(va.shape) != 2 or len(vb.shape) != 3 or vb.shape[0] < 1:
        raise InvalidArgument(f"a is {va.shape} and b is {vb.shape}: a is (rows, k) and b is (groups, k, l), of one group or more")
    address, width, on_host, keep = _look_at_offsets(offsets, vb.shape[0], handle)
    if va.device is None and vb.device is None:
        if not on_host:
            raise InvalidArgument("offsets are on a device, and a and b on the host: put all of them in one place")
        return _on_host(va, vb, out, vo, address, width, dtype, compute, context)
    if context is None:
        context = next((each._context for each in (a, b, out) if isinstance(each, DeviceArray)), None) or default_context()
    key = ("grouped", va.key(), vb.key(), vo and vo.key(), width, on_host, dtype, compute)
    made = _remembered(context, key, lambda: _request(va, vb, vo, width, on_host, dtype, compute))
    if vo is None:
        out = empty_like(va, made.out_shape, made.out_type, context)
        vo = look(out, "out", handle)
    if made.is_empty:
        return out
    if handle is None:
        handle = next((current_stream(view) for view in (va, vb, vo) if view.kind in ("torch", "cupy")), va.stream)
    with device_of(va):
        _launch(context, made, va, vb, vo, address, handle)
        if va.kind == "jax":
            context.synchronize(handle)
    del keep
    return out


def _look_at_offsets(offsets: Any, groups: int, stream: Optional[int]) -> Tuple[int, int, bool, Any]:
    """The address of offsets, their bytes each, whether they are on the host, and what must live until the launch is queued."""
    width = 4
    if isinstance(offsets, (list, tuple)):
        offsets = numpy.array(offsets)
        if offsets.dtype == "i8" and len(offsets) and abs(offsets).max() < 2**31:
            offsets = offsets.astype("i4")
    if str(getattr(offsets, "dtype", "")).rpartition(".")[2] == "int64":  # read as two halves: elements of 64 bits are no others' type
        torch = sys.modules.get("torch")
        width, offsets = 8, offsets.view(torch.int32 if torch is not None and isinstance(offsets, torch.Tensor) else "i4")
    view = look(offsets, "offsets", stream)
    if NAME[view.type] != "s32":
        raise InvalidArgument(f"offsets are of {NAME[view.type]}: they are of int32 or int64")
    if len(view.shape) != 1 or view.strides != (1,) or view.shape[0] * 4 != (groups + 1) * width:
        raise InvalidArgument(f"offsets is {tuple(extent * 4 // width for extent in view.shape)} and b has {groups} groups: pass {groups + 1} "
                              f"contiguous numbers, where each group begins and where the last one ends")
    if view.address == 0:
        raise InvalidArgument("offsets has no memory: it was freed")
    return view.address, width, view.device is None, offsets


def _request(a: View, b: View, out: Optional[View], width: int, on_host: bool, dtype: Any, compute: Optional[str]) -> Request:
    """That of a product of all rows with one matrix of b, and then with as many as there are groups."""
    one = View(b.kind, b.address, b.shape[1:], b.strides[1:], b.type, b.device, b.owner)
    made = request(a, one, out, None, None, None, (), _PLAIN, dtype, compute)
    if made.is_empty:
        return made
    groups, step = b.shape[0], b.strides[0]
    if groups > 1 and step < 0:
        raise InvalidArgument(f"b has strides of {b.strides}: its matrices follow each other backwards; pass a contiguous copy")
    made.problem.groups.count, made.problem.groups.offset_bytes, made.problem.groups.on_host = groups, width, int(on_host)
    made.problem.n.stride = 0 if groups == 1 else BROADCAST if step == 0 else step
    checked(made.problem)
    return made


def _launch(context: Context, made: Request, a: View, b: View, out: View, offsets: int, stream: int) -> None:
    _must_live(a, b, out)
    this = Request(made.out_shape, made.out_type)
    this.problem, this.offsets = made.problem, made.offsets
    this.operands = ffi.new("tj_operands *", made.operands[0])  # a copy: other threads have offsets of their own
    this.operands.offsets = ffi.cast("void *", offsets)
    _queue(context._open(), this, a.address, b.address, out.address, 0, 0, 0, _PLAIN, stream)


def _on_host(a: View, b: View, out: Any, vo: Optional[View], offsets: int, width: int, dtype: Any, compute: Optional[str],
             context: Optional[Context]) -> Any:
    """Host arrays are copied to the device, as it has them tight, and back."""
    _must_live(a, b, vo)
    tight_out = vo and View(vo.kind, vo.address, vo.shape, tight(vo.shape), vo.type, vo.device, vo.owner, vo.read_only)
    a, b = _compact(a), _compact(b)
    made = _request(a, b, tight_out, width, True, dtype, compute)
    is_new = vo is None
    if vo is None:
        out = _new_host(a, made.out_shape, made.out_type)
        vo = look(out, "out", None)
    if made.is_empty:
        return out
    if is_new:
        size = elements(vo.shape) * BYTES[vo.type]
        ffi.memmove(ffi.cast("void *", vo.address), bytes(size), size)  # rows that belong to no group
    context = context or host_context()
    arrays = [_to_device(context, a), _to_device(context, b), DeviceArray(context, made.out_shape, made.out_type)]
    try:
        views = [look(array, "a", None) for array in arrays]
        _write(arrays[2], _compact(vo))  # rows that belong to no group stay
        _launch(context, made, views[0], views[1], views[2], offsets, 0)
        context.synchronize()
        _store(context, arrays[2], vo)
    finally:
        for array in arrays:
            array.free()
    return _as_jax(out) if a.kind == "jax" else out
