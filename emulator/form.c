/* SPDX-License-Identifier: Apache-2.0 */
#include "form.h"

#include <string.h>

static const struct {
    const char *name;
    uint8_t bytes, is_float, is_signed;
} types[T_COUNT] = {
    [T_NONE] = {"", 0, 0, 0},         [T_PRED] = {"pred", 0, 0, 0},     [T_B8] = {"b8", 1, 0, 0},
    [T_B16] = {"b16", 2, 0, 0},       [T_B32] = {"b32", 4, 0, 0},       [T_B64] = {"b64", 8, 0, 0},
    [T_B128] = {"b128", 16, 0, 0},    [T_U8] = {"u8", 1, 0, 0},         [T_U16] = {"u16", 2, 0, 0},
    [T_U32] = {"u32", 4, 0, 0},       [T_U64] = {"u64", 8, 0, 0},       [T_S8] = {"s8", 1, 0, 1},
    [T_S16] = {"s16", 2, 0, 1},       [T_S32] = {"s32", 4, 0, 1},       [T_S64] = {"s64", 8, 0, 1},
    [T_F16] = {"f16", 2, 1, 0},       [T_F16X2] = {"f16x2", 4, 1, 0},   [T_BF16] = {"bf16", 2, 1, 0},
    [T_BF16X2] = {"bf16x2", 4, 1, 0}, [T_TF32] = {"tf32", 4, 1, 0},     [T_F32] = {"f32", 4, 1, 0},
    [T_F64] = {"f64", 8, 1, 0},       [T_E4M3] = {"e4m3", 1, 1, 0},     [T_E5M2] = {"e5m2", 1, 1, 0},
    [T_E4M3X2] = {"e4m3x2", 2, 1, 0}, [T_E5M2X2] = {"e5m2x2", 2, 1, 0}, [T_U4] = {"u4", 1, 0, 0},
    [T_S4] = {"s4", 1, 0, 1},         [T_B1] = {"b1", 1, 0, 0},         [T_U16X2] = {"u16x2", 4, 0, 0},
    [T_S16X2] = {"s16x2", 4, 0, 1},
};

unsigned emu_type_bytes(emu_type type)
{
    return types[type].bytes;
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
    for (int i = T_PRED; i < T_COUNT; i++)
        if (strlen(types[i].name) == length && memcmp(types[i].name, text, length) == 0)
            return (emu_type)i;
    return T_NONE;
}

/* Length of an alternative or literal if the mnemonic goes on with exactly it, whole modifiers only; else 0. */
static size_t match_piece(const char *piece, size_t length, const char *at, const char *end)
{
    if (length == 0 || (size_t)(end - at) < length || memcmp(piece, at, length) != 0)
        return 0;
    return at + length == end || at[length] == '.' ? length : 0;
}

/* p is behind the {; *after is set behind the }. */
static bool match_group(const char *p, const char **at, const char *end, uint8_t *choice, const char **after)
{
    const bool is_needed = *p == '*';
    size_t longest = 0;
    uint8_t number = 0;

    p += is_needed;
    for (;;) {
        const size_t piece = strcspn(p, ",}");
        const size_t length = match_piece(p, piece, *at, end);
        number++;
        if (length > longest) {
            longest = length;
            *choice = number;
        }
        p += piece;
        if (*p++ == '}')
            break;
    }
    *at += longest;
    *after = p;
    return longest > 0 || !is_needed;
}

static bool match_text(const char *p, const char *at, const char *end, uint8_t *choice)
{
    int groups = 0;

    while (*p) {
        if (*p == '{') {
            if (groups >= EMU_CHOICES || !match_group(p + 1, &at, end, &choice[groups], &p))
                return false;
            groups++;
        } else {
            const size_t piece = strcspn(p, "{");
            const size_t length = match_piece(p, piece, at, end);
            if (length == 0)
                return false;
            at += length;
            p += piece;
        }
    }
    return at == end;
}

static void collect(emu_inst *inst, const char *mnemonic, size_t length)
{
    static const struct {
        const char *name;
        emu_space space;
    } spaces[] = {{"global", S_GLOBAL}, {"shared", S_SHARED}, {"shared::cta", S_SHARED}, {"local", S_LOCAL},
                  {"param", S_PARAM},   {"const", S_CONST},   {"param::entry", S_PARAM}, {"param::func", S_FRAME}};
    const char *at = mnemonic, *end = mnemonic + length;

    inst->vector = 1;
    while (at < end) {
        const char *stop = memchr(at, '.', (size_t)(end - at));
        const size_t n = (size_t)((stop ? stop : end) - at);
        const emu_type type = at == mnemonic ? T_NONE : emu_type_of(at, n);
        if (type != T_NONE && inst->type_count < EMU_TYPES)
            inst->type[inst->type_count++] = (uint8_t)type;
        if (n == 2 && at[0] == 'v' && (at[1] == '2' || at[1] == '4' || at[1] == '8'))
            inst->vector = (uint8_t)(at[1] - '0');
        for (size_t i = 0; i < sizeof spaces / sizeof spaces[0]; i++)
            if (inst->space == S_GENERIC && strlen(spaces[i].name) == n && memcmp(spaces[i].name, at, n) == 0)
                inst->space = (uint8_t)spaces[i].space;
        at += n + 1;
    }
}

bool emu_form_matches(const emu_form *form, const char *mnemonic, size_t length, emu_inst *inst)
{
    uint8_t choice[EMU_CHOICES] = {0};

    if (!match_text(form->form, mnemonic, mnemonic + length, choice))
        return false;
    memcpy(inst->choice, choice, sizeof choice);
    inst->type_count = 0;
    inst->space = S_GENERIC;
    collect(inst, mnemonic, length);
    return true;
}
