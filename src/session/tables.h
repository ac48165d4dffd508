/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables: the tables of trials of a context, those that ship with the library and those that it is told of. They are read when a
 * choice first needs them. A table that cannot be used is a warning, and the others are used.
 */
#ifndef TJ_SESSION_TABLES_H
#define TJ_SESSION_TABLES_H

#include <tilejit/tuner.h>

#include "hash.h"
#include "log.h"

struct tj_tables;

/**
 * places: files, and folders with *.tjtrials, separated by colons, in addition to those that ship; "" or "off": no table at all;
 * NULL: those that ship. NULL only when memory ran out.
 */
struct tj_tables *tj_tables_create(const char *places);
void tj_tables_free(struct tj_tables *tables);

/**
 * Let a set of records use them. NULL: none. For one thread at a time; the first call reads them. They must outlive the set,
 * which is lent them once.
 */
void tj_tables_lend(struct tj_tables *tables, const tj_log *log, tj_records *records);

/**
 * Read each file and tell of it: its path, and its table, which the visitor frees, or why it cannot be used (then trials is
 * NULL).
 */
typedef void tj_table_visit(void *payload, const char *path, tj_trials *trials, const char *trouble);
void tj_tables_each(const struct tj_tables *tables, tj_table_visit *visit, void *payload);

/** Tell sets of tables apart, by the paths, sizes and times of their files, which are not opened. */
void tj_tables_identify(const struct tj_tables *tables, char id[TJ_HASH_HEX_BYTES]);

#endif
