/* SPDX-License-Identifier: Apache-2.0 */
#include "executable.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_TABLE_BYTES = 1 << 28, MOST_SECTIONS = 65535 };

static bool read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
    return offset <= INT64_MAX && pread(fd, to, bytes, (off_t)offset) == (ssize_t)bytes;
}

static bool read_head(int fd, Elf64_Ehdr *head)
{
    return read_at(fd, head, sizeof *head, 0) && memcmp(head->e_ident, ELFMAG, SELFMAG) == 0;
}

static bool is_of_our_kind(const Elf64_Ehdr *head)
{
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr own;
    const bool is_known = fd >= 0 && read_head(fd, &own);

    if (fd >= 0)
        close(fd);
    return !is_known || (own.e_ident[EI_CLASS] == head->e_ident[EI_CLASS] && own.e_machine == head->e_machine);
}

/* false: it has none. */
static bool read_interpreter(int fd, const Elf64_Ehdr *head, char name[256])
{
    Elf64_Phdr part;

    for (unsigned i = 0; i < head->e_phnum && read_at(fd, &part, sizeof part, head->e_phoff + (uint64_t)i * head->e_phentsize);
         i++)
        if (part.p_type == PT_INTERP) {
            if (part.p_filesz < 256 && read_at(fd, name, part.p_filesz, part.p_offset))
                name[part.p_filesz] = '\0';
            return true;
        }
    return false;
}

bool tj_executable_read(const char *path, tj_executable *facts)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf64_Ehdr head;
    const bool is_elf = fd >= 0 && read_head(fd, &head);

    memset(facts, 0, sizeof *facts);
    if (is_elf && head.e_ident[EI_CLASS] == ELFCLASS64) {
        facts->is_static = !read_interpreter(fd, &head, facts->interpreter);
        facts->is_foreign = !facts->is_static && !is_of_our_kind(&head);
    } else if (is_elf) {
        facts->is_foreign = true;
    }
    if (fd >= 0)
        close(fd);
    return is_elf;
}

/* ---- symbols ---------------------------------------------------------------------------------------------------------- */

/* malloc'ed, and a NUL after it. NULL: it cannot be read, or is too large. */
static char *read_section(int fd, const Elf64_Shdr *section)
{
    char *bytes = section->sh_size > 0 && section->sh_size < MOST_TABLE_BYTES ? malloc(section->sh_size + 1) : NULL;

    if (bytes && !read_at(fd, bytes, section->sh_size, section->sh_offset)) {
        free(bytes);
        bytes = NULL;
    }
    if (bytes)
        bytes[section->sh_size] = '\0';
    return bytes;
}

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

static bool table_defines(int fd, const Elf64_Shdr *table, const Elf64_Shdr *names_of, const char *const *names)
{
    char *symbols = read_section(fd, table), *text = symbols ? read_section(fd, names_of) : NULL;
    bool does = false;
    Elf64_Sym one;

    for (uint64_t at = 0; text && !does && at + sizeof one <= table->sh_size; at += sizeof one) {
        memcpy(&one, symbols + at, sizeof one);
        does = one.st_shndx != SHN_UNDEF && one.st_name < names_of->sh_size && ELF64_ST_TYPE(one.st_info) == STT_FUNC &&
               is_one_of(text + one.st_name, names);
    }
    free(text);
    free(symbols);
    return does;
}

static bool read_table(int fd, const Elf64_Ehdr *head, unsigned index, Elf64_Shdr *section)
{
    return index < head->e_shnum && read_at(fd, section, sizeof *section, head->e_shoff + (uint64_t)index * head->e_shentsize);
}

bool tj_executable_defines(const char *path, const char *const *names)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    Elf64_Shdr table, names_of;
    Elf64_Ehdr head;
    bool does = false;

    if (fd >= 0 && read_head(fd, &head) && head.e_ident[EI_CLASS] == ELFCLASS64)
        for (unsigned i = 0; !does && read_table(fd, &head, i, &table); i++)
            does = (table.sh_type == SHT_SYMTAB || table.sh_type == SHT_DYNSYM) &&
                   read_table(fd, &head, table.sh_link, &names_of) && table_defines(fd, &table, &names_of, names);
    if (fd >= 0)
        close(fd);
    return does;
}
