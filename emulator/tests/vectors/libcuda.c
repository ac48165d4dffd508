/* SPDX-License-Identifier: Apache-2.0 */
#include "libcuda.h"

#include <dlfcn.h>

const char *error_name(const struct driver *driver, int error)
{
    const char *name = NULL;

    return driver->error_name(error, &name) == 0 && name ? name : "an error without a name";
}

void must(const struct driver *driver, int error, const char *what)
{
    if (error)
        fail("%s: %s (%d)", what, error_name(driver, error), error);
}

void open_context(struct driver *driver)
{
    void *context = NULL;

    must(driver, driver->context_retain(&context, driver->device), "cuDevicePrimaryCtxRetain");
    must(driver, driver->context_set(context), "cuCtxSetCurrent");
    must(driver, driver->allocate(&driver->inputs, driver->input_bytes), "cuMemAlloc");
    must(driver, driver->allocate(&driver->outputs, driver->output_bytes), "cuMemAlloc");
}

struct driver open_driver(const char *path, size_t input_bytes, size_t output_bytes)
{
    enum { MAJOR = 75, MINOR = 76 }; /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_... */
    struct driver driver = {.input_bytes = input_bytes, .output_bytes = output_bytes};
    const struct {
        const char *name;
        void **function;
    } names[] = {
        {"cuInit", (void **)&driver.init},
        {"cuDeviceGet", (void **)&driver.device_get},
        {"cuDeviceGetAttribute", (void **)&driver.device_attribute},
        {"cuDevicePrimaryCtxRetain", (void **)&driver.context_retain},
        {"cuDevicePrimaryCtxReset_v2", (void **)&driver.context_reset},
        {"cuCtxSetCurrent", (void **)&driver.context_set},
        {"cuCtxSynchronize", (void **)&driver.context_synchronize},
        {"cuModuleLoadDataEx", (void **)&driver.module_load},
        {"cuModuleUnload", (void **)&driver.module_unload},
        {"cuModuleGetFunction", (void **)&driver.module_function},
        {"cuMemAlloc_v2", (void **)&driver.allocate},
        {"cuMemcpyHtoD_v2", (void **)&driver.to_device},
        {"cuMemcpyDtoH_v2", (void **)&driver.to_host},
        {"cuLaunchKernel", (void **)&driver.launch},
        {"cuGetErrorName", (void **)&driver.error_name},
    };
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int major = 0, minor = 0;

    if (!library)
        fail("cannot load '%s': %s", path, dlerror());
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        *names[i].function = dlsym(library, names[i].name);
        if (!*names[i].function)
            fail("'%s' has no %s", path, names[i].name);
    }
    must(&driver, driver.init(0), "cuInit");
    must(&driver, driver.device_get(&driver.device, 0), "cuDeviceGet");
    must(&driver, driver.device_attribute(&major, MAJOR, driver.device), "cuDeviceGetAttribute");
    must(&driver, driver.device_attribute(&minor, MINOR, driver.device), "cuDeviceGetAttribute");
    driver.sm = (unsigned)(major * 10 + minor);
    open_context(&driver);
    return driver;
}
