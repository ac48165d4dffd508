/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tilejit explain: the bytes that a kernel will move, its bottleneck, its expected time; in words and numbers, on one screen.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "look.h"

typedef struct explain_options {
    cli_look_options look;
    int32_t plots;
} explain_options;

static const cli_option own[] = {
    {"plot", CLI_FLAG, offsetof(explain_options, plots), "Draw the roofline as text.", .low = 1},
    {NULL},
};

/* ---- one config ----------------------------------------------------------------------------------------------------- */

/* The scales of each matrix, as the quantiser's arrays lie: rows by columns. */
static void print_scales(const tj_problem *known)
{
    static const struct {
        const char *name, *field;
    } of[] = {{"scales of M", "scale-m"}, {"scales of N", "scale-n"},  {"scales of P", "scale-p"}, {"zero points of M", NULL},
              {"zero points of N", NULL}, {"scale of all of M", NULL}, {"scale of all of N", NULL}};
    const tj_problem canonical = tj_problem_canonical(known);
    char form[TJ_PROBLEM_FIELD_BYTES];
    const char *head = "scales    ";

    for (size_t i = 0; i < sizeof of / sizeof of[0]; i++) {
        tj_operand_shape shape = TJ_OPERAND_SHAPE_INIT;

        if (tj_operand_get_shape(known, TJ_OPERAND_SCALE + (int)i, &shape, NULL) != TJ_OK || !shape.is_taken)
            continue;
        tj_problem_get(&canonical, of[i].field, form);
        cli_print(stdout, "%s %s: %s%s%" PRId64 " x %" PRId64 " of %s\n", head, of[i].name, of[i].field ? form : "",
                  of[i].field ? ", " : "", shape.rows, shape.cols, tj_type_name((tj_type)shape.type));
        head = "          ";
    }
}

/* The order of the sums that an invariant asks for. */
static void print_sum_order(const tj_problem *known)
{
    const char *const order = tj_problem_sum_order(known);

    if (*order)
        cli_print(stdout, "sums       %s: a row of P has the same bits in every call\n", order);
}

static void print_work(const cli_case *one, const tj_problem *known)
{
    const tj_work *c = &one->analysis.work;
    const int64_t m = known->j.extent * known->k.extent, n = known->k.extent * known->l.extent;
    const int64_t batch = known->batch > 1 ? known->batch : 1,
                  all_n = n * (known->rows.groups > 0 ? known->rows.groups : batch);
    const int64_t requests = c->traffic[TJ_LOAD_M].requests + c->traffic[TJ_LOAD_N].requests + c->traffic[TJ_LOAD_C].requests +
                             c->traffic[TJ_LOAD_POINTERS].requests + c->traffic[TJ_LOAD_SCALES].requests +
                             c->traffic[TJ_STORE_P].requests;
    const int64_t sectors = c->traffic[TJ_LOAD_M].sectors + c->traffic[TJ_LOAD_N].sectors + c->traffic[TJ_LOAD_C].sectors +
                            c->traffic[TJ_LOAD_POINTERS].sectors + c->traffic[TJ_LOAD_SCALES].sectors +
                            c->traffic[TJ_STORE_P].sectors;
    const int64_t scales = c->traffic[TJ_LOAD_SCALES].elements + c->traffic[TJ_REDUCE_LOAD_SCALES].elements;

    cli_print(stdout, "work       %s FLOP; with zero fill %s multiply-adds are executed\n", cli_grouped(c->flop).text,
              cli_grouped(cli_fma(one)).text);
    cli_print(stdout, "global     M %s loads (each element %.4g times), N %s (%.4g times)",
              cli_grouped(c->traffic[TJ_LOAD_M].elements).text,
              cli_ratio((double)c->traffic[TJ_LOAD_M].elements, (double)(m * batch)),
              cli_grouped(c->traffic[TJ_LOAD_N].elements).text,
              cli_ratio((double)c->traffic[TJ_LOAD_N].elements, (double)all_n));
    if (c->traffic[TJ_LOAD_C].elements)
        cli_print(stdout, ", C %s", cli_grouped(c->traffic[TJ_LOAD_C].elements).text);
    cli_print(stdout, ", P %s stores\n", cli_grouped(c->traffic[TJ_STORE_P].elements).text);
    if (c->traffic[TJ_LOAD_POINTERS].elements + c->traffic[TJ_REDUCE_LOAD_POINTERS].elements)
        cli_print(stdout, "           %s loads of pointers to matrices\n",
                  cli_grouped(c->traffic[TJ_LOAD_POINTERS].elements + c->traffic[TJ_REDUCE_LOAD_POINTERS].elements).text);
    if (scales)
        cli_print(stdout, "           %s loads of %s\n", cli_grouped(scales).text,
                  known->epilogue.expression.operands ? "what the epilogue takes" : "scales");
    if (c->traffic[TJ_PACK_STORE].elements)
        cli_print(stdout, "           %s of operands copied to the workspace first, by a kernel of its own\n",
                  cli_bytes(c->traffic[TJ_PACK_STORE].bytes).text);
    if (c->splits > 1)
        cli_print(stdout, "           %d splits of k: %s partial sums stored and loaded again by a second kernel\n",
                  (int)c->splits, cli_grouped(c->traffic[TJ_STORE_W].elements).text);
    cli_print(stdout, "           %s in all, %.3g times the least (%s); %s requests, %s sectors of 32 bytes\n",
              cli_bytes(c->global_bytes).text, cli_ratio((double)c->global_bytes, (double)c->pipe_work[TJ_PIPE_MEMORY]),
              cli_bytes(c->pipe_work[TJ_PIPE_MEMORY]).text, cli_grouped(requests).text, cli_grouped(sectors).text);
    if (c->shared_bytes)
        cli_print(
            stdout, "shared     %s per block; %s loads, %s stores; %.3g wavefronts a request (least: %.3g)\n",
            cli_bytes(c->shared_bytes).text, cli_grouped(c->traffic[TJ_SHARED_LOAD].elements).text,
            cli_grouped(c->traffic[TJ_SHARED_STORE].elements).text,
            cli_ratio((double)(c->traffic[TJ_SHARED_LOAD].wavefronts + c->traffic[TJ_SHARED_STORE].wavefronts),
                      (double)(c->traffic[TJ_SHARED_LOAD].requests + c->traffic[TJ_SHARED_STORE].requests)),
            fmax(1, cli_ratio((double)(c->traffic[TJ_SHARED_LOAD].bytes + c->traffic[TJ_SHARED_STORE].bytes),
                              128.0 * (double)(c->traffic[TJ_SHARED_LOAD].requests + c->traffic[TJ_SHARED_STORE].requests))));
    if (c->async_bytes)
        cli_print(stdout, "           %s of the loads are asynchronous copies to shared memory, %d phases ahead\n",
                  cli_bytes(c->async_bytes).text, (int)c->phases_ahead);
    if (c->spilled)
        cli_print(stdout, "           %d registers a thread do not fit its launch bounds and would be spilled (an estimate)\n",
                  (int)c->spilled);
    if (c->phases)
        cli_print(stdout,
                  "phases     %s per block, %.3g barriers each; in a whole one %s loads for %s operations: %" PRId64
                  " per load\n",
                  cli_grouped(c->phases).text, cli_ratio((double)c->barriers, (double)c->blocks * (double)c->phases),
                  cli_grouped(c->phase.loads).text, cli_grouped(c->phase.flop).text, c->phase.flop / c->phase.loads);
}

static void print_roofline(const cli_case *one)
{
    const tj_analysis *a = &one->analysis;

    cli_print(stdout, "intensity  %.3g FLOP/B with edges and P; the textbook's figure for a whole %s is %.3g\n",
              a->roof.intensity, a->work.phases ? "phase" : "step", a->work.phase.intensity);
    cli_print(stdout, "roofline   %s (%s) and %s%s: ridge at %.3g FLOP/B\n", cli_rate(a->roof.bandwidth, "B/s").text,
              a->peaks.is_measured ? "measured" : "by clock and bus", cli_rate(a->roof.peak, "FLOP/s").text,
              a->peaks.is_by_data_sheet ? " (by data sheet: such a device was never measured)" : "", a->roof.ridge);
    cli_print(stdout, "           attainable %s, %.3g %% of the peak, if no cache helped\n",
              cli_rate(a->roof.attainable, "FLOP/s").text, 100 * a->roof.of_peak);
}

static void print_share(const cli_case *one, const tj_problem *known)
{
    if (known->multiprocessors > 0)
        cli_print(stdout, "share      at most %d multiprocessors%s\n", (int)one->analysis.multiprocessors,
                  one->analysis.keeps_share ? ", which this config keeps to"
                                            : "; this config takes others too when they are free");
}

static void print_occupancy(const cli_case *one)
{
    const tj_occupancy *o = &one->analysis.occupancy;
    const tj_work *c = &one->analysis.work;

    cli_print(stdout, "blocks     %s of %d threads, %d registers each%s\n", cli_grouped(c->blocks).text,
              (int)c->threads_per_block, (int)one->analysis.needs.registers,
              one->registers ? "" : " (an estimate: no compiler was asked)");
    if (o->blocks_per_sm == 0) {
        cli_print(stdout, "occupancy  not one block fits: %s; needed: %s\n", tj_limit_name((tj_limit)o->limit), o->lift);
        return;
    }
    cli_print(stdout, "occupancy  %d blocks on a multiprocessor, %.3g %% of its warps; the limit is %s\n",
              (int)o->blocks_per_sm, 100 * o->fraction, tj_limit_name((tj_limit)o->limit));
    cli_print(stdout, "           %s%s\n", o->warps_per_sm < o->max_warps_per_sm ? "more by: " : "", o->lift);
    cli_print(stdout, "waves      %s; the last has %s of %s blocks, and %.3g %% of all places stay empty\n",
              cli_grouped(o->waves).text, cli_grouped(o->last_wave_blocks).text, cli_grouped(o->blocks_per_wave).text,
              100 * o->tail);
}

/* Print the verdict of the time terms, and whether the roofline, which knows no caches and only two pipes, agrees. */
static void print_verdict(const cli_case *one)
{
    const tj_roof *roof = &one->analysis.roof;
    const tj_prediction *p = &one->analysis.predicted;
    const int32_t its_term = roof->is_memory_bound ? TJ_PIPE_MEMORY : one->analysis.work.pipe;
    const char *const its_name = tj_term_at(its_term)->name;
    const bool agrees = strcmp(its_name, p->bound) == 0;

    cli_print(stdout, "bound by   %s, the longest of these\n", p->bound);
    cli_print(stdout, "           the roofline says %s%s: %.3g FLOP/B is %s its ridge%s", agrees ? "so too, " : "", its_name,
              roof->intensity, roof->is_memory_bound ? "left of" : "right of", agrees ? "\n" : "; ");
    if (!agrees)
        cli_print(stdout, "%s %s takes %s\n", roof->is_memory_bound ? "with caches" : "alone", its_name,
                  cli_duration(p->term_us[its_term]).text);
}

static void print_prediction(const cli_case *one)
{
    const tj_prediction *p = &one->analysis.predicted;
    const char *comma = "";

    cli_print(stdout, "predicted  %s, %s\n          ", cli_duration(p->us).text, cli_rate(p->flop_per_s, "FLOP/s").text);
    for (int32_t t = 0; t < TJ_TERMS; t++) {
        if (!cli_shows_term(one, t) || t == TJ_TERM_REDUCE)
            continue;
        cli_print(stdout, "%s %s %s", comma, tj_term_at(t)->name, cli_duration(p->term_us[t]).text);
        comma = ",";
    }
    cli_print(stdout, "\n");
    print_verdict(one);
    if (one->is_measured)
        cli_print(stdout, "measured   %s, %s: predicted / measured is %.2f\n", cli_duration(one->median_us).text,
                  cli_rate(cli_measured_rate(one), "FLOP/s").text, cli_ratio(p->us, one->median_us));
}

/* Print predicted and counted values, and whether they agree. */
static void print_counted(const cli_case *one)
{
    const tj_work *c = &one->analysis.work;
    const cuEmuCounters *e = &one->counted;
    const int64_t loads = c->traffic[TJ_LOAD_M].elements + c->traffic[TJ_LOAD_N].elements + c->traffic[TJ_LOAD_C].elements +
                          c->traffic[TJ_LOAD_W].elements + c->traffic[TJ_LOAD_POINTERS].elements +
                          c->traffic[TJ_REDUCE_LOAD_POINTERS].elements + c->traffic[TJ_LOAD_SCALES].elements +
                          c->traffic[TJ_REDUCE_LOAD_SCALES].elements;
    const int64_t stored = c->traffic[TJ_STORE_P].bytes + c->traffic[TJ_STORE_W].bytes + c->traffic[TJ_PACK_STORE].bytes;
    /* Asynchronous copies and packing kernels move untyped words; the compiler merges narrow elements into words. */
    const bool in_words = c->async_bytes > 0 || c->element_bytes < 4;
    const struct {
        const char *name;
        int64_t predicted;
        uint64_t counted;
    } row[] = {
        {in_words ? "bytes loaded" : "global loads", in_words ? c->global_bytes - stored : loads,
         in_words ? e->global_load_bytes : e->global_loads},
        {in_words ? "bytes stored" : "global stores",
         in_words ? stored : c->traffic[TJ_STORE_P].elements + c->traffic[TJ_STORE_W].elements,
         in_words ? e->global_store_bytes : e->global_stores},
        {c->traffic[TJ_PACK_LOAD].is_estimate ? NULL : "sectors loaded",
         c->traffic[TJ_LOAD_M].sectors + c->traffic[TJ_LOAD_N].sectors + c->traffic[TJ_LOAD_C].sectors +
             c->traffic[TJ_LOAD_W].sectors + c->traffic[TJ_LOAD_POINTERS].sectors +
             c->traffic[TJ_REDUCE_LOAD_POINTERS].sectors + c->traffic[TJ_LOAD_SCALES].sectors +
             c->traffic[TJ_REDUCE_LOAD_SCALES].sectors,
         e->global_load_sectors},
        {"shared loads",
         c->traffic[TJ_SHARED_LOAD].elements + c->traffic[TJ_PACK_SHARED_LOAD].elements +
             c->traffic[TJ_REDUCE_SHARED_LOAD].elements,
         e->shared_loads},
        {in_words ? "passes that store" : "shared stores",
         in_words ? c->traffic[TJ_SHARED_STORE].wavefronts + c->traffic[TJ_PACK_SHARED_STORE].wavefronts +
                        c->traffic[TJ_REDUCE_SHARED_STORE].wavefronts
                  : c->traffic[TJ_SHARED_STORE].elements + c->traffic[TJ_PACK_SHARED_STORE].elements +
                        c->traffic[TJ_REDUCE_SHARED_STORE].elements,
         in_words ? e->shared_store_wavefronts : e->shared_stores},
        {"multiply-adds", cli_fma(one) + c->reduce_fma, e->fma + e->mma_flops / 2},
        {"barriers of blocks", c->barriers + c->other_barriers, e->block_barriers},
    };

    cli_print(stdout, "counted    %-20s %16s %16s\n", "", "predicted", "emulator");
    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++)
        if (row[i].name)
            cli_print(stdout, "           %-20s %16s %16s  %s\n", row[i].name, cli_grouped(row[i].predicted).text,
                      cli_grouped((int64_t)row[i].counted).text,
                      row[i].predicted == (int64_t)row[i].counted ? "equal" : "DIFFERENT");
}

/* The problems by whose trials the config was chosen, the most similar first, each with its fastest config. */
enum { NEIGHBOURS = 3 };

typedef struct neighbours {
    int count;
    char last[TJ_PROBLEM_TEXT_BYTES];
} neighbours;

static void print_neighbour(const tj_neighbour *near, void *payload)
{
    neighbours *all = payload;
    char problem[TJ_PROBLEM_TEXT_BYTES], config[TJ_CONFIG_TEXT_BYTES];

    tj_problem_print(near->problem, problem);
    if (all->count == NEIGHBOURS || strcmp(problem, all->last) == 0)
        return;
    all->count++;
    strcpy(all->last, problem);
    tj_config_print(&near->config, config);
    cli_print(stdout, "           %s on %s: %.2f us with %s\n", problem, near->device, near->us, config);
}

static void print_neighbours(const cli_look *look)
{
    neighbours all = {.count = 0};
    tj_error ignored;

    (void)!tj_context_neighbours(look->call->context, &look->request.problem, &look->machine.facts, print_neighbour, &all,
                                 &ignored);
}

static void print_case(const cli_look *look, const cli_case *one)
{
    tj_tile_limits limits = TJ_TILE_LIMITS_INIT;
    tj_error ignored;
    double us;

    cli_print(stdout, "config     %s\n", one->text);
    if (one->chosen_by != 0)
        cli_print(stdout, "chosen by  %s\n", cli_chosen_by(one->chosen_by));
    if (one->chosen_by == TJ_BY_NEAREST || one->chosen_by == TJ_BY_TRIALS)
        print_neighbours(look);
    if (one->is_chosen)
        cli_print(stdout, "           the tile is the model's choice for this device and shape");
    if (one->is_chosen && tj_widest_tile(&look->machine.facts, one->analysis.work.sum_bytes, one->analysis.needs.registers,
                                         &limits, &ignored) == TJ_OK)
        cli_print(stdout, "; the widest here: %d (threads %d, registers %d, shared memory alone %d)", (int)limits.widest,
                  (int)limits.by_threads, (int)limits.by_registers, (int)limits.by_shared);
    cli_print(stdout, "%schecks     %s\n", one->is_chosen ? "\n" : "", tj_source_checks_text(one->source));
    print_scales(&look->request.known);
    print_sum_order(&look->request.known);
    print_work(one, &look->request.known);
    print_roofline(one);
    print_share(one, &look->request.known);
    print_occupancy(one);
    if (tj_estimate(&look->machine.facts, &look->request.known, &one->config, &us, NULL) == TJ_ERR_UNSUPPORTED)
        cli_print(stdout, "predicted  nothing: this device does not run the kernel\n");
    else
        print_prediction(one);
    if (one->is_counted)
        print_counted(one);
    if (one->spills)
        cli_print(stdout, "note       the compiler spills registers of this kernel, so it is never launched: %s\n",
                  one->chosen_by != 0 ? "a run takes another config, which tilejit prove names" : "use looser launch bounds");
    if (one->hit >= 0)
        cli_print(stdout, "store      %s, key %s\n", one->hit ? "a hit" : "a miss: it would be compiled", one->key);
    else
        cli_print(stdout, "store      not known: %s\n", one->why);
}

/* ---- command -------------------------------------------------------------------------------------------------------- */

static void print_look(const cli_look *look)
{
    const tj_device_facts *facts = &look->machine.facts;

    cli_print(stdout, "problem    ");
    cli_print_formula(stdout, &look->request.known);
    cli_print(stdout, "\ndevice     %s, compute capability %d.%d: %s\n", facts->name, (int)facts->cc_major,
              (int)facts->cc_minor, look->machine.origin);
    if (look->count == 1)
        print_case(look, &look->cases[0]);
    else
        cli_print_compared(look);
}

static cli_exit explain(cli_call *call, tj_error *err)
{
    const explain_options *options = call->options;
    cli_look look;
    const cli_exit code = cli_look_open(call, &options->look, NULL, &look, err);

    if (code == CLI_DONE) {
        tj_json *list = cli_add_list(call->answer, "configs");

        cli_answer_machine(call->answer, &look);
        for (size_t i = 0; i < look.count; i++)
            cli_answer_case(cli_append_object(list), &look.cases[i]);
        if (!call->is_json)
            print_look(&look);
        if (!call->is_json && options->plots)
            cli_print_plot(&look);
    }
    cli_look_close(&look);
    return code;
}

const cli_command cli_explain = {
    .name = "explain",
    .operands = "<jxkxl> [config]",
    .operand_count = {1, 2},
    .summary = "predict a kernel's memory traffic, its limits and its time",
    .text = "FLOP and bytes by memory space, exactly; blocks, occupancy and its limit; the roofline; a predicted time, term "
            "by term; the boundary checks in the kernel, and the reasons; whether the store has the kernel. docs/analysis.md "
            "derives each number.\n\nNeeds neither a GPU nor a driver: --arch sm_80, or --device emulator:sm_80, analyses a "
            "device that is not present. The number of registers is the compiler's if NVRTC is found, else an estimate.",
    .example = "tilejit explain 512x300x700\n"
               "tilejit explain 1024x1024x1024 --arch sm_80 --compare tile_width=8,16,32\n"
               "tilejit explain 96x96x96 tiled:tile_width=16 --device emulator --count\n"
               "tilejit explain 2048x2048x2048 --compare family=naive,tiled --measure --plot",
    .takes = {{&cli_look_group, offsetof(explain_options, look)},
              {&(const cli_group){"explain", own}},
              {cli_request_groups, offsetof(explain_options, look.request), CLI_CONFIG},
              {&cli_timing_group, offsetof(explain_options, look.timing)},
              {&cli_machine_group, offsetof(explain_options, look.machine)}},
    .option_bytes = sizeof(explain_options),
    .run = explain,
};
