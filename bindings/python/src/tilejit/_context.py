# SPDX-License-Identifier: Apache-2.0
"""Contexts: the library's options, its store of kernels, and the device it computes on."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import warnings
import weakref
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple, Type, Union

import numpy

from tilejit._arrays import DeviceArray, stream_handle
from tilejit._binding import ffi, lib
from tilejit._errors import InvalidArgument, NoDriver, check, sized, text
from tilejit._nvrtc import find_nvrtc
from tilejit._types import NAME, PAIRS, number_of

Path_ = Union[str, "os.PathLike[str]"]


class EmulatorWarning(RuntimeWarning):
    """There is no GPU, and host arrays are multiplied on the emulator, which is slow."""


@dataclass(frozen=True)
class Device:
    """The facts of a device. Sizes are in bytes, clocks in kHz; 0: unknown to the driver."""

    name: str
    uuid: str
    ordinal: int
    compute_capability: Tuple[int, int]
    sm_count: int
    memory_bytes: int
    l2_bytes: int
    clock_khz: int
    driver_version: int  # 1000 * major + 10 * minor


@dataclass(frozen=True)
class Stats:
    """Counts of events in a context since its creation."""

    memory_hits: int
    pack_hits: int
    store_hits: int
    remote_hits: int
    compiles: int
    failures: int
    loads: int
    plans: int
    plan_bytes: int
    misses: int
    proofs: int
    replaced: int
    evictions: int
    remote_troubles: int


@dataclass(frozen=True)
class Finding:
    """One finding of Context.doctor. state is "ok", "note" or "missing"; remedy is "" for "ok"."""

    topic: str
    state: str
    text: str
    remedy: str


def owned(pointer: Any, free: Callable[[Any], None], *kept: Any) -> Any:
    """A pointer of the library that is freed when nothing refers to it any more. The arguments of a call that runs do, so no thread
    frees what another one uses. kept lives until then. A process that ends frees nothing, nor does a forked child.
    """
    owner = os.getpid()

    def end(pointer: Any, kept: Any = kept, is_finalizing: Any = sys.is_finalizing, getpid: Any = os.getpid) -> None:
        if not is_finalizing() and getpid() == owner:
            free(pointer)

    return ffi.gc(pointer, end)


class Context:
    """One instance of TileJIT. All threads may share it, and most programs need only the one that is made for them.
    It is freed when nothing refers to it, or its arrays, any more; ``with`` and ``close()`` do so at once.

    driver: the path of libcuda, or ``"emulator"``, ``"emulator:sm_80"``. Default: $TILEJIT_DRIVER, then libcuda.so.1.
    nvrtc: the path of libnvrtc. Default: $TILEJIT_NVRTC, the wheel nvidia-cuda-nvrtc, what else the library finds.
    cache_dir: the store's folder; ``""`` keeps kernels in memory alone. Default: $TILEJIT_CACHE_DIR, ~/.cache/tilejit.
    read_only_roots, packs: stores and packs that are read and never written.
    capture: a list of shapes to which every problem is added, every ten seconds and when the context is freed or the process ends.
    device: the ordinal of the device for threads without a current CUDA context. Default: $TILEJIT_DEVICE, then 0.
    any_shape: one kernel for all shapes of the same types and layouts, instead of one for each problem.
    quick: a first call launches any kernel at hand, at worst a textbook kernel for all shapes; a background thread makes the fast one.
    max_plans, max_plan_bytes: the number and the bytes of plans kept in memory. 0: 4096, and 512 MiB.
    background_tuning_s: seconds to tune each new problem in the background; 0: off.
    log_level: "error", "warning", "info" or "debug": lines to stderr. Default: $TILEJIT_LOG, then none.
    check_pointers: every launch asks the driver about each address, so that memory that was freed, or is another device's, is an exception,
        not the end of the CUDA context. False: only the first launch of a plan does.

    Raises InvalidArgument for an invalid option. It opens neither driver nor compiler yet.
    """

    def __init__(self, *, driver: Optional[str] = None, nvrtc: Optional[Path_] = None, cache_dir: Optional[Path_] = None,
                 read_only_roots: Sequence[Path_] = (), packs: Sequence[Path_] = (), capture: Optional[Path_] = None,
                 device: Optional[int] = None, any_shape: bool = False, quick: bool = False,
                 max_plans: int = 0, max_plan_bytes: int = 0, background_tuning_s: int = 0,
                 log_level: Optional[str] = None, check_pointers: bool = True) -> None:
        self._c: Any = None
        kept: List[Any] = []

        def c_text(value: Optional[Path_]) -> Any:
            if value is None:
                return ffi.NULL
            kept.append(ffi.new("char[]", os.fsencode(value)))
            return kept[-1]

        def c_list(values: Sequence[Path_]) -> Any:
            if isinstance(values, (str, bytes)):
                raise TypeError(f"{values!r} is one path: pass a list of paths")
            if not values:
                return ffi.NULL
            kept.append(ffi.new("char *[]", [c_text(value) for value in values] + [ffi.NULL]))
            return ffi.cast("const char *const *", kept[-1])

        levels = {None: 0, "error": 1, "warning": 2, "info": 3, "debug": 4}
        if log_level not in levels:
            raise InvalidArgument(f"log_level is {log_level!r}: use error, warning, info or debug")
        if nvrtc is None and not os.environ.get("TILEJIT_NVRTC"):
            nvrtc = find_nvrtc()
        options = ffi.new("tj_context_options *")
        options.struct_size = ffi.sizeof("tj_context_options")
        options.driver, options.nvrtc, options.cache_dir = c_text(driver), c_text(nvrtc), c_text(cache_dir)
        options.read_only_roots, options.packs, options.capture = c_list(read_only_roots), c_list(packs), c_text(capture)
        options.device = 0 if device is None else device + 1
        options.specialize = 1 if any_shape else 0
        options.first_call = 1 if quick else 0
        options.max_plans, options.max_plan_bytes = max_plans, max_plan_bytes
        options.background_tuning_s = background_tuning_s
        options.log_level = levels[log_level]
        options.check_pointers = int(check_pointers)
        made, error = ffi.new("tj_context **"), ffi.new("tj_error *")
        check(lib.tj_context_create(options, made, error), error)
        self._c = owned(made[0], _free_context)
        self._calls: Dict[Any, Any] = {}  # the prepared calls of matmul
        self._stand_in: Optional[Context] = None  # of the default context: multiplies host arrays if there is no GPU
        self._made: "Set[weakref.ref[Any]]" = set()  # arrays, and kernels of families of the application's own

    def _open(self) -> Any:
        if self._c is None:
            raise InvalidArgument("this context was closed")
        return self._c

    def close(self) -> None:
        """Wait for the device, and free the context, its kernels and its arrays, which can be used no more.

        If other threads are using it, their calls end first, and the last of them frees it; their next calls raise InvalidArgument.
        A second call does nothing.
        """
        context, self._c = self._c, None
        if context is not None:
            for reference in self._made.copy():
                made = reference()
                if made is not None:
                    made.free()
            self._calls.clear()
        if self._stand_in is not None:
            self._stand_in.close()

    def _add(self, made: Any) -> None:
        """An array or a kernel that close() frees."""
        self._made.add(weakref.ref(made, self._made.discard))

    def __enter__(self) -> "Context":
        self._open()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], value: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        self.close()

    @property
    def device(self) -> Device:
        """The device that a call of this thread would run on. Raises NoDriver if there is none."""
        facts, error = sized("tj_device_facts"), ffi.new("tj_error *")
        check(lib.tj_device_current(self._open(), facts, error), error)
        return device_from(facts)

    @property
    def stats(self) -> Stats:
        """Hits, compiles and plans so far; of the default context, also those of host arrays that the emulator multiplied."""
        numbers = sized("tj_context_stats")
        lib.tj_context_get_stats(self._open(), numbers)
        more = self._stand_in.stats if self._stand_in is not None else None
        return Stats(*(int(getattr(numbers, name)) + getattr(more, name, 0) for name in Stats.__dataclass_fields__))

    @property
    def pack_hits(self) -> Dict[str, int]:
        """The packs of this context, in order, and the number of kernels read from each."""
        hits: Dict[str, int] = {}
        context = self._open()
        while (name := lib.tj_context_pack_name(context, len(hits))) != ffi.NULL:
            hits[os.fsdecode(ffi.string(name))] = int(lib.tj_context_pack_hits(context, len(hits)))
        return hits

    def trim(self, plans: int = 0, max_bytes: int = 0) -> None:
        """Evict plans from memory, least recently used first, down to the given number of plans and of bytes.

        Plans that a CUDA graph may launch stay. The others come back from the store when they are needed.
        """
        lib.tj_context_trim(self._open(), plans, max_bytes)

    def doctor(self) -> List[Finding]:
        """Examine NVRTC, the driver, the devices and the store: report the parts found and missing, with remedies."""
        found: List[Finding] = []
        handle, error = ffi.new_handle(found), ffi.new("tj_error *")
        check(lib.tj_doctor(self._open(), lib.tjpy_finding, handle, error), error)
        return found

    def synchronize(self, stream: Any = None) -> None:
        """Wait until all work of a stream is done. Raises DeviceLost if a kernel failed."""
        error = ffi.new("tj_error *")
        check(lib.tj_synchronize(self._open(), ffi.cast("struct CUstream_st *", stream_handle(stream) or 0), error), error)

    def empty(self, shape: Union[int, Tuple[int, ...]], dtype: Any = "f32") -> DeviceArray:
        """An array in device memory, or in that of the emulator, whose elements are not set. Raises DeviceMemory."""
        number = number_of(dtype)
        if number in PAIRS:
            raise TypeError(f"an array has no elements of {NAME[number]}: make one of uint8, each of which holds two numbers, and pass "
                            f"n_dtype=\"{NAME[number]}\" to matmul")
        return DeviceArray(self, (shape,) if isinstance(shape, int) else tuple(shape), number)

    def to_device(self, array: "numpy.ndarray[Any, Any]") -> DeviceArray:
        """A copy of a NumPy array in device memory. Raises DeviceMemory, and TypeError for a type that TileJIT does not multiply."""
        made = self.empty(array.shape, array.dtype)
        made.write(array)
        return made

    # Parts of DeviceArray.

    def _create_buffer(self, size: int) -> Any:
        made, error = ffi.new("tj_buffer **"), ffi.new("tj_error *")
        context = self._open()
        check(lib.tj_buffer_create(context, size, made, error), error)
        return owned(made[0], lib.tj_buffer_free, context)

    def _buffer_address(self, buffer: Any) -> int:
        return 0 if buffer is None or self._c is None else int(ffi.cast("size_t", lib.tj_buffer_address(buffer)))

    def _read_buffer(self, buffer: Any, host: int, size: int) -> None:
        self._need(buffer)
        error = ffi.new("tj_error *")
        check(lib.tj_buffer_read(buffer, 0, ffi.cast("void *", host), size, error), error)

    def _write_buffer(self, buffer: Any, host: int, size: int) -> None:
        self._need(buffer)
        error = ffi.new("tj_error *")
        check(lib.tj_buffer_write(buffer, 0, ffi.cast("const void *", host), size, error), error)

    def _need(self, buffer: Any) -> None:
        self._open()
        if buffer is None:
            raise InvalidArgument("the memory of this array was freed")


def device_from(facts: Any) -> Device:
    """A Device of a tj_device_facts."""
    return Device(text(facts.name), text(facts.uuid), facts.ordinal, (facts.cc_major, facts.cc_minor), facts.sm_count, facts.memory_bytes,
                  facts.l2_bytes, facts.clock_khz, facts.driver_version)


@ffi.def_extern()  # type: ignore[untyped-decorator]
def tjpy_finding(finding: Any, payload: Any) -> None:
    """Receive a finding of tj_doctor."""
    state = ("ok", "note", "missing")[int(finding.state)]
    ffi.from_handle(payload).append(Finding(text(finding.topic), state, text(finding.text), text(finding.remedy)))


def _free_context(context: Any) -> None:
    wait_for_device()
    lib.tj_context_free(context)


def wait_for_device() -> None:
    """Wait for all work of the current CUDA context, if this process has a driver."""
    driver = _loaded_driver()
    if driver is not None:
        driver.cuCtxSynchronize()


def _loaded_driver() -> Any:
    import ctypes

    try:
        return ctypes.CDLL("libcuda.so.1", mode=ctypes.DEFAULT_MODE | os.RTLD_NOLOAD)
    except OSError:
        return None


_lock = threading.Lock()
_default: Optional[Context] = None
_has_device = False  # where host arrays are multiplied is known


def default_context() -> Context:
    """Return the context of calls without one. It is made on first use, with the options of the environment."""
    global _default
    if _default is None:
        with _lock:
            if _default is None:
                _default = Context()
    return _default


def context_of(context: Optional[Context], *arrays: Any) -> Context:
    """Return the context of a call: given, or of a DeviceArray, or the default. Raises TypeError if it is not a context."""
    if context is None:
        for each in arrays:
            if isinstance(each, DeviceArray):
                return each._context
        return default_context()
    if not isinstance(context, Context):
        raise TypeError(f"context is {context!r}: pass a tilejit.Context")
    return context


def host_context(context: Optional[Context]) -> Context:
    """Return the context of a call with host arrays: given, or the default; if that has no device, one on the emulator, with a warning."""
    global _has_device
    chosen = context_of(context)
    if context is None and not _has_device:
        with _lock:
            if not _has_device and chosen._stand_in is None:
                try:
                    count, error = ffi.new("int *"), ffi.new("tj_error *")
                    check(lib.tj_device_count(chosen._open(), count, error), error)
                    _has_device = True
                except NoDriver as none:
                    if os.environ.get("TILEJIT_DRIVER"):
                        raise
                    warnings.warn(f"computing on the emulator, which is slow: {none}", EmulatorWarning, stacklevel=5)
                    chosen._stand_in = Context(driver="emulator")
    return chosen if context is not None else chosen._stand_in or chosen


_of_xla: Dict[int, Any] = {}  # XLA may call until the process ends: they are never freed


def xla_context(device: int) -> Any:
    """Return the tj_context of tilejit.jax for a device, by its ordinal, or for the CPU (-1)."""
    if device not in _of_xla:
        _of_xla[device] = (host_context(None) if device < 0 else default_context() if device == 0 else Context(device=device))._open()
    return _of_xla[device]


@ffi.def_extern()  # type: ignore[untyped-decorator]
def tjpy_context(device: int) -> Any:
    """Answer xla.c, at the first call for a device."""
    return xla_context(device)


@atexit.register
def _close_default() -> None:
    """A context writes its list of shapes ($TILEJIT_CAPTURE) when it is freed."""
    global _default
    context, _default = _default, None
    if context is not None:
        context.close()
