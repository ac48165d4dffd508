/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Images that several threads or processes want at once: each is compiled once. NVRTC is the one that only pretends. */
#include "image_test.h"

enum { THREADS = 16, KEYS = 4 };

typedef struct worker {
    tj_context *context;
    tj_source *source;
    pthread_barrier_t *start;
    tj_status status;
    bool has_log;
    char message[TJ_ERROR_MESSAGE_BYTES];
} worker;

static void *work(void *payload)
{
    worker *mine = payload;
    tj_image *image = NULL;
    tj_error err = {0};

    pthread_barrier_wait(mine->start);
    mine->status = tj_image_obtain(mine->context, mine->source, "sm_90", &image, &err);
    mine->has_log = image && tj_image_log(image);
    memcpy(mine->message, err.message, sizeof mine->message);
    tj_image_free(image);
    return NULL;
}

static void run_workers(tj_context *context, tj_source *const *source, size_t sources, worker done[THREADS])
{
    pthread_t thread[THREADS];
    pthread_barrier_t start;

    pthread_barrier_init(&start, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        done[i] = (worker){.context = context, .source = source[i % sources], .start = &start};
        cr_assert(pthread_create(&thread[i], NULL, work, &done[i]) == 0);
    }
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&start);
}

/* Sixteen threads want four keys. How often NVRTC was at work on them; all got theirs, from one compile of each. */
static int race_for_four_keys(tj_context *context)
{
    const uint64_t before = stats_of(context).compiles;
    const int calls_before = fake_compiles();
    tj_source *source[KEYS];
    worker done[THREADS];

    for (int i = 0; i < KEYS; i++)
        source[i] = make_source(100 + i);
    run_workers(context, source, KEYS, done);
    for (size_t i = 0; i < THREADS; i++)
        cr_expect(eq(int, done[i].status, TJ_OK), "thread %zu: %s", i, done[i].message);
    cr_expect(eq(u64, stats_of(context).compiles - before, KEYS));
    cr_expect(eq(u64, stats_of(context).memory_hits, THREADS - KEYS));
    for (int i = 0; i < KEYS; i++)
        tj_source_free(source[i]);
    return fake_compiles() - calls_before;
}

Test(image_obtain, compiles_each_key_once_for_sixteen_threads)
{
    tj_source *first = make_source(99);
    tj_context *context;
    char store[64];

    make_folder(store);
    setenv("FAKE_NVRTC_SLEEP_MS", "50", 1);
    context = make_context(FAKE_NVRTC_PATH, store, NULL, NULL);
    obtain(context, first, "sm_90", TJ_FROM_COMPILER); /* the first use of NVRTC is over */
    cr_expect(eq(int, race_for_four_keys(context), KEYS));
    tj_source_free(first);
    tj_context_free(context);
    remove_folder(store);
}

/*
 * A thread that ends might be exit(): compiles that were begun before any was done are given up, and begun again. Once: then that
 * thread's was done, and they are first uses no more.
 */
Test(image_obtain, begins_first_uses_again_for_a_thread_that_ends)
{
    tj_context *context = make_context(FAKE_NVRTC_PATH, "", NULL, NULL);
    int calls;

    setenv("FAKE_NVRTC_SLEEP_MS", "100", 1);
    setenv("FAKE_NVRTC_TIMES", " k10", 1); /* so the four are done one after the other, the first of them at once */
    calls = race_for_four_keys(context);
    cr_expect(calls >= KEYS && calls < 2 * KEYS, "%d calls", calls);
    tj_context_free(context);
}

Test(image_obtain, tells_every_waiting_thread_of_the_one_failure)
{
    tj_source *source = make_source(100);
    worker done[THREADS];
    tj_context *context = make_context(FAKE_NVRTC_PATH, "", NULL, NULL);

    setenv("FAKE_NVRTC_SLEEP_MS", "300", 1);
    setenv("FAKE_NVRTC_RESULT", "6", 1);
    run_workers(context, &source, 1, done);
    for (size_t i = 0; i < THREADS; i++) {
        cr_expect(eq(int, done[i].status, TJ_ERR_COMPILE), "thread %zu: %s", i, done[i].message);
        cr_expect(eq(str, done[i].message, done[0].message));
        cr_expect(done[i].has_log, "thread %zu", i);
    }
    cr_expect(eq(u64, stats_of(context).failures, stats_of(context).compiles));
    cr_expect(lt(u64, stats_of(context).compiles, THREADS)); /* one, unless a thread came late */
    cr_expect(eq(u64, stats_of(context).memory_hits, 0));
    tj_source_free(source);
    tj_context_free(context);
}

Test(image_obtain, serves_two_contexts_of_one_process_apart)
{
    tj_source *source = make_source(100);
    tj_context *first = make_context(FAKE_NVRTC_PATH, "", NULL, NULL), *second = make_context(FAKE_NVRTC_PATH, "", NULL, NULL);

    obtain(first, source, "sm_90", TJ_FROM_COMPILER);
    obtain(second, source, "sm_90", TJ_FROM_COMPILER);
    obtain(second, source, "sm_90", TJ_FROM_MEMORY);
    tj_context_free(first);
    obtain(second, source, "sm_90", TJ_FROM_MEMORY);
    cr_expect(eq(u64, stats_of(second).compiles, 1));
    cr_expect(eq(u64, stats_of(second).memory_hits, 2));
    tj_context_free(second);
    tj_source_free(source);
}

static int count_sound(const tj_store_entry *entry, void *payload)
{
    *(int *)payload += entry->damage == NULL;
    return 0;
}

Test(image_obtain, works_in_several_processes_at_once_and_leaves_one_entry)
{
    enum { PROCESSES = 4 };
    tj_source *source = make_source(100);
    pid_t child[PROCESSES];
    tj_context *context;
    char store[64];
    int entries = 0, compiled = 0;

    make_folder(store);
    setenv("FAKE_NVRTC_SLEEP_MS", "100", 1);
    for (int i = 0; i < PROCESSES; i++) {
        child[i] = fork();
        if (child[i] == 0) {
            tj_context *mine = make_context(FAKE_NVRTC_PATH, store, NULL, NULL);
            tj_image *image = NULL;
            if (tj_image_obtain(mine, source, "sm_90", &image, NULL) != TJ_OK)
                _exit(100);
            _exit(tj_image_origin(image) == TJ_FROM_COMPILER ? 1 : 0);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int how = 0;
        cr_assert(eq(int, waitpid(child[i], &how, 0), child[i]));
        bool is_well = WIFEXITED(how) && WEXITSTATUS(how) <= 1;
        cr_expect(is_well, "process %d: 0x%x", i, (unsigned)how);
        compiled += WEXITSTATUS(how) == 1;
    }
    /* One, unless waiting for the store's lock took longer than it may. */
    cr_expect(compiled >= 1 && compiled < PROCESSES, "%d compiled", compiled);
    context = make_context(FAKE_NVRTC_PATH, store, NULL, NULL);
    cr_expect(eq(int, tj_store_list(context, 1, count_sound, &entries, NULL), TJ_OK));
    cr_expect(eq(int, entries, 1));
    obtain(context, source, "sm_90", TJ_FROM_STORE);
    tj_context_free(context);
    tj_source_free(source);
    remove_folder(store);
}

Test(image_obtain, answers_in_a_forked_child)
{
    tj_context *context = make_context(FAKE_NVRTC_PATH, "", NULL, NULL);
    tj_source *source = make_source(100);
    int how = 0;

    obtain(context, source, "sm_90", TJ_FROM_COMPILER);
    pid_t child = fork();
    if (child == 0) {
        tj_image *image;
        alarm(20);
        _exit(tj_image_obtain(context, source, "sm_90", &image, NULL) == TJ_ERR_FORKED &&
                      tj_compile(context, source, "sm_90", &image, NULL) == TJ_ERR_FORKED
                  ? 0
                  : 1);
    }
    cr_assert(eq(int, waitpid(child, &how, 0), child));
    bool is_well = WIFEXITED(how) && WEXITSTATUS(how) == 0;
    cr_expect(is_well, "0x%x", (unsigned)how);
    tj_source_free(source);
    tj_context_free(context);
}
