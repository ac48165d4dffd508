/* SPDX-License-Identifier: Apache-2.0 */
#include "records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "names.h"

enum { MOST_TRIES = 64, KEYS = 7, ARGUMENTS = 5, WORDS = 3 + KEYS + ARGUMENTS };

/*
 * KEYS: records queued queue compile failures counts rate. ARGV: shape, the record that was read, the one to write ("": none),
 * finishes, the maximum length of a record: a longer one counts as missing. Returns 0: another one was written meanwhile; 1:
 * kept; 2: kept, and the shape was queued. One script is atomic, in the append-only file too, so a shape is never done without
 * its record.
 */
static const char SCRIPT[] = "local present = redis.call('HGET', KEYS[1], ARGV[1]) or '' "
                             "if #present > tonumber(ARGV[5]) then present = '' end "
                             "if present ~= ARGV[2] then return 0 end "
                             "if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end "
                             "if ARGV[4] == '0' then return 1 end "
                             "redis.call('HDEL', KEYS[5], ARGV[1]) "
                             "local id = redis.call('HGET', KEYS[2], ARGV[1]) "
                             "if not id then return 1 end "
                             "redis.pcall('XACK', KEYS[3], 'w', id) "
                             "redis.call('XDEL', KEYS[3], id) "
                             "redis.pcall('XACK', KEYS[4], 'w', id) "
                             "redis.call('XDEL', KEYS[4], id) "
                             "redis.call('HDEL', KEYS[2], ARGV[1]) "
                             "redis.call('HINCRBY', KEYS[6], 'done', 1) "
                             "local slot = math.floor(redis.call('TIME')[1] / 10) "
                             "redis.call('HINCRBY', KEYS[7], slot, 1) "
                             "redis.call('HDEL', KEYS[7], slot - 12, slot - 13, slot - 14, slot - 15, slot - 16) "
                             "redis.call('EXPIRE', KEYS[7], 300) "
                             "return 2";

/* KEYS: records. ARGV: shape, the maximum length of a record. */
static const char READ_SCRIPT[] = "local present = redis.call('HGET', KEYS[1], ARGV[1]) "
                                  "return present and #present <= tonumber(ARGV[2]) and present";

static tj_status read_present(fleet_wire *wire, const char *key, const char *id, const char *most, int deadline_ms,
                              char **present, size_t *size, tj_error *err)
{
    redisReply *reply;
    tj_status status =
        fleet_wire_say(wire, fleet_now_ms() + deadline_ms, &reply, err, "EVAL", READ_SCRIPT, "1", key, id, most, NULL);

    *present = NULL;
    *size = 0;
    if (status != TJ_OK)
        return status;
    if (reply->type == REDIS_REPLY_STRING) {
        *present = malloc((size_t)reply->len + 1);
        if (*present) {
            memcpy(*present, reply->str, (size_t)reply->len + 1);
            *size = (size_t)reply->len;
        } else
            status = tj_fail_memory(err, "a record");
    }
    freeReplyObject(reply);
    return status;
}

/* Return the sealed record to write; NULL: none, the present one stays. A record that is not trusted is replaced. */
static tj_status choose(const fleet_trust *trust, const fleet_offer *offer, const char *present, size_t present_size,
                        char **sealed, size_t *sealed_size, fleet_kept *kept, tj_error *err)
{
    const char *content;
    char *better = NULL, *text = NULL;
    size_t size;
    tj_error why;

    *sealed = NULL;
    *sealed_size = 0;
    *kept = FLEET_IS_NEW;
    if (present && fleet_unseal(trust, FLEET_RECORD, offer->of, offer->id, present, present_size, &content, &size) == NULL &&
        (text = strndup(content, size)) && offer->merge(offer->payload, text, offer->record, &better, &why) == TJ_OK)
        *kept = better ? FLEET_IS_BETTER : FLEET_PRESENT_STAYS;
    free(text);
    if (*kept != FLEET_PRESENT_STAYS) {
        const char *chosen = better ? better : offer->record;

        *sealed = fleet_seal(trust, FLEET_RECORD, offer->of, offer->id, chosen, strlen(chosen), sealed_size);
    }
    free(better);
    return *kept == FLEET_PRESENT_STAYS || *sealed ? TJ_OK : tj_fail_memory(err, "a record");
}

tj_status fleet_keep_record(fleet_wire *wire, const fleet_trust *trust, const fleet_offer *offer, fleet_kept *kept,
                            bool *was_queued, tj_error *err)
{
    static const char *const part[KEYS] = {"records", "queued", "queue", "compile", "failures", "counts", "rate"};
    char key[KEYS][FLEET_NAME_BYTES];
    const char *word[WORDS] = {"EVAL", SCRIPT, "7"};
    size_t bytes[WORDS];
    char most[24];
    tj_status status = TJ_OK;
    long long answer = 0;

    if (strlen(offer->record) > FLEET_MOST_RECORD_BYTES)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "a record has %zu bytes, and at most %d are read", strlen(offer->record),
                       FLEET_MOST_RECORD_BYTES);
    (void)snprintf(most, sizeof most, "%d", FLEET_MOST_SEALED_BYTES);
    for (int i = 0; i < KEYS; i++) {
        (void)snprintf(key[i], sizeof key[i], FLEET_PREFIX "{%s}:%s", offer->of, part[i]);
        word[3 + i] = key[i];
    }
    for (int i = 0; i < MOST_TRIES && status == TJ_OK && answer == 0; i++) {
        char *present, *sealed = NULL;
        size_t present_size, sealed_size = 0;
        redisReply *reply = NULL;

        status = read_present(wire, key[0], offer->id, most, offer->deadline_ms, &present, &present_size, err);
        if (status == TJ_OK)
            status = choose(trust, offer, present, present_size, &sealed, &sealed_size, kept, err);
        for (int k = 0; k < 3 + KEYS; k++)
            bytes[k] = strlen(word[k]);
        word[3 + KEYS] = offer->id;
        bytes[3 + KEYS] = strlen(offer->id);
        word[4 + KEYS] = present ? present : "";
        bytes[4 + KEYS] = present_size;
        word[5 + KEYS] = sealed ? sealed : "";
        bytes[5 + KEYS] = sealed_size;
        word[6 + KEYS] = offer->finishes ? "1" : "0";
        bytes[6 + KEYS] = 1;
        word[7 + KEYS] = most;
        bytes[7 + KEYS] = strlen(most);
        if (status == TJ_OK)
            status = fleet_wire_ask(wire, fleet_now_ms() + offer->deadline_ms, FLEET_A_VALUE, WORDS, word, bytes, &reply, err);
        if (status == TJ_OK)
            answer = reply->integer;
        if (reply)
            freeReplyObject(reply);
        free(present);
        free(sealed);
    }
    if (was_queued)
        *was_queued = answer == 2;
    return status == TJ_OK && answer == 0
               ? tj_fail(err, TJ_ERR_IO, "the record of one shape changes whenever it is to be written")
               : status;
}
