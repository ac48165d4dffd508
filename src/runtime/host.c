/* SPDX-License-Identifier: Apache-2.0 */
#include "host.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "nvrtc_card.h"
#include "nvrtc_search.h"

bool tj_copy_text(char **copy, const char *text)
{
    *copy = text ? strdup(text) : NULL;
    return !text || *copy;
}

void tj_host_begin(tj_host *host)
{
    memset(host, 0, sizeof *host);
    tj_gpu_begin(&host->gpu, &host->log);
    pthread_mutex_init(&host->opening, NULL);
}

void tj_host_end(tj_host *host)
{
    tj_disk_store_free(host->store);
    tj_packs_free(host->packs);
    tj_packs_free(host->textbook);
    if (!host->is_scratch)
        tj_remote_free(host->remote);
    tj_gpu_end(&host->gpu);
    tj_nvrtc_forget(atomic_load(&host->nvrtc));
    pthread_mutex_destroy(&host->opening);
    free(host->nvrtc_path);
    free(host->dump_dir);
}

tj_status tj_host_begin_scratch(tj_host *scratch, const tj_host *host, tj_error *err)
{
    tj_host_begin(scratch);
    scratch->log = host->log;
    scratch->gpu.device = host->gpu.device;
    scratch->gpu.allocator = host->gpu.allocator;
    scratch->ignores_environment = scratch->gpu.ignores_environment = host->ignores_environment;
    scratch->remote = host->remote;
    scratch->is_scratch = true;
    if (tj_copy_text(&scratch->nvrtc_path, host->nvrtc_path) &&
        tj_copy_text(&scratch->gpu.driver_path, host->gpu.driver_path) &&
        (scratch->store = tj_disk_store_create_reader(host->store)))
        return TJ_OK;
    return tj_fail_memory(err, "a host for trying things out");
}

/* The choice of NVRTC depends on the driver, if there is one; compiling needs none. */
static int driver_version_if_any(tj_host *host)
{
    const tj_driver *driver = NULL;

    return tj_gpu_driver(&host->gpu, &driver, NULL) == TJ_OK ? driver->version : 0;
}

static const tj_nvrtc *recall_nvrtc(tj_host *host, int driver_version)
{
    const tj_nvrtc *nvrtc = NULL;
    char name[64], *card;

    tj_nvrtc_card_name(host->nvrtc_path, driver_version, name);
    card = tj_disk_store_read_note(host->store, name);
    if (card)
        nvrtc = tj_nvrtc_recall(card);
    free(card);
    if (nvrtc)
        atomic_store_explicit(&host->has_card, true, memory_order_relaxed);
    return nvrtc;
}

/* Under the lock: did a search find none, and is all that it examined unchanged? */
static bool is_missing(const tj_host *host)
{
    tj_nvrtc_stamp now;

    if (host->missing.files == 0)
        return false;
    now = tj_nvrtc_search_stamp(host->nvrtc_path);
    return now.files == host->missing.files && now.loads == host->missing.loads;
}

bool tj_host_lacks_nvrtc(tj_host *host)
{
    bool answer;

    pthread_mutex_lock(&host->opening);
    answer = is_missing(host);
    pthread_mutex_unlock(&host->opening);
    return answer;
}

/*
 * Under the lock. The stamp of files is taken before the search, so that a file added meanwhile is not missed; that of
 * libraries after it, since an unusable one may have loaded others.
 */
static tj_status search(tj_host *host, int driver_version, const tj_nvrtc **nvrtc, tj_error *err)
{
    tj_nvrtc_stamp before;
    tj_status status = TJ_OK;

    if (!is_missing(host)) {
        host->missing.files = 0;
        if ((*nvrtc = recall_nvrtc(host, driver_version)))
            return TJ_OK;
        before = tj_nvrtc_search_stamp(host->nvrtc_path);
        status = tj_nvrtc_open(host->nvrtc_path, driver_version, &host->log, nvrtc, &host->missing.why);
        if (status == TJ_ERR_NO_COMPILER) {
            host->missing.files = before.files;
            host->missing.loads = tj_nvrtc_search_stamp(host->nvrtc_path).loads;
        }
    } else {
        status = host->missing.why.status;
    }
    if (status != TJ_OK && err)
        *err = host->missing.why;
    return status;
}

tj_status tj_host_nvrtc(tj_host *host, const tj_nvrtc **nvrtc, tj_error *err)
{
    tj_status status = tj_gpu_check_process(&host->gpu, err);
    int driver_version;

    *nvrtc = atomic_load_explicit(&host->nvrtc, memory_order_acquire);
    if (status != TJ_OK || *nvrtc)
        return status;
    driver_version = driver_version_if_any(host);
    pthread_mutex_lock(&host->opening);
    *nvrtc = atomic_load_explicit(&host->nvrtc, memory_order_relaxed);
    if (!*nvrtc) {
        status = search(host, driver_version, nvrtc, err);
        if (status == TJ_OK)
            atomic_store_explicit(&host->nvrtc, *nvrtc, memory_order_release);
    }
    pthread_mutex_unlock(&host->opening);
    return status;
}

void tj_host_remember_nvrtc(tj_host *host)
{
    const tj_nvrtc *nvrtc = atomic_load_explicit(&host->nvrtc, memory_order_acquire);
    char name[64], *card;

    if (!nvrtc || atomic_exchange_explicit(&host->has_card, true, memory_order_relaxed))
        return;
    card = tj_nvrtc_card_write(nvrtc);
    if (!card)
        return;
    tj_nvrtc_card_name(host->nvrtc_path, driver_version_if_any(host), name);
    tj_disk_store_write_note(host->store, name, card);
    free(card);
}
