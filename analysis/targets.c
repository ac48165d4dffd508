/* SPDX-License-Identifier: Apache-2.0 */
#include "targets.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "architectures.h"

/*
 * A capability without a row has the features of the row before it, except those that row has alone. suffix: 'a' for code of this
 * chip only, 'f' of its family, which exists from sm_100 on.
 */
static uint32_t features_of(const tj_device_facts *facts, char suffix)
{
    const tj_architecture *a = tj_architecture_of(facts);
    const int64_t capability = INT64_C(10) * facts->cc_major + facts->cc_minor;

    if (!a || (suffix == 'f' && capability < 100))
        return 0;
    return a->features | (suffix ? a->own : 0) | (suffix == 'a' && a->capability == capability ? a->alone : 0);
}

uint32_t tj_target_features(const char *target)
{
    const char *number = strchr(target, '_');
    const char *suffix = number ? number + 1 + strspn(number + 1, "0123456789") : "?";
    const int capability = number ? atoi(number + 1) : 0;
    const tj_device_facts facts = {.cc_major = capability / 10, .cc_minor = capability % 10};

    return *suffix == '\0' || strcmp(suffix, "a") == 0 || strcmp(suffix, "f") == 0 ? features_of(&facts, *suffix) : 0;
}

int tj_features_since(uint32_t features, const char *target)
{
    if (strncmp(target, "sm_", 3) != 0)
        return 0;
    if (features & TJ_FEATURE_MMA_FP8)
        return 1204;
    return features & TJ_FEATURE_FP8 && atoi(target + 3) == 89 ? 1201 : 0;
}

uint32_t tj_device_features(const tj_device_facts *facts)
{
    return features_of(facts, 'a');
}

const char *tj_feature_name(uint32_t features)
{
    static const char *const name[] = {"cp_async",   "ldmatrix", "stmatrix", "mma_f16",    "mma_s8",  "mma_bf16",
                                       "mma_tf32",   "mma_f64",  "fp8",      "dependents", "cluster", "tma",
                                       "setmaxnreg", "wgmma",    "mma_fp8",  "mma_scaled", "tcgen05", "tcgen05_s8"};
    const int first = __builtin_ffs((int)features);

    return first > 0 && (size_t)first <= sizeof name / sizeof name[0] ? name[first - 1] : "";
}

const char *tj_feature_homes(uint32_t features, char homes[TJ_HOMES_BYTES])
{
    const uint32_t first = features & -features;
    const tj_architecture *a;
    size_t length = 0;

    homes[0] = '\0';
    for (size_t i = 0; (a = tj_architecture_at(i)) != NULL && !(a->features & first); i++)
        if ((a->own | a->alone) & first)
            length += (size_t)snprintf(homes + length, TJ_HOMES_BYTES - length, "%ssm_%da", length ? ", " : "", a->capability);
    if (a)
        (void)snprintf(homes, TJ_HOMES_BYTES, "sm_%d and newer", a->capability);
    return homes;
}
