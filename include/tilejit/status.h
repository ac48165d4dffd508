/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.h: how calls report failures.
 *
 * A call returns a tj_status. Its last argument is a tj_error of the caller, in which the call describes the failure. The
 * library keeps no "last error", so a thread never sees a message of another thread or of an earlier call.
 */
#ifndef TILEJIT_STATUS_H
#define TILEJIT_STATUS_H

#include <tilejit/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One list generates the enum, the names and the sentences, so that they cannot disagree.  X(name, number, sentence) */
#define TJ_STATUS_LIST(X)                                                                                     \
    X(OK, 0, "done")                                                                                          \
    X(ERR_INVALID_ARGUMENT, 1, "a value of the request is not valid")                                         \
    X(ERR_UNSUPPORTED, 2, "the request is valid but this build, family or device cannot serve it")            \
    X(ERR_NOT_FOUND, 3, "no such family, entry or file")                                                      \
    X(ERR_OUT_OF_MEMORY, 4, "host memory ran out")                                                            \
    X(ERR_IO, 5, "a file could not be read or written")                                                       \
    X(ERR_NO_COMPILER, 6, "NVRTC could not be loaded")                                                        \
    X(ERR_COMPILE, 7, "the compiler refused the generated source")                                            \
    X(ERR_NO_DRIVER, 8, "the CUDA driver could not be loaded or has no device")                               \
    X(ERR_DRIVER, 9, "a driver call failed; the context still works")                                         \
    X(ERR_DEVICE_LOST, 10, "the device reported an error that it does not recover from; restart the process") \
    X(ERR_DEVICE_MEMORY, 11, "device memory ran out")                                                         \
    X(ERR_CAPTURE, 12, "the stream is being captured and the plan is not ready: call tj_plan_prepare first")  \
    X(ERR_FORKED, 13, "the process was forked after the context was made")                                    \
    X(ERR_CHECK_FAILED, 14, "a computed product did not pass its check")                                      \
    X(ERR_INTERNAL, 15, "a bug in TileJIT")                                                                   \
    X(ERR_CANCELLED, 16, "the caller asked to stop before there was a result")                                \
    X(ERR_SPILLS, 17, "the compiler spilled registers of this kernel to memory, and it is not launched")

typedef enum tj_status {
#define TJ_STATUS_ENUM(name, number, sentence) TJ_##name = number,
    TJ_STATUS_LIST(TJ_STATUS_ENUM)
#undef TJ_STATUS_ENUM
} tj_status;

enum { TJ_ERROR_MESSAGE_BYTES = 480 };

/**
 * The description of a failure. It may be on the stack, and needs neither initialising nor freeing.
 *
 * message is one NUL-terminated line that names the object, the value and the remedy. If a text was parsed, two more lines show
 * the text around the fault and a caret under its column. It is UTF-8: in foreign text, terminal control sequences and bytes
 * that are not UTF-8 become escapes such as \x1b. A call that fails writes both members; a call that succeeds leaves the struct
 * unchanged.
 */
typedef struct tj_error {
    tj_status status;
    char message[TJ_ERROR_MESSAGE_BYTES];
} tj_error;

/**
 * The name of a status, such as "TJ_ERR_COMPILE"; "TJ_ERR_UNKNOWN" for a number that is not a status.
 * Owned: static text. Threads: any.
 */
TJ_API const char *tj_status_name(tj_status status);

/** The sentence of a status, as in the list above. Owned: static text. Threads: any. */
TJ_API const char *tj_status_text(tj_status status);

#ifdef __cplusplus
}
#endif
#endif
