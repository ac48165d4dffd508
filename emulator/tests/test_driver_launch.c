/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* The emulator as a driver: modules, functions and launches. */
#include "driver_test.h"

#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

Test(driver, launches_a_kernel_with_its_parameters)
{
    unsigned value = 100;
    CUdeviceptr address;
    CUfunction store;
    void *parameters[] = {&address, &value};
    struct {
        CUdeviceptr address;
        unsigned value;
    } buffer;
    size_t bytes = 12;
    void *extra[] = {(void *)1, &buffer, (void *)2, &bytes, NULL};

    start();
    store = get(load(), "store");
    address = zeroed(64 * 4);
    cr_expect(launch(store, 2, 32, NULL, parameters) == CUDA_SUCCESS);
    cr_expect(read_word(address) == 100 && read_word(address + 4 * 63) == 163);
    buffer.address = address;
    buffer.value = 500;
    EXPECT(CUDA_SUCCESS, cuLaunchKernel, store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra);
    cr_expect(read_word(address) == 500 && read_word(address + 4) == 101);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, store, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, extra);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    bytes = 8;
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, store, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra);
}

Test(driver, launches_with_attributes)
{
    static const struct {
        int id;
        unsigned value[3];
        CUresult result;
    } rows[] = {{0, {0, 0, 0}, CUDA_SUCCESS},
                {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, {1, 1, 1}, CUDA_SUCCESS},
                {CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, {2, 1, 1}, CUDA_ERROR_INVALID_CLUSTER_SIZE},
                {CU_LAUNCH_ATTRIBUTE_COOPERATIVE, {0, 0, 0}, CUDA_SUCCESS},
                {CU_LAUNCH_ATTRIBUTE_COOPERATIVE, {1, 0, 0}, CUDA_SUCCESS},
                {CU_LAUNCH_ATTRIBUTE_LAST, {0, 0, 0}, CUDA_ERROR_NOT_SUPPORTED},
                {99, {0, 0, 0}, CUDA_ERROR_INVALID_VALUE}};
    CUdeviceptr address;
    void *parameters[] = {&address};
    CUfunction bump;
    unsigned launches = 0;

    start();
    bump = get(load(), "bump");
    address = zeroed(4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CUlaunchAttribute attribute = {.id = rows[i].id};
        CUlaunchConfig config = {.grid = {1, 1, 1}, .block = {1, 1, 1}, .attribute = &attribute, .attributes = 1};
        memcpy(attribute.value.dimension, rows[i].value, sizeof rows[i].value);
        cr_expect(CALL(cuLaunchKernelEx, &config, bump, parameters, NULL) == rows[i].result, "row %zu", i);
        launches += rows[i].result == CUDA_SUCCESS;
    }
    EXPECT(CUDA_SUCCESS, cuLaunchCooperativeKernel, bump, 1, 1, 1, 1, 1, 1, 0, NULL, parameters);
    cr_expect(read_word(address) == launches + 1);
}

Test(driver, keeps_to_the_limits_of_a_launch)
{
    static const struct {
        const char *name;
        unsigned grid[3], block[3], shared;
        CUresult result;
    } rows[] = {{"narrow", {1, 1, 1}, {64, 1, 1}, 0, 0},
                {"narrow", {1, 1, 1}, {65, 1, 1}, 0, 1},
                {"narrow", {0, 1, 1}, {1, 1, 1}, 0, 1},
                {"narrow", {1, 1, 1}, {1, 0, 1}, 0, 1},
                {"narrow", {1, 65536, 1}, {1, 1, 1}, 0, 1},
                {"narrow", {1, 1, 65536}, {1, 1, 1}, 0, 1},
                {"narrow", {2147483648u, 1, 1}, {1, 1, 1}, 0, 1},
                {"narrow", {1, 1, 1}, {1, 1, 1}, 49152, 0},
                {"narrow", {1, 1, 1}, {1, 1, 1}, 49153, 1},
                {"bump", {1, 1, 1}, {32, 32, 2}, 0, 1},
                {"bump", {1, 1, 1}, {1, 1, 65}, 0, 1}};
    CUdeviceptr address;
    void *parameters[] = {&address};
    CUmodule module;
    CUfunction narrow;
    int value;

    start();
    module = load();
    address = zeroed(4);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cr_expect(CALL(cuLaunchKernel, get(module, rows[i].name), rows[i].grid[0], rows[i].grid[1], rows[i].grid[2],
                       rows[i].block[0], rows[i].block[1], rows[i].block[2], rows[i].shared, NULL, parameters,
                       NULL) == rows[i].result,
                  "row %zu", i);
    narrow = get(module, "narrow");
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute, narrow, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449);
    EXPECT(CUDA_SUCCESS, cuFuncSetAttribute, narrow, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448);
    EXPECT(CUDA_SUCCESS, cuLaunchKernel, narrow, 1, 1, 1, 1, 1, 1, 232448, NULL, NULL, NULL);
    OK(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, narrow);
    cr_expect(value == 64);
}

Test(driver, describes_functions)
{
    size_t offset, bytes;
    const char *name;
    CUmodule module, of;
    CUfunction store;
    unsigned count;
    int value, blocks, size;

    start();
    module = load();
    store = get(module, "store");
    cr_expect(get(module, "store") == store);
    OK(cuFuncGetName, &name, store);
    cr_expect(strcmp(name, "store") == 0);
    OK(cuFuncGetModule, &of, store);
    cr_expect(of == module);
    OK(cuFuncGetParamInfo, store, 1, &offset, &bytes);
    cr_expect(offset == 8 && bytes == 4);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo, store, 2, &offset, &bytes);
    OK(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_BINARY_VERSION, store);
    cr_expect(value == 90);
    OK(cuModuleGetFunctionCount, &count, module);
    cr_expect(count == 5);
    EXPECT(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction, &store, module, "nothing");
    store = get(module, "store");
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, store, 256, 0);
    cr_expect(blocks == 8, "%d", blocks);
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, store, 32, 65536);
    cr_expect(blocks == 3, "%d", blocks);
    OK(cuOccupancyMaxPotentialBlockSize, &blocks, &size, store, NULL, 0, 0);
    cr_expect(size == 1024 && blocks == 264, "%d of %d", blocks, size);
}

Test(driver, gives_a_module_its_variables)
{
    CUdeviceptr counter, where, limits, pointed = 0;
    void *parameters[] = {&counter};
    CUmodule module;
    size_t bytes;

    start();
    module = load();
    OK(cuModuleGetGlobal_v2, &counter, &bytes, module, "counter");
    cr_expect(bytes == 4 && read_word(counter) == 41);
    OK(cuModuleGetGlobal_v2, &where, &bytes, module, "where");
    OK(cuMemcpyDtoH_v2, &pointed, where, 8);
    cr_expect(bytes == 8 && pointed == counter);
    OK(cuModuleGetGlobal_v2, &limits, &bytes, module, "limits");
    cr_expect(bytes == 16 && read_word(limits + 12) == 10);
    EXPECT(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal_v2, &limits, &bytes, module, "nothing");
    cr_expect(launch(get(module, "bump"), 1, 1, NULL, parameters) == CUDA_SUCCESS);
    cr_expect(read_word(counter) == 42);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, counter);
    OK(cuModuleUnload, module);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, &pointed, counter, 4);
}

Test(driver, refuses_images_that_it_cannot_run)
{
    static const struct {
        const char *image;
        CUresult result;
        const char *message;
    } rows[] = {{"\177ELF\2\1\1", CUDA_ERROR_NO_BINARY_FOR_GPU, "needs PTX"},
                {"\x50\xed\x55\xba\1\0\x10\0\0\0\0\0\0\0\0\0", CUDA_ERROR_NO_BINARY_FOR_GPU, "holds nothing"},
                {"\x50\xed\x55\xba\1\0\1\0\0\0\0\0\0\0\0\0", CUDA_ERROR_INVALID_IMAGE, "damaged"},
                {".version 8.0\n.target sm_100\n.address_size 64\n", CUDA_ERROR_NO_BINARY_FOR_GPU, "sm_100"},
                {".version 8.0\n.target sm_80a\n.address_size 64\n", CUDA_ERROR_NO_BINARY_FOR_GPU, "sm_80a"},
                {"// later\n.version 12.5\n.target sm_75\n.address_size 64\n", CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "12.5"},
                {HEADER ".visible .entry broken() { frobnicate; }\n", CUDA_ERROR_INVALID_PTX, "line 4"},
                {"hello", CUDA_ERROR_INVALID_PTX, ""},
                {"", CUDA_ERROR_INVALID_PTX, ""},
                {".version 8.0\n.target sm_90a\n.address_size 64\n", CUDA_SUCCESS, ""}};

    start();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char log[256] = "";
        int option[] = {5, 6};
        void *value[] = {log, (void *)sizeof log};
        CUmodule module;
        const CUresult result = CALL(cuModuleLoadDataEx, &module, rows[i].image, 2, option, value);
        cr_expect(result == rows[i].result, "row %zu: %d", i, (int)result);
        cr_expect(strstr(log, rows[i].message) != NULL, "row %zu: \"%s\"", i, log);
        cr_expect((size_t)value[1] == strlen(log), "row %zu: %zu", i, (size_t)value[1]);
    }
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData, &(CUmodule){NULL}, NULL);
    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad, &(CUmodule){NULL}, "/no/such/file");
}

static void *write_ptx(void *path)
{
    FILE *file = fopen(path, "w"); /* waits for the reader */

    if (!file || fwrite(PTX, 1, sizeof PTX - 1, file) != sizeof PTX - 1 || fclose(file) != 0)
        return path;
    return NULL;
}

/* Paths that would hang a call or fill the memory are refused, with name and reason. */
Test(driver, reads_regular_files_and_pipes_that_somebody_writes, .init = cr_redirect_stderr, .timeout = 60)
{
    static const char zeros[] = "/dev/zero";
    char folder[] = "/tmp/emulator_XXXXXX", pipe[64], large[64], told[1024];
    CUmodule module = NULL;
    CUlibrary library;
    CUlinkState link;
    pthread_t writer;
    void *failed = NULL;
    int length;
    FILE *file;

    setenv("CUDA_EMULATOR_LOG", "1", 1);
    start();
    cr_assert(mkdtemp(folder));
    snprintf(pipe, sizeof pipe, "%s/pipe", folder);
    snprintf(large, sizeof large, "%s/large", folder);
    cr_assert(mkfifo(pipe, 0600) == 0);
    file = fopen(large, "w");
    cr_assert(file && ftruncate(fileno(file), ((off_t)1 << 30) + 1) == 0 && fclose(file) == 0);
    OK(cuLinkCreate_v2, 0, NULL, NULL, &link);

    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad, &module, pipe);
    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad, &module, large);
    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad, &module, folder);
    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuLibraryLoadFromFile, &library, zeros, NULL, NULL, 0, NULL, NULL, 0);
    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuLinkAddFile_v2, link, 1, zeros, 0, NULL, NULL);
    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad, &module, "/no/such/file");
    length = snprintf(told, sizeof told, "cuda emulator: cannot read %s: it is a pipe into which no program writes\n", pipe);
    length +=
        snprintf(told + length, sizeof told - (size_t)length, "cuda emulator: cannot read %s: it has more than 1 GiB\n", large);
    length += snprintf(told + length, sizeof told - (size_t)length, "cuda emulator: cannot read %s: it is a folder\n", folder);
    for (int i = 0; i < 2; i++)
        length += snprintf(told + length, sizeof told - (size_t)length,
                           "cuda emulator: cannot read %s: it is neither a regular file nor a pipe\n", zeros);
    snprintf(told + length, sizeof told - (size_t)length,
             "cuda emulator: cannot read /no/such/file: No such file or directory\n");
    fflush(stderr);
    cr_assert_stderr_eq_str(told);

    cr_assert(pthread_create(&writer, NULL, write_ptx, pipe) == 0);
    EXPECT(CUDA_SUCCESS, cuModuleLoad, &module, pipe);
    cr_assert(pthread_join(writer, &failed) == 0 && !failed);
    cr_expect(get(module, "store"));
    OK(cuLinkDestroy, link);
    cr_expect(remove(pipe) == 0 && remove(large) == 0 && rmdir(folder) == 0);
}

/*
 * Arrays of the module are those of the kernels that name them, or call what names them. A kernel with too many is refused, and no
 * other.
 */
static const char arrays[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".shared .align 16 .b8 nobody[40000];\n.shared .align 16 .b8 big[32768];\n"
    ".shared .align 4 .b32 called[16];\n.shared .align 16 .b8 huge[60000];\n"
    ".func f() { st.shared.u32 [called+60], 1; ret; }\n"
    ".visible .entry one() { st.shared.u32 [big+32764], 1; ret; }\n"
    ".visible .entry two() { .shared .align 16 .b8 own[20000]; st.shared.u32 [own+19996], 1; call f; ret; "
    "}\n"
    ".visible .entry both() { .shared .align 16 .b8 own[20000]; st.shared.u32 [own], 1; "
    "st.shared.u32 [big], 1; ret; }\n"
    ".visible .entry three() { st.shared.u32 [huge], 1; ret; }\n"
    ".visible .entry none() { ret; }\n";

Test(driver, a_kernel_has_the_shared_arrays_that_it_uses)
{
    static const struct {
        const char *kernel;
        int bytes;
    } rows[] = {{"one", 32768}, {"two", 20064}, {"none", 0}};
    CUmodule loaded;
    CUfunction function;
    int value;

    start();
    OK(cuModuleLoadData, &loaded, arrays);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        OK(cuModuleGetFunction, &function, loaded, rows[i].kernel);
        OK(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
        cr_expect(value == rows[i].bytes, "%s: %d", rows[i].kernel, value);
        cr_expect(launch(function, 1, 32, NULL, NULL) == CUDA_SUCCESS, "%s", rows[i].kernel);
    }
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuModuleGetFunction, &function, loaded, "both");
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuModuleGetFunction, &function, loaded, "three");
    OK(cuModuleUnload, loaded);
}

Test(driver, refuses_a_kernel_that_it_cannot_run_and_no_other)
{
    static const char text[] =
        HEADER ".visible .entry good() { ret; }\n.visible .entry bad() { wgmma.fence.sync.aligned; ret; }\n";
    CUfunction function[2] = {NULL, NULL};
    CUlibrary library;
    CUkernel kernel;
    CUmodule module;

    start();
    OK(cuModuleLoadData, &module, text);
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuModuleGetFunction, &function[0], module, "bad");
    OK(cuModuleGetFunction, &function[0], module, "good");
    cr_expect(launch(function[0], 1, 1, NULL, NULL) == CUDA_SUCCESS);
    OK(cuModuleEnumerateFunctions, function, 2, module);
    cr_expect(launch(function[0], 1, 1, NULL, NULL) == CUDA_SUCCESS);
    cr_expect(launch(function[1], 1, 1, NULL, NULL) == CUDA_ERROR_NOT_SUPPORTED);
    OK(cuCtxSynchronize);
    OK(cuLibraryLoadData, &library, text, NULL, NULL, 0, NULL, NULL, 0);
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuLibraryGetKernel, &kernel, library, "bad");
    OK(cuLibraryGetKernel, &kernel, library, "good");
}
