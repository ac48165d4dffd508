/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report: what was traced: a table, JSON, and a list of shapes.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "text.h"

enum { ROWS = 25, MOST_CSV_BYTES = 64 << 20 };

static double sum(const traced *all, double (*of)(const traced_product *))
{
    double us = 0;

    for (size_t i = 0; i < all->count; i++)
        us += of(&all->item[i]);
    return us;
}

static void name_product(const traced_product *product, char *text, size_t bytes)
{
    char problem[TJ_PROBLEM_TEXT_BYTES];

    if (!product->is_known) {
        (void)snprintf(text, bytes, "%s: %s", product->what, product->why);
        return;
    }
    tj_problem_print(&product->problem, problem);
    (void)snprintf(text, bytes, "%s", problem);
}

static void print_row(const traced_product *product)
{
    char name[TJ_PROBLEM_TEXT_BYTES + 256], ours[24] = "-", ratio[24] = "-", us[24] = "-";

    name_product(product, name, sizeof name);
    if (product->us > 0)
        (void)snprintf(us, sizeof us, "%.2f", product->us);
    if (product->ours_us > 0)
        (void)snprintf(ours, sizeof ours, "%.2f", product->ours_us);
    if (product->ours_us > 0 && product->us > 0)
        (void)snprintf(ratio, sizeof ratio, "%.2f", product->us / product->ours_us);
    cli_print(stdout, "%9" PRId64 " %10s %10s %-8s %7s %10s  %s\n", product->calls, us, ours, traced_by_word(product->by),
              ratio, cli_duration(traced_cublas_us(product)).text, name);
}

void traced_print(const traced *all)
{
    const double cublas = sum(all, traced_cublas_us), best = sum(all, traced_best_us);
    int64_t captured = 0, calls = 0;

    for (size_t i = 0; i < all->count; i++) {
        captured += all->item[i].captured;
        calls += all->item[i].calls;
    }
    cli_print(stdout, "%9s %10s %10s %-8s %7s %10s  %s\n", "calls", "cuBLAS us", "TileJIT us", "by", "times", "in all",
              "product");
    for (size_t i = 0; i < all->count && i < ROWS; i++)
        print_row(&all->item[i]);
    if (all->count > ROWS)
        cli_print(stdout, "%9s and %zu products more: --csv has all\n", "", all->count - ROWS);
    cli_print(stdout, "\n%" PRId64 " products of %zu kinds in %.1f s of %s: %s of the device by cuBLAS", calls, all->count,
              all->seconds, all->program, cli_duration(cublas).text);
    if (best > 0)
        cli_print(stdout, ", %s with TileJIT where it is faster (%.2f times)", cli_duration(best).text,
                  cli_ratio(cublas, best));
    cli_print(stdout, "\n");
    if (captured > 0)
        cli_print(stdout,
                  "%" PRId64
                  " of them were captured into graphs: each counts once, however often its graph was launched, with the "
                  "time of its other calls\n",
                  captured);
    if (all->missed > 0)
        cli_print(stdout, "%" PRId64 " more calls were of too many kinds to tell apart\n", all->missed);
    traced_stacks_print(all);
}

void traced_answer(tj_json *answer, const traced *all)
{
    tj_json *list = cli_add_list(answer, "products");

    cli_set_text(answer, "program", all->program);
    cli_set_real(answer, "seconds", all->seconds);
    cli_set_int(answer, "processes", all->processes);
    cli_set_int(answer, "missed", all->missed);
    cli_set_real(answer, "cublas_us", sum(all, traced_cublas_us));
    cli_set_real(answer, "best_us", sum(all, traced_best_us));
    for (size_t i = 0; i < all->count; i++) {
        const traced_product *product = &all->item[i];
        tj_json *one = cli_append_object(list);

        cli_set_text(one, "function", product->what);
        cli_set_int(one, "calls", product->calls);
        cli_set_int(one, "captured", product->captured);
        cli_set_int(one, "timed", product->timed);
        cli_set_real(one, "cublas_us", product->us);
        cli_set_real(one, "tilejit_us", product->ours_us);
        cli_set_text(one, "by", traced_by_word(product->by));
        if (product->is_known)
            cli_set_problem(one, &product->problem);
        else
            cli_set_text(one, "why", product->why);
        traced_stacks_answer(one, product);
    }
}

tj_status traced_csv(const tj_output *out, const traced *all, tj_error *err)
{
    char cell[TJ_PROBLEM_FIELD_BYTES], note[160];
    tj_text text = TJ_TEXT_INIT(MOST_CSV_BYTES);
    const char *field;
    char *bytes;

    tj_text_append(&text, "count,j,k,l");
    for (size_t i = 0; (field = tj_problem_field(i)); i++) {
        tj_text_append(&text, ",");
        tj_text_append(&text, field);
    }
    tj_text_append(&text, " # microseconds of a call\n");
    for (size_t i = 0; i < all->count; i++) {
        const traced_product *product = &all->item[i];
        const tj_problem *problem = &product->problem;

        if (!product->is_known)
            continue;
        tj_text_print(&text, "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64, product->calls, problem->j.extent,
                      problem->k.extent, problem->l.extent);
        for (size_t f = 0; (field = tj_problem_field(f)); f++) {
            tj_problem_get(problem, field, cell);
            tj_text_append(&text, ",");
            tj_text_append(&text, cell);
        }
        (void)snprintf(note, sizeof note, " # cuBLAS %.2f, TileJIT %.2f %s\n", product->us, product->ours_us,
                       traced_by_word(product->by));
        tj_text_append(&text, note);
    }
    if (tj_text_take(&text, &bytes, err) == TJ_OK) {
        (void)cli_write_output(out, bytes, strlen(bytes), err);
        free(bytes);
    }
    return err->status;
}
