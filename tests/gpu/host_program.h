/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_program: the driver calls of the program around the library, which makes contexts, streams and graphs by itself.
 */
#ifndef TJ_HOST_PROGRAM_H
#define TJ_HOST_PROGRAM_H

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

static struct driver {
    int (*ctx_create)(void **, unsigned, int), (*ctx_destroy)(void *), (*ctx_push)(void *), (*ctx_pop)(void **);
    int (*stream_create)(void **, unsigned), (*stream_destroy)(void *), (*stream_sync)(void *);
    int (*capture_begin)(void *, int), (*capture_end)(void *, void **);
    int (*graph_instantiate)(void **, void *, unsigned long long), (*graph_launch)(void *, void *);
    int (*graph_exec_destroy)(void *), (*graph_destroy)(void *);
    int (*device_get)(int *, int), (*primary_retain)(void **, int), (*mem_alloc)(uint64_t *, size_t), (*mem_free)(uint64_t);
    int (*module_load)(void **, const void *), (*module_unload)(void *), (*module_function)(void **, void *, const char *);
    int (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
} cu;

static int look_up(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);

    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* All of cu; false: there is no driver, or it lacks one. */
static int load_driver(void)
{
    const char *emulator = getenv("TILEJIT_EMULATOR"); /* then TILEJIT_DRIVER is "emulator", or leads to it */
    void *library = dlopen(emulator ? emulator : "libcuda.so.1", RTLD_NOW);

    return library && look_up(library, "cuCtxCreate_v2", &cu.ctx_create) &&
           look_up(library, "cuCtxDestroy_v2", &cu.ctx_destroy) && look_up(library, "cuCtxPushCurrent_v2", &cu.ctx_push) &&
           look_up(library, "cuCtxPopCurrent_v2", &cu.ctx_pop) && look_up(library, "cuStreamCreate", &cu.stream_create) &&
           look_up(library, "cuStreamDestroy_v2", &cu.stream_destroy) &&
           look_up(library, "cuStreamSynchronize", &cu.stream_sync) &&
           look_up(library, "cuStreamBeginCapture_v2", &cu.capture_begin) &&
           look_up(library, "cuStreamEndCapture", &cu.capture_end) &&
           look_up(library, "cuGraphInstantiateWithFlags", &cu.graph_instantiate) &&
           look_up(library, "cuGraphLaunch", &cu.graph_launch) &&
           look_up(library, "cuGraphExecDestroy", &cu.graph_exec_destroy) &&
           look_up(library, "cuGraphDestroy", &cu.graph_destroy) && look_up(library, "cuDeviceGet", &cu.device_get) &&
           look_up(library, "cuDevicePrimaryCtxRetain", &cu.primary_retain) &&
           look_up(library, "cuMemAlloc_v2", &cu.mem_alloc) && look_up(library, "cuMemFree_v2", &cu.mem_free) &&
           look_up(library, "cuModuleLoadData", &cu.module_load) && look_up(library, "cuModuleUnload", &cu.module_unload) &&
           look_up(library, "cuModuleGetFunction", &cu.module_function) && look_up(library, "cuLaunchKernel", &cu.launch);
}

/* The driver's handle of the device that calls of context run on; negative: there is none. */
static int find_device(tj_context *context)
{
    tj_device_facts facts = TJ_DEVICE_FACTS_INIT;
    int device = -1;

    return tj_device_current(context, &facts, NULL) == TJ_OK && cu.device_get(&device, facts.ordinal) == 0 ? device : -1;
}

/* Make its primary context current, as in a program that uses the CUDA runtime, until leave_context. */
static int enter_primary(tj_context *context)
{
    const int device = find_device(context);
    void *primary;

    return device >= 0 && cu.primary_retain(&primary, device) == 0 && cu.ctx_push(primary) == 0;
}

static void leave_context(void)
{
    void *popped;

    cu.ctx_pop(&popped);
}

#endif
