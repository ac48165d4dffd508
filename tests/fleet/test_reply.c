/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* How large an answer may be: what is measured ends where hiredis ends, however it is cut into pieces; and what is beyond its bound is refused
 * at the byte that says so. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <stdlib.h>
#include <string.h>

#include <hiredis/hiredis.h>

#include "fleet.h"
#include "reply.h"

/* Feed text in pieces and return the extent of the reply; *taken: bytes fed until then. */
static fleet_extent measure(fleet_answer answer, const char *text, size_t size, size_t piece, size_t *taken)
{
    fleet_extent extent = FLEET_PARTIAL;
    fleet_reply reply;

    fleet_reply_begin(&reply, answer);
    for (*taken = 0; *taken < size && extent == FLEET_PARTIAL; *taken += piece)
        extent = fleet_reply_measure(&reply, text + *taken, piece < size - *taken ? piece : size - *taken);
    return extent;
}

Test(reply, ends_where_hiredis_ends)
{
    static const char *const answers[] = {
        "+PONG\r\n",
        ":-12\r\n",
        "$-1\r\n",
        "*-1\r\n",
        "*0\r\n",
        "$0\r\n\r\n",
        "$3\r\na\r\n\r\n",
        "-ERR a\rb\r\r\n",
        "$4\r\n*9\r\n\r\n",
        "*2\r\n$1\r\n0\r\n*4\r\n$1\r\na\r\n$-1\r\n:7\r\n+x\r\n",
        "*3\r\n*0\r\n*1\r\n$2\r\n\r\n\r\n*-1\r\n",
    };

    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        const size_t size = strlen(answers[i]);
        redisReader *reader = redisReaderCreate();
        void *got = NULL;
        size_t taken;

        for (size_t piece = 1; piece <= size; piece++)
            cr_expect(measure(FLEET_A_VALUE, answers[i], size, piece, &taken) == FLEET_COMPLETE && taken >= size,
                      "answer %zu in pieces of %zu", i, piece);
        cr_expect(measure(FLEET_A_VALUE, answers[i], size - 1, 1, &taken) == FLEET_PARTIAL, "answer %zu", i);
        redisReaderFeed(reader, answers[i], size - 1);
        cr_expect(redisReaderGetReply(reader, &got) == REDIS_OK && !got, "answer %zu", i);
        redisReaderFeed(reader, answers[i] + size - 1, 1);
        /* hiredis 1 refuses a line with a carriage return in it. */
        if (redisReaderGetReply(reader, &got) != REDIS_OK)
            cr_expect(HIREDIS_MAJOR > 0 && strstr(answers[i], "\rb"), "answer %zu: %s", i, reader->errstr);
        else
            cr_expect(got != NULL, "answer %zu", i);
        if (got)
            freeReplyObject(got);
        redisReaderFree(reader);
    }
}

Test(reply, refuses_what_nobody_asked_for)
{
    static const struct {
        const char *text;
        fleet_extent extent;
        size_t taken; /* bytes, until it is refused */
    } rows[] = {
        {"*100000000\r\n", FLEET_TOO_MUCH, 12},
        {"*17\r\n", FLEET_TOO_MUCH, 5},
        {"*8\r\n*9\r\n", FLEET_TOO_MUCH, 8}, /* 17 in all */
        {"*1\r\n*1\r\n*1\r\n", FLEET_TOO_MUCH, 12},
        {"$999999999999\r\n", FLEET_TOO_MUCH, 15},
        {"$99999999999999999999999\r\n", FLEET_TOO_MUCH, 20},
        {"HTTP/1.1", FLEET_NONSENSE, 1},
        {"%1\r\n", FLEET_NONSENSE, 1}, /* RESP3, which nobody said HELLO for */
        {"$1x\r\n", FLEET_NONSENSE, 3},
        {"$\r\n", FLEET_NONSENSE, 2},
        {"*-\r\n", FLEET_NONSENSE, 3},
        {"*2\r*", FLEET_NONSENSE, 4},
    };
    char line[8192];
    size_t taken;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect(measure(FLEET_A_VALUE, rows[i].text, strlen(rows[i].text), 1, &taken) == rows[i].extent, "%s", rows[i].text);
        cr_expect(taken == rows[i].taken, "%s: %zu bytes", rows[i].text, taken);
    }
    cr_expect(measure(FLEET_A_VALUE, "\0\r\n", 3, 3, &taken) == FLEET_NONSENSE);
    cr_expect(measure(FLEET_A_VALUE, "+PONG\r\n+", 8, 8, &taken) == FLEET_TOO_MUCH);
    memset(line, '+', sizeof line);
    cr_expect(measure(FLEET_A_GENERATION, line, sizeof line, 1, &taken) == FLEET_TOO_MUCH && taken == 4096, "%zu", taken);
}

/* The largest of each kind is taken, one byte more is not. */
Test(reply, takes_what_is_kept_on_a_server)
{
    static const struct {
        fleet_answer answer;
        size_t most;
    } rows[] = {{FLEET_A_VALUE, FLEET_MOST_RECORD_BYTES}, {FLEET_AN_IMAGE, FLEET_MOST_IMAGE_BYTES}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char *text = calloc(1, rows[i].most + 64);
        const int head = snprintf(text, 64, "$%zu\r\n", rows[i].most);
        size_t taken;

        memcpy(text + head + rows[i].most, "\r\n", 3);
        cr_expect(measure(rows[i].answer, text, (size_t)head + rows[i].most + 2, 16 << 10, &taken) == FLEET_COMPLETE, "%zu", i);
        snprintf(text, 64, "$%zu\r\n", rows[i].most + 1024);
        cr_expect(measure(rows[i].answer, text, strlen(text), 64, &taken) == FLEET_TOO_MUCH, "%zu", i);
        free(text);
    }
}
