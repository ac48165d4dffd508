/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit repack: write weights of 4 bits in the order that tensor cores take them in, or back.
 */
#include "product.h"

typedef struct repack_options {
    const char *output;
    int32_t undo;
} repack_options;

static const cli_option own[] = {
    {"undo", CLI_FLAG, offsetof(repack_options, undo), "Write repacked weights in their natural order again.", .low = 1},
    {NULL},
};

/* Stored rows follow each other, so whole blocks in one are whole blocks in all. */
static tj_status check_array(const char *path, const tj_npy *array, tj_error *err)
{
    const int64_t width = array->shape[array->is_fortran_order ? 0 : array->rank - 1];

    if (array->dtype != TJ_U8)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s holds %s: weights of 4 bits are bytes of u8, two weights in each",
                       path, tj_type_name(array->dtype));
    if (width % TJ_REPACKED_BYTES != 0)
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "%s has stored rows of %lld bytes, and weights are repacked in blocks of %d elements of k, %d bytes: store "
            "them as l x (k / 2) along k, filled up with zeros to a multiple of %d elements",
            path, (long long)width, TJ_REPACKED_BLOCK, TJ_REPACKED_BYTES, TJ_REPACKED_BLOCK);
    return TJ_OK;
}

static cli_exit repack(cli_call *call, tj_error *err)
{
    const repack_options *const options = call->options;
    const tj_order order = options->undo ? TJ_ORDER_NATURAL : TJ_ORDER_REPACKED;
    const char *const path = call->operand[0];
    tj_npy array = {0};
    cli_exit code = CLI_FAILED;

    if (!options->output) {
        (void)tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the weights have no file: add -o OUT.npy");
        return CLI_WORDS;
    }
    if (cli_check_stdout(call, "-o", options->output, err) != TJ_OK)
        return CLI_WORDS;
    if (cli_open_output(call, options->output, err) == TJ_OK && tj_npy_read(path, &array, err) == TJ_OK &&
        check_array(path, &array, err) == TJ_OK &&
        tj_repack_host(array.data, array.data, (int64_t)array.bytes, order, err) == TJ_OK &&
        cli_write_array(&call->file, &array, err) == TJ_OK)
        code = CLI_DONE;
    if (code == CLI_DONE) {
        cli_set_text(call->answer, "output", options->output);
        cli_set_text(call->answer, "order", options->undo ? "natural" : "repacked");
        cli_set_int(call->answer, "bytes", (int64_t)array.bytes);
        cli_say(call, "%s: %lld weights in %s order\n", options->output, (long long)array.bytes * 2,
                options->undo ? "natural" : "repacked");
    }
    tj_npy_drop(&array);
    return code;
}

const cli_command cli_repack = {
    .name = "repack",
    .operands = "<W.npy>",
    .operand_count = {1, 1},
    .summary = "write weights of 4 bits in the order in which tensor cores take them",
    .text =
        "Reads an array of bytes (u8), two weights of s4, u4 or e2m1 in each, whose rows lie along k: l x (k / 2), or with a "
        "dimension more for experts. Blocks of 32 neighbours along k change their order; shape and scales stay. A product "
        "takes such weights with --repacked-n, and needs fewer instructions to widen them (docs/scales.md).",
    .example = "tilejit repack W.npy -o R.npy\n"
               "tilejit matmul X.npy R.npy -o P.npy --format mxfp4 --repacked-n --scale-n S.npy\n"
               "tilejit repack R.npy -o W.npy --undo",
    .takes = {{&cli_output_group, offsetof(repack_options, output)}, {&(const cli_group){"repack", own}}},
    .option_bytes = sizeof(repack_options),
    .run = repack,
};
