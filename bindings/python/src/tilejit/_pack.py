# SPDX-License-Identifier: Apache-2.0
"""pack: kernels that an application takes along."""

from __future__ import annotations

import os
from typing import Any, Iterable, Optional, Union

from tilejit._binding import ffi, lib
from tilejit._context import Context, context_of
from tilejit._errors import check
from tilejit._explain import arch_of
from tilejit._problem import Problem


def pack(problems: Union[Problem, Iterable[Problem]], arch: Union[str, Iterable[str], None] = None,
         path: Union[None, str, "os.PathLike[str]"] = None, *, targets: Union[str, Iterable[str], None] = None,
         strip: bool = False, aligned: bool = False, compress: bool = False, context: Optional[Context] = None) -> bytes:
    """Make a pack: the kernels of problems, compiled for architectures, in one file that needs neither NVRTC nor a cache where it is used.

    problems: one problem or several.
    arch: "sm_90", or several; "compute_90" serves newer devices and the emulator. No GPU is needed. targets is the same.
    path: the file to write, as a whole or not at all; None: only return the bytes. Give it to ``Context(packs=[path])``.

    strip: only machine code, a quarter of the bytes, which serves neither newer devices nor the emulator.
    aligned: omit the kernels for operands that are less aligned than the chosen kernels need.
    compress: by zlib, which the program that uses the pack then needs too.

    Returns the bytes, which are the same for the same problems, architectures and records.
    Raises NoCompiler, InvalidArgument for an unknown architecture, and other kinds of ``Error``; OSError if the file cannot be written.
    """
    context, arch = context_of(context), arch_of(arch, targets, "targets")
    if arch is None:
        raise TypeError("pack needs arch, for which to compile: pass \"sm_90\", or several")
    names = [arch] if isinstance(arch, str) else list(arch)
    made, error, opened = ffi.new("tj_pack **"), ffi.new("tj_error *"), context._open()  # which the pack uses until it is freed
    form = (lib.TJ_PACK_STRIP if strip else 0) | (lib.TJ_PACK_ALIGNED if aligned else 0) | (lib.TJ_PACK_COMPRESS if compress else 0)
    check(lib.tj_pack_create(opened, ffi.NULL, made, error), error)
    try:
        check(lib.tj_pack_set_form(made[0], form, error), error)
        for problem in [problems] if isinstance(problems, Problem) else problems:
            for name in names:
                check(lib.tj_pack_add(made[0], problem._c, ffi.NULL, name.encode(), error), error)
        content, size = ffi.new("void **"), ffi.new("size_t *")
        check(lib.tj_pack_print(made[0], content, size, error), error)
        result: Any = bytes(ffi.buffer(content[0], size[0]))
        lib.tjpy_free(content[0])
    finally:
        lib.tj_pack_free(made[0])
    if path is not None:
        part = f"{os.fspath(path)}.{os.getpid()}.part"
        try:
            with open(part, "wb") as file:
                file.write(result)
            os.replace(part, path)
        except BaseException:
            if os.path.exists(part):
                os.remove(part)
            raise
    return bytes(result)
