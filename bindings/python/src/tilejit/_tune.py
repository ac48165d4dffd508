# SPDX-License-Identifier: Apache-2.0
"""tune: find the fastest config of a problem by measuring, and keep it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Optional

from tilejit._binding import ffi, lib
from tilejit._context import Context, context_of
from tilejit._errors import check, sized, text
from tilejit._problem import Problem


@dataclass(frozen=True)
class Tuning:
    """The result of a tuning. Times are medians in microseconds, and None on the emulator, where they mean nothing."""

    config: str
    us: Optional[float]
    default_config: str
    default_us: Optional[float]
    evaluations: int
    refused: int
    wrong: int
    seconds: float
    has_record: bool
    is_complete: bool
    is_emulated: bool

    @property
    def speedup(self) -> Optional[float]:
        """The speedup over the library's own choice."""
        return self.default_us / self.us if self.us and self.default_us else None


@dataclass(frozen=True)
class Progress:
    """The progress of a tuning; best_us is 0 until there is a time, and means nothing on the emulator."""

    evaluations: int
    seconds: float
    budget: float
    best_us: float


class _Watch:
    """Shared state of one tuning's callbacks: the progress function, and its exception."""

    def __init__(self, progress: Optional[Callable[[Progress], object]]) -> None:
        self.progress = progress
        self.raised: Optional[BaseException] = None


def tune(problem: Problem, *, seconds: float = 30.0, evaluations: int = 0, progress: Optional[Callable[[Progress], object]] = None,
         keep: bool = True, context: Optional[Context] = None) -> Tuning:
    """Measure configs of a problem on the current device, verify them, and keep the winner, which later products then use.

    seconds: the total time limit; evaluations: the maximum number of configs to try, 0: until more are not worth it.
    progress: called after each config with a ``Progress``. If it raises, or on Ctrl-C, the tuning ends and the exception is raised.
    keep: False keeps no record.

    Raises NoDriver, NoCompiler, CheckFailed (no config computed the product), Cancelled, DeviceMemory and other kinds of ``Error``.
    On the emulator configs are tried and no record is kept, because its times mean nothing.
    """
    context = context_of(context)
    tuning = run_tuning(lambda options, result, error: lib.tj_tune(context._open(), problem._c, options, result, error), seconds, evaluations, progress,
                        keep)
    context._calls.clear()
    return tuning


def run_tuning(run: Callable[[Any, Any, Any], int], seconds: float, evaluations: int, progress: Optional[Callable[[Progress], object]],
               keep: bool) -> Tuning:
    """Call run with a tj_tune_options, a tj_tune_result and a tj_error. Raises the exception of progress, or the library's error."""
    watch = _Watch(progress)
    handle = ffi.new_handle(watch)
    options, result, error = sized("tj_tune_options"), sized("tj_tune_result"), ffi.new("tj_error *")
    options.seconds, options.evaluations, options.no_record = seconds, evaluations, int(not keep)
    options.is_cancelled, options.progress, options.payload = lib.tjpy_is_cancelled, lib.tjpy_progress, handle
    status = run(options, result, error)
    if watch.raised is not None:
        raise watch.raised
    check(status, error)
    us, default_us = (None, None) if result.is_emulated else (result.us, result.default_us)
    return Tuning(config_text(ffi.addressof(result, "config")), us, config_text(ffi.addressof(result, "default_config")), default_us,
                  result.evaluations, result.refused, result.wrong, result.seconds, bool(result.has_record), bool(result.is_complete),
                  bool(result.is_emulated))


def config_text(config: Any) -> str:
    """Return the one-line form of a tj_config."""
    line = ffi.new("char[]", lib.TJ_CONFIG_TEXT_BYTES)
    lib.tj_config_print(config, line)
    return text(line)


def _keep_raised(kind: Any, value: BaseException, trace: Any) -> None:
    """Keep an exception of a callback for the caller of tune, as none may pass through C."""
    frame = trace.tb_frame.f_locals if trace is not None else {}
    if "payload" in frame:
        ffi.from_handle(frame["payload"]).raised = value


@ffi.def_extern(error=1, onerror=_keep_raised)  # type: ignore[untyped-decorator]
def tjpy_is_cancelled(payload: Any) -> int:
    """Called between trials; Python handles its signals here, so Ctrl-C raises."""
    return int(ffi.from_handle(payload).raised is not None)


@ffi.def_extern(onerror=_keep_raised)  # type: ignore[untyped-decorator]
def tjpy_progress(progress: Any, payload: Any) -> None:
    """Called after each trial."""
    watch = ffi.from_handle(payload)
    if watch.progress is not None and watch.raised is None:
        watch.progress(Progress(progress.evaluations, progress.seconds, progress.budget, progress.best_us))
