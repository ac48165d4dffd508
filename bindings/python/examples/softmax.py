# SPDX-License-Identifier: Apache-2.0
"""softmax.py [ROWS COLS [SECONDS]]: a kernel of one's own from Python, the softmax of each row; tuned, launched and compared with NumPy.

    P[row][col] = exp(scale * N[row][col] - most) / sum over c of exp(scale * N[row][c] - most), with the row's largest scale * N for most

Default: 33 200, which the emulator (TILEJIT_DRIVER=emulator) does in a second. The number of rows is an argument of the kernel, so one kernel serves every batch.
"""

import sys

import numpy
import tilejit

TEXT = r"""
// Softmax of each row. The THREADS threads of a block share a row and keep its elements in registers, so N is read once and P
// written once. Sums and maxima of a row go through the lanes of a warp by shuffles, and from warp to warp through shared memory.

constexpr int COLS = 1024;  //@ cols
constexpr int THREADS = 64;  //@ threads
constexpr int PER_THREAD = (COLS + THREADS - 1) / THREADS;

struct largest {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
};
struct sum {
    __device__ float operator()(float a, float b) const { return a + b; }
};

// Combine one number of each thread; all of them get the result.
template <typename Combine>
__device__ float reduce(float mine, Combine combine)
{
    for (int lanes = 16; lanes > 0; lanes /= 2)
        mine = combine(mine, __shfl_xor_sync(0xffffffff, mine, lanes));
    //@ if several_warps
    __shared__ float of_warp[THREADS / 32];
    __syncthreads();  // what was there is not wanted any more
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    mine = of_warp[0];
    for (int warp = 1; warp < THREADS / 32; ++warp)
        mine = combine(mine, of_warp[warp]);
    //@ end
    return mine;
}

extern "C" __global__ void __launch_bounds__(THREADS)
softmax(
    const float *__restrict__ N,
    float *__restrict__ P,
    int rows,
    float scale)
{
    const long long first = (long long)blockIdx.x * COLS;
    float element[PER_THREAD];

    float most = -__int_as_float(0x7f800000);  // minus infinity
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
        const int col = i * THREADS + threadIdx.x;
        //@ if checks_cols
        element[i] = col < COLS ? scale * N[first + col] : -__int_as_float(0x7f800000);
        //@ else
        //@| element[i] = scale * N[first + col];
        //@ end
        most = fmaxf(most, element[i]);
    }
    most = reduce(most, largest());

    float total = 0.0f;
#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
        element[i] = expf(element[i] - most);
        total += element[i];
    }
    total = reduce(total, sum());

#pragma unroll
    for (int i = 0; i < PER_THREAD; ++i) {
        const int col = i * THREADS + threadIdx.x;
        //@ if checks_cols
        if (col < COLS)
            P[first + col] = element[i] / total;
        //@ else
        //@| P[first + col] = element[i] / total;
        //@ end
    }
}
"""


def reference(extents, N, P, rows, scale):
    """Return the expected output of the kernel, in float64."""
    x = numpy.exp(scale * N.astype("f8") - (scale * N.astype("f8")).max(axis=1, keepdims=True))
    return x / x.sum(axis=1, keepdims=True)


softmax = tilejit.Family(
    "softmax",
    TEXT,
    summary="softmax of each row, whose elements stay in registers",
    extents=["rows", "cols"],
    params=[tilejit.Param("threads", (32, 1024), default=128, summary="threads that share a row")],
    derived={"several_warps": "threads > 32", "checks_cols": "cols % threads != 0"},
    constraints=["threads % 32 == 0", "ceil_div(cols, threads) <= 128"],
    grid="rows",
    block="threads",
    arguments=[
        tilejit.Argument("N", "in", "f32", ("rows", "cols")),
        tilejit.Argument("P", "out", "f32", ("rows", "cols")),
        tilejit.Argument("rows", "extent"),
        tilejit.Argument("scale", "scalar", "f32", trial=0.125),
    ],
    reference=reference,
    absolute=1e-7,
    relative=1e-5,
)


def main() -> None:
    rows, cols = (int(word) for word in sys.argv[1:3] or ("33", "200"))
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 0.5
    tuning = softmax.tune(rows=rows, cols=cols, seconds=seconds, evaluations=2 if seconds < 1 else 0)
    print(f"{tuning.evaluations} configs in {tuning.seconds:.1f} s, {tuning.refused + tuning.wrong} of them refused or wrong: {tuning.config}")
    if not tuning.is_emulated:
        print(f"default {tuning.default_us:.2f} us, tuned {tuning.us:.2f} us")
    N = numpy.random.default_rng(1).random((rows, cols), "f4")
    for some in (N, N[: (rows + 1) // 2]):  # the same kernel, and another grid
        P = softmax(some, scale=0.5)
        error = abs(P - reference(None, some, None, len(some), 0.5)).max()
        print(f"{len(some)} rows: P[0][0] = {P[0, 0]:g}, largest error {error:.1e}")
        if not error < 1e-6:
            sys.exit("softmax: wrong")


if __name__ == "__main__":
    main()
