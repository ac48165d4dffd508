# SPDX-License-Identifier: Apache-2.0
"""Problems without arrays: all that the library serves can be said, compared, printed, pickled, and made ready."""

import pickle

import numpy
import pytest
import tilejit

EVERY_KIND = {
    "33x20x47x3 e4m3*e5m2->f16 rcr alpha": tilejit.Problem(33, 20, 47, "e4m3", n_dtype="e5m2", out_dtype="f16", layouts="rcr", batch=3, alpha=True),
    "8x6x5 f32 rrr any=j": tilejit.Problem(8, 6, 5, any="j"),
    "8x64x16 bf16 rrr gelu(acc + bias[col]) any=j,batch j%4": tilejit.Problem(8, 64, 16, "bf16", epilogue="gelu(acc + bias[col])", any="j,batch",
                                                                              multiple_of={"j": 4}),
    "8x6x5 f32 rrr any=j,k,l,batch,ld,stride": tilejit.Problem(8, 6, 5, any=["all"]),
    "32x64x16 f32 rrr groups=4 offsets=device": tilejit.Problem(32, 64, 16, groups=4),
    "32x64x16 f32 rrr groups=4 offsets=host64": tilejit.Problem(32, 64, 16, groups=4, offsets="host64"),
    "4x128x6 bf16*s4 rrr scale_n=along-k scale_k=32": tilejit.Problem(4, 128, 6, "bf16", n_dtype="s4", scale_n="along-k", scale_k=32),
    "4x8x6 f32 rrr scale_m=each scale_n=one": tilejit.Problem(4, 8, 6, scale_m="each", scale_n="one"),
    "4x8x6 f32 rrr overlap=1": tilejit.Problem(4, 8, 6, overlap=True),
    "4x8x6 f32 rrr invariant=rows": tilejit.Problem(4, 8, 6, invariant="rows"),
    "4x8x6 f32 rrr multiprocessors=108": tilejit.Problem(4, 8, 6, multiprocessors=108),
    "4x8x6 f32 rrr alpha beta": tilejit.Problem(4, 8, 6, epilogue=tilejit.Epilogue(alpha=2, beta=1)),
}


@pytest.mark.parametrize("words", EVERY_KIND)
def test_every_kind(words):
    problem = EVERY_KIND[words]
    assert str(problem) == words
    assert pickle.loads(pickle.dumps(problem)) == problem and len({problem, pickle.loads(pickle.dumps(problem))}) == 1
    assert [other for other in EVERY_KIND.values() if other == problem] == [problem]
    assert problem != words and str(problem.n_dtype) in words


def test_what_was_asked_for():
    problem = tilejit.Problem(8, 6, 5, any="all")
    assert problem.any == ("j", "k", "l", "batch", "ld", "stride") and problem.batch == 1 and problem.groups == 0
    assert tilejit.Problem(8, 6, 5, groups=3).groups == 3 and tilejit.Problem(8, 6, 5).any == ()
    assert tilejit.Problem(8, 6, 5) == tilejit.Problem(8, 6, 5, "f32", n_dtype="f32", out_dtype="f32", batch=1) != tilejit.Problem(8, 6, 5, layouts="rcr")


def test_epilogues_as_objects():
    expression, bias = "gelu(acc + bias[col])", numpy.ones(5, "f2")
    assert tilejit.Problem(8, 6, 5, epilogue=tilejit.Epilogue(expression=expression)) == tilejit.Problem(8, 6, 5, epilogue=expression)
    given = tilejit.Epilogue(expression=expression, operands={"bias": bias}, scale_n=numpy.ones(5, "f4"))
    assert str(tilejit.Problem(8, 6, 5, epilogue=given)) == "8x6x5 f32 rrr gelu(acc + bias:f16[col]) scale_n=each"
    weights = tilejit.Epilogue(scale_n=numpy.ones((2, 5), "f4"))
    assert tilejit.Problem(8, 64, 5, n_dtype="s8", epilogue=weights) == tilejit.Problem(8, 64, 5, n_dtype="s8", scale_n="along-k", scale_k=32)


def test_problems_of_arrays(random, context):
    a, scales = random(5, 64), numpy.ones((2, 6), "f4")
    nibbles = numpy.zeros((64, 3), "u1")
    made = tilejit.Problem.of(a, nibbles, n_dtype="s4", epilogue=tilejit.Epilogue(scale_n=scales))
    assert made == tilejit.Problem(5, 64, 6, n_dtype="s4", scale_n="along-k", scale_k=32)
    assert tilejit.Problem.of(a, random(64, 6), overlap=True) == tilejit.Problem(5, 64, 6, overlap=True)
    with pytest.raises(tilejit.InvalidArgument, match="leave it out, b says its type"):
        tilejit.Problem.of(a, random(64, 3), n_dtype="f32")


@pytest.mark.parametrize("words", [words for words in EVERY_KIND if "e4m3" not in words])
def test_every_kind_is_made_ready(words, context):
    problem = EVERY_KIND[words]
    tilejit.prepare(problem)
    assert "__global__" in tilejit.explain(problem, arch="sm_90").source
    assert tilejit.pack(problem, "compute_90")


def test_grouped_and_weights_are_tuned(context):
    for words in ("32x64x16 f32 rrr groups=4 offsets=device", "8x6x5 f32 rrr any=j"):
        assert tilejit.tune(EVERY_KIND[words], evaluations=1, seconds=20).config


def test_a_prepared_kernel_serves_the_product(context, random):
    """A call finds the kernel of an equal problem: nothing more is compiled or loaded."""
    a, b, nibbles = context.to_device(random(8, 6)), context.to_device(random(3, 6, 5)), context.to_device(numpy.zeros((6, 3), "u1"))
    tilejit.prepare(tilejit.Problem(8, 6, 5, groups=3, offsets="host"))
    tilejit.prepare(tilejit.Problem(8, 6, 6, n_dtype="s4"))
    before = context.stats
    tilejit.matmul_grouped(a, b, [0, 2, 2, 8])
    tilejit.matmul(a, nibbles, n_dtype="s4")
    assert (context.stats.compiles, context.stats.loads, context.stats.plans) == (before.compiles, before.loads, before.plans)


def test_one_packed_kernel_serves_every_batch(tmp_path, random):
    """A server without NVRTC, whose batches vary."""
    path, b, bias = tmp_path / "layer.tjpack", random(16, 24), random(24)
    tilejit.pack(tilejit.Problem(1, 16, 24, epilogue="relu(acc + bias[col])", any="j"), "compute_90", path)
    for quick in (False, True):
        with tilejit.Context(driver="emulator", nvrtc="/nowhere", packs=[path], quick=quick) as context:
            for j in range(1, 6):
                a = random(j, 16)
                p = tilejit.matmul(a, b, epilogue="relu(acc + bias[col])", bias=bias, context=context)
                assert numpy.array_equal(p, numpy.maximum(a @ b + bias, 0))
            assert context.stats.compiles == 0 and context.stats.pack_hits == 1


REFUSED = [
    (dict(batch=-1), tilejit.InvalidArgument, "batch is -1: it must be 0 or more"),
    (dict(batch=0), tilejit.InvalidArgument, "batch is 0: it must be 1 or more"),
    (dict(batch=2**70), tilejit.InvalidArgument, "batch is 1180591620717411303424: it must be .* at most"),
    (dict(batch=1.5), TypeError, "batch is 1.5: it is a whole number"),
    (dict(layouts=3), tilejit.InvalidArgument, "layouts is 3"),
    (dict(any="m"), tilejit.InvalidArgument, "any has \"m\": use j, k, l, ld, batch, stride or all"),
    (dict(multiple_of={"j": 4}), tilejit.InvalidArgument, "multiple_of j promises a multiple of an extent that is fixed: add j to any"),
    (dict(any="j", multiple_of={"j": 3}), tilejit.InvalidArgument, "multiple_of j=3 is a promise that j = 8 breaks"),
    (dict(scale_n="every"), tilejit.InvalidArgument, "scale_n is \"every\": use one of one, each, along-k"),
    (dict(scale_n="e5m2:1x32"), tilejit.InvalidArgument, "scales are TJ_F32, TJ_F16, TJ_BF16, TJ_E4M3 or TJ_E8M0"),
    (dict(format="fp9"), tilejit.InvalidArgument, "format is \"fp9\": use one of fp8_block"),
    (dict(scale_n="along-k"), tilejit.InvalidArgument, "scale_n is along-k and there is no scale_k"),
    (dict(scale_n="each", scale_k=2), tilejit.InvalidArgument, "scale_k is 2 and there are no scales along k"),
    (dict(groups=2, offsets="there"), tilejit.InvalidArgument, "offsets is \"there\": use one of device, device64, host, host64"),
    (dict(groups=2, batch=2), tilejit.InvalidArgument, "batch"),
    (dict(epilogue=3), TypeError, "epilogue is a int"),
    (dict(epilogue="acc", alpha=True), tilejit.InvalidArgument, "leave the arguments out"),
    (dict(epilogue=tilejit.Epilogue(scale_n=numpy.ones(4, "f4"))), tilejit.InvalidArgument, "5 contiguous"),
]


@pytest.mark.parametrize("arguments, kind, words", REFUSED)
def test_what_is_refused(arguments, kind, words):
    with pytest.raises(kind, match=words):
        tilejit.Problem(8, 6, 5, **arguments)
