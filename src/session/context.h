/* SPDX-License-Identifier: Apache-2.0 */
/*
 * context: a host, and what is kept to be found again.
 */
#ifndef TJ_SESSION_CONTEXT_H
#define TJ_SESSION_CONTEXT_H

#include <tilejit/tilejit.h>

#include "host.h"

struct tj_image_table; /* image_table.c */
struct tj_plan_table;  /* plan_table.c */
struct tj_chooser;     /* chooser.c */
struct tj_background;  /* background.c */
struct tj_capture;     /* capture.c */

struct tj_context {
    tj_host host;
    tj_specialize specialize;
    bool check_pointers;
    tj_prove prove;
    const char *why_no_store; /* of its own, in words; NULL: there is one */
    bool is_disk_off;         /* because the caller or the environment wants none */
    struct tj_image_table *images;
    struct tj_plan_table *plans;
    struct tj_chooser *chooser;
    struct tj_background *background; /* NULL: not asked for */
    struct tj_capture *capture;       /* so too */
    struct {
        _Atomic uint64_t memory_hits, plans;
    } stats;
};

struct tj_image_table *tj_image_table_create(void);
void tj_image_table_free(struct tj_image_table *table);
struct tj_plan_table *tj_plan_table_create(void);
void tj_plan_table_free(struct tj_plan_table *table);

#endif
