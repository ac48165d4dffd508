/* SPDX-License-Identifier: Apache-2.0 */
/* server: load the fleet library, and find the server's classes. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "component.h"
#include "fleet_cli.h"

tj_status fleet_table_open(const fleet_table **table, tj_error *err)
{
    const char *(*near)(void) = tj_version; /* next to the library of the command */
    const void *place;
    void *library, *address;
    fleet_entry *entry;
    tj_error why;

    memcpy(&place, &near, sizeof place);
    *table = NULL;
    if (tj_component_open(place, FLEET_LIBRARY, &library, &why) != TJ_OK)
        return tj_fail(err, why.status, "%.300s: tilejit fleet needs it; it is built where hiredis and libsodium are",
                       why.message);
    address = dlsym(library, FLEET_ENTRY);
    if (address) {
        memcpy(&entry, &address, sizeof entry);
        *table = entry();
    }
    if (*table && (*table)->version == FLEET_TABLE_VERSION)
        return TJ_OK;
    *table = NULL;
    return tj_fail(err, TJ_ERR_UNSUPPORTED, FLEET_LIBRARY " is of another version of tilejit: install both together");
}

tj_status fleet_address(const cli_machine_options *machine, const char **address, tj_error *err)
{
    *address = machine->remote ? machine->remote : secure_getenv("TILEJIT_REMOTE");
    return *address && **address
               ? TJ_OK
               : tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "no server is named: give --remote redis://host?sign=FILE, or set TILEJIT_REMOTE to that");
}

tj_status fleet_connect(const cli_machine_options *machine, bool needs_key, const fleet_table **table, fleet **connection,
                        tj_error *err)
{
    const char *address;

    *connection = NULL;
    if (fleet_address(machine, &address, err) != TJ_OK || fleet_table_open(table, err) != TJ_OK)
        return err->status;
    return (*table)->open(address, needs_key, connection, err);
}

tj_status fleet_ask_status(const fleet_table *table, fleet *connection, tj_json **root, tj_error *err)
{
    char *text;
    tj_status status = table->status(connection, &text, err);

    *root = NULL;
    if (status != TJ_OK)
        return status;
    status = tj_json_read(text, strlen(text), root, err);
    free(text);
    return status;
}

/* ---- classes ------------------------------------------------------------------------------------------------------ */

typedef struct fact {
    const char *name;
    size_t offset, bytes;
} fact;

/* clang-format off */
#define FACT(field) {#field, offsetof(tj_device_facts, field), sizeof ((tj_device_facts *)NULL)->field}
static const fact facts_of_device[] = {
    FACT(cc_major), FACT(cc_minor), FACT(sm_count), FACT(max_threads_per_block), FACT(max_threads_per_sm),
    FACT(max_blocks_per_sm), FACT(max_grid_x), FACT(max_grid_y), FACT(max_grid_z), FACT(registers_per_block),
    FACT(registers_per_sm), FACT(shared_per_block), FACT(shared_per_block_optin), FACT(shared_per_sm),
    FACT(reserved_shared_per_block), FACT(l2_bytes), FACT(memory_bytes), FACT(clock_khz), FACT(memory_clock_khz),
    FACT(memory_bus_bits), FACT(driver_version),
};
/* clang-format on */

enum { FACTS = sizeof facts_of_device / sizeof facts_of_device[0] };

tj_status fleet_class_of(tj_context *context, const tj_device_facts *device, tj_tuning_class *of, char **facts, tj_error *err)
{
    const tj_status status = tj_tuning_class_of(context, device, of, err);
    tj_json *object, *numbers;

    *facts = NULL;
    if (status != TJ_OK)
        return status;
    object = tj_json_new();
    cli_set_text(object, "text", of->text);
    numbers = cli_add_object(object, "device");
    cli_set_text(numbers, "name", device->name);
    for (int i = 0; i < FACTS; i++) {
        const void *at = (const char *)device + facts_of_device[i].offset;

        cli_set_int(numbers, facts_of_device[i].name,
                    facts_of_device[i].bytes == sizeof(int32_t) ? *(const int32_t *)at : *(const int64_t *)at);
    }
    *facts = tj_json_print(object);
    tj_json_free(object);
    return *facts ? TJ_OK : tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for a class of devices");
}

bool fleet_read_device(const tj_json *facts, tj_device_facts *device)
{
    const tj_json *numbers = tj_json_get(facts, "device");
    const char *name = tj_json_text(tj_json_get(numbers, "name"));

    memset(device, 0, sizeof *device);
    if (!name || strlen(name) >= sizeof device->name)
        return false;
    (void)strcpy(device->name, name);
    for (int i = 0; i < FACTS; i++) {
        const tj_json *number = tj_json_get(numbers, facts_of_device[i].name);
        const int64_t value = tj_json_int(number);
        void *at = (char *)device + facts_of_device[i].offset;

        if (tj_json_kind_of(number) != TJ_JSON_INT || value < 0 ||
            (facts_of_device[i].bytes == sizeof(int32_t) && value > INT32_MAX))
            return false;
        if (facts_of_device[i].bytes == sizeof(int32_t))
            *(int32_t *)at = (int32_t)value;
        else
            *(int64_t *)at = value;
    }
    return true;
}

static tj_status choose_listed(const char *word, const fleet_table *table, fleet *connection, fleet_chosen *chosen,
                               tj_error *err)
{
    const bool wants_all = strcmp(word, "all") == 0;
    tj_json *root, *class;
    tj_status status = fleet_ask_status(table, connection, &root, err);

    if (status != TJ_OK)
        return status;
    for (class = tj_json_first(tj_json_get(root, "classes")); class; class = tj_json_next(class)) {
        const char *id = tj_json_text(tj_json_get(class, "class"));

        if (id && strlen(id) == 16 && (wants_all || strncmp(id, word, strlen(word)) == 0) && chosen->count < FLEET_MOST_CLASSES)
            (void)strcpy(chosen->id[chosen->count++], id);
    }
    tj_json_free(root);
    if (chosen->count == 0)
        return tj_fail(
            err, TJ_ERR_NOT_FOUND,
            "no class of the server begins with \"%.40s\": tilejit fleet status lists them; a worker's is there from its start "
            "on",
            word);
    if (chosen->count > 1 && !wants_all)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                       "%zu classes of the server begin with \"%.40s\": write more digits, or all", chosen->count, word);
    return TJ_OK;
}

tj_status fleet_choose_classes(cli_call *call, const cli_machine_options *machine, const char *word, const fleet_table *table,
                               fleet *connection, fleet_chosen *chosen, char **own_facts, tj_error *err)
{
    tj_device_facts device = TJ_DEVICE_FACTS_INIT;
    tj_tuning_class of = TJ_TUNING_CLASS_INIT;
    tj_status status;

    chosen->count = 0;
    if (own_facts)
        *own_facts = NULL;
    if (word)
        return choose_listed(word, table, connection, chosen, err);
    status = cli_open(call, machine, false, err);
    if (status == TJ_OK && tj_device_get(call->context, cli_device_ordinal(machine), &device, err) != TJ_OK)
        status = tj_fail(err, err->status == TJ_ERR_NO_DRIVER ? TJ_ERR_NO_DRIVER : err->status,
                         "this machine has no device to tune for: add --class ID or all, as tilejit fleet status lists "
                         "them");
    if (status == TJ_OK && own_facts)
        status = fleet_class_of(call->context, &device, &of, own_facts, err);
    else if (status == TJ_OK)
        status = tj_tuning_class_of(call->context, &device, &of, err);
    if (status == TJ_OK)
        (void)strcpy(chosen->id[chosen->count++], of.id);
    return status;
}
