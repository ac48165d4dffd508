/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_test: the command as a user runs it: words in; stdout, stderr, exit code and files out.
 *
 * The driver is a fake that copies memory and computes nothing, so a product that it "ran" must fail its check. It does
 * not know the kernel's parameters and is told not to speak of them.
 */
#ifndef TJ_COMMAND_TEST_H
#define TJ_COMMAND_TEST_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "shell.h"

static void assign_variables(char *assignments, size_t bytes)
{
    snprintf(assignments, bytes, "LOCPATH=%s/locales FAKE_CUDA_HIDE=cuFuncGetParamInfo", folder);
}

static inline bool exists(const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return access(path, F_OK) == 0;
}

/** The answer of a command to --json. */
static inline json_t *answer_of(const char *words)
{
    json_error_t where;
    json_t *answer;

    shell("$T %s --json", words);
    answer = json_loads(out, 0, &where);
    cr_assert(answer != NULL, "%s: %s: %s", words, where.text, out);
    return answer;
}

TestSuite(command, .init = make_folder, .fini = remove_folder);

#endif
