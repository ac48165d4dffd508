/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: declarations that the files about records share.
 *
 *     record.c        one record: fields <-> JSON, its key, and which of two has more evidence
 *     records.c       sets of records: merging, the store, finding
 *     t4.c            Kernel Tuner's T4 format
 *     records_text.c  sets of records as one text
 */
#ifndef TJ_TUNER_RECORD_H
#define TJ_TUNER_RECORD_H

#include <stdbool.h>

#include <tilejit/tuner.h>

#include "disk_store.h"
#include "json.h"

enum {
    TJ_RECORD_SCHEMA = 1,
    TJ_RECORD_KEY_BYTES = 33,
    TJ_RECORD_NAME_BYTES = 64,
    TJ_RECORD_MOST_EVALUATIONS = 1 << 24, /* more than months of tuning make: a record that claims more is refused */
    TJ_RECORD_DIGITS = 15                 /* reproduce a record's numbers exactly, since none has more digits (round_times) */
};

/** The kind of a device, which decides its times. Two cards of one model are alike, two MIG slices of one are not. */
typedef struct tj_device_kind {
    char name[128];
    int32_t cc_major, cc_minor, sm_count;
    int64_t l2_bytes;
} tj_device_kind;

struct tj_record {
    tj_problem problem; /* canonical */
    tj_device_kind device;
    char config[TJ_CONFIG_TEXT_BYTES], default_config[TJ_CONFIG_TEXT_BYTES], second_config[TJ_CONFIG_TEXT_BYTES];
    double us, spread, warm_us, default_us, second_us;
    double check_ratio;
    int64_t check_elements;
    char strategy[16], policy[12]; /* "search"; "cold" or "warm" */
    char family[32];               /* the only one that was searched; "": all */
    int64_t evaluations, seed, created_s;
    double seconds;
    int32_t is_complete, was_cancelled, driver_version, clock_khz;
    char compiler[64], version[32], source_hash[33]; /* of the generated source: "" if not known */
    /* derived */
    char key[TJ_RECORD_KEY_BYTES];
    char problem_text[192];
    char *json; /* canonical, indented */
};

tj_device_kind tj_device_kind_of(const tj_device_facts *facts);
void tj_device_kind_to_json(const tj_device_kind *kind, tj_json *to, const char *name);
bool tj_device_kind_is_equal(const tj_device_kind *a, const tj_device_kind *b);

/** Compute the key of a record: 32 hex digits of device kind and canonical problem. */
void tj_record_key(const tj_device_kind *device, const tj_problem *problem, char key[TJ_RECORD_KEY_BYTES]);

/** Does the record hold an emulator's times? Earlier builds kept such records. */
bool tj_record_is_emulated(const tj_record *record);

/** Can this be the time of a kernel? False for 0, less than a picosecond, or more than a quarter of an hour. */
bool tj_record_is_time(double us);

/**
 * Create a record and its derived members. fields is copied; its derived members are ignored. NULL only when memory ran out.
 */
tj_record *tj_record_create(const tj_record *fields);

tj_record *tj_record_copy(const tj_record *record);

/**
 * Compare records. Below 0: a has more evidence; 0: they have the same bytes. A record that is of no use here ranks below any
 * that is.
 */
int tj_record_compare(const tj_record *a, const tj_record *b);

/** Name the file in the store: key, and a hash of the content, so that two records for one key do not overwrite each other. */
void tj_record_name(const tj_record *record, char name[TJ_RECORD_NAME_BYTES]);

/** Write a record to an empty JSON object, and read one from an object, which loses its checksum. */
void tj_record_to_json(const tj_record *record, tj_json *object);
tj_status tj_record_from_json(tj_json *object, tj_record **record, tj_error *err);

/** As tj_records_find, of a canonical problem. */
const tj_record *tj_records_get(const tj_records *records, const tj_problem *canonical, const tj_device_facts *device);

/** Return table of trials number index of a set; NULL past the last one. Owned: as in tj_records_add_trials. */
const tj_trials *tj_records_table(const tj_records *records, size_t index);

/** Move all records of one set to another. The first is empty afterwards, and must still be freed. */
tj_status tj_records_move(tj_records *from, tj_records *to, tj_error *err);

/** tj_records_load_all and tj_records_keep, on a store. */
tj_status tj_records_read(tj_disk_store *store, tj_records *records, int64_t *passed_over, tj_error *err);
tj_status tj_records_write(tj_disk_store *store, const tj_records *records, int64_t *kept, tj_error *err);

/** T4: write records as a whole text into an empty object, and read records from the results of one. */
void tj_t4_from_records(const tj_records *records, tj_json *root);
tj_status tj_t4_to_records(const tj_json *root, const tj_problem *problem, const tj_device_facts *device, tj_records *records,
                           tj_error *err);

#endif
