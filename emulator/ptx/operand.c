/* SPDX-License-Identifier: Apache-2.0 */
#include "operand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const special_names[SR_COUNT] = {"%tid.x",
                                                    "%tid.y",
                                                    "%tid.z",
                                                    "%ntid.x",
                                                    "%ntid.y",
                                                    "%ntid.z",
                                                    "%ctaid.x",
                                                    "%ctaid.y",
                                                    "%ctaid.z",
                                                    "%nctaid.x",
                                                    "%nctaid.y",
                                                    "%nctaid.z",
                                                    "%laneid",
                                                    "%warpid",
                                                    "%nwarpid",
                                                    "%smid",
                                                    "%nsmid",
                                                    "%gridid",
                                                    "%lanemask_eq",
                                                    "%lanemask_le",
                                                    "%lanemask_lt",
                                                    "%lanemask_ge",
                                                    "%lanemask_gt",
                                                    "%dynamic_smem_size",
                                                    "%total_smem_size",
                                                    "%clusterid.x",
                                                    "%clusterid.y",
                                                    "%clusterid.z",
                                                    "%nclusterid.x",
                                                    "%nclusterid.y",
                                                    "%nclusterid.z",
                                                    "%cluster_ctaid.x",
                                                    "%cluster_ctaid.y",
                                                    "%cluster_ctaid.z",
                                                    "%cluster_nctaid.x",
                                                    "%cluster_nctaid.y",
                                                    "%cluster_nctaid.z",
                                                    "%cluster_ctarank",
                                                    "%cluster_nctarank",
                                                    "%is_explicit_cluster",
                                                    "%clock",
                                                    "%clock_hi",
                                                    "%clock64",
                                                    "%globaltimer"};

static unsigned special_bytes(emu_special_kind kind)
{
    if (kind == SR_IS_EXPLICIT_CLUSTER)
        return 0; /* a predicate */
    return kind == SR_CLOCK64 || kind == SR_GLOBALTIMER || kind == SR_GRIDID ? 8 : 4;
}

/* ---- reading operands ------------------------------------------------------------------------------------------------ */

static emu_raw *read_operand(emu_parser *p, int depth);

/* Special registers of PTX that no table here has: of profilers, of graphs. */
static bool is_unknown_special(const emu_token *token)
{
    static const char *const names[] = {"%pm", "%aggr_smem_size", "%reserved_smem_offset", "%current_graph_exec",
                                        "%globaltimer_"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (token->length >= strlen(names[i]) && memcmp(token->text, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* %envreg0 to %envreg31, which a driver may set; here they are 0. */
static bool is_envreg(const emu_token *token)
{
    static const char stem[] = "%envreg";
    const size_t n = sizeof stem - 1;
    char *end;

    return token->length > n && token->length <= n + 2 && memcmp(token->text, stem, n) == 0 && token->text[n] >= '0' &&
           token->text[n] <= '9' && strtoul(token->text + n, &end, 10) < 32 && end == token->text + token->length;
}

static void read_number(emu_parser *p, emu_raw *r)
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

static void read_name(emu_parser *p, emu_raw *r)
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
        if (r->kind == RAW_SPECIAL && r->special >= SR_CLUSTERID_X && r->special <= SR_IS_EXPLICIT_CLUSTER &&
            p->module->target < 90) {
            emu_unknown(p, NULL, "the register %.*s, which needs .target sm_90 or later where the text has sm_%d",
                        (int)p->token.length, p->token.text, p->module->target);
            return;
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

static void read_displacement(emu_parser *p, emu_raw *r)
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

emu_raw *emu_read_value(emu_parser *p, int depth)
{
    emu_raw *r = read_operand(p, depth);

    if (r && r->kind == RAW_REGISTER && r->displacement)
        emu_unknown(p, &r->token, "an expression");
    return p->has_failed ? NULL : r;
}

static void read_elements(emu_parser *p, emu_raw *r, const char *end, int depth)
{
    uint32_t room = 8;

    r->element = emu_take(p, room * sizeof *r->element);
    while (r->element && !p->has_failed) {
        const emu_raw *one = emu_read_value(p, depth + 1);
        if (r->elements == EMU_MAX_VECTOR) {
            emu_fault(p, NULL, "more than %d elements in braces", EMU_MAX_VECTOR);
            return;
        }
        if (r->elements == room) {
            emu_raw *const larger = emu_take(p, 2 * room * sizeof *larger);
            if (!larger)
                return;
            memcpy(larger, r->element, room * sizeof *larger);
            r->element = larger;
            room *= 2;
        }
        if (one)
            r->element[r->elements++] = *one;
        if (emu_accept(p, end))
            return;
        emu_expect(p, ",");
    }
}

static emu_raw *read_operand(emu_parser *p, int depth)
{
    emu_raw *r = emu_take(p, sizeof *r);

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
        if (emu_accept(p, ","))
            r->second = read_operand(p, depth + 1);
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

static bool refuse(emu_binding *b, const char *why, const emu_token *token)
{
    snprintf(b->why, sizeof b->why, "%.*s %s", (int)(token->length < 60 ? token->length : 60), token->text, why);
    return false;
}

static bool add(emu_binding *b, emu_operand operand)
{
    if (b->count == EMU_MAX_OPERANDS)
        return false;
    b->operand[b->count++] = operand;
    return true;
}

static uint64_t float_bits(const emu_raw *r, emu_type type, unsigned bytes)
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
    emu_operand place = {.bytes = (uint8_t)special_bytes(kind)};

    for (size_t i = 0; i < f->specials; i++)
        if (f->special[i].kind == kind)
            return f->special[i].place;
    emu_new_register(p, place.bytes == 8 ? T_U64 : place.bytes ? T_U32 : T_PRED, 1, &place.offset);
    if (!f->special)
        f->special = emu_take(p, SR_COUNT * sizeof *f->special);
    if (f->special)
        f->special[f->specials++] = (emu_special){(uint8_t)kind, place};
    return place;
}

/* Bind the address of a variable, as a constant that the loader fills in, or of a parameter. */
static bool address_of_name(emu_binding *b, const emu_raw *r, unsigned bytes, bool is_access, emu_operand *operand)
{
    emu_parser *p = b->p;
    const place_decl *place = emu_names_find(p->own_names, N_PLACE, r->token.text, r->token.length);
    const emu_param *param = place ? NULL : emu_names_find(p->own_names, N_PARAM, r->token.text, r->token.length);
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
        if (space == S_FRAME) /* a parameter of a function has an address in local memory */
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
        return refuse(b, "is not a register, variable or parameter", &r->token);
    if (p->module->symbol[symbol].unknown) {
        emu_unknown(p, &r->token, "%.*s, a variable %s", r->token.length < 100 ? (int)r->token.length : 100, r->token.text,
                    p->module->symbol[symbol].unknown);
        return false;
    }
    if (bytes != 4 && bytes != 8)
        return refuse(b, "is a variable: an address has 32 or 64 bits", &r->token);
    p->module->fixup = emu_grow(p, p->module->fixup, p->module->fixups, &p->fixup_capacity, sizeof(emu_fixup));
    if (!p->module->fixup)
        return false;
    *operand = emu_own_constant(p, bytes);
    p->module->fixup[p->module->fixups++] =
        (emu_fixup){operand->offset, (uint8_t)bytes, symbol, is_access ? 0 : r->displacement,
                    (uint32_t)(p->function - p->module->function)};
    operand->displacement = is_access ? r->displacement : 0;
    return true;
}

static bool bind_scalar(emu_binding *b, const emu_raw *r, emu_type type, unsigned bytes, bool is_output, bool is_wide)
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
        if (is_output || special_bytes(r->special) == 0 ||
            (is_wide ? special_bytes(r->special) < bytes : special_bytes(r->special) != bytes)) {
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

static bool bind_predicate(emu_binding *b, const emu_raw *r, bool is_output)
{
    emu_operand operand = r->place;

    if (r->kind == RAW_SINK && is_output)
        return add(b, (emu_operand){.is_sink = true});
    if (r->kind == RAW_SPECIAL && !is_output && special_bytes(r->special) == 0)
        return add(b, special_place(b->p, r->special));
    if (r->kind == RAW_INTEGER && !is_output) /* both 1 and -1 mean true */
        return add(b, emu_constant(b->p, r->bits != 0, 0));
    if (r->kind != RAW_REGISTER || r->type != T_PRED || (is_output && r->is_negated))
        return refuse(b, "should be a predicate", &r->token);
    operand.is_negated = r->is_negated;
    return add(b, operand);
}

static bool bind_address(emu_binding *b, const emu_raw *r)
{
    const emu_raw *base = r->kind == RAW_ADDRESS ? r->element : NULL;
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
        return b->why[0] ? false : refuse(b, "is not an address", &base->token);
    }
    return add(b, operand);
}

/* [address, {coordinates}]: one coordinate for each dimension of the mnemonic. */
static bool bind_coordinates(emu_binding *b, const emu_raw *r)
{
    const emu_raw *base = r->kind == RAW_ADDRESS ? r->element : NULL, *list = r->second;
    emu_operand operand;

    if (!base || base->kind != RAW_REGISTER || base->place.bytes != 8 || !list || list->kind != RAW_VECTOR ||
        list->elements != b->inst->choice[0])
        return refuse(b, "should be [register, {coordinates}], one for each dimension", &r->token);
    operand = base->place;
    operand.displacement = base->displacement;
    if (!add(b, operand))
        return false;
    for (uint32_t i = 0; i < list->elements; i++)
        if (!bind_scalar(b, &list->element[i], T_NONE, 4, false, false))
            return false;
    return true;
}

/* Bind one operand of the signature; move *spec past it. */
static bool bind_one(emu_binding *b, const char **spec, const emu_raw *r)
{
    static const uint8_t bytes_of[128] = {['h'] = 2, ['w'] = 4, ['N'] = 4, ['d'] = 8, ['q'] = 16};
    const emu_inst *inst = b->inst;
    const char *s = *spec;
    bool is_output = *s == '=', is_wide;
    unsigned vector = 0, bytes;
    bool fills = false, has_any_length = false, is_right;
    emu_type type = T_NONE;

    s += is_output;
    is_wide = *s == '~';
    s += is_wide;
    if (*s == 'v' && s[1] >= 'A' && s[1] <= 'Z') {
        vector = inst->vector;
        s++;
    } else if (*s >= '1' && *s <= '8') {
        vector = (unsigned)(*s++ - '0');
    } else if (*s == '#') {
        vector = (unsigned)(inst->shape[0] * inst->shape[1]) / (inst->type[0] == T_F16 ? 256 : 128);
        s++;
    } else if (*s == '*') {
        fills = true;
        s++;
    } else if (*s == '&') {
        has_any_length = true;
        s++;
    }
    if (*s >= 'T' && *s <= 'W')
        type = inst->type[*s - 'T'];
    bytes = *s == 'X' ? 2 * emu_type_bytes(inst->type[0]) : type ? emu_type_bytes(type) : bytes_of[(unsigned char)*s];
    if (*s == 'H') {
        is_right = bind_scalar(b, r, T_B64, 8, false, false);
        b->count -= is_right;
    } else if (*s == 'L') {
        is_right = r->kind == RAW_NAME;
        b->label = r->token.text;
        b->label_length = r->token.length;
    } else if (*s == '@') {
        is_right = !r->second && bind_address(b, r);
    } else if (*s == 'C') {
        is_right = bind_coordinates(b, r);
    } else if (*s == 'p' || type == T_PRED) {
        is_right = bind_predicate(b, r, is_output);
    } else if (*s == 'N') {
        is_right =
            r->kind == RAW_INTEGER ? add(b, emu_constant(b->p, r->bits, 4)) : refuse(b, "should be a whole number", &r->token);
    } else if (fills) {
        is_right = r->kind == RAW_VECTOR && bytes % r->elements == 0;
        for (uint32_t i = 0; is_right && i < r->elements; i++)
            is_right = bind_scalar(b, &r->element[i], T_NONE, bytes / r->elements, is_output, false);
    } else if (has_any_length) {
        is_right = r->kind == RAW_VECTOR || refuse(b, "should be a vector in braces", &r->token);
        for (uint32_t i = 0; is_right && i < r->elements; i++)
            is_right = bind_scalar(b, &r->element[i], type, bytes, is_output, is_wide);
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
    } else if (is_right && r->second && r->kind != RAW_ADDRESS) {
        is_right = refuse(b, "has no second result", &r->token);
    }
    if (is_output)
        b->inst->outputs = (uint8_t)b->count;
    *spec = s;
    return is_right;
}

bool emu_bind(emu_binding *b, const char *spec, const emu_raw *const *list, unsigned count)
{
    unsigned i = 0;

    while (*spec) {
        if (*spec == ' ' || (*spec == 'H' && !b->inst->has_hint)) {
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
