/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue: the requests of a command to the server. Each change of several keys is one script, so it is atomic.
 */
#include "queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "json.h"
#include "names.h"
#include "text.h"

#define PAGE "500" /* fields of a scan */

enum {
    MOST_WORDS = 3 * FLEET_BATCH + 16,
    MOST_PAGES = 64 << 10, /* 32 million records */
    OLDEST_VERSION = 7,
    RATE_SECONDS = 60,
    SLOT_SECONDS = 10
};

/* ---- connections -------------------------------------------------------------------------------------------------- */

/* XAUTOCLAIM, which returns dead entries, came with 6.2; scripts that may read the time before they write came with 7. */
static tj_status check_version(fleet_wire *wire, tj_error *err)
{
    redisReply *reply;
    const char *at;
    tj_status status = fleet_wire_say(wire, fleet_now_ms() + FLEET_COMMAND_MS, &reply, err, "INFO", "server", NULL);

    if (status == TJ_ERR_UNSUPPORTED)
        return TJ_OK; /* a user who may not ask: a missing feature shows later */
    if (status != TJ_OK)
        return status;
    at = reply->type == REDIS_REPLY_STRING ? strstr(reply->str, "redis_version:") : NULL;
    if (at && atoi(at + 14) < OLDEST_VERSION)
        status = tj_fail(err, TJ_ERR_UNSUPPORTED, "%.160s is Redis %.*s: use Redis %d or later, or Valkey", wire->place->shown,
                         (int)strcspn(at + 14, "\r\n"), at + 14, OLDEST_VERSION);
    freeReplyObject(reply);
    return status;
}

tj_status fleet_begin(fleet *connection, const char *url, bool needs_key, tj_error *err)
{
    tj_status status = fleet_place_parse(url, &connection->place, err);

    connection->wire = (fleet_wire){.place = &connection->place};
    if (status == TJ_OK)
        status = fleet_trust_load(&connection->place, &connection->trust, err);
    if (status == TJ_OK && needs_key && !connection->trust.signs)
        status =
            tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                    "%.160s is to be written, and readers ignore records without a signature: make a key with tilejit fleet "
                    "key, and add ?sign=FILE to the address",
                    connection->place.shown);
    return status;
}

tj_status fleet_open(const char *url, bool needs_key, fleet **out, tj_error *err)
{
    fleet *connection = calloc(1, sizeof *connection);
    tj_status status = connection ? fleet_begin(connection, url, needs_key, err) : tj_fail_memory(err, "a connection");

    *out = NULL;
    if (status == TJ_OK)
        status = fleet_wire_open(&connection->wire, fleet_now_ms() + FLEET_COMMAND_MS, err);
    if (status == TJ_OK)
        status = check_version(&connection->wire, err);
    if (status == TJ_OK)
        *out = connection;
    else
        fleet_close(connection);
    return status;
}

void fleet_close(fleet *connection)
{
    if (!connection)
        return;
    fleet_wire_close(&connection->wire);
    free(connection);
}

tj_status fleet_run(fleet_wire *wire, const char *of, const fleet_script *script, int count, const char *const *argument,
                    redisReply **reply, tj_error *err)
{
    const char **word = calloc(MOST_WORDS, sizeof *word);
    size_t *bytes = calloc(MOST_WORDS, sizeof *bytes);
    char key[8][FLEET_NAME_BYTES], keys[8];
    int words = 3;
    tj_status status;

    *reply = NULL;
    if (!word || !bytes) {
        free(word);
        free(bytes);
        return tj_fail_memory(err, "a command to a server");
    }
    (void)snprintf(keys, sizeof keys, "%d", script->keys);
    word[0] = "EVAL";
    word[1] = script->text;
    word[2] = keys;
    for (int i = 0; i < script->keys; i++) {
        (void)snprintf(key[i], sizeof key[i], FLEET_PREFIX "{%s}:%s", of, script->key[i]);
        word[words++] = key[i];
    }
    for (int i = 0; i < count; i++)
        word[words++] = argument[i];
    for (int i = 0; i < words; i++)
        bytes[i] = strlen(word[i]);
    status = fleet_wire_ask(wire, fleet_now_ms() + FLEET_COMMAND_MS, FLEET_A_VALUE, words, word, bytes, reply, err);
    free(word);
    free(bytes);
    return status;
}

/* command: HLEN or HGETALL, so that the answer is a list at most. */
static tj_status ask(fleet *connection, redisReply **reply, tj_error *err, const char *command, const char *of,
                     const char *part)
{
    char key[FLEET_NAME_BYTES];

    (void)snprintf(key, sizeof key, of ? FLEET_PREFIX "{%s}:%s" : FLEET_PREFIX "%.0s%s", of ? of : "", part);
    return fleet_wire_ask(&connection->wire, fleet_now_ms() + FLEET_COMMAND_MS, FLEET_A_LIST, 2,
                          (const char *const[]){command, key}, (const size_t[]){strlen(command), strlen(key)}, reply, err);
}

/* ---- submit ------------------------------------------------------------------------------------------------------- */

static const char *const submit_keys[] = {"queue", "queued", "records", "poison", "compile", "counts", "rate", "failures"};
static const fleet_script submit_script = {
    "local n = {0, 0, 0, 0} "
    "if redis.call('HLEN', KEYS[2]) == 0 then redis.call('DEL', KEYS[6], KEYS[7], KEYS[8]) end "
    "for i = 1, #ARGV, 3 do "
    "  local shape = ARGV[i] "
    "  if redis.call('HEXISTS', KEYS[2], shape) == 1 then n[2] = n[2] + 1 "
    "  elseif ARGV[i + 2] == '0' and redis.call('HEXISTS', KEYS[3], shape) == 1 then n[3] = n[3] + 1 "
    "  elseif ARGV[i + 2] ~= '2' and redis.call('HEXISTS', KEYS[4], shape) == 1 then n[4] = n[4] + 1 "
    "  else "
    "    redis.call('HDEL', KEYS[4], shape) "
    "    local id = redis.call('XADD', KEYS[1], '*', 's', shape, 'p', ARGV[i + 1]) "
    "    redis.call('XADD', KEYS[5], id, 's', shape, 'p', ARGV[i + 1]) "
    "    redis.call('HSET', KEYS[2], shape, id) "
    "    n[1] = n[1] + 1 "
    "  end "
    "end "
    "redis.call('HINCRBY', KEYS[6], 'submitted', n[1]) "
    "return n",
    submit_keys, 8};

tj_status fleet_name_class(fleet_wire *wire, const fleet_class *of, tj_error *err)
{
    redisReply *reply = NULL;
    tj_status status = TJ_OK;

    if (of->facts)
        status = fleet_wire_say(wire, fleet_now_ms() + FLEET_COMMAND_MS, &reply, err, "HSET", FLEET_PREFIX "classes", of->id,
                                of->facts, NULL);
    if (reply)
        freeReplyObject(reply);
    return status;
}

/* A record that is not trusted here counts as missing. Without a trusted key there is no judgement. */
static tj_status judge_records(fleet *connection, const char *of, const fleet_shape *shape, size_t count, bool *is_unbelieved,
                               tj_error *err)
{
    const char *word[2 + FLEET_BATCH], *content;
    size_t bytes[2 + FLEET_BATCH], size;
    char key[FLEET_NAME_BYTES];
    redisReply *reply;
    tj_status status;

    memset(is_unbelieved, 0, count * sizeof *is_unbelieved);
    if (connection->trust.count == 0)
        return TJ_OK;
    (void)snprintf(key, sizeof key, FLEET_PREFIX "{%s}:records", of);
    word[0] = "HMGET";
    word[1] = key;
    for (size_t i = 0; i < count; i++)
        word[2 + i] = shape[i].id;
    for (size_t i = 0; i < 2 + count; i++)
        bytes[i] = strlen(word[i]);
    status = fleet_wire_ask(&connection->wire, fleet_now_ms() + FLEET_COMMAND_MS, FLEET_A_LIST, (int)(2 + count), word, bytes,
                            &reply, err);
    if (status != TJ_OK)
        return status;
    for (size_t i = 0; i < count && reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
        is_unbelieved[i] = reply->element[i]->type == REDIS_REPLY_STRING &&
                           fleet_unseal(&connection->trust, FLEET_RECORD, of, shape[i].id, reply->element[i]->str,
                                        (size_t)reply->element[i]->len, &content, &size) != NULL;
    freeReplyObject(reply);
    return TJ_OK;
}

tj_status fleet_submit(fleet *connection, const fleet_class *of, const fleet_shape *shape, size_t count, bool again,
                       fleet_submitted *submitted, tj_error *err)
{
    const tj_status named = fleet_name_class(&connection->wire, of, err);

    if (named != TJ_OK)
        return named;
    *submitted = (fleet_submitted){0, 0, 0, 0};
    for (size_t first = 0; first < count; first += FLEET_BATCH) {
        const size_t batch = count - first < FLEET_BATCH ? count - first : FLEET_BATCH;
        const char *argument[3 * FLEET_BATCH];
        bool is_unbelieved[FLEET_BATCH];
        redisReply *reply;
        tj_status status = judge_records(connection, of->id, shape + first, batch, is_unbelieved, err);

        if (status != TJ_OK)
            return status;
        for (size_t i = 0; i < batch; i++) {
            argument[3 * i] = shape[first + i].id;
            argument[3 * i + 1] = shape[first + i].problem;
            argument[3 * i + 2] = again ? "2" : is_unbelieved[i] ? "1" : "0";
        }
        status = fleet_run(&connection->wire, of->id, &submit_script, (int)(3 * batch), argument, &reply, err);
        if (status != TJ_OK)
            return status;
        if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 4) {
            submitted->added += reply->element[0]->integer;
            submitted->queued += reply->element[1]->integer;
            submitted->recorded += reply->element[2]->integer;
            submitted->poisoned += reply->element[3]->integer;
        }
        freeReplyObject(reply);
    }
    return TJ_OK;
}

/* ---- status ------------------------------------------------------------------------------------------------------- */

static tj_status ask_count(fleet *connection, tj_json *object, const char *name, const char *command, const char *of,
                           const char *part, tj_error *err)
{
    redisReply *reply;
    tj_status status = ask(connection, &reply, err, command, of, part);

    if (status != TJ_OK)
        return status;
    tj_json_add_int(object, name, reply->integer);
    freeReplyObject(reply);
    return TJ_OK;
}

/* Visit the fields of a hash that people may see: add receives each. */
typedef void add_field(tj_json *to, const char *name, const char *value, long long now_ms);

static tj_status each_field(fleet *connection, const char *of, const char *part, add_field *add, tj_json *to, long long now_ms,
                            tj_error *err)
{
    redisReply *reply;
    tj_status status = ask(connection, &reply, err, "HGETALL", of, part);

    if (status != TJ_OK)
        return status;
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2)
        if (reply->element[i]->type == REDIS_REPLY_STRING && reply->element[i + 1]->type == REDIS_REPLY_STRING)
            add(to, reply->element[i]->str, reply->element[i + 1]->str, now_ms);
    freeReplyObject(reply);
    return TJ_OK;
}

static void add_number(tj_json *to, const char *name, const char *value, long long now_ms)
{
    (void)now_ms;
    if (tj_json_is_text(name))
        tj_json_add_int(to, name, strtoll(value, NULL, 10));
}

/* Add an item to a list, with the members of the server's text, if that is an object. */
static tj_json *add_said(tj_json *list, const char *text)
{
    tj_json *said = NULL, *added;

    if (text)
        (void)tj_json_read(text, strlen(text), &said, NULL);
    added = tj_json_kind_of(said) == TJ_JSON_OBJECT ? tj_json_add_copy(list, NULL, said) : tj_json_add_object(list, NULL);
    tj_json_free(said);
    return added;
}

/* "<ms> <token> <JSON>" */
static void add_worker(tj_json *to, const char *name, const char *value, long long now_ms)
{
    const char *token = strchr(value, ' '), *json = token ? strchr(token + 1, ' ') : NULL;
    tj_json *worker = add_said(to, json ? json + 1 : NULL);
    long long silent_ms = now_ms - strtoll(value, NULL, 10);

    silent_ms = silent_ms > 0 ? silent_ms : 0; /* the server's clock may have jumped */
    tj_json_add_foreign(worker, "name", name);
    tj_json_add_real(worker, "silent_s", (double)silent_ms / 1e3);
    tj_json_add_bool(worker, "is_dead", silent_ms > tj_json_int(tj_json_get(worker, "lease_ms")));
}

static void add_poison(tj_json *to, const char *name, const char *value, long long now_ms)
{
    (void)now_ms;
    tj_json_add_foreign(add_said(to, value), "id", name);
}

/* Rate over the last full slots of ten seconds and the elapsed part of the present one. */
static double rate_of(const tj_json *slots, long long now_ms)
{
    const long long now = now_ms / 1000 / SLOT_SECONDS, first = now - RATE_SECONDS / SLOT_SECONDS;
    long long done = 0, oldest = now;

    for (const tj_json *slot = tj_json_first(slots); slot; slot = tj_json_next(slot)) {
        const long long at = strtoll(tj_json_name(slot), NULL, 10);

        if (at < first || at > now)
            continue;
        done += tj_json_int(slot);
        oldest = at < oldest ? at : oldest;
    }
    return done > 0 ? (double)done / ((double)(now_ms - oldest * SLOT_SECONDS * 1000) / 1e3 + 1e-3) : 0;
}

static tj_status class_status(fleet *connection, const char *of, const char *facts, long long now_ms, tj_json *to,
                              tj_error *err)
{
    tj_json *object = add_said(to, facts), *workers = tj_json_add_list(object, "workers"),
            *poisoned = tj_json_add_list(object, "poisoned"), *counts = tj_json_new(), *slots = tj_json_new();
    double rate;
    tj_status status;

    tj_json_add_foreign(object, "class", of);
    status = ask_count(connection, object, "remaining", "HLEN", of, "queued", err);
    if (status == TJ_OK)
        status = ask_count(connection, object, "records", "HLEN", of, "records", err);
    if (status == TJ_OK)
        status = each_field(connection, of, "counts", add_number, counts, now_ms, err);
    if (status == TJ_OK)
        status = each_field(connection, of, "rate", add_number, slots, now_ms, err);
    if (status == TJ_OK)
        status = each_field(connection, of, "workers", add_worker, workers, now_ms, err);
    if (status == TJ_OK)
        status = each_field(connection, of, "poison", add_poison, poisoned, now_ms, err);
    rate = rate_of(slots, now_ms);
    tj_json_add_int(object, "submitted", tj_json_int(tj_json_get(counts, "submitted")));
    tj_json_add_int(object, "done", tj_json_int(tj_json_get(counts, "done")));
    tj_json_add_int(object, "failures", tj_json_int(tj_json_get(counts, "failed")));
    tj_json_add_real(object, "shapes_per_s", rate);
    if (rate > 0)
        tj_json_add_real(object, "left_s", (double)tj_json_int(tj_json_get(object, "remaining")) / rate);
    else
        tj_json_add_null(object, "left_s");
    tj_json_free(counts);
    tj_json_free(slots);
    return status;
}

static tj_status server_time(fleet *connection, long long *now_ms, tj_error *err)
{
    redisReply *reply;
    tj_status status = fleet_wire_say(&connection->wire, fleet_now_ms() + FLEET_COMMAND_MS, &reply, err, "TIME", NULL);

    *now_ms = 0;
    if (status != TJ_OK)
        return status;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 && reply->element[0]->type == REDIS_REPLY_STRING &&
        reply->element[1]->type == REDIS_REPLY_STRING)
        *now_ms = strtoll(reply->element[0]->str, NULL, 10) * 1000 + strtoll(reply->element[1]->str, NULL, 10) / 1000;
    freeReplyObject(reply);
    return TJ_OK;
}

tj_status fleet_status(fleet *connection, char **json, tj_error *err)
{
    tj_json *root = tj_json_new(), *list = tj_json_add_list(root, "classes");
    redisReply *reply = NULL;
    long long now_ms;
    tj_status status = server_time(connection, &now_ms, err);

    *json = NULL;
    tj_json_add_foreign(root, "server", connection->place.shown);
    if (status == TJ_OK)
        status = ask(connection, &reply, err, "HGETALL", NULL, "classes");
    for (size_t i = 0; status == TJ_OK && reply->type == REDIS_REPLY_ARRAY && i + 1 < reply->elements; i += 2)
        if (reply->element[i]->type == REDIS_REPLY_STRING && reply->element[i + 1]->type == REDIS_REPLY_STRING)
            status = class_status(connection, reply->element[i]->str, reply->element[i + 1]->str, now_ms, list, err);
    if (reply)
        freeReplyObject(reply);
    if (status == TJ_OK && !(*json = tj_json_print(root)))
        status = tj_fail_memory(err, "the status of a fleet");
    tj_json_free(root);
    return status;
}

/* ---- cancel ------------------------------------------------------------------------------------------------------- */

static const char *const cancel_keys[] = {"queue", "queued", "compile", "failures", "counts"};
static const fleet_script cancel_script = {"local n = redis.call('HLEN', KEYS[2]) "
                                           "redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]) "
                                           "return n",
                                           cancel_keys, 5};
static const char *const poison_keys[] = {"poison", "failures"};
static const fleet_script forget_poison_script = {
    "local n = redis.call('HLEN', KEYS[1]) redis.call('DEL', KEYS[1], KEYS[2]) return n", poison_keys, 2};

tj_status fleet_cancel(fleet *connection, const char *of, bool poisoned, int64_t *count, tj_error *err)
{
    redisReply *reply;
    tj_status status =
        fleet_run(&connection->wire, of, poisoned ? &forget_poison_script : &cancel_script, 0, NULL, &reply, err);

    *count = status == TJ_OK ? reply->integer : 0;
    if (reply)
        freeReplyObject(reply);
    return status;
}

/* ---- records ------------------------------------------------------------------------------------------------------ */

static void visit_one(const fleet *connection, const char *of, const redisReply *id, const redisReply *sealed,
                      fleet_visit *visit, void *payload, int64_t *ignored, const char **why)
{
    const char *content, *trouble = "it is not text";
    size_t size;

    if (id->type == REDIS_REPLY_STRING && sealed->type == REDIS_REPLY_STRING)
        trouble = sealed->len > FLEET_MOST_SEALED_BYTES ? "it is larger than any record should be"
                                                        : fleet_unseal(&connection->trust, FLEET_RECORD, of, id->str,
                                                                       sealed->str, (size_t)sealed->len, &content, &size);
    if (trouble) {
        ++*ignored;
        *why = trouble;
    } else {
        visit(payload, id->str, content);
    }
}

tj_status fleet_each_record(fleet *connection, const char *of, fleet_visit *visit, void *payload, int64_t *ignored,
                            const char **why, tj_error *err)
{
    char key[FLEET_NAME_BYTES], cursor[32] = "0";

    *ignored = 0;
    *why = NULL;
    (void)snprintf(key, sizeof key, FLEET_PREFIX "{%s}:records", of);
    for (int page = 0; page == 0 || strcmp(cursor, "0") != 0; page++) {
        const char *const word[] = {"HSCAN", key, cursor, "COUNT", PAGE};
        redisReply *reply;
        const redisReply *list;
        tj_status status = fleet_wire_ask(&connection->wire, fleet_now_ms() + FLEET_COMMAND_MS, FLEET_A_LIST, 5, word,
                                          (const size_t[]){5, strlen(key), strlen(cursor), 5, strlen(PAGE)}, &reply, err);

        if (status != TJ_OK)
            return status;
        if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2 || reply->element[0]->type != REDIS_REPLY_STRING ||
            page == MOST_PAGES) {
            freeReplyObject(reply);
            return tj_fail(err, TJ_ERR_IO, "%.200s does not answer as a Redis server does: %s", connection->place.shown,
                           page == MOST_PAGES ? "its list of records has no end" : "its list of records is none");
        }
        list = reply->element[1];
        for (size_t i = 0; i + 1 < list->elements; i += 2)
            visit_one(connection, of, list->element[i], list->element[i + 1], visit, payload, ignored, why);
        (void)snprintf(cursor, sizeof cursor, "%s", reply->element[0]->str);
        freeReplyObject(reply);
    }
    return TJ_OK;
}

tj_status fleet_keep_generation(fleet *connection, const char *of, const char *name, const char *text, tj_error *err)
{
    char key[FLEET_NAME_BYTES], *sealed;
    size_t size;
    redisReply *reply = NULL;
    bool is_new;
    tj_status status;

    (void)snprintf(key, sizeof key, FLEET_PREFIX "{%s}:generation:%s", of, name);
    sealed = fleet_seal(&connection->trust, FLEET_GENERATION, of, name, text, strlen(text), &size);
    if (!sealed)
        return tj_fail_memory(err, "a generation of records");
    const char *const word[] = {"SET", key, sealed, "NX"};

    status = fleet_wire_ask(&connection->wire, fleet_now_ms() + 6LL * FLEET_COMMAND_MS, FLEET_A_VALUE, 4, word,
                            (const size_t[]){3, strlen(key), size, 2}, &reply, err);
    is_new = status == TJ_OK && reply->type == REDIS_REPLY_STATUS;
    if (reply)
        freeReplyObject(reply);
    free(sealed);
    return status != TJ_OK || is_new
               ? status
               : tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "there is a generation %s already, and jobs may be using it: name another", name);
}
