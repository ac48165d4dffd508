# SPDX-License-Identifier: Apache-2.0
"""matmul_grouped: one launch for products of different numbers of rows."""

from __future__ import annotations

import copy
import sys
from typing import Any, Optional, Sequence, Tuple, Union, overload

import numpy

from tilejit._arrays import A, AnyArray, HostArray, View, current_stream, device_of, empty_like, host_stream, look, stream_handle, tight
from tilejit._binding import ffi, lib
from tilejit._context import Context, context_of
from tilejit._errors import InvalidArgument
from tilejit._matmul import _launch, _on_host, _remembered
from tilejit._problem import BROADCAST, Arrays, Epilogue, Request, checked, epilogue_of, look_at_epilogue, look_at_operands, request, set_field
from tilejit._types import NAME


@overload
def matmul_grouped(a: HostArray, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: None = ..., *, epilogue: Optional[Epilogue] = ...,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ...) -> HostArray: ...
@overload
def matmul_grouped(a: HostArray, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: None = ..., *, epilogue: str,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ...,
                   **operands: Union[AnyArray, float]) -> HostArray: ...
@overload
def matmul_grouped(a: A, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: None = ..., *, epilogue: Optional[Epilogue] = ...,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ...) -> A: ...
@overload
def matmul_grouped(a: A, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: None = ..., *, epilogue: str,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ...,
                   **operands: Union[AnyArray, float]) -> A: ...
@overload
def matmul_grouped(a: AnyArray, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: A, *, epilogue: Optional[Epilogue] = ...,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ...) -> A: ...
@overload
def matmul_grouped(a: AnyArray, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: A, *, epilogue: str,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ...,
                   **operands: Union[AnyArray, float]) -> A: ...
def matmul_grouped(a: Any, b: Any, /, offsets: Any, out: Any = None, *, epilogue: Union[Epilogue, str, None] = None, stream: Any = None,
                   dtype: Any = None, compute: Optional[str] = None, context: Optional[Context] = None, **operands: Any) -> Any:
    """Multiply groups of rows of a, each by its own matrix of b: the experts of a mixture, in one launch.

    ``out[offsets[g]:offsets[g + 1]] = a[offsets[g]:offsets[g + 1]] @ b[g]`` for each group g.

    a: (rows, k), row-major: the rows of all groups, one group after the other.
    b: (groups, k, l); the rows or the columns of each matrix must be contiguous.
    offsets: groups + 1 numbers that do not fall, from 0 to rows. On the device of a, of int32 or int64, they are not read before
        the kernel runs: an earlier kernel of the stream may have written them, and each replay of a captured graph takes those that it
        finds. Wrong ones then lead nowhere outside of the arrays (docs/grouped.md). A list or a NumPy array, of 767 groups at most,
        travels with the launch and is checked.
    out: receives the product, (rows, l). Rows that belong to no group stay as they are; in a new array they are 0 on the host, and hold
        anything on a device.
    epilogue, operands: as for ``matmul``: ``epilogue="gelu(acc + gain[row])", gain=gain``. ``row`` is the row of out, and what is indexed
        by ``col`` is the same for all groups. ``Epilogue(scale_n=...)`` may be (groups, l) or (groups, 1): scales for each group.
    stream, dtype, compute, context: as for ``matmul``.

    Returns out, as ``matmul`` does, and raises what that raises.
    """
    epilogue = epilogue_of(epilogue, operands, "offsets")
    handle = stream_handle(stream)
    va, vb = look(a, "a", handle), look(b, "b", handle)
    vo = None if out is None else look(out, "out", handle)
    given = Arrays(va, vb, vo, *look_at_epilogue(epilogue, handle), look_at_operands(epilogue, handle))
    if len(va.shape) != 2 or len(vb.shape) != 3 or vb.shape[0] < 1:
        raise InvalidArgument(f"a is {va.shape} and b is {vb.shape}: a is (rows, k) and b is (groups, k, l), of one group or more")
    address, width, on_host, keep = _look_at_offsets(offsets, vb.shape[0], handle)

    def make(arrays: Arrays) -> Request:
        return _request(arrays, width, on_host, epilogue, dtype, compute)

    if va.device is None and vb.device is None:
        host_stream(handle)
        if not on_host:
            raise InvalidArgument("offsets are on a device, and a and b on the host: put all of them in one place")
        return _on_host(given, out, epilogue, context, lambda arrays: _from(address, make(arrays)), True)[0]
    context = context_of(context, a, b, out)
    key = ("grouped", given.key(), epilogue.alpha != 1, epilogue.factor != 0, width, on_host, dtype, compute, epilogue.expression)
    made = _remembered(context, key, lambda: make(given))
    if vo is None:
        out = empty_like(va, made.out_shape, made.out_type, context)
        vo = look(out, "out", handle)
    if made.is_empty:
        return out
    if handle is None:
        handle = next((current_stream(view) for view in (va, vb, vo) if view.kind in ("torch", "cupy")), va.stream)
    with device_of(va):
        _launch(context, _from(address, made), given._replace(out=vo), epilogue, handle)
        if va.kind == "jax":
            context.synchronize(handle)
    del keep
    return out


def _look_at_offsets(offsets: Any, groups: int, stream: Optional[int]) -> Tuple[int, int, bool, Any]:
    """Return the address of offsets, bytes per offset, whether they are on the host, and an owner to keep until the launch."""
    width = 4
    if isinstance(offsets, (list, tuple)):
        offsets = numpy.array(offsets)
        if offsets.dtype == "i8" and len(offsets) and abs(offsets).max() < 2**31:
            offsets = offsets.astype("i4")
    if str(getattr(offsets, "dtype", "")).rpartition(".")[2] == "int64":  # read as two halves: only offsets have elements of 64 bits
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


def _request(arrays: Arrays, width: int, on_host: bool, epilogue: Epilogue, dtype: Any, compute: Optional[str]) -> Request:
    """Return the request of a product of all rows with one matrix of b, then with one matrix for each group."""
    b, scale_n = arrays.b, arrays.scales[lib.TJ_MATRIX_N]
    groups, step = b.shape[0], b.strides[0]
    one = View(b.kind, b.address, b.shape[1:], b.strides[1:], b.type, b.device, b.owner)
    of_each = scale_n is not None and len(scale_n.shape) == 2
    first = scale_n
    if scale_n is not None and of_each:
        count = scale_n.shape[1]
        if scale_n.shape[0] != groups or count not in (1, b.shape[2]) or scale_n.strides != tight(scale_n.shape):
            raise InvalidArgument(f"epilogue.scale_n is {scale_n.shape} with strides of {scale_n.strides}, and b has {groups} groups of {b.shape[2]} columns: "
                                  f"pass one number, ({b.shape[2]},) for all groups, or contiguous ({groups}, {b.shape[2]}) or ({groups}, 1)")
        first = View(scale_n.kind, scale_n.address, (count,), (1,), scale_n.type, scale_n.device, scale_n.owner)
    scales = tuple(first if i == lib.TJ_MATRIX_N else scale for i, scale in enumerate(arrays.scales))
    made = request(arrays._replace(b=one, scales=scales), epilogue, dtype, compute)
    if made.is_empty:
        return made
    if groups > 1 and step < 0:
        raise InvalidArgument(f"b has strides of {b.strides}: its matrices follow each other backwards; pass a contiguous copy")
    set_field(made.problem, "groups", groups)
    set_field(made.problem, "offsets", ("host" if on_host else "device") + ("64" if width == 8 else ""))
    made.problem.n.stride = 0 if groups == 1 else BROADCAST if step == 0 else step
    if scale_n is not None and of_each:
        made.operands.scale[lib.TJ_MATRIX_N].stride = scale_n.shape[1]
    made.problem = checked(made.problem)
    return made


def _from(offsets: int, made: Request) -> Request:
    """Copy a request with its own offsets, as other threads have others."""
    this = copy.copy(made)
    if made.operands:
        this.operands = ffi.new("tj_operands *", made.operands[0])
        this.operands.offsets = ffi.cast("void *", offsets)
    return this
