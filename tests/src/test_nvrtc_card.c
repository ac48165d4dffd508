/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * The card: a process that finds its kernel in the store need not open NVRTC; and no card, damaged or stale, changes a result.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tilejit/tools.h>

static char root[64];

static bool is_loaded(void)
{
    void *handle = dlopen("libnvrtc.so.13", RTLD_NOW | RTLD_NOLOAD);

    handle = handle ? handle : dlopen("libnvrtc.so.12", RTLD_NOW | RTLD_NOLOAD);
    return handle != NULL;
}

/* Obtain one image with a context of its own. 0: no NVRTC here; else the origin. */
static int obtain(int64_t extent)
{
    tj_context_options options = TJ_CONTEXT_OPTIONS_INIT;
    const tj_problem problem = TJ_PROBLEM_INIT(extent, 20, 30, TJ_F32);
    tj_context *context = NULL;
    tj_source *source = NULL;
    tj_image *image = NULL;
    tj_error err;
    int origin = 0;
    tj_status status;

    options.cache_dir = root;
    status = tj_context_create(&options, &context, &err);
    if (status == TJ_OK)
        status = tj_generate(&problem, NULL, &source, &err);
    if (status == TJ_OK)
        status = tj_image_obtain(context, source, "sm_90", &image, &err);
    if (status == TJ_OK)
        origin = (int)tj_image_origin(image);
    else if (status != TJ_ERR_NO_COMPILER)
        origin = -1;
    tj_image_free(image);
    tj_source_free(source);
    tj_context_free(context);
    return origin;
}

/* In a child, so that NVRTC is loaded there and not here. */
static int obtain_elsewhere(int64_t extent)
{
    int status = -1;
    const pid_t child = fork();

    if (child == 0)
        _exit(obtain(extent) & 255);
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void make_root(void)
{
    strcpy(root, "/tmp/tilejit-card-XXXXXX");
    cr_assert(ne(ptr, mkdtemp(root), NULL));
}

static void remove_root(void)
{
    char command[100];

    snprintf(command, sizeof command, "rm -rf %s", root);
    cr_assert(eq(int, system(command), 0));
}

/* The one card in the store. */
static void find_card(char path[256])
{
    char pattern[100];
    glob_t found;

    snprintf(pattern, sizeof pattern, "%s/v1/nvrtc-*", root);
    cr_assert(eq(int, glob(pattern, 0, NULL, &found), 0), "no card was written");
    cr_assert(eq(sz, found.gl_pathc, 1));
    snprintf(path, 256, "%s", found.gl_pathv[0]);
    globfree(&found);
}

TestSuite(nvrtc_card, .init = make_root, .fini = remove_root);

Test(nvrtc_card, spares_a_process_that_hits_the_store_from_opening_nvrtc)
{
    const int first = obtain_elsewhere(10);

    if (first == 0)
        cr_skip_test("NO NVRTC HERE: nothing was tested");
    cr_assert(eq(int, first, TJ_FROM_COMPILER));
    cr_assert(not(is_loaded()));
    cr_assert(eq(int, obtain(10), TJ_FROM_STORE));
    cr_assert(not(is_loaded()), "NVRTC was opened for a kernel from the store");
    cr_assert(eq(int, obtain(11), TJ_FROM_COMPILER));
    cr_assert(is_loaded(), "a new kernel needs NVRTC");
}

Test(nvrtc_card, is_not_believed_when_damaged_or_stale)
{
    char path[256], card[8192];
    size_t size;
    FILE *file;

    if (obtain_elsewhere(10) == 0)
        cr_skip_test("NO NVRTC HERE: nothing was tested");
    find_card(path);
    file = fopen(path, "rb");
    size = fread(card, 1, sizeof card - 1, file);
    fclose(file);
    card[size] = '\0';
    /* Cut at every length: always the right image, from the store. */
    for (size_t length = 0; length < size; length += 7) {
        file = fopen(path, "wb");
        cr_assert(eq(sz, fwrite(card, 1, length, file), length));
        fclose(file);
        cr_expect(eq(int, obtain_elsewhere(10), TJ_FROM_STORE), "cut at %zu", length);
    }
    /* The inode of the library is another: the card is of an earlier installation. */
    *strchr(strchr(strchr(card, '\n') + 1, '\n') + 1, ' ') = '9';
    file = fopen(path, "wb");
    fwrite(card, 1, size, file);
    fclose(file);
    cr_assert(eq(int, obtain(10), TJ_FROM_STORE));
    cr_assert(is_loaded(), "a stale card was believed");
}
