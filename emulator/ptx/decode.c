/* SPDX-License-Identifier: Apache-2.0 */
/* decode: one instruction, from its words to what is executed. */
#include "parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum raw_kind {
    RAW_REGISTER,
    RAW_SPECIAL,
    RAW_INTEGER,
    RAW_FLOAT,
    RAW_NAME,
    RAW_SINK,
    RAW_VECTOR,
    RAW_ADDRESS
} raw_kind;

/* An operand as it was written. */
typedef struct raw {
    raw_kind kind;
    emu_token token;
    emu_operand place; /* RAW_REGISTER */
    emu_type type;
    emu_special_kind special;
    uint64_t bits;   /* RAW_INTEGER, RAW_FLOAT */
    bool is_negated; /* ! */
    bool is_minus;
    int64_t displacement;
    struct raw *element, *second; /* of a vector or address; behind | */
    uint32_t elements;
} raw;

static const char *const special_names[SR_COUNT] = {
    "%tid.x",           "%tid.y",       "%tid.z",       "%ntid.x",      "%ntid.y",      "%ntid.z",
    "%ctaid.x",         "%ctaid.y",     "%ctaid.z",     "%nctaid.x",    "%nctaid.y",    "%nctaid.z",
    "%laneid",          "%warpid",      "%nwarpid",     "%smid",        "%nsmid",       "%gridid",
    "%lanemask_eq",     "%lanemask_le", "%lanemask_lt", "%lanemask_ge", "%lanemask_gt", "%dynamic_smem_size",
    "%total_smem_size", "%clock",       "%clock_hi",    "%clock64",     "%globaltimer"};

static unsigned special_bytes(emu_special_kind kind)
{
    return kind == SR_CLOCK64 || kind == SR_GLOBALTIMER || kind == SR_GRIDID ? 8 : 4;
}

/* ---- reading operands ------------------------------------------------------------------------------------------------ */

static raw *read_operand(emu_parser *p, int depth);

/* Words of PTX that no table here has a place for: of clusters, of profilers. */
static bool is_unknown_special(const emu_token *token)
{
    static const char *const names[] = {
        "%clusterid",      "%nclusterid",           "%cluster_",           "%is_explicit_cluster", "%pm",
        "%aggr_smem_size", "%reserved_smem_offset", "%current_graph_exec", "%globaltimer_"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (token->length >= strlen(names[i]) && memcmp(token->text, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* %envreg0 to %envreg31, which a driver may set; this one leaves them 0. */
static bool is_envreg(const emu_token *token)
{
    static const char stem[] = "%envreg";
    const size_t n = sizeof stem - 1;
    char *end;

    return token->length > n && token->length <= n + 2 && memcmp(token->text, stem, n) == 0 && token->text[n] >= '0' &&
           token->text[n] <= '9' && strtoul(token->text + n, &end, 10) < 32 && end == token->text + token->length;
}

static void read_number(emu_parser *p, raw *r)
{
    const bool is_minus = emu_accept(p, "-");

    r->token = p->token;
    r->is_minus = is_minus;
    if (p->token.kind == W_INTEGER) {
        r->kind = RAW_INTEGER;
        r->bits = is_minus ? 0 - p->token.value : p->token.value;
    } else if (p->token.kind == W_FLOAT) {
        r->kind = RAW_FLOAT;
        r->bits = p->token.value;
        if (is_minus)
            r->bits ^= p->token.is_single ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
    } else {
        if (emu_starts_expression(&p->token))
            emu_unknown(p, NULL, "an expression");
        else
            emu_fault(p, NULL, "expected a number");
        return;
    }
    emu_next(p);
}

/* %r1.b3210 and %r1.h1: the operands of video instructions. */
static bool has_selector(emu_parser *p, const emu_token *token)
{
    const char *const dot = memchr(token->text, '.', token->length);
    emu_token name = *token;

    if (!dot || (dot[1] != 'b' && dot[1] != 'h'))
        return false;
    name.length = (size_t)(dot - token->text);
    return emu_find_register(p, &name, &(emu_operand){0}, &(emu_type){T_NONE});
}

static void read_name(emu_parser *p, raw *r)
{
    r->token = p->token;
    if (p->token.length == 1 && p->token.text[0] == '_') {
        r->kind = RAW_SINK;
        emu_next(p);
        return;
    }
    r->kind = RAW_NAME;
    if (emu_find_register(p, &p->token, &r->place, &r->type)) {
        r->kind = RAW_REGISTER;
    } else if (has_selector(p, &p->token)) {
        emu_unknown(p, NULL, "a selector of bytes or halves");
        return;
    } else if (p->token.text[0] == '%') {
        for (int i = 0; i < SR_COUNT; i++)
            if (emu_token_is(&p->token, special_names[i])) {
                r->kind = RAW_SPECIAL;
                r->special = (emu_special_kind)i;
            }
        if (is_envreg(&p->token))
            r->kind = RAW_INTEGER;
        if (r->kind == RAW_NAME) {
            const int length = p->token.length < 100 ? (int)p->token.length : 100;
            if (is_unknown_special(&p->token))
                emu_unknown(p, NULL, "the register %.*s", length, p->token.text);
            else
                emu_fault(p, NULL, "no register %.*s", length, p->token.text);
            return;
        }
    }
    emu_next(p);
}

static void read_displacement(emu_parser *p, raw *r)
{
    while (emu_accept(p, "+")) {
        const bool is_minus = emu_accept(p, "-");
        if (p->token.kind != W_INTEGER) {
            emu_fault(p, NULL, "expected a number of bytes");
            return;
        }
        r->displacement = (int64_t)((uint64_t)r->displacement + (is_minus ? 0 - p->token.value : p->token.value));
        emu_next(p);
    }
}

/* An operand that is no address: the sum of a register and a number is none of those that are taken. */
static raw *read_value(emu_parser *p, int depth)
{
    raw *r = read_operand(p, depth);

    if (r && r->kind == RAW_REGISTER && r->displacement)
        emu_unknown(p, &r->token, "an expression");
    return p->has_failed ? NULL : r;
}

static void read_elements(emu_parser *p, raw *r, const char *end, int depth)
{
    r->element = emu_take(p, EMU_MAX_VECTOR * sizeof *r->element);
    while (r->element && !p->has_failed) {
        const raw *one = read_value(p, depth + 1);
        if (r->elements == EMU_MAX_VECTOR) {
            emu_fault(p, NULL, "more than %d elements in braces", EMU_MAX_VECTOR);
            return;
        }
        if (one)
            r->element[r->elements++] = *one;
        if (emu_accept(p, end))
            return;
        emu_expect(p, ",");
    }
}

static raw *read_operand(emu_parser *p, int depth)
{
    raw *r = emu_take(p, sizeof *r);

    if (!r || depth > 2) {
        emu_fault(p, NULL, "operands inside each other");
        return NULL;
    }
    r->is_negated = emu_accept(p, "!");
    r->token = p->token;
    if (emu_accept(p, "{")) {
        r->kind = RAW_VECTOR;
        read_elements(p, r, "}", depth);
    } else if (emu_accept(p, "[")) {
        r->kind = RAW_ADDRESS;
        r->element = read_operand(p, depth + 1);
        r->elements = 1;
        if (r->element)
            r->displacement = r->element->displacement;
        emu_expect(p, "]");
    } else if (p->token.kind == W_NAME) {
        read_name(p, r);
        read_displacement(p, r);
        if (emu_accept(p, "|"))
            r->second = read_operand(p, depth + 1);
    } else {
        read_number(p, r);
        if (r->kind == RAW_INTEGER)
            read_displacement(p, r);
        r->bits += (uint64_t)r->displacement;
        r->displacement = 0;
    }
    if (!p->has_failed && emu_continues_expression(&p->token))
        emu_unknown(p, NULL, "an expression");
    return p->has_failed ? NULL : r;
}

/* ---- binding operands to a form -------------------------------------------------------------------------------------- */

/* Why operands do not fit a form, for the message if none fits; the rest of the parser's faults are final at once. */
typedef struct binding {
    emu_parser *p;
    emu_inst *inst;
    emu_operand operand[EMU_MAX_OPERANDS];
    unsigned count;
    const char *label; /* of a branch */
    size_t label_length;
    char why[160];
} binding;

static bool refuse(binding *b, const char *why, const emu_token *token)
{
    snprintf(b->why, sizeof b->why, "%.*s %s", (int)(token->length < 60 ? token->length : 60), token->text, why);
    return false;
}

static bool add(binding *b, emu_operand operand)
{
    if (b->count == EMU_MAX_OPERANDS)
        return false;
    b->operand[b->count++] = operand;
    return true;
}

static uint64_t float_bits(const raw *r, emu_type type, unsigned bytes)
{
    double wide;
    float narrow;
    uint32_t word;
    uint64_t bits;

    if (r->token.is_single) {
        if (type != T_F64)
            return r->bits;
        word = (uint32_t)r->bits;
        memcpy(&narrow, &word, 4);
        wide = (double)narrow;
        memcpy(&bits, &wide, 8);
        return bits;
    }
    if (bytes == 8)
        return r->bits;
    memcpy(&wide, &r->bits, 8);
    narrow = (float)wide;
    memcpy(&word, &narrow, 4);
    return word;
}

static emu_operand special_place(emu_parser *p, emu_special_kind kind)
{
    emu_function *f = p->function;
    emu_special *larger;
    emu_operand place = {.bytes = (uint8_t)special_bytes(kind)};

    for (size_t i = 0; i < f->specials; i++)
        if (f->special[i].kind == kind)
            return f->special[i].place;
    emu_new_register(p, place.bytes == 8 ? T_U64 : T_U32, 1, &place.offset);
    larger = emu_take(p, (f->specials + 1) * sizeof *larger);
    if (!larger)
        return place;
    if (f->specials)
        memcpy(larger, f->special, f->specials * sizeof *larger);
    f->special = larger;
    f->special[f->specials++] = (emu_special){(uint8_t)kind, place};
    return place;
}

/* The address of a variable, as a constant that the loader fills in; or the place of a parameter. */
static bool address_of_name(binding *b, const raw *r, unsigned bytes, bool is_access, emu_operand *operand)
{
    emu_parser *p = b->p;
    const place_decl *place = emu_find_place(p, r->token.text, r->token.length);
    const emu_param *param = place ? NULL : emu_find_param(p, r->token.text, r->token.length);
    int symbol;

    if (param || place) {
        const bool is_entry_param = param && p->function->is_entry;
        const emu_space space = place ? place->space : is_entry_param ? S_PARAM : S_FRAME;
        uint64_t address = place ? place->offset : param->offset;
        if (is_access) {
            *operand = emu_constant(p, address, bytes);
            operand->displacement = r->displacement;
            b->inst->space = (uint8_t)space;
            return true;
        }
        if (space == S_FRAME && place)
            return refuse(b, "is a parameter of a call, which has no address", &r->token);
        if (space == S_FRAME) /* those of a function have one in local memory */
            address += EMU_FRAMES_IN_LOCAL;
        *operand = emu_constant(p, address + (uint64_t)r->displacement, bytes);
        return true;
    }
    symbol = emu_find_symbol(p, r->token.text, r->token.length);
    if (symbol < 0 && emu_find_function(p, r->token.text, r->token.length)) {
        emu_unknown(p, &r->token, "the address of a function");
        return false;
    }
    if (symbol < 0)
        return refuse(b, "is no register, variable or parameter", &r->token);
    if (p->module->symbol[symbol].unknown) {
        emu_unknown(p, &r->token, "%.*s, a variable %s", r->token.length < 100 ? (int)r->token.length : 100, r->token.text,
                    p->module->symbol[symbol].unknown);
        return false;
    }
    if (bytes != 4 && bytes != 8)
        return refuse(b, "is a variable: an address has 32 or 64 bits", &r->token);
    p->module->fixup = emu_arena_grow(p->arena, p->module->fixup, p->module->fixups, &p->fixup_capacity, sizeof(emu_fixup));
    if (!p->module->fixup) {
        emu_no_memory(p);
        return false;
    }
    *operand = emu_own_constant(p, bytes);
    p->module->fixup[p->module->fixups++] =
        (emu_fixup){operand->offset, (uint8_t)bytes, symbol, is_access ? 0 : r->displacement, b->inst->space == S_GENERIC};
    operand->displacement = is_access ? r->displacement : 0;
    return true;
}

static bool bind_scalar(binding *b, const raw *r, emu_type type, unsigned bytes, bool is_output, bool is_wide)
{
    switch (r->kind) {
    case RAW_REGISTER:
        if (r->is_negated || r->is_minus)
            return refuse(b, "cannot be negated here", &r->token);
        if (r->type == T_PRED || (is_wide ? r->place.bytes < bytes : r->place.bytes != bytes))
            return refuse(b, "is a register of another width than the instruction's type", &r->token);
        return add(b, r->place);
    case RAW_SINK:
        return is_output ? add(b, (emu_operand){.bytes = (uint8_t)bytes, .is_sink = true})
                         : refuse(b, "is not written here", &r->token);
    case RAW_SPECIAL:
        if (is_output || (is_wide ? special_bytes(r->special) < bytes : special_bytes(r->special) != bytes)) {
            /* mov.u32 of the low half of a 64-bit one, and mov.u64 of a 32-bit one, are not PTX either */
            return refuse(b, "cannot stand here", &r->token);
        }
        return add(b, special_place(b->p, r->special));
    case RAW_INTEGER:
        if (is_output)
            return refuse(b, "cannot be written", &r->token);
        if (type == T_F32 || type == T_F64)
            return refuse(b, "is a whole number where a floating-point one is needed", &r->token);
        return add(b, emu_constant(b->p, r->bits, bytes));
    case RAW_FLOAT:
        if (is_output || bytes < 4)
            return refuse(b, "cannot stand here", &r->token);
        return add(b, emu_constant(b->p, float_bits(r, type, bytes), bytes));
    case RAW_NAME: {
        emu_operand operand;
        return !is_output && address_of_name(b, r, bytes, false, &operand) && add(b, operand);
    }
    default:
        return refuse(b, "is a vector or an address where one value is needed", &r->token);
    }
}

static bool bind_predicate(binding *b, const raw *r, bool is_output)
{
    emu_operand operand = r->place;

    if (r->kind == RAW_SINK && is_output)
        return add(b, (emu_operand){.is_sink = true});
    if (r->kind == RAW_INTEGER && !is_output) /* 1 and -1 are both seen for true */
        return add(b, emu_constant(b->p, r->bits != 0, 0));
    if (r->kind != RAW_REGISTER || r->type != T_PRED || (is_output && r->is_negated))
        return refuse(b, "should be a predicate", &r->token);
    operand.is_negated = r->is_negated;
    return add(b, operand);
}

static bool bind_address(binding *b, const raw *r)
{
    const raw *base = r->kind == RAW_ADDRESS ? r->element : NULL;
    emu_operand operand;

    if (!base)
        return refuse(b, "should be an address in [ ]", &r->token);
    if (base->kind == RAW_REGISTER && (base->place.bytes == 4 || base->place.bytes == 8)) {
        operand = base->place;
        operand.displacement = base->displacement;
    } else if (base->kind == RAW_INTEGER) {
        operand = emu_constant(b->p, base->bits, 8);
        operand.displacement = base->displacement;
    } else if (base->kind != RAW_NAME || !address_of_name(b, base, 8, true, &operand)) {
        return b->why[0] ? false : refuse(b, "is no address", &base->token);
    }
    return add(b, operand);
}

/* One operand of the signature; *spec is moved behind it. */
static bool bind_one(binding *b, const char **spec, const raw *r)
{
    const emu_inst *inst = b->inst;
    const char *s = *spec;
    bool is_output = *s == '=', is_wide;
    unsigned vector = 0, bytes = 0;
    bool fills = false, is_right;
    emu_type type = T_NONE;

    s += is_output;
    is_wide = *s == '~';
    s += is_wide;
    if (*s == 'v' && s[1] >= 'A' && s[1] <= 'Z') {
        vector = inst->vector;
        s++;
    } else if (*s >= '1' && *s <= '8') {
        vector = (unsigned)(*s++ - '0');
    } else if (*s == '*') {
        fills = true;
        s++;
    }
    switch (*s) {
    case 'T':
    case 'U':
    case 'V':
    case 'W':
        type = inst->type[*s - 'T'];
        bytes = emu_type_bytes(type);
        break;
    case 'X':
        bytes = 2 * emu_type_bytes(inst->type[0]);
        break;
    case 'h':
        bytes = 2;
        break;
    case 'w':
    case 'N':
        bytes = 4;
        break;
    case 'd':
        bytes = 8;
        break;
    case 'q':
        bytes = 16;
        break;
    default:
        break;
    }
    if (*s == 'H') {
        is_right = bind_scalar(b, r, T_B64, 8, false, false);
        b->count -= is_right;
    } else if (*s == 'L') {
        is_right = r->kind == RAW_NAME;
        b->label = r->token.text;
        b->label_length = r->token.length;
    } else if (*s == '@') {
        is_right = bind_address(b, r);
    } else if (*s == 'p' || type == T_PRED) {
        is_right = bind_predicate(b, r, is_output);
    } else if (*s == 'N') {
        is_right =
            r->kind == RAW_INTEGER ? add(b, emu_constant(b->p, r->bits, 4)) : refuse(b, "should be a whole number", &r->token);
    } else if (fills) {
        is_right = r->kind == RAW_VECTOR && bytes % r->elements == 0;
        for (uint32_t i = 0; is_right && i < r->elements; i++)
            is_right = bind_scalar(b, &r->element[i], T_NONE, bytes / r->elements, is_output, false);
    } else if (vector > 1 || (vector == 1 && r->kind == RAW_VECTOR)) {
        is_right = r->kind == RAW_VECTOR && r->elements == vector;
        for (unsigned i = 0; is_right && i < vector; i++)
            is_right = bind_scalar(b, &r->element[i], type, bytes, is_output, is_wide);
    } else {
        is_right = bind_scalar(b, r, type, bytes, is_output, is_wide);
    }
    s++;
    if (is_right && strncmp(s, "|p", 2) == 0) {
        is_right = r->second ? bind_predicate(b, r->second, true) : add(b, (emu_operand){.is_sink = true});
        s += 2;
    } else if (is_right && r->second) {
        is_right = refuse(b, "has no second result", &r->token);
    }
    if (is_output)
        b->inst->outputs = (uint8_t)b->count;
    *spec = s;
    return is_right;
}

static bool bind(binding *b, const char *spec, const raw *const *list, unsigned count)
{
    unsigned i = 0;

    while (*spec) {
        if (*spec == ' ') {
            spec++;
            continue;
        }
        if (*spec == 'H' && !b->inst->has_hint) {
            spec++;
            continue;
        }
        if (i == count) {
            const char *end = spec + strcspn(spec, " ");
            if (end[-1] != '?')
                return refuse(b, "lacks an operand", &b->p->token);
            spec = end;
            continue;
        }
        if (!bind_one(b, &spec, list[i++]))
            return false;
        spec += *spec == '?';
    }
    return i == count ? true : refuse(b, "has too many operands", &b->p->token);
}

/* ---- instructions ---------------------------------------------------------------------------------------------------- */

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

static void use_label(emu_parser *p, const char *name, size_t length, bool wants_table, uint32_t line)
{
    p->use = emu_arena_grow(p->arena, p->use, p->uses, &p->use_capacity, sizeof *p->use);
    if (!p->use) {
        emu_no_memory(p);
        return;
    }
    p->use[p->uses++] =
        (label_use){.name = name, .name_length = length, .inst = p->module->insts, .line = line, .wants_table = wants_table};
}

/* What PTX 9.0 has beside the opcodes of the forms. */
static bool is_opcode_of_ptx(const emu_mnemonic *m)
{
    static const char *const others[] = {"alloca",     "clusterlaunchcontrol",
                                         "getctarank", "istypep",
                                         "mapa",       "mbarrier",
                                         "multimem",   "stackrestore",
                                         "stacksave",  "suld",
                                         "suq",        "sured",
                                         "sust",       "tcgen05",
                                         "tensormap",  "tex",
                                         "tld4",       "txq",
                                         "vabsdiff",   "vabsdiff2",
                                         "vadd",       "vadd2",
                                         "vavrg2",     "vmad",
                                         "vmax",       "vmax2",
                                         "vmin",       "vmin2",
                                         "vset",       "vset2",
                                         "vset4",      "vshl",
                                         "vsub",       "vsub2",
                                         "wgmma",      "wmma"};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strlen(others[i]) == m->opcode_length && memcmp(others[i], m->text, m->opcode_length) == 0)
            return true;
    return false;
}

enum { MAX_CANDIDATES = 8 };

/* The forms that a mnemonic has, which differ in their operands. */
typedef struct candidates {
    struct {
        const emu_form *form;
        emu_inst inst;
    } one[MAX_CANDIDATES];
    unsigned count;
} candidates;

static void find_forms(emu_parser *p, const emu_token *mnemonic, const emu_inst *blank, candidates *found)
{
    bool is_opcode = false;
    emu_mnemonic m;

    emu_split_mnemonic(mnemonic->text, mnemonic->length, &m);
    for (const emu_form *const *list = p->operations->forms; *list; list++)
        for (const emu_form *form = *list; form->form && found->count < MAX_CANDIDATES; form++) {
            emu_inst inst = *blank;
            if (!emu_form_has_opcode(form, &m))
                continue;
            is_opcode = true;
            if (!emu_form_matches(form, &m, &inst))
                continue;
            found->one[found->count].form = form;
            found->one[found->count++].inst = inst;
        }
    if (found->count == 0 && (is_opcode || is_opcode_of_ptx(&m)))
        emu_unknown(p, mnemonic, "this instruction");
    else if (found->count == 0)
        emu_fault(p, mnemonic, "no instruction is called %.*s", m.opcode_length < 60 ? (int)m.opcode_length : 60, m.text);
}

/* Bind operands to the first form that takes them. */
static bool decode_by_form(emu_parser *p, const emu_token *mnemonic, const candidates *found, const raw *const *list,
                           unsigned count, emu_inst *inst)
{
    bool is_combination = true;
    char why[160] = "";

    for (unsigned i = 0; i < found->count && !p->has_failed; i++) {
        const emu_form *form = found->one[i].form;
        binding b = {.p = p, .inst = inst};
        *inst = found->one[i].inst;
        if (!bind(&b, form->operands, list, count) || p->has_failed) {
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
        if (b.label)
            use_label(p, b.label, b.label_length, inst->flow == F_BRANCH_TABLE, mnemonic->line);
        return true;
    }
    if (!is_combination)
        emu_unknown(p, mnemonic, "this combination of modifiers");
    else
        emu_fault(p, mnemonic, "%s", why);
    return false;
}

/* A parameter of a call; NULL: it is none, and a fault says so. */
static const place_decl *passed_place(emu_parser *p)
{
    const place_decl *place = emu_find_place(p, p->token.text, p->token.length);

    if (place && place->space == S_FRAME)
        return place;
    if (p->token.kind != W_NAME || emu_find_register(p, &p->token, &(emu_operand){0}, &(emu_type){T_NONE}))
        emu_unknown(p, NULL, "a call with parameters that are no .param variables");
    else
        emu_fault(p, NULL, "expected a .param variable");
    return NULL;
}

/* call{.uni} (result), function, (inputs); what is passed lies in .param variables of the lanes' frames. */
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
    if (call->kind == CALL_FUNCTION && !f->refusal) { /* else the sizes may not be known, and the caller is refused too */
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
    const raw *list[EMU_MAX_RAW];
    unsigned count = 0;
    candidates found; /* large, so only what is used of it is written */

    found.count = 0;
    find_forms(p, mnemonic, inst, &found);
    while (!p->has_failed && !emu_token_is(&p->token, ";") && p->token.kind != W_END) {
        if (count == EMU_MAX_RAW) {
            emu_fault(p, mnemonic, "more than %d operands", EMU_MAX_RAW);
            return;
        }
        list[count++] = read_value(p, 0);
        if (!emu_accept(p, ","))
            break;
    }
    if (p->has_failed || !decode_by_form(p, mnemonic, &found, list, count, inst))
        return;
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
