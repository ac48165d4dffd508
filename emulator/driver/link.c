/* SPDX-License-Identifier: Apache-2.0 */
/* link: linking. The result is PTX, which any function that loads an image accepts. */
#include "driver.h"

#include <stdlib.h>
#include <string.h>

/* CUjitInputType */
enum { INPUT_CUBIN, INPUT_PTX, INPUT_FATBINARY, INPUT_OBJECT, INPUT_LIBRARY, INPUT_NVVM, INPUTS };

typedef struct emu_link {
    emu_object object;
    const emu_device *device;
    emu_jit_log log; /* the program's buffers, which outlive the link */
    char *text;      /* NULL: nothing yet */
    char *name;      /* names of the inputs */
    bool is_complete;
} emu_link;

CUresult EMU_EXPORT cuLinkCreate_v2(unsigned options, int *option, void **value, CUlinkState *state)
{
    emu_context *context;
    const CUresult result = emu_enter(&context);
    emu_link *made;

    if (result != CUDA_SUCCESS)
        return result;
    if (!state || (options && (!option || !value)))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    made = calloc(1, sizeof *made);
    if (!made || !emu_handle_new(&made->object, O_LINK)) {
        free(made);
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    made->device = context->device;
    made->log = emu_jit_options(options, option, value);
    *state = made->object.handle;
    return emu_leave(CUDA_SUCCESS);
}

CUresult EMU_EXPORT cuLinkDestroy(CUlinkState state)
{
    CUresult result;
    emu_link *link = emu_enter_object(O_LINK, state, &result);

    if (!link)
        return result;
    emu_handle_drop(&link->object);
    free(link->text);
    free(link->name);
    free(link);
    return emu_leave(CUDA_SUCCESS);
}

/* Can the emulator link this input? Otherwise log what kind it is. */
static CUresult check_type(const emu_link *link, int type, const char *name)
{
    static const char *const what[INPUTS] = {"a CUBIN", "PTX", "a fat binary", "an object file", "a library", "NVVM IR"};

    if (type < 0 || type >= INPUTS)
        return CUDA_ERROR_INVALID_VALUE;
    if (type == INPUT_PTX || type == INPUT_FATBINARY)
        return CUDA_SUCCESS;
    emu_jit_tell(&link->log, "%s is %s, and the emulator links PTX only", name, what[type]);
    return type == INPUT_CUBIN ? CUDA_ERROR_NO_BINARY_FOR_GPU : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult EMU_EXPORT cuLinkAddData_v2(CUlinkState state, int type, void *data, size_t bytes, const char *name, unsigned options,
                                     int *option, void **value)
{
    CUresult result;
    emu_link *link = emu_enter_object(O_LINK, state, &result);
    const char *known_as = name && *name ? name : "the input of the link";
    char *text = NULL;

    (void)option, (void)value;
    if (!link)
        return result;
    if (!data || !bytes || link->is_complete || (options && (!option || !value)))
        return emu_leave(CUDA_ERROR_INVALID_VALUE);
    result = check_type(link, type, known_as);
    if (result == CUDA_SUCCESS && link->text) {
        emu_jit_tell(&link->log, "%s is a second PTX text after %s: the emulator links one", known_as, link->name);
        result = CUDA_ERROR_NOT_SUPPORTED;
    }
    if (result == CUDA_SUCCESS)
        result = emu_image_text(link->device, data, bytes, &link->log, &text);
    if (result == CUDA_SUCCESS && !(link->name = strdup(known_as))) {
        free(text);
        return emu_leave(CUDA_ERROR_OUT_OF_MEMORY);
    }
    if (result == CUDA_SUCCESS)
        link->text = text;
    return emu_leave(result);
}

CUresult EMU_EXPORT cuLinkAddFile_v2(CUlinkState state, int type, const char *path, unsigned options, int *option, void **value)
{
    CUresult result;
    emu_link *link = emu_enter_object(O_LINK, state, &result);
    size_t bytes;
    void *image;

    if (!link)
        return result;
    result = check_type(link, type, path ? path : "the file");
    emu_unlock();
    if (result != CUDA_SUCCESS)
        return result;
    image = emu_file_read(path, &bytes, &result);
    if (image)
        result = cuLinkAddData_v2(state, type, image, bytes, path, options, option, value);
    free(image);
    return result;
}

CUresult EMU_EXPORT cuLinkComplete(CUlinkState state, void **image, size_t *bytes)
{
    CUresult result;
    emu_link *link = emu_enter_object(O_LINK, state, &result);
    emu_module *ptx = NULL;

    if (!link)
        return result;
    if (!image || link->is_complete)
        return emu_leave(image ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
    if (!link->text) {
        emu_jit_tell(&link->log, "nothing was added to the link");
        return emu_leave(CUDA_ERROR_INVALID_IMAGE);
    }
    result = emu_image_decode(link->device, link->text, SIZE_MAX, &link->log, &ptx);
    if (result != CUDA_SUCCESS)
        return emu_leave(result);
    emu_ptx_free(ptx);
    link->is_complete = true;
    *image = link->text;
    if (bytes)
        *bytes = strlen(link->text) + 1;
    return emu_leave(CUDA_SUCCESS);
}
