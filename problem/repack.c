/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repack: the two orders of weights of 4 bits within a block of k.
 */
#include "repack.h"

#include <string.h>

#include "error.h"

static unsigned half_at(const uint8_t *block, int place)
{
    return block[place / 2] >> place % 2 * 4 & 0xf;
}

/* Number i of a block lies at place i % 8 * 4 + i / 8 once it is repacked. */
static void repack_block(uint8_t *to, const uint8_t *from, tj_order order)
{
    uint8_t block[TJ_REPACKED_BYTES] = {0};

    for (int i = 0; i < TJ_REPACKED_BLOCK; i++) {
        const int place = i % 8 * 4 + i / 8, at = order == TJ_ORDER_REPACKED ? place : i, source = i + place - at;

        block[at / 2] |= (uint8_t)(half_at(from, source) << at % 2 * 4);
    }
    memcpy(to, block, sizeof block);
}

tj_status tj_repack_check(const void *to, const void *from, int64_t bytes, tj_order order, const char *function, tj_error *err)
{
    if (bytes < 0 || bytes % TJ_REPACKED_BYTES != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "bytes is %lld: weights are repacked in blocks of %d elements of k, %d bytes: fill up k with zeros to a "
                       "multiple of %d",
                       (long long)bytes, TJ_REPACKED_BLOCK, TJ_REPACKED_BYTES, TJ_REPACKED_BLOCK);
    if (order != TJ_ORDER_NATURAL && order != TJ_ORDER_REPACKED)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "order is %d: use TJ_ORDER_NATURAL or TJ_ORDER_REPACKED", (int)order);
    if (bytes > 0 && (!to || !from))
        return tj_fail_null(err, function, to ? "from" : "to");
    return TJ_OK;
}

tj_status tj_repack_host(void *to, const void *from, int64_t bytes, tj_order order, tj_error *err)
{
    if (tj_repack_check(to, from, bytes, order, __func__, err) != TJ_OK)
        return TJ_ERR_INVALID_ARGUMENT;
    for (int64_t at = 0; at < bytes; at += TJ_REPACKED_BYTES)
        repack_block((uint8_t *)to + at, (const uint8_t *)from + at, order);
    return TJ_OK;
}
