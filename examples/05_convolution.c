/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 05_convolution: a family of the application's own, a tiled 2-D convolution whose filter is in constant memory.
 *
 *     P[row][col] = sum over dy, dx of F[dy][dx] * N[row + dy - radius][col + dx - radius], where N is 0 outside
 *
 * It is tuned, proven and launched like a family of the library.
 *
 *     05_convolution [HEIGHT WIDTH RADIUS [SECONDS]]      default: 70 100 2, which the emulator does in a second
 *     05_convolution --text HEIGHT WIDTH RADIUS           the CUDA source, which needs neither a GPU nor NVRTC
 *
 * Exit code: 0 done, 77 nothing to run it on, 1 anything else.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/custom.h>
#include <tilejit/reference.h>
#include <tilejit/tilejit.h>

/* ---- the family --------------------------------------------------------------------------------------------------- */

static const char convolution_text[] =
    "// 2-D convolution. A block brings a tile of N, with the halo of RADIUS elements around it, to shared memory and "
    "computes\n"
    "// the tile of P below it; a thread computes ROWS elements, one under the other. The filter is in constant memory: all\n"
    "// threads of a warp want the same element of it at the same time, which is what constant memory is made for.\n"
    "\n"
    "constexpr int HEIGHT = 1080;  //@ height\n"
    "constexpr int WIDTH = 1920;  //@ width\n"
    "constexpr int RADIUS = 2;  //@ radius\n"
    "constexpr int TILE_WIDTH = 32;  //@ tile_width\n"
    "constexpr int BLOCK_HEIGHT = 8;  //@ block_height\n"
    "constexpr int ROWS = 4;  //@ rows\n"
    "\n"
    "constexpr int TILE_HEIGHT = BLOCK_HEIGHT * ROWS;\n"
    "constexpr int FILTER_WIDTH = 2 * RADIUS + 1;\n"
    "\n"
    "__constant__ float F[FILTER_WIDTH][FILTER_WIDTH];\n"
    "\n"
    "extern \"C\" __global__ void __launch_bounds__(TILE_WIDTH * BLOCK_HEIGHT)\n"
    "convolution(\n"
    "    const float *__restrict__ N,\n"
    "    float *__restrict__ P)\n"
    "{\n"
    "    __shared__ float Nds[TILE_HEIGHT + 2 * RADIUS][TILE_WIDTH + 2 * RADIUS];\n"
    "\n"
    "    const int tx = threadIdx.x, ty = threadIdx.y;\n"
    "    const int tile_row = blockIdx.y * TILE_HEIGHT, tile_col = blockIdx.x * TILE_WIDTH;\n"
    "\n"
    "    // The tile and its halo, as many elements at a time as the block has threads.\n"
    "    for (int y = ty; y < TILE_HEIGHT + 2 * RADIUS; y += BLOCK_HEIGHT) {\n"
    "        for (int x = tx; x < TILE_WIDTH + 2 * RADIUS; x += TILE_WIDTH) {\n"
    "            const int row = tile_row + y - RADIUS, col = tile_col + x - RADIUS;\n"
    "            const bool is_inside = row >= 0 && row < HEIGHT && col >= 0 && col < WIDTH;\n"
    "            Nds[y][x] = is_inside ? N[row * WIDTH + col] : 0.0f;\n"
    "        }\n"
    "    }\n"
    "    __syncthreads();\n"
    "\n"
    "    float sum[ROWS] = {};\n"
    "#pragma unroll\n"
    "    for (int dx = 0; dx < FILTER_WIDTH; ++dx) {\n"
    "        // Neighbouring rows of P share all but one element of N, so these are read once.\n"
    "        float column[ROWS + 2 * RADIUS];\n"
    "#pragma unroll\n"
    "        for (int y = 0; y < ROWS + 2 * RADIUS; ++y)\n"
    "            column[y] = Nds[ty * ROWS + y][tx + dx];\n"
    "#pragma unroll\n"
    "        for (int dy = 0; dy < FILTER_WIDTH; ++dy)\n"
    "#pragma unroll\n"
    "            for (int r = 0; r < ROWS; ++r)\n"
    "                sum[r] += F[dy][dx] * column[r + dy];\n"
    "    }\n"
    "\n"
    "#pragma unroll\n"
    "    for (int r = 0; r < ROWS; ++r) {\n"
    "        const int row = tile_row + ty * ROWS + r, col = tile_col + tx;\n"
    "        //@ if checks_rows or checks_cols\n"
    "        if (row < HEIGHT && col < WIDTH)  //@ checks_rows && checks_cols\n"
    "            P[row * WIDTH + col] = sum[r];\n"
    "        //@ else\n"
    "        //@| P[row * WIDTH + col] = sum[r];\n"
    "        //@ end\n"
    "    }\n"
    "}\n";

/* Compute the expected output, on the host. */
static int convolution_reference(const int64_t *extent, void *const *argument, void *payload)
{
    const int64_t height = extent[0], width = extent[1], radius = extent[2], filter_width = 2 * radius + 1;
    const float *N = argument[0], *F = argument[1];
    float *P = argument[2];

    (void)payload;
    for (int64_t row = 0; row < height; row++)
        for (int64_t col = 0; col < width; col++) {
            double sum = 0;

            for (int64_t dy = 0; dy < filter_width; dy++)
                for (int64_t dx = 0; dx < filter_width; dx++) {
                    const int64_t y = row + dy - radius, x = col + dx - radius;

                    if (y >= 0 && y < height && x >= 0 && x < width)
                        sum += (double)F[dy * filter_width + dx] * (double)N[y * width + x];
                }
            P[row * width + col] = (float)sum;
        }
    return 0;
}

static tj_status create_convolution(tj_family **family, tj_error *err)
{
    static const tj_custom_part part[] = {{"convolution.cu", convolution_text}};
    static const char *const extent[] = {"height", "width", "radius"};
    static const int32_t widths[] = {16, 32, 64, 128, 0}, heights[] = {2, 4, 8, 16, 32, 0}, rows[] = {1, 2, 4, 8, 0};
    static const tj_param param[] = {
        {"tile_width", "columns of P that a block computes, one for each of its threads along x", 1, 1024, 32, NULL, widths,
         TJ_PARAM_SHAPE},
        {"block_height", "threads of a block along y", 1, 64, 8, NULL, heights, TJ_PARAM_SHAPE},
        {"rows", "elements of P that a thread computes", 1, 16, 1, NULL, rows, TJ_PARAM_SHAPE},
    };
    static const tj_custom_derived derived[] = {
        {"checks_rows", "height % (block_height * rows) != 0"},
        {"checks_cols", "width % tile_width != 0"},
    };
    static const char *const constraint[] = {
        "height * width <= 2147483647",
        "tile_width * block_height >= 64 && tile_width * block_height <= 1024",
        "4 * (tile_width + 2 * radius) * (block_height * rows + 2 * radius) <= 49152",
        NULL,
    };
    static const tj_custom_argument argument[] = {
        {"N", TJ_CUSTOM_IN, TJ_F32, "height * width"},
        {"F", TJ_CUSTOM_CONSTANT, TJ_F32, "(2 * radius + 1) * (2 * radius + 1)"},
        {"P", TJ_CUSTOM_OUT, TJ_F32, "height * width"},
    };
    tj_custom_spec spec = TJ_CUSTOM_SPEC_INIT;

    spec.name = "convolution";
    spec.summary = "2-D convolution by tiles with a halo, the filter in constant memory";
    spec.part = part;
    spec.part_count = 1;
    spec.extent = extent;
    spec.extent_count = 3;
    spec.param = param;
    spec.param_count = 3;
    spec.derived = derived;
    spec.derived_count = 2;
    spec.constraint = constraint;
    spec.grid[0] = "ceil_div(width, tile_width)";
    spec.grid[1] = "ceil_div(height, block_height * rows)";
    spec.block[0] = "tile_width";
    spec.block[1] = "block_height";
    spec.argument = argument;
    spec.argument_count = 3;
    spec.reference = convolution_reference;
    spec.absolute = 1e-4;
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

int main(int argc, char **argv)
{
    const int is_text = argc > 1 && strcmp(argv[1], "--text") == 0, first = 1 + is_text, has_extents = argc >= first + 3;
    const int64_t extent[] = {has_extents ? atoll(argv[first]) : 70, has_extents ? atoll(argv[first + 1]) : 100,
                              has_extents ? atoll(argv[first + 2]) : 2};
    const double seconds = argc > first + 3 ? atof(argv[first + 3]) : 0.5;
    size_t pixels = 0, taps = 0, wrong = 0;
    float *N = NULL, *F = NULL, *P = NULL, *wanted = NULL;
    tj_buffer *device_n = NULL, *device_p = NULL;
    tj_custom_value value[3] = {{NULL}, {NULL}, {NULL}};
    tj_custom_kernel *kernel = NULL;
    tj_context *context = NULL;
    tj_family *family = NULL;
    tj_error err = {TJ_OK, ""};
    int exit_code = 1;

    if (create_convolution(&family, &err) != TJ_OK)
        goto done;
    if (is_text) {
        exit_code = print_text(family, extent, &err);
        goto done;
    }
    if (tj_context_create(NULL, &context, &err) != TJ_OK || tune(context, family, extent, seconds, &err) != TJ_OK)
        goto done;

    pixels = (size_t)(extent[0] * extent[1]);
    taps = (size_t)((2 * extent[2] + 1) * (2 * extent[2] + 1));
    N = malloc(pixels * sizeof *N);
    F = malloc(taps * sizeof *F);
    P = malloc(pixels * sizeof *P);
    wanted = malloc(pixels * sizeof *wanted);
    if (!N || !F || !P || !wanted)
        goto done;
    tj_fill_random(TJ_F32, N, pixels, 1);
    tj_fill_random(TJ_F32, F, taps, 2);

    /* Without a config: use the one just recorded for this device, or on the emulator the defaults. */
    if (tj_buffer_create(context, pixels * sizeof *N, &device_n, &err) != TJ_OK ||
        tj_buffer_create(context, pixels * sizeof *P, &device_p, &err) != TJ_OK ||
        tj_buffer_write(device_n, 0, N, pixels * sizeof *N, &err) != TJ_OK ||
        tj_custom_load(context, family, NULL, extent, &kernel, &err) != TJ_OK ||
        tj_custom_set_constant(kernel, "F", F, 0, NULL, &err) != TJ_OK)
        goto done;
    value[0].address = tj_buffer_address(device_n);
    value[2].address = tj_buffer_address(device_p);
    if (tj_custom_launch(kernel, NULL, value, NULL, &err) != TJ_OK || tj_synchronize(context, NULL, &err) != TJ_OK ||
        tj_buffer_read(device_p, 0, P, pixels * sizeof *P, &err) != TJ_OK)
        goto done;

    convolution_reference(extent, (void *const[]){N, F, wanted}, NULL);
    for (size_t i = 0; i < pixels; i++)
        wrong += !(P[i] - wanted[i] < 1e-3F && wanted[i] - P[i] < 1e-3F);
    printf("%s: P[0][0] = %g, %zu of %zu elements are right\n", tj_source_kernel(tj_custom_source(kernel)), (double)P[0],
           pixels - wrong, pixels);
    exit_code = wrong > 0;

done:
    if (err.status != TJ_OK) {
        fprintf(stderr, "05_convolution: %s\n", err.message);
        exit_code = err.status == TJ_ERR_NO_DRIVER || err.status == TJ_ERR_NO_COMPILER ? 77 : 1;
    }
    tj_custom_kernel_free(kernel);
    tj_buffer_free(device_p);
    tj_buffer_free(device_n);
    tj_context_free(context);
    tj_family_free(family);
    free(wanted);
    free(P);
    free(F);
    free(N);
    return exit_code;
}
