/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * store_threads: 32 threads fetch, publish, lock, list and explain in one small store that evicts all the time. No fetch may give
 * wrong bytes; ThreadSanitizer sees the rest.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "disk_store.h"

enum { THREADS = 32, ROUNDS = 12, KEYS = 10, CONTENT = 2000 };

static char root[64] = "/tmp/tilejit-threads-XXXXXX";

typedef struct worker {
    tj_disk_store *store;
    int number, hits, wrong;
} worker;

static int count_entry(const tj_store_entry *entry, void *payload)
{
    (void)entry;
    ++*(int *)payload;
    return 0;
}

static void count_field(const tj_store_field *field, void *payload)
{
    (void)field;
    ++*(int *)payload;
}

static void work_once(worker *me, int round)
{
    const int number = (me->number * 3 + round) % KEYS;
    char name[16], content[CONTENT];
    const tj_blob file = {"kernel.ptx", content, CONTENT};
    tj_key key = {.count = 0};
    tj_stored stored;
    int seen = 0, hit, lock;

    snprintf(name, sizeof name, "%d", number);
    tj_key_add(&key, "source", name);
    tj_key_seal(&key);
    memset(content, 'a' + number, sizeof content);
    if (tj_disk_store_fetch(me->store, &key, &stored)) {
        me->hits++;
        me->wrong += stored.count != 1 || stored.file[0].size != CONTENT || memcmp(stored.file[0].bytes, content, CONTENT) != 0;
        tj_stored_drop(&stored);
    } else {
        tj_json *facts = tj_json_new();

        tj_json_add_text(facts, "kernel", name);
        lock = tj_disk_store_lock(me->store, &key, 20);
        tj_disk_store_publish(me->store, &key, &file, 1, facts);
        tj_disk_store_unlock(lock);
        tj_json_free(facts);
    }
    if (round % 4 == 0) {
        me->wrong += tj_disk_store_list(me->store, true, count_entry, &seen, NULL) != TJ_OK;
        seen = 0;
        me->wrong += tj_disk_store_explain(me->store, &key, &hit, count_field, &seen, NULL) != TJ_OK || seen != 1;
        me->wrong += tj_disk_store_trouble(me->store) != NULL;
    }
}

static void *work(void *payload)
{
    for (int round = 0; round < ROUNDS; round++)
        work_once(payload, round);
    return NULL;
}

int main(void)
{
    pthread_t thread[THREADS];
    worker workers[THREADS];
    tj_disk_store *store;
    char command[128];
    int hits = 0, wrong = 0;

    if (!mkdtemp(root))
        return perror(root), 1;
    store = tj_disk_store_create(root, NULL, KEYS / 2 * (CONTENT + 600), NULL);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (worker){.store = store, .number = i};
        if (pthread_create(&thread[i], NULL, work, &workers[i]) != 0)
            return perror("pthread_create"), 1;
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        hits += workers[i].hits;
        wrong += workers[i].wrong;
    }
    tj_disk_store_free(store);
    snprintf(command, sizeof command, "rm -rf %s", root);
    if (system(command) != 0)
        wrong++;
    printf("store_threads: %d rounds, %d hits, %d wrong\n", THREADS * ROUNDS, hits, wrong);
    return wrong == 0 && hits > 0 ? 0 : 1;
}
