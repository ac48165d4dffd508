/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire: one connection to a server. Every call has a deadline; without an answer by then it closes the connection, so that no
 * late answer is taken for the next question's. An answer larger than expected also closes it.
 */
#ifndef TJ_FLEET_WIRE_H
#define TJ_FLEET_WIRE_H

#include <stdatomic.h>

#include <hiredis/hiredis.h>

#include "place.h"
#include "reply.h"

typedef struct fleet_wire {
    const fleet_place *place; /* borrowed */
    redisContext *link;       /* NULL: not connected */
    atomic_bool is_waiting;   /* for the server, the network or the name service right now; any thread may read it */
} fleet_wire;

/** Milliseconds of a monotonic clock. */
int64_t fleet_now_ms(void);

/**
 * Connect, authenticate, select the database, and get a PING answered. Errors: TJ_ERR_IO: the address, the answer, and the
 * remedy.
 */
tj_status fleet_wire_open(fleet_wire *wire, int64_t until_ms, tj_error *err);
void fleet_wire_close(fleet_wire *wire);

/**
 * Send a command of count words and receive its answer: freeReplyObject() it. Errors: TJ_ERR_IO: no connection, or it was lost;
 * TJ_ERR_UNSUPPORTED: the server answered with an error, which is the message; the connection stays.
 */
tj_status fleet_wire_ask(fleet_wire *wire, int64_t until_ms, fleet_answer answer, int count, const char *const *word,
                         const size_t *bytes, redisReply **reply, tj_error *err);

/** The same for words that are text, with an answer of kind FLEET_A_VALUE. The list ends with NULL. */
tj_status fleet_wire_say(fleet_wire *wire, int64_t until_ms, redisReply **reply, tj_error *err, ...) __attribute__((sentinel));

#endif
