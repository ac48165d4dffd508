/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 04_inference_server: a network of three layers, 64-128-128-10, answers batches of 1 to 32 inputs from eight threads, each with a
 * stream of its own. No batch is known in advance.
 *
 *     04_inference_server wait      each new problem waits for its kernel: one of its own for each size of batch and each layer
 *     04_inference_server quick     no call waits; kernels are made in the background, one for all batch sizes and one per recurring problem
 *     04_inference_server           both, one after the other
 *
 * It prints the number of kernels compiled, the times of the first answer and of the slowest of the first 48, and the time of an answer
 * once all kernels are ready. It uses no store, so that every run is a cold start. Every answer is checked.
 * Exit code: 0 done, 77 nothing to run it on, 1 anything else.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tilejit/tilejit.h>

enum {
    LAYERS = 3,
    MOST_BATCH = 32,
    WIDEST = 128,
    THREADS = 8,
    FIRST_REQUESTS = 6,
    REQUESTS = 200,
    SETTLED_MS = 500,
    MOST_WAIT_MS = 5000
};

static const int width[LAYERS + 1] = {64, 128, 128, 10};

/* State that all threads share. */
typedef struct server {
    tj_context *context;
    float *weight[LAYERS]; /* width[i] x width[i + 1] */
    tj_buffer *device_weight[LAYERS];
} server;

/* A thread that answers requests. */
typedef struct worker {
    server *of;
    unsigned seed;
    int requests, answered;
    double us[REQUESTS];
    struct CUstream_st *stream;
    tj_buffer *activation[LAYERS + 1]; /* MOST_BATCH x width[i] */
    float in[MOST_BATCH * WIDEST], out[MOST_BATCH * WIDEST];
    tj_status status;
    tj_error err;
} worker;

static double now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* Return the same numbers on every machine: the top bits of a linear congruential generator. */
static int draw(unsigned *seed, int below)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (int)((*seed >> 16) % (unsigned)below);
}

/* Fill with integers from -2 to 2: every sum is exact in f32, so any kernel gives the same answer. */
static void fill(unsigned *seed, float *x, int count)
{
    for (int i = 0; i < count; i++)
        x[i] = (float)(draw(seed, 5) - 2);
}

/* Compute from inputs on the device to a completed answer. */
static tj_status answer(worker *w, int batch)
{
    const double start = now_us();
    tj_status status = TJ_OK;

    for (int i = 0; status == TJ_OK && i < LAYERS; i++) {
        const tj_problem problem = TJ_PROBLEM_INIT(batch, width[i], width[i + 1], TJ_F32);
        const tj_operands x = TJ_OPERANDS(tj_buffer_address(w->activation[i]), tj_buffer_address(w->of->device_weight[i]),
                                          tj_buffer_address(w->activation[i + 1]));

        status = tj_matmul(w->of->context, &problem, &x, w->stream, &w->err);
    }
    if (status == TJ_OK)
        status = tj_synchronize(w->of->context, w->stream, &w->err);
    w->us[w->answered++] = now_us() - start;
    return status;
}

/* Check an answer by the definition, on the host. */
static int is_right(const worker *w, int batch)
{
    float before[WIDEST], after[WIDEST];

    for (int row = 0; row < batch; row++) {
        memcpy(before, w->in + row * width[0], sizeof(float) * (size_t)width[0]);
        for (int i = 0; i < LAYERS; i++) {
            for (int col = 0; col < width[i + 1]; col++) {
                after[col] = 0;
                for (int k = 0; k < width[i]; k++)
                    after[col] += before[k] * w->of->weight[i][k * width[i + 1] + col];
            }
            memcpy(before, after, sizeof before);
        }
        if (memcmp(before, w->out + row * width[LAYERS], sizeof(float) * (size_t)width[LAYERS]) != 0)
            return 0;
    }
    return 1;
}

static void *work(void *payload)
{
    worker *w = payload;

    for (int i = 0; w->status == TJ_OK && i < w->requests; i++) {
        const int batch = 1 + draw(&w->seed, MOST_BATCH);

        fill(&w->seed, w->in, batch * width[0]);
        w->status = tj_buffer_write(w->activation[0], 0, w->in, sizeof(float) * (size_t)(batch * width[0]), &w->err);
        if (w->status == TJ_OK)
            w->status = answer(w, batch);
        if (w->status == TJ_OK)
            w->status =
                tj_buffer_read(w->activation[LAYERS], 0, w->out, sizeof(float) * (size_t)(batch * width[LAYERS]), &w->err);
        if (w->status == TJ_OK && !is_right(w, batch)) {
            w->status = TJ_ERR_CHECK_FAILED;
            snprintf(w->err.message, sizeof w->err.message, "the answer to a batch of %d is wrong", batch);
        }
    }
    return NULL;
}

static tj_status open_worker(worker *w, server *of, unsigned seed)
{
    tj_status status;

    memset(w, 0, sizeof *w);
    w->of = of;
    w->seed = seed;
    status = tj_stream_create(of->context, &w->stream, &w->err);
    for (int i = 0; status == TJ_OK && i <= LAYERS; i++)
        status = tj_buffer_create_in(of->context, w->stream, sizeof(float) * (size_t)(MOST_BATCH * width[i]), &w->activation[i],
                                     &w->err);
    return w->status = status;
}

static void close_worker(worker *w)
{
    for (int i = 0; i <= LAYERS; i++)
        tj_buffer_free(w->activation[i]);
    tj_stream_destroy(w->of->context, w->stream);
}

/* Run all threads, `requests` requests each. */
static tj_status serve(worker *w, int requests, tj_error *err)
{
    pthread_t thread[THREADS];

    for (int i = 0; i < THREADS; i++) {
        w[i].requests = requests;
        w[i].answered = 0;
        if (pthread_create(&thread[i], NULL, work, &w[i]) != 0)
            abort();
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < THREADS; i++)
        if (w[i].status != TJ_OK) {
            *err = w[i].err;
            return w[i].status;
        }
    return TJ_OK;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Return the times of all threads, sorted; the caller frees them. */
static double *sorted(const worker *w, int *count)
{
    double *all = malloc(sizeof(double) * THREADS * REQUESTS);

    *count = 0;
    for (int i = 0; all && i < THREADS; i++)
        for (int k = 0; k < w[i].answered; k++)
            all[(*count)++] = w[i].us[k];
    if (all)
        qsort(all, (size_t)*count, sizeof *all, by_value);
    return all;
}

/* Wait until nothing has been compiled for a while: the background thread is idle. */
static void settle(tj_context *context)
{
    const struct timespec moment = {0, SETTLED_MS * 1000000L};
    tj_context_stats before = TJ_CONTEXT_STATS_INIT, now = TJ_CONTEXT_STATS_INIT;

    tj_context_get_stats(context, &now);
    for (int ms = 0; ms < MOST_WAIT_MS; ms += SETTLED_MS) {
        before = now;
        nanosleep(&moment, NULL);
        tj_context_get_stats(context, &now);
        if (now.compiles == before.compiles && now.loads == before.loads)
            return;
    }
}

static tj_status open_server(server *s, tj_first_call first_call, tj_error *err)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    unsigned seed = 1;
    tj_status status;

    memset(s, 0, sizeof *s);
    options.first_call = (int32_t)first_call;
    options.cache_dir = "";
    status = tj_context_create(&options, &s->context, err);
    for (int i = 0; status == TJ_OK && i < LAYERS; i++) {
        const size_t bytes = sizeof(float) * (size_t)(width[i] * width[i + 1]);

        s->weight[i] = malloc(bytes);
        if (!s->weight[i])
            abort();
        fill(&seed, s->weight[i], width[i] * width[i + 1]);
        status = tj_buffer_create(s->context, bytes, &s->device_weight[i], err);
        if (status == TJ_OK)
            status = tj_buffer_write(s->device_weight[i], 0, s->weight[i], bytes, err);
    }
    return status;
}

static void close_server(server *s)
{
    for (int i = 0; i < LAYERS; i++) {
        tj_buffer_free(s->device_weight[i]);
        free(s->weight[i]);
    }
    tj_context_free(s->context);
}

static tj_status run(tj_first_call first_call, int requests, tj_error *err)
{
    static worker w[THREADS];
    tj_context_stats first = TJ_CONTEXT_STATS_INIT, last = TJ_CONTEXT_STATS_INIT;
    double *us, start, first_ms = INFINITY, all_ms;
    server s;
    int opened = 0, count;
    tj_status status = open_server(&s, first_call, err);

    for (; status == TJ_OK && opened < THREADS; opened++)
        if ((status = open_worker(&w[opened], &s, 7u * (unsigned)opened + 1)) != TJ_OK)
            *err = w[opened].err;
    start = now_us();
    if (status == TJ_OK)
        status = serve(w, requests < FIRST_REQUESTS ? requests : FIRST_REQUESTS, err);
    if (status == TJ_OK) {
        all_ms = (now_us() - start) / 1e3;
        us = sorted(w, &count);
        for (int i = 0; i < THREADS; i++)
            first_ms = w[i].us[0] < first_ms * 1e3 ? w[i].us[0] / 1e3 : first_ms;
        tj_context_get_stats(s.context, &first);
        printf("first_call = %s\n", first_call == TJ_FIRST_CALL_QUICK ? "quick" : "wait");
        printf("  first answer                  %9.1f ms\n", first_ms);
        printf("  slowest of the first %-3d      %9.1f ms\n", count, us ? us[count - 1] / 1e3 : 0);
        printf("  all of them, %d threads        %9.1f ms\n", THREADS, all_ms);
        printf("  kernels compiled by then      %7d\n", (int)first.compiles);
        free(us);
        /* Traffic goes on while kernels are compiled, and recurring problems get their own. */
        for (int i = 0; status == TJ_OK && i < 3; i++) {
            status = serve(w, requests, err);
            settle(s.context);
        }
    }
    if (status == TJ_OK)
        status = serve(w, requests, err);
    if (status == TJ_OK) {
        us = sorted(w, &count);
        tj_context_get_stats(s.context, &last);
        printf("  kernels compiled in the end   %7d\n", (int)last.compiles);
        printf("  an answer then, median        %9.1f us\n", us ? us[count / 2] : 0);
        printf("  99 of 100 within              %9.1f us\n", us ? us[count * 99 / 100] : 0);
        free(us);
    }
    while (opened > 0)
        close_worker(&w[--opened]);
    close_server(&s);
    return status;
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "both";
    const int is_quick = strcmp(mode, "quick") == 0, is_wait = strcmp(mode, "wait") == 0;
    const int requests = argc > 2 ? atoi(argv[2]) : REQUESTS; /* per thread, in each round */
    tj_error err;
    tj_status status = TJ_OK;

    if ((argc > 1 && !is_quick && !is_wait && strcmp(mode, "both") != 0) || requests < 1 || requests > REQUESTS) {
        fprintf(stderr, "usage: 04_inference_server [wait | quick | both [requests of each thread, 1 to %d]]\n", REQUESTS);
        return 1;
    }
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* print each line at once, into a pipe too */
    if (!is_quick)
        status = run(TJ_FIRST_CALL_WAIT, requests, &err);
    if (status == TJ_OK && !is_wait)
        status = run(TJ_FIRST_CALL_QUICK, requests, &err);
    if (status == TJ_OK)
        return 0;
    fprintf(stderr, "04_inference_server: %s\n", err.message);
    return status == TJ_ERR_NO_DRIVER || status == TJ_ERR_NO_COMPILER ? 77 : 1;
}
