/* SPDX-License-Identifier: Apache-2.0 */
#include "choices.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "canonical.h"
#include "hash.h"
#include "record.h"
#include "tables.h"
#include "text.h"

enum {
    FILES = 256, /* one for each beginning of a key, so that each stays small */
    MOST_FILE_BYTES = 60000,
    LINE_BYTES = TJ_CONFIG_TEXT_BYTES + TJ_HASH_HEX_BYTES + 8
};

typedef struct choice {
    struct choice *older;
    char key[TJ_HASH_HEX_BYTES]; /* of problem and device */
    tj_chosen_by by;
    char config[TJ_CONFIG_TEXT_BYTES];
} choice;

typedef struct choice_file {
    choice *newest;
    bool is_read;
} choice_file;

struct tj_choices {
    choice_file file[FILES];
    bool has_header;
    const struct tj_tables *tables;
    char header[128]; /* "": this build cannot be told from others, and nothing is written down */
};

struct tj_choices *tj_choices_create(const struct tj_tables *tables)
{
    struct tj_choices *choices = calloc(1, sizeof *choices);

    if (choices)
        choices->tables = tables;
    return choices;
}

void tj_choices_free(struct tj_choices *choices)
{
    for (int i = 0; choices && i < FILES; i++)
        while (choices->file[i].newest) {
            choice *older = choices->file[i].newest->older;

            free(choices->file[i].newest);
            choices->file[i].newest = older;
        }
    free(choices);
}

/* The file that this code came from, by its size and time, and the tables that choices go by. */
static void print_header(const struct tj_tables *tables, char header[128])
{
    static const char here = 0;
    char id[TJ_HASH_HEX_BYTES];
    struct stat facts;
    Dl_info info;

    header[0] = '\0';
    tj_tables_identify(tables, id);
    if (dladdr(&here, &info) && info.dli_fname && (stat(info.dli_fname, &facts) == 0 || stat("/proc/self/exe", &facts) == 0))
        (void)snprintf(header, 128, "tilejit choices 1 %lld %lld.%09ld %s\n", (long long)facts.st_size,
                       (long long)facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec, id);
}

static void make_key(const tj_problem *problem, const tj_device_facts *device, char key[TJ_HASH_HEX_BYTES])
{
    const tj_device_kind kind = tj_device_kind_of(device);
    char text[TJ_RECORD_KEY_BYTES];

    tj_record_key(&kind, problem, text);
    tj_hash_hex(tj_hash_bytes(text, strlen(text)), key);
}

static void print_name(const char *key, char name[16])
{
    (void)snprintf(name, 16, "choices-%.2s", key);
}

static choice_file *file_of(struct tj_choices *choices, const char *key)
{
    const char digits[] = {key[0], key[1], '\0'};

    return &choices->file[strtoul(digits, NULL, 16) % FILES];
}

static const choice *find(const choice_file *file, const char *key)
{
    const choice *one = file->newest;

    while (one && strcmp(one->key, key) != 0)
        one = one->older;
    return one;
}

/* Forgotten when memory runs out. */
static void add(choice_file *file, const char *key, tj_chosen_by by, const char *config)
{
    choice *one = malloc(sizeof *one);

    if (!one)
        return;
    one->older = file->newest;
    one->by = by;
    memcpy(one->key, key, sizeof one->key);
    memcpy(one->config, config, strlen(config) + 1);
    file->newest = one;
}

/* A line that is not whole is passed over. */
static void read_lines(choice_file *file, const char *text)
{
    char line[LINE_BYTES];

    while (*text) {
        const size_t length = strcspn(text, "\n");

        if (text[length] == '\n' && length > TJ_HASH_HEX_BYTES + 2 && length < TJ_HASH_HEX_BYTES + 2 + TJ_CONFIG_TEXT_BYTES) {
            const tj_chosen_by by = (tj_chosen_by)(text[TJ_HASH_HEX_BYTES] - '0');

            memcpy(line, text, length);
            line[length] = line[TJ_HASH_HEX_BYTES - 1] = '\0';
            if (tj_choice_is_kept(by))
                add(file, line, by, line + TJ_HASH_HEX_BYTES + 2);
        }
        text += length + (text[length] == '\n');
    }
}

static choice_file *read_file(struct tj_choices *choices, tj_disk_store *store, const char *key)
{
    choice_file *file = file_of(choices, key);
    char name[16], *text;

    if (!choices->has_header)
        print_header(choices->tables, choices->header);
    choices->has_header = true;
    if (file->is_read || !choices->header[0])
        return file;
    file->is_read = true;
    print_name(key, name);
    text = tj_disk_store_read_note(store, name);
    if (text && strncmp(text, choices->header, strlen(choices->header)) == 0)
        read_lines(file, text + strlen(choices->header));
    free(text);
    return file;
}

const char *tj_choices_recall(struct tj_choices *choices, tj_disk_store *store, const tj_problem *problem,
                              const tj_device_facts *device, tj_chosen_by *chosen_by)
{
    char key[TJ_HASH_HEX_BYTES];
    const choice *found;

    make_key(problem, device, key);
    found = find(read_file(choices, store, key), key);
    if (found)
        *chosen_by = found->by;
    return found ? found->config : NULL;
}

static void print_choice(tj_text *text, const choice *one)
{
    const char by[] = {' ', (char)('0' + one->by), ' ', '\0'};

    tj_text_append(text, one->key);
    tj_text_append(text, by);
    tj_text_append(text, one->config);
    tj_text_append(text, "\n");
}

/* Oldest first, as they are read; the oldest are forgotten where the file would be too long. */
static void write_file(const struct tj_choices *choices, const choice_file *file, tj_disk_store *store)
{
    const choice *one[MOST_FILE_BYTES / TJ_HASH_HEX_BYTES];
    tj_text text = TJ_TEXT_INIT(MOST_FILE_BYTES + LINE_BYTES);
    size_t count = 0, bytes = strlen(choices->header);
    char name[16], *printed = NULL;

    for (const choice *next = file->newest; next && bytes < MOST_FILE_BYTES; next = next->older) {
        one[count++] = next;
        bytes += TJ_HASH_HEX_BYTES + 3 + strlen(next->config);
    }
    tj_text_append(&text, choices->header);
    while (count > 0)
        print_choice(&text, one[--count]);
    print_name(file->newest->key, name);
    if (tj_text_take(&text, &printed, NULL) == TJ_OK)
        tj_disk_store_write_note(store, name, printed);
    free(printed);
}

void tj_choices_remember(struct tj_choices *choices, tj_disk_store *store, const tj_problem *problem,
                         const tj_device_facts *device, const tj_config *config, tj_chosen_by chosen_by)
{
    char key[TJ_HASH_HEX_BYTES], text[TJ_CONFIG_TEXT_BYTES];
    choice_file *file;
    const choice *present;

    make_key(problem, device, key);
    tj_config_print(config, text);
    file = read_file(choices, store, key);
    present = find(file, key);
    if (!choices->header[0] || (present && strcmp(present->config, text) == 0))
        return;
    add(file, key, chosen_by, text);
    if (file->newest)
        write_file(choices, file, store);
}
