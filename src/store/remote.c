/* SPDX-License-Identifier: Apache-2.0 */
#include "remote.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "component.h"
#include "error.h"

struct tj_remote {
    char *address;
    fleet_merge *merge;
    tj_log log;
    pthread_mutex_t lock; /* held while the library is opened */
    atomic_bool is_tried; /* once set, the members below do not change */
    const fleet_table *table;
    fleet_share *share; /* NULL: no server can be asked */
    char trouble[TJ_ERROR_MESSAGE_BYTES];
};

tj_remote *tj_remote_create(const char *address, fleet_merge *merge, const tj_log *log)
{
    tj_remote *remote = calloc(1, sizeof *remote);

    if (!remote)
        return NULL;
    remote->address = strdup(address);
    if (!remote->address) {
        free(remote);
        return NULL;
    }
    remote->merge = merge;
    remote->log = *log;
    pthread_mutex_init(&remote->lock, NULL);
    return remote;
}

static tj_status open_share(tj_remote *remote, tj_error *err)
{
    void *library, *address;
    fleet_entry *entry;
    tj_error why;
    const tj_status status = tj_component_open((const void *)&FLEET_LIBRARY[0], FLEET_LIBRARY, &library, &why);

    if (status != TJ_OK)
        return tj_fail(err, status, "%.380s: it is built where hiredis and libsodium are", why.message);
    address = dlsym(library, FLEET_ENTRY);
    if (address) {
        memcpy(&entry, &address, sizeof entry);
        remote->table = entry();
    }
    if (!remote->table || remote->table->version != FLEET_TABLE_VERSION)
        return tj_fail(err, TJ_ERR_UNSUPPORTED, FLEET_LIBRARY " is of another version of TileJIT: install both together");
    return remote->table->share_create(remote->address, remote->merge, &remote->log, &remote->share, err);
}

/* NULL: there is no server to ask. */
static fleet_share *share_of(tj_remote *remote)
{
    tj_error why;

    if (!remote)
        return NULL;
    if (!atomic_load_explicit(&remote->is_tried, memory_order_acquire)) {
        pthread_mutex_lock(&remote->lock);
        if (!atomic_load_explicit(&remote->is_tried, memory_order_relaxed)) {
            if (open_share(remote, &why) != TJ_OK) {
                (void)strcpy(remote->trouble, why.message);
                tj_log_line(&remote->log, TJ_LOG_WARNING, "nothing is shared: %s", why.message);
            }
            atomic_store_explicit(&remote->is_tried, true, memory_order_release);
        }
        pthread_mutex_unlock(&remote->lock);
    }
    return remote->share;
}

void tj_remote_free(tj_remote *remote)
{
    if (!remote)
        return;
    if (remote->share)
        remote->table->share_free(remote->share);
    pthread_mutex_destroy(&remote->lock);
    free(remote->address);
    free(remote);
}

bool tj_remote_fetch(tj_remote *remote, fleet_kind kind, const char *of, const char *name, void **bytes, size_t *size)
{
    fleet_share *share = share_of(remote);

    return share && remote->table->fetch(share, kind, of, name, bytes, size);
}

void tj_remote_offer(tj_remote *remote, fleet_kind kind, const char *of, const char *name, const void *bytes, size_t size,
                     bool is_led)
{
    fleet_share *share = share_of(remote);

    if (share)
        remote->table->offer(share, kind, of, name, bytes, size, is_led);
}

bool tj_remote_lead(tj_remote *remote, const char *name, void **bytes, size_t *size)
{
    fleet_share *share = share_of(remote);

    *bytes = NULL;
    return share && remote->table->lead(share, name, bytes, size);
}

void tj_remote_yield(tj_remote *remote, const char *name)
{
    fleet_share *share = share_of(remote);

    if (share)
        remote->table->yield(share, name);
}

bool tj_remote_writes(tj_remote *remote)
{
    fleet_share *share = share_of(remote);

    return share && remote->table->writes(share);
}

const char *tj_remote_generation(tj_remote *remote)
{
    fleet_share *share = share_of(remote);

    return share ? remote->table->generation(share) : NULL;
}

uint64_t tj_remote_troubles(tj_remote *remote)
{
    fleet_share_counts counts = {.troubles = 0};

    if (remote && atomic_load_explicit(&remote->is_tried, memory_order_acquire) && remote->share)
        remote->table->share_count(remote->share, &counts);
    return counts.troubles;
}

tj_status tj_remote_ping(tj_remote *remote, const char **shown, tj_error *err)
{
    fleet_share *share = share_of(remote);

    return share ? remote->table->ping(share, shown, err)
                 : tj_fail(err, TJ_ERR_IO, "%s", remote ? remote->trouble : "no address is named");
}
