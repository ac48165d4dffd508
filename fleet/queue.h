/* SPDX-License-Identifier: Apache-2.0 */
/* queue: the shapes of a class that are to be tuned, on the server. Shared by queue.c and work.c. */
#ifndef TJ_FLEET_QUEUE_H
#define TJ_FLEET_QUEUE_H

#include "fleet.h"
#include "trust.h"
#include "wire.h"

enum { FLEET_COMMAND_MS = 5000, FLEET_BATCH = 500 };

struct fleet {
    fleet_place place;
    fleet_trust trust;
    fleet_wire wire;
};

/** A script, its keys and its arguments; the keys are parts of the class's key names. */
typedef struct fleet_script {
    const char *text;
    const char *const *key;
    int keys;
} fleet_script;

/** Run a script, as fleet_wire_ask. */
tj_status fleet_run(fleet_wire *wire, const char *of, const fleet_script *script, int count, const char *const *argument,
                    redisReply **reply, tj_error *err);

/** Add a class to the list of classes. */
tj_status fleet_name_class(fleet_wire *wire, const fleet_class *of, tj_error *err);

/** Read a place and its keys. */
tj_status fleet_begin(fleet *connection, const char *url, bool needs_key, tj_error *err);

/* As in fleet_table. */
tj_status fleet_open(const char *url, bool needs_key, fleet **connection, tj_error *err);
void fleet_close(fleet *connection);
tj_status fleet_submit(fleet *connection, const fleet_class *of, const fleet_shape *shape, size_t count, bool again,
                       fleet_submitted *submitted, tj_error *err);
tj_status fleet_status(fleet *connection, char **json, tj_error *err);
tj_status fleet_cancel(fleet *connection, const char *of, bool poisoned, int64_t *count, tj_error *err);
tj_status fleet_each_record(fleet *connection, const char *of, fleet_visit *visit, void *payload, int64_t *ignored,
                            const char **why, tj_error *err);
tj_status fleet_keep_generation(fleet *connection, const char *of, const char *name, const char *text, tj_error *err);
tj_status fleet_work_on(const fleet_work *work, fleet_worked *worked, tj_error *err);

#endif
