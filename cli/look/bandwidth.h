/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bandwidth: what a device's memory gives a kernel of this library, measured once and remembered in the store's folder.
 */
#ifndef TJ_CLI_BANDWIDTH_H
#define TJ_CLI_BANDWIDTH_H

#include <tilejit/context.h>
#include <tilejit/device.h>

/** A bandwidth measured by tilejit devices --measure; 0 if there is none. */
double cli_read_bandwidth(tj_context *context, const tj_device_facts *facts);

/** Measure it, on the context's device, and remember it if there is a store. */
tj_status cli_measure_bandwidth(tj_context *context, const tj_device_facts *facts, double *bytes_per_s, tj_error *err);

#endif
