/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "disk_store.h"
#include "hash.h"
#include "json.h"

enum { FORMAT = 1, MOST_PRODUCTS = 1000, KEPT_S = 90 * 24 * 3600, LOCK_WAIT_MS = 500, TEXT_BYTES = 4096 };

static struct {
    pthread_mutex_t learning, writing;
    bool is_created; /* creation of the context was tried */
    tj_context *context;
} self = {.learning = PTHREAD_MUTEX_INITIALIZER, .writing = PTHREAD_MUTEX_INITIALIZER};

/* The note's name: its place among 4096, so that no number of programs fills the disk. The later of two with one place stays. */
typedef struct place {
    char program[TEXT_BYTES], device[256], name[16];
} place;

/* ---- the program -------------------------------------------------------------------------------------------------------- */

/*
 * The executable, and its arguments up to the first that is not an option: "/usr/bin/python3.12 train.py". Two scripts of one
 * name share a note, which then holds the products of both.
 */
static bool name_program(char text[TEXT_BYTES])
{
    const ssize_t length = readlink("/proc/self/exe", text, TEXT_BYTES / 2);
    const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
    char arguments[TEXT_BYTES / 2];
    ssize_t size = fd >= 0 ? read(fd, arguments, sizeof arguments - 1) : -1;
    size_t used = length > 0 ? (size_t)length : 0;
    const char *at;

    if (fd >= 0)
        close(fd);
    if (length <= 0 || size <= 0)
        return false;
    arguments[size] = '\0';
    text[used] = '\0';
    for (at = arguments + strlen(arguments) + 1; at < arguments + size; at += strlen(at) + 1) {
        used += (size_t)snprintf(text + used, TEXT_BYTES - used, " %s", at);
        if (*at != '-')
            break;
    }
    return true;
}

static bool find_place(const tj_device_facts *device, place *at)
{
    char text[TEXT_BYTES + 300], hex[TJ_HASH_HEX_BYTES];

    if (!name_program(at->program))
        return false;
    (void)snprintf(at->device, sizeof at->device, "%s %d.%d %d", device->name, device->cc_major, device->cc_minor,
                   device->sm_count);
    (void)snprintf(text, sizeof text, "%s\n%s", at->program, at->device);
    tj_hash_hex(tj_hash_bytes(text, strlen(text)), hex);
    (void)snprintf(at->name, sizeof at->name, "program-%.3s", hex);
    return true;
}

/* NULL: the context keeps nothing on disk, or memory ran out. */
static tj_disk_store *open_store(const tj_context *context)
{
    const char *path = tj_store_path(context);

    return *path ? tj_disk_store_create(path, NULL, tj_store_max_bytes(context), &(const tj_log){0}) : NULL;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------ */

/* NULL: not a product that this version knows. */
static blas_memory *read_product(const tj_json *from)
{
    const tj_json *problem = tj_json_get(from, "problem");
    const char *config = tj_json_text(tj_json_get(from, "config"));
    char *text = problem ? tj_json_print(problem) : NULL;
    blas_memory *one = text ? calloc(1, sizeof *one) : NULL;

    if (one && tj_problem_from_json(text, &one->problem, NULL) == TJ_OK) {
        tj_problem_id(&one->problem, one->id);
        one->kernel.known.us[BLAS_THEIRS] = tj_json_number(tj_json_get(from, "cublas_us"));
        one->kernel.known.us[BLAS_OURS] = tj_json_number(tj_json_get(from, "tilejit_us"));
        one->seen_s = tj_json_int(tj_json_get(from, "seen_s"));
        (void)snprintf(one->kernel.known.config, sizeof one->kernel.known.config, "%s", config ? config : "");
    } else {
        free(one);
        one = NULL;
    }
    free(text);
    return one;
}

static blas_memory *read_note(tj_disk_store *store, const place *at)
{
    char *text = tj_disk_store_read_note(store, at->name);
    blas_memory *first = NULL, **last = &first;
    tj_json *root = NULL;
    const char *program, *device;

    if (text && tj_json_read(text, strlen(text), &root, NULL) != TJ_OK)
        root = NULL;
    program = tj_json_text(tj_json_get(root, "program"));
    device = tj_json_text(tj_json_get(root, "device"));
    if (tj_json_int(tj_json_get(root, "format")) == FORMAT && program && strcmp(program, at->program) == 0 && device &&
        strcmp(device, at->device) == 0)
        for (const tj_json *one = tj_json_first(tj_json_get(root, "products")); one; one = tj_json_next(one))
            if ((*last = read_product(one)))
                last = &(*last)->next;
    tj_json_free(root);
    free(text);
    return first;
}

/* NULL: there is none. */
static blas_memory *read_memory(const tj_device_facts *device)
{
    tj_disk_store *store = open_store(self.context);
    blas_memory *first = NULL;
    place at;

    if (store && find_place(device, &at))
        first = read_note(store, &at);
    tj_disk_store_free(store);
    return first;
}

tj_context *blas_memory_learn(blas_home *home)
{
    if (atomic_load_explicit(&home->is_learnt, memory_order_acquire))
        return self.context;
    pthread_mutex_lock(&self.learning);
    if (!self.is_created && tj_context_create(NULL, &self.context, NULL) != TJ_OK)
        self.context = NULL;
    self.is_created = true;
    if (self.context && !atomic_load(&home->is_learnt) && tj_device_current(self.context, &home->device, NULL) == TJ_OK) {
        atomic_store(&home->memory, read_memory(&home->device));
        atomic_store_explicit(&home->is_learnt, true, memory_order_release);
    }
    pthread_mutex_unlock(&self.learning);
    return atomic_load(&home->is_learnt) ? self.context : NULL;
}

static blas_memory *find_id(blas_memory *first, const char *id)
{
    while (first && strcmp(first->id, id) != 0)
        first = first->next;
    return first;
}

blas_memory *blas_memory_find(blas_memory *first, const tj_problem *problem)
{
    char id[TJ_PROBLEM_ID_BYTES];

    if (!first)
        return NULL;
    tj_problem_id(problem, id);
    return find_id(first, id);
}

/* ---- writing ------------------------------------------------------------------------------------------------------------ */

static void add(tj_json *list, const tj_problem *problem, const blas_known *known, int64_t seen_s)
{
    char *text = tj_problem_to_json(problem);
    tj_json *one, *read = NULL;

    if (text && tj_json_count(list) < MOST_PRODUCTS && tj_json_read(text, strlen(text), &read, NULL) == TJ_OK) {
        one = tj_json_add_object(list, NULL);
        (void)tj_json_add_copy(one, "problem", read);
        tj_json_add_text(one, "config", known->config);
        tj_json_add_real(one, "cublas_us", known->us[BLAS_THEIRS]);
        tj_json_add_real(one, "tilejit_us", known->us[BLAS_OURS]);
        tj_json_add_int(one, "seen_s", seen_s);
    }
    tj_json_free(read);
    free(text);
}

/*
 * Those of this process, of several forms of one problem the first. A process that timed cuBLAS alone, as a trace does, leaves
 * TileJIT's time as it was.
 */
static blas_memory *add_own(tj_json *list, const blas_home *home, blas_memory *before, blas_memory_fn *know)
{
    blas_memory *seen = NULL, *one;
    const blas_memory *last;

    for (blas_product *product = blas_product_first(); product; product = product->next) {
        blas_known known = {{0}};

        if (product->form.home != home || !product->is_known || !know(product, &known) ||
            blas_memory_find(seen, &product->problem) || !(one = calloc(1, sizeof *one)))
            continue;
        tj_problem_id(&product->problem, one->id);
        one->next = seen;
        seen = one;
        if (known.us[BLAS_OURS] <= 0 && (last = find_id(before, one->id))) {
            known.us[BLAS_OURS] = last->kernel.known.us[BLAS_OURS];
            memcpy(known.config, last->kernel.known.config, sizeof known.config);
        }
        add(list, &product->problem, &known, time(NULL));
    }
    return seen;
}

static void free_all(blas_memory *first)
{
    blas_memory *one;

    while ((one = first)) {
        first = one->next;
        free(one);
    }
}

/* Those of this process first; then those of the note that it did not call. NULL: there is nothing to write. */
static char *print_note(const place *at, const blas_home *home, blas_memory *before, blas_memory_fn *know)
{
    tj_json *root = tj_json_new(), *list = tj_json_add_list(root, "products");
    blas_memory *seen = add_own(list, home, before, know);
    char *text = NULL;

    tj_json_add_int(root, "format", FORMAT);
    tj_json_add_foreign(root, "program", at->program);
    tj_json_add_foreign(root, "device", at->device);
    for (const blas_memory *one = before; seen && one; one = one->next)
        if (one->seen_s > time(NULL) - KEPT_S && !find_id(seen, one->id))
            add(list, &one->problem, &one->kernel.known, one->seen_s);
    if (seen)
        text = tj_json_print_lines(root, 6);
    tj_json_free(root);
    free_all(seen);
    return text;
}

static void write_home(const blas_home *home, blas_memory_fn *know)
{
    tj_disk_store *store = open_store(self.context);
    tj_key key = {.count = 0};
    blas_memory *before;
    char *text;
    place at;
    int lock;

    if (store && find_place(&home->device, &at)) {
        tj_key_add(&key, "note", at.name);
        tj_key_seal(&key);
        lock = tj_disk_store_lock(store, &key, LOCK_WAIT_MS);
        before = read_note(store, &at);
        if ((text = print_note(&at, home, before, know)))
            tj_disk_store_write_note(store, at.name, text);
        tj_disk_store_unlock(lock);
        free_all(before);
        free(text);
    }
    tj_disk_store_free(store);
}

void blas_memory_write(blas_memory_fn *know)
{
    pthread_mutex_lock(&self.writing);
    for (const blas_home *home = blas_home_first(); home; home = atomic_load(&home->next))
        if (atomic_load_explicit(&home->is_learnt, memory_order_acquire))
            write_home(home, know);
    pthread_mutex_unlock(&self.writing);
}
