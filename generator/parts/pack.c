/* SPDX-License-Identifier: Apache-2.0 */
#include "pack.h"

#include <stdio.h>

#include "access.h"
#include "checked.h"
#include "error.h"
#include "lanes.h"
#include "steps.h"
#include "traffic.h"
#include "widen.h"

enum { MOST_BLOCKS = 1 << 22 /* the thread index of twice this number of blocks still fits an int */ };
enum { THREADS = 256, CHUNK_BYTES = 16, TILE_BYTES = 128, SLICE_UNIT = 128 };

static const tj_which both[] = {TJ_MATRIX_M, TJ_MATRIX_N};

/* ---- sizes -------------------------------------------------------------------------------------------------------- */

/* Lines of a tile that is transposed, and elements of a line. */
static int32_t tile_edge(const tj_problem *view)
{
    return TILE_BYTES / tj_facts_of(view->m.type)->bytes;
}

/* Round up to whole units, at least one. */
static int64_t whole_units(tj_dim dim, int32_t unit)
{
    return (dim.extent > 0 ? tj_ceil_div(dim.extent, unit) : 1) * unit;
}

/* Are its elements weights, which are packed as wider numbers? */
static bool widens(const tj_problem *view, tj_which which)
{
    return tj_widened_type(view, which) != tj_problem_matrix(view, which)->type;
}

/* Elements in 16 bytes, in the packed type. */
static int32_t chunk_of(const tj_problem *view, tj_which which)
{
    return CHUNK_BYTES / tj_facts_of(tj_widened_type(view, which))->bytes;
}

static int32_t numbers_of(const tj_problem *view, tj_which which)
{
    return tj_type_numbers(tj_problem_matrix(view, which)->type);
}

/* The lines in their packed form. */
static tj_lines packed_lines(const tj_problem *view, const tj_pack *pack, tj_which which)
{
    const tj_lines from = tj_problem_number_lines(view, which);

    return pack->operand[which].transposes ? (tj_lines){from.width, from.count, from.width_name, from.count_name} : from;
}

int64_t tj_pack_lines(const tj_problem *view, const tj_pack *pack, tj_which which)
{
    const int32_t lines = pack->operand[which].lines;

    return whole_units(packed_lines(view, pack, which).count, lines > 0 ? lines : 1);
}

static int64_t packed_ld(const tj_problem *view, const tj_pack *pack, tj_which which)
{
    const int32_t chunk = chunk_of(view, which), line = pack->operand[which].line;

    return whole_units(packed_lines(view, pack, which).width, line > chunk ? (int32_t)tj_ceil_div(line, chunk) * chunk : chunk);
}

static bool is_broadcast(const tj_problem *view, tj_which which)
{
    return view->batch > 1 && tj_problem_matrix(view, which)->stride == TJ_BROADCAST;
}

/* Number of matrices to pack for a number of products: one if the operand is broadcast. */
static int64_t matrices_of(const tj_problem *view, tj_which which, int64_t products)
{
    return is_broadcast(view, which) ? 1 : products;
}

/*
 * Number of products that one launch packs. A larger batch takes several launches, which reuse the workspace one after the
 * other.
 */
static int64_t products_at_once(const tj_problem *view, int32_t splits)
{
    const int64_t most = TJ_GRID_LIMIT / (splits > 1 ? splits : 1);

    return view->batch < most ? view->batch : most;
}

/* Compute the bytes of the workspace for a packed operand. False: with the bytes already used, more than 63 bits count. */
static bool packed_bytes(const tj_problem *view, const tj_pack *pack, tj_which which, int32_t splits, int64_t *bytes)
{
    const int64_t matrices = matrices_of(view, which, products_at_once(view, splits));
    int64_t elements;

    return tj_mul(packed_ld(view, pack, which), tj_pack_lines(view, pack, which), &elements) &&
           tj_mul(elements, tj_facts_of(tj_widened_type(view, which))->bytes * matrices, bytes) && *bytes <= INT64_MAX / 4;
}

static bool is_fixed(const tj_matrix *x, bool is_batched)
{
    return x->ld > 0 && !tj_stride_is_pointers(x->stride) && (!is_batched || x->stride > 0 || x->stride == TJ_BROADCAST);
}

tj_status tj_pack_check(const tj_problem *view, const tj_pack *pack, int32_t splits, const char *asked, const char *remedy,
                        tj_error *err)
{
    const bool are_fixed = tj_has_fixed_extents(view) && view->batch > 0 && is_fixed(&view->m, view->batch > 1) &&
                           is_fixed(&view->n, view->batch > 1);
    int64_t bytes;

    if (!tj_pack_is_any(pack))
        return TJ_OK;
    if (tj_has_offsets(view) || tj_is_gathered(view))
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s copies operands before the product, and does not copy %s: use %s",
                       asked, tj_has_offsets(view) ? "groups" : "gathered rows", remedy);
    if (!are_fixed)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%s needs a workspace and strides that are known when the text is made: fix j, k, l, the batch, leading "
                       "dimensions and strides, without arrays of pointers, or use %s",
                       asked, remedy);
    for (int i = 0; i < 2; i++)
        if (pack->operand[i].is_packed && pack->operand[i].transposes && numbers_of(view, both[i]) > 1)
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                           "%s would transpose weights of %s, of which two share a byte, and tensor cores take %s along k: "
                           "store them along k, or use family mma or tiled",
                           asked, tj_facts_of(tj_problem_matrix(view, both[i])->type)->name,
                           tj_facts_of(tj_widened_type(view, both[i]))->name);
    for (int i = 0; i < 2; i++)
        if (pack->operand[i].is_packed && !packed_bytes(view, pack, both[i], splits, &bytes))
            return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%s needs more bytes of workspace than 63 bits count: use %s", asked,
                           remedy);
    return TJ_OK;
}

tj_problem tj_pack_moved(const tj_problem *view, const tj_pack *pack)
{
    tj_problem moved = *view;

    for (int i = 0; i < 2; i++) {
        tj_matrix *const x = tj_matrix_of(&moved, both[i]);

        if (!pack->operand[i].is_packed)
            continue;
        if (pack->operand[i].transposes)
            x->layout = x->layout == TJ_ROW_MAJOR ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
        x->type = tj_widened_type(view, both[i]);
        x->ld = packed_ld(view, pack, both[i]);
        if (!is_broadcast(view, both[i]))
            x->stride = x->ld * tj_pack_lines(view, pack, both[i]);
    }
    return moved;
}

/* ---- the step ----------------------------------------------------------------------------------------------------- */

/* Name a parameter after the source's M or N: "from_ld_m". */
static const char *name_of(const char *what, tj_which which, char name[TJ_TEMPLATE_NAME_BYTES])
{
    (void)snprintf(name, TJ_TEMPLATE_NAME_BYTES, "%s_%c", what, which == TJ_MATRIX_M ? 'm' : 'n');
    return name;
}

/* Can 16 bytes of every line be read at once? */
static bool is_wide(const tj_problem *view, const tj_pack *pack, tj_which which)
{
    const int32_t chunk = chunk_of(view, which), stored = chunk / numbers_of(view, which);

    return pack->operand[which].is_packed && pack->operand[which].asks_to_align &&
           tj_access_widest(view, which, stored) == stored &&
           (stored == chunk ||
            tj_problem_number_lines(view, which).width.extent % chunk == 0); /* the last byte of a line must be full */
}

static bool is_wide_somewhere(const tj_problem *view, const tj_pack *pack)
{
    return is_wide(view, pack, TJ_MATRIX_M) || is_wide(view, pack, TJ_MATRIX_N);
}

/* Is an operand packed with (or without) transposing? Pairs have a function of their own. */
static bool is_any(const tj_problem *view, const tj_pack *pack, bool transposes)
{
    for (int i = 0; i < 2; i++)
        if (pack->operand[i].is_packed && pack->operand[i].transposes == transposes && numbers_of(view, both[i]) == 1)
            return true;
    return false;
}

static bool packs_pairs(const tj_problem *view, const tj_pack *pack)
{
    for (int i = 0; i < 2; i++)
        if (pack->operand[i].is_packed && numbers_of(view, both[i]) > 1)
            return true;
    return false;
}

/* Are weights of 8 bits packed? Those of 4 bits are pairs. */
static bool packs_weights(const tj_problem *view, const tj_pack *pack)
{
    for (int i = 0; i < 2; i++)
        if (pack->operand[i].is_packed && widens(view, both[i]) && numbers_of(view, both[i]) == 1)
            return true;
    return false;
}

/* Name the function of pack.cuh or transpose.cuh. */
static const char *function_of(const tj_problem *view, const tj_pack *pack, tj_which which)
{
    static const char *const name[3][3] = {{"pack_lines", "pack_lines<false>", "pack_lines<true>"},
                                           {"transpose_lines", "transpose_lines<false>", "transpose_lines<true>"},
                                           {"pack_pairs", "pack_pairs<false>", "pack_pairs<true>"}};
    const int wide = is_wide_somewhere(view, pack) ? 1 + is_wide(view, pack, which) : 0;

    return name[numbers_of(view, which) > 1 ? 2 : pack->operand[which].transposes][wide];
}

static void describe_operand(const tj_problem *view, const tj_pack *pack, tj_which which, tj_template_params *fill)
{
    const tj_matrix *const from = tj_problem_matrix(view, which);
    const tj_lines lines = tj_problem_number_lines(view, which);
    char name[TJ_TEMPLATE_NAME_BYTES];

    tj_template_set(fill, name_of("packs", which, name), pack->operand[which].is_packed ? "pack/operand.cuh" : "");
    tj_template_set_flag(fill, name_of("shares", which, name), is_broadcast(view, which));
    if (!pack->operand[which].is_packed)
        return;
    tj_template_set_flag(fill, name_of("transposes", which, name), pack->operand[which].transposes);
    tj_template_set(fill, name_of("pack", which, name), function_of(view, pack, which));
    tj_template_set(fill, name_of("first_of", which, name),
                    which == TJ_MATRIX_N && pack->operand[TJ_MATRIX_M].is_packed ? "gridDim.x - 1 - blockIdx.x" : "blockIdx.x");
    tj_template_set_int(fill, name_of("from_ld", which, name), from->ld);
    if (is_broadcast(view, which))
        tj_template_set(fill, name_of("from_stride", which, name), ""); /* the source has none */
    else
        tj_template_set_int(fill, name_of("from_stride", which, name), from->stride > 0 ? from->stride : 0);
    tj_template_set(fill, name_of("from_lines", which, name), lines.count_name);
    tj_template_set(fill, name_of("from_line", which, name), lines.width_name);
    tj_template_set_int(fill, which == TJ_MATRIX_M ? "m_lines" : "n_lines", tj_pack_lines(view, pack, which));
}

/* Are all packed operands shared by all products? */
static bool is_packed_once(const tj_problem *view, const tj_pack *pack)
{
    for (int i = 0; i < 2; i++)
        if (pack->operand[i].is_packed && !is_broadcast(view, both[i]))
            return false;
    return view->batch > 1;
}

static int32_t callers_of(const tj_launch_form *form, tj_which which)
{
    return form->is_swapped ? TJ_MATRIX_N - (int32_t)which : (int32_t)which;
}

/* Reserve a slice at the current end of the workspace. */
static void make_room(const tj_problem *view, const tj_pack *pack, tj_which which, tj_launch_form *form)
{
    const int32_t slice = pack->operand[which].slice;
    int64_t bytes = 0;

    (void)packed_bytes(view, pack, which, tj_step_product(form)->splits, &bytes); /* cannot fail: resolve checked it */
    form->slice[slice] = tj_ceil_div(form->workspace_bytes, SLICE_UNIT) * SLICE_UNIT;
    form->workspace_bytes = form->slice[slice] + bytes;
    if (is_wide(view, pack, which))
        form->align[callers_of(form, which)] = CHUNK_BYTES / tj_facts_of(tj_widened_type(view, which))->bytes /
                                               numbers_of(view, which) *
                                               tj_facts_of(tj_problem_matrix(view, which)->type)->bytes;
}

/* Replace the source's M or N in the arguments by the packed copy in the workspace. */
static void redirect(tj_launch_step *step, int32_t callers, int32_t slice)
{
    for (int i = 0; i < step->arg_count; i++)
        if (step->arg[i].kind == TJ_ARG_POINTER && step->arg[i].index == callers)
            step->arg[i] = (tj_argument){TJ_ARG_WORKSPACE, slice};
}

/* The pack kernel reads the caller's matrices and writes the workspace, from which the product reads. */
static void list_args(const tj_problem *view, const tj_pack *pack, tj_launch_form *form, tj_launch_step *step)
{
    tj_launch_step *const product = tj_step_product(form);
    const tj_problem moved = tj_pack_moved(view, pack);

    tj_step_list_args(&moved, form->is_swapped, true, product->splits <= 1, product);
    for (int i = 0; i < 2; i++)
        if (pack->operand[i].is_packed) {
            const int32_t callers = callers_of(form, both[i]);

            tj_step_add_arg(step, true, TJ_ARG_POINTER, callers);
            redirect(product, callers, pack->operand[i].slice);
        }
    for (int i = 0; i < 2; i++)
        if (pack->operand[i].is_packed)
            tj_step_add_arg(step, true, TJ_ARG_WORKSPACE, pack->operand[i].slice);
}

static void print_parameter(tj_text *out, const char *before, const char *type, const char *pointer, const char *after)
{
    tj_text_append(out, before);
    tj_text_append(out, type);
    tj_text_append(out, " ");
    tj_text_append(out, pointer);
    tj_text_append(out, after);
}

/* Print the parameters of the pack kernel, in the order of list_args. */
static void print_parameters(const tj_pack *pack, const char *pointer, tj_template_params *fill)
{
    const bool m = pack->operand[0].is_packed, n = pack->operand[1].is_packed;
    tj_text out = TJ_TEXT_INIT(1024);

    if (m)
        print_parameter(&out, "const ", tj_template_get(fill, "m_from_t"), pointer, "M,\n");
    if (n)
        print_parameter(&out, "const ", tj_template_get(fill, "n_from_t"), pointer, "N,\n");
    if (m)
        print_parameter(&out, "", tj_template_get(fill, "m_tile_t"), "*", n ? "M_packed,\n" : "M_packed)\n");
    if (n)
        print_parameter(&out, "", tj_template_get(fill, "n_tile_t"), "*", "N_packed)\n");
    tj_template_take_lines(fill, "pack_parameters", &out);
}

/*
 * Choose the elements of P per block so that each thread writes 16 bytes, as far as the elements of P, from which the grid is
 * computed, can be divided that way.
 */
static int32_t elements_of_block(const tj_problem *view, const tj_pack *pack)
{
    const int64_t elements = view->j.extent * view->l.extent;
    int64_t chunks = 0, blocks, each;

    for (int i = 0; i < 2; i++)
        if (pack->operand[i].is_packed)
            chunks += tj_pack_lines(view, pack, both[i]) * (packed_ld(view, pack, both[i]) / chunk_of(view, both[i]));
    blocks = tj_ceil_div(chunks, THREADS);
    if (blocks > MOST_BLOCKS)
        blocks = MOST_BLOCKS; /* a thread then also writes the chunk one grid further on */
    each = blocks > 0 ? elements / blocks : 0;
    return each < 1 ? 1 : each < INT32_MAX ? (int32_t)each : INT32_MAX;
}

void tj_pack_describe(const tj_problem *view, const tj_pack *pack, tj_template_params *fill, tj_launch_form *form)
{
    tj_launch_step *step;

    tj_template_set_flag(fill, "packs", tj_pack_is_any(pack));
    tj_template_set_flag(fill, "pack_rounds",
                         tj_pack_is_any(pack) && view->compute == TJ_COMPUTE_TF32 && view->m.type == TJ_F32);
    tj_template_set_flag(fill, "pack_wide", is_wide_somewhere(view, pack));
    tj_template_set(fill, "pack_lines",
                    !is_any(view, pack, false)  ? ""
                    : packs_weights(view, pack) ? "pack/widen.cuh"
                                                : "pack/lines.cuh");
    tj_template_set_flag(fill, "pack_transposes", is_any(view, pack, true));
    tj_template_set(fill, "load_chunks", is_any(view, pack, false) || is_any(view, pack, true) ? "pack/load.cuh" : "");
    tj_template_set(fill, "pack_pairs", packs_pairs(view, pack) ? "pack/pairs.cuh" : "");
    tj_template_set(fill, "load_pairs", is_wide_somewhere(view, pack) ? "load_pairs<WIDE>" : "load_pairs");
    tj_template_set_flag(fill, "pack_bytes", tj_facts_of(view->m.type)->bytes == 1);
    tj_template_set(fill, "load_chunk", is_wide_somewhere(view, pack) ? "load_chunk<WIDE>" : "load_chunk");
    for (int i = 0; i < 2; i++)
        describe_operand(view, pack, both[i], fill);
    if (!tj_pack_is_any(pack))
        return;
    for (int i = 0; i < 2; i++)
        if (pack->operand[i].is_packed)
            make_room(view, pack, both[i], form);
    step = tj_step_add(view, "pack", true, fill, form);
    step->grid = is_packed_once(view, pack) ? TJ_GRID_ONCE : TJ_GRID_ELEMENTS;
    tj_step_set_blocks(step, THREADS, 1, elements_of_block(view, pack));
    if (is_any(view, pack, true))
        step->static_shared_bytes = TILE_BYTES * (tile_edge(view) + 1);
    tj_step_product(form)->overlaps = 1;
    if (!fill)
        return;
    list_args(view, pack, form, step);
    print_parameters(pack, tj_step_pointer(view, form, step, false), fill);
}

/* The padding of packed lines is zero, as is everything outside a map; so the map leaves it out. */
void tj_pack_map(const tj_problem *view, const tj_pack *pack, tj_which which, tj_tensor_map *map)
{
    const tj_lines lines = packed_lines(view, pack, which);

    map->matrix = pack->operand[which].slice;
    map->type = tj_widened_type(view, which);
    map->lines = tj_pack_lines(view, pack, which);
    map->width = lines.width.extent > 0 ? lines.width.extent : 1;
    map->ld = packed_ld(view, pack, which);
}

/* ---- counts ------------------------------------------------------------------------------------------------------- */

enum { CHUNKS = TILE_BYTES / CHUNK_BYTES, WORDS = TILE_BYTES / 4 }; /* of a line of a tile */

/* load_chunk by `x` neighbouring threads on a line and `y` lines. */
static void count_loads(const tj_problem *view, const tj_pack *pack, tj_which which, int32_t x, int32_t y, tj_traffic *traffic)
{
    const tj_matrix *const from = tj_problem_matrix(view, which);
    const tj_lines lines = tj_problem_number_lines(view, which);
    const int32_t width = chunk_of(view, which), numbers = numbers_of(view, which);
    const int32_t at_once =
        is_wide(view, pack, which) ? width / numbers : 1; /* else a byte is loaded once for each number in it */
    const int64_t bytes = tj_facts_of(from->type)->bytes, count = lines.count.extent,
                  matrices = matrices_of(view, which, view->batch);
    const int64_t chunks = tj_ceil_div(lines.width.extent, width),
                  elements = lines.width.extent / (at_once > 1 ? numbers : 1) * count * matrices;
    const int64_t each = chunks > 0 ? tj_ceil_div(lines.width.extent, chunks) : 0;
    const bool goes_on = y == 1 && chunks > 0 && chunks < TJ_WARP; /* a warp continues from one line to the next */
    const int32_t side = goes_on ? (int32_t)chunks : x;
    tj_traffic loads = {.is_estimate = 1};
    tj_access access = tj_tiled_access(side, goes_on ? x / side : y, chunks, count, width / numbers * bytes, from->ld * bytes);

    access.element_bytes = (int32_t)bytes;
    access.width = at_once;
    access.axis[2] = tj_batch_axis(matrices, from->stride, bytes);
    access.repeat = at_once > 1 ? width / numbers / at_once : each; /* nothing is loaded past the end of a line */
    tj_traffic_add(&loads, &access);
    traffic->elements += elements;
    traffic->bytes += elements * bytes;
    traffic->requests += y > 1 ? loads.requests : access.repeat * matrices * tj_ceil_div(count * chunks, TJ_WARP);
    traffic->wavefronts += loads.wavefronts;
    traffic->sectors += loads.sectors;
    traffic->merged += loads.merged;
    traffic->is_estimate = 1;
}

/* pack_lines: one chunk after the other, with the padding. */
static void count_lines(const tj_problem *view, const tj_pack *pack, tj_which which, tj_pack_counts *counts)
{
    const int32_t width = chunk_of(view, which), bytes = CHUNK_BYTES / width;
    const int64_t elements = packed_ld(view, pack, which) * tj_pack_lines(view, pack, which),
                  matrices = matrices_of(view, which, view->batch);
    tj_access access = tj_tiled_access(THREADS, 1, elements / width, 1, CHUNK_BYTES, 0);

    count_loads(view, pack, which, THREADS, 1, &counts->load);
    access.element_bytes = bytes;
    access.width = width;
    access.axis[2] = tj_batch_axis(matrices, elements, bytes);
    tj_traffic_add(&counts->store, &access);
    counts->blocks += tj_ceil_div(elements / width, THREADS) * matrices;
}

/*
 * transpose_lines: store chunks to a tile in shared memory, and load words of several lines, as many lines as a chunk has
 * elements.
 */
static void count_transpose(const tj_problem *view, const tj_pack *pack, tj_which which, tj_pack_counts *counts)
{
    const int32_t width = chunk_of(view, which), bytes = CHUNK_BYTES / width, edge = tile_edge(view), word = edge / WORDS;
    const int64_t ld = packed_ld(view, pack, which), lines = tj_pack_lines(view, pack, which);
    const int64_t matrices = matrices_of(view, which, view->batch);
    const int64_t tiles = tj_ceil_div(lines, edge) * tj_ceil_div(ld, edge) * matrices;
    tj_access access = tj_shared_access(CHUNKS, THREADS / CHUNKS, 4, WORDS, 4, 4, tiles * edge * CHUNKS / THREADS);

    count_loads(view, pack, which, CHUNKS, THREADS / CHUNKS, &counts->load);
    tj_traffic_add(&counts->shared_store, &access);
    access = tj_tiled_access(CHUNKS, WORDS, ld / width, tj_ceil_div(lines, word), (width * WORDS + 4) * 4, 4);
    access.is_shared = true;
    access.element_bytes = 4;
    access.repeat = width * matrices;
    tj_traffic_add(&counts->shared_load, &access);
    for (int32_t e = 0; e < word && e < lines; e++) {
        access = tj_tiled_access(CHUNKS, WORDS, ld / width, tj_ceil_div(lines - e, word), CHUNK_BYTES, word * ld * bytes);
        access.base = e * ld * bytes;
        access.element_bytes = bytes;
        access.width = width;
        access.axis[2] = tj_batch_axis(matrices, ld * lines, bytes);
        tj_traffic_add(&counts->store, &access);
    }
    counts->barriers += 2 * tiles;
    counts->blocks += tiles;
}

void tj_pack_count(const tj_problem *view, const tj_pack *pack, tj_counts *counts)
{
    for (int i = 0; i < 2; i++)
        if (pack->operand[i].is_packed && pack->operand[i].transposes)
            count_transpose(view, pack, both[i], &counts->pack);
        else if (pack->operand[i].is_packed)
            count_lines(view, pack, both[i], &counts->pack);
}
