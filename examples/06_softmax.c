/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 06_softmax: a family of the application's own, the softmax of each row of a matrix. The number of rows is an argument, so one
 * kernel serves every batch.
 *
 *     P[row][col] = exp(scale * N[row][col] - most) / sum over c of exp(scale * N[row][c] - most),
 *     with the largest scale * N[row][c] of the row for most, so that no exp overflows
 *
 *     06_softmax [ROWS COLS [SECONDS]]      default: 33 200, which the emulator does in a second
 *     06_softmax --text ROWS COLS           the CUDA source, which needs neither a GPU nor NVRTC
 *
 * Exit code: 0 done, 77 nothing to run it on, 1 anything else.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/custom.h>
#include <tilejit/reference.h>
#include <tilejit/tilejit.h>

/* ---- the family --------------------------------------------------------------------------------------------------- */

static const char softmax_text[] =
    "// Softmax of each row. THREADS threads share a row and keep its elements in registers, so N is read once and P written\n"
    "// once; a block has ROWS rows. Sums and maxima of a row go through the lanes of a warp by shuffles.\n"
    "\n"
    "constexpr int COLS = 1024;  //@ cols\n"
    "constexpr int THREADS = 64;  //@ threads\n"
    "constexpr int ROWS = 4;  //@ block_rows\n"
    "constexpr int PER_THREAD = (COLS + THREADS - 1) / THREADS;\n"
    "\n"
    "struct largest {\n"
    "    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }\n"
    "};\n"
    "struct sum {\n"
    "    __device__ float operator()(float a, float b) const { return a + b; }\n"
    "};\n"
    "\n"
    "// Combine one number of each thread of a row; all of them get the result.\n"
    "template <typename Combine>\n"
    "__device__ float reduce(float mine, Combine combine)\n"
    "{\n"
    "    for (int lanes = 16; lanes > 0; lanes /= 2)\n"
    "        mine = combine(mine, __shfl_xor_sync(0xffffffff, mine, lanes));\n"
    "    //@ if several_warps\n"
    "\n"
    "    // The warps of a row meet in shared memory.\n"
    "    __shared__ float of_warp[ROWS][THREADS / 32];\n"
    "    __syncthreads();  // what was there is not wanted any more\n"
    "    if (threadIdx.x % 32 == 0)\n"
    "        of_warp[threadIdx.y][threadIdx.x / 32] = mine;\n"
    "    __syncthreads();\n"
    "    mine = of_warp[threadIdx.y][0];\n"
    "    for (int warp = 1; warp < THREADS / 32; ++warp)\n"
    "        mine = combine(mine, of_warp[threadIdx.y][warp]);\n"
    "\n"
    "    //@ end\n"
    "    return mine;\n"
    "}\n"
    "\n"
    "extern \"C\" __global__ void __launch_bounds__(THREADS * ROWS)\n"
    "softmax(\n"
    "    const float *__restrict__ N,\n"
    "    float *__restrict__ P,\n"
    "    int rows,\n"
    "    float scale)\n"
    "{\n"
    "    const int row = blockIdx.x * ROWS + threadIdx.y;\n"
    "    const bool has_row = row < rows;  // the threads of the others go along: they are waited for\n"
    "    const long long first = (long long)row * COLS;\n"
    "    float element[PER_THREAD];\n"
    "\n"
    "    float most = -__int_as_float(0x7f800000);  // minus infinity\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < PER_THREAD; ++i) {\n"
    "        const int col = i * THREADS + threadIdx.x;\n"
    "        const bool is_inside = has_row && col < COLS;  //@ && checks_cols\n"
    "        element[i] = is_inside ? scale * N[first + col] : -__int_as_float(0x7f800000);\n"
    "        most = fmaxf(most, element[i]);\n"
    "    }\n"
    "    most = reduce(most, largest());\n"
    "\n"
    "    float total = 0.0f;\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < PER_THREAD; ++i) {\n"
    "        element[i] = expf(element[i] - most);\n"
    "        total += element[i];\n"
    "    }\n"
    "    total = reduce(total, sum());\n"
    "\n"
    "    const float share = 1.0f / total;\n"
    "#pragma unroll\n"
    "    for (int i = 0; i < PER_THREAD; ++i) {\n"
    "        const int col = i * THREADS + threadIdx.x;\n"
    "        if (has_row && col < COLS)  //@ && checks_cols\n"
    "            P[first + col] = element[i] * share;\n"
    "    }\n"
    "}\n";

static int softmax_reference(const int64_t *extent, void *const *argument, void *payload)
{
    const int64_t rows = extent[0], cols = extent[1];
    const double scale = (double)*(const float *)argument[3];
    const float *N = argument[0];
    float *P = argument[1];

    (void)payload;
    for (int64_t row = 0; row < rows; row++, N += cols, P += cols) {
        double most = -INFINITY, total = 0;

        for (int64_t col = 0; col < cols; col++)
            most = fmax(most, scale * (double)N[col]);
        for (int64_t col = 0; col < cols; col++)
            total += exp(scale * (double)N[col] - most);
        for (int64_t col = 0; col < cols; col++)
            P[col] = (float)(exp(scale * (double)N[col] - most) / total);
    }
    return 0;
}

static tj_status create_softmax(tj_family **family, tj_error *err)
{
    static const tj_custom_part part[] = {{"softmax.cu", softmax_text}};
    static const char *const extent[] = {"rows", "cols"};
    static const tj_param param[] = {
        {"threads", "threads that share a row", 32, 1024, 128, NULL, NULL, TJ_PARAM_SHAPE},
        {"block_rows", "rows of a block", 1, 32, 1, NULL, NULL, TJ_PARAM_SHAPE},
    };
    static const tj_custom_derived derived[] = {
        {"several_warps", "threads > 32"},
        {"checks_cols", "cols % threads != 0"},
    };
    static const char *const constraint[] = {
        "threads % 32 == 0",
        "threads * block_rows <= 1024",
        "ceil_div(cols, threads) <= 128",
        NULL,
    };
    static const tj_custom_argument argument[] = {
        {"N", TJ_CUSTOM_IN, TJ_F32, "rows * cols"},
        {"P", TJ_CUSTOM_OUT, TJ_F32, "rows * cols"},
        {"rows", TJ_CUSTOM_EXTENT},
        {"scale", TJ_CUSTOM_SCALAR, TJ_F32, .trial = 0.125},
    };
    tj_custom_spec spec = TJ_CUSTOM_SPEC_INIT;

    spec.name = "softmax";
    spec.summary = "softmax of each row, whose elements stay in registers";
    spec.part = part;
    spec.part_count = 1;
    spec.extent = extent;
    spec.extent_count = 2;
    spec.param = param;
    spec.param_count = 2;
    spec.derived = derived;
    spec.derived_count = 2;
    spec.constraint = constraint;
    spec.grid[0] = "ceil_div(rows, block_rows)";
    spec.block[0] = "threads";
    spec.block[1] = "block_rows";
    spec.argument = argument;
    spec.argument_count = 4;
    spec.reference = softmax_reference;
    spec.absolute = 1e-7;
    spec.relative = 1e-5;
    return tj_family_create(&spec, family, err);
}

/* ---- a program that uses it --------------------------------------------------------------------------------------- */

static int print_text(const tj_family *family, const int64_t *extent, tj_error *err)
{
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;

    config.family = family;
    if (tj_custom_generate(&config, extent, &source, err) == TJ_OK)
        printf("%s", tj_source_text(source));
    tj_source_free(source);
    return err->status == TJ_OK ? 0 : 1;
}

static tj_status tune(tj_context *context, const tj_family *family, const int64_t *extent, double seconds, tj_error *err)
{
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_tune_result result = TJ_TUNE_RESULT_INIT;
    char best[TJ_CONFIG_TEXT_BYTES], standard[TJ_CONFIG_TEXT_BYTES];
    tj_status status;

    options.seconds = seconds;
    options.evaluations = seconds < 1 ? 2 : 0;
    status = tj_custom_tune(context, family, extent, &options, &result, err);
    if (status != TJ_OK)
        return status;
    tj_config_print(&result.config, best);
    tj_config_print(&result.default_config, standard);
    printf("tuned in %.1f s, %lld configs, %lld of them refused or wrong\n", result.seconds, (long long)result.evaluations,
           (long long)(result.refused + result.wrong));
    if (!result.is_emulated)
        printf("default  %9.2f us  %s\ntuned    %9.2f us  %s\n", result.default_us, standard, result.us, best);
    return TJ_OK;
}

/* Return the largest difference of `count` elements. */
static double largest_error(const float *P, const float *wanted, size_t count)
{
    double largest = 0;

    for (size_t i = 0; i < count; i++)
        largest = P[i] == P[i] ? fmax(largest, fabs((double)P[i] - (double)wanted[i])) : INFINITY;
    return largest;
}

int main(int argc, char **argv)
{
    const int is_text = argc > 1 && strcmp(argv[1], "--text") == 0, first = 1 + is_text, has_extents = argc >= first + 2;
    int64_t extent[] = {has_extents ? atoll(argv[first]) : 33, has_extents ? atoll(argv[first + 1]) : 200};
    const double seconds = argc > first + 2 ? atof(argv[first + 2]) : 0.5;
    const size_t elements = (size_t)(extent[0] * extent[1]);
    tj_custom_value value[4] = {{NULL}, {NULL}, {NULL}, {.f32 = 0.5F}};
    float *N = NULL, *P = NULL, *wanted = NULL;
    tj_buffer *device_n = NULL, *device_p = NULL;
    tj_custom_kernel *kernel = NULL;
    tj_context *context = NULL;
    tj_family *family = NULL;
    tj_error err = {TJ_OK, ""};
    int exit_code = 1;

    if (create_softmax(&family, &err) != TJ_OK)
        goto done;
    if (is_text) {
        exit_code = print_text(family, extent, &err);
        goto done;
    }
    N = malloc(elements * sizeof *N);
    P = malloc(elements * sizeof *P);
    wanted = malloc(elements * sizeof *wanted);
    if (!N || !P || !wanted || tj_context_create(NULL, &context, &err) != TJ_OK ||
        tune(context, family, extent, seconds, &err) != TJ_OK)
        goto done;
    tj_fill_random(TJ_F32, N, elements, 1);
    if (tj_buffer_create(context, elements * sizeof *N, &device_n, &err) != TJ_OK ||
        tj_buffer_create(context, elements * sizeof *P, &device_p, &err) != TJ_OK ||
        tj_buffer_write(device_n, 0, N, elements * sizeof *N, &err) != TJ_OK ||
        tj_custom_load(context, family, NULL, extent, &kernel, &err) != TJ_OK)
        goto done;
    value[0].address = tj_buffer_address(device_n);
    value[1].address = tj_buffer_address(device_p);

    /* All rows, then the first half of them: the same kernel with another grid. */
    exit_code = 0;
    for (int turn = 0; turn < 2; turn++, extent[0] = (extent[0] + 1) / 2) {
        const size_t count = (size_t)(extent[0] * extent[1]);
        double error;

        if (tj_custom_launch(kernel, extent, value, NULL, &err) != TJ_OK || tj_synchronize(context, NULL, &err) != TJ_OK ||
            tj_buffer_read(device_p, 0, P, count * sizeof *P, &err) != TJ_OK)
            goto done;
        softmax_reference(extent, (void *const[]){N, wanted, &extent[0], &value[3]}, NULL);
        error = largest_error(P, wanted, count);
        printf("%s, %lld rows: P[0][0] = %g, largest error %.1e\n", tj_source_kernel(tj_custom_source(kernel)),
               (long long)extent[0], (double)P[0], error);
        exit_code |= !(error < 1e-6);
    }

done:
    if (err.status != TJ_OK) {
        fprintf(stderr, "06_softmax: %s\n", err.message);
        exit_code = err.status == TJ_ERR_NO_DRIVER || err.status == TJ_ERR_NO_COMPILER ? 77 : 1;
    }
    tj_custom_kernel_free(kernel);
    tj_buffer_free(device_p);
    tj_buffer_free(device_n);
    tj_context_free(context);
    tj_family_free(family);
    free(wanted);
    free(P);
    free(N);
    return exit_code;
}
