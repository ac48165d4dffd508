/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reply: how large an answer is, seen while its bytes arrive and before anything is made of them. hiredis believes the lengths that a server
 * names and searches a line from its beginning whenever more of it comes; so no byte reaches it that was not counted here.
 */
#ifndef TJ_FLEET_REPLY_H
#define TJ_FLEET_REPLY_H

#include <stdbool.h>
#include <stddef.h>

/** What is asked for: it bounds the answer. */
typedef enum fleet_answer {
    FLEET_A_VALUE, /* a word, a number, a shape, a record */
    FLEET_A_LIST,  /* the fields of a hash, or a page of them */
    FLEET_AN_IMAGE,
    FLEET_A_GENERATION
} fleet_answer;

enum { FLEET_MOST_DEPTH = 2 }; /* HSCAN: a cursor, and a list in the list */

typedef enum fleet_extent {
    FLEET_PARTIAL,  /* more is to come */
    FLEET_COMPLETE, /* the answer is whole, and nothing follows it */
    FLEET_TOO_MUCH, /* more than can have been asked for */
    FLEET_NONSENSE  /* not of RESP, the protocol of Redis 2 to 7 */
} fleet_extent;

typedef struct fleet_reply {
    size_t bytes, elements;              /* how many may still come */
    size_t string;                       /* bytes of a string that are still to come, with its line end */
    size_t values[FLEET_MOST_DEPTH + 1]; /* still to come: of all, of a list, of a list in it */
    int depth;
    size_t line, count; /* of the head of a value: bytes that have come, and the number in it */
    char type, last;
    bool is_negative;
} fleet_reply;

void fleet_reply_begin(fleet_reply *reply, fleet_answer answer);

/** Take the next bytes. After anything but FLEET_PARTIAL there are no next ones. */
fleet_extent fleet_reply_measure(fleet_reply *reply, const char *bytes, size_t size);

#endif
