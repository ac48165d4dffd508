# SPDX-License-Identifier: Apache-2.0
"""Products inside programs of JAX: under ``jax.jit``, on XLA's stream, differentiated and batched.

    import jax, tilejit.jax

    @jax.jit
    def layer(x, weights, bias):
        return tilejit.jax.matmul(x, weights, epilogue="gelu(acc + bias[col])", bias=bias)

The call is one operation of XLA's foreign function interface, which is compiled into this package: nothing is copied, no stream is waited
for, and no Python runs. On the CPU platform it computes on copies: on the device, or on the emulator where there is none.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, replace
from itertools import count as count_from
from numbers import Real
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import jax
import jax.ffi
import jax.numpy as jnp
import numpy
from jax.custom_batching import custom_vmap

from tilejit._arrays import View, tight
from tilejit._binding import ffi, lib
from tilejit._context import xla_context
from tilejit._errors import InvalidArgument, check, text
from tilejit._problem import (
    BY_BOTH, BY_COL, BY_ROW, SCALES, Arrays, Epilogue, Format, Operand, Request, epilogue_of, new_scales, parse_epilogue, request,
    take_types,
)
from tilejit._types import BYTES, NAME, NUMBER, number_of, numpy_dtype

__all__ = ["matmul"]

_TARGET = "tilejit_matmul"
_WORKSPACE = -1  # the place of a buffer in xla.c; others are numbers of operands (shape.h)
_SOMEWHERE = 1  # the address of an array that is not there yet


def _register() -> None:
    """Tell XLA where its calls go. A process without CUDA has no use for the second, and may make it all the same."""
    def capsule(name: str) -> Any:
        return jax.ffi.pycapsule(ctypes.c_void_p(int(ffi.cast("uintptr_t", ffi.addressof(lib, name)))))

    on_device = capsule("tjpy_xla_on_device")
    jax.ffi.register_ffi_target(_TARGET, capsule("tjpy_xla_on_host"), platform="cpu")
    jax.ffi.register_ffi_target(_TARGET, {"initialize": on_device, "execute": on_device}, platform="CUDA")


_register()


@dataclass(frozen=True)
class _Spec:
    """All of a call but its arrays: what a trace depends on."""

    names: Tuple[str, ...]  # of the arrays: a, b, c, those of SCALES, and operands of the expression
    transpose_a: bool
    transpose_b: bool
    expression: Optional[str]
    alpha: Union[float, complex]
    beta: Union[float, complex, None]
    numbers: Tuple[Tuple[str, float], ...]
    scale_k: Optional[int]
    scale_p: Optional[str]
    dtype: Optional[str]
    compute: Optional[str]
    n_dtype: Optional[str]
    format: Union[str, Tuple[Tuple[str, str], ...], None]

    @property
    def is_plain(self) -> bool:
        """True if it can be differentiated."""
        return self.format is None and self.n_dtype is None and self.scale_p is None and not set(self.names) & set(SCALES)


def matmul(a: Any, b: Any, /, *, epilogue: Union[Epilogue, str, None] = None, transpose_a: bool = False, transpose_b: bool = False, dtype: Any = None,
           compute: Optional[str] = None, n_dtype: Optional[str] = None, format: Format = None, **operands: Any) -> Any:
    """Multiply two arrays of JAX by the rules of ``numpy.matmul``, as ``tilejit.matmul`` does, within a program of XLA.

    a, b: arrays or tracers, (..., j, k) and (..., k, l), or vectors of k elements. XLA stores arrays row-major: a transpose of one is a
        copy, unless XLA fuses it. So transpose_a and transpose_b say that the last two dimensions of an array are swapped: a is (..., k, j),
        b is (..., l, k). They lie as they are, and are not copied.
    epilogue, operands, dtype, compute, n_dtype, format: as in ``tilejit.matmul``. Arrays may be tracers; numbers (``alpha``, ``beta``, operands
        that are not indexed) are constants of the trace: a number that is computed is ``factor[0]``, an array of one element.
        ``beta`` needs ``c``. Outputs of the expression besides the product are not passed: they are returned, f32 unless it says their type.

    Returns the product; with further outputs, a tuple of it and them, in the order of the expression; then the scales of the product, if the
    epilogue's ``scale_p`` is a text. Vectors lose their dimension of the product, and not that of a further output.

    Where the default backend is a GPU, the kernel is compiled when the call is traced, and its workspace is memory of XLA's plan; elsewhere
    when it is first executed.

    It can be differentiated (reverse mode, any number of times): a and b, ``c`` and the operands of an expression. A call with an expression then
    stores the sum ``acc`` as well; the expression is differentiated by JAX. Calls with scales, formats or weights of 4 bits cannot.
    ``jax.vmap`` makes a batch of it. It does not divide itself between devices: call it within ``jax.shard_map``.

    Raises InvalidArgument and TypeError while it is traced, as ``tilejit.matmul`` does. An error of the execution is XLA's exception, with the
    library's message.
    """
    epilogue = epilogue_of(epilogue, operands, "transpose_a", "transpose_b")
    a, b = jnp.asarray(a), jnp.asarray(b)
    for array, name in ((a, "a"), (b, "b")):
        if not array.ndim:
            raise InvalidArgument(f"{name} has no dimensions: multiply by a number with epilogue=tilejit.Epilogue(alpha=...)")
    if epilogue.scale_p is not None and not isinstance(epilogue.scale_p, str):
        raise TypeError("epilogue.scale_p is an array, and JAX has none that is written: pass a text, such as \"f32:1x128:row-by-row\"")
    is_row, is_column = a.ndim == 1, b.ndim == 1
    given: Dict[str, Any] = {"a": a[:, None] if is_row and transpose_a else a[None] if is_row else a,
                             "b": b[None] if is_column and transpose_b else b[:, None] if is_column else b}
    if epilogue.c is not None:
        c = jnp.asarray(epilogue.c)
        c = jnp.expand_dims(c, -2 if not is_column else -1) if is_row else c
        given["c"] = jnp.expand_dims(c, -1) if is_column else c
    for name, scale in zip(SCALES, epilogue.scales):
        if scale is not None and not isinstance(scale, str):
            given[name] = jnp.asarray(scale)
    numbers = {}
    for name, value in epilogue.operands.items():
        if isinstance(value, Real):
            numbers[name] = float(value)
        elif name in given:
            raise InvalidArgument(f"the operand {name} has the name of an argument: give it another one")
        else:
            given[name] = jnp.asarray(value)
    spec = _Spec(tuple(given), bool(transpose_a), bool(transpose_b), epilogue.expression, _number(epilogue.alpha),
                 None if epilogue.beta is None else _number(epilogue.beta), tuple(sorted(numbers.items())), epilogue.scale_k, epilogue.scale_p,
                 None if dtype is None else _type_name(dtype), compute, n_dtype, tuple(sorted(format.items())) if isinstance(format, Mapping) else format)
    product, *more = _product(spec, *given.values())
    if is_row:
        product = jnp.squeeze(product, -2)
    if is_column:
        product = jnp.squeeze(product, -1)
    return (product, *more) if more else product


def _number(value: Union[float, complex]) -> Union[float, complex]:
    """A number of Python's own, which is hashable."""
    return float(value) if isinstance(value, Real) else complex(value)


def _type_name(dtype: Any) -> str:
    """The name of a type, which is hashable."""
    return NAME[number_of(dtype)]


# ---- the call ----------------------------------------------------------------------------------------------------------------------


class _Layout(NamedTuple):
    """The request of a spec and the shapes of its arrays, and its results."""

    request: Request
    epilogue: Epilogue
    operands: Sequence[Operand]
    results: Tuple[Tuple[int, Tuple[int, ...], int], ...]  # place, shape and type: the product, further outputs, scales


def _view(array: Any, is_transposed: bool = False) -> View:
    shape, strides = tuple(int(extent) for extent in array.shape), tight(tuple(int(extent) for extent in array.shape))
    if is_transposed:
        shape, strides = shape[:-2] + (shape[-1], shape[-2]), strides[:-2] + (strides[-1], strides[-2])
    return View("jax", _SOMEWHERE, shape, strides, number_of(array.dtype), "cuda", None)


def _tree_of(spec: _Spec) -> Any:
    """The epilogue that an expression is parsed to; None: there is none."""
    if spec.expression is None:
        return None
    made = ffi.new("tj_epilogue *")
    parse_epilogue(spec.expression, made[0])
    return made


def _outputs(tree: Any) -> List[Any]:
    """The declarations of further outputs."""
    return [] if tree is None else [each for each in tree.expression.operand[0:tree.expression.operands] if each.is_output]


def _lay_out(spec: _Spec, arrays: Sequence[Any]) -> _Layout:
    """Make the request of a call. Raises what tilejit.matmul raises for such arrays."""
    given = dict(zip(spec.names, arrays))
    a, b = _view(given["a"], spec.transpose_a), _view(given["b"], spec.transpose_b)
    format = dict(spec.format) if isinstance(spec.format, tuple) else spec.format
    take_types(a, b, spec.n_dtype, format)
    operands = {name: _view(given[name]) for name in spec.names if name not in ("a", "b", "c", *SCALES)}
    tree = _tree_of(spec)
    batch = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2]) if _may_meet(a.shape, b.shape) else ()
    rows, columns = a.shape[-2], b.shape[-1] // (2 if tree is not None and lib.tj_epilogue_pairs(tree) else 1)
    exact = NUMBER["f64"] if NAME[a.type] == "f64" else NUMBER["f32"]
    for output in _outputs(tree):
        name = text(output.name)
        if name in given:
            raise InvalidArgument(f"{name} is an output of the epilogue, which is returned: leave the argument out")
        shape = batch + {BY_COL: (columns,), BY_ROW: (rows,), BY_BOTH: (rows, columns)}[output.indexed]
        operands[name] = View("jax", _SOMEWHERE, shape, tight(shape), output.type or exact, "cuda", None)
    scales: List[Optional[View]] = [_view(given[name]) if name in given else None for name in SCALES]
    if spec.scale_p is not None:
        shape, number = new_scales(spec.scale_p, (rows,), columns)
        scales[lib.TJ_MATRIX_P] = View("jax", _SOMEWHERE, shape, tight(shape), number, "cuda", None)
    c = _view(given["c"]) if "c" in given else None
    listed = tuple(Operand(name, view) for name, view in operands.items()) + tuple(Operand(name, None, value) for name, value in spec.numbers)
    epilogue = Epilogue(spec.alpha, c, spec.beta, expression=spec.expression, scale_k=spec.scale_k)
    made = request(Arrays(a, b, None, c, tuple(scales), listed), epilogue, spec.dtype, spec.compute, format=format)
    results = [(lib.TJ_MATRIX_P, made.out_shape, made.out_type)]
    results += [(lib.TJ_OPERAND_WITH + made.withs.get(text(output.name), 0), operands[text(output.name)].shape, operands[text(output.name)].type)
                for output in _outputs(tree)]
    if spec.scale_p is not None:
        results.append((lib.TJ_OPERAND_SCALE + lib.TJ_MATRIX_P, shape, number))
    return _Layout(made, epilogue, listed, tuple(results))


def _may_meet(a: Tuple[int, ...], b: Tuple[int, ...]) -> bool:
    """Can their batch dimensions be broadcast? If not, the request says so."""
    return all(x == y or 1 in (x, y) for x, y in zip(reversed(a[:-2]), reversed(b[:-2])))


def _workspace_bytes(problem: Any) -> int:
    """Compile the kernel, and return the memory that XLA should plan for it; without a GPU 0: then a launch takes its own."""
    if jax.default_backend() != "gpu":
        return 0
    plan, error = ffi.new("tj_plan **"), ffi.new("tj_error *")
    check(lib.tj_plan_prepare(xla_context(0), problem, ffi.NULL, plan, error), error)
    size = int(lib.tj_plan_workspace_bytes(plan[0]))
    lib.tj_plan_release(plan[0])
    return size


def _call(spec: _Spec, *arrays: Any) -> Tuple[Any, ...]:
    """One operation of XLA."""
    made, epilogue, operands, results = _lay_out(spec, arrays)
    shapes = [jax.ShapeDtypeStruct(shape, numpy_dtype(number)) for _, shape, number in results]
    if made.is_empty:
        return tuple(jnp.zeros(each.shape, each.dtype) for each in shapes)
    made.operands.alpha, made.operands.alpha_im = epilogue.alpha.real, epilogue.alpha.imag
    made.operands.beta, made.operands.beta_im = epilogue.factor.real, epilogue.factor.imag
    for name, value in spec.numbers:
        made.operands.number[lib.tj_epilogue_find(ffi.addressof(made.problem.epilogue), name.encode())] = value
    matrices = {"a": lib.TJ_MATRIX_M, "b": lib.TJ_MATRIX_N, "c": lib.TJ_MATRIX_C}
    place = [matrices[name] if name in matrices else lib.TJ_OPERAND_SCALE + SCALES.index(name) if name in SCALES else lib.TJ_OPERAND_WITH + made.withs[name]
             for name in spec.names] + [each for each, _, _ in results]
    size = [array.size * array.dtype.itemsize for array in arrays]
    size += [int(numpy.prod(shape, dtype=numpy.int64)) * BYTES[number] for _, shape, number in results]
    workspace = _workspace_bytes(made.problem)
    if workspace:
        shapes.append(jax.ShapeDtypeStruct((workspace,), numpy.uint8))
        place.append(_WORKSPACE)
        size.append(workspace)
    column = {lib.TJ_MATRIX_M: 0, lib.TJ_MATRIX_N: 1, lib.TJ_MATRIX_P: 2, lib.TJ_MATRIX_C: 3}
    named = [operand.name for operand in operands if operand.view is not None]
    column.update({lib.TJ_OPERAND_WITH + number: 4 + named.index(name) for name, number in made.withs.items()})
    offset = [start[column[each]] if each in column else 0 for start in made.offsets for each in place]
    line = ffi.new("char[]", lib.TJ_PROBLEM_TEXT_BYTES)
    lib.tj_problem_print(made.problem, line)
    done = jax.ffi.ffi_call(_TARGET, shapes)(
        *arrays, problem=_bytes(made.problem), operands=_bytes(made.operands), place=numpy.array(place, numpy.int64),
        bytes=numpy.array(size, numpy.int64), offset=numpy.array(offset, numpy.int64), text=text(line))
    return tuple(done[:len(results)])


def _bytes(structure: Any) -> "numpy.ndarray[Any, Any]":
    return numpy.frombuffer(bytes(ffi.buffer(structure)), numpy.uint8)


# ---- jax.vmap ----------------------------------------------------------------------------------------------------------------------


def _own(spec: _Spec, name: str) -> int:
    """The dimensions that an array has besides those of the batch."""
    if name in ("a", "b", "c"):
        return 2
    tree = _tree_of(spec).expression
    return 2 if next(each.indexed for each in tree.operand[0:tree.operands] if text(each.name) == name) == BY_BOTH else 1


def _batched(spec: _Spec, *arrays: Any) -> Tuple[Any, ...]:
    """_call, with a rule for jax.vmap: its dimension is the first one of the batch."""

    def rule(count: int, is_batched: Sequence[bool], *arrays: Any) -> Tuple[Any, Any]:
        if set(spec.names) & set(SCALES) and any(is_batched):
            raise InvalidArgument("jax.vmap makes a batch, whose products share their scales: call matmul with scales for each product")
        own = [_own(spec, name) for name in spec.names]
        ranks = [array.ndim - own[i] - is_batched[i] for i, array in enumerate(arrays)]
        most = max(ranks[:2])  # of a and b

        def spread(i: int, array: Any) -> Any:
            at = int(is_batched[i])
            if not is_batched[i] and (i or any(is_batched[:2])):
                return array
            array = array.reshape(array.shape[:at] + (1,) * (most - ranks[i]) + array.shape[at:])
            return array if is_batched[i] else jnp.broadcast_to(array, (count,) + array.shape)  # neither a nor b has the dimension

        results = _batched(spec, *(spread(i, array) for i, array in enumerate(arrays)))
        return results, tuple(True for _ in results)

    def call(*arrays: Any) -> Tuple[Any, ...]:
        return _call(spec, *arrays)

    made = custom_vmap(call)
    made.def_vmap(rule)
    results: Tuple[Any, ...] = made(*arrays)
    return results


# ---- derivatives -------------------------------------------------------------------------------------------------------------------

_UNARY: Dict[int, Callable[[Any], Any]] = {
    lib.TJ_OP_NEGATE: lambda x: -x, lib.TJ_OP_NOT: jnp.logical_not, lib.TJ_OP_ABS: jnp.abs, lib.TJ_OP_EXP: jnp.exp, lib.TJ_OP_LOG: jnp.log,
    lib.TJ_OP_SQRT: jnp.sqrt, lib.TJ_OP_RSQRT: jax.lax.rsqrt, lib.TJ_OP_TANH: jnp.tanh, lib.TJ_OP_ERF: jax.lax.erf,
    lib.TJ_OP_SIGMOID: jax.nn.sigmoid, lib.TJ_OP_RELU: jax.nn.relu, lib.TJ_OP_GELU: lambda x: jax.nn.gelu(x, approximate=False),
    lib.TJ_OP_GELU_TANH: lambda x: jax.nn.gelu(x, approximate=True), lib.TJ_OP_SILU: jax.nn.silu,
}
_BINARY: Dict[int, Callable[[Any, Any], Any]] = {
    lib.TJ_OP_ADD: jnp.add, lib.TJ_OP_SUBTRACT: jnp.subtract, lib.TJ_OP_MULTIPLY: jnp.multiply, lib.TJ_OP_DIVIDE: jnp.divide,
    lib.TJ_OP_MIN: jnp.fmin, lib.TJ_OP_MAX: jnp.fmax, lib.TJ_OP_LESS: jnp.less, lib.TJ_OP_LESS_EQUAL: jnp.less_equal, lib.TJ_OP_EQUAL: jnp.equal,
    lib.TJ_OP_NOT_EQUAL: jnp.not_equal, lib.TJ_OP_AND: jnp.logical_and, lib.TJ_OP_OR: jnp.logical_or,
}


def _value(spec: _Spec, sums: Sequence[Any], given: Mapping[str, Any]) -> Tuple[Any, ...]:
    """Compute the epilogue by JAX, in f32 or f64: the product and further outputs. sums: acc, or acc[2*col] and acc[2*col+1]."""
    exact = jnp.float64 if sums[0].dtype == jnp.float64 else jnp.float32
    sums = [each.astype(exact) for each in sums]
    beta = spec.beta if spec.beta is not None else float("c" in given)
    c = given["c"].astype(exact) if "c" in given else jnp.zeros((), exact)
    tree = _tree_of(spec)
    if tree is None:
        return (spec.alpha * sums[0] + beta * c,)
    e = tree.expression
    if e.nodes == 0:
        return ((spec.alpha if tree.has_alpha else 1.0) * sums[0] + (beta * c if tree.has_beta else 0.0),)
    names, numbers = [text(each.name) for each in e.operand[0:e.operands]], dict(spec.numbers)

    def operand(i: int) -> Any:
        if names[i] in numbers:
            return jnp.asarray(numbers[names[i]], exact)
        array = given[names[i]].astype(exact)
        return array[..., None, :] if e.operand[i].indexed == BY_COL else array if e.operand[i].indexed == BY_BOTH else array[..., :, None]

    values: List[Any] = []
    for node in e.node[0:e.nodes]:
        op = node.op
        x: List[Any] = [values[i] if i < len(values) else None for i in (node.a, node.b, node.c)]
        if op in _UNARY:
            value = _UNARY[op](x[0])
        elif op in _BINARY:
            value = _BINARY[op](x[0], x[1])
        elif op == lib.TJ_OP_SELECT:
            value = jnp.where(x[0], x[1], x[2])
        elif op == lib.TJ_OP_CONVERT:
            value = x[0].astype(numpy_dtype(node.b)).astype(exact)
        elif op == lib.TJ_OP_OPERAND:
            value = operand(node.a)
        elif op in (lib.TJ_OP_ROW, lib.TJ_OP_COL):
            value = jax.lax.broadcasted_iota(exact, sums[0].shape, sums[0].ndim - (2 if op == lib.TJ_OP_ROW else 1))
        else:
            value = {lib.TJ_OP_ACC: sums[0], lib.TJ_OP_ACC_EVEN: sums[0], lib.TJ_OP_ACC_ODD: sums[-1], lib.TJ_OP_C: c,
                     lib.TJ_OP_CONSTANT: jnp.asarray(e.constant[node.a], exact), lib.TJ_OP_ALPHA: jnp.asarray(spec.alpha, exact),
                     lib.TJ_OP_BETA: jnp.asarray(beta, exact)}[op]
        values.append(value)

    def whole(i: int) -> Any:
        return jnp.broadcast_to(values[i], sums[0].shape)

    found = [whole(e.value)]
    for each in _outputs(tree):
        value = whole(each.value)
        if each.reduction:
            value = (jnp.sum if each.reduction == lib.TJ_REDUCE_SUM else jnp.max)(value, axis=-2 if each.indexed == BY_COL else -1)
        found.append(value)
    return tuple(found)


def _keeping(spec: _Spec, p_type: int) -> Optional[_Spec]:
    """The same call, which also returns its sums, in P's type if that is wide enough; None: the expression has no room for them."""
    tree = _tree_of(spec)
    kept = NAME[p_type] if NAME[p_type] in ("f64", "f32", "f16", "bf16") else "f32"
    sums = ("acc[2*col]", "acc[2*col+1]") if lib.tj_epilogue_pairs(tree) else ("acc",)
    if tree.expression.operands + len(sums) > lib.TJ_EPILOGUE_OPERANDS:
        return None
    taken = {text(each.name) for each in tree.expression.operand[0:tree.expression.operands]}
    free = (name for name in map("kept{}".format, count_from(0)) if name not in taken)
    outputs = "".join(f"{name}:{kept}[row, col] = {value}; " for name, value in zip(free, sums))
    return replace(spec, expression=outputs + spec.expression if spec.expression else None)


def _plain(spec: _Spec, **other: Any) -> _Spec:
    """A product without an epilogue, with the arithmetic of a call."""
    return replace(spec, names=("a", "b"), expression=None, alpha=1.0, beta=None, numbers=(), dtype=None,
                   compute=None if spec.compute == "f32_fp8" else spec.compute, **other)


def _forward(spec: _Spec, *arrays: Any) -> Tuple[Any, Any]:
    if not spec.is_plain:
        raise TypeError("matmul with scales, a format or weights of 4 bits cannot be differentiated: mark what it computes with jax.lax.stop_gradient")
    tree = _tree_of(spec)
    if tree is None or tree.expression.nodes == 0:
        return _product(spec, *arrays), (arrays, None)
    keeping = _keeping(spec, _lay_out(spec, arrays).request.out_type)
    if keeping is None:
        return _product(spec, *arrays), (arrays, None)
    kept = 2 if lib.tj_epilogue_pairs(tree) else 1
    product, *more = _product(keeping, *arrays)
    return (product, *more[kept:]), (arrays, tuple(more[:kept]))


def _is_float(array: Any) -> bool:
    """Is it of floats, real or complex, which have gradients?"""
    return bool(jnp.issubdtype(array.dtype, jnp.inexact))


def _wide(array: Any) -> Any:
    """Floats of 8 bits as bf16, which holds them; their gradients are of bf16 too."""
    return array.astype(jnp.bfloat16) if _is_float(array) and array.dtype.itemsize == 1 else array


def _as(gradient: Any, array: Any) -> Any:
    """Add a gradient up over the batch dimensions that its array was broadcast along, and give it the array's type."""
    if not _is_float(array):
        return numpy.zeros(array.shape, jax.dtypes.float0)
    lead = gradient.ndim - array.ndim
    along = tuple(range(lead)) + tuple(lead + i for i, extent in enumerate(array.shape) if extent == 1 and gradient.shape[lead + i] != 1)
    return jnp.sum(gradient, axis=along).reshape(array.shape).astype(array.dtype) if along else gradient.astype(array.dtype)


def _backward(spec: _Spec, kept: Any, gradients: Tuple[Any, ...]) -> Tuple[Any, ...]:
    arrays, sums = kept
    gradients = tuple(jnp.zeros(each.shape) if each.dtype == jax.dtypes.float0 else each for each in gradients)  # of integers
    given = dict(zip(spec.names, arrays))
    a, b = _wide(given["a"]), _wide(given["b"])
    tree = _tree_of(spec)
    others = {name: array for name, array in given.items() if name not in ("a", "b")}
    is_pair = tree is not None and bool(lib.tj_epilogue_pairs(tree))
    is_linear = tree is None or tree.expression.nodes == 0
    if is_linear:
        alpha = spec.alpha if tree is None or tree.has_alpha else 1.0
        beta = (spec.beta if spec.beta is not None else float("c" in given)) if tree is None or tree.has_beta else 0.0
        into_sum, into_others = alpha * gradients[0] if alpha != 1 else gradients[0], {"c": beta * gradients[0]}
    else:
        if sums is None:
            (sum_,) = _product(_plain(spec), given["a"], given["b"])
            sums = (sum_[..., 0::2], sum_[..., 1::2]) if is_pair else (sum_,)
        floats = {name: array for name, array in others.items() if _is_float(array)}
        values, pull = jax.vjp(lambda sums, floats: _value(spec, sums, {**others, **floats}), list(sums), floats)
        into_sums, into_others = pull(tuple(gradient.astype(value.dtype) for gradient, value in zip(gradients, values)))
        into_sum = jnp.stack(into_sums, axis=-1).reshape(into_sums[0].shape[:-1] + (-1,)) if is_pair else into_sums[0]

    swap_a, swap_b = spec.transpose_a, spec.transpose_b
    if b.ndim == 2 and not swap_a and a.ndim > 2:  # all rows share b: its gradient is one product
        a, into_sum = a.reshape(-1, a.shape[-1]), into_sum.reshape(-1, into_sum.shape[-1])

    def multiply(one: Any, other: Any, is_one_swapped: bool, is_other_swapped: bool) -> Any:
        return _product(_plain(spec, transpose_a=is_one_swapped, transpose_b=is_other_swapped), one, other)[0]

    found: Dict[str, Any] = {}
    if _is_float(given["a"]):
        other = into_sum.astype(b.dtype if _is_float(b) else a.dtype)
        into_a = multiply(b, other, swap_b, True) if swap_a else multiply(other, b, False, not swap_b)
        found["a"] = into_a.reshape(given["a"].shape) if a.shape != given["a"].shape else into_a
    if _is_float(given["b"]):
        other = into_sum.astype(a.dtype if _is_float(a) else b.dtype)
        found["b"] = multiply(other, a, True, swap_a) if swap_b else multiply(a, other, not swap_a, False)
    found.update(into_others)
    return tuple(_as(found.get(name), array) for name, array in given.items())


_product = jax.custom_vjp(_batched, nondiff_argnums=(0,))
_product.defvjp(_forward, _backward)
