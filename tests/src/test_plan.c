/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Plans: the whole line on a driver and a compiler that only pretend, and what the library itself asks of its host meanwhile.
 *
 * The library's calls of the functions below are counted, and refused on demand: this program is linked with --wrap for each.
 */
#include "custom_spec.h"
#include "plan_test.h"

/* ---- what the library asks of its host ---------------------------------------------------------------------------- */

static atomic_long allocations, locks, formats;
static atomic_long refuse_at;      /* the n-th allocation from now fails; 0: none does */
static atomic_bool refuses_onward; /* and every later one */
static atomic_long refused;
static atomic_int refused_threads; /* pthread_create is refused this many times */

static bool is_refused(void)
{
    long left;

    atomic_fetch_add(&allocations, 1);
    left = atomic_load(&refuse_at);
    if (left == 0)
        return false;
    if (left > 1) {
        atomic_store(&refuse_at, left - 1);
        return false;
    }
    if (!atomic_load(&refuses_onward))
        atomic_store(&refuse_at, 0);
    atomic_fetch_add(&refused, 1);
    return true;
}

static void *refusal(void)
{
    errno = ENOMEM;
    return NULL;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *payload);
int __real_vsnprintf(char *out, size_t size, const char *format, va_list values);

void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
int __wrap_asprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *payload);
int __wrap_snprintf(char *out, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int __wrap_vsnprintf(char *out, size_t size, const char *format, va_list values);
int __wrap___snprintf_chk(char *out, size_t size, int flag, size_t room, const char *format, ...);
int __wrap___vsnprintf_chk(char *out, size_t size, int flag, size_t room, const char *format, va_list values);

void *__wrap_malloc(size_t size)
{
    return is_refused() ? refusal() : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return is_refused() ? refusal() : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return is_refused() ? refusal() : __real_realloc(old, size);
}

char *__wrap_strdup(const char *text)
{
    return is_refused() ? refusal() : __real_strdup(text);
}

int __wrap_asprintf(char **out, const char *format, ...)
{
    va_list values;
    int length;

    atomic_fetch_add(&formats, 1);
    if (is_refused())
        return -1;
    va_start(values, format);
    length = vasprintf(out, format, values);
    va_end(values);
    return length;
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
    atomic_fetch_add(&locks, 1);
    return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *payload)
{
    if (atomic_load(&refused_threads) == 0)
        return __real_pthread_create(thread, attributes, run, payload);
    atomic_fetch_sub(&refused_threads, 1);
    return EAGAIN;
}

int __wrap_snprintf(char *out, size_t size, const char *format, ...)
{
    va_list values;
    int length;

    atomic_fetch_add(&formats, 1);
    va_start(values, format);
    length = __real_vsnprintf(out, size, format, values);
    va_end(values);
    return length;
}

int __wrap_vsnprintf(char *out, size_t size, const char *format, va_list values)
{
    atomic_fetch_add(&formats, 1);
    return __real_vsnprintf(out, size, format, values);
}

/* The names of the same calls with _FORTIFY_SOURCE on. */
int __wrap___snprintf_chk(char *out, size_t size, int flag, size_t room, const char *format, ...)
{
    va_list values;
    int length;

    (void)flag, (void)room;
    va_start(values, format);
    length = __wrap_vsnprintf(out, size, format, values);
    va_end(values);
    return length;
}

int __wrap___vsnprintf_chk(char *out, size_t size, int flag, size_t room, const char *format, va_list values)
{
    (void)flag, (void)room;
    return __wrap_vsnprintf(out, size, format, values);
}

/* ---- background tunings that plans ask for ------------------------------------------------------------------------ */

static atomic_int asked;

void __wrap_tj_background_tune(struct tj_background *background, const tj_problem *problem);

/* Nobody tunes here: only whether it is asked for counts. */
void __wrap_tj_background_tune(struct tj_background *background, const tj_problem *problem)
{
    (void)background, (void)problem;
    atomic_fetch_add(&asked, 1);
}

TestSuite(plan, .init = start, .fini = stop);
TestSuite(stored_plan, .init = start_with_folder, .fini = stop_with_folder);

/* ---- the promise of a ready call ---------------------------------------------------------------------------------- */

Test(plan, that_is_ready_neither_allocates_nor_locks_nor_formats)
{
    tj_problem fixed = TJ_PROBLEM_INIT(33, 20, 48, TJ_F32), passed = TJ_PROBLEM_INIT(0, 20, 48, TJ_F32);
    tj_operands x = some_operands(), y = x;
    const tj_plan *plan;
    unsigned long launches;

    passed.j.mode = TJ_DIM_ANY;
    y.j = 77;
    allocations = locks = formats = 0;
    cr_assert(eq(int, tj_matmul(context, &fixed, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_matmul(context, &passed, &y, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_prepare(context, &fixed, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_expect(allocations > 10 && locks > 3 && formats > 3, "the counters count: %ld %ld %ld", (long)allocations, (long)locks,
              (long)formats);
    launches = fake.fake_launches();
    allocations = locks = formats = 0;
    for (int i = 0; i < 1000; i++) {
        tj_status status = tj_matmul(context, &fixed, &x, NULL, &err);
        if (status == TJ_OK)
            status = tj_matmul(context, &passed, &y, NULL, &err);
        if (status == TJ_OK)
            status = tj_plan_launch(plan, &x, NULL, &err);
        cr_assert(eq(int, status, TJ_OK), "%s", err.message);
    }
    cr_expect(eq(long, (long)allocations, 0));
    cr_expect(eq(long, (long)locks, 0));
    cr_expect(eq(long, (long)formats, 0));
    cr_expect(eq(ulong, fake.fake_launches(), launches + 3000));
}

/* The driver calls of one launch of a plan that is ready: by tj_matmul, or of the plan itself; in all, and of each name. */
static void expect_calls(const tj_problem *problem, const tj_plan *plan, const tj_operands *x, CUstream stream,
                         const char *const *name, size_t count, const char *where)
{
    unsigned long before[8], all = fake.fake_all_calls();
    tj_status status;

    for (size_t i = 0; i < count; i++)
        before[i] = fake.fake_calls(name[i]);
    status = plan ? tj_plan_launch(plan, x, stream, &err) : tj_matmul(context, problem, x, stream, &err);
    cr_assert(eq(int, status, TJ_OK), "%s: %s", where, err.message);
    cr_expect(eq(ulong, fake.fake_all_calls(), all + count), "%s", where);
    for (size_t i = 0; i < count; i++) {
        unsigned long expected = before[i];

        for (size_t other = 0; other < count; other++)
            expected += strcmp(name[other], name[i]) == 0;
        cr_expect(eq(ulong, fake.fake_calls(name[i]), expected), "%s: %s", where, name[i]);
    }
}

Test(plan, that_is_ready_costs_these_driver_calls_and_no_other)
{
    static const char *const own[] = {"cuCtxGetId", "cuStreamGetGreenCtx", "cuStreamIsCapturing", "cuLaunchKernel"};
    static const char *const known[] = {"cuCtxGetId", "cuStreamGetGreenCtx", "cuLaunchKernel"};
    static const char *const usual[] = {"cuCtxGetId", "cuLaunchKernel"};
    static const char *const pushed[] = {"cuCtxGetId", "cuCtxGetCurrent", "cuCtxPushCurrent",
                                         "cuCtxGetId", "cuLaunchKernel",  "cuCtxPopCurrent"};
    const CUstream stream = (CUstream)(uintptr_t)0x77, legacy = (CUstream)(uintptr_t)1;
    tj_problem fixed = TJ_PROBLEM_INIT(33, 20, 48, TJ_F32), passed = TJ_PROBLEM_INIT(0, 20, 48, TJ_F32);
    tj_operands x = some_operands(), y = x;
    const tj_plan *plan;

    passed.j.mode = TJ_DIM_ANY;
    y.j = 77;
    cr_assert(eq(int, tj_matmul(context, &passed, &y, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_prepare(context, &fixed, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "the first launch asks about pointers: %s", err.message);
    cr_expect(eq(int, fake.fake_context_depth(), 0));
    expect_calls(&fixed, NULL, &x, NULL, pushed, 6, "no context is current");
    fake.fake_context_create(0);
    cr_assert(eq(int, tj_matmul(context, &passed, &y, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_prepare(context, &fixed, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_plan_launch(plan, &x, NULL, &err), TJ_OK), "%s", err.message);
    for (int turn = 0; turn < 3; turn++) { /* the first one is not the thread's last */
        expect_calls(&fixed, NULL, &x, NULL, usual, 2, "the default stream");
        expect_calls(&fixed, NULL, &x, legacy, usual, 2, "the default stream by its other name");
        expect_calls(&fixed, NULL, &x, stream, own, 4, "a stream of the program's own");
    }
    expect_calls(&passed, NULL, &y, NULL, usual, 2, "another plan than the last one, with an extent of the launch");
    expect_calls(NULL, plan, &x, NULL, usual, 2, "a plan in the default stream");
    expect_calls(NULL, plan, &x, stream, usual, 2, "a plan that is held, which need not know of captures");
    fake.fake_set_capture(stream, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    expect_calls(&fixed, NULL, &x, stream, own, 4, "a capture");
    fake.fake_set_capture(NULL, CU_STREAM_CAPTURE_STATUS_NONE);
    expect_calls(&fixed, NULL, &x, stream, known, 3, "a plan that a graph has, which is not asked about again");
}

/* ---- memory runs out ---------------------------------------------------------------------------------------------- */

/* A context, a product that is compiled and one that is stored: with the n-th allocation refused, then without. */
static tj_status try_all(int64_t k, const tj_operands *x)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *made = NULL;
    tj_status status;

    options.driver = FAKE_CUDA_PATH;
    options.nvrtc = FAKE_NVRTC_PATH;
    options.cache_dir = folder;
    memset(&err, 0, sizeof err);
    status = tj_context_create(&options, &made, &err);
    cr_assert(made != NULL || status != TJ_OK);
    if (status == TJ_OK)
        status = matmul_of(made, k, x);
    if (status != TJ_OK) {
        cr_expect(says("memory"), "%s", err.message);
        refuse_at = 0;
        if (made)
            cr_expect(eq(int, matmul_of(made, k, x), TJ_OK), "the same context works afterwards: %s", err.message);
    }
    refuse_at = 0;
    tj_context_free(made);
    return status;
}

static void refuse_in_turn(bool onward)
{
    const tj_operands x = some_operands();
    int failed = 0, survived = 0;

    refuses_onward = onward;
    for (long n = 1;; n++) {
        tj_status status;

        cr_assert(lt(long, n, 2000));
        refused = 0;
        refuse_at = n;
        status = try_all(100 + n, &x);
        cr_expect(status == TJ_OK || status == TJ_ERR_OUT_OF_MEMORY, "allocation %ld: %s: %s", n, tj_status_name(status),
                  err.message);
        cr_expect(eq(int, fake.fake_live_images(), 0), "allocation %ld", n);
        failed += status != TJ_OK;
        survived += status == TJ_OK && refused > 0;
        if (refused == 0)
            break;
    }
    cr_expect(gt(int, failed, 20), "%d failed, %d did not need what was refused", failed, survived);
}

Test(stored_plan, survives_each_allocation_failing_in_turn)
{
    refuse_in_turn(false);
}

Test(stored_plan, survives_all_memory_gone_at_each_point)
{
    refuse_in_turn(true);
}

Test(plan, is_not_made_without_a_thread_for_the_compiler)
{
    const tj_operands x = some_operands();

    cr_assert(eq(int, matmul_of(context, 1, &x), TJ_OK), "%s", err.message);
    refused_threads = 1;
    cr_expect(eq(int, matmul_of(context, 2, &x), TJ_ERR_OUT_OF_MEMORY));
    cr_expect(says("ulimit"), "%s", err.message);
    cr_expect(eq(int, matmul_of(context, 2, &x), TJ_OK), "%s", err.message);
}

enum { SMALL_STACK = (UNDER_SANITIZER ? 512 : 64) * 1024 }; /* a sanitizer's frames are several times larger */

static void *multiply(void *payload)
{
    const tj_operands x = some_operands();
    tj_context *stored = open_context(folder, TJ_SPECIALIZE_SHAPES);
    tj_status *status = payload;

    *status = matmul_of(stored, 5, &x);
    tj_context_free(stored);
    return NULL;
}

Test(stored_plan, is_made_on_a_caller_s_small_stack)
{
    tj_status status = TJ_ERR_INTERNAL;
    pthread_attr_t attributes;
    pthread_t thread;

    cr_assert(eq(int, pthread_attr_init(&attributes), 0));
    cr_assert(eq(int, pthread_attr_setstacksize(&attributes, SMALL_STACK), 0));
    cr_assert(eq(int, pthread_create(&thread, &attributes, multiply, &status), 0));
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    cr_expect(eq(int, status, TJ_OK), "%s", err.message);
}

static void *compile_slowly(void *payload)
{
    const tj_operands x = some_operands();

    (void)matmul_of(payload, 6, &x);
    return NULL;
}

/* Registered before NVRTC is opened, as NVRTC's own destructors would be a moment later. */
static void expect_that_nobody_compiles(void)
{
    void *nvrtc = dlopen(FAKE_NVRTC_PATH, RTLD_NOW | RTLD_NOLOAD);
    int (*programs)(void) = NULL, (*compiles)(void) = NULL;

    if (nvrtc) {
        *(void **)(void *)&programs = dlsym(nvrtc, "fake_nvrtc_programs");
        *(void **)(void *)&compiles = dlsym(nvrtc, "fake_nvrtc_compiles");
    }
    if (!programs || !compiles || compiles() == 0 || programs() != 0)
        _exit(8);
}

/* The status of a process that ends with 7 while it compiles something that takes so long. */
static int end_while_compiling(const char *compile_ms, bool can_cancel)
{
    int status = -1;
    const pid_t child = fork();

    if (child == 0) {
        tj_context *own = open_context("", TJ_SPECIALIZE_SHAPES);
        pthread_t thread;

        setenv("FAKE_NVRTC_SLEEP_MS", compile_ms, 1);
        if (!can_cancel)
            setenv("FAKE_NVRTC_NO_FLOW", "1", 1);
        alarm(60);
        if (atexit(expect_that_nobody_compiles) != 0 || pthread_create(&thread, NULL, compile_slowly, own) != 0)
            _exit(1);
        usleep(200 * 1000);
        exit(7);
    }
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

Test(plan, in_the_making_is_cancelled_when_the_program_ends)
{
    cr_expect(eq(int, end_while_compiling("3600000", true), 7));
}

Test(plan, in_the_making_is_waited_for_when_the_program_ends_and_nvrtc_cannot_cancel)
{
    cr_expect(eq(int, end_while_compiling("1000", false), 7));
}

/* ---- captures ----------------------------------------------------------------------------------------------------- */

Test(plan, is_not_made_in_a_capture_and_works_there_once_it_is_ready)
{
    CUstream stream = (CUstream)(uintptr_t)0x77;
    tj_problem unknown = TJ_PROBLEM_INIT(33, 2, 48, TJ_F32), ready = TJ_PROBLEM_INIT(33, 1, 48, TJ_F32);
    const tj_operands x = some_operands();
    const tj_plan *plan;
    unsigned long loads;

    cr_assert(eq(int, tj_plan_prepare(context, &ready, NULL, &plan, &err), TJ_OK), "%s", err.message);
    loads = fake.fake_calls("cuLibraryLoadData");
    fake.fake_set_capture(stream, 1);
    cr_expect(eq(int, tj_matmul(context, &unknown, &x, stream, &err), TJ_ERR_CAPTURE));
    cr_expect(says("tj_plan_prepare") && says("j 33, k 2, l 48"), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_calls("cuLibraryLoadData"), loads));
    cr_expect(eq(u64, stats_of(context).compiles, 1));
    cr_expect(eq(int, tj_matmul(context, &ready, &x, stream, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_launches(), 1));
    cr_expect(eq(ptr, (void *)last_launch().stream, (void *)stream));
    fake.fake_set_capture(NULL, 0);
    cr_expect(eq(int, tj_matmul(context, &unknown, &x, stream, &err), TJ_OK), "%s", err.message);
}

/* The question for a share of the default stream would. */
Test(plan, that_is_prepared_does_not_break_the_capture_of_a_blocking_stream)
{
    const CUstream stream = (CUstream)(uintptr_t)0x77;
    const tj_problem problem = TJ_PROBLEM_INIT(33, 1, 48, TJ_F32);
    const tj_operands x = some_operands();
    const tj_plan *plan;

    fake.fake_set_capture(stream, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, fake.fake_capture(), CU_STREAM_CAPTURE_STATUS_ACTIVE));
    cr_expect(eq(int, tj_matmul(context, &problem, &x, stream, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, fake.fake_capture(), CU_STREAM_CAPTURE_STATUS_ACTIVE));
}

/* ---- images that do not load -------------------------------------------------------------------------------------- */

static void store_one(const tj_operands *x)
{
    tj_context *maker = open_context(folder, TJ_SPECIALIZE_SHAPES);

    cr_assert(eq(int, matmul_of(maker, 5, x), TJ_OK), "%s", err.message);
    tj_context_free(maker);
}

Test(stored_plan, is_compiled_once_more_where_the_driver_refuses_the_stored_image)
{
    const tj_operands x = some_operands();
    tj_context *reader;
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;

    store_one(&x);
    reader = open_context(folder, TJ_SPECIALIZE_SHAPES);
    fake.fake_fail("cuLibraryLoadData", 1, 200);
    fake.fake_fail("cuLibraryLoadData", 2, 200);
    cr_expect(eq(int, matmul_of(reader, 5, &x), TJ_OK), "%s", err.message);
    stats = stats_of(reader);
    cr_expect(eq(u64, stats.store_hits, 1));
    cr_expect(eq(u64, stats.compiles, 1));
    tj_context_free(reader);

    fake.fake_fail(NULL, 0, 0);
    reader = open_context(folder, TJ_SPECIALIZE_SHAPES);
    cr_expect(eq(int, matmul_of(reader, 5, &x), TJ_OK), "%s", err.message);
    cr_expect(eq(u64, stats_of(reader).compiles, 0), "the new image was stored");
    tj_context_free(reader);
}

/* As above, for a kernel of a family of the application's own. */
Test(stored_plan, of_an_own_family_is_compiled_once_more_too)
{
    static const int64_t length[] = {100};
    static const struct {
        long refusals, compiles;
        tj_status status;
    } rows[] = {{0, 1, TJ_OK}, {1, 0, TJ_OK}, {2, 1, TJ_OK}, {0, 0, TJ_OK}, {3, 1, TJ_ERR_UNSUPPORTED}};
    custom_spec made;
    tj_family *family;

    cr_assert(eq(int, tj_family_create(custom_spec_make(&made), &family, &err), TJ_OK), "%s", err.message);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_context *reader = open_context(folder, TJ_SPECIALIZE_SHAPES);
        tj_custom_kernel *kernel;

        fake.fake_fail(NULL, 0, 0);
        for (long n = 1; n <= rows[i].refusals; n++)
            fake.fake_fail("cuLibraryLoadData", n, 200);
        cr_expect(eq(int, tj_custom_load(reader, family, NULL, length, &kernel, &err), rows[i].status), "row %zu: %s", i,
                  err.message);
        cr_expect(eq(u64, stats_of(reader).compiles, (uint64_t)rows[i].compiles), "row %zu", i);
        cr_expect(eq(int, kernel != NULL, rows[i].status == TJ_OK), "row %zu", i);
        tj_custom_kernel_free(kernel);
        tj_context_free(reader);
    }
    fake.fake_fail(NULL, 0, 0);
    tj_family_free(family);
}

Test(stored_plan, fails_in_words_where_the_driver_refuses_every_image)
{
    const tj_operands x = some_operands();
    tj_context *reader;

    store_one(&x);
    reader = open_context(folder, TJ_SPECIALIZE_SHAPES);
    fake.fake_fail("cuLibraryLoadData", 0, 200);
    cr_expect(eq(int, matmul_of(reader, 5, &x), TJ_ERR_UNSUPPORTED));
    cr_expect(says("cannot load tiled_f32_33x5x48") && says("CUDA_ERROR_INVALID_IMAGE (200)"), "%s", err.message);
    cr_expect(eq(u64, stats_of(reader).compiles, 1), "compiled once more, and no more");
    cr_expect(eq(u64, stats_of(reader).plans, 0));
    fake.fake_fail(NULL, 0, 0);
    cr_expect(eq(int, matmul_of(reader, 5, &x), TJ_OK), "%s", err.message);
    tj_context_free(reader);
}

static void set_capability(int major, int minor)
{
    fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, major);
    fake.fake_set_device_attribute(0, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, minor);
}

/* NVRTC 13.0 knows sm_90 and not sm_86: the latter gets PTX, which the driver must be able to read. */
Test(plan, is_never_ptx_newer_than_the_driver)
{
    static const struct {
        int driver, major, minor;
        bool works;
        int first_byte; /* of what was loaded: \177 of a CUBIN, / of PTX */
    } rows[] = {
        {13000, 9, 0, true, '\177'}, {13000, 8, 6, true, '/'}, {13010, 8, 6, true, '/'},
        {12080, 9, 0, true, '\177'}, {12080, 8, 6, false, 0},  {11000, 8, 6, false, 0},
    };
    const tj_operands x = some_operands();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        int status = -1;
        pid_t child = fork(); /* a driver's version is read when it is opened */

        if (child == 0) {
            tj_context *fresh = open_context("", TJ_SPECIALIZE_SHAPES);
            unsigned long loads = fake.fake_calls("cuLibraryLoadData");
            bool is_right;

            fake.fake_set_driver_version(rows[i].driver);
            set_capability(rows[i].major, rows[i].minor);
            if (rows[i].works) {
                is_right = matmul_of(fresh, 5, &x) == TJ_OK && fake.fake_last_image_byte() == rows[i].first_byte;
            } else {
                char version[32];
                sprintf(version, "CUDA %d.%d", rows[i].driver / 1000, rows[i].driver % 1000 / 10);
                is_right = matmul_of(fresh, 5, &x) == TJ_ERR_UNSUPPORTED && says("NVRTC 13.0") && says("8.6") &&
                           says(version) && says("update the driver") && fake.fake_calls("cuLibraryLoadData") == loads;
            }
            if (!is_right)
                fprintf(stderr, "row %zu: first byte %d: %s\n", i, fake.fake_last_image_byte(), err.message);
            tj_context_free(fresh);
            fflush(stderr);
            _exit(is_right ? 0 : 1);
        }
        cr_assert(eq(int, waitpid(child, &status, 0), child));
        cr_expect(eq(int, status, 0), "row %zu", i);
    }
}

/* ---- one plan for many, many for one ------------------------------------------------------------------------------ */

Test(plan, serves_every_extent_that_is_passed)
{
    const tj_operands x = some_operands();

    for (int64_t j = 16; j <= 160; j += 16) {
        tj_problem problem = TJ_PROBLEM_INIT(j, 5, 48, TJ_F32);
        problem.j.mode = TJ_DIM_ANY;
        cr_assert(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(uint, last_launch().grid[1], (unsigned)j / 16));
    }
    cr_expect(eq(u64, stats_of(context).plans, 1));
    cr_expect(eq(u64, stats_of(context).compiles, 1));
}

/* Each on its own, then all: arguments of the kernel, and no part of the plan's key. */
Test(plan, serves_every_extent_whichever_are_open)
{
    enum { J = 1, K = 2, L = 4 };
    static const int rows[] = {J, K, L, J | L, J | K | L};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        size_t bytes[6];
        int open = 0;

        for (int bit = 0; bit < 3; bit++)
            if (rows[i] >> bit & 1)
                bytes[open++] = sizeof(int32_t);
        for (int pointer = 0; pointer < 3; pointer++)
            bytes[open + pointer] = sizeof(void *);
        fake.fake_set_parameters(open + 3, bytes);
        for (int32_t n = 1; n <= 4; n++) {
            const int32_t extent[] = {rows[i] & J ? 100 * n : 33, rows[i] & K ? 10 * n + 1 : 20, rows[i] & L ? 7 * n : 48};
            tj_problem problem = TJ_PROBLEM_INIT(extent[0], extent[1], extent[2], TJ_F32);
            tj_operands x = some_operands();
            fake_launch launch;
            int at = 0;

            problem.j.mode = rows[i] & J ? TJ_DIM_ANY : TJ_DIM_FIXED;
            problem.k.mode = rows[i] & K ? TJ_DIM_ANY : TJ_DIM_FIXED;
            problem.l.mode = rows[i] & L ? TJ_DIM_ANY : TJ_DIM_FIXED;
            if (n == 4) { /* an extent of the launch comes before the problem's */
                problem.j.extent = rows[i] & J ? 5 : 33;
                problem.k.extent = rows[i] & K ? 5 : 20;
                problem.l.extent = rows[i] & L ? 5 : 48;
                x.j = extent[0];
                x.k = extent[1];
                x.l = extent[2];
            }
            cr_assert(eq(int, tj_matmul(context, &problem, &x, NULL, &err), TJ_OK), "row %zu: %s", i, err.message);
            launch = last_launch();
            for (int bit = 0; bit < 3; bit++) {
                int32_t passed;

                if (!(rows[i] >> bit & 1))
                    continue;
                memcpy(&passed, launch.args + sizeof passed * (size_t)at++, sizeof passed);
                cr_expect(eq(i32, passed, extent[bit]), "row %zu, launch %d, %c", i, n, "jkl"[bit]);
            }
        }
        cr_expect(eq(u64, stats_of(context).plans, i + 1), "row %zu", i);
        cr_expect(eq(u64, stats_of(context).compiles, i + 1), "row %zu", i);
    }
}

Test(plan, of_a_type_alone_serves_all_shapes_but_the_tallest)
{
    static const struct {
        int64_t j, k, l, ld_m;
        tj_layout p_layout;
        unsigned int grid[2];
        unsigned plans;
    } rows[] = {
        {33, 5, 48, 0, TJ_ROW_MAJOR, {3, 3}, 1},
        {1, 1, 1, 0, TJ_ROW_MAJOR, {1, 1}, 1},
        {100, 0, 17, 9, TJ_ROW_MAJOR, {2, 7}, 1},
        {65535 * 16, 1, 1, 0, TJ_ROW_MAJOR, {1, 65535}, 1},
        {65535 * 16 + 1, 1, 1, 0, TJ_ROW_MAJOR, {65536, 1}, 2}, /* rows of blocks on grid.x, which holds more */
        {34, 5, 48, 6, TJ_ROW_MAJOR, {3, 3}, 2},
        {65535 * 16 + 1, 1, 1, 0, TJ_COL_MAJOR, {65536, 1}, 3}, /* whose columns are what the blocks take for rows */
        {1, 1, 65535 * 16, 0, TJ_COL_MAJOR, {1, 65535}, 3},
        {1, 1, 65535 * 16 + 1, 0, TJ_COL_MAJOR, {65536, 1}, 4},
    };
    tj_context *typed = open_context("", TJ_SPECIALIZE_TYPES);
    const tj_operands x = some_operands();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(rows[i].j, rows[i].k, rows[i].l, TJ_F32);
        problem.m.ld = rows[i].ld_m;
        problem.p.layout = rows[i].p_layout;
        cr_assert(eq(int, tj_matmul(typed, &problem, &x, NULL, &err), TJ_OK), "row %zu: %s", i, err.message);
        cr_expect(eq(uint, last_launch().grid[0], rows[i].grid[0]), "row %zu", i);
        cr_expect(eq(uint, last_launch().grid[1], rows[i].grid[1]), "row %zu", i);
        cr_expect(eq(u64, stats_of(typed).plans, rows[i].plans), "row %zu", i);
        cr_expect(eq(u64, stats_of(typed).compiles, rows[i].plans), "row %zu", i);
    }
    tj_context_free(typed);
}

Test(plan, belongs_to_its_cuda_context_and_shares_the_compile)
{
    const tj_operands x = some_operands();
    CUcontext first, second;

    fake.fake_set_devices(2);
    first = fake.fake_context_create(0);
    cr_assert(eq(int, matmul_of(context, 5, &x), TJ_OK), "%s", err.message);
    second = fake.fake_context_create(1);
    fake.fake_set_peer_access(true);
    cr_assert(eq(int, matmul_of(context, 5, &x), TJ_OK), "%s", err.message);
    cr_expect(eq(int, last_launch().device, 1));
    fake.fake_context_set(first);
    cr_assert(eq(int, matmul_of(context, 5, &x), TJ_OK), "%s", err.message);
    cr_expect(eq(int, last_launch().device, 0));
    fake.fake_context_set(second);
    cr_assert(eq(int, matmul_of(context, 5, &x), TJ_OK), "%s", err.message);
    cr_expect(eq(int, last_launch().device, 1));
    cr_expect(eq(u64, stats_of(context).plans, 2));
    cr_expect(eq(u64, stats_of(context).loads, 2));
    cr_expect(eq(u64, stats_of(context).compiles, 1));
}

/* Properties that a named config leaves open are settled for the device: sm_75 has no asynchronous copies. */
Test(plan, of_a_named_config_is_one_for_its_device)
{
    static const struct {
        int major, minor;
        const char *copy;
    } rows[] = {{7, 5, "copy=registers"}, {9, 0, "copy=async"}};
    const tj_problem problem = TJ_PROBLEM_INIT(100, 100, 100, TJ_F32);
    tj_config config;

    cr_assert(eq(int, tj_config_parse("simt", &config, &err), TJ_OK), "%s", err.message);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[TJ_CONFIG_TEXT_BYTES];
        tj_context *fresh;
        const tj_plan *plan;

        set_capability(rows[i].major, rows[i].minor);
        fresh = open_context("", TJ_SPECIALIZE_SHAPES);
        cr_assert(eq(int, tj_plan_prepare(fresh, &problem, &config, &plan, &err), TJ_OK), "row %zu: %s", i, err.message);
        tj_config_print(tj_source_config(tj_plan_source(plan)), text);
        cr_expect(strstr(text, rows[i].copy) != NULL, "row %zu: %s", i, text);
        tj_context_free(fresh);
    }
}

/* ---- background tunings ------------------------------------------------------------------------------------------- */

static int asked_by(tj_context *in, const tj_problem *problem, const tj_config *config)
{
    const int before = asked;
    const tj_plan *plan;

    cr_assert(eq(int, tj_plan_prepare(in, problem, config, &plan, &err), TJ_OK), "%s", err.message);
    return asked - before;
}

static void keep_record(tj_context *in, const tj_problem *problem)
{
    static const char text[] = "{\"schema_version\": \"1.0.0\", \"results\": [{\"configuration\": {\"family\": \"tiled\"}, "
                               "\"measurements\": [{\"name\": \"time\", \"unit\": \"us\", \"value\": 5}]}]}";
    tj_records *records = tj_records_create();
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;

    cr_assert(eq(int, tj_device_current(in, &device, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_records_parse(text, problem, &device, records, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_records_keep(in, records, NULL, &err), TJ_OK), "%s", err.message);
    tj_records_free(records);
}

/* Once a problem, and only what a tuning would settle: not a config that was named, a record, or what the launch says. */
Test(stored_plan, is_tuned_behind_its_calls_where_that_helps)
{
    const tj_problem plain = TJ_PROBLEM_INIT(33, 5, 48, TJ_F32), known = TJ_PROBLEM_INIT(33, 6, 48, TJ_F32),
                     named = TJ_PROBLEM_INIT(33, 7, 48, TJ_F32);
    tj_context *stored = open_context(folder, TJ_SPECIALIZE_SHAPES);
    tj_config config;

    cr_expect(eq(int, asked_by(stored, &plain, NULL), 1));
    cr_expect(eq(int, asked_by(stored, &plain, NULL), 0));
    cr_assert(eq(int, tj_config_parse("tiled:tile_width=8", &config, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, asked_by(stored, &named, &config), 0));
    keep_record(stored, &known);
    cr_expect(eq(int, asked_by(stored, &known, NULL), 0));
    for (int i = 0; i < 4; i++) {
        tj_problem open = plain;

        *(i == 0 ? &open.j.mode : i == 1 ? &open.k.mode : &open.l.mode) = i < 3 ? TJ_DIM_ANY : TJ_DIM_FIXED;
        open.batch = i < 3 ? 0 : TJ_ANY;
        cr_expect(eq(int, asked_by(stored, &open, NULL), 0), "%d", i);
    }
    tj_context_free(stored);
}

Test(plan, on_another_device_than_its_context_s_is_not_tuned)
{
    const tj_problem problem = TJ_PROBLEM_INIT(33, 5, 48, TJ_F32);

    fake.fake_set_devices(2);
    fake.fake_context_create(1);
    cr_expect(eq(int, asked_by(context, &problem, NULL), 0));
    fake.fake_context_create(0);
    cr_expect(eq(int, asked_by(context, &problem, NULL), 1));
}
