/* SPDX-License-Identifier: Apache-2.0 */
/* declare: declarations of variables, registers and parameters. */
#ifndef EMU_DECLARE_H
#define EMU_DECLARE_H

#include "parser.h"

/** .align 16 .b8 name[64]: the common part of .param, .local, .shared, .global and .const. Vector types count as arrays. */
typedef struct emu_variable {
    emu_token name;
    emu_type type;
    uint32_t align;
    uint64_t bytes, element_bytes;
    uint64_t row_bytes; /* of all dimensions but the first */
    bool is_open;
    const char *unknown; /* unsupported property, or NULL */
} emu_variable;

emu_variable emu_parse_variable(emu_parser *p);

/** Read the symbols of one declaration, after its directive. */
void emu_declare_symbol(emu_parser *p, emu_space space, bool is_extern);
void emu_declare_registers(emu_parser *p);
void emu_declare_place(emu_parser *p, emu_space space); /* space: S_LOCAL or S_FRAME, one per lane */

#endif
