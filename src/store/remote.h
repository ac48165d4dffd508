/* SPDX-License-Identifier: Apache-2.0 */
/*
 * remote: a server that other machines fill and read, asked after all local sources. The client is the optional library of
 * fleet/, opened on the first request. Nothing here can fail a request: all trouble is a miss, and one warning.
 */
#ifndef TJ_SRC_REMOTE_H
#define TJ_SRC_REMOTE_H

#include "fleet.h"
#include "log.h"

typedef struct tj_remote tj_remote;

/** address and log are copied. merge decides between records. Opens nothing. NULL only when out of memory. */
tj_remote *tj_remote_create(const char *address, fleet_merge *merge, const tj_log *log);

/** Send what is still queued, for a second at most, and free. NULL: accepted. */
void tj_remote_free(tj_remote *remote);

/* As in fleet_table. remote may be NULL: a miss, and nothing is sent. */
bool tj_remote_fetch(tj_remote *remote, fleet_kind kind, const char *of, const char *name, void **bytes, size_t *size);
void tj_remote_offer(tj_remote *remote, fleet_kind kind, const char *of, const char *name, const void *bytes, size_t size,
                     bool is_led);
bool tj_remote_lead(tj_remote *remote, const char *name, void **bytes, size_t *size);
void tj_remote_yield(tj_remote *remote, const char *name);

/** Are results of this process sent there? */
bool tj_remote_writes(tj_remote *remote);

/** Return the pinned generation of records; NULL: none. */
const char *tj_remote_generation(tj_remote *remote);

/** Count the requests without an answer, or answered with an error. Opens nothing. */
uint64_t tj_remote_troubles(tj_remote *remote);

/**
 * Does the server answer, within seconds? *shown (may be NULL): its address without secrets. Errors: TJ_ERR_IO, or why no
 * server can be asked.
 */
tj_status tj_remote_ping(tj_remote *remote, const char **shown, tj_error *err);

#endif
