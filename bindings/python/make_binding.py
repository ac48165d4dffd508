# SPDX-License-Identifier: Apache-2.0
"""make_binding.py COMPILER SOURCES OUT: write the C source of the extension tilejit._binding.

What Python sees is what the public headers declare: the C preprocessor expands them, and cffi reads the result. So no
structure is written down twice. The C compiler then compares each of them with the headers once more.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

import cffi


def declarations(compiler: str, sources: pathlib.Path) -> str:
    """The declarations of <tilejit/tools.h> and binding.h, as cffi takes them: no macros, no attributes, no bodies."""
    here = pathlib.Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory() as empty:
        for name in ("stddef.h", "stdint.h"):  # cffi knows their types
            pathlib.Path(empty, name).touch()
        text = subprocess.run(
            [compiler, "-E", "-P", "-nostdinc", "-U__GNUC__", "-U__clang__", f"-I{empty}", f"-I{sources}/include", f"-I{sources}/emulator/include",
             str(here / "binding.h")],
            check=True, capture_output=True, text=True).stdout
    text = text.replace("static inline ", "")
    text = text.replace("tj_context *tjpy_context(int device);", "")  # Python's, below
    text = re.sub(r"\w+ cuEmu\w+\([^;]*\);", "", text)  # the emulator's own functions: tj_emulator_get hands them out
    kept, depth = [], 0
    is_body = False
    for piece in re.split(r"([{}])", text):  # a brace after a closing parenthesis begins a body
        if piece == "{":
            if depth == 0:
                is_body = bool(kept) and kept[-1].rstrip().endswith(")")
                if is_body:
                    kept.append(";")
            depth += 1
        if not (is_body and depth > 0):
            kept.append(piece)
        if piece == "}":
            depth -= 1
    return "".join(kept)


def main() -> None:
    compiler, sources, out = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), sys.argv[3]
    binding = cffi.FFI()
    binding.cdef(declarations(compiler, sources))
    binding.cdef("""
        extern "Python" int tjpy_is_cancelled(void *payload);
        extern "Python" void tjpy_progress(const tj_tune_progress *progress, void *payload);
        extern "Python" int tjpy_reference(const int64_t *extent, void *const *argument, void *payload);
        extern "Python" int tjpy_fill(const int64_t *extent, size_t argument, void *element, void *payload);
        extern "Python" void tjpy_finding(const tj_finding *finding, void *payload);
        extern "Python" void tjpy_dlpack_delete(dl_managed_tensor *tensor);
        extern "Python+C" tj_context *tjpy_context(int device);
    """)
    binding.set_source("tilejit._binding", '#include "binding.h"', py_limited_api=True)
    binding.emit_c_code(out)


if __name__ == "__main__":
    main()
