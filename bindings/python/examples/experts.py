# SPDX-License-Identifier: Apache-2.0
"""experts.py [TOKENS WIDTH HIDDEN EXPERTS TOP_K]: a layer of a mixture of experts in two calls, compared with NumPy.

A router sends each token to TOP_K of EXPERTS. An expert computes down(silu(gate(x)) * up(x)), and a token adds up what its experts
return, each times the weight that the router gave it:

    hidden = matmul_grouped(tokens, gate_up, offsets, index=...)               rows are gathered, and gated before they are stored
    out    = matmul_grouped(hidden, down, offsets, combine=..., factors=...)   rows are added up, in a fixed order

Default: 24 32 48 4 2, which the emulator (TILEJIT_DRIVER=emulator) does in a second.
"""

import sys

import numpy
import tilejit


def route(scores, top_k):
    """Return the experts of each token and their weights, (tokens, top_k): the best scores, whose exponentials add up to 1."""
    chosen = numpy.argsort(-scores, axis=1, kind="stable")[:, :top_k]
    weights = numpy.exp(numpy.take_along_axis(scores, chosen, 1))
    return chosen, (weights / weights.sum(1, keepdims=True)).astype("f4")


def sort(chosen, experts):
    """Return what the products need: where the rows of each expert begin, the token of each row, and the rows of each token."""
    tokens, top_k = chosen.shape
    order = numpy.argsort(chosen, axis=None, kind="stable")  # assignments, those of expert 0 first
    offsets = numpy.searchsorted(chosen.ravel()[order], numpy.arange(experts + 1))
    rows = numpy.empty(tokens * top_k, "i4")
    rows[order] = numpy.arange(tokens * top_k)  # the inverse of the permutation
    return offsets.astype("i4"), (order // top_k).astype("i4"), rows.reshape(tokens, top_k)


def layer(x, gate_up, down, chosen, weights):
    """The layer by two products. gate_up: (experts, width, 2 * hidden), whose columns alternate between gate and up."""
    offsets, token, rows = sort(chosen, len(down))
    hidden = tilejit.matmul_grouped(x, gate_up, offsets, index=token, epilogue="silu(acc[2*col]) * acc[2*col+1]")
    return tilejit.matmul_grouped(hidden, down, offsets, combine=rows, factors=weights)


def plain(x, gate_up, down, chosen, weights):
    """The same in float64, token by token."""
    out = numpy.zeros((len(x), down.shape[2]))
    for t, experts in enumerate(chosen):
        for expert, weight in zip(experts, weights[t]):
            sums = x[t].astype("f8") @ gate_up[expert].astype("f8")
            gate, up = sums[::2], sums[1::2]
            out[t] += weight * ((gate / (1 + numpy.exp(-gate)) * up) @ down[expert].astype("f8"))
    return out


def main():
    tokens, width, hidden, experts, top_k = (int(word) for word in sys.argv[1:6]) if len(sys.argv) == 6 else (24, 32, 48, 4, 2)
    random = numpy.random.default_rng(1)
    x = random.standard_normal((tokens, width)).astype("f4")
    gate_up = (random.standard_normal((experts, width, 2 * hidden)) / width**0.5).astype("f4")
    down = (random.standard_normal((experts, hidden, width)) / hidden**0.5).astype("f4")
    chosen, weights = route(random.standard_normal((tokens, experts)), top_k)
    out, wanted = layer(x, gate_up, down, chosen, weights), plain(x, gate_up, down, chosen, weights)
    error = abs(out - wanted).max() / abs(wanted).max()
    again = layer(x, gate_up, down, chosen, weights)
    print(f"{tokens} tokens of {width}, {top_k} of {experts} experts of {hidden} each: largest error {error:.1e} of the largest element, "
          f"{'the same' if (out == again).all() else 'other'} bits in a second run")
    return 0 if error < 1e-5 and (out == again).all() else 1


if __name__ == "__main__":
    sys.exit(main())
