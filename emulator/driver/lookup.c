/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lookup: functions by name and version, their variants for the calling thread's default stream, and the names of errors.
 */
#include "driver.h"

#include <stdatomic.h>
#include <string.h>

#include "option.h"

static const struct error {
    CUresult number;
    const char *name, *text;
} errors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {3, "CUDA_ERROR_NOT_INITIALIZED", "cuInit has not been called, or this is a child of fork"},
    {4, "CUDA_ERROR_DEINITIALIZED", "deinitialized"},
    {5, "CUDA_ERROR_PROFILER_DISABLED", "profiler disabled"},
    {6, "CUDA_ERROR_PROFILER_NOT_INITIALIZED", "profiler not initialized"},
    {7, "CUDA_ERROR_PROFILER_ALREADY_STARTED", "profiler already started"},
    {8, "CUDA_ERROR_PROFILER_ALREADY_STOPPED", "profiler already stopped"},
    {34, "CUDA_ERROR_STUB_LIBRARY", "stub library"},
    {36, "CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "call requires newer driver"},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", "device unavailable"},
    {100, "CUDA_ERROR_NO_DEVICE", "there is no device"},
    {101, "CUDA_ERROR_INVALID_DEVICE", "no device has this number"},
    {102, "CUDA_ERROR_DEVICE_NOT_LICENSED", "device not licensed"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "the image cannot be read"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "no context, or none that can be used"},
    {202, "CUDA_ERROR_CONTEXT_ALREADY_CURRENT", "context already current"},
    {205, "CUDA_ERROR_MAP_FAILED", "map failed"},
    {206, "CUDA_ERROR_UNMAP_FAILED", "unmap failed"},
    {207, "CUDA_ERROR_ARRAY_IS_MAPPED", "array is mapped"},
    {208, "CUDA_ERROR_ALREADY_MAPPED", "already mapped"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", "the module has nothing that this device can run"},
    {210, "CUDA_ERROR_ALREADY_ACQUIRED", "already acquired"},
    {211, "CUDA_ERROR_NOT_MAPPED", "not mapped"},
    {212, "CUDA_ERROR_NOT_MAPPED_AS_ARRAY", "not mapped as array"},
    {213, "CUDA_ERROR_NOT_MAPPED_AS_POINTER", "not mapped as pointer"},
    {214, "CUDA_ERROR_ECC_UNCORRECTABLE", "ecc uncorrectable"},
    {215, "CUDA_ERROR_UNSUPPORTED_LIMIT", "unsupported limit"},
    {216, "CUDA_ERROR_CONTEXT_ALREADY_IN_USE", "context already in use"},
    {217, "CUDA_ERROR_PEER_ACCESS_UNSUPPORTED", "peer access unsupported"},
    {218, "CUDA_ERROR_INVALID_PTX", "the PTX has a mistake"},
    {219, "CUDA_ERROR_INVALID_GRAPHICS_CONTEXT", "invalid graphics context"},
    {220, "CUDA_ERROR_NVLINK_UNCORRECTABLE", "nvlink uncorrectable"},
    {221, "CUDA_ERROR_JIT_COMPILER_NOT_FOUND", "jit compiler not found"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the PTX is of a newer version than this driver"},
    {223, "CUDA_ERROR_JIT_COMPILATION_DISABLED", "jit compilation disabled"},
    {224, "CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY", "unsupported exec affinity"},
    {225, "CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC", "unsupported devside sync"},
    {226, "CUDA_ERROR_CONTAINED", "contained"},
    {300, "CUDA_ERROR_INVALID_SOURCE", "invalid source"},
    {301, "CUDA_ERROR_FILE_NOT_FOUND", "the file cannot be read"},
    {302, "CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND", "shared object symbol not found"},
    {303, "CUDA_ERROR_SHARED_OBJECT_INIT_FAILED", "shared object init failed"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "operating system"},
    {400, "CUDA_ERROR_INVALID_HANDLE", "the handle is not one, or is of something destroyed or of another context"},
    {401, "CUDA_ERROR_ILLEGAL_STATE", "not allowed in this state"},
    {402, "CUDA_ERROR_LOSSY_QUERY", "lossy query"},
    {500, "CUDA_ERROR_NOT_FOUND", "there is none of that name"},
    {600, "CUDA_ERROR_NOT_READY", "not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", "a kernel accessed memory that is not its own"},
    {701, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "the launch needs more than the device has"},
    {702, "CUDA_ERROR_LAUNCH_TIMEOUT", "a kernel did not come to an end"},
    {703, "CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING", "launch incompatible texturing"},
    {704, "CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED", "peer access already enabled"},
    {705, "CUDA_ERROR_PEER_ACCESS_NOT_ENABLED", "peer access not enabled"},
    {708, "CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE", "primary context active"},
    {709, "CUDA_ERROR_CONTEXT_IS_DESTROYED", "the context was destroyed"},
    {710, "CUDA_ERROR_ASSERT", "an assertion of a kernel failed"},
    {711, "CUDA_ERROR_TOO_MANY_PEERS", "too many peers"},
    {712, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED", "host memory already registered"},
    {713, "CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED", "host memory not registered"},
    {714, "CUDA_ERROR_HARDWARE_STACK_ERROR", "hardware stack error"},
    {715, "CUDA_ERROR_ILLEGAL_INSTRUCTION", "a kernel executed an instruction that is not allowed"},
    {716, "CUDA_ERROR_MISALIGNED_ADDRESS", "a kernel accessed an address that is not aligned"},
    {717, "CUDA_ERROR_INVALID_ADDRESS_SPACE", "invalid address space"},
    {718, "CUDA_ERROR_INVALID_PC", "invalid pc"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "a kernel failed"},
    {720, "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", "cooperative launch too large"},
    {721, "CUDA_ERROR_TENSOR_MEMORY_LEAK", "tensor memory leak"},
    {800, "CUDA_ERROR_NOT_PERMITTED", "not permitted"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "the operation is not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not ready"},
    {803, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system driver mismatch"},
    {804, "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE", "compat not supported on device"},
    {805, "CUDA_ERROR_MPS_CONNECTION_FAILED", "mps connection failed"},
    {806, "CUDA_ERROR_MPS_RPC_FAILURE", "mps rpc failure"},
    {807, "CUDA_ERROR_MPS_SERVER_NOT_READY", "mps server not ready"},
    {808, "CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "mps max clients reached"},
    {809, "CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED", "mps max connections reached"},
    {810, "CUDA_ERROR_MPS_CLIENT_TERMINATED", "mps client terminated"},
    {811, "CUDA_ERROR_CDP_NOT_SUPPORTED", "cdp not supported"},
    {812, "CUDA_ERROR_CDP_VERSION_MISMATCH", "cdp version mismatch"},
    {900, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED", "not allowed while a stream is captured"},
    {901, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED", "the capture was made invalid by an earlier error"},
    {902, "CUDA_ERROR_STREAM_CAPTURE_MERGE", "two captures would become one"},
    {903, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED", "the capture began in another stream"},
    {904, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "captured work was not joined to the stream where the capture began"},
    {905, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION", "a captured stream would depend on work outside its capture"},
    {906, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT", "the legacy stream would depend on a captured one"},
    {907, "CUDA_ERROR_CAPTURED_EVENT", "the event was last recorded in a capture"},
    {908, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD", "the capture began in another thread"},
    {909, "CUDA_ERROR_TIMEOUT", "timeout"},
    {910, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE", "graph exec update failure"},
    {911, "CUDA_ERROR_EXTERNAL_DEVICE", "external device"},
    {912, "CUDA_ERROR_INVALID_CLUSTER_SIZE", "invalid cluster size"},
    {913, "CUDA_ERROR_FUNCTION_NOT_LOADED", "function not loaded"},
    {914, "CUDA_ERROR_INVALID_RESOURCE_TYPE", "invalid resource type"},
    {915, "CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION", "invalid resource configuration"},
    {916, "CUDA_ERROR_KEY_ROTATION", "key rotation"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

/* Find an error by number; NULL: unknown. */
static const struct error *find_error(CUresult number)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].number == number)
            return &errors[i];
    return NULL;
}

CUresult EMU_EXPORT cuGetErrorName(CUresult result, const char **name)
{
    const struct error *known = find_error(result);

    if (name)
        *name = known ? known->name : NULL;
    return name && known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult EMU_EXPORT cuGetErrorString(CUresult result, const char **text)
{
    const struct error *known = find_error(result);

    if (text)
        *text = known ? known->text : NULL;
    return text && known ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/* ---- definitions from the list of functions ----------------------------------------------------------------------- */

#define EMU_X(name, symbol, version, arguments)
#define EMU_A(name, symbol, version, arguments, call) \
    CUresult EMU_EXPORT symbol arguments              \
    {                                                 \
        return call;                                  \
    }
#define EMU_S(name, symbol, version, arguments, call) EMU_A(name, symbol##_ptsz, version, arguments, symbol call)
#define EMU_D(name, symbol, version, arguments, call) EMU_A(name, symbol##_ptds, version, arguments, symbol call)
EMU_DRIVER_FUNCTIONS(EMU_X, EMU_A, EMU_S, EMU_D)
#undef EMU_X
#undef EMU_A
#undef EMU_S
#undef EMU_D

/*
 * Private tables of NVIDIA's libraries: answer like a driver that lacks the table. Most libraries go on without it. The CUDA
 * runtime does not: it asks for six, and the last one proves that the driver is NVIDIA's, which no other driver should claim.
 */
CUresult EMU_EXPORT cuGetExportTable(const void **table, const CUuuid *id)
{
    static const unsigned char of_runtime[] = {0x6b, 0xd5, 0xfb, 0x6c, 0x5b, 0xf4, 0xe7, 0x4a};
    static atomic_bool is_said;

    if (table)
        *table = NULL;
    if (id && memcmp(id->bytes, of_runtime, sizeof of_runtime) == 0 && !atomic_exchange(&is_said, true))
        emu_driver_log(
            "the CUDA runtime (cudart) works with NVIDIA's own driver alone: programs of <<<...>>> or cudaMalloc cannot "
            "run here, those of the driver API can");
    if (id && emu_option(CUEMU_LOG) > 1)
        emu_driver_log("there is no export table %02x%02x%02x%02x-...", id->bytes[0], id->bytes[1], id->bytes[2], id->bytes[3]);
    return CUDA_ERROR_INVALID_VALUE;
}

/* ---- functions by name -------------------------------------------------------------------------------------------- */

typedef void (*any_function)(void);

typedef struct entry {
    const char *name;
    int version;
    any_function function, own; /* own: the variant for the calling thread's default stream, or NULL */
} entry;

static const entry entries[] = {
#define EMU_X(name, symbol, version, arguments) {#name, version, (any_function)symbol, NULL},
#define EMU_A(name, symbol, version, arguments, call) {#name, version, (any_function)symbol, NULL},
#define EMU_S(name, symbol, version, arguments, call) {#name, version, (any_function)symbol, (any_function)symbol##_ptsz},
#define EMU_D(name, symbol, version, arguments, call) {#name, version, (any_function)symbol, (any_function)symbol##_ptds},
    EMU_DRIVER_FUNCTIONS(EMU_X, EMU_A, EMU_S, EMU_D)
    /* Headers since CUDA 12 mean the other function by this name. */
    {"cuGraphInstantiate", 12000, (any_function)cuGraphInstantiateWithFlags, NULL},
};

CUresult EMU_EXPORT cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status)
{
    const entry *found = NULL;
    bool is_known = false;
    int stub_version = 0;
    void *stub;

    if (!name || !function || version > EMU_DRIVER_VERSION || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
        return CUDA_ERROR_INVALID_VALUE;
    *function = NULL;
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
        if (strcmp(entries[i].name, name) != 0)
            continue;
        is_known = true;
        if (entries[i].version <= version && (!found || entries[i].version > found->version))
            found = &entries[i];
    }
    stub = emu_not_supported_find(name, version, &stub_version, &is_known);
    if (stub && (!found || stub_version > found->version)) {
        *function = stub;
    } else if (found) {
        const bool is_own = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM && found->own;
        const any_function address = is_own ? found->own : found->function;
        memcpy(function, &address, sizeof address);
    }
    if (status)
        *status = *function  ? CU_GET_PROC_ADDRESS_SUCCESS
                  : is_known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                             : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
