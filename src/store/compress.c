/* SPDX-License-Identifier: Apache-2.0 */
#include "compress.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

enum { ZLIB_OK = 0, ZLIB_BEST = 9 };

/* As zlib.h declares them, since 1.2. */
static struct {
    int (*compress2)(unsigned char *to, unsigned long *to_size, const unsigned char *from, unsigned long size, int level);
    int (*uncompress)(unsigned char *to, unsigned long *to_size, const unsigned char *from, unsigned long size);
} zlib;

static pthread_once_t opened = PTHREAD_ONCE_INIT;

/* Never closed, like the driver and NVRTC. */
static void open_zlib(void)
{
    void *library = dlopen("libz.so.1", RTLD_NOW | RTLD_LOCAL);

    if (!library)
        return;
    *(void **)&zlib.compress2 = dlsym(library, "compress2");
    *(void **)&zlib.uncompress = dlsym(library, "uncompress");
}

bool tj_compress_is_there(void)
{
    pthread_once(&opened, open_zlib);
    return zlib.compress2 && zlib.uncompress;
}

void *tj_compress(const void *bytes, size_t size, size_t *compressed)
{
    unsigned long length = size; /* more room would not save space */
    void *made = tj_compress_is_there() ? malloc(size + 1) : NULL;

    if (made && zlib.compress2(made, &length, bytes, size, ZLIB_BEST) == ZLIB_OK && length < size) {
        *compressed = length;
        return made;
    }
    free(made);
    return NULL;
}

bool tj_decompress(const void *bytes, size_t size, void *to, size_t whole)
{
    unsigned long length = whole;

    return tj_compress_is_there() && zlib.uncompress(to, &length, bytes, size) == ZLIB_OK && length == whole;
}
