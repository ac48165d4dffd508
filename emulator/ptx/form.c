/* SPDX-License-Identifier: Apache-2.0 */
#include "form.h"

#include <string.h>

static const struct {
    const char *name;
    uint8_t bytes, is_float, is_signed, target;
} types[T_COUNT] = {
    [T_NONE] = {"", 0, 0, 0, 0},           [T_PRED] = {"pred", 0, 0, 0, 0},       [T_B8] = {"b8", 1, 0, 0, 0},
    [T_B16] = {"b16", 2, 0, 0, 0},         [T_B32] = {"b32", 4, 0, 0, 0},         [T_B64] = {"b64", 8, 0, 0, 0},
    [T_B128] = {"b128", 16, 0, 0, 0},      [T_U8] = {"u8", 1, 0, 0, 0},           [T_U16] = {"u16", 2, 0, 0, 0},
    [T_U32] = {"u32", 4, 0, 0, 0},         [T_U64] = {"u64", 8, 0, 0, 0},         [T_S8] = {"s8", 1, 0, 1, 0},
    [T_S16] = {"s16", 2, 0, 1, 0},         [T_S32] = {"s32", 4, 0, 1, 0},         [T_S64] = {"s64", 8, 0, 1, 0},
    [T_F16] = {"f16", 2, 1, 0, 0},         [T_F16X2] = {"f16x2", 4, 1, 0, 0},     [T_BF16] = {"bf16", 2, 1, 0, 80},
    [T_BF16X2] = {"bf16x2", 4, 1, 0, 80},  [T_TF32] = {"tf32", 4, 1, 0, 80},      [T_F32] = {"f32", 4, 1, 0, 0},
    [T_F64] = {"f64", 8, 1, 0, 0},         [T_E4M3] = {"e4m3", 1, 1, 0, 89},      [T_E5M2] = {"e5m2", 1, 1, 0, 89},
    [T_E4M3X2] = {"e4m3x2", 2, 1, 0, 89},  [T_E5M2X2] = {"e5m2x2", 2, 1, 0, 89},  [T_U4] = {"u4", 1, 0, 0, 0},
    [T_S4] = {"s4", 1, 0, 1, 0},           [T_B1] = {"b1", 1, 0, 0, 0},           [T_U16X2] = {"u16x2", 4, 0, 0, 0},
    [T_S16X2] = {"s16x2", 4, 0, 1, 0},     [T_F32X2] = {"f32x2", 8, 1, 0, 100},   [T_E2M1X2] = {"e2m1x2", 1, 1, 0, 100},
    [T_E2M3X2] = {"e2m3x2", 2, 1, 0, 100}, [T_E3M2X2] = {"e3m2x2", 2, 1, 0, 100}, [T_UE8M0X2] = {"ue8m0x2", 2, 1, 0, 100},
    [T_E2M1] = {"e2m1", 1, 1, 0, 100},     [T_E2M3] = {"e2m3", 1, 1, 0, 100},     [T_E3M2] = {"e3m2", 1, 1, 0, 100},
    [T_UE8M0] = {"ue8m0", 1, 1, 0, 100},   [T_UE4M3] = {"ue4m3", 1, 1, 0, 100},
};

unsigned emu_type_bytes(emu_type type)
{
    return types[type].bytes;
}

unsigned emu_type_target(emu_type type)
{
    return types[type].target;
}

bool emu_type_is_float(emu_type type)
{
    return types[type].is_float;
}

bool emu_type_is_signed(emu_type type)
{
    return types[type].is_signed;
}

emu_type emu_type_of(const char *text, size_t length)
{
    if (length == 0)
        return T_NONE;
    for (int i = T_PRED; i < T_COUNT; i++)
        if (types[i].name[0] == text[0] && strlen(types[i].name) == length && memcmp(types[i].name, text, length) == 0)
            return (emu_type)i;
    return T_NONE;
}

void emu_split_mnemonic(const char *text, size_t length, emu_mnemonic *m)
{
    const char *const end = text + length, *stop = memchr(text, '.', length);

    *m = (emu_mnemonic){.text = text, .length = length, .opcode_length = stop ? (size_t)(stop - text) : length};
    while (stop && m->modifiers < EMU_MODIFIERS) {
        emu_modifier *one = &m->modifier[m->modifiers++];
        one->text = stop + 1;
        stop = memchr(one->text, '.', (size_t)(end - one->text));
        one->length = (size_t)((stop ? stop : end) - one->text);
        one->type = (uint8_t)emu_type_of(one->text, one->length);
    }
    m->is_too_long = stop != NULL;
}

/*
 * Take a modifier, from *at on, of those that remain, and move *at past it. Types keep their order: only the first that remains
 * can be taken.
 */
static bool take(const emu_mnemonic *m, uint32_t *left, unsigned *at, const char *text, size_t length)
{
    bool is_behind_type = false;

    for (unsigned i = 0; i < m->modifiers; i++) {
        const emu_modifier *one = &m->modifier[i];
        if (!(*left >> i & 1))
            continue;
        if (i >= *at && one->length == length && memcmp(one->text, text, length) == 0) {
            if (one->type != T_NONE && is_behind_type)
                return false;
            *left &= ~(1u << i);
            *at = i + 1;
            return true;
        }
        is_behind_type |= one->type != T_NONE;
    }
    return false;
}

/* Take all modifiers of ".relaxed.gpu", in this order or in any; return their number, or 0. */
static unsigned take_all(const emu_mnemonic *m, uint32_t *left, const char *piece, size_t length, bool is_ordered)
{
    const char *const end = piece + length;
    uint32_t rest = *left;
    unsigned taken = 0, at = 0;

    while (piece < end) {
        const size_t n = strcspn(++piece, ".{,}");
        if (!take(m, &rest, &at, piece, n))
            return 0;
        at = is_ordered ? at : 0;
        piece += n;
        taken++;
    }
    *left = rest;
    return taken;
}

/* p is after the {; set *after past the }. The alternative with the most modifiers is taken. */
static bool match_group(const char *p, const emu_mnemonic *m, uint32_t *left, uint8_t *choice, const char **after)
{
    const bool is_needed = *p == '*';
    uint32_t best_left = *left;
    unsigned best = 0;
    uint8_t number = 0;

    p += is_needed;
    for (;;) {
        const size_t piece = strcspn(p, ",}");
        uint32_t rest = *left;
        const unsigned taken = take_all(m, &rest, p, piece, true);
        number++;
        if (taken > best) {
            best = taken;
            best_left = rest;
            *choice = number;
        }
        p += piece;
        if (*p++ == '}')
            break;
    }
    *left = best_left;
    *after = p;
    return best > 0 || !is_needed;
}

/* p is after the opcode. */
static bool match_modifiers(const char *p, const emu_mnemonic *m, uint8_t *choice)
{
    uint32_t left = m->modifiers < 32 ? (1u << m->modifiers) - 1 : UINT32_MAX;
    int groups = 0;

    while (*p) {
        if (*p == '{') {
            if (groups >= EMU_CHOICES || !match_group(p + 1, m, &left, &choice[groups], &p))
                return false;
            groups++;
        } else {
            const size_t piece = strcspn(p, "{");
            if (!take_all(m, &left, p, piece, false))
                return false;
            p += piece;
        }
    }
    return left == 0 && !m->is_too_long;
}

/* m16n8k256: three letters, each followed by a number. */
static void read_shape(const emu_modifier *one, uint16_t *shape)
{
    uint16_t found[3] = {0};
    int n = -1;

    for (size_t i = 0; i < one->length; i++) {
        const char c = one->text[i];
        if (n < 2 && c == "mnk"[n + 1] && (n < 0 || found[n]))
            n++;
        else if (n >= 0 && c >= '0' && c <= '9' && found[n] < 1000)
            found[n] = (uint16_t)(found[n] * 10 + (c - '0'));
        else
            return;
    }
    if (n == 2 && found[2])
        memcpy(shape, found, sizeof found);
}

static void collect(emu_inst *inst, const emu_mnemonic *m)
{
    static const struct {
        const char *name;
        emu_space space;
    } spaces[] = {{"global", S_GLOBAL}, {"shared", S_SHARED},           {"shared::cta", S_SHARED},
                  {"local", S_LOCAL},   {"shared::cluster", S_CLUSTER}, {"param", S_PARAM},
                  {"const", S_CONST},   {"param::entry", S_PARAM},      {"param::func", S_FRAME}};

    const bool is_tensor = m->opcode_length == 7 && memcmp(m->text, "tcgen05", 7) == 0;

    inst->vector = 1;
    inst->type_count = 0;
    inst->space = S_GENERIC;
    inst->has_hint = inst->is_async = false;
    for (unsigned k = 0; k < m->modifiers; k++) {
        const char *at = m->modifier[k].text;
        const size_t n = m->modifier[k].length;
        if (m->modifier[k].type != T_NONE && inst->type_count < EMU_TYPES)
            inst->type[inst->type_count++] = m->modifier[k].type;
        if (n == 2 && at[0] == 'v' && (at[1] == '2' || at[1] == '4' || at[1] == '8'))
            inst->vector = (uint8_t)(at[1] - '0');
        read_shape(&m->modifier[k], inst->shape);
        inst->is_async |= (n == 5 && memcmp(at, "async", n) == 0) || is_tensor;
        inst->has_hint |= n == 14 && memcmp(at, "L2::cache_hint", n) == 0;
        for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
            if (inst->space == S_GENERIC && strlen(spaces[i].name) == n && memcmp(spaces[i].name, at, n) == 0)
                inst->space = (uint8_t)spaces[i].space;
    }
}

bool emu_form_has_opcode(const emu_form *form, const emu_mnemonic *m)
{
    return form->form[0] == m->text[0] && strncmp(form->form, m->text, m->opcode_length) == 0 &&
           (form->form[m->opcode_length] == '\0' || strchr(".{", form->form[m->opcode_length]));
}

bool emu_form_matches(const emu_form *form, const emu_mnemonic *m, emu_inst *inst)
{
    uint8_t choice[EMU_CHOICES] = {0};

    if (!match_modifiers(form->form + m->opcode_length, m, choice))
        return false;
    memcpy(inst->choice, choice, sizeof choice);
    collect(inst, m);
    return true;
}
