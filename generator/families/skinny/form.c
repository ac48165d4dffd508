/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skinny: P has few rows (or few columns), so the time is that of reading the other operand once.
 *
 * The source always has few rows: if P has few columns, it computes the transpose. Its N is the matrix that is streamed.
 */
#include "form.h"

#include <stdio.h>

#include "checked.h"
#include "error.h"
#include "parts/access.h"
#include "parts/registers.h"
#include "parts/reductions.h"
#include "parts/scales.h"
#include "parts/split.h"
#include "parts/tile.h"
#include "steps.h"

enum {
    STREAM_N = 1,
    STREAM_M = 2,
    LOAD_BYTES = 16,  /* the widest load */
    LINE_BYTES = 128, /* bytes of a line of N that neighbouring threads should read */
    MOST_ROWS = 64,   /* with more rows N is read too often from the L2, and block tiles are faster */
    WORTH_ROWS = 32,  /* with more rows block tiles are up to 40 % faster, or 5 % slower */
    WARP = 32,
    MAX_THREADS = 1024,
    MAX_STATIC_SHARED = 48 * 1024,
    MOST_SUM_BYTES = 512,        /* of a thread: they stay in registers */
    SUM_BYTES = 32 * 1024,       /* of shared memory for the slices' accumulators, if the tiles of M take less */
    WORTH_SPLITTING = 96 * 1024, /* bytes that a block streams: about 3 us, and a second kernel costs 2 */
    FULL_GPU = 264,              /* blocks that occupy a large GPU, two on each of 132 SMs */
    GOOD_THREADS = 256,          /* of a block */
    SM_THREADS = 512             /* with 128 registers each: enough of both for the loads in flight */
};

static const char *const stream_choices[] = {"n", "m", NULL};

/* The values that a tuner tries; the rows, the vector and the splits follow from these and the problem. */
static const int32_t columns_tried[] = {1, 2, 4, 8, 0}, lanes_tried[] = {1, 2, 4, 8, 16, 32, 64, 0},
                     slices_tried[] = {4, 8, 16, 32, 64, 128, 256, 0}, k_tried[] = {2, 4, 8, 16, 0},
                     blocks_tried[] = {1, 2, 4, 0};

enum { STREAM, TM, TN, LANES, SLICES, VECTOR, K_THREAD, SPLITS, BLOCKS, ROWS }; /* in this order: */

static const tj_param params[] = {
    {"stream", "the operand that is streamed: n where P has few rows, m where it has few columns", 1, 2, 0, stream_choices},
    {"tm", "rows of P that a thread computes (columns with stream=m)", 1, 32, 0, NULL},
    {"tn", "columns of P that a thread computes (rows with stream=m)", 1, 16, 0, NULL, columns_tried},
    {"lanes", "threads side by side along the columns: a power of 2", 1, 256, 0, NULL, lanes_tried},
    {"slices", "threads that share the k of a column: a power of 2", 1, 1024, 0, NULL, slices_tried},
    {"vector", "elements (of s4 pairs) in one load, which must be aligned to it: 1, 2, 4, 8 or 16", 1, 16, 0, NULL, NULL,
     TJ_PARAM_ORDER},
    {"k_thread", "elements along k that a thread loads in a phase: a power of 2", 1, 16, 0, NULL, k_tried},
    TJ_SPLITS(0, NULL),
    TJ_BLOCKS(8, 1, blocks_tried, TJ_PARAM_ORDER),
    TJ_TILE_ROWS,
};

static const char *const constraints[] = {
    "M, N and P are f32, f64, f16, bf16, c64 or c128; one of M and N may hold weights of s8 or u8, the streamed one of s4",
    "P has at most 64 rows, or at most 64 columns; or the one that stands for few is known only at launch",
    "LANES, SLICES, VECTOR and K_THREAD are powers of 2, and 32 <= LANES * SLICES <= 1024 threads",
    "VECTOR elements have at most 16 bytes; the streamed matrix's lines, leading dimension and stride are multiples of VECTOR",
    "VECTOR divides TN where the streamed matrix's lines lie along P, and K_THREAD where they lie along k",
    "TM * TN <= 128 sums of 4 bytes, 64 of 8 or 32 of 16: they stay in registers",
    "the two tiles of M fit 48 KiB: 2 * TM * (SLICES * K_THREAD + 4) elements",
    TJ_SPLITS_CONSTRAINT,
    NULL,
};

/* Return the smallest power of 2 that is at least the value, and at most the limit. */
static int32_t power_of_2_for(int64_t value, int32_t limit)
{
    int32_t power = 1;

    while (power < value && power < limit)
        power *= 2;
    return power;
}

/* Return the widest vector up to a limit whose numbers divide a parameter; a parameter of 0 is not settled and allows any. */
static int32_t widest_that_divides(int32_t value, int32_t limit, int32_t numbers)
{
    while (limit > 1 && value % (limit * numbers) != 0)
        limit /= 2;
    return limit;
}

static bool is_swapped(const tj_problem *problem, const tj_config *config)
{
    if (config->value[STREAM] != 0)
        return config->value[STREAM] == STREAM_M;
    if (problem->j.mode == TJ_DIM_FIXED && problem->l.mode == TJ_DIM_FIXED)
        return problem->l.extent < problem->j.extent;
    /* An extent that is known only at launch counts as long, unless the other is too long to be the short one. */
    if (problem->j.mode == TJ_DIM_FIXED)
        return problem->j.extent > MOST_ROWS;
    return problem->l.mode == TJ_DIM_FIXED && problem->l.extent <= MOST_ROWS;
}

static bool is_narrow(const tj_problem *view)
{
    return tj_facts_of(view->n.type)->bytes <= 2;
}

/*
 * Return the most stored elements of N that one load may take: for pairs fewer, because their numbers would fill the registers.
 */
static int32_t most_of_load(const tj_problem *view)
{
    return LOAD_BYTES / tj_facts_of(view->n.type)->bytes / tj_type_numbers(view->n.type);
}

/* Return the most stored elements of N that an aligned load may take. */
static int32_t widest_vector(const tj_problem *view)
{
    return tj_access_widest(view, TJ_MATRIX_N, most_of_load(view));
}

/* ---- geometry ----------------------------------------------------------------------------------------------------- */

tj_skinny_shape tj_skinny_shape_of(const tj_problem *view, const tj_config *config)
{
    const int32_t *v = config->value;

    return (tj_skinny_shape){v[TM],       v[TN],    v[LANES], v[SLICES], v[VECTOR] * tj_type_numbers(view->n.type),
                             v[K_THREAD], v[SPLITS]};
}

static tj_tile tile(const tj_problem *problem, const tj_config *config)
{
    const tj_skinny_shape s = tj_skinny_shape_of(problem, config);

    return (tj_tile){s.tm, s.slices * s.k_thread, s.lanes * s.tn, "TM", "PHASE", "BLOCK_COLS"};
}

/* Return the rows of the tile whose accumulators lie in shared memory at once, for all slices: a divisor of TM. */
int32_t tj_skinny_rows_at_once(const tj_skinny_shape *s, int32_t bytes)
{
    const int64_t row = (int64_t)s->slices * (s->lanes * s->tn + 1) * bytes;
    int32_t rows = s->tm;

    while (rows > 1 && (s->tm % rows != 0 || rows * row > SUM_BYTES))
        rows--;
    return rows;
}

static int64_t shared_bytes(const tj_skinny_shape *s, int32_t bytes, bool n_row_major)
{
    const int64_t tiles = 2 * (int64_t)s->tm * (s->slices * s->k_thread + TJ_SKINNY_PADDING) * bytes;
    const int64_t outputs = (int64_t)tj_skinny_rows_at_once(s, bytes) * s->lanes * s->tn;
    const int64_t sums = s->slices * (outputs + !n_row_major) * bytes;

    return tj_ceil_div(tiles > sums ? tiles : sums, LOAD_BYTES) * LOAD_BYTES;
}

/* Return the shared memory including the epilogue's values of the rows that are finished at once, if it reduces them. */
static int64_t all_shared_bytes(const tj_problem *view, const tj_skinny_shape *s)
{
    const int32_t bytes = tj_sum_bytes(view);
    const int64_t outputs = (int64_t)tj_skinny_rows_at_once(s, bytes) * s->lanes * s->tn;

    return shared_bytes(s, bytes, view->n.layout == TJ_ROW_MAJOR) +
           tj_reductions_of(view) * outputs * (int64_t)tj_type_bytes(tj_scalar_type(view));
}

static tj_reduction_slots slots_of(const tj_problem *view, const tj_skinny_shape *s)
{
    return (tj_reduction_slots){
        .of_row = tj_ceil_div(view->l.extent, (int64_t)s->lanes * s->tn),
        .of_col = tj_ceil_div(view->j.extent, s->tm) * (s->tm / tj_skinny_rows_at_once(s, tj_sum_bytes(view))),
    };
}

/* ---- parameters settled by the problem ---------------------------------------------------------------------------- */

static void settle(int32_t *value, int32_t choice)
{
    if (*value == 0)
        *value = choice;
}

static int64_t extent_or(const tj_dim *dim, int64_t unknown)
{
    return dim->mode == TJ_DIM_FIXED ? dim->extent : unknown;
}

/* Divide j into equal parts, none longer than the registers allow. */
static int32_t default_tm(const tj_problem *view, int32_t most)
{
    const int64_t j = extent_or(&view->j, 16);

    return (int32_t)tj_ceil_div(j, tj_ceil_div(j, most));
}

static int64_t blocks_of(const tj_problem *view, int32_t tm, int32_t cols)
{
    return tj_ceil_div(extent_or(&view->j, tm), tm) * tj_ceil_div(extent_or(&view->l, 1), cols) * view->batch;
}

/* Are the blocks few enough for several splits? Otherwise a second kernel costs more than a half-empty GPU does. */
static bool may_split(const tj_problem *view, int64_t blocks)
{
    return tj_split_is_possible(view) && blocks * 3 <= FULL_GPU;
}

/*
 * Choose enough blocks for every SM, with a few phases each; but a block that streams little ends sooner than a second kernel
 * begins.
 */
static int32_t default_splits(const tj_problem *view, const tj_skinny_shape *s)
{
    const int64_t streamed =
        extent_or(&view->k, 4096) * s->lanes * s->tn * tj_facts_of(view->n.type)->bytes / tj_type_numbers(view->n.type);
    const int64_t blocks = blocks_of(view, s->tm, s->lanes * s->tn);
    const int64_t phases = tj_ceil_div(extent_or(&view->k, 4096), (int64_t)s->slices * s->k_thread);

    if (!may_split(view, blocks) || phases < 4 || streamed < WORTH_SPLITTING)
        return 1;
    return (int32_t)(FULL_GPU / blocks < phases / 2 ? FULL_GPU / blocks : phases / 2);
}

/*
 * N lies along the columns of P: choose enough lanes to read whole lines of N, and to make a block's columns of N outweigh its
 * rows of M, which every block reads. Choose half as many if the GPU would be half empty, and splits could not fill it.
 */
static int32_t lanes_along_l(const tj_problem *view, int32_t tm, int32_t tn, int32_t line)
{
    const int32_t wide = power_of_2_for(2 * tm, WARP), most = line > wide ? line : wide;
    const int32_t lanes = power_of_2_for(tj_ceil_div(extent_or(&view->l, 1024), tn), most);
    const int64_t blocks = blocks_of(view, tm, lanes * tn);

    return lanes > line && blocks < FULL_GPU / 2 && !may_split(view, blocks) ? lanes / 2 : lanes;
}

/*
 * N lies along k, so the slices read its lines. The traffic of one row of M is negligible; that of several rows matters where
 * blocks are few anyway.
 */
static int32_t lanes_along_k(const tj_problem *view, int32_t tm, int32_t tn)
{
    const int32_t few = tm == 1 ? 1 : 4;
    const bool is_split = may_split(view, blocks_of(view, tm, few * tn));

    return power_of_2_for(tj_ceil_div(extent_or(&view->l, 1024), tn), is_split && tm > 2 ? 2 * tm : few);
}

static void settle_all(const tj_problem *view, tj_config *config)
{
    int32_t *const v = config->value, *const tm = &v[TM], *const tn = &v[TN], *const lanes = &v[LANES];
    int32_t *const slices = &v[SLICES], *const vector = &v[VECTOR], *const k_thread = &v[K_THREAD];
    const bool along_l = view->n.layout == TJ_ROW_MAJOR, is_open = *slices == 0, is_k_open = *k_thread == 0;
    /*
     * Besides the accumulators, registers hold the loads in flight: 16-bit elements unpacked and, along k, TM x K_THREAD
     * elements of M.
     */
    const int32_t most_sums = tj_sum_bytes(view) == 16              ? 16
                              : tj_sum_bytes(view) == 8 || !along_l ? 32
                              : is_narrow(view)                     ? 64
                                                                    : 128;
    const int32_t size = tj_facts_of(view->n.type)->bytes;
    tj_skinny_shape s;

    settle(vector, widest_that_divides(along_l ? *tn : *k_thread, widest_vector(view), tj_type_numbers(view->n.type)));
    const int32_t numbers = *vector * tj_type_numbers(view->n.type);

    if (along_l) {
        settle(tn, numbers > 4 ? numbers : extent_or(&view->l, 64) < 32 ? numbers : tj_least(4, most_sums / 16));
        settle(tm, default_tm(view, tj_least(32, most_sums / *tn)));
        settle(k_thread, *tm * *tn * tj_sum_bytes(view) <= 32 * 4 ? 8 : 4);
        settle(lanes, lanes_along_l(view, *tm, *tn, LINE_BYTES / (*vector * size)));
        settle(slices, power_of_2_for(GOOD_THREADS / (*lanes > 0 ? *lanes : 1), MAX_THREADS));
    } else {
        settle(tn, (int32_t)(extent_or(&view->l, 64) < 4 ? extent_or(&view->l, 64) : 4));
        settle(tm, default_tm(view, tj_least(32, most_sums / *tn)));
        settle(k_thread, numbers > 4 ? numbers : 4);
        settle(lanes, lanes_along_k(view, *tm, *tn));
        settle(slices, power_of_2_for((*tm == 1 ? GOOD_THREADS / 2 : GOOD_THREADS) / *lanes, MAX_THREADS));
    }
    s = tj_skinny_shape_of(view, config);
    while (is_open && s.slices > 1 && s.slices * s.lanes > WARP && all_shared_bytes(view, &s) > MAX_STATIC_SHARED)
        s.slices /= 2;
    while (is_k_open && s.k_thread > (along_l ? 1 : s.vector) && all_shared_bytes(view, &s) > MAX_STATIC_SHARED)
        s.k_thread /= 2;
    *slices = s.slices;
    *k_thread = s.k_thread;
    settle(&v[SPLITS], default_splits(view, &s));
}

/* ---- the form ----------------------------------------------------------------------------------------------------- */

static tj_status check_problem(const tj_problem *view, bool is_swapped, tj_error *err)
{
    if (view->j.mode == TJ_DIM_FIXED && view->j.extent > MOST_ROWS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%c is %lld, and family skinny is for %d at most: another family, or stream=%c if %c is short",
                       is_swapped ? 'l' : 'j', (long long)view->j.extent, MOST_ROWS, is_swapped ? 'n' : 'm',
                       is_swapped ? 'j' : 'l');
    if (tj_type_is_pair(view->m.type))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%c is %s, and family skinny takes that of the matrix that it streams, which is %c: use stream=%c, or "
                       "family tiled",
                       is_swapped ? 'N' : 'M', tj_facts_of(view->m.type)->name, is_swapped ? 'M' : 'N', is_swapped ? 'n' : 'm');
    if (tj_scales_along_k(view, TJ_MATRIX_M))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%c has scales along k, and family skinny takes those of the matrix that it streams, which is %c: use "
                       "stream=%c, or family tiled",
                       is_swapped ? 'N' : 'M', is_swapped ? 'M' : 'N', is_swapped ? 'n' : 'm');
    return TJ_OK;
}

/* Is the extent odd, or may it be at some launch? */
static bool is_odd(const tj_dim *dim)
{
    return (dim->mode == TJ_DIM_FIXED ? dim->extent : dim->multiple_of) % 2 != 0 ||
           (dim->mode == TJ_DIM_ANY && dim->multiple_of < 2);
}

static tj_status check_shape(const tj_problem *view, const tj_skinny_shape *s, tj_error *err)
{
    const bool along_l = view->n.layout == TJ_ROW_MAJOR;
    const int32_t numbers = tj_type_numbers(view->n.type), vector = s->vector / numbers;
    const int32_t most_sums = MOST_SUM_BYTES / tj_sum_bytes(view);
    const int64_t bytes = all_shared_bytes(view, s);
    const tj_reduction_slots slots = slots_of(view, s);
    tj_status status;

    if (!tj_is_power_of_2(s->lanes) || !tj_is_power_of_2(s->slices) || !tj_is_power_of_2(s->vector) ||
        !tj_is_power_of_2(s->k_thread))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "lanes is %d, slices %d, vector %d, k_thread %d: all must be powers of 2",
                       s->lanes, s->slices, s->vector, s->k_thread);
    if (s->lanes * s->slices < 32 || s->lanes * s->slices > MAX_THREADS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "lanes %d x slices %d makes %d threads: use 32 to 1024", s->lanes,
                       s->slices, s->lanes * s->slices);
    if (vector > most_of_load(view))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "vector is %d, and one load takes %d %s of %s: use that at most", vector,
                       most_of_load(view), numbers > 1 ? "pairs" : "elements", tj_facts_of(view->n.type)->name);
    if (vector > widest_vector(view))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "vector is %d, and the lines of the streamed matrix are aligned to %d elements only: use vector=%d",
                       vector, widest_vector(view), widest_vector(view));
    if ((along_l ? s->tn : s->k_thread) % s->vector != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %d: it must be a multiple of %s %d", along_l ? "tn" : "k_thread",
                       along_l ? s->tn : s->k_thread, numbers > 1 ? "the numbers in one load," : "vector", s->vector);
    if (s->tm * s->tn > most_sums)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "tm %d x tn %d makes %d sums a thread: %d of %d bytes are the most", s->tm,
                       s->tn, s->tm * s->tn, most_sums, tj_sum_bytes(view));
    if (numbers > 1 && !along_l && tj_scales_along_k(view, TJ_MATRIX_N) && is_odd(&view->k))
        return tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "k may be odd, and half of a line's last byte would be multiplied by a scale: use family tiled, or promise "
            "a multiple of 2");
    if (tj_scales_along_k(view, TJ_MATRIX_N) && tj_scale_k(view) % tj_skinny_run(view, s) != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "scale_k is %d, and a thread reads one scale for each run of %d elements: use %s=1, or family tiled",
                       tj_scale_k(view), tj_skinny_run(view, s), along_l ? "k_thread" : "vector");
    if (bytes > MAX_STATIC_SHARED)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "tm %d, slices %d and k_thread %d need %lld bytes of shared memory: 48 KiB is the most", s->tm,
                       s->slices, s->k_thread, (long long)bytes);
    status = tj_split_check(view, s->splits, err);
    return status == TJ_OK ? tj_reductions_check(view, &slots, err) : status;
}

static tj_status resolve(const tj_problem *view, bool is_text_swapped, tj_config *config, tj_error *err)
{
    int32_t *const rows = &config->value[ROWS];
    tj_status status = check_problem(view, is_text_swapped, err);
    tj_skinny_shape s;

    if (status != TJ_OK)
        return status;
    config->value[STREAM] = is_text_swapped ? STREAM_M : STREAM_N;
    settle_all(view, config);
    s = tj_skinny_shape_of(view, config);
    status = check_shape(view, &s, err);
    if (status != TJ_OK)
        return status;
    /* Let blocks that read the same columns of N follow each other, so that the second finds them in the L2. */
    if (*rows == 0 && view->l.mode == TJ_DIM_FIXED && tj_ceil_div(view->l.extent, (int64_t)s.lanes * s.tn) <= UINT16_MAX)
        *rows = TJ_ROWS_ON_X;
    return tj_tile_resolve(view, is_text_swapped, config, err);
}

static bool for_any_operands(bool has_workspace, tj_config *config)
{
    config->value[VECTOR] = 1;
    if (!has_workspace)
        config->value[SPLITS] = 1;
    return true;
}

/* A slice's elements of k are neighbours if the threads next to it fill a line of N without it. */
int32_t tj_skinny_run(const tj_problem *view, const tj_skinny_shape *s)
{
    if (view->n.layout == TJ_COL_MAJOR)
        return s->vector;
    return s->lanes * s->vector * tj_facts_of(view->n.type)->bytes / tj_type_numbers(view->n.type) < 64 ? 1 : s->k_thread;
}

/*
 * Return the elements of N that a thread takes in all phases, if NVRTC unrolls the phases: it does for one row, because they
 * are short, and their number is known.
 */
static int64_t unrolled(const tj_problem *view, const tj_skinny_shape *s)
{
    const bool unrolls = s->tm == 1 && s->splits == 1 && view->k.mode == TJ_DIM_FIXED;

    return unrolls ? tj_ceil_div(view->k.extent, (int64_t)s->slices * s->k_thread) * s->k_thread * s->tn : 0;
}

/*
 * Unrolling pays because loads of later phases overtake those of the first. But beyond some thousand elements the compile takes
 * many seconds, and loads of 16-bit elements are split (1x4096x28672 in f16 on an H200: 91 us, and 58 us as a loop).
 */
static bool must_loop(const tj_problem *view, const tj_skinny_shape *s)
{
    return unrolled(view, s) > (is_narrow(view) ? 1024 : 2048);
}

/* Name the loaded elements of N in the source: numbers, or pairs of them along a line. */
static void describe_pairs(const tj_problem *view, tj_template_params *fill)
{
    const bool is_pair = tj_type_is_pair(view->n.type), along_l = view->n.layout == TJ_ROW_MAJOR;
    char number[TJ_TEMPLATE_VALUE_BYTES];

    tj_template_set(fill, "vector_loaded", is_pair ? "VECTOR / 2" : "VECTOR");
    tj_template_set(fill, "n_loaded",
                    !is_pair  ? "n_next[K_THREAD][TN]"
                    : along_l ? "n_next[K_THREAD][TN / 2]"
                              : "n_next[K_THREAD / 2][TN]");
    tj_template_set(fill, "i_of", along_l ? "v / (TN / VECTOR)" : "v % (K_THREAD / VECTOR) * VECTOR");
    tj_template_set(fill, "c_of", along_l ? "v % (TN / VECTOR) * VECTOR" : "v / (K_THREAD / VECTOR)");
    tj_template_set(fill, "n_from",
                    along_l   ? is_pair ? "kk * ld_n + col / 2" : "kk * ld_n + col"
                    : is_pair ? "col * ld_n + kk / 2"
                              : "col * ld_n + kk");
    tj_template_set(fill, "n_to",
                    along_l   ? is_pair ? "n_next[i][c / 2 + e]" : "n_next[i][c + e]"
                    : is_pair ? "n_next[i / 2 + e][c]"
                              : "n_next[i + e][c]");
    (void)snprintf(number, sizeof number, "%s%s", tj_scales_along_k(view, TJ_MATRIX_N) ? "n_scale_next[i / RUN][c] * " : "",
                   !is_pair  ? "n_next[i][c]"
                   : along_l ? "n_next[i][c / 2][c % 2]"
                             : "n_next[i / 2][c][i % 2]");
    tj_template_set(fill, "n_number", number);
}

/* Name the parts that depend on how M and N lie. */
static void describe_parts(const tj_problem *view, tj_template_params *fill)
{
    const bool m_along_k = view->m.layout == TJ_ROW_MAJOR, n_along_k = view->n.layout == TJ_COL_MAJOR;

    tj_template_set(fill, "n_share", n_along_k ? "skinny/share_along.cuh" : "skinny/share_across.cuh");
    tj_template_set(fill, "m_place", m_along_k ? "skinny/m_along.cuh" : "skinny/m_across.cuh");
    tj_template_set(fill, "m_put", m_along_k ? "[e / PHASE][e % PHASE]" : "[e % TM][e / TM]");
}

static const char *describe(const tj_problem *view, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    const tj_skinny_shape s = tj_skinny_shape_of(view, config);
    const tj_reduction_slots slots = slots_of(view, &s);
    const bool rows_on_x = config->value[ROWS] == TJ_ROWS_ON_X;
    char walked[TJ_TEMPLATE_VALUE_BYTES];
    const int32_t bytes = tj_sum_bytes(view),
                  align = s.vector / tj_type_numbers(view->n.type) * tj_facts_of(view->n.type)->bytes;

    tj_template_set_int(fill, "TM", s.tm);
    tj_template_set_int(fill, "TN", s.tn);
    tj_template_set_int(fill, "LANES", s.lanes);
    tj_template_set_int(fill, "SLICES", s.slices);
    tj_template_set_int(fill, "VECTOR", s.vector);
    describe_pairs(view, fill);
    tj_template_set_int(fill, "RUN", tj_skinny_run(view, &s));
    tj_template_set_int(fill, "K_THREAD", s.k_thread);
    tj_template_set_int(fill, "BLOCKS", config->value[BLOCKS]);
    tj_template_set_int(fill, "ROWS_AT_ONCE", tj_skinny_rows_at_once(&s, bytes));
    tj_template_set_flag(fill, "loops", must_loop(view, &s));
    (void)snprintf(walked, sizeof walked, "%s;%s", s.splits > 1 ? "k_end" : "k", must_loop(view, &s) ? "" : " phase += PHASE");
    tj_template_set(fill, "walked", walked);
    tj_template_set(fill, "next_phase", must_loop(view, &s) ? "phase" : "phase + PHASE");
    describe_parts(view, fill);
    tj_template_set_flag(fill, "ragged_m", s.tm * s.k_thread % s.lanes != 0);
    tj_template_set(fill, "blocks_on_x", rows_on_x ? "ceil(j / TM)" : "ceil(l / BLOCK_COLS)");
    tj_template_set(fill, "blocks_on_y", rows_on_x ? "ceil(l / BLOCK_COLS)" : "ceil(j / TM)");
    tj_split_describe_elements(view, s.splits, "thread", fill);
    tj_template_set_flag(fill, "may_be_empty", s.splits > 1 || view->k.mode == TJ_DIM_ANY || view->k.extent == 0);
    tj_split_describe(view, s.splits, fill, form);
    tj_reductions_describe(view, &slots, fill, form);
    tj_step_describe_order(view, fill, form);
    tj_scales_describe(view, TJ_SCALES_IN_TURN, s.splits, fill);
    tj_step_set_blocks(&form->step[0], s.lanes * s.slices, s.tm, s.lanes * s.tn);
    form->step[0].rows_on_x = rows_on_x;
    form->step[0].static_shared_bytes = all_shared_bytes(view, &s);
    form->align[form->is_swapped ? TJ_MATRIX_M : TJ_MATRIX_N] = align;
    return "skinny/skinny.cu";
}

/*
 * Accept blocks of the usual sizes, no wider than P and no longer than k. Refuse rows of 32 bits and more that are so long that
 * they compile for seven seconds, or as a loop, which is slower: more slices shorten them.
 */
static bool is_worth_trying(const tj_problem *view, const tj_config *config)
{
    const tj_skinny_shape s = tj_skinny_shape_of(view, config);
    const int64_t cols = (int64_t)s.lanes * s.tn, phase = (int64_t)s.slices * s.k_thread;
    const int32_t threads = s.lanes * s.slices, blocks = config->value[BLOCKS];

    return view->j.extent <= WORTH_ROWS && threads >= 64 && threads <= 512 && blocks * threads <= 1024 &&
           (blocks == 1 || tj_limits_registers(blocks, threads)) && (cols == s.tn || cols / 2 < view->l.extent) &&
           (phase == s.k_thread || phase / 2 < view->k.extent) && (unrolled(view, &s) <= 1536 || is_narrow(view));
}

const tj_family tj_family_skinny = {
    .name = "skinny",
    .summary = "P has few rows or columns: the other operand is streamed once, its k shared out over the whole GPU",
    .types = TJ_FLOAT_TYPES,
    .takes_weights = true,
    .takes_pairs = TJ_PAIRS_OF_WEIGHTS,
    .takes_complex = true,
    .param = params,
    .param_count = sizeof params / sizeof params[0],
    .constraint = constraints,
    .start = &tj_skinny_start,
    .sums_in_registers = true,
    .scales_along_k = true,
    .model = &tj_model_skinny,
    .reduces = TJ_REDUCES_BY_ROWS,
    .checks_k = true,
    .widest = 8192,
    .is_swapped = is_swapped,
    .tile = tile,
    .resolve = resolve,
    .relax = tj_relax_blocks,
    .for_tall = tj_tile_for_tall,
    .for_any_operands = for_any_operands,
    .describe = describe,
    .count = tj_skinny_count,
    .is_worth_trying = is_worth_trying,
};
