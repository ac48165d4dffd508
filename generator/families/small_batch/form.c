/* SPDX-License-Identifier: Apache-2.0 */
/*
 * small_batch: many products of up to 128 x 128 x 128. A team of threads computes each product in shared memory and registers.
 */
#include "form.h"

#include "checked.h"
#include "error.h"
#include "parts/access.h"
#include "parts/copy.h"
#include "parts/reductions.h"
#include "parts/registers.h"
#include "parts/scales.h"
#include "steps.h"
#include "tree.h"

enum {
    MOST = 128,        /* of j, k and l: larger ones deserve more than one block */
    ACCESS_BYTES = 16, /* the widest access */
    MAX_THREADS = 1024,
    MAX_SHARED = 227 * 1024,
    WARP = 32,
    GOOD_THREADS = 128,      /* of a block: several fit a multiprocessor, so that some multiply while others wait */
    GOOD_SHARED = 48 * 1024, /* of a block, for the same reason */
    FULL_GPU = 264,          /* blocks that occupy a large GPU */
    GOOD_REGISTERS = 80,     /* of a thread */
    MOST_SUM_BYTES = 256,    /* of a thread: they stay in registers */
    SYSTEM_SHARED = 1024     /* that the system takes of each block */
};

/* The values that a tuner tries; resolve refuses a tile that does not fit the shape exactly. */
static const int32_t tile_tried[] = {1, 2, 3, 4, 5, 6, 7, 8, 0}, products_tried[] = {1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32, 0},
                     vectors_tried[] = {4, 0}, blocks_tried[] = {1, 4, 6, 8, 0};

enum { TM, TN, PRODUCTS, COPY, VECTOR, BLOCKS }; /* in this order: */

static const tj_param params[] = {
    {"tm", "rows of P that a thread computes", 1, 16, 0, NULL, tile_tried},
    {"tn", "columns of P that a thread computes", 1, 16, 0, NULL, tile_tried},
    {"products", "products that a block computes, each with a team of threads", 1, 128, 0, NULL, products_tried},
    TJ_COPY,
    {"vector", "most elements of one access to global memory; 1 asks for no alignment", 1, 4, 4, NULL, vectors_tried,
     TJ_PARAM_ORDER},
    TJ_BLOCKS(16, 0, blocks_tried, TJ_PARAM_ORDER),
};

static const char *const constraints[] = {
    "M, N and P are f32, f64, f16, bf16, c64 or c128",
    "j, k and l are fixed, and at most 128",
    "TM is ceil(j / TEAM_ROWS) and TN is ceil(l / TEAM_COLS), so that only a thread's last rows or columns can hang over",
    "TM * TN <= 64 sums of 4 bytes, 32 of 8 or 16 of 16: they stay in registers",
    "a team has TEAM_ROWS * TEAM_COLS threads, a block PRODUCTS teams: at most 1024 threads",
    "the operands of PRODUCTS products fit 227 KiB of shared memory",
    "copy=async brings elements as they are: neither f16 nor bf16",
    "VECTOR is 1, 2 or 4",
    NULL,
};

/* ---- geometry ----------------------------------------------------------------------------------------------------- */

static int32_t round_up(int32_t value, int32_t multiple)
{
    return (value + multiple - 1) / multiple * multiple;
}

/* Neighbouring threads read lines along k, 16 bytes each. An odd number of these per line makes them use different banks. */
static int32_t pitch_along_k(int32_t k, int32_t vec)
{
    const int32_t accesses = round_up(k, vec) / vec;

    return (accesses | 1) * vec;
}

tj_small_batch_shape tj_small_batch_shape_of(const tj_problem *view, const tj_config *config)
{
    const int32_t j = (int32_t)view->j.extent, k = (int32_t)view->k.extent, l = (int32_t)view->l.extent;
    const bool m_along_k = view->m.layout == TJ_ROW_MAJOR, n_along_k = view->n.layout == TJ_COL_MAJOR;
    tj_small_batch_shape s = {.tm = config->value[TM], .tn = config->value[TN], .products = config->value[PRODUCTS]};

    s.vec = ACCESS_BYTES / tj_sum_bytes(view);
    s.k_padded = round_up(k, s.vec);
    s.m_pitch = m_along_k ? pitch_along_k(k, s.vec) : round_up(j, s.vec);
    s.n_pitch = n_along_k ? pitch_along_k(k, s.vec) : round_up(l, s.vec);
    s.m_bytes = (int64_t)(m_along_k ? j : s.k_padded) * s.m_pitch * tj_sum_bytes(view);
    s.bytes = s.m_bytes + (int64_t)(n_along_k ? l : s.k_padded) * s.n_pitch * tj_sum_bytes(view);
    if (s.tm > 0 && s.tn > 0) {
        s.team_rows = (j + s.tm - 1) / s.tm;
        s.team_cols = (l + s.tn - 1) / s.tn;
        s.team = s.team_rows * s.team_cols;
        s.bytes += round_up(tj_reductions_of(view) * s.team * (s.tm > s.tn ? s.tm : s.tn), s.vec) * tj_sum_bytes(view);
    }
    return s;
}

/* The tile is a thread's part: a product is computed whole, and only a thread's part may be uneven. */
static tj_tile tile(const tj_problem *problem, const tj_config *config)
{
    (void)problem;
    return (tj_tile){config->value[TM], 1, config->value[TN], "TM", "1", "TN"};
}

/* ---- parameters settled by the problem ---------------------------------------------------------------------------- */

/* Divide an extent into equal parts, none longer than wanted. */
static int32_t part_of(int64_t extent, int32_t wanted)
{
    return (int32_t)tj_ceil_div(extent, tj_ceil_div(extent, wanted));
}

static void settle_tile(const tj_problem *view, int32_t *tm, int32_t *tn)
{
    const int64_t elements = view->j.extent * view->l.extent;
    const int32_t rows = elements <= 256 ? 2 : elements < (tj_sum_bytes(view) >= 8 ? 8192 : 512) ? 4 : 8;

    if (*tm == 0)
        *tm = part_of(view->j.extent, rows);
    if (*tn != 0)
        return;
    *tn = part_of(view->l.extent, 4);
    if (*tn % 2 != 0 && tj_epilogue_pairs(&view->epilogue)) /* a thread needs both columns */
        *tn = part_of(view->l.extent, 2);
}

static int32_t default_products(const tj_problem *view, const tj_small_batch_shape *s)
{
    const int64_t batch = view->batch > 0 ? view->batch : INT32_MAX;
    const int64_t bytes = s->bytes > 0 ? s->bytes : 1; /* 0 if k is 0 */
    int64_t products = GOOD_THREADS / (s->team > 0 ? s->team : 1);

    if (products > GOOD_SHARED / bytes)
        products = GOOD_SHARED / bytes;
    if (products > batch / FULL_GPU)
        products = batch / FULL_GPU;
    return products > 1 ? (int32_t)products : 1;
}

/*
 * Return the most blocks that leave a thread 80 registers. ptxas needs no more if N is read along l, no thread reaches beyond
 * an edge, and the epilogue reduces nothing.
 */
static int32_t default_blocks(const tj_problem *view, const tj_small_batch_shape *s)
{
    const int32_t threads = s->products * s->team;
    const int32_t by_registers = TJ_SM_REGISTERS / GOOD_REGISTERS / (threads > 0 ? threads : 1);
    const int32_t by_shared = (int32_t)(MAX_SHARED / (s->products * s->bytes + SYSTEM_SHARED));
    const int32_t blocks = by_registers < by_shared ? by_registers : by_shared;
    const bool is_even = view->j.extent % s->tm == 0 && view->l.extent % s->tn == 0 && view->k.extent % s->vec == 0;

    if (tj_epilogue_reduces(&view->epilogue) || tj_sum_bytes(view) == 8 || view->n.layout != TJ_ROW_MAJOR || !is_even ||
        s->tm * s->tn > 32 || blocks < 1)
        return 1;
    return blocks < 16 ? blocks : 16;
}

/* ---- constraints -------------------------------------------------------------------------------------------------- */

static tj_status check_problem(const tj_problem *view, bool is_swapped, tj_error *err)
{
    const struct {
        char name;
        const tj_dim *dim;
    } dims[] = {{is_swapped ? 'l' : 'j', &view->j}, {'k', &view->k}, {is_swapped ? 'j' : 'l', &view->l}};

    for (int i = 0; i < 3; i++) {
        if (dims[i].dim->mode != TJ_DIM_FIXED)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "%c is known only at launch, and family small_batch is made for exact sizes: fix it, or use another "
                           "family",
                           dims[i].name);
        if (dims[i].dim->extent > MOST)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "%c is %lld, and family small_batch is for %d at most: use another family", dims[i].name,
                           (long long)dims[i].dim->extent, MOST);
    }
    if (view->k.extent == 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "k is 0, and family small_batch has nothing to multiply: use another family");
    return TJ_OK;
}

static tj_status check_part(char name, const char *param, int64_t extent, int32_t part, tj_error *err)
{
    const int32_t exact = part_of(extent, part);

    if (part == exact)
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s is %d, and with as many threads %d is enough for %c = %lld: use %s=%d",
                   param, part, exact, name, (long long)extent, param, exact);
}

static tj_status check_shape(const tj_problem *view, bool is_swapped, const tj_config *config, tj_error *err)
{
    const tj_small_batch_shape s = tj_small_batch_shape_of(view, config);
    const int32_t most_sums = MOST_SUM_BYTES / tj_sum_bytes(view);
    tj_status status = check_part(is_swapped ? 'l' : 'j', "tm", view->j.extent, s.tm, err);

    if (status == TJ_OK)
        status = check_part(is_swapped ? 'j' : 'l', "tn", view->l.extent, s.tn, err);
    if (status != TJ_OK)
        return status;
    if (s.tm * s.tn > most_sums)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "tm %d x tn %d makes %d sums a thread: %d of %d bytes are the most", s.tm,
                       s.tn, s.tm * s.tn, most_sums, tj_sum_bytes(view));
    if (view->batch == 1 && s.products > 1)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "products is %d, and the problem is one product: use products=1",
                       s.products);
    if ((int64_t)s.products * s.team > MAX_THREADS)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%d products with %d x %d threads each make %lld threads a block: 1024 is the most", s.products,
                       s.team_rows, s.team_cols, (long long)s.products * s.team);
    if (s.products * s.bytes > MAX_SHARED)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%d products need %lld bytes of shared memory: %d are the most",
                       s.products, (long long)s.products * s.bytes, MAX_SHARED);
    return TJ_OK;
}

static tj_status resolve(const tj_problem *view, bool is_swapped, tj_config *config, tj_error *err)
{
    int32_t *const v = config->value, *const copy = &v[COPY], *const products = &v[PRODUCTS], *const blocks = &v[BLOCKS];
    tj_status status = check_problem(view, is_swapped, err);
    tj_small_batch_shape s;

    if (status != TJ_OK)
        return status;
    if (v[VECTOR] == 3)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "vector is 3: it must be 1, 2 or 4");
    if (*copy == 0)
        *copy = tj_copy_default(view);
    status = tj_copy_check(view, *copy, err);
    if (status != TJ_OK)
        return status;
    settle_tile(view, &v[TM], &v[TN]);
    s = tj_small_batch_shape_of(view, config);
    if (*products == 0)
        *products = default_products(view, &s);
    s.products = *products;
    if (*blocks == 0)
        *blocks = default_blocks(view, &s);
    config->check_j = config->check_k = config->check_l =
        TJ_CHECK_OFF; /* products are whole: no thread checks an edge of one */
    return check_shape(view, is_swapped, config, err);
}

/* ---- source ------------------------------------------------------------------------------------------------------- */

/* Return the largest power of two, up to a limit, that divides both. */
static int32_t common(int64_t extent, int32_t part, int32_t limit)
{
    while (extent % limit != 0 || part % limit != 0)
        limit /= 2;
    return limit;
}

tj_small_batch_widths tj_small_batch_widths_of(const tj_problem *view, const tj_config *config)
{
    const tj_small_batch_shape s = tj_small_batch_shape_of(view, config);
    const int32_t asked = config->value[VECTOR], limit = asked < s.vec ? asked : s.vec, sums = tj_access_sums(view, 1);
    tj_small_batch_widths w = {
        .m = tj_access_widest(view, TJ_MATRIX_M, limit),
        .n = tj_access_widest(view, TJ_MATRIX_N, limit),
        .rows = view->m.layout == TJ_ROW_MAJOR ? 1 : common(view->j.extent, s.tm, s.vec),
        .cols = view->n.layout == TJ_ROW_MAJOR ? common(view->l.extent, s.tn, s.vec) : 1,
    };

    if (w.cols < sums) /* the columns of a pair are neighbours */
        w.cols = sums;
    w.p = w.cols / sums <= limit && tj_access_fits_output(view, w.cols / sums) ? w.cols / sums : 1;
    return w;
}

/* A team inside one warp waits for the warp only. */
bool tj_small_batch_in_warp(const tj_small_batch_shape *s)
{
    return s->team > 0 && WARP % s->team == 0 && s->products * s->team % WARP == 0;
}

/* Name the parts of M (is_m) or of N, by whether its lines lie along k. */
static void describe_operand(const tj_problem *view, bool is_m, bool is_async, tj_template_params *fill)
{
    const bool along_k = is_m ? view->m.layout == TJ_ROW_MAJOR : view->n.layout == TJ_COL_MAJOR;

    tj_template_set(fill, is_m ? "m_kept_lines" : "n_kept_lines", !along_k ? "K_PADDED" : is_m ? "j" : "l");
    tj_template_set(fill, is_m ? "M_LINES" : "N_LINES",
                    is_m      ? along_k ? "j, M_WIDTH = k" : "k, M_WIDTH = j"
                    : along_k ? "l, N_WIDTH = k"
                              : "k, N_WIDTH = l");
    tj_template_set_of(fill, is_m, "m_copy", is_async ? "copy_async<M_VECTOR * sizeof(input_t)>" : "copy<M_VECTOR>");
    tj_template_set_of(fill, is_m, "m_along_k", along_k ? "1" : "");
    tj_template_set_of(fill, is_m, "m_padding",
                       along_k ? "own.M[e / (K_PADDED - k)][k + e % (K_PADDED - k)]"
                       : is_m  ? "own.M[k + e / j][e % j]"
                               : "own.M[k + e / l][e % l]");
}

static const char *describe(const tj_problem *view, const tj_config *config, tj_template_params *fill, tj_launch_form *form)
{
    const tj_small_batch_shape s = tj_small_batch_shape_of(view, config);
    const int32_t in = tj_facts_of(view->m.type)->bytes, out = tj_facts_of(view->p.type)->bytes;
    const tj_small_batch_widths w = tj_small_batch_widths_of(view, config);
    const bool is_async = config->value[COPY] == TJ_COPY_ASYNC;
    const bool checks_batch = view->batch == TJ_ANY || view->batch % s.products != 0;

    tj_template_set_int(fill, "TM", s.tm);
    tj_template_set_int(fill, "TN", s.tn);
    tj_template_set_int(fill, "PRODUCTS", s.products);
    tj_template_set_int(fill, "BLOCKS", config->value[BLOCKS]);
    if (checks_batch && view->batch != TJ_ANY)
        tj_template_set_int(fill, "batch", view->batch);
    else
        tj_template_set(fill, "batch", "");
    describe_operand(view, true, is_async, fill);
    describe_operand(view, false, is_async, fill);
    tj_template_set(fill, "copies", is_async ? "parts/async.cuh" : "small_batch/copy.cuh");
    tj_template_set(fill, "team", s.products > 1 ? "team" : "0");
    tj_template_set(fill, "product", s.products > 1 ? "blockIdx.x * PRODUCTS + team" : "blockIdx.x");
    tj_template_set(fill, "wait_for_team", tj_small_batch_in_warp(&s) ? "__syncwarp" : "__syncthreads");
    tj_template_set_int(fill, "M_VECTOR", w.m);
    tj_template_set_int(fill, "N_VECTOR", w.n);
    tj_template_set_int(fill, "REDUCTIONS", tj_reductions_of(view));
    tj_template_set_int(fill, "P_VECTOR", w.p);
    tj_template_set_int(fill, "VECTOR_ROWS", w.rows);
    tj_template_set_int(fill, "VECTOR_COLS", w.cols);
    tj_template_set_int(fill, "M_PITCH", s.m_pitch);
    tj_template_set_int(fill, "N_PITCH", s.n_pitch);
    tj_template_set_flag(fill, "many", s.products > 1);
    tj_template_set_flag(fill, "check_batch", checks_batch && s.products > 1);
    tj_template_set_flag(fill, "ragged_j", view->j.extent % s.tm != 0);
    tj_template_set_flag(fill, "ragged_l", view->l.extent % s.tn != 0);
    tj_template_set(fill, "padding", view->k.extent % s.vec != 0 ? "small_batch/pad.cuh" : "");
    tj_template_set(fill, "waits_for_copies", is_async ? "small_batch/wait.cuh" : "");
    tj_template_set_flag(fill, "copies_whole", true);
    tj_template_set(fill, "team_waits",
                    tj_small_batch_in_warp(&s) ? "__syncwarp();  // a team never reaches beyond its warp" : "__syncthreads();");
    tj_template_set_flag(fill, "names_product", s.products > 1 || view->batch != 1 || tj_problem_points(view));
    tj_scales_describe(view, TJ_SCALES_AHEAD, 1, fill);
    tj_step_set_blocks(&form->step[0], s.products * s.team, (int32_t)view->j.extent, (int32_t)view->l.extent);
    form->step[0].grid = TJ_GRID_PRODUCTS;
    form->step[0].block_products = s.products;
    form->step[0].dynamic_shared_bytes = s.products * s.bytes;
    form->step[0].overlaps = view->overlap != 0;
    tj_template_set(fill, "awaits", view->overlap ? "parts/awaits.cuh" : "");
    tj_template_set(fill, "dependents", view->overlap ? "parts/dependents.cuh" : "");
    form->needs = is_async ? TJ_FEATURE_CP_ASYNC : 0;
    form->align[form->is_swapped ? TJ_MATRIX_N : TJ_MATRIX_M] = in * w.m;
    form->align[form->is_swapped ? TJ_MATRIX_M : TJ_MATRIX_N] = in * w.n;
    form->align[TJ_MATRIX_P] = out * w.p;
    form->align[TJ_MATRIX_C] = view->epilogue.has_beta ? out * w.p : 0;
    return "small_batch/small_batch.cu";
}

static bool for_any_operands(bool has_workspace, tj_config *config)
{
    (void)has_workspace; /* it uses none */
    config->value[VECTOR] = 1;
    return true;
}

/* ---- tuning ------------------------------------------------------------------------------------------------------- */

/* Does this number of blocks reduce the registers, leave enough of them, and fit the shared memory? */
static bool blocks_matter(const tj_small_batch_shape *s, int32_t blocks)
{
    const int32_t threads = s->products * s->team, sums = s->tm * s->tn,
                  budget = TJ_SM_REGISTERS / (blocks * threads > 0 ? blocks * threads : 1);

    return blocks == 1 || (blocks * threads <= 2 * MAX_THREADS && blocks * s->products * s->bytes <= MAX_SHARED &&
                           budget < 48 + sums * 5 / 4 && budget >= sums + s->tm + s->tn + 16);
}

/* Accept blocks of the usual sizes, and enough blocks if they hold several products. */
static bool is_worth_trying(const tj_problem *view, const tj_config *config)
{
    const tj_small_batch_shape s = tj_small_batch_shape_of(view, config);
    const int32_t threads = s.products * s.team;
    const bool is_whole = s.products == 1 || (threads <= 256 && s.products * s.bytes <= 2 * GOOD_SHARED);

    return threads <= 512 && is_whole && (threads >= WARP || s.products == view->batch || s.tm * s.tn <= 8) &&
           (s.products == 1 || view->batch / s.products >= FULL_GPU / 2) && blocks_matter(&s, config->value[BLOCKS]);
}

static tj_sum_order sum_order(const tj_problem *view, const tj_config *config)
{
    (void)view;
    (void)config;
    return TJ_SUMS_IN_CHAIN;
}

const tj_family tj_family_small_batch = {
    .name = "small_batch",
    .summary = "many small products: each whole in shared memory and registers, one or several to a block",
    .types = TJ_FLOAT_TYPES,
    .takes_complex = true,
    .param = params,
    .param_count = sizeof params / sizeof params[0],
    .constraint = constraints,
    .start = &tj_small_batch_start,
    .sums_in_registers = true,
    .model = &tj_model_textbook,
    .reduces = TJ_REDUCES_BY_TEAM,
    .checks_k = true,
    .widest = MOST,
    .tile = tile,
    .resolve = resolve,
    .sum_order = sum_order,
    .relax = tj_relax_blocks,
    .for_any_operands = for_any_operands,
    .for_target = tj_copy_for_target,
    .describe = describe,
    .count = tj_small_batch_count,
    .is_worth_trying = is_worth_trying,
};
