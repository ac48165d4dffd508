/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host: the resources of a call in the process: the log, the driver and the device, NVRTC, the store. Created once and passed
 * down; session/context.h keeps tables such as those of plans.
 */
#ifndef TJ_RUNTIME_HOST_H
#define TJ_RUNTIME_HOST_H

#include <tilejit/event.h>

#include "disk_store.h"
#include "gpu.h"
#include "log.h"
#include "packs.h"
#include "remote.h"

struct tj_nvrtc; /* nvrtc.h */

typedef struct tj_host {
    tj_log log;
    tj_gpu gpu;
    char *nvrtc_path, *dump_dir; /* NULL: default, none */
    bool ignores_environment;
    bool has_lines; /* code says which lines of the stored text it came from */
    tj_disk_store *store;
    tj_packs *packs;               /* searched before the store; NULL: none */
    tj_packs *textbook;            /* for all shapes, next to the library; after those, for images alone; NULL: none */
    tj_remote *remote;             /* asked after both; NULL: none */
    bool is_scratch;               /* it only reads the remote, which is another host's */
    atomic_bool is_remote_refused; /* the driver refused an image from there */
    pthread_mutex_t opening;       /* held while NVRTC is opened, never on a hit */
    struct {
        uint64_t files, loads; /* a tj_nvrtc_stamp (nvrtc_search.h) */
        tj_error why;
    } missing; /* guarded by opening: the stamp of the last search without a result; zeros: there was none */
    _Atomic(const struct tj_nvrtc *) nvrtc; /* NULL until first needed */
    atomic_bool has_card;                   /* of that NVRTC, in the store */
    atomic_bool has_warned_of_dump;
    tj_event_fn on_event; /* NULL: no callback */
    void *event_payload;
    struct {
        _Atomic uint64_t pack_hits, store_hits, remote_hits, compiles, failures, loads, proofs;
    } stats;
} tj_host;

/**
 * It takes over all that is allocated: the paths, the store, the packs, the remote, gpu.driver_path. The other members are set
 * before the first call.
 */
void tj_host_begin(tj_host *host);
void tj_host_end(tj_host *host);

/**
 * A host for trying things out: the libraries, the device and the log of another one, whose store and remote it reads and never
 * writes; it has no packs. It must not outlive the other. Errors: TJ_ERR_OUT_OF_MEMORY, and *scratch is still to be ended.
 */
tj_status tj_host_begin_scratch(tj_host *scratch, const tj_host *host, tj_error *err);

/**
 * NVRTC, opened on first use. A failure is remembered until something changes that the search examines: installing it and
 * calling again works.
 */
tj_status tj_host_nvrtc(tj_host *host, const struct tj_nvrtc **nvrtc, tj_error *err);

/** Was there none at the last search, and would another find none either? Opens nothing. */
bool tj_host_lacks_nvrtc(tj_host *host);

/** Store the facts about the NVRTC that just compiled, so that the next process need not open it for a stored kernel. */
void tj_host_remember_nvrtc(tj_host *host);

/** As tj_target_for. */
tj_status tj_host_target(tj_host *host, int cc_major, int cc_minor, char *target, tj_error *err);

/** NULL stays NULL; false only when memory ran out. */
bool tj_copy_text(char **copy, const char *text);

#endif
