/* SPDX-License-Identifier: Apache-2.0 */
/*
 * version: the version of the loaded library.
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
