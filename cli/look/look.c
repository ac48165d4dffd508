/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look: a request analysed in one or several configs: what explain prints and report draws.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* ---- machine -------------------------------------------------------------------------------------------------------- */

static tj_status find_machine(const cli_words *words, cli_machine *machine, tj_error *err)
{
    const tj_emulator *emulator = NULL;
    tj_status status = cli_context_create_to_look(words, &machine->context, err);

    if (status != TJ_OK)
        return status;
    if (words->arch) { /* a device that need not be there */
        const char *number = strchr(words->arch, '_');
        char product[24];

        (void)snprintf(product, sizeof product, "sm_%.*s", number ? (int)strspn(number + 1, "0123456789") : 0,
                       number ? number + 1 : "");
        machine->origin = "as published; it need not be here";
        status = tj_device_named(product, &machine->facts, err);
        if (status == TJ_OK)
            status = cli_target(machine->context, words, machine->target, err);
        memcpy(machine->chip, machine->target, sizeof machine->chip);
        return status;
    }
    status = tj_device_get(machine->context, cli_device_ordinal(words), &machine->facts, err);
    if (status == TJ_ERR_NO_DRIVER) {
        machine->origin = "as published; there is no driver here";
        status = cli_target(machine->context, words, machine->target, err);
        memcpy(machine->chip, machine->target, sizeof machine->chip);
        return status == TJ_OK ? tj_device_named(machine->target, &machine->facts, err) : status;
    }
    if (status == TJ_OK)
        status = tj_emulator_get(machine->context, &emulator, err);
    if (status != TJ_OK)
        return status;
    machine->has_device = true;
    machine->is_emulator = emulator != NULL;
    machine->origin = emulator ? "the emulator's facts" : "the driver's facts";
    machine->bytes_per_s = cli_read_bandwidth(machine->context, &machine->facts);
    (void)snprintf(machine->chip, sizeof machine->chip, "sm_%d%d", (int)machine->facts.cc_major, (int)machine->facts.cc_minor);
    /* The compiler settles it; the analysis does without one. */
    if (cli_target(machine->context, words, machine->target, &machine->no_target) != TJ_OK)
        memcpy(machine->target, machine->chip, sizeof machine->target);
    return TJ_OK;
}

/* ---- configs -------------------------------------------------------------------------------------------------------- */

/* One more config; the family's parameters from the words hold for it where it leaves them open. */
static tj_status add_config(cli_look *look, const tj_config *config, tj_error *err)
{
    cli_case *one = &look->cases[look->count];

    if (look->count == CLI_MAX_CASES)
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "at most %d configs stand beside one another", CLI_MAX_CASES);
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
        return cli_fail(err, TJ_ERR_INVALID_ARGUMENT,
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

static tj_status read_configs(const cli_words *words, const char *const *compare, cli_look *look, tj_error *err)
{
    tj_status status = TJ_OK;

    if (words->compare)
        return add_compared(words->compare, look, err);
    if (!compare || look->request.has_config)
        return add_config(look, &look->request.config, err);
    for (; *compare && status == TJ_OK; compare++) {
        tj_config config = TJ_CONFIG_INIT;

        status = tj_config_parse(*compare, &config, err);
        if (status == TJ_OK)
            status = add_config(look, &config, err);
    }
    if (status == TJ_OK)
        status = add_config(look, &look->request.config, err); /* left open: the library's choice */
    return status;
}

/* Wrong words are found before anything is opened. */
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

/* None of PTX alone. */
static void take_registers(cli_case *one, tj_image *image)
{
    if (tj_image_resources(image).registers > 0) {
        one->registers = tj_image_resources(image).registers;
        one->spills = cli_spills(one->source, image);
    }
    tj_image_free(image);
}

/* The store's answer and the registers: from the stored image, or compiled aside, leaving the store as it is. */
static void ask_compiler(const cli_machine *machine, cli_case *one)
{
    tj_image *image = NULL;
    tj_error err = machine->no_target;
    tj_status status = err.status;

    if (status == TJ_OK)
        status = tj_store_explain(machine->context, one->source, machine->target, one->key, &one->hit, no_field, NULL, &err);
    if (status != TJ_OK) {
        one->hit = -1;
        (void)snprintf(one->why, sizeof one->why, "%s", err.message);
        if (status == TJ_ERR_NO_COMPILER)
            return;
    }
    if (one->hit == 1 && tj_image_obtain(machine->context, one->source, machine->target, &image, &err) == TJ_OK)
        take_registers(one, image);
    if (one->registers == 0 && tj_compile(machine->context, one->source, machine->chip, &image, &err) == TJ_OK)
        take_registers(one, image);
}

static tj_status analyze_case(const cli_look *look, cli_case *one, tj_error *err)
{
    const cli_machine *machine = &look->machine;
    const tj_problem *problem = &look->request.problem;
    const tj_config asked = one->config;
    tj_status status;

    if (!asked.family && !look->request.has_config)
        status = cli_choose(machine->context, &machine->facts, problem, &one->config, &one->chosen_by, err);
    else
        status = tj_config_adapt(&machine->facts, problem, &one->config, err);

    one->is_chosen = status == TJ_OK && one->chosen_by == 0 && memcmp(&asked, &one->config, sizeof asked) != 0;
    if (status == TJ_OK)
        status = tj_config_resolve(problem, &one->config, err);
    if (status == TJ_OK)
        status = tj_generate(problem, &one->config, &one->source, err);
    if (status != TJ_OK)
        return status;
    tj_config_print(&one->config, one->text);
    ask_compiler(machine, one);
    /* known: as problem, every extent a number; the checks are settled by now. */
    return tj_analyze(&machine->facts, &look->request.known, &one->config, one->registers, machine->bytes_per_s, &one->analysis,
                      err);
}

/* The library may have chosen what stands there already. */
static void drop_twin(cli_look *look)
{
    cli_case *last = &look->cases[look->count - 1];

    for (size_t i = 0; i + 1 < look->count; i++)
        if (last->chosen_by != 0 && strcmp(look->cases[i].text, last->text) == 0) {
            look->cases[i].chosen_by = last->chosen_by;
            tj_source_free(last->source);
            last->source = NULL;
            look->count--;
            return;
        }
}

/* ---- public --------------------------------------------------------------------------------------------------------- */

cli_exit cli_look_open(const cli_words *words, const char *const *compare, cli_look *look, tj_error *err)
{
    cli_words all = *words;
    tj_status status;

    memset(look, 0, sizeof *look);
    if (words->operand_count > 1) {
        if (words->config || words->family) {
            (void)cli_fail(err, TJ_ERR_INVALID_ARGUMENT, "\"%.60s\" names a config already: leave --%s out", words->operand[1],
                           words->config ? "config" : "family");
            return CLI_WORDS;
        }
        all.config = words->operand[1];
    }
    if (cli_read_request(&all, words->operand[0], &look->request, err) != TJ_OK ||
        read_configs(words, compare, look, err) != TJ_OK || check_configs(look, err) != TJ_OK)
        return CLI_WORDS;
    status = find_machine(words, &look->machine, err);
    for (size_t i = 0; i < look->count && status == TJ_OK; i++)
        status = analyze_case(look, &look->cases[i], err);
    if (status == TJ_OK)
        drop_twin(look);
    if (status == TJ_OK && words->counts)
        status = cli_look_count(words, look, err);
    if (status == TJ_OK && words->measures)
        status = cli_look_measure(words, look, err);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

void cli_look_close(cli_look *look)
{
    for (size_t i = 0; i < look->count; i++)
        tj_source_free(look->cases[i].source);
    tj_context_free(look->machine.context);
    memset(look, 0, sizeof *look);
}
