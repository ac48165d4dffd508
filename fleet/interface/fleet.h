/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet: what machines share through a server that speaks the Redis protocol. The library and the command know this header alone; what is
 * behind it is an optional library, libtilejit_fleet.so, opened when it is first needed (store/remote.c, cli/fleet/).
 *
 *     place.c    redis://... as parts
 *     trust.c    keys, signatures, what is believed
 *     wire.c     one connection: a command and its answer, by a deadline
 *     reply.c    how large that answer may be
 *     share.c    sharing at run time: records and images, never in the way of a request
 *     queue.c    shapes to be tuned, and their records: submit, status, cancel, export
 *     work.c     a worker: one shape after the other, whatever becomes of the server
 *     table.c    the table below
 *
 * Knows bytes and names; does not know what a problem, a record or an image means.
 */
#ifndef TJ_FLEET_FLEET_H
#define TJ_FLEET_FLEET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tilejit/status.h>

#include "log.h"

#define FLEET_LIBRARY "libtilejit_fleet.so"
#define FLEET_ENTRY "tilejit_fleet_table"

enum {
    FLEET_TABLE_VERSION = 2,
    FLEET_MOST_FAILURES = 3, /* of one shape; then it is poisoned */
    FLEET_MOST_RECORD_BYTES = 64 << 10,
    FLEET_MOST_IMAGE_BYTES = 16 << 20,
    FLEET_MOST_GENERATION_BYTES = 256 << 20
};

/** What bytes are; a part of what is signed, so that one cannot stand for the other. */
typedef enum fleet_kind { FLEET_RECORD, FLEET_IMAGE, FLEET_GENERATION } fleet_kind;

/** Which of two records stays? *better: malloc'ed, the found one or a third; NULL: the present one. Both are text. */
typedef tj_status fleet_merge(void *payload, const char *present, const char *found, char **better, tj_error *err);

/* ---- at run time -------------------------------------------------------------------------------------------------- */

/** A server that is asked after a local miss. All threads may share it. No call of it fails: all trouble is a miss. */
typedef struct fleet_share fleet_share;

typedef struct fleet_share_counts {
    uint64_t asked, found, ignored, troubles, sent, dropped;
} fleet_share_counts;

/* ---- many that tune ----------------------------------------------------------------------------------------------- */

/** A connection of a command. One thread. */
typedef struct fleet fleet;

/** A shape to be tuned: what its record is found by, and its problem as text. */
typedef struct fleet_shape {
    char id[33];
    char *problem;
} fleet_shape;

typedef struct fleet_submitted {
    int64_t added, queued, recorded, poisoned; /* the last three were passed over, for they are so already */
} fleet_submitted;

/** A class of devices, as its workers name it. */
typedef struct fleet_class {
    const char *id;
    const char *facts; /* JSON: "text", and what the caller likes; NULL: the server has them */
} fleet_class;

typedef struct fleet_worked {
    int64_t done, failed, spooled, improved;
} fleet_worked;

/** A worker, and what it is to do with a shape. All calls come from the thread that calls work. */
typedef struct fleet_work {
    const char *url;
    fleet_class of;
    const char *name;  /* NULL: of host, process and chance */
    const char *spool; /* folder of records that no server has taken yet */
    int lease_ms;      /* a worker that is silent for so long is dead, and its shape another's */
    int patience_ms;   /* a shape that takes longer is another's too */
    bool until_empty;  /* end when nothing is queued, and nobody has anything of it in hand */
    bool compiles;     /* serve those that measure: shapes come a second time, ahead of their turn, and leave no record */
    void *payload;

    /** Anything but 0: finish soon. */
    int (*is_cancelled)(void *payload);
    /** *record: malloc'ed. NULL with TJ_OK: there is none to keep. TJ_ERR_DEVICE_LOST ends the worker, TJ_ERR_CANCELLED gives the shape back. */
    tj_status (*tune)(void *payload, const char *problem, char **record, tj_error *err);
    fleet_merge *merge;
    /** A line for people; problem NULL: it is about no shape. */
    void (*tell)(void *payload, const char *problem, const char *line);
} fleet_work;

typedef void fleet_visit(void *payload, const char *id, const char *record);

/* ---- table -------------------------------------------------------------------------------------------------------- */

typedef struct fleet_table {
    int version; /* FLEET_TABLE_VERSION */

    /** url: redis://... with its parameters (docs/fleet.md). Connects to nothing yet. Errors: TJ_ERR_INVALID_ARGUMENT, TJ_ERR_IO (a key file). */
    tj_status (*share_create)(const char *url, fleet_merge *merge, const tj_log *log, fleet_share **share, tj_error *err);
    /** Sends what is still to be sent, for a second at most. */
    void (*share_free)(fleet_share *share);
    /** True: *bytes is malloc'ed, with a NUL behind its end, and was signed by a trusted key for this kind, class and name. */
    bool (*fetch)(fleet_share *share, fleet_kind kind, const char *of, const char *name, void **bytes, size_t *size);
    /** Send later, if the url has a key to sign with. Copies. is_led: ends the lease of lead(). */
    void (*offer)(fleet_share *share, fleet_kind kind, const char *of, const char *name, const void *bytes, size_t size,
                  bool is_led);
    /**
     * Shall the caller make this image for all? True: it does, and calls offer or yield. False: another one made it meanwhile, and *bytes is
     * as of fetch; or there is nobody to make it for or to wait for, or the wait was too long, and *bytes is NULL.
     */
    bool (*lead)(fleet_share *share, const char *name, void **bytes, size_t *size);
    void (*yield)(fleet_share *share, const char *name);
    /** The generation of records that the url pins; NULL: none. And: is there a key to sign with? */
    const char *(*generation)(const fleet_share *share);
    bool (*writes)(const fleet_share *share);
    /** Connect once, whatever else is under way, and answer how that went. *shown (may be NULL): the address without what is secret. */
    tj_status (*ping)(fleet_share *share, const char **shown, tj_error *err);
    void (*share_count)(fleet_share *share, fleet_share_counts *counts);

    /** needs_key: refuse a url without sign=. */
    tj_status (*open)(const char *url, bool needs_key, fleet **connection, tj_error *err);
    void (*close)(fleet *connection);
    tj_status (*submit)(fleet *connection, const fleet_class *of, const fleet_shape *shape, size_t count, bool again,
                        fleet_submitted *submitted, tj_error *err);
    /** *json: malloc'ed: classes with progress, rates, workers and poisoned shapes. */
    tj_status (*status)(fleet *connection, char **json, tj_error *err);
    /** What is queued, or with poisoned the list of those. *count: how many. */
    tj_status (*cancel)(fleet *connection, const char *of, bool poisoned, int64_t *count, tj_error *err);
    /** All records of a class that a trusted key signed; *ignored: how many others there are, and *why one of them is. */
    tj_status (*each_record)(fleet *connection, const char *of, fleet_visit *visit, void *payload, int64_t *ignored,
                             const char **why, tj_error *err);
    /** Keep a text of records under a name that is not given a second time. */
    tj_status (*keep_generation)(fleet *connection, const char *of, const char *name, const char *text, tj_error *err);
    tj_status (*work)(const fleet_work *work, fleet_worked *worked, tj_error *err);
    /** Write path, for its owner alone, and path.pub. Refused where either exists. */
    tj_status (*make_key)(const char *path, tj_error *err);
} fleet_table;

/** What the library exports under FLEET_ENTRY. */
typedef const fleet_table *fleet_entry(void);

#endif
