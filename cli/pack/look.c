/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit pack list, verify, diff, unpack: inspect a pack.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "input.h"
#include "pack.h"

enum { MOST_PACK_BYTES = 1 << 30, KERNEL_BYTES = 192 };

typedef struct bytes {
    char *at;
    size_t size;
} bytes;

static tj_status read_pack(const char *path, bytes *pack, tj_error *err)
{
    return tj_input_read_whole(path, MOST_PACK_BYTES, &pack->at, &pack->size, err);
}

/* Visit the items of a file; an error of the file as a whole is reported with its name. */
static tj_status visit_pack(const char *path, const bytes *pack, tj_pack_visit visit, void *payload, tj_error *err)
{
    tj_error why;
    const tj_status status = tj_pack_list(pack->at, pack->size, visit, payload, &why);

    return status == TJ_OK ? TJ_OK : tj_fail(err, status, "%.200s: %.250s", path, why.message);
}

static const char *kind_word(tj_pack_kind kind)
{
    return kind == TJ_PACK_IMAGE ? "image" : kind == TJ_PACK_RECORD ? "record" : kind == TJ_PACK_CHOICE ? "choice" : "?";
}

/* Return the word that tells two kernels of one name apart. */
static const char *kernel_word(const tj_pack_entry *entry, char word[KERNEL_BYTES])
{
    const char *stripped = entry->is_stripped ? ", stripped" : "";

    if (entry->kind != TJ_PACK_IMAGE)
        return entry->config;
    if (entry->damage || entry->align < 0)
        return entry->kernel;
    if (entry->align == 0)
        (void)snprintf(word, KERNEL_BYTES, "%s (any alignment%s)", entry->kernel, stripped);
    else
        (void)snprintf(word, KERNEL_BYTES, "%s (aligned to %d bytes%s)", entry->kernel, (int)entry->align, stripped);
    return word;
}

/* ---- list, verify ------------------------------------------------------------------------------------------------- */

typedef struct walk {
    const cli_call *call;
    tj_json *list;
    int64_t items, damaged;
} walk;

static void add_item(tj_json *list, const tj_pack_entry *entry)
{
    tj_json *object = cli_append_object(list);

    cli_set_text(object, "kind", kind_word(entry->kind));
    cli_set_text(object, "target", entry->target);
    cli_set_text(object, "kernel", entry->kernel);
    if (entry->align >= 0)
        cli_set_int(object, "align", entry->align);
    cli_set_bool(object, "is_stripped", entry->is_stripped);
    cli_set_text(object, "problem", entry->problem);
    cli_set_text(object, "config", entry->config);
    cli_set_text(object, "compiler", entry->compiler);
    cli_set_text(object, "device", entry->device);
    cli_set_int(object, "bytes", entry->bytes);
    cli_set_text(object, "request", entry->request);
    cli_set_text(object, "checksum", entry->checksum);
    if (entry->damage)
        cli_set_text(object, "damage", entry->damage);
}

static int list_item(const tj_pack_entry *entry, void *payload)
{
    walk *to = payload;
    char kernel[KERNEL_BYTES];

    if (to->items++ == 0)
        cli_say(to->call, "%-7s %-20s %10s  %-40s %s\n", "KIND", "FOR", "SIZE", "PROBLEM", "KERNEL OR CONFIG");
    to->damaged += entry->damage != NULL;
    add_item(to->list, entry);
    cli_say(to->call, "%-7s %-20s %10s  %-40s %s%s%s\n", kind_word(entry->kind), *entry->device ? entry->device : entry->target,
            cli_bytes(entry->bytes).text, entry->problem, kernel_word(entry, kernel), entry->damage ? "damaged: " : "",
            entry->damage ? entry->damage : "");
    return 0;
}

static int verify_item(const tj_pack_entry *entry, void *payload)
{
    walk *to = payload;

    to->items++;
    if (entry->damage) {
        to->damaged++;
        add_item(to->list, entry);
        cli_say(to->call, "damaged  %s %s %s: %s\n", kind_word(entry->kind), entry->target, entry->request, entry->damage);
    }
    return 0;
}

static cli_exit walk_pack(cli_call *call, const char *member, tj_pack_visit each, walk *to, tj_error *err)
{
    bytes pack = {NULL, 0};
    tj_status status = read_pack(call->operand[0], &pack, err);

    *to = (walk){.call = call, .list = cli_add_list(call->answer, member)};
    if (status == TJ_OK)
        status = visit_pack(call->operand[0], &pack, each, to, err);
    free(pack.at);
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

static cli_exit list(cli_call *call, tj_error *err)
{
    walk to;

    return walk_pack(call, "items", list_item, &to, err);
}

static cli_exit verify(cli_call *call, tj_error *err)
{
    walk to;
    const cli_exit code = walk_pack(call, "damaged", verify_item, &to, err);

    if (code != CLI_DONE)
        return code;
    cli_set_int(call->answer, "items", to.items);
    if (to.damaged == 0) {
        cli_say(call, "%" PRId64 " %s, all sound\n", to.items, to.items == 1 ? "item" : "items");
        return CLI_DONE;
    }
    (void)tj_fail(err, TJ_ERR_IO, "%" PRId64 " of %" PRId64 " items of %.300s are damaged: make it again", to.damaged, to.items,
                  call->operand[0]);
    return CLI_FAILED;
}

/* ---- diff --------------------------------------------------------------------------------------------------------- */

/* The sorted items of a pack, for comparison with another. */
typedef struct item {
    char name[96], checksum[33]; /* kind, request and target: sorted like the pack */
    char line[256];
} item;

typedef struct items {
    item *at;
    size_t count, capacity;
    bool is_out_of_memory;
} items;

static int keep_item(const tj_pack_entry *entry, void *payload)
{
    items *all = payload;
    char kernel[KERNEL_BYTES];
    item *one;

    if (all->count == all->capacity) {
        const size_t capacity = all->capacity ? 2 * all->capacity : 64;
        item *larger = realloc(all->at, capacity * sizeof *larger);

        all->is_out_of_memory = !larger;
        if (!larger)
            return 1;
        all->at = larger;
        all->capacity = capacity;
    }
    one = &all->at[all->count++];
    (void)snprintf(one->name, sizeof one->name, "%d %s %s", (int)entry->kind, entry->request, entry->target);
    (void)snprintf(one->checksum, sizeof one->checksum, "%s", entry->checksum);
    (void)snprintf(one->line, sizeof one->line, "%s %s  %s  %s", kind_word(entry->kind),
                   *entry->device ? entry->device : entry->target, entry->problem, kernel_word(entry, kernel));
    return 0;
}

static tj_status read_items(const char *path, items *all, tj_error *err)
{
    bytes pack = {NULL, 0};
    tj_status status = read_pack(path, &pack, err);

    if (status == TJ_OK)
        status = visit_pack(path, &pack, keep_item, all, err);
    if (status == TJ_OK && all->is_out_of_memory)
        status = tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "out of memory for the items of %.300s", path);
    free(pack.at);
    return status;
}

static void tell(cli_call *call, tj_json *to, char mark, const item *one)
{
    tj_json *object = cli_append_object(to);
    const char word[2] = {mark, '\0'};

    cli_set_text(object, "mark", word);
    cli_set_text(object, "item", one->line);
    cli_say(call, "%c %s\n", mark, one->line);
}

/* Both are sorted. */
static int64_t compare(cli_call *call, const items *a, const items *b)
{
    tj_json *to = cli_add_list(call->answer, "differences");
    int64_t differences = 0;
    size_t i = 0, k = 0;

    while (i < a->count || k < b->count) {
        const int order = i == a->count ? 1 : k == b->count ? -1 : strcmp(a->at[i].name, b->at[k].name);
        const bool is_changed = order == 0 && strcmp(a->at[i].checksum, b->at[k].checksum) != 0;

        if (order != 0 || is_changed) {
            tell(call, to, order < 0 ? '-' : order > 0 ? '+' : '!', order > 0 ? &b->at[k] : &a->at[i]);
            differences++;
        }
        i += order <= 0;
        k += order >= 0;
    }
    return differences;
}

static cli_exit diff(cli_call *call, tj_error *err)
{
    items a = {NULL}, b = {NULL};
    tj_status status = read_items(call->operand[0], &a, err);
    int64_t differences = 0;

    if (status == TJ_OK)
        status = read_items(call->operand[1], &b, err);
    if (status == TJ_OK)
        differences = compare(call, &a, &b);
    free(a.at);
    free(b.at);
    if (differences > 0)
        status = tj_fail(err, TJ_ERR_CHECK_FAILED, "%.200s and %.200s differ in %" PRId64 " %s", call->operand[0],
                         call->operand[1], differences, differences == 1 ? "item" : "items");
    return status == TJ_OK ? CLI_DONE : CLI_FAILED;
}

/* ---- unpack ------------------------------------------------------------------------------------------------------- */

static cli_exit unpack(cli_call *call, tj_error *err)
{
    bytes pack = {NULL, 0};
    int64_t count = 0;
    tj_status status = read_pack(call->operand[0], &pack, err);

    if (status == TJ_OK)
        status = cli_open(call, call->options, false, err);
    if (status == TJ_OK)
        status = tj_pack_unpack(call->context, pack.at, pack.size, &count, err);
    free(pack.at);
    cli_set_int(call->answer, "unpacked", count);
    if (status != TJ_OK)
        return CLI_FAILED;
    cli_say(call, "%" PRId64 " kernels and records put into %s\n", count, tj_store_path(call->context));
    return CLI_DONE;
}

const cli_command cli_pack_list = {
    .name = "pack list",
    .operands = "<file>",
    .operand_count = {1, 1},
    .summary = "list what is in a pack",
    .text = "Lists images, tuning records, and the config that was chosen for each problem and target. Every item is read "
            "and verified.",
    .example = "tilejit pack list app.tjpack",
    .run = list,
};
const cli_command cli_pack_verify = {
    .name = "pack verify",
    .operands = "<file>",
    .operand_count = {1, 1},
    .summary = "read every byte of a pack and compare the checksums",
    .text = "Names each damaged item and exits with 1 if there is one, or if the file is not a pack. Damage does not harm a "
            "program: such an item is a miss.",
    .run = verify,
};
const cli_command cli_pack_diff = {
    .name = "pack diff",
    .operands = "<file> <file>",
    .operand_count = {2, 2},
    .summary = "compare two packs, item by item",
    .text = "Marks items that only the first has (-), items that only the second has (+), and items that differ (!). Exits "
            "with 1 if they differ.",
    .run = diff,
};
const cli_command cli_pack_unpack = {
    .name = "pack unpack",
    .operands = "<file>",
    .operand_count = {1, 1},
    .summary = "put the kernels and records of a pack into the store",
    .text = "Afterwards they are used as if they had been compiled and tuned here.",
    .takes = {{&cli_machine_group}},
    .option_bytes = sizeof(cli_machine_options),
    .run = unpack,
};
