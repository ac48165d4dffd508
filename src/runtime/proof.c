/* SPDX-License-Identifier: Apache-2.0 */
#include "proof.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilejit/version.h>

#include "error.h"
#include "canonical.h"

enum { SCHEMA = 1, NAME_BYTES = 48 };

/* Code is one thing on one kind of device with one driver. */
static uint64_t device_id(const tj_device_facts *device)
{
    char text[192];

    (void)snprintf(text, sizeof text, "%s|%d.%d|%d", device->name, (int)device->cc_major, (int)device->cc_minor,
                   (int)device->driver_version);
    return tj_hash_bytes64(text, strlen(text));
}

static void file_name(uint64_t device, char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, "proof-%016llx.json", (unsigned long long)device);
}

/* ---- in memory ---------------------------------------------------------------------------------------------------- */

/* The newest stands first. Forgotten when memory runs out: then it is read or proven again. */
static void push(tj_image_body *body, uint64_t device, const tj_proof *proof)
{
    struct tj_proof_note *note = malloc(sizeof *note);

    if (!note)
        return;
    *note = (struct tj_proof_note){atomic_load_explicit(&body->proofs, memory_order_acquire), device, *proof};
    while (!atomic_compare_exchange_weak_explicit(&body->proofs, &note->next, note, memory_order_acq_rel, memory_order_acquire))
        ;
}

static bool find(const tj_image_body *body, uint64_t device, tj_proof *proof)
{
    const struct tj_proof_note *note = atomic_load_explicit(&body->proofs, memory_order_acquire);

    while (note && note->device != device)
        note = note->next;
    if (note)
        *proof = note->proof;
    return note != NULL;
}

/* Add the members that a stored proof and a case share. */
static void add_outcome(tj_json *object, const tj_device_facts *device, const tj_proof *proof)
{
    tj_json_add_text(object, "device", device->name);
    tj_json_add_int(object, "driver", device->driver_version);
    tj_json_add_bool(object, "passed", proof->passed);
    tj_json_add_text(object, "reason", proof->reason);
    tj_json_add_int(object, "elements", proof->elements);
    tj_json_add_int(object, "elements_total", proof->elements_total);
}

/* ---- in the store ------------------------------------------------------------------------------------------------- */

static char *print(const tj_image *image, const tj_device_facts *device, const tj_proof *proof)
{
    tj_json *object = tj_json_new();
    char *text;

    tj_json_add_int(object, "schema", SCHEMA);
    tj_json_add_text(object, "image", tj_image_key(image));
    add_outcome(object, device, proof);
    tj_json_add_int(object, "created", proof->created_s);
    text = tj_json_print_lines(object, TJ_JSON_EXACT);
    tj_json_free(object);
    return text;
}

/* Is it a proof of this image here? Then all members are of their kinds. */
static bool is_of(const tj_json *object, const tj_image *image, const tj_device_facts *device)
{
    static const struct {
        const char *name;
        tj_json_kind kind;
    } member[] = {{"schema", TJ_JSON_INT},   {"image", TJ_JSON_TEXT},  {"device", TJ_JSON_TEXT},
                  {"driver", TJ_JSON_INT},   {"passed", TJ_JSON_BOOL}, {"reason", TJ_JSON_TEXT},
                  {"elements", TJ_JSON_INT}, {"created", TJ_JSON_INT}, {"elements_total", TJ_JSON_INT}};

    for (size_t i = 0; i < sizeof member / sizeof member[0]; i++)
        if (tj_json_kind_of(tj_json_get(object, member[i].name)) != member[i].kind)
            return false;
    return tj_json_int(tj_json_get(object, "schema")) == SCHEMA &&
           strcmp(tj_json_text(tj_json_get(object, "image")), tj_image_key(image)) == 0 &&
           strcmp(tj_json_text(tj_json_get(object, "device")), device->name) == 0 &&
           tj_json_int(tj_json_get(object, "driver")) == device->driver_version;
}

/* A file that is not whole counts as missing. */
static bool parse(const char *text, const tj_image *image, const tj_device_facts *device, tj_proof *proof)
{
    tj_json *object;
    const char *reason;
    bool is_whole = false;

    if (tj_json_read(text, strlen(text), &object, NULL) == TJ_OK && is_of(object, image, device)) {
        reason = tj_json_text(tj_json_get(object, "reason"));
        *proof = (tj_proof){.passed = tj_json_bool(tj_json_get(object, "passed")),
                            .was_known = 1,
                            .elements = tj_json_int(tj_json_get(object, "elements")),
                            .elements_total = tj_json_int(tj_json_get(object, "elements_total")),
                            .created_s = tj_json_int(tj_json_get(object, "created"))};
        (void)snprintf(proof->reason, sizeof proof->reason, "%s", reason);
        is_whole = (proof->passed != 0) == (reason[0] == '\0');
    }
    tj_json_free(object);
    return is_whole;
}

/* ---- both --------------------------------------------------------------------------------------------------------- */

bool tj_proof_recall(tj_host *host, const tj_image *image, const tj_device_facts *device, tj_proof *proof)
{
    const uint64_t id = device_id(device);
    char name[NAME_BYTES], *text;
    bool is_known = find(image->body, id, proof);

    if (is_known)
        return true;
    file_name(id, name);
    text = tj_disk_store_read_attached(host->store, &image->body->key, name);
    is_known = text && parse(text, image, device, proof);
    free(text);
    if (is_known)
        push(image->body, id, proof);
    return is_known;
}

void tj_proof_remember(tj_host *host, const tj_image *image, const tj_device_facts *device, const tj_proof *proof)
{
    const uint64_t id = device_id(device);
    char name[NAME_BYTES], *text = print(image, device, proof);
    tj_proof known = *proof;

    known.was_known = 1;
    push(image->body, id, &known);
    file_name(id, name);
    if (text && !tj_disk_store_attach(host->store, &image->body->key, name, text))
        tj_log_line(&host->log, TJ_LOG_DEBUG, "the proof of image %s is not stored", tj_image_key(image));
    free(text);
}

tj_status tj_proof_check(const tj_source *source, const tj_device_facts *device, const tj_proof *proof, tj_error *err)
{
    if (proof->passed)
        return TJ_OK;
    return tj_fail(
        err, TJ_ERR_CHECK_FAILED,
        "%s failed its proof on %s with a driver of CUDA %d.%d and is not launched there: %s; name another config, or none, "
        "and report it: tilejit prove --cases DIR writes all that is needed",
        tj_source_kernel(source), device->name, (int)device->driver_version / 1000, (int)device->driver_version % 1000 / 10,
        proof->reason);
}

/* ---- a case ------------------------------------------------------------------------------------------------------- */

static const char *key_field(const tj_key *key, const char *name)
{
    for (size_t i = 0; i < key->count; i++)
        if (strcmp(key->field[i].name, name) == 0)
            return key->field[i].value;
    return "";
}

/* NULL: out of memory. */
static char *describe_case(const tj_program *program, const tj_device_facts *device, const tj_proof *proof)
{
    const tj_image_body *body = program->image->body;
    tj_json *object = tj_json_new(), *resources = tj_json_add_object(object, "resources");
    char problem[TJ_PROBLEM_TEXT_BYTES], config[TJ_CONFIG_TEXT_BYTES], *text;

    tj_problem_print(tj_source_problem(program->source), problem);
    tj_config_print(tj_source_config(program->source), config);
    tj_json_add_text(object, "tilejit", tj_version());
    tj_json_add_text(object, "kernel", tj_source_kernel(program->source));
    tj_json_add_text(object, "problem", problem);
    tj_json_add_text(object, "config", config);
    tj_json_add_text(object, "compiler", body->compiler);
    tj_json_add_text(object, "options", key_field(&body->key, "options"));
    tj_json_add_text(object, "target", body->target);
    tj_json_add_text(object, "key", body->key.hex);
    add_outcome(object, device, proof);
    tj_json_add_int(resources, "registers", body->resources.registers);
    tj_json_add_int(resources, "stack_bytes", body->resources.stack_bytes);
    tj_json_add_int(resources, "spill_stores", body->resources.spill_stores);
    tj_json_add_int(resources, "spill_loads", body->resources.spill_loads);
    text = tj_json_print_lines(object, TJ_JSON_EXACT);
    tj_json_free(object);
    return text;
}

tj_status tj_proof_write(const tj_program *program, const tj_device_facts *device, const tj_proof *proof, const char *folder,
                         tj_error *err)
{
    char trouble[512], path[PATH_MAX], *text;
    tj_status status = TJ_OK;
    FILE *file = NULL;
    bool is_written;

    if (!tj_image_dump(folder, program->source, program->image->body, trouble, sizeof trouble))
        return tj_fail(err, TJ_ERR_IO, "the case is not written: %.400s", trouble);
    text = describe_case(program, device, proof);
    if (!text)
        return tj_fail_memory(err, "the description of a case");
    if (snprintf(path, sizeof path, "%s/%s-%.8s.json", folder, tj_source_kernel(program->source),
                 program->image->body->key.hex) >= (int)sizeof path)
        errno = ENAMETOOLONG;
    else
        file = fopen(path, "we");
    is_written = file && fputs(text, file) >= 0;
    if (file && fclose(file) != 0)
        is_written = false;
    if (!is_written)
        status = tj_fail(err, TJ_ERR_IO, "the case is not written: cannot write to %.300s: %s", folder, strerror(errno));
    free(text);
    return status;
}
