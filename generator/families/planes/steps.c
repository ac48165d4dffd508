/* SPDX-License-Identifier: Apache-2.0 */
/*
 * steps: the workspace of families that multiply planes, and the kernels around the product. All are launched; a word in device
 * memory selects those that work.
 */
#include "form.h"

#include "checked.h"
#include "error.h"
#include "parts/access.h"
#include "parts/traffic.h"
#include "parts/signature.h"
#include "steps.h"
#include "tree.h"

enum { WARP = 32, SLICE_UNIT = 128, VECTOR = 4 };
enum { PLAIN_BK = 16, PLAIN_THREADS = 128, DECIDE_THREADS = 256, OTHER_KERNELS = 5 };
enum { LINE_BLOCKS = 2 /* of split, per multiprocessor */, WALKS = 2 /* over a line */, CHUNK = 8, SECTOR = 32, LINE = 128 };

/* ---- the workspace ------------------------------------------------------------------------------------------------ */

static int64_t round_up(int64_t value, int64_t unit)
{
    return tj_ceil_div(value, unit) * unit;
}

int64_t tj_planes_k_line(const tj_problem *view)
{
    return round_up(view->k.extent > 0 ? view->k.extent : 1, TJ_PLANES_K_GROUP);
}

int64_t tj_planes_lines(const tj_problem *view, tj_planes_units units, bool is_m)
{
    return is_m ? round_up(view->j.extent, units.rows) : round_up(view->l.extent, units.cols);
}

int64_t tj_planes_matrices(const tj_problem *view, bool is_m, int64_t products)
{
    return view->batch > 1 && (is_m ? view->m.stride : view->n.stride) == TJ_BROADCAST ? 1 : products;
}

int64_t tj_planes_products(const tj_problem *view)
{
    return view->batch < TJ_GRID_LIMIT ? view->batch : TJ_GRID_LIMIT;
}

/* Lay out the slices, and return their end. False: more than 61 bits count. */
static bool lay_out(const tj_problem *view, tj_planes_units units, int64_t slice[TJ_LAUNCH_MAX_SLICES], int64_t *end)
{
    const int64_t products = tj_planes_products(view), k_line = tj_planes_k_line(view);
    int64_t lines = 0, bytes;

    slice[TJ_PLANES_WORDS] = 0;
    slice[TJ_PLANES_LINES] = round_up(products * (int64_t)sizeof(int32_t), SLICE_UNIT);
    for (int is_m = 0; is_m < 2; is_m++)
        lines += tj_planes_lines(view, units, is_m) * tj_planes_matrices(view, is_m, products);
    *end = slice[TJ_PLANES_LINES] + round_up(lines * ((int64_t)sizeof(int32_t) + TJ_PLANES_LINE_BYTES), SLICE_UNIT);
    for (int is_m = 1; is_m >= 0; is_m--) {
        slice[is_m ? TJ_PLANES_OF_M : TJ_PLANES_OF_N] = *end;
        if (!tj_mul(tj_planes_lines(view, units, is_m) * tj_planes_matrices(view, is_m, products), k_line, &bytes) ||
            !tj_mul(bytes, TJ_PLANES_MOST * TJ_PLANES_BYTES, &bytes) || bytes > INT64_MAX / 4)
            return false;
        *end += bytes; /* a multiple of 128, because k_line is a multiple of 64 */
    }
    return *end <= INT64_MAX / 2;
}

static int64_t larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

tj_reduction_slots tj_planes_slots(const tj_problem *view, const tj_planes_tile tile[TJ_REDUCTION_PATHS])
{
    tj_reduction_slots slots = {
        .lane_cols = TJ_PLANES_STORE_LANES,
        .row_slot = "tile_x * (BN / WN) + warp % (BN / WN)",
        .col_slot = "tile_y * (BM / WM) + warp / (BN / WN)",
        .slice = TJ_PLANES_RESULTS,
        .path_slice = TJ_PLANES_WORDS,
    };

    for (int path = 0; path < TJ_REDUCTION_PATHS; path++) {
        const tj_planes_tile *const t = &tile[path];

        slots.of_row_by_path[path] = tj_ceil_div(view->l.extent, t->cols) * (t->cols / t->warp_cols);
        slots.of_col_by_path[path] = tj_ceil_div(view->j.extent, t->rows) * (t->rows / t->warp_rows);
        slots.of_row = larger(slots.of_row, slots.of_row_by_path[path]);
        slots.of_col = larger(slots.of_col, slots.of_col_by_path[path]);
    }
    return slots;
}

/* ---- which operands can be split ---------------------------------------------------------------------------------- */

static bool is_fixed(const tj_matrix *x, bool is_batched)
{
    return x->ld > 0 && !tj_stride_is_pointers(x->stride) && (!is_batched || x->stride > 0 || x->stride == TJ_BROADCAST);
}

tj_status tj_planes_check(const tj_problem *view, tj_planes_units units, const char *family, tj_error *err)
{
    const bool is_batched = view->batch > 1;
    int64_t slice[TJ_LAUNCH_MAX_SLICES], end;

    if (view->compute != TJ_COMPUTE_F32_SPLIT)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "family %s multiplies f32 with compute f32_split, and compute is %s: ask for f32_split, or use "
                       "another family",
                       family, tj_compute_name((tj_compute)view->compute));
    if (view->j.mode != TJ_DIM_FIXED || view->k.mode != TJ_DIM_FIXED || view->l.mode != TJ_DIM_FIXED || view->batch < 1 ||
        !is_fixed(&view->m, is_batched) || !is_fixed(&view->n, is_batched) || !is_fixed(&view->p, is_batched) ||
        (view->epilogue.has_beta && !is_fixed(&view->c, is_batched)))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "family %s needs a workspace and strides that are known when the text is made: fix j, k, l, the "
                       "batch, leading dimensions and strides, without arrays of pointers, or use another family",
                       family);
    if (units.rows <= 0 || units.cols <= 0 || lay_out(view, units, slice, &end))
        return TJ_OK;
    return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                   "the planes of %lld x %lld x %lld need more bytes of workspace than 62 bits count: use another family",
                   (long long)view->j.extent, (long long)view->k.extent, (long long)view->l.extent);
}

/* ---- the kernels -------------------------------------------------------------------------------------------------- */

/* Append the caller's matrices that are the source's M and N. */
static void add_operands(const tj_launch_form *form, tj_launch_step *step)
{
    tj_step_add_arg(step, true, TJ_ARG_POINTER, form->is_swapped ? TJ_MATRIX_N : TJ_MATRIX_M);
    tj_step_add_arg(step, true, TJ_ARG_POINTER, form->is_swapped ? TJ_MATRIX_M : TJ_MATRIX_N);
}

static void add_planes(tj_launch_step *step)
{
    tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, TJ_PLANES_OF_M);
    tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, TJ_PLANES_OF_N);
}

/* Append all arguments of a kernel that writes P; for the epilogue's reductions, the slice of the results. */
void tj_planes_add_parameters(const tj_problem *view, bool is_swapped, tj_launch_step *step)
{
    int32_t count = step->arg_count;

    tj_step_list_args(view, is_swapped, false, true, step);
    for (int32_t i = count; i < step->arg_count; i++) {
        if (step->arg[i].kind == TJ_ARG_WORKSPACE && !tj_epilogue_reduces(&view->epilogue))
            continue;
        step->arg[count] = step->arg[i];
        if (step->arg[count].kind == TJ_ARG_WORKSPACE)
            step->arg[count].index = TJ_PLANES_RESULTS;
        count++;
    }
    step->arg_count = count;
}

/* A kernel over the lines of M and N, with at most one block for each group of lines, except for very flat matrices. */
static void describe_lines(tj_launch_step *step)
{
    step->grid = TJ_GRID_WALK;
    step->resident = LINE_BLOCKS;
    tj_step_set_blocks(step, TJ_PLANES_LINE_THREADS, TJ_PLANES_LINE_GROUP, TJ_PLANES_LINE_GROUP);
}

static void describe_ahead(const tj_problem *view, tj_template_params *fill, tj_launch_form *form)
{
    tj_launch_step *step = tj_step_add(view, "split", true, fill, form);

    describe_lines(step);
    step->static_shared_bytes = TJ_PLANES_LINE_GROUP * TJ_PLANES_LINE_BYTES;
    if (fill) {
        add_operands(form, step);
        tj_signature_print(view, form, step, 0, step->arg_count, "", fill, "operands");
        tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, TJ_PLANES_LINES);
        add_planes(step);
    }
    step = tj_step_add(view, "decide", true, fill, form);
    step->grid = TJ_GRID_ELEMENTS;
    tj_step_set_blocks(step, DECIDE_THREADS, 1, INT32_MAX);
    step->overlaps = 1;
    step->static_shared_bytes = DECIDE_THREADS / WARP * TJ_PLANES_LINE_BYTES;
    if (fill) {
        tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, TJ_PLANES_LINES);
        tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, TJ_PLANES_WORDS);
    }
}

static void describe_behind(const tj_problem *view, tj_template_params *fill, tj_launch_form *form)
{
    tj_launch_step *step = tj_step_add(view, "widen", false, fill, form);
    int own;

    describe_lines(step);
    step->overlaps = 1;
    if (fill) {
        tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, TJ_PLANES_WORDS);
        add_operands(form, step);
        add_planes(step);
    }
    (void)tj_step_add(view, "wide", false, fill, form); /* the caller fills in the rest */
    step = tj_step_add(view, "plain", false, fill, form);
    step->grid = TJ_GRID_TILES;
    step->rows_on_x = tj_step_product(form)->rows_on_x;
    tj_step_set_blocks(step, PLAIN_THREADS, TJ_PLANES_PLAIN_EDGE, TJ_PLANES_PLAIN_EDGE);
    step->sums_in_registers = 1;
    step->overlaps = 1;
    step->static_shared_bytes = (int64_t)2 * PLAIN_BK * (TJ_PLANES_PLAIN_EDGE + 1) * 4;
    if (fill) {
        tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, TJ_PLANES_WORDS);
        add_operands(form, step);
        own = step->arg_count;
        tj_planes_add_parameters(view, form->is_swapped, step);
        tj_signature_print(view, form, step, own, 0, "float *W,", fill, "parameters"); /* of all kernels that write P */
        tj_signature_print_arguments(fill);
    }
}

/* Return the number of elements that one load takes of a line along k; the launch form asks for their alignment. */
static int32_t load_vector(const tj_problem *view, bool is_m, int32_t vector, tj_launch_form *form)
{
    const bool along_k = is_m ? view->m.layout == TJ_ROW_MAJOR : view->n.layout == TJ_COL_MAJOR;

    if (!along_k || vector == 1 || tj_access_widest(view, is_m ? TJ_MATRIX_M : TJ_MATRIX_N, VECTOR) != VECTOR)
        return 1;
    form->align[is_m != (form->is_swapped != 0) ? TJ_MATRIX_M : TJ_MATRIX_N] = VECTOR * (int32_t)sizeof(float);
    return VECTOR;
}

tj_launch_step *tj_planes_describe(const tj_problem *view, const tj_config *config, tj_planes_units units,
                                   const tj_reduction_slots *slots, int32_t vector, tj_template_params *fill,
                                   tj_launch_form *form)
{
    const tj_checks checks = tj_checks_of(config, form->is_swapped);
    const int64_t products = tj_planes_products(view);

    (void)lay_out(view, units, form->slice, &form->workspace_bytes); /* cannot fail: tj_planes_check has checked the size */
    form->paths = (int32_t)products;
    if (tj_epilogue_reduces(&view->epilogue)) {
        form->slice[TJ_PLANES_RESULTS] = form->workspace_bytes;
        form->workspace_bytes += round_up(tj_reductions_bytes(view, slots), SLICE_UNIT);
    }
    describe_ahead(view, fill, form);
    describe_behind(view, fill, form);
    tj_step_describe_order(view, fill, form);
    tj_reductions_describe(view, slots, fill, form);
    tj_template_set_int(fill, "K_LINE", tj_planes_k_line(view));
    tj_template_set_int(fill, "M_LINES", tj_planes_lines(view, units, true));
    tj_template_set_int(fill, "N_LINES", tj_planes_lines(view, units, false));
    tj_template_set_int(fill, "M_PRODUCTS", tj_planes_matrices(view, true, products));
    tj_template_set_int(fill, "N_PRODUCTS", tj_planes_matrices(view, false, products));
    tj_template_set_int(fill, "m_vector", load_vector(view, true, vector, form));
    tj_template_set_int(fill, "n_vector", load_vector(view, false, vector, form));
    tj_template_set(fill, "m_along_k", view->m.layout == TJ_ROW_MAJOR ? "true" : "false");
    tj_template_set(fill, "plain_m", view->m.layout == TJ_ROW_MAJOR ? "planes/plain_along.cuh" : "planes/plain_across.cuh");
    tj_template_set(fill, "plain_n", view->n.layout == TJ_ROW_MAJOR ? "planes/plain_across.cuh" : "planes/plain_along.cuh");
    tj_template_set(fill, "n_along_k", view->n.layout == TJ_ROW_MAJOR ? "false" : "true");
    tj_template_set_flag(fill, "clips_rows", checks.j);
    tj_template_set_flag(fill, "clips_cols", checks.l);
    tj_template_set(fill, "row_of", "r * 8");
    tj_template_set(fill, "col_of", "c / 2 * 8 + c % 2");
    tj_template_set(fill, "first_col", "thread_col");
    return &form->step[form->product + 2];
}

/* ---- counts ------------------------------------------------------------------------------------------------------- */

/* `requests` warps load or store `elements` elements of 4 bytes per lane, at neighbouring addresses. */
static void add_words(tj_traffic *traffic, int64_t requests, int32_t elements, int32_t sectors)
{
    traffic->elements += requests * elements;
    traffic->bytes += requests * elements * 4;
    traffic->requests += requests;
    traffic->wavefronts += requests;
    traffic->merged += requests;
    traffic->sectors += requests * sectors;
}

/*
 * split: each element is loaded twice, and becomes two bytes of each plane. If lines lie along k, a warp stores 32 chunks of
 * one line; if they lie across k, 4 chunks of each line of a group.
 */
static void count_split(const tj_problem *view, tj_planes_units units, bool is_m, tj_counts *counts)
{
    const bool along_k = is_m ? view->m.layout == TJ_ROW_MAJOR : view->n.layout == TJ_COL_MAJOR;
    const int64_t matrices = tj_planes_matrices(view, is_m, view->batch), lines = tj_planes_lines(view, units, is_m) * matrices,
                  k_line = tj_planes_k_line(view);
    const int64_t elements = (is_m ? view->j.extent : view->l.extent) * view->k.extent * matrices;
    const int64_t groups = along_k ? lines : lines / TJ_PLANES_LINE_GROUP, of_group = lines / groups;
    const int64_t stores = tj_ceil_div(k_line / CHUNK * of_group, WARP);
    tj_traffic *const store = &counts->pack.store;

    counts->pack.load.is_estimate = 1;
    add_words(&counts->pack.load, tj_ceil_div(elements, WARP) * WALKS, WARP, 4);
    counts->pack.load.elements += WALKS * (elements - tj_ceil_div(elements, WARP) * WARP);
    counts->pack.load.bytes += 4 * WALKS * (elements - tj_ceil_div(elements, WARP) * WARP);
    store->elements += lines * (k_line / 2 * TJ_PLANES_OF_F16 + 1 + TJ_PLANES_LINE_BYTES / 4);
    store->bytes += lines * (k_line * TJ_PLANES_BYTES * TJ_PLANES_OF_F16 + 4 + TJ_PLANES_LINE_BYTES);
    store->requests += groups * (stores * TJ_PLANES_OF_F16 + 2);
    store->sectors += lines * k_line * TJ_PLANES_BYTES * TJ_PLANES_OF_F16 / SECTOR +
                      groups * (1 + tj_ceil_div(of_group * TJ_PLANES_LINE_BYTES, SECTOR));
    store->wavefronts += lines * k_line * TJ_PLANES_BYTES * TJ_PLANES_OF_F16 / LINE + groups * 2;
    store->merged = store->wavefronts;
}

void tj_planes_count_around(const tj_problem *view, tj_planes_units units, int64_t warps, int64_t multiply, int32_t rows,
                            int32_t cols, tj_counts *counts)
{
    add_words(&counts->load_scales, warps, WARP, 1);
    add_words(&counts->load_scales, multiply * (rows / TJ_PLANES_STORE_ROWS), WARP, 1);
    add_words(&counts->load_scales, multiply * (cols / (TJ_PLANES_STORE_LANES * TJ_PLANES_STORE_COLS)),
              WARP * TJ_PLANES_STORE_COLS, 1);
    count_split(view, units, true, counts);
    count_split(view, units, false, counts);
    counts->pack.kernels = OTHER_KERNELS;
}
