/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust: verify the data of a server. Any writer may store anything, and the fetched data chooses the code that runs on the
 * GPU, or is that code. So everything is sealed: signed (Ed25519) together with its kind and name.
 *
 *     tilejit 1 record <key, 64 hex digits> <signature, 128 hex digits>\n<content>
 */
#ifndef TJ_FLEET_TRUST_H
#define TJ_FLEET_TRUST_H

#include "fleet.h"
#include "place.h"

enum {
    FLEET_MOST_KEYS = 64,
    FLEET_KEY_BYTES = 32,
    FLEET_SECRET_BYTES = 64,
    FLEET_DIGEST_BYTES = 65,
    FLEET_SEAL_BYTES = 256, /* limit, before the content */
    FLEET_MOST_SEALED_BYTES = FLEET_MOST_RECORD_BYTES + FLEET_SEAL_BYTES
};

typedef struct fleet_trust {
    unsigned char key[FLEET_MOST_KEYS][FLEET_KEY_BYTES];
    size_t count;
    bool signs;
    unsigned char secret[FLEET_SECRET_BYTES];
} fleet_trust;

/** Read the key files of a place. Its own key is trusted too. Errors: TJ_ERR_IO, TJ_ERR_INVALID_ARGUMENT: not a key file. */
tj_status fleet_trust_load(const fleet_place *place, fleet_trust *trust, tj_error *err);

/** Return *sealed bytes, malloc'ed; NULL: out of memory. The trust must have a key to sign with. */
char *fleet_seal(const fleet_trust *trust, fleet_kind kind, const char *of, const char *name, const void *content, size_t size,
                 size_t *sealed);

/** NULL: *content points to *size bytes within sealed; else a sentence that says why it is not trusted. */
const char *fleet_unseal(const fleet_trust *trust, fleet_kind kind, const char *of, const char *name, const char *sealed,
                         size_t sealed_size, const char **content, size_t *size);

/** SHA-256 in 64 hex digits. */
void fleet_digest(const void *bytes, size_t size, char hex[FLEET_DIGEST_BYTES]);

tj_status fleet_make_key(const char *path, tj_error *err);

#endif
