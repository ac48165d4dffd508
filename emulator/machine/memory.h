/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory: the address space of all devices, and the state of each byte.
 *
 * Addresses of device memory lie outside the range that a host process can map, so a host dereference faults. Each allocation
 * is followed by unmapped addresses of at least its own size, and no address is reused: overruns and uses after free hit no
 * other allocation. Pinned host memory is in the same table under its host address, as kernels access it there.
 *
 * Threads: allocating and freeing wait until no launch holds the table (emu_memory_hold).
 */
#ifndef EMU_MEMORY_H
#define EMU_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "ptx.h"

#define EMU_GLOBAL_BASE UINT64_C(0x0001000000000000)   /* first address above those that a host can map */
#define EMU_SHARED_WINDOW UINT64_C(0x0001f00000000000) /* generic addresses of shared memory, */
#define EMU_LOCAL_WINDOW UINT64_C(0x0001f10000000000)  /* of local memory, */
#define EMU_PARAM_WINDOW UINT64_C(0x0001f20000000000)  /* and of a kernel's parameters, which are global memory too */
#define EMU_WINDOW_BYTES UINT64_C(0x1000000)
#define EMU_CLUSTER_BYTES (17 * EMU_WINDOW_BYTES) /* shared memory: the block's own, then that of each block of the cluster */

/** M_PINNED: host memory that the emulator allocated; M_REGISTERED: the program's own. Both keep their host address. */
typedef enum emu_memory_kind { M_DEVICE, M_MODULE, M_PINNED, M_REGISTERED } emu_memory_kind;

typedef struct emu_watch {
    int number;
    uint64_t address, rows, row_bytes, pitch;
    _Atomic(uint8_t) *writes; /* one counter per byte, up to 255 */
} emu_watch;

typedef struct emu_allocation {
    uint64_t base, size;
    uint8_t *host;
    uint8_t *defined;               /* one flag per byte, or NULL: all bytes count as defined */
    struct emu_global_state *state; /* accesses; made at the first access that is checked for races */
    emu_watch *watch;
    emu_memory_kind kind;
    int device;     /* ordinal */
    uint64_t owner; /* id of the context that allocated it */
    uint64_t id;    /* of host memory: never reused, though its address may be */
    unsigned flags; /* of host memory, as the program passed them */
    bool is_freed;
} emu_allocation;

/** The first byte that a lane of a warp accesses. */
typedef struct emu_place {
    uint8_t *at;
    emu_allocation *allocation; /* of global and constant memory */
    uint64_t address;           /* an offset in all other memory */
    emu_space space;
    struct emu_block *block; /* whose shared memory it is; NULL: the warp's own */
} emu_place;

/** memcpy, without a call for the usual sizes. */
static inline void emu_copy_bytes(void *to, const void *from, size_t bytes)
{
    switch (bytes) {
    case 1:
        memcpy(to, from, 1);
        break;
    case 2:
        memcpy(to, from, 2);
        break;
    case 4:
        memcpy(to, from, 4);
        break;
    case 8:
        memcpy(to, from, 8);
        break;
    case 16:
        memcpy(to, from, 16);
        break;
    default:
        memcpy(to, from, bytes);
        break;
    }
}

static inline bool emu_is_pinned(const emu_allocation *one)
{
    return one->kind == M_PINNED || one->kind == M_REGISTERED;
}

/** Allocate; NULL: out of memory. is_defined: zeroed and initialised from the start. */
emu_allocation *emu_memory_new(uint64_t bytes, emu_memory_kind kind, int device, uint64_t owner, bool track, bool is_defined);

/**
 * Add host memory as an allocation; all of it counts as defined. Its id and flags are copied from `like`. 0: it overlaps
 * another allocation; below 0: out of memory.
 */
int emu_memory_pin(const emu_allocation *like);

/** Free the allocation of that kind that begins at address; false: there is none. */
bool emu_memory_free(uint64_t address, emu_memory_kind kind);

/** Free all allocations of a context. Returns the number of M_DEVICE ones. */
size_t emu_memory_free_owner(uint64_t owner);

/** Return the live allocation that holds address, or NULL. Call between hold and release; valid until release. */
emu_allocation *emu_memory_find(uint64_t address);

/** Like emu_memory_find, but include freed ones, or the nearest live one: for messages. *is_near: address is outside. */
emu_allocation *emu_memory_find_near(uint64_t address, bool *is_near);

/** Keep the table unchanged. Several threads may hold it; one thread may not nest holds. */
void emu_memory_hold(void);
void emu_memory_release(void);

/** Return the bytes allocated on a device. */
uint64_t emu_memory_used(int device);

/** Return the host memory of a device range that lies in one allocation, or NULL. Call while the table is held. */
uint8_t *emu_memory_range(uint64_t address, uint64_t bytes, emu_allocation **allocation);

#endif
