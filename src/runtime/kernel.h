/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel: an image loaded into one CUDA context, and its launch. Declarations for this layer beyond <tilejit/kernel.h>.
 *
 *     kernel.c    load, facts, unload
 *     operands.c  what operands take from an expression's names, and from a problem
 *     launch.c    operands -> extents, grid, arguments -> cuLaunchKernel
 *     steps.c     what a launch finds prepared for each of its kernels; tensor maps
 *     paths.c     what a launch chose on the device
 *     pointers.c  what the driver knows of each operand
 */
#ifndef TJ_SRC_KERNEL_H
#define TJ_SRC_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include <tilejit/kernel.h>

#include "canonical.h"
#include "host.h"
#include "list_table.h"
#include "memory.h"
#include "operand_table.h"
#include "part_of_device.h"

/** The parts of an image that a loader needs. All borrowed, for the duration of the call. */
typedef struct tj_code {
    const char *target;   /* "sm_90", "sm_90a", "compute_90" */
    const char *compiler; /* "13.0 V13.0.88" */
    const char *ptx;      /* NUL-terminated; NULL: none */
    const void *cubin;    /* NULL: none */
} tj_code;

/** As tj_kernel_load. */
tj_status tj_host_load(tj_host *host, const tj_source *source, const tj_image *image, tj_kernel **kernel, tj_error *err);

/** The same from its parts; problem must be canonical. Enters and leaves a scope itself. */
tj_status tj_kernel_load_code(tj_host *host, const tj_launch_form *form, const tj_problem *problem, const tj_code *code,
                              tj_kernel **kernel, tj_error *err);

/**
 * tj_kernel_launch for a caller that is inside a scope with scope.context_id == kernel->context_id: no driver
 * call but cuLaunchKernel. Kernels whose extents are all fixed have grid and constant arguments ready.
 */
tj_status tj_kernel_launch_ready(const tj_kernel *kernel, const tj_operands *operands, CUstream stream, tj_error *err);

/**
 * Are the grid and constant arguments of a kernel ready, and the operands good as they stand? Then tj_kernel_suits says so too,
 * and tj_kernel_queue_ready launches it, without another look at them, for a caller as of tj_kernel_launch_ready. Pure.
 */
bool tj_kernel_is_ready_for(const tj_kernel *kernel, const tj_operands *operands);
tj_status tj_kernel_queue_ready(const tj_kernel *kernel, const tj_operands *operands, CUstream stream, tj_error *err);

/**
 * Ask the driver what each pointer is: host addresses, freed ones, memory of a device that the kernel's cannot reach,
 * buffers shorter than the problem needs. Inside a scope as for tj_kernel_launch_ready. One driver
 * call per operand.
 * Errors: TJ_ERR_INVALID_ARGUMENT, and those of a launch that come before the driver.
 */
tj_status tj_kernel_check_pointers(const tj_kernel *kernel, const tj_operands *operands, tj_error *err);

/**
 * Put into operands the numbers of a canonical problem that its general form (tj_problem_general) leaves to the launch. The
 * other operands stay as they are.
 */
void tj_operands_take(tj_operands *operands, const tj_problem *problem, const tj_problem *general);

/* ---- between kernel.c, launch*.c and pointers.c ------------------------------------------------------------------- */

enum { TJ_WORKSPACE_ALIGNMENT = 16, TJ_FETCH_BYTES = 64 };

_Static_assert(offsetof(tj_operands, n) == offsetof(tj_operands, m) + sizeof(tj_operand) &&
                   offsetof(tj_operands, with) == offsetof(tj_operands, m) + TJ_WITH * sizeof(tj_operand),
               "operands stand side by side, in this order");

/** Return one of the operands. */
static inline const tj_operand *tj_operand_at(const tj_operands *x, int which)
{
    return (const tj_operand *)(const void *)((const char *)x + offsetof(tj_operands, m) + (size_t)which * sizeof(tj_operand));
}

/** Return one of the operands, to be changed. */
static inline tj_operand *tj_operand_in(tj_operands *x, int which)
{
    return (tj_operand *)tj_operand_at(x, which);
}

/**
 * A stored matrix. A line is a row of a row-major matrix, a column of a column-major one. All in elements. Matrices at
 * arbitrary addresses are reached by an array of pointers, which is the operand then: stride and span count its pointers, one
 * per product.
 */
typedef struct tj_stored_shape {
    int64_t lines, width; /* number of lines; elements of a line */
    int64_t ld, stride;
    int64_t span; /* first to last element, batch included; 0 if there is none */
} tj_stored_shape;

/** The dynamic shared bytes of a step whose blocks and tiles are so wide and high. */
static inline int64_t tj_shared_of_width(const tj_launch_step *step, int64_t width)
{
    return step->dynamic_shared_bytes * width * width / step->block_cols / step->block_cols;
}

typedef struct tj_geometry {
    unsigned int grid[3], block[2], shared_bytes; /* shared_bytes: dynamic ones */
    int64_t tiles;                                /* TJ_GRID_WALK, TJ_GRID_WALK_ALL: of one product */
} tj_geometry;

/** One launch, with every number known: everything it passes except addresses and scalars. */
typedef struct tj_launch_shape {
    int64_t j, k, l, batch, m_rows, p_rows;
    int64_t products;                     /* of one launch of all steps: the batch, or what grid.z holds of it */
    int32_t multiprocessors;              /* that it may occupy */
    tj_stored_shape matrix[TJ_ADDRESSES]; /* C, and scales, only if the problem has them */
    tj_geometry geometry[TJ_LAUNCH_MAX_STEPS];
    int32_t extent[TJ_EXTENT_P_ROWS + 1],
        products_now; /* as kernels take them: tj_extent; the products of the launch at hand */
} tj_launch_shape;

/** The place of a parameter's value: a byte offset into one of these. */
enum { TJ_IN_OPERANDS, TJ_IN_SHAPE, TJ_IN_CALL, TJ_IN_OFFSETS, TJ_IN_EXTRAS, TJ_PLACES };

typedef struct tj_parameter {
    uint16_t place, offset;
} tj_parameter;

/** The value that a parameter of a kernel takes. */
typedef struct tj_argument_facts {
    tj_parameter parameter;
    bool is_there; /* the index is that of something that launches of the kernel may have */
    size_t bytes, alignment;
} tj_argument_facts;

/** The arguments that every launch derives from its operands. */
typedef struct tj_launch_call {
    const void *c; /* P where there is none */
    union {
        float real;
        int64_t whole;
        float c64[2];
        double c128[2];
    } alpha, beta;
    float number[TJ_EPILOGUE_OPERANDS]; /* of the expression, where the kernel has some */
} tj_launch_call;

/** The arguments that only launches of some steps derive. */
typedef struct tj_launch_extras {
    CUtensorMap map[TJ_LAUNCH_MAX_MAPS];
    void *slice[TJ_LAUNCH_MAX_SLICES];
} tj_launch_extras;

/** A step of the form, loaded: all that its launches have in common. */
typedef struct tj_loaded_step {
    CUfunction function;
    int32_t parameters;
    unsigned int attribute_count; /* 0: cuLaunchKernel will do */
    bool has_extras;
    bool takes_call; /* a parameter is in what a launch makes of its operands */
    bool is_last;    /* of the form */
    tj_parameter parameter[TJ_LAUNCH_MAX_ARGS];
    CUlaunchAttribute attribute[2];
    int64_t clustered; /* blocks of whole clusters that the device holds at once; 0: no clusters, or the driver does not say */
    int64_t max_dynamic_shared; /* bytes that a launch may ask for */
    tj_kernel_facts facts;
} tj_loaded_step;

/**
 * The members that a launch of M, N and P reads come first: the driver evicts most of the caches between launches
 * (tj_kernel_prefetch).
 */
struct tj_kernel {
    const tj_driver *driver;
    uint64_t context_id; /* of the CUDA context that it was loaded in, as tj_scope.context_id */
    /* Ready: everything but pointers and scalars is known since the load. */
    bool is_ready;
    bool takes_more;                /* than M, N and P: a launch that is ready has more to look at */
    size_t alignment[TJ_ADDRESSES]; /* of the operand, in bytes: an element, or the vector that the source reads at once */
    /* From the first byte of that operand, and from that of P, in which both may lie if the other begins there; for arrays of pointers
     * 1, and for a C that is not read 0. */
    struct {
        uintptr_t of_operand, of_p;
    } reach[TJ_ADDRESSES];
    tj_loaded_step step[TJ_LAUNCH_MAX_STEPS];

    tj_gpu *gpu;
    CUcontext handle;  /* of that context */
    int device;        /* ordinal of the device that it was loaded on */
    CUlibrary library; /* one of library and module is set */
    CUmodule module;
    tj_launch_form form;
    tj_problem problem;
    int64_t max_grid[3];
    int32_t multiprocessors;              /* that its launches may occupy, except on a stream that has fewer */
    bool walks;                           /* a step, whose grid depends on them */
    tj_operand_row operand[TJ_ADDRESSES]; /* of problem */
    size_t element_bytes[TJ_ADDRESSES];   /* tj_operand_element_bytes */
    tj_list_row list[TJ_LISTS];           /* of problem */
    bool has_more;                        /* scales, or operands of an expression */
    bool has_numbers;                     /* operands that are numbers */
    bool has_outputs;                     /* besides P */
    bool has_pairs;                       /* an element of P takes two columns of M . N */
    bool weighs_c;                        /* a beta of 0 reads no C */
    bool has_scalars;                     /* alpha or beta is an argument */
    tj_type scalar_type;                  /* tj_scalar_type */
    bool c_may_be_p;                      /* C and P are stored alike, so c = NULL can mean p */
    tj_launch_shape ready;
};

/** Is beta 0? Then a kernel that weighs C by it does not read C. */
static inline bool tj_beta_is_zero(const tj_operands *x)
{
    return x->beta == 0.0 && x->beta_im == 0.0;
}

/** Prefetch the members that a coming launch reads, during a slow driver call. Any address is safe. */
static inline void tj_kernel_prefetch(const tj_kernel *kernel)
{
    const uintptr_t first = (uintptr_t)kernel;

    for (size_t at = 0; at < offsetof(struct tj_kernel, reach) + 2 * sizeof kernel->reach[0]; at += TJ_FETCH_BYTES)
        __builtin_prefetch((const void *)(first + at));
    __builtin_prefetch((const void *)(first + offsetof(struct tj_kernel, step)));
    __builtin_prefetch((const void *)(first + offsetof(struct tj_kernel, ready.geometry)));
}

/**
 * Do the operands bring the workspace that the form asks for? One that is too small is none: the plan may have been replaced
 * since it was made.
 */
static inline bool tj_kernel_has_workspace(const tj_kernel *kernel, const tj_operands *x)
{
    return x->workspace && x->workspace_bytes >= (size_t)kernel->form.workspace_bytes;
}

/** Is it where kernels may read it in vectors? */
static inline bool tj_workspace_is_aligned(const tj_operands *x)
{
    return (uintptr_t)x->workspace % TJ_WORKSPACE_ALIGNMENT == 0;
}

/**
 * Do the operands bring what only some texts need: pointers aligned to more than an element, and a workspace where none can
 * be had? Of operands of another version the answer is no.
 */
static inline bool tj_kernel_suits(const tj_kernel *kernel, const tj_operands *x)
{
    const size_t *alignment = kernel->alignment;

    return x->struct_size == sizeof *x &&
           (((uintptr_t)x->m.address & (alignment[TJ_MATRIX_M] - 1)) |
            ((uintptr_t)x->n.address & (alignment[TJ_MATRIX_N] - 1)) |
            ((uintptr_t)x->p.address & (alignment[TJ_MATRIX_P] - 1)) |
            ((uintptr_t)x->c.address & (alignment[TJ_MATRIX_C] - 1))) == 0 &&
           (kernel->form.workspace_bytes == 0 || tj_kernel_has_workspace(kernel, x) ||
            tj_memory_is_in_order(kernel->gpu, kernel->driver));
}

/**
 * Operands -> numbers; checks extents, promises, leading dimensions, strides, grid; looks at no pointer. multiprocessors: at most
 * this number; 0: those of the kernel. Pure.
 */
tj_status tj_launch_resolve(const tj_kernel *kernel, const tj_operands *operands, int32_t multiprocessors,
                            tj_launch_shape *shape, tj_error *err);

/** Copy the known fields of a caller's struct of another version; refuse unknown ones that are set. */
tj_status tj_operands_accept(const tj_operands *given, tj_operands *operands, tj_error *err);

/**
 * Resolve operands and shape, and check pointers: not NULL if elements are read or written, aligned as the source requires, P
 * not overlapping an input; the workspace large enough.
 */
tj_status tj_launch_settle(const tj_kernel *kernel, const tj_operands *given, int32_t multiprocessors, tj_operands *operands,
                           tj_launch_shape *shape, tj_error *err);

/**
 * Return the result of a launch that could enter no scope: that status and *err; but if the device is lost and the operands are
 * wrong, the error of the operands.
 */
tj_status tj_launch_refuse(const tj_kernel *kernel, const tj_operands *given, tj_status status, tj_error *err);

/**
 * Are there readable offsets, and, in host memory, is each valid for j rows? Only for a problem with groups.
 */
bool tj_launch_offsets_are_right(const tj_kernel *kernel, const tj_operands *x, int64_t j);

/** Set the axis of each step's grid that counts products of the batch, for a launch of `products` products. */
void tj_launch_set_products(const tj_kernel *kernel, int64_t products, tj_launch_shape *shape);

/** Return facts about the value that an argument of the form stands for: the one place that knows every kind of them. */
tj_argument_facts tj_argument_facts_of(const tj_kernel *kernel, const tj_argument *arg);

/**
 * Fill in step[index] but for its function and facts. features: of what the code was compiled for (tj_target_features).
 * Errors: TJ_ERR_UNSUPPORTED: the driver is too old for clusters or for tensor maps; TJ_ERR_DRIVER.
 */
tj_status tj_step_prepare(tj_kernel *kernel, int index, uint32_t features, tj_error *err);

/** The parts of the workspace and the tensor maps that a step takes. */
tj_status tj_step_make_extras(const tj_kernel *kernel, int index, const tj_operands *x, const tj_launch_shape *shape,
                              tj_launch_extras *extras, tj_error *err);

/** Set is_ready and what goes with it, if the problem leaves nothing open. For kernel.c. */
void tj_launch_make_ready(tj_kernel *kernel);

#endif
