/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor.h: report the components found on this machine and the missing ones, with remedies.
 */
#ifndef TILEJIT_DOCTOR_H
#define TILEJIT_DOCTOR_H

#include <tilejit/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tj_finding_state { TJ_FINDING_OK = 0, TJ_FINDING_NOTE = 1, TJ_FINDING_MISSING = 2 } tj_finding_state;

/** One finding. Its text is valid during the visit only. */
typedef struct tj_finding {
    size_t struct_size; /**< the library's: read no field beyond it */
    const char *topic;  /**< "nvrtc", "spills", "builtins", "driver", "device", "match", "probe", "store", "variable" ... */
    tj_finding_state state;
    const char *text;   /**< the component found, its place and version; or each place searched */
    const char *remedy; /**< the remedy; "" if nothing is wrong */
} tj_finding;

typedef void (*tj_finding_visit)(const tj_finding *finding, void *payload);

/**
 * Examine NVRTC and its builtins, the driver, every device, whether these fit together, packs, the store, the shared server,
 * and variables TILEJIT_* that nothing reads. The call creates nothing.
 * NULL: context and visit must not be NULL. Threads: any. Errors: TJ_ERR_FORKED only; any other trouble is reported as a
 * finding.
 */
TJ_API TJ_MUST_CHECK tj_status tj_doctor(tj_context *context, tj_finding_visit visit, void *payload, tj_error *err);

#ifdef __cplusplus
}
#endif
#endif
