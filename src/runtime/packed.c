/* SPDX-License-Identifier: Apache-2.0 */
#include "packed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "canonical.h"
#include "error.h"
#include "family.h"

/* The fields of a key, in their order; source is one of them, so the text travels with its image. */
static const char *const key_fields[] = {"schema", "backend", "source", "options", "target", "compiler"};

enum { KEY_FIELDS = sizeof key_fields / sizeof key_fields[0] };

bool tj_packed_is_stripped(const tj_pack_item *item)
{
    return !tj_pack_item_part(item, "source") && !tj_pack_item_part(item, "kernel.ptx") &&
           tj_pack_item_part(item, "kernel.cubin");
}

int tj_packed_alignment(const tj_pack_item *item)
{
    const char *text = tj_pack_item_text(item, "align");

    return text ? atoi(text) : -1;
}

/* ---- requests ----------------------------------------------------------------------------------------------------- */

tj_hash128 tj_packed_image_request(const char *source_text)
{
    tj_key key = {0};

    tj_key_add(&key, "schema", TJ_IMAGE_SCHEMA);
    tj_key_add(&key, "source", source_text);
    tj_key_seal(&key);
    return key.hash;
}

tj_hash128 tj_packed_record_request(const char *key)
{
    return tj_hash_bytes(key, strlen(key));
}

tj_hash128 tj_packed_choice_request(const tj_problem *problem)
{
    char text[TJ_PROBLEM_TEXT_BYTES];

    tj_problem_print(problem, text);
    return tj_hash_bytes(text, strlen(text));
}

/* "sm_90a", "compute_90": the number; *is_own: for one chip alone. 0: neither. */
static int parse_target(const char *target, bool *is_ptx, bool *is_own)
{
    char *end;
    const char *digits = strchr(target, '_');
    const long number = digits ? strtol(digits + 1, &end, 10) : 0;

    *is_ptx = strncmp(target, "compute_", 8) == 0;
    *is_own = number > 0 && *end != '\0';
    return (*is_ptx || strncmp(target, "sm_", 3) == 0) && number > 0 && number < 1000 ? (int)number : 0;
}

tj_packed_reader tj_packed_reader_of(const tj_host *host, const tj_device_facts *device)
{
    return (tj_packed_reader){10 * device->cc_major + device->cc_minor, tj_gpu_is_emulated(&host->gpu)};
}

int tj_packed_serves(const char *target, const void *payload)
{
    const tj_packed_reader *reader = payload;
    bool is_ptx, is_own;
    const int number = parse_target(target, &is_ptx, &is_own);

    if (number == reader->number)
        return is_ptx == reader->is_emulated ? 3000 : 2000; /* the emulator reads PTX alone, which is in both */
    if (number > 0 && number < reader->number && number / 10 == reader->number / 10 && target[strlen(target) - 1] == 'f')
        return 1500; /* code for the family */
    return is_ptx && !is_own && number > 0 && number < reader->number && !reader->is_emulated ? number : 0;
}

/* ---- found -------------------------------------------------------------------------------------------------------- */

static bool copy(char *to, size_t size, const char *text)
{
    if (!text || strlen(text) >= size)
        return false;
    memcpy(to, text, strlen(text) + 1);
    return true;
}

/* The hash finds, the text decides, where it was not stripped. */
static bool read_key(const tj_pack_item *item, const tj_source *source, const char *target, tj_image_key_text *text,
                     tj_key *key)
{
    const char *stored_source = tj_pack_item_text(item, "source"), *stored_target = tj_pack_item_text(item, "target");
    const bool is_of_source = stored_source ? strcmp(stored_source, tj_source_text(source)) == 0 : tj_packed_is_stripped(item);

    if (!is_of_source || !stored_target || strcmp(stored_target, target) != 0 ||
        !copy(text->own_target, sizeof text->own_target, target) ||
        !copy(text->options, sizeof text->options, tj_pack_item_text(item, "options")) ||
        !copy(text->compiler, sizeof text->compiler, tj_pack_item_text(item, "compiler")) ||
        !copy(text->backend, sizeof text->backend, tj_pack_item_text(item, "backend")))
        return false;
    *key = (tj_key){0};
    tj_key_add(key, "schema", TJ_IMAGE_SCHEMA);
    tj_key_add(key, "backend", text->backend);
    tj_key_add(key, "source", tj_source_text(source));
    tj_key_add(key, "options", text->options);
    tj_key_add(key, "target", text->own_target);
    tj_key_add(key, "compiler", text->compiler);
    tj_key_seal(key);
    return true;
}

/* An item as a store would have given it: borrowed but for the facts. */
static bool as_stored(const tj_pack_item *item, tj_stored *stored)
{
    static const char *const name[] = {"kernel.ptx", "kernel.cubin", "build.log"};
    const char *facts = tj_pack_item_text(item, "facts");

    *stored = (tj_stored){.facts = NULL};
    if (facts)
        (void)tj_json_read(facts, strlen(facts), &stored->document, NULL);
    stored->facts = stored->document;
    for (size_t i = 0; i < sizeof name / sizeof name[0]; i++) {
        const tj_pack_part *part = tj_pack_item_part(item, name[i]);

        if (part)
            stored->file[stored->count++] = (tj_blob){part->name, part->value, part->size};
    }
    return tj_json_kind_of(stored->facts) == TJ_JSON_OBJECT;
}

/* NULL: *trouble says what is wrong with it, or is NULL for want of memory. */
static tj_image_body *read_image(const tj_pack_item *item, const tj_source *source, const char *target, bool needs_ptx,
                                 tj_image_key_text *text, tj_key *key, const char **trouble)
{
    tj_image_body *body = NULL;
    tj_stored stored = {.facts = NULL};

    *trouble = "an image in it is machine code alone, which the emulator cannot run: make it without --strip";
    if (needs_ptx && tj_packed_is_stripped(item))
        return NULL;
    *trouble = "an image in it is not whole";
    if (read_key(item, source, target, text, key) && as_stored(item, &stored))
        body = tj_image_body_of(&stored, source, key, true, trouble);
    tj_json_free(stored.document);
    return body;
}

/* One that is not what it should be is not found again, so that the next best is looked at. */
static tj_image_body *find_image(tj_packs *packs, const tj_source *source, tj_pack_rank *rank, const void *payload,
                                 bool needs_ptx, tj_image_key_text *text, tj_key *key, tj_pack_place *place)
{
    const tj_hash128 request = tj_packed_image_request(tj_source_text(source));
    const char *target, *trouble;
    tj_pack_item item;

    while ((target = tj_packs_find(packs, TJ_PACKED_IMAGE, request, rank, payload, &item, place))) {
        tj_image_body *body = read_image(&item, source, target, needs_ptx, text, key, &trouble);

        tj_pack_item_drop(&item);
        if (body || !trouble)
            return body;
        tj_packs_reject(packs, TJ_PACKED_IMAGE, request, target, trouble);
    }
    return NULL;
}

/* Search the packs that the program named, then the one next to the library. */
static tj_image_body *find_anywhere(tj_host *host, const tj_source *source, tj_pack_rank *rank, const void *payload,
                                    tj_image_key_text *text, tj_key *key, tj_pack_place *place)
{
    const bool needs_ptx = tj_gpu_is_emulated(&host->gpu);
    tj_image_body *body = host->packs ? find_image(host->packs, source, rank, payload, needs_ptx, text, key, place) : NULL;

    return body || !host->textbook ? body : find_image(host->textbook, source, rank, payload, needs_ptx, text, key, place);
}

static int is_target(const char *target, const void *payload)
{
    return strcmp(target, payload) == 0;
}

/* The emulator reads PTX alone, and every image that was not stripped has it: compute_90 is an sm_90 there. */
static int has_number(const char *target, const void *payload)
{
    const char *number = strchr(payload, '_');

    return is_target(target, payload) ? 2 : number && strncmp(target, "sm", 2) == 0 && strcmp(target + 2, number) == 0;
}

static const char *key_value(const tj_key *key, const char *name)
{
    for (size_t i = 0; i < key->count; i++)
        if (strcmp(key->field[i].name, name) == 0)
            return key->field[i].value;
    return "";
}

bool tj_packed_target(tj_host *host, const tj_source *source, const tj_packed_reader *reader, char target[16])
{
    tj_image_key_text text;
    tj_image_body *body;
    tj_key key;

    if (!(body = find_anywhere(host, source, tj_packed_serves, reader, &text, &key, NULL)))
        return false;
    memcpy(target, text.own_target, sizeof text.own_target);
    tj_image_body_release(body);
    return true;
}

bool tj_packed_key(tj_host *host, const tj_source *source, const char *target, tj_image_key_text *text, tj_key *key)
{
    tj_pack_rank *rank = tj_gpu_is_emulated(&host->gpu) ? has_number : is_target;
    tj_image_body *body = find_anywhere(host, source, rank, target, text, key, NULL);

    tj_image_body_release(body);
    return body != NULL;
}

static tj_image_body *find_key(tj_host *host, const tj_source *source, const tj_key *key, tj_pack_place *place)
{
    tj_image_key_text text;
    tj_image_body *body;
    tj_key found;

    if (!(body = find_anywhere(host, source, is_target, key_value(key, "target"), &text, &found, place)))
        return NULL;
    if (strcmp(found.hex, key->hex) == 0)
        return body;
    tj_image_body_release(body);
    return NULL;
}

bool tj_packed_has(tj_host *host, const tj_source *source, const tj_key *key)
{
    tj_image_body *body = find_key(host, source, key, NULL);

    tj_image_body_release(body);
    return body != NULL;
}

tj_image_body *tj_packed_fetch(tj_host *host, const tj_source *source, const tj_key *key)
{
    tj_pack_place place;
    tj_image_body *body = find_key(host, source, key, &place);

    if (!body)
        return NULL;
    (void)tj_copy_text(&body->pack, tj_packs_name(place.packs, place.index));
    tj_packs_count_hit(place);
    atomic_fetch_add_explicit(&host->stats.pack_hits, 1, memory_order_relaxed);
    tj_log_line(&host->log, TJ_LOG_DEBUG, "%s for %s from %s, key %s", tj_source_kernel(source), body->target,
                tj_packs_name(place.packs, place.index), key->hex);
    return body;
}

tj_image_body *tj_packed_read(const void *bytes, size_t size, const tj_source *source, const tj_key *key, const char **trouble)
{
    const tj_pack_bytes list[] = {{bytes, size}, {NULL, 0}};
    const tj_log silent = {TJ_LOG_OFF, NULL, NULL};
    tj_packs *packs = tj_packs_create(NULL, list, &silent);
    tj_image_key_text text;
    const tj_pack_file *pack;
    tj_image_body *body = NULL;
    tj_key found;

    *trouble = packs ? tj_packs_trouble(packs, 0, &pack) : NULL;
    if (packs && !*trouble) {
        body = find_image(packs, source, is_target, key_value(key, "target"), false, &text, &found, NULL);
        if (!body || strcmp(found.hex, key->hex) != 0 || tj_image_is_stripped(body))
            *trouble = "it is not the image that it is said to be";
    }
    if (*trouble) {
        tj_image_body_release(body);
        body = NULL;
    }
    tj_packs_free(packs);
    return body;
}

void tj_packed_reject(tj_host *host, const tj_key *key, const char *reason)
{
    const tj_hash128 request = tj_packed_image_request(key_value(key, "source"));

    tj_packs_reject(host->packs, TJ_PACKED_IMAGE, request, key_value(key, "target"), reason);
    tj_packs_reject(host->textbook, TJ_PACKED_IMAGE, request, key_value(key, "target"), reason);
}

/* ---- made --------------------------------------------------------------------------------------------------------- */

/* ptxas reports another time on each run, which would change the pack. */
static char *log_without_times(const char *log)
{
    char *copy = strdup(log), *to = copy;

    while (copy && *log) {
        const size_t length = strcspn(log, "\n") + (log[strcspn(log, "\n")] == '\n');

        if (!memmem(log, length, "Compile time", strlen("Compile time"))) {
            memcpy(to, log, length);
            to += length;
        }
        log += length;
    }
    if (copy)
        *to = '\0';
    return copy;
}

/* Return the alignment that distinguishes a kernel from its fallback of the same name. */
static int alignment_of(const tj_source *source)
{
    const tj_problem *problem = tj_source_problem(source);
    const tj_launch_form *form = tj_source_launch(source);
    int most = 0;

    for (tj_which which = TJ_MATRIX_M; which <= TJ_MATRIX_C; which++) {
        const int bytes = tj_asked_alignment(problem, form, which);

        most = bytes > most ? bytes : most;
    }
    return most;
}

static tj_status check_form(const tj_source *source, const tj_image_body *body, bool strip, tj_error *err)
{
    if (strcmp(key_value(&body->key, "source"), tj_source_text(source)) != 0)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "the image was not compiled from this source (%s)",
                       tj_source_kernel(source));
    if (strip && !body->cubin)
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "an image for %s is PTX, which a stripped pack leaves out: name targets such as sm_90 alone, or do not "
                       "strip",
                       body->target);
    if (!strip && tj_image_is_stripped(body))
        return tj_fail(err, TJ_ERR_UNSUPPORTED,
                       "the image of %s for %s was found in a pack that is stripped: strip this one too, or take that one out "
                       "of TILEJIT_PACKS",
                       tj_source_kernel(source), body->target);
    return TJ_OK;
}

tj_status tj_packed_add_image(tj_pack_draft *draft, const tj_source *source, const tj_image *image, bool strip, tj_error *err)
{
    const tj_image_body *body = image->body;
    tj_pack_part part[TJ_PACK_MAX_PARTS];
    size_t count = 0;
    tj_json *json = tj_image_facts(source, body);
    char *facts = tj_json_print(json), *log = log_without_times(body->log);
    char align[16];
    tj_status status = check_form(source, body, strip, err);

    for (size_t i = 0; i < body->key.count; i++)
        if (!strip || strcmp(body->key.field[i].name, "source") != 0)
            part[count++] = (tj_pack_part){body->key.field[i].name, body->key.field[i].value, strlen(body->key.field[i].value)};
    if (!facts || !log) {
        status = tj_fail_memory(err, "a pack");
    } else if (status == TJ_OK) {
        part[count++] = (tj_pack_part){"facts", facts, strlen(facts)};
        part[count++] = (tj_pack_part){"align", align, (size_t)snprintf(align, sizeof align, "%d", alignment_of(source))};
        if (!strip)
            part[count++] = (tj_pack_part){"kernel.ptx", body->ptx, body->ptx_bytes};
        if (body->cubin)
            part[count++] = (tj_pack_part){"kernel.cubin", body->cubin, body->cubin_bytes};
        if (!strip)
            part[count++] = (tj_pack_part){"build.log", log, strlen(log)};
        status = tj_pack_draft_add(draft, TJ_PACKED_IMAGE, tj_packed_image_request(tj_source_text(source)), body->target, part,
                                   count, err);
    }
    tj_json_free(json);
    free(facts);
    free(log);
    return status;
}

bool tj_packed_unpack(tj_host *host, const tj_pack_item *item)
{
    const char *source = tj_pack_item_text(item, "source");
    tj_stored stored;
    tj_key key = {0};
    bool is_whole = as_stored(item, &stored), is_there = false;

    for (size_t i = 0; is_whole && i < KEY_FIELDS; i++) {
        const char *value = tj_pack_item_text(item, key_fields[i]);

        is_whole = value != NULL;
        if (is_whole)
            tj_key_add(&key, key_fields[i], value);
    }
    if (is_whole) {
        tj_stored found;

        tj_key_seal(&key);
        stored.file[stored.count++] = (tj_blob){"kernel.cu", source, strlen(source)};
        tj_disk_store_publish(host->store, &key, stored.file, stored.count, stored.facts);
        is_there = tj_disk_store_fetch(host->store, &key, &found);
        if (is_there)
            tj_stored_drop(&found);
    }
    tj_json_free(stored.document);
    return is_there;
}

/* ---- public ------------------------------------------------------------------------------------------------------- */

tj_status tj_image_to_bytes(const tj_source *source, const tj_image *image, void **bytes, size_t *size, tj_error *err)
{
    if (bytes)
        *bytes = NULL;
    if (TJ_HAS_NULL(err, source, image, bytes, size))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_pack_draft *draft = tj_pack_draft_create();
    tj_status status = draft ? tj_packed_add_image(draft, source, image, tj_image_is_stripped(image->body), err)
                             : tj_fail_memory(err, "a pack");

    if (status == TJ_OK)
        status = tj_pack_draft_print(draft, bytes, size, err);
    tj_pack_draft_free(draft);
    return status;
}

tj_status tj_image_from_bytes(const tj_source *source, const char *target, const void *bytes, size_t size, tj_image **image,
                              tj_error *err)
{
    if (image)
        *image = NULL;
    if (TJ_HAS_NULL(err, image, source, target, bytes))
        return TJ_ERR_INVALID_ARGUMENT;
    const tj_pack_bytes list[] = {{bytes, size}, {NULL, 0}};
    const tj_log silent = {TJ_LOG_OFF, NULL, NULL};
    tj_packs *packs = tj_packs_create(NULL, list, &silent);
    const tj_pack_file *pack;
    tj_image_body *body = NULL;
    tj_image_key_text text;
    const char *why;
    tj_key key;
    tj_status status;

    if (!packs)
        return tj_fail_memory(err, "an image");
    why = tj_packs_trouble(packs, 0, &pack);
    if (!why)
        body = find_image(packs, source, is_target, target, false, &text, &key, NULL);
    if (body)
        status = tj_image_wrap(body, TJ_FROM_PACK, image, err);
    else if (why)
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "these %zu bytes hold no image: %s", size, why);
    else
        status =
            tj_fail(err, TJ_ERR_NOT_FOUND,
                    "no valid image of %s for %.40s is in these %zu bytes: make them with this version of tilejit, for that "
                    "target",
                    tj_source_kernel(source), target, size);
    tj_packs_free(packs);
    return status;
}
