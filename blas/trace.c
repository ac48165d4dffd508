/* SPDX-License-Identifier: Apache-2.0 */
#include "trace.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tilejit/tools.h>

#include "error.h"
#include "json.h"
#include "memory.h"
#include "output.h"
#include "reason.h"
#include "stacks.h"

enum { TIMED_AT_FIRST = 64, THEN_EACH = 16, WRITE_S = 5 };

static struct {
    pthread_mutex_t writing;
    char folder[4000];
    bool has_stacks;
    atomic_llong next_s; /* when to write again */
} self = {.writing = PTHREAD_MUTEX_INITIALIZER};

static int64_t seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

void blas_trace_start(const char *folder, bool has_stacks)
{
    self.has_stacks = has_stacks;
    (void)snprintf(self.folder, sizeof self.folder, "%s", folder);
    atomic_store(&self.next_s, seconds() + WRITE_S);
}

void blas_trace_begin(const tj_driver *driver, blas_product *product, bool is_captured, blas_visit *visit)
{
    const uint64_t before = atomic_fetch_add_explicit(&product->calls, 1, memory_order_relaxed);

    if (before == 0 && !atomic_exchange(&product->form.home->is_met, true))
        (void)blas_memory_learn(product->form.home); /* at exit() it is too late */
    if (self.has_stacks && (before < TIMED_AT_FIRST || before % THEN_EACH == 0))
        blas_stacks_take(product);
    if (is_captured) {
        atomic_fetch_add_explicit(&product->captured, 1, memory_order_relaxed);
        return;
    }
    if (before < TIMED_AT_FIRST || before % THEN_EACH == 0)
        visit->pair = blas_timing_begin(driver, product, BLAS_THEIRS, visit->stream);
}

/* ---- the file -------------------------------------------------------------------------------------------------------- */

static void add_product(tj_json *list, const blas_product *product)
{
    tj_json *one = tj_json_add_object(list, NULL), *problem = NULL;
    char *text = product->is_known ? tj_problem_to_json(&product->problem) : NULL;
    char shape[96];
    uint64_t timed;
    const double us = blas_timing_median(product, BLAS_THEIRS, &timed);
    const blas_memory *memory =
        product->is_known ? blas_memory_find(atomic_load(&product->form.home->memory), &product->problem) : NULL;

    if (product->form.special == BLAS_OTHER_SIZES)
        (void)snprintf(shape, sizeof shape, "of %lld products", (long long)product->form.batch);
    else
        (void)snprintf(shape, sizeof shape, "m=%lld n=%lld k=%lld", (long long)product->form.m, (long long)product->form.n,
                       (long long)product->form.k);
    tj_json_add_text(one, "function", product->name);
    tj_json_add_text(one, "shape", shape);
    tj_json_add_int(one, "calls", (int64_t)atomic_load(&product->calls));
    tj_json_add_int(one, "captured", (int64_t)atomic_load(&product->captured));
    tj_json_add_int(one, "timed", (int64_t)timed);
    tj_json_add_real(one, "us", us);
    if (memory && memory->kernel.known.us[BLAS_OURS] > 0) { /* tilejit with timed it */
        tj_json_add_real(one, "tilejit_us", memory->kernel.known.us[BLAS_OURS]);
        tj_json_add_text(one, "config", memory->kernel.known.config);
    }
    if (self.has_stacks)
        blas_stacks_print(product, one);
    if (text && tj_json_read(text, strlen(text), &problem, NULL) == TJ_OK)
        (void)tj_json_add_copy(one, "problem", problem);
    else
        tj_json_add_text(one, "why", product->is_known ? "out of memory" : product->why);
    tj_json_free(problem);
    free(text);
}

/* "python3": the program, for people. */
static void add_program(tj_json *root)
{
    char name[256] = "";
    const int fd = open("/proc/self/comm", O_RDONLY | O_CLOEXEC);
    const ssize_t length = fd >= 0 ? read(fd, name, sizeof name - 1) : 0;

    if (fd >= 0)
        close(fd);
    if (length > 0)
        name[strcspn(name, "\n")] = '\0';
    tj_json_add_foreign(root, "program", name);
    tj_json_add_int(root, "process", getpid());
    tj_json_add_int(root, "missed", (int64_t)blas_products_missed());
}

static void write_file(void)
{
    tj_json *root = tj_json_new(), *list = tj_json_add_list(root, "products");
    char path[sizeof self.folder + 32], reason[BLAS_REASON_BYTES] = "", *text;
    tj_output out;
    tj_error err;

    add_program(root);
    for (const blas_product *one = blas_product_first(); one; one = one->next)
        if (atomic_load(&one->calls) > 0)
            add_product(list, one);
    if (tj_json_count(list) == 0)
        (void)blas_reason(reason);
    tj_json_add_text(root, "why", reason);
    text = tj_json_print(root);
    tj_json_free(root);
    (void)snprintf(path, sizeof path, "%s/%d.json", self.folder, (int)getpid());
    if (!text || tj_output_open(path, &out, &err) != TJ_OK) {
        free(text);
        return;
    }
    (void)tj_output_write(&out, &(const struct iovec){text, strlen(text)}, 1, &err);
    tj_output_close(&out);
    free(text);
}

/* cuBLAS's times are where tilejit with begins. */
static bool know(blas_product *product, blas_known *known)
{
    uint64_t count;

    known->us[BLAS_THEIRS] = blas_timing_median(product, BLAS_THEIRS, &count);
    return count > 0;
}

void blas_trace_write(const tj_driver *driver, bool is_last)
{
    const int64_t now = seconds();

    if (!is_last && now < atomic_load_explicit(&self.next_s, memory_order_relaxed))
        return;
    if (pthread_mutex_trylock(&self.writing) != 0) {
        if (!is_last)
            return;
        pthread_mutex_lock(&self.writing);
    }
    if (is_last && driver)
        blas_timing_finish(driver);
    write_file();
    if (is_last)
        blas_memory_write(know);
    atomic_store(&self.next_s, now + WRITE_S);
    pthread_mutex_unlock(&self.writing);
}
