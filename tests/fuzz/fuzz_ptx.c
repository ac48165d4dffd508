/* SPDX-License-Identifier: Apache-2.0 */
/* tier: change */
/*
 * libFuzzer: any bytes as PTX. A refused module or function must say where and why; an accepted one must be whole: every
 * instruction can be executed, every branch leads to an instruction and every call to a function that can run. Links the
 * emulator's sources only.
 */
#include <stdlib.h>
#include <string.h>

#include "operations.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size);

static void check_inst(const emu_module *module, const emu_inst *inst)
{
    if ((!inst->exec && inst->flow != F_CALL) || !inst->line || inst->outputs > inst->operands)
        abort();
    if (inst->text < module->text && inst->flow != F_EXIT && inst->flow != F_RETURN) /* those that we add have a text of ours */
        abort();
    if (inst->flow == F_BRANCH && inst->target >= module->insts)
        abort();
    for (uint32_t i = 0; inst->flow == F_BRANCH_TABLE && i < inst->table_length; i++)
        if (inst->table[i] >= module->insts)
            abort();
    if (inst->flow == F_CALL && (!inst->call || (inst->call->kind == CALL_FUNCTION && !inst->call->callee)))
        abort();
    for (unsigned i = 0; i < inst->operands; i++)
        if (inst->operand[i].bank == 1 &&
            inst->operand[i].offset + (inst->operand[i].bytes ? inst->operand[i].bytes * 32u : 4) > module->constant_bytes)
            abort();
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t size)
{
    char message[256] = "";
    emu_module *module = emu_ptx_load((const char *)bytes, size, &emu_all_operations, message, sizeof message);

    if (!module && strncmp(message, "line ", 5) != 0 && strcmp(message, "out of memory") != 0)
        abort();
    for (uint32_t i = 0; module && i < module->insts; i++)
        check_inst(module, &module->inst[i]);
    for (size_t i = 0; module && i < module->functions; i++) {
        const emu_function *f = &module->function[i];
        if (f->refusal ? strncmp(f->refusal, "line ", 5) != 0
                       : f->body && (f->insts == 0 || f->first_inst + f->insts > module->insts))
            abort();
    }
    if (module)
        emu_ptx_free(module);
    return 0;
}
