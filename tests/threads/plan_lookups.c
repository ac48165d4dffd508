/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * plan_lookups: threads look up and make plans whose keys all want the same slot of one table. Whatever a look-up finds, is
 * of the key that it asked for: another key's kernel would compute another product. Plans are hollow here: the table knows nothing
 * but their keys. A plain program: Criterion does not start under ThreadSanitizer.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "missing.h"
#include "plan.h"

enum { THREADS = 4, ROUNDS = 16000, LOOKS = 50 };

static tj_context context;
static pthread_barrier_t barrier;
static const tj_problem problem = TJ_PROBLEM_INIT(1, 1, 1, TJ_F32);
static atomic_int failures, found_early;

static tj_status make_hollow(tj_context *of, const tj_scope *scope, const tj_plan_key *key, tj_effort effort, tj_plan **out,
                             tj_error *err)
{
    (void)scope, (void)effort, (void)err;
    *out = calloc(1, sizeof **out);
    if (!*out)
        abort();
    (*out)->key = *key;
    (*out)->context = of;
    return TJ_OK;
}

static void expect(bool holds, const char *what)
{
    if (holds)
        return;
    if (atomic_fetch_add(&failures, 1) == 0)
        fprintf(stderr, "%s\n", what);
}

static void *look_and_make(void *payload)
{
    const size_t number = (size_t)(uintptr_t)payload;

    for (int round = 0; round < ROUNDS; round++) {
        const tj_plan_key key = {.context_id = number + 1, .problem = &problem, .hash = 5};
        const tj_plan *plan = NULL;

        if (number == 0)
            context.plans = tj_plan_table_create(make_hollow, 1 << 20, INT64_MAX);
        pthread_barrier_wait(&barrier);
        for (int i = 0; i < LOOKS * (int)number; i++) {
            plan = tj_plan_table_find(context.plans, &key);
            expect(!plan || plan->key.context_id == key.context_id, "a look-up found the plan of another key");
        }
        atomic_fetch_add(&found_early, plan != NULL);
        expect(tj_plan_table_obtain(&context, NULL, &key, TJ_EFFORT_BEST, &plan, NULL) == TJ_OK &&
                   plan->key.context_id == key.context_id,
               "a plan that was made is another key's");
        expect(tj_plan_table_find(context.plans, &key) == plan, "a plan that was made is not found");
        pthread_barrier_wait(&barrier);
        if (number == 0)
            tj_plan_table_free(context.plans);
    }
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];

    context.missing = tj_missing_create();
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++)
        if (pthread_create(&thread[i], NULL, look_and_make, (void *)(uintptr_t)i) != 0)
            abort();
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&barrier);
    tj_missing_free(context.missing);
    expect(atomic_load(&found_early) == 0, "a plan was there before it was made");
    printf("%d rounds of %d threads, %d failures\n", ROUNDS, THREADS, atomic_load(&failures));
    return atomic_load(&failures) == 0 ? 0 : 1;
}
