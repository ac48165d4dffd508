/* SPDX-License-Identifier: Apache-2.0 */
#include "shared.h"

#include <stdlib.h>

#include "packed.h"

static bool is_shared(tj_host *host)
{
    return host->remote && !atomic_load_explicit(&host->is_remote_refused, memory_order_relaxed);
}

/* Decode an item of the server. bytes: freed. */
static tj_image_body *take(tj_host *host, const tj_source *source, const tj_key *key, void *bytes, size_t size)
{
    const char *trouble;
    tj_image_body *body = tj_packed_read(bytes, size, source, key, &trouble);

    free(bytes);
    if (!body) {
        if (trouble)
            tj_log_line(&host->log, TJ_LOG_WARNING, "the image %s from the remote is of no use: %s", key->hex, trouble);
        return NULL;
    }
    atomic_fetch_add_explicit(&host->stats.remote_hits, 1, memory_order_relaxed);
    tj_log_line(&host->log, TJ_LOG_DEBUG, "%s for %s from the remote, key %s", tj_source_kernel(source), body->target,
                key->hex);
    if (!host->is_scratch)
        tj_image_publish(host, source, body);
    return body;
}

tj_image_body *tj_shared_fetch(tj_host *host, const tj_source *source, const tj_key *key)
{
    void *bytes;
    size_t size;

    return is_shared(host) && tj_remote_fetch(host->remote, FLEET_IMAGE, "", key->hex, &bytes, &size)
               ? take(host, source, key, bytes, size)
               : NULL;
}

tj_image_body *tj_shared_await(tj_host *host, const tj_source *source, const tj_key *key, bool *leads)
{
    void *bytes;
    size_t size;

    *leads = false;
    if (!is_shared(host) || host->is_scratch) /* a tuning compiles what nobody else waits for */
        return NULL;
    *leads = tj_remote_lead(host->remote, key->hex, &bytes, &size);
    return bytes ? take(host, source, key, bytes, size) : NULL;
}

void tj_shared_give_up(tj_host *host, const tj_key *key)
{
    tj_remote_yield(host->remote, key->hex);
}

void tj_shared_offer(tj_host *host, const tj_source *source, tj_image_body *body, bool leads)
{
    const tj_image image = {body, TJ_FROM_COMPILER};
    tj_pack_draft *draft;
    void *bytes = NULL;
    size_t size;

    if (!is_shared(host) || host->is_scratch || !tj_remote_writes(host->remote))
        return;
    draft = tj_pack_draft_create();
    if (draft && tj_packed_add_image(draft, source, &image, false, NULL) == TJ_OK &&
        tj_pack_draft_print(draft, &bytes, &size, NULL) == TJ_OK)
        tj_remote_offer(host->remote, FLEET_IMAGE, "", body->key.hex, bytes, size, leads);
    else if (leads)
        tj_shared_give_up(host, &body->key);
    free(bytes);
    tj_pack_draft_free(draft);
}
