/* SPDX-License-Identifier: Apache-2.0 */
/*
 * words: interfaces that the parts of the command share.
 *
 * A command of tilejit is data: its name, its options, its function. The parser, --help, the man page and completion read the
 * same tables, and none of them knows a command or an option by name.
 */
#ifndef TJ_CLI_WORDS_H
#define TJ_CLI_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tilejit/tools.h>

#include "error.h"
#include "json.h"
#include "output.h"

/** The exit code of the process. */
typedef enum cli_exit {
    CLI_DONE = 0,         /* success */
    CLI_FAILED = 1,       /* the request failed */
    CLI_WORDS = 2,        /* wrong options: nothing was read, compiled or run */
    CLI_CHECK_FAILED = 3, /* the product was computed and failed its check */
    CLI_INTERRUPTED = 128 /* plus the signal's number, as in shells */
} cli_exit;

/* ---- options ------------------------------------------------------------------------------------------------------ */

typedef struct cli_real {
    bool is_given;
    double value, imaginary;
} cli_real;

/** The way an option's value is read, and the type of its field. */
typedef enum cli_kind {
    CLI_FLAG,    /* int32_t: set to low */
    CLI_TEXT,    /* const char *: may be empty if low is 1 */
    CLI_INT,     /* int64_t: from low to high, or by name; initial where it is not given */
    CLI_REAL,    /* cli_real: at least low; low 0: any */
    CLI_COMPLEX, /* cli_real: "0.5", "2i" or "0.5-2i" */
    CLI_CHOICE   /* int32_t: by name */
} cli_kind;

typedef struct cli_name {
    const char *word; /* NULL ends a list */
    int64_t value;
} cli_name;

typedef struct cli_option {
    const char *name; /* NULL ends a group */
    cli_kind kind;
    size_t offset;       /* of the field in the group's structure */
    const char *summary; /* one sentence, for --help and the man page; "Type of M:" is followed by the possible values */
    /*
     * The name of the value in --help; completion offers files or folders if it contains file, path or folder. NULL for flags.
     */
    const char *argument;
    int64_t low, high, initial;
    const cli_name *names;
    const char *(*offered)(size_t index); /* other values that completion offers; NULL past the end */
    char letter;                          /* 0: none */
} cli_option;

/** Options that are read into one structure. */
typedef struct cli_group {
    const char *title; /* of their section in the man page */
    const cli_option *options;
    tj_status (*check)(const void *options, tj_error *err); /* checks whether the values fit together. May be NULL */
} cli_group;

/* ---- commands ----------------------------------------------------------------------------------------------------- */

enum { CLI_MAX_OPERANDS = 64, CLI_MAX_GROUPS = 10 };

/** A parsed command line. Strings are borrowed from argv. */
typedef struct cli_call {
    const struct cli_command *command;
    const struct cli_table *table;
    const char *operand[CLI_MAX_OPERANDS];
    size_t operand_count;
    char *const *program;                /* of a command that runs one: the words after --, ended by NULL; NULL: none */
    int32_t is_help, is_json, log_level; /* options of every command */
    void *options;                       /* the command's own structure; fields not given are NULL, 0, or initial */
    tj_json *answer;                     /* an object to fill: the output of --json */
    tj_context *context;                 /* opened by the command; main closes it and the file */
    tj_output file;
} cli_call;

/** A group that a command takes, and the offset of its structure in the command's. The next `more` groups share both. */
typedef struct cli_taken {
    const cli_group *group;
    size_t offset, more;
} cli_taken;

typedef struct cli_command {
    const char *name;                 /* "cache list" */
    const char *operands;             /* "<jxkxl>"; NULL for none */
    size_t operand_count[2];          /* at least, at most */
    const char *summary;              /* one line */
    const char *text;                 /* paragraphs, separated by empty lines */
    const char *example;              /* one per line; may be NULL */
    cli_taken takes[CLI_MAX_GROUPS];  /* ended by a NULL group; all commands also take cli_common_group, last */
    size_t option_bytes;              /* of the structure */
    const char *(*offered)(size_t i); /* values that completion offers for the operands; may be NULL */
    bool is_hidden;
    bool runs_program; /* its operands are a program and its arguments, after -- */
    bool is_program_optional;

    /** Any result but CLI_DONE has *err filled. Without --json the command prints its results to stdout itself. */
    cli_exit (*run)(cli_call *call, tj_error *err);
} cli_command;

/** All commands and shared groups; each list ends with NULL. */
typedef struct cli_table {
    const cli_command *const *commands; /* in the order of the overview */
    const cli_group *const *shared;     /* groups of several commands, in the order of the man page */
} cli_table;

/** --json, --log, --verbose, --help: offsets in cli_call. */
extern const cli_group cli_common_group;

/** Return group or option number index of a command; false, NULL past the end. */
bool cli_taken_at(const cli_command *command, size_t index, cli_taken *taken);
const cli_option *cli_option_at(const cli_command *command, size_t index, cli_taken *from);

/** Find the command named by the first words, *used of them; second may be NULL. NULL: none. */
const cli_command *cli_find_command(const cli_table *table, const char *first, const char *second, int *used);

/** Report an unknown command. */
tj_status cli_no_command(const cli_table *table, const char *first, const char *second, tj_error *err);

/**
 * Parse the arguments after the name of call->command into call. The last of a repeated option wins. call->options belongs to
 * the caller: free(), after a failure too.
 */
tj_status cli_parse(int count, char *const *word, cli_call *call, tj_error *err);

/** Read one value into the field of an option, as the command line does. Strings are borrowed. */
tj_status cli_apply_option(const cli_option *option, const char *value, void *field, tj_error *err);

/**
 * Return the next item of a comma-separated list, of *length bytes; *list moves past it, and is NULL after the last. A comma at
 * the end is followed by an empty item, for the caller to refuse. NULL: there is none.
 */
const char *cli_next_item(const char **list, size_t *length);

void cli_print_help(FILE *out, const cli_command *command);

/** Print the usage, and every command with its summary. */
void cli_print_overview(FILE *out, const cli_table *table);

/* ---- answers ---------------------------------------------------------------------------------------------------- */

/* Set one member; text that is not UTF-8 gets '?', numbers that JSON lacks become null. */
void cli_set_text(tj_json *object, const char *name, const char *text);
void cli_set_int(tj_json *object, const char *name, int64_t value);
void cli_set_real(tj_json *object, const char *name, double value);
void cli_set_bool(tj_json *object, const char *name, bool value);

/* Add an object or a list, to be filled. Borrowed; NULL: out of memory, which all of these functions accept. */
tj_json *cli_add_object(tj_json *object, const char *name);
tj_json *cli_add_list(tj_json *object, const char *name);
tj_json *cli_append_object(tj_json *list);

/** Print to stdout, for programs; false: out of memory, now or earlier, and nothing is printed. */
bool cli_print_answer(const tj_json *answer);

/** Set the member that reports a failure. */
void cli_set_error(tj_json *object, tj_status status, const char *message);

/**
 * Print text for people, in a form safe for terminals (printable.h); the command prints such text only through here
 * (check_layers.sh). Without memory nothing is printed.
 */
__attribute__((format(printf, 2, 3))) void cli_print(FILE *out, const char *format, ...);

/** Like cli_print to stdout, unless --json uses that. */
__attribute__((format(printf, 2, 3))) void cli_say(const cli_call *call, const char *format, ...);

/* ---- numbers ---------------------------------------------------------------------------------------------------- */

/** Parse an integer, decimal digits only: no sign but '-', no blank, no 1e9, no 0x10. `what` names it in messages. */
tj_status cli_parse_int(const char *what, const char *text, int64_t low, int64_t high, int64_t *value, tj_error *err);

/** Parse a decimal number, "nan", "inf" or "-inf". */
tj_status cli_parse_real(const char *what, const char *text, double *value, tj_error *err);

/** Read a complex number: a real one, an imaginary one that ends in i or j, or the sum of both. */
tj_status cli_parse_complex(const char *what, const char *text, cli_real *number, tj_error *err);

/** Parse "512x300x700". */
tj_status cli_parse_shape(const char *text, int64_t extent[3], tj_error *err);

/** A number with its unit, for people; cli_duration(us).text lives as long as the call that it is an argument of. */
typedef struct cli_amount {
    char text[32];
} cli_amount;

cli_amount cli_bytes(int64_t bytes);                 /* "12.3 KiB" */
cli_amount cli_age(int64_t seconds);                 /* "4 min" */
cli_amount cli_rate(double per_s, const char *unit); /* "6.22 TFLOP/s", "1.56 TB/s" */
cli_amount cli_duration(double us);                  /* "33.3 us" */
cli_amount cli_grouped(int64_t count);               /* "1 234 567" */

/** Return part / whole; 0 if whole is 0. */
double cli_ratio(double part, double whole);

/* ---- files ------------------------------------------------------------------------------------------------------ */

/** -o: a const char *. */
extern const cli_group cli_output_group;

/** With --json stdout holds the object: refuse it as the file of an option, naming the option. path may be NULL. */
tj_status cli_check_stdout(const cli_call *call, const char *option, const char *path, tj_error *err);

/**
 * Open call->file with tj_output_open, for output at the end. If that is stdout, later messages go to stderr. path may be NULL:
 * nothing is opened.
 */
tj_status cli_open_output(cli_call *call, const char *path, tj_error *err);

/** Between these two, a signal waits until a file is complete; it does not wait for pipes and devices. */
void cli_begin_file(const tj_output *out);
void cli_end_file(const tj_output *out);

/** Write one piece with tj_output_write, between them. */
tj_status cli_write_output(const tj_output *out, const void *bytes, size_t size, tj_error *err);

/** Write text from outside, such as a device's name, as HTML. Controls, and bytes that are not UTF-8, become question marks. */
void cli_html_text(FILE *out, const char *text);

/* ---- signals ---------------------------------------------------------------------------------------------------- */

/**
 * From now on SIGINT, SIGTERM and, unless it was ignored, SIGHUP end the process in order: a line on stderr, with is_json an
 * object on stdout, exit code CLI_INTERRUPTED plus the number. Call before any thread starts: threads that do not block the
 * signals would take them. If no thread can be started, signals act as before.
 */
void cli_listen(bool is_json);

/** From now on only note the first signal; a second one ends the process. */
void cli_note_signals(void);

/** Return the noted signal; 0: none. */
int cli_noted_signal(void);

/** Between these two, only a second signal ends the process. */
void cli_hold_signals(void);
void cli_release_signals(void);

/** Restore the signals' actions from before cli_listen. Later calls do nothing. */
void cli_stop_listening(void);

#endif
