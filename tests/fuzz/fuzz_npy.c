/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * Any bytes, read as a .npy file: an array whose size fits its shape, or an error with words. Build with
 *
 *     clang -g -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -Iinclude -Ibase -Icli/product tests/fuzz/fuzz_npy.c cli/product/npy.c \
 *         problem/type.c -Iproblem base/error.c base/fs.c base/input.c base/output.c base/text.c -o fuzz_npy
 *
 * and start from the seeds that tests/fuzz/npy_seeds.py writes: fuzz_npy -max_len=4096 SEEDS
 */
#include <stdint.h>
#include <stdlib.h>

#include "npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    tj_error err = {0};
    tj_npy array;

    if (tj_npy_parse("fuzz.npy", bytes, size, &array, &err) == TJ_OK) {
        size_t wanted = tj_type_bytes(array.dtype);

        for (int i = 0; i < array.rank; i++)
            wanted *= (size_t)array.shape[i];
        if ((array.rank != 2 && array.rank != 3) || wanted != array.bytes || wanted > size || !array.data)
            abort();
    } else if (err.status == TJ_OK || err.message[0] == '\0' || array.data || array.bytes != 0) {
        abort();
    }
    tj_npy_drop(&array);
    return 0;
}
