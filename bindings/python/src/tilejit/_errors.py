# SPDX-License-Identifier: Apache-2.0
"""Exceptions: one for each status of the library, which all are tilejit.Error."""

from __future__ import annotations

from typing import Any, Dict, Type

from tilejit._binding import ffi, lib


class Error(RuntimeError):
    """A call failed. Its text is the library's message: what was wrong, with its value, and the remedy.

    ``status`` is the name of the library's status, such as ``"TJ_ERR_COMPILE"``.
    """

    status = "TJ_ERR_INTERNAL"


class InvalidArgument(Error, ValueError):
    """A shape, a stride, a number or a device that the call cannot take."""

    status = "TJ_ERR_INVALID_ARGUMENT"


class Unsupported(Error):
    """The request is valid, but this build, kernel family or device cannot serve it."""

    status = "TJ_ERR_UNSUPPORTED"


class NotFound(Error, LookupError):
    """There is no such kernel family, device, entry or file."""

    status = "TJ_ERR_NOT_FOUND"


class OutOfMemory(Error, MemoryError):
    """Host memory ran out."""

    status = "TJ_ERR_OUT_OF_MEMORY"


class FileError(Error, OSError):
    """A file could not be read or written."""

    status = "TJ_ERR_IO"


class NoCompiler(Error):
    """NVRTC could not be loaded."""

    status = "TJ_ERR_NO_COMPILER"


class CompileError(Error):
    """NVRTC refused the generated source."""

    status = "TJ_ERR_COMPILE"


class NoDriver(Error):
    """The CUDA driver could not be loaded, or has no device."""

    status = "TJ_ERR_NO_DRIVER"


class DriverError(Error):
    """A driver call failed; the CUDA context still works."""

    status = "TJ_ERR_DRIVER"


class DeviceLost(Error):
    """The device reported an error that it does not recover from: restart the process."""

    status = "TJ_ERR_DEVICE_LOST"


class DeviceMemory(Error, MemoryError):
    """Device memory ran out."""

    status = "TJ_ERR_DEVICE_MEMORY"


class CaptureError(Error):
    """The stream is being captured, and the kernel is not ready: call tilejit.prepare first."""

    status = "TJ_ERR_CAPTURE"


class Forked(Error):
    """The process was forked after its context was made: use the start method "spawn"."""

    status = "TJ_ERR_FORKED"


class CheckFailed(Error):
    """A computed product did not pass its check."""

    status = "TJ_ERR_CHECK_FAILED"


class InternalError(Error):
    """A bug in TileJIT."""

    status = "TJ_ERR_INTERNAL"


class Cancelled(Error):
    """The call was told to stop before there was a result."""

    status = "TJ_ERR_CANCELLED"


class Spills(Error):
    """The compiler spilled accumulators of this kernel to memory; such a kernel is not launched."""

    status = "TJ_ERR_SPILLS"


_BY_STATUS: Dict[str, Type[Error]] = {
    kind.status: kind
    for kind in (InvalidArgument, Unsupported, NotFound, OutOfMemory, FileError, NoCompiler, CompileError, NoDriver, DriverError,
                 DeviceLost, DeviceMemory, CaptureError, Forked, CheckFailed, InternalError, Cancelled, Spills)
}


def sized(name: str) -> Any:
    """Return a new structure of the library that begins with its size, which is set; everything else is 0."""
    made = ffi.new(f"{name} *")
    made.struct_size = ffi.sizeof(name)
    return made


def text(pointer: Any) -> str:
    """Return a C string as str; "" for NULL."""
    return "" if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "replace")


def failure(status: int, message: str) -> Error:
    """Return the exception for a status of the library."""
    name = text(lib.tj_status_name(status))
    error = _BY_STATUS.get(name, Error)(message)
    error.status = name
    return error


def check(status: int, error: Any) -> None:
    """Raise the exception of a failed call's tj_error."""
    if status != 0:
        raise failure(status, text(error.message))
