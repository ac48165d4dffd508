# SPDX-License-Identifier: Apache-2.0
"""explain: the kernel that would run, its bottleneck and its expected time, without running it."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any, Dict, Optional, Tuple

from tilejit._binding import ffi, lib
from tilejit._context import Context, context_of, device_from
from tilejit._errors import NoDriver, check, sized, text
from tilejit._problem import Problem
from tilejit._tune import config_text

_CHOSEN = {1: "a record", 2: "the record of a similar problem", 3: "the model", 4: "default", 5: "a pack"}


@dataclass(frozen=True)
class Explanation:
    """The library's facts about a product before it runs. print() shows it as text, a notebook as a page."""

    problem: str
    device: str
    config: str
    chosen_by: str
    source: str  # the CUDA text
    checks: str  # which boundary checks are in it, and why
    flop: int
    bytes: int  # of global memory, with what is read again
    intensity: float  # FLOP per byte
    blocks: int
    threads_per_block: int
    shared_bytes: int  # per block
    occupancy: float  # of the warps that a multiprocessor holds
    limit: str  # what keeps it from more
    lift: str  # what would allow one more block
    waves: int
    us: float  # predicted, in microseconds
    bound: str  # the longest term
    terms: Dict[str, float]  # each alone, in microseconds

    def _rows(self) -> Tuple[Tuple[str, str], ...]:
        return (
            ("problem", self.problem),
            ("device", self.device),
            ("config", self.config),
            ("chosen by", self.chosen_by),
            ("boundary checks", self.checks),
            ("work", f"{self.flop:.3g} FLOP, {self.bytes:.3g} B of global memory: {self.intensity:.3g} FLOP/B"),
            ("launch", f"{self.blocks} blocks of {self.threads_per_block} threads, {self.shared_bytes} B of shared memory each; {self.waves} waves"),
            ("occupancy", f"{100 * self.occupancy:.0f} %, limited by {self.limit}" + (f"; {self.lift}" if self.lift else "")),
            ("predicted", f"{self.us:.3g} us, bound by {self.bound}"),
        )

    def __str__(self) -> str:
        lines = [f"{name:16} {value}" for name, value in self._rows()]
        lines += [f"{'':16} {us:9.3g} us  {name}" for name, us in self.terms.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
                       for name, value in self._rows())
        longest = max(self.terms.values(), default=0.0) or 1.0
        bars = "".join(
            f"<tr><td style='text-align:left'>{escape(name)}</td><td style='text-align:right'>{us:.3g} us</td><td style='width:20em'>"
            f"<div style='background:#76b900;height:0.8em;width:{100 * us / longest:.1f}%'></div></td></tr>" for name, us in self.terms.items())
        return (f"<table>{rows}</table><table><caption>each term of the predicted time alone</caption>{bars}</table>"
                f"<details><summary>the kernel</summary><pre>{escape(self.source)}</pre></details>")


def arch_of(arch: Any, alias: Any, name: str) -> Any:
    """Return the given one of arch and target. Raises TypeError for both."""
    if arch is not None and alias is not None:
        raise TypeError(f"arch is {arch!r} and {name} is {alias!r}, which mean the same: pass one of them")
    return alias if arch is None else arch


def explain(problem: Problem, *, arch: Optional[str] = None, target: Optional[str] = None, context: Optional[Context] = None) -> Explanation:
    """Return the kernel that would compute a problem, its bottleneck and its expected time. Nothing is compiled or run.

    arch: a device that need not be here, by the name of its architecture: "sm_80" is an A100, "sm_90" an H200. Default: the device
    of the context, or "sm_90" if there is none. target is an alias.

    Raises NotFound for an unknown arch, and Unsupported for a problem that no kernel serves.
    """
    context = context_of(context)
    error = ffi.new("tj_error *")
    facts, config, chosen_by = sized("tj_device_facts"), sized("tj_config"), ffi.new("tj_chosen_by *")
    arch = arch_of(arch, target, "target")
    if arch is None:
        try:
            check(lib.tj_device_current(context._open(), facts, error), error)
        except NoDriver:
            arch = "sm_90"
    if arch is not None:
        check(lib.tj_device_named(arch.encode(), facts, error), error)
    check(lib.tj_context_choose_config(context._open(), problem._c, facts, config, chosen_by, error), error)
    source, found = ffi.new("tj_source **"), sized("tj_analysis")
    check(lib.tj_generate(problem._c, config, source, error), error)
    try:
        cuda, checks = text(lib.tj_source_text(source[0])), text(lib.tj_source_checks_text(source[0]))
    finally:
        lib.tj_source_free(source[0])
    check(lib.tj_analyze(facts, problem._c, config, 0, 0.0, found, error), error)
    terms = {text(lib.tj_term_at(term).name): found.predicted.term_us[term] for term in range(lib.TJ_TERMS) if found.predicted.term_us[term] > 0}
    device = device_from(facts)
    return Explanation(
        problem=str(problem), device=f"{device.name} (sm_{device.compute_capability[0]}{device.compute_capability[1]})",
        config=config_text(config), chosen_by=_CHOSEN.get(int(chosen_by[0]), "the caller"), source=cuda, checks=checks,
        flop=found.work.flop, bytes=found.work.global_bytes, intensity=found.work.intensity, blocks=found.work.blocks,
        threads_per_block=found.work.threads_per_block, shared_bytes=found.work.shared_bytes, occupancy=found.occupancy.fraction,
        limit=text(lib.tj_limit_name(found.occupancy.limit)), lift=text(found.occupancy.lift), waves=found.occupancy.waves,
        us=found.predicted.us, bound=text(found.predicted.bound), terms=dict(sorted(terms.items(), key=lambda item: -item[1])))
