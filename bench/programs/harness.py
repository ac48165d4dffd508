# SPDX-License-Identifier: Apache-2.0
"""The harness of the programs in this folder: options, timing, and a line of JSON for each case.

A program makes its cases and passes them to run(). Each case is a step that knows nothing of TileJIT. All cases run some steps first and
then pause, so that under `tilejit with` their kernels are compiled meanwhile; after more steps, each case is timed, eagerly and then, if it
can be captured, as a CUDA graph. A run without TileJIT does the same.
"""
import argparse
import contextlib
import hashlib
import json
import statistics
import sys
import time

import numpy

PAUSE_SECONDS = 4
SAMPLE = 64  # values of a result that the line holds; the digest is of all
SHORT = (10, 30, 300)  # steps of a case whose step takes less than 5 ms: the noise of the host may double dozens in a row


class Case:
    """A step to time.

    look: returns a dictionary of arrays that the steps computed, by name; those that are judged do not depend on the number of timed steps.
    bounds: the largest relative difference, by name, that two runs may have; names that are left out are printed, not judged.
    steps: the numbers of steps before the pause, after it, and timed.
    graph: whether to capture the step. look_at_graph: as look, after replays.
    """

    def __init__(self, program, name, step, look, bounds, steps=(10, 30, 20), graph=True, look_at_graph=None):
        self.program, self.name, self.step, self.look, self.bounds = program, name, step, look, bounds
        self.steps, self.graph, self.look_at_graph = steps, graph, look_at_graph or look


class Wall:
    """Stamps by the host's clock. wait() returns when the work is done."""

    graphs = False

    def __init__(self, wait=lambda: None, device="cpu"):
        self.wait, self.device = wait, device

    def stamp(self):
        self.wait()
        return time.perf_counter()

    def milliseconds(self, begin, end):
        return (end - begin) * 1e3


class TorchEvents:
    """Stamps by events on PyTorch's current stream."""

    graphs = True

    def __init__(self):
        import torch
        self.torch, self.wait, self.device = torch, torch.cuda.synchronize, torch.cuda.get_device_name()

    def stamp(self):
        event = self.torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def milliseconds(self, begin, end):
        return begin.elapsed_time(end)

    def capture(self, step):
        side = self.torch.cuda.Stream()
        side.wait_stream(self.torch.cuda.current_stream())
        with self.torch.cuda.stream(side):
            for _ in range(3):
                step()
        self.torch.cuda.current_stream().wait_stream(side)
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            step()
        return graph.replay


class CupyEvents:
    """Stamps by events on CuPy's current stream."""

    graphs = False

    def __init__(self):
        import cupy
        self.cupy, self.wait = cupy, cupy.cuda.runtime.deviceSynchronize
        self.device = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()

    def stamp(self):
        event = self.cupy.cuda.Event()
        event.record()
        return event

    def milliseconds(self, begin, end):
        return self.cupy.cuda.get_elapsed_time(begin, end)


def options(text, torch=False, **flags):
    """The options of a program; torch says whether it takes --torch. flags: further options, each with its help."""
    parser = argparse.ArgumentParser(description=text.split("\n")[0])
    parser.add_argument("--tiny", action="store_true", help="tiny sizes on the CPU, to try the program itself")
    if torch:
        parser.add_argument("--torch", action="store_true", help="replace every linear by tilejit.torch")
    for flag, meaning in flags.items():
        parser.add_argument("--" + flag.replace("_", "-"), action="store_true", help=meaning)
    return parser.parse_args()


def torch_clock(tiny):
    return Wall() if tiny else TorchEvents()


@contextlib.contextmanager
def made_on(device, dtype):
    """Tensors that PyTorch makes inside are of this device and type."""
    import torch
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with torch.device(device):
            yield
    finally:
        torch.set_default_dtype(before)


def replace_linear(model, chosen):
    """The model, its linears replaced if --torch was said."""
    if chosen.torch:
        import tilejit.torch
        print(tilejit.torch.replace_linear(model), file=sys.stderr)
    return model


def as_array(values):
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        return (values if not values.is_floating_point() else values.double()).numpy().ravel()
    return numpy.asarray(values.get() if hasattr(values, "get") else values).ravel()


def describe(values):
    values = as_array(values)
    places = numpy.linspace(0, values.size - 1, min(SAMPLE, values.size)).astype(int)
    return {"digest": hashlib.sha256(numpy.ascontiguousarray(values).tobytes()).hexdigest()[:12], "values": values[places].tolist()}


def timed(clock, step, count):
    """Milliseconds of a step: the median between stamps, and by the host's clock over all steps."""
    clock.wait()
    begin = time.perf_counter()
    stamps = [clock.stamp()]
    for _ in range(count):
        step()
        stamps.append(clock.stamp())
    clock.wait()
    wall = (time.perf_counter() - begin) * 1e3 / count
    return statistics.median(map(clock.milliseconds, stamps, stamps[1:])), wall


def report(clock, case, mode, times, computed):
    print(json.dumps({"program": case.program, "case": case.name, "mode": mode, "ms": times[0], "wall_ms": times[1], "device": clock.device,
                      "bounds": case.bounds, "computed": {name: describe(values) for name, values in computed.items()}}), flush=True)


def run(clock, cases, tiny=False):
    def repeat(phase):
        for case in cases:
            for _ in range(1 if tiny else case.steps[phase]):
                case.step()
        clock.wait()

    repeat(0)
    time.sleep(0 if tiny else PAUSE_SECONDS)
    repeat(1)
    for case in cases:
        times = timed(clock, case.step, 3 if tiny else case.steps[2])
        report(clock, case, "eager", times, case.look())
    for case in cases:
        if not (case.graph and clock.graphs):
            continue
        try:
            replay = clock.capture(case.step)
        except RuntimeError as error:
            print(f"{case.program}, {case.name}: not captured: {error}", file=sys.stderr)
            continue
        timed(clock, replay, 5)
        times = timed(clock, replay, 3 * case.steps[2])
        report(clock, case, "graph", times, case.look_at_graph())
