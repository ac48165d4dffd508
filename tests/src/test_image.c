/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Images: compiled, found in memory, found in the store, refused, dumped. NVRTC is the one that only pretends, which counts
 * its compiles, except where a test says otherwise.
 */
#include "image_test.h"

/* ---- compiling --------------------------------------------------------------------------------------------------- */

Test(image_compile, gives_all_facts_of_one_compile)
{
    tj_context *context = make_context(FAKE_NVRTC_PATH, "", NULL, NULL);
    tj_source *source = make_source(100);
    tj_image *image = NULL;
    tj_error err = {0};
    size_t ptx_bytes = 0, cubin_bytes = 0;

    setenv("FAKE_NVRTC_SPILLS", tj_source_kernel(source), 1);
    cr_assert(eq(int, tj_compile(context, source, "sm_90", &image, &err), TJ_OK), "%s", err.message);
    expect_in(tj_image_ptx(image, &ptx_bytes), tj_source_kernel(source));
    cr_expect(eq(sz, ptx_bytes, strlen(tj_image_ptx(image, NULL))));
    cr_expect(memcmp(tj_image_cubin(image, &cubin_bytes), "\177ELF", 4) == 0 && cubin_bytes > 4);
    expect_in(tj_image_log(image), "ptxas info");
    cr_expect(eq(str, (char *)tj_image_target(image), "sm_90"));
    cr_expect(eq(str, (char *)tj_image_compiler(image), "13.0 V13.0.1"));
    cr_expect(eq(sz, strlen(tj_image_key(image)), 32));
    cr_expect(eq(sz, strspn(tj_image_key(image), "0123456789abcdef"), 32));
    cr_expect(eq(int, (int)tj_image_origin(image), TJ_FROM_COMPILER));
    tj_resources found = tj_image_resources(image), expected = {32, 512, 8, 4, 12, 400};
    cr_expect(memcmp(&found, &expected, sizeof found) == 0);
    tj_image_free(image);

    cr_assert(eq(int, tj_compile(context, source, "compute_90", &image, &err), TJ_OK), "%s", err.message);
    cr_expect(tj_image_cubin(image, &cubin_bytes) == NULL && cubin_bytes == 0);
    cr_expect(eq(int, tj_image_resources(image).registers, -1));
    tj_image_free(image);
    tj_image_free(NULL);

    /* It reads nothing that exists, and leaves nothing. */
    cr_expect(eq(u64, stats_of(context).compiles, 2));
    obtain(context, source, "sm_90", TJ_FROM_COMPILER);
    tj_source_free(source);
    tj_context_free(context);
}

Test(image_compile, outlives_the_context_that_made_it)
{
    tj_context *context = make_context(FAKE_NVRTC_PATH, "", NULL, NULL);
    tj_source *source = make_source(100);
    tj_image *first = NULL, *second = NULL;

    cr_assert(eq(int, tj_image_obtain(context, source, "sm_90", &first, NULL), TJ_OK));
    cr_assert(eq(int, tj_image_obtain(context, source, "sm_90", &second, NULL), TJ_OK));
    tj_source_free(source);
    tj_context_free(context);
    tj_image_free(first);
    expect_in(tj_image_ptx(second, NULL), ".entry");
    cr_expect(eq(str, (char *)tj_image_target(second), "sm_90"));
    tj_image_free(second);
}

Test(image_compile, names_a_missing_nvrtc)
{
    tj_context *context = make_context("/no/such/libnvrtc.so.13", "", NULL, NULL);
    tj_source *source = make_source(100);
    tj_image *image = (tj_image *)context;
    const char *const *targets;
    char target[16];
    tj_error err = {0};

    cr_expect(eq(int, tj_compile(context, source, "sm_90", &image, &err), TJ_ERR_NO_COMPILER));
    cr_expect(image == NULL);
    expect_in(err.message, "/no/such/libnvrtc.so.13");
    cr_expect(eq(int, tj_image_obtain(context, source, "sm_90", &image, &err), TJ_ERR_NO_COMPILER));
    cr_expect(image == NULL);
    cr_expect(eq(int, tj_target_for(context, 9, 0, target, &err), TJ_OK), "what is stored for the device can run: %s",
              err.message);
    cr_expect(eq(str, target, "sm_90"));
    cr_expect(eq(int, tj_targets(context, &targets, &err), TJ_ERR_NO_COMPILER));
    tj_source_free(source);
    tj_context_free(context);
}

Test(image_compile, refuses_an_unknown_target_before_compiling)
{
    tj_context *context = make_context(FAKE_NVRTC_PATH, "", NULL, NULL);
    tj_source *source = make_source(100);
    tj_image *image;
    tj_error err = {0};

    cr_expect(eq(int, tj_image_obtain(context, source, "sm_70", &image, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(image == NULL);
    expect_in(err.message, "\"sm_70\"");
    expect_in(err.message, "sm_75");
    cr_expect(eq(u64, stats_of(context).compiles, 0));
    tj_source_free(source);
    tj_context_free(context);
}

/* The compile target follows from the needs of the source: that of the device, its "a", or none. */
Test(image_compile, is_for_a_target_that_has_what_the_text_needs)
{
    static const struct {
        uint32_t needs;
        const char *target, *compiled, *lacks;
    } rows[] = {
        {0, "sm_90", "sm_90"},
        {TJ_FEATURE_CP_ASYNC, "sm_80", "sm_80"},
        {TJ_FEATURE_CP_ASYNC, "sm_75", NULL, "cp_async"},
        {TJ_FEATURE_TMA | TJ_FEATURE_CLUSTER, "sm_90", "sm_90"},
        {TJ_FEATURE_WGMMA | TJ_FEATURE_TMA, "sm_90", "sm_90a"},
        {TJ_FEATURE_WGMMA, "sm_90a", "sm_90a"},
        {TJ_FEATURE_WGMMA, "compute_90", "compute_90a"},
        {TJ_FEATURE_WGMMA, "sm_100", NULL, "wgmma"},
        {TJ_FEATURE_SETMAXNREG, "sm_100", "sm_100a"},
        {TJ_FEATURE_SETMAXNREG | TJ_FEATURE_WGMMA, "sm_100", NULL, "wgmma"}, /* which sm_100a lacks too */
        {TJ_FEATURE_SETMAXNREG | TJ_FEATURE_WGMMA, "sm_80", NULL, "setmaxnreg"},
        {TJ_FEATURE_TCGEN05 | TJ_FEATURE_TMA, "sm_100", "sm_100a"}, /* neither sm_100 nor sm_90a has tensor memory */
        {TJ_FEATURE_TCGEN05, "compute_100", "compute_100a"},
        {TJ_FEATURE_TCGEN05, "sm_90", NULL, "needs tcgen05, which sm_100a, sm_103a, sm_110a has"},
        {TJ_FEATURE_TCGEN05, "sm_120", NULL, "needs tcgen05"},
    };

    tj_context *context = make_context(FAKE_NVRTC_PATH, "", NULL, NULL);
    tj_source *source = make_source(300);
    tj_error err;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_image *image = NULL;

        ((tj_launch_form *)(uintptr_t)tj_source_launch(source))->needs = rows[i].needs;
        if (!rows[i].compiled) {
            cr_expect(eq(int, tj_image_obtain(context, source, rows[i].target, &image, &err), TJ_ERR_UNSUPPORTED), "row %zu",
                      i);
            expect_in(err.message, rows[i].lacks);
            expect_in(err.message, rows[i].target);
            expect_in(err.message, "use another family, or no config");
            continue;
        }
        cr_assert(eq(int, tj_image_obtain(context, source, rows[i].target, &image, &err), TJ_OK), "row %zu: %s", i,
                  err.message);
        cr_expect(eq(str, (char *)tj_image_target(image), (char *)rows[i].compiled), "row %zu", i);
        tj_image_free(image);
    }
    tj_source_free(source);
    tj_context_free(context);
}

/* ptxas learned some instructions after the first chip that has them. Code that passes no ptxas is left to the driver. */
Test(image_compile, names_the_nvrtc_that_knows_what_the_text_needs)
{
    static const struct {
        uint32_t needs;
        const char *target, *said; /* said NULL: it compiles */
    } rows[] = {
        {TJ_FEATURE_MMA_FP8, "sm_90", "needs mma_fp8, which NVRTC 12.3 does not know for sm_90: use NVRTC 12.4 or newer, or"},
        {TJ_FEATURE_MMA_FP8, "compute_90", NULL},
        {TJ_FEATURE_FP8, "sm_90", NULL},
    };
    tj_source *source = make_source(100);
    tj_context *context;
    tj_error err = {0};

    setenv("FAKE_NVRTC_VERSION", "12.3", 1);
    context = make_context(FAKE_NVRTC_PATH, "", NULL, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_image *image = NULL;

        ((tj_launch_form *)(uintptr_t)tj_source_launch(source))->needs = rows[i].needs;
        cr_expect(
            eq(int, tj_image_obtain(context, source, rows[i].target, &image, &err), rows[i].said ? TJ_ERR_UNSUPPORTED : TJ_OK),
            "row %zu: %s", i, err.message);
        if (rows[i].said)
            expect_in(err.message, rows[i].said);
        tj_image_free(image);
    }
    cr_expect(eq(int, tj_features_since(TJ_FEATURE_FP8, "sm_89"), 1201)); /* a target that the fake one does not have */
    tj_source_free(source);
    tj_context_free(context);
}

/* The NVRTC is older than the device: what it makes for an older one has no instruction of the new one. */
Test(image_compile, says_that_the_nvrtc_is_older_than_what_has_the_instructions)
{
    tj_source *source = make_source(100);
    tj_image *image = NULL;
    tj_context *context;
    tj_error err = {0};

    setenv("FAKE_NVRTC_NEWEST", "90", 1);
    setenv("FAKE_NVRTC_VERSION", "12.6", 1);
    context = make_context(FAKE_NVRTC_PATH, "", NULL, NULL);
    ((tj_launch_form *)(uintptr_t)tj_source_launch(source))->needs = TJ_FEATURE_TCGEN05;
    cr_expect(eq(int, tj_image_obtain(context, source, "compute_90", &image, &err), TJ_ERR_UNSUPPORTED));
    expect_in(err.message, "needs tcgen05");
    expect_in(err.message,
              "and NVRTC 12.6 knows no newer target: use a newer NVRTC if the device has it; else use another family");
    cr_expect(eq(int, tj_image_obtain(context, source, "sm_100", &image, &err), TJ_ERR_INVALID_ARGUMENT), "%s", err.message);
    expect_in(err.message, "\"sm_100a\" is not a target of NVRTC 12.6: use one of");
    tj_source_free(source);
    tj_context_free(context);
}

/* A capability that the table has no row for has what those before it have, but for what one of them has alone. */
Test(image_compile, knows_the_features_of_targets_between_and_after_its_own)
{
    cr_expect(eq(u32, tj_target_features("sm_107a"), tj_target_features("sm_103a")));
    cr_expect(eq(u32, tj_target_features("sm_101a") & (TJ_FEATURE_SETMAXNREG | TJ_FEATURE_WGMMA), TJ_FEATURE_SETMAXNREG));
    cr_expect(eq(u32, tj_target_features("sm_91a") & (TJ_FEATURE_SETMAXNREG | TJ_FEATURE_WGMMA), TJ_FEATURE_SETMAXNREG));
    cr_expect(eq(u32, tj_target_features("sm_107") & TJ_FEATURE_SETMAXNREG, 0));
    cr_expect(eq(u32, tj_target_features("sm_70"), 0));
}

/* A config that the target can run is named, and none where the family has none. */
Test(image_compile, names_a_config_for_the_target_if_there_is_one)
{
    static const struct {
        tj_type type;
        const char *remedy;
    } rows[] = {
        {TJ_F16, "use another config, such as mma:"},
        {TJ_S8, "copy=registers"},
        {TJ_BF16, "use another family, or no config"},
        {TJ_F64, "use another family, or no config"},
    };
    tj_context *context = make_context(FAKE_NVRTC_PATH, "", NULL, NULL);
    tj_error err = {0};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, rows[i].type);
        tj_image *image = NULL;
        tj_source *source;
        tj_config config;

        cr_assert(eq(int, tj_config_parse("mma", &config, NULL), TJ_OK));
        cr_assert(eq(int, tj_generate(&problem, &config, &source, NULL), TJ_OK));
        cr_expect(eq(int, tj_image_obtain(context, source, "sm_75", &image, &err), TJ_ERR_UNSUPPORTED), "row %zu", i);
        expect_in(err.message, rows[i].remedy);
        tj_source_free(source);
    }
    tj_context_free(context);
}

Test(image_compile, gives_the_log_of_a_failed_compile_and_tries_again_next_time)
{
    tj_context *context;
    tj_source *source = make_source(100);
    tj_image *image = NULL;
    tj_error err = {0};
    char store[64];

    make_folder(store);
    context = make_context(FAKE_NVRTC_PATH, store, NULL, NULL);
    setenv("FAKE_NVRTC_RESULT", "6", 1);
    for (int i = 1; i <= 2; i++) {
        cr_expect(eq(int, tj_image_obtain(context, source, "sm_90", &image, &err), TJ_ERR_COMPILE));
        cr_assert(image != NULL);
        cr_expect(tj_image_log(image) != NULL);
        cr_expect(eq(str, (char *)tj_image_ptx(image, NULL), ""));
        cr_expect(tj_image_cubin(image, NULL) == NULL);
        tj_image_free(image);
        cr_expect(eq(u64, stats_of(context).failures, (uint64_t)i));
    }
    unsetenv("FAKE_NVRTC_RESULT");
    obtain(context, source, "sm_90", TJ_FROM_COMPILER);
    obtain(context, source, "sm_90", TJ_FROM_MEMORY);
    tj_source_free(source);
    tj_context_free(context);
    remove_folder(store);
}

Test(image_compile, takes_ptx_without_the_kernel_for_a_failure_and_stores_nothing)
{
    tj_source *source = make_source(100);
    tj_context *context;
    tj_image *image;
    tj_error err = {0};
    char store[64];

    make_folder(store);
    context = make_context(FAKE_NVRTC_PATH, store, NULL, NULL);
    setenv("FAKE_NVRTC_NO_ENTRY", "1", 1);
    cr_expect(eq(int, tj_image_obtain(context, source, "sm_90", &image, &err), TJ_ERR_INTERNAL));
    cr_expect(image == NULL);
    expect_in(err.message, tj_source_kernel(source));
    unsetenv("FAKE_NVRTC_NO_ENTRY");
    obtain(context, source, "sm_90", TJ_FROM_COMPILER);
    tj_source_free(source);
    tj_context_free(context);
    remove_folder(store);
}

/* ---- memory and store -------------------------------------------------------------------------------------------- */

Test(image_obtain, compiles_once_then_finds_it_in_memory_then_in_the_store)
{
    tj_source *source = make_source(100), *other = make_source(101);
    listener heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
    tj_context *first, *second;
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;
    char store[64];

    make_folder(store);
    first = make_context(FAKE_NVRTC_PATH, store, NULL, &heard);
    obtain(first, source, "sm_90", TJ_FROM_COMPILER);
    obtain(first, source, "sm_90", TJ_FROM_MEMORY);
    obtain(first, source, "sm_80", TJ_FROM_COMPILER);
    obtain(first, source, "compute_80", TJ_FROM_COMPILER);
    obtain(first, other, "sm_90", TJ_FROM_COMPILER);
    stats = stats_of(first);
    cr_expect(eq(u64, stats.compiles, 4));
    cr_expect(eq(u64, stats.memory_hits, 1));
    cr_expect(eq(u64, stats.store_hits, 0));
    cr_expect(eq(int, heard.infos, 4));

    second = make_context(FAKE_NVRTC_PATH, store, NULL, &heard);
    obtain(second, source, "sm_90", TJ_FROM_STORE);
    obtain(second, source, "sm_90", TJ_FROM_MEMORY);
    obtain(second, source, "compute_80", TJ_FROM_STORE);
    stats = stats_of(second);
    cr_expect(eq(u64, stats.compiles, 0));
    cr_expect(eq(u64, stats.memory_hits, 1));
    cr_expect(eq(u64, stats.store_hits, 2));
    cr_expect(eq(int, fake_compiles(), 4));
    cr_expect(eq(int, heard.warnings, 0), "%s", heard.last_warning);
    tj_context_free(first);
    tj_context_free(second);
    tj_source_free(source);
    tj_source_free(other);
    remove_folder(store);
}

Test(image_obtain, brings_every_fact_back_from_the_store)
{
    tj_source *source = make_source(100);
    tj_context *first, *second;
    tj_image *made = NULL, *read = NULL;
    tj_resources a, b;
    size_t a_bytes, b_bytes;
    char store[64];

    make_folder(store);
    first = make_context(FAKE_NVRTC_PATH, store, NULL, NULL);
    second = make_context(FAKE_NVRTC_PATH, store, NULL, NULL);
    cr_assert(eq(int, tj_image_obtain(first, source, "sm_90", &made, NULL), TJ_OK));
    cr_assert(eq(int, tj_image_obtain(second, source, "sm_90", &read, NULL), TJ_OK));
    cr_expect(eq(int, (int)tj_image_origin(read), TJ_FROM_STORE));
    cr_expect(eq(str, (char *)tj_image_ptx(read, &a_bytes), (char *)tj_image_ptx(made, &b_bytes)));
    cr_expect(eq(sz, a_bytes, b_bytes));
    const void *a_cubin = tj_image_cubin(read, &a_bytes), *b_cubin = tj_image_cubin(made, &b_bytes);
    cr_expect(a_bytes == b_bytes && memcmp(a_cubin, b_cubin, a_bytes) == 0);
    cr_expect(eq(str, (char *)tj_image_log(read), (char *)tj_image_log(made)));
    cr_expect(eq(str, (char *)tj_image_key(read), (char *)tj_image_key(made)));
    cr_expect(eq(str, (char *)tj_image_compiler(read), (char *)tj_image_compiler(made)));
    a = tj_image_resources(read);
    b = tj_image_resources(made);
    cr_expect(memcmp(&a, &b, sizeof a) == 0);
    tj_image_free(made);
    tj_image_free(read);
    tj_context_free(first);
    tj_context_free(second);
    tj_source_free(source);
    remove_folder(store);
}

Test(image_obtain, works_whatever_the_store_is)
{
    static const char *const rows[] = {"", "/proc/no/such", "/dev/null", "/dev/null/below"};
    tj_source *source = make_source(100);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_context *context = make_context(FAKE_NVRTC_PATH, rows[i], NULL, NULL);
        obtain(context, source, "sm_90", TJ_FROM_COMPILER);
        obtain(context, source, "sm_90", TJ_FROM_MEMORY);
        tj_context_free(context);
    }
    tj_source_free(source);
}

Test(image_obtain, compiles_again_when_it_does_not_understand_the_stored_entry)
{
    static const char PTX[] = ".visible .entry another()\n{ ret; }\n";
    static const char *const rows[] = {
        "{}",
        "{\"kernel\": 7}",
        "{\"kernel\": \"another\"}",
        "{\"kernel\": \"%s\"}",
        "{\"kernel\": \"%s\", \"registers\": 1, \"shared_bytes\": 2, \"stack_bytes\": 3, \"spill_stores\": -2, "
        "\"spill_loads\": 4, \"constant_bytes\": 5}",
        "{\"kernel\": \"%s\", \"registers\": 1, \"shared_bytes\": 2, \"stack_bytes\": 3, \"spill_stores\": 9999999999, "
        "\"spill_loads\": 4, \"constant_bytes\": 5}",
        "{\"kernel\": \"%s\", \"registers\": 1, \"shared_bytes\": 2, \"stack_bytes\": 3, \"spill_stores\": 0, "
        "\"spill_loads\": 4, \"constant_bytes\": 5}",
    };
    tj_source *source = make_source(100);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        listener heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
        tj_blob file[] = {{"kernel.ptx", PTX, strlen(PTX)}, {"kernel.cubin", "cubin", 5}};
        tj_image_key_text text;
        tj_context *context;
        char store[64], json[512];
        tj_json *facts;
        tj_key key;
        const char *at = strstr(rows[i], "%s");

        make_folder(store);
        context = make_context(FAKE_NVRTC_PATH, store, NULL, &heard);
        if (at)
            snprintf(json, sizeof json, "%.*s%s%s", (int)(at - rows[i]), rows[i], tj_source_kernel(source), at + 2);
        else
            snprintf(json, sizeof json, "%s", rows[i]);
        cr_assert(eq(int, tj_json_read(json, strlen(json), &facts, NULL), TJ_OK), "row %zu", i);
        cr_assert(eq(int, tj_image_make_key(&context->host, source, "sm_90", &text, &key, NULL), TJ_OK));
        tj_disk_store_publish(context->host.store, &key, file, 2, facts);
        tj_json_free(facts);

        obtain(context, source, "sm_90", TJ_FROM_COMPILER);
        cr_expect(eq(int, heard.warnings, 1), "row %zu: %s", i, heard.last_warning);
        tj_context_free(context);
        /* The compiled image has taken its place. */
        context = make_context(FAKE_NVRTC_PATH, store, NULL, NULL);
        obtain(context, source, "sm_90", TJ_FROM_STORE);
        tj_context_free(context);
        remove_folder(store);
    }
    tj_source_free(source);
}

Test(image_reject, removes_it_from_memory_and_store_once)
{
    tj_source *source = make_source(100);
    tj_image *refused = NULL, *same = NULL;
    tj_context *context, *other;
    char store[64];

    make_folder(store);
    context = make_context(FAKE_NVRTC_PATH, store, NULL, NULL);
    cr_assert(eq(int, tj_image_obtain(context, source, "sm_90", &refused, NULL), TJ_OK));
    cr_assert(eq(int, tj_image_obtain(context, source, "sm_90", &same, NULL), TJ_OK));
    tj_image_reject(&context->host, refused, "the driver refused it");
    obtain(context, source, "sm_90", TJ_FROM_COMPILER);
    /* A second thread that was refused the old image must not take the new one away. */
    tj_image_reject(&context->host, same, "the driver refused it");
    obtain(context, source, "sm_90", TJ_FROM_MEMORY);
    other = make_context(FAKE_NVRTC_PATH, store, NULL, NULL);
    obtain(other, source, "sm_90", TJ_FROM_STORE);
    expect_in(tj_image_ptx(refused, NULL), ".entry"); /* still whole for those who hold it */
    tj_image_free(refused);
    tj_image_free(same);
    tj_context_free(context);
    tj_context_free(other);
    tj_source_free(source);
    remove_folder(store);
}

/* ---- key --------------------------------------------------------------------------------------------------------- */

Test(image_key, holds_what_the_compiler_reads_in_order)
{
    static const char *const names[] = {"schema", "backend", "source", "options", "target", "compiler"};
    tj_context *context = make_context(FAKE_NVRTC_PATH, "", NULL, NULL), *elsewhere;
    tj_source *source = make_source(100), *other = make_source(101);
    tj_image_key_text text[4];
    tj_key key[4];

    cr_assert(eq(int, tj_image_make_key(&context->host, source, "sm_90", &text[0], &key[0], NULL), TJ_OK));
    cr_assert(eq(sz, key[0].count, sizeof names / sizeof names[0]));
    for (size_t i = 0; i < key[0].count; i++)
        cr_expect(eq(str, (char *)key[0].field[i].name, (char *)names[i]));
    cr_expect(eq(str, (char *)key[0].field[2].value, (char *)tj_source_text(source)));

    elsewhere = make_context(FAKE_NVRTC_PATH, "/tmp/another", NULL, NULL);
    cr_assert(eq(int, tj_image_make_key(&elsewhere->host, source, "sm_90", &text[1], &key[1], NULL), TJ_OK));
    cr_expect(eq(str, key[1].hex, key[0].hex));
    cr_assert(eq(int, tj_image_make_key(&context->host, source, "sm_90a", &text[2], &key[2], NULL), TJ_OK));
    cr_expect(ne(str, key[2].hex, key[0].hex));
    cr_assert(eq(int, tj_image_make_key(&context->host, other, "sm_90", &text[3], &key[3], NULL), TJ_OK));
    cr_expect(ne(str, key[3].hex, key[0].hex));
    tj_context_free(context);
    tj_context_free(elsewhere);
    tj_source_free(source);
    tj_source_free(other);
}

/* ---- dump -------------------------------------------------------------------------------------------------------- */

static bool is_file(const char *folder, const tj_source *source, const tj_image *image, const char *suffix)
{
    char path[PATH_MAX];
    struct stat file;

    snprintf(path, sizeof path, "%s/%s-%.8s.%s", folder, tj_source_kernel(source), tj_image_key(image), suffix);
    return stat(path, &file) == 0;
}

static int count_files(const char *folder)
{
    DIR *stream = opendir(folder);
    int count = 0;

    cr_assert(stream != NULL);
    for (struct dirent *entry; (entry = readdir(stream)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(stream);
    return count;
}

Test(image_dump, writes_what_was_built)
{
    tj_source *source = make_source(100), *failing = make_source(101);
    tj_image *image = NULL;
    tj_context *context;
    char root[64], folder[128];

    make_folder(root);
    snprintf(folder, sizeof folder, "%s/dump", root);
    context = make_context(FAKE_NVRTC_PATH, "", folder, NULL);
    cr_assert(eq(int, tj_image_obtain(context, source, "sm_90", &image, NULL), TJ_OK));
    cr_expect(is_file(folder, source, image, "cu"));
    cr_expect(is_file(folder, source, image, "ptx"));
    cr_expect(is_file(folder, source, image, "cubin"));
    cr_expect(is_file(folder, source, image, "log"));
    cr_expect(eq(int, count_files(folder), 4));
    tj_image_free(image);

    setenv("FAKE_NVRTC_RESULT", "6", 1);
    cr_assert(eq(int, tj_image_obtain(context, failing, "sm_90", &image, NULL), TJ_ERR_COMPILE));
    cr_expect(is_file(folder, failing, image, "cu"));
    cr_expect(is_file(folder, failing, image, "log"));
    cr_expect(eq(int, count_files(folder), 6));
    tj_image_free(image);
    tj_context_free(context);
    tj_source_free(source);
    tj_source_free(failing);
    remove_folder(root);
}

Test(image_dump, warns_once_where_it_cannot_write)
{
    static const char *const rows[] = {"/proc/no/such", "/dev/null", "/proc/self"};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        listener heard = {.lock = PTHREAD_MUTEX_INITIALIZER};
        tj_context *context = make_context(FAKE_NVRTC_PATH, "", rows[i], &heard);
        for (int k = 100; k < 103; k++) {
            tj_source *source = make_source(k);
            obtain(context, source, "sm_90", TJ_FROM_COMPILER);
            tj_source_free(source);
        }
        cr_expect(eq(int, heard.warnings, 1), "row %s", rows[i]);
        expect_in(heard.last_warning, rows[i]);
        tj_context_free(context);
    }
}

/* ---- targets ----------------------------------------------------------------------------------------------------- */

Test(target_for, is_the_device_or_the_newest_below)
{
    static const struct {
        int major, minor;
        tj_status status;
        const char *target;
    } rows[] = {
        {7, 5, TJ_OK, "sm_75"},
        {9, 0, TJ_OK, "sm_90"},
        {12, 0, TJ_OK, "sm_120"},
        {8, 6, TJ_OK, "compute_80"},
        {9, 9, TJ_OK, "compute_90"},
        {10, 3, TJ_OK, "compute_100"},
        {12, 1, TJ_OK, "compute_120"},
        {99, 9, TJ_OK, "compute_120"},
        {7, 0, TJ_ERR_UNSUPPORTED, ""},
        {3, 5, TJ_ERR_UNSUPPORTED, ""},
        {0, 0, TJ_ERR_INVALID_ARGUMENT, ""},
        {-9, 0, TJ_ERR_INVALID_ARGUMENT, ""},
        {9, 10, TJ_ERR_INVALID_ARGUMENT, ""},
        {INT_MAX, INT_MAX, TJ_ERR_INVALID_ARGUMENT, ""},
    };
    tj_context *context = make_context(FAKE_NVRTC_PATH, "", NULL, NULL);

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char target[16];
        tj_error err = {0};
        cr_expect(eq(int, tj_target_for(context, rows[i].major, rows[i].minor, target, &err), rows[i].status), "row %zu", i);
        cr_expect(eq(str, target, (char *)rows[i].target), "row %zu", i);
        if (rows[i].status == TJ_ERR_UNSUPPORTED) {
            expect_in(err.message, "sm_75");
            expect_in(err.message, "NVRTC 13.0");
            expect_in(err.message, rows[i].major == 7 ? "7.0" : "3.5");
        }
    }
    tj_context_free(context);
}

Test(targets, are_those_of_nvrtc)
{
    tj_context *context = make_context(FAKE_NVRTC_PATH, "", NULL, NULL);
    const char *const *targets = NULL;

    cr_assert(eq(int, tj_targets(context, &targets, NULL), TJ_OK));
    cr_expect(eq(str, (char *)targets[0], "sm_75"));
    cr_expect(eq(str, (char *)targets[4], "sm_120"));
    cr_expect(targets[5] == NULL);
    tj_context_free(context);
}

/* ---- the real compiler ------------------------------------------------------------------------------------------- */

Test(real_nvrtc, compiles_and_stores_a_generated_kernel)
{
    tj_source *source = make_source(1000);
    tj_image *image = NULL;
    tj_context *context, *again;
    const char *const *targets;
    tj_error err = {0};
    char store[64];
    size_t bytes;

    make_folder(store);
    context = make_context(NULL, store, NULL, NULL);
    if (tj_targets(context, &targets, &err) != TJ_OK) {
        cr_assert(getenv("TILEJIT_REQUIRE_NVRTC") == NULL, "NVRTC is required: %s", err.message);
        printf("SKIPPED, no NVRTC here: %s\n", err.message);
        tj_context_free(context);
        tj_source_free(source);
        remove_folder(store);
        cr_skip_test("no NVRTC");
    }
    cr_assert(eq(int, tj_image_obtain(context, source, "sm_90", &image, &err), TJ_OK), "%s", err.message);
    expect_in(tj_image_ptx(image, NULL), tj_source_kernel(source));
    cr_expect(tj_image_cubin(image, &bytes) != NULL && bytes > 500);
    cr_expect(tj_image_resources(image).registers > 0);
    cr_expect(
        eq(int, tj_image_resources(image).shared_bytes, (int)tj_product_step(tj_source_launch(source))->static_shared_bytes));
    tj_image_free(image);
    again = make_context(NULL, store, NULL, NULL);
    obtain(again, source, "sm_90", TJ_FROM_STORE);
    tj_context_free(context);
    tj_context_free(again);
    tj_source_free(source);
    remove_folder(store);
}
