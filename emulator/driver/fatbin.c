/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fatbin: find the PTX in a fat binary.
 *
 * A program passes a wrapper that points to a container, or the container itself: a header, then entries, each with its own
 * header and content (PTX, or the SASS of a device). Numbers are little-endian. The format is not documented; this is what nvcc
 * 13.0 and older versions write.
 */
#include "driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WRAPPER_MAGIC 0x466243b1u
#define CONTAINER_MAGIC 0xba55ed50u

enum { CONTAINER_HEADER = 16, ENTRY_HEADER = 64, PTX_ENTRY = 1, SASS_ENTRY = 2, MAX_TEXT = 1 << 30 };

static uint64_t number_at(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;

    memcpy(&value, at, bytes);
    return value;
}

bool emu_is_fatbin(const void *image, size_t bytes)
{
    uint32_t magic = 0;

    /* A text shorter than four bytes ends at its NUL. */
    for (size_t i = 0; i < sizeof magic && i < bytes && (i == 0 || ((const char *)image)[i - 1]); i++)
        memcpy((char *)&magic + i, (const char *)image + i, 1);
    return magic == WRAPPER_MAGIC || magic == CONTAINER_MAGIC;
}

const void *emu_fatbin_container(const void *image, size_t *bytes)
{
    const uint8_t *at = image;
    uint64_t header, content;

    if (*bytes == SIZE_MAX && number_at(at, 4) == WRAPPER_MAGIC) { /* version, address, and an unused name */
        memcpy(&at, at + 8, sizeof at);
        if (!at)
            return NULL;
    }
    if (*bytes < CONTAINER_HEADER || number_at(at, 4) != CONTAINER_MAGIC)
        return NULL;
    header = number_at(at + 6, 2);
    content = number_at(at + 8, 8);
    if (header < CONTAINER_HEADER || content > *bytes - CONTAINER_HEADER || header > *bytes - content)
        return NULL;
    *bytes = header + content;
    return at;
}

/* One entry, and the start of the next. */
typedef struct entry {
    const uint8_t *content;
    uint64_t kind, bytes, compressed, flags, text_bytes, capability;
} entry;

static bool next_entry(const uint8_t **at, const uint8_t *end, entry *one)
{
    const uint64_t left = (uint64_t)(end - *at);
    uint64_t header;

    if (left < ENTRY_HEADER)
        return false;
    header = number_at(*at + 4, 4);
    *one = (entry){*at + header,           number_at(*at, 2),      number_at(*at + 8, 8), number_at(*at + 16, 4),
                   number_at(*at + 40, 8), number_at(*at + 56, 8), number_at(*at + 28, 4)};
    if (header < ENTRY_HEADER || header > left || one->bytes > left - header || one->compressed > one->bytes)
        return false;
    *at += header + one->bytes;
    return true;
}

static bool inflate_lz4(void *function, uint8_t *to, const entry *from)
{
    int (*decompress)(const char *, char *, int, int);

    memcpy(&decompress, &function, sizeof decompress);
    return decompress((const char *)from->content, (char *)to, (int)from->compressed, (int)from->text_bytes) ==
           (int)from->text_bytes;
}

static bool inflate_zstd(void *function, uint8_t *to, const entry *from)
{
    size_t (*decompress)(void *, size_t, const void *, size_t);

    memcpy(&decompress, &function, sizeof decompress);
    return decompress(to, from->text_bytes, from->content, from->compressed) == from->text_bytes;
}

static const struct compression {
    uint64_t flag;
    const char *name, *library, *function;
    bool (*inflate)(void *function, uint8_t *to, const entry *from);
} compressions[] = {{0x2000, "LZ4", "liblz4.so.1", "LZ4_decompress_safe", inflate_lz4},
                    {0x8000, "zstd", "libzstd.so.1", "ZSTD_decompress", inflate_zstd}};

/* Decompress into a buffer of text_bytes. Load the libraries on first use: most programs never need them. */
static CUresult inflate(const struct compression *how, const entry *from, uint8_t *to, char *message, size_t message_bytes)
{
    void *library = dlopen(how->library, RTLD_NOW | RTLD_LOCAL), *function = library ? dlsym(library, how->function) : NULL;
    CUresult result = CUDA_SUCCESS;

    if (!function) {
        snprintf(message, message_bytes,
                 "the PTX in the fat binary is compressed with %s, and %s cannot be loaded: install it, or compile with nvcc "
                 "--no-compress",
                 how->name, how->library);
        result = CUDA_ERROR_NOT_SUPPORTED;
    } else if (!how->inflate(function, to, from)) {
        snprintf(message, message_bytes, "the fat binary is damaged: its PTX for sm_%d is not %s data of %llu bytes",
                 (int)from->capability, how->name, (unsigned long long)from->text_bytes);
        result = CUDA_ERROR_INVALID_IMAGE;
    }
    if (library)
        dlclose(library);
    return result;
}

/* Return the PTX of an entry, which the caller frees. */
static CUresult read_text(const entry *from, char **text, char *message, size_t message_bytes)
{
    const struct compression *how = NULL;
    entry plain = *from;
    CUresult result = CUDA_SUCCESS;

    for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++)
        if (from->flags & compressions[i].flag)
            how = &compressions[i];
    if (!how)
        plain.text_bytes = from->bytes;
    if (plain.text_bytes > MAX_TEXT || (how && from->compressed == 0)) {
        snprintf(message, message_bytes, "the fat binary is damaged: its PTX for sm_%d has %llu bytes", (int)from->capability,
                 (unsigned long long)plain.text_bytes);
        return CUDA_ERROR_INVALID_IMAGE;
    }
    *text = calloc(1, plain.text_bytes + 1);
    if (!*text)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (how)
        result = inflate(how, from, (uint8_t *)*text, message, message_bytes);
    else
        memcpy(*text, from->content, plain.text_bytes);
    if (result != CUDA_SUCCESS) {
        free(*text);
        *text = NULL;
    }
    return result;
}

CUresult emu_fatbin_text(const emu_device *device, const void *image, size_t bytes, char **text, char *message,
                         size_t message_bytes)
{
    const uint8_t *at = emu_fatbin_container(image, &bytes), *end;
    CUresult result = CUDA_ERROR_NO_BINARY_FOR_GPU;
    char there[256] = "";
    int best = -1;
    entry one;

    *text = NULL;
    if (!at) {
        snprintf(message, message_bytes, "the fat binary is damaged: its header is wrong");
        return CUDA_ERROR_INVALID_IMAGE;
    }
    end = at + bytes;
    for (at += number_at(at + 6, 2); at < end;) {
        const size_t length = strlen(there);
        char *candidate;
        CUresult why;
        int rank;
        if (!next_entry(&at, end, &one)) {
            snprintf(message, message_bytes, "the fat binary is damaged: an entry is longer than what it is in");
            free(*text);
            *text = NULL;
            return CUDA_ERROR_INVALID_IMAGE;
        }
        snprintf(there + length, sizeof there - length, "%s%s for sm_%d", length ? ", " : "",
                 one.kind == PTX_ENTRY    ? "PTX"
                 : one.kind == SASS_ENTRY ? "SASS"
                                          : "code of another kind",
                 (int)one.capability);
        if (one.kind != PTX_ENTRY || (int)one.capability > device->capability)
            continue;
        why = read_text(&one, &candidate, message, message_bytes);
        if (why != CUDA_SUCCESS) {
            result = *text ? result : why;
            continue;
        }
        rank = emu_image_rank(device, candidate);
        if (rank > best) {
            best = rank;
            free(*text);
            *text = candidate;
        } else {
            free(candidate);
        }
    }
    if (*text)
        return CUDA_SUCCESS;
    if (result == CUDA_ERROR_NO_BINARY_FOR_GPU)
        snprintf(message, message_bytes,
                 "the fat binary holds %s, and the emulator needs PTX that runs on sm_%d: compile with nvcc -gencode "
                 "arch=compute_%d,code=compute_%d",
                 *there ? there : "nothing", device->capability, device->capability, device->capability);
    return result;
}
