/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks: the places that call a product, as libtilejit_blas.so wrote them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "programs.h"
#include "text.h"

enum { PRODUCTS = 10, STACKS = 3, FRAMES = 8, C_FRAMES = 3 /* next to those of Python */, MOST_STACK_BYTES = 1 << 20 };

/* Lines of a list of texts, malloc'ed. NULL: memory ran out. */
static char *join(const tj_json *list)
{
    tj_text text = TJ_TEXT_INIT(MOST_STACK_BYTES);
    char *lines = NULL;

    for (const tj_json *one = tj_json_first(list); one; one = tj_json_next(one)) {
        const char *frame = tj_json_text(one);

        tj_text_append(&text, frame ? frame : "?");
        tj_text_append(&text, "\n");
    }
    return tj_text_take(&text, &lines, NULL) == TJ_OK ? lines : NULL;
}

/* The same stack of another process is added up. */
static tj_status add(traced_product *product, traced_stack *one, tj_error *err)
{
    traced_stack **at = &product->stacks;

    if (!one->python || !one->c) {
        traced_stacks_free(one);
        return tj_fail_memory(err, "what was traced");
    }
    while (*at && (strcmp((*at)->python, one->python) != 0 || strcmp((*at)->c, one->c) != 0))
        at = &(*at)->next;
    if (*at) {
        (*at)->count += one->count;
        traced_stacks_free(one);
    } else {
        *at = one;
    }
    return TJ_OK;
}

tj_status traced_stacks_read(const tj_json *list, traced_product *product, tj_error *err)
{
    tj_status status = TJ_OK;

    for (const tj_json *from = tj_json_first(list); status == TJ_OK && from; from = tj_json_next(from)) {
        traced_stack *one = calloc(1, sizeof *one);

        if (!one)
            return tj_fail_memory(err, "what was traced");
        one->count = tj_json_int(tj_json_get(from, "count"));
        one->python = join(tj_json_get(from, "python"));
        one->c = join(tj_json_get(from, "c"));
        status = add(product, one, err);
    }
    return status;
}

tj_status traced_stacks_merge(traced_product *product, traced_stack *others, tj_error *err)
{
    tj_status status = TJ_OK;

    for (traced_stack *next; others; others = next) {
        next = others->next;
        others->next = NULL;
        if (status == TJ_OK)
            status = add(product, others, err);
        else
            traced_stacks_free(others);
    }
    return status;
}

void traced_stacks_free(traced_stack *first)
{
    for (traced_stack *next; first; first = next) {
        next = first->next;
        free(first->python);
        free(first->c);
        free(first);
    }
}

static int by_count(const void *a, const void *b)
{
    const traced_stack *x = *(traced_stack *const *)a, *y = *(traced_stack *const *)b;

    return (x->count < y->count) - (x->count > y->count);
}

size_t traced_stacks_top(const traced_product *product, const traced_stack *top[TRACED_STACKS])
{
    const traced_stack *all[1024];
    size_t count = 0;

    for (const traced_stack *one = product->stacks; one && count < sizeof all / sizeof all[0]; one = one->next)
        all[count++] = one;
    if (count > 0)
        qsort(all, count, sizeof(void *), by_count);
    count = count < TRACED_STACKS ? count : TRACED_STACKS;
    memcpy(top, all, count * sizeof(void *));
    return count;
}

/* ---- reports ---------------------------------------------------------------------------------------------------------- */

static int print_frames(const char *lines, int most)
{
    int printed = 0;

    for (const char *end; printed < most && (end = strchr(lines, '\n')); lines = end + 1, printed++)
        cli_print(stdout, "%9s   %.*s\n", "", (int)(end - lines), lines);
    return printed;
}

void traced_stacks_print(const traced *all)
{
    char name[TJ_PROBLEM_TEXT_BYTES];
    const traced_stack *top[TRACED_STACKS];
    bool has_any = false;

    for (size_t i = 0; i < all->count; i++)
        has_any |= all->item[i].stacks != NULL;
    if (!has_any)
        return;
    cli_print(stdout, "\nThe stacks that call them (of the first 64 calls of a product, and of one in 16 after that):\n");
    for (size_t i = 0; i < all->count && i < PRODUCTS; i++) {
        const size_t count = traced_stacks_top(&all->item[i], top);

        if (count == 0)
            continue;
        if (all->item[i].is_known)
            tj_problem_print(&all->item[i].problem, name);
        cli_print(stdout, "\n%s\n", all->item[i].is_known ? name : all->item[i].what);
        for (size_t s = 0; s < count && s < STACKS; s++) {
            cli_print(stdout, "%9" PRId64 " calls\n", top[s]->count);
            (void)print_frames(top[s]->c, print_frames(top[s]->python, FRAMES) > 0 ? C_FRAMES : FRAMES);
        }
    }
}

static void answer_lines(tj_json *list, const char *lines)
{
    char frame[1024];

    for (const char *end; (end = strchr(lines, '\n')); lines = end + 1) {
        (void)snprintf(frame, sizeof frame, "%.*s", (int)(end - lines), lines);
        tj_json_add_foreign(list, NULL, frame);
    }
}

void traced_stacks_answer(tj_json *product, const traced_product *from)
{
    tj_json *list = from->stacks ? cli_add_list(product, "stacks") : NULL;
    const traced_stack *top[TRACED_STACKS];
    const size_t count = traced_stacks_top(from, top);

    for (size_t i = 0; i < count; i++) {
        tj_json *one = cli_append_object(list);

        cli_set_int(one, "count", top[i]->count);
        answer_lines(cli_add_list(one, "python"), top[i]->python);
        answer_lines(cli_add_list(one, "c"), top[i]->c);
    }
}
