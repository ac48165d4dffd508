/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_cuda: see fake_cuda.h.
 */
#include "fake_cuda.h"

#include <pthread.h>

#include "driver.h"

#define EXPORT __attribute__((visibility("default")))
#ifdef FAKE_OLD
#define EXPORT_NEW __attribute__((visibility("hidden")))
enum { DEFAULT_VERSION = 11000 };
#else
#define EXPORT_NEW EXPORT
enum { DEFAULT_VERSION = 13000 };
#endif

enum { MAX_OBJECTS = 16384, MAX_FAILURES = 16, MAX_HIDDEN = 16, MAX_PARAMETERS = 32, MAX_PARAMETERS_OF = 4, MAX_STACK = 64 };

enum call {
#define CALL(member, name, symbol, version, needed, arguments) CALL_##member,
    TJ_DRIVER_FUNCTIONS(CALL)
#undef CALL
        CALLS
};

static const char *const call_name[CALLS] = {
#define NAME(member, name, symbol, version, needed, arguments) #name,
    TJ_DRIVER_FUNCTIONS(NAME)
#undef NAME
};

/* Prototypes, from the same list that the library goes by. */
#define PROTOTYPE(member, name, symbol, version, needed, arguments) CUresult symbol arguments;
TJ_DRIVER_FUNCTIONS(PROTOTYPE)
#undef PROTOTYPE
#define CONTROL_PROTOTYPE(result, name, arguments) result name arguments;
FAKE_CONTROLS(CONTROL_PROTOTYPE)
#undef CONTROL_PROTOTYPE
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status);
CUresult cuGetProcAddress(const char *name, void **function, int version, uint64_t flags);

struct CUctx_st {
    unsigned long long id;
    int device;
    bool is_alive;
};

/* A library, a module, a kernel and a function are one object here. */
struct image {
    struct CUctx_st *context; /* NULL: a library, at home in every context */
    char kernel[64];
    bool is_alive;
    struct image *function_of; /* for a function: the library or module that it comes from */
};

struct allocation {
    uint64_t start;
    size_t bytes;
    int device, memory_type;
    bool is_managed, is_alive;
};

static struct {
    pthread_mutex_t lock;
    bool is_started;
    int version, device_count;
    int attribute[FAKE_MAX_DEVICES][FAKE_DEVICE_ATTRIBUTES];
    unsigned long calls[CALLS], calls_after_death;
    struct {
        int call, left; /* calls until it strikes; 0: struck */
        bool is_every;
        CUresult result;
    } failure[MAX_FAILURES];
    int failures;
    const char *hidden[MAX_HIDDEN];
    int hidden_count;
    CUresult death; /* a sticky error: the answer of every later call */
    char jit_log[256];
    struct parameters {
        char kernel[64];
        size_t bytes[MAX_PARAMETERS];
        int count;
    } parameters, parameters_of[MAX_PARAMETERS_OF];
    int function_attribute[16], function_attribute_set[16];
    bool is_kernel_missing;
    struct CUctx_st contexts[MAX_OBJECTS];
    int context_count;
    struct CUctx_st *primary[FAKE_MAX_DEVICES];
    int retained[FAKE_MAX_DEVICES];
    struct image images[MAX_OBJECTS];
    int image_count, live_images, last_image_byte;
    CUstream captured, green;
    int capture_status, green_multiprocessors;
    bool is_global_capture, has_peer_access;
    struct allocation allocations[MAX_OBJECTS];
    int allocation_count;
    uint64_t next_address;
    fake_ordered ordered;
    fake_launch launch[FAKE_MAX_LAUNCHES];
    unsigned long launches;
} fake = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local struct CUctx_st *stack[MAX_STACK];
static _Thread_local int depth;
static _Thread_local int capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

static void set_standard_attributes(int *attribute)
{
    attribute[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR] = 9;
    attribute[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT] = 132;
    attribute[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
    attribute[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] = 2048;
    attribute[CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR] = 32;
    attribute[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X] = INT32_MAX;
    attribute[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y] = 65535;
    attribute[CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z] = 65535;
    attribute[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK] = 65536;
    attribute[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR] = 65536;
    attribute[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK] = 49152;
    attribute[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN] = 232448;
    attribute[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR] = 233472;
    attribute[CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK] = 1024;
    attribute[CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE] = 50 * 1024 * 1024;
    attribute[CU_DEVICE_ATTRIBUTE_CLOCK_RATE] = 1980000;
    attribute[CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE] = 3201000;
    attribute[CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH] = 6144;
}

/* Under the lock. */
static void start(void)
{
    if (fake.is_started)
        return;
    fake.is_started = true;
    fake.version = DEFAULT_VERSION;
    fake.device_count = 1;
    fake.next_address = UINT64_C(0x7f0000000000);
    for (int i = 0; i < FAKE_MAX_DEVICES; i++)
        set_standard_attributes(fake.attribute[i]);
    fake.function_attribute[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
    fake.function_attribute[CU_FUNC_ATTRIBUTE_NUM_REGS] = 32;
    fake.function_attribute[CU_FUNC_ATTRIBUTE_PTX_VERSION] = 90;
    fake.function_attribute[CU_FUNC_ATTRIBUTE_BINARY_VERSION] = 90;
    /* For a process that no test code runs in, and that fake_hide() cannot reach. */
    if (getenv("FAKE_CUDA_HIDE"))
        fake.hidden[fake.hidden_count++] = getenv("FAKE_CUDA_HIDE");
}

static void lock(void)
{
    pthread_mutex_lock(&fake.lock);
    start();
}

static void unlock(void)
{
    pthread_mutex_unlock(&fake.lock);
}

static bool is_sticky(CUresult result)
{
    return result == 700 || result == 702 || (result >= 714 && result <= 719);
}

/* Every driver function begins here, with the lock taken, and ends in end(). */
static CUresult begin(enum call call)
{
    CUresult result;

    lock();
    fake.calls[call]++;
    if (fake.death != CUDA_SUCCESS)
        fake.calls_after_death++;
    result = fake.death;
    for (int i = 0; i < fake.failures; i++)
        if (fake.failure[i].call == (int)call &&
            (fake.failure[i].is_every || (fake.failure[i].left > 0 && --fake.failure[i].left == 0)))
            result = fake.failure[i].result;
    if (is_sticky(result))
        fake.death = result;
    return result;
}

static CUresult end(CUresult result)
{
    unlock();
    return result;
}

static struct CUctx_st *current(void)
{
    return depth > 0 ? stack[depth - 1] : NULL;
}

static struct CUctx_st *new_context(int device)
{
    struct CUctx_st *context = &fake.contexts[fake.context_count++ % MAX_OBJECTS];

    context->id = (unsigned long long)fake.context_count;
    context->device = device;
    context->is_alive = true;
    return context;
}

static CUresult check_current(void)
{
    if (!current())
        return CUDA_ERROR_INVALID_CONTEXT;
    return current()->is_alive ? CUDA_SUCCESS : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

/* ---- start and errors --------------------------------------------------------------------------------------------- */

EXPORT CUresult cuInit(unsigned int flags)
{
    CUresult result = begin(CALL_init);

    if (result == CUDA_SUCCESS && flags != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && fake.device_count == 0)
        result = CUDA_ERROR_NO_DEVICE;
    return end(result);
}

EXPORT CUresult cuDriverGetVersion(int *version)
{
    CUresult result = begin(CALL_driver_get_version);

    *version = fake.version;
    return end(result);
}

EXPORT CUresult cuGetErrorName(CUresult error, const char **name)
{
    begin(CALL_get_error_name);
    *name = error == 4242 ? "CUDA_ERROR_OF_THE_FUTURE" : NULL;
    return end(*name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

EXPORT CUresult cuGetErrorString(CUresult error, const char **text)
{
    begin(CALL_get_error_string);
    *text = error == 4242 ? "something that is not known yet" : NULL;
    return end(*text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
}

/* ---- devices ------------------------------------------------------------------------------------------------------ */

EXPORT CUresult cuDeviceGetCount(int *count)
{
    CUresult result = begin(CALL_device_get_count);

    *count = fake.device_count;
    return end(result);
}

EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal)
{
    CUresult result = begin(CALL_device_get);

    if (result == CUDA_SUCCESS && (ordinal < 0 || ordinal >= fake.device_count))
        result = CUDA_ERROR_INVALID_DEVICE;
    *device = ordinal;
    return end(result);
}

EXPORT CUresult cuDeviceGetName(char *name, int bytes, CUdevice device)
{
    CUresult result = begin(CALL_device_get_name);

    snprintf(name, (size_t)bytes, "Fake Device %d", device);
    return end(result);
}

EXPORT_NEW CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
    CUresult result = begin(CALL_device_get_uuid);

    for (unsigned int i = 0; i < sizeof uuid->bytes; i++)
        uuid->bytes[i] = (unsigned char)(i * 17 + (unsigned int)device);
    return end(result);
}

EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
    CUresult result = begin(CALL_device_total_mem);

    (void)device;
    *bytes = (size_t)80 << 30;
    return end(result);
}

EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice device)
{
    CUresult result = begin(CALL_device_get_attribute);

    if (result == CUDA_SUCCESS && (attribute < 0 || attribute >= FAKE_DEVICE_ATTRIBUTES))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *value = fake.attribute[device][attribute];
    return end(result);
}

EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
    CUresult result = begin(CALL_device_can_access_peer);

    *can = device != peer && fake.has_peer_access;
    return end(result);
}

/* ---- contexts ----------------------------------------------------------------------------------------------------- */

EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
    CUresult result = begin(CALL_primary_retain);

    if (result == CUDA_SUCCESS) {
        if (!fake.primary[device])
            fake.primary[device] = new_context(device);
        fake.retained[device]++;
        *context = fake.primary[device];
    }
    return end(result);
}

EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
    CUresult result = begin(CALL_primary_release);

    if (result == CUDA_SUCCESS && fake.retained[device] > 0 && --fake.retained[device] == 0) {
        fake.primary[device]->is_alive = false;
        fake.primary[device] = NULL;
    }
    return end(result);
}

EXPORT CUresult cuCtxGetCurrent(CUcontext *context)
{
    CUresult result = begin(CALL_ctx_get_current);

    *context = current();
    return end(result);
}

EXPORT CUresult cuCtxPushCurrent_v2(CUcontext context)
{
    CUresult result = begin(CALL_ctx_push);

    if (result == CUDA_SUCCESS && !context->is_alive)
        result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (result == CUDA_SUCCESS && depth == MAX_STACK)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        stack[depth++] = context;
    return end(result);
}

EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
    CUresult result = begin(CALL_ctx_pop);

    /* Popping works even in a driver that answers everything with its sticky error; a test may make it fail. */
    if (depth == 0)
        return end(CUDA_ERROR_INVALID_CONTEXT);
    *context = stack[--depth];
    return end(result);
}

EXPORT CUresult cuCtxGetDevice(CUdevice *device)
{
    CUresult result = begin(CALL_ctx_get_device);

    if (result == CUDA_SUCCESS)
        result = check_current();
    if (result == CUDA_SUCCESS)
        *device = current()->device;
    return end(result);
}

EXPORT_NEW CUresult cuCtxGetId(CUcontext context, unsigned long long *id)
{
    CUresult result = begin(CALL_ctx_get_id);

    if (!context)
        context = current();
    if (result == CUDA_SUCCESS && !context)
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && !context->is_alive)
        result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (result == CUDA_SUCCESS)
        *id = context->id;
    return end(result);
}

/* ---- images ------------------------------------------------------------------------------------------------------- */

static struct image *new_image(struct CUctx_st *context)
{
    struct image *image = &fake.images[fake.image_count++ % MAX_OBJECTS];

    memset(image, 0, sizeof *image);
    image->context = context;
    image->is_alive = true;
    return image;
}

/* Seen on a real device: the call breaks a capture of the global mode, unless its thread is in the relaxed one. */
static CUresult check_capture(CUresult result)
{
    if (result != CUDA_SUCCESS || capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return result;
    if (fake.capture_status == CU_STREAM_CAPTURE_STATUS_ACTIVE)
        fake.capture_status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    else if (!fake.is_global_capture)
        return result;
    return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static CUresult check_load(const void *bytes, const int *option, void **value, unsigned int options, CUresult result)
{
    result = check_capture(result);
    if (result == CUDA_SUCCESS && !bytes)
        result = CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; i < options; i++)
        if (result != CUDA_SUCCESS && option[i] == CU_JIT_ERROR_LOG_BUFFER)
            strcpy(value[i], fake.jit_log);
    if (result == CUDA_SUCCESS)
        fake.last_image_byte = *(const unsigned char *)bytes;
    return result;
}

EXPORT CUresult cuModuleLoadDataEx(CUmodule *module, const void *bytes, unsigned int options, int *option, void **value)
{
    CUresult result = check_load(bytes, option, value, options, begin(CALL_module_load));

    if (result == CUDA_SUCCESS)
        result = check_current();
    if (result == CUDA_SUCCESS) {
        *module = (CUmodule)(void *)new_image(current());
        fake.live_images++;
    }
    return end(result);
}

static CUresult drop_image(struct image *image, CUresult result)
{
    result = check_capture(result);
    if (result == CUDA_SUCCESS && !image->is_alive)
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS) {
        image->is_alive = false;
        fake.live_images--;
    }
    return result;
}

EXPORT CUresult cuModuleUnload(CUmodule module)
{
    struct image *image = (struct image *)(void *)module;
    CUresult result = begin(CALL_module_unload);

    if (result == CUDA_SUCCESS && current() != image->context)
        result = CUDA_ERROR_INVALID_CONTEXT;
    return end(drop_image(image, result));
}

static CUresult find_kernel(struct image *image, const char *name, struct image **kernel, CUresult result)
{
    if (result == CUDA_SUCCESS && fake.is_kernel_missing)
        result = CUDA_ERROR_NOT_FOUND;
    if (result != CUDA_SUCCESS)
        return result;
    *kernel = new_image(image->context);
    (*kernel)->function_of = image;
    snprintf((*kernel)->kernel, sizeof(*kernel)->kernel, "%s", name);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name)
{
    CUresult result = begin(CALL_module_get_function);

    return end(find_kernel((struct image *)(void *)module, name, (struct image **)(void *)function, result));
}

/* Its texts have no variables. */
EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *bytes, CUmodule module, const char *name)
{
    const CUresult result = begin(CALL_module_get_global);

    (void)address;
    (void)bytes;
    (void)module;
    (void)name;
    return end(result == CUDA_SUCCESS ? CUDA_ERROR_NOT_FOUND : result);
}

EXPORT_NEW CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *bytes, CUlibrary library, const char *name)
{
    const CUresult result = begin(CALL_library_get_global);

    (void)address;
    (void)bytes;
    (void)library;
    (void)name;
    return end(result == CUDA_SUCCESS ? CUDA_ERROR_NOT_FOUND : result);
}

EXPORT_NEW CUresult cuLibraryLoadData(CUlibrary *library, const void *code, int *jit_option, void **jit_value,
                                      unsigned int jit_count, int *option, void **value, unsigned int count)
{
    CUresult result = check_load(code, jit_option, jit_value, jit_count, begin(CALL_library_load));

    (void)option;
    (void)value;
    if (result == CUDA_SUCCESS && count != 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        *library = (CUlibrary)(void *)new_image(NULL);
        fake.live_images++;
    }
    return end(result);
}

EXPORT_NEW CUresult cuLibraryUnload(CUlibrary library)
{
    CUresult result = begin(CALL_library_unload);

    return end(drop_image((struct image *)(void *)library, result));
}

EXPORT_NEW CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name)
{
    CUresult result = begin(CALL_library_get_kernel);

    return end(find_kernel((struct image *)(void *)library, name, (struct image **)(void *)kernel, result));
}

EXPORT_NEW CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel)
{
    CUresult result = check_capture(begin(CALL_kernel_get_function));

    if (result == CUDA_SUCCESS)
        result = check_current();
    if (result == CUDA_SUCCESS) {
        struct image *made = new_image(current());
        memcpy(made->kernel, ((struct image *)(void *)kernel)->kernel, sizeof made->kernel);
        made->function_of = ((struct image *)(void *)kernel)->function_of;
        *function = (CUfunction)(void *)made;
    }
    return end(result);
}

static const struct parameters *parameters_of(const struct image *function)
{
    for (int i = 0; i < MAX_PARAMETERS_OF; i++) {
        const char *name = fake.parameters_of[i].kernel;
        if (*name && strncmp(function->kernel, name, strlen(name)) == 0)
            return &fake.parameters_of[i];
    }
    return &fake.parameters;
}

EXPORT_NEW CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *bytes)
{
    CUresult result = begin(CALL_func_get_param_info);
    const struct parameters *parameters = parameters_of((const struct image *)(const void *)function);
    size_t at = 0;

    if (result != CUDA_SUCCESS || index >= (size_t)parameters->count)
        return end(result != CUDA_SUCCESS ? result : CUDA_ERROR_INVALID_VALUE);
    for (size_t i = 0;; i++) {
        size_t size = parameters->bytes[i];
        at = (at + size - 1) / size * size;
        if (i == index)
            break;
        at += size;
    }
    *offset = at;
    *bytes = parameters->bytes[index];
    return end(CUDA_SUCCESS);
}

EXPORT_NEW CUresult cuFuncLoad(CUfunction function)
{
    (void)function;
    return end(begin(CALL_func_load));
}

EXPORT CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction function)
{
    CUresult result = begin(CALL_func_get_attribute);

    (void)function;
    *value = fake.function_attribute[attribute];
    return end(result);
}

EXPORT CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value)
{
    CUresult result = begin(CALL_func_set_attribute);

    (void)function;
    if (result == CUDA_SUCCESS)
        fake.function_attribute_set[attribute] = value;
    return end(result);
}

/* ---- launches ----------------------------------------------------------------------------------------------------- */

static void record(const struct image *function, const fake_launch *launch, void **parameters)
{
    fake_launch *kept = &fake.launch[fake.launches++ % FAKE_MAX_LAUNCHES];
    const struct parameters *expected = parameters_of(function);
    size_t at = 0;

    *kept = *launch;
    memcpy(kept->kernel, function->kernel, sizeof kept->kernel);
    kept->device = function->context->device;
    for (int i = 0; i < expected->count; i++) {
        size_t size = expected->bytes[i];
        at = (at + size - 1) / size * size;
        memcpy(kept->args + at, parameters[i], size);
        at += size;
    }
    kept->arg_bytes = at;
}

static CUresult launch_kernel(CUfunction handle, const fake_launch *launch, void **parameters, void **extra)
{
    const struct image *function = (const struct image *)(const void *)handle;
    const unsigned int *grid = launch->grid, *block = launch->block;
    int allowed_shared = fake.function_attribute_set[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES];
    CUresult result = check_current();

    if (result == CUDA_SUCCESS && (current() != function->context || !function->function_of->is_alive))
        result = CUDA_ERROR_INVALID_CONTEXT;
    if (result == CUDA_SUCCESS && (extra || grid[0] == 0 || grid[1] == 0 || grid[2] == 0 || grid[1] > 65535 ||
                                   grid[2] > 65535 || grid[0] > INT32_MAX || block[0] * block[1] * block[2] > 1024))
        result = CUDA_ERROR_INVALID_VALUE;
    if (allowed_shared == 0)
        allowed_shared = 49152 - fake.function_attribute[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES];
    if (result == CUDA_SUCCESS && (int64_t)launch->shared_bytes > allowed_shared)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        record(function, launch, parameters);
    return result;
}

EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                               unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,
                               CUstream stream, void **parameters, void **extra)
{
    const fake_launch launch = {
        .grid = {grid_x, grid_y, grid_z}, .block = {block_x, block_y, block_z}, .shared_bytes = shared_bytes, .stream = stream};
    CUresult result = begin(CALL_launch_kernel);

    if (result == CUDA_SUCCESS)
        result = launch_kernel(function, &launch, parameters, extra);
    return end(result);
}

/* More than 8 blocks to a cluster must have been allowed, and a grid has whole clusters. */
static CUresult set_cluster(fake_launch *launch, const CUlaunchAttribute *attribute)
{
    const unsigned int size[3] = {attribute->value.cluster.x, attribute->value.cluster.y, attribute->value.cluster.z};
    const bool may_be_large = fake.function_attribute_set[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED] != 0;

    memcpy(launch->cluster, size, sizeof size);
    for (int i = 0; i < 3; i++)
        if (size[i] == 0 || launch->grid[i] % size[i] != 0)
            return CUDA_ERROR_INVALID_VALUE;
    return size[0] * size[1] * size[2] > (may_be_large ? 16 : 8) ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

/* The rules of the real one that a caller of this library can break. */
EXPORT_NEW CUresult cuTensorMapEncodeTiled(CUtensorMap *map, int type, unsigned int rank, void *address, const uint64_t *extent,
                                           const uint64_t *stride, const unsigned int *box, const unsigned int *step,
                                           int interleave, int swizzle, int promotion, int fill)
{
    static const unsigned int widths[] = {256 * 8, 32, 64, 128};
    const unsigned int bytes = type == CU_TENSOR_MAP_DATA_TYPE_FLOAT64 ? 8 : type == CU_TENSOR_MAP_DATA_TYPE_FLOAT32 ? 4 : 2;
    CUresult result = begin(CALL_tensor_map_encode);
    fake_tensor_map made = {.address = (uint64_t)(uintptr_t)address, .rank = (int)rank, .type = type, .swizzle = swizzle};

    (void)promotion;
    if (result == CUDA_SUCCESS && ((uintptr_t)map % 64 != 0 || made.address % 16 != 0 || rank < 2 || rank > 3 || interleave ||
                                   fill || box[0] * bytes % 16 != 0 || box[0] * bytes > widths[swizzle]))
        result = CUDA_ERROR_INVALID_VALUE;
    for (unsigned int i = 0; result == CUDA_SUCCESS && i < rank; i++) {
        made.extent[i] = extent[i];
        made.box[i] = box[i];
        if (i + 1 < rank)
            made.stride[i] = stride[i];
        if (extent[i] == 0 || box[i] == 0 || box[i] > 256 || step[i] != 1 || (i + 1 < rank && stride[i] % 16 != 0))
            result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS)
        memcpy(map, &made, sizeof made);
    return end(result);
}

EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)
{
    fake_launch launch = {.grid = {config->grid_x, config->grid_y, config->grid_z},
                          .block = {config->block_x, config->block_y, config->block_z},
                          .shared_bytes = config->shared_bytes,
                          .stream = config->stream};
    CUresult result = begin(CALL_launch_kernel_ex);

    for (unsigned int i = 0; result == CUDA_SUCCESS && i < config->attribute_count; i++) {
        const CUlaunchAttribute *attribute = &config->attributes[i];
        if (attribute->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
            launch.overlaps = attribute->value.programmatic_stream_serialization;
        else if (attribute->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            result = set_cluster(&launch, attribute);
        else
            result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result == CUDA_SUCCESS)
        result = launch_kernel(function, &launch, parameters, extra);
    return end(result);
}

/* A block to a multiprocessor, and a cluster within a group of 18 of them. */
EXPORT CUresult cuOccupancyMaxActiveClusters(int *clusters, CUfunction function, const CUlaunchConfig *config)
{
    enum { GROUP = 18 };
    fake_launch launch = {.device = 0};
    CUresult result = begin(CALL_max_active_clusters);
    int blocks;

    (void)function;
    for (unsigned int i = 0; result == CUDA_SUCCESS && i < config->attribute_count; i++)
        if (config->attributes[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            result = set_cluster(&launch, &config->attributes[i]);
    blocks = (int)(launch.cluster[0] * launch.cluster[1] * launch.cluster[2]);
    if (result == CUDA_SUCCESS && blocks == 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        const int all = fake.attribute[current()->device][CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT];

        *clusters = all / GROUP * (GROUP / blocks) + all % GROUP / blocks;
    }
    return end(result);
}

/* Every stream is the current context's. */
EXPORT CUresult cuStreamGetCtx(CUstream stream, CUcontext *context)
{
    CUresult result = begin(CALL_stream_get_ctx);

    (void)stream;
    *context = current();
    return end(result);
}

EXPORT_NEW CUresult cuStreamGetGreenCtx(CUstream stream, CUgreenCtx *context)
{
    CUresult result = begin(CALL_stream_get_green);

    if (result == CUDA_SUCCESS && (uintptr_t)stream <= CU_STREAM_LEGACY &&
        fake.capture_status == CU_STREAM_CAPTURE_STATUS_ACTIVE) { /* seen on a real device; the stream is a blocking one */
        fake.capture_status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
        result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    *context =
        result == CUDA_SUCCESS && fake.green_multiprocessors > 0 && stream == fake.green ? (CUgreenCtx)&fake.green : NULL;
    return end(result);
}

EXPORT_NEW CUresult cuGreenCtxGetDevResource(CUgreenCtx context, CUdevResource *resource, int type)
{
    CUresult result = begin(CALL_green_get_resource);

    if (result == CUDA_SUCCESS && (context != (CUgreenCtx)&fake.green || type != CU_DEV_RESOURCE_TYPE_SM))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        resource->type = type;
        resource->sm.sm_count = (unsigned int)fake.green_multiprocessors;
    }
    return end(result);
}

EXPORT CUresult cuStreamIsCapturing(CUstream stream, int *status)
{
    CUresult result = begin(CALL_stream_is_capturing);

    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (result == CUDA_SUCCESS && fake.capture_status != CU_STREAM_CAPTURE_STATUS_NONE) {
        if (stream == fake.captured)
            *status = fake.capture_status;
        else if (!stream)
            result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    }
    return end(result);
}

/* Graphs hold nothing here. */
static CUresult refuse(enum call call)
{
    const CUresult result = begin(call);

    return end(result == CUDA_SUCCESS ? CUDA_ERROR_NOT_SUPPORTED : result);
}

EXPORT_NEW CUresult cuStreamGetCaptureInfo_v2(CUstream stream, int *status, uint64_t *id, CUgraph *graph,
                                              const CUgraphNode **node, size_t *nodes)
{
    (void)stream, (void)status, (void)id, (void)graph, (void)node, (void)nodes;
    return refuse(CALL_stream_get_capture_info);
}

EXPORT_NEW CUresult cuUserObjectCreate(CUuserObject *object, void *payload, void (*destroy)(void *payload),
                                       unsigned int references, unsigned int flags)
{
    (void)object, (void)payload, (void)destroy, (void)references, (void)flags;
    return refuse(CALL_user_object_create);
}

EXPORT_NEW CUresult cuUserObjectRelease(CUuserObject object, unsigned int references)
{
    (void)object, (void)references;
    return refuse(CALL_user_object_release);
}

EXPORT_NEW CUresult cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned int references, unsigned int flags)
{
    (void)graph, (void)object, (void)references, (void)flags;
    return refuse(CALL_graph_retain_user_object);
}

EXPORT CUresult cuThreadExchangeStreamCaptureMode(int *mode)
{
    CUresult result = begin(CALL_thread_exchange_capture_mode);

    if (result == CUDA_SUCCESS) {
        int before = capture_mode;
        capture_mode = *mode;
        *mode = before;
    }
    return end(result);
}

/* A graph is only its handle: its launches are in the record from when they were captured. */
EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, int mode)
{
    CUresult result = begin(CALL_stream_begin_capture);

    (void)mode;
    if (result == CUDA_SUCCESS && !stream)
        result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    if (result == CUDA_SUCCESS && fake.capture_status != CU_STREAM_CAPTURE_STATUS_NONE)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        fake.captured = stream;
        fake.capture_status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    }
    return end(result);
}

EXPORT CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
    CUresult result = begin(CALL_stream_end_capture);

    if (fake.capture_status == CU_STREAM_CAPTURE_STATUS_NONE || fake.captured != stream)
        result = CUDA_ERROR_INVALID_VALUE;
    fake.capture_status = CU_STREAM_CAPTURE_STATUS_NONE;
    *graph = result == CUDA_SUCCESS ? (CUgraph)(void *)&fake : NULL;
    return end(result);
}

EXPORT_NEW CUresult cuGraphInstantiateWithFlags(CUgraphExec *executable, CUgraph graph, unsigned long long flags)
{
    CUresult result = begin(CALL_graph_instantiate);

    (void)flags;
    *executable = result == CUDA_SUCCESS ? (CUgraphExec)(void *)graph : NULL;
    return end(result);
}

EXPORT CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream)
{
    (void)executable;
    (void)stream;
    return end(begin(CALL_graph_launch));
}

EXPORT CUresult cuGraphExecDestroy(CUgraphExec executable)
{
    (void)executable;
    return end(begin(CALL_graph_exec_destroy));
}

EXPORT CUresult cuGraphDestroy(CUgraph graph)
{
    (void)graph;
    return end(begin(CALL_graph_destroy));
}

/* ---- memory ------------------------------------------------------------------------------------------------------- */

static const struct allocation *find_allocation(uint64_t address)
{
    for (int i = 0; i < fake.allocation_count; i++) {
        const struct allocation *a = &fake.allocations[i];
        if (a->is_alive && address >= a->start && address - a->start < a->bytes)
            return a;
    }
    return NULL;
}

EXPORT CUresult cuPointerGetAttributes(unsigned int count, int *attribute, void **value, CUdeviceptr pointer)
{
    CUresult result = begin(CALL_pointer_get_attributes);
    const struct allocation *found = find_allocation(pointer);

    for (unsigned int i = 0; result == CUDA_SUCCESS && i < count; i++)
        switch (attribute[i]) {
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *(int *)value[i] = found ? found->memory_type : 0;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *(int *)value[i] = found ? found->device : -2;
            break;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *(int *)value[i] = found && found->is_managed;
            break;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
            *(CUdeviceptr *)value[i] = found ? pointer : 0;
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *(CUdeviceptr *)value[i] = found ? found->start : 0;
            break;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *(size_t *)value[i] = found ? found->bytes : 0;
            break;
        default: /* CU_POINTER_ATTRIBUTE_ACCESS_FLAGS above all: younger than this driver */
            result = CUDA_ERROR_INVALID_VALUE;
            break;
        }
    return end(result);
}

/* Memory is the host's, so that copies work; a launch computes nothing. */
EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes)
{
    CUresult result = check_capture(begin(CALL_mem_alloc));
    void *memory = NULL;

    if (result == CUDA_SUCCESS)
        result = check_current();
    if (result == CUDA_SUCCESS && bytes == 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !(memory = bytes > (size_t)1 << 40 ? NULL : aligned_alloc(512, (bytes + 511) / 512 * 512)))
        result = CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS) {
        *pointer = (CUdeviceptr)(uintptr_t)memory;
        fake.allocations[fake.allocation_count++ % MAX_OBJECTS] =
            (struct allocation){*pointer, bytes, current()->device, CU_MEMORYTYPE_DEVICE, false, true};
    }
    return end(result);
}

EXPORT CUresult cuMemFree_v2(CUdeviceptr pointer)
{
    CUresult result = begin(CALL_mem_free);
    struct allocation *found = (struct allocation *)(uintptr_t)find_allocation(pointer);

    if (result == CUDA_SUCCESS && (!found || found->start != pointer))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        found->is_alive = false;
        free((void *)(uintptr_t)pointer);
    }
    return end(result);
}

/* In the order of a stream: addresses only. */
EXPORT_NEW CUresult cuMemAllocAsync(CUdeviceptr *pointer, size_t bytes, CUstream stream)
{
    CUresult result = begin(CALL_mem_alloc_async);

    if (result == CUDA_SUCCESS)
        result = check_current();
    if (result == CUDA_SUCCESS && bytes == 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        fake.ordered = (fake_ordered){fake.next_address, bytes, stream, NULL, fake.launches, 0, false};
        fake.next_address += (bytes + 511) / 512 * 512 + 512;
        *pointer = fake.ordered.address;
    }
    return end(result);
}

EXPORT_NEW CUresult cuMemFreeAsync(CUdeviceptr pointer, CUstream stream)
{
    CUresult result = begin(CALL_mem_free_async);

    if (result == CUDA_SUCCESS && (pointer != fake.ordered.address || fake.ordered.is_freed))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS) {
        fake.ordered.is_freed = true;
        fake.ordered.freed_in = stream;
        fake.ordered.freed_after = fake.launches;
    }
    return end(result);
}

EXPORT CUresult cuMemGetInfo_v2(size_t *free_bytes, size_t *total_bytes)
{
    CUresult result = begin(CALL_mem_get_info);

    *free_bytes = (size_t)79 << 30;
    *total_bytes = (size_t)80 << 30;
    return end(result);
}

static CUresult check_range(CUdeviceptr start_address, size_t bytes, CUresult result)
{
    const struct allocation *found = find_allocation(start_address);

    if (result == CUDA_SUCCESS && (!found || bytes > found->bytes - (start_address - found->start)))
        result = CUDA_ERROR_INVALID_VALUE;
    return result;
}

EXPORT CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr destination, const void *source, size_t bytes, CUstream stream)
{
    CUresult result = check_range(destination, bytes, begin(CALL_memcpy_to_device));

    (void)stream;
    if (result == CUDA_SUCCESS)
        memcpy((void *)(uintptr_t)destination, source, bytes);
    return end(result);
}

EXPORT CUresult cuMemcpyDtoHAsync_v2(void *destination, CUdeviceptr source, size_t bytes, CUstream stream)
{
    CUresult result = check_range(source, bytes, begin(CALL_memcpy_to_host));

    (void)stream;
    if (result == CUDA_SUCCESS)
        memcpy(destination, (const void *)(uintptr_t)source, bytes);
    return end(result);
}

EXPORT CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CUstream stream)
{
    CUresult result = check_range(destination, bytes, check_range(source, bytes, begin(CALL_memcpy_on_device)));

    (void)stream;
    if (result == CUDA_SUCCESS)
        memcpy((void *)(uintptr_t)destination, (const void *)(uintptr_t)source, bytes);
    return end(result);
}

EXPORT CUresult cuMemsetD8Async(CUdeviceptr destination, unsigned char byte, size_t bytes, CUstream stream)
{
    CUresult result = check_range(destination, bytes, begin(CALL_memset_bytes));

    (void)stream;
    if (result == CUDA_SUCCESS)
        memset((void *)(uintptr_t)destination, byte, bytes);
    return end(result);
}

EXPORT CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
    CUresult result = begin(CALL_stream_create);

    (void)flags;
    *stream = (CUstream)(void *)&fake;
    return end(result);
}

EXPORT CUresult cuStreamDestroy_v2(CUstream stream)
{
    (void)stream;
    return end(begin(CALL_stream_destroy));
}

EXPORT CUresult cuStreamSynchronize(CUstream stream)
{
    (void)stream;
    return end(begin(CALL_stream_synchronize));
}

EXPORT CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
    CUresult result = begin(CALL_event_create);

    (void)flags;
    *event = (CUevent)(void *)&fake;
    return end(result);
}

EXPORT CUresult cuEventRecord(CUevent event, CUstream stream)
{
    (void)event;
    (void)stream;
    return end(begin(CALL_event_record));
}

EXPORT CUresult cuEventSynchronize(CUevent event)
{
    (void)event;
    return end(begin(CALL_event_synchronize));
}

EXPORT CUresult cuEventElapsedTime(float *milliseconds, CUevent start_event, CUevent stop_event)
{
    CUresult result = begin(CALL_event_elapsed);

    (void)start_event;
    (void)stop_event;
    *milliseconds = 1.0F;
    return end(result);
}

EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
    (void)stream;
    (void)event;
    (void)flags;
    return end(begin(CALL_stream_wait_event));
}

EXPORT CUresult cuEventDestroy_v2(CUevent event)
{
    (void)event;
    return end(begin(CALL_event_destroy));
}

/* ---- look-up ------------------------------------------------------------------------------------------------------ */

#ifndef FAKE_OLD
static bool is_hidden(const char *name)
{
    for (int i = 0; i < fake.hidden_count; i++)
        if (strcmp(fake.hidden[i], name) == 0)
            return true;
    return false;
}

static CUresult look_up(const char *name, void **function, int version, uint64_t flags)
{
    static const struct {
        const char *name;
        int version;
        void (*address)(void);
    } known[] = {
#define ENTRY(member, name, symbol, version, needed, arguments) {#name, version, (void (*)(void))symbol},
        TJ_DRIVER_FUNCTIONS(ENTRY)
#undef ENTRY
    };

    *function = NULL;
    /* A library that takes per-thread streams without its caller's knowledge would ask with other flags. */
    if (version > fake.version || flags != CU_GET_PROC_ADDRESS_LEGACY_STREAM)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].name, name) == 0 && !is_hidden(name) && known[i].version <= version)
            memcpy(function, &known[i].address, sizeof *function);
    return CUDA_SUCCESS;
}

EXPORT CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
    CUresult result;

    lock();
    result = look_up(name, function, version, flags);
    *status = *function ? 0 : 1;
    return end(result);
}

EXPORT CUresult cuGetProcAddress(const char *name, void **function, int version, uint64_t flags)
{
    lock();
    return end(look_up(name, function, version, flags));
}
#endif

/* ---- controls ----------------------------------------------------------------------------------------------------- */

static int find_call(const char *name)
{
    for (int i = 0; i < CALLS; i++)
        if (strcmp(call_name[i], name) == 0)
            return i;
    fprintf(stderr, "fake driver: no function %s\n", name);
    abort();
}

EXPORT void fake_set_devices(int count)
{
    lock();
    fake.device_count = count;
    unlock();
}

EXPORT void fake_set_device_attribute(int device, int attribute, int value)
{
    lock();
    fake.attribute[device][attribute] = value;
    unlock();
}

EXPORT void fake_set_driver_version(int version)
{
    lock();
    fake.version = version;
    unlock();
}

EXPORT void fake_hide(const char *name)
{
    lock();
    fake.hidden[fake.hidden_count++] = call_name[find_call(name)];
    unlock();
}

EXPORT void fake_fail(const char *name, int nth, CUresult result)
{
    lock();
    if (!name) {
        fake.failures = 0;
    } else {
        fake.failure[fake.failures].call = find_call(name);
        fake.failure[fake.failures].left = nth;
        fake.failure[fake.failures].is_every = nth == 0;
        fake.failure[fake.failures].result = result;
        fake.failures++;
    }
    unlock();
}

EXPORT void fake_set_jit_log(const char *text)
{
    lock();
    snprintf(fake.jit_log, sizeof fake.jit_log, "%s", text);
    unlock();
}

EXPORT unsigned long fake_calls(const char *name)
{
    unsigned long calls;

    lock();
    calls = fake.calls[find_call(name)];
    unlock();
    return calls;
}

EXPORT unsigned long fake_all_calls(void)
{
    unsigned long calls = 0;

    lock();
    for (int i = 0; i < CALLS; i++)
        calls += fake.calls[i];
    unlock();
    return calls;
}

EXPORT unsigned long fake_calls_after_death(void)
{
    unsigned long calls;

    lock();
    calls = fake.calls_after_death;
    unlock();
    return calls;
}

static void set_parameters(struct parameters *parameters, int count, const size_t *bytes)
{
    parameters->count = count;
    if (count > 0)
        memcpy(parameters->bytes, bytes, (size_t)count * sizeof *bytes);
}

EXPORT void fake_set_parameters(int count, const size_t *bytes)
{
    lock();
    set_parameters(&fake.parameters, count, bytes);
    unlock();
}

EXPORT void fake_set_parameters_of(const char *kernel, int count, const size_t *bytes)
{
    int i = 0;

    lock();
    while (fake.parameters_of[i].kernel[0] && strcmp(fake.parameters_of[i].kernel, kernel) != 0)
        i++;
    snprintf(fake.parameters_of[i].kernel, sizeof fake.parameters_of[i].kernel, "%s", kernel);
    set_parameters(&fake.parameters_of[i], count, bytes);
    unlock();
}

EXPORT void fake_set_function_attribute(int attribute, int value)
{
    lock();
    fake.function_attribute[attribute] = value;
    unlock();
}

EXPORT int fake_function_attribute(int attribute)
{
    int value;

    lock();
    value = fake.function_attribute_set[attribute];
    unlock();
    return value;
}

EXPORT void fake_set_missing_kernel(bool is_missing)
{
    lock();
    fake.is_kernel_missing = is_missing;
    unlock();
}

EXPORT int fake_live_images(void)
{
    int count;

    lock();
    count = fake.live_images;
    unlock();
    return count;
}

EXPORT int fake_last_image_byte(void)
{
    int byte;

    lock();
    byte = fake.last_image_byte;
    unlock();
    return byte;
}

EXPORT int fake_live_primaries(void)
{
    int count = 0;

    lock();
    for (int i = 0; i < FAKE_MAX_DEVICES; i++)
        count += fake.retained[i];
    unlock();
    return count;
}

EXPORT CUcontext fake_context_create(int device)
{
    struct CUctx_st *context;

    lock();
    context = new_context(device);
    stack[depth++] = context;
    unlock();
    return context;
}

/* Its modules go with it; libraries stay. */
static void kill_context(struct CUctx_st *context)
{
    context->is_alive = false;
    for (int i = 0; i < fake.image_count && i < MAX_OBJECTS; i++)
        if (fake.images[i].is_alive && fake.images[i].context == context && !fake.images[i].function_of) {
            fake.images[i].is_alive = false;
            fake.live_images--;
        }
}

EXPORT void fake_context_destroy(CUcontext context)
{
    lock();
    kill_context(context);
    if (current() == context)
        depth--;
    unlock();
}

EXPORT void fake_context_set(CUcontext context)
{
    depth = 0;
    if (context)
        stack[depth++] = context;
}

EXPORT void fake_device_reset(int device)
{
    lock();
    if (fake.primary[device])
        kill_context(fake.primary[device]);
    fake.primary[device] = NULL;
    fake.retained[device] = 0;
    unlock();
}

EXPORT int fake_context_depth(void)
{
    return depth;
}

EXPORT void fake_set_capture(CUstream stream, int status)
{
    lock();
    fake.captured = stream;
    fake.capture_status = status;
    unlock();
}

EXPORT int fake_capture(void)
{
    int status;

    lock();
    status = fake.capture_status;
    unlock();
    return status;
}

EXPORT void fake_set_green(CUstream stream, int multiprocessors)
{
    lock();
    fake.green = stream;
    fake.green_multiprocessors = multiprocessors;
    unlock();
}

EXPORT void fake_set_global_capture(bool is_on)
{
    lock();
    fake.is_global_capture = is_on;
    unlock();
}

static uint64_t allocate(int device, int memory_type, bool is_managed, size_t bytes)
{
    struct allocation *made;
    uint64_t start_address;

    lock();
    made = &fake.allocations[fake.allocation_count++ % MAX_OBJECTS];
    *made = (struct allocation){fake.next_address, bytes, device, memory_type, is_managed, true};
    fake.next_address += (bytes + 511) / 512 * 512 + 512;
    start_address = made->start;
    unlock();
    return start_address;
}

EXPORT uint64_t fake_alloc(int device, int memory_type, size_t bytes)
{
    return allocate(device, memory_type, false, bytes);
}

EXPORT uint64_t fake_alloc_managed(size_t bytes)
{
    return allocate(0, CU_MEMORYTYPE_DEVICE, true, bytes);
}

EXPORT void fake_free(uint64_t address)
{
    lock();
    for (int i = 0; i < fake.allocation_count && i < MAX_OBJECTS; i++)
        if (fake.allocations[i].start == address)
            fake.allocations[i].is_alive = false;
    unlock();
}

EXPORT fake_ordered fake_last_ordered(void)
{
    fake_ordered last;

    lock();
    last = fake.ordered;
    unlock();
    return last;
}

EXPORT void fake_set_peer_access(bool is_on)
{
    lock();
    fake.has_peer_access = is_on;
    unlock();
}

EXPORT unsigned long fake_launches(void)
{
    unsigned long count;

    lock();
    count = fake.launches;
    unlock();
    return count;
}

EXPORT bool fake_get_launch(unsigned long index, fake_launch *launch)
{
    bool is_kept;

    lock();
    is_kept = index < fake.launches && fake.launches - index <= FAKE_MAX_LAUNCHES;
    if (is_kept)
        *launch = fake.launch[index % FAKE_MAX_LAUNCHES];
    unlock();
    return is_kept;
}
