/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: never (it needs a GPU) */
/* tier: change; run: emulator/rounding; cost: 100 */
/*
 * rounding: every number of 16, 8 and 4 bits becomes a float, and floats on, between and next to them become such numbers, as on
 * the host; weights in each family that widens them. The product is a column times 1: so the kernel should store the number that
 * it reads.
 */
#include "gpu_test.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { PATTERNS = 65536, OFFSETS = 4 };

static bool is_nan(tj_type dtype, uint32_t bits)
{
    if (tj_type_bytes(dtype) == 1)
        return dtype == TJ_E4M3 ? (bits & 0x7f) == 0x7f : dtype == TJ_E5M2 && (bits & 0x7f) > 0x7c;

    const uint32_t infinity = dtype == TJ_F32 ? 0x7f800000 : dtype == TJ_F16 ? 0x7c00 : 0x7f80;

    return (bits & (dtype == TJ_F32 ? 0x7fffffffu : 0x7fffu)) > infinity;
}

static uint32_t bits_at(tj_type dtype, const void *elements, size_t i)
{
    return tj_type_bytes(dtype) == 4   ? ((const uint32_t *)elements)[i]
           : tj_type_bytes(dtype) == 2 ? ((const uint16_t *)elements)[i]
                                       : ((const uint8_t *)elements)[i];
}

/* P = M . 1, by a named config or the library's own. The 1 is of type n_dtype. */
static tj_status multiply_by_one(tj_context *context, const char *name, tj_type dtype, const void *m, size_t count,
                                 tj_type n_dtype, tj_type p_dtype, void *p, tj_error *err)
{
    const size_t numbers = (size_t)tj_type_get_facts(dtype)->numbers;
    const size_t m_bytes = count / numbers * tj_type_bytes(dtype), p_bytes = count * tj_type_bytes(p_dtype);
    tj_problem problem = TJ_PROBLEM_INIT((int64_t)count, 1, 1, dtype);
    tj_operands x = TJ_OPERANDS_INIT;
    tj_buffer *dm = NULL, *dn = NULL, *dp = NULL;
    tj_config config = TJ_CONFIG_INIT;
    const tj_plan *plan;
    const double one = 1;
    unsigned char n[8];
    tj_status status = name ? tj_config_parse(name, &config, err) : TJ_OK;

    problem.m.layout = n_dtype != dtype ? TJ_COL_MAJOR : TJ_ROW_MAJOR; /* one line: weights may lie two in a byte */
    problem.n.type = (int32_t)n_dtype;
    problem.p.type = (int32_t)p_dtype;
    tj_convert(n_dtype, n, TJ_F64, &one, 1);
    if (status == TJ_OK)
        status = tj_buffer_create(context, m_bytes, &dm, err);
    if (status == TJ_OK)
        status = tj_buffer_create(context, sizeof n, &dn, err);
    if (status == TJ_OK)
        status = tj_buffer_create(context, p_bytes, &dp, err);
    if (status == TJ_OK)
        status = tj_buffer_write(dm, 0, m, m_bytes, err);
    if (status == TJ_OK)
        status = tj_buffer_write(dn, 0, n, sizeof n, err);
    if (status == TJ_OK)
        status = tj_plan_prepare(context, &problem, name ? &config : NULL, &plan, err);
    if (status == TJ_OK) {
        x.m.address = tj_buffer_address(dm);
        x.n.address = tj_buffer_address(dn);
        x.p.address = tj_buffer_address(dp);
        status = tj_plan_launch(plan, &x, NULL, err);
    }
    if (status == TJ_OK)
        status = tj_buffer_read(dp, 0, p, p_bytes, err);
    tj_buffer_free(dm);
    tj_buffer_free(dn);
    tj_buffer_free(dp);
    return status;
}

/* The sum begins with 0, so a kernel stores no -0. */
static void test_column_by(tj_context *context, const char *name, tj_type dtype, const void *m, size_t count, tj_type n_dtype,
                           tj_type p_dtype)
{
    const char *by = name ? name : "the library's choice";
    float *sums = malloc(count * sizeof *sums);
    void *p = malloc(count * 4), *expected = malloc(count * 4);
    size_t wrong = 0, first = 0;
    tj_error err = {TJ_OK, ""};

    tj_convert(TJ_F32, sums, dtype, m, count);
    for (size_t i = 0; i < count; i++)
        sums[i] += 0.0F;
    tj_convert(p_dtype, expected, TJ_F32, sums, count);
    if (expect(multiply_by_one(context, name, dtype, m, count, n_dtype, p_dtype, p, &err) == TJ_OK, "%s, %s: %s", by,
               tj_type_name(dtype), err.message)) {
        for (size_t i = count; i-- > 0;) {
            const uint32_t is = bits_at(p_dtype, p, i), should_be = bits_at(p_dtype, expected, i);

            if (is == should_be || (is_nan(p_dtype, is) && is_nan(p_dtype, should_be)))
                continue;
            wrong++;
            first = i;
        }
        expect(wrong == 0, "%s, %s by %s to %s: %zu of %zu are wrong, %g is 0x%x, not 0x%x", by, tj_type_name(dtype),
               tj_type_name(n_dtype), tj_type_name(p_dtype), wrong, count, (double)sums[first], bits_at(p_dtype, p, first),
               bits_at(p_dtype, expected, first));
    }
    free(sums);
    free(p);
    free(expected);
}

static void test_column(tj_context *context, const char *name, tj_type dtype, const void *m, size_t count, tj_type p_dtype)
{
    test_column_by(context, name, dtype, m, count, dtype, p_dtype);
}

/* All patterns of a byte as weights, where they are widened. */
static void test_weights(tj_context *context, tj_type type)
{
    static const char *const configs[] = {"naive", "skinny:stream=m", "mma", "mma:pack=both"};
    static const tj_type numbers[] = {TJ_F32, TJ_F16, TJ_BF16};
    enum { COUNT = 256 };
    uint8_t patterns[COUNT];

    for (int i = 0; i < COUNT; i++)
        patterns[i] = (uint8_t)i;
    for (size_t i = 0; i < 4 * 3; i++)
        if (i / 3 < 2 || numbers[i % 3] != TJ_F32)
            test_column_by(context, configs[i / 3], type, patterns, COUNT * (size_t)tj_type_get_facts(type)->numbers,
                           numbers[i % 3], TJ_F32);
}

/* All patterns of an 8-bit type; floats on, between and next to its numbers, and beyond them. */
static void test_8_bits(tj_context *context, tj_type type)
{
    enum { COUNT = 256, BESIDE = 6 };
    uint8_t patterns[COUNT];
    float exact[COUNT], around[COUNT * BESIDE];

    for (int i = 0; i < COUNT; i++)
        patterns[i] = (uint8_t)i;
    tj_convert(TJ_F32, exact, type, patterns, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const float next_one = exact[(i + 1) % COUNT], tie = (exact[i] + next_one) / 2;
        const float beside[BESIDE] = {
            exact[i], tie, nextafterf(tie, -INFINITY), nextafterf(tie, INFINITY), exact[i] * 1.01f, exact[i] * 1e6f};

        memcpy(&around[(size_t)i * BESIDE], beside, sizeof beside);
    }
    test_column(context, "naive", type, patterns, COUNT, TJ_F32);
    test_column(context, NULL, type, patterns, COUNT, TJ_F16);
    if (!tj_type_get_facts(type)->is_integer)
        test_column(context, "tiled", TJ_F32, around, COUNT * BESIDE, type);
}

int main(void)
{
    static const tj_type types[] = {TJ_F16, TJ_BF16};
    static const char *const configs[] = {"naive", NULL};
    tj_context *context = open_gpu("rounding", "");
    uint16_t *patterns = malloc(PATTERNS * sizeof *patterns);
    uint32_t *words = malloc(sizeof *words * PATTERNS * OFFSETS);
    float *exact = malloc(PATTERNS * sizeof *exact);

    for (size_t i = 0; i < PATTERNS; i++)
        patterns[i] = (uint16_t)i;
    for (size_t t = 0; t < 2; t++) {
        const uint32_t half_way = types[t] == TJ_F16 ? 0x1000 : 0x8000; /* between two neighbours, in a float's last places */
        const uint32_t offset[OFFSETS] = {1, half_way - 1, half_way, half_way + 1};

        tj_convert(TJ_F32, exact, types[t], patterns, PATTERNS);
        for (size_t i = 0; i < PATTERNS; i++)
            for (size_t o = 0; o < OFFSETS; o++) {
                memcpy(&words[i * OFFSETS + o], &exact[i], sizeof exact[i]);
                words[i * OFFSETS + o] += offset[o];
            }
        for (size_t c = 0; c < 2; c++) {
            test_column(context, configs[c], types[t], patterns, PATTERNS, TJ_F32);
            test_column(context, configs[c], types[t], patterns, PATTERNS, types[t]);
            test_column(context, configs[c], TJ_F32, words, (size_t)PATTERNS * OFFSETS, types[t]);
        }
    }
    for (int type = TJ_E4M3; type <= TJ_U8; type++)
        test_8_bits(context, (tj_type)type);
    for (int type = TJ_E4M3; type <= TJ_U4; type++)
        if (type != TJ_S32)
            test_weights(context, (tj_type)type);
    free(patterns);
    free(words);
    free(exact);
    tj_context_free(context);
    return finish("rounding");
}
