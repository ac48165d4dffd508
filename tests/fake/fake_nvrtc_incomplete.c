/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_nvrtc_incomplete: a library that has NVRTC's version and nothing else.
 */
__attribute__((visibility("default"))) int nvrtcVersion(int *major, int *minor);

int nvrtcVersion(int *major, int *minor)
{
    *major = 13;
    *minor = 0;
    return 0;
}
