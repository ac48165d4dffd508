# SPDX-License-Identifier: Apache-2.0
"""The specification of an application's own family, and the callbacks through which the library gets a reference."""

from __future__ import annotations

import operator
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy

from tilejit._arrays import View, elements
from tilejit._binding import ffi, lib
from tilejit._errors import Error, InvalidArgument, check
from tilejit._types import BYTES, NAME, number_of, numpy_dtype

Formula = Union[str, int]
Config = Union[None, str, Mapping[str, Union[int, str]]]
Reference = Callable[..., Any]
Fill = Callable[[Dict[str, int], str], Any]

KINDS: Dict[str, int] = {"in": lib.TJ_CUSTOM_IN, "out": lib.TJ_CUSTOM_OUT, "inout": lib.TJ_CUSTOM_INOUT, "constant": lib.TJ_CUSTOM_CONSTANT,
                         "extent": lib.TJ_CUSTOM_EXTENT, "scalar": lib.TJ_CUSTOM_SCALAR}
ROLES: Dict[str, int] = {"shape": lib.TJ_PARAM_SHAPE, "order": lib.TJ_PARAM_ORDER, "hint": lib.TJ_PARAM_HINT}
C_TYPES = {"f32": "float *", "f64": "double *", "s32": "int32_t *"}  # of scalars
_MOST_SHAPES = 4096


@dataclass(frozen=True)
class Param:
    """A parameter of a family: a number, or one of several words, that a tuner may choose.

    name: its name in the template and in formulas.
    values: (least, most), the range of a number; or the words of a choice, such as ``("plain", "wide")``.
    default: one of them.
    summary: one sentence.
    tried: the numbers that a tuner tries, ascending. Default: the powers of two of the range.
    role: its effect: "shape" (the work of each thread), "order" (the order or the instructions), "hint" (almost none).
    """

    name: str
    values: Sequence[Union[int, str]]
    default: Union[int, str]
    summary: str = ""
    tried: Sequence[int] = ()
    role: str = "shape"


@dataclass(frozen=True)
class Argument:
    """An argument of a family's kernel. All but constants are parameters of the kernel, in the order of the list.

    name: its name in calls and messages; of an "extent", the extent; of a "constant", the array in the source.
    kind: "in" (elements that the kernel reads), "out" (elements, all of which it writes), "inout", "constant" (a ``__constant__`` array
        of the text), "extent" (an int: the text then holds no number for this extent, and one kernel serves all), or "scalar" (a
        number, by value).
    dtype: of the elements; of a scalar f32, f64 or s32.
    shape: of a row-major array: a formula over extents for each dimension, such as ``("rows", "cols")`` or ``"2 * radius + 1"``. An
        extent that is a dimension by itself need not be named by calls: it is that of the array.
    align: bytes, a power of two, that its address must be a multiple of. 0: an element.
    trial: the value of a scalar in tunings and proofs.
    """

    name: str
    kind: str
    dtype: Any = "f32"
    shape: Union[Formula, Sequence[Formula]] = ()
    align: int = 0
    trial: float = 0.0

    @property
    def dimensions(self) -> Tuple[str, ...]:
        """The formula of each dimension."""
        return (str(self.shape),) if isinstance(self.shape, (str, int)) else tuple(str(formula) for formula in self.shape)

    @property
    def is_array(self) -> bool:
        """True if it has elements."""
        return self.kind in ("in", "out", "inout", "constant")

    @property
    def is_output(self) -> bool:
        """True if the kernel writes it."""
        return self.kind in ("out", "inout")


class Spec:
    """A family for calls. Its kernels keep it, and with it the library's family, alive."""

    def __init__(self, name: str, extents: Sequence[str], arguments: Sequence[Argument], reference: Optional[Reference], fill: Optional[Fill]) -> None:
        self.name = name
        self.extents = tuple(extents)
        self.arguments = tuple(arguments)
        self.reference = reference
        self.fill = fill
        self.family: Any = None
        self.types = tuple(0 if each.kind == "extent" else number_of(each.dtype, f"dtype of {each.name}") for each in self.arguments)
        self.passed = {each.name for each in self.arguments if each.kind == "extent"}
        self._shapes: Dict[Tuple[int, ...], Tuple[Tuple[int, ...], ...]] = {}

    def shapes(self, extent: Tuple[int, ...]) -> Tuple[Tuple[int, ...], ...]:
        """The shape of each argument; () for those without elements. Raises InvalidArgument if a formula has no value."""
        made = self._shapes.get(extent)
        if made is None:
            numbers = ffi.new("int64_t[]", extent)
            made = tuple(tuple(self._evaluate(formula, numbers) for formula in each.dimensions) if each.is_array else () for each in self.arguments)
            if len(self._shapes) >= _MOST_SHAPES:
                self._shapes.clear()
            self._shapes[extent] = made
        return made

    def _evaluate(self, formula: str, numbers: Any) -> int:
        value, error = ffi.new("int64_t *"), ffi.new("tj_error *")
        check(lib.tj_custom_evaluate(self.family, formula.encode(), numbers, value, error), error)
        return int(value[0])

    def extent(self, named: Mapping[str, Any], views: Mapping[str, View], known: Optional[Tuple[int, ...]] = None) -> Tuple[int, ...]:
        """Return the extents of a call: named ones, dimensions of its arrays, and for the others the known ones."""
        found = {name: (whole(value, name), f"{name}={value}") for name, value in named.items()}
        for argument in self.arguments:
            view = views.get(argument.name)
            if view is None or len(view.shape) != len(argument.dimensions):
                continue
            for formula, extent in zip(argument.dimensions, view.shape):
                if formula not in self.extents:
                    continue
                first, where = found.setdefault(formula, (extent, f"{argument.name} of {view.shape}"))
                if first != extent:
                    raise InvalidArgument(f"{self.name}: {formula} is {first} by {where} and {extent} by {argument.name} of {view.shape}")
        for name, extent in zip(self.extents, known or ()):
            found.setdefault(name, (extent, ""))
        for name in self.extents:
            if name not in found:
                raise TypeError(f"{self.name} needs the extent {name}, which is not a dimension of an array of this call: pass {name}=...")
        extents = tuple(found[name][0] for name in self.extents)
        for name, extent in zip(self.extents, extents):
            if extent < 1 or extent >= 2**63:
                raise InvalidArgument(f"{self.name}: the extent {name} is {extent}, and must be 1 or more")
        return extents

    def config(self, config: Config) -> Any:
        """Return a tj_config from names and values, or from its one-line form; NULL for None."""
        if config is None:
            return ffi.NULL
        if isinstance(config, str):
            words = config.partition(":")[2] if ":" in config else config
            pairs = [word.partition("=")[::2] for word in words.split(",") if word]
        else:
            pairs = [(str(name), str(value)) for name, value in config.items()]
        made, error = ffi.new("tj_config *"), ffi.new("tj_error *")
        made.struct_size, made.family = ffi.sizeof("tj_config"), self.family
        for name, value in pairs:
            check(lib.tj_config_set(made, name.encode(), value.encode(), error), error)
        return made


def whole(value: Any, name: str) -> int:
    """A whole number. Raises TypeError for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}: it is a whole number") from None


class Declaration(NamedTuple):
    """The fields of a family that only the library reads. Family describes them."""

    template: Sequence[Tuple[str, str]]
    params: Sequence[Param]
    derived: Mapping[str, str]
    constraints: Sequence[str]
    grid: Union[Formula, Sequence[Formula]]
    block: Union[Formula, Sequence[Formula]]
    shared_bytes: Formula
    needs: Sequence[str]
    summary: str
    absolute: float
    relative: float


def declare(spec: Spec, handle: Any, fields: Declaration) -> Any:
    """Make the library's family. Raises InvalidArgument, which names the field; of a formula it shows the place."""
    kept: List[Any] = []

    def c_text(value: Any, what: str) -> Any:
        if not isinstance(value, str):
            raise TypeError(f"{what} is {value!r}: it is a text")
        if "\0" in value:
            raise InvalidArgument(f"{what} has a NUL in it")
        kept.append(ffi.new("char[]", value.encode("utf-8", "replace")))
        return kept[-1]

    def c_array(kind: str, values: Sequence[Any]) -> Any:
        kept.append(ffi.new(kind, list(values)))
        return kept[-1]

    def c_texts(values: Sequence[str], what: str, *end: Any) -> Any:
        return ffi.cast("const char *const *", c_array("char *[]", [c_text(value, f"{what}[{i}]") for i, value in enumerate(values)] + list(end)))

    def formulas(values: Any, what: str) -> List[Any]:
        listed = [values] if isinstance(values, (str, int)) else list(values)
        if len(listed) > 3:
            raise InvalidArgument(f"{what} has {len(listed)} dimensions, and a kernel has 3 at most")
        return [c_text(str(value), what) for value in listed] + [ffi.NULL] * (3 - len(listed))

    c = ffi.new("tj_custom_spec *")
    c.struct_size = ffi.sizeof("tj_custom_spec")
    c.name, c.summary = c_text(spec.name, "name"), c_text(fields.summary or spec.name, "summary")
    c.part = c_array("tj_custom_part[]", [{"name": c_text(name, "the name of a template"), "text": c_text(text, name)} for name, text in fields.template])
    c.part_count = len(fields.template)
    c.extent, c.extent_count = c_texts(spec.extents, "extents"), len(spec.extents)
    c.param, c.param_count = c_array("tj_param[]", [_param(param, c_text, c_texts, c_array) for param in fields.params]), len(fields.params)
    c.derived = c_array("tj_custom_derived[]", [{"name": c_text(name, "derived"), "formula": c_text(formula, name)} for name, formula in fields.derived.items()])
    c.derived_count = len(fields.derived)
    c.constraint = c_texts(fields.constraints, "constraints", ffi.NULL)
    c.grid, c.block, c.shared_bytes = formulas(fields.grid, "grid"), formulas(fields.block, "block"), c_text(str(fields.shared_bytes), "shared_bytes")
    c.argument, c.argument_count = c_array("tj_custom_argument[]", [_argument(each, number, c_text) for each, number in zip(spec.arguments, spec.types)]), len(
        spec.arguments)
    for name in fields.needs:
        bit = getattr(lib, f"TJ_FEATURE_{str(name).upper()}", None)
        if bit is None:
            known = sorted(word[len("TJ_FEATURE_"):].lower() for word in dir(lib) if word.startswith("TJ_FEATURE_"))
            raise InvalidArgument(f"needs has {name!r}: the features of a target are {', '.join(known)}")
        c.needs |= bit
    c.reference = lib.tjpy_reference if spec.reference is not None else ffi.NULL
    c.fill = lib.tjpy_fill if spec.fill is not None else ffi.NULL
    c.payload, c.absolute, c.relative = handle, fields.absolute, fields.relative
    made, error = ffi.new("tj_family **"), ffi.new("tj_error *")
    check(lib.tj_family_create(c, made, error), error)
    return ffi.gc(made[0], lib.tj_family_free)


def _param(param: Param, c_text: Any, c_texts: Any, c_array: Any) -> Dict[str, Any]:
    if param.role not in ROLES:
        raise InvalidArgument(f"the role of {param.name} is {param.role!r}: it is one of {', '.join(ROLES)}")
    made = {"name": c_text(param.name, "the name of a parameter"), "summary": c_text(param.summary, "summary"), "role": ROLES[param.role]}
    words = [value for value in param.values if isinstance(value, str)]
    if words and len(words) == len(param.values):
        if param.default not in words:
            raise InvalidArgument(f"the default of {param.name} is {param.default!r}, which is not one of its words: {', '.join(words)}")
        return {**made, "minimum": 1, "maximum": len(words), "standard": words.index(str(param.default)) + 1,
                "choice": c_texts(words, param.name, ffi.NULL)}
    if words or len(param.values) != 2:
        raise InvalidArgument(f"the values of {param.name} are {param.values!r}: pass (least, most), or words")
    made.update(minimum=param.values[0], maximum=param.values[1], standard=param.default)
    if param.tried:
        made["tried"] = c_array("int32_t[]", [*param.tried, 0])
    return made


def _argument(argument: Argument, number: int, c_text: Any) -> Dict[str, Any]:
    if argument.kind not in KINDS:
        raise InvalidArgument(f"the kind of {argument.name} is {argument.kind!r}: it is one of {', '.join(KINDS)}")
    made = {"name": c_text(argument.name, "the name of an argument"), "kind": KINDS[argument.kind], "type": number, "align": argument.align,
            "trial": argument.trial}
    if argument.is_array:
        if not argument.dimensions:
            raise InvalidArgument(f"{argument.name} has no shape: give it a formula for each dimension, such as shape=(\"rows\", \"cols\")")
        made["count"] = c_text(" * ".join(f"({formula})" for formula in argument.dimensions) if len(argument.dimensions) > 1 else argument.dimensions[0],
                               "shape")
    return made


# ---- callbacks


class _Calls(threading.local):
    """Exceptions of callbacks in this thread: one cell for each running call of the library, the innermost last."""

    def __init__(self) -> None:
        self.raised: List[Optional[BaseException]] = []


_calls = _Calls()


@contextmanager
def callbacks() -> Iterator[None]:
    """Wrap a call of the library that calls back in this thread: raise a callback's exception in place of the library's error."""
    _calls.raised.append(None)
    try:
        yield
    except Error:
        raised = _calls.raised[-1]
        if raised is None:
            raise
        raise raised from None
    finally:
        _calls.raised.pop()


def _keep_raised(kind: Any, value: BaseException, trace: Any) -> None:
    """Keep an exception, as none may pass through C."""
    if _calls.raised:
        _calls.raised[-1] = value


def _read(address: Any, number: int, shape: Tuple[int, ...]) -> Any:
    """Copy elements from C's memory; a callback may keep the copy."""
    return numpy.frombuffer(ffi.buffer(address, elements(shape) * BYTES[number]), dtype=numpy_dtype(number)).reshape(shape).copy()


def _write(address: Any, number: int, shape: Tuple[int, ...], value: Any, what: str) -> None:
    array = numpy.asarray(value)
    if array.shape != shape:
        raise InvalidArgument(f"{what} is {array.shape}, and must be {shape}")
    array = numpy.ascontiguousarray(array, dtype=numpy_dtype(number))
    ffi.memmove(address, ffi.cast("void *", array.ctypes.data), array.nbytes)


@ffi.def_extern(error=1, onerror=_keep_raised)  # type: ignore[untyped-decorator]
def tjpy_reference(extent: Any, argument: Any, payload: Any) -> int:
    """Call a reference with copies of the inputs, and take its outputs."""
    spec: Spec = ffi.from_handle(payload)
    numbers = tuple(int(extent[i]) for i in range(len(spec.extents)))
    shapes, given = spec.shapes(numbers), []
    for i, each in enumerate(spec.arguments):
        if each.is_array:
            given.append(_read(argument[i], spec.types[i], shapes[i]))
        else:
            given.append(ffi.cast("int32_t *" if each.kind == "extent" else C_TYPES[NAME[spec.types[i]]], argument[i])[0])
    assert spec.reference is not None
    returned = spec.reference(dict(zip(spec.extents, numbers)), *given)
    outputs = [i for i, each in enumerate(spec.arguments) if each.is_output]
    if returned is not None:
        results = returned if isinstance(returned, tuple) else (returned,)
        if len(results) != len(outputs):
            raise InvalidArgument(f"the reference of {spec.name} returned {len(results)} arrays, and the kernel writes {len(outputs)}")
        for i, result in zip(outputs, results):
            given[i] = result
    for i in outputs:
        _write(argument[i], spec.types[i], shapes[i], given[i], f"{spec.arguments[i].name} by the reference of {spec.name}")
    return 0


@ffi.def_extern(error=1, onerror=_keep_raised)  # type: ignore[untyped-decorator]
def tjpy_fill(extent: Any, index: int, element: Any, payload: Any) -> int:
    """Fill an argument with the application's elements, or with random ones."""
    spec: Spec = ffi.from_handle(payload)
    numbers = tuple(int(extent[i]) for i in range(len(spec.extents)))
    argument, number, shape = spec.arguments[index], spec.types[index], spec.shapes(numbers)[index]
    assert spec.fill is not None
    value = spec.fill(dict(zip(spec.extents, numbers)), argument.name)
    if value is None:
        lib.tj_fill_random(number, element, elements(shape), index + 1)
    else:
        _write(element, number, shape, value, f"{argument.name} by fill of {spec.name}")
    return 0
