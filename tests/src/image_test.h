/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the tests of images: contexts that listen, sources, and an image that is obtained. */
#ifndef TJ_TESTS_IMAGE_H
#define TJ_TESTS_IMAGE_H

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "context.h"
#include "targets.h"
#include "image.h"

#define expect_in(text, part) cr_expect(strstr((text), (part)) != NULL, "no \"%s\" in: %s", (part), (text))

typedef struct listener {
    pthread_mutex_t lock;
    int warnings, infos;
    char last_warning[512];
} listener;

static inline void listen_to(tj_log_level level, const char *line, void *payload)
{
    listener *heard = payload;

    pthread_mutex_lock(&heard->lock);
    heard->infos += level == TJ_LOG_INFO;
    if (level == TJ_LOG_WARNING) {
        heard->warnings++;
        snprintf(heard->last_warning, sizeof heard->last_warning, "%s", line);
    }
    pthread_mutex_unlock(&heard->lock);
}

static inline tj_context *make_context(const char *nvrtc, const char *cache_dir, const char *dump_dir, listener *heard)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    tj_context *context = NULL;
    tj_error err = {0};

    options.nvrtc = nvrtc;
    options.driver = "/no/such/libcuda.so.1";
    options.cache_dir = cache_dir;
    options.dump_dir = dump_dir;
    if (heard) {
        options.log_level = TJ_LOG_DEBUG;
        options.log = listen_to;
        options.log_payload = heard;
    }
    cr_assert(eq(int, tj_context_create(&options, &context, &err), TJ_OK), "%s", err.message);
    return context;
}

static inline tj_source *make_source(int64_t k)
{
    tj_problem problem = TJ_PROBLEM_INIT(32, k, 48, TJ_F32);
    tj_source *source = NULL;
    tj_error err = {0};

    cr_assert(eq(int, tj_generate(&problem, NULL, &source, &err), TJ_OK), "%s", err.message);
    return source;
}

static inline int fake_compiles(void)
{
    void *handle = dlopen(FAKE_NVRTC_PATH, RTLD_NOW), *address = dlsym(handle, "fake_nvrtc_compiles");
    int (*count)(void);

    memcpy(&count, &address, sizeof count);
    return count();
}

static inline tj_context_stats stats_of(tj_context *context)
{
    tj_context_stats stats = TJ_CONTEXT_STATS_INIT;

    tj_context_get_stats(context, &stats);
    return stats;
}

static inline void make_folder(char root[64])
{
    strcpy(root, "/tmp/tilejit-image-XXXXXX");
    cr_assert(mkdtemp(root) != NULL);
}

static inline void remove_folder(const char *folder)
{
    char command[PATH_MAX];

    snprintf(command, sizeof command, "chmod -R u+w '%s' && rm -rf '%s'", folder, folder);
    cr_assert(system(command) == 0);
}

static inline void obtain(tj_context *context, const tj_source *source, const char *target, tj_origin origin)
{
    tj_image *image = NULL;
    tj_error err = {0};

    cr_assert(eq(int, tj_image_obtain(context, source, target, &image, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, (int)tj_image_origin(image), (int)origin));
    tj_image_free(image);
}

#endif
