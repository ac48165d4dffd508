/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver.h"
#include "fake/fake_cuda.h"

static fake_cuda fake;
static tj_error err;

static void start_fake(void)
{
    fake = fake_open(FAKE_CUDA_PATH);
}

static const tj_driver *open_fake(void)
{
    const tj_driver *driver = NULL;

    cr_assert(eq(int, tj_driver_open(FAKE_CUDA_PATH, true, NULL, &driver, &err), TJ_OK), "%s", err.message);
    return driver;
}

static bool says(const char *words)
{
    return strstr(err.message, words) != NULL;
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

Test(driver, that_is_not_there_is_named_with_the_remedy)
{
    const tj_driver *driver = (const tj_driver *)&err;

    cr_assert(eq(int, tj_driver_open("/no/such/libcuda.so.1", true, NULL, &driver, &err), TJ_ERR_NO_DRIVER));
    cr_expect(says("/no/such/libcuda.so.1") && says("TILEJIT_DRIVER"), "%s", err.message);
    cr_expect(driver == NULL);
}

Test(driver, that_is_a_stub_is_no_driver)
{
    char path[PATH_MAX];
    const tj_driver *driver = NULL;

    fake_sibling(FAKE_CUDA_PATH, "libstub_cuda.so", path);
    cr_assert(eq(int, tj_driver_open(path, true, NULL, &driver, &err), TJ_ERR_NO_DRIVER));
    cr_expect(says("stub") && says("(34)"), "%s", err.message);
    cr_expect(driver == NULL);
}

Test(driver, that_is_a_library_of_another_kind_is_refused_with_the_missing_name)
{
    const tj_driver *driver = NULL;

    cr_assert(eq(int, tj_driver_open("libm.so.6", true, NULL, &driver, &err), TJ_ERR_NO_DRIVER));
    cr_expect(says("libm.so.6") && says("cuInit"), "%s", err.message);
}

static void *open_in_thread(void *out)
{
    const tj_driver *driver = NULL;

    if (tj_driver_open(FAKE_CUDA_PATH, true, NULL, &driver, NULL) == TJ_OK)
        *(const tj_driver **)out = driver;
    return NULL;
}

Test(driver, is_opened_once_by_any_number_of_threads, .init = start_fake)
{
    pthread_t thread[8];
    const tj_driver *driver[8] = {NULL};

    for (int i = 0; i < 8; i++)
        cr_assert(eq(int, pthread_create(&thread[i], NULL, open_in_thread, &driver[i]), 0));
    for (int i = 0; i < 8; i++)
        pthread_join(thread[i], NULL);
    for (int i = 0; i < 8; i++)
        cr_expect(driver[i] != NULL && driver[i] == driver[0], "thread %d", i);
    cr_expect(eq(ulong, fake.fake_calls("cuInit"), 1));
    cr_expect(eq(int, driver[0]->version, 13000));
    cr_expect(strstr(driver[0]->path, "libfake_cuda.so") != NULL, "%s", driver[0]->path);
}

Test(driver, that_does_not_start_can_be_opened_later, .init = start_fake)
{
    static const struct {
        CUresult result;
        const char *words;
    } rows[] = {{100, "CUDA_VISIBLE_DEVICES"}, {803, "reboot"}, {999, "CUDA_ERROR_UNKNOWN"},
                {2, "OUT_OF_MEMORY"},          {34, "stub"},    {3, "exec"},
                {700, "ILLEGAL_ADDRESS"}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const tj_driver *driver = NULL;
        /* A driver that dies while it starts stays dead in the fake: the last row. */
        fake.fake_fail("cuInit", 1, rows[i].result);
        cr_expect(eq(int, tj_driver_open(FAKE_CUDA_PATH, true, NULL, &driver, &err), TJ_ERR_NO_DRIVER), "%d", rows[i].result);
        cr_expect(eq(int, err.status, TJ_ERR_NO_DRIVER));
        cr_expect(says(rows[i].words), "%d: %s", rows[i].result, err.message);
        cr_expect(driver == NULL);
        if (rows[i].result != 700)
            continue;
        cr_expect(eq(int, tj_driver_open(FAKE_CUDA_PATH, true, NULL, &driver, NULL), TJ_ERR_NO_DRIVER));
    }
}

Test(driver, opens_after_a_failed_start, .init = start_fake)
{
    const tj_driver *driver = NULL;

    fake.fake_fail("cuInit", 1, 100);
    cr_assert(eq(int, tj_driver_open(FAKE_CUDA_PATH, true, NULL, &driver, &err), TJ_ERR_NO_DRIVER));
    driver = open_fake();
    cr_expect(eq(int, tj_driver_check_alive(driver, &err), TJ_OK));
}

Test(driver, without_a_needed_function_is_refused_by_its_name, .init = start_fake)
{
    const tj_driver *driver = NULL;

    fake.fake_hide("cuLaunchKernel");
    cr_assert(eq(int, tj_driver_open(FAKE_CUDA_PATH, true, NULL, &driver, &err), TJ_ERR_NO_DRIVER));
    cr_expect(says("cuLaunchKernel"), "%s", err.message);
}

Test(driver, without_an_optional_function_has_none, .init = start_fake)
{
    const tj_driver *driver;

    fake.fake_hide("cuLibraryLoadData");
    fake.fake_hide("cuCtxGetId");
    driver = open_fake();
    cr_expect(driver->api.library_load == NULL && driver->api.ctx_get_id == NULL);
    cr_expect(driver->api.library_unload != NULL && driver->api.launch_kernel != NULL);
}

Test(driver, of_an_older_version_lacks_what_came_later, .init = start_fake)
{
    const tj_driver *driver;

    fake.fake_set_driver_version(12020);
    driver = open_fake();
    cr_expect(eq(int, driver->version, 12020));
    cr_expect(driver->api.library_load != NULL, "12.0");
    cr_expect(driver->api.func_load == NULL && driver->api.func_get_param_info == NULL, "12.4");
}

Test(driver, without_cuGetProcAddress_is_read_by_symbol)
{
    char path[PATH_MAX];
    const tj_driver *driver = NULL;

    fake_sibling(FAKE_CUDA_PATH, "libfake_cuda_old.so", path);
    cr_assert(eq(int, tj_driver_open(path, true, NULL, &driver, &err), TJ_OK), "%s", err.message);
    cr_expect(eq(int, driver->version, 11000));
    cr_expect(driver->api.module_load != NULL && driver->api.library_load == NULL && driver->api.ctx_get_id == NULL);
}

/* ---- results ------------------------------------------------------------------------------------------------------ */

Test(driver, results_mean_a_status_and_are_named, .init = start_fake)
{
    static const struct {
        CUresult result;
        tj_status status;
        const char *words;
    } rows[] = {
        {1, TJ_ERR_DRIVER, "CUDA_ERROR_INVALID_VALUE (1)"},
        {2, TJ_ERR_DEVICE_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY (2)"},
        {34, TJ_ERR_NO_DRIVER, "CUDA_ERROR_STUB_LIBRARY (34)"},
        {46, TJ_ERR_DRIVER, "nvidia-smi"},
        {100, TJ_ERR_NO_DRIVER, "CUDA_VISIBLE_DEVICES"},
        {200, TJ_ERR_UNSUPPORTED, "CUDA_ERROR_INVALID_IMAGE (200)"},
        {209, TJ_ERR_UNSUPPORTED, "CUDA_ERROR_NO_BINARY_FOR_GPU (209)"},
        {218, TJ_ERR_UNSUPPORTED, "CUDA_ERROR_INVALID_PTX (218)"},
        {222, TJ_ERR_UNSUPPORTED, "newer than the driver"},
        {400, TJ_ERR_DRIVER, "another CUDA context"},
        {701, TJ_ERR_DRIVER, "smaller tiles"},
        {709, TJ_ERR_DRIVER, "destroyed"},
        {900, TJ_ERR_CAPTURE, "tj_plan_prepare"},
        {901, TJ_ERR_CAPTURE, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901)"},
        {906, TJ_ERR_CAPTURE, "legacy default stream"},
        {4242, TJ_ERR_DRIVER, "CUDA_ERROR_OF_THE_FUTURE (4242): something that is not known yet"},
        {4243, TJ_ERR_DRIVER, "unknown CUresult (4243)"},
    };
    const tj_driver *driver = open_fake();

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        tj_status status = tj_driver_fail(driver, rows[i].result, &err, "cannot do number %d", 7);
        cr_expect(eq(int, status, rows[i].status), "%d", rows[i].result);
        cr_expect(eq(int, err.status, rows[i].status), "%d", rows[i].result);
        cr_expect(says("cannot do number 7: ") && says(rows[i].words), "%d: %s", rows[i].result, err.message);
        cr_expect(eq(int, tj_driver_fail(driver, rows[i].result, NULL, "x"), rows[i].status), "%d", rows[i].result);
    }
    cr_expect(eq(int, tj_driver_check_alive(driver, &err), TJ_OK));
    cr_expect(strcmp(tj_driver_result_name(driver, 0), "CUDA_SUCCESS") == 0);
    cr_expect(strcmp(tj_driver_result_name(NULL, 4242), "unknown CUresult") == 0);
}

Test(driver, a_sticky_result_is_remembered_for_ever_with_its_first_story, .init = start_fake)
{
    static const CUresult sticky[] = {226, 700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 911};
    const tj_driver *driver = open_fake();
    unsigned long calls;

    cr_assert(eq(int, tj_driver_fail(driver, 716, &err, "the first call"), TJ_ERR_DEVICE_LOST));
    for (size_t i = 0; i < sizeof sticky / sizeof sticky[0]; i++)
        cr_expect(eq(int, tj_driver_fail(driver, sticky[i], &err, "a later call"), TJ_ERR_DEVICE_LOST), "%d", sticky[i]);
    calls = fake.fake_all_calls();
    for (int i = 0; i < 3; i++) {
        memset(&err, 0, sizeof err);
        cr_expect(eq(int, tj_driver_check_alive(driver, &err), TJ_ERR_DEVICE_LOST));
        cr_expect(says("the first call: CUDA_ERROR_MISALIGNED_ADDRESS (716)") && says("restart"), "%s", err.message);
    }
    cr_expect(eq(int, tj_driver_check_alive(driver, NULL), TJ_ERR_DEVICE_LOST));
    cr_expect(eq(int, tj_driver_fail(driver, 4242, &err, "a new one"), TJ_ERR_DRIVER));
    cr_expect(eq(ulong, fake.fake_all_calls(), calls), "a lost driver is not asked for words");
}

Test(driver, a_long_story_is_cut_and_complete, .init = start_fake)
{
    const tj_driver *driver = open_fake();
    char long_name[2000];

    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    cr_expect(eq(int, tj_driver_fail(driver, 1, &err, "cannot load %s", long_name), TJ_ERR_DRIVER));
    cr_expect(says("CUDA_ERROR_INVALID_VALUE (1)"), "%s", err.message);
}

/* ---- captures ----------------------------------------------------------------------------------------------------- */

Test(driver, says_whether_a_stream_is_captured, .init = start_fake)
{
    CUstream captured = (CUstream)(uintptr_t)16, other = (CUstream)(uintptr_t)32;
    const tj_driver *driver = open_fake();
    bool is = true;

    cr_expect(eq(int, tj_stream_is_capturing(driver, captured, &is, &err), TJ_OK));
    cr_expect(is == false);
    fake.fake_set_capture(captured, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    cr_expect(eq(int, tj_stream_is_capturing(driver, captured, &is, &err), TJ_OK));
    cr_expect(is);
    cr_expect(eq(int, tj_stream_is_capturing(driver, other, &is, &err), TJ_OK));
    cr_expect(is == false);
    cr_expect(eq(int, tj_stream_is_capturing(driver, NULL, &is, &err), TJ_OK), "%s", err.message);
    cr_expect(is, "the legacy stream is out of use meanwhile");
    fake.fake_set_capture(captured, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    cr_expect(eq(int, tj_stream_is_capturing(driver, captured, &is, &err), TJ_OK));
    cr_expect(is);
    fake.fake_fail("cuStreamIsCapturing", 1, 400);
    cr_expect(eq(int, tj_stream_is_capturing(driver, other, &is, &err), TJ_ERR_DRIVER));
    cr_expect(is == false);
}

/* ---- fork --------------------------------------------------------------------------------------------------------- */

Test(driver, is_out_of_use_in_a_forked_child, .init = start_fake)
{
    const tj_driver *driver = open_fake(), *again = NULL;
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        bool is_right = tj_driver_check_alive(driver, &err) == TJ_ERR_FORKED && says("exec") &&
                        tj_driver_open(FAKE_CUDA_PATH, true, NULL, &again, &err) == TJ_ERR_FORKED && !again;
        _exit(is_right ? 0 : 1);
    }
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    cr_expect(eq(int, status, 0));
    cr_expect(eq(int, tj_driver_check_alive(driver, &err), TJ_OK), "the parent goes on");
}
