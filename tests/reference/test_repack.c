/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * The order of repacked weights, as problem.h describes it, and its inverse.
 */
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <tilejit/reference.h>
#include <tilejit/repack.h>

static unsigned half_at(const unsigned char *bytes, int place)
{
    return bytes[place / 2] >> place % 2 * 4 & 0xf;
}

Test(repack, number_i_of_a_block_lies_where_the_header_says)
{
    unsigned char natural[3 * TJ_REPACKED_BYTES], repacked[sizeof natural];
    tj_error err = {0};

    tj_fill_random(TJ_U4, natural, sizeof natural, 1);
    cr_assert(eq(int, tj_repack_host(repacked, natural, sizeof natural, TJ_ORDER_REPACKED, &err), TJ_OK), "%s", err.message);
    for (int block = 0; block < 3; block++)
        for (int i = 0; i < TJ_REPACKED_BLOCK; i++)
            cr_expect(eq(uint, half_at(repacked + block * TJ_REPACKED_BYTES, i % 8 * 4 + i / 8),
                         half_at(natural + block * TJ_REPACKED_BYTES, i)),
                      "block %d, number %d", block, i);
}

Test(repack, goes_back_in_place)
{
    unsigned char natural[5 * TJ_REPACKED_BYTES], bytes[sizeof natural];

    tj_fill_random(TJ_U4, natural, sizeof natural, 2);
    memcpy(bytes, natural, sizeof bytes);
    cr_assert(eq(int, tj_repack_host(bytes, bytes, sizeof bytes, TJ_ORDER_REPACKED, NULL), TJ_OK));
    cr_expect(ne(int, memcmp(bytes, natural, sizeof bytes), 0));
    cr_assert(eq(int, tj_repack_host(bytes, bytes, sizeof bytes, TJ_ORDER_NATURAL, NULL), TJ_OK));
    cr_expect(eq(int, memcmp(bytes, natural, sizeof bytes), 0));
}

Test(repack, names_what_it_does_not_take)
{
    unsigned char block[TJ_REPACKED_BYTES] = {0};
    tj_error err = {0};

    cr_expect(eq(int, tj_repack_host(block, block, 24, TJ_ORDER_REPACKED, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(ne(ptr, strstr(err.message, "bytes is 24"), NULL), "%s", err.message);
    cr_expect(ne(ptr, strstr(err.message, "fill up k with zeros to a multiple of 32"), NULL), "%s", err.message);
    cr_expect(eq(int, tj_repack_host(block, block, -16, TJ_ORDER_REPACKED, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_repack_host(block, block, 16, (tj_order)2, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(ne(ptr, strstr(err.message, "order is 2: use TJ_ORDER_NATURAL or TJ_ORDER_REPACKED"), NULL), "%s", err.message);
    cr_expect(eq(int, tj_repack_host(NULL, block, 16, TJ_ORDER_REPACKED, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_repack_host(block, NULL, 16, TJ_ORDER_REPACKED, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(int, tj_repack_host(NULL, NULL, 0, TJ_ORDER_REPACKED, &err), TJ_OK));
}

/* The reference reads the order too: strides, gaps between rows, and arrays of pointers. */
Test(repack, the_reference_multiplies_repacked_weights)
{
    enum { J = 3, K = 64, L = 5, LD = 37, PRODUCTS = 3 };
    static float m[PRODUCTS * J * K], want[PRODUCTS * J * L], got[PRODUCTS * J * L];
    static unsigned char n[PRODUCTS * L * LD], repacked[PRODUCTS * L * LD];
    const void *address[PRODUCTS];
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F32);
    tj_host_operands x = TJ_HOST_OPERANDS(m, n);
    tj_error err = {0};

    tj_fill_random(TJ_F32, m, PRODUCTS * J * K, 3);
    tj_fill_random(TJ_S4, n, sizeof n, 4);
    for (int row = 0; row < PRODUCTS * L; row++)
        cr_assert(eq(int, tj_repack_host(repacked + row * LD, n + row * LD, K / 2, TJ_ORDER_REPACKED, &err), TJ_OK));
    for (int i = 0; i < PRODUCTS; i++)
        address[i] = repacked + i * L * LD;
    problem.batch = PRODUCTS;
    problem.n = (tj_matrix){.type = TJ_S4, .layout = TJ_COL_MAJOR, .ld = LD};
    cr_assert(eq(int, tj_reference_product(&problem, &x, want, 1, &err), TJ_OK), "%s", err.message);
    problem.n.order = TJ_ORDER_REPACKED;
    x.n = repacked;
    cr_assert(eq(int, tj_reference_product(&problem, &x, got, 1, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, memcmp(got, want, sizeof got), 0));
    memset(got, 0, sizeof got);
    problem.n.stride = TJ_POINTERS;
    x.n = address;
    cr_assert(eq(int, tj_reference_product(&problem, &x, got, 1, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, memcmp(got, want, sizeof got), 0));
}
