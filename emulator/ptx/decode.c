/* SPDX-License-Identifier: Apache-2.0 */
#include "decode.h"

#include <stdio.h>
#include <string.h>

#include "operand.h"

static emu_inst *new_inst(emu_parser *p)
{
    emu_module *m = p->module;

    m->inst = emu_arena_grow(p->arena, m->inst, m->insts, &p->inst_capacity, sizeof *m->inst);
    if (!m->inst || m->insts >= EMU_MAX_INSTS) {
        emu_unknown(p, NULL, "more than %d instructions", EMU_MAX_INSTS);
        return NULL;
    }
    m->inst[m->insts] = (emu_inst){0};
    return &m->inst[m->insts];
}

/* Opcodes of PTX 9.0 that no form has. */
static bool is_opcode_of_ptx(const emu_mnemonic *m)
{
    static const char others[] = " alloca istypep multimem stackrestore stacksave suld suq "
                                 "sured sust tensormap tex tld4 txq vabsdiff vabsdiff2 vadd vadd2 vavrg2 vmad vmax vmax2 vmin "
                                 "vmin2 vset vset2 vset4 vshl vsub vsub2 ";
    const char *at = memmem(others, sizeof others - 1, m->text, m->opcode_length);

    while (at && (at[-1] != ' ' || at[m->opcode_length] != ' '))
        at = memmem(at + 1, (size_t)(others + sizeof others - 2 - at), m->text, m->opcode_length);
    return at != NULL;
}

enum { MAX_CANDIDATES = 8 };

/* The forms of a mnemonic, which differ in their operands. */
typedef struct candidates {
    struct {
        const emu_form *form;
        emu_inst inst;
    } one[MAX_CANDIDATES];
    unsigned count;
} candidates;

/* Return the lowest target that has an instruction of this form, or EMU_ONLY and the first of its family. */
static unsigned target_of(const emu_form *form, const emu_inst *inst)
{
    unsigned target = inst->space == S_CLUSTER && form->target < 90 ? 90 : form->target;

    if (target > EMU_ONLY)
        return target;
    for (unsigned i = 0; i < inst->type_count; i++) {
        const unsigned least = emu_type_target((emu_type)inst->type[i]);
        target = least > target ? least : target;
    }
    return target;
}

static unsigned number_of(unsigned target)
{
    return target & (EMU_ONLY - 1);
}

static bool lacks(const emu_module *m, unsigned target)
{
    const unsigned own = (unsigned)m->target, first = number_of(target);
    const bool is_of_family = own / 10 == first / 10 || (target & EMU_OR_110 && own == 110);

    if (target <= EMU_ONLY)
        return target > own;
    return !m->is_specific || (target & EMU_NOT_F && !m->is_own) || !is_of_family || own < first;
}

static void find_forms(emu_parser *p, const emu_token *mnemonic, const emu_inst *blank, candidates *found)
{
    unsigned target = 0; /* required by a form, above that of the text */
    bool is_opcode = false;
    emu_mnemonic m;

    emu_split_mnemonic(mnemonic->text, mnemonic->length, &m);
    for (const emu_form *const *list = p->operations->forms; *list; list++)
        for (const emu_form *form = *list; form->form && found->count < MAX_CANDIDATES; form++) {
            emu_inst *inst;
            if (!emu_form_has_opcode(form, &m))
                continue;
            is_opcode = true;
            inst = &found->one[found->count].inst;
            *inst = *blank;
            if (!emu_form_matches(form, &m, inst))
                continue;
            if (lacks(p->module, target_of(form, inst)))
                target = target_of(form, inst);
            else
                found->one[found->count++].form = form;
        }
    if (found->count == 0 && target > EMU_ONLY)
        emu_unknown(p, mnemonic, "this instruction, which needs .target sm_%ua", number_of(target));
    else if (found->count == 0 && target)
        emu_unknown(p, mnemonic, "this instruction, which needs .target sm_%u or later where the text has sm_%d", target,
                    p->module->target);
    else if (found->count == 0 && (is_opcode || is_opcode_of_ptx(&m)))
        emu_unknown(p, mnemonic, "this instruction");
    else if (found->count == 0)
        emu_fault(p, mnemonic, "no instruction is called %.*s", m.opcode_length < 60 ? (int)m.opcode_length : 60, m.text);
}

/* Bind operands to the first form that accepts them. */
static bool decode_by_form(emu_parser *p, const emu_token *mnemonic, const candidates *found, const emu_raw *const *list,
                           unsigned count, emu_inst *inst)
{
    bool is_combination = true;
    char why[160] = "";

    for (unsigned i = 0; i < found->count && !p->has_failed; i++) {
        const emu_form *form = found->one[i].form;
        emu_binding b = {.p = p, .inst = inst};
        *inst = found->one[i].inst;
        if (!emu_bind(&b, form->operands, list, count) || p->has_failed) {
            snprintf(why, sizeof why, "%s", b.why[0] ? b.why : "the operands do not fit");
            continue;
        }
        inst->flow = form->flow;
        inst->tracking = form->tracking;
        inst->flops = form->flops;
        inst->is_fma = form->is_fma;
        inst->orders_floats = form->tracking == D_ATOMIC && emu_type_is_float((emu_type)inst->type[0]);
        inst->operands = (uint8_t)b.count;
        inst->operand = emu_take(p, sizeof(emu_operand) * (b.count + 1));
        if (!inst->operand)
            return false;
        memcpy((void *)inst->operand, b.operand, sizeof(emu_operand) * b.count);
        inst->exec = form->exec ? form->exec : form->choose(inst);
        if (!inst->exec) {
            is_combination = false;
            continue;
        }
        if (b.label) {
            label_use *use = emu_use_label(p, b.label, b.label_length, mnemonic->line);
            if (use)
                use->wants_table = inst->flow == F_BRANCH_TABLE;
        }
        return true;
    }
    if (!is_combination)
        emu_unknown(p, mnemonic, "this combination of modifiers");
    else
        emu_fault(p, mnemonic, "%s", why);
    return false;
}

/* Find a parameter of a call; NULL: it is not one, and a fault says so. */
static const place_decl *passed_place(emu_parser *p)
{
    const place_decl *place = emu_names_find(p->own_names, N_PLACE, p->token.text, p->token.length);

    if (place && place->space == S_FRAME)
        return place;
    if (p->token.kind != W_NAME || emu_find_register(p, &p->token, &(emu_operand){0}, &(emu_type){T_NONE}))
        emu_unknown(p, NULL, "a call with parameters that are no .param variables");
    else
        emu_fault(p, NULL, "expected a .param variable");
    return NULL;
}

/* call{.uni} (result), function, (inputs); arguments lie in .param variables of the lanes' frames. */
static void decode_call(emu_parser *p, emu_inst *inst)
{
    emu_call *call = emu_take(p, sizeof *call);
    const emu_function *f;
    emu_token name;

    if (!call)
        return;
    if (emu_accept(p, "(")) {
        const place_decl *place = passed_place(p);
        if (!place)
            return;
        call->output_to[0] = place->offset;
        call->output_bytes[0] = place->bytes;
        call->outputs = 1;
        emu_next(p);
        emu_expect(p, ")");
        emu_expect(p, ",");
    }
    name = p->token;
    if (name.kind != W_NAME) {
        emu_fault(p, NULL, "expected the name of a function");
        return;
    }
    f = emu_find_function(p, name.text, name.length);
    if (!f && emu_find_register(p, &name, &(emu_operand){0}, &(emu_type){T_NONE})) {
        emu_unknown(p, &name, "a call through a pointer");
        return;
    }
    if (!f || f->is_entry) {
        emu_fault(p, &name, "no function of this name");
        return;
    }
    if (!f->body && emu_token_is(&name, "vprintf"))
        call->kind = CALL_PRINTF;
    else if (!f->body && emu_token_is(&name, "__assertfail"))
        call->kind = CALL_ASSERT;
    else if (!f->body) {
        emu_unknown(p, &name, "%.*s, a function without a body", name.length < 100 ? (int)name.length : 100, name.text);
        return;
    } else {
        call->callee = f;
    }
    emu_next(p);
    if (emu_accept(p, ",")) {
        emu_expect(p, "(");
        while (!p->has_failed && !emu_accept(p, ")")) {
            const place_decl *place = passed_place(p);
            if (place && call->inputs == 32)
                emu_unknown(p, NULL, "a call with more than 32 parameters");
            if (p->has_failed)
                return;
            call->input_from[call->inputs] = place->offset;
            call->input_bytes[call->inputs++] = place->bytes;
            emu_next(p);
            emu_accept(p, ",");
        }
    }
    /* vprintf(format, arguments), __assertfail(message, file, line, ...) */
    if (call->kind != CALL_FUNCTION && (call->inputs < (call->kind == CALL_PRINTF ? 2 : 3) || call->input_bytes[0] != 8 ||
                                        call->input_bytes[1] != 8 || (call->kind == CALL_ASSERT && call->input_bytes[2] != 4)))
        emu_fault(p, &name, "a call with other parameters than this function has");
    if (call->kind == CALL_FUNCTION && !f->refusal) { /* otherwise the sizes may be unknown, and the caller is refused too */
        if (call->inputs != call->callee->params || call->outputs != call->callee->results) {
            emu_fault(p, &name, "a call with other parameters than the function has");
            return;
        }
        for (uint32_t i = 0; i < call->inputs; i++) {
            call->input_to[i] = call->callee->param[i].offset;
            if (call->input_bytes[i] != call->callee->param[i].bytes)
                emu_fault(p, &name, "a parameter of another size than the function has");
        }
        for (uint32_t i = 0; i < call->outputs; i++) {
            call->output_from[i] = call->callee->result[i].offset;
            if (call->output_bytes[i] != call->callee->result[i].bytes)
                emu_fault(p, &name, "a result of another size than the function has");
        }
    }
    inst->call = call;
    inst->flow = F_CALL;
}

static void decode_instruction(emu_parser *p, const emu_token *mnemonic, emu_inst *inst)
{
    const emu_raw *list[EMU_MAX_RAW];
    unsigned count = 0;
    candidates found; /* large, so only the used part is written */

    found.count = 0;
    find_forms(p, mnemonic, inst, &found);
    while (!p->has_failed && !emu_token_is(&p->token, ";") && p->token.kind != W_END) {
        if (count == EMU_MAX_RAW) {
            emu_fault(p, mnemonic, "more than %d operands", EMU_MAX_RAW);
            return;
        }
        list[count++] = emu_read_value(p, 0);
        if (!emu_accept(p, ","))
            break;
    }
    if (p->has_failed || !decode_by_form(p, mnemonic, &found, list, count, inst))
        return;
    if (count == 3 && emu_token_is(mnemonic, "and.b32") && list[2]->kind == RAW_INTEGER &&
        (uint32_t)list[2]->bits >> 24 == 0xfe)
        inst->exec = p->operations->clear_rank;
    if (count == 2 && list[1]->kind == RAW_SPECIAL && list[1]->special >= SR_CLOCK) {
        inst->exec = p->operations->read_clock;
        inst->choice[0] = (uint8_t)list[1]->special;
    }
}

void emu_decode(emu_parser *p, bool is_guarded, bool is_negated, const emu_operand *guard)
{
    const emu_token mnemonic = p->token;
    emu_inst *inst = new_inst(p), built;

    if (!inst)
        return;
    built = (emu_inst){.is_guarded = is_guarded,
                       .guard_negated = is_negated,
                       .guard = *guard,
                       .line = mnemonic.line,
                       .cuda_line = p->cuda_line,
                       .text = mnemonic.text};
    emu_next(p);
    if (emu_token_is(&mnemonic, "call") || emu_token_is(&mnemonic, "call.uni"))
        decode_call(p, &built);
    else
        decode_instruction(p, &mnemonic, &built);
    built.text_length = (uint32_t)(p->token.text - mnemonic.text);
    emu_expect(p, ";");
    if (p->has_failed)
        return;
    p->module->inst[p->module->insts++] = built;
}
