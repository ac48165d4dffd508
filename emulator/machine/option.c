/* SPDX-License-Identifier: Apache-2.0 */
#include "option.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(uint64_t) options[CUEMU_OPTIONS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint64_t checks_of(const char *words)
{
    static const struct {
        const char *word;
        uint64_t bits;
    } known[] = {{"none", 0},
                 {"all", CUEMU_CHECK_ALL},
                 {"uninitialised", CUEMU_CHECK_UNINITIALISED},
                 {"races", CUEMU_CHECK_RACES},
                 {"async", CUEMU_CHECK_ASYNC},
                 {"barriers", CUEMU_CHECK_BARRIERS},
                 {"masks", CUEMU_CHECK_MASKS}};
    uint64_t bits = 0;

    while (*words) {
        const size_t length = strcspn(words, ", ");
        bool is_known = length == 0;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            if (strlen(known[i].word) == length && memcmp(known[i].word, words, length) == 0) {
                bits |= known[i].bits;
                is_known = true;
            }
        if (!is_known) {
            fprintf(
                stderr,
                "cuda emulator: CUDA_EMULATOR_CHECKS: \"%.*s\" is not one of all, none, uninitialised, races, async, barriers, "
                "masks; checking all\n",
                (int)length, words);
            return CUEMU_CHECK_ALL;
        }
        words += length + (words[length] != '\0');
    }
    return bits;
}

static uint64_t number_of(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    char *end;
    unsigned long long value;

    if (!text || !*text)
        return otherwise;
    value = strtoull(text, &end, 10);
    if (*end || *text < '0' || *text > '9') {
        fprintf(stderr, "cuda emulator: %s: \"%s\" is not a whole number; using %llu\n", name, text,
                (unsigned long long)otherwise);
        return otherwise;
    }
    return value;
}

static void read_environment(void)
{
    const char *checks = getenv("CUDA_EMULATOR_CHECKS");

    options[CUEMU_CHECKS] = checks ? checks_of(checks) : CUEMU_CHECK_ALL;
    options[CUEMU_COUNT] = number_of("CUDA_EMULATOR_COUNT", 0);
    options[CUEMU_THREADS] = number_of("CUDA_EMULATOR_THREADS", 0);
    options[CUEMU_SEED] = number_of("CUDA_EMULATOR_SEED", 0);
    options[CUEMU_BUDGET] = number_of("CUDA_EMULATOR_BUDGET", UINT64_C(10000000000));
    options[CUEMU_LOG] = number_of("CUDA_EMULATOR_LOG", 1);
    options[CUEMU_PATIENCE] = number_of("CUDA_EMULATOR_PATIENCE", 5);
}

uint64_t emu_option(cuEmuOption option)
{
    pthread_once(&once, read_environment);
    return options[option];
}

void emu_set_option(cuEmuOption option, uint64_t value)
{
    pthread_once(&once, read_environment);
    options[option] = value;
}
