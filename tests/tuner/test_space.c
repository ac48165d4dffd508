/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: nightly (it counts combinations); cost: 50 */
/*
 * The space: that it is all of what form, problem and device admit, each config once, and that the model's choice is found in it
 * without looking at all of it.
 */
#include <math.h>
#include <time.h>

#include "space.h"
#include "targets.h"
#include "tuner_test.h"
#include "of_problem.h"
#include "starts.h"

static tj_problem some_problem(size_t index)
{
    static const int64_t extents[][3] = {{64, 64, 64}, {512, 512, 512}, {4096, 4096, 4096}, {16, 2048, 300},
                                         {1, 4096, 1}, {127, 33, 129},  {1024, 0, 1024}};
    tj_problem p = f32(extents[index % 7][0], extents[index % 7][1], extents[index % 7][2]);

    p.m.type = index / 7 == 1 ? TJ_F64 : index / 7 == 2 ? TJ_F16 : TJ_F32;
    p.m.layout = index % 2;
    p.n.layout = index % 4 < 2;
    p.p.layout = index % 5 == 0;
    return p;
}

enum { PROBLEMS = 21 };

static bool can_run(const tj_device_facts *device, const tj_launch_form *form)
{
    bool fits = (form->needs & ~tj_device_features(device)) == 0;

    for (int i = 0; i < form->steps; i++)
        fits &= form->step[i].static_shared_bytes + form->step[i].dynamic_shared_bytes <= device->shared_per_block_optin;
    return fits;
}

/*
 * The combinations of a family's values, counted by recursion over the parameters, each of them asked for: another way than that of
 * the odometer, which passes over what is hopeless.
 */
static int64_t count_combinations(const tj_request *request, const tj_device_facts *device, tj_config *config, size_t axis)
{
    int32_t value[TJ_PARAM_MAX_TRIED];
    int64_t count = 0;
    size_t values;
    tj_launch_form form;
    tj_config resolved;

    if (axis == tj_family_param_count(config->family)) {
        resolved = *config;
        return tj_request_preview(request, &resolved, &form, NULL) == TJ_OK && tj_request_worth_trying(request, &resolved) &&
               (!device || can_run(device, &form));
    }
    values = tj_param_values(tj_family_param(config->family, axis), value);
    for (size_t i = 0; i < values; i++) {
        config->value[axis] = value[i];
        count += count_combinations(request, device, config, axis + 1);
    }
    return count;
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(tj_config));
}

enum { MAX_FAMILIES = 16 };

static size_t find_place(const tj_family *family)
{
    size_t place = 0;

    cr_assert(tj_family_count() <= MAX_FAMILIES);
    while (place < tj_family_count() && tj_family_at(place) != family)
        place++;
    cr_assert(place < tj_family_count());
    return place;
}

/*
 * The combinations of these families take a minute to count: by day only those with one value of each of the first parameters, which
 * changes with the problem.
 */
static size_t fixed_parameters(const tj_family *family)
{
    const char *const name = tj_family_name(family);

    if (IS_NIGHTLY)
        return 0;
    return strcmp(name, "simt") == 0 ? 1 : strcmp(name, "mma") == 0 || strcmp(name, "wgmma") == 0 ? 2 : 0;
}

static int32_t fixed_value(const tj_family *family, size_t axis, size_t turn)
{
    int32_t value[TJ_PARAM_MAX_TRIED];
    const size_t values = tj_param_values(tj_family_param(family, axis), value);

    return value[turn / (axis + 1) % values];
}

static bool is_counted(const tj_config *config, size_t turn)
{
    for (size_t axis = 0; axis < fixed_parameters(config->family); axis++)
        if (config->value[axis] != fixed_value(config->family, axis, turn))
            return false;
    return true;
}

Test(space, is_all_that_the_constraints_admit_each_once)
{
    const tj_device_facts devices[] = {h200(), t4()};
    tj_config *all = malloc(100000 * sizeof *all);

    cr_assert(all != NULL);
    for (size_t i = 0; i < PROBLEMS; i += IS_NIGHTLY ? 1 : 3) { /* each of the extents, by day once */
        const int d = (int)(i / 3 % 3);                         /* each device with a third of them */
        const tj_device_facts *device = d < 2 ? &devices[d] : NULL;
        const tj_problem problem = some_problem(i);
        int64_t of_family[MAX_FAMILIES] = {0};
        size_t count = 0;
        tj_space *space;
        tj_request request;

        cr_assert(eq(int, tj_space_create(&problem, device, NULL, &space, NULL), TJ_OK));
        while (count < 100000 && tj_space_next(space, &all[count]))
            count++;
        cr_expect(eq(int, tj_space_next(space, &all[0]), 0), "the end stays the end");
        cr_expect(count > 10, "problem %zu, device %d: %zu configs", i, d, count);
        qsort(all, count, sizeof *all, by_bytes);
        for (size_t c = 1; c < count; c++)
            cr_assert(by_bytes(&all[c - 1], &all[c]) != 0, "problem %zu: one comes twice", i);
        tj_space_free(space);
        cr_assert(eq(int, tj_request_make(&problem, &request, NULL), TJ_OK));
        for (size_t c = 0; c < count; c++)
            of_family[find_place(all[c].family)] += is_counted(&all[c], i / 3);
        for (size_t f = 0; f < tj_family_count(); f++) {
            tj_config config = TJ_CONFIG_INIT;

            config.family = tj_family_at(f);
            const size_t fixed = fixed_parameters(config.family);

            for (size_t axis = 0; axis < fixed; axis++)
                config.value[axis] = fixed_value(config.family, axis, i / 3);
            cr_expect(eq(i64, of_family[f], count_combinations(&request, device, &config, fixed)), "problem %zu, device %d: %s",
                      i, d, tj_family_name(config.family));
        }
    }
    free(all);
}

Test(space, of_one_family_has_that_alone)
{
    const tj_problem problem = f32(512, 512, 512);
    const tj_family *tiled = tj_family_find("tiled");
    tj_space *space;
    tj_config config;
    int count = 0;

    cr_assert(eq(int, tj_space_create(&problem, NULL, tiled, &space, NULL), TJ_OK));
    for (; tj_space_next(space, &config); count++)
        cr_expect(config.family == tiled);
    cr_expect(eq(int, count, 8), "tile_width 4, 8, 16, 32; shared static or dynamic");
    tj_space_free(space);
}

/* The preview is what the generator does: the search and the model believe it. */
Test(space, previews_the_launch_that_is_generated)
{
    for (size_t i = 0; i < PROBLEMS; i++) {
        const tj_problem problem = some_problem(i);
        tj_space *space;
        tj_config config;

        cr_assert(eq(int, tj_space_create(&problem, NULL, NULL, &space, NULL), TJ_OK));
        for (int n = 0; tj_space_next(space, &config); n++) {
            tj_source *source;
            tj_launch_form form, real;
            tj_config resolved = config;

            if (n % (IS_NIGHTLY ? 97 : 197) != 0)
                continue;
            cr_assert(eq(int, tj_preview_launch(&problem, &resolved, &form, NULL), TJ_OK));
            cr_assert(eq(int, tj_generate(&problem, &config, &source, NULL), TJ_OK));
            real = *tj_source_launch(source);
            cr_expect(memcmp(&resolved, tj_source_config(source), sizeof resolved) == 0);
            for (int step = 0; step < real.steps; step++) {
                memset(real.step[step].kernel, 0, sizeof real.step[step].kernel);
                memset(real.step[step].arg, 0, sizeof real.step[step].arg);
                real.step[step].arg_count = 0;
            }
            cr_expect(memcmp(&form, &real, sizeof form) == 0, "problem %zu, config %d", i, n);
            tj_source_free(source);
        }
        tj_space_free(space);
    }
}

Test(space, of_an_older_device_needs_nothing_newer)
{
    const tj_device_facts device = t4();
    const tj_problem problem = f32(1024, 1024, 1024);
    tj_space *space;
    tj_config config, chosen;
    tj_launch_form form;
    int simt = 0;

    cr_assert(eq(int, tj_space_create(&problem, &device, NULL, &space, NULL), TJ_OK));
    while (tj_space_next(space, &config)) {
        simt += strcmp(tj_family_name(config.family), "simt") == 0;
        cr_assert(eq(int, tj_preview_launch(&problem, &config, &form, NULL), TJ_OK));
        cr_expect(eq(u32, form.needs, 0));
    }
    cr_expect(simt > 50, "%d", simt);
    tj_space_free(space);
    cr_assert(eq(int, tj_choose(NULL, &problem, &device, &chosen, NULL, NULL), TJ_OK));
    cr_assert(eq(int, tj_preview_launch(&problem, &chosen, &form, NULL), TJ_OK));
    cr_expect(form.needs == 0 && strcmp(tj_family_name(chosen.family), "simt") == 0);
}

/* How many configs of its family's space are this one, once what they leave open is settled. */
static int times_in_space(const tj_problem *problem, const tj_config *wanted, int *configs)
{
    tj_config config, resolved = *wanted;
    tj_space *space;
    int count = 0;

    cr_assert(eq(int, tj_config_resolve(problem, &resolved, NULL), TJ_OK));
    cr_assert(eq(int, tj_space_create(problem, NULL, wanted->family, &space, NULL), TJ_OK));
    for (*configs = 0; tj_space_next(space, &config); ++*configs) {
        cr_assert(eq(int, tj_config_resolve(problem, &config, NULL), TJ_OK));
        count += by_bytes(&config, &resolved) == 0;
    }
    tj_space_free(space);
    return count;
}

/* The fastest configs on an H200, of some 30 each. */
/* Types of 8 bits that lie across k, and odd lines, suit Hopper too: a preceding launch packs them. */
Test(space, has_what_is_packed_first)
{
    tj_problem problem[] = {f32(1023, 1023, 1023), f32(1024, 1024, 1024), f32(1024, 1024, 1024)};
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;

    problem[0].m.type = TJ_BF16;
    problem[1].m.type = TJ_S8;
    problem[2].compute = TJ_COMPUTE_TF32;
    cr_assert(eq(int, tj_device_named("sm_90", &device, NULL), TJ_OK));
    for (size_t i = 0; i < sizeof problem / sizeof problem[0]; i++) {
        tj_space *space;
        tj_config config;

        cr_assert(eq(int, tj_space_create(&problem[i], &device, tj_family_find("wgmma"), &space, NULL), TJ_OK));
        cr_expect(tj_space_next(space, &config) == 1, "problem %zu", i);
        tj_space_free(space);
    }
}

/* Devices without tensor memory have neither these configs nor other choices than before; of those that have it, one lacks integers. */
Test(space, has_tensor_memory_where_the_device_has_it)
{
    static const struct {
        const char *target;
        int has_it, of_integers;
    } rows[] = {{"sm_75", 0, 0},  {"sm_80", 0, 0},  {"sm_86", 0, 0},  {"sm_89", 0, 0},  {"sm_90", 0, 0},
                {"sm_100", 1, 1}, {"sm_103", 1, 0}, {"sm_110", 1, 1}, {"sm_120", 0, 0}, {"sm_121", 0, 0}};
    const tj_family *const family = tj_family_find("tcgen05");

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int of_integers = 0; of_integers < 2; of_integers++) {
            tj_problem problem = f32(4096, 4096, 4096);
            tj_device_facts device = TJ_DEVICE_FACTS_INIT;
            const int expected = of_integers ? rows[i].of_integers : rows[i].has_it;
            tj_config config;
            tj_space *space;
            tj_error err;

            problem.m.type = of_integers ? TJ_S8 : TJ_BF16;
            cr_assert(eq(int, tj_device_named(rows[i].target, &device, &err), TJ_OK), "%s", err.message);
            cr_assert(eq(int, tj_space_create(&problem, &device, family, &space, &err), TJ_OK), "%s", err.message);
            cr_expect(eq(int, tj_space_next(space, &config), expected), "%s", rows[i].target);
            tj_space_free(space);
            cr_assert(eq(int, tj_choose(NULL, &problem, &device, &config, NULL, &err), TJ_OK), "%s", err.message);
            cr_expect(expected ? of_integers || config.family == family : config.family != family, "%s", rows[i].target);
        }
}

Test(space, holds_what_was_fastest)
{
    static const struct {
        int64_t j, k, l, batch;
        const char *config;
    } rows[] = {
        {1, 4096, 4096, 1, "skinny:tm=1,tn=4,lanes=8,slices=32,vector=4,k_thread=16,splits=1,blocks=1"},
        {4, 4096, 6144, 1, "skinny:tm=4,tn=4,lanes=4,slices=32,vector=4,k_thread=8,splits=1,blocks=1"},
        {16, 4096, 4096, 1, "skinny:tm=16,tn=4,lanes=32,slices=8,vector=4,k_thread=4,splits=8,blocks=1"},
        {3, 8192, 1280, 1, "skinny:tm=3,tn=4,lanes=16,slices=16,vector=4,k_thread=8,splits=13,blocks=1"},
        {1760, 1760, 16, 1, "skinny:tm=8,tn=4,lanes=4,slices=64,vector=4,k_thread=4,splits=1,blocks=1"},
        {7680, 2560, 1, 1, "skinny:tm=1,tn=4,lanes=1,slices=128,vector=4,k_thread=4,splits=1,blocks=1"},
        {64, 1216, 1, 1, "skinny:tm=1,tn=4,lanes=1,slices=128,vector=4,k_thread=4,splits=1,blocks=1"},
        {512, 500000, 8, 1, "skinny:tm=8,tn=4,lanes=16,slices=16,vector=4,k_thread=4,splits=33,blocks=1"},
        {7, 300000, 13, 1, "skinny:tm=7,tn=1,lanes=16,slices=16,vector=1,k_thread=8,splits=264,blocks=1"},
        {16, 16, 16, 10000, "small_batch:tm=2,tn=4,products=4,copy=async,vector=4,blocks=1"},
        {23, 23, 23, 10000, "small_batch:tm=8,tn=4,products=7,copy=async,vector=4,blocks=1"},
        {13, 32, 5, 10000, "small_batch:tm=2,tn=3,products=2,copy=async,vector=4,blocks=1"},
        {64, 64, 64, 2000, "small_batch:tm=8,tn=4,products=1,copy=async,vector=4,blocks=6"},
        {128, 128, 128, 256, "small_batch:tm=8,tn=4,products=1,copy=async,vector=4,blocks=1"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_problem problem = f32(rows[i].j, rows[i].k, rows[i].l);
        tj_config config;
        int configs;

        problem.batch = rows[i].batch;
        cr_assert(eq(int, tj_config_parse(rows[i].config, &config, NULL), TJ_OK), "row %zu", i);
        cr_expect(eq(int, times_in_space(&problem, &config, &configs), 1), "row %zu: %s", i, rows[i].config);
        cr_expect(configs >= 20 && configs <= 3000, "row %zu: %d configs", i, configs);
    }
}

/* The least that the model says of any config of the space. */
static double least_predicted(const tj_device_facts *device, const tj_problem *problem)
{
    double least = 0;
    tj_space *space;
    tj_config config;

    cr_assert(eq(int, tj_space_create(problem, device, NULL, &space, NULL), TJ_OK));
    while (tj_space_next(space, &config)) {
        const double seconds = predicted(device, problem, &config);

        if (seconds > 0 && (least == 0 || seconds < least))
            least = seconds;
    }
    tj_space_free(space);
    return least;
}

/*
 * Phases of 8192 multiply-adds took 1.6 times as long on an H200 as those of 4096, and one block of 8 x 8 tiles on a multiprocessor
 * 1.07 times as long as several of smaller ones.
 */
Test(choice, of_complex_numbers_keeps_phases_in_the_instruction_cache)
{
    static const int64_t extents[] = {4096, 1024};
    const tj_device_facts device = h200();

    for (size_t i = 0; i < sizeof extents / sizeof extents[0]; i++) {
        const tj_problem problem = TJ_PROBLEM_INIT(extents[i], extents[i], extents[i], TJ_C64);
        char text[TJ_CONFIG_TEXT_BYTES];
        tj_config chosen;

        cr_assert(eq(int, tj_choose(NULL, &problem, &device, &chosen, NULL, NULL), TJ_OK));
        tj_config_print(&chosen, text);
        const int32_t tile = tj_config_get(&chosen, "tm") * tj_config_get(&chosen, "tn");
        cr_expect(strncmp(text, "simt:", 5) == 0 && tile <= 32 && 4 * tile * tj_config_get(&chosen, "bk") <= 4096, "%s", text);
    }
}

Test(choice, without_records_is_what_the_model_ranks_first_and_never_behind_the_default)
{
    int near = 0, all = 0;
    const tj_device_facts devices[] = {h200(), t4()};

    for (size_t i = 0; i < PROBLEMS; i += 2) {
        const int d = (int)(i / 2 % 2); /* each device with half of them */
        const tj_problem problem = some_problem(i);
        const double least = least_predicted(&devices[d], &problem);
        tj_config chosen, standard = TJ_CONFIG_INIT;
        tj_chosen_by by;

        cr_assert(eq(int, tj_choose(NULL, &problem, &devices[d], &chosen, &by, NULL), TJ_OK));
        cr_expect(by == TJ_BY_MODEL || by == TJ_BY_DEFAULT);
        /* A walk may end on a lesser hill: near the best for most, and never far from it. */
        near += predicted(&devices[d], &problem, &chosen) <= 1.05 * least;
        all++;
        cr_expect(predicted(&devices[d], &problem, &chosen) <= 1.3 * least,
                  "problem %zu, device %d: %g us, and the space has %g", i, d, 1e6 * predicted(&devices[d], &problem, &chosen),
                  1e6 * least);
        cr_assert(eq(int, tj_config_resolve(&problem, &standard, NULL), TJ_OK));
        cr_expect(predicted(&devices[d], &problem, &chosen) <= 1.0001 * predicted(&devices[d], &problem, &standard));
    }
    cr_expect(near * 10 >= all * 9, "%d of %d are near the model's best", near, all);
}

/* Operands as they lie in place of packed ones, and two stages in place of six: neither alone is better, nor admitted. */
Test(choice, is_not_kept_from_words_that_ask_for_other_numbers)
{
    static const struct {
        int64_t j, k, l;
        int32_t type, n_layout;
        const char *better;
    } cases[] = {
        {5, 38080, 5, TJ_S8, TJ_ROW_MAJOR, "mma:bm=16,bn=16,steps=2,wm=16,wn=16,splits=264,stages=4,blocks=1,pack=none"},
        {5, 3251, 1542, TJ_S8, TJ_ROW_MAJOR, "mma:bm=16,bn=64,steps=2,wm=16,wn=32,splits=24,stages=2,blocks=1,pack=none"},
        {5384, 2, 224, TJ_E4M3, TJ_COL_MAJOR, "mma:bm=64,bn=32,steps=2,wm=16,wn=32,splits=1,stages=2,blocks=1,pack=none"},
        {4368, 36, 256, TJ_E4M3, TJ_COL_MAJOR, "mma:bm=64,bn=32,steps=2,wm=16,wn=32,splits=1,stages=2,blocks=1,pack=none"},
        {138, 138, 226, TJ_F16, TJ_ROW_MAJOR, "mma:bm=16,bn=32,steps=4,wm=16,wn=16,splits=1,stages=4,blocks=1,pack=none"},
    };
    const tj_device_facts device = h200();

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tj_problem problem = f32(cases[i].j, cases[i].k, cases[i].l);
        tj_config chosen, better;
        tj_chosen_by by;

        problem.m.type = cases[i].type;
        problem.n.layout = cases[i].n_layout;
        cr_assert(eq(int, tj_config_parse(cases[i].better, &better, NULL), TJ_OK));
        cr_assert(eq(int, tj_choose(NULL, &problem, &device, &chosen, &by, NULL), TJ_OK));
        cr_expect(predicted(&device, &problem, &chosen) <= 1.03 * predicted(&device, &problem, &better),
                  "%s: %g us, chosen: %g us", cases[i].better, 1e6 * predicted(&device, &problem, &better),
                  1e6 * predicted(&device, &problem, &chosen));
    }
}

/* A start that nothing admits would only cost time. */
Test(choice, begins_with_configs_that_some_problem_admits)
{
    tj_problem problems[] = {f32(16, 16, 16),       f32(13, 32, 5),     f32(24, 24, 24),       f32(1024, 1024, 1024),
                             f32(2048, 4096, 16),   f32(64, 1216, 1),   f32(1024, 1024, 1024), f32(1024, 1024, 1024),
                             f32(1024, 1024, 1024), f32(16, 4096, 4096)};

    for (size_t i = 0; i < 3; i++)
        problems[i].batch = 10000;
    problems[6].m.type = TJ_BF16;
    problems[7].m.type = TJ_F64;
    problems[8].compute = TJ_COMPUTE_F32_SPLIT;
    problems[9].m.type = TJ_BF16;
    problems[9].n.type = TJ_S4;
    problems[9].n.layout = TJ_COL_MAJOR;
    for (size_t f = 0; f < tj_family_count(); f++) {
        const tj_family *family = tj_family_at(f);
        tj_config start, past;

        cr_assert(tj_family_start(family, 0, &start));
        for (size_t axis = 0; axis < TJ_CONFIG_MAX_PARAMS; axis++)
            cr_expect(eq(int, start.value[axis], 0), "the first is the default");
        for (size_t i = 0; tj_family_start(family, i, &start); i++) {
            char text[TJ_CONFIG_TEXT_BYTES];
            int admitted = 0;

            past = start;
            tj_config_print(&start, text);
            for (size_t p = 0; p < sizeof problems / sizeof problems[0]; p++) {
                tj_config resolved = start;

                admitted += tj_config_resolve(&problems[p], &resolved, NULL) == TJ_OK;
            }
            cr_expect(start.family == family && admitted > 0, "%s", text);
        }
        cr_expect(eq(int, tj_family_start(family, 10000, &start), 0));
        cr_expect(memcmp(&start, &past, sizeof start) == 0, "past the end nothing is written");
    }
}

/* Tensor cores where the device has them and the type allows; f32 as IEEE has it is computed as ever. */
Test(choice, takes_tensor_cores_where_they_are_fast)
{
    static const struct {
        int type;
        int64_t j, k, l;
        bool has_old_device, is_mma, is_open;
    } rows[] = {
        {TJ_BF16, 4096, 4096, 4096, false, true},
        {TJ_BF16, 1024, 1024, 1024, false, true},
        {TJ_F16, 1024, 1000, 1001, false, true},
        {TJ_F16, 128, 8192, 128, false, true},
        {TJ_F64, 4096, 4096, 4096, false, true},
        {TJ_F64, 1024, 1024, 1024, false, true},
        {TJ_BF16, 4096, 4096, 4096, true, false},
        {TJ_F32, 4096, 4096, 4096, false, false},
        {TJ_F32, 1024, 1024, 1024, false, false},
        /* an older device has those of f16, s8 and u8 */
        {TJ_F16, 4096, 4096, 4096, true, true},
        {TJ_F16, 1023, 1023, 1023, true, true},
        {TJ_S8, 1024, 1024, 1024, true, true},
        {TJ_U8, 63, 4095, 63, true, true},
        /* lines may begin anywhere, in 8 bits too */
        {TJ_F16, 0, 0, 0, true, true, true},
        {TJ_S8, 0, 0, 0, true, true, true},
        {TJ_BF16, 0, 0, 0, false, true, true},
        {TJ_S8, 0, 0, 0, false, true, true},
        {TJ_E4M3, 0, 0, 0, false, true, true},
        {TJ_U8, 255, 255, 255, false, true},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_device_facts device = rows[i].has_old_device ? t4() : h200();
        tj_problem problem = f32(rows[i].j, rows[i].k, rows[i].l);
        tj_config chosen;
        tj_launch_form form;

        problem.m.type = rows[i].type;
        if (rows[i].is_open)
            problem.j.mode = problem.k.mode = problem.l.mode = TJ_DIM_ANY;
        cr_assert(eq(int, tj_choose(NULL, &problem, &device, &chosen, NULL, NULL), TJ_OK));
        cr_expect(eq(int, strstr(tj_family_name(chosen.family), "mma") != NULL, rows[i].is_mma), "row %zu: %s", i,
                  tj_family_name(chosen.family));
        cr_assert(eq(int, tj_preview_launch(&problem, &chosen, &form, NULL), TJ_OK));
        cr_expect(can_run(&device, &form), "row %zu", i);
    }
}

/* A choice is made at the first call of every process: it may ask the model a few hundred times, not thousands. */
Test(choice, is_cheap)
{
    const tj_device_facts device = h200();
    const tj_problem problem = f32(65, 65, 65);
    struct timespec begin, end;
    double choice, estimate, least = INFINITY;
    tj_config chosen;

    for (int i = 0; i < 5; i++) {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
        cr_assert(eq(int, tj_choose(NULL, &problem, &device, &chosen, NULL, NULL), TJ_OK));
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
        choice = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
        least = fmin(least, choice);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    for (int i = 0; i < 100; i++)
        cr_assert(predicted(&device, &problem, &chosen) > 0);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    estimate = ((double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec)) / 100;
    cr_expect(least < 1500 * estimate, "%g us, an estimate %g", 1e6 * least, 1e6 * estimate);
}

Test(choice, does_not_depend_on_extents_that_the_kernel_does_not_know)
{
    const tj_device_facts device = h200();
    tj_problem small = f32(16, 0, 16), large = f32(5000, 5000, 5000);
    tj_config a, b;

    small.j.mode = small.k.mode = small.l.mode = large.j.mode = large.k.mode = large.l.mode = TJ_DIM_ANY;
    cr_assert(eq(int, tj_choose(NULL, &small, &device, &a, NULL, NULL), TJ_OK));
    cr_assert(eq(int, tj_choose(NULL, &large, &device, &b, NULL, NULL), TJ_OK));
    cr_expect(by_bytes(&a, &b) == 0);
}

Test(choice, is_the_safe_default_where_nothing_is_known_of_the_device)
{
    tj_device_facts device = h200();
    const tj_problem problem = f32(512, 512, 512);
    tj_chosen_by by;
    tj_config chosen;

    device.clock_khz = 0;
    cr_assert(eq(int, tj_choose(NULL, &problem, &device, &chosen, &by, NULL), TJ_OK));
    cr_expect(eq(int, by, TJ_BY_DEFAULT));
    cr_expect(eq(str, (char *)tj_family_name(chosen.family), (char *)"tiled"));
}

/* Times measured on an H200, in microseconds: the model must order what is clearly apart. */
Test(model, orders_what_an_h200_showed)
{
    static const struct {
        int64_t edge;
        const char *faster, *slower;
    } rows[] = {
        {4096, "simt:bm=64,bn=128,bk=16,tm=8,tn=8,stages=3,blocks=4", "simt:bm=128,bn=256,bk=16,tm=16,tn=8,stages=3"},
        {1024, "simt:bm=64,bn=128,bk=32,tm=8,tn=8,slices=4,stages=3", "tiled:tile_width=32"},
        {512, "simt:bm=32,bn=64,bk=32,tm=8,tn=4,slices=2,stages=3", "tiled:tile_width=16"},
        {256, "simt:bm=16,bn=32,bk=64,tm=4,tn=4,slices=4,stages=2", "simt:bm=64,bn=128,bk=16,tm=8,tn=8,stages=3"},
        {64, "simt:bm=16,bn=32,bk=64,tm=4,tn=4,slices=4,stages=2", "naive:tile_width=16"},
    };
    const tj_device_facts device = h200();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_problem problem = f32(rows[i].edge, rows[i].edge, rows[i].edge);
        tj_config faster, slower;

        cr_assert(eq(int, tj_config_parse(rows[i].faster, &faster, NULL), TJ_OK));
        cr_assert(eq(int, tj_config_parse(rows[i].slower, &slower, NULL), TJ_OK));
        cr_expect(predicted(&device, &problem, &faster) < predicted(&device, &problem, &slower), "row %zu", i);
    }
}
