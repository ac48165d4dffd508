/*
 * cuda_abi: the part of the CUDA Driver API's binary interface that TileJIT calls.
 *
 * Written out here, so that building needs no CUDA toolkit. Names and numbers are those of cuda.h; every function is
 * looked up by the exported symbol of exactly this prototype.
 */
#ifndef TJ_SRC_CUDA_ABI_H
#define TJ_SRC_CUDA_ABI_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUuuid_st {
    unsigned char bytes[16];
} CUuuid;

#endif
