/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * emulated_launches: threads launch on the emulator, each into a stream of its own, what reads the same memory, with every check on.
 * A plain program: Criterion does not start under ThreadSanitizer. Exit 0: every sum is right.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum { THREADS = 4, LAUNCHES = 50, ELEMENTS = 256, BLOCK = 64, NON_BLOCKING = 1 };

/* out[i] += in[i] */
static const char *const text = ".version 8.0\n"
                                ".target sm_80\n"
                                ".address_size 64\n"
                                ".visible .entry add(.param .u64 in, .param .u64 out)\n"
                                "{\n"
                                "    .reg .u32 %r<8>;\n"
                                "    .reg .u64 %rd<8>;\n"
                                "    ld.param.u64 %rd1, [in];\n"
                                "    ld.param.u64 %rd2, [out];\n"
                                "    mov.u32 %r1, %ctaid.x;\n"
                                "    mov.u32 %r2, %ntid.x;\n"
                                "    mov.u32 %r3, %tid.x;\n"
                                "    mad.lo.u32 %r4, %r1, %r2, %r3;\n"
                                "    mul.wide.u32 %rd3, %r4, 4;\n"
                                "    add.u64 %rd4, %rd1, %rd3;\n"
                                "    add.u64 %rd5, %rd2, %rd3;\n"
                                "    ld.global.u32 %r5, [%rd4];\n"
                                "    ld.global.u32 %r6, [%rd5];\n"
                                "    add.u32 %r7, %r5, %r6;\n"
                                "    st.global.u32 [%rd5], %r7;\n"
                                "    ret;\n"
                                "}\n";

static int (*launch)(void *function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                     unsigned block_z, unsigned shared_bytes, void *stream, void **parameters, void **extra);
static int (*set_current)(void *context), (*create_stream)(void **stream, unsigned flags), (*synchronize)(void *stream);
static int (*allocate)(uint64_t *address, size_t bytes), (*fill)(uint64_t address, unsigned value, size_t words);
static int (*read_back)(void *to, uint64_t from, size_t bytes);
static void *context, *function;
static uint64_t in;

/* The first thing that fails, or NULL. */
static void *work(void *argument)
{
    uint32_t sum[ELEMENTS];
    uint64_t out;
    void *stream, *parameters[] = {&in, &out};

    (void)argument;
    if (set_current(context) || create_stream(&stream, NON_BLOCKING) || allocate(&out, sizeof sum) || fill(out, 0, ELEMENTS))
        return "a thread's start";
    for (int i = 0; i < LAUNCHES; i++)
        if (launch(function, ELEMENTS / BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, parameters, NULL))
            return "cuLaunchKernel";
    if (synchronize(stream) || read_back(sum, out, sizeof sum))
        return "reading back";
    for (int i = 0; i < ELEMENTS; i++)
        if (sum[i] != 3 * LAUNCHES)
            return "a sum";
    return NULL;
}

static int start(void *library)
{
    int (*init)(unsigned), (*retain)(void **, int), (*load)(void **, const void *), (*find)(void **, void *, const char *);
    void *module;

#define FIND(pointer, name) ((*(void **)&(pointer) = dlsym(library, name)) == NULL)
    if (FIND(init, "cuInit") || FIND(retain, "cuDevicePrimaryCtxRetain") || FIND(set_current, "cuCtxSetCurrent") ||
        FIND(load, "cuModuleLoadData") || FIND(find, "cuModuleGetFunction") || FIND(launch, "cuLaunchKernel") ||
        FIND(create_stream, "cuStreamCreate") || FIND(synchronize, "cuStreamSynchronize") || FIND(allocate, "cuMemAlloc_v2") ||
        FIND(fill, "cuMemsetD32_v2") || FIND(read_back, "cuMemcpyDtoH_v2"))
        return 1;
#undef FIND
    return init(0) || retain(&context, 0) || set_current(context) || load(&module, text) || find(&function, module, "add") ||
           allocate(&in, ELEMENTS * sizeof(uint32_t)) || fill(in, 3, ELEMENTS);
}

int main(void)
{
    void *library = dlopen(EMULATOR_PATH, RTLD_NOW), *answer;
    pthread_t thread[THREADS];
    int wrong = 0;

    if (!library || start(library)) {
        fprintf(stderr, "the emulator does not start\n");
        return 1;
    }
    for (int i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, work, NULL))
            return 1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &answer);
        if (answer)
            fprintf(stderr, "%s\n", (const char *)answer);
        wrong += answer != NULL;
    }
    printf("%d launches from %d threads, %d of them wrong\n", THREADS * LAUNCHES, THREADS, wrong);
    return wrong ? 1 : 0;
}
