/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store: what was put in comes out, or nothing does; and no state of the disk is an error.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include "disk_store.h"
#include "fs.h"
#include "store_entry.h"

static char root[64];
static int warnings;

static void count_warning(tj_log_level level, const char *line, void *payload)
{
    (void)line;
    (void)payload;
    warnings += level == TJ_LOG_WARNING;
}

static const tj_log test_log = {TJ_LOG_WARNING, count_warning, NULL};

static void make_root(void)
{
    strcpy(root, "/tmp/tilejit-store-XXXXXX");
    cr_assert(ne(ptr, mkdtemp(root), NULL));
}

static void remove_root(void)
{
    char command[128];

    snprintf(command, sizeof command, "rm -rf %s", root);
    cr_assert(eq(int, system(command), 0));
}

static tj_disk_store *open_store(int64_t max_bytes)
{
    tj_disk_store *store = tj_disk_store_create(root, NULL, max_bytes, &test_log);

    cr_assert(ne(ptr, store, NULL));
    return store;
}

static tj_key key_of(const char *source)
{
    tj_key key = {.count = 0};

    tj_key_add(&key, "schema", "1");
    tj_key_add(&key, "source", source);
    tj_key_add(&key, "target", "sm_90");
    tj_key_seal(&key);
    return key;
}

static void put(tj_disk_store *store, const tj_key *key, const char *content)
{
    const tj_blob files[] = {{"kernel.ptx", content, strlen(content)}, {"kernel.cubin", "\0\1\2", 3}, {"build.log", "", 0}};
    json_t *facts = json_pack("{ss si}", "kernel", "tiled", "registers", 32);

    tj_disk_store_publish(store, key, files, 3, facts);
    json_decref(facts);
}

/* 1: a hit with exactly these bytes; 0: a miss; -1: a hit with wrong bytes, which must never be. */
static int get(tj_disk_store *store, const tj_key *key, const char *content)
{
    tj_stored stored;
    int answer = 1;

    if (!tj_disk_store_fetch(store, key, &stored))
        return 0;
    if (stored.count != 3 || json_integer_value(json_object_get(stored.facts, "registers")) != 32 ||
        strcmp(json_string_value(json_object_get(stored.facts, "kernel")), "tiled") != 0)
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

static int count_entry(const tj_store_entry *entry, void *payload)
{
    int *counts = payload; /* all, damaged */

    counts[0]++;
    counts[1] += entry->damage != NULL;
    return 0;
}

static void entry_path(const tj_key *key, const char *file, char path[256])
{
    snprintf(path, 256, "%s/v1/%.2s/%s/%s", root, key->hex, key->hex + 2, file);
}

TestSuite(disk_store, .init = make_root, .fini = remove_root);

Test(disk_store, gives_back_what_was_put_in)
{
    tj_disk_store *store = open_store(1 << 20);
    const tj_key key = key_of("one"), other = key_of("two");
    int counts[2] = {0, 0};

    cr_assert(eq(int, get(store, &key, "ptx one"), 0));
    put(store, &key, "ptx one");
    cr_assert(eq(int, get(store, &key, "ptx one"), 1));
    cr_assert(eq(int, get(store, &other, "ptx one"), 0));
    tj_disk_store_free(store);
    store = open_store(1 << 20);
    cr_assert(eq(int, get(store, &key, "ptx one"), 1));
    cr_assert(eq(int, tj_disk_store_list(store, true, count_entry, counts, NULL), TJ_OK));
    cr_assert(eq(int, counts[0], 1));
    cr_assert(eq(int, counts[1], 0));
    cr_assert(eq(int, warnings, 0));
    tj_disk_store_free(store);
}

Test(disk_store, counts_hits_by_the_size_of_used)
{
    tj_disk_store *store = open_store(1 << 20);
    const tj_key key = key_of("one");
    struct stat facts;
    char path[256];

    put(store, &key, "ptx");
    for (int i = 0; i < 5; i++)
        cr_assert(eq(int, get(store, &key, "ptx"), 1));
    entry_path(&key, "used", path);
    cr_assert(eq(int, stat(path, &facts), 0));
    cr_assert(eq(i64, facts.st_size, 5));
    tj_disk_store_free(store);
}

Test(disk_store, treats_an_equal_hash_with_other_fields_as_a_miss)
{
    tj_disk_store *store = open_store(1 << 20);
    const tj_key key = key_of("one");
    tj_key colliding = key_of("two");

    put(store, &key, "ptx one");
    colliding.hash = key.hash;
    memcpy(colliding.hex, key.hex, sizeof key.hex);
    cr_assert(eq(int, get(store, &colliding, "ptx two"), 0));
    tj_disk_store_free(store);
}

Test(disk_store, tells_fields_apart_that_run_together)
{
    tj_key a = {.count = 0}, b = {.count = 0};

    tj_key_add(&a, "x", "ab");
    tj_key_add(&a, "y", "c");
    tj_key_add(&b, "x", "a");
    tj_key_add(&b, "y", "bc");
    tj_key_seal(&a);
    tj_key_seal(&b);
    cr_assert(ne(str, a.hex, b.hex));
}

static void rewrite(const char *path, const char *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    cr_assert(ne(ptr, file, NULL), "%s", path);
    cr_assert(eq(sz, fwrite(bytes, 1, size, file), size));
    cr_assert(eq(int, fclose(file), 0));
}

/* Each byte of each file flipped, and each file cut at each length: a miss, or the same bytes; a wrong byte never. */
Test(disk_store, survives_every_byte_flipped_and_every_length_cut)
{
    static const char *const files[] = {"kernel.ptx", "kernel.cubin", "build.log", "manifest.json"};
    const tj_key key = key_of("one");
    int hits = 0, misses = 0;

    for (size_t f = 0; f < 4; f++) {
        char path[256], *bytes = NULL;
        size_t size = 0;

        entry_path(&key, files[f], path);
        for (size_t at = 0; !bytes || at < 2 * size; at++) {
            tj_disk_store *store = open_store(1 << 20);
            int answer;

            put(store, &key, "ptx one");
            if (!bytes) {
                cr_assert(tj_fs_read(AT_FDCWD, path, 1 << 20, &bytes, &size));
                if (size == 0) {
                    tj_disk_store_free(store);
                    break;
                }
            }
            if (at < size) {
                bytes[at] ^= 0x20;
                rewrite(path, bytes, size);
                bytes[at] ^= 0x20;
            } else {
                rewrite(path, bytes, at - size);
            }
            answer = get(store, &key, "ptx one");
            cr_assert(ge(int, answer, 0), "%s, position %zu of %zu gave wrong bytes", files[f], at, size);
            hits += answer == 1;
            misses += answer == 0;
            if (answer == 1) /* a blank of the manifest: put the entry back for the next round */
                rewrite(path, bytes, size);
            tj_disk_store_free(store);
        }
        free(bytes);
    }
    cr_assert(gt(int, misses, 500), "%d misses, %d hits", misses, hits);
    cr_assert(lt(int, hits, misses / 5), "%d misses, %d hits", misses, hits);
}

Test(disk_store, names_damage_and_clears_only_that)
{
    tj_disk_store *store = open_store(1 << 20);
    const tj_key good = key_of("good"), bad = key_of("bad");
    int counts[2] = {0, 0};
    int64_t removed = -1;
    char path[256];

    put(store, &good, "ptx");
    put(store, &bad, "ptx");
    entry_path(&bad, "kernel.ptx", path);
    rewrite(path, "bad", 3);
    cr_assert(eq(int, tj_disk_store_list(store, true, count_entry, counts, NULL), TJ_OK));
    cr_assert(eq(int, counts[0], 2));
    cr_assert(eq(int, counts[1], 1));
    cr_assert(eq(int, tj_disk_store_clear(store, true, &removed, NULL), TJ_OK));
    cr_assert(eq(i64, removed, 1));
    cr_assert(eq(int, get(store, &good, "ptx"), 1));
    cr_assert(eq(int, get(store, &bad, "ptx"), 0));
    cr_assert(eq(int, tj_disk_store_clear(store, false, &removed, NULL), TJ_OK));
    cr_assert(eq(i64, removed, 1));
    tj_disk_store_free(store);
}

Test(disk_store, keeps_within_its_bytes_and_drops_the_least_recently_used)
{
    tj_disk_store *store = open_store(40 * 1024);
    char content[4096], path[256], name[8];
    int counts[2] = {0, 0};

    memset(content, 'x', sizeof content - 1);
    content[sizeof content - 1] = '\0';
    for (int i = 0; i < 30; i++) {
        tj_key key;
        snprintf(name, sizeof name, "%d", i);
        key = key_of(name);
        put(store, &key, content);
        entry_path(&key, "used", path);
        utime(path, &(struct utimbuf){1000 + i, 1000 + i});
        if (i >= 2) { /* the first is used all the time */
            const tj_key first = key_of("0");
            cr_assert(eq(int, get(store, &first, content), 1), "after %d", i);
        }
    }
    cr_assert(eq(int, tj_disk_store_list(store, true, count_entry, counts, NULL), TJ_OK));
    cr_assert(le(int, counts[0], 10));
    cr_assert(ge(int, counts[0], 4));
    cr_assert(eq(int, counts[1], 0));
    tj_disk_store_free(store);
}

Test(disk_store, searches_read_only_roots_and_never_writes_there)
{
    tj_disk_store *maker = open_store(1 << 20), *reader;
    char own[80], path[256];
    const char *const read_only[] = {root, NULL};
    const tj_key key = key_of("one"), other = key_of("two");
    struct stat facts;

    put(maker, &key, "ptx");
    tj_disk_store_free(maker);
    snprintf(own, sizeof own, "%s/own", root);
    reader = tj_disk_store_create(own, read_only, 1 << 20, &test_log);
    cr_assert(eq(int, get(reader, &key, "ptx"), 1));
    entry_path(&key, "used", path);
    cr_assert(eq(int, stat(path, &facts), 0));
    cr_assert(eq(i64, facts.st_size, 0));
    put(reader, &other, "ptx");
    entry_path(&other, "kernel.ptx", path);
    cr_assert(ne(int, stat(path, &facts), 0));
    cr_assert(eq(int, get(reader, &other, "ptx"), 1));
    tj_disk_store_free(reader);
}

/* Roots that cannot be used: each a miss, one warning, and no harm. */
Test(disk_store, goes_on_without_a_disk)
{
    static const char *const kinds[] = {"file", "link", "fifo", "open to others", "dev", "long", "none"};
    const tj_key key = key_of("one");

    for (int kind = 0; kind < 7; kind++) {
        char path[6000];
        tj_disk_store *store;

        snprintf(path, sizeof path, "%s/%d", root, kind);
        switch (kind) {
        case 0:
            rewrite(path, "x", 1);
            break;
        case 1:
            cr_assert(eq(int, symlink(root, path), 0));
            break;
        case 2:
            cr_assert(eq(int, mkfifo(path, 0600), 0));
            break;
        case 3:
            cr_assert(eq(int, mkdir(path, 0700), 0));
            chmod(path, 0777);
            break;
        case 4:
            strcpy(path, "/dev/null");
            break;
        case 5:
            memset(path, 'x', 5000);
            path[0] = '/';
            path[5000] = '\0';
            break;
        default:
            break;
        }
        warnings = 0;
        store = tj_disk_store_create(kind == 6 ? NULL : path, NULL, 1 << 20, &test_log);
        put(store, &key, "ptx");
        put(store, &key, "ptx");
        cr_expect(eq(int, get(store, &key, "ptx"), 0), "%s", kinds[kind]);
        cr_expect(eq(int, warnings, kind == 6 ? 0 : 1), "%s", kinds[kind]);
        cr_expect(ne(ptr, (void *)tj_disk_store_trouble(store), NULL), "%s", kinds[kind]);
        tj_disk_store_unlock(tj_disk_store_lock(store, &key, 1));
        tj_disk_store_free(store);
    }
}

/* In a child, as nobody: root may write anywhere. 0: all as it should be. */
static int work_where_writing_is_forbidden(void)
{
    const tj_key key = key_of("one"), other = key_of("two");
    tj_disk_store *store;
    int faults = 0;

    if (geteuid() == 0 && setuid(65534) != 0)
        return 100;
    store = open_store(1 << 20);
    faults += get(store, &key, "ptx") != 1;
    put(store, &other, "ptx");
    faults += get(store, &other, "ptx") != 0;
    faults += warnings != 1;
    tj_disk_store_free(store);
    return faults;
}

Test(disk_store, goes_on_where_it_may_not_write)
{
    const tj_key key = key_of("one");
    tj_disk_store *store = open_store(1 << 20);
    char command[256];
    int status = -1;
    pid_t child;

    put(store, &key, "ptx");
    tj_disk_store_free(store);
    snprintf(command, sizeof command, "chmod -R a-w %s%s%s", root, geteuid() == 0 ? " && chown -R 65534 " : "",
             geteuid() == 0 ? root : "");
    cr_assert(eq(int, system(command), 0));
    child = fork();
    if (child == 0)
        _exit(work_where_writing_is_forbidden());
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    cr_assert(eq(int, status, 0));
    snprintf(command, sizeof command, "chmod -R u+w %s", root);
    cr_assert(eq(int, system(command), 0));
}

Test(disk_store, takes_a_file_size_limit_for_a_full_disk_and_recovers)
{
    tj_disk_store *store = open_store(1 << 20);
    const struct rlimit none = {16, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    const tj_key key = key_of("one");

    cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &none), 0));
    put(store, &key, "longer than sixteen bytes by far");
    cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &all), 0));
    cr_assert(eq(int, get(store, &key, "longer than sixteen bytes by far"), 0));
    cr_assert(eq(int, warnings, 1));
    for (int i = 0; i < 70; i++) /* space came back: after a while it is tried again */
        put(store, &key, "longer than sixteen bytes by far");
    cr_assert(eq(int, get(store, &key, "longer than sixteen bytes by far"), 1));
    tj_disk_store_free(store);
}

Test(disk_store, makes_its_folder_again_when_it_was_removed)
{
    tj_disk_store *store = open_store(1 << 20);
    const tj_key key = key_of("one");

    put(store, &key, "ptx");
    remove_root();
    cr_assert(eq(int, get(store, &key, "ptx"), 0));
    put(store, &key, "ptx");
    cr_assert(eq(int, get(store, &key, "ptx"), 1));
    cr_assert(eq(int, warnings, 0));
    tj_disk_store_free(store);
}

Test(disk_store, leaves_foreign_files_alone)
{
    tj_disk_store *store = open_store(1 << 20);
    const tj_key key = key_of("one");
    char path[256];

    put(store, &key, "ptx");
    snprintf(path, sizeof path, "%s/v1/notes.txt", root);
    rewrite(path, "mine", 4);
    cr_assert(eq(int, tj_disk_store_clear(store, false, NULL, NULL), TJ_OK));
    cr_assert(eq(int, access(path, F_OK), 0));
    tj_disk_store_free(store);
}

Test(disk_store, bounds_the_wait_for_a_lock)
{
    tj_disk_store *store = open_store(1 << 20);
    const tj_key key = key_of("one");
    const int held = tj_disk_store_lock(store, &key, 0);
    int again;

    cr_assert(ge(int, held, 0));
    cr_assert(eq(int, tj_disk_store_lock(store, &key, 20), -1));
    tj_disk_store_unlock(held);
    again = tj_disk_store_lock(store, &key, 20);
    cr_assert(ge(int, again, 0));
    tj_disk_store_unlock(again);
    tj_disk_store_free(store);
}

typedef struct explained {
    int fields, equal;
    char different[16];
} explained;

static void explain_field(const tj_store_field *field, void *payload)
{
    explained *e = payload;

    e->fields++;
    e->equal += field->is_equal;
    if (!field->is_equal)
        snprintf(e->different, sizeof e->different, "%s", field->name);
}

Test(disk_store, explains_a_miss_field_by_field)
{
    tj_disk_store *store = open_store(1 << 20);
    const tj_key key = key_of("one"), other = key_of("two");
    explained e = {0};
    int hit = -1;

    put(store, &key, "ptx");
    cr_assert(eq(int, tj_disk_store_explain(store, &key, &hit, explain_field, &e, NULL), TJ_OK));
    cr_assert(eq(int, hit, 1));
    cr_assert(eq(int, e.equal, 3));
    e = (explained){0};
    cr_assert(eq(int, tj_disk_store_explain(store, &other, &hit, explain_field, &e, NULL), TJ_OK));
    cr_assert(eq(int, hit, 0));
    cr_assert(eq(int, e.equal, 2));
    cr_assert(eq(str, e.different, "source"));
    tj_disk_store_free(store);
}
