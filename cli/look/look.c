/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "look.h"

static const cli_option own[] = {
    {"compare", CLI_TEXT, offsetof(cli_look_options, compare),
     "Compare configs: a parameter and its values, such as tile_width=8,16,32, or family=naive,tiled.", "name=list"},
    {"measure", CLI_FLAG, offsetof(cli_look_options, measures),
     "Run each config on the GPU and print its time next to the predicted time.", .low = 1},
    {"count", CLI_FLAG, offsetof(cli_look_options, counts),
     "Execute each config on the emulator and print its counters next to the predicted counts.", .low = 1},
    {NULL},
};

const cli_group cli_look_group = {"explain and report", own};

/* ---- machine -------------------------------------------------------------------------------------------------------- */

/*
 * Take the product that stands for a target, which need not be installed: kernels compiled for the target are analysed on it.
 */
static tj_status take_product(const cli_call *call, const cli_machine_options *options, const char *origin,
                              cli_machine *machine, tj_error *err)
{
    tj_status status = TJ_OK;

    machine->origin = origin;
    if (options->arch) /* first: the options may be wrong */
        status = cli_device_of_target(options->arch, &machine->facts, err);
    if (status == TJ_OK)
        status = cli_target(call, options, machine->target, err);
    if (status == TJ_OK && !options->arch)
        status = cli_device_of_target(machine->target, &machine->facts, err);
    memcpy(machine->chip, machine->target, sizeof machine->chip);
    return status;
}

static tj_status find_machine(cli_call *call, const cli_machine_options *options, cli_machine *machine, tj_error *err)
{
    const tj_emulator *emulator;
    tj_status status;

    if (cli_open(call, options, !options->arch, err) != TJ_OK)
        return err->status;
    if (options->arch)
        return take_product(call, options, "as published; it need not be here", machine, err);
    machine->facts = (tj_device_facts)TJ_DEVICE_FACTS_INIT;
    status = tj_device_get(call->context, cli_device_ordinal(options), &machine->facts, err);
    if (status == TJ_ERR_NO_DRIVER)
        return take_product(call, options, "as published; there is no driver here", machine, err);
    if (status != TJ_OK || tj_emulator_get(call->context, &emulator, err) != TJ_OK)
        return err->status;
    machine->has_device = true;
    machine->is_emulator = emulator != NULL;
    machine->origin = emulator ? "the emulator's facts" : "the driver's facts";
    machine->bytes_per_s = cli_read_bandwidth(call->context, &machine->facts);
    (void)snprintf(machine->chip, sizeof machine->chip, "sm_%d%d", (int)machine->facts.cc_major, (int)machine->facts.cc_minor);
    /* The compiler decides; the analysis works without one. */
    if (cli_target(call, options, machine->target, &machine->no_target) != TJ_OK)
        memcpy(machine->target, machine->chip, sizeof machine->target);
    return TJ_OK;
}

/* ---- configs -------------------------------------------------------------------------------------------------------- */

/* Add a config; parameters given as options apply where it leaves them open. */
static tj_status add_config(cli_look *look, const tj_config *config, tj_error *err)
{
    cli_case *one = &look->cases[look->count];

    if (look->count == CLI_MAX_CASES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%d configs are compared at most: name fewer values", CLI_MAX_CASES);
    one->config = *config;
    look->count++;
    return TJ_OK;
}

/* tile_width=8,16,32, or family=naive,tiled. */
static tj_status add_compared(const char *compare, cli_look *look, tj_error *err)
{
    const char *value = strchr(compare, '=');
    char name[32];

    if (!value || value == compare || (size_t)(value - compare) >= sizeof name || !value[1])
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "--compare is \"%.60s\": write name=value,value, such as tile_width=8,16,32", compare);
    (void)snprintf(name, sizeof name, "%.*s", (int)(value - compare), compare);
    value++;
    for (;;) {
        const size_t length = strcspn(value, ",");
        tj_config config = look->request.config;
        char word[64];
        tj_status status;

        (void)snprintf(word, sizeof word, "%.*s", (int)(length < 63 ? length : 63), value);
        if (strcmp(name, "family") == 0) {
            status = tj_config_parse(word, &config, err);
        } else {
            if (!config.family)
                config.family = tj_family_at(0);
            status = tj_config_set(&config, name, word, err);
        }
        if (status == TJ_OK)
            status = add_config(look, &config, err);
        if (status != TJ_OK || !value[length])
            return status;
        value += length + 1;
    }
}

static tj_status read_configs(const char *asked, const char *const *compare, cli_look *look, tj_error *err)
{
    if (asked)
        return add_compared(asked, look, err);
    if (add_config(look, &look->request.config, err) != TJ_OK) /* left open: the library's choice */
        return err->status;
    for (; compare && !look->request.has_config && *compare; compare++) {
        tj_config config = TJ_CONFIG_INIT;

        if (tj_config_parse(*compare, &config, err) != TJ_OK || add_config(look, &config, err) != TJ_OK)
            return err->status;
    }
    return TJ_OK;
}

/* Find wrong options before opening anything. */
static tj_status check_configs(const cli_look *look, tj_error *err)
{
    tj_status status = TJ_OK;

    for (size_t i = 0; i < look->count && status == TJ_OK; i++) {
        tj_config resolved = look->cases[i].config;

        status = tj_config_resolve(&look->request.problem, &resolved, err);
    }
    return status;
}

/* ---- one config ----------------------------------------------------------------------------------------------------- */

static void no_field(const tj_store_field *field, void *payload)
{
    (void)field;
    (void)payload;
}

/* PTX has no registers to report. */
static void take_registers(cli_case *one, tj_image *image)
{
    if (tj_image_resources(image).registers > 0) {
        one->registers = tj_image_resources(image).registers;
        one->spills = cli_spills(one->source, image);
    }
    tj_image_free(image);
}

/* Ask for the store's answer and the registers: from the stored image, or compiled separately, leaving the store unchanged. */
static void ask_compiler(const cli_look *look, cli_case *one)
{
    const cli_machine *machine = &look->machine;
    tj_context *context = look->call->context;
    const char *const *targets;
    tj_image *image = NULL;
    tj_error err = machine->no_target;
    tj_status status = err.status;

    if (status == TJ_OK)
        status = tj_store_explain(context, one->source, machine->target, one->key, &one->hit, no_field, NULL, &err);
    if (status == TJ_OK && !*one->key) /* a miss without a compiler, whose key is unknown: fail as a run would */
        status = tj_targets(context, &targets, &err);
    if (status != TJ_OK) {
        one->hit = -1;
        (void)snprintf(one->why, sizeof one->why, "%s", err.message);
        if (status == TJ_ERR_NO_COMPILER)
            return;
    }
    if (one->hit == 1 && tj_image_obtain(context, one->source, machine->target, &image, &err) == TJ_OK)
        take_registers(one, image);
    if (one->registers == 0 && tj_compile(context, one->source, machine->chip, &image, &err) == TJ_OK)
        take_registers(one, image);
}

static tj_status analyze_case(const cli_look *look, cli_case *one, tj_error *err)
{
    const cli_machine *machine = &look->machine;
    const tj_problem *problem = &look->request.problem;
    const tj_config asked = one->config;
    tj_status status;

    if (!asked.family && !look->request.has_config)
        status = cli_choose(look->call, &machine->facts, problem, &one->config, &one->chosen_by, err);
    else
        status = tj_config_adapt(&machine->facts, problem, &one->config, err);

    one->is_chosen = status == TJ_OK && one->chosen_by == 0 && memcmp(&asked, &one->config, sizeof asked) != 0;
    if (status != TJ_OK || tj_config_resolve(problem, &one->config, err) != TJ_OK ||
        tj_generate(problem, &one->config, &one->source, err) != TJ_OK)
        return err->status;
    tj_config_print(&one->config, one->text);
    ask_compiler(look, one);
    /* known: as problem, with every extent a number; the checks are done by now. */
    one->analysis = (tj_analysis)TJ_ANALYSIS_INIT;
    return tj_analyze(&machine->facts, &look->request.known, &one->config, one->registers, machine->bytes_per_s, &one->analysis,
                      err);
}

/* Drop the config that the library chose, listed first, if the comparison lists it too. */
static void drop_twin(cli_look *look)
{
    const cli_case *chosen = &look->cases[0];
    size_t kept = 1;

    for (size_t i = 1; i < look->count; i++)
        if (chosen->chosen_by != 0 && strcmp(look->cases[i].text, chosen->text) == 0) {
            tj_source_free(look->cases[i].source);
            look->cases[i].source = NULL;
        } else {
            look->cases[kept++] = look->cases[i];
        }
    look->count = kept;
}

/* ---- public --------------------------------------------------------------------------------------------------------- */

cli_exit cli_look_open(cli_call *call, const cli_look_options *options, const char *const *compare, cli_look *look,
                       tj_error *err)
{
    cli_request_options words = options->request;
    tj_status status;

    *look = (cli_look){.call = call};
    if (call->operand_count > 1) {
        if (words.config || words.family) {
            (void)tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "\"%.60s\" names a config already: leave --%s out", call->operand[1],
                          words.config ? "config" : "family");
            return CLI_WORDS;
        }
        words.config = call->operand[1];
    }
    if (cli_read_request(&words, call->operand[0], &look->request, err) != TJ_OK ||
        read_configs(options->compare, compare, look, err) != TJ_OK || check_configs(look, err) != TJ_OK)
        return CLI_WORDS;
    status = find_machine(call, &options->machine, &look->machine, err);
    for (size_t i = 0; i < look->count && status == TJ_OK; i++)
        status = analyze_case(look, &look->cases[i], err);
    if (status == TJ_OK)
        drop_twin(look);
    if (status == TJ_OK && options->counts)
        status = cli_look_count(look, err);
    if (status == TJ_OK && options->measures)
        status = cli_look_measure(options->timing, look, err);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

void cli_look_close(cli_look *look)
{
    for (size_t i = 0; i < look->count; i++)
        tj_source_free(look->cases[i].source);
}

size_t cli_fastest(const cli_look *look)
{
    size_t best = 0;

    for (size_t i = 1; i < look->count; i++)
        if (look->cases[i].analysis.predicted.us < look->cases[best].analysis.predicted.us)
            best = i;
    return best;
}

bool cli_shows_term(const cli_case *one, int32_t term)
{
    return term >= TJ_PIPE_ISSUE || term == one->analysis.work.pipe || one->analysis.work.pipe_work[term] > 0;
}

void cli_print_formula(FILE *out, const tj_problem *p)
{
    const int64_t j = p->j.extent, k = p->k.extent, l = p->l.extent;
    const tj_problem c = tj_problem_canonical(p);
    const tj_type m = (tj_type)c.m.type, n = (tj_type)c.n.type;

    cli_print(out, "P (%" PRId64 " x %" PRId64 ") = M (%" PRId64 " x %" PRId64 ") . N (%" PRId64 " x %" PRId64 "), %s", j, l, j,
              k, k, l, tj_type_name(m));
    if (n != m)
        cli_print(out, " and %s", tj_type_name(n));
    if (c.p.type != c.m.type)
        cli_print(out, " into %s", tj_type_name((tj_type)c.p.type));
    if (c.compute != tj_type_get_facts(m)->compute)
        cli_print(out, ", compute %s", tj_compute_name((tj_compute)c.compute));
    if (p->batch > 1)
        cli_print(out, ", %" PRId64 " of them", p->batch);
    if (p->rows.groups > 0)
        cli_print(out, ", rows in %" PRId32 " groups", p->rows.groups);
}

double cli_measured_rate(const cli_case *one)
{
    return cli_ratio((double)one->analysis.work.flop, one->median_us) * 1e6;
}

/* Name the tile, and each parameter that is not the default. */
void cli_name_case(const cli_case *one, char out[CLI_NAME_BYTES])
{
    const tj_work *c = &one->analysis.work;
    const tj_family *family = one->config.family;
    int length = snprintf(out, CLI_NAME_BYTES, "%s %dx%dx%d", tj_family_name(family), (int)c->block_rows, (int)c->block_cols,
                          (int)c->phase.depth);

    for (size_t i = 0; i < tj_family_param_count(family) && length < CLI_NAME_BYTES; i++) {
        const tj_param *param = tj_family_param(family, i);
        const int32_t value = one->config.value[i];

        if (param->choice && param->standard != 0 && value != 0 && value != param->standard)
            length += snprintf(out + length, (size_t)(CLI_NAME_BYTES - length), " %s", param->choice[value - 1]);
    }
}

void cli_print_row(cli_column *column, const char *name, const char *format, ...)
{
    va_list values;

    column->row[column->count].name = name;
    va_start(values, format);
    (void)vsnprintf(column->row[column->count++].text, CLI_NAME_BYTES, format, values);
    va_end(values);
}
