/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * A request: a problem that was checked and made canonical once, and the requests that derive from it.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <tilejit/tilejit.h>

#include "request.h"
#include "settle.h"

static tj_request request_of(const tj_problem *problem)
{
    tj_request request;
    tj_error err = {0};

    cr_assert(eq(int, tj_request_make(problem, &request, &err), TJ_OK), "%s", err.message);
    return request;
}

Test(request, has_what_was_given_what_it_means_and_its_operands)
{
    tj_problem given = TJ_PROBLEM_INIT(5, 6, 7, TJ_F16), canonical;
    tj_request request, copy;

    given.m.transposed = 1;
    cr_assert(eq(int, tj_epilogue_parse("acc + bias[col]", &given.epilogue, NULL), TJ_OK));
    request = copy = request_of(&given);
    canonical = tj_problem_canonical(&given);
    cr_expect(tj_problem_is_same(&request.given, &given), "plans are found by it");
    cr_expect(tj_problem_is_same(&request.problem, &canonical));
    canonical = tj_problem_transpose(&request.transposed);
    cr_expect(tj_problem_is_same(&request.problem, &canonical));
    cr_expect(eq(int, request.operand[TJ_MATRIX_M].rows.of, 'k'), "M is stored by columns");
    cr_expect(eq(i64, request.operand[TJ_MATRIX_M].ld, 5));
    memset(&request, 0xff, sizeof request);
    cr_expect(eq(str, copy.operand[TJ_WITH].name, "bias"), "a copy needs nothing of the first");
    cr_expect(eq(str, copy.operand[TJ_SCALES + TJ_MATRIX_N].title, "the scales of N"));
}

Test(request, is_made_of_a_right_problem_only)
{
    tj_problem wrong = TJ_PROBLEM_INIT(5, 6, 7, TJ_F16);
    tj_request request = request_of(&wrong), before = request;
    tj_error err;

    wrong.l.extent = 0;
    cr_expect(eq(int, tj_request_make(&wrong, &request, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(eq(str, err.message, "l is 0: it must be from 1 to 2147483647 elements"));
    cr_expect(eq(int, memcmp(&request, &before, sizeof request), 0), "it is unchanged");
}

Test(request, derives_others_in_place)
{
    tj_problem given = TJ_PROBLEM_INIT(5, 6, 7, TJ_F32);
    tj_request request;

    given.batch = 3;
    given.m.stride = TJ_POINTERS;
    given.n.ld = TJ_ANY;
    given.k.mode = TJ_DIM_ANY;
    request = request_of(&given);
    tj_request_known(&request, &request);
    cr_expect(eq(i64, request.problem.n.ld, 7));
    cr_expect(eq(i64, request.problem.k.mode, TJ_DIM_FIXED));
    cr_expect(request.operand[TJ_MATRIX_M].is_array);
    cr_assert(eq(int, tj_request_strided(&request, &request, NULL), TJ_OK));
    cr_expect(not(request.operand[TJ_MATRIX_M].is_array));
    cr_expect(eq(i64, request.operand[TJ_MATRIX_M].stride, 64), "at multiples of 256 bytes");
    tj_request_general(&request, &request);
    cr_expect(eq(i64, request.given.batch, TJ_ANY));
    cr_expect(eq(int, request.problem.j.mode, TJ_DIM_ANY));
}

/* A general kernel that took a broadcast, an array of pointers or a number of the launch for tight would read other elements. */
Test(request, loosens_numbers_and_nothing_else)
{
    static const int64_t words[] = {TJ_ANY, TJ_BROADCAST, TJ_POINTERS, TJ_POINTERS_16};
    tj_problem given = TJ_PROBLEM_INIT(5, 6, 7, TJ_F32), loose;

    given.batch = 3;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        tj_request request;

        given.n.stride = words[i];
        given.m.ld = TJ_ANY;
        request = request_of(&given);
        loose = tj_problem_loose(&request.problem);
        cr_expect(eq(i64, loose.n.stride, words[i]));
        cr_expect(eq(i64, loose.m.ld, TJ_ANY));
        cr_expect(eq(i64, loose.n.ld, TJ_TIGHT), "7 follows from l");
        cr_expect(eq(i64, loose.p.stride, TJ_TIGHT), "35 follows from j and l");
    }
}

/* A config is settled once for each request: to settle the result again changes nothing. */
Test(request, settles_a_config_once)
{
    const tj_problem given = TJ_PROBLEM_INIT(500, 60, 70, TJ_F32);
    const tj_request request = request_of(&given);

    for (size_t i = 0; i < tj_family_count(); i++) {
        tj_config once = TJ_CONFIG_INIT, twice;

        once.family = tj_family_at(i);
        if (tj_request_resolve(&request, &once, NULL) != TJ_OK)
            continue;
        twice = once;
        cr_assert(eq(int, tj_request_resolve(&request, &twice, NULL), TJ_OK));
        cr_expect(eq(int, memcmp(&once, &twice, sizeof once), 0), "%s", tj_family_name(once.family));
    }
}
