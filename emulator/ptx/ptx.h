/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptx: a module of PTX, decoded once when it is loaded, ready to be executed.
 *
 * Everything known before a launch is settled here: operands are places in a warp's register file or in the function's
 * constants, labels are instruction numbers, and each instruction points at the function that executes it. Does not depend on
 * devices, memory or launches.
 */
#ifndef EMU_PTX_H
#define EMU_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum emu_type {
    T_NONE,
    T_PRED,
    T_B8,
    T_B16,
    T_B32,
    T_B64,
    T_B128,
    T_U8,
    T_U16,
    T_U32,
    T_U64,
    T_S8,
    T_S16,
    T_S32,
    T_S64,
    T_F16,
    T_F16X2,
    T_BF16,
    T_BF16X2,
    T_TF32,
    T_F32,
    T_F64,
    T_E4M3,
    T_E5M2,
    T_E4M3X2,
    T_E5M2X2,
    T_U4,
    T_S4,
    T_B1,
    T_U16X2,
    T_S16X2,
    T_F32X2,
    T_E2M1X2,
    T_E2M3X2,
    T_E3M2X2,
    T_UE8M0X2,
    T_E2M1,
    T_E2M3,
    T_E3M2,
    T_UE8M0,
    T_UE4M3,
    T_COUNT
} emu_type;

/** Return the bytes of a value; 0 for predicates and T_NONE, and 1 for the types below a byte. */
unsigned emu_type_bytes(emu_type type);
bool emu_type_is_float(emu_type type);
bool emu_type_is_signed(emu_type type);

typedef enum emu_space {
    S_GENERIC,
    S_GLOBAL,
    S_SHARED,
    S_LOCAL,
    S_PARAM, /* of the kernel */
    S_CONST,
    S_FRAME,  /* parameters of functions, one copy per lane */
    S_CLUSTER /* shared memory of any block of the cluster */
} emu_space;

/** A place in one of two banks: the warp's registers, or constants shared by all warps. The values of 32 lanes are adjacent. */
typedef struct emu_operand {
    uint32_t offset;      /* of lane 0, in bytes */
    uint16_t reg;         /* register number, for definedness; 0 is always defined */
    uint8_t bank;         /* 0 registers, 1 constants */
    uint8_t bytes;        /* per lane; 0: a predicate, one bit per lane */
    bool is_sink;         /* discards writes: _ */
    bool is_negated;      /* !%p */
    int64_t displacement; /* of an address */
} emu_operand;

struct emu_warp;
struct emu_inst;
struct emu_operations; /* form.h */
typedef void (*emu_exec)(struct emu_warp *warp, const struct emu_inst *inst, uint32_t mask);

typedef enum emu_flow {
    F_NEXT,   /* continue with the next instruction */
    F_BRANCH, /* target, for lanes of the guard */
    F_BRANCH_TABLE,
    F_EXIT,
    F_CALL,
    F_RETURN,
    F_WAIT,       /* each lane waits for itself: the function leaves the lanes that must try again in emu_warp.waiting */
    F_BARRIER,    /* whole block; this and the following wait for others */
    F_COLLECTIVE, /* lanes of a warp: waits for all lanes in its member mask */
    F_WARP,       /* all 32 lanes: it has no member mask */
    F_WARPGROUP   /* four warps, executed once for all of them */
} emu_flow;

typedef enum emu_tracking {
    D_ALL,    /* a result is defined if all inputs are */
    D_LAST,   /* if the last one is */
    D_SELECT, /* the chosen one */
    D_OWN,    /* the executing function sets it */
    D_LATE,   /* likewise; the results come later: tcgen05.ld */
    D_ATOMIC, /* likewise; for floats the result depends on the order of blocks */
    D_USE     /* no result; an undefined input is a finding */
} emu_tracking;

enum { EMU_CHOICES = 14, EMU_TYPES = 4 };

typedef struct emu_inst {
    emu_exec exec;
    uint8_t flow;   /* emu_flow */
    uint8_t space;  /* emu_space, of memory instructions */
    uint8_t vector; /* elements of a vector access: 1, 2, 4, 8 */
    uint8_t type_count;
    uint8_t type[EMU_TYPES];     /* in the order of the mnemonic */
    uint16_t shape[3];           /* m, n and k of m16n8k256 */
    uint8_t choice[EMU_CHOICES]; /* the alternative of each group of its form: form.h */
    uint8_t outputs, operands;   /* outputs come first in operand[] */
    uint8_t flops, is_fma;       /* counted per lane */
    uint32_t mma_flops;          /* counted per warp */
    uint8_t tracking;            /* emu_tracking: propagation of definedness */
    bool is_guarded, guard_negated;
    bool is_block_start; /* lanes that meet here may join */
    bool has_hint;       /* .L2::cache_hint */
    bool is_async;       /* .async, and tcgen05 */
    bool meets_sums;     /* accesses registers of a wgmma or results of a tcgen05.ld, or copies of them */
    bool orders_floats;  /* an atomic whose result depends on the order of blocks */
    emu_operand guard;
    const emu_operand *operand;
    uint32_t target;       /* F_BRANCH: instruction number */
    const uint32_t *table; /* F_BRANCH_TABLE */
    uint32_t table_length;
    const struct emu_call *call;
    uint32_t priority; /* reverse postorder number of its block: lanes with the lowest run first */
    uint32_t line, cuda_line;
    const char *text; /* the statement, in the module's text */
    uint32_t text_length;
} emu_inst;

/** A formal or actual parameter, in a kernel's buffer or in a lane's frame memory. */
typedef struct emu_param {
    const char *name;
    size_t name_length;
    uint32_t bytes, align, offset;
} emu_param;

typedef struct emu_call {
    const struct emu_function *callee; /* or NULL: */
    enum { CALL_FUNCTION, CALL_PRINTF, CALL_ASSERT } kind;
    uint32_t inputs, outputs;
    uint32_t input_from[32], input_to[32], input_bytes[32]; /* in frame memory */
    uint32_t output_from[4], output_to[4], output_bytes[4];
} emu_call;

typedef struct emu_special {
    uint8_t kind; /* emu_special_kind */
    emu_operand place;
} emu_special;

typedef enum emu_special_kind {
    SR_TID_X,
    SR_TID_Y,
    SR_TID_Z,
    SR_NTID_X,
    SR_NTID_Y,
    SR_NTID_Z,
    SR_CTAID_X,
    SR_CTAID_Y,
    SR_CTAID_Z,
    SR_NCTAID_X,
    SR_NCTAID_Y,
    SR_NCTAID_Z,
    SR_LANEID,
    SR_WARPID,
    SR_NWARPID,
    SR_SMID,
    SR_NSMID,
    SR_GRIDID,
    SR_LANEMASK_EQ,
    SR_LANEMASK_LE,
    SR_LANEMASK_LT,
    SR_LANEMASK_GE,
    SR_LANEMASK_GT,
    SR_DYNAMIC_SMEM,
    SR_TOTAL_SMEM,
    SR_CLUSTERID_X,
    SR_CLUSTERID_Y,
    SR_CLUSTERID_Z,
    SR_NCLUSTERID_X,
    SR_NCLUSTERID_Y,
    SR_NCLUSTERID_Z,
    SR_CLUSTER_CTAID_X,
    SR_CLUSTER_CTAID_Y,
    SR_CLUSTER_CTAID_Z,
    SR_CLUSTER_NCTAID_X,
    SR_CLUSTER_NCTAID_Y,
    SR_CLUSTER_NCTAID_Z,
    SR_CLUSTER_CTARANK,
    SR_CLUSTER_NCTARANK,
    SR_IS_EXPLICIT_CLUSTER, /* a predicate */
    SR_CLOCK,
    SR_CLOCK_HI,
    SR_CLOCK64,
    SR_GLOBALTIMER,
    SR_COUNT
} emu_special_kind;

enum { EVERY_ENTRY = -1 };

/** A variable of the module: .global, .const, .shared. */
typedef struct emu_symbol {
    const char *name;
    size_t name_length;
    emu_space space;
    uint64_t bytes;
    uint32_t align;
    bool is_extern;      /* .extern .shared: the dynamic part */
    bool is_used;        /* of .shared: by a kernel */
    const char *unknown; /* unsupported property, if functions that name it cannot run; NULL: none */
    int entry;           /* of .shared: the only entry whose blocks have it; EVERY_ENTRY */
    uint64_t address;    /* of .shared: the offset, set by emu_ptx_load; otherwise the address, set by the loader */
    uint8_t *initial;    /* NULL: zero */
    struct emu_initial_address {
        uint64_t at;
        int symbol;
        int64_t displacement;
    } * address_in; /* initialisers that name symbols */
    size_t address_count;
} emu_symbol;

/** A constant with the address of a symbol, which the loader fills in: 32 lanes at constants + offset. */
typedef struct emu_fixup {
    uint32_t offset;
    uint8_t bytes;
    int symbol;
    int64_t displacement;
    uint32_t function; /* function that uses it */
} emu_fixup;

typedef struct emu_function {
    const char *name;
    size_t name_length;
    bool is_entry;
    emu_param *param, *result;
    size_t params, results;
    uint32_t param_bytes; /* of an entry's buffer */
    uint32_t first_inst, insts;
    uint32_t register_bytes;           /* of a warp's register file for this entry, including all functions that it may call */
    uint32_t registers;                /* registers used, likewise */
    uint32_t local_bytes, frame_bytes; /* per lane, likewise */
    emu_special *special;
    size_t specials;
    uint32_t maxntid[3], reqntid[3], cluster[3]; /* 0: none */
    uint32_t maxnreg, minnctapersm;              /* 0: none */
    uint32_t max_cluster;                        /* blocks; 0: no limit */
    bool has_clusters;                           /* .explicitcluster: launch only with a cluster */
    bool counts_clusters;                        /* .blocksareclusters: the grid counts clusters */
    uint32_t *shared, shared_arrays;             /* for an entry: symbols of .shared that its blocks have */
    uint32_t static_shared;                      /* their bytes, without red zones */
    uint32_t most_asked;                         /* the largest count of a setmaxnreg; 0: there is none */
    bool orders_floats;                          /* blocks must run in sequence for a repeatable result */
    const char *body;                            /* parsed later, once all names are known */
    const char *refusal;                         /* why it cannot run, in the words of emu_ptx_load; NULL: it can */
} emu_function;

typedef struct emu_module {
    char *text;
    size_t text_bytes;
    int ptx_version, target; /* 90 for 9.0; 75 for sm_75 */
    bool is_specific;        /* sm_90a, sm_120f: has instructions that later targets may lack */
    bool is_own;             /* sm_90a: and some that the others of its family lack */
    bool has_sums;           /* contains products that read shared memory later: wgmma or tcgen05 */
    bool has_tensor_memory;  /* contains tcgen05 */
    emu_inst *inst;
    uint32_t insts;
    emu_function *function;
    size_t functions;
    emu_symbol *symbol;
    size_t symbols;
    emu_fixup *fixup;
    size_t fixups;
    uint8_t *constants;
    uint32_t constant_bytes;
    uint32_t shared_bytes;   /* of the static arrays, with red zones: start of the dynamic array */
    struct emu_arena *arena; /* owns all of the above */
} emu_module;

enum { EMU_FRAMES_IN_LOCAL = 0x800000 }; /* start of a function's parameters in local addresses */
enum { EMU_SHARED_DEFAULT = 49152 };     /* bytes per block without an opt-in; the limit of static arrays */
enum { EMU_RED_ZONE = 4096 };            /* around shared arrays; a multiple of 128, so that banks do not change */

/**
 * Decode a module. NULL if the text is wrong; then message says "line 12 (kernel k, a.cu:7): the PTX is wrong: ..." with the
 * statement. Unsupported PTX refuses only the function around it: see emu_function. text need not end in NUL.
 */
emu_module *emu_ptx_load(const char *text, size_t bytes, const struct emu_operations *operations, char *message,
                         size_t message_bytes);
void emu_ptx_free(emu_module *module);

/** Write the constants that hold addresses of symbols, once every emu_symbol.address is set. Call before the first launch. */
void emu_apply_fixups(emu_module *module);

/** Return the function of that name, or NULL. */
const emu_function *emu_ptx_function(const emu_module *module, const char *name);

#endif
