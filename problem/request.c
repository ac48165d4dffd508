/* SPDX-License-Identifier: Apache-2.0 */
#include "request.h"

void tj_request_derive(const tj_problem *changed, tj_request *to)
{
    const tj_problem given = *changed; /* which may be one of *to */

    to->given = given;
    to->problem = tj_problem_canonical(&given);
    if (tj_divides_k(&to->problem)) /* that of a group is known when the kernel reads the offsets */
        to->problem.k.mode = TJ_DIM_ANY;
    to->transposed = tj_problem_transpose(&to->problem);
    if (tj_is_finished(&to->problem)) {
        to->unfinished = tj_problem_unfinished(&to->problem);
        to->unfinished_transposed = tj_problem_transpose(&to->unfinished);
    }
    tj_operand_table(&to->problem, to->operand);
}

tj_status tj_request_make(const tj_problem *given, tj_request *request, tj_error *err)
{
    const tj_status status = tj_problem_check(given, err);

    if (status == TJ_OK)
        tj_request_derive(given, request);
    return status;
}

void tj_request_general(const tj_request *from, tj_request *to)
{
    const tj_problem general = tj_problem_general(&from->problem);

    tj_request_derive(&general, to);
}

void tj_request_known(const tj_request *from, tj_request *to)
{
    const tj_problem known = tj_problem_known(&from->problem);

    tj_request_derive(&known, to);
}

tj_status tj_request_strided(const tj_request *from, tj_request *to, tj_error *err)
{
    const tj_problem strided = tj_problem_strided(&from->problem);

    return tj_request_make(&strided, to, err);
}
