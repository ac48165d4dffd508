/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version: which library is loaded.
 */
#include <tilejit/version.h>

const char *tj_version(void)
{
    return TJ_VERSION;
}

int tj_version_number(void)
{
    return TJ_VERSION_NUMBER;
}
