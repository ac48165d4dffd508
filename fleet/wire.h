/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire: one connection to a server. Every call states when it must be over; one that is not answered by then closes the connection, so that
 * no late answer is taken for that of the next question. So does one that is larger than what was asked for.
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
    atomic_bool is_waiting;   /* for the server, the network or the name service at this moment; any thread may look */
} fleet_wire;

/** Milliseconds of a clock that does not jump. */
int64_t fleet_now_ms(void);

/** Connect, name user and database, and have a PING answered. Errors: TJ_ERR_IO: who did not answer, what it answered instead, and the remedy. */
tj_status fleet_wire_open(fleet_wire *wire, int64_t until_ms, tj_error *err);
void fleet_wire_close(fleet_wire *wire);

/**
 * A command of count words and its answer, freeReplyObject(). Errors: TJ_ERR_IO: no connection, or none any more;
 * TJ_ERR_UNSUPPORTED: the server answered with an error, which is the message; the connection stays.
 */
tj_status fleet_wire_ask(fleet_wire *wire, int64_t until_ms, fleet_answer answer, int count, const char *const *word,
                         const size_t *bytes, redisReply **reply, tj_error *err);

/** The same for words that are text, answered by FLEET_A_VALUE. The list ends with NULL. */
tj_status fleet_wire_say(fleet_wire *wire, int64_t until_ms, redisReply **reply, tj_error *err, ...) __attribute__((sentinel));

#endif
