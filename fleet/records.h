/* SPDX-License-Identifier: Apache-2.0 */
/*
 * records: only a better record replaces a record on the server, whoever writes at the same time; the shape becomes done in the
 * same script.
 */
#ifndef TJ_FLEET_RECORDS_H
#define TJ_FLEET_RECORDS_H

#include "trust.h"
#include "wire.h"

typedef enum fleet_kept { FLEET_PRESENT_STAYS, FLEET_IS_NEW, FLEET_IS_BETTER } fleet_kept;

/** A record, and the function that decides between it and the one that is there. */
typedef struct fleet_offer {
    const char *of, *id; /* the class of devices, and the shape */
    const char *record;
    fleet_merge *merge;
    void *payload;
    bool finishes;   /* the shape leaves the queue with it */
    int deadline_ms; /* of each request to the server */
} fleet_offer;

/** *was_queued may be NULL. Errors: those of fleet_wire_ask and of merge. */
tj_status fleet_keep_record(fleet_wire *wire, const fleet_trust *trust, const fleet_offer *offer, fleet_kept *kept,
                            bool *was_queued, tj_error *err);

#endif
