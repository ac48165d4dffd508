/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of the store: a folder, keys, and entries put there and got back. */
#ifndef TJ_TESTS_DISK_STORE_H
#define TJ_TESTS_DISK_STORE_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

#include "disk_store.h"
#include "fs.h"
#include "store_entry.h"

static char root[64];
static atomic_int warnings;

static inline void count_warning(tj_log_level level, const char *line, void *payload)
{
    (void)line;
    (void)payload;
    warnings += level == TJ_LOG_WARNING;
}

static const tj_log test_log = {TJ_LOG_WARNING, count_warning, NULL};

static inline void make_root(void)
{
    strcpy(root, "/tmp/tilejit-store-XXXXXX");
    cr_assert(ne(ptr, mkdtemp(root), NULL));
}

static inline void remove_root(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", root);
    cr_assert(eq(int, system(command), 0));
}

static inline tj_disk_store *open_store(int64_t max_bytes)
{
    tj_disk_store *store = tj_disk_store_create(root, NULL, max_bytes, &test_log);

    cr_assert(ne(ptr, store, NULL));
    return store;
}

static inline tj_key key_of(const char *source)
{
    tj_key key = {.count = 0};

    tj_key_add(&key, "schema", "1");
    tj_key_add(&key, "source", source);
    tj_key_add(&key, "target", "sm_90");
    tj_key_seal(&key);
    return key;
}

static inline void put(tj_disk_store *store, const tj_key *key, const char *content)
{
    const tj_blob files[] = {{"kernel.ptx", content, strlen(content)}, {"kernel.cubin", "\0\1\2", 3}, {"build.log", "", 0}};
    tj_json *facts = tj_json_new();

    tj_json_add_text(facts, "kernel", "tiled");
    tj_json_add_int(facts, "registers", 32);
    tj_disk_store_publish(store, key, files, 3, facts);
    tj_json_free(facts);
}

/* 1: a hit with exactly these bytes; 0: a miss; -1: a hit with wrong bytes, which must never be. */
static inline int get(tj_disk_store *store, const tj_key *key, const char *content)
{
    tj_stored stored;
    int answer = 1;

    if (!tj_disk_store_fetch(store, key, &stored))
        return 0;
    if (stored.count != 3 || tj_json_int(tj_json_get(stored.facts, "registers")) != 32 ||
        strcmp(tj_json_text(tj_json_get(stored.facts, "kernel")), "tiled") != 0)
        answer = -1;
    for (size_t i = 0; i < stored.count; i++) {
        const tj_blob *file = &stored.file[i];
        const bool is_right = strcmp(file->name, "kernel.ptx") == 0
                                  ? file->size == strlen(content) && memcmp(file->bytes, content, file->size) == 0
                              : strcmp(file->name, "kernel.cubin") == 0
                                  ? file->size == 3 && memcmp(file->bytes, "\0\1\2", 3) == 0
                                  : file->size == 0;
        if (!is_right || ((const char *)file->bytes)[file->size] != '\0')
            answer = -1;
    }
    tj_stored_drop(&stored);
    return answer;
}

static inline int count_entry(const tj_store_entry *entry, void *payload)
{
    int *counts = payload; /* all, damaged */

    counts[0]++;
    counts[1] += entry->damage != NULL;
    return 0;
}

static inline void entry_path(const tj_key *key, const char *file, char path[256])
{
    snprintf(path, 256, "%s/v1/%.2s/%s/%s", root, key->hex, key->hex + 2, file);
}

static inline void rewrite(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    cr_assert(ne(ptr, file, NULL), "%s", path);
    cr_assert(eq(sz, fwrite(bytes, 1, size, file), size));
    cr_assert(eq(int, fclose(file), 0));
}

#endif
