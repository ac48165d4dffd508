/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit families, devices, doctor: a look at what there is.
 */
#include <inttypes.h>
#include <string.h>

#include "cli.h"

/* The default of a parameter that the form leaves open. */
static const char SETTLED[] = "what the shape needs";

/* What a tuner tries. Words are listed with the choice already. */
static json_t *tried_json(const tj_param *param)
{
    json_t *list = json_array();
    int32_t value[TJ_PARAM_MAX_TRIED];
    const size_t count = tj_param_values(param, value);

    for (size_t i = 0; i < count; i++)
        if (value[i] == 0)
            (void)json_array_append_new(list, json_string(SETTLED));
        else if (param->choice)
            (void)json_array_append_new(list, json_string(param->choice[value[i] - 1]));
        else
            (void)json_array_append_new(list, json_integer(value[i]));
    return list;
}

static void print_tried(const tj_param *param)
{
    int32_t value[TJ_PARAM_MAX_TRIED];
    const size_t count = tj_param_values(param, value);

    if (param->choice)
        return;
    printf("%*stuned over", 18, "");
    for (size_t i = 0; i < count; i++)
        printf(" %d", (int)value[i]);
    printf("\n");
}

static json_t *param_json(const tj_param *param)
{
    json_t *object = json_object();

    cli_set_text(object, "name", param->name);
    cli_set_text(object, "summary", param->summary);
    if (param->choice) {
        json_t *choice = json_array();

        for (size_t i = 0; param->choice[i]; i++)
            (void)json_array_append_new(choice, json_string(param->choice[i]));
        (void)json_object_set_new(object, "choice", choice);
        cli_set_text(object, "default", param->standard ? param->choice[param->standard - 1] : SETTLED);
    } else {
        cli_set_int(object, "minimum", param->minimum);
        cli_set_int(object, "maximum", param->maximum);
        cli_set_int(object, "default", param->standard);
    }
    (void)json_object_set_new(object, "tried", tried_json(param));
    return object;
}

static void print_param(const tj_param *param)
{
    printf("    %-12s ", param->name);
    if (param->choice) {
        for (size_t i = 0; param->choice[i]; i++)
            printf("%s%s", i ? " | " : "", param->choice[i]);
        printf(" (default %s)", param->standard ? param->choice[param->standard - 1] : SETTLED);
    } else {
        printf("%d to %d (default %d)", (int)param->minimum, (int)param->maximum, (int)param->standard);
    }
    printf(": %s\n", param->summary);
    print_tried(param);
}

cli_exit cmd_families(const cli_words *words, json_t *answer, tj_error *err)
{
    json_t *list = json_array();

    (void)err;
    for (size_t f = 0; f < tj_family_count(); f++) {
        const tj_family *family = tj_family_at(f);
        json_t *object = json_object(), *params = json_array(), *constraints = json_array();
        const char *sentence;

        if (!words->is_json)
            printf("%s%s: %s\n", f ? "\n" : "", tj_family_name(family), tj_family_summary(family));
        for (size_t i = 0; i < tj_family_param_count(family); i++) {
            if (!words->is_json)
                print_param(tj_family_param(family, i));
            (void)json_array_append_new(params, param_json(tj_family_param(family, i)));
        }
        for (size_t i = 0; (sentence = tj_family_constraint(family, i)); i++) {
            if (!words->is_json)
                printf("    must hold: %s\n", sentence);
            (void)json_array_append_new(constraints, json_string(sentence));
        }
        cli_set_text(object, "name", tj_family_name(family));
        cli_set_text(object, "summary", tj_family_summary(family));
        (void)json_object_set_new(object, "parameters", params);
        (void)json_object_set_new(object, "constraints", constraints);
        (void)json_array_append_new(list, object);
    }
    (void)json_object_set_new(answer, "families", list);
    return CLI_DONE;
}

static json_t *device_json(const tj_device_facts *facts)
{
    json_t *object = json_object();
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"ordinal", facts->ordinal},
        {"cc_major", facts->cc_major},
        {"cc_minor", facts->cc_minor},
        {"sm_count", facts->sm_count},
        {"max_threads_per_block", facts->max_threads_per_block},
        {"max_threads_per_sm", facts->max_threads_per_sm},
        {"max_blocks_per_sm", facts->max_blocks_per_sm},
        {"max_grid_x", facts->max_grid_x},
        {"max_grid_y", facts->max_grid_y},
        {"max_grid_z", facts->max_grid_z},
        {"registers_per_block", facts->registers_per_block},
        {"registers_per_sm", facts->registers_per_sm},
        {"shared_per_block", facts->shared_per_block},
        {"shared_per_block_optin", facts->shared_per_block_optin},
        {"shared_per_sm", facts->shared_per_sm},
        {"reserved_shared_per_block", facts->reserved_shared_per_block},
        {"l2_bytes", facts->l2_bytes},
        {"memory_bytes", facts->memory_bytes},
        {"clock_khz", facts->clock_khz},
        {"memory_clock_khz", facts->memory_clock_khz},
        {"memory_bus_bits", facts->memory_bus_bits},
        {"driver_version", facts->driver_version},
    };

    cli_set_text(object, "name", facts->name);
    cli_set_text(object, "uuid", facts->uuid);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        cli_set_int(object, numbers[i].name, numbers[i].value);
    return object;
}

static void print_device(const tj_device_facts *facts, double bytes_per_s)
{
    char memory[32], l2[32], shared[32], arithmetic[32], bandwidth[32];
    tj_error ignored;
    tj_peaks peaks;

    cli_format_bytes(memory, facts->memory_bytes);
    cli_format_bytes(l2, facts->l2_bytes);
    cli_format_bytes(shared, facts->shared_per_block_optin);
    printf("%d: %s, compute capability %d.%d, uuid %s\n", (int)facts->ordinal, facts->name, (int)facts->cc_major,
           (int)facts->cc_minor, facts->uuid);
    printf("   %d multiprocessors at %d MHz, %s of memory, %s of L2, %s of shared memory per block, driver for CUDA %d.%d\n",
           (int)facts->sm_count, (int)facts->clock_khz / 1000, memory, l2, shared, (int)facts->driver_version / 1000,
           (int)facts->driver_version % 1000 / 10);
    if (tj_find_peaks(facts, TJ_F32, bytes_per_s, &peaks, &ignored) != TJ_OK)
        return;
    cli_format_rate(arithmetic, peaks.flop_per_s, "FLOP/s");
    cli_format_rate(bandwidth, peaks.bytes_per_s, "B/s");
    printf("   at most %s in f32, %s to memory (%s)\n", arithmetic, bandwidth,
           peaks.is_measured ? "measured" : "by its clock and bus");
}

/* The measured bandwidth: now, of the device in use, or as remembered. */
static tj_status find_bandwidth(const cli_words *words, tj_context *context, const tj_device_facts *facts, double *bytes_per_s,
                                tj_error *err)
{
    if (words->measures && facts->ordinal == cli_device_ordinal(words))
        return cli_measure_bandwidth(context, facts, bytes_per_s, err);
    *bytes_per_s = cli_read_bandwidth(context, facts);
    return TJ_OK;
}

cli_exit cmd_devices(const cli_words *words, json_t *answer, tj_error *err)
{
    json_t *list = json_array();
    tj_context *context = NULL;
    tj_device_facts facts;
    double bytes_per_s = 0;
    json_t *object;
    int count = 0;
    tj_status status = cli_context_create_to_run(words, &context, err);

    if (status == TJ_OK)
        status = tj_device_count(context, &count, err);
    for (int i = 0; i < count && status == TJ_OK; i++) {
        status = tj_device_get(context, i, &facts, err);
        if (status == TJ_OK)
            status = find_bandwidth(words, context, &facts, &bytes_per_s, err);
        if (status != TJ_OK)
            break;
        object = device_json(&facts);
        if (bytes_per_s > 0)
            cli_set_real(object, "measured_bytes_per_s", bytes_per_s);
        (void)json_array_append_new(list, object);
        if (!words->is_json)
            print_device(&facts, bytes_per_s);
    }
    (void)json_object_set_new(answer, "devices", list);
    tj_context_free(context);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

/* ---- doctor ------------------------------------------------------------------------------------------------------- */

typedef struct visit {
    json_t *list;
    bool is_json;
    int missing;
} visit;

static void tell_finding(const tj_finding *finding, void *payload)
{
    static const char *const states[] = {"OK", "note", "missing"};
    const char *state = states[finding->state];
    visit *to = payload;
    json_t *object = json_object();

    to->missing += finding->state == TJ_FINDING_MISSING;
    cli_set_text(object, "topic", finding->topic);
    cli_set_text(object, "state", state);
    cli_set_text(object, "text", finding->text);
    cli_set_text(object, "remedy", finding->remedy);
    (void)json_array_append_new(to->list, object);
    if (to->is_json)
        return;
    printf("%-8s %-9s %s\n", state, finding->topic, finding->text);
    if (*finding->remedy)
        printf("%19sremedy: %s\n", "", finding->remedy);
}

cli_exit cmd_doctor(const cli_words *words, json_t *answer, tj_error *err)
{
    visit to = {json_array(), words->is_json, 0};
    tj_context *context = NULL;
    tj_status status = cli_context_create(words, &context, err);

    if (status == TJ_OK)
        status = tj_doctor(context, tell_finding, &to, err);
    (void)json_object_set_new(answer, "findings", to.list);
    cli_set_int(answer, "missing", to.missing);
    tj_context_free(context);
    if (status != TJ_OK)
        return CLI_FAILED;
    if (to.missing == 0)
        return CLI_DONE;
    (void)cli_fail(err, TJ_ERR_NOT_FOUND, "%d of the findings %s missing: the remedies are beside them", to.missing,
                   to.missing == 1 ? "is" : "are");
    return CLI_FAILED;
}
