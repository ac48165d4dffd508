/* SPDX-License-Identifier: Apache-2.0 */
/*
 * look_json: the analysis of a request as JSON.
 */
#include "look.h"

static void set_traffic(tj_json *object, const char *name, const tj_traffic *traffic)
{
    tj_json *one = cli_add_object(object, name);

    cli_set_int(one, "elements", traffic->elements);
    cli_set_int(one, "bytes", traffic->bytes);
    cli_set_int(one, "requests", traffic->requests);
    cli_set_int(one, "wavefronts", traffic->wavefronts);
    cli_set_int(one, "sectors", traffic->sectors);
}

static void set_counts(tj_json *answer, const cli_case *one)
{
    static const char *const access[] = {"load_m",      "load_n",      "load_c",           "store_p",
                                         "store_w",     "load_w",      "load_pointers",    "load_scales",
                                         "pack_load",   "pack_store",  "pack_shared_load", "pack_shared_store",
                                         "shared_load", "shared_store"}; /* tj_access_kind */
    const tj_work *c = &one->analysis.work;
    tj_json *object = cli_add_object(answer, "counts"), *phase = cli_add_object(object, "phase");

    cli_set_int(object, "flop", c->flop);
    cli_set_int(object, "fma", cli_fma(one));
    cli_set_int(object, "blocks", c->blocks);
    cli_set_int(object, "threads_per_block", c->threads_per_block);
    cli_set_int(object, "splits", c->splits);
    cli_set_int(object, "phases", c->phases);
    cli_set_int(object, "barriers", c->barriers);
    cli_set_int(object, "sums", c->sums);
    cli_set_int(object, "async_bytes", c->async_bytes);
    cli_set_int(object, "shared_bytes_per_block", c->shared_bytes);
    cli_set_int(object, "global_bytes", c->global_bytes);
    cli_set_int(object, "least_bytes", c->pipe_work[TJ_PIPE_MEMORY]);
    cli_set_real(object, "intensity", c->intensity);
    for (size_t i = 0; i < sizeof access / sizeof access[0]; i++)
        set_traffic(object, access[i], &c->traffic[i]);
    cli_set_int(phase, "depth", c->phase.depth);
    cli_set_int(phase, "loads", c->phase.loads);
    cli_set_int(phase, "flop", c->phase.flop);
    cli_set_int(phase, "shared_loads", c->phase.shared_loads);
    cli_set_int(phase, "shared_stores", c->phase.shared_stores);
    cli_set_real(phase, "intensity", c->phase.intensity);
}

static void set_occupancy(tj_json *answer, const cli_case *one)
{
    const tj_occupancy *o = &one->analysis.occupancy;
    tj_json *object = cli_add_object(answer, "occupancy");

    cli_set_int(object, "blocks_per_sm", o->blocks_per_sm);
    cli_set_int(object, "by_threads", o->by_threads);
    cli_set_int(object, "by_blocks", o->by_blocks);
    cli_set_int(object, "by_registers", o->by_registers);
    cli_set_int(object, "by_shared", o->by_shared);
    cli_set_text(object, "limit", tj_limit_name((tj_limit)o->limit));
    cli_set_text(object, "lift", o->lift);
    cli_set_real(object, "fraction", o->fraction);
    cli_set_int(object, "warps_per_sm", o->warps_per_sm);
    cli_set_int(object, "waves", o->waves);
    cli_set_int(object, "last_wave_blocks", o->last_wave_blocks);
    cli_set_real(object, "tail", o->tail);
    cli_set_int(object, "multiprocessors", one->analysis.multiprocessors);
    cli_set_bool(object, "keeps_share", one->analysis.keeps_share);
    cli_set_int(object, "registers_per_thread", one->analysis.needs.registers);
    cli_set_bool(object, "registers_are_estimated", one->registers == 0);
    cli_set_bool(object, "spilled", one->spills);
}

static void set_predicted(tj_json *answer, const cli_case *one)
{
    const tj_prediction *p = &one->analysis.predicted;
    tj_json *object = cli_add_object(answer, "predicted");

    cli_set_real(object, "us", p->us);
    cli_set_real(object, "flop_per_s", p->flop_per_s);
    cli_set_text(object, "bound", p->bound);
    for (int32_t t = 0; t < TJ_TERMS; t++) {
        char key[32];

        (void)snprintf(key, sizeof key, "%s_us", tj_term_at(t)->key);
        if (cli_shows_term(one, t))
            cli_set_real(object, key, p->term_us[t]);
    }
}

void cli_answer_case(tj_json *object, const cli_case *one)
{
    tj_json *roof = cli_add_object(object, "roof");

    cli_set_text(object, "config", one->text);
    if (one->chosen_by != 0)
        cli_set_text(object, "chosen_by", cli_chosen_word(one->chosen_by));
    cli_set_text(object, "kernel", tj_source_kernel(one->source));
    cli_set_text(object, "checks", tj_source_checks_text(one->source));
    set_counts(object, one);
    set_occupancy(object, one);
    cli_set_real(roof, "intensity", one->analysis.roof.intensity);
    cli_set_real(roof, "attainable_flop_per_s", one->analysis.roof.attainable);
    cli_set_real(roof, "of_peak", one->analysis.roof.of_peak);
    cli_set_text(roof, "bound", one->analysis.roof.is_memory_bound ? "memory" : "compute");
    set_predicted(object, one);
    if (one->hit >= 0)
        cli_set_bool(object, "hit", one->hit == 1);
    else
        tj_json_add_null(object, "hit");
    if (one->key[0])
        cli_set_text(object, "key", one->key);
    if (one->is_measured) {
        tj_json *measured = cli_add_object(object, "measured");

        cli_set_real(measured, "median_us", one->median_us);
        cli_set_real(measured, "min_us", one->least_us);
    }
    if (one->is_counted)
        cli_set_counters(cli_add_object(object, "counted"), &one->counted);
}

void cli_answer_machine(tj_json *answer, const cli_look *look)
{
    const tj_analysis *a = &look->cases[0].analysis;

    cli_set_text(answer, "device", look->machine.facts.name);
    cli_set_text(answer, "device_facts", look->machine.origin);
    cli_set_text(answer, "target", look->machine.target);
    cli_set_real(answer, "peak_flop_per_s", a->roof.peak);
    cli_set_real(answer, "bytes_per_s", a->roof.bandwidth);
    cli_set_bool(answer, "bandwidth_is_measured", a->peaks.is_measured);
    cli_set_bool(answer, "peak_is_by_data_sheet", a->peaks.is_by_data_sheet);
    cli_set_real(answer, "ridge", a->roof.ridge);
    cli_set_problem(answer, &look->request.problem);
}
