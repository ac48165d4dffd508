/* SPDX-License-Identifier: Apache-2.0 */
/* mutation: a kernel with one piece of its text broken, and the finding that must come of it. */
#ifndef EMU_MUTATION_H
#define EMU_MUTATION_H

#include "emulator_test.h"

/** Replace the first occurrence. Owned: the caller's; free(). */
__attribute__((unused)) static char *mutate(const char *text, const char *piece, const char *instead)
{
    const char *at = strstr(text, piece);
    char *mutated = malloc(strlen(text) + strlen(instead) + 1);

    cr_assert(mutated && at);
    sprintf(mutated, "%.*s%s%s", (int)(at - text), text, instead, at + strlen(piece));
    return mutated;
}

/**
 * A finding must lead a reader to the place: kernel, PTX line with its instruction, CUDA line, a block and thread of the
 * launch.
 */
__attribute__((unused)) static bool leads_there(const cuEmuFinding *f, const char *kernel, const char *cuda, const char *ptx,
                                                const char *const at[3], char *why, size_t why_bytes)
{
    char ptx_line[512], cuda_line[512], mnemonic[64] = "";

    if (strcmp(f->kernel, kernel) != 0) {
        snprintf(why, why_bytes, "kernel is \"%s\"", f->kernel);
        return false;
    }
    if (f->kind >= CUEMU_WRITTEN_TWICE) /* these are of memory */
        return true;
    copy_line(ptx, f->ptx_line, ptx_line, sizeof ptx_line);
    copy_line(cuda, f->cuda_line, cuda_line, sizeof cuda_line);
    sscanf(f->text, "\"%63[a-z0-9_.:]", mnemonic);
    if (!mnemonic[0] || !strstr(ptx_line, mnemonic)) {
        snprintf(why, why_bytes, "PTX line %u is \"%s\", finding is of \"%s\"", f->ptx_line, ptx_line, mnemonic);
        return false;
    }
    if (f->thread[0] >= 32 * 32 || f->thread[2] || f->count == 0) {
        snprintf(why, why_bytes, "thread (%u, %u, %u), count %llu", f->thread[0], f->thread[1], f->thread[2],
                 (unsigned long long)f->count);
        return false;
    }
    for (int i = 0; i < 3 && at[i]; i++)
        if (strstr(cuda_line, at[i] + strspn(at[i], " ")))
            return true;
    snprintf(why, why_bytes, "CUDA line %u is \"%s\"", f->cuda_line, cuda_line);
    return !at[0] && f->cuda_line > 0;
}

/** Return the finding of a mutation: the first, or the first after those of the kind that may be found before. */
__attribute__((unused)) static const cuEmuFinding *wanted_finding(const findings *f, cuEmuKind kind, cuEmuKind after)
{
    for (size_t i = 0; i < f->count && i < FINDINGS; i++)
        if (f->first[i].kind == kind || f->first[i].kind != after)
            return &f->first[i];
    return &f->first[0];
}

#endif
