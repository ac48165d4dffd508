/* SPDX-License-Identifier: Apache-2.0 */
#include "reply.h"

#include <string.h>

#include "trust.h"

enum {
    MOST_LINE = 4096,       /* of an error, which may quote a script */
    MOST_FRAME = 64,        /* around one value */
    MOST_FIELDS = 128 << 10 /* of a hash */
};

static const struct {
    size_t bytes, elements;
} most[] = {
    [FLEET_A_VALUE] = {FLEET_MOST_SEALED_BYTES + MOST_FRAME, 16},
    [FLEET_A_LIST] = {64 << 20, 2 * MOST_FIELDS + 2},
    [FLEET_AN_IMAGE] = {FLEET_MOST_IMAGE_BYTES + MOST_FRAME, 0},
    [FLEET_A_GENERATION] = {FLEET_MOST_GENERATION_BYTES + FLEET_SEAL_BYTES + MOST_FRAME, 0},
};

void fleet_reply_begin(fleet_reply *reply, fleet_answer answer)
{
    *reply = (fleet_reply){.bytes = most[answer].bytes, .elements = most[answer].elements, .values = {1}};
}

/* End a value, and its list too if it was the last one. */
static void end_value(fleet_reply *reply)
{
    while (--reply->values[reply->depth] == 0 && reply->depth > 0)
        reply->depth--;
}

static fleet_extent end_head(fleet_reply *reply)
{
    reply->line = 0;
    if (strchr("+-:", reply->type) || reply->is_negative) { /* $-1 and -1 are null */
        end_value(reply);
    } else if (reply->type == '$') {
        reply->string = reply->count + 2;
        if (reply->string > reply->bytes)
            return FLEET_TOO_MUCH;
    } else if (reply->count == 0) {
        end_value(reply);
    } else {
        if (reply->count > reply->elements || reply->depth == FLEET_MOST_DEPTH)
            return FLEET_TOO_MUCH;
        reply->elements -= reply->count;
        reply->values[++reply->depth] = reply->count;
    }
    return FLEET_PARTIAL;
}

/* Take the next byte of a head: a type, a number or a line, and a line end. */
static fleet_extent take(fleet_reply *reply, char byte)
{
    const char last = reply->last;

    reply->last = byte;
    if (reply->line++ == 0) {
        reply->type = byte;
        reply->count = 0;
        reply->is_negative = false;
        return byte && strchr("+-:$*", byte) ? FLEET_PARTIAL : FLEET_NONSENSE;
    }
    if (byte == '\n' && last == '\r')
        return end_head(reply);
    if (strchr("+-:", reply->type))
        return reply->line < MOST_LINE ? FLEET_PARTIAL : FLEET_TOO_MUCH;
    if (byte == '-' && reply->line == 2)
        reply->is_negative = true;
    else if (byte >= '0' && byte <= '9' && last != '\r')
        reply->count = reply->count * 10 + (size_t)(byte - '0');
    else if (byte != '\r' || last < '0' || last > '9')
        return FLEET_NONSENSE;
    return reply->line < 20 ? FLEET_PARTIAL : FLEET_TOO_MUCH; /* a longer number does not fit a size_t */
}

fleet_extent fleet_reply_measure(fleet_reply *reply, const char *bytes, size_t size)
{
    fleet_extent extent = FLEET_PARTIAL;

    while (size > 0 && extent == FLEET_PARTIAL) {
        const size_t taken = reply->string == 0 ? 1 : reply->string < size ? reply->string : size;

        if (reply->values[0] == 0 || taken > reply->bytes)
            return FLEET_TOO_MUCH;
        reply->bytes -= taken;
        if (reply->string == 0)
            extent = take(reply, *bytes);
        else if ((reply->string -= taken) == 0)
            end_value(reply);
        bytes += taken;
        size -= taken;
    }
    return extent == FLEET_PARTIAL && reply->values[0] == 0 ? FLEET_COMPLETE : extent;
}
