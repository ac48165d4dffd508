/* SPDX-License-Identifier: Apache-2.0 */
/* fake_library: what the fakes of libcublas and libcublasLt share. */
#ifndef TJ_BLAS_FAKE_LIBRARY_H
#define TJ_BLAS_FAKE_LIBRARY_H

#include "fake_product.h"

static atomic_int fake_computed;

static void *fake_look_up(void *driver, const char *name, void *function)
{
    void *symbol = dlsym(driver, name);

    memcpy(function, &symbol, sizeof symbol);
    return symbol;
}

static int fake_is_open;

static void fake_find_driver(void)
{
    const char *path = getenv("TILEJIT_EMULATOR");
    void *driver = dlopen(path ? path : "libcuda.so.1", RTLD_NOW);

    fake_is_open = driver && fake_look_up(driver, "cuMemcpyDtoH_v2", &fake_driver.to_host) &&
                   fake_look_up(driver, "cuMemcpyHtoD_v2", &fake_driver.to_device) &&
                   fake_look_up(driver, "cuStreamIsCapturing", &fake_driver.is_capturing);
}

static int fake_open_driver(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    return pthread_once(&once, fake_find_driver) == 0 && fake_is_open;
}

static int fake_compute(const fake_product *p)
{
    atomic_fetch_add(&fake_computed, 1);
    return fake_evaluate(p);
}

#endif
