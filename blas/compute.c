/* SPDX-License-Identifier: Apache-2.0 */
#include "compute.h"

#include <stdlib.h>

#include "error.h"
#include "graph_memory.h"
#include "log.h"

enum {
    WANTED_AFTER = 3,
    WANTED_UNTIMED = 64, /* calls of a product whose time is not known */
    WORTH_US = 1000,     /* of cuBLAS for a product, after which its kernel is worth a compile */
    JUDGED_AFTER = 7,
    CLEAR_AFTER = 3,      /* a kernel that is clearly slower is not launched more often */
    WATCHED_AT_FIRST = 9, /* calls of a decided product that are timed; then one of WATCHED_EACH */
    WATCHED_EACH = 64,
    REVIEWED_AFTER = 8,
    MOST_REVIEWS = 3
};

static struct {
    blas_choice choice;
    tj_log log;
} self;

void blas_compute_start(blas_choice choice)
{
    const char *level = secure_getenv("TILEJIT_LOG");

    self.choice = choice;
    self.log = (tj_log){level && (level[0] == 'i' || level[0] == 'd') ? TJ_LOG_INFO : TJ_LOG_OFF, tj_log_to_stderr, NULL};
    blas_making_start(choice, &self.log);
}

/* ---- calls ----------------------------------------------------------------------------------------------------------- */

/*
 * Take what a captured kernel needs beyond the call's workspace: the stream's own memory would become nodes of the graph, which
 * not every graph may have. false: there is none.
 */
static bool take_memory(const tj_driver *driver, const tj_plan *plan, const blas_call *call, tj_operands *operands,
                        void **taken)
{
    const size_t bytes = tj_plan_workspace_bytes(plan);

    if (bytes <= call->workspace_bytes)
        return true;
    *taken = blas_graph_memory_take(driver, call->form.home, call->stream, bytes);
    operands->workspace = *taken;
    operands->workspace_bytes = bytes;
    return *taken != NULL;
}

/* false: nothing is queued, and cuBLAS is to compute this call. A launch that fails is the last one of its product. */
static bool launch(const tj_driver *driver, const blas_call *call, blas_product *product, bool is_captured)
{
    const tj_plan *plan = atomic_load_explicit(&product->kernel.plan, memory_order_acquire);
    void *taken = NULL;
    tj_operands operands;
    tj_status status;
    tj_error err;

    if (!blas_call_is_whole(call))
        return false;
    blas_call_operands(call, &product->problem, &operands);
    if (is_captured && !take_memory(driver, plan, call, &operands, &taken))
        return false;
    status = tj_plan_launch(plan, &operands, call->stream, &err);
    if (taken)
        blas_graph_memory_give(driver, call->stream, taken);
    if (status == TJ_OK)
        return true;
    atomic_store(&product->kernel.state, BLAS_IS_THEIRS);
    tj_log_line(&self.log, TJ_LOG_INFO, "%s goes back to cuBLAS: %s", product->name, err.message);
    return false;
}

static void tell(const blas_product *product, double theirs, double ours, blas_state next)
{
    char text[TJ_PROBLEM_TEXT_BYTES];

    if (self.log.level == TJ_LOG_OFF)
        return;
    tj_problem_print(&product->problem, text);
    tj_log_line(&self.log, TJ_LOG_INFO, "%s %s: cuBLAS %lld ns, TileJIT %lld ns: %s", product->name, text,
                (long long)(1000 * theirs), (long long)(1000 * ours),
                next == BLAS_IS_OURS       ? "TileJIT"
                : next == BLAS_IS_COMPARED ? "to be compared again"
                                           : "cuBLAS");
}

/* Set the state, if it is still the one that the decision was made in, and both times, from which the next run begins. */
static void decide(blas_product *product, blas_state before, blas_state next, double theirs, double ours)
{
    blas_known known = blas_known_get(&product->kernel.known);
    int expected = (int)before;

    if (!atomic_compare_exchange_strong(&product->kernel.state, &expected, (int)next))
        return;
    known.us[BLAS_THEIRS] = theirs;
    known.us[BLAS_OURS] = ours;
    blas_known_set(&product->kernel.known, known);
    blas_timing_forget(product);
    tell(product, theirs, ours, next);
    blas_making_keep();
}

static void judge(blas_product *product)
{
    uint64_t count[BLAS_SIDES];
    const double theirs = blas_timing_median(product, BLAS_THEIRS, &count[BLAS_THEIRS]),
                 ours = blas_timing_median(product, BLAS_OURS, &count[BLAS_OURS]);
    const uint64_t fewest = count[BLAS_THEIRS] < count[BLAS_OURS] ? count[BLAS_THEIRS] : count[BLAS_OURS];

    if (fewest >= JUDGED_AFTER || (fewest >= CLEAR_AFTER && ours > BLAS_CLEARLY * theirs))
        decide(product, BLAS_IS_COMPARED, ours < BLAS_MARGIN * theirs ? BLAS_IS_OURS : BLAS_IS_THEIRS, theirs, ours);
}

/* Compare again a product that TileJIT was to compute, if its calls are now slower than cuBLAS's were. */
static void review(blas_product *product)
{
    uint64_t count;
    const double ours = blas_timing_median(product, BLAS_OURS, &count),
                 theirs = blas_known_get(&product->kernel.known).us[BLAS_THEIRS];

    if (count < REVIEWED_AFTER)
        return;
    if (theirs <= 0 || ours <= theirs || atomic_fetch_add(&product->reviews, 1) >= MOST_REVIEWS) {
        blas_timing_forget(product);
        return;
    }
    atomic_store(&product->begun[BLAS_OURS], 0);
    atomic_store(&product->begun[BLAS_THEIRS], 0);
    decide(product, BLAS_IS_OURS, BLAS_IS_COMPARED, theirs, ours);
}

/* Time a call of a side. The first one, which may load code, is not timed. */
static blas_pair *time_call(const tj_driver *driver, const blas_call *call, blas_product *product, blas_side side)
{
    const uint64_t before = atomic_fetch_add(&product->begun[side], 1);

    return before > 0 ? blas_timing_begin(driver, product, side, call->stream) : NULL;
}

/* Time a few calls of a decided product, and have them looked at. */
static blas_pair *watch(const tj_driver *driver, const blas_call *call, blas_product *product)
{
    const uint64_t before = atomic_fetch_add_explicit(&product->begun[BLAS_OURS], 1, memory_order_relaxed);

    if (before == 0 || (before >= WATCHED_AT_FIRST && before % WATCHED_EACH != 0))
        return NULL;
    blas_timing_read(driver, product->form.home);
    review(product);
    return blas_timing_begin(driver, product, BLAS_OURS, call->stream);
}

static bool launch_timed(const tj_driver *driver, const blas_call *call, blas_product *product, blas_pair *pair)
{
    const bool is_done = launch(driver, call, product, false);

    blas_timing_end(driver, pair, call->stream, is_done);
    return is_done;
}

/* A call before the decision. */
static bool take_turn(const tj_driver *driver, const blas_call *call, blas_product *product, bool has_kernel, blas_visit *visit)
{
    const bool is_ours = has_kernel && atomic_load(&product->begun[BLAS_OURS]) <= atomic_load(&product->begun[BLAS_THEIRS]);

    blas_timing_read(driver, product->form.home);
    if (has_kernel)
        judge(product);
    if (is_ours)
        return launch_timed(driver, call, product, time_call(driver, call, product, BLAS_OURS));
    if (has_kernel || atomic_load(&product->begun[BLAS_EARLY]) < JUDGED_AFTER)
        visit->pair = time_call(driver, call, product, has_kernel ? BLAS_THEIRS : BLAS_EARLY);
    return false;
}

/* cuBLAS's time before both were timed; 0: not known. */
static double early_us(const tj_driver *driver, blas_product *product)
{
    uint64_t count;
    double us;

    blas_timing_read(driver, product->form.home);
    us = blas_timing_median(product, BLAS_EARLY, &count);
    return count > 0 ? us : blas_known_get(&product->kernel.known).us[BLAS_THEIRS];
}

/* Is TileJIT expected to be faster, before both were timed? */
static bool is_promising(const tj_driver *driver, blas_product *product)
{
    return product->kernel.expected_us > 0 && product->kernel.expected_us < BLAS_MARGIN * early_us(driver, product);
}

/* A call of a product that is cuBLAS's, if that is still as fast as it was. */
static void check(const tj_driver *driver, const blas_call *call, blas_product *product, blas_visit *visit)
{
    const double ours = blas_known_get(&product->kernel.known).us[BLAS_OURS];
    uint64_t count;
    double theirs;
    int checked = BLAS_IS_CHECKED;

    blas_timing_read(driver, product->form.home);
    theirs = blas_timing_median(product, BLAS_EARLY, &count);
    if (count < JUDGED_AFTER) {
        visit->pair = time_call(driver, call, product, BLAS_EARLY);
    } else if (ours >= BLAS_MARGIN * theirs) {
        (void)atomic_compare_exchange_strong(&product->kernel.state, &checked, BLAS_IS_THEIRS);
    } else if (atomic_compare_exchange_strong(&product->kernel.state, &checked, BLAS_IS_WANTED)) {
        blas_known known = blas_known_get(&product->kernel.known);

        known.us[BLAS_OURS] = 0; /* to be compared */
        known.us[BLAS_THEIRS] = theirs;
        blas_known_set(&product->kernel.known, known);
        blas_making_want(driver, product);
    }
}

/* Begin where the last run ended, if the kernel is there. */
static void resume(blas_product *product, blas_memory *memory)
{
    const int ready = atomic_load_explicit(&memory->kernel.state, memory_order_acquire);
    int before = BLAS_IS_NEW;

    if (ready == BLAS_IS_NEW || !atomic_compare_exchange_strong(&product->kernel.state, &before, BLAS_IS_WANTED))
        return;
    blas_kernel_set(&product->kernel, blas_known_get(&memory->kernel.known), memory->kernel.expected_us,
                    atomic_load(&memory->kernel.plan), (blas_state)ready);
}

/*
 * Does a product take so much time that a processor may spend a second on its kernel? A graph may be launched many times, of
 * which nobody hears.
 */
static bool is_worth_a_kernel(const blas_product *product, uint64_t calls, bool is_captured)
{
    uint64_t count;
    double us;

    if (calls < WANTED_AFTER || self.choice != BLAS_BY_TIME || is_captured)
        return calls >= WANTED_AFTER;
    us = blas_timing_median(product, BLAS_EARLY, &count);
    return count > 0 ? (double)calls * us >= WORTH_US : calls >= WANTED_UNTIMED;
}

/* A product in its first calls. */
static blas_state meet(const tj_driver *driver, blas_product *product, bool is_captured)
{
    const uint64_t calls = atomic_fetch_add(&product->calls, 1) + 1;
    blas_memory *memory = blas_making_recall(product);
    int fresh = BLAS_IS_NEW;

    if (memory)
        resume(product, memory);
    else if (is_worth_a_kernel(product, calls, is_captured) &&
             atomic_compare_exchange_strong(&product->kernel.state, &fresh, BLAS_IS_WANTED))
        blas_making_want(driver, product);
    return (blas_state)atomic_load_explicit(&product->kernel.state, memory_order_acquire);
}

bool blas_compute_begin(const tj_driver *driver, const blas_call *call, blas_product *product, blas_visit *visit)
{
    blas_state now = (blas_state)atomic_load_explicit(&product->kernel.state, memory_order_acquire);
    int captured = 0;
    bool is_captured;

    if (now == BLAS_IS_THEIRS)
        return false;
    if (!product->is_known) {
        atomic_store(&product->kernel.state, BLAS_IS_THEIRS);
        return false;
    }
    is_captured = !driver->api.stream_is_capturing ||
                  driver->api.stream_is_capturing((CUstream)call->stream, &captured) != CUDA_SUCCESS || captured != 0;
    if (!is_captured)
        blas_graph_memory_free(driver);
    if (now == BLAS_IS_NEW)
        now = meet(driver, product, is_captured);
    if (now == BLAS_IS_OURS && (is_captured || self.choice != BLAS_BY_TIME))
        return launch(driver, call, product, is_captured);
    if (now == BLAS_IS_OURS)
        return launch_timed(driver, call, product, watch(driver, call, product));
    if (is_captured)
        return now == BLAS_IS_COMPARED && is_promising(driver, product) && launch(driver, call, product, true);
    if (now == BLAS_IS_CHECKED)
        check(driver, call, product, visit);
    return now != BLAS_IS_CHECKED && (now == BLAS_IS_COMPARED || self.choice == BLAS_BY_TIME) &&
           take_turn(driver, call, product, now == BLAS_IS_COMPARED, visit);
}

void blas_compute_refuse(blas_product *product)
{
    atomic_store(&product->kernel.state, BLAS_IS_THEIRS);
}
