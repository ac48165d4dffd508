/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: nightly (nearly all of it is NVRTC); cost: 50 */
/*
 * Every family, type, layout and kind of boundary through the real NVRTC, for every target from sm_75 that it knows: ptxas
 * checks the code without a GPU. Without NVRTC the test is skipped, and says so.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/tools.h>

#include "context.h"
#include "dropped.h"
#include "nvrtc.h"
#include "nvrtc_table.h"
#include "targets.h"
#include "template.h"
#include "scales.h"

static tj_context *context;

static void open_context(void)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_error err;

    options.cache_dir = "";
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
}

static void close_context(void)
{
    tj_context_free(context);
}

TestSuite(compile, .init = open_context, .fini = close_context);

/* Those from sm_75 on: NVRTC 12 knows older ones too, for which the library promises nothing, and 12.9 warns of them. */
static const char *const *targets_or_skip(void)
{
    const char *const *targets;
    tj_error err;

    if (tj_targets(context, &targets, &err) != TJ_OK) {
        fprintf(stderr, "compile: NOTHING WAS TESTED: %s\n", err.message);
        cr_assert(eq(ptr, getenv("TILEJIT_REQUIRE_NVRTC"), NULL), "NVRTC is required");
        cr_skip_test("no NVRTC");
    }
    while (*targets && tj_target_features(*targets) == 0)
        targets++;
    return targets;
}

/* 1204 for NVRTC 12.4. */
static int compiler_version(void)
{
    const tj_nvrtc *nvrtc;
    tj_error err;

    cr_assert(eq(int, tj_host_nvrtc(&context->host, &nvrtc, &err), TJ_OK), "%s", err.message);
    return 100 * tj_nvrtc_major(nvrtc) + tj_nvrtc_minor(nvrtc);
}

static bool has_target(const char *const *targets, const char *name)
{
    while (*targets && strcmp(*targets, name) != 0)
        targets++;
    return *targets != NULL;
}

/* A target has these features, and this NVRTC compiles them for it. */
static bool has(const char *target, uint32_t features)
{
    return (tj_target_features(target) & features) == features && compiler_version() >= tj_features_since(features, target);
}

/* As nvdisasm says: UTCHMMA, UTCQMMA, UTCIMMA and UTCOMMA, which ask for products in tensor memory; one bit says something of scales. */
static bool is_product_in_tensor_memory(const unsigned char *instruction)
{
    return (tj_cubin_operation(instruction) & ~0x800) == 0x5ea;
}

/* HMMA, IMMA, DMMA: products of a warp's registers. */
static bool is_product_in_registers(const unsigned char *instruction)
{
    const int operation = tj_cubin_operation(instruction);

    return operation == 0x23c || operation == 0x237 || operation == 0x23f;
}

/* Compile one request; what is wrong is in the message. */
static void compile(const tj_problem *problem, const char *config_text, const char *target, const char *label)
{
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    tj_image *image = NULL;
    tj_error err = {TJ_OK, ""};
    tj_resources used;
    size_t ptx, cubin;

    cr_assert(eq(int, tj_config_parse(config_text, &config, &err), TJ_OK), "%s: %s", label, err.message);
    cr_assert(eq(int, tj_generate(problem, &config, &source, &err), TJ_OK), "%s: %s", label, err.message);
    cr_assert(eq(int, tj_compile(context, source, target, &image, &err), TJ_OK), "%s for %s: %s\n%s", label, target,
              err.message, tj_source_text(source));
    used = tj_image_resources(image);
    cr_expect(ne(ptr, (void *)tj_image_ptx(image, &ptx), NULL));
    cr_expect(ne(ptr, (void *)tj_image_cubin(image, &cubin), NULL));
    cr_expect(gt(sz, ptx, 500), "%s for %s", label, target);
    cr_expect(gt(sz, cubin, 500), "%s for %s", label, target);
    cr_expect(eq(int, used.spill_stores, 0), "%s for %s spills", label, target);
    cr_expect(strcmp(target, "sm_90a") != 0 || !tj_cubin_drops_products(tj_image_cubin(image, NULL), cubin),
              "%s leaves products out", label);
    if (strncmp(config_text, "tcgen05", 7) == 0 || (strncmp(config_text, "mma", 3) == 0 && problem->m.type == TJ_BF16)) {
        const bool in_memory = *config_text == 't';

        cr_expect(eq(int, tj_cubin_has(tj_image_cubin(image, NULL), cubin, is_product_in_tensor_memory), in_memory),
                  "%s for %s: products in tensor memory", label, target);
        cr_expect(eq(int, tj_cubin_has(tj_image_cubin(image, NULL), cubin, is_product_in_registers), !in_memory),
                  "%s for %s: products in registers", label, target);
    }
    if (problem->k.mode == TJ_DIM_ANY || problem->k.extent > 0) /* without a phase, the compiler drops the tiles */
        cr_expect(eq(i64, (int64_t)used.shared_bytes >= tj_product_step(tj_source_launch(source))->static_shared_bytes, 1),
                  "%s for %s: %d bytes of shared memory", label, target, used.shared_bytes);
    cr_expect(eq(ptr, strstr(tj_image_log(image), "warning"), NULL), "%s for %s: %s", label, target, tj_image_log(image));
    tj_image_free(image);
    tj_source_free(source);
}

/*
 * Half of a form's variants, and three quarters where they have six bits: what any two bits say is mixed in the rest as in the whole. At
 * night none.
 */
static bool is_left_out(int variant, int variants)
{
    if (IS_NIGHTLY)
        return false;
    return __builtin_parity((unsigned)variant) || (variants > 32 && __builtin_parity((unsigned)variant & 0x55));
}

static bool is_fp8(int dtype)
{
    return dtype == TJ_E4M3 || dtype == TJ_E5M2;
}

/*
 * One request for each row and type, each with another mixture of the rest, for the oldest and the newest target and for an eighth
 * of those between them, so that each has every family. A type has one or two of the three rows of tiled on a target, others on the next.
 */
Test(compile, every_family_and_type_for_every_target)
{
    enum { COPIES_AS_STORED = 1, EXACT = 2, ANY_TYPE = 4 }; /* asynchronously, of f32 and f64; of known sizes, many products */
    static const struct {
        const char *config;
        int wants;
    } rows[] = {
        {"naive", ANY_TYPE},
        {"tiled", ANY_TYPE},
        {"tiled:shared=dynamic", ANY_TYPE},
        {"tiled:tile_width=32,rows=x", ANY_TYPE},
        {"simt:bm=64,bn=64,bk=8,tm=8,tn=4,copy=registers", 0},
        {"simt:bm=64,bn=64,bk=16,tm=8,tn=4,slices=2,start=spread", COPIES_AS_STORED},
        {"skinny:tm=7,k_thread=4", 0}, /* as of 31 rows a block, the choice for 61, which compile for 2 s */
        {"small_batch", COPIES_AS_STORED | EXACT},
        {"small_batch:copy=registers,products=2", EXACT},
    };
    const char *const *targets = targets_or_skip();
    unsigned place = 0;
    size_t count_of_targets = 0;

    while (targets[count_of_targets])
        count_of_targets++;
    for (size_t t = 0; targets[t]; t++)
        for (size_t c = 0; c < sizeof rows / sizeof rows[0]; c++, place += 4)
            for (int dtype = TJ_F32; dtype < TJ_S32; dtype++) {
                const unsigned count = place + (unsigned)dtype - 1; /* a new type leaves those of the others as they are */
                tj_problem problem = TJ_PROBLEM_INIT(61, 64, 101, TJ_F32);
                char label[200];
                if (!IS_NIGHTLY && t > 0 && t + 1 < count_of_targets && (t + c + (size_t)dtype) % 8)
                    continue;
                if (!IS_NIGHTLY && c >= 1 && c <= 3 && (t + c + (size_t)dtype) % 2)
                    continue;
                if ((rows[c].wants & COPIES_AS_STORED) && (strcmp(targets[t], "sm_75") == 0 || dtype >= TJ_F16))
                    continue;
                if (dtype > TJ_BF16 && !(rows[c].wants & ANY_TYPE))
                    continue;
                if (is_fp8(dtype) && !has(targets[t], TJ_FEATURE_FP8))
                    continue;
                problem.m.type = dtype;
                problem.m.layout = count % 2;
                problem.n.layout = count / 2 % 2;
                problem.p.layout = count / 4 % 2;
                problem.epilogue.has_alpha = problem.epilogue.has_beta = count % 3 == 0;
                problem.batch = count % 5 == 0 ? 3 : 1;
                if (rows[c].wants & EXACT)
                    problem.batch = count % 3 == 0 ? TJ_ANY : 5;
                else if (count % 7 == 0)
                    problem.j.mode = problem.k.mode = problem.l.mode = TJ_DIM_ANY;
                if (dtype >= TJ_F16 && count % 2)
                    problem.p.type = TJ_F32;
                else if (dtype > TJ_BF16 && count % 3)
                    problem.p.type = dtype;
                problem.scale[TJ_MATRIX_M] = nth_scale(dtype == TJ_F64 ? 0 : (int64_t)(count / 2));
                problem.scale[TJ_MATRIX_N] = nth_scale(dtype == TJ_F64 ? 0 : (int64_t)(count / 5));
                if (count % 4 == 1)
                    problem.m.stride = problem.p.stride = TJ_POINTERS_16, problem.n.stride = problem.c.stride = TJ_POINTERS;
                snprintf(label, sizeof label, "%s, %s, variant %u", rows[c].config, tj_type_name((tj_type)dtype), count);
                compile(&problem, rows[c].config, targets[t], label);
            }
    cr_assert(ge(uint, place, 16 * 6), "only %u kernels", place);
}

/* On one target, what is too long to compile for each: tiles as long as they are chosen, which must not spill either. */
Test(compile, long_tiles_of_every_type)
{
    static const char *const configs[] = {"skinny", "simt:bm=64,bn=64,bk=16,tm=8,tn=4,copy=registers", "mma"};

    targets_or_skip();
    for (int dtype = TJ_F32; dtype <= TJ_BF16; dtype++)
        for (int c = 0; c < 3; c++) {
            tj_problem problem = TJ_PROBLEM_INIT(61, 64, 101, TJ_F32);

            problem.m.type = dtype;
            if (c == 2 && dtype == TJ_F32) /* which tensor cores do not have */
                continue;
            compile(&problem, configs[c], "sm_90", configs[c]);
        }
}

/* Expect that no instruction of this kind (its first letters) comes before `wait`, but for reads of parameters. */
static void expect_none_before(const char *from, const char *wait, const char *kind, const char *kernel)
{
    for (const char *line = from; (line = strstr(line, kind)) != NULL && line < wait; line++) {
        const bool begins = isspace((unsigned char)line[-1]), is_parameter = strncmp(line, "ld.param", strlen("ld.param")) == 0;

        cr_expect(not(begins && !is_parameter), "%s: before its wait: %.*s", kernel, (int)strcspn(line, "\n"), line);
    }
}

/*
 * Expect that a kernel which overlaps the one ahead waits for it before it touches memory, and, if that one may write what this one
 * reads, that no load says that its memory is read-only: ld.global.nc promises that nothing writes it while the kernel lives.
 */
static void expect_loads_after_wait(const char *ptx, const tj_launch_step *step, bool may_be_written, const char *label)
{
    static const char *const kinds[] = {"ld.", "st.global", "cp.async", "red.", "atom."};
    char entry[TJ_KERNEL_NAME_BYTES + 16];
    const char *begin, *end, *wait;

    (void)snprintf(entry, sizeof entry, ".entry %s(", step->kernel);
    begin = strstr(ptx, entry);
    cr_assert(begin != NULL, "%s: %s", label, step->kernel);
    end = strstr(begin + 1, ".entry ");
    wait = strstr(begin, "griddepcontrol.wait");
    cr_assert(wait && (!end || wait < end), "%s: %s does not wait", label, step->kernel);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        expect_none_before(begin, wait, kinds[i], step->kernel);
    begin = strstr(begin, "ld.global.nc");
    cr_expect(not(may_be_written && begin != NULL && (!end || begin < end)), "%s: %s loads by ld.global.nc", label,
              step->kernel);
}

/*
 * The product, and kernels that go before or after it; by the library's own choice too. All load scales and an operand, but the last:
 * what its second kernel reads of the workspace is all that an earlier kernel writes.
 */
Test(compile, no_load_of_a_kernel_that_overlaps_promises_that_it_is_read_only)
{
    static const struct {
        const char *config;
        tj_problem problem;
        const char *epilogue;
    } rows[] = {
        {"simt", TJ_PROBLEM_INIT(64, 256, 256, TJ_F32), "peak[row] = max(abs(acc + bias[col])); acc"},
        {"simt:bm=64,bn=64,bk=8,tm=8,tn=4,copy=registers,splits=2", TJ_PROBLEM_INIT(64, 256, 256, TJ_F32)},
        {"skinny:splits=1", TJ_PROBLEM_INIT(16, 512, 512, TJ_F32)},
        {"skinny:splits=3", TJ_PROBLEM_INIT(16, 512, 512, TJ_BF16)},
        {"strip:splits=2", TJ_PROBLEM_INIT(512, 512, 16, TJ_F32)},
        {"strip:copies=boxes", TJ_PROBLEM_INIT(512, 512, 16, TJ_F32)},
        {"small_batch:copy=registers", TJ_PROBLEM_INIT(16, 16, 16, TJ_F32)},
        {"mma:pack=both", TJ_PROBLEM_INIT(63, 255, 511, TJ_BF16)},
        {"planes", TJ_PROBLEM_INIT(256, 256, 256, TJ_F32)},
        {"wgmma_planes", TJ_PROBLEM_INIT(256, 256, 256, TJ_F32)},
        {"wgmma:bm=64,bn=32,multipliers=1", TJ_PROBLEM_INIT(64, 512, 256, TJ_BF16)},
        {"wgmma:bm=64,bn=32,multipliers=1,splits=2", TJ_PROBLEM_INIT(64, 512, 256, TJ_BF16)},
        {"simt:bm=64,bn=64,bk=8,tm=8,tn=4,copy=registers,splits=2", TJ_PROBLEM_INIT(1024, 1024, 1024, TJ_F32)},
    };
    const size_t count = sizeof rows / sizeof rows[0];

    targets_or_skip();
    for (size_t i = 0; i < 2 * count; i++) {
        const bool is_last = i / 2 == count - 1;
        const char *const name = rows[i / 2].config;
        tj_problem problem = rows[i / 2].problem;
        tj_config config = TJ_CONFIG_INIT;
        tj_source *source = NULL;
        tj_image *image = NULL;
        tj_error err = {TJ_OK, ""};
        const tj_launch_form *launch;
        const char *ptx;
        size_t bytes;
        int waits = 0;

        problem.overlap = (int16_t)(i % 2);
        if (rows[i / 2].epilogue)
            cr_assert(eq(int, tj_epilogue_parse(rows[i / 2].epilogue, &problem.epilogue, &err), TJ_OK), "%s", err.message);
        else
            problem.epilogue.has_alpha = problem.epilogue.has_beta = 1;
        if (!is_last)
            problem.scale[TJ_MATRIX_M] = (tj_scale)SCALE_EACH;
        problem.compute = strstr(name, "planes") ? TJ_COMPUTE_F32_SPLIT : TJ_COMPUTE_DEFAULT;
        cr_assert(eq(int, tj_config_parse(name, &config, &err), TJ_OK), "%s: %s", name, err.message);
        cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK), "%s: %s", name, err.message);
        cr_assert(eq(int, tj_compile(context, source, "compute_90", &image, &err), TJ_OK), "%s: %s", name, err.message);
        ptx = tj_image_ptx(image, &bytes);
        launch = tj_source_launch(source);
        for (int step = 0; step < launch->steps; step++)
            if (launch->step[step].overlaps) {
                expect_loads_after_wait(ptx, &launch->step[step], is_last || launch->step[0].overlaps, name);
                waits++;
            }
        cr_expect(waits >= launch->steps - !problem.overlap, "%s: %d of %d kernels overlap", name, waits, launch->steps);
        tj_image_free(image);
        tj_source_free(source);
    }
}

/* The message is about the request, before ptxas would report an error about PTX. */
Test(compile, asynchronous_copies_for_an_old_target)
{
    tj_problem problem = TJ_PROBLEM_INIT(64, 64, 64, TJ_F32);
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    tj_image *image = NULL;
    tj_error err = {TJ_OK, ""};

    targets_or_skip();
    cr_assert(eq(int, tj_config_parse("simt", &config, &err), TJ_OK));
    cr_assert(eq(int, tj_generate(&problem, &config, &source, &err), TJ_OK));
    cr_expect(eq(int, tj_compile(context, source, "sm_75", &image, &err), TJ_ERR_UNSUPPORTED));
    cr_expect(ne(ptr, strstr(err.message, "sm_80"), NULL), "%s", err.message);
    cr_expect(ne(ptr, strstr(err.message, "copy=registers"), NULL), "%s", err.message);
    tj_source_free(source);
}

/* On one target: each layout with each set of checks, for both kinds of shared memory. */
Test(compile, every_layout_with_every_set_of_checks)
{
    static const char *const configs[] = {"naive", "tiled", "tiled:shared=dynamic", "simt:bm=32,bn=64,bk=16,tm=8,tn=4"};

    targets_or_skip();
    for (int layouts = 0; layouts < 8; layouts++)
        for (int checks = 0; checks < 8; checks += layouts % 2 ? 1 : 3) {
            tj_problem problem = TJ_PROBLEM_INIT(checks & 1 ? 97 : 64, checks & 2 ? 89 : 64, checks & 4 ? 101 : 64, TJ_F32);
            char label[100];
            problem.m.layout = layouts & 1;
            problem.n.layout = layouts >> 1 & 1;
            problem.p.layout = layouts >> 2;
            snprintf(label, sizeof label, "layouts %d checks %d", layouts, checks);
            compile(&problem, configs[(size_t)(layouts + checks) % (sizeof configs / sizeof configs[0])], "sm_90", label);
        }
}

/* skinny: each layout and type, streaming either operand, with and without splits and vectors. */
Test(compile, skinny_in_every_form)
{
    static const char *const configs[] = {"skinny:stream=n,splits=1", "skinny:stream=m,splits=5",
                                          "skinny:stream=m,splits=1,vector=1",
                                          "skinny:stream=n,splits=3,tm=3,tn=4,lanes=4,slices=16,vector=1,k_thread=2"};

    targets_or_skip();
    for (int variant = 0; variant < 64; variant++) {
        tj_problem problem = TJ_PROBLEM_INIT(variant & 32 ? 16 : 13, variant & 32 ? 512 : 301, 24, TJ_F32);
        char label[200];

        if (is_left_out(variant, 64))
            continue;
        problem.m.type = TJ_F32 + variant % 4;
        problem.m.layout = variant >> 2 & 1;
        problem.n.layout = variant >> 3 & 1;
        problem.p.layout = variant >> 4 & 1;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = variant % 3 == 0;
        problem.batch = variant % 5 == 0 ? 3 : 1;
        if (variant % 7 == 0)
            problem.k.mode = TJ_DIM_ANY;
        snprintf(label, sizeof label, "%s, variant %d", configs[variant / 3 % 4], variant);
        compile(&problem, configs[variant / 3 % 4], variant % 2 ? "sm_90" : "sm_75", label);
    }
}

/* strip: every place of the lanes that a tuner tries, all types, either side short, with and without splits. */
Test(compile, strip_in_every_form)
{
    static const char *const configs[] = {"strip:splits=1",
                                          "strip:splits=3,blocks=2",
                                          "strip:tm=4,row_lanes=2,steps=2,warps=2",
                                          "strip:tm=5,row_lanes=4,stages=5,warps=1",
                                          "strip:copies=boxes",
                                          "strip:copies=boxes,tm=5,row_lanes=1,warps=1,splits=3"};

    targets_or_skip();
    for (int variant = 0; variant < 48; variant++) {
        static const int64_t columns[] = {16, 13, 8, 1};
        static const int32_t types[] = {TJ_F32, TJ_F64, TJ_F16, TJ_F32, TJ_BF16};
        tj_problem problem = TJ_PROBLEM_INIT(301, variant & 16 ? 512 : 1008, columns[variant / 2 % 4], TJ_F32);
        char label[200];

        if (is_left_out(variant, 48))
            continue;
        problem.l.extent += variant / 4 % 6 > 3 && problem.l.extent % 2 != 0; /* boxes take even ones */
        problem.m.type = types[variant % 5];
        if (variant % 3 == 0) {
            problem.j.extent = problem.l.extent, problem.l.extent = 301;
            problem.m.layout = problem.n.layout = TJ_COL_MAJOR;
        }
        problem.p.layout = variant >> 3 & 1;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = variant % 3 == 0;
        problem.batch = variant % 5 == 0 ? 3 : 1;
        if (variant % 7 == 0)
            problem.k.mode = TJ_DIM_ANY, problem.k.multiple_of = 8;
        snprintf(label, sizeof label, "%s, variant %d", configs[variant / 4 % 6], variant);
        compile(&problem, configs[variant / 4 % 6], variant % 2 || variant / 4 % 6 > 3 ? "sm_90" : "sm_80", label);
    }
}

/* planes: tiles, layouts, P of every type, with and without checks. */
Test(compile, planes_in_every_form)
{
    static const char *const configs[] = {"planes", "planes:bm=64,bn=64,blocks=3", "planes:wm=32,wn=64,vector=1",
                                          "planes:bm=64,bn=128,wm=32,group=8"};
    const char *const *targets = targets_or_skip();
    unsigned variant = 0;

    for (size_t t = 0; targets[t]; t++)
        for (int c = 0; c < 4; c++, variant++) {
            tj_problem problem =
                TJ_PROBLEM_INIT(variant & 1 ? 256 : 301, variant & 2 ? 64 : 77, variant & 4 ? 128 : 99, TJ_F32);
            char label[200];

            if (strcmp(targets[t], c % 2 ? "sm_80" : "sm_90") != 0)
                continue; /* six kernels a text: half of them for the oldest target, half for Hopper */
            problem.compute = TJ_COMPUTE_F32_SPLIT;
            problem.p.type = variant % 5 == 0 ? TJ_F16 : variant % 5 == 1 ? TJ_BF16 : TJ_F32;
            problem.m.layout = variant >> 1 & 1;
            problem.n.layout = variant >> 2 & 1;
            problem.p.layout = variant % 3 == 0;
            problem.batch = variant % 3 == 1 ? 3 : 1;
            problem.m.stride = variant % 6 == 1 ? TJ_BROADCAST : 0;
            problem.epilogue.has_alpha = problem.epilogue.has_beta = variant % 4 == 0;
            problem.scale[TJ_MATRIX_M] = nth_scale((int64_t)(variant / 2));
            problem.scale[TJ_MATRIX_N] = nth_scale((int64_t)(variant / 5));
            snprintf(label, sizeof label, "%s, variant %u", configs[c], variant);
            compile(&problem, configs[c], targets[t], label);
        }
}

/* wgmma_planes: tiles, layouts, P of every type; nothing may be serialised. */
Test(compile, wgmma_planes_in_every_form)
{
    static const char *const configs[] = {"wgmma_planes", "wgmma_planes:multipliers=1,bn=80,blocks=2",
                                          "wgmma_planes:multipliers=3,bn=96,vector=1", "wgmma_planes:bn=160"};

    if (!has_target(targets_or_skip(), "sm_90"))
        cr_skip_test("this NVRTC does not know sm_90");
    for (unsigned variant = 0; variant < 4; variant++) {
        tj_problem problem = TJ_PROBLEM_INIT(variant & 1 ? 256 : 301, variant & 2 ? 64 : 77, variant & 1 ? 480 : 99, TJ_F32);
        char label[200];

        problem.compute = TJ_COMPUTE_F32_SPLIT;
        problem.p.type = variant % 5 == 0 ? TJ_F16 : variant % 5 == 1 ? TJ_BF16 : TJ_F32;
        problem.m.layout = variant >> 1 & 1;
        problem.n.layout = variant >> 2 & 1;
        problem.p.layout = variant % 3 == 0;
        problem.batch = variant % 3 == 1 ? 3 : 1;
        problem.m.stride = variant % 6 == 1 ? TJ_BROADCAST : 0;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = variant % 4 == 0;
        problem.scale[TJ_MATRIX_M] = nth_scale((int64_t)(variant / 2));
        problem.scale[TJ_MATRIX_N] = nth_scale((int64_t)(variant / 3));
        snprintf(label, sizeof label, "%s, variant %u", configs[variant % 4], variant);
        compile(&problem, configs[variant % 4], "sm_90", label);
    }
}

/* small_batch: each layout and type, sizes that fit the threads and sizes that do not. */
Test(compile, small_batch_in_every_form)
{
    static const int64_t sizes[][3] = {{16, 16, 16}, {23, 23, 23}, {13, 32, 5}, {64, 64, 64}, {1, 128, 3}, {128, 128, 128}};
    static const char *const configs[] = {"small_batch", "small_batch:vector=1", "small_batch:copy=registers",
                                          "small_batch:products=2,copy=registers,vector=2"};

    targets_or_skip();
    for (int variant = 0; variant < 72; variant++) {
        const int64_t *size = sizes[variant / 4 % 6];
        tj_problem problem = TJ_PROBLEM_INIT(size[0], size[1], size[2], TJ_F32);
        const int way = problem.j.extent == 128 ? 0 : variant / 5 % 4;
        char label[200];

        if (is_left_out(variant, 72))
            continue;
        problem.m.type = TJ_F32 + variant % 4;
        problem.m.layout = variant / 2 & 1;
        problem.n.layout = variant / 3 & 1;
        problem.p.layout = variant / 7 & 1;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = variant % 3 == 0;
        problem.batch = variant % 5 == 0 ? TJ_ANY : 1000;
        if (variant % 4 == 1)
            problem.m.stride = problem.p.stride = TJ_POINTERS, problem.n.stride = problem.c.stride = TJ_POINTERS_16;
        if (problem.j.extent == 128 && problem.m.type == TJ_F64)
            problem.k.extent = 64; /* what shared memory holds */
        snprintf(label, sizeof label, "%s, variant %d", configs[way], variant);
        compile(&problem, configs[way], problem.m.type <= TJ_F64 || variant % 2 ? "sm_90" : "sm_75", label);
    }
}

/* wgmma: each type and what it may lie like, with splits, batches and open extents; nothing may be serialised. */
Test(compile, wgmma_in_every_form)
{
    static const char *const configs[] = {"wgmma:bm=128,bn=256",          "wgmma:bm=256,bn=128,release=now",
                                          "wgmma:bm=192,bn=192,splits=3", "wgmma:bm=64,bn=16,blocks=2,store=elements",
                                          "wgmma:bm=128,bn=96,group=1",   "wgmma:bm=128,bn=160,pingpong=yes"};
    static const int types[] = {TJ_BF16, TJ_F16, TJ_S8, TJ_U8, TJ_F32};

    if (!has_target(targets_or_skip(), "sm_90"))
        cr_skip_test("this NVRTC does not know sm_90");
    for (int variant = 0; variant < 30; variant++) {
        tj_problem problem = TJ_PROBLEM_INIT(variant & 1 ? 256 : 264, variant & 2 ? 128 : 144, variant & 4 ? 256 : 272, TJ_F32);
        const char *const config = configs[variant % (sizeof configs / sizeof configs[0])];
        char label[200];

        if (is_left_out(variant, 30))
            continue;
        problem.m.type = types[variant / 5 % 5];
        problem.compute = problem.m.type == TJ_F32 ? TJ_COMPUTE_TF32 : 0;
        problem.n.layout = variant & 1;
        problem.m.layout = problem.n.layout == TJ_COL_MAJOR && problem.compute == TJ_COMPUTE_TF32; /* from registers */
        problem.epilogue.has_alpha = problem.epilogue.has_beta = variant % 3 == 0;
        problem.scale[TJ_MATRIX_M] = nth_scale(variant);
        problem.scale[TJ_MATRIX_N] = nth_scale(variant / 3);
        problem.batch = variant % 4 == 0 ? 3 : 1;
        if (!strstr(config, "splits") && variant % 7 == 0)
            problem.j = problem.k = problem.l = (tj_dim){0, TJ_DIM_ANY, 16};
        snprintf(label, sizeof label, "%s, variant %d", config, variant);
        compile(&problem, config, "sm_90", label);
    }
}

/* tcgen05: tiles, layouts, splits, batches, groups and open extents. No mma.sync stands in for its products. */
Test(compile, tcgen05_in_every_form)
{
    static const char *const configs[] = {"tcgen05:bn=256",
                                          "tcgen05:bm=64,bn=16,store=elements",
                                          "tcgen05:bn=112,splits=3",
                                          "tcgen05:bn=192,store=lines",
                                          "tcgen05:swap=yes,bm=64,bn=24",
                                          "tcgen05:pair=yes,bn=160",
                                          "tcgen05:bm=64,bn=64"};
    static const char *const on[] = {"sm_100", "sm_103", "sm_110"};
    static const int types[] = {TJ_BF16, TJ_F16, TJ_S8, TJ_E4M3, TJ_F32, TJ_E5M2};

    for (int variant = 0; variant < 30; variant++) {
        tj_problem problem = TJ_PROBLEM_INIT(variant & 1 ? 256 : 264, variant & 2 ? 128 : 144, variant & 4 ? 256 : 272, TJ_F32);
        const char *const config = configs[variant % (sizeof configs / sizeof configs[0])], *const target = on[variant % 3];
        char label[200];

        if (is_left_out(variant, 30) || !has_target(targets_or_skip(), target))
            continue;
        problem.m.type = types[variant / 5 % 6];
        problem.compute = problem.m.type == TJ_F32 ? TJ_COMPUTE_TF32 : 0;
        problem.n.layout = variant & 1;
        problem.m.layout = variant / 2 & 1;
        problem.p.type = variant % 3 == 1 ? TJ_F32 : 0;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = variant % 3 == 0;
        problem.scale[TJ_MATRIX_M] = nth_scale(variant);
        problem.scale[TJ_MATRIX_N] = nth_scale(variant / 3);
        problem.batch = variant % 4 == 0 ? 3 : 1;
        if (problem.batch == 1 && problem.m.layout == TJ_ROW_MAJOR && variant % 6 == 0)
            problem.rows = (tj_rows){.kind = TJ_ROWS_IN_GROUPS, .groups = 8};
        if (!strstr(config, "splits") && variant % 7 == 0)
            problem.j = problem.k = problem.l = (tj_dim){0, TJ_DIM_ANY, 16};
        if (strstr(config, "bm=64,bn=64")) { /* one triangle */
            problem.symmetric = (int8_t)(variant % 2 ? TJ_SYMMETRIC_BOTH : TJ_SYMMETRIC_UPPER);
            problem.l = problem.j;
            problem.rows = (tj_rows){0};
        }
        if (problem.m.type == TJ_S8 && strcmp(target, "sm_103") == 0)
            continue; /* it has no products of integers */
        snprintf(label, sizeof label, "%s, variant %d", config, variant);
        compile(&problem, config, target, label);
    }
}

/* tcgen05 by scales of blocks. */
Test(compile, tcgen05_of_scaled_blocks)
{
    static const char *const on[] = {"sm_100", "sm_103", "sm_110"};

    for (int variant = 0; variant < 6; variant++) {
        const bool is_fp4 = variant / 3;
        const tj_scale scale = SCALES_OF(is_fp4 ? TJ_E4M3 : TJ_E8M0, TJ_SCALES_ROW_BY_ROW, 1, is_fp4 ? 16 : 32);
        tj_problem problem = TJ_PROBLEM_INIT(512, 4096, 704, is_fp4 ? TJ_E2M1 : TJ_E4M3);

        problem.n.type = problem.m.type;
        problem.n.layout = TJ_COL_MAJOR;
        problem.p.type = TJ_BF16;
        problem.scale[TJ_MATRIX_M] = problem.scale[TJ_MATRIX_N] = scale;
        if (has_target(targets_or_skip(), on[variant % 3]))
            compile(&problem, is_fp4 ? "tcgen05:bn=192" : "tcgen05", on[variant % 3], is_fp4 ? "nvfp4" : "mxfp8");
    }
}

/* wgmma: groups of rows and along k, and gathered rows. The warps next to those that multiply have few registers, and may not spill. */
Test(compile, wgmma_of_groups)
{
    static const struct {
        const char *config;
        int32_t type;
        tj_rows rows;
        int16_t m_layout, n_layout;
    } kernels[] = {
        {"wgmma:bm=128,bn=192,pingpong=yes", TJ_BF16, {.kind = TJ_ROWS_IN_GROUPS, .groups = 8}, 0, 0},
        {"wgmma:bm=128,bn=192", TJ_F16, {.kind = TJ_ROWS_MASKED, .groups = 8}, 0, 1},
        {"wgmma:bm=256,bn=128", TJ_BF16, {.kind = TJ_ROWS_IN_GROUPS, .gathered = 1, .groups = 8}, 0, 0},
        {"wgmma:bm=128,bn=192,pingpong=yes", TJ_BF16, {.gathered = 1}, 0, 0},
        {"wgmma:bm=128,bn=128", TJ_E4M3, {.kind = TJ_ROWS_IN_GROUPS, .gathered = 1, .groups = 8}, 0, 1},
        {"wgmma:bm=128,bn=256", TJ_BF16, {.kind = TJ_ROWS_ALONG_K, .groups = 8}, 0, 1},
        {"wgmma:bm=128,bn=192,pingpong=yes", TJ_BF16, {.kind = TJ_ROWS_ALONG_K, .groups = 8}, 1, 0},
        {"wgmma:bm=128,bn=128", TJ_E4M3, {.kind = TJ_ROWS_ALONG_K, .groups = 8}, 0, 0},
        {"wgmma:bm=128,bn=128,transpose=n", TJ_F32, {.kind = TJ_ROWS_ALONG_K, .groups = 8}, 0, 0},
        {"wgmma:bm=128,bn=256", TJ_F32, {.kind = TJ_ROWS_ALONG_K, .groups = 8}, 1, 1},
    };

    if (!has_target(targets_or_skip(), "sm_90"))
        cr_skip_test("this NVRTC does not know sm_90");
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(1024, 4096, 14336, kernels[i].type);
        char label[200];

        problem.rows = kernels[i].rows;
        problem.m.layout = kernels[i].m_layout;
        problem.n.layout = kernels[i].n_layout;
        if (kernels[i].type == TJ_F32)
            problem.compute = TJ_COMPUTE_TF32;
        if (kernels[i].type == TJ_E4M3) {
            problem.compute = TJ_COMPUTE_F32_FP8;
            problem.p.type = TJ_BF16;
            if (problem.rows.gathered)
                problem.scale[TJ_MATRIX_M] = (tj_scale){TJ_F32, TJ_SCALES_ROW_BY_ROW, .rows = 1, .k = 128};
        }
        snprintf(label, sizeof label, "%s, row %zu", kernels[i].config, i);
        compile(&problem, kernels[i].config, "sm_90", label);
    }
}

/* wgmma: one triangle, whose elements pass through shared memory. No sum may spill, and no product may be serialised. */
Test(compile, wgmma_of_one_triangle)
{
    static const char *const configs[] = {"wgmma:bm=128,bn=128,pingpong=yes", "wgmma:bm=128,bn=128",
                                          "wgmma:bm=64,bn=64,blocks=2",       "wgmma:bm=192,bn=192",
                                          "wgmma:bm=128,bn=128,cluster=k2",   "wgmma:bm=256,bn=128"};

    if (!has_target(targets_or_skip(), "sm_90"))
        cr_skip_test("this NVRTC does not know sm_90");
    for (int variant = 0; variant < 18; variant++) {
        tj_problem problem = TJ_PROBLEM_INIT(variant % 2 ? 4096 : 1000, 1024, variant % 2 ? 4096 : 1000, TJ_BF16);
        char label[200];

        if (is_left_out(variant, 18))
            continue;
        problem.n.layout = TJ_COL_MAJOR;
        problem.symmetric = (int8_t)(1 + variant % 3);
        problem.p.type = variant % 4 == 3 ? TJ_F32 : 0;
        problem.epilogue.has_beta = variant % 4 == 1;
        problem.batch = variant % 5 == 2 && variant < 15 ? 3 : 1;
        snprintf(label, sizeof label, "%s, variant %d", configs[variant < 15 ? variant % 5 : 5], variant);
        compile(&problem, configs[variant < 15 ? variant % 5 : 5], "sm_90", label);
    }
}

/* wgmma: weights that come from registers, with and without scales along k, by types and tiles; nothing may be serialised. */
Test(compile, wgmma_of_weights)
{
    static const char *const configs[] = {"wgmma:swap=yes,bm=128,bn=128",          "wgmma:swap=yes,bm=256,bn=64",
                                          "wgmma:swap=yes,bm=64,bn=72,cluster=k2", "wgmma:swap=yes,bm=128,bn=144",
                                          "wgmma:swap=yes,bm=192,bn=72,splits=2",  "wgmma:swap=yes,bm=64,bn=64,blocks=2"};
    static const int types[] = {TJ_S4, TJ_S8, TJ_E2M1};
    static const tj_scale scales[] = {NO_SCALE,
                                      SCALE_ALONG_K(32),
                                      SCALE_ALONG_K(128),
                                      SCALE_ALONG_K(256),
                                      {TJ_BF16, TJ_SCALES_ROW_BY_ROW, TJ_U4, 0, 1, 32},
                                      {TJ_E8M0, TJ_SCALES_IN_TILES, 0, 0, 1, 32},
                                      {TJ_E4M3, TJ_SCALES_ROW_BY_ROW, 0, 1, 1, 16}};

    if (!has_target(targets_or_skip(), "sm_90"))
        cr_skip_test("this NVRTC does not know sm_90");
    for (int variant = 0; variant < 30; variant++) {
        tj_problem problem =
            TJ_PROBLEM_INIT(variant & 1 ? 256 : 264, variant & 2 ? 512 : 544, variant & 4 ? 256 : 272, TJ_BF16);
        const char *const config = configs[variant % 6];
        char label[200];

        if (is_left_out(variant, 30))
            continue;
        problem.m.type = variant % 4 == 0 ? TJ_F16 : TJ_BF16;
        problem.m.layout = variant % 7 == 0;
        problem.n.type = types[variant % 3];
        problem.n.layout = TJ_COL_MAJOR;
        problem.scale[TJ_MATRIX_N] = scales[variant / 2 % (sizeof scales / sizeof scales[0])];
        if (problem.scale[TJ_MATRIX_N].zero == TJ_U4 || problem.scale[TJ_MATRIX_N].k == 16)
            problem.n.type = TJ_U4;
        else if (problem.n.type != TJ_S8 && variant % 4 == 1) {
            problem.m.type = TJ_E4M3;
            problem.m.layout = TJ_ROW_MAJOR;
            problem.compute = TJ_COMPUTE_F32_FP8;
        }
        problem.epilogue.has_alpha = problem.epilogue.has_beta = variant % 3 == 0;
        if (!strstr(config, "splits") && variant % 5 == 0)
            problem.j = problem.l = (tj_dim){0, TJ_DIM_ANY, 16};
        snprintf(label, sizeof label, "%s, variant %d", config, variant);
        compile(&problem, config, "sm_90", label);
    }
}

/* The widest tiles of 4-bit weights with scales have no register to spare: w4g128, many rows. */
Test(compile, wgmma_of_weights_in_the_widest_tiles)
{
    tj_problem problem = TJ_PROBLEM_INIT(4096, 4096, 4096, TJ_BF16);

    if (!has_target(targets_or_skip(), "sm_90"))
        cr_skip_test("this NVRTC does not know sm_90");
    problem.n.type = TJ_S4;
    problem.n.layout = TJ_COL_MAJOR;
    problem.scale[TJ_MATRIX_N] = (tj_scale){TJ_BF16, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 128};
    compile(&problem, "wgmma:swap=yes,bm=256,bn=128", "sm_90", "natural order");
    problem.n.order = TJ_ORDER_REPACKED;
    compile(&problem, "wgmma:swap=yes,bm=256,bn=128", "sm_90", "repacked");
}

/* wgmma: scales of blocks of rows or columns, which multiply whole sums in boxes of shared memory. */
Test(compile, wgmma_by_scales_of_blocks)
{
    if (!has_target(targets_or_skip(), "sm_90"))
        cr_skip_test("this NVRTC does not know sm_90");
    for (tj_which which = TJ_MATRIX_M; which < TJ_FACTORS; which++) {
        tj_problem problem = TJ_PROBLEM_INIT(7, 135, 96, TJ_U8);

        problem.n.type = TJ_F16;
        problem.m.transposed = problem.n.transposed = 1;
        problem.n.ld = 143;
        problem.scale[which] = (tj_scale)SCALES_OF(TJ_BF16, TJ_SCALES_PART_BY_PART, 5, 0);
        compile(&problem, "wgmma:swap=no,cluster=none,bm=192,bn=32,pingpong=no,splits=1,blocks=1,group=1", "sm_90",
                which == TJ_MATRIX_M ? "of M" : "of N");
    }
}

/* thin: weights, scales, tiles and checks, for each target that has cp.async. */
Test(compile, thin_of_weights)
{
    static const char *const configs[] = {"thin", "thin:tm=8,tn=64,slices=4,ahead=1", "thin:tm=24,slices=4,splits=2",
                                          "thin:tm=16,tn=16,slices=2,ahead=4"};
    static const int types[] = {TJ_S4, TJ_U4, TJ_E2M1, TJ_S8, TJ_U8, TJ_E4M3, TJ_E5M2};
    static const tj_scale scales[] = {NO_SCALE,
                                      SCALE_ALONG_K(128),
                                      {TJ_F16, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 32},
                                      {TJ_E8M0, TJ_SCALES_ROW_BY_ROW, 0, 0, 1, 32},
                                      {TJ_E4M3, TJ_SCALES_PART_BY_PART, 0, 1, 1, 64}};
    const char *const *targets = targets_or_skip(), *serving[64];
    int serve = 0;

    for (size_t t = 0; targets[t] && serve < 64; t++)
        if (has(targets[t], TJ_FEATURE_CP_ASYNC))
            serving[serve++] = targets[t];
    for (int variant = 0; variant < 42; variant++) {
        tj_problem problem = TJ_PROBLEM_INIT(variant & 1 ? 48 : 45, 512, variant & 2 ? 256 : 250, TJ_BF16);
        char label[200];

        if (is_left_out(variant, 42))
            continue;
        problem.m.type = variant % 3 == 0 ? TJ_F16 : TJ_BF16;
        problem.n.type = types[variant % 7];
        problem.n.layout = TJ_COL_MAJOR;
        problem.scale[TJ_MATRIX_N] = scales[variant / 2 % 5];
        problem.epilogue.has_alpha = problem.epilogue.has_beta = variant % 3 == 0;
        problem.batch = variant % 4 == 0 ? 3 : 1;
        snprintf(label, sizeof label, "%s, variant %d", configs[variant / 3 % 4], variant);
        compile(&problem, configs[variant / 3 % 4], serving[variant % serve], label);
    }
}

/* mma: each type, layout and set of checks, with splits, packed and passed, for each target that has its tensor cores. */
Test(compile, mma_in_every_form)
{
    static const char *const configs[] = {
        "mma:bm=64,bn=64,wm=32,wn=32,steps=4", "mma:bm=32,bn=64,wm=16,wn=32,stages=5,vector=1",
        "mma:bm=64,bn=32,wm=32,wn=16,splits=3,group=2", "mma:bm=64,bn=64,wm=32,wn=32,pack=both"};
    static const int types[] = {TJ_F64, TJ_F16, TJ_BF16};
    const char *const *targets = targets_or_skip();
    size_t first = 0, count = 0;

    while (targets[first] && (strcmp(targets[first], "sm_75") == 0 || strncmp(targets[first], "sm_", 3) != 0))
        first++;
    while (targets[first + count])
        count++;
    cr_assert(ge(sz, count, 1));
    for (int variant = 0; variant < 96; variant++) {
        const bool is_packed = variant / 2 % 4 == 3, is_open = variant % 4 == 0 && !is_packed;
        tj_problem problem = TJ_PROBLEM_INIT(variant & 8 ? 64 : 66, variant & 16 ? 128 : 98, variant & 32 ? 128 : 70, TJ_F32);
        const char *const target = targets[first + (size_t)variant % count], *config = configs[variant / 2 % 4];
        char label[200];

        if (is_left_out(variant, 96))
            continue;
        problem.m.type = types[variant % 3];
        if (problem.m.type == TJ_F64 && config == configs[0])
            config = "mma:bm=64,bn=64,wm=32,wn=32,steps=2"; /* of 4 steps it spills before sm_90, and is not launched */
        problem.m.layout = variant >> 3 & 1;
        problem.n.layout = variant >> 4 & 1;
        problem.p.layout = variant >> 2 & 1;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = variant % 3 == 0;
        problem.p.type = variant % 3 && variant & 1 ? TJ_F32 : 0;
        problem.batch = variant % 5 == 0 ? 3 : 1;
        if (is_open && !strstr(config, "splits"))
            problem.j = problem.k = problem.l = (tj_dim){0, TJ_DIM_ANY, 8};
        else if (variant % 7 == 0 && !is_packed)
            problem.m.stride = problem.n.stride = problem.p.stride = problem.c.stride = TJ_POINTERS_16;
        snprintf(label, sizeof label, "%s, variant %d", config, variant);
        compile(&problem, config, target, label);
    }
}

/* Operands that are transposed on their way to the workspace, by words and by bytes, 16 bytes at once and one by one. */
Test(compile, mma_that_transposes)
{
    static const char *const configs[] = {"mma:bm=64,bn=64,pack=both,transpose=yes",
                                          "mma:bm=32,bn=64,pack=n,transpose=yes,splits=2",
                                          "mma:bm=32,bn=32,pack=m,transpose=yes"};
    static const int types[] = {TJ_F32, TJ_S8, TJ_E5M2};
    const char *const *targets = targets_or_skip();
    int compiled = 0;

    for (size_t t = 0; targets[t]; t++)
        for (int variant = 0; variant < 12; variant++) {
            const bool is_even = variant & 1, is_broadcast = variant % 4 == 2;
            static const uint32_t needed[] = {TJ_FEATURE_MMA_TF32, TJ_FEATURE_MMA_S8 | TJ_FEATURE_CP_ASYNC, TJ_FEATURE_MMA_FP8};
            tj_problem problem = TJ_PROBLEM_INIT(is_even ? 256 : 257, is_even ? 512 : 515, is_even ? 128 : 259, TJ_F32);
            char label[200];

            if (!has(targets[t], needed[variant % 3]) || (t + (size_t)variant) % (IS_NIGHTLY ? 2 : 4))
                continue;
            problem.m.type = types[variant % 3];
            problem.compute = variant % 3 == 0 ? TJ_COMPUTE_TF32 : TJ_COMPUTE_DEFAULT;
            problem.n.type = variant % 3 == 2 ? TJ_E4M3 : 0;
            problem.m.layout = variant / 6 % 2;
            problem.batch = is_broadcast ? 3 : 1;
            problem.n.stride = is_broadcast ? TJ_BROADCAST : 0;
            snprintf(label, sizeof label, "%s, variant %d", configs[variant / 2 % 3], variant);
            compile(&problem, configs[variant / 2 % 3], targets[t], label);
            compiled++;
        }
    cr_expect(ge(int, compiled, 8));
}

/* Copies that cp.async cannot take, and targets that do not have it: sm_75 every other time. None spills, however it is clipped. */
Test(compile, mma_through_registers)
{
    static const char *const configs[] = {"mma:pack=none", "mma:bm=64,bn=64,steps=4,pack=none,blocks=3",
                                          "mma:bm=32,bn=64,wm=16,wn=32,splits=3,pack=none", "mma:pack=both,stages=2"};
    static const int types[] = {TJ_F16, TJ_S8, TJ_U8};
    const char *const *targets = targets_or_skip();
    size_t count = 0;

    while (targets[count])
        count++;
    for (int variant = 0; variant < 48; variant++) {
        const char *const target = variant / 12 % 2 ? targets[(size_t)variant % count] : "sm_75";
        const bool is_even = variant & 1, is_old = !(tj_target_features(target) & TJ_FEATURE_CP_ASYNC);
        const bool is_open = variant % 3 == 0 && variant / 4 % 4 < 2;
        tj_problem problem = TJ_PROBLEM_INIT(is_even ? 256 : 257, is_even ? 512 : 515, is_even ? 128 : 259, TJ_F32);
        char config[128], label[200];

        if (is_left_out(variant, 48))
            continue;

        problem.m.type = types[variant % 3];
        problem.m.layout = variant >> 1 & 1;
        problem.n.layout = variant >> 2 & 1;
        problem.p.layout = variant >> 3 & 1;
        problem.epilogue.has_beta = variant % 5 == 0;
        snprintf(config, sizeof config, "%s%s", configs[variant / 4 % 4], is_old || variant % 7 == 0 ? ",copy=registers" : "");
        if (is_open) {
            problem.j = problem.k = problem.l = (tj_dim){0, TJ_DIM_ANY, is_even ? 8 : 0};
            problem.batch = TJ_ANY;
            problem.m.ld = problem.n.ld = problem.m.stride = problem.n.stride = is_even ? 0 : TJ_ANY;
        }
        snprintf(label, sizeof label, "%s, variant %d", config, variant);
        compile(&problem, config, target, label);
    }
}

/* Everything passed at launch, with every leading dimension and stride, and each width. */
/* PTX without what is BLOCKS in it, which the caller frees. */
static char *ptx_without_blocks(const char *config_text)
{
    const tj_problem problem = TJ_PROBLEM_INIT(48, 64, 80, TJ_F32);
    tj_problem f16 = problem;
    tj_config config = TJ_CONFIG_INIT;
    tj_source *source = NULL;
    tj_image *image = NULL;
    tj_error err = {TJ_OK, ""};
    size_t bytes;
    char *ptx;

    f16.m.type = TJ_F16;
    cr_assert(eq(int, tj_config_parse(config_text, &config, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_generate(strncmp(config_text, "mma", 3) == 0 ? &f16 : &problem, &config, &source, &err), TJ_OK), "%s",
              err.message);
    cr_assert(eq(int, tj_compile(context, source, "sm_90", &image, &err), TJ_OK), "%s", err.message);
    ptx = strdup(tj_image_ptx(image, &bytes));
    for (int i = 0; i < 2; i++) {
        static const char *const head[] = {".u32 BLOCKS = ", ".minnctapersm "};
        char *at = strstr(ptx, head[i]);

        cr_assert(at != NULL, "%s: no %s", config_text, head[i]);
        at[strlen(head[i])] = '?';
    }
    tj_image_free(image);
    tj_source_free(source);
    return ptx;
}

/* So a walk over a space need not run the same code for each number of blocks, where no ptxas hears of it (tests/gpu/space.c). */
Test(compile, blocks_change_no_instruction)
{
    static const char *const rows[] = {"simt:bm=32,bn=64,bk=16,tm=4,tn=4,blocks=", "simt:bm=64,bn=64,bk=8,tm=8,tn=8,blocks=",
                                       "skinny:tm=4,blocks=", "small_batch:blocks=", "mma:bm=64,bn=32,wm=32,wn=16,blocks="};
    targets_or_skip();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char config[2][80], *ptx[2];

        for (int b = 0; b < 2; b++) {
            snprintf(config[b], sizeof config[b], "%s%d", rows[i], 1 + b);
            ptx[b] = ptx_without_blocks(config[b]);
        }
        cr_expect(eq(str, ptx[0], ptx[1]), "%s", rows[i]);
        free(ptx[0]);
        free(ptx[1]);
    }
}

Test(compile, every_width_and_everything_passed)
{
    targets_or_skip();
    for (int width = 4; width <= 32; width++) {
        tj_problem problem = TJ_PROBLEM_INIT(0, 0, 0, TJ_F32);
        char config[64];
        problem.j.mode = problem.k.mode = problem.l.mode = TJ_DIM_ANY;
        problem.epilogue.has_alpha = problem.epilogue.has_beta = 1;
        problem.batch = TJ_ANY;
        problem.m.ld = problem.n.ld = problem.p.ld = problem.c.ld = TJ_ANY;
        problem.m.stride = problem.n.stride = problem.p.stride = problem.c.stride = TJ_ANY;
        snprintf(config, sizeof config, "tiled:tile_width=%d", width);
        compile(&problem, config, "sm_80", config);
    }
}

/* The second kernel of a split k derives what the first has no use for. */
Test(compile, splits_with_leading_dimensions_that_are_passed)
{
    static const char *const configs[] = {"simt:splits=3,bm=32,bn=64,tm=4,tn=4", "skinny:splits=3,vector=1,tm=8"};

    targets_or_skip();
    for (int variant = 0; variant < 16; variant++) {
        tj_problem problem = TJ_PROBLEM_INIT(33, 700, 50, TJ_F32);
        char label[64];

        if (is_left_out(variant, 16))
            continue;
        problem.p.layout = variant & 1;
        problem.epilogue.has_beta = variant >> 1 & 1;
        problem.batch = variant >> 2 & 1 ? 3 : 1;
        problem.m.ld = problem.n.ld = problem.p.ld = problem.c.ld = TJ_ANY;
        if (variant >> 3)
            problem.c.stride = TJ_POINTERS; /* the others tight, which leaves strides to derive */
        snprintf(label, sizeof label, "splits, variant %d", variant);
        for (int c = 0; c < 2; c++)
            compile(&problem, configs[c], "sm_90", label);
    }
}

/* k = 0 leaves loops without a turn, and matrices without an element: still no warning. */
Test(compile, a_k_of_zero)
{
    static const char *const configs[] = {
        "naive", "tiled", "tiled:shared=dynamic", "simt:bm=32,bn=64,bk=16,tm=8,tn=4", "skinny:splits=2", "mma", "mma:splits=2"};

    targets_or_skip();
    for (int layouts = 0; layouts < 4; layouts++)
        for (size_t c = 0; c < sizeof configs / sizeof configs[0]; c++) {
            tj_problem problem = TJ_PROBLEM_INIT(33, 0, 7, strncmp(configs[c], "mma", 3) == 0 ? TJ_F64 : TJ_F32);
            problem.m.layout = layouts & 1;
            problem.n.layout = layouts >> 1;
            problem.epilogue.has_beta = 1;
            problem.batch = 2;
            compile(&problem, configs[c], "sm_90", configs[c]);
        }
}

/* The words that a part is included with, in place of its own: //@ with TO for FROM, ... */
typedef struct words {
    const struct words *outer;
    int count;
    char to[8][16], from[8][16];
} words;

/* Put a line with other words, and pieces of words between underscores. */
static void put_line(FILE *out, const char *line, size_t length, const words *renamed)
{
    for (const char *end = line + length; line < end;) {
        const char *piece = line;
        size_t bytes;

        while (line < end && isalnum((unsigned char)*line))
            line++;
        line += line == piece;
        bytes = (size_t)(line - piece);
        for (const words *w = renamed; w; w = w->outer)
            for (int i = 0; i < w->count; i++)
                if (strlen(w->from[i]) == bytes && memcmp(piece, w->from[i], bytes) == 0) {
                    piece = w->to[i];
                    bytes = strlen(piece);
                    break;
                }
        fwrite(piece, 1, bytes, out);
    }
}

/* Put a template with its parts in place, as it stands but for the words that parts are included with. */
static void put_template(FILE *out, const char *name, const words *renamed)
{
    const tj_template_file *file = tj_template_files;
    const char *line, *end;
    int number = 1;

    for (; strcmp(file->name, name) != 0; file++)
        cr_assert(lt(ptr, (void *)(file + 1), (void *)(tj_template_files + tj_template_file_count)), "no %s", name);
    fprintf(out, "#line 1 \"%s\"\n", name);
    line = (const char *)file->bytes;
    for (end = line + file->size; line < end; number++) {
        const size_t length = strcspn(line, "\n") + 1;
        char *text = NULL, *quote, *with, part[64];
        size_t bytes;
        FILE *filled = open_memstream(&text, &bytes);

        put_line(filled, line, length, renamed);
        fclose(filled);
        line += length;
        if (strncmp(text + strspn(text, " "), "#include \"", 10) != 0) {
            fputs(text, out);
        } else {
            words own = {.outer = renamed};

            quote = strchr(text, '"') + 1;
            snprintf(part, sizeof part, "%.*s", (int)strcspn(quote, "\""), quote);
            with = strstr(text, "//@ with ");
            for (int skip = 9, read = 0; with && sscanf(with + skip, " %15[A-Za-z0-9] for %15[A-Za-z0-9]%n", own.to[own.count],
                                                        own.from[own.count], &read) == 2;
                 skip += read + 1)
                own.count++;
            put_template(out, part, &own);
            fprintf(out, "#line %d \"%s\"\n", number + 1, name);
        }
        free(text);
    }
}

/* A template is CUDA before it is filled: editors read it as it stands, and compilers but for parts with other words. */
Test(compile, templates_as_they_stand)
{
    const char *options[] = {"", "-std=c++17", "--no-source-include"};
    const tj_nvrtc *nvrtc;
    int compiled = 0;
    tj_error err;

    targets_or_skip();
    cr_assert(eq(int, tj_nvrtc_open(NULL, 0, NULL, &nvrtc, &err), TJ_OK), "%s", err.message);
    for (size_t i = 0; i < tj_template_file_count; i++) {
        const char *const name = tj_template_files[i].name;
        tj_nvrtc_program *program = NULL;
        char log[4096] = "", *text = NULL;
        size_t bytes = 0;
        FILE *out;
        int result;

        if (strstr(name, ".cuh"))
            continue;
        out = open_memstream(&text, &bytes);
        put_template(out, name, NULL);
        fclose(out);
        cr_assert(eq(int, nvrtc->call.create_program(&program, text, name, 0, NULL, NULL), 0));
        options[0] = strncmp(name, "tcgen05", 7) == 0                                 ? "--gpu-architecture=sm_100a"
                     : strncmp(name, "wgmma", 5) == 0 || strstr(text, "tensor_map_t") ? "--gpu-architecture=sm_90a"
                                                                                      : "--gpu-architecture=sm_80";
        result = nvrtc->call.compile_program(program, 3, options);
        if (nvrtc->call.log_bytes(program, &bytes) == NVRTC_DONE && bytes <= sizeof log)
            nvrtc->call.log(program, log);
        cr_expect(eq(int, result, NVRTC_DONE), "%s: %s", name, log);
        cr_expect(eq(ptr, strstr(log, "warning"), NULL), "%s: %s", name, log);
        nvrtc->call.destroy_program(&program);
        free(text);
        compiled++;
    }
    cr_expect(ge(int, compiled, 3));
}

/* ---- what targets have -------------------------------------------------------------------------------------------- */

/* ptxas's word on one instruction of each feature. */
static bool takes(const tj_nvrtc *nvrtc, const char *target, const char *body)
{
    char text[1024];
    tj_compiled compiled;
    tj_error err;
    tj_status status;

    snprintf(text, sizeof text, "extern \"C\" __global__ void k(unsigned *p, float f, double e)\n{\n    %s\n}\n", body);
    status = tj_nvrtc_compile(nvrtc, text, strlen(text), "kernel.cu", target, 0, &compiled, &err);
    cr_assert(status == TJ_OK || status == TJ_ERR_COMPILE, "%s: %s", target, err.message);
    cr_assert(status == TJ_OK || strstr(err.message, "ptxas") || strstr(err.message, "not supported"), "%s: %s", target,
              err.message);
    tj_compiled_drop(&compiled);
    return status == TJ_OK;
}

Test(compile, has_the_features_that_the_table_of_targets_says)
{
    static const struct {
        tj_feature feature;
        const char *body;
    } rows[] = {
        {TJ_FEATURE_CP_ASYNC, "asm volatile(\"cp.async.commit_group;\");"},
        {TJ_FEATURE_LDMATRIX,
         "asm volatile(\"ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];\" : \"=r\"(p[0]) : \"r\"(p[1]));"},
        {TJ_FEATURE_STMATRIX,
         "asm volatile(\"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%0], {%1};\" : : \"r\"(p[0]), \"r\"(p[1]));"},
        {TJ_FEATURE_MMA_F16, "asm volatile(\"mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%0,%0,%0}, {%1,%1}, {%1}, "
                             "{%0,%0,%0,%0};\" : \"+f\"(f) : \"r\"(p[0]));"},
        {TJ_FEATURE_MMA_S8, "asm volatile(\"mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%0}, {%1}, {%1}, {%0,%0};\" : "
                            "\"+r\"(p[0]) : \"r\"(p[1]));"},
        {TJ_FEATURE_MMA_BF16, "asm volatile(\"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%0,%0,%0}, {%1,%1}, {%1}, "
                              "{%0,%0,%0,%0};\" : \"+f\"(f) : \"r\"(p[0]));"},
        {TJ_FEATURE_MMA_TF32, "asm volatile(\"mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%0,%0,%0}, {%1,%1}, {%1}, "
                              "{%0,%0,%0,%0};\" : \"+f\"(f) : \"r\"(p[0]));"},
        {TJ_FEATURE_MMA_F64, "asm volatile(\"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%0}, {%1}, {%1}, {%0,%0};\" : "
                             "\"+d\"(e) : \"d\"(e));"},
        {TJ_FEATURE_FP8,
         "unsigned short h; asm volatile(\"cvt.rn.satfinite.e4m3x2.f32 %0, %1, %1;\" : \"=h\"(h) : \"f\"(f)); p[0] = h;"},
        {TJ_FEATURE_MMA_FP8, "asm volatile(\"mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%0,%0,%0}, {%1,%1,%1,%1}, "
                             "{%1,%1}, {%0,%0,%0,%0};\" : \"+f\"(f) : \"r\"(p[0]));"},
        {TJ_FEATURE_DEPENDENTS, "asm volatile(\"griddepcontrol.wait;\");"},
        {TJ_FEATURE_CLUSTER, "asm volatile(\"barrier.cluster.arrive.aligned;\");"},
        {TJ_FEATURE_TMA, "asm volatile(\"cp.async.bulk.commit_group;\");"},
        {TJ_FEATURE_SETMAXNREG, "asm volatile(\"setmaxnreg.dec.sync.aligned.u32 40;\");"},
        {TJ_FEATURE_WGMMA, "asm volatile(\"wgmma.commit_group.sync.aligned;\");"},
        {TJ_FEATURE_MMA_SCALED,
         "asm volatile(\"mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e4m3.e4m3.f32.ue8m0 {%0,%0,%0,%0}, "
         "{%1,%1,%1,%1}, {%1,%1}, {%0,%0,%0,%0}, %1, {0, 0}, %1, {0, 0};\" : \"+f\"(f) : \"r\"(p[0]));"},
        {TJ_FEATURE_TCGEN05, "asm volatile(\"tcgen05.fence::before_thread_sync;\");"},
        {TJ_FEATURE_TCGEN05_S8,
         "asm volatile(\"{.reg .pred q; setp.eq.b32 q, %0, 0; tcgen05.mma.cta_group::1.kind::i8 [%0], %1, %1, %0, q;}\" : : "
         "\"r\"(p[0]), \"l\"(p));"},
    };
    const char *const *targets = targets_or_skip();
    const tj_nvrtc *nvrtc;
    tj_error err;

    cr_assert(eq(int, tj_host_nvrtc(&context->host, &nvrtc, &err), TJ_OK), "%s", err.message);
    for (size_t t = 0; targets[t]; t++)
        for (int suffix = 0; suffix <= (atoi(targets[t] + 3) >= 100 ? 2 : atoi(targets[t] + 3) >= 90); suffix++) {
            char target[16];
            uint32_t features, all = 0;

            snprintf(target, sizeof target, "%s%s", targets[t], suffix == 0 ? "" : suffix == 1 ? "a" : "f");
            features = tj_target_features(target);
            /* ptxas knows nothing of sums: those of sm_89 have fewer bits than the feature says. */
            features |= features & TJ_FEATURE_FP8 ? TJ_FEATURE_MMA_FP8 : 0;
            for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
                const bool is_there = (features & rows[i].feature) != 0 &&
                                      compiler_version() >= tj_features_since((uint32_t)rows[i].feature, target);

                all |= (uint32_t)rows[i].feature;
                cr_expect(eq(int, takes(nvrtc, target, rows[i].body), is_there), "%s of %s", tj_feature_name(rows[i].feature),
                          target);
            }
            cr_expect(eq(u32, tj_target_features(target) & ~all, 0), "%s has what nothing was asked of", target);
        }
}

static void keep_probe(const tj_finding *finding, void *payload)
{
    if (strcmp(finding->topic, "probe") == 0)
        snprintf(payload, 200, "%s", finding->text);
}

/* Not the oldest of all, which NVRTC 12 lists and no kernel is for. */
Test(compile, the_doctor_tries_a_target_that_kernels_are_for)
{
    char said[200] = "", expected[64];
    const char *const *targets = targets_or_skip();
    tj_error err;

    cr_assert(eq(int, tj_doctor(context, keep_probe, said, &err), TJ_OK), "%s", err.message);
    snprintf(expected, sizeof expected, "compiles for %s:", targets[0]);
    cr_expect(ne(ptr, strstr(said, expected), NULL), "%s", said);
}
