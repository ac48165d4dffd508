/* SPDX-License-Identifier: Apache-2.0 */
/* A program as a user writes it, against the installed library: generates one kernel, which needs neither NVRTC nor GPU. */
#include <stdio.h>
#include <string.h>

#include <tilejit/tools.h>

int main(void)
{
    tj_problem problem = TJ_PROBLEM_INIT(512, 300, 700, TJ_F32);
    tj_source *source = NULL;
    tj_error err;
    int is_right;

    if (strcmp(tj_version(), TJ_VERSION) != 0 || tj_version_number() != TJ_VERSION_NUMBER) {
        fprintf(stderr, "headers are %s, the library is %s\n", TJ_VERSION, tj_version());
        return 1;
    }
    if (tj_generate(&problem, NULL, &source, &err) != TJ_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    is_right = strstr(tj_source_text(source), "__global__") != NULL;
    tj_source_free(source);
    return is_right ? 0 : 1;
}
