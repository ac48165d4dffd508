# SPDX-License-Identifier: Apache-2.0
# tier: change; cost: 300
"""tilejit.torch on tensors in host memory, which the emulator multiplies: products, gradients, torch.compile, and modules of a model."""

import copy
import os
import pathlib
import re
import subprocess
import sys
import threading

import pytest

if os.environ.get("TILEJIT_REQUIRE_TORCH") != "1":
    pytest.importorskip("torch", reason="SKIPPED, not tested: there is no PyTorch")
import torch

import tilejit
import tilejit.torch as tt
from torch import nn
from torch.nn import functional

OPS = torch.ops.tilejit
ACTIVATIONS = {"": lambda x: x, "relu": torch.relu, "silu": functional.silu, "gelu": functional.gelu,
               "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh")}


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(7)


def tensor(*shape, grad=False, dtype=torch.float32):
    return (torch.randint(-8, 9, shape) / 8).to(dtype).requires_grad_(grad)


def same(found, expected, inputs=(), tolerance=None):
    """Values and gradients are those expected."""
    tolerance = {} if tolerance is None else {"atol": tolerance, "rtol": tolerance}
    torch.testing.assert_close(found, expected, **tolerance)
    if inputs:
        gradient = tensor(*expected.shape, dtype=expected.dtype)
        for mine, theirs in zip(torch.autograd.grad(found, inputs, gradient), torch.autograd.grad(expected, inputs, gradient)):
            torch.testing.assert_close(mine, theirs, **tolerance)


def numbers_of_4_bits(rows, k):
    """Weights -8 to 7, and as they are stored, two in a byte."""
    values = torch.randint(-8, 8, (rows, k))
    stored = (values[:, 0::2] & 15) | (values[:, 1::2] & 15) << 4
    return values, stored.to(torch.uint8)


# ---- products ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("has_bias,has_residual", [(False, False), (True, True)])
def test_linear(activation, has_bias, has_residual):
    x, w = tensor(3, 5, 24, grad=True), tensor(16, 24, grad=True)
    b, r = tensor(16, grad=True) if has_bias else None, tensor(3, 5, 16, grad=True) if has_residual else None
    expected = ACTIVATIONS[activation](functional.linear(x, w, b))
    expected = expected if r is None else expected + r
    same(tt.linear(x, w, b, r, activation=activation), expected, [each for each in (x, w, b, r) if each is not None], 1e-5)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_types(dtype):
    x, w, b = tensor(7, 24, grad=True, dtype=dtype), tensor(16, 24, grad=True, dtype=dtype), tensor(16, grad=True, dtype=dtype)
    same(tt.linear(x, w, b), functional.linear(x, w, b), (x, w, b))


@pytest.mark.parametrize("x,w", [
    (lambda: tensor(24), lambda: tensor(16, 24)), (lambda: tensor(24, 7).t(), lambda: tensor(24, 16).t()),
    (lambda: tensor(7, 48)[:, ::2], lambda: tensor(16, 48)[:, ::2]), (lambda: tensor(1, 24).expand(7, 24), lambda: tensor(16, 32)[:, :24]),
    (lambda: tensor(0, 24), lambda: tensor(16, 24)), (lambda: tensor(7, 0), lambda: tensor(16, 0)), (lambda: tensor(1, 1), lambda: tensor(1, 1))])
def test_linear_as_it_lies(x, w):
    x, w, b = x().requires_grad_(), w().requires_grad_(), None
    b = tensor(w.shape[0], grad=True)
    same(tt.linear(x, w, b), functional.linear(x, w, b), (x, w, b))


def test_a_gradient_without_strides():
    x, w = tensor(7, 24, grad=True), tensor(16, 24, grad=True)
    tt.linear(x, w).sum().backward()
    torch.testing.assert_close(x.grad, w.sum(0).expand(7, 24))


@pytest.mark.parametrize("a,b", [((5, 6), (6, 7)), ((6,), (6, 7)), ((5, 6), (6,)), ((2, 5, 6), (6, 7)), ((2, 5, 6), (2, 6, 7)),
                                 ((3, 1, 5, 6), (2, 6, 7)), ((1, 5, 6), (1, 6, 7)), ((2, 0, 6), (2, 6, 7))])
def test_matmul(a, b):
    a, b = tensor(*a, grad=True), tensor(*b, grad=True)
    same(tt.matmul(a, b), torch.matmul(a, b), (a, b))


def gated(x, gate, up):
    return functional.silu(x @ gate.t()) * (x @ up.t())


@pytest.mark.parametrize("has_bias", [False, True])
def test_gated(has_bias):
    x, gate, up = tensor(2, 5, 24, grad=True), tensor(16, 24, grad=True), tensor(16, 24, grad=True)
    biases = [tensor(16, grad=True) for _ in range(2 * has_bias)]
    expected = functional.silu(functional.linear(x, gate, *biases[:1])) * functional.linear(x, up, *biases[1:])
    found = tt.gated_linear(x, tt.interleave(gate, up), tt.interleave(*biases) if biases else None)
    same(found, expected, (x, gate, up, *biases), 1e-5)


@pytest.mark.parametrize("of_input,of_weight", [(torch.bfloat16, torch.float32), (torch.float16, torch.float32), (torch.float32, torch.bfloat16)])
@pytest.mark.parametrize("activation", ["", "silu"])
def test_halves_by_f32(of_input, of_weight, activation):
    """As a router multiplies bfloat16 by weights of float32: the result is float32, and gradients have the types of their tensors."""
    x, w = tensor(2, 5, 32, grad=True, dtype=of_input), tensor(16, 32, grad=True, dtype=of_weight)
    bias = tensor(16, grad=True)
    found = tt.linear(x, w, bias, activation=activation)
    assert found.dtype == torch.float32
    same(found, ACTIVATIONS[activation](functional.linear(x.float(), w.float(), bias)), (x, w, bias))
    same(OPS.linear(x, w, bias, activation=activation, if_faster=True), found.detach())
    same(tt.matmul(x, w.t()), x.float() @ w.float().t(), (x, w))
    with torch.autocast("cpu"):
        assert tt.linear(x, w).dtype == torch.bfloat16  # as all products are
    compiled = torch.compile(lambda x, w: tt.linear(x, w, bias, activation=activation) + 1, backend="aot_eager", fullgraph=True)
    same(compiled(x, w), found + 1)


def test_gated_mlp():
    x, gate, up, down = tensor(5, 24, grad=True), tensor(16, 24, grad=True), tensor(16, 24, grad=True), tensor(24, 16, grad=True)
    same(tt.gated_mlp(x, tt.interleave(gate, up), down, x), gated(x, gate, up) @ down.t() + x, (x, gate, up, down), 1e-4)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("is_gated", [False, True])
def test_experts(dtype, is_gated):
    bounds = [0, 3, 3, 8, 10]  # the second has none, and two rows belong to nobody
    x, gate, up = tensor(12, 24, grad=True), tensor(4, 16, 24, grad=True), tensor(4, 16, 24, grad=True)
    rows = []
    for g, (first, last) in enumerate(zip(bounds, bounds[1:])):
        rows.append(gated(x[first:last], gate[g], up[g]) if is_gated else torch.relu(x[first:last] @ gate[g].t()))
    expected = torch.cat([*rows, torch.zeros(2, 16)])
    offsets = torch.tensor(bounds, dtype=dtype)
    if is_gated:
        same(tt.experts(x, tt.interleave(gate, up), offsets, activation="silu", gated=True), expected, (x, gate, up), 1e-5)
    else:
        same(tt.experts(x, gate, offsets, activation="relu"), expected, (x, gate), 1e-5)


def test_any_epilogue():
    x, w, b, gain = tensor(2, 5, 24), tensor(16, 24), tensor(16), tensor(10, dtype=torch.bfloat16)
    found = tt.linear(x, w, b, epilogue="slope * tanh(acc + bias[col]) * gain[row]", gain=gain, slope=0.5)
    torch.testing.assert_close(found, 0.5 * torch.tanh(functional.linear(x, w, b)) * gain.float().reshape(2, 5, 1))
    pairs = tt.linear(x, w, epilogue="max(acc[2*col], acc[2*col+1])")
    torch.testing.assert_close(pairs, functional.linear(x, w).reshape(2, 5, 8, 2).amax(-1))
    for kind in (torch.float16, torch.float32):  # one text, two types
        torch.testing.assert_close(tt.linear(x, w, epilogue="acc + bias[col]", bias=b.to(kind)), functional.linear(x, w, b))


def spread(scale, rows, columns, shape):
    return scale.repeat_interleave(rows, 0).repeat_interleave(columns, 1)[:shape[0], :shape[1]]


@pytest.mark.parametrize("kind", ["one", "rows", "parts", "blocks", "micro"])
def test_scaled_linear(kind):
    x, w, b = tensor(5, 256).to(torch.float8_e4m3fn), tensor(144, 256).to(torch.float8_e4m3fn), tensor(144, dtype=torch.bfloat16)
    powers = lambda *shape: torch.exp2(torch.randint(-2, 3, shape).float())
    scales = {"one": (powers(1), torch.tensor(0.5)), "rows": (powers(5), powers(144, 1)), "parts": (powers(5, 2), powers(144, 2)),
              "blocks": (powers(5, 2), powers(2, 2)), "micro": (powers(5, 8), powers(144, 8))}[kind]
    whole = {"one": (5, 256), "rows": (1, 256), "parts": (1, 128), "blocks": (1, 128), "micro": (1, 32)}[kind]
    of_w = {"one": (144, 256), "blocks": (128, 128)}.get(kind, whole)
    wide = [each.float() * spread(scale.reshape(-1, 1) if scale.dim() < 2 else scale, *block, each.shape)
            for each, scale, block in zip((x, w), scales, (whole, of_w))]
    if kind == "micro":
        scales = tuple(scale.to(torch.float8_e8m0fnu) for scale in scales)
    found = tt.scaled_linear(x, w, *scales, b)
    torch.testing.assert_close(found, functional.linear(*wide, b.float()).bfloat16(), atol=0.25, rtol=0.01)


@pytest.mark.parametrize("kind,repacked", [("s8", False), *((kind, repacked) for kind in ("s4", "u4", "mxfp4", "nvfp4") for repacked in (False, True))])
def test_quantized_linear(kind, repacked):
    dtype = torch.bfloat16
    x, b = tensor(2, 3, 128, grad=True, dtype=dtype), tensor(16, grad=True, dtype=dtype)
    values, stored = numbers_of_4_bits(16, 128)
    scale, zero, whole, group = torch.exp2(torch.randint(-3, 0, (16, 2)).float()).to(dtype), None, None, 64
    if kind == "u4":
        values = values & 15
        zeros = torch.randint(0, 16, (16, 2))
        zero = (zeros[:, :1] | zeros[:, 1:] << 4).to(torch.uint8)
        wide = (values - spread(zeros, 1, 64, (16, 128))).float()
    elif kind == "s8":
        stored, scale, group = values.to(torch.int8), scale[:, :1].float(), 0
        wide = values.float()
    elif kind in ("mxfp4", "nvfp4"):
        table = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6])
        wide = table[values & 7] * (1 - 2 * ((values & 15) > 7))
        group = 32 if kind == "mxfp4" else 16
        scale = torch.exp2(torch.randint(-3, 0, (16, 128 // group)).float())
        whole = torch.tensor([0.5]) if kind == "nvfp4" else None
        scale = scale.to(torch.float8_e8m0fnu if kind == "mxfp4" else torch.float8_e4m3fn)
    else:
        wide = values.float()
    wide = wide * spread(scale.float(), 1, group or 128, (16, 128)) * (1 if whole is None else whole)
    type = {"mxfp4": "e2m1", "nvfp4": "e2m1"}.get(kind, kind)
    stored = tilejit.repack(stored) if repacked else stored
    found = tt.quantized_linear(x, stored, scale, zero, whole, b, type=type, group=group, repacked=repacked)
    same(found, functional.linear(x, wide.to(dtype), b), (x, b), 0.02)


@pytest.mark.parametrize("repacked", [False, True])
def test_quantized_linear_of_one_row_of_weights(repacked):
    x, (values, stored) = tensor(3, 64, grad=True), numbers_of_4_bits(1, 64)
    stored = tilejit.repack(stored) if repacked else stored
    same(tt.quantized_linear(x, stored, torch.ones(1), type="s4", repacked=repacked), x @ values.float().t(), (x,))


# ---- gradients ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("activation", ["", "silu", "gelu"])
def test_gradcheck(activation):
    x, w, b, r = (tensor(*shape, grad=True, dtype=torch.float64) for shape in ((3, 4), (6, 4), (6,), (3, 6)))
    run = lambda x, w, b, r: tt.linear(x, w, b, r, activation=activation)
    assert torch.autograd.gradcheck(run, (x, w, b, r), fast_mode=True)
    assert torch.autograd.gradgradcheck(run, (x, w, b, r), fast_mode=True)


def test_gradcheck_of_gates_and_experts():
    x, w, b = (tensor(*shape, grad=True, dtype=torch.float64) for shape in ((3, 4), (6, 4), (6,)))
    assert torch.autograd.gradcheck(tt.gated_linear, (x, w, b), fast_mode=True)
    assert torch.autograd.gradgradcheck(tt.gated_linear, (x, w, b), fast_mode=True)
    x, w = (tensor(*shape, grad=True, dtype=torch.float64) for shape in ((5, 4), (2, 6, 4)))
    run = lambda x, w: tt.experts(x, w, torch.tensor([0, 2, 4]), activation="silu")
    assert torch.autograd.gradcheck(run, (x, w), fast_mode=True)
    assert torch.autograd.gradgradcheck(run, (x, w), fast_mode=True)


def test_func():
    x, w = tensor(3, 4), tensor(6, 4)
    loss = lambda w, x: tt.linear(x, w, activation="silu").square().sum()
    expected = lambda w, x: functional.silu(functional.linear(x, w)).square().sum()
    torch.testing.assert_close(torch.func.grad(loss)(w, x), torch.func.grad(expected)(w, x))
    torch.testing.assert_close(torch.func.grad(lambda w, x: torch.func.grad(loss)(w, x).sum())(w, x),
                               torch.func.grad(lambda w, x: torch.func.grad(expected)(w, x).sum())(w, x), atol=1e-4, rtol=1e-4)
    gate = lambda w, x: tt.gated_linear(x, w).square().sum()
    expected_gate = lambda w, x: gated(x, w[0::2], w[1::2]).square().sum()
    torch.testing.assert_close(torch.func.grad(lambda w, x: torch.func.grad(gate)(w, x).sum())(w, x),
                               torch.func.grad(lambda w, x: torch.func.grad(expected_gate)(w, x).sum())(w, x), atol=1e-3, rtol=1e-3)
    xs = tensor(5, 3, 4)
    torch.testing.assert_close(torch.func.vmap(tt.linear, (0, None))(xs, w), functional.linear(xs, w))
    each = torch.func.vmap(torch.func.grad(loss), (None, 0))(w, xs)  # the gradient of each sample
    torch.testing.assert_close(each, torch.func.vmap(torch.func.grad(expected), (None, 0))(w, xs))


def test_checkpoint_and_hooks():
    x, w, seen = tensor(3, 4, grad=True), tensor(6, 4, grad=True), []
    y = torch.utils.checkpoint.checkpoint(lambda x: tt.linear(x, w, activation="relu"), x, use_reentrant=False)
    y.register_hook(lambda gradient: seen.append(gradient.shape))
    y.sum().backward()
    assert seen == [(3, 6)] and w.grad is not None
    with torch.autograd.graph.save_on_cpu():
        tt.linear(x, w).sum().backward()


def test_threads():
    x, w = tensor(4, 8), tensor(6, 8)
    found = []
    threads = [threading.Thread(target=lambda: found.append(tt.linear(x, w))) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(found) == 4 and all(torch.equal(each, x @ w.t()) for each in found)


# ---- torch.compile, autocast, opcheck ----------------------------------------------------------------------------------------


def samples():
    """(operator, arguments) of all operators."""
    x, w, b = tensor(4, 64, grad=True), tensor(32, 64, grad=True), tensor(32, grad=True)
    half, (_, stored) = tensor(4, 64, grad=True, dtype=torch.float16), numbers_of_4_bits(32, 64)
    eight, offsets = tensor(4, 128).to(torch.float8_e4m3fn), torch.tensor([0, 1, 3], dtype=torch.int32)
    groups = tensor(2, 32, 64, grad=True)
    yield OPS.linear, (x, w), {}
    yield OPS.linear, (x.reshape(2, 2, 64).detach().requires_grad_(), w, b, tensor(2, 2, 32, grad=True)), {"activation": "gelu"}
    yield OPS.linear, (x, w, b), {"activation": "silu", "gated": True}
    yield OPS.linear, (x, groups, None, None, offsets), {"activation": "relu"}
    yield OPS._linear_saving, (x.detach(), w.detach(), None, None, None), {"activation": "silu", "gated": True}
    yield OPS.matmul, (x, w.t().detach().requires_grad_()), {}
    yield OPS.grouped, (x, tensor(2, 64, 32, grad=True), offsets), {}
    yield OPS.along_k, (x, tensor(4, 32, grad=True), offsets), {}
    yield OPS.linear_epilogue, (x.detach(), w.detach(), "slope * acc + bias[col]", ["bias", "slope"], [b.detach()], [2.0]), {}
    yield OPS.scaled_linear, (eight, eight[:3], torch.ones(1), torch.ones(1)), {"dtype": torch.bfloat16}
    yield OPS.quantized_linear, (half, stored, torch.ones(32, 1, dtype=torch.float16)), {"type": "s4"}
    yield OPS.quantized_linear, (half, stored, torch.ones(32, 1, dtype=torch.float16)), {"type": "s4", "repacked": True}
    constants = (half.detach(), stored, torch.ones(32, 1, dtype=torch.float16), None, None)
    yield OPS._dequantize, constants, {"type": "s4", "group": 0, "repacked": True}


def test_every_operator_is_checked():
    schemas = {str(schema.name) for schema in torch._C._jit_get_all_schemas() if schema.name.startswith("tilejit::")}
    assert schemas == {op._qualified_op_name for op, _, _ in samples()}


@pytest.mark.parametrize("number", range(13))
def test_opcheck(number):
    op, arguments, options = list(samples())[number]
    checks = ["test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"]
    if op is OPS.scaled_linear:
        checks.remove("test_schema")  # PyTorch cannot compare tensors of 8-bit floats in host memory
    torch.library.opcheck(op.default, arguments, options, test_utils=checks)


class Model(nn.Module):
    """Tied weights, a hook, a subclass, an odd one, and a gated MLP of tilejit.torch."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(11, 16)
        self.up, self.down = nn.Linear(16, 32), nn.Linear(32, 16, bias=False)
        self.head = nn.Linear(16, 11, bias=False)
        self.head.weight = self.words.weight
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)

    def forward(self, tokens):
        x = self.words(tokens)
        x = x + self.down(functional.gelu(self.up(x)))
        return self.head(x)


@pytest.mark.parametrize("backend,always", [("eager", True), ("aot_eager", True), ("inductor", True), ("aot_eager", False)])
def test_compile_without_graph_breaks(backend, always):
    model, tokens = Model(), torch.randint(0, 11, (2, 3))
    expected = model(tokens)
    expected.square().sum().backward()
    gradients = {name: parameter.grad.clone() for name, parameter in model.named_parameters() if parameter.grad is not None}
    model.zero_grad()
    with tt.replace_linear(model, always=always):
        if backend == "eager":
            explained = torch._dynamo.explain(model)(tokens)
            assert (explained.graph_break_count, explained.graph_count) == (0, 1), explained
        found = torch.compile(model, backend=backend, fullgraph=True)(tokens)
        found.square().sum().backward()
    torch.testing.assert_close(found, expected)
    for name, parameter in model.named_parameters():
        if parameter.grad is not None:
            torch.testing.assert_close(parameter.grad, gradients[name], atol=1e-4, rtol=1e-4)


def test_compile_of_all_functions():
    offsets = torch.tensor([0, 1, 3], dtype=torch.int32)

    def run(x, gate_up, down, experts, stored, scale):
        y = tt.gated_mlp(x, gate_up, down, x)
        y = tt.linear(y, down.t(), epilogue="relu(acc) * gain", gain=0.5) if not y.requires_grad else tt.linear(y, down.t(), activation="relu")
        y = tt.experts(tt.matmul(y, down.t()), experts, offsets)
        return y + tt.quantized_linear(x, stored, scale, type="s4", repacked=True)

    _, stored = numbers_of_4_bits(64, 64)
    arguments = [tensor(3, 64), tensor(64, 64), tensor(64, 32), tensor(2, 64, 64), stored, torch.ones(64, 1)]
    for needs in (False, True):
        arguments = [each.requires_grad_(needs) if each is not stored and i < 4 else each for i, each in enumerate(arguments)]
        torch._dynamo.reset()
        torch.testing.assert_close(torch.compile(run, backend="aot_eager", fullgraph=True)(*arguments), run(*arguments), atol=1e-3, rtol=1e-3)


def test_compile_for_any_number_of_rows():
    compiled = torch.compile(lambda x, w: tt.linear(x, w, activation="silu"), backend="aot_eager", fullgraph=True, dynamic=True)
    w = tensor(6, 8, grad=True)
    for rows in (3, 5):
        x = tensor(rows, 8, grad=True)
        same(compiled(x, w), functional.silu(functional.linear(x, w)), (x, w), 1e-5)


def test_autocast():
    x, w = tensor(4, 8, grad=True), tensor(6, 8, grad=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, z = tt.linear(x, w), tt.matmul(x, w.t())
        experts = tt.experts(x, w.unsqueeze(0), torch.tensor([0, 4]))
    assert {y.dtype, z.dtype, experts.dtype} == {torch.bfloat16}
    y.sum().backward()
    assert x.grad.dtype == torch.float32


# ---- modules -----------------------------------------------------------------------------------------------------------------


def test_replace_linear():
    model, tokens = Model(), torch.randint(0, 11, (2, 3))
    calls = []
    model.up.register_forward_hook(lambda *_: calls.append(1))
    state, expected = copy.deepcopy(model.state_dict()), model(tokens)
    classes = [type(module) for module in model.modules()]
    done = tt.replace_linear(model, always=True)
    assert set(done.replaced) == {"up", "down", "head"}
    assert "subclass" in done.left["attention.out_proj"] and "attention.out_proj" in str(done)
    assert isinstance(model.up, nn.Linear) and model.head.weight is model.words.weight
    torch.testing.assert_close(model(tokens), expected)
    assert len(calls) == 2
    after = model.state_dict()
    assert list(after) == list(state) and all(torch.equal(after[name], state[name]) and after[name].dtype == state[name].dtype for name in state)
    model.load_state_dict(state)
    torch.testing.assert_close(copy.deepcopy(model)(tokens), expected)
    assert not tt.replace_linear(model).replaced  # once is enough
    done.undo()
    done.undo()
    assert [type(module) for module in model.modules()] == classes


def test_modules_that_stay():
    model = nn.ModuleDict({"own": nn.Linear(4, 4), "norm": nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)),
                           "complex": nn.Linear(4, 4, dtype=torch.complex64), "plain": nn.Linear(4, 4)})
    model["own"].forward = lambda x: x
    with tt.replace_linear(model) as done:
        assert set(done.replaced) == {"plain"} and set(done.left) == {"own", "norm", "complex"}
        assert "forward of its own" in done.left["own"] and "complex64" in done.left["complex"]
        x = tensor(2, 4)
        torch.testing.assert_close(model["plain"](x), functional.linear(x, model["plain"].weight, model["plain"].bias))
    assert type(model["plain"]) is nn.Linear


def test_conv1d_of_transformers(monkeypatch):
    source = """class Conv1D(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(4, 6)), nn.Parameter(torch.ones(6))
    def forward(self, x):
        return torch.addmm(self.bias, x.view(-1, 4), self.weight).view(*x.shape[:-1], 6)
"""
    names = {"nn": nn, "torch": torch, "__name__": "transformers.pytorch_utils"}
    exec(source, names)
    model, x = nn.Sequential(names["Conv1D"]()), tensor(2, 3, 4)
    expected = model(x)
    with tt.replace_linear(model, always=True) as done:
        assert list(done.replaced) == ["0"]
        torch.testing.assert_close(model(x), expected)
        model(x).sum().backward()
        assert model[0].weight.grad.is_contiguous()  # it was computed as the weight is stored
    assert type(model[0]) is names["Conv1D"] and model[0].weight.grad.shape == (4, 6)


def test_blocks_of_the_page():
    page = (pathlib.Path(__file__).resolve().parents[3] / "docs/torch.md").read_text()
    blocks = re.findall(r"^```python by bindings/python/tests/test_torch.py\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    names = {"model": nn.Sequential(nn.Linear(4, 4))}
    for block in blocks:
        exec(block, names)
    assert len(blocks) == 2 and type(names["model"][0]) is nn.Linear


# ---- what is refused -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("call,kind,words", [
    (lambda: tt.linear(tensor(3, 4), tensor(6, 5)), ValueError, "pass (..., in) and (out, in)"),
    (lambda: tt.linear(tensor(3, 4).bfloat16(), tensor(6, 4).half()), TypeError, "convert one of them"),
    (lambda: tt.linear(tensor(3, 4).int(), tensor(6, 4).int()), TypeError, "pass float32"),
    (lambda: tt.linear(tensor(3, 4), tensor(6, 4), activation="swish"), ValueError, "relu, gelu, gelu_tanh, silu"),
    (lambda: tt.linear(tensor(3, 4), tensor(6, 4), tensor(5)), ValueError, "an element for each row of weight"),
    (lambda: tt.linear(tensor(3, 4), tensor(6, 4), None, tensor(3, 5)), ValueError, "the shape of the result"),
    (lambda: tt.linear(tensor(3, 4), tensor(6, 4), epilogue="gelu(acc + bias[col])"), ValueError, "operand bias, which is missing"),
    (lambda: tt.linear(tensor(3, 4), tensor(6, 4), epilogue="gelu(acc"), ValueError, "gelu"),
    (lambda: tt.linear(tensor(3, 4), tensor(6, 4), epilogue="pre[row, col] = acc; acc", pre=tensor(3, 6)), ValueError, "returns one tensor"),
    (lambda: tt.linear(tensor(3, 4, grad=True), tensor(6, 4), epilogue="exp(acc)"), NotImplementedError, "has no gradient"),
    (lambda: tt.linear(tensor(3, 4), tensor(6, 4), slope=1), TypeError, "no argument slope"),
    (lambda: tt.experts(tensor(3, 4), tensor(2, 6, 4), torch.tensor([0, 3])), ValueError, "pass 3 contiguous numbers"),
    (lambda: tt.experts(tensor(3, 4), tensor(2, 6, 4), torch.tensor([0., 1., 3.])), TypeError, "int32 or int64"),
    (lambda: tt.scaled_linear(tensor(3, 4), tensor(6, 4), torch.ones(1), torch.ones(1)), TypeError, "float8_e4m3fn"),
    (lambda: tt.scaled_linear(*(tensor(3, 4).to(torch.float8_e4m3fn) for _ in range(2)), torch.ones(2), torch.ones(1)), ValueError, "scale_input is [2]"),
    (lambda: tt.quantized_linear(tensor(3, 4), torch.zeros(6, 4, dtype=torch.uint8), torch.ones(6), type="s4"), ValueError, "(out, in / 2)"),
    (lambda: tt.quantized_linear(tensor(3, 4), torch.zeros(6, 2, dtype=torch.uint8), torch.ones(6), type="s5"), ValueError, "s5"),
    (lambda: tt.quantized_linear(tensor(3, 4), torch.zeros(6, 2, dtype=torch.uint8), torch.ones(6, 2), type="s4", group=4), ValueError, "(6, 1)"),
    (lambda: tt.quantized_linear(tensor(3, 4), torch.zeros(6, 2, dtype=torch.uint8), tensor(6, grad=True), type="s4"), RuntimeError, "detach"),
    (lambda: tt.quantized_linear(tensor(3, 4), torch.zeros(2, 6, dtype=torch.uint8).t(), torch.ones(6), type="s4"), ValueError, "contiguous copy"),
    (lambda: tt.quantized_linear(tensor(3, 48), torch.zeros(6, 24, dtype=torch.uint8), torch.ones(6), type="s4", repacked=True), ValueError,
     "in blocks of 32"),
    (lambda: tt.quantized_linear(tensor(3, 64), torch.zeros(6, 64, dtype=torch.int8), torch.ones(6), type="s8", repacked=True), TypeError,
     "leave out repacked=True"),
    (lambda: torch.func.jvp(tt.linear, (tensor(3, 4), tensor(6, 4)), (tensor(3, 4), tensor(6, 4))), NotImplementedError, "forward mode"),
])
def test_refusals(call, kind, words):
    with pytest.raises(kind) as error:
        call()
    assert words in str(error.value)


def test_a_second_backward_is_refused():
    y = tt.linear(tensor(3, 4, grad=True), tensor(6, 4), activation="silu").sum()
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


@pytest.mark.parametrize("environment,words", [
    ({"CXX": "no-such-compiler"}, "no C++ compiler no-such-compiler ($CXX)"), ({"CXX": "false"}, "could not be compiled"),
    ({"OLD": "1"}, "needs PyTorch 2.8 or newer, and this is 2.7.1"), ({"NONE": "1"}, "pip install torch")])
def test_an_extension_that_cannot_be_made(environment, words, tmp_path):
    program = """
import os, sys
if os.environ.get("NONE"):
    sys.modules["torch"] = None
elif os.environ.get("OLD"):
    import types
    sys.modules["torch"] = types.SimpleNamespace(__version__="2.7.1+cpu")
import tilejit.torch
"""
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "TILEJIT_TORCH_DIR": str(tmp_path), **environment},
                          capture_output=True, text=True)
    assert done.returncode == 1 and words in done.stderr and "ImportError" in done.stderr


def test_lazy_conjugates():
    a, b = (torch.complex(tensor(*shape), tensor(*shape)) for shape in ((20, 33), (20, 47)))
    for p, wanted in ((tilejit.matmul(a.mH, b), a.mH @ b), (tilejit.matmul(a.mH, b.conj()), a.mH @ b.conj()),
                      (tilejit.matmul(a.mH, b, conj_a=True), a.mT @ b), (tilejit.matmul(a.conj()[:, ::2].mT, b), a.conj()[:, ::2].mT @ b)):
        assert not p.is_conj() and torch.equal(p, wanted.resolve_conj())
    with pytest.raises(tilejit.InvalidArgument, match=r"out is a lazy conjugate: pass out.resolve_conj\(\)"):
        tilejit.matmul(a.mT, b, torch.empty(33, 47, dtype=a.dtype).conj())
