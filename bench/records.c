/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_records A.json B.json: the configs that two files of records choose for the same shapes, timed side by side: in turns, so that what
 * disturbs one disturbs the other. Ratios are of medians. Where both chose the same config there is nothing to time, unless --all is given.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

const char program[] = "bench_records";

enum { TURNS = 25, LAUNCHES = 20, WARMUP = 5 };

static tj_records *read_records(const char *path)
{
    FILE *file = fopen(path, "rb");
    tj_records *records = tj_records_create();
    char *text = calloc(1, 64 << 20);
    tj_error err;

    if (!file || !text || !records || fread(text, 1, (64 << 20) - 1, file) == 0 ||
        tj_records_parse(text, NULL, NULL, records, NULL, &err) != TJ_OK) {
        fprintf(stderr, "bench_records: %s holds no records\n", path);
        exit(1);
    }
    fclose(file);
    free(text);
    return records;
}

static const tj_record *find(const tj_records *records, const tj_problem *problem)
{
    char wanted[TJ_PROBLEM_ID_BYTES], id[TJ_PROBLEM_ID_BYTES];
    const tj_record *record;

    tj_problem_id(problem, wanted);
    for (size_t i = 0; (record = tj_records_at(records, i)); i++) {
        tj_problem_id(tj_record_problem(record), id);
        if (strcmp(id, wanted) == 0)
            return record;
    }
    return NULL;
}

static tj_status prepare(tj_context *context, const tj_record *record, const tj_plan **plan, tj_error *err)
{
    tj_record_facts facts;
    tj_config config;
    tj_status status;

    tj_record_get_facts(record, &facts);
    status = tj_config_parse(facts.config, &config, err);
    return status == TJ_OK ? tj_plan_prepare(context, tj_record_problem(record), &config, plan, err) : status;
}

static tj_status race(tj_context *context, const tj_record *const record[2], double us[2], tj_error *err)
{
    const tj_plan *plan[2];
    double turn[2][TURNS], time[LAUNCHES];
    tj_workbench *bench = NULL;
    tj_status status = tj_workbench_create(context, tj_record_problem(record[0]), NULL, &bench, err);

    for (int i = 0; i < 2 && status == TJ_OK; i++) {
        status = prepare(context, record[i], &plan[i], err);
        if (status == TJ_OK)
            status = tj_workbench_fit(bench, tj_plan_workspace_bytes(plan[i]), err);
    }
    for (int t = 0; t < TURNS && status == TJ_OK; t++)
        for (int i = 0; i < 2 && status == TJ_OK; i++) {
            const int which = (t + i) % 2;

            status = tj_time_launches(context, plan[which], tj_workbench_operands(bench), NULL, WARMUP, LAUNCHES, time, err);
            turn[which][t] = median(time, LAUNCHES);
        }
    for (int i = 0; i < 2 && status == TJ_OK; i++)
        us[i] = median(turn[i], TURNS);
    tj_workbench_free(bench);
    return status;
}

int main(int argc, char **argv)
{
    const int all = argc > 3 && strcmp(argv[3], "--all") == 0;
    tj_records *set[2];
    tj_context *context;
    size_t count = 0, same = 0, close = 0, missing = 0;
    double largest = 1;
    tj_error err;

    if (argc < 3) {
        fprintf(stderr, "usage: bench_records A.json B.json [--all]\n");
        return 2;
    }
    set[0] = read_records(argv[1]);
    set[1] = read_records(argv[2]);
    if (tj_context_create(NULL, &context, &err) != TJ_OK) {
        fprintf(stderr, "bench_records: %s\n", err.message);
        return 1;
    }
    for (size_t i = 0; i < tj_records_count(set[0]); i++) {
        const tj_record *pair[2] = {tj_records_at(set[0], i), find(set[1], tj_record_problem(tj_records_at(set[0], i)))};
        tj_record_facts facts[2];
        double us[2] = {1, 1}, ratio;

        if (!pair[1]) {
            missing++;
            continue;
        }
        tj_record_get_facts(pair[0], &facts[0]);
        tj_record_get_facts(pair[1], &facts[1]);
        count++;
        if (strcmp(facts[0].config, facts[1].config) == 0) {
            same++;
            if (!all)
                continue;
        }
        if (race(context, pair, us, &err) != TJ_OK) {
            fprintf(stderr, "bench_records: %s: %s\n", facts[0].problem, err.message);
            return 1;
        }
        ratio = us[1] / us[0];
        close += ratio < 1.01 && ratio > 1 / 1.01;
        largest = ratio > largest ? ratio : 1 / ratio > largest ? 1 / ratio : largest;
        printf("%-28s %9.2f us %9.2f us  %.4f  %s | %s\n", facts[0].problem, us[0], us[1], ratio, facts[0].config,
               facts[1].config);
    }
    printf("%zu shapes in both, %zu with the same config; of %zu timed, %zu within 1 %%, the largest ratio %.4f; missing in "
           "the second: "
           "%zu\n",
           count, same, all ? count : count - same, close, largest, missing);
    tj_context_free(context);
    tj_records_free(set[0]);
    tj_records_free(set[1]);
    return 0;
}
