/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fleet_cli: interfaces that the files of tilejit fleet share.
 *
 *     server.c     the client library, and classes
 *     submit.c     shapes to be tuned: submit, cancel
 *     work.c       a worker
 *     status.c     progress
 *     results.c    export, pin; and key
 */
#ifndef TJ_CLI_FLEET_H
#define TJ_CLI_FLEET_H

#include "fleet.h"
#include "product.h"
#include "tune.h"

/** The table of libtilejit_fleet.so. Errors: TJ_ERR_NOT_FOUND: it is not installed. */
tj_status fleet_table_open(const fleet_table **table, tj_error *err);

/** The address of --remote, or else of $TILEJIT_REMOTE. */
tj_status fleet_address(const cli_machine_options *machine, const char **address, tj_error *err);

/** Get both, and open a connection; the caller closes it. */
tj_status fleet_connect(const cli_machine_options *machine, bool needs_key, const fleet_table **table, fleet **connection,
                        tj_error *err);

/** Get the server's status, an object. Owned: the caller. */
tj_status fleet_ask_status(const fleet_table *table, fleet *connection, tj_json **status, tj_error *err);

enum { FLEET_MOST_CLASSES = 64 };

typedef struct fleet_chosen {
    char id[FLEET_MOST_CLASSES][20];
    size_t count;
} fleet_chosen;

/**
 * Find the classes of --class: one by the first digits of its id, all, or, without the option, that of this machine's device.
 * With has_device *own is the device's class, and its facts are to be freed.
 */
tj_status fleet_choose_classes(cli_call *call, const cli_machine_options *machine, const char *word, const fleet_table *table,
                               fleet *connection, fleet_chosen *chosen, char **own_facts, tj_error *err);

/** Return the class of a device, and its facts as JSON, with which another machine can compile for it. Owned: the caller. */
tj_status fleet_class_of(tj_context *context, const tj_device_facts *device, tj_tuning_class *of, char **facts, tj_error *err);

/** Read a device from such facts. False: incomplete. */
bool fleet_read_device(const tj_json *facts, tj_device_facts *device);

#endif
