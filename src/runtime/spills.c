/* SPDX-License-Identifier: Apache-2.0 */
#include "spills.h"

#include <stdio.h>
#include <string.h>

#include "dropped.h"
#include "error.h"
#include "family.h"
#include "settle.h"

/* Print the remedy: the family's next candidate, if there is one, else a smaller share of P for each thread. */
static void print_remedy(const tj_source *source, char *remedy, size_t size)
{
    tj_config looser = *tj_source_config(source);
    char text[TJ_CONFIG_TEXT_BYTES];

    if (tj_request_relax(tj_source_request(source), &looser)) {
        tj_config_print(&looser, text);
        (void)snprintf(remedy, size, "use a config that leaves a thread more, such as %s", text);
    } else {
        (void)snprintf(remedy, size, "use a smaller thread tile, fewer threads, or no config, so that the library chooses");
    }
}

/* The compiler's report covers the whole source: the maximum over its kernels. */
static bool keeps_sums_in_registers(const tj_launch_form *form)
{
    for (int i = 0; i < form->steps; i++)
        if (form->step[i].sums_in_registers)
            return true;
    return false;
}

/*
 * ptxas reports when it serialises wgmma products, or ignores setmaxnreg: match the text of its messages, whose numbers change.
 */
static const char *slowed_down_by(const char *log)
{
    static const char *const words[] = {"wgmma.mma_async instructions are serialized", "setmaxnreg ignored"};

    for (size_t i = 0; log && i < sizeof words / sizeof words[0]; i++)
        if (strstr(log, words[i]))
            return words[i];
    return NULL;
}

static bool drops_products(const tj_image *image)
{
    size_t bytes = 0;
    const void *const cubin = tj_image_cubin(image, &bytes);

    return strcmp(tj_image_target(image), "sm_90a") == 0 && tj_cubin_drops_products(cubin, bytes);
}

tj_status tj_spills_check_image(const tj_source *source, const tj_image *image, tj_error *err)
{
    const tj_resources r = tj_image_resources(image);
    const char *const slowed = slowed_down_by(tj_image_log(image));
    char remedy[TJ_CONFIG_TEXT_BYTES + 64];

    if (drops_products(image)) {
        print_remedy(source, remedy, sizeof remedy);
        return tj_fail(err, TJ_ERR_SPILLS, "%s is not launched: NVRTC %s for %s leaves products of the tensor cores out: %s",
                       tj_product_step(tj_source_launch(source))->kernel, tj_image_compiler(image), tj_image_target(image),
                       remedy);
    }
    if (slowed && keeps_sums_in_registers(tj_source_launch(source))) {
        print_remedy(source, remedy, sizeof remedy);
        return tj_fail(err, TJ_ERR_SPILLS, "%s is not launched: NVRTC %s for %s says \"%s\": %s",
                       tj_product_step(tj_source_launch(source))->kernel, tj_image_compiler(image), tj_image_target(image),
                       slowed, remedy);
    }
    if (!keeps_sums_in_registers(tj_source_launch(source)) || (r.spill_stores <= 0 && r.spill_loads <= 0 && r.stack_bytes <= 0))
        return TJ_OK;
    print_remedy(source, remedy, sizeof remedy);
    return tj_fail(
        err, TJ_ERR_SPILLS,
        "%s is not launched: with %d registers a thread, NVRTC %s for %s spills %d bytes and has a stack of %d, and such "
        "kernels have been wrong: %s",
        tj_product_step(tj_source_launch(source))->kernel, r.registers, tj_image_compiler(image), tj_image_target(image),
        r.spill_stores > 0 ? r.spill_stores : 0, r.stack_bytes > 0 ? r.stack_bytes : 0, remedy);
}

tj_status tj_spills_check_loaded(const tj_launch_step *step, const tj_kernel_facts *facts, tj_error *err)
{
    if (!step->sums_in_registers || facts->local_bytes <= 0)
        return TJ_OK;
    return tj_fail(
        err, TJ_ERR_SPILLS,
        "%s is not launched: the driver's compiler gives a thread %d registers and %d bytes of local memory, and such kernels "
        "have been wrong: use looser launch bounds (fewer blocks), a smaller thread tile, or no config",
        step->kernel, facts->registers, facts->local_bytes);
}
