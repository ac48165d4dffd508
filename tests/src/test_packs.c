/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Packs: what is inside runs where NVRTC is not; what is cut, altered or foreign is a warning and a miss.
 *
 * The driver is the emulator where products are looked at, and one that only pretends where it is enough to see what is found.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tilejit/tools.h>

#include "compress.h"
#include "fake/fake_cuda.h"
#include "pack.h"

static const char MISSING[] = "/nonexistent/libnvrtc.so";
static const tj_problem problem = TJ_PROBLEM_INIT(33, 20, 47, TJ_F32);

enum { J = 33, K = 20, WIDE = 48, THREADS = 8 };

/* It is read by 16 bytes at once, and the kernel for other pointers has the same name. */
static const tj_problem wide = TJ_PROBLEM_INIT(J, K, WIDE, TJ_F32);

static tj_error err;
static char folder[64];
static int32_t first_call; /* of the contexts that are opened */

/* Every Debian has it. */
#define NEEDS_ZLIB()                                  \
    do {                                              \
        if (!tj_compress_is_there())                  \
            cr_skip_test("no zlib here (libz.so.1)"); \
    } while (0)

/* Messages of the log, by level. */
static struct {
    atomic_int warnings;
    char last[512];
} heard;

static void hear(tj_log_level level, const char *line, void *payload)
{
    (void)payload;
    if (level > TJ_LOG_WARNING)
        return;
    atomic_fetch_add(&heard.warnings, 1);
    snprintf(heard.last, sizeof heard.last, "%s", line);
}

static void start(void)
{
    strcpy(folder, "/tmp/tilejit-packs-XXXXXX");
    cr_assert(mkdtemp(folder) != NULL);
    unsetenv("TILEJIT_PACKS");
    setenv("TILEJIT_EMULATOR", EMULATOR_PATH, 1);
    atomic_store(&heard.warnings, 0);
    heard.last[0] = '\0';
}

static void stop(void)
{
    char line[128];

    snprintf(line, sizeof line, "rm -rf %s", folder);
    cr_expect(eq(int, system(line), 0));
}

TestSuite(packs, .init = start, .fini = stop, .timeout = 280);

/* packs: paths; bytes: in memory. Either may be NULL. */
static tj_context *open_context(const char *driver, const char *nvrtc, const char *const *packs, const tj_pack_bytes *bytes)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = NULL;

    options.driver = driver;
    options.nvrtc = nvrtc;
    options.cache_dir = "";
    options.first_call = first_call;
    options.packs = packs;
    options.pack_bytes = bytes;
    options.log_level = TJ_LOG_WARNING;
    options.log = hear;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    return context;
}

static tj_pack_bytes make_pack_of_form(int32_t form, const char *nvrtc, const tj_problem *all, size_t count,
                                       const char *config_text, const char *target)
{
    tj_context *context = open_context("/nonexistent/libcuda.so", nvrtc, NULL, NULL);
    tj_config config = TJ_CONFIG_INIT;
    tj_pack_bytes made;
    tj_pack *pack;
    void *bytes;

    if (config_text)
        cr_assert(eq(int, tj_config_parse(config_text, &config, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_pack_create(context, NULL, &pack, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_pack_set_form(pack, form, &err), TJ_OK), "%s", err.message);
    for (size_t i = 0; i < count; i++)
        cr_assert(eq(int, tj_pack_add(pack, &all[i], config_text ? &config : NULL, target, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_pack_print(pack, &bytes, &made.size, &err), TJ_OK), "%s", err.message);
    made.bytes = bytes;
    tj_pack_free(pack);
    tj_context_free(context);
    return made;
}

static tj_pack_bytes make_pack(const char *nvrtc, const tj_problem *all, size_t count, const char *config_text,
                               const char *target)
{
    return make_pack_of_form(0, nvrtc, all, count, config_text, target);
}

static void write_file(const char *path, const void *bytes, size_t size, mode_t mode)
{
    FILE *file = fopen(path, "wb");

    cr_assert(file != NULL);
    cr_assert(eq(sz, fwrite(bytes, 1, size, file), size));
    cr_assert(eq(int, fclose(file), 0));
    cr_assert(eq(int, chmod(path, mode), 0));
}

/* One product of small integers, so that it is exact; offset: elements by which M and N begin after their buffers. */
static tj_status multiply_as(const tj_problem *asked, tj_context *context, size_t offset, bool *is_right)
{
    const int width = (int)asked->l.extent;
    float m[J * K], n[K * WIDE], p[J * WIDE];
    tj_buffer *buffer[3];
    tj_operands x = TJ_OPERANDS_INIT;
    tj_status status;

    for (int i = 0; i < J * K; i++)
        m[i] = (float)(i % 7 - 3);
    for (int i = 0; i < K * width; i++)
        n[i] = (float)(i % 5 - 2);
    *is_right = false;
    cr_assert(eq(int, tj_buffer_create(context, sizeof m + 64, &buffer[0], &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_create(context, sizeof n + 64, &buffer[1], &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_create(context, sizeof p, &buffer[2], &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_buffer_write(buffer[0], offset * sizeof m[0], m, sizeof m, &err), TJ_OK));
    cr_assert(eq(int, tj_buffer_write(buffer[1], offset * sizeof n[0], n, sizeof n, &err), TJ_OK));
    x.m.address = (char *)tj_buffer_address(buffer[0]) + offset * sizeof m[0];
    x.n.address = (char *)tj_buffer_address(buffer[1]) + offset * sizeof n[0];
    x.p.address = tj_buffer_address(buffer[2]);
    status = tj_matmul(context, asked, &x, NULL, &err);
    if (status == TJ_OK) {
        cr_assert(eq(int, tj_buffer_read(buffer[2], 0, p, sizeof p, &err), TJ_OK));
        *is_right = true;
        for (int j = 0; j < J; j++)
            for (int l = 0; l < width; l++) {
                float sum = 0;

                for (int k = 0; k < K; k++)
                    sum += m[j * K + k] * n[k * width + l];
                *is_right = *is_right && p[j * width + l] == sum;
            }
    }
    for (int i = 0; i < 3; i++)
        tj_buffer_free(buffer[i]);
    return status;
}

static tj_status multiply(tj_context *context, size_t offset, bool *is_right)
{
    return multiply_as(&problem, context, offset, is_right);
}

static tj_context_stats stats_of(tj_context *context)
{
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;

    tj_context_get_stats(context, &stats);
    return stats;
}

/* ---- found -------------------------------------------------------------------------------------------------------- */

Test(packs, what_is_inside_runs_where_nvrtc_is_not)
{
    const tj_pack_bytes made = make_pack(NULL, &problem, 1, NULL, "sm_90");
    char path[96];
    const char *const packs[] = {path, NULL};
    tj_context *context;
    const tj_plan *plan;
    bool is_right;

    snprintf(path, sizeof path, "%s/app.tjpack", folder);
    write_file(path, made.bytes, made.size, 0444);
    context = open_context("emulator:sm_90", MISSING, packs, NULL);
    cr_expect(eq(int, multiply(context, 0, &is_right), TJ_OK), "%s", err.message);
    cr_expect(is_right);
    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, (int)tj_plan_chosen_by(plan), TJ_BY_PACK));
    cr_expect(eq(int, (int)tj_image_origin(tj_plan_image(plan)), TJ_FROM_PACK));
    cr_expect(eq(u64, stats_of(context).compiles, (uint64_t)0));
    cr_expect(stats_of(context).pack_hits == 1);
    /* Pointers that are aligned to one element need another kernel, which is inside too. */
    cr_expect(eq(int, multiply(context, 1, &is_right), TJ_OK), "%s", err.message);
    cr_expect(is_right);
    cr_expect(eq(int, atomic_load(&heard.warnings), 0), "%s", heard.last);
    tj_context_free(context);
    free((void *)made.bytes);
}

/* A program names extents, its pack was made for all of them. The textbook has no kernel of that expression. */
Test(packs, that_leave_dimensions_open_serve_calls_that_name_them)
{
    static const struct {
        bool j, k, l, batch;
        int32_t multiple;
    } open[] = {{.j = true},
                {.k = true},
                {.l = true},
                {.l = true, .multiple = 16},
                {.j = true, .k = true},
                {true, true, true, true, 0}};
    tj_problem asked = wide;

    cr_assert(eq(int, tj_epilogue_parse("max(acc, -1000)", &asked.epilogue, &err), TJ_OK), "%s", err.message);
    for (size_t i = 0; i < sizeof open / sizeof open[0]; i++) {
        tj_problem general = asked;
        tj_pack_bytes made[] = {{NULL, 0}, {NULL, 0}};

        general.j.mode = open[i].j ? TJ_DIM_ANY : TJ_DIM_FIXED;
        general.k.mode = open[i].k ? TJ_DIM_ANY : TJ_DIM_FIXED;
        general.l.mode = open[i].l ? TJ_DIM_ANY : TJ_DIM_FIXED;
        general.l.multiple_of = open[i].multiple;
        if (open[i].batch) /* as --any all does */
            general.batch = general.m.ld = general.n.ld = general.p.ld = general.m.stride = general.n.stride =
                general.p.stride = TJ_ANY;
        first_call = TJ_FIRST_CALL_WAIT;
        made[0] = make_pack(NULL, &general, 1, NULL, "sm_90");
        for (first_call = TJ_FIRST_CALL_WAIT; first_call <= TJ_FIRST_CALL_QUICK; first_call++) {
            tj_context *context = open_context("emulator:sm_90", MISSING, NULL, made);
            const tj_plan *plan;
            bool is_right;

            cr_expect(eq(int, multiply_as(&asked, context, 0, &is_right), TJ_OK), "%zu: %s", i, err.message);
            cr_expect(is_right && stats_of(context).pack_hits == 1, "%zu", i);
            cr_expect(eq(int, multiply_as(&asked, context, 0, &is_right), TJ_OK), "%zu: %s", i, err.message);
            cr_expect(eq(int, tj_plan_prepare(context, &asked, NULL, &plan, &err), TJ_ERR_NO_COMPILER), "it is not handed out");
            tj_context_free(context);
        }
        free((void *)made[0].bytes);
    }
    first_call = TJ_FIRST_CALL_WAIT;
}

Test(packs, in_memory_and_by_the_environment_are_found_too)
{
    const tj_pack_bytes made[] = {make_pack(NULL, &problem, 1, NULL, "compute_80"), {NULL, 0}};
    char path[96], list[256];
    tj_context *context = open_context("emulator:sm_80", MISSING, NULL, made);
    bool is_right;

    cr_expect(eq(int, multiply(context, 0, &is_right), TJ_OK), "%s", err.message);
    cr_expect(is_right);
    tj_context_free(context);

    snprintf(path, sizeof path, "%s/app.tjpack", folder);
    write_file(path, made[0].bytes, made[0].size, 0400);
    snprintf(list, sizeof list, "%s::%s", folder, path); /* a folder is a store, an empty name nothing */
    setenv("TILEJIT_PACKS", list, 1);
    context = open_context("emulator:sm_80", MISSING, NULL, NULL);
    cr_expect(eq(int, multiply(context, 0, &is_right), TJ_OK), "%s", err.message);
    cr_expect(is_right && stats_of(context).pack_hits == 1);
    tj_context_free(context);
    unsetenv("TILEJIT_PACKS");
    cr_expect(eq(int, atomic_load(&heard.warnings), 0), "%s", heard.last);
    free((void *)made[0].bytes);
}

/* Does a pack of code for a family serve this device with a kernel that uses what all of the family have? */
static bool family_serves(const char *device)
{
    tj_problem scaled = TJ_PROBLEM_INIT(32, 256, 32, TJ_E4M3);
    tj_pack_bytes made[2] = {{NULL, 0}};
    tj_config config = TJ_CONFIG_INIT;
    const tj_plan *plan = NULL;
    tj_context *context;
    tj_status status;

    scaled.n.layout = TJ_COL_MAJOR;
    cr_assert(eq(int, tj_config_parse("mma:bm=32,bn=32,wm=16,wn=16,steps=4,scales=instruction", &config, &err), TJ_OK));
    made[0] = make_pack(NULL, &scaled, 1, "mma:bm=32,bn=32,wm=16,wn=16,steps=4,scales=instruction", "sm_120f");
    context = open_context(device, MISSING, NULL, made);
    status = tj_plan_prepare(context, &scaled, &config, &plan, &err);
    tj_context_free(context);
    free((void *)made[0].bytes);
    return status == TJ_OK;
}

Test(packs, of_a_family_serve_its_later_devices)
{
    cr_expect(eq(int, family_serves("emulator:sm_121"), true), "%s", err.message);
}

Test(packs, of_a_family_serve_no_other_device)
{
    cr_expect(eq(int, family_serves("emulator:sm_110"), false));
}

Test(packs, the_same_input_gives_the_same_bytes)
{
    tj_problem all[2] = {problem, problem};
    tj_pack_bytes first, second;

    all[1].j.extent = 16;
    first = make_pack(NULL, all, 2, NULL, "sm_80");
    all[0] = all[1];
    all[1] = problem;
    second = make_pack(NULL, all, 2, NULL, "sm_80");
    cr_assert(eq(sz, first.size, second.size));
    cr_expect(memcmp(first.bytes, second.bytes, first.size) == 0);
    free((void *)first.bytes);
    free((void *)second.bytes);
}

Test(packs, say_which_of_them_served)
{
    const tj_pack_bytes made = make_pack(NULL, &problem, 1, NULL, "sm_90"),
                        other[] = {make_pack(NULL, &wide, 1, NULL, "sm_90"), {NULL, 0}};
    char path[96];
    const char *const packs[] = {"/nonexistent/app.tjpack", path, NULL};
    tj_context *context;
    const tj_plan *plan;
    bool is_right;

    snprintf(path, sizeof path, "%s/app.tjpack", folder);
    write_file(path, made.bytes, made.size, 0444);
    context = open_context("emulator:sm_90", MISSING, packs, other);
    cr_expect(eq(int, multiply_as(&problem, context, 0, &is_right), TJ_OK), "%s", err.message);
    cr_expect(eq(int, multiply_as(&wide, context, 0, &is_right), TJ_OK), "%s", err.message);
    cr_expect(eq(int, multiply_as(&wide, context, 1, &is_right), TJ_OK), "%s", err.message);
    cr_expect(eq(str, (char *)tj_context_pack_name(context, 0), "/nonexistent/app.tjpack"));
    cr_expect(eq(str, (char *)tj_context_pack_name(context, 1), path));
    cr_expect(eq(str, (char *)tj_context_pack_name(context, 2), "pack in memory"));
    cr_expect(tj_context_pack_name(context, 3) == NULL && tj_context_pack_hits(context, 3) == 0);
    cr_expect(tj_context_pack_hits(context, 0) == 0 && tj_context_pack_hits(context, 1) == 1 &&
              tj_context_pack_hits(context, 2) == 2);
    cr_assert(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(str, (char *)tj_image_pack(tj_plan_image(plan)), path));
    tj_context_free(context);
    free((void *)made.bytes);
    free((void *)other[0].bytes);
}

/* ---- not believed ------------------------------------------------------------------------------------------------- */

/* Return the result of a plan with the config of a pack of one small image, in a context on fake drivers. */
static tj_status plan_with(const tj_pack_bytes *bytes, const char *nvrtc, tj_origin *origin)
{
    const tj_pack_bytes list[] = {*bytes, {NULL, 0}};
    tj_context *context = open_context(FAKE_CUDA_PATH, nvrtc, NULL, list);
    tj_config config = TJ_CONFIG_INIT;
    const tj_plan *plan;
    tj_status status;

    cr_assert(eq(int, tj_config_parse("naive", &config, &err), TJ_OK));
    status = tj_plan_prepare(context, &problem, &config, &plan, &err);
    *origin = status == TJ_OK ? tj_image_origin(tj_plan_image(plan)) : 0;
    tj_context_free(context);
    return status;
}

static unsigned char *exact_copy(const void *bytes, size_t size)
{
    unsigned char *copy = malloc(size + !size);

    cr_assert(copy != NULL);
    memcpy(copy, bytes, size);
    return copy;
}

/* Facts about the images of a pack. */
typedef struct images {
    int count, any_alignment, aligned, stripped;
    int64_t bytes;
} images;

static int look_at_image(const tj_pack_entry *entry, void *payload)
{
    images *all = payload;

    cr_expect(entry->damage == NULL, "%s", entry->damage);
    if (entry->kind == TJ_PACK_IMAGE) {
        all->count++;
        all->any_alignment += entry->align == 0;
        all->aligned += entry->align > 0;
        all->stripped += entry->is_stripped;
        all->bytes += entry->bytes;
    }
    return 0;
}

static images images_of(const tj_pack_bytes *pack)
{
    images all = {0};

    cr_assert(eq(int, tj_pack_list(pack->bytes, pack->size, look_at_image, &all, &err), TJ_OK), "%s", err.message);
    return all;
}

static fake_cuda pretend(void)
{
    fake_cuda fake = fake_open(FAKE_CUDA_PATH);

    fake.fake_hide("cuFuncGetParamInfo");
    return fake;
}

static void check_altered(int32_t form)
{
    const tj_pack_bytes made = make_pack_of_form(form, FAKE_NVRTC_PATH, &problem, 1, "naive", "sm_90");
    tj_pack_bytes altered = {exact_copy(made.bytes, made.size), made.size};
    unsigned char *byte = (unsigned char *)altered.bytes;
    tj_origin origin;

    (void)pretend();
    cr_assert(eq(int, plan_with(&made, MISSING, &origin), TJ_OK), "%s", err.message);
    cr_expect(eq(int, (int)origin, TJ_FROM_PACK));
    for (size_t i = 0; i < made.size; i++) {
        byte[i] ^= (unsigned char)(1 << i % 8);
        atomic_store(&heard.warnings, 0);
        cr_assert(eq(int, plan_with(&altered, MISSING, &origin), TJ_ERR_NO_COMPILER), "byte %zu", i);
        cr_assert(eq(int, atomic_load(&heard.warnings), 1), "byte %zu: %s", i, heard.last);
        cr_assert(strstr(heard.last, "pack in memory") != NULL, "byte %zu: %s", i, heard.last);
        if (i % 61 == 0) {
            cr_assert(eq(int, plan_with(&altered, FAKE_NVRTC_PATH, &origin), TJ_OK), "byte %zu: %s", i, err.message);
            cr_assert(eq(int, (int)origin, TJ_FROM_COMPILER));
        }
        byte[i] ^= (unsigned char)(1 << i % 8);
    }
    free((void *)made.bytes);
    free(byte);
}

Test(packs, altered_at_any_byte_is_a_warning_and_a_miss)
{
    check_altered(0);
}

Test(packs, that_are_stripped_and_altered_at_any_byte_are_a_warning_and_a_miss)
{
    check_altered(TJ_PACK_STRIP);
}

Test(packs, that_are_compressed_and_altered_at_any_byte_are_a_warning_and_a_miss)
{
    NEEDS_ZLIB();
    check_altered(TJ_PACK_COMPRESS);
}

Test(packs, cut_at_any_byte_is_a_warning_and_a_miss)
{
    const tj_pack_bytes made = make_pack(FAKE_NVRTC_PATH, &problem, 1, "naive", "sm_90");
    tj_origin origin;

    (void)pretend();
    for (size_t size = 0; size < made.size; size++) {
        tj_pack_bytes cut = {exact_copy(made.bytes, size), size}; /* so that a sanitizer sees what reads beyond */

        atomic_store(&heard.warnings, 0);
        cr_assert(eq(int, plan_with(&cut, MISSING, &origin), TJ_ERR_NO_COMPILER), "%zu bytes", size);
        cr_assert(eq(int, atomic_load(&heard.warnings), 1), "%zu bytes: %s", size, heard.last);
        free((void *)cut.bytes);
    }
    free((void *)made.bytes);
}

Test(packs, a_file_that_is_cut_while_it_is_open_is_a_miss_and_the_product_right)
{
    const tj_pack_bytes made = make_pack(NULL, &problem, 1, NULL, "sm_90");
    char path[96];
    const char *const packs[] = {path, NULL};
    tj_context *context;
    bool is_right;

    snprintf(path, sizeof path, "%s/app.tjpack", folder);
    write_file(path, made.bytes, made.size, 0600);
    context = open_context("emulator:sm_90", NULL, packs, NULL);
    cr_assert(eq(int, truncate(path, 100), 0));
    cr_expect(eq(int, multiply(context, 0, &is_right), TJ_OK), "%s", err.message);
    cr_expect(is_right);
    cr_expect(eq(int, atomic_load(&heard.warnings), 1), "%s", heard.last);
    cr_expect(strstr(heard.last, path) != NULL, "%s", heard.last);
    cr_expect(stats_of(context).compiles > 0);
    tj_context_free(context);
    free((void *)made.bytes);
}

Test(packs, that_cannot_be_used_are_named_and_why)
{
    const tj_pack_bytes made = make_pack(FAKE_NVRTC_PATH, &problem, 1, "naive", "sm_80");
    unsigned char *other = exact_copy(made.bytes, made.size);
    char missing[96], writable[96], foreign_version[96], text[96], foreign_device[96];
    const struct {
        const char *path, *words;
    } cases[] = {{missing, "No such file"},
                 {writable, "others can write"},
                 {foreign_version, "another version"},
                 {text, "not a pack"},
                 {foreign_device, "sm_80 and none for sm_90"}};
    tj_context *context;
    const tj_plan *plan;

    (void)pretend();
    snprintf(missing, sizeof missing, "%s/missing", folder);
    snprintf(writable, sizeof writable, "%s/writable", folder);
    snprintf(foreign_version, sizeof foreign_version, "%s/version", folder);
    snprintf(text, sizeof text, "%s/text", folder);
    snprintf(foreign_device, sizeof foreign_device, "%s/device", folder);
    write_file(writable, made.bytes, made.size, 0666);
    write_file(foreign_device, made.bytes, made.size, 0644);
    write_file(text, "not one\n", 8, 0644);
    other[8] = 3;
    write_file(foreign_version, other, made.size, 0644);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *const packs[] = {cases[i].path, NULL};

        atomic_store(&heard.warnings, 0);
        context = open_context(FAKE_CUDA_PATH, FAKE_NVRTC_PATH, packs, NULL);
        cr_expect(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, atomic_load(&heard.warnings), 1), "%s: %s", cases[i].path, heard.last);
        cr_expect(strstr(heard.last, cases[i].words) && strstr(heard.last, cases[i].path), "%s", heard.last);
        tj_context_free(context);
        context = open_context(FAKE_CUDA_PATH, MISSING, packs, NULL); /* and a call that fails says it too, the log or not */
        cr_expect(eq(int, tj_plan_prepare(context, &problem, NULL, &plan, &err), TJ_ERR_NO_COMPILER));
        cr_expect(strstr(err.message, "no kernel for j33 k20 l47 f32: ") && strstr(err.message, cases[i].path) &&
                      strstr(err.message, cases[i].words) && strstr(err.message, "tilejit pack") &&
                      strstr(err.message, "TILEJIT_NVRTC"),
                  "%s", err.message);
        tj_context_free(context);
    }
    free(other);
    free((void *)made.bytes);
}

/* A config that the caller names is launched as named, or refused. */
Test(packs, that_leave_dimensions_open_do_not_serve_a_config_that_is_named)
{
    tj_problem general = problem;
    tj_config config;
    tj_context *context;
    const tj_plan *plan;
    tj_pack_bytes made[] = {{NULL, 0}, {NULL, 0}};

    general.j.mode = TJ_DIM_ANY;
    made[0] = make_pack(FAKE_NVRTC_PATH, &general, 1, "naive", "sm_90");
    (void)pretend();
    cr_assert(eq(int, tj_config_parse("naive", &config, &err), TJ_OK), "%s", err.message);
    context = open_context(FAKE_CUDA_PATH, MISSING, NULL, made);
    cr_expect(eq(int, tj_plan_prepare(context, &problem, &config, &plan, &err), TJ_ERR_NO_COMPILER));
    cr_expect(strstr(err.message, "no kernel for j33 k20 l47 f32, naive:") &&
                  strstr(err.message, "pack in memory does not hold it"),
              "%s", err.message);
    tj_context_free(context);
    free((void *)made[0].bytes);
}

Test(packs, an_image_that_the_driver_refuses_is_compiled)
{
    const tj_pack_bytes made = make_pack(FAKE_NVRTC_PATH, &problem, 1, "naive", "sm_90");
    fake_cuda fake = pretend();
    tj_origin origin;

    fake.fake_fail("cuLibraryLoadData", 1, CUDA_ERROR_INVALID_IMAGE);
    cr_expect(eq(int, plan_with(&made, FAKE_NVRTC_PATH, &origin), TJ_OK), "%s", err.message);
    free((void *)made.bytes);
}

/* ---- forms -------------------------------------------------------------------------------------------------------- */

Test(packs, whose_kernels_have_one_name_say_which_is_which)
{
    const tj_pack_bytes made[] = {make_pack(NULL, &wide, 1, NULL, "sm_90"), {NULL, 0}};
    const images all = images_of(&made[0]);
    tj_context *context = open_context("emulator:sm_90", MISSING, NULL, made);
    bool is_right;

    for (size_t offset = 0; offset < 2; offset++) {
        cr_expect(eq(int, multiply_as(&wide, context, offset, &is_right), TJ_OK), "%s", err.message);
        cr_expect(is_right && stats_of(context).pack_hits == offset + 1);
    }
    tj_context_free(context);
    cr_expect(all.count == 2 && all.any_alignment == 1 && all.aligned == 1 && all.stripped == 0, "%d %d %d", all.count,
              all.any_alignment, all.aligned);
    free((void *)made[0].bytes);
}

Test(packs, that_are_aligned_leave_other_operands_to_a_compiler)
{
    const tj_pack_bytes made[] = {make_pack_of_form(TJ_PACK_ALIGNED, NULL, &wide, 1, NULL, "sm_90"), {NULL, 0}};
    tj_context *context = open_context("emulator:sm_90", MISSING, NULL, made);
    bool is_right;

    cr_expect(images_of(&made[0]).count == 1 && images_of(&made[0]).aligned == 1);
    cr_expect(eq(int, multiply_as(&wide, context, 0, &is_right), TJ_OK), "%s", err.message);
    cr_expect(is_right);
    cr_expect(eq(int, multiply_as(&wide, context, 1, &is_right), TJ_ERR_NO_COMPILER), "%s", err.message);
    tj_context_free(context);
    context = open_context("emulator:sm_90", NULL, NULL, made);
    cr_expect(eq(int, multiply_as(&wide, context, 1, &is_right), TJ_OK), "%s", err.message);
    cr_expect(is_right && stats_of(context).compiles == 1 && stats_of(context).pack_hits == 1);
    tj_context_free(context);
    free((void *)made[0].bytes);
}

Test(packs, that_are_stripped_serve_the_device_and_nothing_else)
{
    const tj_pack_bytes whole = make_pack(FAKE_NVRTC_PATH, &problem, 1, "naive", "sm_90");
    const tj_pack_bytes made[] = {make_pack_of_form(TJ_PACK_STRIP, FAKE_NVRTC_PATH, &problem, 1, "naive", "sm_90"), {NULL, 0}};
    tj_context *context;
    int64_t unpacked;
    tj_origin origin;
    bool is_right;
    tj_pack *pack;

    (void)pretend();
    cr_expect(images_of(&made[0]).stripped == 1 && images_of(&made[0]).bytes < images_of(&whole).bytes);
    cr_expect(eq(int, plan_with(&made[0], MISSING, &origin), TJ_OK), "%s", err.message);
    cr_expect(eq(int, (int)origin, TJ_FROM_PACK));
    cr_expect(eq(int, atomic_load(&heard.warnings), 0), "%s", heard.last);

    context = open_context(FAKE_CUDA_PATH, FAKE_NVRTC_PATH, NULL, made);
    cr_expect(eq(int, tj_pack_unpack(context, made[0].bytes, made[0].size, &unpacked, &err), TJ_ERR_UNSUPPORTED));
    cr_expect(strstr(err.message, "--strip") != NULL, "%s", err.message);
    cr_assert(eq(int, tj_pack_create(context, NULL, &pack, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_pack_set_form(pack, 64, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(strstr(err.message, "form is 64") != NULL, "%s", err.message);
    /* An image of only PTX has nothing left, and one of only machine code cannot become whole again. */
    cr_assert(eq(int, tj_pack_set_form(pack, TJ_PACK_STRIP, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_pack_add(pack, &problem, NULL, "compute_80", &err), TJ_ERR_UNSUPPORTED), "%s", err.message);
    cr_expect(strstr(err.message, "stripped pack leaves out") != NULL, "%s", err.message);
    tj_pack_free(pack);
    tj_context_free(context);
    free((void *)whole.bytes);
    free((void *)made[0].bytes);

    /* The emulator reads PTX: such a pack is a miss there, and the log says why. */
    const tj_pack_bytes real[] = {make_pack_of_form(TJ_PACK_STRIP, NULL, &problem, 1, NULL, "sm_90"), {NULL, 0}};

    context = open_context("emulator:sm_90", NULL, NULL, real);
    cr_expect(eq(int, multiply(context, 0, &is_right), TJ_OK), "%s", err.message);
    cr_expect(is_right && stats_of(context).pack_hits == 0 && stats_of(context).compiles == 1);
    cr_expect(eq(int, atomic_load(&heard.warnings), 1), "%s", heard.last);
    cr_expect(strstr(heard.last, "machine code alone, which the emulator cannot run") != NULL, "%s", heard.last);
    tj_context_free(context);
    free((void *)real[0].bytes);
}

/* As a version without that part made them. */
Test(packs, of_before_that_say_no_alignment_are_used_as_well)
{
    const tj_pack_bytes made = make_pack(FAKE_NVRTC_PATH, &problem, 1, "naive", "sm_90");
    tj_pack_draft *draft = tj_pack_draft_create();
    tj_pack_bytes before;
    tj_pack_file pack;
    tj_pack_item item;
    tj_origin origin;
    const char *why;
    images all;
    void *bytes;

    (void)pretend();
    cr_assert(draft && tj_pack_open_bytes(&pack, made.bytes, made.size, &why) && pack.count == 1);
    cr_assert(tj_pack_read(&pack, &pack.row[0], &item) == NULL);
    for (size_t i = 0; i < item.count; i++)
        if (strcmp(item.part[i].name, "align") == 0)
            item.part[i] = item.part[--item.count];
    cr_assert(eq(
        int, tj_pack_draft_add(draft, pack.row[0].kind, pack.row[0].request, pack.row[0].target, item.part, item.count, &err),
        TJ_OK));
    cr_assert(eq(int, tj_pack_draft_print(draft, &bytes, &before.size, &err), TJ_OK));
    before.bytes = bytes;
    all = images_of(&before);
    cr_expect(all.count == 1 && all.any_alignment == 0 && all.aligned == 0);
    cr_expect(eq(int, plan_with(&before, MISSING, &origin), TJ_OK), "%s", err.message);
    cr_expect(eq(int, (int)origin, TJ_FROM_PACK));
    tj_pack_item_drop(&item);
    tj_pack_close(&pack);
    tj_pack_draft_free(draft);
    free(bytes);
    free((void *)made.bytes);
}

Test(packs, that_are_compressed_give_the_same_kernels)
{
    NEEDS_ZLIB();
    const tj_pack_bytes whole = make_pack(NULL, &wide, 1, NULL, "sm_90");
    const tj_pack_bytes made[] = {make_pack_of_form(TJ_PACK_COMPRESS, NULL, &wide, 1, NULL, "sm_90"), {NULL, 0}};
    const tj_pack_bytes again = make_pack_of_form(TJ_PACK_COMPRESS, NULL, &wide, 1, NULL, "sm_90");
    tj_context *context = open_context("emulator:sm_90", MISSING, NULL, made);
    bool is_right;

    cr_expect(made[0].size < whole.size / 3, "%zu of %zu bytes", made[0].size, whole.size);
    cr_expect(made[0].size == again.size && memcmp(made[0].bytes, again.bytes, again.size) == 0);
    cr_expect(images_of(&made[0]).count == images_of(&whole).count);
    for (size_t offset = 0; offset < 2; offset++) {
        cr_expect(eq(int, multiply_as(&wide, context, offset, &is_right), TJ_OK), "%s", err.message);
        cr_expect(is_right && stats_of(context).pack_hits == offset + 1);
    }
    tj_context_free(context);
    free((void *)whole.bytes);
    free((void *)made[0].bytes);
    free((void *)again.bytes);
}

static void put(unsigned char *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++, value >>= 8)
        at[i] = (unsigned char)value;
}

static void put_hash(unsigned char *at, tj_hash128 hash)
{
    put(at, hash.high, 8);
    put(at + 8, hash.low, 8);
}

static int keep_damage(const tj_pack_entry *entry, void *payload)
{
    snprintf(payload, 128, "%s", entry->damage ? entry->damage : "");
    return 0;
}

/* Make a pack with wrong content and right checksums. */
static const char *lie(const tj_pack_bytes *pack, uint32_t version, uint32_t whole)
{
    static char damage[128];
    unsigned char *bytes = exact_copy(pack->bytes, pack->size);

    put(bytes + 8, version, 4);
    put(bytes + TJ_PACK_HEADER_BYTES + 4, whole, 4);
    put_hash(bytes + 24, tj_hash_bytes(bytes + TJ_PACK_HEADER_BYTES, TJ_PACK_ROW_BYTES));
    put_hash(bytes + 40, tj_hash_bytes(bytes, 40));
    if (tj_pack_list(bytes, pack->size, keep_damage, damage, &err) != TJ_OK)
        snprintf(damage, sizeof damage, "%.100s", strstr(err.message, ": ") + 2);
    free(bytes);
    return damage;
}

Test(packs, that_lie_about_what_they_decompress_to_are_refused)
{
    static const char BAD[] = "an item in it cannot be decompressed to what it should be",
                      CUT[] = "it is cut, or has changed since it was made";

    NEEDS_ZLIB();
    const tj_pack_bytes made = make_pack_of_form(TJ_PACK_COMPRESS, FAKE_NVRTC_PATH, &problem, 1, "naive", "sm_90");
    const tj_pack_bytes plain = make_pack(FAKE_NVRTC_PATH, &problem, 1, "naive", "sm_90");
    const uint32_t whole = (uint32_t)images_of(&plain).bytes;

    cr_expect(eq(str, (char *)lie(&made, TJ_PACK_COMPRESSED_VERSION, whole), ""));
    cr_expect(eq(str, (char *)lie(&made, TJ_PACK_COMPRESSED_VERSION, whole - 1), (char *)BAD));
    cr_expect(eq(str, (char *)lie(&made, TJ_PACK_COMPRESSED_VERSION, whole + 1), (char *)BAD));
    cr_expect(eq(str, (char *)lie(&made, TJ_PACK_COMPRESSED_VERSION, 1), (char *)BAD));
    cr_expect(eq(str, (char *)lie(&made, TJ_PACK_COMPRESSED_VERSION, TJ_PACK_MAX_ITEM_BYTES), (char *)BAD));
    cr_expect(eq(str, (char *)lie(&made, TJ_PACK_COMPRESSED_VERSION, TJ_PACK_MAX_ITEM_BYTES + 1), (char *)CUT));
    cr_expect(eq(str, (char *)lie(&made, TJ_PACK_COMPRESSED_VERSION, UINT32_MAX), (char *)CUT));
    cr_expect(eq(str, (char *)lie(&made, TJ_PACK_COMPRESSED_VERSION, 0), "an item in it is not a list of parts"));
    cr_expect(eq(str, (char *)lie(&made, TJ_PACK_VERSION, whole), (char *)CUT));
    cr_expect(eq(str, (char *)lie(&plain, TJ_PACK_COMPRESSED_VERSION, whole), (char *)BAD));
    cr_expect(eq(str, (char *)lie(&plain, TJ_PACK_COMPRESSED_VERSION, 0), "")); /* nothing got smaller */
    free((void *)made.bytes);
    free((void *)plain.bytes);
}

/* ---- many at once ------------------------------------------------------------------------------------------------- */

static char shared_path[96];

static void *use_shared(void *payload)
{
    const char *const packs[] = {shared_path, NULL};
    tj_context *context = payload ? payload : open_context("emulator:sm_90", MISSING, packs, NULL);
    const tj_plan *plan;
    tj_error why;
    const bool is_planned =
        tj_plan_prepare(context, &problem, NULL, &plan, &why) == TJ_OK && tj_plan_chosen_by(plan) == TJ_BY_PACK;

    if (!payload)
        tj_context_free(context);
    return is_planned ? shared_path : NULL;
}

Test(packs, are_shared_by_threads_and_processes)
{
    const tj_pack_bytes made = make_pack(NULL, &problem, 1, NULL, "sm_90");
    const char *const packs[] = {shared_path, NULL};
    pthread_t thread[2 * THREADS];
    tj_context *context;
    int planned = 0;

    snprintf(shared_path, sizeof shared_path, "%s/shared", folder);
    write_file(shared_path, made.bytes, made.size, 0444);
    for (int i = 0; i < THREADS; i++)
        if (fork() == 0)
            _exit(use_shared(NULL) ? 0 : 1);
    for (int i = 0, state; i < THREADS; i++)
        planned += wait(&state) > 0 && WIFEXITED(state) && WEXITSTATUS(state) == 0;
    cr_expect(eq(int, planned, THREADS));
    context = open_context("emulator:sm_90", MISSING, packs, NULL);
    for (int i = 0; i < 2 * THREADS; i++) /* half with one context, half each with its own */
        cr_assert(eq(int, pthread_create(&thread[i], NULL, use_shared, i < THREADS ? context : NULL), 0));
    for (int i = 0; i < 2 * THREADS; i++) {
        void *answer;

        pthread_join(thread[i], &answer);
        planned += answer != NULL;
    }
    cr_expect(eq(int, planned, 3 * THREADS));
    tj_context_free(context);
    free((void *)made.bytes);
}

/* ---- bytes -------------------------------------------------------------------------------------------------------- */

Test(packs, an_image_that_the_application_keeps_comes_back)
{
    tj_context *context = open_context("emulator:sm_90", NULL, NULL, NULL);
    tj_problem another = problem;
    tj_source *source, *other;
    tj_image *image, *back;
    unsigned char *altered;
    void *bytes;
    size_t size;

    another.k.extent = 21;
    cr_assert(eq(int, tj_generate(&problem, NULL, &source, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_generate(&another, NULL, &other, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_image_obtain(context, source, "sm_90", &image, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_image_to_bytes(source, image, &bytes, &size, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_image_to_bytes(other, image, (void **)&altered, &size, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_assert(eq(int, tj_image_to_bytes(source, image, (void **)&altered, &size, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_image_from_bytes(source, "sm_90", bytes, size, &back, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(str, (char *)tj_image_key(back), (char *)tj_image_key(image)));
    cr_expect(eq(str, (char *)tj_image_ptx(back, NULL), (char *)tj_image_ptx(image, NULL)));
    cr_expect(tj_image_resources(back).registers == tj_image_resources(image).registers);
    cr_expect(eq(int, (int)tj_image_origin(back), TJ_FROM_PACK));
    tj_image_free(back);
    cr_expect(eq(int, tj_image_from_bytes(source, "sm_80", bytes, size, &back, &err), TJ_ERR_NOT_FOUND));
    cr_expect(eq(int, tj_image_from_bytes(other, "sm_90", bytes, size, &back, &err), TJ_ERR_NOT_FOUND));
    altered[size - 1] ^= 1;
    cr_expect(eq(int, tj_image_from_bytes(source, "sm_90", altered, size, &back, &err), TJ_ERR_NOT_FOUND));
    cr_expect(eq(int, tj_image_from_bytes(source, "sm_90", altered, 3, &back, &err), TJ_ERR_INVALID_ARGUMENT));
    cr_expect(back == NULL);
    free(bytes);
    free(altered);
    tj_image_free(image);
    tj_source_free(source);
    tj_source_free(other);
    tj_context_free(context);
}

static int count_item(const tj_pack_entry *entry, void *payload)
{
    int *count = payload;

    count[entry->kind]++;
    count[0] += entry->damage != NULL;
    return 0;
}

Test(packs, are_listed_and_unpacked_into_a_store)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    const tj_pack_bytes made = make_pack(NULL, &problem, 1, NULL, "compute_90");
    unsigned char *altered = exact_copy(made.bytes, made.size);
    int count[4] = {0}, damaged[4] = {0};
    int64_t unpacked = 0;
    tj_context *context;
    bool is_right;

    cr_expect(eq(int, tj_pack_list(made.bytes, made.size, count_item, count, &err), TJ_OK), "%s", err.message);
    cr_expect(count[0] == 0 && count[TJ_PACK_IMAGE] >= 1 && count[TJ_PACK_CHOICE] == 1, "%d %d", count[TJ_PACK_IMAGE],
              count[TJ_PACK_CHOICE]);
    altered[made.size - 1] ^= 1;
    cr_expect(eq(int, tj_pack_list(altered, made.size, count_item, damaged, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, damaged[0], 1));
    cr_expect(eq(int, tj_pack_list(altered, made.size - 1, count_item, damaged, &err), TJ_ERR_INVALID_ARGUMENT));
    options.cache_dir = folder;
    options.driver = "emulator:sm_90";
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, tj_pack_unpack(context, made.bytes, made.size, &unpacked, &err), TJ_OK), "%s", err.message);
    cr_expect(unpacked == count[TJ_PACK_IMAGE], "%d", (int)unpacked);
    cr_expect(eq(int, multiply(context, 0, &is_right), TJ_OK), "%s", err.message);
    cr_expect(is_right);
    tj_context_free(context);
    free(altered);
    free((void *)made.bytes);
}
