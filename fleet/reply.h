/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reply: measure an answer while its bytes arrive, before they are parsed. hiredis trusts the lengths that a server sends and
 * searches a line from its beginning whenever more of it arrives; so every byte is counted here before hiredis gets it.
 */
#ifndef TJ_FLEET_REPLY_H
#define TJ_FLEET_REPLY_H

#include <stdbool.h>
#include <stddef.h>

/** The kind of answer expected: it bounds the size. */
typedef enum fleet_answer {
    FLEET_A_VALUE, /* a word, a number, a shape, a record */
    FLEET_A_LIST,  /* the fields of a hash, or a page of them */
    FLEET_AN_IMAGE,
    FLEET_A_GENERATION
} fleet_answer;

enum { FLEET_MOST_DEPTH = 2 }; /* HSCAN: a cursor, and a list in the list */

typedef enum fleet_extent {
    FLEET_PARTIAL,  /* more is to come */
    FLEET_COMPLETE, /* the answer is complete, and nothing follows it */
    FLEET_TOO_MUCH, /* more than any answer to the question */
    FLEET_NONSENSE  /* not RESP, the protocol of Redis 2 to 7 */
} fleet_extent;

typedef struct fleet_reply {
    size_t bytes, elements;              /* limits on the rest */
    size_t string;                       /* bytes of a string still to come, with its line end */
    size_t values[FLEET_MOST_DEPTH + 1]; /* still to come: in total, of a list, of a list in it */
    int depth;
    size_t line, count; /* of the head of a value: bytes received, and the number in it */
    char type, last;
    bool is_negative;
} fleet_reply;

void fleet_reply_begin(fleet_reply *reply, fleet_answer answer);

/** Take the next bytes. Do not call it again after anything but FLEET_PARTIAL. */
fleet_extent fleet_reply_measure(fleet_reply *reply, const char *bytes, size_t size);

#endif
