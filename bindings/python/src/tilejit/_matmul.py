# SPDX-License-Identifier: Apache-2.0
"""matmul: from arrays to a launched product."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any, Callable, List, Optional, Sequence, Tuple, Union, overload

import numpy

from tilejit._arrays import (
    A, AnyArray, DeviceArray, HostArray, View, current_stream, device_of, elements, empty_like,
    host_stream, look, stream_handle, tight, torch_stream,
)
from tilejit._binding import ffi, lib
from tilejit._context import Context, context_of, host_context
from tilejit._errors import InvalidArgument, check, failure, text
from tilejit._problem import (
    Arrays, Epilogue, Format, Operand, Problem, Request, Symmetric, epilogue_of, format_key, in_words_of_a_call, look_at, new_scales,
    request, with_fields,
)
from tilejit._types import BYTES, NAME, PAIRS, numpy_dtype, torch_dtype

_MOST_CALLS = 65536  # prepared calls that a context remembers

_ONE_TRIANGLE = ("lower", "upper", "hermitian-lower", "hermitian-upper")  # values of symmetric with which a triangle is left alone


def _remembered(context: Context, key: Tuple[Any, ...], make: Callable[[], Request]) -> Request:
    """The prepared call of a key, made once."""
    made = context._calls.get(key)
    if made is None:
        made = make()
        if len(context._calls) >= _MOST_CALLS:
            context._calls.clear()
        context._calls[key] = made
    return made


@overload
def matmul(a: HostArray, b: AnyArray, /, out: None = ..., *, epilogue: Optional[Epilogue] = ..., stream: Any = ..., dtype: Any = ...,
           compute: Optional[str] = ..., context: Optional[Context] = ..., n_dtype: Optional[str] = ...,
           overlap: bool = ..., format: Format = ..., symmetric: Symmetric = ..., conj_a: bool = ..., conj_b: bool = ..., invariant: Optional[str] = ..., multiprocessors: Optional[int] = ...) -> HostArray: ...
@overload
def matmul(a: HostArray, b: AnyArray, /, out: None = ..., *, epilogue: str, stream: Any = ..., dtype: Any = ...,
           compute: Optional[str] = ..., context: Optional[Context] = ..., n_dtype: Optional[str] = ...,
           overlap: bool = ..., format: Format = ..., symmetric: Symmetric = ..., conj_a: bool = ..., conj_b: bool = ..., invariant: Optional[str] = ..., multiprocessors: Optional[int] = ...,
           **operands: Union[AnyArray, float]) -> HostArray: ...
@overload
def matmul(a: A, b: AnyArray, /, out: None = ..., *, epilogue: Optional[Epilogue] = ..., stream: Any = ..., dtype: Any = ...,
           compute: Optional[str] = ..., context: Optional[Context] = ..., n_dtype: Optional[str] = ...,
           overlap: bool = ..., format: Format = ..., symmetric: Symmetric = ..., conj_a: bool = ..., conj_b: bool = ..., invariant: Optional[str] = ..., multiprocessors: Optional[int] = ...) -> A: ...
@overload
def matmul(a: A, b: AnyArray, /, out: None = ..., *, epilogue: str, stream: Any = ..., dtype: Any = ...,
           compute: Optional[str] = ..., context: Optional[Context] = ..., n_dtype: Optional[str] = ...,
           overlap: bool = ..., format: Format = ..., symmetric: Symmetric = ..., conj_a: bool = ..., conj_b: bool = ..., invariant: Optional[str] = ..., multiprocessors: Optional[int] = ...,
           **operands: Union[AnyArray, float]) -> A: ...
@overload
def matmul(a: AnyArray, b: AnyArray, /, out: A, *, epilogue: Optional[Epilogue] = ..., stream: Any = ..., dtype: Any = ...,
           compute: Optional[str] = ..., context: Optional[Context] = ..., n_dtype: Optional[str] = ...,
           overlap: bool = ..., format: Format = ..., symmetric: Symmetric = ..., conj_a: bool = ..., conj_b: bool = ..., invariant: Optional[str] = ..., multiprocessors: Optional[int] = ...) -> A: ...
@overload
def matmul(a: AnyArray, b: AnyArray, /, out: A, *, epilogue: str, stream: Any = ..., dtype: Any = ...,
           compute: Optional[str] = ..., context: Optional[Context] = ..., n_dtype: Optional[str] = ...,
           overlap: bool = ..., format: Format = ..., symmetric: Symmetric = ..., conj_a: bool = ..., conj_b: bool = ..., invariant: Optional[str] = ..., multiprocessors: Optional[int] = ...,
           **operands: Union[AnyArray, float]) -> A: ...
def matmul(a: Any, b: Any, /, out: Any = None, *, epilogue: Union[Epilogue, str, None] = None, stream: Any = None, dtype: Any = None,
           compute: Optional[str] = None, context: Optional[Context] = None, n_dtype: Any = None, overlap: bool = False,
           format: Format = None, symmetric: Symmetric = None, conj_a: bool = False, conj_b: bool = False, invariant: Optional[str] = None, multiprocessors: Optional[int] = None,
           **operands: Any) -> Any:
    """Multiply two arrays by the rules of ``numpy.matmul``, with a CUDA kernel written for exactly this product.

    a, b: arrays of NumPy, PyTorch, CuPy or JAX, or others with ``__cuda_array_interface__`` or ``__dlpack__``, all in the same place.
        a is (..., j, k) and b (..., k, l), or vectors of k elements. The rows or the columns of each matrix must be contiguous, so
        transposed views and slices are taken as they lie. M and N have one type, or are e4m3 and e5m2, or s8 and u8;
        or one is of f16 or bf16 and the other of f32, and so is the product by default.
    out: receives the product, (..., j, l); it must not overlap a or b. Default: a new array of a's kind.
    epilogue: the operation on a sum before it is stored: an expression, such as ``"gelu(acc + bias[col])"``, or an ``Epilogue``.
    operands: values for the names of the expression: ``bias=bias``, arrays and numbers; and ``alpha``, ``beta`` and ``c`` if it has them.
    stream: the stream to launch on, as PyTorch or CuPy hands it out, or its ``cudaStream_t``. Default: the current stream of the
        library whose array a, b or out is; the one that ``__cuda_array_interface__`` names; the legacy default stream.
    dtype: the type of the product if out is not given, such as ``"f32"`` or ``torch.float32``. Default: that of a, and s32 for
        integers.
    compute: the arithmetic of sums, such as ``"tf32"`` or ``"f32_split"``. Default: as exactly as the types allow.
    context: default: ``default_context()``.
    n_dtype: ``"s4"``, ``"u4"`` or ``"e2m1"`` if b is an array of uint8 with two weights of 4 bits in a byte, the first in its lower half. They
        are neighbours of a row if b has k rows, and neighbours of a column if it has half as many. That axis must be contiguous.
    overlap: True: on Hopper and newer the kernel may start while the one before it in the stream still runs. It waits for the end of
        that one before it touches an array, so the product is the same, and sooner.
    format: a name for types and scales that go together, such as ``"fp8_block"``, or fields of a problem and their values, such as
        ``{"scale_m": "f32:1x128:row-by-row", "scale_n": "f32:64x64:row-by-row"}`` (docs/scales.md). Pass the scales in the epilogue, as the
        quantiser wrote them, and as b the transpose of weights that lie as (l, k). Arrays of uint8 take the types that the format has.
    symmetric: the product is square and known to be symmetric, as ``x @ x.T`` is, so only one triangle of it is computed: ``"both"``
        stores each element twice, ``"lower"`` and ``"upper"`` leave the other triangle as it is (0 in a new host array, anything in a new
        device array). Of c, and of matrices in the epilogue, that triangle alone is read; for ``"both"`` it is the lower one.
        ``"hermitian"``, ``"hermitian-lower"`` and ``"hermitian-upper"``: the same for complex arrays and a Hermitian product, such as
        ``x @ x.conj().T``, which ``conj_b`` makes of ``x.T``: its halves are conjugates, its diagonal is real, and so are alpha and beta.
    conj_a, conj_b: True: the conjugate of a complex a or b is multiplied, which costs nothing. PyTorch's lazy conjugates, such as ``a.mH``, are
        taken as they lie too.
    invariant: ``"rows"``: the bits of a row of the product do not depend on how many rows a has, nor on the kernel that multiplies
        (docs/invariant.md).
    multiprocessors: at most this number of the device's multiprocessors, so that the product runs next to another kernel (docs/share.md).
        Default: all, or those of the stream's green context.

    Returns out; with a text as the epilogue's ``scale_p``, out and the array of its scales. On a device nothing is copied, and the call returns as soon as the kernel is queued; the arrays must live until it has
    run. The exception is JAX, which shares no stream: the call waits for a and b, and for the product. Host arrays are copied to the
    device and back; without a GPU the emulator computes the product, and an EmulatorWarning says so.

    The first call for a problem compiles for some 150 ms. Threads may call at the same time, and the interpreter's lock is released.

    Raises InvalidArgument (shapes, strides or places that do not go together, a read-only or overlapping out, memory that was freed),
    TypeError (a type that is not an array, or has no such elements), and the other kinds of ``Error``.
    """
    epilogue = epilogue_of(epilogue, operands)
    handle = stream_handle(stream)
    format = with_fields(format, invariant=invariant, multiprocessors=multiprocessors)
    if isinstance(epilogue.scale_p, str):
        epilogue = _with_new_scales(a, b, epilogue, handle, compute, context, n_dtype, format)
        product = _multiply(a, b, out, epilogue, handle, dtype, compute, overlap, context, n_dtype, format, symmetric,
                            (conj_a, conj_b))[0]
        return product, epilogue.scale_p
    torch = sys.modules.get("torch")
    if (torch is not None and isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) and (out is None or isinstance(out, torch.Tensor))
            and epilogue.is_plain and a.is_cuda and n_dtype is None and format is None and symmetric is None
            and not (conj_a or conj_b)):
        return _with_torch(torch, a, b, out, epilogue, handle, dtype, compute, overlap, context_of(context))
    return _multiply(a, b, out, epilogue, handle, dtype, compute, overlap, context, n_dtype, format, symmetric, (conj_a, conj_b))[0]


def _with_new_scales(a: Any, b: Any, epilogue: Epilogue, handle: Optional[int], compute: Optional[str], context: Optional[Context], n_dtype: Any,
                     format: Format) -> Epilogue:
    """The epilogue with a new array of a's kind for the scales of P that its text describes."""
    plain = replace(epilogue, scale_p=None)
    given = look_at(a, b, None, plain, handle, n_dtype, format)
    shape = request(given, plain, None, compute, False, format).out_shape
    if len(shape) != 2:
        raise InvalidArgument(f"epilogue.scale_p is {epilogue.scale_p!r}, and the product has the shape {shape}: scales are those of one matrix")
    return with_new_scales(epilogue, shape, given.a, context, a, b)


def with_new_scales(epilogue: Epilogue, shape: Tuple[int, ...], a: View, context: Optional[Context], *arrays: Any) -> Epilogue:
    """Return an epilogue whose scale_p is a text with a new array of a's kind for the scales of a product of that shape.

    Rows of no group have scales that no kernel writes: on the host they are 0, as the rows are. arrays: those of the call, which may have a context.
    """
    shape, number = new_scales(epilogue.scale_p, shape[:-1], shape[-1])
    if a.device is not None:
        return replace(epilogue, scale_p=empty_like(a, shape, number, context_of(context, *arrays)))
    scales = _new_host(a, shape, number)
    scales[...] = 0
    return replace(epilogue, scale_p=scales)


def _with_torch(torch: Any, a: Any, b: Any, out: Any, epilogue: Epilogue, handle: Optional[int], dtype: Any, compute: Optional[str],
                overlap: bool, context: Context) -> Any:
    """The same for tensors on a device, whose steady calls look at nothing twice: what _multiply found out hangs on this key."""
    key = (a.dtype, a.shape, a.stride(), a.device, a.is_conj(), b.dtype, b.shape, b.stride(), b.device, b.is_conj(),
           None if out is None else (out.dtype, out.shape, out.stride(), out.device), dtype, compute, overlap, epilogue.alpha != 1,
           epilogue.factor != 0)
    made = context._calls.get(key)
    if (made is None or a.is_neg() or b.is_neg() or (out is not None and (out.is_neg() or out.is_conj()))
            or (torch.is_grad_enabled() and (a.requires_grad or b.requires_grad or (out is not None and out.requires_grad)))):
        product, made = _multiply(a, b, out, epilogue, handle, dtype, compute, overlap, context)
        context._calls[key] = made
        return product
    device = a.device
    if out is None:
        out = torch.empty(made.out_shape, dtype=torch_dtype(torch, made.out_type), device=device)
    index = device.index
    if made.is_empty or torch.cuda.current_device() != index:
        return _multiply(a, b, out, epilogue, handle, dtype, compute, overlap, context)[0]
    m, n, p = a.data_ptr(), b.data_ptr(), out.data_ptr()
    if not (m and n and p):
        return _multiply(a, b, out, epilogue, handle, dtype, compute, overlap, context)[0]
    if handle is None:
        handle = torch_stream(torch, index)
    _queue(context._open(), made, m, n, p, p if epilogue.factor != 0 else 0, ffi.NULL, epilogue, handle)
    return out


def _multiply(a: Any, b: Any, out: Any, epilogue: Epilogue, handle: Optional[int], dtype: Any, compute: Optional[str],
              overlap: bool, context: Optional[Context], n_dtype: Any = None, format: Format = None,
              symmetric: Symmetric = None, conjugated: Tuple[bool, bool] = (False, False)) -> Tuple[Any, Request]:
    """matmul for whatever arrays; also what their shapes and strides came to."""
    given = look_at(a, b, out, epilogue, handle, n_dtype, format, conjugated)
    if given.a.device is None and given.b.device is None:
        host_stream(handle)
        return _on_host(given, out, epilogue, context, lambda arrays: request(arrays, epilogue, dtype, compute, overlap, format, symmetric),
                        symmetric in _ONE_TRIANGLE)
    context = context_of(context, a, b, out)
    key = (given.key(), epilogue.alpha != 1, epilogue.factor != 0, dtype, compute, overlap, epilogue.expression, epilogue.scale_k,
           format_key(format), symmetric)
    made = _remembered(context, key, lambda: request(given, epilogue, dtype, compute, overlap, format, symmetric))
    return _on_device(context, made, given, out, epilogue, handle), made


def _on_device(context: Context, made: Request, given: Arrays, out: Any, epilogue: Epilogue, handle: Optional[int]) -> Any:
    """Queue a request in the stream of the arrays, unless the caller named one. Return out, or the new array that takes its place."""
    a, b, p = given[:3]
    if p is None:
        out = empty_like(a, made.out_shape, made.out_type, context)
        p = look(out, "out", handle)
    if made.is_empty:
        return out
    if handle is None:
        handle = next((current_stream(view) for view in (a, b, p) if view.kind in ("torch", "cupy")), a.stream)
    with device_of(a):
        _launch(context, made, given._replace(out=p), epilogue, handle)
        if a.kind == "jax":
            context.synchronize(handle)
    return out


def _launch(context: Context, made: Request, given: Arrays, epilogue: Epilogue, stream: int) -> None:
    """Queue the launches of a request, whose out is there. Raises the library's error."""
    _must_live(given)
    assert given.out is not None
    base = (given.c or given.out).address if made.has_c else 0
    scales = ffi.new("size_t[]", [scale.address if scale else 0 for scale in given.scales]) if any(given.scales) else ffi.NULL
    addresses = (given.a.address, given.b.address, given.out.address, base, scales)
    if epilogue.expression is None:
        _queue(context._open(), made, *addresses, epilogue, stream)
    else:
        _queue_with(context._open(), made, addresses, given.operands, epilogue, stream)


def _must_live(given: Arrays) -> None:
    """Check that the arrays have memory."""
    for view, name in given.named():
        if view is not None and view.address == 0 and elements(view.shape) > 0:
            raise InvalidArgument(f"{name} has no memory: it was freed")


def _scalars(epilogue: Epilogue) -> Tuple[float, float, float, float]:
    """The real and the imaginary part of alpha, and those of beta."""
    alpha, beta = epilogue.alpha, epilogue.factor
    return (alpha.real, alpha.imag, beta.real, beta.imag)


def _queue(context: Any, made: Request, m: int, n: int, p: int, base: int, scales: Any, epilogue: Epilogue, stream: int) -> None:
    scalars = _scalars(epilogue)
    for to_m, to_n, to_p, to_c in made.offsets:
        error = lib.tjpy_matmul(context, made.problem, made.operands, m + to_m, n + to_n, p + to_p, base + to_c if base else 0, scales,
                                *scalars, stream)
        if error:
            raise _failed(error)


def _failed(error: Any) -> Exception:
    """Return the exception of a launch's error, with the operands named as in the call."""
    message = text(error.message)
    return failure(error.status, in_words_of_a_call(message) if error.status == lib.TJ_ERR_INVALID_ARGUMENT else message)


def _queue_with(context: Any, made: Request, addresses: Tuple[Any, ...], operands: Sequence[Operand], epilogue: Epilogue, stream: int) -> None:
    """Like _queue, with the operands of an expression."""
    m, n, p, base, scales = addresses
    scalars = _scalars(epilogue)
    arrays = [operand for operand in operands if operand.view is not None]
    this = ffi.new("tj_operands *", made.operands[0])  # this call's own
    for operand in operands:
        if operand.view is None:
            this.number[lib.tj_epilogue_find(ffi.addressof(made.problem.epilogue), operand.name.encode())] = operand.number
        elif operand.view.address == 0:
            raise InvalidArgument(f"the operand {operand.name} has no memory: it was freed")
    for to_m, to_n, to_p, to_c, *to_arrays in made.offsets:
        for operand, offset in zip(arrays, to_arrays):
            assert operand.view is not None
            getattr(this, "with")[made.withs[operand.name]].address = ffi.cast("void *", operand.view.address + offset)
        error = lib.tjpy_matmul(context, made.problem, this, m + to_m, n + to_n, p + to_p, base + to_c if base else 0, scales,
                                *scalars, stream)
        if error:
            raise _failed(error)


def _on_host(given: Arrays, out: Any, epilogue: Epilogue, context: Optional[Context], make: Callable[[Arrays], Request],
             keeps_rows: bool = False) -> Tuple[Any, Request]:
    """The product of host arrays: copied to the device, as it has them tight, and back. So out may overlap a and b.

    make: returns the request of the arrays. keeps_rows: some rows of out are not written, and stay; of a new one they are 0.
    """
    _must_live(given)
    vo = given.out
    if vo is not None:
        must_not_overlap(vo, "out")
    tight_out = vo and vo.laid(vo.shape, tight(vo.shape))
    stored = given.operands  # as the caller has them
    tight_ones = Arrays(_compact(given.a), _compact(given.b), tight_out, given.c and _compact(given.c), tuple(scale and _compact(scale) for scale in given.scales),
                        [Operand(each.name, each.view and _compact(each.view), each.number) for each in stored])
    made = make(tight_ones)
    quantized = given.scales[lib.TJ_MATRIX_P]
    if quantized is not None:
        must_not_overlap(quantized, "epilogue.scale_p")
    for operand in stored:
        if operand.view is not None and _is_output(made, operand.name):
            must_not_overlap(operand.view, f"the output {operand.name}")
    if vo is None:
        out = _new_host(given.a, made.out_shape, made.out_type)
        if keeps_rows:
            out[...] = 0
        vo = look(out, "out", None)
    if not made.is_empty:
        context = host_context(context)
        copies: List[DeviceArray] = []

        def moved(view: View) -> View:
            copies.append(_to_device(context, view))
            there = copies[-1]._view()
            there.strides, there.conjugated = view.strides, view.conjugated
            return there

        try:
            product = DeviceArray(context, made.out_shape, made.out_type)
            copies.append(product)
            if keeps_rows or (made.has_c and given.c is None):
                _write(product, _compact(vo))
            there = Arrays(moved(tight_ones.a), moved(tight_ones.b), look(product, "out", None), tight_ones.c and moved(tight_ones.c),
                           tuple(scale and moved(scale) for scale in tight_ones.scales),
                           [Operand(each.name, each.view and moved(each.view), each.number) for each in tight_ones.operands])
            _launch(context, made, there, epilogue, 0)
            context.synchronize()
            _store(context, product, vo)
            if quantized is not None:
                _store(context, there.scales[lib.TJ_MATRIX_P].owner, quantized)
            for before, after in zip(stored, there.operands):
                if before.view is not None and after.view is not None and _is_output(made, before.name):
                    _store(context, after.view.owner, before.view)
        finally:
            for array in copies:
                array.free()
    return _as_jax(out) if given.a.kind == "jax" else out, made


def must_not_overlap(out: View, name: str) -> None:
    """Check that no two elements of an output share memory. Raises InvalidArgument, also if they only might."""
    if 0 in out.shape:
        return
    reach = 0
    for step, extent in sorted((abs(stride), extent) for stride, extent in zip(out.strides, out.shape) if extent > 1):
        if step <= reach:
            raise InvalidArgument(f"{name} is {out.shape} with strides of {out.strides}: its rows or columns share memory; pass one that has an element "
                                  "for each of the product's")
        reach += (extent - 1) * step


def _is_output(made: Request, name: str) -> bool:
    return bool(made.problem.epilogue.expression.operand[made.withs[name]].is_output)


def _compact(view: View) -> View:
    """Return a host array without gaps: itself, or a copy."""
    if view.type in PAIRS:  # they stay neighbours
        return _compact_pairs(view)
    if view.strides == tight(view.shape) or elements(view.shape) == 0:
        return view.laid(view.shape, tight(view.shape))
    if view.kind == "torch":
        copied = look(view.owner.contiguous(), "a", None)
        copied.conjugated ^= view.conjugated ^ view.owner.is_conj()
        return copied
    if isinstance(view.owner, numpy.ndarray):
        copy = numpy.ascontiguousarray(view.owner)
        compact = View(view.kind, copy.ctypes.data, copy.shape, tight(copy.shape), view.type, None, copy)
        compact.conjugated = view.conjugated
        return compact
    raise InvalidArgument(f"a host array of DLPack has strides of {view.strides}: pass a contiguous copy")


def _compact_pairs(view: View) -> View:
    """Like _compact, for bytes of two numbers, which lie along the contiguous axis."""
    swapped, strides = (each[:-2] + (each[-1], each[-2]) for each in (view.shape, view.strides))
    if tight(view.shape) == view.strides or tight(swapped) == strides or elements(view.shape) == 0:
        return view
    raise InvalidArgument(f"b has strides of {view.strides}: on the host an array of {NAME[view.type]} must be contiguous, by rows or by columns; pass a copy")


def _to_device(context: Context, view: View) -> DeviceArray:
    array = DeviceArray(context, view.shape, view.type)
    _write(array, view)
    return array


def _write(array: DeviceArray, view: View) -> None:
    array._context._write_buffer(array._buffer, view.address, elements(view.shape) * BYTES[view.type])


def _new_host(a: View, shape: Tuple[int, ...], number: int) -> Any:
    """Return a new host array of the kind of a."""
    if a.kind == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=torch_dtype(torch, number))
    return numpy.empty(shape, numpy_dtype(number))


def _store(context: Context, product: DeviceArray, out: View) -> None:
    """Copy a product into a host array of any strides."""
    size = elements(out.shape) * BYTES[out.type]
    if out.strides == tight(out.shape):
        context._read_buffer(product._buffer, out.address, size)
    elif out.kind == "torch":
        copy = sys.modules["torch"].empty(out.shape, dtype=out.owner.dtype)
        context._read_buffer(product._buffer, copy.data_ptr(), size)
        out.owner.copy_(copy)
    elif isinstance(out.owner, numpy.ndarray):
        out.owner[...] = product.numpy()
    else:
        raise InvalidArgument(f"out has strides of {out.strides}: pass a contiguous one")


def _as_jax(host: Any) -> Any:
    import jax

    return jax.numpy.asarray(host)


def warm_up(problems: Sequence[Problem], *, threads: int = 0, context: Optional[Context] = None) -> int:
    """Make the kernels of many problems at once, as prepare makes one. Returns the number of kernels that are ready.

    threads: that compile at a time; 0: as many as the process may use processors, at most 8. One that cannot be made raises what
    prepare would, when the others are done.
    """
    context = context_of(context)
    options, made, error = ffi.new("tj_warm_up_options *"), ffi.new("size_t *"), ffi.new("tj_error *")
    options.struct_size, options.threads = ffi.sizeof("tj_warm_up_options"), threads
    listed = ffi.new("tj_problem[]", [problem._c[0] for problem in problems])
    check(lib.tj_warm_up(context._open(), listed, len(problems), options, made, error), error)
    return int(made[0])


def prepare(problem: Problem, *, context: Optional[Context] = None) -> None:
    """Compile, or fetch from the store, the kernel of a problem and load it, so that the first ``matmul`` does not wait.

    Call it before a stream is captured. Raises NoCompiler, NoDriver and the other kinds of ``Error``.
    """
    context = context_of(context)
    plan, error, opened = ffi.new("const tj_plan **"), ffi.new("tj_error *"), context._open()
    check(lib.tj_plan_prepare(opened, problem._c, ffi.NULL, plan, error), error)
    lib.tj_plan_release(plan[0])  # like the plans of matmul, it is evicted when there is no room
