/* SPDX-License-Identifier: Apache-2.0 */
/* operand: read the operands of an instruction, and bind them to its form (form.h). */
#ifndef EMU_OPERAND_H
#define EMU_OPERAND_H

#include "parser.h"

typedef enum emu_raw_kind {
    RAW_REGISTER,
    RAW_SPECIAL,
    RAW_INTEGER,
    RAW_FLOAT,
    RAW_NAME,
    RAW_SINK,
    RAW_VECTOR,
    RAW_ADDRESS
} emu_raw_kind;

/** An operand as written. */
typedef struct emu_raw {
    emu_raw_kind kind;
    emu_token token;
    emu_operand place; /* RAW_REGISTER */
    emu_type type;
    emu_special_kind special;
    uint64_t bits;   /* RAW_INTEGER, RAW_FLOAT */
    bool is_negated; /* ! */
    bool is_minus;
    int64_t displacement;
    struct emu_raw *element, *second; /* of a vector or address; after |, or after the comma of an address */
    uint32_t elements;
} emu_raw;

/** Read an operand that is not an address; expressions such as register + number are refused. NULL: a fault says why. */
emu_raw *emu_read_value(emu_parser *p, int depth);

/** The reason why operands do not fit a form, for the message if none fits; other faults of the parser are final at once. */
typedef struct emu_binding {
    emu_parser *p;
    emu_inst *inst;
    emu_operand operand[EMU_MAX_OPERANDS];
    unsigned count;
    const char *label; /* of a branch */
    size_t label_length;
    char why[160];
} emu_binding;

/** Bind a list of operands to a form's signature. */
bool emu_bind(emu_binding *b, const char *spec, const emu_raw *const *list, unsigned count);

#endif
