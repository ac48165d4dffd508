/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table: the families, one row each, in the order of lists.
 */
#ifndef TJ_GENERATOR_FAMILIES_TABLE_H
#define TJ_GENERATOR_FAMILIES_TABLE_H

#define TJ_FAMILIES(X) \
    X(tiled)           \
    X(naive)           \
    X(simt)            \
    X(skinny)          \
    X(strip)           \
    X(thin)            \
    X(small_batch)     \
    X(mma)             \
    X(planes)          \
    X(wgmma)           \
    X(tcgen05)         \
    X(wgmma_planes)

#define TJ_DECLARE_FAMILY(name) extern const tj_family tj_family_##name;
TJ_FAMILIES(TJ_DECLARE_FAMILY)
#undef TJ_DECLARE_FAMILY

#define TJ_SAFE_FAMILY (&tj_family_tiled) /* any problem, any operands, few registers: the choice if nothing else is known */
#define TJ_SAFE_PARTS_FAMILY (&tj_family_wgmma) /* the same, for 8-bit floats in parts of k, where it can pack */
#define TJ_SAFE_TENSOR_FAMILY (&tj_family_mma)  /* the same, for sums that tensor cores must make */
#define TJ_SIMPLE_FAMILY (&tj_family_naive)     /* any problem, the simplest kernel: the one that proofs compare with */

#endif
