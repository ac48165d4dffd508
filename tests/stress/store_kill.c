/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change; sanitizers: nightly (processes that are killed) */
/*
 * store_kill [KILLS]: writers publish, fetch and evict the same keys and are killed at random points (kill -9). Afterwards every
 * entry verifies, every fetch gives the right bytes or a miss, and the store still takes new entries.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "disk_store.h"

enum { WRITERS = 6, KEYS = 24, CONTENT = 6000 };

static char root[64] = "/tmp/tilejit-kill-XXXXXX";

static tj_key make_key(int number, char *name)
{
    tj_key key = {.count = 0};

    sprintf(name, "source %d", number);
    tj_key_add(&key, "source", name);
    tj_key_seal(&key);
    return key;
}

static void fill(char *content, int number)
{
    for (int i = 0; i < CONTENT; i++)
        content[i] = (char)('a' + (i * 7 + number) % 26);
}

/* 0: a miss; 1: right; -1: wrong bytes. */
static int look(tj_disk_store *store, int number)
{
    char name[32], content[CONTENT];
    const tj_key key = make_key(number, name);
    tj_stored stored;
    int answer;

    fill(content, number);
    if (!tj_disk_store_fetch(store, &key, &stored))
        return 0;
    answer =
        stored.count == 1 && stored.file[0].size == CONTENT && memcmp(stored.file[0].bytes, content, CONTENT) == 0 ? 1 : -1;
    tj_stored_drop(&stored);
    return answer;
}

static void put(tj_disk_store *store, int number)
{
    char name[32], content[CONTENT];
    const tj_key key = make_key(number, name);
    const tj_blob file = {"kernel.ptx", content, CONTENT};
    tj_json *facts = tj_json_new();

    fill(content, number);
    tj_json_add_text(facts, "kernel", name);
    tj_disk_store_publish(store, &key, &file, 1, facts);
    tj_json_free(facts);
}

static void write_for_ever(unsigned seed)
{
    /* Small enough that eviction runs all the time. */
    tj_disk_store *store = tj_disk_store_create(root, NULL, KEYS / 2 * (CONTENT + 1000), NULL);

    for (;;) {
        const int number = rand_r(&seed) % KEYS;
        const int answer = look(store, number);
        if (answer < 0)
            _exit(99);
        if (answer == 0)
            put(store, number);
        if (rand_r(&seed) % 64 == 0)
            tj_disk_store_clear(store, rand_r(&seed) % 2, NULL, NULL);
    }
}

static int count_entry(const tj_store_entry *entry, void *payload)
{
    int *counts = payload;

    counts[0]++;
    counts[1] += entry->damage != NULL;
    if (entry->damage)
        fprintf(stderr, "%s: %s\n", entry->path, entry->damage);
    return 0;
}

int main(int argc, char **argv)
{
    const int kills = argc > 1 ? atoi(argv[1]) : 200;
    pid_t writer[WRITERS] = {0};
    int wrong = 0, counts[2] = {0, 0}, right = 0;
    unsigned seed = 20261120;
    tj_disk_store *store;
    char command[128];

    if (!mkdtemp(root))
        return perror(root), 1;
    for (int done = 0; done < kills;) {
        const int victim = rand_r(&seed) % WRITERS;
        int status;
        for (int w = 0; w < WRITERS; w++)
            if (writer[w] == 0 && (writer[w] = fork()) == 0)
                write_for_ever((unsigned)(done * WRITERS + w));
        nanosleep(&(struct timespec){0, 1000000L + rand_r(&seed) % 15000000}, NULL);
        kill(writer[victim], SIGKILL);
        if (waitpid(writer[victim], &status, 0) == writer[victim] && WIFEXITED(status) && WEXITSTATUS(status) == 99)
            wrong++;
        writer[victim] = 0;
        done++;
    }
    for (int w = 0; w < WRITERS; w++)
        if (writer[w] > 0) {
            kill(writer[w], SIGKILL);
            waitpid(writer[w], NULL, 0);
        }

    store = tj_disk_store_create(root, NULL, 1 << 30, NULL);
    if (tj_disk_store_list(store, true, count_entry, counts, NULL) != TJ_OK)
        wrong++;
    for (int i = 0; i < KEYS; i++) {
        put(store, i);
        right += look(store, i) == 1;
    }
    tj_disk_store_free(store);
    snprintf(command, sizeof command, "rm -rf %s", root);
    if (system(command) != 0)
        wrong++;
    printf("store_kill: %d kills, %d entries, %d damaged, %d wrong reads, %d of %d keys work afterwards\n", kills, counts[0],
           counts[1], wrong, right, KEYS);
    return counts[1] == 0 && wrong == 0 && right == KEYS ? 0 : 1;
}
