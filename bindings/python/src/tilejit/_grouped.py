# SPDX-License-Identifier: Apache-2.0
"""matmul_grouped and matmul_masked: one launch for products of different numbers of rows."""

from __future__ import annotations

import copy
import sys
from typing import Any, NamedTuple, Optional, Sequence, Tuple, Union, overload

import numpy

from tilejit._arrays import A, AnyArray, HostArray, View, host_stream, look, stream_handle, tight
from tilejit._binding import ffi, lib
from tilejit._context import Context, context_of
from tilejit._errors import InvalidArgument
from tilejit._matmul import _on_device, _on_host, _remembered
from tilejit._problem import (
    BROADCAST, SCALES, Arrays, Epilogue, Format, Request, checked, epilogue_of, format_key, look_at, request, set_field,
)
from tilejit._types import NAME


@overload
def matmul_grouped(a: HostArray, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: None = ..., *, index: Any = ..., epilogue: Optional[Epilogue] = ...,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ...,
                   format: Format = ...) -> HostArray: ...
@overload
def matmul_grouped(a: HostArray, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: None = ..., *, index: Any = ..., epilogue: str,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ..., format: Format = ...,
                   **operands: Union[AnyArray, float]) -> HostArray: ...
@overload
def matmul_grouped(a: A, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: None = ..., *, index: Any = ..., epilogue: Optional[Epilogue] = ...,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ...,
                   format: Format = ...) -> A: ...
@overload
def matmul_grouped(a: A, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: None = ..., *, index: Any = ..., epilogue: str,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ..., format: Format = ...,
                   **operands: Union[AnyArray, float]) -> A: ...
@overload
def matmul_grouped(a: AnyArray, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: A, *, index: Any = ..., epilogue: Optional[Epilogue] = ...,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ...,
                   format: Format = ...) -> A: ...
@overload
def matmul_grouped(a: AnyArray, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: A, *, index: Any = ..., epilogue: str,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ..., format: Format = ...,
                   **operands: Union[AnyArray, float]) -> A: ...
def matmul_grouped(a: Any, b: Any, /, offsets: Any, out: Any = None, *, index: Any = None, epilogue: Union[Epilogue, str, None] = None,
                   stream: Any = None, dtype: Any = None, compute: Optional[str] = None, context: Optional[Context] = None, format: Format = None,
                   **operands: Any) -> Any:
    """Multiply groups of rows of a, each by its own matrix of b: the experts of a mixture, in one launch.

    ``out[offsets[g]:offsets[g + 1]] = a[offsets[g]:offsets[g + 1]] @ b[g]`` for each group g.

    a: (rows, k), row-major: the rows of all groups, one group after the other.
    b: (groups, k, l); the rows or the columns of each matrix must be contiguous.
    offsets: groups + 1 numbers that do not fall, from 0 to rows. On the device of a, of int32 or int64, they are not read before
        the kernel runs: an earlier kernel of the stream may have written them, and each replay of a captured graph takes those that it
        finds. Wrong ones then lead nowhere outside of the arrays (docs/grouped.md). A list or a NumPy array, of 767 groups at most,
        travels with the launch and is checked.
    index: the row of a for each row of the product: int32, in the same memory as a. Then a is (tokens, k), and the product has a row for
        each entry. An entry that names no row of a stands for a row of zeros.
    out: receives the product, (rows, l). Rows that belong to no group stay as they are; in a new array they are 0 on the host, and hold
        anything on a device.
    epilogue, operands: as for ``matmul``: ``epilogue="gelu(acc + gain[row])", gain=gain``. ``row`` is the row of out, and what is indexed
        by ``col`` is the same for all groups. ``Epilogue(scale_n=...)`` may be (groups, l) or (groups, 1): scales for each group.
    stream, dtype, compute, context, format: as for ``matmul``. With a format the scales of b, its zero points and its one number for the whole
        matrix are the same for all groups, or have one more dimension, for the groups.

    Returns out, as ``matmul`` does, and raises what that raises.
    """
    return _multiply(a, b, out, epilogue_of(epilogue, operands, "offsets", "index"), stream, dtype, compute, context, Rows(offsets, index=index), format)


@overload
def matmul_masked(a: HostArray, b: AnyArray, /, counts: Union[AnyArray, Sequence[int]], out: None = ..., *, expected: int = ...,
                  epilogue: Union[Epilogue, str, None] = ..., stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ...,
                  context: Optional[Context] = ..., format: Format = ..., **operands: Any) -> HostArray: ...
@overload
def matmul_masked(a: A, b: AnyArray, /, counts: Union[AnyArray, Sequence[int]], out: None = ..., *, expected: int = ...,
                  epilogue: Union[Epilogue, str, None] = ..., stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ...,
                  context: Optional[Context] = ..., format: Format = ..., **operands: Any) -> A: ...
@overload
def matmul_masked(a: AnyArray, b: AnyArray, /, counts: Union[AnyArray, Sequence[int]], out: A, *, expected: int = ...,
                  epilogue: Union[Epilogue, str, None] = ..., stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ...,
                  context: Optional[Context] = ..., format: Format = ..., **operands: Any) -> A: ...
def matmul_masked(a: Any, b: Any, /, counts: Any, out: Any = None, *, expected: int = 0, epilogue: Union[Epilogue, str, None] = None,
                  stream: Any = None, dtype: Any = None, compute: Optional[str] = None, context: Optional[Context] = None, format: Format = None,
                  **operands: Any) -> Any:
    """Multiply the first rows of each matrix of a by that group's matrix of b: the experts of a mixture, with room for as many rows each.

    ``out[g, :counts[g]] = a[g, :counts[g]] @ b[g]`` for each group g.

    a: (groups, room, k), row-major: the matrices follow each other without a gap, as those of a contiguous array do.
    b: (groups, k, l); the rows or the columns of each matrix must be contiguous.
    counts: a number from 0 to room for each group. They lie where the offsets of ``matmul_grouped`` may, and wrong ones on a device
        lead nowhere outside of the arrays either.
    out: receives the product, (groups, room, l). Its other rows stay as they are; in a new array they are 0 on the host, and hold
        anything on a device.
    expected: rows that most groups have, 0 if that is not known. The config is chosen for them; the product does not depend on it.
    epilogue, operands, stream, dtype, compute, context, format: as for ``matmul_grouped``; ``row`` counts the rows of all groups, ``g * room + i``.

    Returns out, as ``matmul`` does, and raises what that raises.
    """
    return _multiply(a, b, out, epilogue_of(epilogue, operands, "counts", "expected"), stream, dtype, compute, context, Rows(counts, True, expected), format)


class Rows(NamedTuple):
    """The rows of groups."""

    offsets: Any  # counts, if they are masked
    is_masked: bool = False
    expected: int = 0  # rows of most masked groups
    index: Any = None  # of the rows of a

    @property
    def word(self) -> str:
        """The argument's name."""
        return "counts" if self.is_masked else "offsets"


def _multiply(a: Any, b: Any, out: Any, epilogue: Epilogue, stream: Any, dtype: Any, compute: Optional[str], context: Optional[Context],
              rows: Rows, format: Format) -> Any:
    handle = stream_handle(stream)
    tokens, chosen = 0, None
    if rows.index is not None and isinstance(a, numpy.ndarray):
        a = _take(a, rows.index)
    given = look_at(a, b, out, epilogue, handle, None, format)
    va, vb = given.a, given.b
    if rows.index is not None and va.device is not None:
        chosen, tokens = _look_at_index(rows.index, va, handle), va.shape[0]
        va = va.laid((chosen.shape[0], va.shape[1]), va.strides)
        given = given._replace(a=va)
    if len(va.shape) != 2 + rows.is_masked or len(vb.shape) != 3 or vb.shape[0] < 1 or (rows.is_masked and va.shape[0] != vb.shape[0]):
        raise InvalidArgument(f"a is {va.shape} and b is {vb.shape}: a is {'(groups, room, k)' if rows.is_masked else '(rows, k)'} and b is "
                              f"(groups, k, l), of one group or more")
    address, width, on_host, keep = _look_at_offsets(rows, vb.shape[0], handle)

    def make(arrays: Arrays) -> Request:
        if not rows.is_masked:
            return _request(arrays, width, on_host, epilogue, dtype, compute, rows, chosen is not None, format)
        flat = arrays._replace(a=_flat(arrays.a, "a"), out=arrays.out and _flat(arrays.out, "out"))
        made = _request(flat, width, on_host, epilogue, dtype, compute, rows, False, format)
        made.out_shape = (*arrays.a.shape[:2], *made.out_shape[1:])
        return made

    if va.device is None and vb.device is None:
        host_stream(handle)
        if not on_host:
            raise InvalidArgument(f"{rows.word} are on a device, and a and b on the host: put all of them in one place")
        return _on_host(given, out, epilogue, context, lambda arrays: _from(address, make(arrays)), True)[0]
    context = context_of(context, a, b, out)
    key = ("grouped", rows.is_masked, rows.expected, chosen is not None, given.key(), epilogue.alpha != 1, epilogue.factor != 0, width, on_host, dtype,
           compute, epilogue.expression, epilogue.scale_k, format_key(format))
    made = _remembered(context, key, lambda: make(given))
    out = _on_device(context, _from(address, made, chosen, tokens), given, out, epilogue, handle)
    del keep
    return out


def _flat(view: View, name: str) -> View:
    """Return the rows of all groups as those of one matrix."""
    groups, room, cols = view.shape
    if groups > 1 and view.strides[0] != room * view.strides[1]:
        raise InvalidArgument(f"{name} is {view.shape} with strides of {view.strides}: its matrices must follow each other without a gap; pass a "
                              f"contiguous copy")
    return view.laid((groups * room, cols), view.strides[1:])


def _look_at_offsets(rows: Rows, groups: int, stream: Optional[int]) -> Tuple[int, int, bool, Any]:
    """Return the address of offsets, bytes per offset, whether they are on the host, and an owner to keep until the launch."""
    offsets, word, width, wanted = rows.offsets, rows.word, 4, groups if rows.is_masked else groups + 1
    if isinstance(offsets, (list, tuple)):
        offsets = numpy.array(offsets)
        if offsets.dtype == "i8" and len(offsets) and abs(offsets).max() < 2**31:
            offsets = offsets.astype("i4")
    if str(getattr(offsets, "dtype", "")).rpartition(".")[2] == "int64":  # read as two halves: only offsets have elements of 64 bits
        torch = sys.modules.get("torch")
        width, offsets = 8, offsets.view(torch.int32 if torch is not None and isinstance(offsets, torch.Tensor) else "i4")
    view = look(offsets, word, stream)
    if NAME[view.type] != "s32":
        raise InvalidArgument(f"{word} are of {NAME[view.type]}: they are of int32 or int64")
    if len(view.shape) != 1 or view.strides != (1,) or view.shape[0] * 4 != wanted * width:
        raise InvalidArgument(f"{word} is {tuple(extent * 4 // width for extent in view.shape)} and b has {groups} groups: pass {wanted} contiguous "
                              f"numbers, {'the rows of each group' if rows.is_masked else 'where each group begins and where the last one ends'}")
    if view.address == 0:
        raise InvalidArgument(f"{word} has no memory: it was freed")
    return view.address, width, view.device is None, offsets


def _request(arrays: Arrays, width: int, on_host: bool, epilogue: Epilogue, dtype: Any, compute: Optional[str],
             rows: Rows, gathers: bool = False, format: Format = None) -> Request:
    """Return the request of a product of all rows with one matrix of b, then with one matrix for each group."""
    b = arrays.b
    groups, step = b.shape[0], b.strides[0]
    scales = tuple(scale and _scales_of_one(name, scale, b, rows, format) for name, scale in zip(SCALES, arrays.scales))
    made = request(arrays._replace(b=b.laid(b.shape[1:], b.strides[1:]), scales=scales), epilogue, dtype, compute, False, format)
    if made.is_empty:
        return made
    slots = (*made.operands.scale, *made.operands.zero, *made.operands.whole)
    for slot, scale, own in zip(slots, arrays.scales, scales):
        if scale is not None and own is not None and len(own.shape) < len(scale.shape) and own.shape == scale.shape[1:]:
            slot.stride = scale.strides[0] if groups > 1 else 0
    if groups > 1 and step < 0:
        raise InvalidArgument(f"b has strides of {b.strides}: its matrices follow each other backwards; pass a contiguous copy")
    set_field(made.problem, "groups", groups)
    set_field(made.problem, "offsets", ("host" if on_host else "device") + ("64" if width == 8 else ""))
    if rows.is_masked:
        set_field(made.problem, "grouped", "masked")
    if gathers:
        set_field(made.problem, "gather", "1")
    if rows.expected:
        set_field(made.problem, "expected", rows.expected)
    made.problem.n.stride = 0 if groups == 1 else BROADCAST if step == 0 else step
    made.problem = checked(made.problem)
    return made


def _scales_of_one(name: str, scale: View, b: View, rows: Rows, format: Format) -> View:
    """Return the scales of the first group, if each group has its own. Return those of masked rows as the scales of one matrix."""
    groups, cols = b.shape[0], b.shape[2]
    if format is None:
        if name != "scale_n" or len(scale.shape) != 2:
            return scale
        if scale.shape[0] != groups or scale.shape[1] not in (1, cols) or scale.strides != tight(scale.shape):
            raise InvalidArgument(f"epilogue.scale_n is {scale.shape} with strides of {scale.strides}, and b has {groups} groups of {cols} columns: "
                                  f"pass one number, ({cols},) for all groups, or contiguous ({groups}, {cols}) or ({groups}, 1)")
    elif len(scale.shape) < 3 and name != "whole_n":
        return scale
    elif name == "scale_m":
        return _flat(scale, "epilogue.scale_m") if rows.is_masked else scale
    elif not name.endswith("_n") or scale.shape[0] != groups:
        return scale
    return scale.laid(scale.shape[1:], scale.strides[1:])


def _take(a: Any, index: Any) -> Any:
    """Return the rows of a host array in the order of an index; zeros for those that it does not have."""
    chosen = numpy.asarray(index)
    if chosen.ndim != 1 or chosen.dtype.kind != "i" or a.ndim != 2:
        raise InvalidArgument(f"index is {chosen.shape} of {chosen.dtype} and a is {a.shape}: pass a row of a for each row of the product")
    there = (chosen >= 0) & (chosen < len(a))
    rows = numpy.zeros((len(chosen), a.shape[1]), a.dtype)
    rows[there] = a[chosen[there]]
    return rows


def _look_at_index(index: Any, a: View, stream: Optional[int]) -> View:
    """Examine an index on a device: int32, next to a."""
    view = look(index, "index", stream)
    if NAME[view.type] != "s32" or len(view.shape) != 1 or view.strides != (1,) or len(a.shape) != 2 or view.device != a.device:
        raise InvalidArgument(f"index is {view.shape} of {NAME[view.type]} and a is {a.shape}: pass contiguous numbers of int32, on the device of a, a row of a "
                              f"for each row of the product")
    if view.address == 0:
        raise InvalidArgument("index has no memory: it was freed")
    return view


def _from(offsets: int, made: Request, index: Optional[View] = None, tokens: int = 0) -> Request:
    """Copy a request with its own offsets, and its own index of the rows of a, as other threads have others."""
    this = copy.copy(made)
    if made.operands:
        this.operands = ffi.new("tj_operands *", made.operands[0])
        this.operands.offsets = ffi.cast("void *", offsets)
    if made.operands and index is not None:
        this.operands.m_index = ffi.cast("int32_t *", index.address)
        this.operands.m_rows = tokens
    return this
