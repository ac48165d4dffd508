/* SPDX-License-Identifier: Apache-2.0 */
/* A leak inside a Criterion test: Criterion alone would call it a pass. */
#include <stdlib.h>

#include <criterion/criterion.h>

Test(planted, leaks)
{
    char *volatile lost = malloc(7);

    cr_assert(lost != NULL);
    lost[0] = 1;
    lost = NULL;
}
