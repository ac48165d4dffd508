/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 10_own_memory_and_log: a guest in somebody else's program. Device memory comes from the program's pool, messages go to its log,
 * options come from its command line, and no environment variable is read.
 *
 * usage: 10_own_memory_and_log [DRIVER [NVRTC]], such as: 10_own_memory_and_log emulator
 * Exit code: 0 done, 77 nothing to run it on, 1 anything else.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <tilejit/reference.h>
#include <tilejit/tilejit.h>

/* ---- the program's pool ------------------------------------------------------------------------------------------- */

/* Pieces of one block of device memory. A piece is given again to its own stream alone, where work that uses it comes first. */
enum { POOL_BYTES = 16 << 20, MOST_PIECES = 256, ALIGNMENT = 256 };

typedef struct pool {
    pthread_mutex_t lock;
    char *base;
    size_t used;
    int pieces, in_use, served;
    struct {
        char *address;
        size_t bytes;
        struct CUstream_st *stream;
        int is_free;
    } piece[MOST_PIECES];
} pool;

static void *pool_allocate(size_t bytes, struct CUstream_st *stream, void *payload)
{
    pool *p = payload;
    const size_t room = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *found = NULL;
    int i = 0;

    pthread_mutex_lock(&p->lock);
    while (i < p->pieces && !(p->piece[i].is_free && p->piece[i].stream == stream && p->piece[i].bytes >= room))
        i++;
    if (i == p->pieces && i < MOST_PIECES && room <= POOL_BYTES - p->used) {
        p->piece[i].address = p->base + p->used;
        p->piece[i].bytes = room;
        p->piece[i].stream = stream;
        p->used += room;
        p->pieces++;
    }
    if (i < p->pieces) {
        p->piece[i].is_free = 0;
        p->in_use++, p->served++;
        found = p->piece[i].address;
    }
    pthread_mutex_unlock(&p->lock);
    return found; /* NULL: the call that asked fails with TJ_ERR_DEVICE_MEMORY */
}

static void pool_release(void *memory, size_t bytes, struct CUstream_st *stream, void *payload)
{
    pool *p = payload;

    (void)bytes, (void)stream;
    pthread_mutex_lock(&p->lock);
    for (int i = 0; i < p->pieces; i++)
        if (p->piece[i].address == memory) {
            p->piece[i].is_free = 1;
            p->in_use--;
        }
    pthread_mutex_unlock(&p->lock);
}

/* ---- the program's log -------------------------------------------------------------------------------------------- */

/* Any thread may bring a line, and several at once: stdio locks for itself. */
static void log_line(tj_log_level level, const char *line, void *payload)
{
    static const char letter[] = "-EWID";

    fprintf(payload, "%c gemm: %s\n", letter[level], line);
}

/* ---- the program -------------------------------------------------------------------------------------------------- */

enum { J = 24, K = 4096, L = 40 }; /* so long a k is split, and the parts lie in a workspace */

static tj_status multiply(tj_context *context, const pool *p, tj_error *err)
{
    tj_problem problem = TJ_PROBLEM_INIT(J, K, L, TJ_F32);
    tj_config config;
    const tj_plan *plan = NULL;
    tj_buffer *m = NULL, *n = NULL, *out = NULL;
    tj_check_report report = TJ_CHECK_REPORT_INIT;
    float *M = malloc(sizeof(float) * J * K), *N = malloc(sizeof(float) * K * L), *P = malloc(sizeof(float) * J * L);
    tj_host_operands host = TJ_HOST_OPERANDS(M, N);
    tj_status status = M && N && P ? tj_config_parse("simt:splits=4", &config, err) : TJ_ERR_OUT_OF_MEMORY;

    if (status == TJ_OK) {
        tj_fill_random(TJ_F32, M, J * K, 1);
        tj_fill_random(TJ_F32, N, K * L, 2);
        status = tj_buffer_create(context, sizeof(float) * J * K, &m, err);
    }
    if (status == TJ_OK && (status = tj_buffer_create(context, sizeof(float) * K * L, &n, err)) == TJ_OK &&
        (status = tj_buffer_create(context, sizeof(float) * J * L, &out, err)) == TJ_OK &&
        (status = tj_buffer_write(m, 0, M, sizeof(float) * J * K, err)) == TJ_OK &&
        (status = tj_buffer_write(n, 0, N, sizeof(float) * K * L, err)) == TJ_OK)
        status = tj_plan_prepare(context, &problem, &config, &plan, err);
    for (int i = 0; i < 3 && status == TJ_OK; i++) {
        const tj_operands x = TJ_OPERANDS(tj_buffer_address(m), tj_buffer_address(n), tj_buffer_address(out));

        status = tj_plan_launch(plan, &x, NULL, err); /* the operands bring no workspace */
    }
    if (status == TJ_OK && (status = tj_buffer_read(out, 0, P, sizeof(float) * J * L, err)) == TJ_OK)
        status = tj_reference_check(&problem, &host, P, 0, 0, &report, err);
    if (status == TJ_OK)
        printf("%s; the pool served %d requests by %d pieces, of %zu bytes together\n", report.passed ? "right" : report.reason,
               p->served, p->pieces, p->used);
    tj_plan_release(plan);
    tj_buffer_free(m), tj_buffer_free(n), tj_buffer_free(out);
    free(M), free(N), free(P);
    return status == TJ_OK && !report.passed ? TJ_ERR_CHECK_FAILED : status;
}

int main(int argc, char **argv)
{
    static pool p = {.lock = PTHREAD_MUTEX_INITIALIZER};
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *device = NULL, *context = NULL;
    tj_buffer *block = NULL;
    tj_error err = {TJ_OK, ""};
    tj_status status;

    options.driver = argc > 1 ? argv[1] : NULL;
    options.nvrtc = argc > 2 && argv[2][0] ? argv[2] : NULL;
    options.ignore_environment = 1; /* so there is no store either, unless cache_dir names one */
    options.log = log_line;
    options.log_level = TJ_LOG_INFO;
    options.log_payload = stdout;

    /* The program's own device memory: one with the CUDA runtime has cudaMalloc in place of this. */
    if ((status = tj_context_create(&options, &device, &err)) == TJ_OK &&
        (status = tj_buffer_create(device, POOL_BYTES, &block, &err)) == TJ_OK) {
        p.base = tj_buffer_address(block);
        options.allocate = pool_allocate;
        options.release = pool_release;
        options.allocator_payload = &p;
        options.prove = TJ_PROVE_BEFORE; /* proofs compute in the pool as well */
        status = tj_context_create(&options, &context, &err);
    }
    if (status == TJ_OK)
        status = multiply(context, &p, &err);
    tj_context_free(context);
    tj_buffer_free(block);
    tj_context_free(device);
    if (status == TJ_OK && p.in_use != 0) {
        printf("%d pieces of the pool are still in use\n", p.in_use);
        return 1;
    }
    if (status != TJ_OK)
        fprintf(stderr, "10_own_memory_and_log: %s\n", err.message);
    return status == TJ_OK ? 0 : status == TJ_ERR_NO_DRIVER || status == TJ_ERR_NO_COMPILER ? 77 : 1;
}
