/* SPDX-License-Identifier: Apache-2.0 */
/* place: the address of a server and how to use it, parsed from redis://user:password@host:port/database?name=value&... */
#ifndef TJ_FLEET_PLACE_H
#define TJ_FLEET_PLACE_H

#include <limits.h>
#include <stdbool.h>

#include <tilejit/status.h>

typedef struct fleet_place {
    char host[256], socket[108]; /* one of the two is "" */
    int port, database;
    char user[64], password[256];
    char trust[PATH_MAX], sign[PATH_MAX]; /* files of keys; "": none */
    char generation[64];
    int deadline_ms, wait_ms; /* for one question; for another process that compiles */
    int image_days;
    char shown[512]; /* without secrets */
} fleet_place;

/** Errors: TJ_ERR_INVALID_ARGUMENT, naming the wrong part; TJ_ERR_UNSUPPORTED: TLS; TJ_ERR_IO: the password file. */
tj_status fleet_place_parse(const char *url, fleet_place *place, tj_error *err);

#endif
