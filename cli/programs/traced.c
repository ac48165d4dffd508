/* SPDX-License-Identifier: Apache-2.0 */
/*
 * traced: the files that libtilejit_blas.so wrote, one of each process, and TileJIT's time of each product in them.
 */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "programs.h"

enum { MOST_FILE_BYTES = 256 << 20 };

double traced_cublas_us(const traced_product *product)
{
    return (double)product->calls * product->us;
}

double traced_best_us(const traced_product *product)
{
    const bool is_faster = product->ours_us > 0 && product->ours_us < product->us;

    return (double)product->calls * (is_faster ? product->ours_us : product->us);
}

const char *traced_by_word(traced_by by)
{
    static const char *const word[] = {"", "record", "measured", "model"};

    return word[by];
}

/* ---- files ----------------------------------------------------------------------------------------------------------- */

static bool is_same(const traced_product *a, const traced_product *b)
{
    char one[TJ_PROBLEM_ID_BYTES], other[TJ_PROBLEM_ID_BYTES];

    if (a->is_known != b->is_known)
        return false;
    if (!a->is_known)
        return strcmp(a->what, b->what) == 0 && strcmp(a->why, b->why) == 0;
    tj_problem_id(&a->problem, one);
    tj_problem_id(&b->problem, other);
    return strcmp(one, other) == 0;
}

/* Processes, and devices, that multiply alike: one row, with the mean of their times. */
static tj_status add(traced *all, traced_product *one, tj_error *err)
{
    const bool is_full = (all->count & (all->count - 1)) == 0; /* at powers of 2 */
    traced_product *larger, *same = NULL;

    for (size_t i = 0; !same && i < all->count; i++)
        if (is_same(&all->item[i], one))
            same = &all->item[i];
    if (same) {
        const double timed = (double)(same->timed + one->timed);

        same->us = timed > 0 ? (same->us * (double)same->timed + one->us * (double)one->timed) / timed : 0;
        same->calls += one->calls;
        same->captured += one->captured;
        same->timed += one->timed;
        return traced_stacks_merge(same, one->stacks, err);
    }
    larger = is_full ? realloc(all->item, (all->count ? 2 * all->count : 1) * sizeof *larger) : all->item;
    if (!larger) {
        traced_stacks_free(one->stacks);
        return tj_fail_memory(err, "what was traced");
    }
    all->item = larger;
    larger[all->count++] = *one;
    return TJ_OK;
}

static tj_status read_product(const tj_json *from, traced *all, tj_error *err)
{
    const tj_json *problem = tj_json_get(from, "problem");
    const char *config = tj_json_text(tj_json_get(from, "config")), *function = tj_json_text(tj_json_get(from, "function")),
               *shape = tj_json_text(tj_json_get(from, "shape")), *why = tj_json_text(tj_json_get(from, "why"));
    traced_product one = {.calls = tj_json_int(tj_json_get(from, "calls")),
                          .captured = tj_json_int(tj_json_get(from, "captured")),
                          .timed = tj_json_int(tj_json_get(from, "timed")),
                          .us = tj_json_number(tj_json_get(from, "us")),
                          .last_us = tj_json_number(tj_json_get(from, "tilejit_us"))};
    char *text = problem ? tj_json_print(problem) : NULL;

    if (problem && !text)
        return tj_fail_memory(err, "what was traced");
    one.is_known = text && tj_problem_from_json(text, &one.problem, NULL) == TJ_OK;
    free(text);
    if (one.is_known)
        one.problem = tj_problem_canonical(&one.problem);
    (void)snprintf(one.config, sizeof one.config, "%s", config ? config : "");
    (void)snprintf(one.what, sizeof one.what, "%s %s", function ? function : "?", shape ? shape : "");
    (void)snprintf(one.why, sizeof one.why, "%s", why ? why : "a problem of another version of TileJIT");
    if (traced_stacks_read(tj_json_get(from, "stacks"), &one, err) != TJ_OK) {
        traced_stacks_free(one.stacks);
        return err->status;
    }
    return add(all, &one, err);
}

static tj_status read_file(const char *folder, const char *name, traced *all, tj_error *err)
{
    char path[4096], *text;
    const char *program;
    tj_json *root = NULL;
    size_t size;
    tj_status status;

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    status = tj_input_read_whole(path, MOST_FILE_BYTES, &text, &size, err);
    if (status == TJ_OK)
        status = tj_json_read(text, size, &root, err);
    if (status == TJ_OK) {
        const char *why = tj_json_text(tj_json_get(root, "why"));

        all->processes += tj_json_first(tj_json_get(root, "products")) != NULL;
        all->missed += tj_json_int(tj_json_get(root, "missed"));
        program = tj_json_text(tj_json_get(root, "program"));
        if (program && !*all->program && (!why || !*why))
            (void)snprintf(all->program, sizeof all->program, "%s", program);
        if (program && why && strlen(why) > strlen(all->why)) /* the one that has more to say */
            (void)snprintf(all->why, sizeof all->why, "%s: %s", program, why);
    }
    for (const tj_json *one = tj_json_first(tj_json_get(root, "products")); status == TJ_OK && one; one = tj_json_next(one))
        status = read_product(one, all, err);
    tj_json_free(root);
    free(text);
    return status;
}

static int by_time(const void *a, const void *b)
{
    const double x = traced_cublas_us(a), y = traced_cublas_us(b);

    return (x < y) - (x > y);
}

void traced_drop(traced *all)
{
    for (size_t i = 0; i < all->count; i++)
        traced_stacks_free(all->item[i].stacks);
    free(all->item);
}

tj_status traced_read(const char *folder, traced *all, tj_error *err)
{
    DIR *listing = opendir(folder);
    const struct dirent *entry;
    tj_status status = TJ_OK;

    if (!listing)
        return tj_fail(err, TJ_ERR_IO, "cannot read %.300s, where the program's products were to be written", folder);
    while (status == TJ_OK && (entry = readdir(listing))) {
        const char *end = strrchr(entry->d_name, '.');

        if (end && strcmp(end, ".json") == 0)
            status = read_file(folder, entry->d_name, all, err);
    }
    (void)closedir(listing);
    if (all->count > 0)
        qsort(all->item, all->count, sizeof *all->item, by_time);
    return status;
}

/* ---- TileJIT's time -------------------------------------------------------------------------------------------------- */

static void take_nearest(const tj_neighbour *neighbour, void *payload)
{
    traced_product *product = payload;

    if (neighbour->distance == 0 && (product->ours_us == 0 || neighbour->us < product->ours_us)) {
        product->ours_us = neighbour->us;
        product->by = TRACED_BY_MEASURE;
    }
}

static void measure(tj_context *context, traced_product *product)
{
    tj_tune_options options = TJ_TUNE_OPTIONS_INIT;
    tj_tune_result result = TJ_TUNE_RESULT_INIT;

    options.seconds = 1;
    options.no_record = 1;
    if (tj_tune(context, &product->problem, &options, &result, NULL) == TJ_OK && !result.is_emulated) {
        product->ours_us = result.us;
        product->by = TRACED_BY_MEASURE;
    }
}

static void compare(tj_context *context, const tj_records *records, const tj_device_facts *device, bool must_measure,
                    traced_product *product)
{
    const tj_record *record = tj_records_find(records, &product->problem, device);
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;
    tj_config config = TJ_CONFIG_INIT;
    char text[TJ_CONFIG_TEXT_BYTES] = "";
    double us;

    if (record && tj_record_get_facts(record, &facts, NULL) == TJ_OK) {
        product->ours_us = facts.us;
        product->by = TRACED_BY_RECORD;
        return;
    }
    if (tj_context_choose_config(context, &product->problem, device, &config, NULL, NULL) == TJ_OK)
        tj_config_print(&config, text);
    if (product->last_us > 0 && strcmp(text, product->config) == 0) { /* else another kernel would be chosen now */
        product->ours_us = product->last_us;
        product->by = TRACED_BY_MEASURE;
        return;
    }
    if (tj_context_neighbours(context, &product->problem, device, take_nearest, product, NULL) != TJ_OK)
        return;
    if (product->by == TRACED_BY_NONE && must_measure)
        measure(context, product);
    if (product->by == TRACED_BY_NONE && *text && tj_estimate(device, &product->problem, &config, &us, NULL) == TJ_OK) {
        product->ours_us = us;
        product->by = TRACED_BY_MODEL;
    }
}

tj_status traced_compare(cli_call *call, const cli_machine_options *machine, bool must_measure, traced *all, tj_error *err)
{
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    tj_records *records = tj_records_create();
    tj_status status = records ? cli_open(call, machine, false, err) : tj_fail_memory(err, "the tuning records");

    if (status == TJ_OK)
        status = tj_device_current(call->context, &device, err);
    if (status == TJ_OK)
        status = tj_records_load(call->context, records, err);
    for (size_t i = 0; status == TJ_OK && i < all->count; i++)
        if (all->item[i].is_known)
            compare(call->context, records, &device, must_measure, &all->item[i]);
    tj_records_free(records);
    return status;
}
