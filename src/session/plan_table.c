/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan_table: finished plans, one build per key, and room for new ones.
 *
 * A hit takes no lock: the table is an array of pointers to finished plans, each published once, last. When the array is half
 * full, or plans leave, another one replaces it.
 *
 * Each thread remembers the plan that it found last, and the epoch of the table before it looked. A new epoch begins whenever a
 * plan leaves, and no two tables ever have the same: so while the epoch is that one, the plan is still there.
 *
 * A miss is built outside the lock by the first thread that asks; the others wait for it.
 *
 * Plans leave when there are more of them, or more bytes, than the table may hold, and when another takes their place. One that
 * is held, or that a graph may launch, is not chosen to leave. An evicted plan is retired: no look-up finds it any more, but a
 * thread may have found it just before. It is freed when every thread that had entered by then has left (readers.h), and no
 * reference remains. This is checked whenever a plan is added or evicted; no thread waits for it.
 */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "error.h"
#include "events.h"
#include "hash.h"
#include "missing.h"

typedef struct plan_array {
    struct plan_array *next_retired;
    tj_grace grace;  /* of a retired one */
    size_t capacity; /* a power of two */
    _Atomic(tj_plan *) slot[];
} plan_array;

/* A plan being built. Lives on the builder's stack. */
typedef struct plan_build {
    struct plan_build *next;
    const tj_plan_key *key;
    tj_effort effort;
    unsigned waiting;
    bool is_done;
    tj_status status;
    tj_error error;
    const tj_plan *plan; /* held while this lives */
} plan_build;

struct tj_plan_table {
    _Atomic(plan_array *) array;
    _Atomic uint64_t epoch;
    atomic_uint time;
    tj_readers *readers;
    tj_plan_builder *const build;
    const int64_t most_plans, most_bytes;

    pthread_mutex_t lock;
    pthread_cond_t done; /* a build finished, or its last waiter left */
    /* Under the lock: */
    size_t count;
    int64_t bytes;
    plan_build *builds;
    tj_plan *retired;
    plan_array *retired_arrays;
};

enum { FIRST_CAPACITY = 64 };

static _Atomic uint64_t epochs; /* of all tables of the process */
static _Thread_local __attribute__((tls_model("initial-exec"))) struct {
    uint64_t epoch; /* 0: none */
    const tj_plan *plan;
    const tj_kernel *kernel; /* its own */
} last;

static void begin_epoch(struct tj_plan_table *table)
{
    atomic_store(&table->epoch, atomic_fetch_add(&epochs, 1) + 1);
}

static plan_array *array_create(size_t capacity)
{
    plan_array *array = calloc(1, sizeof *array + capacity * sizeof array->slot[0]);

    if (array)
        array->capacity = capacity;
    return array;
}

struct tj_plan_table *tj_plan_table_create(tj_plan_builder *build, int64_t most_plans, int64_t most_bytes)
{
    struct tj_plan_table *table = malloc(sizeof *table);
    const struct tj_plan_table empty = {.build = build, .most_plans = most_plans, .most_bytes = most_bytes};
    plan_array *array = array_create(FIRST_CAPACITY);
    tj_readers *readers = tj_readers_create();

    if (!table || !array || !readers) {
        free(table);
        free(array);
        tj_readers_free(readers);
        return NULL;
    }
    memcpy(table, &empty, sizeof empty);
    table->readers = readers;
    atomic_init(&table->array, array);
    begin_epoch(table);
    pthread_mutex_init(&table->lock, NULL);
    pthread_cond_init(&table->done, NULL);
    return table;
}

tj_readers *tj_plan_table_readers(struct tj_plan_table *table)
{
    return table->readers;
}

static void free_arrays(plan_array *array)
{
    while (array) {
        plan_array *next = array->next_retired;

        free(array);
        array = next;
    }
}

static void free_plans(tj_plan *plan)
{
    while (plan) {
        tj_plan *next = plan->next_retired;

        tj_plan_free(plan);
        plan = next;
    }
}

/* No thread uses the context any more, so every plan is freed, held or not; holds among plans are counted, not followed. */
void tj_plan_table_free(struct tj_plan_table *table)
{
    plan_array *array;

    if (!table)
        return;
    array = atomic_load(&table->array);
    for (size_t i = 0; i < array->capacity; i++) {
        tj_plan *plan = atomic_load(&array->slot[i]);

        if (plan) {
            plan->next_retired = table->retired;
            table->retired = plan;
        }
    }
    for (tj_plan *plan = table->retired; plan; plan = plan->next_retired) {
        atomic_store(&plan->fallback, NULL);
        plan->loan.lender = NULL;
    }
    free_plans(table->retired);
    free_arrays(table->retired_arrays);
    free(array);
    tj_readers_free(table->readers);
    pthread_cond_destroy(&table->done);
    pthread_mutex_destroy(&table->lock);
    free(table);
}

unsigned tj_plan_table_time(const struct tj_plan_table *table)
{
    return atomic_load_explicit(&table->time, memory_order_relaxed);
}

/* ---- plans ---------------------------------------------------------------------------------------------------- */

void tj_plan_free(tj_plan *plan)
{
    if (!plan)
        return;
    tj_plan_release(atomic_load(&plan->fallback));
    tj_plan_release(plan->loan.lender);
    if (plan->is_evicted)
        tj_image_let_go(plan->context, &plan->program.image);
    tj_program_drop(&plan->program);
    free(plan);
}

bool tj_plan_has_config_of(const tj_plan *a, const tj_plan *b)
{
    if (tj_plan_is_stand_in(a) || tj_plan_is_stand_in(b))
        return false;
    return memcmp(tj_source_config(a->program.source), tj_source_config(b->program.source), sizeof(tj_config)) == 0;
}

tj_plan *tj_plan_create(tj_context *context, const tj_plan_key *key)
{
    tj_plan *plan = calloc(1, sizeof *plan);

    if (!plan)
        return NULL;
    plan->context = context;
    plan->bytes = (int64_t)sizeof *plan;
    plan->key = *key;
    plan->request = *key->request;
    plan->request.given = *key->problem;
    plan->key.problem = &plan->request.given;
    plan->key.request = &plan->request;
    if (key->config) {
        plan->config = *key->config;
        plan->key.config = &plan->config;
    }
    return plan;
}

/* ---- look-ups ------------------------------------------------------------------------------------------------------ */

/*
 * Return the slot of a key's plan, or the empty slot that it would take. *plan: the plan found there, since an empty slot may
 * have been taken meanwhile, by any key.
 */
static _Atomic(tj_plan *) *slot_of(plan_array *array, const tj_plan_key *key, tj_plan **plan)
{
    for (size_t i = key->hash & (array->capacity - 1);; i = (i + 1) & (array->capacity - 1)) {
        *plan = atomic_load(&array->slot[i]); /* in the order of all readers' steps: see readers.h */
        if (!*plan || tj_plan_key_is_equal(&(*plan)->key, key))
            return &array->slot[i];
    }
}

/* Written at most once by each thread between two new plans, so that threads do not contend for the cache line. */
static inline void touch(const struct tj_plan_table *table, const tj_plan *found)
{
    atomic_uint *const used = (atomic_uint *)(uintptr_t)&found->used;
    const unsigned now = tj_plan_table_time(table);

    if (__builtin_expect(atomic_load_explicit(used, memory_order_relaxed) != now, 0))
        atomic_store_explicit(used, now, memory_order_relaxed);
}

const tj_plan *tj_plan_table_find(struct tj_plan_table *table, const tj_plan_key *key)
{
    tj_plan *plan;

    (void)slot_of(atomic_load(&table->array), key, &plan);
    if (plan)
        touch(table, plan);
    return plan;
}

/* ---- coming and going, under the lock ------------------------------------------------------------------------------ */

static void retire(struct tj_plan_table *table, tj_plan *plan)
{
    begin_epoch(table); /* before the check for threads that may have found it */
    plan->grace = tj_grace_begin();
    plan->next_retired = table->retired;
    table->retired = plan;
    atomic_store(&plan->is_retired, true);
}

/* From the table's own array, or from what replaces it. */
static void put(plan_array *array, tj_plan *plan)
{
    tj_plan *before;

    atomic_store(slot_of(array, &plan->key, &before), plan);
}

/* Copy the plans that stay into an array of that capacity. False: out of memory, and nothing has changed. */
static bool rebuild(struct tj_plan_table *table, size_t capacity, const tj_plan *const *leaving, size_t leaving_count)
{
    plan_array *before = atomic_load(&table->array), *after = array_create(capacity);
    size_t next = 0;

    if (!after)
        return false;
    for (size_t i = 0; i < before->capacity; i++) {
        tj_plan *plan = atomic_load(&before->slot[i]);

        if (plan && next < leaving_count && plan == leaving[next])
            next++; /* they stand in the order of the array */
        else if (plan)
            put(after, plan);
    }
    atomic_store(&table->array, after);
    before->grace = tj_grace_begin();
    before->next_retired = table->retired_arrays;
    table->retired_arrays = before;
    return true;
}

typedef struct candidate {
    tj_plan *plan;
    unsigned age;
    bool leaves;
    size_t place;
} candidate;

static int oldest_first(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    return x->age != y->age ? (x->age < y->age) - (x->age > y->age) : (x->place > y->place) - (x->place < y->place);
}

static int by_place(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    return (x->place > y->place) - (x->place < y->place);
}

/* Let the oldest go until what is left fits. Those that leave stay readable, and are retired. */
static void let_go(struct tj_plan_table *table, size_t most_plans, int64_t most_bytes)
{
    plan_array *array = atomic_load(&table->array);
    const unsigned now = tj_plan_table_time(table);
    candidate *all = calloc(table->count + 1, sizeof *all);
    const tj_plan **leaving = calloc(table->count + 1, sizeof(const tj_plan *));
    size_t count = 0, gone = 0;
    int64_t freed = 0;

    for (size_t i = 0; all && i < array->capacity; i++) {
        tj_plan *plan = atomic_load(&array->slot[i]);

        if (plan && atomic_load(&plan->holds) == 0 && !atomic_load(&plan->is_captured))
            all[count++] = (candidate){plan, now - atomic_load_explicit(&plan->used, memory_order_relaxed), false, i};
    }
    if (count > 0)
        qsort(all, count, sizeof *all, oldest_first);
    for (size_t i = 0; i < count && (table->count - gone > most_plans || table->bytes - freed > most_bytes); i++) {
        all[i].leaves = true;
        freed += all[i].plan->bytes;
        gone++;
    }
    if (gone > 0 && leaving) {
        qsort(all, count, sizeof *all, by_place);
        for (size_t i = 0, next = 0; i < count; i++)
            if (all[i].leaves)
                leaving[next++] = all[i].plan;
        if (rebuild(table, array->capacity, leaving, gone)) {
            for (size_t i = 0; i < gone; i++) {
                tj_plan *plan = (tj_plan *)(uintptr_t)leaving[i];

                plan->is_evicted = true;
                atomic_fetch_add_explicit(&plan->context->stats.evictions, 1, memory_order_relaxed);
                retire(table, plan);
            }
            table->count -= gone;
            table->bytes -= freed;
        }
    }
    free(leaving);
    free(all);
}

/* Evict down to seven eighths of the limit, so that not every new plan evicts another. */
static void make_room(struct tj_plan_table *table)
{
    if ((int64_t)table->count > table->most_plans || table->bytes > table->most_bytes)
        let_go(table, (size_t)(table->most_plans - table->most_plans / 8), table->most_bytes - table->most_bytes / 8);
}

/* A plan comes, in the place of that of its key, or of none. */
static tj_status insert(struct tj_plan_table *table, tj_plan *plan, tj_error *err)
{
    plan_array *array = atomic_load(&table->array);
    tj_plan *present;

    (void)slot_of(array, &plan->key, &present);
    if (!present && 2 * (table->count + 1) > array->capacity) {
        if (!rebuild(table, 2 * array->capacity, NULL, 0))
            return tj_fail_memory(err, "the table of plans");
        array = atomic_load(&table->array);
    }
    atomic_store(&plan->used, atomic_fetch_add(&table->time, 1) + 1);
    put(array, plan);
    table->bytes += plan->bytes - (present ? present->bytes : 0);
    table->count += !present;
    if (present)
        retire(table, present);
    return TJ_OK;
}

/*
 * Take from the lists the plans and arrays that no thread can be using. Free them without the lock: the driver may wait for the
 * device.
 */
static void collect(struct tj_plan_table *table, tj_plan **plans, plan_array **arrays)
{
    *plans = NULL;
    *arrays = NULL;
    for (tj_plan **link = &table->retired; *link;) {
        tj_plan *plan = *link;

        if (tj_grace_is_over(table->readers, &plan->grace) && atomic_load(&plan->holds) == 0 &&
            !atomic_load(&plan->is_captured)) {
            *link = plan->next_retired;
            plan->next_retired = *plans;
            *plans = plan;
        } else {
            link = &plan->next_retired;
        }
    }
    for (plan_array **link = &table->retired_arrays; *link;) {
        plan_array *array = *link;

        if (tj_grace_is_over(table->readers, &array->grace)) {
            *link = array->next_retired;
            array->next_retired = *arrays;
            *arrays = array;
        } else {
            link = &array->next_retired;
        }
    }
}

/* ---- coming and going ---------------------------------------------------------------------------------------------- */

static void tell_evicted(const tj_plan *plan)
{
    for (; plan; plan = plan->next_retired)
        if (!tj_plan_is_stand_in(plan) && plan->program.source && plan->is_evicted)
            tj_host_tell(&plan->context->host, TJ_EVENT_EVICTED, plan->program.source, (tj_outcome){0});
}

void tj_plan_tell_replaced(const tj_plan *plan)
{
    atomic_fetch_add_explicit(&plan->context->stats.replaced, 1, memory_order_relaxed);
    if (!tj_plan_is_stand_in(plan))
        tj_host_tell(&plan->context->host, TJ_EVENT_REPLACED, plan->program.source, (tj_outcome){0});
}

void tj_plan_table_sweep(struct tj_plan_table *table)
{
    plan_array *arrays;
    tj_plan *plans;

    do { /* what one held is free only after it */
        pthread_mutex_lock(&table->lock);
        collect(table, &plans, &arrays);
        pthread_mutex_unlock(&table->lock);
        tell_evicted(plans);
        free_plans(plans);
        free_arrays(arrays);
    } while (plans);
}

void tj_plan_table_trim(struct tj_plan_table *table, int64_t plans, int64_t bytes)
{
    pthread_mutex_lock(&table->lock);
    let_go(table, plans < 0 ? 0 : (size_t)plans, bytes < 0 ? 0 : bytes);
    pthread_mutex_unlock(&table->lock);
    tj_plan_table_sweep(table);
}

void tj_plan_table_count(struct tj_plan_table *table, uint64_t *plans, uint64_t *bytes)
{
    pthread_mutex_lock(&table->lock);
    *plans = table->count;
    *bytes = (uint64_t)table->bytes;
    pthread_mutex_unlock(&table->lock);
}

bool tj_plan_table_replace(struct tj_plan_table *table, tj_plan *plan)
{
    tj_plan *present;
    bool is_new;

    pthread_mutex_lock(&table->lock);
    (void)slot_of(atomic_load(&table->array), &plan->key, &present);
    is_new = present && !tj_plan_has_config_of(plan, present) && insert(table, plan, NULL) == TJ_OK;
    if (is_new)
        tj_plan_hold(plan);
    pthread_mutex_unlock(&table->lock);
    tj_plan_table_sweep(table);
    return is_new;
}

void tj_plan_table_succeed(struct tj_plan_table *table, const tj_plan *expected, tj_plan *successor)
{
    tj_plan *present;
    bool is_in;

    pthread_mutex_lock(&table->lock);
    (void)slot_of(atomic_load(&table->array), &successor->key, &present);
    is_in = present == expected && insert(table, successor, NULL) == TJ_OK;
    pthread_mutex_unlock(&table->lock);
    if (!is_in)
        tj_plan_free(successor);
}

/* ---- builds -------------------------------------------------------------------------------------------------------- */

static bool will_do(const tj_plan *plan, tj_effort effort)
{
    return plan && (effort != TJ_EFFORT_BEST || !tj_plan_is_stand_in(plan));
}

/* The build in progress for this key and effort. Efforts must match: a stand-in does not satisfy TJ_EFFORT_BEST. */
static plan_build *find_build(struct tj_plan_table *table, const tj_plan_key *key, tj_effort effort)
{
    plan_build *found = table->builds;

    while (found && !(tj_plan_key_is_equal(found->key, key) && found->effort == effort))
        found = found->next;
    return found;
}

static tj_status report(const plan_build *finished, const tj_plan **plan, tj_error *err)
{
    *plan = finished->plan;
    if (*plan)
        tj_plan_hold(*plan);
    if (finished->status != TJ_OK && err)
        *err = finished->error;
    return finished->status;
}

/* Under the lock, which is given back meanwhile. */
static tj_status wait_for(struct tj_plan_table *table, plan_build *other, const tj_plan **plan, tj_error *err)
{
    tj_status status;

    other->waiting++;
    while (!other->is_done)
        pthread_cond_wait(&table->done, &table->lock);
    status = report(other, plan, err);
    other->waiting--;
    pthread_cond_broadcast(&table->done);
    return status;
}

/*
 * Under the lock: into the table with it, held for the builder. One that a better one has overtaken is left to the caller. Does
 * it take another's place?
 */
static bool publish(tj_context *context, plan_build *mine, tj_plan **built)
{
    struct tj_plan_table *table = context->plans;
    tj_plan *present;

    (void)slot_of(atomic_load(&table->array), mine->key, &present);
    if (present && !tj_plan_is_stand_in(present)) {
        mine->plan = present;
        tj_plan_hold(present);
        return false;
    }
    mine->status = insert(table, *built, &mine->error);
    if (mine->status != TJ_OK)
        return false;
    mine->plan = *built;
    tj_plan_hold(*built);
    *built = NULL;
    make_room(table);
    return present != NULL;
}

tj_status tj_plan_table_obtain(tj_context *context, const tj_scope *scope, const tj_plan_key *key, tj_effort effort,
                               const tj_plan **plan, tj_error *err)
{
    struct tj_plan_table *table = context->plans;
    plan_build mine = {.key = key, .effort = effort}, *other;
    tj_plan *built = NULL, *present;
    bool replaces = false;
    tj_status status;

    *plan = NULL;
    if (tj_missing_recall(context->missing, &context->host, key, effort, err))
        return TJ_ERR_NO_COMPILER;
    pthread_mutex_lock(&table->lock);
    (void)slot_of(atomic_load(&table->array), key, &present);
    if (will_do(present, effort)) {
        tj_plan_hold(present);
        *plan = present;
        pthread_mutex_unlock(&table->lock);
        return TJ_OK;
    }
    other = find_build(table, key, effort);
    if (other) {
        status = wait_for(table, other, plan, err);
        pthread_mutex_unlock(&table->lock);
        return status;
    }
    mine.next = table->builds;
    table->builds = &mine;
    pthread_mutex_unlock(&table->lock);

    if (!present && key->is_asked_for) {
        atomic_fetch_add_explicit(&context->stats.misses, 1, memory_order_relaxed);
        tj_host_tell_problem(&context->host, TJ_EVENT_MISS, key->problem);
    }
    mine.status = table->build(context, scope, key, effort, &built, &mine.error);
    if (mine.status == TJ_ERR_NO_COMPILER)
        tj_missing_note(context->missing, key, effort, &mine.error);

    pthread_mutex_lock(&table->lock);
    if (mine.status == TJ_OK)
        replaces = publish(context, &mine, &built);
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
    if (replaces)
        tj_plan_tell_replaced(mine.plan);
    if (mine.plan)
        tj_plan_release(mine.plan); /* the report holds it too */
    tj_plan_free(built);
    tj_plan_table_sweep(table);
    return status;
}

/* ---- holds --------------------------------------------------------------------------------------------------------- */

void tj_plan_release(const tj_plan *released)
{
    tj_plan *plan = (tj_plan *)(uintptr_t)released;

    if (!plan)
        return;
    struct tj_plan_table *table = plan->context->plans;
    const bool was_retired = atomic_load(&plan->is_retired);

    /* A thread that retires it from now on frees it, sooner or later. */
    if (atomic_fetch_sub(&plan->holds, 1) == 1 && was_retired)
        tj_plan_table_sweep(table);
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
    tj_plan_key key = {.context_id = context_id, .problem = problem, .config = config};

    if (tj_has_any_extent(problem)) {
        *storage = *problem;
        forget_extent(&storage->j);
        forget_extent(&storage->k);
        forget_extent(&storage->l);
        key.problem = storage;
    }
    key.hash = tj_hash_bytes64(key.problem, tj_problem_bytes(key.problem)) + context_id * UINT64_C(0x9e3779b97f4a7c15);
    if (config)
        key.hash ^= tj_hash_bytes64(config, sizeof *config);
    return key;
}

const tj_plan *tj_plan_table_find_anywhere(struct tj_plan_table *table, const tj_problem *problem)
{
    plan_array *const array = atomic_load_explicit(&table->array, memory_order_acquire);
    tj_problem storage;
    const tj_plan_key key = make_key(0, problem, NULL, &storage);

    for (size_t i = 0; i < array->capacity; i++) {
        const tj_plan *plan = atomic_load_explicit(&array->slot[i], memory_order_acquire);

        if (plan && !plan->key.config && !tj_plan_is_stand_in(plan) && tj_problem_is_same(plan->key.problem, key.problem))
            return plan;
    }
    return NULL;
}

void tj_plan_prefetch_last(void)
{
    const uintptr_t first = (uintptr_t)last.plan; /* which may be gone */

    for (size_t at = 0; at < offsetof(tj_plan, request.given.epilogue.expression); at += TJ_CACHE_LINE)
        __builtin_prefetch((const void *)(first + at));
    tj_kernel_prefetch(last.kernel);
}

const tj_plan *tj_plan_find_last(struct tj_plan_table *table, uint64_t context_id, const tj_problem *problem)
{
    const tj_plan *plan = last.plan;

    if (last.epoch != atomic_load(&table->epoch) || plan->key.context_id != context_id ||
        !tj_problem_is_same(problem, &plan->request.given))
        return NULL;
    touch(table, plan);
    return plan;
}

const tj_plan *tj_plan_find(struct tj_plan_table *table, uint64_t context_id, const tj_problem *problem,
                            const tj_config *config, tj_plan_look *look)
{
    const uint64_t epoch = atomic_load(&table->epoch); /* before the look */
    const tj_plan *plan;

    look->key = make_key(context_id, problem, config, &look->storage);
    plan = tj_plan_table_find(table, &look->key);
    if (plan && !config && !tj_plan_is_stand_in(plan)) {
        last.epoch = epoch;
        last.plan = plan;
        last.kernel = plan->program.kernel;
    }
    return plan;
}

tj_status tj_plan_ask(tj_plan_key *key, tj_request *request, tj_error *err)
{
    const tj_status status = tj_request_make(key->problem, request, err);

    key->request = request;
    key->is_asked_for = true;
    return status;
}

/* Hold the plan of a problem, if it is good enough; NULL: its key is in *look. */
static const tj_plan *hold(tj_context *context, const tj_scope *scope, const tj_problem *problem, const tj_config *config,
                           tj_effort effort, tj_plan_look *look)
{
    atomic_int *const inside = tj_readers_enter(context->readers);
    const tj_plan *plan = tj_plan_find(context->plans, scope->context_id, problem, config, look);

    if (!will_do(plan, effort))
        plan = NULL;
    if (plan)
        tj_plan_hold(plan);
    tj_readers_leave(inside);
    return plan;
}

tj_status tj_plan_obtain(tj_context *context, const tj_scope *scope, const tj_request *request, const tj_config *config,
                         tj_effort effort, const tj_plan **plan, tj_error *err)
{
    tj_plan_look look;

    *plan = hold(context, scope, &request->given, config, effort, &look);
    look.key.request = request;
    return *plan ? TJ_OK : tj_plan_table_obtain(context, scope, &look.key, effort, plan, err);
}

tj_status tj_plan_obtain_for_caller(tj_context *context, const tj_scope *scope, const tj_problem *problem,
                                    const tj_config *config, const tj_plan **plan, tj_error *err)
{
    tj_request request;
    tj_plan_look look;
    tj_status status = TJ_OK;

    *plan = hold(context, scope, problem, config, TJ_EFFORT_BEST, &look);
    if (!*plan)
        status = tj_plan_ask(&look.key, &request, err);
    return *plan || status != TJ_OK ? status : tj_plan_table_obtain(context, scope, &look.key, TJ_EFFORT_BEST, plan, err);
}
