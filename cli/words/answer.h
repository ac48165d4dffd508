/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answer: what a command tells: members of the object that --json prints, or lines for people.
 */
#ifndef TJ_CLI_ANSWER_H
#define TJ_CLI_ANSWER_H

#include "command.h"

/* Each sets one member; text that is not UTF-8 gets '?', numbers that JSON lacks become null. */
void cli_set_text(json_t *object, const char *name, const char *text);
void cli_set_int(json_t *object, const char *name, int64_t value);
void cli_set_real(json_t *object, const char *name, double value);
void cli_set_bool(json_t *object, const char *name, bool value);

/** The member that a failure is told by. */
void cli_set_error(json_t *object, tj_status status, const char *message);

/** Print to stdout, unless that takes the object. */
__attribute__((format(printf, 2, 3))) void cli_say(const cli_call *call, const char *format, ...);

#endif
