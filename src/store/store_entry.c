/* SPDX-License-Identifier: Apache-2.0 */
#include "store_entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fs.h"

enum { MAX_FILE_BYTES = 256 << 20, MAX_MANIFEST_BYTES = 16 << 20 };

const char tj_entry_unknown[] = "it cannot be read now, for want of memory or descriptors";

/* ---- keys --------------------------------------------------------------------------------------------------------- */

void tj_key_add(tj_key *key, const char *name, const char *value)
{
    if (key->count == TJ_KEY_MAX_FIELDS)
        abort(); /* the list of fields is fixed in the source, not input */
    key->field[key->count++] = (tj_key_field){name, value};
}

void tj_key_seal(tj_key *key)
{
    /* Hash each part on its own, which prefixes its length: no two lists of fields concatenate to the same bytes. */
    uint64_t parts[4 * TJ_KEY_MAX_FIELDS];
    size_t count = 0;

    for (size_t i = 0; i < key->count; i++) {
        const char *const text[] = {key->field[i].name, key->field[i].value};
        for (int t = 0; t < 2; t++) {
            const tj_hash128 hash = tj_hash_bytes(text[t], strlen(text[t]));
            parts[count++] = hash.high;
            parts[count++] = hash.low;
        }
    }
    key->hash = tj_hash_bytes(parts, count * sizeof parts[0]);
    tj_hash_hex(key->hash, key->hex);
}

/* ---- manifest ----------------------------------------------------------------------------------------------------- */

static void checksum_of(const void *bytes, size_t size, char hex[TJ_HASH_HEX_BYTES])
{
    tj_hash_hex(tj_hash_bytes(bytes, size), hex);
}

/* After a failed read: is the entry at fault (return the sentence), or this process? */
static const char *blame(const char *sentence)
{
    const bool is_ours = errno == ENOMEM || errno == EMFILE || errno == ENFILE || errno == EINTR || errno == ESTALE;

    return is_ours ? tj_entry_unknown : sentence;
}

/* Checksum everything in the manifest except the checksum. */
static bool manifest_checksum(const tj_json *manifest, char hex[TJ_HASH_HEX_BYTES])
{
    char *text = tj_json_print(manifest);

    if (text)
        checksum_of(text, strlen(text), hex);
    free(text);
    return text != NULL;
}

/* Print a manifest; NULL: out of memory. */
static char *print_manifest(const tj_key *key, const tj_blob *file, size_t count, const tj_json *facts)
{
    tj_json *manifest = tj_json_new(), *fields = tj_json_add_list(manifest, "key"),
            *files = tj_json_add_object(manifest, "files");
    char hex[TJ_HASH_HEX_BYTES], *text;

    for (size_t i = 0; i < key->count; i++) {
        tj_json *field = tj_json_add_list(fields, NULL);

        tj_json_add_text(field, NULL, key->field[i].name);
        tj_json_add_text(field, NULL, key->field[i].value);
    }
    for (size_t i = 0; i < count; i++) {
        tj_json *about = tj_json_add_object(files, file[i].name);

        checksum_of(file[i].bytes, file[i].size, hex);
        tj_json_add_int(about, "bytes", (int64_t)file[i].size);
        tj_json_add_text(about, "xxh3", hex);
    }
    tj_json_add_int(manifest, "schema", TJ_STORE_SCHEMA);
    (void)tj_json_add_copy(manifest, "facts", facts);
    tj_json_add_int(manifest, "created", (int64_t)time(NULL));
    tj_json_add_text(manifest, "checksum", manifest_checksum(manifest, hex) ? hex : NULL);
    text = tj_json_print_lines(manifest, TJ_JSON_EXACT);
    tj_json_free(manifest);
    return text;
}

tj_json *tj_entry_manifest(int folder, const char **damage)
{
    char *text, hex[TJ_HASH_HEX_BYTES];
    const char *checksum;
    tj_json *manifest;
    tj_status status;
    size_t size;

    if (!tj_fs_read(folder, "manifest.json", MAX_MANIFEST_BYTES, &text, &size)) {
        *damage = blame("manifest.json cannot be read");
        return NULL;
    }
    status = tj_json_read(text, size, &manifest, NULL);
    free(text);
    checksum = tj_json_text(tj_json_get(manifest, "checksum"));
    tj_json_remove(manifest, "checksum");
    *damage = NULL;
    if (status == TJ_ERR_OUT_OF_MEMORY || (checksum && !manifest_checksum(manifest, hex)))
        *damage = tj_entry_unknown;
    else if (!checksum || strcmp(checksum, hex) != 0)
        *damage = "manifest.json is damaged";
    else if (tj_json_int(tj_json_get(manifest, "schema")) != TJ_STORE_SCHEMA)
        *damage = "manifest.json has a schema of another version";
    if (!*damage)
        return manifest;
    tj_json_free(manifest);
    return NULL;
}

const char *tj_entry_key_field(const tj_json *manifest, const char *name)
{
    const tj_json *field = tj_json_first(tj_json_get(manifest, "key"));

    for (; field; field = tj_json_next(field)) {
        const tj_json *found = tj_json_first(field);

        if (tj_json_text(found) && strcmp(tj_json_text(found), name) == 0)
            return tj_json_text(tj_json_next(found));
    }
    return NULL;
}

static bool key_is_equal(const tj_json *manifest, const tj_key *key)
{
    const tj_json *field = tj_json_first(tj_json_get(manifest, "key"));

    for (size_t i = 0; i < key->count; i++, field = tj_json_next(field)) {
        const char *name = tj_json_text(tj_json_first(field)), *value = tj_json_text(tj_json_next(tj_json_first(field)));

        if (!name || !value || strcmp(name, key->field[i].name) != 0 || strcmp(value, key->field[i].value) != 0)
            return false;
    }
    return !field;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

bool tj_entry_write(int folder, const tj_key *key, const tj_blob *file, size_t count, const tj_json *facts)
{
    char *manifest = print_manifest(key, file, count, facts);
    bool is_written = manifest != NULL;

    if (!manifest)
        errno = ENOMEM;
    for (size_t i = 0; is_written && i < count; i++)
        is_written = tj_fs_write_new(folder, file[i].name, file[i].bytes, file[i].size);
    is_written = is_written && tj_fs_write_new(folder, "used", "", 0) &&
                 tj_fs_write_new(folder, "manifest.json", manifest, strlen(manifest)) && fsync(folder) == 0;
    free(manifest);
    return is_written;
}

static const char *read_files(int folder, const tj_json *manifest, tj_stored *stored)
{
    const tj_json *files = tj_json_get(manifest, "files");

    if (tj_json_count(files) > TJ_STORE_MAX_FILES)
        return "manifest.json lists too many files";
    for (const tj_json *about = tj_json_first(files); about; about = tj_json_next(about)) {
        const char *name = tj_json_name(about), *checksum = tj_json_text(tj_json_get(about, "xxh3"));
        const int64_t bytes = tj_json_int(tj_json_get(about, "bytes"));
        char hex[TJ_HASH_HEX_BYTES], *content;
        size_t size;

        if (!name || strchr(name, '/') || !checksum)
            return "manifest.json is damaged";
        if (!tj_fs_read(folder, name, MAX_FILE_BYTES, &content, &size))
            return blame("a file of the entry is missing or cannot be read");
        stored->file[stored->count++] = (tj_blob){strdup(name), content, size};
        checksum_of(content, size, hex);
        if ((int64_t)size != bytes || strcmp(hex, checksum) != 0)
            return "a file of the entry has changed since it was written";
        if (!stored->file[stored->count - 1].name)
            return tj_entry_unknown;
    }
    return NULL;
}

/* Never run code that another user can write. root may own shared read-only entries. */
static const char *check_owner(int folder)
{
    struct stat facts;

    if (fstat(folder, &facts) != 0)
        return "the folder cannot be examined";
    if (facts.st_uid != geteuid() && facts.st_uid != 0)
        return "the folder belongs to another user";
    if (facts.st_mode & (S_IWGRP | S_IWOTH))
        return "the folder can be written by others";
    return NULL;
}

const char *tj_entry_read(int folder, const tj_key *key, tj_stored *stored)
{
    const char *damage = check_owner(folder);
    tj_json *manifest;

    memset(stored, 0, sizeof *stored);
    if (damage)
        return damage;
    manifest = tj_entry_manifest(folder, &damage);
    if (!manifest)
        return damage;
    if (key && !key_is_equal(manifest, key))
        damage = "it was stored for another key";
    else
        damage = read_files(folder, manifest, stored);
    stored->document = manifest;
    stored->facts = tj_json_get(manifest, "facts");
    if (!damage && tj_json_kind_of(stored->facts) != TJ_JSON_OBJECT)
        damage = "manifest.json holds no facts";
    if (damage)
        tj_stored_drop(stored);
    return damage;
}

void tj_stored_drop(tj_stored *stored)
{
    for (size_t i = 0; i < stored->count; i++) {
        free((void *)stored->file[i].name);
        free((void *)stored->file[i].bytes);
    }
    tj_json_free(stored->document);
    memset(stored, 0, sizeof *stored);
}
