/* SPDX-License-Identifier: Apache-2.0 */
/*
 * product: the tiled kernel's idea on a CPU. Blocks of M and N are packed as float64 so that the cache holds them (Mds and Nds
 * there), every packed number is used TJ_TILE_COLS or TJ_TILE_ROWS times, and the sums stay in registers.
 *
 *                 N   |  step x cols  |
 *                     +---------------+
 *     M               |               |
 *     +---------+     +---------------+
 *     |  rows   |     |     tile of P |       for each block of k: pack M, pack N, multiply
 *     +---------+     +---------------+
 *
 * Products of f32 and narrower numbers are exact in float64. For f64 the sum is compensated: Ogita, Rump, Oishi, Accurate Sum
 * and Dot Product, SIAM J. Sci. Comput. 26 (2005), algorithm 5.3 (Dot2). It needs a compiler that neither reassociates nor
 * contracts floating point: the build says -ffp-contract=off.
 *
 * A product of complex matrices is a real product, because a complex number a + b i is the matrix (a b; -b a):
 *
 *     (a  b)  .  ( c  d)   =   (a c - b d   a d + b c)
 *                (-d  c)
 *
 * So rows of M, with real and imaginary parts as neighbours, are multiplied by an N whose elements are such matrices.
 */
#include "product.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "checked.h"
#include "error.h"
#include "number.h"

enum { LANES = 4, ROWS_AT_ONCE = 4, MAX_THREADS = 256 };

typedef double lanes __attribute__((vector_size(8 * LANES)));
typedef long long lane_bits __attribute__((vector_size(8 * LANES)));

/* The workspace of one thread. */
typedef struct workspace {
    _Alignas(64) double m[TJ_TILE_ROWS * TJ_TILE_STEP]; /* row after row of M */
    _Alignas(64) double n[TJ_TILE_STEP * TJ_TILE_COLS]; /* row after row of N */
    _Alignas(64) double sum[TJ_TILE_ROWS * TJ_TILE_COLS];
    _Alignas(64) double rest[TJ_TILE_ROWS * TJ_TILE_COLS];
    _Alignas(64) double magnitude[TJ_TILE_ROWS * TJ_TILE_COLS];
    _Alignas(64) double chain[TJ_TILE_ROWS * TJ_TILE_COLS];
    int64_t rows[TJ_TILE_ROWS];
    bool row_special[TJ_TILE_ROWS], col_special[TJ_TILE_COLS];
} workspace;

/* ---- multiplying packed blocks ------------------------------------------------------------------------------------ */

/* Return a pointer, because a vector as a result has different ABIs with and without AVX. */
static inline lanes *lanes_at(double *number)
{
    return (lanes *)(void *)number;
}

/* sum += m . n, and magnitude += |m| . |n|, for 4 rows and 4 columns whose sums stay in registers. */
static inline __attribute__((always_inline)) void multiply_plain(workspace *w, int row_count, int col_count, int step,
                                                                 bool with_magnitude)
{
    const lane_bits no_sign = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};

    for (int c = 0; c < col_count; c += LANES)
        for (int r = 0; r < row_count; r += ROWS_AT_ONCE) {
            double *sums = &w->sum[r * TJ_TILE_COLS + c], *magnitudes = &w->magnitude[r * TJ_TILE_COLS + c];
            lanes s[ROWS_AT_ONCE], g[ROWS_AT_ONCE];

            for (int x = 0; x < ROWS_AT_ONCE; x++) {
                s[x] = *lanes_at(sums + x * TJ_TILE_COLS);
                g[x] = *lanes_at(magnitudes + x * TJ_TILE_COLS);
            }
            for (int i = 0; i < step; i++) {
                const lanes n = *lanes_at(&w->n[i * TJ_TILE_COLS + c]);

                for (int x = 0; x < ROWS_AT_ONCE; x++) {
                    const double m = w->m[(r + x) * TJ_TILE_STEP + i];
                    const lanes product = n * m;

                    s[x] += product;
                    if (with_magnitude)
                        g[x] += (lanes)((lane_bits)product & no_sign);
                }
            }
            for (int x = 0; x < ROWS_AT_ONCE; x++) {
                *lanes_at(sums + x * TJ_TILE_COLS) = s[x];
                *lanes_at(magnitudes + x * TJ_TILE_COLS) = g[x];
            }
        }
}

/* The same with Dot2: rest collects the rounding errors of each product and each addition to sum. */
static inline __attribute__((always_inline)) void multiply_compensated(workspace *w, int row_count, int col_count, int step)
{
    const lane_bits no_sign = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};

    for (int c = 0; c < col_count; c += LANES)
        for (int r = 0; r < row_count; r++) {
            const int at = r * TJ_TILE_COLS + c;
            lanes s = *lanes_at(&w->sum[at]), e = *lanes_at(&w->rest[at]), g = *lanes_at(&w->magnitude[at]);

            for (int i = 0; i < step; i++) {
                const double m = w->m[r * TJ_TILE_STEP + i];
                const lanes n = *lanes_at(&w->n[i * TJ_TILE_COLS + c]), product = n * m, total = s + product, moved = total - s;
                lanes product_error;

                for (int x = 0; x < LANES; x++)
                    product_error[x] = fma(n[x], m, -product[x]);
                e += ((s - (total - moved)) + (product - moved)) + product_error;
                g += (lanes)((lane_bits)product & no_sign);
                s = total;
            }
            *lanes_at(&w->sum[at]) = s;
            *lanes_at(&w->rest[at]) = e;
            *lanes_at(&w->magnitude[at]) = g;
        }
}

/* chain = m . n + chain, rounded after each product, as a kernel of TJ_SUMS_IN_CHAIN does. Elements next to f32 are f32 too. */
static inline __attribute__((always_inline)) void multiply_in_chain(workspace *w, int row_count, int col_count, int step,
                                                                    bool is_f64)
{
    for (int r = 0; r < row_count; r++)
        for (int i = 0; i < step; i++) {
            const double m = w->m[r * TJ_TILE_STEP + i];
            const double *const n = &w->n[i * TJ_TILE_COLS];
            double *const chain = &w->chain[r * TJ_TILE_COLS];

            if (is_f64)
                for (int c = 0; c < col_count; c++)
                    chain[c] = fma(m, n[c], chain[c]);
            else
                for (int c = 0; c < col_count; c++)
                    chain[c] = (double)fmaf((float)m, (float)n[c], (float)chain[c]);
        }
}

static inline __attribute__((always_inline)) void multiply(workspace *w, int row_count, int col_count, int step, bool is_f64,
                                                           bool with_magnitude, tj_type chain)
{
    if (chain)
        multiply_in_chain(w, row_count, col_count, step, chain == TJ_F64);
    if (is_f64)
        multiply_compensated(w, row_count, col_count, step);
    else if (with_magnitude)
        multiply_plain(w, row_count, col_count, step, true);
    else
        multiply_plain(w, row_count, col_count, step, false);
}

static void multiply_any(workspace *w, int row_count, int col_count, int step, bool is_f64, bool with_magnitude, tj_type chain)
{
    multiply(w, row_count, col_count, step, is_f64, with_magnitude, chain);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void multiply_avx2(workspace *w, int row_count, int col_count, int step, bool is_f64,
                                                              bool with_magnitude, tj_type chain)
{
    multiply(w, row_count, col_count, step, is_f64, with_magnitude, chain);
}
#endif

typedef void (*multiply_fn)(workspace *, int, int, int, bool, bool, tj_type);

static multiply_fn pick_multiply(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return multiply_avx2;
#endif
    return multiply_any;
}

/* ---- packing ------------------------------------------------------------------------------------------------------ */

static bool has_special(const double *number, int count, int step)
{
    bool is_special = false;

    for (int i = 0; i < count; i++)
        is_special |= !isfinite(number[i * step]);
    return is_special;
}

static void pack_m(const tj_product *p, workspace *w, int64_t batch, int row_count, int64_t first, int step)
{
    for (int r = 0; r < row_count; r++) {
        double *row = &w->m[r * TJ_TILE_STEP];

        for (int part = 0; part < p->m.parts; part++)
            tj_read_numbers(p->m.type, tj_view_base(&p->m, batch), tj_view_index(&p->m, batch, w->rows[r], first + part),
                            p->m.parts * p->m.col_step, step / p->m.parts, row + part, p->m.parts);
        for (int i = 1; i < step && p->m.sign_of_odd < 0; i += 2)
            row[i] = -row[i];
        if (tj_factor_changes_elements(p->factor[TJ_MATRIX_M]))
            tj_factor_apply(p->factor[TJ_MATRIX_M], batch, w->rows[r], first, step, row, 1);
        w->row_special[r] |= has_special(row, step, 1);
    }
    for (int r = row_count; r % ROWS_AT_ONCE != 0; r++)
        memset(&w->m[r * TJ_TILE_STEP], 0, sizeof(double) * (size_t)step);
}

/* Each element as a matrix of 2 x 2. */
static void pack_complex_n(const tj_product *p, workspace *w, int64_t batch, int64_t first_col, int col_count, int64_t first,
                           int step)
{
    for (int c = 0; c < col_count; c += 2) {
        double *const upper = &w->n[c], *const lower = upper + TJ_TILE_COLS;

        for (int part = 0; part < 2; part++)
            tj_read_numbers(p->n.type, tj_view_base(&p->n, batch), tj_view_index(&p->n, batch, first / 2, first_col + c + part),
                            2 * p->n.row_step, step / 2, upper + part, 2 * TJ_TILE_COLS);
        for (ptrdiff_t i = 0; i < (ptrdiff_t)step * TJ_TILE_COLS; i += 2 * TJ_TILE_COLS) {
            upper[i + 1] *= p->n.sign_of_odd;
            lower[i] = -upper[i + 1];
            lower[i + 1] = upper[i];
        }
        w->col_special[c] |= has_special(upper, step, TJ_TILE_COLS);
        w->col_special[c + 1] = w->col_special[c];
    }
}

static void pack_n(const tj_product *p, workspace *w, int64_t batch, int64_t first_col, int col_count, int64_t first, int step)
{
    if (p->n.parts == 2) {
        pack_complex_n(p, w, batch, first_col, col_count, first, step);
    } else if (p->n.col_step == 1) {
        for (int i = 0; i < step; i++) {
            double *row = &w->n[i * TJ_TILE_COLS];

            tj_read_numbers(p->n.type, tj_view_base(&p->n, batch), tj_view_index(&p->n, batch, first + i, first_col), 1,
                            col_count, row, 1);
            for (int c = 0; c < col_count && tj_factor_changes_elements(p->factor[TJ_MATRIX_N]); c++)
                tj_factor_apply(p->factor[TJ_MATRIX_N], batch, first_col + c, first + i, 1, &row[c], 1);
            for (int c = 0; c < col_count; c++)
                w->col_special[c] |= !isfinite(row[c]);
        }
    } else {
        for (int c = 0; c < col_count; c++) {
            tj_read_numbers(p->n.type, tj_view_base(&p->n, batch), tj_view_index(&p->n, batch, first, first_col + c),
                            p->n.row_step, step, &w->n[c], TJ_TILE_COLS);
            if (tj_factor_changes_elements(p->factor[TJ_MATRIX_N]))
                tj_factor_apply(p->factor[TJ_MATRIX_N], batch, first_col + c, first, step, &w->n[c], TJ_TILE_COLS);
            w->col_special[c] |= has_special(&w->n[c], step, TJ_TILE_COLS);
        }
    }
    for (int c = col_count; c % LANES != 0; c++)
        for (int i = 0; i < step; i++)
            w->n[i * TJ_TILE_COLS + c] = 0.0;
}

/* ---- tiles over threads ------------------------------------------------------------------------------------------- */

typedef struct tiled_run {
    const tj_product *product;
    multiply_fn multiply;
    int64_t col_tiles, tasks;
    _Atomic int64_t next;
} tiled_run;

typedef struct worker {
    tiled_run *run;
    workspace *space;
    pthread_t thread;
    int index;
} worker;

/* Return the i-th of the rows to compute, batch included: evenly spread, with the first and the last. */
static int64_t selected_row(const tj_product *p, int64_t i)
{
    __extension__ typedef unsigned __int128 wide;
    const int64_t total = p->j * p->batch;

    if (p->rows)
        return p->rows[i] - p->first_row;
    if (p->row_count >= total || p->row_count < 2)
        return i;
    return (int64_t)((wide)i * (wide)(total - 1) / (wide)(p->row_count - 1));
}

/* Compute rows w->rows of one product times one tile of columns. */
static void compute_tile(const tiled_run *run, worker *self, int64_t batch, int row_count, int64_t first_col)
{
    const tj_product *p = run->product;
    workspace *w = self->space;
    const bool is_f64 = p->m.type == TJ_F64;
    const int64_t left = p->l - first_col;
    const int col_count = left < TJ_TILE_COLS ? (int)left : TJ_TILE_COLS;
    const size_t used = (size_t)((row_count + ROWS_AT_ONCE - 1) / ROWS_AT_ONCE * ROWS_AT_ONCE) * TJ_TILE_COLS * sizeof(double);
    const tj_tile tile = {
        .batch = batch,
        .first_col = first_col,
        .row_count = row_count,
        .col_count = col_count,
        .rows = w->rows,
        .sum = w->sum,
        .rest = is_f64 ? w->rest : NULL,
        .magnitude = p->with_magnitude ? w->magnitude : NULL,
        .chain = p->chain ? w->chain : NULL,
        .row_special = w->row_special,
        .col_special = w->col_special,
    };

    memset(w->sum, 0, used);
    memset(w->rest, 0, used);
    memset(w->magnitude, 0, used);
    memset(w->chain, 0, used);
    memset(w->row_special, 0, sizeof w->row_special);
    memset(w->col_special, 0, sizeof w->col_special);
    const int64_t begin = p->k_offsets ? p->k_offsets[batch] : 0, end = p->k_offsets ? p->k_offsets[batch + 1] : p->k;

    for (int64_t first = begin; first < end; first += TJ_TILE_STEP) {
        const int step = end - first < TJ_TILE_STEP ? (int)(end - first) : TJ_TILE_STEP;

        pack_m(p, w, batch, row_count, first, step);
        pack_n(p, w, batch, first_col, col_count, first, step);
        run->multiply(w, row_count, col_count, step, is_f64, p->with_magnitude, p->chain);
    }
    p->visit(&tile, self->index, p->payload);
}

static void *work(void *argument)
{
    worker *self = argument;
    tiled_run *run = self->run;
    const tj_product *p = run->product;

    for (;;) {
        const int64_t task = atomic_fetch_add(&run->next, 1);
        int64_t i, end;

        if (task >= run->tasks)
            return NULL;
        i = task / run->col_tiles * TJ_TILE_ROWS;
        end = i + TJ_TILE_ROWS < p->row_count ? i + TJ_TILE_ROWS : p->row_count;
        while (i < end) { /* rows of one product at a time, because the next has its own N */
            const int64_t batch = selected_row(p, i) / p->j;
            int rows = 0;

            for (; i < end && selected_row(p, i) / p->j == batch; i++)
                self->space->rows[rows++] = p->first_row + selected_row(p, i) % p->j;
            compute_tile(run, self, batch, rows, task % run->col_tiles * TJ_TILE_COLS);
        }
    }
}

tj_status tj_product_run(const tj_product *product, tj_error *err)
{
    tiled_run run = {.product = product, .multiply = pick_multiply()};
    worker *workers = NULL;
    int count, started = 1;
    sigset_t all, before;

    run.col_tiles = tj_ceil_div(product->l, TJ_TILE_COLS);
    run.tasks = tj_ceil_div(product->row_count, TJ_TILE_ROWS) * run.col_tiles;
    count = product->workers < MAX_THREADS ? product->workers : MAX_THREADS;
    if (count > run.tasks)
        count = (int)run.tasks;
    workers = calloc((size_t)count, sizeof *workers);
    if (!workers)
        return tj_fail_memory(err, "the reference product");
    for (int i = 0; i < count; i++) {
        workers[i].run = &run;
        workers[i].index = i;
        workers[i].space = aligned_alloc(64, (sizeof(workspace) + 63) / 64 * 64);
        if (!workers[i].space) {
            count = i; /* fewer threads need less memory */
            break;
        }
    }
    if (count == 0) {
        free(workers);
        return tj_fail_memory(err, "the reference product");
    }

    /*
     * Block signals in the threads, because the host program's own threads handle them. A thread that cannot be created is
     * omitted.
     */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    while (started < count && pthread_create(&workers[started].thread, NULL, work, &workers[started]) == 0)
        started++;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    work(&workers[0]);
    for (int i = 1; i < started; i++)
        pthread_join(workers[i].thread, NULL);
    for (int i = 0; i < count; i++)
        free(workers[i].space);
    free(workers);
    return TJ_OK;
}
