/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions: which library of cuBLAS a caller would have reached.
 *
 * In nearly every process there is one. Where there are more, it is the one whose function dlsym gave to the caller's object,
 * else the one that this object is linked with. Where there is none, the object has functions of these names itself, which open
 * the library when they are first called.
 */
#include "functions.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "loader.h"

enum { CALLERS = 4096 /* a power of 2 */, MOST_LIBRARIES = 16, MOST_NOTES = 256 };

struct blas_library {
    void *handle;
    const void *base; /* where it is loaded */
    _Atomic(void *) function[BLAS_FUNCTIONS];
};

/* A place in the program that calls, or an object of the program, and the library that it reaches. */
typedef struct reached {
    _Atomic(const void *) from;
    blas_library *library;
    bool is_lt;
} reached;

static struct {
    pthread_mutex_t lock;
    reached caller[CALLERS]; /* read without the lock: `from` is stored last */
    size_t callers, libraries, notes;
    blas_library library[MOST_LIBRARIES];
    reached note[MOST_NOTES]; /* objects that were given functions by dlsym */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER};

_Thread_local int blas_depth;

/* clang-format off */
static const char *const names[BLAS_FUNCTIONS] = {
#define BLAS_ONE(name) [BLAS_##name] = #name,
#define BLAS_BOTH(name) BLAS_ONE(name) [BLAS_##name##_64] = #name "_64",
    BLAS_PRODUCTS(BLAS_BOTH)
    BLAS_SETTERS(BLAS_ONE)
    BLAS_ONE(cublasLtMatmul)
    BLAS_ONE(cublasLtCreate)
    BLAS_GETTERS(BLAS_ONE)
    BLAS_LT_GETTERS(BLAS_ONE)
};
/* clang-format on */

static bool is_of_lt(const char *name)
{
    return strncmp(name, "cublasLt", 8) == 0;
}

/* ---- libraries ------------------------------------------------------------------------------------------------------- */

/* libcublas.so.12, libcublas-9d3a.so.12, and the same of libcublasLt. */
static bool is_cublas(const char *path, bool is_lt)
{
    static const char lt[] = "libcublasLt", plain[] = "libcublas";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t length = is_lt ? sizeof lt - 1 : sizeof plain - 1;

    return strncmp(name, is_lt ? lt : plain, length) == 0 && (name[length] == '.' || name[length] == '-');
}

/* An object by which the loader knows a library. No call of the loader is made under the lock: it has a lock of its own. */
typedef struct place {
    const void *base;
    char path[1024];
} place;

static bool place_of_symbol(const void *symbol, place *where)
{
    Dl_info home;

    if (!symbol || dladdr(symbol, &home) == 0)
        return false;
    where->base = home.dli_fbase;
    (void)snprintf(where->path, sizeof where->path, "%s", home.dli_fname);
    return true;
}

/*
 * Return the library at this address, or add it with its handle, which is then kept. NULL: it is not there, and handle is NULL
 * or the table is full. The caller holds the lock.
 */
static blas_library *library_at(const void *base, void *handle)
{
    for (size_t i = 0; i < self.libraries; i++)
        if (self.library[i].base == base)
            return &self.library[i];
    if (!handle || self.libraries == MOST_LIBRARIES)
        return NULL;
    self.library[self.libraries].base = base;
    self.library[self.libraries].handle = handle;
    return &self.library[self.libraries++];
}

typedef struct found {
    bool is_lt;
    size_t count;
    place at[MOST_LIBRARIES];
} found;

static int look_at_object(struct dl_phdr_info *object, size_t bytes, void *payload)
{
    found *all = payload;
    uintptr_t low = UINTPTR_MAX;

    (void)bytes;
    if (!object->dlpi_name || !is_cublas(object->dlpi_name, all->is_lt) || all->count == MOST_LIBRARIES)
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_vaddr < low)
            low = (uintptr_t)object->dlpi_phdr[i].p_vaddr;
    all->count += low != UINTPTR_MAX && place_of_symbol((const void *)(object->dlpi_addr + low), &all->at[all->count]);
    return 0;
}

/* The function that an object is linked with, or defines; NULL: none. */
static void *linked_function(const place *object, const char *name)
{
    void *handle = dlopen(object->path, RTLD_LAZY | RTLD_NOLOAD), *symbol = NULL;
    place own, home;

    if (handle) {
        symbol = blas_dlsym()(handle, name);
        (void)dlclose(handle);
    }
    /* The program itself is looked up in all that was loaded with it, this library first. */
    if (place_of_symbol(symbol, &home) && place_of_symbol(&self, &own) && home.base == own.base)
        symbol = NULL;
    return symbol ? symbol : blas_dlsym()(RTLD_NEXT, name);
}

/* Under the lock. NULL: dlsym gave this object none. */
static blas_library *noted_library(const void *base, bool is_lt)
{
    for (size_t i = 0; i < self.notes; i++)
        if (self.note[i].from == base && self.note[i].is_lt == is_lt)
            return self.note[i].library;
    return NULL;
}

bool blas_is_library(const char *path)
{
    return is_cublas(path, false) || is_cublas(path, true);
}

static bool search(const char *name, const place *object, place *library)
{
    found all = {.is_lt = is_of_lt(name)};

    (void)dl_iterate_phdr(look_at_object, &all);
    if (all.count != 1 && place_of_symbol(linked_function(object, name), library))
        return true;
    *library = all.at[0];
    return all.count > 0;
}

/* ---- callers --------------------------------------------------------------------------------------------------------- */

/* One place may call functions of both libraries through a pointer. The next return address is at least 2 bytes away. */
static const void *key_of(const void *caller, bool is_lt)
{
    return (const char *)caller + is_lt;
}

static size_t slot_of(const void *key)
{
    return (size_t)((uintptr_t)key * 0x9e3779b97f4a7c15ULL >> 40) & (CALLERS - 1);
}

/* Under the lock. A library is stored before its key, which readers look for. */
static void remember(const void *key, blas_library *library)
{
    size_t at = slot_of(key);

    if (self.callers >= CALLERS / 2)
        return;
    while (atomic_load_explicit(&self.caller[at].from, memory_order_relaxed))
        at = (at + 1) & (CALLERS - 1);
    self.caller[at].library = library;
    atomic_store_explicit(&self.caller[at].from, key, memory_order_release);
    self.callers++;
}

static blas_library *recall(const void *key)
{
    const void *from;

    for (size_t at = slot_of(key); (from = atomic_load_explicit(&self.caller[at].from, memory_order_acquire));
         at = (at + 1) & (CALLERS - 1))
        if (from == key)
            return self.caller[at].library;
    return NULL;
}

__attribute__((noinline, cold)) static blas_library *look_for_library(const char *name, const void *caller)
{
    const void *const key = key_of(caller, is_of_lt(name));
    blas_library *library;
    place object, home;
    void *handle;

    if (!place_of_symbol(caller, &object))
        return NULL;
    pthread_mutex_lock(&self.lock);
    library = noted_library(object.base, is_of_lt(name));
    pthread_mutex_unlock(&self.lock);
    if (!library && !search(name, &object, &home))
        return NULL;
    handle = library ? NULL : dlopen(home.path, RTLD_LAZY | RTLD_NOLOAD);
    pthread_mutex_lock(&self.lock);
    if (!library)
        library = library_at(home.base, handle);
    if (library && !recall(key))
        remember(key, library);
    pthread_mutex_unlock(&self.lock);
    return library;
}

/* In the place of a function that a library does not have, so that it is looked for once. */
static char absent;

void *blas_real(blas_library *library, blas_function function)
{
    void *real = atomic_load_explicit(&library->function[function], memory_order_acquire);

    if (__builtin_expect(!real, 0)) {
        real = blas_dlsym()(library->handle, names[function]);
        if (!real)
            real = &absent;
        atomic_store_explicit(&library->function[function], real, memory_order_release);
    }
    return __builtin_expect(real != &absent, 1) ? real : NULL;
}

blas_library *blas_find_real(blas_function function, const void *caller, void *real)
{
    blas_library *library = recall(key_of(caller, function >= BLAS_cublasLtMatmul));
    void *symbol;

    if (__builtin_expect(!library, 0))
        library = look_for_library(names[function], caller);
    symbol = library ? blas_real(library, function) : NULL;
    memcpy(real, &symbol, sizeof symbol);
    return symbol ? library : NULL;
}

/* ---- dlsym ----------------------------------------------------------------------------------------------------------- */

void *blas_replacement(const char *name)
{
    void *handle, *symbol = NULL;
    place own;
    int i = 0;

    while (i < BLAS_REPLACED && strcmp(name, names[i]) != 0)
        i++;
    if (i < BLAS_REPLACED && place_of_symbol(&self, &own) && (handle = dlopen(own.path, RTLD_LAZY | RTLD_NOLOAD))) {
        symbol = blas_dlsym()(handle, name);
        (void)dlclose(handle);
    }
    return symbol;
}

bool blas_note_symbol(const void *caller, const char *name, void *real)
{
    const bool is_lt = is_of_lt(name);
    blas_library *library, *before;
    place object, home, linked;
    void *handle;

    if (!place_of_symbol(real, &home) || !is_cublas(home.path, is_lt) || !place_of_symbol(caller, &object) ||
        (place_of_symbol(linked_function(&object, name), &linked) && linked.base != home.base))
        return false;
    handle = dlopen(home.path, RTLD_LAZY | RTLD_NOLOAD);
    pthread_mutex_lock(&self.lock);
    library = library_at(home.base, handle);
    before = noted_library(object.base, is_lt);
    if (library && !before && self.notes < MOST_NOTES) {
        self.note[self.notes].from = object.base;
        self.note[self.notes].is_lt = is_lt;
        self.note[self.notes++].library = before = library;
    }
    pthread_mutex_unlock(&self.lock);
    return library && before == library;
}
