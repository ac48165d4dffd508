/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* Records in a store, and the configs that are chosen by them. */
#include "record_test.h"

TestSuite(stored_records, .init = make_folder, .fini = remove_folder);

/* ---- the store ---------------------------------------------------------------------------------------------------- */

static void keep(tj_context *context, tj_record *record, int64_t expected)
{
    tj_records *one = tj_records_create();
    int64_t kept = -1;

    cr_assert(eq(int, tj_records_add(one, record, &err), TJ_OK));
    cr_assert(eq(int, tj_records_keep(context, one, &kept, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(i64, kept, expected));
    tj_records_free(one);
}

static double stored_us(tj_context *context, const tj_problem *problem)
{
    const tj_device_facts device = h200();
    tj_records *all = tj_records_create();
    const tj_record *record;
    tj_record_facts facts = TJ_RECORD_FACTS_INIT;

    cr_assert(eq(int, tj_records_load(context, all, &err), TJ_OK));
    record = tj_records_find(all, problem, &device);
    if (record)
        cr_assert(eq(int, tj_record_get_facts(record, &facts, &err), TJ_OK));
    tj_records_free(all);
    return record ? facts.us : -1;
}

static int count_files(void)
{
    char command[128];
    FILE *pipe;
    int count = -1;

    snprintf(command, sizeof command, "ls %s/v1/records | wc -l", folder);
    pipe = popen(command, "r");
    cr_assert(pipe && fscanf(pipe, "%d", &count) == 1);
    pclose(pipe);
    return count;
}

Test(stored_records, in_the_store_give_way_to_better_ones_only)
{
    const tj_problem problem = f32(512, 512, 512), other = f32(512, 512, 256);
    tj_context *context = open_context(folder, NULL);

    keep(context, record_of(&problem, 10, 80), 1);
    keep(context, record_of(&other, 3, 80), 1);
    keep(context, record_of(&problem, 9, 40), 0); /* faster, and less well founded */
    cr_expect(eq(dbl, stored_us(context, &problem), 10));
    keep(context, record_of(&problem, 8, 80), 1);
    keep(context, record_of(&problem, 8, 80), 0);
    cr_expect(eq(dbl, stored_us(context, &problem), 8));
    cr_expect(eq(dbl, stored_us(context, &other), 3));
    cr_expect(eq(int, count_files(), 2), "the beaten ones are gone");
    tj_context_free(context);
}

static tj_record *record_with(const tj_problem *problem, const char *config, double us, int64_t evaluations, int is_complete)
{
    tj_record fields = fields_of(problem, us, evaluations);

    snprintf(fields.config, sizeof fields.config, "%s", config);
    fields.is_complete = is_complete;
    return tj_record_create(&fields);
}

/* However much it claims to be founded on, be it there first or later, in the store, in a file or in a merge. */
Test(stored_records, that_choose_nothing_displace_none_that_does)
{
    static const char *const useless[] = {"tiled:tile_width=999999999", "warp_specialised:warps=4",
                                          "simt:bm=256,bn=256,bk=16,tm=4,tn=8" /* 2048 threads */,
                                          "tiled:tile_width=16,nonsense=1"};
    const tj_problem problem = f32(512, 512, 512);
    const tj_device_facts device = h200();

    for (size_t i = 0; i < sizeof useless / sizeof useless[0]; i++)
        for (int is_first = 0; is_first < 2; is_first++) {
            tj_record *good = record_of(&problem, 10, 80), *bad = record_with(&problem, useless[i], 1, 1 << 20, 1);
            tj_records *records = tj_records_create(), *read = tj_records_create();
            char own[64], *text;
            tj_context *context;

            cr_expect(lt(int, tj_record_compare(good, bad), 0), "%s", useless[i]);
            cr_expect(gt(int, tj_record_compare(bad, good), 0), "%s", useless[i]);
            cr_assert(eq(int, tj_records_add(records, tj_record_copy(is_first ? bad : good), &err), TJ_OK));
            cr_assert(eq(int, tj_records_add(records, tj_record_copy(is_first ? good : bad), &err), TJ_OK));
            cr_expect(eq(dbl, tj_records_find(records, &problem, &device)->us, 10), "%s", useless[i]);
            tj_records_free(records);

            records = tj_records_create();
            cr_assert(eq(int, tj_records_add(records, tj_record_copy(bad), &err), TJ_OK));
            text = tj_records_print(records, 0);
            cr_assert(eq(int, tj_records_parse(text, NULL, NULL, read, NULL, &err), TJ_OK), "it may be of a later version");
            free(text);
            snprintf(own, sizeof own, "%s/%zu-%d", folder, i, is_first);
            context = open_context(own, NULL);
            if (is_first)
                cr_assert(eq(int, tj_records_keep(context, read, NULL, &err), TJ_OK), "%s", err.message);
            keep(context, tj_record_copy(good), 1);
            cr_assert(eq(int, tj_records_keep(context, read, NULL, &err), TJ_OK), "%s", err.message);
            cr_expect(eq(dbl, stored_us(context, &problem), 10), "%s", useless[i]);
            tj_context_free(context);
            tj_records_free(records);
            tj_records_free(read);
            tj_record_free(good);
            tj_record_free(bad);
        }
}

/* 128 KB of shared memory: an sm_90 has them, an sm_75 has not, whatever its record says. */
Test(stored_records, that_no_device_of_their_kind_can_run_displace_none)
{
    const char *const config = "simt:bm=128,bn=128,bk=32,tm=8,tn=8,stages=4,copy=async";
    const tj_problem problem = f32(512, 512, 512);
    tj_record fields = fields_of(&problem, 10, 80), *good, *bad;

    for (int major = 7; major <= 9; major += 2) {
        fields.device.cc_major = major;
        fields.device.cc_minor = major == 7 ? 5 : 0;
        good = tj_record_create(&fields);
        fields.evaluations = 1000;
        strcpy(fields.config, config);
        bad = tj_record_create(&fields);
        cr_expect(eq(int, tj_record_compare(good, bad) < 0, major == 7), "%d", major);
        tj_record_free(good);
        tj_record_free(bad);
        fields = fields_of(&problem, 10, 80);
    }
}

/* commands: of a shell, for each file $f among the store's records. */
static void do_to_each_file(const char *commands)
{
    char command[256];

    snprintf(command, sizeof command, "cd %s/v1/records && for f in *.json; do %s; done", folder, commands);
    cr_assert(system(command) == 0);
}

Test(stored_records, that_are_damaged_in_the_store_are_passed_over)
{
    const tj_problem problem = f32(512, 512, 512);
    tj_context *context = open_context(folder, NULL);

    keep(context, record_of(&problem, 10, 80), 1);
    do_to_each_file("head -c 300 $f > 00000000000000000000000000000000-0000000000000000.json; sed s/10.0/11.0/ $f > 1$f");
    cr_expect(eq(dbl, stored_us(context, &problem), 10));
    keep(context, record_of(&problem, 7, 90), 1);
    cr_expect(eq(dbl, stored_us(context, &problem), 7));
    tj_context_free(context);
}

/* Two files that changed places, say: their content is sound, and of another key. */
Test(stored_records, under_another_s_name_are_not_believed)
{
    const tj_problem problem = f32(512, 512, 512);
    tj_context *context = open_context(folder, NULL);

    keep(context, record_of(&problem, 10, 80), 1);
    do_to_each_file("mv $f \"$(echo $f | tr 0123456789abcdef 123456789abcdef0)\"");
    cr_expect(eq(int, count_files(), 1));
    cr_expect(eq(dbl, stored_us(context, &problem), -1));
    keep(context, record_of(&problem, 11, 80), 1);
    cr_expect(eq(dbl, stored_us(context, &problem), 11));
    tj_context_free(context);
}

/* Nor is any written that could not be read again: evaluations are added up, and end where they are believed. */
Test(stored_records, that_were_just_kept_are_not_beaten_by_themselves)
{
    const tj_problem problem = f32(512, 512, 512);
    tj_context *context = open_context(folder, NULL);

    keep(context, record_of(&problem, 9, 80), 1);
    keep(context, record_of(&problem, 10, INT64_MAX), 1);
    cr_expect(eq(dbl, stored_us(context, &problem), 10));
    keep(context, record_of(&problem, 10, INT64_MAX), 0);
    cr_expect(eq(int, count_files(), 1), "the beaten one is gone");
    tj_context_free(context);
}

Test(stored_records, of_read_only_roots_are_used_and_left_alone)
{
    const tj_problem problem = f32(512, 512, 512);
    char own[64];
    const char *const roots[] = {folder, NULL};
    tj_context *writer = open_context(folder, NULL), *reader;

    keep(writer, record_of(&problem, 10, 80), 1);
    tj_context_free(writer);
    snprintf(own, sizeof own, "%s/own", folder);
    reader = open_context(own, roots);
    cr_expect(eq(dbl, stored_us(reader, &problem), 10));
    keep(reader, record_of(&problem, 12, 400), 1);
    cr_expect(eq(dbl, stored_us(reader, &problem), 12));
    tj_context_free(reader);
    writer = open_context(folder, NULL);
    cr_expect(eq(dbl, stored_us(writer, &problem), 10));
    tj_context_free(writer);
}

Test(stored_records, cannot_be_kept_without_a_store_and_the_caller_is_told)
{
    const tj_problem problem = f32(512, 512, 512);
    tj_context *context = open_context("", NULL);
    tj_records *one = tj_records_create();

    cr_assert(eq(int, tj_records_add(one, record_of(&problem, 10, 80), &err), TJ_OK));
    cr_expect(eq(int, tj_records_keep(context, one, NULL, &err), TJ_ERR_IO));
    cr_expect(strstr(err.message, "TILEJIT_CACHE_DIR") != NULL, "%s", err.message);
    tj_records_free(one);
    tj_context_free(context);
}

/* Many processes at once, each with its own idea: the best founded one is there in the end. */
Test(stored_records, of_many_processes_leave_the_best)
{
    enum { PROCESSES = 8, ROUNDS = 20 };
    const tj_problem problem = f32(512, 512, 512);
    tj_context *context;

    for (int p = 0; p < PROCESSES; p++)
        if (fork() == 0) {
            context = open_context(folder, NULL);
            for (int i = 0; i < ROUNDS; i++) {
                tj_records *one = tj_records_create();

                if (tj_records_add(one, record_of(&problem, 10, 80 + (i * PROCESSES + p * 7) % (ROUNDS * PROCESSES)), &err) ||
                    tj_records_keep(context, one, NULL, &err))
                    _exit(1);
                tj_records_free(one);
            }
            tj_context_free(context);
            fflush(NULL);
            _exit(0);
        }
    for (int p = 0; p < PROCESSES; p++) {
        int status;

        cr_assert(wait(&status) > 0);
        cr_expect(eq(int, status, 0));
    }
    context = open_context(folder, NULL);
    {
        const tj_device_facts device = h200();
        tj_records *all = tj_records_create();
        tj_record_facts facts = TJ_RECORD_FACTS_INIT;
        int64_t most = 0;

        for (int p = 0; p < PROCESSES; p++)
            for (int i = 0; i < ROUNDS; i++)
                if (80 + (i * PROCESSES + p * 7) % (ROUNDS * PROCESSES) > most)
                    most = 80 + (i * PROCESSES + p * 7) % (ROUNDS * PROCESSES);
        cr_assert(eq(int, tj_records_load(context, all, &err), TJ_OK));
        cr_assert(tj_records_find(all, &problem, &device) != NULL);
        cr_assert(eq(int, tj_record_get_facts(tj_records_find(all, &problem, &device), &facts, &err), TJ_OK));
        cr_expect(eq(i64, facts.evaluations, most));
        tj_records_free(all);
    }
    tj_context_free(context);
}

/* ---- choosing from them ------------------------------------------------------------------------------------------- */

Test(choice, takes_the_record_then_a_near_one_and_never_one_of_an_emulator)
{
    const tj_device_facts device = h200(), older = t4();
    const tj_problem tuned = f32(1000, 1000, 1000), near = f32(1000, 1040, 1000), far = f32(100, 8000, 100);
    tj_records *records = tj_records_create();
    tj_record fields = fields_of(&tuned, 30, 80); /* faster than the model expects */
    tj_config chosen, wanted;
    tj_chosen_by by;

    cr_assert(eq(int, tj_choose(NULL, &tuned, &device, &wanted, NULL, &err), TJ_OK));
    cr_assert(eq(int, tj_config_set(&wanted, "group", "8", &err), TJ_OK), "%s", err.message); /* the model would not */
    tj_config_print(&wanted, fields.config);
    cr_assert(eq(int, tj_records_add(records, tj_record_create(&fields), &err), TJ_OK));
    cr_assert(eq(int, tj_choose(records, &tuned, &device, &chosen, &by, &err), TJ_OK));
    cr_expect(eq(int, by, TJ_BY_RECORD));
    cr_expect(memcmp(chosen.value, wanted.value, sizeof wanted.value) == 0);
    cr_assert(eq(int, tj_choose(records, &near, &device, &chosen, &by, &err), TJ_OK));
    cr_expect(eq(int, by, TJ_BY_NEAREST));
    cr_expect(memcmp(chosen.value, wanted.value, sizeof wanted.value) == 0);
    cr_assert(eq(int, tj_choose(records, &far, &device, &chosen, &by, &err), TJ_OK));
    cr_expect(eq(int, by, TJ_BY_MODEL));
    cr_assert(eq(int, tj_choose(records, &tuned, &older, &chosen, &by, &err), TJ_OK));
    cr_expect(by != TJ_BY_RECORD && by != TJ_BY_NEAREST, "cp.async on a T4");
    tj_records_free(records);

    records = tj_records_create();
    strcpy(fields.policy, "emulated");
    cr_assert(eq(int, tj_records_add(records, tj_record_create(&fields), &err), TJ_OK));
    cr_expect(eq(sz, tj_records_count(records), 0));
    cr_assert(eq(int, tj_choose(records, &tuned, &device, &chosen, &by, &err), TJ_OK));
    cr_expect(eq(int, by, TJ_BY_MODEL));
    tj_records_free(records);
}

/* Choose for `asked` with the record of another problem, whose config is the model's own for asked. */
static tj_chosen_by chosen_beside(const tj_problem *asked, const tj_problem *tuned, const tj_device_facts *where)
{
    const tj_device_facts device = h200();
    tj_record fields = fields_of(tuned, 50, 80);
    tj_records *records = tj_records_create();
    tj_chosen_by by;
    tj_config config;

    fields.device = tj_device_kind_of(where);
    cr_assert(eq(int, tj_choose(NULL, asked, &device, &config, NULL, &err), TJ_OK), "%s", err.message);
    tj_config_print(&config, fields.config);
    cr_assert(eq(int, tj_records_add(records, tj_record_create(&fields), &err), TJ_OK));
    cr_assert(eq(int, tj_choose(records, asked, &device, &config, &by, &err), TJ_OK), "%s", err.message);
    tj_records_free(records);
    return by;
}

/* wgmma walks, and keeps to the share, of which also one multiprocessor is enough: then without clusters. */
Test(choice, keeps_to_the_share_of_the_device)
{
    static const int32_t shares[] = {108, 24, 1};
    const tj_device_facts device = h200();

    for (size_t i = 0; i < sizeof shares / sizeof shares[0]; i++) {
        tj_problem problem = TJ_PROBLEM_INIT(4096, 1024, 4096, TJ_BF16);
        tj_analysis a = TJ_ANALYSIS_INIT, whole = TJ_ANALYSIS_INIT;
        tj_config config;

        problem.multiprocessors = shares[i];
        cr_assert(eq(int, tj_choose(NULL, &problem, &device, &config, NULL, &err), TJ_OK), "%s", err.message);
        cr_assert(eq(int, tj_analyze(&device, &problem, &config, 0, 0, &a, &err), TJ_OK), "%s", err.message);
        cr_expect(a.multiprocessors == shares[i] && a.keeps_share == 1, "of %d: %d", shares[i], a.multiprocessors);
        cr_expect(eq(i64, a.occupancy.blocks_per_wave, (int64_t)a.occupancy.blocks_per_sm * shares[i]));
        problem.multiprocessors = 0;
        cr_assert(eq(int, tj_analyze(&device, &problem, &config, 0, 0, &whole, &err), TJ_OK), "%s", err.message);
        cr_expect(whole.multiprocessors == 132 && whole.keeps_share == 1 && whole.predicted.us < a.predicted.us, "of %d: %g us",
                  shares[i], a.predicted.us);
    }
}

Test(choice, takes_no_record_of_another_share_of_the_device)
{
    const tj_device_facts device = h200();
    tj_problem part = f32(512, 512, 512);
    tj_records *records = tj_records_create();

    part.multiprocessors = 108;
    cr_assert(eq(int, tj_records_add(records, record_of(&part, 10, 80), &err), TJ_OK));
    cr_expect(tj_records_find(records, &part, &device) != NULL);
    for (int32_t other = 0; other < 133; other += 107) {
        part.multiprocessors = other;
        cr_expect(tj_records_find(records, &part, &device) == NULL, "%d", other);
    }
    tj_records_free(records);
}

Test(choice, takes_no_record_of_another_kind_of_problem_for_a_near_one)
{
    enum { NEAR, P_DTYPE, DTYPE, COMPUTE, M_LAYOUT, N_LAYOUT, P_LAYOUT, J_OPEN, K_OPEN, L_OPEN, BATCH, OPEN_BATCH, BETA, ROWS };
    const tj_device_facts device = h200();

    for (int row = NEAR; row < ROWS; row++) {
        tj_problem asked = f32(1000, 1000, 1000), tuned = f32(1000, 1040, 1000);

        asked.m.type = tuned.m.type = TJ_F16;
        tuned.p.type = row == P_DTYPE ? TJ_F32 : TJ_F16;
        if (row == DTYPE)
            tuned.m.type = TJ_BF16;
        asked.p.type = TJ_F16;
        if (row == COMPUTE)
            asked.m.type = tuned.m.type = TJ_F32, tuned.compute = TJ_COMPUTE_TF32;
        tuned.m.layout = row == M_LAYOUT ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
        tuned.n.layout = row == N_LAYOUT ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
        tuned.p.layout = row == P_LAYOUT ? TJ_COL_MAJOR : TJ_ROW_MAJOR;
        tuned.j.mode = row == J_OPEN ? TJ_DIM_ANY : TJ_DIM_FIXED;
        tuned.k.mode = row == K_OPEN ? TJ_DIM_ANY : TJ_DIM_FIXED;
        tuned.l.mode = row == L_OPEN ? TJ_DIM_ANY : TJ_DIM_FIXED;
        tuned.batch = row == BATCH ? 2 : row == OPEN_BATCH ? TJ_ANY : 1;
        tuned.epilogue.has_beta = row == BETA;
        for (int turn = 0; turn < 2; turn++) {
            const tj_chosen_by by = turn ? chosen_beside(&tuned, &asked, &device) : chosen_beside(&asked, &tuned, &device);

            cr_expect(eq(int, by == TJ_BY_NEAREST, row == NEAR || row == BETA || row == DTYPE || row == N_LAYOUT),
                      "row %d, turn %d: %d", row, turn, (int)by);
        }
    }
}

Test(choice, takes_a_near_one_for_batches_that_are_open_in_both)
{
    const tj_device_facts device = h200();
    tj_problem asked = f32(1000, 1000, 1000), tuned = f32(1000, 1040, 1000);

    asked.batch = tuned.batch = TJ_ANY;
    cr_expect(eq(int, chosen_beside(&asked, &tuned, &device), TJ_BY_NEAREST));
    asked.batch = 4;
    cr_expect(ne(int, chosen_beside(&asked, &tuned, &device), TJ_BY_NEAREST));
    tuned.batch = 5;
    cr_expect(eq(int, chosen_beside(&asked, &tuned, &device), TJ_BY_NEAREST));
}

/* One that differs in its L2 alone is another; one of another compute capability has other kernels. */
Test(choice, learns_from_records_of_devices_of_its_capability)
{
    const tj_problem asked = f32(1000, 1000, 1000), near = f32(1000, 1200, 1000);

    for (int i = 0; i < 4; i++) {
        tj_device_facts other = h200();

        other.name[0] = i == 0 ? 'n' : 'N';
        other.sm_count -= i == 1;
        other.l2_bytes /= i == 2 ? 2 : 1;
        other.cc_minor += i == 3;
        cr_expect(eq(int, chosen_beside(&asked, &asked, &other), i < 3 ? TJ_BY_NEAREST : TJ_BY_MODEL), "%d", i);
        cr_expect(eq(int, chosen_beside(&asked, &near, &other), i < 3 ? TJ_BY_NEAREST : TJ_BY_MODEL), "%d", i);
    }
}

/* A record says that the model's own choice took twice the time of a config that the model thinks slower, or the other way round. */
Test(choice, goes_by_what_was_measured_of_similar_problems)
{
    const tj_device_facts device = h200();
    const tj_problem asked = f32(1000, 1000, 1000), tuned = f32(1000, 1040, 1000), far = f32(100, 8000, 100);
    tj_config best, other;
    tj_space *space;
    double share;

    cr_assert(eq(int, tj_choose(NULL, &asked, &device, &best, NULL, &err), TJ_OK), "%s", err.message);
    cr_assert(eq(int, tj_space_create(&asked, &device, best.family, &space, &err), TJ_OK), "%s", err.message);
    do {
        cr_assert(tj_space_next(space, &other), "no such config");
        share = predicted(&device, &asked, &other) / predicted(&device, &asked, &best);
    } while (share < 1.11 || share > 1.5);
    tj_space_free(space);
    for (int row = 0; row < 3; row++) {
        tj_record fields = fields_of(row == 2 ? &far : &tuned, 50, 80);
        tj_records *records = tj_records_create();
        tj_config chosen;
        tj_chosen_by by;

        fields.second_us = fields.default_us = 100;
        tj_config_print(row == 1 ? &best : &other, fields.config);
        tj_config_print(row == 1 ? &other : &best, fields.default_config);
        cr_assert(eq(int, tj_records_add(records, tj_record_create(&fields), &err), TJ_OK));
        cr_assert(eq(int, tj_choose(records, &asked, &device, &chosen, &by, &err), TJ_OK), "%s", err.message);
        cr_expect(eq(int, by, row == 2 ? TJ_BY_MODEL : TJ_BY_NEAREST), "row %d", row);
        cr_expect(memcmp(&chosen, row == 0 ? &other : &best, sizeof chosen) == 0, "row %d", row);
        tj_records_free(records);
    }
}

/* The first caller's extent must not decide for all the others, nor what near records there are. */
Test(choice, of_an_open_dimension_is_the_same_whoever_comes_first)
{
    static const int64_t extents[] = {1, 37, 4096, 1000000};
    const tj_device_facts device = h200();

    for (int i = 0; i < 3; i++) {
        tj_config first, config;

        for (size_t e = 0; e < sizeof extents / sizeof extents[0]; e++) {
            tj_problem problem = f32(512, 512, 512);
            tj_dim *const dim[] = {&problem.j, &problem.k, &problem.l};

            *dim[i] = (tj_dim){extents[e], TJ_DIM_ANY, 0};
            cr_assert(eq(int, tj_choose(NULL, &problem, &device, &config, NULL, &err), TJ_OK), "%s", err.message);
            if (e == 0)
                first = config;
            cr_expect(memcmp(&config, &first, sizeof config) == 0, "%c of %lld", "jkl"[i], (long long)extents[e]);
        }
    }
}
