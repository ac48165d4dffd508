/* SPDX-License-Identifier: Apache-2.0 */
/* cluster: launches whose blocks run at once (in clusters or cooperatively), and how many of these a device holds. */
#include "driver.h"

enum { PORTABLE_BLOCKS = 8, MOST_BLOCKS = 16, FIRST_CAPABILITY = 90, MOST_OF_GRID = 2147483647 };

/* Find the cluster shape that the launch asks for or its kernel requires; 0: none. */
static CUresult find_cluster(const emu_kernel_function *f, const uint32_t asked[3], uint32_t cluster[3])
{
    const emu_function *code = f->function;

    for (int i = 0; i < 3; i++) {
        cluster[i] = asked[0] ? asked[i] : code->cluster[i];
        if (code->cluster[0] && cluster[i] != code->cluster[i])
            return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    }
    return code->has_clusters && !cluster[0] ? CUDA_ERROR_INVALID_CLUSTER_SIZE : CUDA_SUCCESS;
}

static CUresult check_size(const emu_kernel_function *f, const uint32_t cluster[3])
{
    const uint64_t most = f->settings.allows_large_clusters ? MOST_BLOCKS : PORTABLE_BLOCKS;
    const uint64_t blocks = (uint64_t)cluster[0] * cluster[1] * cluster[2];

    if (blocks > 1 && f->module->context->device->capability < FIRST_CAPABILITY)
        return CUDA_ERROR_NOT_SUPPORTED;
    if (blocks == 0 || cluster[0] > MOST_BLOCKS || cluster[1] > MOST_BLOCKS || cluster[2] > MOST_BLOCKS || blocks > most ||
        (f->function->max_cluster && blocks > f->function->max_cluster))
        return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return CUDA_SUCCESS;
}

CUresult emu_check_cluster(const emu_kernel_function *f, const emu_work *work)
{
    const emu_device *device = f->module->context->device;
    const int threads = (int)(work->block[0] * work->block[1] * work->block[2]);
    uint32_t cluster[3];
    CUresult result = find_cluster(f, work->cluster, cluster);

    if (result == CUDA_SUCCESS && cluster[0])
        result = check_size(f, cluster);
    for (int i = 0; result == CUDA_SUCCESS && cluster[0] && i < 3; i++) {
        if (!f->function->counts_clusters && work->grid[i] % cluster[i])
            result = CUDA_ERROR_INVALID_CLUSTER_SIZE;
        if (f->function->counts_clusters && (uint64_t)work->grid[i] * cluster[i] > MOST_OF_GRID)
            result = CUDA_ERROR_INVALID_VALUE;
    }
    if (result != CUDA_SUCCESS || !work->is_cooperative)
        return result;
    return (uint64_t)work->grid[0] * work->grid[1] * work->grid[2] >
                   (uint64_t)emu_blocks_at_once(f, threads, work->shared_bytes) * (uint64_t)device->processors
               ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
               : CUDA_SUCCESS;
}

/* ---- occupancy ---------------------------------------------------------------------------------------------------- */

/* Count clusters as if any processor could share a cluster with any other. */
static CUresult count_clusters(const emu_kernel_function *f, const CUlaunchConfig *config, const uint32_t cluster[3],
                               int *clusters)
{
    const int threads = (int)(config->block[0] * config->block[1] * config->block[2]);
    const CUresult result = check_size(f, cluster);

    if (result == CUDA_SUCCESS)
        *clusters = emu_blocks_at_once(f, threads, config->shared_bytes) * f->module->context->device->processors /
                    (int)(cluster[0] * cluster[1] * cluster[2]);
    return result;
}

static CUresult enter(CUfunction handle, const CUlaunchConfig *config, const void *answer, emu_kernel_function **f)
{
    emu_context *context;
    CUresult result;

    if (!config || !answer || (config->attributes && !config->attribute))
        return CUDA_ERROR_INVALID_VALUE;
    result = emu_enter(&context);
    if (result != CUDA_SUCCESS)
        return result;
    result = emu_function_get(context, handle, f);
    return result == CUDA_SUCCESS ? result : emu_leave(result);
}

CUresult EMU_EXPORT cuOccupancyMaxActiveClusters(int *clusters, CUfunction function, const CUlaunchConfig *config)
{
    uint32_t asked[3] = {0}, cluster[3];
    emu_kernel_function *f;
    CUresult result = enter(function, config, clusters, &f);

    if (result != CUDA_SUCCESS)
        return result;
    for (unsigned i = 0; i < config->attributes; i++)
        if (config->attribute[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            for (int k = 0; k < 3; k++)
                asked[k] = config->attribute[i].value.dimension[k];
    result = find_cluster(f, asked, cluster);
    if (result == CUDA_SUCCESS && (!cluster[0] || !cluster[1] || !cluster[2]))
        result = CUDA_ERROR_INVALID_CLUSTER_SIZE;
    return emu_leave(result == CUDA_SUCCESS ? count_clusters(f, config, cluster, clusters) : result);
}

CUresult EMU_EXPORT cuOccupancyMaxPotentialClusterSize(int *blocks, CUfunction function, const CUlaunchConfig *config)
{
    emu_kernel_function *f;
    const CUresult result = enter(function, config, blocks, &f);
    int clusters = 0;

    if (result != CUDA_SUCCESS)
        return result;
    *blocks = 1;
    for (uint32_t size = MOST_BLOCKS; size > 1 && *blocks == 1; size /= 2)
        if (count_clusters(f, config, (const uint32_t[]){size, 1, 1}, &clusters) == CUDA_SUCCESS && clusters > 0)
            *blocks = (int)size;
    return emu_leave(CUDA_SUCCESS);
}
