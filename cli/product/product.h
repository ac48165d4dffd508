/* SPDX-License-Identifier: Apache-2.0 */
/*
 * product: a request, and the objects made from it: a config, a source, an image, a launch, a product.
 */
#ifndef TJ_CLI_PRODUCT_H
#define TJ_CLI_PRODUCT_H

#include "npy.h"
#include "words.h"

/* ---- request ---------------------------------------------------------------------------------------------------- */

typedef struct cli_matrix_options {
    int32_t layout, transposed, repacked, conjugated;
    int64_t ld, stride;
} cli_matrix_options;

/** A command lists the groups that it takes; fields of other groups stay as if not given. */
typedef struct cli_request_options {
    const char *dtype, *n_dtype, *p_dtype, *compute, *symmetric, *any, *multiple_of, *invariant, *multiprocessors;
    cli_matrix_options m, n, p, c;
    int64_t batch;
    const char *groups, *offsets, *grouped, *expected, *combine, *scale[TJ_SCALED], *scale_k,
        *format; /* as tj_problem_set takes them */
    int32_t overlap, gather, scatter;
    cli_real alpha, beta;
    const char *epilogue, *with;
    const char *config, *family, *tile_width, *shared, *rows, *boundary;
} cli_request_options;

/** Adjacent, so that `more` of a cli_taken that begins with the first is the name of the last one taken. */
enum { CLI_PROBLEM, CLI_LAYOUT, CLI_SCALES, CLI_SCALARS, CLI_CONFIG, CLI_REQUEST_GROUPS };
extern const cli_group cli_request_groups[CLI_REQUEST_GROUPS];

/** The options for scales, by the tj_which of their matrix. */
extern const char *const cli_scale_names[TJ_SCALED];

enum { CLI_PATH_BYTES = 512 };

/** The product that the options ask for. */
typedef struct cli_request {
    tj_problem problem; /* for the generator: some dimensions may be arguments */
    tj_problem known;   /* the same with every extent a number */
    tj_config config;
    bool has_config;        /* the options say something about the config */
    tj_chosen_by chosen_by; /* if they do not: the origin of the choice, once cli_adapt has run; 0: none */
    double alpha, beta, alpha_im, beta_im;
    double number[TJ_EPILOGUE_OPERANDS];             /* operands of the epilogue's expression */
    uint64_t numbers_given;                          /* bits 1 << i */
    char file[TJ_EPILOGUE_OPERANDS][CLI_PATH_BYTES]; /* files of operands; "": none */
} cli_request;

/** Read the options of a command with a shape. Every error of the options is found here. */
tj_status cli_read_request(const cli_request_options *options, const char *shape, cli_request *request, tj_error *err);

/** Take --format, after the type of M that --dtype names. Types and scales of other options come later, and replace those of it. */
tj_status cli_take_format(const cli_request_options *options, tj_problem *problem, tj_error *err);

/** Check the options of a command that takes the shape from files; and, with request->known filled, the rest. */
tj_status cli_check_request(const cli_request_options *options, tj_error *err);
tj_status cli_settle_request(const cli_request_options *options, cli_request *request, tj_error *err);

/** Read the epilogue: request->known.epilogue, the scalars, and the operands of an expression given by --with. */
tj_status cli_take_epilogue(const cli_request_options *options, cli_request *request, tj_error *err);

/** Read a type option. NULL text changes nothing. */
tj_status cli_read_dtype(const char *text, int32_t *dtype, tj_error *err);

/** Take the types of a problem, and how it sums. */
tj_status cli_take_types(const cli_request_options *options, tj_problem *problem, tj_error *err);

enum { CLI_SHAPE_BYTES = 96 };

/**
 * Print a problem's shape, its extents as numbers: "16x32x48", with a batch "16x32x48 b5", with groups "16x32x48 g5". Files of
 * --trials use this form.
 */
void cli_print_shape(const tj_problem *problem, char text[CLI_SHAPE_BYTES]);

/** Set the problem as a member of that name. */
void cli_set_problem(tj_json *answer, const tj_problem *problem);

/** Return the name of family number index, for options. */
const char *cli_family_at(size_t index);

/* ---- machine ---------------------------------------------------------------------------------------------------- */

typedef struct cli_machine_options {
    const char *arch, *device, *cache_dir, *nvrtc, *driver, *dump_dir, *remote;
    int32_t no_cache;
} cli_machine_options;

extern const cli_group cli_machine_group;

/** Create a context as the options ask, for a command that opens several. Owned: the caller. */
tj_status cli_context_create(const cli_call *call, const cli_machine_options *machine, tj_context **context, tj_error *err);

/** Do the options leave the device open: --device auto, and no driver named? */
bool cli_may_emulate(const cli_machine_options *machine);

/**
 * Open the call's context. to_run: if the options leave the device open and there is no GPU, use the emulator, and say so in a
 * line on stderr.
 */
tj_status cli_open(cli_call *call, const cli_machine_options *machine, bool to_run, tj_error *err);

/** Return the device that such a context uses when none is current: --device, $TILEJIT_DEVICE, 0. */
int cli_device_ordinal(const cli_machine_options *machine);

/** Return --arch; else the target of the device; else, without a driver, sm_90. */
tj_status cli_target(const cli_call *call, const cli_machine_options *machine, char target[16], tj_error *err);

/** Return the facts of the product that a target stands for: sm_90a and compute_90 count as sm_90. */
tj_status cli_device_of_target(const char *target, tj_device_facts *facts, tj_error *err);

/** Refuse --arch in a command that runs the kernel: the device decides the target. */
tj_status cli_refuse_arch(const cli_call *call, const cli_machine_options *machine, tj_error *err);

/* ---- config ----------------------------------------------------------------------------------------------------- */

/** Return the library's choice for a problem on a device, with the records of the context's store and its packs. */
tj_status cli_choose(const cli_call *call, const tj_device_facts *facts, const tj_problem *problem, tj_config *config,
                     tj_chosen_by *by, tj_error *err);

/**
 * If the options name no config, choose one as the library would (by record, else by model); otherwise choose the tile width
 * that they leave open. The choice is for the device of the call's context, or, with --arch or without a driver, for the
 * product that the target stands for. A target that stands for none changes nothing.
 */
tj_status cli_adapt(const cli_call *call, const cli_machine_options *machine, const char *target, cli_request *request,
                    tj_error *err);

/** Name the origin of the choice: after "chosen by"; for JSON; and as a member and a line on out, if there was a choice. */
const char *cli_chosen_by(tj_chosen_by by);
const char *cli_chosen_word(tj_chosen_by by);
void cli_tell_chosen(const cli_call *call, FILE *out, tj_chosen_by by);

/* ---- kernel ----------------------------------------------------------------------------------------------------- */

/** "compiled", "store", "memory", "pack", "remote". */
const char *cli_origin(tj_origin origin);

/** Did the compiler spill registers of a kernel that keeps its accumulators there? Such a kernel is never launched. */
bool cli_spills(const tj_source *source, const tj_image *image);

/** Describe a source and an image (NULL: none) in an object. */
void cli_answer_kernel(tj_json *object, const tj_source *source, const tj_image *image);

/** Generate the source of a request, with the config of cli_adapt, for cli_target's target. */
tj_status cli_make_source(const cli_call *call, const cli_machine_options *machine, cli_request *request, char target[16],
                          tj_source **source, tj_error *err);

/** Make its image too: generate, compile and store without running, and report. After a failure the image may hold the log. */
tj_status cli_make_image(const cli_call *call, const cli_machine_options *machine, cli_request *request, tj_source **source,
                         tj_image **image, tj_error *err);

/** Make the image and finish: --compile-only. */
cli_exit cli_compile_only(const cli_call *call, const cli_machine_options *machine, const cli_request *request, tj_error *err);

/* ---- launch ----------------------------------------------------------------------------------------------------- */

/** Launch and wait. emulator NULL: a GPU, without progress. */
tj_status cli_launch(tj_context *context, const tj_emulator *emulator, const tj_plan *plan, const tj_operands *operands,
                     tj_error *err);

/** The number of launches. As options: warmup below 0, repeat 0: not given. */
typedef struct cli_timing {
    int64_t warmup, repeat;
} cli_timing;

extern const cli_group cli_timing_group;

/** Return the given numbers, and the command's defaults for the others. */
cli_timing cli_timing_or(cli_timing given, int64_t warmup, int64_t repeat);

/** Return median and minimum of the timed launches. */
tj_status cli_time(tj_context *context, const tj_plan *plan, const tj_operands *operands, cli_timing timing, double *median_us,
                   double *least_us, tj_error *err);

/** Return the bandwidth measured by tilejit devices --measure; 0: none. */
double cli_read_bandwidth(tj_context *context, const tj_device_facts *facts);

/** Measure the bandwidth of the context's device, and remember it if there is a store. */
tj_status cli_measure_bandwidth(tj_context *context, const tj_device_facts *facts, double *bytes_per_s, tj_error *err);

/* ---- counters --------------------------------------------------------------------------------------------------- */

/** Launch a plan and count one of its kernels: a launch of its launch form. */
tj_status cli_count_kernel(tj_context *context, const tj_emulator *emulator, const tj_plan *plan, const tj_operands *operands,
                           int32_t step, cuEmuLaunch *launch, tj_error *err);

/**
 * Serve --count: count the next launch, then report, with by_line line by line of the CUDA source. Of several kernels this
 * counts the one that multiplies; each other kernel is counted by a launch of its own. For people each is shown, in JSON their
 * sum. Errors: TJ_ERR_UNSUPPORTED: the device is not an emulator.
 */
tj_status cli_count_begin(const cli_call *call, bool by_line, const tj_plan *plan, tj_error *err);
tj_status cli_count_end(const cli_call *call, bool by_line, const tj_plan *plan, const tj_operands *operands, tj_error *err);

/** Add one to sum, counter by counter. */
void cli_counters_add(cuEmuCounters *sum, const cuEmuCounters *one);

/** Set every counter by its name. */
void cli_set_counters(tj_json *object, const cuEmuCounters *counters);

/* ---- product ---------------------------------------------------------------------------------------------------- */

typedef struct cli_check_options {
    int32_t no_check;
    cli_real budget;
} cli_check_options;

extern const cli_group cli_check_group;

/** Counting of the launch, on the emulator: none, in total, by line. */
enum { CLI_COUNT = 1, CLI_COUNT_LINES = 2 };

typedef struct cli_product {
    const cli_request *request;
    const void *host[TJ_OPERANDS_MOST]; /* as tj_workbench_options.host; NULL: random, of a seed */
    uint64_t seed;
    void *p;       /* receives P in the same layout */
    void *scale_p; /* receives the scales of P that the kernel finds; NULL: they are not wanted */
    cli_timing timing;
    const cli_check_options *check;
    int32_t counts;
    const void *offsets; /* of groups; NULL: random group sizes */
} cli_product;

/**
 * Prepare, copy, launch, read back, time, check, and report. Without a driver, generate, compile and store the kernel, then
 * fail and say so. CLI_CHECK_FAILED: P was computed, and is wrong.
 */
cli_exit cli_multiply(const cli_call *call, const cli_machine_options *machine, const cli_product *product, tj_error *err);

/* ---- shapes ----------------------------------------------------------------------------------------------------- */

enum { CLI_CATEGORY_BYTES = 32 };

typedef struct cli_shape {
    char text[CLI_SHAPE_BYTES];
    char category[CLI_CATEGORY_BYTES]; /* "": none given */
    tj_problem problem;
    int64_t launches; /* from a column named count; 0: not given */
} cli_shape;

typedef struct cli_shapes {
    cli_shape *item;
    size_t count;
} cli_shapes;

/**
 * Read the shapes of the operands, then those of a file; path may be NULL. Shapes with the same plan, which differ only in
 * values of the launch, become one: the shape with the most launches. all->item belongs to the caller; free(), after a failure
 * too.
 */
cli_exit cli_read_shapes(const cli_call *call, const cli_request_options *options, const char *path, cli_shapes *all,
                         tj_error *err);

/** Help text of --shapes. */
#define CLI_SHAPES_SUMMARY                                                                                                    \
    "The shapes of a file too (- is stdin), more than the 64 of a command line: lines of category,j,k,l,batch or j,k,l or "   \
    "jxkxl; or a header that names columns, j, k, l and options such as dtype, as TILEJIT_CAPTURE writes it. Lines that one " \
    "kernel serves, because the launch brings what they differ in, are one shape."

/**
 * Add the records of a comma-separated list of files to a set; of a folder, its *.json. problem and device are for T4 files
 * that lack theirs; both may be NULL.
 */
tj_status cli_read_records(const char *list, const tj_problem *problem, const tj_device_facts *device, tj_records *records,
                           tj_error *err);

/** Write an array to a file that is open; a signal waits meanwhile. */
tj_status cli_write_array(const tj_output *out, const tj_npy *array, tj_error *err);

/** Read a text file; one with a NUL, or of more than max_bytes, is refused. Owned: the caller; free(). */
tj_status cli_read_text(const char *path, size_t max_bytes, char **text, tj_error *err);

#endif
