/* SPDX-License-Identifier: Apache-2.0 */
#include "dropped.h"

#include <elf.h>
#include <stdint.h>
#include <string.h>

/*
 * Instructions of sm_90 have 16 bytes: the lowest 12 bits are the operation, and the third byte is the register of the result,
 * 255 for none. The operations were read off what nvdisasm says of HGMMA, IGMMA and QGMMA; M_IN_REGISTERS is one bit of them.
 */
enum { INSTRUCTION_BYTES = 16, FIRST_GMMA = 0x9f0, LAST_GMMA = 0x9f5, M_IN_REGISTERS = 0x400, NO_REGISTER = 0xff };

static bool is_dropped(const unsigned char *instruction)
{
    const int operation = tj_cubin_operation(instruction) & ~M_IN_REGISTERS;

    return operation >= FIRST_GMMA && operation <= LAST_GMMA && instruction[2] == NO_REGISTER;
}

bool tj_cubin_drops_products(const void *cubin, size_t bytes)
{
    return tj_cubin_has(cubin, bytes, is_dropped);
}

static bool has(const unsigned char *code, size_t bytes, tj_cubin_test is_one)
{
    for (size_t at = 0; at + INSTRUCTION_BYTES <= bytes; at += INSTRUCTION_BYTES)
        if (is_one(code + at))
            return true;
    return false;
}

bool tj_cubin_has(const void *cubin, size_t bytes, tj_cubin_test is_one)
{
    const unsigned char *const file = cubin;
    Elf64_Ehdr head;

    if (!cubin || bytes < sizeof head)
        return false;
    memcpy(&head, file, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64)
        return false;
    for (size_t i = 0; i < head.e_shnum; i++) {
        const size_t at = head.e_shoff + i * sizeof(Elf64_Shdr);
        Elf64_Shdr section;

        if (at < head.e_shoff || at > bytes - sizeof section)
            return false;
        memcpy(&section, file + at, sizeof section);
        if (section.sh_type == SHT_PROGBITS && section.sh_flags & SHF_EXECINSTR && section.sh_offset <= bytes &&
            section.sh_size <= bytes - section.sh_offset && has(file + section.sh_offset, section.sh_size, is_one))
            return true;
    }
    return false;
}
