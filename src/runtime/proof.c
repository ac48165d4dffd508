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

/* ---- in the store ------------------------------------------------------------------------------------------------- */

static char *print(const tj_image *image, const tj_device_facts *device, const tj_proof *proof)
{
    json_t *object = json_pack("{s:i, s:s, s:s, s:i, s:b, s:s, s:I, s:I, s:I}", "schema", SCHEMA, "image", tj_image_key(image),
                               "device", device->name, "driver", (int)device->driver_version, "passed", (int)proof->passed,
                               "reason", proof->reason, "elements", (json_int_t)proof->elements, "elements_total",
                               (json_int_t)proof->elements_total, "created", (json_int_t)proof->created_s);
    char *text = object ? json_dumps(object, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;

    json_decref(object);
    return text;
}

/* What is not whole counts as not there. */
static bool parse(const char *text, const tj_image *image, const tj_device_facts *device, tj_proof *proof)
{
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    const char *key = NULL, *name = NULL, *reason = NULL;
    int schema = 0, driver = 0, passed = 0;
    json_int_t elements = 0, total = 0, created = 0;
    const bool is_whole = object &&
                          json_unpack(object, "{s:i, s:s, s:s, s:i, s:b, s:s, s:I, s:I, s:I}", "schema", &schema, "image", &key,
                                      "device", &name, "driver", &driver, "passed", &passed, "reason", &reason, "elements",
                                      &elements, "elements_total", &total, "created", &created) == 0 &&
                          schema == SCHEMA && strcmp(key, tj_image_key(image)) == 0 && strcmp(name, device->name) == 0 &&
                          driver == device->driver_version && (passed != 0) == (reason[0] == '\0');

    if (is_whole) {
        *proof =
            (tj_proof){.passed = passed, .was_known = 1, .elements = elements, .elements_total = total, .created_s = created};
        (void)snprintf(proof->reason, sizeof proof->reason, "%s", reason);
    }
    json_decref(object);
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

static json_t *describe_case(const tj_program *program, const tj_device_facts *device, const tj_proof *proof)
{
    const tj_image_body *body = program->image->body;
    char problem[TJ_PROBLEM_TEXT_BYTES], config[TJ_CONFIG_TEXT_BYTES];

    tj_problem_print(tj_source_problem(program->source), problem);
    tj_config_print(tj_source_config(program->source), config);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:b, s:s, s:I, s:I, s:{s:i, s:i, s:i, s:i}}",
                     "tilejit", tj_version(), "kernel", tj_source_kernel(program->source), "problem", problem, "config", config,
                     "compiler", body->compiler, "options", key_field(&body->key, "options"), "target", body->target, "key",
                     body->key.hex, "device", device->name, "driver", (int)device->driver_version, "passed", (int)proof->passed,
                     "reason", proof->reason, "elements", (json_int_t)proof->elements, "elements_total",
                     (json_int_t)proof->elements_total, "resources", "registers", (int)body->resources.registers, "stack_bytes",
                     (int)body->resources.stack_bytes, "spill_stores", (int)body->resources.spill_stores, "spill_loads",
                     (int)body->resources.spill_loads);
}

tj_status tj_proof_write(const tj_program *program, const tj_device_facts *device, const tj_proof *proof, const char *folder,
                         tj_error *err)
{
    char trouble[512], path[PATH_MAX];
    json_t *object;
    tj_status status = TJ_OK;

    if (!tj_image_dump(folder, program->source, program->image->body, trouble, sizeof trouble))
        return tj_fail(err, TJ_ERR_IO, "the case is not written: %.400s", trouble);
    object = describe_case(program, device, proof);
    if (!object)
        return tj_fail_memory(err, "the description of a case");
    if (snprintf(path, sizeof path, "%s/%s-%.8s.json", folder, tj_source_kernel(program->source),
                 program->image->body->key.hex) >= (int)sizeof path)
        errno = ENAMETOOLONG, path[0] = '\0';
    if (!path[0] || json_dump_file(object, path, JSON_INDENT(2) | JSON_SORT_KEYS) != 0)
        status = tj_fail(err, TJ_ERR_IO, "the case is not written: cannot write to %.300s: %s", folder, strerror(errno));
    json_decref(object);
    return status;
}
