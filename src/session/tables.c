/* SPDX-License-Identifier: Apache-2.0 */
#include "tables.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "component.h"
#include "error.h"
#include "input.h"
#include "trials.h"

enum { MOST_TABLES = 16, MOST_FILES = 64 }; /* used, and looked at in one folder */

static const char ENDING[] = ".tjtrials";

struct tj_tables {
    char *places; /* NULL: those that ship alone */
    bool is_off, is_read;
    tj_trials *table[MOST_TABLES];
    size_t count;
};

struct tj_tables *tj_tables_create(const char *places)
{
    struct tj_tables *tables = calloc(1, sizeof *tables);

    if (!tables)
        return NULL;
    tables->is_off = places && (!*places || strcmp(places, "off") == 0);
    if (places && !tables->is_off && !(tables->places = strdup(places))) {
        free(tables);
        return NULL;
    }
    return tables;
}

void tj_tables_free(struct tj_tables *tables)
{
    if (!tables)
        return;
    for (size_t i = 0; i < tables->count; i++)
        tj_trials_free(tables->table[i]);
    free(tables->places);
    free(tables);
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

typedef struct visitor {
    tj_table_visit *visit;
    void *payload;
} visitor;

static int is_table(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name), ending = sizeof ENDING - 1;

    return length > ending && strcmp(entry->d_name + length - ending, ENDING) == 0;
}

typedef void path_visit(void *payload, const char *path);

/* Visit the paths of the tables of a folder, in the order of their names; or that of the file. */
static void visit_place(const char *place, path_visit *visit, void *payload)
{
    struct dirent **entry;
    const int count = scandir(place, &entry, is_table, alphasort);

    if (count < 0) {
        visit(payload, place);
        return;
    }
    for (int i = 0; i < count; i++) {
        char path[PATH_MAX];

        if (i < MOST_FILES && snprintf(path, sizeof path, "%s/%s", place, entry[i]->d_name) < (int)sizeof path)
            visit(payload, path);
        free(entry[i]);
    }
    free(entry);
}

static void each_path(const struct tj_tables *tables, path_visit *visit, void *payload)
{
    static const char here = 0;
    char *const places = tables->places ? strdup(tables->places) : NULL, *rest = places, *place, shipped[PATH_MAX];

    if (tables->is_off)
        return;
    while ((place = strsep(&rest, ":")))
        if (*place)
            visit_place(place, visit, payload);
    free(places);
    if (tj_component_find(&here, "trials", shipped))
        visit_place(shipped, visit, payload);
}

static void read_file(void *payload, const char *path)
{
    const visitor *v = payload;
    tj_trials *trials = NULL;
    char *text = NULL;
    size_t size;
    tj_error why;
    tj_status status = tj_input_read_whole(path, TJ_TRIALS_MOST_BYTES, &text, &size, &why);

    if (status == TJ_OK && strlen(text) != size)
        status = tj_fail(&why, TJ_ERR_INVALID_ARGUMENT, "it holds a zero byte, and no table does");
    if (status == TJ_OK)
        status = tj_trials_parse(text, &trials, &why);
    free(text);
    v->visit(v->payload, path, trials, status == TJ_OK ? NULL : why.message);
}

void tj_tables_each(const struct tj_tables *tables, tj_table_visit *visit, void *payload)
{
    visitor v = {visit, payload};

    each_path(tables, read_file, &v);
}

/* The file by its path, size and time. */
static void hash_file(void *payload, const char *path)
{
    tj_hash128 *hash = payload;
    struct stat facts = {.st_size = 0};
    struct {
        tj_hash128 before, path;
        int64_t size, time_s, time_ns;
    } all = {*hash, tj_hash_bytes(path, strlen(path)), 0, 0, 0};

    (void)stat(path, &facts);
    all.size = facts.st_size;
    all.time_s = facts.st_mtim.tv_sec;
    all.time_ns = facts.st_mtim.tv_nsec;
    *hash = tj_hash_bytes(&all, sizeof all);
}

void tj_tables_identify(const struct tj_tables *tables, char id[TJ_HASH_HEX_BYTES])
{
    tj_hash128 hash = {0, 0};

    each_path(tables, hash_file, &hash);
    tj_hash_hex(hash, id);
}

/* ---- lending ------------------------------------------------------------------------------------------------------ */

typedef struct reading {
    struct tj_tables *tables;
    const tj_log *log;
} reading;

/* *trials is the visitor's. */
static void keep(void *payload, const char *path, tj_trials *trials, const char *trouble)
{
    const reading *r = payload;

    if (trouble)
        tj_log_line(r->log, TJ_LOG_WARNING, "%s is not used to choose configs: %s", path, trouble);
    else if (r->tables->count == MOST_TABLES) {
        tj_log_line(r->log, TJ_LOG_WARNING, "%s is not used to choose configs: there are %d tables before it", path,
                    MOST_TABLES);
        tj_trials_free(trials);
    } else {
        tj_log_line(r->log, TJ_LOG_DEBUG, "%s: trials of %zu problems on %s", path, tj_trials_count(trials),
                    tj_trials_device_name(trials));
        r->tables->table[r->tables->count++] = trials;
    }
}

void tj_tables_lend(struct tj_tables *tables, const tj_log *log, tj_records *records)
{
    reading r = {tables, log};

    if (!tables->is_read)
        tj_tables_each(tables, keep, &r);
    tables->is_read = true;
    for (size_t i = 0; i < tables->count; i++)
        if (tj_records_add_trials(records, tables->table[i], NULL) != TJ_OK)
            return; /* it has as many as it may */
}
