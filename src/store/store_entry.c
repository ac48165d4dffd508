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
        abort(); /* the list of fields is in the source, not in the world */
    key->field[key->count++] = (tj_key_field){name, value};
}

void tj_key_seal(tj_key *key)
{
    /* Length-prefixed by hashing each part on its own: no two lists of fields run together into the same bytes. */
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

/* After a failed read: is it the entry's fault (then the sentence), or ours? */
static const char *blame(const char *sentence)
{
    const bool is_ours = errno == ENOMEM || errno == EMFILE || errno == ENFILE || errno == EINTR || errno == ESTALE;

    return is_ours ? tj_entry_unknown : sentence;
}

/* Over the canonical dump of everything else in the manifest. */
static bool manifest_checksum(const json_t *manifest, char hex[TJ_HASH_HEX_BYTES])
{
    json_t *bare = json_copy((json_t *)manifest);
    char *dump = NULL;

    if (bare) {
        json_object_del(bare, "checksum");
        dump = json_dumps(bare, JSON_COMPACT | JSON_SORT_KEYS);
    }
    if (dump)
        checksum_of(dump, strlen(dump), hex);
    free(dump);
    json_decref(bare);
    return dump != NULL;
}

static json_t *key_as_json(const tj_key *key)
{
    json_t *array = json_array();

    for (size_t i = 0; array && i < key->count; i++)
        if (json_array_append_new(array, json_pack("[ss]", key->field[i].name, key->field[i].value)) != 0) {
            json_decref(array);
            array = NULL;
        }
    return array;
}

static json_t *make_manifest(const tj_key *key, const tj_blob *file, size_t count, const json_t *facts)
{
    json_t *files = json_object(), *manifest = NULL;
    char hex[TJ_HASH_HEX_BYTES];

    for (size_t i = 0; files && i < count; i++) {
        checksum_of(file[i].bytes, file[i].size, hex);
        if (json_object_set_new(files, file[i].name, json_pack("{sIss}", "bytes", (json_int_t)file[i].size, "xxh3", hex)) !=
            0) {
            json_decref(files);
            files = NULL;
        }
    }
    if (files)
        manifest = json_pack("{si so so sO sI}", "schema", TJ_STORE_SCHEMA, "key", key_as_json(key), "files", files, "facts",
                             facts, "created", (json_int_t)time(NULL));
    if (!manifest || !manifest_checksum(manifest, hex) || json_object_set_new(manifest, "checksum", json_string(hex)) != 0) {
        json_decref(manifest);
        return NULL;
    }
    return manifest;
}

json_t *tj_entry_manifest(int folder, const char **damage)
{
    char *text, hex[TJ_HASH_HEX_BYTES];
    const char *checksum;
    json_t *manifest;
    size_t size;

    if (!tj_fs_read(folder, "manifest.json", MAX_MANIFEST_BYTES, &text, &size)) {
        *damage = blame("manifest.json cannot be read");
        return NULL;
    }
    manifest = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    free(text);
    *damage = "manifest.json is damaged";
    checksum = json_string_value(json_object_get(manifest, "checksum"));
    if (!checksum || !manifest_checksum(manifest, hex) || strcmp(checksum, hex) != 0) {
        json_decref(manifest);
        return NULL;
    }
    if (json_integer_value(json_object_get(manifest, "schema")) != TJ_STORE_SCHEMA) {
        *damage = "manifest.json has a schema of another version";
        json_decref(manifest);
        return NULL;
    }
    *damage = NULL;
    return manifest;
}

const char *tj_entry_key_field(const json_t *manifest, const char *name)
{
    const json_t *array = json_object_get(manifest, "key"), *field;
    size_t i;

    json_array_foreach(array, i, field)
    {
        const char *found = json_string_value(json_array_get(field, 0));
        if (found && strcmp(found, name) == 0)
            return json_string_value(json_array_get(field, 1));
    }
    return NULL;
}

static bool key_is_equal(const json_t *manifest, const tj_key *key)
{
    const json_t *array = json_object_get(manifest, "key");

    if (json_array_size(array) != key->count)
        return false;
    for (size_t i = 0; i < key->count; i++) {
        const json_t *field = json_array_get(array, i);
        const char *name = json_string_value(json_array_get(field, 0));
        const char *value = json_string_value(json_array_get(field, 1));
        if (!name || !value || strcmp(name, key->field[i].name) != 0 || strcmp(value, key->field[i].value) != 0)
            return false;
    }
    return true;
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

bool tj_entry_write(int folder, const tj_key *key, const tj_blob *file, size_t count, const json_t *facts)
{
    json_t *manifest = make_manifest(key, file, count, facts);
    char *dump = manifest ? json_dumps(manifest, JSON_INDENT(2) | JSON_SORT_KEYS) : NULL;
    bool is_written = dump != NULL;

    if (!dump)
        errno = ENOMEM;
    for (size_t i = 0; is_written && i < count; i++)
        is_written = tj_fs_write_new(folder, file[i].name, file[i].bytes, file[i].size);
    is_written = is_written && tj_fs_write_new(folder, "used", "", 0) &&
                 tj_fs_write_new(folder, "manifest.json", dump, strlen(dump)) && fsync(folder) == 0;
    free(dump);
    json_decref(manifest);
    return is_written;
}

static const char *read_files(int folder, const json_t *manifest, tj_stored *stored)
{
    json_t *files = json_object_get(manifest, "files"), *about;
    const char *name;

    if (json_object_size(files) > TJ_STORE_MAX_FILES)
        return "manifest.json lists too many files";
    json_object_foreach(files, name, about)
    {
        const char *checksum = json_string_value(json_object_get(about, "xxh3"));
        const json_int_t bytes = json_integer_value(json_object_get(about, "bytes"));
        char hex[TJ_HASH_HEX_BYTES], *content;
        size_t size;

        if (strchr(name, '/') || !checksum)
            return "manifest.json is damaged";
        if (!tj_fs_read(folder, name, MAX_FILE_BYTES, &content, &size))
            return blame("a file of the entry is missing or cannot be read");
        stored->file[stored->count++] = (tj_blob){strdup(name), content, size};
        checksum_of(content, size, hex);
        if ((json_int_t)size != bytes || strcmp(hex, checksum) != 0)
            return "a file of the entry has changed since it was written";
        if (!stored->file[stored->count - 1].name)
            return tj_entry_unknown;
    }
    return NULL;
}

/* Code that another user can write is not ours to run. root may own what is shared read-only. */
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
    json_t *manifest;

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
    stored->facts = json_incref(json_object_get(manifest, "facts"));
    json_decref(manifest);
    if (!damage && !json_is_object(stored->facts))
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
    json_decref(stored->facts);
    memset(stored, 0, sizeof *stored);
}
