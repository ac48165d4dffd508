/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_table: finished plans, and one build per key.
 *
 * A hit takes no lock: the table is an array of pointers to finished plans, each published once, last, with release
 * order. When the array is half full a larger one replaces it; the old arrays stay until the table is freed, because a
 * reader may still be in one (together they are smaller than the last). Plans are never removed, so a pointer to one
 * stays good as long as the context.
 *
 * A miss is built outside the lock by the first thread that asks; the others wait for it.
 */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hash.h"

typedef struct plan_array {
    struct plan_array *older; /* kept for readers that entered before it was replaced */
    size_t capacity;          /* a power of two */
    _Atomic(tj_plan *) slot[];
} plan_array;

/* A plan being built. Lives on the builder's stack. */
typedef struct plan_build {
    struct plan_build *next;
    const tj_plan_key *key;
    unsigned waiting;
    bool is_done;
    tj_status status;
    tj_error error;
    const tj_plan *plan;
} plan_build;

struct tj_plan_table {
    _Atomic(plan_array *) array;
    size_t count;       /* under lock */
    plan_build *builds; /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t done; /* a build finished, or its last waiter left */
};

enum { FIRST_CAPACITY = 64 };

static plan_array *array_create(size_t capacity, plan_array *older)
{
    plan_array *array = calloc(1, sizeof *array + capacity * sizeof array->slot[0]);

    if (array) {
        array->older = older;
        array->capacity = capacity;
    }
    return array;
}

struct tj_plan_table *tj_plan_table_create(void)
{
    struct tj_plan_table *table = calloc(1, sizeof *table);
    plan_array *array = array_create(FIRST_CAPACITY, NULL);

    if (!table || !array) {
        free(table);
        free(array);
        return NULL;
    }
    atomic_init(&table->array, array);
    pthread_mutex_init(&table->lock, NULL);
    pthread_cond_init(&table->done, NULL);
    return table;
}

void tj_plan_table_free(struct tj_plan_table *table)
{
    plan_array *array;

    if (!table)
        return;
    array = atomic_load(&table->array);
    for (size_t i = 0; i < array->capacity; i++)
        tj_plan_free(atomic_load(&array->slot[i]));
    while (array) {
        plan_array *older = array->older;
        free(array);
        array = older;
    }
    pthread_cond_destroy(&table->done);
    pthread_mutex_destroy(&table->lock);
    free(table);
}

static bool key_is_equal(const tj_plan_key *a, const tj_plan_key *b)
{
    return a->hash == b->hash && a->context_id == b->context_id && memcmp(a->problem, b->problem, sizeof *a->problem) == 0 &&
           (a->config && b->config ? memcmp(a->config, b->config, sizeof *a->config) == 0 : a->config == b->config);
}

/*
 * Where the plan of a key is, or the empty slot that it would take. *plan: what was found there, for a slot that was empty may have
 * been taken since, by any key.
 */
static _Atomic(tj_plan *) *slot_of(plan_array *array, const tj_plan_key *key, tj_plan **plan)
{
    for (size_t i = key->hash & (array->capacity - 1);; i = (i + 1) & (array->capacity - 1)) {
        *plan = atomic_load_explicit(&array->slot[i], memory_order_acquire);
        if (!*plan || key_is_equal(&(*plan)->key, key))
            return &array->slot[i];
    }
}

/* Under the lock. */
static void array_put(plan_array *array, tj_plan *plan)
{
    tj_plan *before;

    atomic_store_explicit(slot_of(array, &plan->key, &before), plan, memory_order_release);
}

const tj_plan *tj_plan_table_find(const struct tj_plan_table *table, const tj_plan_key *key)
{
    tj_plan *plan;

    (void)slot_of(atomic_load_explicit(&table->array, memory_order_acquire), key, &plan);
    return plan;
}

/* Under the lock. */
static tj_status table_insert(struct tj_plan_table *table, tj_plan *plan, tj_error *err)
{
    plan_array *array = atomic_load_explicit(&table->array, memory_order_relaxed);

    if (2 * (table->count + 1) > array->capacity) {
        plan_array *larger = array_create(2 * array->capacity, array);

        if (!larger)
            return tj_fail_memory(err, "the table of plans");
        for (size_t i = 0; i < array->capacity; i++) {
            tj_plan *moved = atomic_load_explicit(&array->slot[i], memory_order_relaxed);

            if (moved)
                array_put(larger, moved);
        }
        atomic_store_explicit(&table->array, larger, memory_order_release);
        array = larger;
    }
    array_put(array, plan);
    table->count++;
    return TJ_OK;
}

bool tj_plan_table_replace(struct tj_plan_table *table, tj_plan *plan)
{
    plan_array *array;
    tj_plan *present;
    bool is_new;

    pthread_mutex_lock(&table->lock);
    array = atomic_load_explicit(&table->array, memory_order_relaxed);
    (void)slot_of(array, &plan->key, &present);
    is_new = !tj_plan_has_config_of(plan, present);
    if (is_new) {
        plan->replaced = present;
        array_put(array, plan);
    }
    pthread_mutex_unlock(&table->lock);
    if (!is_new)
        tj_plan_free(plan);
    return is_new;
}

static plan_build *find_build(struct tj_plan_table *table, const tj_plan_key *key)
{
    plan_build *found = table->builds;

    while (found && !key_is_equal(found->key, key))
        found = found->next;
    return found;
}

static tj_status report(const plan_build *finished, const tj_plan **plan, tj_error *err)
{
    *plan = finished->plan;
    if (finished->status != TJ_OK && err)
        *err = finished->error;
    return finished->status;
}

tj_status tj_plan_table_obtain(tj_context *context, const tj_scope *scope, const tj_plan_key *key, const tj_plan **plan,
                               tj_error *err)
{
    struct tj_plan_table *table = context->plans;
    plan_build mine = {0}, *other;
    tj_plan *built = NULL;
    tj_status status;

    pthread_mutex_lock(&table->lock);
    *plan = tj_plan_table_find(table, key);
    if (*plan) {
        pthread_mutex_unlock(&table->lock);
        return TJ_OK;
    }
    other = find_build(table, key);
    if (other) {
        other->waiting++;
        while (!other->is_done)
            pthread_cond_wait(&table->done, &table->lock);
        status = report(other, plan, err);
        other->waiting--;
        pthread_cond_broadcast(&table->done);
        pthread_mutex_unlock(&table->lock);
        return status;
    }
    mine.key = key;
    mine.next = table->builds;
    table->builds = &mine;
    pthread_mutex_unlock(&table->lock);

    mine.status = tj_plan_build(context, scope, key, &built, &mine.error);

    pthread_mutex_lock(&table->lock);
    if (mine.status == TJ_OK)
        mine.status = table_insert(table, built, &mine.error);
    if (mine.status == TJ_OK) {
        mine.plan = built;
        atomic_fetch_add_explicit(&context->stats.plans, 1, memory_order_relaxed);
    }
    for (plan_build **link = &table->builds; *link; link = &(*link)->next)
        if (*link == &mine) {
            *link = mine.next;
            break;
        }
    mine.is_done = true;
    pthread_cond_broadcast(&table->done);
    /* The waiters read this stack frame: stay until the last has left. */
    while (mine.waiting > 0)
        pthread_cond_wait(&table->done, &table->lock);
    status = report(&mine, plan, err);
    pthread_mutex_unlock(&table->lock);
    if (status != TJ_OK)
        tj_plan_free(built);
    return status;
}

/* ---- keys --------------------------------------------------------------------------------------------------------- */

static void forget_extent(tj_dim *dim)
{
    if (dim->mode == TJ_DIM_ANY)
        dim->extent = 0;
}

/* The key borrows problem and config, or storage where an extent must be forgotten first. */
static tj_plan_key make_key(uint64_t context_id, const tj_problem *problem, const tj_config *config, tj_problem *storage)
{
    tj_plan_key key = {context_id, problem, config, 0};

    if (tj_has_any_extent(problem)) {
        *storage = *problem;
        forget_extent(&storage->j);
        forget_extent(&storage->k);
        forget_extent(&storage->l);
        key.problem = storage;
    }
    key.hash = tj_hash_bytes64(key.problem, sizeof *key.problem) + context_id * UINT64_C(0x9e3779b97f4a7c15);
    if (config)
        key.hash ^= tj_hash_bytes64(config, sizeof *config);
    return key;
}

const tj_plan *tj_plan_find(const struct tj_plan_table *table, uint64_t context_id, const tj_problem *problem,
                            const tj_config *config, tj_plan_look *look)
{
    look->key = make_key(context_id, problem, config, &look->storage);
    return tj_plan_table_find(table, &look->key);
}

tj_status tj_plan_obtain(tj_context *context, const tj_scope *scope, const tj_problem *problem, const tj_config *config,
                         const tj_plan **plan, tj_error *err)
{
    tj_plan_look look;

    *plan = tj_plan_find(context->plans, scope->context_id, problem, config, &look);
    return *plan ? TJ_OK : tj_plan_table_obtain(context, scope, &look.key, plan, err);
}
