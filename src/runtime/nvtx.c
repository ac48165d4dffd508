/* SPDX-License-Identifier: Apache-2.0 */
#include "nvtx.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Numbers of NVTX 3's binary interface. */
enum {
    TABLE_OF_CALLBACKS = 1,
    TABLE_OF_VERSIONS = 3,
    MODULE_CORE = 1,
    MODULES = 7, /* numbered from 1 */
    CORE_RANGE_PUSH = 9,
    CORE_RANGE_POP = 11,
    SLOTS = 32 /* more than any module has */
};

typedef void (*slot_fn)(void);

static slot_fn slot[MODULES][SLOTS];
static slot_fn *table[MODULES][SLOTS];

static int get_module_table(int module, slot_fn ***out, unsigned int *slots)
{
    if (module < MODULE_CORE || module >= MODULES)
        return 0;
    *out = table[module];
    if (slots)
        *slots = SLOTS;
    return 1;
}

static void take_version(uint32_t version)
{
    (void)version;
}

static const struct {
    size_t struct_size;
    int (*get_module_table)(int module, slot_fn ***table, unsigned int *slots);
} callbacks = {sizeof callbacks, get_module_table};

static const struct {
    size_t struct_size;
    uint32_t version, reserved;
    void (*take_version)(uint32_t version);
} versions = {sizeof versions, 3, 0, take_version};

static const void *get_table(uint32_t number)
{
    return number == TABLE_OF_CALLBACKS  ? (const void *)&callbacks
           : number == TABLE_OF_VERSIONS ? (const void *)&versions
                                         : NULL;
}

static void attach(void)
{
    const char *path = secure_getenv("NVTX_INJECTION64_PATH");
    void *library = path && *path ? dlopen(path, RTLD_LAZY) : NULL;
    void *symbol = library ? dlsym(library, "InitializeInjectionNvtx2") : NULL;
    int (*initialize)(const void *(*get)(uint32_t)) = NULL;

    if (!symbol)
        return;
    for (int m = 0; m < MODULES; m++)
        for (int i = 0; i < SLOTS; i++)
            table[m][i] = &slot[m][i];
    memcpy(&initialize, &symbol, sizeof symbol);
    if (!initialize(get_table))
        memset(slot, 0, sizeof slot);
}

bool tj_nvtx_is_there(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, attach);
    return slot[MODULE_CORE][CORE_RANGE_PUSH] && slot[MODULE_CORE][CORE_RANGE_POP];
}

void tj_nvtx_push(const char *text)
{
    ((int (*)(const char *))slot[MODULE_CORE][CORE_RANGE_PUSH])(text);
}

void tj_nvtx_pop(void)
{
    ((int (*)(void))slot[MODULE_CORE][CORE_RANGE_POP])();
}
