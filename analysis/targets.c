/* SPDX-License-Identifier: Apache-2.0 */
/*
 * targets: which target has what. A new architecture is one row here.
 */
#include "targets.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What came with one capability is in all that follow. */
enum {
    SINCE_75 = TJ_FEATURE_LDMATRIX | TJ_FEATURE_MMA_F16 | TJ_FEATURE_MMA_S8,
    SINCE_80 = SINCE_75 | TJ_FEATURE_CP_ASYNC | TJ_FEATURE_MMA_BF16 | TJ_FEATURE_MMA_TF32 | TJ_FEATURE_MMA_F64,
    SINCE_89 = SINCE_80 | TJ_FEATURE_FP8,
    SINCE_90 = SINCE_89 | TJ_FEATURE_STMATRIX | TJ_FEATURE_DEPENDENTS | TJ_FEATURE_CLUSTER | TJ_FEATURE_TMA,
};

/* own: what is promised for one capability alone, and only code for its "a" target may use. As ptxas has it. */
static const struct {
    int32_t capability;
    uint32_t features, own;
} targets[] = {
    {75, SINCE_75, 0},
    {80, SINCE_80, 0},
    {86, SINCE_80, 0},
    {89, SINCE_89, 0},
    {90, SINCE_90, TJ_FEATURE_WGMMA | TJ_FEATURE_SETMAXNREG},
    {100, SINCE_90, TJ_FEATURE_SETMAXNREG},
    {103, SINCE_90, TJ_FEATURE_SETMAXNREG},
    {110, SINCE_90, TJ_FEATURE_SETMAXNREG},
    {120, SINCE_90, TJ_FEATURE_SETMAXNREG},
    {121, SINCE_90, TJ_FEATURE_SETMAXNREG},
};

/* Of the newest row that is not newer; what that one has alone only if it is the very capability. */
static uint32_t features_of(int capability, bool has_own)
{
    uint32_t found = 0;

    for (size_t i = 0; i < sizeof targets / sizeof targets[0] && targets[i].capability <= capability; i++)
        found = targets[i].features | (has_own && targets[i].capability == capability ? targets[i].own : 0);
    return found;
}

uint32_t tj_target_features(const char *target)
{
    const char *number = strchr(target, '_');

    if (!number)
        return 0;
    const char *suffix = number + 1 + strspn(number + 1, "0123456789");
    return *suffix == '\0' || strcmp(suffix, "a") == 0 || strcmp(suffix, "f") == 0
               ? features_of(atoi(number + 1), *suffix == 'a')
               : 0;
}

uint32_t tj_device_features(const tj_device_facts *facts)
{
    return facts ? features_of(10 * facts->cc_major + facts->cc_minor, true) : 0;
}

const char *tj_feature_name(uint32_t features)
{
    static const char *const name[] = {"cp_async", "ldmatrix", "stmatrix",   "mma_f16", "mma_s8", "mma_bf16",   "mma_tf32",
                                       "mma_f64",  "fp8",      "dependents", "cluster", "tma",    "setmaxnreg", "wgmma"};
    const int first = __builtin_ffs((int)features);

    return first > 0 && (size_t)first <= sizeof name / sizeof name[0] ? name[first - 1] : "";
}

const char *tj_feature_homes(uint32_t features, char homes[TJ_HOMES_BYTES])
{
    const uint32_t first = features & -features;
    size_t length = 0;

    homes[0] = '\0';
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        if (targets[i].features & first) {
            (void)snprintf(homes, TJ_HOMES_BYTES, "sm_%d and newer", targets[i].capability);
            break;
        }
        if (targets[i].own & first)
            length += (size_t)snprintf(homes + length, TJ_HOMES_BYTES - length, "%ssm_%da", length ? ", " : "",
                                       targets[i].capability);
    }
    return homes;
}
