# SPDX-License-Identifier: Apache-2.0
"""Problems and epilogues: the product to compute, and its request from arrays."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count as count_from, takewhile
from numbers import Real
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from tilejit._arrays import View, elements, look, tight
from tilejit._binding import ffi, lib
from tilejit._errors import InvalidArgument, check, text
from tilejit._spec import whole
from tilejit._types import BYTES, NAME, NUMBER, PAIRS, advice, compute_number, number_of

ROW, COL = 0, 1
FIELDS = tuple(text(lib.tj_problem_field(i)).replace("-", "_") for i in takewhile(lib.tj_problem_field, count_from(0)))  # of a problem, by name
SCALED = tuple(name for name in FIELDS if name.startswith("scale_") and name != "scale_k")  # by the number of their matrix
SCALES = (*SCALED, "zero_m", "zero_n", "whole_m", "whole_n")  # by their numbers as operands, from TJ_OPERAND_SCALE on
FLOATS = tuple(NUMBER[name] for name in ("f32", "f16", "bf16"))
Format = Union[str, Mapping[str, str], None]
Symmetric = Optional[str]  # "both", "lower", "upper", "hermitian", "hermitian-lower", "hermitian-upper"
_OWN_WORDS = re.compile("batch|.*dtype|compute|layout|ld_|stride_|any|multiple_of|alpha|beta|epilogue")  # shown in a form of Python's own
ANY = -1
BROADCAST = -2
MOST = 2**31 - 1


@dataclass(frozen=True)
class Epilogue:
    """The operation on a sum before it is stored: ``out = alpha * scale_m * scale_n * (a @ b) + beta * c``.

    alpha: a number. With integers and an integer result it is a whole number; of complex arrays it may be complex.
    c: an array of the shape and type of the product, or without its batch dimensions.
    beta: a number; 1 if there is a c, else 0. A beta without a c adds to ``out`` itself.
    scale_m, scale_n: f32 arrays on the device of a: one number, or one for each row of a and each column of b. Not with f64. Scales of
        weights (8 or 4 bits, next to wider floats) may lie along k: an array of shape (parts, rows of a) or (parts, columns of b), whose first
        row multiplies the weights' first ``scale_k`` elements along k, and so on; the last part may have fewer.
        With a ``format`` of the call they are arrays as the quantiser wrote them (docs/scales.md).
    zero_n: zero points of b, for a ``format`` that has them.
    whole_n: one f32 that multiplies all of b, for a ``format`` that has it.
    scale_p: an array that receives the scales of ``out``. Then ``out`` is one matrix of e4m3, e5m2 or int8 (``dtype=`` or ``out``), without a
        batch, or an array of uint8 with two numbers of ``dtype="e2m1"`` in each byte. The array is of float32, or of uint8 for the exponents of powers of two (e8m0). With shape (rows,) it has a scale for each row;
        with shape (rows, parts) a scale for each 128, 64 or 32 columns, whichever gives that number of parts. Its rows or its columns are
        contiguous (docs/epilogues.md). Or a text, such as ``"f32:1x128:row-by-row"``, ``"e8m0:1x32:row-by-row"`` or ``"each"``: then the call makes
        the array, and returns the product and the array.
    expression: the value of ``out`` instead of that formula, such as ``"gelu(acc + bias[col])"``, over ``acc`` (the scaled sum), ``row``,
        ``col``, ``alpha``, ``beta``, ``c`` and operands of any other name (docs/epilogues.md). Pairs of columns,
        ``"silu(acc[2*col]) * acc[2*col+1]"``, give ``out`` half as many columns.
    operands: the expression's operands, by name: a number, or an array on the device of a. ``bias[col]`` is an array of as many
        elements as ``out`` has columns, ``gain[row]`` as many as it has rows, ``residual[row, col]`` of the shape of ``out`` and stored as
        it is, ``factor[0]`` of one; batch dimensions of ``out`` may precede these. An operand whose type the expression leaves out has
        that of its array. Further outputs are operands too, which are written.
    scale_k: the elements of k per scale along k. By default k divided by the parts.
    """

    alpha: Union[float, complex] = 1.0
    c: Any = None
    beta: Union[float, complex, None] = None
    scale_m: Any = None
    scale_n: Any = None
    expression: Optional[str] = None
    operands: Mapping[str, Any] = field(default_factory=dict)
    scale_k: Optional[int] = None
    scale_p: Any = None
    zero_n: Any = None
    whole_n: Any = None

    @property
    def is_plain(self) -> bool:
        """True if it needs no array."""
        return self.c is None and self.scale_k is None and self.expression is None and all(scale is None for scale in self.scales)

    @property
    def scales(self) -> Tuple[Any, ...]:
        """The arrays of scales, and of what goes with them, by their numbers."""
        return tuple(getattr(self, name, None) for name in SCALES)

    @property
    def factor(self) -> Union[float, complex]:
        """beta, as it is used."""
        return self.beta if self.beta is not None else float(self.c is not None)


# Arguments of the call itself: an operand of an expression cannot be passed under these names.
_TAKEN = frozenset(("out", "epilogue", "stream", "dtype", "compute", "context", "n_dtype", "overlap", "format", "symmetric", "conj_a",
                    "conj_b", "invariant", "multiprocessors"))


@lru_cache(maxsize=1024)
def _taken(expression: str, more: Tuple[str, ...]) -> Tuple[str, ...]:
    return tuple(word for word in re.findall(r"[A-Za-z_]\w*", expression) if word in _TAKEN or word in more)


def epilogue_of(epilogue: Any, operands: Mapping[str, Any], *more: str) -> Epilogue:
    """Return a call's epilogue: an Epilogue, or an expression with its operands. more: arguments that matmul does not have. Raises TypeError
    for anything else, and InvalidArgument for an operand with the name of an argument.
    """
    if isinstance(epilogue, str):
        for name in _taken(epilogue, more):
            raise InvalidArgument(f"the epilogue names {name}, which is an argument of the call: give the operand another name, or pass "
                                  f"epilogue=tilejit.Epilogue(expression=..., operands={{{name!r}: ...}})")
        own = {name: value for name, value in operands.items() if name not in ("alpha", "beta", "c")}
        return Epilogue(expression=epilogue, operands=own, **{name: value for name, value in operands.items() if name not in own})
    if operands:
        raise TypeError(f"matmul has no argument {next(iter(operands))}, unless an operand of its epilogue has that name: write "
                        "epilogue='gelu(acc + bias[col])', bias=bias")
    if epilogue is not None and not isinstance(epilogue, Epilogue):
        raise TypeError(f"epilogue is a {type(epilogue).__qualname__}: pass an expression, such as 'relu(acc)', or an Epilogue")
    return epilogue or _PLAIN


_PLAIN = Epilogue()
_PLAIN_SCALES = _PLAIN.scales
BY_COL, BY_ROW, BY_BOTH, BY_PRODUCT = 1, 2, 3, 4


@dataclass
class Operand:
    """One operand of an expression: an array, or a number."""

    name: str
    view: Optional[View]
    number: float = 0.0

    def key(self) -> Tuple[Any, ...]:
        """All properties that a call depends on, except the address and the number."""
        return (self.name, self.view and self.view.key())


def look_at_operands(epilogue: Epilogue, stream: Optional[int]) -> Tuple[Operand, ...]:
    """Examine the operands of its expression, in any order."""
    return tuple(Operand(name, None, float(value)) if isinstance(value, Real) else Operand(name, look(value, f"the operand {name}", stream))
                 for name, value in epilogue.operands.items())


def parse_epilogue(expression: str, epilogue: Any) -> None:
    """Fill in a tj_epilogue. Raises InvalidArgument, with the place, for an invalid expression."""
    error = ffi.new("tj_error *")
    check(lib.tj_epilogue_parse(expression.encode("utf-8", "replace"), ffi.addressof(epilogue), error), error)


class Problem:
    """The product P (j x l) = M (j x k) . N (k x l), its types and how its matrices are stored: no data, and no device.

    Problems that ask for the same are equal; they may be keys of a dict, and are pickled.

    j, k, l: extents in elements, from 1 on (k may be 0).
    dtype: the type of M and N; n_dtype: of N, where it is another (e4m3 with e5m2, s8 with u8, f32 with f16 and bf16, weights of 8 or 4 bits with these three).
    out_dtype: the type of P. Default: f32 for sums in f32 of 8-bit floats, s32 for integers, else that of M.
    layouts: three letters for M, N and P: r is row-major, c column-major.
    batch: the number of such products, stored one after the other.
    compute: "tf32", "f32_split" and the like, instead of the type's own sums.
    alpha, beta: True if the launch multiplies by alpha, and adds beta * C.
    epilogue: an expression in place of both, such as ``"gelu(acc + bias:bf16[col])"``, whose operands without a type are f32 (f64 with f64);
        or an ``Epilogue``, of whose arrays only types and shapes count.
    any: properties that are arguments of each launch instead of constants of the source: of ``"j"``, ``"k"``, ``"l"``, ``"batch"``,
        ``"ld"`` (leading dimensions), ``"stride"`` and ``"all"``, one (``any="j"``) or several (``any="j,batch"``, or a list). The extents
        are then those to tune and to predict with.
    multiple_of: a divisor of every extent of a dimension in ``any``: ``{"j": 16}``.
    fields: the rest of what a problem may have; names and values are those of the command's options.
    groups: of how many products, each with an N of its own, M and P hold the rows, as ``matmul_grouped`` has them; j is all of the rows.
    offsets: the memory of the offsets of groups: "device" or "host", of 4 bytes each, or "device64" or "host64".
    format: a name for types and scales that go together, such as "fp8_block" (docs/scales.md), with an N that lies as l x k. Other arguments
        replace what it says.
    scale_m, scale_n: scales that the launch brings: "one"; "each", for each row of M or column of N; "along-k", for weights, each for scale_k
        elements of k; or any other, such as "f32:128x128:row-by-row".
    overlap: True: a launch may start while the kernel before it in the stream still runs; it waits before it touches an operand.
    symmetric: "both", "lower" or "upper", or "hermitian" and its kin, as for ``matmul``: one triangle of P is computed.
    invariant: "rows": the bits of a row of P do not depend on the number of rows, nor on the kernel (docs/invariant.md).
    multiprocessors: launches occupy at most this number of the device's multiprocessors (docs/share.md).

    Raises InvalidArgument for a problem that cannot be computed, TypeError for an unknown type.
    """

    __slots__ = ("_c",)

    def __init__(self, j: int, k: int, l: int, dtype: Any = "f32", *, n_dtype: Any = None, out_dtype: Any = None, layouts: Optional[str] = None,
                 batch: int = 1, compute: Optional[str] = None, alpha: bool = False, beta: bool = False, format: Format = None,
                 epilogue: Union[Epilogue, str, None] = None, any: Union[str, Iterable[str]] = (), multiple_of: Optional[Mapping[str, int]] = None,
                 **fields: Union[int, str, None]) -> None:
        if layouts is not None and (not isinstance(layouts, str) or len(layouts) != 3 or set(layouts) - set("rc")):
            raise InvalidArgument(f"layouts is {layouts!r}: write three letters for M, N and P, each r or c")
        c = new_problem()
        c.j.extent, c.k.extent, c.l.extent, c.batch = (count(each, name, 0) for each, name in ((j, "j"), (k, "k"), (l, "l"), (batch, "batch")))
        if c.batch < 1:
            raise InvalidArgument("batch is 0: it must be 1 or more")
        c.m.type = number_of(dtype)
        _set_format(c, format)
        c.m.type = c.m.type if dtype == "f32" else number_of(dtype)
        c.n.type = c.n.type if n_dtype is None else number_of(n_dtype, "n_dtype")
        c.p.type = c.p.type if out_dtype is None else number_of(out_dtype, "out_dtype")
        for matrix, letter in zip((c.m, c.n, c.p), layouts or ""):
            matrix.layout = "rc".index(letter)
        c.c.layout = c.p.layout
        c.compute = c.compute if compute is None else compute_number(compute)
        c.epilogue.has_alpha, c.epilogue.has_beta = int(alpha), int(beta)
        if epilogue is not None:
            if alpha or beta:
                raise InvalidArgument("the epilogue says whether there are alpha and beta: leave the arguments out")
            _take_epilogue(c, epilogue_of(epilogue, {}), fields)
        for name in set(fields) - set(name for name in FIELDS if not _OWN_WORDS.match(name)):
            raise TypeError(f"Problem has no argument {name}")
        for name in FIELDS:
            if fields.get(name) is not None:
                set_field(c, name, fields[name])
        set_field(c, "any", any if isinstance(any, str) else ",".join(any))
        set_field(c, "multiple_of", ",".join(f"{name}={step}" for name, step in (multiple_of or {}).items()))
        self._c = checked(c)

    @classmethod
    def of(cls, a: Any, b: Any, /, out: Any = None, *, epilogue: Union[Epilogue, str, None] = None, dtype: Any = None,
           compute: Optional[str] = None, n_dtype: Any = None, overlap: bool = False, format: Format = None,
           symmetric: Symmetric = None, invariant: Optional[str] = None, multiprocessors: Optional[int] = None, **operands: Any) -> "Problem":
        """The problem that ``matmul`` of the same arguments launches, with the strides of these arrays."""
        problem = cls.__new__(cls)
        problem._c = request_of(a, b, out, epilogue_of(epilogue, operands), dtype, compute, None, n_dtype,
                                overlap, with_fields(format, invariant=invariant, multiprocessors=multiprocessors), symmetric).problem
        return problem

    def _bytes(self) -> bytes:
        return bytes(ffi.buffer(self._c))

    def __eq__(self, other: object) -> bool:
        return self._bytes() == other._bytes() if isinstance(other, Problem) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._bytes())

    def __reduce__(self) -> Tuple[Any, ...]:
        return (_unpickled, (self._bytes(),))

    @property
    def shape(self) -> Tuple[int, int, int]:
        """(j, k, l)."""
        return (self._c.j.extent, self._c.k.extent, self._c.l.extent)

    @property
    def batch(self) -> int:
        """The number of products; 1 if each launch gives it."""
        return max(1, int(self._c.batch))

    @property
    def groups(self) -> int:
        """The number of groups; 0: none."""
        return int(self._c.rows.groups)

    @property
    def any(self) -> Tuple[str, ...]:
        """The arguments of each launch, of "j", "k", "l", "batch", "ld" and "stride"."""
        c, matrices = self._c, _matrices(self._c)
        is_open = {"j": c.j.mode, "k": c.k.mode, "l": c.l.mode, "batch": c.batch == ANY, "ld": ANY in [matrix.ld for matrix in matrices],
                   "stride": ANY in [matrix.stride for matrix in matrices]}
        return tuple(name for name, found in is_open.items() if found)

    @property
    def dtype(self) -> str:
        """The type of M."""
        return NAME[self._c.m.type]

    @property
    def n_dtype(self) -> str:
        """The type of N."""
        return NAME[self._c.n.type]

    @property
    def out_dtype(self) -> str:
        """The type of P."""
        return NAME[self._c.p.type]

    def __str__(self) -> str:
        c, plain = self._c, ffi.new("tj_problem *", self._c[0])
        plain.compute = 0
        words = ["x".join(str(extent) for extent in self.shape + ((self.batch,) if self.batch > 1 else ())), NAME[c.m.type]]
        if c.n.type != c.m.type:
            words[-1] += "*" + NAME[c.n.type]
        if c.p.type != c.m.type:
            words[-1] += "->" + NAME[c.p.type]
        words.append("".join("rc"[matrix.layout] for matrix in (c.m, c.n, c.p)))
        if c.compute != lib.tj_problem_canonical(plain).compute:
            words.append(text(lib.tj_compute_name(c.compute)))
        if c.epilogue.expression.nodes:
            line = ffi.new("char[]", lib.TJ_EPILOGUE_TEXT_BYTES)
            lib.tj_epilogue_print(ffi.addressof(c.epilogue), line)
            words.append(text(line))
        else:
            words += [word for word, has in (("alpha", c.epilogue.has_alpha), ("beta", c.epilogue.has_beta)) if has]
        cell = ffi.new("char[]", lib.TJ_PROBLEM_FIELD_BYTES)
        for name in FIELDS:
            lib.tj_problem_get(c, name.replace("_", "-").encode(), cell)
            if text(cell) and not _OWN_WORDS.match(name):
                words.append(f"{name}={text(cell)}")
        if self.any:
            words.append("any=" + ",".join(self.any))
        words += [f"{name}%{dim.multiple_of}" for name, dim in (("j", c.j), ("k", c.k), ("l", c.l)) if dim.multiple_of > 1]
        return " ".join(words)

    def __repr__(self) -> str:
        return f"<tilejit.Problem {self}>"


def _unpickled(content: bytes) -> Problem:
    problem, c = Problem.__new__(Problem), new_problem()
    ffi.memmove(c, content, min(len(content), ffi.sizeof("tj_problem")))  # its size comes first: one of an older version is shorter
    problem._c = checked(c)
    return problem


def count(value: Any, name: str, least: int, most: int = 2**63 - 1) -> int:
    """Return an integer in bounds. Raises InvalidArgument, and TypeError if it is not an integer."""
    number = whole(value, name)
    if not least <= number <= most:
        raise InvalidArgument(f"{name} is {number}: it must be " + (f"{least} or more" if number < least else f"{most} at most"))
    return number


def set_field(c: Any, name: str, value: Any) -> None:
    """Set a field of a tj_problem from text or a number. Raises InvalidArgument for a value that it cannot have."""
    error, word, value = ffi.new("tj_error *"), name.replace("_", "-"), int(value) if isinstance(value, bool) else value
    try:
        check(lib.tj_problem_set(c, word.encode(), str(value).encode("utf-8", "replace"), error), error)
    except InvalidArgument as wrong:
        raise InvalidArgument(str(wrong).replace(word, name)) from None


def _set_format(c: Any, format: Format) -> None:
    """Set the types and scales of a format: of a name, or of a mapping from fields to their text."""
    for name, value in ([("format", format)] if isinstance(format, str) else (format or {}).items()):
        set_field(c, name, value)


def with_fields(format: Format, **fields: Union[str, int, None]) -> Format:
    """Return a format that sets these fields too; None: it does not."""
    more = {name: str(value) for name, value in fields.items() if value is not None}
    return {**({"format": format} if isinstance(format, str) else format or {}), **more} if more else format


def _matrices(c: Any) -> Tuple[Any, ...]:
    return (c.m, c.n, c.p, c.c) if c.epilogue.has_beta else (c.m, c.n, c.p)


def _take_epilogue(c: Any, epilogue: Epilogue, fields: Mapping[str, Any]) -> None:
    """Take the epilogue of a problem without arrays."""
    scales = look_at_epilogue(epilogue, None)[1]
    if epilogue.expression is not None and not epilogue.operands:
        parse_epilogue(epilogue.expression, c.epilogue)
    else:
        _set_epilogue(c, epilogue, look_at_operands(epilogue, None))
    for name, view in zip((*SCALED, "scale_k"), (*scales, epilogue.scale_k)):
        if view is not None and fields.get(name) is not None:
            raise InvalidArgument(f"{name} is {fields[name]!r}, and the epilogue has one too: leave one of them out")
    _set_scales(c, None, scales, epilogue.scale_k)


def new_problem() -> Any:
    """Return a tj_problem with every default."""
    problem = ffi.new("tj_problem *")
    problem.struct_size = ffi.sizeof("tj_problem")
    return problem


def checked(problem: Any) -> Any:
    """Check a problem and return its canonical form, by whose bytes the library finds a plan. Raises the library's error."""
    error = ffi.new("tj_error *")
    check(lib.tj_problem_check(problem, error), error)
    return ffi.new("tj_problem *", lib.tj_problem_canonical(problem))


def _checked(problem: Any) -> Any:
    """Check the problem of a call. Raises errors in the call's terms."""
    try:
        return checked(problem)
    except InvalidArgument as error:
        raise InvalidArgument(in_words_of_a_call(str(error))) from None


def _shape_of(problem: Any, which: int) -> Any:
    """Return the tj_operand_shape of an operand of a call's problem. Raises errors in the call's terms."""
    shape, error = ffi.new("tj_operand_shape *"), ffi.new("tj_error *")
    shape.struct_size = ffi.sizeof("tj_operand_shape")
    try:
        check(lib.tj_operand_get_shape(problem, which, shape, error), error)
    except InvalidArgument as wrong:
        raise InvalidArgument(in_words_of_a_call(str(wrong))) from None
    return shape


def in_words_of_a_call(message: str) -> str:
    """Rewrite a message of the library about M, N and P for a call with a, b and out."""
    return re.sub(r"\b[MNPC]\b", lambda found: {"M": "a", "N": "b", "P": "out", "C": "c"}[found[0]], message.replace("such a P", "such an out"))


class Request:
    """The request of a matmul call, for arrays of given shapes and strides: a problem, and the start of each launch."""

    __slots__ = ("problem", "operands", "out_shape", "out_type", "offsets", "is_empty", "withs", "has_c")

    def __init__(self, out_shape: Tuple[int, ...], out_type: int) -> None:
        self.problem: Any = None
        self.operands: Any = None
        self.out_shape = out_shape
        self.out_type = out_type
        self.offsets: List[Tuple[int, ...]] = []  # bytes from the beginnings of a, b, out and c, and of the arrays in withs
        self.withs: Dict[str, int] = {}  # operands of the expression, and their numbers
        self.has_c = False  # c, or out in its place, is read
        self.is_empty = 0 in out_shape


def request_of(a: Any, b: Any, out: Any, epilogue: Epilogue, dtype: Any, compute: Optional[str], stream: Optional[int], n_dtype: Any,
               overlap: bool, format: Format = None, symmetric: Symmetric = None) -> Request:
    """Return the request of arrays not examined yet."""
    return request(look_at(a, b, out, epilogue, stream, n_dtype, format), epilogue, dtype, compute, overlap, format, symmetric)


def look_at(a: Any, b: Any, out: Any, epilogue: Epilogue, stream: Optional[int], n_dtype: Any, format: Format,
            conjugated: Tuple[bool, bool] = (False, False)) -> Arrays:
    """Examine the arrays of a call. conjugated: whether the conjugates of a and b are to be multiplied."""
    va, vb = look(a, "a", stream), look(b, "b", stream)
    va.conjugated, vb.conjugated = va.conjugated != bool(conjugated[0]), vb.conjugated != bool(conjugated[1])
    take_types(va, vb, n_dtype, format)
    vo = None if out is None else look(out, "out", stream)
    return Arrays(va, vb, vo, *look_at_epilogue(epilogue, stream), look_at_operands(epilogue, stream))


def format_key(format: Format) -> Any:
    """A format as part of a key."""
    return tuple(format.items()) if isinstance(format, Mapping) else format


def _check_type(name: str, view: View, number: int, format: Format) -> None:
    """Raise InvalidArgument for an array that has neither the type of a format nor the bytes of one."""
    are_bytes = BYTES[number] == 1
    if view.type != number and not (view.type == NUMBER["u8"] and are_bytes):
        raise InvalidArgument(f"{name} is of {NAME[view.type]}, and the format {format} takes {NAME[number]}"
                              + (", or its bytes as uint8" if are_bytes else ""))


def take_types(a: View, b: View, n_dtype: Any, format: Format) -> None:
    """Let bytes be numbers of the types that n_dtype and a format say. Raises InvalidArgument for arrays of other types."""
    if n_dtype is not None:
        take_as(b, n_dtype)
    if format is None:
        return
    wanted = new_problem()
    wanted.m.type = a.type
    _set_format(wanted, format)
    for view, number, name in ((a, wanted.m.type, "a"), (b, wanted.n.type, "b")):
        if number != 0:
            _check_type(name, view, number, format)
            view.type = number


def take_as(b: View, n_dtype: Any) -> None:
    """Let the bytes of b be pairs of numbers of 4 bits. Raises InvalidArgument if b or n_dtype is something else."""
    number = number_of(n_dtype, "n_dtype")
    if number not in PAIRS:
        raise InvalidArgument(f"n_dtype is {n_dtype!r}: leave it out, b says its type, but for \"s4\", \"u4\" and \"e2m1\"")
    if b.type not in (number, NUMBER["u8"]) or len(b.shape) < 2:
        raise InvalidArgument(f"b is {b.shape} of {NAME[b.type]}: matrices of {NAME[number]} are arrays of uint8 with two numbers in each byte")
    b.type = number


class Arrays(NamedTuple):
    """The arrays of a call, examined."""

    a: View
    b: View
    out: Optional[View]
    c: Optional[View]
    scales: Tuple[Optional[View], ...]
    operands: Sequence[Operand]

    def named(self) -> Tuple[Tuple[Optional[View], str], ...]:
        """Return them with their names, except those of an expression."""
        return tuple(zip((*self[:4], *self.scales), ("a", "b", "out", "epilogue.c", *(f"epilogue.{name}" for name in SCALES))))

    def key(self) -> Tuple[Any, ...]:
        """Return all that a request takes from them."""
        return (*(view and view.key() for view, _ in self.named()), *(operand.key() for operand in self.operands))


def look_at_epilogue(epilogue: Epilogue, stream: Optional[int]) -> Tuple[Optional[View], Tuple[Optional[View], ...]]:
    """Examine its arrays: c and the scales."""
    if epilogue is _PLAIN:
        return None, _PLAIN_SCALES
    return (None if epilogue.c is None else look(epilogue.c, "epilogue.c", stream),
            tuple(None if scale is None else look(scale, f"epilogue.{name}", stream) for name, scale in zip(SCALES, epilogue.scales)))


def request(given: Arrays, epilogue: Epilogue, dtype: Any, compute: Optional[str], overlap: bool = False, format: Format = None,
            symmetric: Symmetric = None) -> Request:
    """Turn arrays into a problem by the rules of numpy.matmul, without copying any. Raises InvalidArgument if strides do not allow it."""
    a, b, out, c, scales, operands = given
    for view, name in ((a, "a"), (b, "b")):
        if NAME[view.type] == "s32":
            raise TypeError(f"the type of {name} is int32, which only a product has: {advice('int32')}")
        if not view.shape:
            raise InvalidArgument(f"{name} has no dimensions: multiply by a number with epilogue=tilejit.Epilogue(alpha=...)")
    _same_place(given.named() + tuple((operand.view, f"the operand {operand.name}") for operand in operands))

    # A vector is a matrix of one row, or of one column, whose dimension the product does not have.
    a_shape, a_strides = (a.shape, a.strides) if len(a.shape) > 1 else ((1,) + a.shape, (a.shape[0] * max(a.strides[0], 1),) + a.strides)
    b_shape, b_strides = (b.shape, b.strides) if len(b.shape) > 1 else (b.shape + (1,), b.strides + (1,))
    j, k, l = a_shape[-2], a_shape[-1], b_shape[-1]
    has_pairs = b.type in PAIRS
    if a.type in PAIRS:
        raise InvalidArgument(f"a is of {NAME[a.type]}: weights of 4 bits are b, as in (b.T @ a.T).T")
    along_k = has_pairs and b_shape[-2] != k  # pairs are neighbours of a column
    if has_pairs:
        l = l if along_k else 2 * l
    if b_shape[-2] != k and not (along_k and b_shape[-2] == (k + 1) // 2):
        raise InvalidArgument(f"a is {a.shape} and b is {b.shape}: a has {k} columns and b has {b_shape[-2]} rows, which must be as many")
    batch = _broadcast(a_shape[:-2], b_shape[:-2], a.shape, b.shape)

    problem = new_problem()
    problem.m.type = a.type
    _set_format(problem, format)
    problem.m.type, problem.n.type = a.type, b.type
    problem.m.conjugated, problem.n.conjugated = a.conjugated, b.conjugated
    problem.compute = compute_number(compute) if compute is not None else problem.compute
    problem.overlap = bool(overlap)
    if symmetric is not None:
        set_field(problem, "symmetric", symmetric)
    asked = None if dtype is None else number_of(dtype)
    holds_pairs = asked in PAIRS and out is not None and out.type == NUMBER["u8"]  # two numbers in each byte
    problem.p.type = out.type if out is not None and not holds_pairs else problem.p.type if asked is None else asked
    if scales[lib.TJ_MATRIX_P] is not None:
        if batch or len(a.shape) == 1 or len(b.shape) == 1:
            raise InvalidArgument(f"epilogue.scale_p receives the scales of one matrix, and a is {a.shape} and b {b.shape}: pass two matrices")
        set_field(problem, "scale_p", "each")  # so that types go together; _set_quantized says the rest
    if out is not None and asked is not None and asked != out.type and not holds_pairs:
        raise InvalidArgument(f"dtype is {NAME[asked]} and out is of {NAME[out.type]}: leave one of them out")
    _set_epilogue(problem, epilogue, operands)
    if problem.epilogue.has_beta and c is None and out is None:
        raise InvalidArgument(f"beta is {epilogue.factor} and there is nothing to add: pass epilogue.c, or out, which is then added to"
                              if epilogue.expression is None else "the epilogue reads c, and there is none: pass c, or out, which is then read")
    problem.j.extent, problem.k.extent, problem.l.extent = j or 1, k, l or 2  # of an empty product too, types must go together
    p = _shape_of(problem, lib.TJ_MATRIX_P)
    columns = p.cols if l else 0
    shown = batch + (() if len(a.shape) == 1 else (j,)) + (() if len(b.shape) == 1 else (columns,))
    if 0 in shown and epilogue.expression is None:
        problem.epilogue.has_beta = 0
    made = Request(shown, NUMBER["u8"] if p.type in PAIRS else p.type)  # NumPy has no pairs
    if c is not None and c.type != made.out_type:
        raise InvalidArgument(f"epilogue.c is of {NAME[c.type]} and the product of {NAME[made.out_type]}: they must be of the same type")

    full = batch + (j, columns)
    for each, name in ((out, "out"), (c, "epilogue.c")):
        if each is not None and each.conjugated:
            raise InvalidArgument(f"{name} is a lazy conjugate: pass {name}.resolve_conj()")
    if out is not None:
        if out.shape != shown:
            raise InvalidArgument(f"out is {out.shape} and the product is {shown}")
        if out.read_only:
            raise InvalidArgument("out is read-only" + (", as every JAX array is: leave it out" if out.kind == "jax" else ""))
    made.problem = problem
    made.operands = ffi.new("tj_operands *")
    made.operands.struct_size = ffi.sizeof("tj_operands")
    if made.is_empty and lib.tj_epilogue_reduces(ffi.addressof(problem.epilogue)):
        raise InvalidArgument(f"the epilogue reduces rows or columns, and the product is {shown}: it needs a row and a column")
    if made.is_empty:
        made.problem = checked(problem)
        return made

    # Matrices
    p_strides = tight(full) if out is None else _with_vectors(out.strides, full, a, b)
    p_layout, p_ld = _lay("out", j, columns, p_strides[-2], p_strides[-1], ROW)
    m_layout, m_ld = _lay("a", j, k, a_strides[-2], a_strides[-1], ROW)
    n_layout, n_ld = _lay("b", b_shape[-2], b_shape[-1], b_strides[-2], b_strides[-1], COL if along_k else ROW)
    if has_pairs and (n_layout == COL) != along_k:
        raise InvalidArgument(f"b is {b.shape} with strides of {b.strides} and a has {k} columns: two weights in a byte are neighbours of a "
                              + ("column, so columns" if along_k else "row, so rows") + " must be contiguous")
    c_strides: Tuple[int, ...] = (0,) * len(full)
    c_ld = 0
    if c is not None and problem.epilogue.has_beta:
        c_strides = _strides_of_c(c, shown, full, a, b)
        c_layout, c_ld = _lay("epilogue.c", j, columns, c_strides[-2], c_strides[-1], p_layout)
        if c_layout != p_layout:
            raise InvalidArgument("epilogue.c is " + ("column" if c_layout else "row") + "-major and out is not: both must be stored in the same "
                                  "layout; copy one of them")
    elif problem.epilogue.has_beta:
        c_strides, c_ld = p_strides, p_ld

    # The batch: one stride for each operand, and a launch for each product of the dimensions that one stride cannot express.
    arrays = [operand for operand in operands if operand.view is not None]
    steps: Tuple[Tuple[int, ...], ...] = (_stretch(a_strides[:-2], a_shape[:-2], batch), _stretch(b_strides[:-2], b_shape[:-2], batch),
                                          p_strides[:-2], c_strides[:-2])
    steps += tuple(_lay_operand(made, operand, batch, p_layout) for operand in arrays)
    dims = _merge(batch, steps)
    inner = max(range(len(dims)), key=lambda i: dims[i][0]) if dims else None
    many, stride = dims.pop(inner) if inner is not None else (1, (0,) * len(steps))
    if many > 1 and stride[2] == 0:
        raise InvalidArgument(f"out has strides of {out.strides if out else ()}: its products lie in the same memory")
    has_c = made.has_c = bool(problem.epilogue.has_beta)
    if (many > 1 and stride[1] == 0 and scales[lib.TJ_MATRIX_M] is None and m_layout == p_layout == ROW and stride[0] == j * m_ld and stride[2] == j * p_ld
            and (not has_c or stride[3] == j * c_ld) and j * many <= MOST and not _names_rows(problem) and not problem.symmetric
            and all(_goes_on(made, operand, stride[4 + i], j) for i, operand in enumerate(arrays))):
        j, many, stride = j * many, 1, (0,) * len(steps)  # all share b: together they are one taller product
    problem.j.extent, problem.batch = j, many
    for matrix, layout, ld, step in ((problem.m, m_layout, m_ld, stride[0]), (problem.n, n_layout, n_ld, stride[1]),
                                     (problem.p, p_layout, p_ld, stride[2])):
        matrix.layout, matrix.ld, matrix.stride = layout, ld, _stride(step, many)
    if has_c:
        problem.c.layout, problem.c.ld, problem.c.stride = p_layout, c_ld, _stride(stride[3], many)
    if format is None:
        _set_scales(problem, made.operands, scales, epilogue.scale_k)
    else:
        _set_scales_of_format(problem, made.operands, scales, epilogue.scale_k, format)
    for scale in (*made.operands.scale[0:lib.TJ_MATRIX_P], *made.operands.zero, *made.operands.whole):
        scale.stride = BROADCAST
    for i, operand in enumerate(arrays):
        getattr(made.operands, "with")[made.withs[operand.name]].stride = _stride(stride[4 + i], many)
    made.problem = _checked(problem)

    sizes = (BYTES[a.type], BYTES[b.type], BYTES[made.out_type], BYTES[made.out_type]) + tuple(BYTES[operand.view.type] for operand in arrays
                                                                                             if operand.view is not None)
    starts: List[Tuple[int, ...]] = [(0,) * len(steps)]
    for extent, move in dims:
        starts = [tuple(start[i] + index * move[i] for i in range(len(steps))) for start in starts for index in range(extent)]
    made.offsets = [tuple(start[i] * sizes[i] for i in range(len(steps))) for start in starts]
    return made


def _set_epilogue(problem: Any, epilogue: Epilogue, operands: Sequence[Operand]) -> None:
    if epilogue.expression is None:
        problem.epilogue.has_alpha = int(epilogue.alpha != 1)
        problem.epilogue.has_beta = int(epilogue.factor != 0)
    else:
        _declare(problem, epilogue.expression, operands)


def _set_scales_of_format(problem: Any, operands: Any, scales: Sequence[Optional[View]], scale_k: Optional[int], format: Format) -> None:
    """Compare arrays of scales with those of a format, and set their leading dimensions."""
    if scale_k is not None:
        raise InvalidArgument(f"epilogue.scale_k is {scale_k}, and the format {format} says it: leave it out")
    own, view_n = problem.scale[lib.TJ_MATRIX_N], scales[lib.TJ_MATRIX_N]
    if view_n is not None and own.type in FLOATS[1:] and view_n.type in FLOATS:
        own.type = view_n.type  # of weights, either will do
    slots = (*operands.scale, *operands.zero, *operands.whole)
    for i, (name, view, slot) in enumerate(zip(SCALES, scales, slots)):
        if i == lib.TJ_MATRIX_P:
            continue
        shape = _shape_of(problem, lib.TJ_OPERAND_SCALE + i)
        wanted = (int(shape.rows), int(shape.cols))
        if view is None and not shape.is_taken:
            continue
        if view is None:
            raise InvalidArgument(f"the format {format} has epilogue.{name}: pass {wanted[0]} x {wanted[1]} elements of {NAME[shape.type]}")
        if not shape.is_taken:
            raise InvalidArgument(f"the format {format} has no epilogue.{name}: leave it out")
        _check_type(f"epilogue.{name}", view, shape.type, format)
        if 1 in wanted and elements(view.shape) == wanted[0] * wanted[1] and view.strides == tight(view.shape):
            slot.ld = wanted[1]  # a vector may have any dimensions
        elif view.shape == wanted and view.strides[1] == 1 and view.strides[0] >= wanted[1]:
            slot.ld = view.strides[0]
        else:
            raise InvalidArgument(f"epilogue.{name} is {view.shape} with strides of {view.strides}: the format {format} takes {wanted}, row after row")
    _set_quantized(problem, operands, scales[lib.TJ_MATRIX_P])


def _set_scales(problem: Any, operands: Any, scales: Sequence[Optional[View]], scale_k: Optional[int]) -> None:
    """Set the number of scales of a problem with known extents, and their leading dimensions, if there are operands."""
    for i, (name, view, extent, what) in enumerate(zip(SCALED, scales, (problem.j.extent, problem.l.extent), ("a has rows", "b has columns"))):
        if view is None:
            continue
        word = _scale(f"epilogue.{name}", view, extent, what, scale_k)
        set_field(problem, name, word)
        if word == "along-k":
            problem.scale[i].k = _scale_k(scale_k, view.shape[0], problem.k.extent)
        if word == "along-k" and operands:
            operands.scale[i].ld = view.strides[0] if view.shape[0] > 1 else view.shape[1]
    for name, view in zip(SCALES[len(SCALED):], scales[len(SCALED):]):
        if view is not None:
            raise InvalidArgument(f"epilogue.{name} goes with a format that has it: pass format=")
    _set_quantized(problem, operands, scales[lib.TJ_MATRIX_P])
    if scale_k is not None and not any(scale.k for scale in problem.scale[0:lib.TJ_MATRIX_P]):
        raise InvalidArgument(f"epilogue.scale_k is {scale_k} and no scales lie along k: pass them as an array of shape (parts, columns of b)")


_COLUMNS = (128, 64, 32)  # of P, for each of its scales


def new_scales(how: str, rows: Tuple[int, ...], cols: int) -> Tuple[Tuple[int, ...], int]:
    """Return the shape and the type of an array for the scales of P that a text describes. Raises InvalidArgument for another text.

    rows: the dimensions of P but its last one.
    """
    wanted = new_problem()
    set_field(wanted, "scale_p", how)
    scale = wanted.scale[lib.TJ_MATRIX_P]
    if NAME[scale.type] not in ("f32", "e8m0") or scale.rows != 1 or scale.k not in (0, *_COLUMNS):
        raise InvalidArgument(f"epilogue.scale_p is {how!r}: the scales of out are of f32 or e8m0, for 32, 64 or 128 columns of a row or all of them, "
                              "as in f32:1x128:row-by-row")
    if scale.k and scale.layout != lib.TJ_SCALES_ROW_BY_ROW:
        raise InvalidArgument(f"epilogue.scale_p is {how!r}: a new array lies row by row, so write {NAME[scale.type]}:1x{scale.k}:row-by-row, or "
                              "pass an array, whose strides may say otherwise")
    return (*rows, -(-cols // scale.k)) if scale.k else rows, NUMBER["f32" if NAME[scale.type] == "f32" else "u8"]


def _set_quantized(problem: Any, operands: Any, view: Optional[View]) -> None:
    """Set the scales of P that an array receives, by its shape."""
    if view is None:
        return
    rows, cols = problem.j.extent, problem.l.extent // (2 if lib.tj_epilogue_pairs(ffi.addressof(problem.epilogue)) else 1)
    parts = view.shape[1] if len(view.shape) == 2 else 1
    columns = [0] if len(view.shape) == 1 else [each for each in _COLUMNS if -(-cols // each) == parts]
    by_rows = len(view.shape) == 1 or parts == 1 or view.strides[1] == 1
    ld = view.shape[0] if len(view.shape) == 1 else view.strides[0] if by_rows and rows > 1 else parts if by_rows else view.strides[1]
    if NAME[view.type] not in ("f32", "u8", "e8m0"):
        raise InvalidArgument(f"epilogue.scale_p is of {NAME[view.type]}: the scales of out are float32, or uint8 for powers of two (e8m0)")
    if len(view.shape) not in (1, 2) or view.shape[0] != rows or not columns:
        raise InvalidArgument(f"epilogue.scale_p is {view.shape} and out has {rows} rows of {cols} columns: pass an array of ({rows},), or of "
                              + ", ".join(f"({rows}, {-(-cols // each)})" for each in _COLUMNS) + " for 128, 64 or 32 columns each")
    if view.strides[0] != 1 and (len(view.shape) == 1 or not by_rows):
        raise InvalidArgument(f"epilogue.scale_p has strides of {view.strides}: its rows or its columns must be contiguous")
    if view.read_only:
        raise InvalidArgument("epilogue.scale_p is read-only, and receives the scales of out")
    word = "f32" if NAME[view.type] == "f32" else "e8m0"
    set_field(problem, "scale_p", f"{word}:1x{columns[0] or 'all'}{':row-by-row' if by_rows and columns[0] else ''}")
    if operands and columns[0]:
        operands.scale[lib.TJ_MATRIX_P].ld = ld


def _declare(problem: Any, expression: str, operands: Sequence[Operand]) -> None:
    """Parse an expression, and give operands whose type it leaves out that of their arrays."""
    parse_epilogue(expression, problem.epilogue)
    tree = problem.epilogue.expression
    given = {operand.name: operand for operand in operands}
    for i in range(tree.operands):
        declared = tree.operand[i]
        name = text(declared.name)
        operand = given.pop(name, None)
        if operand is None:
            raise InvalidArgument(f"the epilogue names {name}, which is not there: pass {name}=...")
        if (operand.view is None) != (declared.indexed == 0):
            raise InvalidArgument(f"{name} is " + ("a number and the epilogue indexes it: pass an array" if operand.view is None else
                                                   f"an array and the epilogue takes it for a number: pass one, or index it, such as {name}[col]"))
        if operand.view is None:
            continue
        if declared.type == 0:
            declared.type = operand.view.type
        if declared.type != operand.view.type:
            raise InvalidArgument(f"the operand {name} is of {NAME[operand.view.type]}, and the epilogue says {NAME[declared.type]}")
        if declared.is_output and operand.view.read_only:
            raise InvalidArgument(f"the output {name} is read-only")
    if given:
        raise InvalidArgument(f"the epilogue has no operand {next(iter(given))}: {expression}")


def _lay_operand(made: Request, operand: Operand, batch: Tuple[int, ...], p_layout: int) -> Tuple[int, ...]:
    """Return its strides over the batch; its leading dimension goes into the operands."""
    tree, view, name = made.problem.epilogue.expression, operand.view, operand.name
    assert view is not None
    index = made.withs[name] = lib.tj_epilogue_find(ffi.addressof(made.problem.epilogue), name.encode())
    indexed = tree.operand[index].indexed
    shape = _shape_of(made.problem, lib.TJ_OPERAND_WITH + index)
    own = {BY_COL: (shape.cols,), BY_ROW: (shape.rows,), BY_BOTH: (shape.rows, shape.cols), BY_PRODUCT: (1,)}[indexed]
    lead = len(view.shape) - len(own)
    if lead < 0 or lead > len(batch) or view.shape[lead:] != own or any(x not in (1, y) for x, y in zip(view.shape[:lead], batch[len(batch) - lead:])):
        raise InvalidArgument(f"the operand {name} is {view.shape}, and the epilogue asks for {own}, with batch dimensions of {batch} ahead or without")
    if indexed == BY_BOTH:
        layout, ld = _lay(f"the operand {name}", shape.rows, shape.cols, view.strides[-2], view.strides[-1], p_layout)
        if layout != p_layout:
            raise InvalidArgument(f"the operand {name} is " + ("column" if layout else "row") + "-major and out is not: both must be stored in the "
                                  "same layout; copy one of them")
        getattr(made.operands, "with")[index].ld = ld
    elif own[0] > 1 and view.strides[-1] != 1:
        raise InvalidArgument(f"the operand {name} has strides of {view.strides}: its elements must be contiguous; pass a copy")
    if tree.operand[index].is_output and view.shape[:lead] != batch:
        raise InvalidArgument(f"the output {name} is {view.shape}: it needs memory for every product of {batch}")
    return _stretch(view.strides[:lead], view.shape[:lead], batch)


def _names_rows(problem: Any) -> bool:
    """Does the result of an element depend on its row within its product?"""
    tree = problem.epilogue.expression
    return any(tree.node[i].op == lib.TJ_OP_ROW for i in range(tree.nodes)) or any(tree.operand[i].indexed == BY_ROW for i in range(tree.operands))


def _goes_on(made: Request, operand: Operand, step: int, j: int) -> bool:
    """If products follow each other as rows of a taller one, does the operand too?"""
    index = made.withs[operand.name]
    if made.problem.epilogue.expression.operand[index].indexed in (BY_COL, BY_PRODUCT):
        return step == 0
    return bool(step == j * getattr(made.operands, "with")[index].ld)


def _same_place(views: Sequence[Tuple[Optional[View], str]]) -> None:
    first, first_name = views[0]
    assert first is not None
    for view, name in views[1:]:
        if view is None or view.device == first.device:
            continue
        places = [other.device or "the host" for other in (first, view)]
        if "cuda" in places and None not in (view.device, first.device):
            continue  # one of them does not say on which device it is; the driver knows
        raise InvalidArgument(f"{first_name} is on {places[0]} and {name} is on {places[1]}: move one of them")


def _broadcast(one: Tuple[int, ...], other: Tuple[int, ...], a_shape: Tuple[int, ...], b_shape: Tuple[int, ...]) -> Tuple[int, ...]:
    length = max(len(one), len(other))
    shape = []
    for x, y in zip((1,) * (length - len(one)) + one, (1,) * (length - len(other)) + other):
        if x != y and 1 not in (x, y):
            raise InvalidArgument(f"a is {a_shape} and b is {b_shape}: batch dimensions of {x} and {y} cannot be broadcast")
        shape.append(y if x == 1 else x)
    return tuple(shape)


def _with_vectors(strides: Tuple[int, ...], full: Tuple[int, ...], a: View, b: View) -> Tuple[int, ...]:
    """Return the strides of a product with the dimensions that it lacks for a vector a or b. Their extent is 1: any stride will do."""
    strides = list(strides)  # type: ignore[assignment]
    if len(b.shape) == 1:
        strides = tuple(strides) + (1,)
    if len(a.shape) == 1:
        strides = tuple(strides)[:-1] + (full[-1],) + tuple(strides)[-1:]
    return tuple(strides)


def _strides_of_c(c: View, shown: Tuple[int, ...], full: Tuple[int, ...], a: View, b: View) -> Tuple[int, ...]:
    vectors = (len(a.shape) == 1) + (len(b.shape) == 1)
    lead = len(shown) - (2 - vectors)
    own = len(c.shape) - (2 - vectors)
    if own < 0 or own > lead or c.shape[own:] != shown[lead:] or any(x not in (1, y) for x, y in zip(c.shape[:own], shown[lead - own:lead])):
        raise InvalidArgument(f"epilogue.c is {c.shape} and the product is {shown}: c may leave out or broadcast batch dimensions alone")
    strides = _with_vectors(c.strides, full, a, b)
    return _stretch(strides[:own], c.shape[:own], shown[:lead]) + strides[own:]


def _lay(name: str, rows: int, cols: int, row_step: int, col_step: int, preferred: int) -> Tuple[int, int]:
    """Return the layout and the leading dimension of a matrix, from its strides; if both layouts fit, the preferred one."""
    found = {}
    if (col_step == 1 or cols == 1) and (rows == 1 or row_step >= cols):
        found[ROW] = row_step if rows > 1 else cols
    if (row_step == 1 or rows == 1) and (cols == 1 or col_step >= rows):
        found[COL] = col_step if cols > 1 else rows
    if not found or 0 in (rows, cols):
        if 0 in (rows, cols):
            return preferred, max(1, cols if preferred == ROW else rows)
        raise InvalidArgument(f"{name} has a matrix of {rows} x {cols} with strides of ({row_step}, {col_step}) elements: neither its rows nor its "
                              f"columns are contiguous, so no leading dimension expresses it; pass a contiguous copy")
    layout = preferred if preferred in found else next(iter(found))
    return layout, found[layout]


def _stretch(strides: Tuple[int, ...], shape: Tuple[int, ...], batch: Tuple[int, ...]) -> Tuple[int, ...]:
    """Return strides over the whole batch: 0 for a broadcast operand."""
    own = tuple(0 if extent == 1 else stride for extent, stride in zip(shape, strides))
    return (0,) * (len(batch) - len(own)) + own


def _merge(batch: Tuple[int, ...], steps: Tuple[Tuple[int, ...], ...]) -> List[Tuple[int, Tuple[int, ...]]]:
    """Merge the batch into the fewest dimensions that all operands allow: each with its extent, and the stride of each operand."""
    dims: List[Tuple[int, Tuple[int, ...]]] = []
    for i, extent in enumerate(batch):
        if extent == 1:
            continue
        step = tuple(operand[i] for operand in steps)
        if dims and dims[-1][1] == tuple(each * extent for each in step):
            dims[-1] = (dims[-1][0] * extent, step)
        else:
            dims.append((extent, step))
    return dims


def _stride(step: int, count: int) -> int:
    if count == 1:
        return 0
    return BROADCAST if step == 0 else step


def _scale(name: str, view: View, extent: int, what: str, scale_k: Optional[int]) -> str:
    """Return the kind of scales in an array: "one", "each" or "along-k"."""
    if NAME[view.type] != "f32":
        raise InvalidArgument(f"{name} is of {NAME[view.type]}: scales are f32")
    if (len(view.shape) == 2 and view.shape[1] == extent and (extent == 1 or view.strides[1] == 1)
            and (view.shape[0] == 1 or view.strides[0] >= extent) and (view.shape[0] > 1 or scale_k is not None)):
        return "along-k"
    if elements(view.shape) == 1:
        return "one"
    if len(view.shape) != 1 or view.shape[0] != extent or view.strides != (1,):
        raise InvalidArgument(f"{name} is {view.shape} with strides of {view.strides}: pass one number, or {extent} contiguous ones, as many as {what}")
    return "each"


def _scale_k(given: Optional[int], parts: int, k: int) -> int:
    """Return the elements of k in each of `parts` parts."""
    each = given if given is not None else k // parts if parts and k % parts == 0 else 0
    if each < 1 or -(-k // each) != parts:
        raise InvalidArgument(f"there are scales of {parts} parts of k, which is {k}" + (f", and scale_k is {given}" if given is not None else "")
                              + ": pass one row of scales for every scale_k elements of k, of which the last part may have fewer")
    return each
