# SPDX-License-Identifier: Apache-2.0
"""Element types and compute modes: names of TileJIT, and the types of NumPy, ml_dtypes, PyTorch, CuPy and JAX."""

from __future__ import annotations

import re
from typing import Any, Dict, Optional

import numpy

from tilejit._binding import ffi, lib
from tilejit._errors import check, text

# The names of TileJIT's types in other libraries.
_NAMES = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float8_e8m0fnu": "e8m0",
    "float4_e2m1fn_x2": "e2m1",
    "int8": "s8",
    "uint8": "u8",
    "int32": "s32",
    "complex64": "c64",
    "complex128": "c128",
}
_FOREIGN = {name: foreign for foreign, name in _NAMES.items()}

NUMBER: Dict[str, int] = {text(lib.tj_type_name(number)): number for number in range(1, lib.tj_type_count() + 1)}
NAME: Dict[int, str] = {number: name for name, number in NUMBER.items()}
PAIRS = frozenset(number for number in NAME if lib.tj_type_get_facts(number).numbers == 2)  # whose elements hold two numbers
BYTES: Dict[int, int] = {number: lib.tj_type_bytes(number) for number in NAME}

_numbers: Dict[Any, int] = {}  # of every dtype object that was met


def number_of(dtype: Any, name: str = "dtype") -> int:
    """Return the tj_type of a name ("bf16"), a NumPy or ml_dtypes dtype, or a torch.dtype. Raises TypeError if there is none."""
    try:
        return _numbers[dtype]
    except (KeyError, TypeError):
        pass
    word = str(dtype)
    if word.startswith("torch."):
        word = word[len("torch."):]
    elif word in ("uint4", "int4", "float4_e2m1fn"):
        raise TypeError(f"{name} is {word}: {advice(word)}")
    elif word not in NUMBER:
        try:
            numpy_type = numpy.dtype(dtype if dtype is not None else "None")
        except TypeError:
            number, error = ffi.new("tj_type *"), ffi.new("tj_error *")
            if isinstance(dtype, str) and lib.tj_type_parse(dtype.encode(), number, error):
                raise TypeError(f"{name} is {dtype!r}: {text(error.message)}") from None
            raise TypeError(f"{name} is {dtype!r}, which is not an element type: use {USUAL}") from None
        if not numpy_type.isnative:
            raise TypeError(f"{name} is {numpy_type.str}, whose bytes are in the other order: convert it with astype({numpy_type.name!r})")
        word = numpy_type.name
    word = _NAMES.get(word, word)
    if word not in NUMBER:
        raise TypeError(f"{name} is {_shown(word)}, which TileJIT does not multiply: {advice(word)}")
    _numbers[dtype] = NUMBER[word]
    return NUMBER[word]


USUAL = "float32, float64, float16, bfloat16, float8_e4m3fn, float8_e5m2, int8 or uint8"
_SHOWN = {"str": "text", "bytes": "text", "void": "a struct", "object": "of objects"}
_PACK = "pack it: weights of 4 bits are arrays of uint8 with n_dtype=\"{}\": two in a byte, the first in its lower half"
_ADVICE = (  # by how the name of a type begins
    (r"complex|clongdouble", "convert it to complex64 or complex128"),
    (r"int4$", _PACK.format("s4")),
    (r"uint4$", _PACK.format("u4")),
    (r"float4_e2m1fn$", _PACK.format("e2m1")),
    (r"u?int|bool", "convert it to int8 or uint8, whose sums are exact in int32, or to float32 or float64"),
    (r"float8_e4m3|float8_e5m2", "convert it to float8_e4m3fn or float8_e5m2"),
    (r"float(96|128)|longdouble", "convert it to float64"),
    (r"str|bytes|void|object|datetime|timedelta", f"pass numbers, of {USUAL}"),
)


def advice(word: str) -> str:
    """Return a remedy for an array of an unsupported type."""
    return next((advice for start, advice in _ADVICE if re.match(start, word)), f"convert it to {USUAL}")


def _shown(word: str) -> str:
    return _SHOWN.get(word.rstrip("0123456789"), word)


def numpy_dtype(number: int) -> "numpy.dtype[Any]":
    """Return the dtype of NumPy, or of ml_dtypes. Raises TypeError if ml_dtypes is needed and missing."""
    if NAME[number] not in _FOREIGN:
        raise TypeError(f"NumPy has no {NAME[number]}")
    foreign = _FOREIGN[NAME[number]]
    try:
        return numpy.dtype(foreign)
    except TypeError:
        pass
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(f"NumPy has no {foreign}: install ml_dtypes, or ask for another result with dtype=\"f32\"") from None
    made: numpy.dtype[Any] = numpy.dtype(getattr(ml_dtypes, foreign))
    return made


def torch_dtype(torch: Any, number: int) -> Any:
    """Return the torch.dtype. Raises TypeError if this PyTorch has none."""
    dtype = getattr(torch, _FOREIGN[NAME[number]], None)
    if dtype is None:
        raise TypeError(f"this PyTorch has no {_FOREIGN[NAME[number]]}")
    return dtype


def compute_number(name: Optional[str]) -> int:
    """Return the tj_compute of a name ("tf32"); 0, which is the type's own, for None."""
    if name is None:
        return 0
    if not isinstance(name, str):
        raise TypeError(f"compute is {name!r}: it is a name, such as \"tf32\"")
    number, error = ffi.new("tj_compute *"), ffi.new("tj_error *")
    check(lib.tj_compute_parse(name.encode(), number, error), error)
    return int(number[0])
