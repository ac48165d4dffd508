# SPDX-License-Identifier: Apache-2.0
"""Families of the application's own: any kernel, written as a template with parameters, tuned, proven, stored and launched like the library's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union

from tilejit._arrays import DeviceArray, View, current_stream, device_of, empty_like, host_stream, look, stream_handle, tight
from tilejit._binding import ffi, lib
from tilejit._context import Context, context_of, host_context, owned, wait_for_device
from tilejit._errors import InvalidArgument, check, sized, text
from tilejit._matmul import _as_jax, _compact, _new_host, _store, _to_device, must_not_overlap
from tilejit._problem import _same_place
from tilejit._spec import Argument, Config, Declaration, Fill, Formula, Param, Reference, Spec, callbacks, declare, whole
from tilejit._tune import Progress, Tuning, config_text, run_tuning
from tilejit._types import NAME

FindKernel = Callable[[Context, Tuple[int, ...], Optional[str]], "Kernel"]


@dataclass(frozen=True)
class Proof:
    """A successful proof: the elements compared, the time in milliseconds, and whether it was an earlier proof."""

    elements: int
    ms: float
    was_known: bool


class Kernel:
    """A kernel of a family, loaded for extents: the result of ``Family.load``. It lives as long as its family and its context.

    Threads may call it at the same time.
    """

    def __init__(self, spec: Spec, context: Context, config: Any, extent: Tuple[int, ...]) -> None:
        self._c: Any = None
        self._context = context
        self._spec = spec
        self._extent = extent
        self._constants: Dict[int, View] = {}  # what they were set to: a host array stays until the stream has come so far
        made, error, opened = ffi.new("tj_custom_kernel **"), ffi.new("tj_error *"), context._open()
        check(lib.tj_custom_load(opened, spec.family, config, ffi.new("int64_t[]", extent), made, error), error)
        self._c = owned(made[0], _free_kernel, opened, spec)
        context._add(self)

    @property
    def extents(self) -> Dict[str, int]:
        """The extents it was loaded for."""
        return dict(zip(self._spec.extents, self._extent))

    @property
    def config(self) -> str:
        """Its config, in one line."""
        return config_text(lib.tj_source_config(lib.tj_custom_source(self._open())))

    @property
    def source(self) -> str:
        """Its CUDA source."""
        return text(lib.tj_source_text(lib.tj_custom_source(self._open())))

    def __call__(self, *arrays: Any, stream: Any = None, **named: Any) -> Any:
        """Launch it, as a call of the family does. Extents that no array has for a dimension are those it was loaded for, and constants
        that are left out stay as an earlier call set them.

        Raises InvalidArgument also where the text holds another extent.
        """
        given, extents = _bind(self._spec, arrays, named, may_keep_constants=True)
        return _call(self._spec, given, extents, stream, self._context, lambda *_: self, self._extent)

    def _open(self) -> Any:
        if self._c is None:
            raise InvalidArgument(f"this kernel of {self._spec.name} was freed with its context")
        return self._c

    def _set_constant(self, index: int, view: View, stream: int) -> None:
        name, error = self._spec.arguments[index].name, ffi.new("tj_error *")
        view = view if view.device else _compact(view)
        check(lib.tj_custom_set_constant(self._open(), name.encode(), ffi.cast("void *", view.address), int(view.device is not None),
                                         ffi.cast("struct CUstream_st *", stream), error), error)
        self._constants[index] = view

    def _launch(self, extent: Tuple[int, ...], values: Any, stream: int) -> None:
        error = ffi.new("tj_error *")
        for i, argument in enumerate(self._spec.arguments):
            if argument.kind == "constant" and i not in self._constants:
                raise TypeError(f"{self._spec.name} has the constant {argument.name}, which was never set: pass {argument.name}=...")
        check(lib.tj_custom_launch(self._open(), ffi.new("int64_t[]", extent), values, ffi.cast("struct CUstream_st *", stream), error), error)

    def free(self) -> None:
        """Unload it now, or when the calls that use it have ended."""
        self._c = None

    def __repr__(self) -> str:
        return f"<tilejit.Kernel {self._spec.name} {self.extents}>"


def _free_kernel(kernel: Any) -> None:
    wait_for_device()
    lib.tj_custom_kernel_free(kernel)


class Family:
    """A kernel of the application's own, as a template with parameters: generated, compiled, stored, tuned, proven and launched as the
    library's families are (docs/own-families.md).

    name: such as "softmax": letters, digits and _, and none of the library's.
    template: the CUDA text with ``//@`` directives (docs/templates.md), a path to it, or several by name, of which the first is filled
        and the others are what its ``#include`` lines name. It is code, and is run as it stands.
    extents: the names of the extents that a call fixes, each an integer from 1 on.
    arguments: the kernel's arguments, an ``Argument`` each.
    params: the parameters that a tuner chooses, a ``Param`` each.
    derived: numbers and conditions by name, each a formula over the names before it: ``{"checks_cols": "cols % threads != 0"}``.
    constraints: formulas that must hold.
    grid, block: blocks of a launch, and threads of a block: a formula, or up to three for x, y and z.
    shared_bytes: a formula: dynamic shared memory of a block.
    needs: features that the device must have: "cp_async", "mma_bf16", "tma", "wgmma", ... (source.h).
    reference: computes the expected outputs with NumPy, once for each tuning or proof: ``reference(extents, *arguments)``, with the
        extents by name, and the arguments in their order: arrays of their shapes, and numbers. It writes the outputs in place, or
        returns them. None: nothing can be tuned or proven.
    fill: makes the elements that tunings and proofs use, of arguments that are not "out": ``fill(extents, name)`` returns an array; None
        stands for random elements.
    absolute, relative: an element may differ from its reference r by ``absolute + relative * abs(r)``.
    summary: one sentence.

    A formula computes with integers, with the operators of C, min, max and ceil_div.

    Raises InvalidArgument, which names the field and shows the place in a formula, and TypeError for an unknown dtype.
    """

    def __init__(self, name: str, template: Union[str, Path, Mapping[str, str]], *, extents: Sequence[str], arguments: Sequence[Argument],
                 params: Sequence[Param] = (), derived: Optional[Mapping[str, str]] = None, constraints: Sequence[str] = (),
                 grid: Union[Formula, Sequence[Formula]] = 1, block: Union[Formula, Sequence[Formula]] = 1, shared_bytes: Formula = 0,
                 needs: Sequence[str] = (), reference: Optional[Reference] = None, fill: Optional[Fill] = None, absolute: float = 0.0,
                 relative: float = 0.0, summary: str = "") -> None:
        for what, value in (("extents", extents), ("constraints", constraints), ("needs", needs)):
            if isinstance(value, str):
                raise TypeError(f"{what} is {value!r}: pass a list of texts")
        if isinstance(template, Path):
            template = {template.name: template.read_text()}
        elif isinstance(template, str):
            template = {f"{name}.cu": template}
        self._spec = Spec(name, extents, arguments, reference, fill)
        self._handle = ffi.new_handle(self._spec)  # what callbacks are given
        self._spec.family = declare(self._spec, self._handle, Declaration(list(template.items()), params, derived or {}, constraints, grid, block,
                                                                          shared_bytes, needs, summary, absolute, relative))
        self._kernels: Dict[Any, Kernel] = {}
        self._retired: List[Kernel] = []  # that a tuning replaced, and a stream may still be running

    @property
    def name(self) -> str:
        """Its name."""
        return self._spec.name

    def __call__(self, *arrays: Any, stream: Any = None, config: Config = None, context: Optional[Context] = None, **named: Any) -> Any:
        """Launch the kernel for these arrays, compiled on the first call for their extents.

        arrays, named: the arguments other than extents, in their order or by name, as ``matmul`` takes arrays: of NumPy, PyTorch, CuPy,
            JAX and others, contiguous, of the types and shapes that the family states, all in one place but for constants. Outputs may
            be left out, and are then new arrays of the kind of the first one. Extents that no array has for a dimension are named.
        stream: as for ``matmul``.
        config: ``{"threads": 128}`` or ``"threads=128"``. Default: what ``tune`` recorded for these extents, else the defaults.
        context: default: ``default_context()``.

        Returns the outputs: an array, or a tuple of them. On a device nothing is copied, and the call returns when the kernel is queued.
        A constant is copied in the stream before the launch; calls for the same extents share it, whatever stream they are in.
        Host arrays are copied to the device and back. A kernel serves all extents that its text does not hold, with the config of those
        that came first; ``load`` makes one for others.

        Raises InvalidArgument (shapes, types, places, extents, constraints; a fault of the template with file, line and a caret),
        TypeError (arguments that are missing, unknown, or not arrays), CompileError, and the other kinds of ``Error``.
        """
        given, extents = _bind(self._spec, arrays, named)
        return _call(self._spec, given, extents, stream, context, lambda where, extent, place: self._find(where, extent, place, config), None)

    def load(self, *, config: Config = None, context: Optional[Context] = None, **extents: int) -> Kernel:
        """Get the kernel for these extents ready on the current device: from memory, a pack or the store, or compiled.

        Call it before a stream is captured. config, and what is raised: as for a call.
        """
        context = context_of(context)
        return self._keep((context, None, self._extent(extents), self._config_key(config)), context, config, self._extent(extents))

    def generate(self, *, config: Config = None, **extents: int) -> str:
        """The CUDA text for a config and extents. It needs neither NVRTC nor a GPU.

        Raises InvalidArgument: a constraint does not hold, or the template has a fault, which is shown with file, line and a caret.
        """
        made = self._spec.config(config if config is not None else {})
        source, error = ffi.new("tj_source **"), ffi.new("tj_error *")
        check(lib.tj_custom_generate(made, ffi.new("int64_t[]", self._extent(extents)), source, error), error)
        try:
            return text(lib.tj_source_text(source[0]))
        finally:
            lib.tj_source_free(source[0])

    def prove(self, *, config: Config = None, again: bool = False, context: Optional[Context] = None, **extents: int) -> Proof:
        """Does the kernel compute on this device what the reference does? It runs once, between guard bands, and every output is compared.

        The result is kept next to the image, and known the next time unless again is True.

        Raises CheckFailed, which says what is wrong; InvalidArgument where there is no reference; what the reference raises.
        """
        proof, error = sized("tj_proof"), ffi.new("tj_error *")
        numbers = ffi.new("int64_t[]", self._extent(extents))
        with callbacks():
            check(lib.tj_custom_prove(context_of(context)._open(), self._spec.family, self._spec.config(config), numbers, int(again), proof,
                                      error), error)
        return Proof(int(proof.elements), float(proof.ms), bool(proof.was_known))

    def tune(self, *, seconds: float = 30.0, evaluations: int = 0, progress: Optional[Callable[[Progress], object]] = None, keep: bool = True,
             context: Optional[Context] = None, **extents: int) -> Tuning:
        """Measure configs for these extents on the current device, compare each with the reference, and keep the winner, which later calls
        and ``load`` then take.

        seconds, evaluations, progress, keep: as for ``tilejit.tune``, whose result this returns.

        Raises CheckFailed (no config is right), InvalidArgument (no reference, or the defaults do not hold), what the reference or progress
        raises, and other kinds of ``Error``. On the emulator configs are tried and no record is kept.
        """
        context = context_of(context)
        numbers = ffi.new("int64_t[]", self._extent(extents))
        with callbacks():
            tuning = run_tuning(lambda options, result, error: lib.tj_custom_tune(context._open(), self._spec.family, numbers, options, result, error),
                                seconds, evaluations, progress, keep)
        for key in [key for key in list(self._kernels) if key[0] is context and key[3] is None]:
            self._retired.append(self._kernels.pop(key))
        return tuning

    def _extent(self, extents: Mapping[str, Any]) -> Tuple[int, ...]:
        for name in extents:
            if name not in self._spec.extents:
                raise TypeError(f"{self.name} has no extent {name}: it has {', '.join(self._spec.extents)}")
        return self._spec.extent(extents, {})

    def _find(self, context: Context, extent: Tuple[int, ...], place: Optional[str], config: Config) -> Kernel:
        fixed = tuple(value for name, value in zip(self._spec.extents, extent) if name not in self._spec.passed)
        return self._keep((context, place or "", fixed, self._config_key(config)), context, config, extent)

    def _keep(self, key: Any, context: Context, config: Config, extent: Tuple[int, ...]) -> Kernel:
        kernel = self._kernels.get(key)
        if kernel is None or kernel._c is None:
            made = Kernel(self._spec, context, self._spec.config(config), extent)
            kernel = self._kernels.setdefault(key, made) if kernel is None else made  # of two threads, one
            self._kernels[key] = kernel
        return kernel

    @staticmethod
    def _config_key(config: Config) -> Any:
        return config if config is None or isinstance(config, str) else tuple(sorted((name, str(value)) for name, value in config.items()))

    def __repr__(self) -> str:
        return f"<tilejit.Family {self.name}>"


# ---- a call


def _bind(spec: Spec, arrays: Sequence[Any], named: Mapping[str, Any], may_keep_constants: bool = False) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Bind arrays to arguments, and return the named extents."""
    taken = [argument for argument in spec.arguments if argument.kind != "extent"]
    if len(arrays) > len(taken):
        raise TypeError(f"{spec.name} takes {len(taken)} arguments ({', '.join(argument.name for argument in taken)}), and {len(arrays)} were given")
    given: Dict[str, Any] = {argument.name: value for argument, value in zip(taken, arrays)}
    extents: Dict[str, Any] = {}
    known = {argument.name for argument in taken}
    for name, value in named.items():
        if name in spec.extents:
            extents[name] = value
        elif name not in known:
            raise TypeError(f"{spec.name} has no argument {name}: it has {', '.join([*(argument.name for argument in taken), *spec.extents])}")
        elif name in given:
            raise TypeError(f"{spec.name} got {name} twice")
        else:
            given[name] = value
    for argument in taken:
        if given.get(argument.name) is None and argument.kind != "out" and not (argument.kind == "constant" and may_keep_constants):
            raise TypeError(f"{spec.name} needs {argument.name}, the {argument.kind} argument: pass it")
    return given, extents


def _checked(spec: Spec, index: int, view: View, shape: Tuple[int, ...]) -> View:
    """Check an array against its argument. Raises InvalidArgument."""
    argument = spec.arguments[index]
    if view.type != spec.types[index]:
        raise InvalidArgument(f"{argument.name} is of {NAME[view.type]}, and {spec.name} takes {NAME[spec.types[index]]}")
    if view.shape != shape:
        raise InvalidArgument(f"{argument.name} is {view.shape}, and must be {shape}: ({', '.join(argument.dimensions)})")
    if view.address == 0:
        raise InvalidArgument(f"{argument.name} has no memory: it was freed")
    if argument.is_output and view.read_only:
        raise InvalidArgument(f"{argument.name} is read-only, and {spec.name} writes it")
    if argument.is_output and view.device is None:
        must_not_overlap(view, argument.name)
    if view.device is not None and any(mine != its for mine, its, extent in zip(view.strides, tight(shape), shape) if extent > 1):
        raise InvalidArgument(f"{argument.name} has strides of {view.strides}: pass a contiguous copy")
    return view


def _call(spec: Spec, given: Mapping[str, Any], named: Mapping[str, Any], stream: Any, context: Optional[Context], find: FindKernel,
          known: Optional[Tuple[int, ...]]) -> Any:
    """Check the arguments, launch, and return the outputs."""
    handle = stream_handle(stream)
    views = {argument.name: look(given[argument.name], argument.name, handle) for argument in spec.arguments
             if argument.is_array and given.get(argument.name) is not None}
    extent = spec.extent(named, views, known)
    shapes = spec.shapes(extent)
    for i, argument in enumerate(spec.arguments):
        if argument.name in views:
            _checked(spec, i, views[argument.name], shapes[i])
    placed = [(views[argument.name], argument.name) for argument in spec.arguments if argument.name in views and argument.kind != "constant"]
    if not placed:
        raise TypeError(f"{spec.name} was given no array, so nothing says where to compute: pass an output")
    _same_place(placed)
    first = placed[0][0]
    run = _on_host if first.device is None else _on_device
    outputs = run(_Call(spec, given, views, first, extent, shapes), handle, context, find)
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


class _Call(NamedTuple):
    """A call whose arguments were checked."""

    spec: Spec
    given: Mapping[str, Any]
    views: Mapping[str, View]  # of the arrays that were given
    first: View  # one of them: where to compute, and by which library to make others
    extent: Tuple[int, ...]
    shapes: Sequence[Tuple[int, ...]]


def _values(spec: Spec, given: Mapping[str, Any], there: Mapping[str, View]) -> Any:
    """Return the tj_custom_value of each argument."""
    values = ffi.new("tj_custom_value[]", len(spec.arguments))
    for i, argument in enumerate(spec.arguments):
        if argument.name in there:
            values[i].address = ffi.cast("void *", there[argument.name].address)
        elif argument.kind == "scalar":
            number, kind = given[argument.name], NAME[spec.types[i]]
            try:
                setattr(values[i], kind, whole(number, argument.name) if kind == "s32" else float(number))
            except (TypeError, ValueError, OverflowError) as error:
                raise TypeError(f"{argument.name} is {number!r}, and {spec.name} takes a number of {kind}") from error
    return values


def _queue(call: _Call, kernel: Kernel, there: Mapping[str, View], stream: int) -> None:
    values = _values(call.spec, call.given, there)
    for i, argument in enumerate(call.spec.arguments):
        if argument.kind == "constant" and argument.name in call.views:
            kernel._set_constant(i, call.views[argument.name], stream)
    kernel._launch(call.extent, values, stream)


def _on_device(call: _Call, handle: Optional[int], context: Optional[Context], find: FindKernel) -> List[Any]:
    """Run in place, on the stream of the caller or of the arrays."""
    spec, given, views, first, extent, shapes = call
    context = context_of(context, *given.values())
    there: Dict[str, View] = {}
    outputs: List[Any] = []
    for i, argument in enumerate(spec.arguments):
        if not argument.is_array or argument.kind == "constant":
            continue
        array = given.get(argument.name)
        if array is None:
            if first.kind not in ("torch", "cupy", "jax", "tilejit"):
                raise TypeError(f"nothing is known of the library that made the arrays, so it cannot be asked for the memory of {argument.name}: pass it")
            array = empty_like(first, shapes[i], spec.types[i], context)
        there[argument.name] = views.get(argument.name) or look(array, argument.name, handle)
        if argument.is_output:
            outputs.append(array)
    if handle is None:
        handle = next((current_stream(view) for view in views.values() if view.kind in ("torch", "cupy")), first.stream)
    with device_of(first):
        _queue(call, find(context, extent, first.device), there, handle)
        if first.kind == "jax":
            context.synchronize(handle)
    return outputs


def _on_host(call: _Call, handle: Optional[int], context: Optional[Context], find: FindKernel) -> List[Any]:
    """Run on copies in device memory, and copy the outputs back."""
    spec, given, views, first, extent, shapes = call
    host_stream(handle)
    context = host_context(context)
    on_device: Dict[str, DeviceArray] = {}
    outputs: List[Any] = []
    written: List[Tuple[DeviceArray, View]] = []
    try:
        for i, argument in enumerate(spec.arguments):
            if not argument.is_array or argument.kind == "constant":
                continue
            array, view = given.get(argument.name), views.get(argument.name)
            if array is None or view is None:
                array = _new_host(first, shapes[i], spec.types[i])
                view = look(array, argument.name, None)
            on_device[argument.name] = (DeviceArray(context, shapes[i], spec.types[i]) if argument.kind == "out" else
                                        _to_device(context, _compact(view)))
            if argument.is_output:
                outputs.append(array)
                written.append((on_device[argument.name], view))
        _queue(call, find(context, extent, None), {name: array._view() for name, array in on_device.items()}, 0)
        context.synchronize()
        for made, view in written:
            _store(context, made, view)
    finally:
        for each in on_device.values():
            each.free()
    return [_as_jax(output) if first.kind == "jax" else output for output in outputs]
