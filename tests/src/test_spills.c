/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * A kernel for which the compiler found too few registers: it is never launched, whatever its origin. The fake compiler decides
 * which sources spill.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tilejit/tools.h>

#include "choose.h"
#include "dropped.h"
#include "fake/fake_cuda.h"
#include "spills.h"
#include "of_problem.h"

static fake_cuda fake;
static tj_error err;
static char store[] = "/tmp/tilejit-spills-XXXXXX";

/* Many columns and a long k: simt by the model. */
static const tj_problem wide = TJ_PROBLEM_INIT(2048, 2048, 2048, TJ_F32);

static tj_context *open_context(const char *cache_dir)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = NULL;

    options.driver = FAKE_CUDA_PATH;
    options.nvrtc = FAKE_NVRTC_PATH;
    options.cache_dir = cache_dir;
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    return context;
}

static void start(void)
{
    fake = fake_open(FAKE_CUDA_PATH);
    fake.fake_hide("cuFuncGetParamInfo");
    cr_assert(mkdtemp(store) != NULL);
}

static void stop(void)
{
    char line[128];

    (void)snprintf(line, sizeof line, "rm -rf %s", store);
    cr_expect(eq(int, system(line), 0));
    cr_expect(eq(int, fake.fake_live_images(), 0));
}

TestSuite(spills, .init = start, .fini = stop);

static tj_config parsed(const char *text)
{
    tj_config config = TJ_CONFIG_INIT;

    cr_assert(eq(int, tj_config_parse(text, &config, &err), TJ_OK), "%s", err.message);
    return config;
}

static tj_status prepare(tj_context *context, const char *config, const tj_plan **plan)
{
    const tj_config named = config ? parsed(config) : (tj_config)TJ_CONFIG_INIT;

    return tj_plan_prepare(context, &wide, config ? &named : NULL, plan, &err);
}

static uint64_t compiles(tj_context *context)
{
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;

    tj_context_get_stats(context, &stats);
    return stats.compiles;
}

Test(spills, a_named_config_is_refused_with_the_remedy)
{
    tj_context *context = open_context("");
    const tj_plan *plan;

    setenv("FAKE_NVRTC_SPILLS", "BLOCKS = 2", 1);
    cr_assert(eq(int, prepare(context, "simt:blocks=2", &plan), TJ_ERR_SPILLS));
    cr_expect(plan == NULL);
    cr_expect(strstr(err.message, "spills 4 bytes and has a stack of 8") && strstr(err.message, "13.0 V13.0.1 for sm_90"), "%s",
              err.message);
    cr_expect(strstr(err.message, "use a config that leaves a thread more, such as simt:") && strstr(err.message, "blocks=1"),
              "%s", err.message);
    cr_expect(eq(int, fake.fake_live_images(), 0), "it was not even loaded");
    cr_assert(eq(int, prepare(context, "simt:blocks=1", &plan), TJ_OK), "what the message says works: %s", err.message);

    setenv("FAKE_NVRTC_SPILLS", "simt_f32", 1);
    cr_assert(eq(int, prepare(context, "simt:blocks=1,bm=128", &plan), TJ_ERR_SPILLS));
    cr_expect(strstr(err.message, "use a smaller thread tile, fewer threads") != NULL, "%s", err.message);
    tj_context_free(context);
}

Test(spills, a_textbook_kernel_may_have_a_stack)
{
    tj_context *context = open_context("");
    const tj_plan *plan;

    setenv("FAKE_NVRTC_SPILLS", "TILE_WIDTH", 1);
    fake.fake_set_function_attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 8);
    cr_expect(eq(int, prepare(context, "tiled", &plan), TJ_OK), "%s", err.message);
    cr_expect(eq(int, prepare(context, "naive", &plan), TJ_OK), "%s", err.message);
    tj_context_free(context);
}

Test(spills, the_driver_s_compiler_is_asked_as_well)
{
    tj_context *context = open_context("");
    const tj_plan *plan;

    fake.fake_set_function_attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 16);
    cr_assert(eq(int, prepare(context, "simt", &plan), TJ_ERR_SPILLS));
    cr_expect(strstr(err.message, "16 bytes of local memory") != NULL, "%s", err.message);
    cr_expect(eq(int, fake.fake_live_images(), 0), "what was loaded is unloaded");
    tj_context_free(context);
}

/* Return the library's choice if the sources with these words spill. */
static const tj_config *chosen_where(tj_context *context, const char *words)
{
    const tj_plan *plan;

    if (words)
        setenv("FAKE_NVRTC_SPILLS", words, 1);
    else
        unsetenv("FAKE_NVRTC_SPILLS");
    cr_assert(eq(int, prepare(context, NULL, &plan), TJ_OK), "%s", err.message);
    return tj_source_config(tj_plan_source(plan));
}

Test(spills, what_the_library_chose_gets_looser_bounds)
{
    tj_context *free_choice = open_context(""), *context = open_context("");
    const tj_config first = *chosen_where(free_choice, NULL);
    char words[64];
    const tj_config *second;
    tj_config looser = first;

    cr_assert(eq(str, (char *)tj_family_name(first.family), "simt"));
    cr_assert(tj_config_get(&first, "blocks") > 1, "this test needs a choice with bounds to loosen");
    cr_assert(tj_config_relax(&wide, &looser) == 1);
    (void)snprintf(words, sizeof words, "BLOCKS = %d;", (int)tj_config_get(&first, "blocks"));
    second = chosen_where(context, words);
    cr_expect(memcmp(second->value, looser.value, sizeof looser.value) == 0);
    cr_expect(eq(u64, compiles(context), 2));
    tj_context_free(free_choice);
    tj_context_free(context);
}

Test(spills, what_the_library_chose_gives_way_to_the_next_and_in_the_end_to_the_textbook)
{
    tj_context *context = open_context(""), *another = open_context("");

    cr_expect(ne(str, (char *)tj_family_name(chosen_where(another, "simt_f32")->family), "simt"));
    cr_expect(eq(str, (char *)tj_family_name(chosen_where(context, "simt_f32|skinny_f32|small_batch_f32")->family), "tiled"));
    cr_expect(le(u64, compiles(context), TJ_MOST_REFUSED + 1));
    cr_expect(eq(int, fake.fake_live_images(), 2), "of each context one");
    tj_context_free(another);
    tj_context_free(context);
}

Test(spills, a_stored_image_is_held_to_the_same)
{
    tj_context *context = open_context(store);
    const tj_plan *plan;

    setenv("FAKE_NVRTC_SPILLS", "BLOCKS = 2", 1);
    cr_assert(eq(int, prepare(context, "simt:blocks=2", &plan), TJ_ERR_SPILLS));
    tj_context_free(context);
    unsetenv("FAKE_NVRTC_SPILLS"); /* the compiler of today would say otherwise, but it is not asked */
    context = open_context(store);
    cr_expect(eq(int, prepare(context, "simt:blocks=2", &plan), TJ_ERR_SPILLS));
    cr_expect(eq(u64, compiles(context), 0));
    tj_context_free(context);
}

Test(spills, no_launch_by_hand_gets_past_it)
{
    tj_context *context = open_context("");
    const tj_config config = parsed("simt:blocks=2");
    tj_source *source;
    tj_image *image;
    tj_kernel *kernel = (tj_kernel *)&config;

    setenv("FAKE_NVRTC_SPILLS", "BLOCKS = 2", 1);
    cr_assert(eq(int, tj_generate(&wide, &config, &source, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_compile(context, source, "sm_90", &image, &err), TJ_OK), "a compile is not a launch: %s", err.message);
    cr_expect(eq(int, tj_kernel_load(context, source, image, &kernel, &err), TJ_ERR_SPILLS));
    cr_expect(kernel == NULL);
    tj_image_free(image);
    tj_source_free(source);
    tj_context_free(context);
}

/* A fallback for unaligned operands is the library's own choice too. */
Test(spills, a_fallback_gives_way_as_well)
{
    tj_context *context = open_context("");
    tj_operands x = TJ_OPERANDS_INIT;

    x.m.address = (const void *)fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 26);
    x.n.address = (const void *)(fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 26) + 4);
    x.p.address = (void *)(fake.fake_alloc(0, CU_MEMORYTYPE_DEVICE, 1 << 26));
    (void)chosen_where(context, NULL);
    setenv("FAKE_NVRTC_SPILLS", "simt_f32", 1);
    cr_assert(eq(int, tj_matmul(context, &wide, &x, NULL, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(ulong, fake.fake_launches(), 1));
    tj_context_free(context);
}

Test(spills, a_search_counts_them_as_refused)
{
    tj_context *context = open_context("");
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    tj_config config;
    const tj_plan *plan;

    setenv("FAKE_NVRTC_SPILLS", "simt_f32", 1);
    cr_assert(eq(int, tj_device_current(context, &device, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_choose_plan(context, NULL, &wide, &device, &config, &plan, &err), TJ_OK), "%s", err.message);
    cr_expect(ne(str, (char *)tj_family_name(config.family), "simt"), "what a tuning compares with can be launched");
    tj_context_free(context);
}

/* A file with one section of code: two instructions, of which the second is a wgmma of that operation and result. */
static bool drops(uint32_t section_type, int operation, int result, size_t bytes)
{
    struct {
        Elf64_Ehdr head;
        Elf64_Shdr section;
        unsigned char code[2][16];
    } file = {
        .head = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64}, .e_shoff = sizeof(Elf64_Ehdr), .e_shnum = 1}};

    file.section = (Elf64_Shdr){.sh_type = section_type,
                                .sh_flags = SHF_EXECINSTR,
                                .sh_offset = sizeof file.head + sizeof file.section,
                                .sh_size = sizeof file.code};
    file.code[1][0] = operation & 0xff;
    file.code[1][1] = 0x70 | operation >> 8;
    file.code[1][2] = (unsigned char)result;
    return tj_cubin_drops_products(&file, bytes ? bytes : sizeof file);
}

Test(spills, products_without_a_result_are_found)
{
    cr_expect(eq(int, drops(SHT_PROGBITS, 0x9f0, 0xff, 0), 1));
    cr_expect(eq(int, drops(SHT_PROGBITS, 0x9f3, 0xff, 0), 1));
    cr_expect(eq(int, drops(SHT_PROGBITS, 0xdf0, 0xff, 0), 1));
    cr_expect(eq(int, drops(SHT_PROGBITS, 0x9f3, 24, 0), 0), "has a result");
    cr_expect(eq(int, drops(SHT_PROGBITS, 0x9c5, 0xff, 0), 0), "is a fence");
    cr_expect(eq(int, drops(SHT_NOTE, 0x9f3, 0xff, 0), 0), "is not code");
    for (size_t bytes = 1; bytes < sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr) + 32; bytes++)
        cr_expect(eq(int, drops(SHT_PROGBITS, 0x9f3, 0xff, bytes), 0), "%zu bytes", bytes);
    cr_expect(eq(int, tj_cubin_drops_products(NULL, 0), 0));
}
