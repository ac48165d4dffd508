/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet: data that machines share through a server of the Redis protocol. The library and the command know this header alone;
 * the implementation is an optional library, libtilejit_fleet.so, opened on first use (store/remote.c, cli/fleet/).
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
    FLEET_MOST_FAILURES = 3, /* of one shape; then the shape is poisoned */
    FLEET_MOST_RECORD_BYTES = 64 << 10,
    FLEET_MOST_IMAGE_BYTES = 16 << 20,
    FLEET_MOST_GENERATION_BYTES = 256 << 20
};

/** The kind of some bytes; part of the signed message, so that one kind cannot replace another. */
typedef enum fleet_kind { FLEET_RECORD, FLEET_IMAGE, FLEET_GENERATION } fleet_kind;

/** Choose between two records. *better: malloc'ed, the found one or a third; NULL: the present one stays. Both are text. */
typedef tj_status fleet_merge(void *payload, const char *present, const char *found, char **better, tj_error *err);

/* ---- at run time -------------------------------------------------------------------------------------------------- */

/** A server that is asked after a local miss. All threads may share it. Its calls never fail: all trouble is a miss. */
typedef struct fleet_share fleet_share;

typedef struct fleet_share_counts {
    uint64_t asked, found, ignored, troubles, sent, dropped;
} fleet_share_counts;

/* ---- many that tune ----------------------------------------------------------------------------------------------- */

/** The connection of a command. One thread. */
typedef struct fleet fleet;

/** A shape to be tuned: the request of its record, and its problem as text. */
typedef struct fleet_shape {
    char id[33];
    char *problem;
} fleet_shape;

typedef struct fleet_submitted {
    int64_t added, queued, recorded, poisoned; /* the last three were skipped: they are in that state already */
} fleet_submitted;

/** A class of devices, as its workers name it. */
typedef struct fleet_class {
    const char *id;
    const char *facts; /* JSON: "text", and any other members; NULL: the server has the facts */
} fleet_class;

typedef struct fleet_worked {
    int64_t done, failed, spooled, improved;
} fleet_worked;

/** A worker, and its task for each shape. All callbacks run on the thread that calls work. */
typedef struct fleet_work {
    const char *url;
    fleet_class of;
    const char *name;  /* NULL: made of host, process and a random number */
    const char *spool; /* folder of records that have not reached the server */
    int lease_ms;      /* a worker silent for this long is dead, and others may take its shape */
    int patience_ms;   /* others may also take a shape that takes longer */
    bool until_empty;  /* end when the queue is empty and no worker has a shape in hand */
    bool compiles;     /* serve the workers that measure: take shapes early, a second time, and leave no record */
    void *payload;

    /** Return anything but 0 to finish soon. */
    int (*is_cancelled)(void *payload);
    /**
     * *record: malloc'ed. NULL with TJ_OK: there is no record to keep. TJ_ERR_DEVICE_LOST ends the worker, TJ_ERR_CANCELLED
     * gives the shape back.
     */
    tj_status (*tune)(void *payload, const char *problem, char **record, tj_error *err);
    fleet_merge *merge;
    /** Report a line for people; problem NULL: it concerns no shape. */
    void (*tell)(void *payload, const char *problem, const char *line);
} fleet_work;

typedef void fleet_visit(void *payload, const char *id, const char *record);

/* ---- table -------------------------------------------------------------------------------------------------------- */

typedef struct fleet_table {
    int version; /* FLEET_TABLE_VERSION */

    /**
     * url: redis://... with its parameters (docs/fleet.md). Does not connect yet. Errors: TJ_ERR_INVALID_ARGUMENT, TJ_ERR_IO (a
     * key file).
     */
    tj_status (*share_create)(const char *url, fleet_merge *merge, const tj_log *log, fleet_share **share, tj_error *err);
    /** Send what is still queued, for a second at most. */
    void (*share_free)(fleet_share *share);
    /** True: *bytes is malloc'ed, with a NUL after its end, and was signed by a trusted key for this kind, class and name. */
    bool (*fetch)(fleet_share *share, fleet_kind kind, const char *of, const char *name, void **bytes, size_t *size);
    /** Send later, if the url names a key to sign with. Copies. is_led: ends the lease of lead(). */
    void (*offer)(fleet_share *share, fleet_kind kind, const char *of, const char *name, const void *bytes, size_t size,
                  bool is_led);
    /**
     * Should the caller compile this image for all? True: it does, and then calls offer or yield. False: another process
     * compiled it meanwhile, and *bytes is as from fetch; or no process shares it or compiles it, or the wait was too long, and
     * *bytes is NULL.
     */
    bool (*lead)(fleet_share *share, const char *name, void **bytes, size_t *size);
    void (*yield)(fleet_share *share, const char *name);
    /** The generation of records that the url pins; NULL: none. The second: is there a key to sign with? */
    const char *(*generation)(const fleet_share *share);
    bool (*writes)(const fleet_share *share);
    /**
     * Connect once, independently of other connections, and return the result. *shown (may be NULL): the address without
     * secrets.
     */
    tj_status (*ping)(fleet_share *share, const char **shown, tj_error *err);
    void (*share_count)(fleet_share *share, fleet_share_counts *counts);

    /** needs_key: refuse a url without sign=. */
    tj_status (*open)(const char *url, bool needs_key, fleet **connection, tj_error *err);
    void (*close)(fleet *connection);
    tj_status (*submit)(fleet *connection, const fleet_class *of, const fleet_shape *shape, size_t count, bool again,
                        fleet_submitted *submitted, tj_error *err);
    /** *json: malloc'ed: classes with progress, rates, workers and poisoned shapes. */
    tj_status (*status)(fleet *connection, char **json, tj_error *err);
    /** Cancel the queued shapes, or, if poisoned, the poisoned ones. *count: the number of shapes cancelled. */
    tj_status (*cancel)(fleet *connection, const char *of, bool poisoned, int64_t *count, tj_error *err);
    /**
     * All records of a class that a trusted key signed; *ignored: the number of other records, and *why is the reason for one.
     */
    tj_status (*each_record)(fleet *connection, const char *of, fleet_visit *visit, void *payload, int64_t *ignored,
                             const char **why, tj_error *err);
    /** Keep a text of records under a name that is never used again. */
    tj_status (*keep_generation)(fleet *connection, const char *of, const char *name, const char *text, tj_error *err);
    tj_status (*work)(const fleet_work *work, fleet_worked *worked, tj_error *err);
    /** Write path, readable by its owner alone, and path.pub. Refused if either exists. */
    tj_status (*make_key)(const char *path, tj_error *err);
} fleet_table;

/** The function that the library exports as FLEET_ENTRY. */
typedef const fleet_table *fleet_entry(void);

#endif
