# SPDX-License-Identifier: Apache-2.0
"""matmul_grouped, matmul_masked and matmul_along_k: one launch for products of different numbers of rows, or of elements of k."""

from __future__ import annotations

import copy
import sys
from dataclasses import replace
from typing import Any, NamedTuple, Optional, Sequence, Tuple, Union, overload

import numpy

from tilejit._arrays import A, AnyArray, HostArray, View, host_stream, look, stream_handle, tight
from tilejit._binding import ffi, lib
from tilejit._context import Context, context_of, host_context
from tilejit._errors import InvalidArgument
from tilejit._matmul import _on_device, _on_host, _remembered, with_new_scales
from tilejit._problem import (
    BROADCAST, SCALES, Arrays, Epilogue, Format, Request, checked, epilogue_of, format_key, look_at, look_at_epilogue, request, set_field,
    with_fields,
)
from tilejit._types import NAME


@overload
def matmul_grouped(a: HostArray, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: None = ..., *, index: Any = ..., scatter: Any = ..., combine: Any = ...,
                   factors: Any = ..., epilogue: Optional[Epilogue] = ...,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ...,
                   format: Format = ...) -> HostArray: ...
@overload
def matmul_grouped(a: HostArray, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: None = ..., *, index: Any = ..., scatter: Any = ..., combine: Any = ...,
                   factors: Any = ..., epilogue: str,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ..., format: Format = ..., invariant: Optional[str] = ..., multiprocessors: Optional[int] = ...,
                   **operands: Union[AnyArray, float]) -> HostArray: ...
@overload
def matmul_grouped(a: A, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: None = ..., *, index: Any = ..., scatter: Any = ..., combine: Any = ...,
                   factors: Any = ..., epilogue: Optional[Epilogue] = ...,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ...,
                   format: Format = ...) -> A: ...
@overload
def matmul_grouped(a: A, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: None = ..., *, index: Any = ..., scatter: Any = ..., combine: Any = ...,
                   factors: Any = ..., epilogue: str,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ..., format: Format = ..., invariant: Optional[str] = ..., multiprocessors: Optional[int] = ...,
                   **operands: Union[AnyArray, float]) -> A: ...
@overload
def matmul_grouped(a: AnyArray, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: A, *, index: Any = ..., scatter: Any = ..., combine: Any = ...,
                   factors: Any = ..., epilogue: Optional[Epilogue] = ...,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ...,
                   format: Format = ...) -> A: ...
@overload
def matmul_grouped(a: AnyArray, b: AnyArray, /, offsets: Union[AnyArray, Sequence[int]], out: A, *, index: Any = ..., scatter: Any = ..., combine: Any = ...,
                   factors: Any = ..., epilogue: str,
                   stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ..., context: Optional[Context] = ..., format: Format = ..., invariant: Optional[str] = ..., multiprocessors: Optional[int] = ...,
                   **operands: Union[AnyArray, float]) -> A: ...
def matmul_grouped(a: Any, b: Any, /, offsets: Any, out: Any = None, *, index: Any = None, scatter: Any = None, combine: Any = None,
                   factors: Any = None, epilogue: Union[Epilogue, str, None] = None, stream: Any = None, dtype: Any = None, compute: Optional[str] = None, context: Optional[Context] = None, format: Format = None,
                   invariant: Optional[str] = None, multiprocessors: Optional[int] = None, **operands: Any) -> Any:
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
    scatter: the row of out for each row of the product: int32, in the same memory as a. Then out may have any number of rows. An entry
        that names none is not stored, and no two may name the same.
    combine, factors: the rows of the product that each row of out adds up, (tokens, top_k) of int32, and the factor of each, of float32, in
        the same memory as a. Then out is (tokens, l), ``out[t] = sum(factors[t, i] * product[combine[t, i]])``, in the order of i, and bits are
        the same every time. An entry that names no row of a group adds nothing. ``beta`` and ``c`` are of the rows of out.
    out: receives the product, (rows, l). Rows that belong to no group stay as they are; in a new array they are 0 on the host, and hold
        anything on a device. So do rows that ``scatter`` does not name.
    epilogue, operands: as for ``matmul``: ``epilogue="gelu(acc + gain[row])", gain=gain``. ``row`` is the row of out, and what is indexed
        by ``col`` is the same for all groups. ``Epilogue(scale_n=...)`` may be (groups, l) or (groups, 1): scales for each group.
    stream, dtype, compute, context, format, invariant, multiprocessors: as for ``matmul``. With a format the scales of b, its zero points and its one number for the whole
        matrix are the same for all groups, or have one more dimension, for the groups. ``Epilogue(scale_p=...)`` has the rows of out, and
        goes with neither ``scatter`` nor ``combine``.

    Returns out, or out and the array of its scales, as ``matmul`` does, and raises what that raises. Scales of rows that belong to no group
    are not written; in a new array they are 0 on the host, and hold anything on a device.
    """
    return _multiply(a, b, out, epilogue_of(epilogue, operands, "offsets", "index", "scatter", "combine", "factors"), stream, dtype, compute, context,
                     Rows(offsets, index=index, scatter=scatter, combine=combine, factors=factors), with_fields(format, invariant=invariant, multiprocessors=multiprocessors))


@overload
def matmul_masked(a: HostArray, b: AnyArray, /, counts: Union[AnyArray, Sequence[int]], out: None = ..., *, expected: int = ...,
                  scatter: Any = ..., combine: Any = ..., factors: Any = ..., epilogue: Union[Epilogue, str, None] = ..., stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ...,
                  context: Optional[Context] = ..., format: Format = ..., invariant: Optional[str] = ..., multiprocessors: Optional[int] = ..., **operands: Any) -> HostArray: ...
@overload
def matmul_masked(a: A, b: AnyArray, /, counts: Union[AnyArray, Sequence[int]], out: None = ..., *, expected: int = ...,
                  scatter: Any = ..., combine: Any = ..., factors: Any = ..., epilogue: Union[Epilogue, str, None] = ..., stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ...,
                  context: Optional[Context] = ..., format: Format = ..., invariant: Optional[str] = ..., multiprocessors: Optional[int] = ..., **operands: Any) -> A: ...
@overload
def matmul_masked(a: AnyArray, b: AnyArray, /, counts: Union[AnyArray, Sequence[int]], out: A, *, expected: int = ...,
                  scatter: Any = ..., combine: Any = ..., factors: Any = ..., epilogue: Union[Epilogue, str, None] = ..., stream: Any = ..., dtype: Any = ..., compute: Optional[str] = ...,
                  context: Optional[Context] = ..., format: Format = ..., invariant: Optional[str] = ..., multiprocessors: Optional[int] = ..., **operands: Any) -> A: ...
def matmul_masked(a: Any, b: Any, /, counts: Any, out: Any = None, *, expected: int = 0, scatter: Any = None, combine: Any = None,
                  factors: Any = None, epilogue: Union[Epilogue, str, None] = None, stream: Any = None, dtype: Any = None, compute: Optional[str] = None, context: Optional[Context] = None, format: Format = None,
                  invariant: Optional[str] = None, multiprocessors: Optional[int] = None, **operands: Any) -> Any:
    """Multiply the first rows of each matrix of a by that group's matrix of b: the experts of a mixture, with room for as many rows each.

    ``out[g, :counts[g]] = a[g, :counts[g]] @ b[g]`` for each group g.

    a: (groups, room, k), row-major: the matrices follow each other without a gap, as those of a contiguous array do.
    b: (groups, k, l); the rows or the columns of each matrix must be contiguous.
    counts: a number from 0 to room for each group. They lie where the offsets of ``matmul_grouped`` may, and wrong ones on a device
        lead nowhere outside of the arrays either.
    out: receives the product, (groups, room, l). Its other rows stay as they are; in a new array they are 0 on the host, and hold
        anything on a device.
    expected: rows that most groups have, 0 if that is not known. The config is chosen for them; the product does not depend on it.
    scatter, combine, factors: as for ``matmul_grouped``, where row i of group g is row ``g * room + i`` of the product, and out has two
        dimensions.
    epilogue, operands, stream, dtype, compute, context, format, invariant, multiprocessors: as for ``matmul_grouped``; ``row`` counts the rows of all groups, ``g * room + i``.
        ``Epilogue(scale_p=...)`` is (groups, room) or (groups, room, parts), or has the rows of all groups in one dimension.

    Returns what ``matmul_grouped`` does, and raises what that raises.
    """
    return _multiply(a, b, out, epilogue_of(epilogue, operands, "counts", "expected", "scatter", "combine", "factors"), stream, dtype, compute, context,
                     Rows(counts, True, expected, scatter=scatter, combine=combine, factors=factors), with_fields(format, invariant=invariant, multiprocessors=multiprocessors))


def matmul_along_k(a: Any, b: Any, /, offsets: Any, out: Any = None, *, epilogue: Union[Epilogue, str, None] = None, stream: Any = None,
                   dtype: Any = None, compute: Optional[str] = None, context: Optional[Context] = None, **operands: Any) -> Any:
    """Multiply groups of columns of a by the same groups of rows of b: the gradients of the experts' weights, in one launch.

    ``out[g] = a[:, offsets[g]:offsets[g + 1]] @ b[offsets[g]:offsets[g + 1]]`` for each group g.

    a: (j, k), and b: (k, l), in any layout. The gradient of weights is ``matmul_along_k(tokens.T, gradients, offsets)``, which suits the
        kernels best: k counts stored rows of both.
    offsets: groups + 1 numbers that do not fall, from 0 to k, where those of ``matmul_grouped`` may lie.
    out: receives the products, (groups, j, l). The product of a group without elements is 0, or what the epilogue makes of 0.
    epilogue, operands, stream, dtype, compute, context: as for ``matmul``, with a batch of groups.

    Returns out, as ``matmul`` does, and raises what that raises.
    """
    epilogue = epilogue_of(epilogue, operands, "offsets")
    handle = stream_handle(stream)
    if isinstance(epilogue.scale_p, str):
        raise InvalidArgument(f"epilogue.scale_p is {epilogue.scale_p!r}, and out has a matrix for each group: scales are those of one matrix")
    given = look_at(a, b, out, epilogue, handle, None, None)
    if len(given.a.shape) != 2 or len(given.b.shape) != 2:
        raise InvalidArgument(f"a is {given.a.shape} and b is {given.b.shape}: a is (j, k) and b is (k, l)")
    address, width, on_host, groups, keep = _look_at_offsets(Rows(offsets), None, handle)

    def make(arrays: Arrays) -> Request:
        return _request_along_k(arrays, groups, width, on_host, epilogue, dtype, compute)

    if given.a.device is None and given.b.device is None:
        _must_be_on_host(handle, on_host, "offsets")
        return _on_host(given, out, epilogue, context, lambda arrays: _from(address, make(arrays)))[0]
    context = context_of(context, a, b, out)
    key = ("along k", groups, given.key(), epilogue.alpha != 1, epilogue.factor != 0, width, on_host, dtype, compute, epilogue.expression,
           epilogue.scale_k)
    out = _on_device(context, _from(address, _remembered(context, key, lambda: make(given))), given, out, epilogue, handle)
    del keep
    return out


class OutRows(NamedTuple):
    """The rows of out that an index leads to, or those that add up rows of the product: arrays in device memory."""

    index: Any
    factors: Any
    rows: int
    top_k: int  # rows of a sum; 0: the index is that of the rows of out

    @property
    def field(self) -> Tuple[str, int]:
        """The field of the problem, and its value."""
        return ("combine", self.top_k) if self.top_k else ("scatter", 1)


class Rows(NamedTuple):
    """The rows of groups."""

    offsets: Any  # counts, if they are masked
    is_masked: bool = False
    expected: int = 0  # rows of most masked groups
    index: Any = None  # of the rows of a
    scatter: Any = None  # rows of out
    combine: Any = None  # rows of the product that each row of out adds up
    factors: Any = None

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
    makes_scales = isinstance(epilogue.scale_p, str)
    plain = replace(epilogue, scale_p=None) if makes_scales else epilogue
    given = look_at(a, b, out, plain, handle, None, format)
    va, vb = given.a, given.b
    if rows.index is not None and va.device is not None:
        chosen, tokens = _look_at_index(rows.index, va, handle), va.shape[0]
        va = va.laid((chosen.shape[0], va.shape[1]), va.strides)
        given = given._replace(a=va)
    if len(va.shape) != 2 + rows.is_masked or len(vb.shape) != 3 or vb.shape[0] < 1 or (rows.is_masked and va.shape[0] != vb.shape[0]):
        raise InvalidArgument(f"a is {va.shape} and b is {vb.shape}: a is {'(groups, room, k)' if rows.is_masked else '(rows, k)'} and b is "
                              f"(groups, k, l), of one group or more")
    address, width, on_host, _, keep = _look_at_offsets(rows, vb.shape[0], handle)
    is_host = va.device is None and vb.device is None
    if is_host:
        _must_be_on_host(handle, on_host, rows.word)
    of = _look_at_out(rows, given, is_host, context, handle)

    def make(arrays: Arrays, epilogue: Epilogue, dtype: Any) -> Request:
        flat = arrays
        if rows.is_masked:
            flat = arrays._replace(a=_flat(arrays.a, "a"), out=arrays.out if of or not arrays.out else _flat(arrays.out, "out"))
        made = _request(flat, width, on_host, epilogue, dtype, compute, rows, chosen is not None, format, of)
        if rows.is_masked and not of:
            made.out_shape = (*arrays.a.shape[:2], *made.out_shape[1:])
        return made

    if makes_scales:
        columns = make(given._replace(out=None), plain, None).out_shape[-1]
        epilogue = with_new_scales(epilogue, (*va.shape[:-1], columns), va, context, a, b)
        given = given._replace(scales=look_at_epilogue(epilogue, handle)[1])
    if is_host:
        try:
            out = _on_host(given, out, epilogue, context, lambda arrays: _from(address, make(arrays, epilogue, dtype), of=of), not (of and of.top_k))[0]
        finally:
            for array in of[:2] if of else ():
                if array is not None:
                    array.owner.free()
    else:
        context = context_of(context, a, b, out)
        key = ("grouped", rows.is_masked, rows.expected, chosen is not None, given.key(), epilogue.alpha != 1, epilogue.factor != 0, width, on_host,
               dtype, compute, epilogue.expression, epilogue.scale_k, format_key(format), of and (of.rows, of.top_k))
        made = _remembered(context, key, lambda: make(given, epilogue, dtype))
        out = _on_device(context, _from(address, made, chosen, tokens, of), given, out, epilogue, handle)
    del keep
    return (out, epilogue.scale_p) if makes_scales else out


def _must_be_on_host(handle: Optional[int], on_host: bool, word: str) -> None:
    """Check the stream and the offsets of a call whose arrays are on the host."""
    host_stream(handle)
    if not on_host:
        raise InvalidArgument(f"{word} are on a device, and a and b on the host: put all of them in one place")


def _look_at_out(rows: Rows, given: Arrays, is_host: bool, context: Optional[Context], stream: Optional[int]) -> Optional[OutRows]:
    """Examine what leads to the rows of out. Copy it to the device if a is on the host. None: nothing does."""
    if (rows.combine is None) != (rows.factors is None):
        raise InvalidArgument(f"{'combine' if rows.factors is None else 'factors'} is given alone: combine names the rows that are added up, and "
                              "factors has a number for each")
    if rows.scatter is not None and rows.combine is not None:
        raise InvalidArgument("scatter and combine are given, and both say which rows out has: leave one of them out")
    if rows.scatter is None and rows.combine is None:
        return None
    count = given.a.shape[0] * (given.a.shape[1] if rows.is_masked else 1)
    context = host_context(context) if is_host else None
    if rows.scatter is not None:
        index = _at(rows.scatter, "scatter", ("i", "s32"), (count,), f"the row of out for each of the {count} rows of the product", context,
                    given.a, stream)
        return OutRows(index, None, given.out.shape[0] if given.out else count, 0)
    index = _at(rows.combine, "combine", ("i", "s32"), (None, None), "the rows of the product for each row of out, (tokens, top_k)", context,
                given.a, stream)
    factors = _at(rows.factors, "factors", ("f", "f32"), index.shape, "a factor for each number of combine", context, given.a, stream)
    if given.out is not None and given.out.shape[0] != index.shape[0]:
        raise InvalidArgument(f"out is {given.out.shape} and combine is {index.shape}: out has a row for each row of combine")
    return OutRows(index, factors, index.shape[0], index.shape[1])


def _at(array: Any, name: str, kinds: Tuple[str, str], shape: Tuple[Optional[int], ...], what: str, context: Optional[Context], a: View,
        stream: Optional[int]) -> View:
    """Examine an array on the device of a, or copy one of the host there. kinds: NumPy's letter, and the name of the type of 4 bytes.

    context: of the copy; None: a is on a device.
    """
    if context is not None:
        host = numpy.asarray(array)
        if host.dtype.kind == "i":  # what 32 bits do not hold names no row either
            host = numpy.where((host < 0) | (host >= 2**31), -1, host)
        if host.dtype.kind == kinds[0]:
            array = context.to_device(numpy.ascontiguousarray(host, kinds[0] + "4"))
    view = look(array, name, stream)
    found, kind = view.shape, NAME[view.type]
    fits = kind == kinds[1] and view.strides == tight(found) and (context is not None or view.device == a.device)
    if not fits or len(found) != len(shape) or any(want not in (None, have) for want, have in zip(shape, found)):
        raise InvalidArgument(f"{name} is {found} of {kind}: pass {what}, contiguous, of {'int32' if kinds[0] == 'i' else 'float32'}, next to a")
    if view.address == 0 and 0 not in found:
        raise InvalidArgument(f"{name} has no memory: it was freed")
    return view


def _flat(view: View, name: str) -> View:
    """Return the rows of all groups as those of one matrix."""
    groups, room, *others = view.shape
    if groups > 1 and view.strides[0] != room * view.strides[1]:
        raise InvalidArgument(f"{name} is {view.shape} with strides of {view.strides}: its matrices must follow each other without a gap; pass a "
                              f"contiguous copy")
    return view.laid((groups * room, *others), view.strides[1:])


def _look_at_offsets(rows: Rows, groups: Optional[int], stream: Optional[int]) -> Tuple[int, int, bool, int, Any]:
    """Return the address of offsets, bytes per offset, whether they are on the host, groups, and an owner to keep until the launch.

    groups: None if only the offsets say how many there are.
    """
    offsets, word, width = rows.offsets, rows.word, 4
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
    if groups is None:
        if len(view.shape) != 1 or view.strides != (1,) or view.shape[0] * 4 < 2 * width:
            raise InvalidArgument(f"{word} is {tuple(extent * 4 // width for extent in view.shape)}: pass contiguous numbers, where each group begins and "
                                  "where the last one ends")
        groups = view.shape[0] * 4 // width - 1
    wanted = groups if rows.is_masked else groups + 1
    if len(view.shape) != 1 or view.strides != (1,) or view.shape[0] * 4 != wanted * width:
        raise InvalidArgument(f"{word} is {tuple(extent * 4 // width for extent in view.shape)} and b has {groups} groups: pass {wanted} contiguous "
                              f"numbers, {'the rows of each group' if rows.is_masked else 'where each group begins and where the last one ends'}")
    if view.address == 0:
        raise InvalidArgument(f"{word} has no memory: it was freed")
    return view.address, width, view.device is None, groups, offsets


def _request(arrays: Arrays, width: int, on_host: bool, epilogue: Epilogue, dtype: Any, compute: Optional[str],
             rows: Rows, gathers: bool = False, format: Format = None, of: Optional[OutRows] = None) -> Request:
    """Return the request of a product of all rows with one matrix of b, then with one matrix for each group."""
    b, out, c = arrays.b, arrays.out, arrays.c
    if of:  # for now P has the rows of the product
        arrays = arrays._replace(out=out and _with_rows(out, "out", of, arrays.a), c=c and _with_rows(c, "epilogue.c", of, arrays.a))
    groups, step = b.shape[0], b.strides[0]
    scales = tuple(scale and _scales_of_one(name, scale, arrays.a, b, rows, format) for name, scale in zip(SCALES, arrays.scales))
    made = request(arrays._replace(b=b.laid(b.shape[1:], b.strides[1:]), scales=scales), epilogue, dtype, compute, False, format)
    if of and of.top_k and arrays.a.shape[0] == 0:
        raise InvalidArgument(f"a is {arrays.a.shape}: there is no row to add up")
    if of:
        made.out_shape = (of.rows, *made.out_shape[1:])
        made.is_empty = made.is_empty or of.rows == 0
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
    if of:
        set_field(made.problem, *of.field)
        made.problem.p.ld = made.problem.c.ld = 0
        for matrix, view in ((made.problem.p, out), (made.problem.c, (c or out) if made.has_c else None)):
            if view is not None and view.shape[0] > 1:
                matrix.ld = view.strides[0]
    if rows.expected:
        set_field(made.problem, "expected", rows.expected)
    made.problem.n.stride = 0 if groups == 1 else BROADCAST if step == 0 else step
    made.problem = checked(made.problem)
    return made


def _with_rows(view: View, name: str, of: OutRows, a: View) -> View:
    """Return a matrix of the rows of out as one of as many rows as the product has."""
    if len(view.shape) != 2 or view.shape[0] != of.rows:
        raise InvalidArgument(f"{name} is {view.shape}: it has {of.rows} rows, one for each row of out")
    if view.strides[1] != 1 and view.shape[1] > 1:
        raise InvalidArgument(f"{name} has strides of {view.strides}: its rows must be contiguous, as an index leads to them")
    return view.laid((a.shape[0], view.shape[1]), (max(view.strides[0], view.shape[1]), 1))


def _request_along_k(arrays: Arrays, groups: int, width: int, on_host: bool, epilogue: Epilogue, dtype: Any, compute: Optional[str]) -> Request:
    """Return the request of a batch of products of the same a and b, then of those of groups along k."""
    a, b = (view.laid((groups, *view.shape), (0, *view.strides)) for view in arrays[:2])
    made = request(arrays._replace(a=a, b=b), epilogue, dtype, compute)
    if made.is_empty:
        return made
    set_field(made.problem, "groups", groups)
    set_field(made.problem, "offsets", ("host" if on_host else "device") + ("64" if width == 8 else ""))
    set_field(made.problem, "grouped", "along-k")
    made.problem = checked(made.problem)
    return made


def _scales_of_one(name: str, scale: View, a: View, b: View, rows: Rows, format: Format) -> View:
    """Return the scales of the first group, if each group has its own. Return those of masked rows as the scales of one matrix."""
    groups, cols = b.shape[0], b.shape[2]
    if name == "scale_p":
        return _flat(scale, "epilogue.scale_p") if rows.is_masked and scale.shape[:2] == (groups, a.shape[0] // groups) else scale
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


def _from(offsets: int, made: Request, index: Optional[View] = None, tokens: int = 0, of: Optional[OutRows] = None) -> Request:
    """Copy a request with its own offsets, and its own indexes of the rows of a and out, as other threads have others."""
    this = copy.copy(made)
    if made.operands:
        this.operands = ffi.new("tj_operands *", made.operands[0])
        this.operands.offsets = ffi.cast("void *", offsets)
    if made.operands and index is not None:
        this.operands.m_index = ffi.cast("int32_t *", index.address)
        this.operands.m_rows = tokens
    if made.operands and of:
        this.operands.p_index = ffi.cast("int32_t *", of.index.address)
        this.operands.p_factor = ffi.cast("float *", of.factors.address if of.factors else 0)
        this.operands.p_rows = of.rows
    return this
