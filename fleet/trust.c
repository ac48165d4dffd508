/* SPDX-License-Identifier: Apache-2.0 */
#include "trust.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "error.h"
#include "fs.h"

static const char MARK[] = "tilejit 1 ", PUBLIC[] = "tilejit-key ", SECRET[] = "tilejit-secret-key ";

enum { KEY_HEX = 2 * FLEET_KEY_BYTES, SIGNATURE_HEX = 2 * crypto_sign_BYTES, MOST_FILE_BYTES = 64 << 10 };

static const char *const kinds[] = {[FLEET_RECORD] = "record", [FLEET_IMAGE] = "image", [FLEET_GENERATION] = "generation"};

/* ---- key files ---------------------------------------------------------------------------------------------------- */

static bool read_hex(const char *text, size_t length, unsigned char *out, size_t bytes)
{
    size_t got = 0;

    return length == 2 * bytes && sodium_hex2bin(out, bytes, text, length, NULL, &got, NULL) == 0 && got == bytes;
}

static tj_status read_file(const char *path, const char *what, bool is_secret, char **text, tj_error *err)
{
    const char *why;
    size_t size;

    return tj_fs_read_believed(path, is_secret, MOST_FILE_BYTES, text, &size, &why)
               ? TJ_OK
               : tj_fail(err, TJ_ERR_IO, "cannot read %s from %.240s: %s", what, path, why);
}

static bool is_known(const fleet_trust *trust, const unsigned char *key)
{
    for (size_t i = 0; i < trust->count; i++)
        if (memcmp(trust->key[i], key, FLEET_KEY_BYTES) == 0)
            return true;
    return false;
}

static tj_status load_trusted(const char *path, fleet_trust *trust, tj_error *err)
{
    char *text, *rest, *line;
    tj_status status = read_file(path, "the keys that are trusted", false, &text, err);

    if (status != TJ_OK)
        return status;
    rest = text;
    for (int number = 1; status == TJ_OK && (line = strsep(&rest, "\n")); number++) {
        const char *hex;

        line[strcspn(line, "#\r")] = '\0';
        line += strspn(line, " \t");
        if (!*line)
            continue;
        hex = line + strlen(PUBLIC);
        if (trust->count == FLEET_MOST_KEYS)
            status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.240s names more than %d keys", path, FLEET_MOST_KEYS);
        else if (strncmp(line, PUBLIC, strlen(PUBLIC)) != 0 ||
                 !read_hex(hex, strcspn(hex, " \t"), trust->key[trust->count], FLEET_KEY_BYTES))
            status =
                tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                        "%.240s, line %d is not a key: write lines of tilejit-key and 64 hex digits, as in the .pub files of "
                        "tilejit fleet key",
                        path, number);
        else
            trust->count++;
    }
    free(text);
    if (status == TJ_OK && trust->count == 0)
        status =
            tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.240s names no key: put the .pub files of tilejit fleet key into it", path);
    return status;
}

static tj_status load_secret(const char *path, fleet_trust *trust, tj_error *err)
{
    unsigned char key[FLEET_KEY_BYTES];
    char *text;
    tj_status status = read_file(path, "the key to sign with", true, &text, err);

    if (status != TJ_OK)
        return status;
    text[strcspn(text, "\r\n")] = '\0';
    if (strncmp(text, SECRET, strlen(SECRET)) != 0 ||
        !read_hex(text + strlen(SECRET), strlen(text) - strlen(SECRET), trust->secret, FLEET_SECRET_BYTES))
        status = tj_fail(
            err, TJ_ERR_INVALID_ARGUMENT,
            "%.240s is not a key to sign with: tilejit fleet key makes one, and its .pub file is for those that read", path);
    sodium_memzero(text, strlen(text));
    free(text);
    if (status != TJ_OK)
        return status;
    trust->signs = true;
    (void)crypto_sign_ed25519_sk_to_pk(key, trust->secret);
    if (!is_known(trust, key) && trust->count < FLEET_MOST_KEYS)
        memcpy(trust->key[trust->count++], key, sizeof key);
    return TJ_OK;
}

tj_status fleet_trust_load(const fleet_place *place, fleet_trust *trust, tj_error *err)
{
    tj_status status = TJ_OK;

    memset(trust, 0, sizeof *trust);
    if (sodium_init() < 0)
        return tj_fail(err, TJ_ERR_INTERNAL, "libsodium finds no source of random numbers");
    if (place->trust[0])
        status = load_trusted(place->trust, trust, err);
    if (status == TJ_OK && place->sign[0])
        status = load_secret(place->sign, trust, err);
    return status;
}

static tj_status write_key(const char *path, const char *mark, const unsigned char *bytes, size_t count, mode_t mode,
                           tj_error *err)
{
    char hex[2 * FLEET_SECRET_BYTES + 1], line[256];
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    bool is_written;

    if (fd < 0)
        return tj_fail(err, TJ_ERR_IO, "cannot make %.300s: %s", path, strerror(errno));
    sodium_bin2hex(hex, sizeof hex, bytes, count);
    (void)snprintf(line, sizeof line, "%s%s\n", mark, hex);
    is_written = tj_fs_write(fd, line, strlen(line)) && fsync(fd) == 0;
    sodium_memzero(line, sizeof line);
    if (close(fd) == 0 && is_written)
        return TJ_OK;
    (void)unlink(path);
    return tj_fail(err, TJ_ERR_IO, "cannot write %.300s to its end: is the disk full?", path);
}

tj_status fleet_make_key(const char *path, tj_error *err)
{
    unsigned char public[FLEET_KEY_BYTES], secret[FLEET_SECRET_BYTES];
    char of_public[PATH_MAX];
    tj_status status;

    if (sodium_init() < 0)
        return tj_fail(err, TJ_ERR_INTERNAL, "libsodium finds no source of random numbers");
    if (snprintf(of_public, sizeof of_public, "%s.pub", path) >= (int)sizeof of_public)
        return tj_fail(err, TJ_ERR_INVALID_ARGUMENT, "%.60s... is longer than a path can be", path);
    (void)crypto_sign_keypair(public, secret);
    status = write_key(of_public, PUBLIC, public, sizeof public, 0644, err);
    if (status == TJ_OK) {
        status = write_key(path, SECRET, secret, sizeof secret, 0600, err);
        if (status != TJ_OK)
            (void)unlink(of_public);
    }
    sodium_memzero(secret, sizeof secret);
    return status;
}

/* ---- seals -------------------------------------------------------------------------------------------------------- */

/* Build the signed message: kind, class and name, each followed by a NUL, and the content. */
static unsigned char *message_of(fleet_kind kind, const char *of, const char *name, const void *content, size_t size,
                                 size_t *length)
{
    const char *const part[] = {MARK, kinds[kind], of, name};
    unsigned char *message, *at;

    *length = size;
    for (size_t i = 0; i < 4; i++)
        *length += strlen(part[i]) + 1;
    at = message = malloc(*length);
    for (size_t i = 0; message && i < 4; i++) {
        memcpy(at, part[i], strlen(part[i]) + 1);
        at += strlen(part[i]) + 1;
    }
    if (message && size > 0)
        memcpy(at, content, size);
    return message;
}

char *fleet_seal(const fleet_trust *trust, fleet_kind kind, const char *of, const char *name, const void *content, size_t size,
                 size_t *sealed)
{
    unsigned char signature[crypto_sign_BYTES], key[FLEET_KEY_BYTES];
    char key_hex[KEY_HEX + 1], signature_hex[SIGNATURE_HEX + 1], *out;
    size_t length;
    unsigned char *message = message_of(kind, of, name, content, size, &length);
    int head;

    if (!message)
        return NULL;
    (void)crypto_sign_detached(signature, NULL, message, length, trust->secret);
    free(message);
    (void)crypto_sign_ed25519_sk_to_pk(key, trust->secret);
    sodium_bin2hex(key_hex, sizeof key_hex, key, sizeof key);
    sodium_bin2hex(signature_hex, sizeof signature_hex, signature, sizeof signature);
    out = malloc(FLEET_SEAL_BYTES + size + 1);
    if (!out)
        return NULL;
    head = snprintf(out, FLEET_SEAL_BYTES, "%s%s %s %s\n", MARK, kinds[kind], key_hex, signature_hex);
    if (size > 0)
        memcpy(out + head, content, size);
    *sealed = (size_t)head + size;
    out[*sealed] = '\0';
    return out;
}

const char *fleet_unseal(const fleet_trust *trust, fleet_kind kind, const char *of, const char *name, const char *sealed,
                         size_t sealed_size, const char **content, size_t *size)
{
    const char *end = memchr(sealed, '\n', sealed_size < FLEET_SEAL_BYTES ? sealed_size : FLEET_SEAL_BYTES);
    const size_t mark = strlen(MARK), word = strlen(kinds[kind]);
    unsigned char key[FLEET_KEY_BYTES], signature[crypto_sign_BYTES], *message;
    size_t length;
    bool is_right;

    if (!end)
        return "it is not signed";
    if ((size_t)(end - sealed) < mark || memcmp(sealed, MARK, mark) != 0)
        return strncmp(sealed, MARK, 8) == 0 ? "it is of another version of tilejit" : "it is not signed";
    sealed += mark;
    if ((size_t)(end - sealed) != word + 1 + KEY_HEX + 1 + SIGNATURE_HEX || memcmp(sealed, kinds[kind], word) != 0 ||
        sealed[word] != ' ' || sealed[word + 1 + KEY_HEX] != ' ' || !read_hex(sealed + word + 1, KEY_HEX, key, sizeof key) ||
        !read_hex(sealed + word + 1 + KEY_HEX + 1, SIGNATURE_HEX, signature, sizeof signature))
        return "it is not signed as what it is taken for";
    if (!is_known(trust, key))
        return trust->count == 0 ? "no key is trusted: name some with trust= in the address"
                                 : "it is signed by a key that is not trusted";
    *content = end + 1;
    *size = sealed_size - (size_t)(end + 1 - (sealed - mark));
    message = message_of(kind, of, name, *content, *size, &length);
    if (!message)
        return "memory ran out";
    is_right = crypto_sign_verify_detached(signature, message, length, key) == 0;
    free(message);
    return is_right ? NULL : "its signature does not fit: it was changed, or belongs elsewhere";
}

void fleet_digest(const void *bytes, size_t size, char hex[FLEET_DIGEST_BYTES])
{
    unsigned char digest[crypto_hash_sha256_BYTES];

    (void)crypto_hash_sha256(digest, bytes, size);
    sodium_bin2hex(hex, FLEET_DIGEST_BYTES, digest, sizeof digest);
}
