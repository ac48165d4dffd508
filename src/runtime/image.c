/* SPDX-License-Identifier: Apache-2.0 */
/* image: an image in memory, and as an entry of the store, which holds bytes and does not know what they mean. */
#include "image.h"

#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "error.h"
#include "family.h"
#include "sources.h"
#include "store_entry.h"

/* ---- body -------------------------------------------------------------------------------------------------------- */

void tj_image_body_release(tj_image_body *body)
{
    if (!body || atomic_fetch_sub_explicit(&body->references, 1, memory_order_acq_rel) != 1)
        return;
    for (tj_proof_note *note = atomic_load_explicit(&body->proofs, memory_order_relaxed), *next; note; note = next) {
        next = note->next;
        free(note);
    }
    free(body->key_text);
    free(body->ptx);
    free(body->cubin);
    free(body->log);
    free(body->pack);
    free(body);
}

/* Copy every value of a key into one block that the copy borrows from. */
static bool copy_key(tj_image_body *body, const tj_key *key)
{
    size_t size = 0;
    char *at;

    for (size_t i = 0; i < key->count; i++)
        size += strlen(key->field[i].value) + 1;
    body->key_bytes = size;
    at = body->key_text = malloc(size + 1);
    if (!at)
        return false;
    body->key = *key;
    for (size_t i = 0; i < key->count; i++) {
        size_t bytes = strlen(key->field[i].value) + 1;
        memcpy(at, key->field[i].value, bytes);
        body->key.field[i].value = at;
        if (strcmp(key->field[i].name, "target") == 0)
            body->target = at;
        if (strcmp(key->field[i].name, "compiler") == 0)
            body->compiler = at;
        at += bytes;
    }
    return true;
}

tj_image_body *tj_image_body_create(const tj_key *key)
{
    tj_image_body *body = calloc(1, sizeof *body);

    if (!body)
        return NULL;
    atomic_init(&body->references, 1);
    if (!copy_key(body, key)) {
        free(body);
        return NULL;
    }
    return body;
}

static void *copy_bytes(const void *bytes, size_t size)
{
    char *copy = malloc(size + 1);

    if (copy) {
        if (size > 0)
            memcpy(copy, bytes, size);
        copy[size] = '\0';
    }
    return copy;
}

/* A look, no parse: "... .entry <kernel>(" */
bool tj_image_has_entry(const char *ptx, const char *kernel)
{
    size_t length = strlen(kernel);

    for (const char *at = ptx; (at = strstr(at, ".entry")) != NULL;) {
        at += strlen(".entry");
        at += strspn(at, " \t\r\n");
        if (strncmp(at, kernel, length) == 0 && (at[length] == '(' || strchr(" \t\r\n", at[length]) != NULL))
            return true;
    }
    return false;
}

static bool wants_cubin(const char *target)
{
    return strncmp(target, "sm_", 3) == 0;
}

/* ---- store ------------------------------------------------------------------------------------------------------- */

/* Names of the ptxas report in the facts. */
/* clang-format off */
static const struct {
    const char *name;
    size_t offset;
} resource_facts[] = {
    {"registers", offsetof(tj_resources, registers)},
    {"shared_bytes", offsetof(tj_resources, shared_bytes)},
    {"stack_bytes", offsetof(tj_resources, stack_bytes)},
    {"spill_stores", offsetof(tj_resources, spill_stores)},
    {"spill_loads", offsetof(tj_resources, spill_loads)},
    {"constant_bytes", offsetof(tj_resources, constant_bytes)},
};
/* clang-format on */

enum { RESOURCE_FACTS = sizeof resource_facts / sizeof resource_facts[0] };

tj_json *tj_image_facts(const tj_source *source, const tj_image_body *body)
{
    char problem[TJ_PROBLEM_TEXT_BYTES], config[TJ_CONFIG_TEXT_BYTES];
    tj_json *facts = tj_json_new();

    tj_source_print_request(source, problem, sizeof problem);
    tj_config_print(tj_source_config(source), config);
    tj_json_add_text(facts, "kernel", tj_source_kernel(source));
    tj_json_add_text(facts, "problem", problem);
    tj_json_add_text(facts, "config", config);
    tj_json_add_text(facts, "target", body->target);
    tj_json_add_text(facts, "compiler", body->compiler);
    for (int i = 0; i < RESOURCE_FACTS; i++)
        tj_json_add_int(facts, resource_facts[i].name,
                        *(const int32_t *)(const void *)((const char *)&body->resources + resource_facts[i].offset));
    return facts;
}

void tj_image_publish(tj_host *host, const tj_source *source, const tj_image_body *body)
{
    const char *text = tj_source_text(source);
    tj_blob file[TJ_STORE_MAX_FILES];
    tj_json *facts = tj_image_facts(source, body);
    size_t count = 0;

    file[count++] = (tj_blob){"kernel.cu", text, strlen(text)};
    file[count++] = (tj_blob){"kernel.ptx", body->ptx, body->ptx_bytes};
    if (body->cubin)
        file[count++] = (tj_blob){"kernel.cubin", body->cubin, body->cubin_bytes};
    file[count++] = (tj_blob){"build.log", body->log, strlen(body->log)};
    tj_disk_store_publish(host->store, &body->key, file, count, facts);
    tj_json_free(facts);
}

static const tj_blob *find_file(const tj_stored *stored, const char *name)
{
    for (size_t i = 0; i < stored->count; i++)
        if (strcmp(stored->file[i].name, name) == 0)
            return &stored->file[i];
    return NULL;
}

/* Return the defect of a fetched entry; NULL: none, and body->resources are read. */
static const char *read_stored(const tj_stored *stored, const tj_source *source, bool may_be_stripped, tj_image_body *body)
{
    const char *kernel = tj_source_kernel(source);
    const char *stored_kernel = tj_json_text(tj_json_get(stored->facts, "kernel"));
    const tj_blob *ptx = find_file(stored, "kernel.ptx"), *cubin = find_file(stored, "kernel.cubin");

    if (!stored_kernel || strcmp(stored_kernel, kernel) != 0)
        return "its facts name another kernel";
    for (int i = 0; i < RESOURCE_FACTS; i++) {
        const tj_json *fact = tj_json_get(stored->facts, resource_facts[i].name);
        const int64_t value = tj_json_int(fact);

        if (tj_json_kind_of(fact) != TJ_JSON_INT || value < -1 || value > INT32_MAX)
            return "its facts are not those of an image";
        *(int32_t *)(void *)((char *)&body->resources + resource_facts[i].offset) = (int32_t)value;
    }
    if (ptx ? strlen(ptx->bytes) != ptx->size || !tj_image_has_entry(ptx->bytes, kernel) : !may_be_stripped || !cubin)
        return "its PTX does not define the kernel";
    if (wants_cubin(body->target) && (!cubin || cubin->size == 0))
        return "it has no CUBIN";
    return NULL;
}

tj_image_body *tj_image_body_of(const tj_stored *stored, const tj_source *source, const tj_key *key, bool may_be_stripped,
                                const char **trouble)
{
    tj_image_body *body = tj_image_body_create(key);
    const tj_blob *ptx, *cubin, *log;

    *trouble = body ? read_stored(stored, source, may_be_stripped, body) : NULL;
    if (body && !*trouble) {
        ptx = find_file(stored, "kernel.ptx");
        cubin = find_file(stored, "kernel.cubin");
        log = find_file(stored, "build.log");
        body->ptx = ptx ? copy_bytes(ptx->bytes, ptx->size) : copy_bytes("", 0);
        body->ptx_bytes = ptx ? ptx->size : 0;
        body->log = log ? copy_bytes(log->bytes, log->size) : copy_bytes("", 0);
        if (wants_cubin(body->target)) {
            body->cubin = copy_bytes(cubin->bytes, cubin->size);
            body->cubin_bytes = cubin->size;
        }
        if (body->ptx && body->log && (body->cubin || !wants_cubin(body->target)))
            return body;
    }
    tj_image_body_release(body);
    return NULL;
}

/* ---- handles ----------------------------------------------------------------------------------------------------- */

tj_status tj_image_wrap(tj_image_body *body, tj_origin origin, tj_image **image, tj_error *err)
{
    *image = NULL;
    if (!body)
        return TJ_OK;
    *image = malloc(sizeof **image);
    if (!*image) {
        tj_image_body_release(body);
        return tj_fail_memory(err, "an image");
    }
    **image = (tj_image){body, origin};
    return TJ_OK;
}

void tj_image_free(tj_image *image)
{
    if (!image)
        return;
    tj_image_body_release(image->body);
    free(image);
}

const char *tj_image_ptx(const tj_image *image, size_t *bytes)
{
    if (!image)
        return NULL;
    if (bytes)
        *bytes = image->body->ptx_bytes;
    return image->body->ptx;
}

const void *tj_image_cubin(const tj_image *image, size_t *bytes)
{
    if (!image)
        return NULL;
    if (bytes)
        *bytes = image->body->cubin_bytes;
    return image->body->cubin;
}

const char *tj_image_log(const tj_image *image)
{
    return image ? image->body->log : NULL;
}

const char *tj_image_target(const tj_image *image)
{
    return image ? image->body->target : NULL;
}

const char *tj_image_key(const tj_image *image)
{
    return image ? image->body->key.hex : NULL;
}

const char *tj_image_compiler(const tj_image *image)
{
    return image ? image->body->compiler : NULL;
}

const char *tj_image_pack(const tj_image *image)
{
    return image ? image->body->pack : NULL;
}

tj_origin tj_image_origin(const tj_image *image)
{
    return image ? image->origin : (tj_origin)0;
}

tj_resources tj_image_resources(const tj_image *image)
{
    return image ? image->body->resources : (tj_resources){0};
}
