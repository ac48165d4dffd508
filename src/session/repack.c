/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repack: weights in device memory change their order by a kernel, a family as an application would make it. It is loaded for
 * one call: weights are repacked once.
 */
#include "repack.h"

#include <stdint.h>

#include <tilejit/buffer.h>
#include <tilejit/custom.h>

#include "error.h"

/* A thread has a block. Of its loops, the one that `natural` chooses writes the natural order again. */
static const char text[] = "extern \"C\" __global__ void __launch_bounds__(256)\n"
                           "repack(uint4 *to, const uint4 *from, int blocks, int natural)\n"
                           "{\n"
                           "    const int block = blockIdx.x * 256 + threadIdx.x;\n"
                           "    if (block >= blocks)\n"
                           "        return;\n"
                           "    const uint4 given = from[block];\n"
                           "    const unsigned int word[4] = {given.x, given.y, given.z, given.w};\n"
                           "    unsigned int packed[4] = {}, unpacked[4] = {};\n"
                           "#pragma unroll\n"
                           "    for (int i = 0; i < 32; ++i) {  // number i lies at this place once it is repacked\n"
                           "        const int place = i % 8 * 4 + i / 8;\n"
                           "        packed[place / 8] |= (word[i / 8] >> i % 8 * 4 & 0xfu) << place % 8 * 4;\n"
                           "        unpacked[i / 8] |= (word[place / 8] >> place % 8 * 4 & 0xfu) << i % 8 * 4;\n"
                           "    }\n"
                           "    to[block] = natural ? make_uint4(unpacked[0], unpacked[1], unpacked[2], unpacked[3])\n"
                           "                        : make_uint4(packed[0], packed[1], packed[2], packed[3]);\n"
                           "}\n";

static tj_status make_family(tj_family **family, tj_error *err)
{
    static const tj_custom_part part = {"repack.cu", text};
    static const char *const extent[] = {"blocks"};
    static const tj_custom_argument arguments[] = {
        {"to", TJ_CUSTOM_OUT, TJ_U8, "blocks * 16", TJ_REPACKED_BYTES, 0, 0},
        {"from", TJ_CUSTOM_IN, TJ_U8, "blocks * 16", TJ_REPACKED_BYTES, 0, 0},
        {"blocks", TJ_CUSTOM_EXTENT, 0, NULL, 0, 0, 0},
        {"natural", TJ_CUSTOM_SCALAR, TJ_S32, NULL, 0, 0, 0},
    };
    tj_custom_spec spec = TJ_CUSTOM_SPEC_INIT;

    spec.name = "repack";
    spec.part = &part;
    spec.part_count = 1;
    spec.extent = extent;
    spec.extent_count = 1;
    spec.grid[0] = "ceil_div(blocks, 256)";
    spec.block[0] = "256";
    spec.argument = arguments;
    spec.argument_count = sizeof arguments / sizeof arguments[0];
    return tj_family_create(&spec, family, err);
}

/* Queue as many launches as the blocks need, each of which counts them in an int. */
static tj_status launch_all(const tj_custom_kernel *kernel, char *to, const char *from, int64_t bytes, tj_order order,
                            struct CUstream_st *stream, tj_error *err)
{
    const int64_t most = INT64_C(1) << 30;
    tj_status status = TJ_OK;

    for (int64_t first = 0; first < bytes / TJ_REPACKED_BYTES && status == TJ_OK; first += most) {
        const int64_t left = bytes / TJ_REPACKED_BYTES - first, blocks = left < most ? left : most;
        const tj_custom_value value[] = {{.address = to + first * TJ_REPACKED_BYTES},
                                         {.address = from + first * TJ_REPACKED_BYTES},
                                         {.s32 = 0},
                                         {.s32 = order == TJ_ORDER_NATURAL}};

        status = tj_custom_launch(kernel, &blocks, value, stream, err);
    }
    return status;
}

tj_status tj_repack(tj_context *context, void *to, const void *from, int64_t bytes, tj_order order, struct CUstream_st *stream,
                    tj_error *err)
{
    const int64_t any = 1;
    tj_family *family = NULL;
    tj_custom_kernel *kernel = NULL;
    tj_status status, waited;

    if (!context)
        return tj_fail_null(err, __func__, "context");
    status = tj_repack_check(to, from, bytes, order, __func__, err);
    if (status != TJ_OK || bytes == 0)
        return status;
    status = make_family(&family, err);
    if (status == TJ_OK)
        status = tj_custom_load(context, family, NULL, &any, &kernel, err);
    if (status == TJ_OK)
        status = launch_all(kernel, to, from, bytes, order, stream, err);
    waited = kernel ? tj_synchronize(context, stream, status == TJ_OK ? err : NULL) : TJ_OK;
    if (status == TJ_OK)
        status = waited;
    tj_custom_kernel_free(kernel);
    tj_family_free(family);
    return status;
}
