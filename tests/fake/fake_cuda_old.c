/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_cuda_old: the fake as a driver of CUDA 11.0: no cuGetProcAddress, and nothing younger than that.
 */
#define FAKE_OLD
#include "fake_cuda.c"
