/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* The emulator as a driver: fat binaries, linked PTX, libraries, and calls of older programs. */
#include "driver_test.h"

#include <unistd.h>

/* "which" stores the number that it was made for. */
#define PTX_FOR(target, number)                                                                                        \
    ".version 8.0\n.target " target "\n.address_size 64\n.visible .entry which(.param .u64 p)\n{\n .reg .b64 %d<2>;\n" \
    " ld.param.u64 %d1, [p];\n st.global.u32 [%d1], " number ";\n ret;\n}\n"

enum { PLAIN = 0x11, WITH_LZ4 = 0x2011, WITH_ZSTD = 0x8011, SASS = 2 };

static struct fatbin {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t bytes;
    uint8_t entry[8192];
} fatbin;

/* Begin with an empty one. */
static void begin_fatbin(void)
{
    fatbin = (struct fatbin){0xba55ed50u, 1, 16, 0, {0}};
}

static void add_entry(uint16_t kind, uint32_t capability, uint64_t flags, const void *content, size_t bytes,
                      uint64_t text_bytes)
{
    uint8_t *at = fatbin.entry + fatbin.bytes;
    const uint64_t padded = (bytes + 7) / 8 * 8;
    const uint32_t header_bytes = 80, compressed = text_bytes ? (uint32_t)bytes : 0;

    cr_assert(fatbin.bytes + header_bytes + padded <= sizeof fatbin.entry);
    memcpy(at, &kind, 2);
    memcpy(at + 4, &header_bytes, 4);
    memcpy(at + 8, &padded, 8);
    memcpy(at + 16, &compressed, 4);
    memcpy(at + 28, &capability, 4);
    memcpy(at + 40, &flags, 8);
    memcpy(at + 56, &text_bytes, 8);
    memcpy(at + header_bytes, content, bytes);
    fatbin.bytes += header_bytes + padded;
}

/* An entry of PTX. Compressed: as data of that kind that is stored as it is. */
static void add_ptx(uint32_t capability, uint64_t flags, const char *text)
{
    uint8_t packed[2048];
    const size_t length = strlen(text);
    size_t n = 0;

    cr_assert(length >= 15 && length < 15 + 255);
    if (flags == WITH_LZ4) { /* literals only: their number is 15 and what follows it */
        const uint8_t token[] = {0xf0, (uint8_t)(length - 15)};
        memcpy(packed, token, n = sizeof token);
    } else if (flags == WITH_ZSTD) { /* one block that is the last and raw, in a frame that says how long it is */
        const uint32_t block = 1 | (uint32_t)length << 3;
        const uint8_t frame[] = {0x28,
                                 0xb5,
                                 0x2f,
                                 0xfd,
                                 0xa0,
                                 (uint8_t)length,
                                 (uint8_t)(length >> 8),
                                 0,
                                 0,
                                 (uint8_t)block,
                                 (uint8_t)(block >> 8),
                                 (uint8_t)(block >> 16)};
        memcpy(packed, frame, n = sizeof frame);
    }
    memcpy(packed + n, text, length);
    add_entry(1, capability, flags, packed, n + length, flags == PLAIN ? 0 : length);
}

/* The number that "which" of an image stores; below 0: the error of loading it. */
static int number_of(const void *image, char *log, size_t log_bytes)
{
    int option[] = {5, 6};
    void *value[] = {log, (void *)log_bytes};
    CUdeviceptr address = zeroed(4);
    void *parameters[] = {&address};
    CUmodule module;
    const CUresult result = CALL(cuModuleLoadDataEx, &module, image, 2, option, value);

    if (result != CUDA_SUCCESS)
        return -(int)result;
    cr_assert(launch(get(module, "which"), 1, 1, NULL, parameters) == CUDA_SUCCESS);
    OK(cuModuleUnload, module);
    return (int)read_word(address);
}

Test(driver, takes_the_best_ptx_of_a_fat_binary)
{
    struct {
        uint32_t magic, version;
        const void *container;
        void *name;
    } wrapper = {0x466243b1u, 1, &fatbin, NULL};
    char log[512] = "", path[] = "/tmp/tilejit_fatbin_XXXXXX";
    CUmodule module;
    int file;

    start_with("sm_90,sm_80");
    begin_fatbin();
    add_entry(SASS, 90, PLAIN, "\177ELF", 4, 0);
    add_ptx(80, PLAIN, PTX_FOR("sm_80", "80"));
    add_ptx(100, PLAIN, PTX_FOR("sm_100", "100"));
    add_ptx(90, PLAIN, PTX_FOR("sm_90", "90"));
    add_ptx(90, PLAIN, PTX_FOR("sm_90a", "901"));
    add_ptx(75, PLAIN, PTX_FOR("sm_75", "75"));
    cr_expect(number_of(&fatbin, log, sizeof log) == 901, "%s", log);
    cr_expect(number_of(&wrapper, log, sizeof log) == 901, "%s", log);
    OK(cuModuleLoadFatBinary, &module, &wrapper);
    file = mkstemp(path);
    cr_assert(file >= 0 && write(file, &fatbin, 16 + fatbin.bytes) == (ssize_t)(16 + fatbin.bytes) && close(file) == 0);
    OK(cuModuleLoad, &module, path);
    cr_expect(truncate(path, (off_t)(fatbin.bytes - 8)) == 0);
    EXPECT(CUDA_ERROR_INVALID_IMAGE, cuModuleLoad, &module, path);
    unlink(path);
    fatbin.bytes -= 8; /* cuts the last entry short */
    cr_expect(number_of(&fatbin, log, sizeof log) == -CUDA_ERROR_INVALID_IMAGE && strstr(log, "damaged"), "%s", log);
}

Test(driver, says_what_a_fat_binary_has_instead_of_ptx)
{
    char log[512] = "";

    start();
    begin_fatbin();
    add_entry(SASS, 90, PLAIN, "\177ELF", 4, 0);
    cr_expect(number_of(&fatbin, log, sizeof log) == -CUDA_ERROR_NO_BINARY_FOR_GPU);
    cr_expect(strstr(log, "SASS for sm_90") && strstr(log, "code=compute_90"), "%s", log);
    add_ptx(100, PLAIN, PTX_FOR("sm_100", "100"));
    cr_expect(number_of(&fatbin, log, sizeof log) == -CUDA_ERROR_NO_BINARY_FOR_GPU && strstr(log, "PTX for sm_100"), "%s", log);
}

Test(driver, reads_compressed_ptx_where_the_library_for_it_is_installed)
{
    static const struct {
        uint64_t flags;
        const char *library;
    } rows[] = {{WITH_LZ4, "liblz4.so.1"}, {WITH_ZSTD, "libzstd.so.1"}};

    start();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *compression = dlopen(rows[i].library, RTLD_NOW);
        char log[512] = "";
        int number;
        begin_fatbin();
        add_ptx(90, rows[i].flags, PTX_FOR("sm_90", "90"));
        number = number_of(&fatbin, log, sizeof log);
        cr_expect(compression ? number == 90 : number == -CUDA_ERROR_NOT_SUPPORTED && strstr(log, rows[i].library),
                  "%s: %d, %s", rows[i].library, number, log);
        fatbin.entry[80] ^= 0x40; /* the first byte of the content */
        number = number_of(&fatbin, log, sizeof log);
        cr_expect(!compression || (number == -CUDA_ERROR_INVALID_IMAGE && strstr(log, "damaged")), "%d, %s", number, log);
    }
}

Test(driver, gives_each_device_its_own_ptx_of_a_library)
{
    CUcontext first = start_with("sm_90,sm_80"), second;
    CUlibrary both;
    CUkernel kernel;
    CUfunction function;
    int number;

    begin_fatbin();
    add_ptx(80, PLAIN, PTX_FOR("sm_80", "80"));
    add_ptx(90, PLAIN, PTX_FOR("sm_90", "90"));
    OK(cuLibraryLoadData, &both, &fatbin, NULL, NULL, 0, NULL, NULL, 0);
    begin_fatbin(); /* it has a copy */
    OK(cuLibraryGetKernel, &kernel, both, "which");
    OK(cuKernelGetAttribute, &number, CU_FUNC_ATTRIBUTE_PTX_VERSION, kernel, 0);
    cr_expect(number == 90, "that of the first device: %d", number);
    OK(cuCtxCreate_v2, &second, 0, 1);
    for (int i = 0; i < 2; i++) {
        CUdeviceptr address;
        void *parameters[] = {&address};
        OK(cuCtxSetCurrent, i ? second : first);
        address = zeroed(4);
        OK(cuKernelGetFunction, &function, kernel);
        cr_expect(launch(function, 1, 1, NULL, parameters) == CUDA_SUCCESS);
        cr_expect(read_word(address) == (i ? 80 : 90), "%u", read_word(address));
    }
}

Test(driver, links_ptx)
{
    CUlinkState state;
    char log[512] = "", path[] = "/tmp/tilejit_link_XXXXXX";
    int option[] = {5, 6}, file;
    void *value[] = {log, (void *)sizeof log}, *image;
    size_t bytes;

    start();
    OK(cuLinkCreate_v2, 2, option, value, &state);
    OK(cuLinkAddData_v2, state, 1, (void *)PTX_FOR("sm_90", "90"), sizeof PTX_FOR("sm_90", "90") - 1, "which.ptx", 0, NULL,
       NULL);
    OK(cuLinkComplete, state, &image, &bytes);
    cr_expect(bytes == sizeof PTX_FOR("sm_90", "90") && number_of(image, log, sizeof log) == 90, "%zu %s", bytes, log);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLinkComplete, state, &image, &bytes);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLinkAddData_v2, state, 1, "x", 1, "x", 0, NULL, NULL);
    OK(cuLinkDestroy, state);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLinkDestroy, state);

    value[1] = (void *)sizeof log;
    OK(cuLinkCreate_v2, 2, option, value, &state);
    EXPECT(CUDA_ERROR_INVALID_IMAGE, cuLinkComplete, state, &image, &bytes);
    EXPECT(CUDA_ERROR_NO_BINARY_FOR_GPU, cuLinkAddData_v2, state, 0, "\177ELF", 5, "a.cubin", 0, NULL, NULL);
    cr_expect(strstr(log, "a.cubin is a CUBIN"), "%s", log);
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuLinkAddFile_v2, state, 4, "libcudadevrt.a", 0, NULL, NULL);
    cr_expect(strstr(log, "libcudadevrt.a is a library"), "%s", log);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLinkAddData_v2, state, 9, "x", 1, "x", 0, NULL, NULL);
    EXPECT(CUDA_ERROR_FILE_NOT_FOUND, cuLinkAddFile_v2, state, 1, "/no/such/file.ptx", 0, NULL, NULL);
    begin_fatbin();
    add_ptx(80, PLAIN, PTX_FOR("sm_80", "80"));
    OK(cuLinkAddData_v2, state, 2, &fatbin, 16 + fatbin.bytes, "which.fatbin", 0, NULL, NULL);
    EXPECT(CUDA_ERROR_NOT_SUPPORTED, cuLinkAddData_v2, state, 1, (void *)PTX, sizeof PTX, "second.ptx", 0, NULL, NULL);
    cr_expect(strstr(log, "second.ptx") && strstr(log, "which.fatbin"), "%s", log);
    OK(cuLinkComplete, state, &image, &bytes);
    cr_expect(number_of(image, log, sizeof log) == 80, "%s", log);
    OK(cuLinkDestroy, state);

    file = mkstemp(path);
    cr_assert(file >= 0 && write(file, HEADER "frobnicate", sizeof HEADER "frobnicate" - 1) > 0 && close(file) == 0);
    value[1] = (void *)sizeof log;
    OK(cuLinkCreate_v2, 2, option, value, &state);
    OK(cuLinkAddFile_v2, state, 1, path, 0, NULL, NULL);
    unlink(path);
    EXPECT(CUDA_ERROR_INVALID_PTX, cuLinkComplete, state, &image, &bytes);
    cr_expect(strstr(log, "line 4") && (size_t)value[1] == strlen(log), "%s", log);
    OK(cuLinkDestroy, state);
}

Test(driver, launches_as_before_cuda_4)
{
    CUdeviceptr address;
    CUfunction store;
    CUstream stream;

    start();
    store = get(load(), "store");
    address = zeroed(64 * 4);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunch, store);
    OK(cuFuncSetBlockShape, store, 8, 1, 1);
    OK(cuFuncSetSharedSize, store, 128);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunch, store);
    OK(cuParamSetv, store, 0, &address, sizeof address);
    OK(cuParamSeti, store, 8, 40);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunch, store);
    OK(cuParamSetSize, store, 12);
    OK(cuLaunch, store);
    cr_expect(read_word(address + 28) == 47 && read_word(address + 32) == 0);
    OK(cuLaunchGrid, store, 2, 1);
    cr_expect(read_word(address + 60) == 55 && read_word(address + 64) == 0);
    OK(cuStreamCreate, &stream, 0);
    OK(cuParamSetf, store, 8, 1.0f);
    OK(cuLaunchGridAsync, store, 1, 1, stream);
    OK(cuStreamSynchronize, stream);
    cr_expect(read_word(address) == 0x3f800000u);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape, store, 0, 1, 1);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape, store, 1024, 2, 1);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuParamSetv, store, 4092, &address, 8);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuParamSetv, store, -4, &address, 8);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuParamSetSize, store, 4097);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunchGrid, store, 0, 1);
    OK(cuFuncSetSharedSize, store, 1 << 20);
    EXPECT(CUDA_ERROR_INVALID_VALUE, cuLaunch, store);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuLaunch, NULL);
}

Test(driver, uses_a_library_in_several_contexts)
{
    CUcontext first = start_with("sm_90,sm_80"), second;
    CUdeviceptr address[2], counter[2];
    CUlibrary library_of_two;
    CUkernel bump;
    CUfunction function[2];
    int value;

    OK(cuLibraryLoadData, &library_of_two, PTX, NULL, NULL, 0, NULL, NULL, 0);
    OK(cuLibraryGetKernel, &bump, library_of_two, "bump");
    EXPECT(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel, &(CUkernel){NULL}, library_of_two, "nothing");
    OK(cuKernelSetAttribute, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000, bump, 1);
    OK(cuCtxCreate_v2, &second, 0, 1);
    for (int i = 0; i < 2; i++) {
        void *parameters[] = {&address[i]};
        OK(cuCtxSetCurrent, i ? second : first);
        address[i] = zeroed(4);
        OK(cuKernelGetFunction, &function[i], bump);
        OK(cuLibraryGetGlobal, &counter[i], NULL, library_of_two, "counter");
        cr_expect(launch(function[i], 1, 1, NULL, parameters) == CUDA_SUCCESS);
        cr_expect(launch((CUfunction)(void *)bump, 1, 1, NULL, parameters) == CUDA_SUCCESS,
                  "a kernel is as good as a function");
        cr_expect(read_word(address[i]) == 2);
        OK(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function[i]);
        cr_expect(value == (i ? 100000 : 49152), "%d", value);
    }
    cr_expect(function[0] != function[1] && counter[0] != counter[1]);
    cr_expect(launch(function[0], 1, 1, NULL, (void *[]){&address[0]}) == CUDA_ERROR_INVALID_HANDLE, "of another context");
    OK(cuLibraryUnload, library_of_two);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuKernelGetFunction, &function[0], bump);
    EXPECT(CUDA_ERROR_INVALID_HANDLE, cuFuncLoad, function[1]);
}

Test(driver, reports_a_failed_kernel_for_ever)
{
    CUdeviceptr good, bad = 0x10, other_memory;
    void *parameters[] = {&bad};
    CUcontext context = start(), other;
    cuEmuFinding finding;
    CUmodule module = load();

    good = zeroed(4);
    cr_expect(launch(get(module, "bump"), 1, 1, NULL, parameters) == CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize);
    EXPECT(CUDA_ERROR_ILLEGAL_ADDRESS, cuMemFree_v2, good);
    EXPECT(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize, NULL);
    cr_expect(cu.cuEmuFindingCount_() >= 1 && cu.cuEmuGetFinding_(0, &finding) && finding.kind == CUEMU_OUT_OF_BOUNDS &&
              finding.address == 0x10 && strcmp(finding.kernel, "bump") == 0);
    OK(cuCtxCreate_v2, &other, 0, 0);
    EXPECT(CUDA_SUCCESS, cuMemAlloc_v2, &other_memory, 16);
    OK(cuCtxPopCurrent_v2, NULL);
    cu.cuEmuClear_();
    cr_expect(cu.cuEmuFindingCount_() == 0);
    parameters[0] = &good;
    cr_expect(launch(get(module, "bump"), 1, 1, NULL, parameters) == CUDA_SUCCESS);
    cr_expect(read_word(good) == 1);
    OK(cuCtxDestroy_v2, context);
}

Test(driver, translates_findings)
{
    static const struct {
        const char *name;
        uint64_t address;
        CUresult result;
    } rows[] = {{"loop", 0, 702}, {"fail", 0, 710}, {"bump", 2, 716}, {"bump", 1 << 20, 700}};
    CUmodule module;

    start();
    module = load();
    cu.cuEmuSetOption_(CUEMU_BUDGET, 100000);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CUdeviceptr address = zeroed(16) + rows[i].address;
        void *parameters[] = {&address};
        CUresult result = launch(get(module, rows[i].name), 1, 1, NULL, parameters);
        cr_expect(result == rows[i].result, "row %zu: %d", i, (int)result);
        cu.cuEmuClear_();
    }
}

Test(driver, watches_a_matrix)
{
    CUdeviceptr address;
    unsigned value = 5;
    void *parameters[] = {&address, &value};
    cuEmuFinding finding;
    CUfunction store;
    uint64_t done = 7, blocks = 7;
    int watch;

    start();
    store = get(load(), "store");
    address = zeroed(64);
    cr_expect(cu.cuEmuGetProgress_(&done, &blocks) == 0 && done == 7, "no launch runs");
    cr_expect(cu.cuEmuWatch_(address, 5, 16, 16) == 0, "longer than its memory");
    cr_expect((watch = cu.cuEmuWatch_(address, 4, 16, 16)) > 0);
    cr_expect(launch(store, 1, 16, NULL, parameters) == CUDA_SUCCESS);
    cr_expect(cu.cuEmuUnwatch_(watch) == 0);
    cr_expect(cu.cuEmuUnwatch_(watch) == 0);
    cr_expect((watch = cu.cuEmuWatch_(address, 4, 8, 16)) > 0);
    cr_expect(launch(store, 1, 2, NULL, parameters) == CUDA_SUCCESS && launch(store, 1, 3, NULL, parameters) == CUDA_SUCCESS);
    cr_expect(cu.cuEmuUnwatch_(watch) == 3, "never, twice, padding");
    cr_expect(cu.cuEmuGetFinding_(0, &finding) && finding.kind == CUEMU_NEVER_WRITTEN && finding.count == 24, "%s",
              finding.text);
    cr_expect(cu.cuEmuGetFinding_(1, &finding) && finding.kind == CUEMU_WRITTEN_TWICE && finding.count == 8, "%s",
              finding.text);
    cr_expect(cu.cuEmuGetFinding_(2, &finding) && finding.kind == CUEMU_PADDING_WRITTEN && finding.count == 4, "%s",
              finding.text);
}
