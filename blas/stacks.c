/* SPDX-License-Identifier: Apache-2.0 */
#include "stacks.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "loader.h"
#include "python.h"

enum {
    MOST_STACKS = 64 /* of a product */,
    DEPTH = 64,
    PYTHON_BYTES = 4096,
    PRINTED = 8,
    PRINTED_FRAMES = 24,
    FRAME_BYTES = 512
};

typedef struct blas_stack {
    uint64_t hash, count;
    struct blas_stack *next;
    char *python; /* lines, each with its end */
    int depth;
    void *address[DEPTH];
} blas_stack;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Under the lock. NULL: memory ran out, or the product has many already. */
static blas_stack *add(blas_product *product, uint64_t hash, const char *python)
{
    blas_stack *one;
    int count = 0;

    for (one = product->stacks; one; one = one->next, count++)
        if (one->hash == hash)
            return one;
    one = count < MOST_STACKS ? calloc(1, sizeof *one) : NULL;
    if (!one || !(one->python = strdup(python))) {
        free(one);
        return NULL;
    }
    one->hash = hash;
    one->next = product->stacks;
    product->stacks = one;
    return one;
}

void blas_stacks_take(blas_product *product)
{
    struct {
        void *address[DEPTH];
        char python[PYTHON_BYTES];
    } key;
    blas_stack *one;
    int depth;

    memset(&key, 0, sizeof key);
    depth = backtrace(key.address, DEPTH);
    blas_python_stack(key.python, sizeof key.python);
    pthread_mutex_lock(&lock);
    if ((one = add(product, tj_hash_bytes64(&key, sizeof key.address + strlen(key.python)), key.python))) {
        one->count++;
        one->depth = depth;
        memcpy(one->address, key.address, sizeof one->address);
    }
    pthread_mutex_unlock(&lock);
}

/* ---- printing --------------------------------------------------------------------------------------------------------- */

typedef char *demangle_fn(const char *name, char *out, size_t *bytes, int *status);

/* "at::mm(...) (libtorch_cpu.so)"; without a symbol "app+0x1234", as addr2line takes it. */
static void print_address(const void *address, const Dl_info *home, char text[FRAME_BYTES])
{
    void *symbol = blas_dlsym()(RTLD_DEFAULT, "__cxa_demangle"); /* NULL: the program has no C++ */
    const char *slash = strrchr(home->dli_fname, '/');
    char *plain = NULL;
    demangle_fn *demangle;

    memcpy(&demangle, &symbol, sizeof demangle);
    if (home->dli_sname && demangle)
        plain = demangle(home->dli_sname, NULL, NULL, NULL);
    if (home->dli_sname)
        (void)snprintf(text, FRAME_BYTES, "%.400s (%.80s)", plain ? plain : home->dli_sname,
                       slash ? slash + 1 : home->dli_fname);
    else
        (void)snprintf(text, FRAME_BYTES, "%.400s+0x%lx", slash ? slash + 1 : home->dli_fname,
                       (unsigned long)((const char *)address - (const char *)home->dli_fbase));
    free(plain);
}

/* From the caller of this library on, to the interpreter, whose stack is told by lines of Python. */
static void print_c(const blas_stack *stack, tj_json *list)
{
    const void *python = *stack->python ? blas_python_base() : NULL;
    Dl_info home, own = {0};
    char text[FRAME_BYTES];

    (void)dladdr(&lock, &own);
    for (int i = 0, printed = 0; i < stack->depth && printed < PRINTED_FRAMES; i++) {
        const char *const call = (const char *)stack->address[i] - 1; /* the return address may be the next function's first */

        if (!dladdr(call, &home) || !home.dli_fname || (printed == 0 && home.dli_fbase == own.dli_fbase))
            continue;
        if (python && home.dli_fbase == python)
            break;
        print_address(stack->address[i], &home, text);
        tj_json_add_foreign(list, NULL, text);
        printed++;
    }
}

static void print_lines(const char *lines, tj_json *list)
{
    char text[FRAME_BYTES];

    for (const char *end; (end = strchr(lines, '\n')); lines = end + 1) {
        (void)snprintf(text, sizeof text, "%.*s", (int)(end - lines), lines);
        tj_json_add_foreign(list, NULL, text);
    }
}

static int by_count(const void *a, const void *b)
{
    const blas_stack *x = *(blas_stack *const *)a, *y = *(blas_stack *const *)b;

    return (x->count < y->count) - (x->count > y->count);
}

void blas_stacks_print(const blas_product *product, tj_json *to)
{
    tj_json *list = tj_json_add_list(to, "stacks");
    blas_stack *all[MOST_STACKS];
    int count = 0;

    pthread_mutex_lock(&lock);
    for (blas_stack *one = product->stacks; one; one = one->next)
        all[count++] = one;
    if (count > 0)
        qsort(all, (size_t)count, sizeof(void *), by_count);
    for (int i = 0; i < count && i < PRINTED; i++) {
        tj_json *one = tj_json_add_object(list, NULL);

        tj_json_add_int(one, "count", (int64_t)all[i]->count);
        print_lines(all[i]->python, tj_json_add_list(one, "python"));
        print_c(all[i], tj_json_add_list(one, "c"));
    }
    pthread_mutex_unlock(&lock);
}
