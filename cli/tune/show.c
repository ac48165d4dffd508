/* SPDX-License-Identifier: Apache-2.0 */
/*
 * show: report progress and results of tilejit tune.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "tune.h"

enum { BAR = 10 };

void tune_clear_bar(void)
{
    fputs("\r\033[K", stderr);
}

void tune_draw_bar(const tune_job *job, const tj_tune_progress *p)
{
    double share = p->limit > 0 ? (double)p->evaluations / (double)p->limit : 0;
    char bar[BAR + 1], limit[32] = "", best[64] = "";

    if (p->budget > 0 && p->seconds / p->budget > share)
        share = p->seconds / p->budget;
    if (share > 1)
        share = 1;
    for (int i = 0; i < BAR; i++)
        bar[i] = i < (int)(share * BAR) ? '#' : '.';
    bar[BAR] = '\0';
    if (p->limit > 0)
        (void)snprintf(limit, sizeof limit, "/%" PRId64, p->limit);
    if (job->is_emulated)
        (void)snprintf(best, sizeof best, "  on the emulator");
    else if (p->best_us > 0 && p->default_us > 0)
        (void)snprintf(best, sizeof best, "  best %.2f us, %.2fx", p->best_us, p->default_us / p->best_us);
    else if (p->best_us > 0)
        (void)snprintf(best, sizeof best, "  best %.2f us", p->best_us);
    tune_clear_bar();
    cli_print(stderr, "%s  [%s] %" PRId64 "%s  %.0f s%s%s", job->shape->text, bar, p->evaluations, limit, p->seconds, best,
              p->trial           ? ""
              : job->is_emulated ? "  last check"
                                 : "  finals");
}

static const char *state_name(int32_t state)
{
    static const char *const names[] = {"?", "timed", "slow", "refused", "wrong"};

    return names[state >= TJ_TRIAL_TIMED && state <= TJ_TRIAL_WRONG ? state : 0];
}

/* Times on the emulator mean nothing: report none. */
static bool is_tried_alone(const tune_job *job, const tj_trial *trial)
{
    return job->is_emulated && (trial->state == TJ_TRIAL_TIMED || trial->state == TJ_TRIAL_SLOW);
}

void tune_write_trials_device(FILE *file, const tj_device_facts *facts)
{
    char *json = tj_device_to_json(facts);

    if (json)
        fprintf(file, "# device %s\n", json);
    free(json);
}

void tune_write_trials_head(FILE *file)
{
    fputs("# shape\tconfig\tstate\tus\tspread\tpredicted_us\tcompile_ms\tregisters\tshared_bytes\tdevice\tproblem\n", file);
}

void tune_write_trial(FILE *file, const tune_job *job, const char *device, const tj_trial *trial)
{
    char config[TJ_CONFIG_TEXT_BYTES], problem[TJ_PROBLEM_TEXT_BYTES];

    tj_config_print(&trial->config, config);
    tj_problem_print(&job->shape->problem, problem);
    fprintf(file, "%s\t%s\t", job->shape->text, config);
    if (is_tried_alone(job, trial))
        fputs("tried\t-\t-", file);
    else
        fprintf(file, "%s\t%.4f\t%.4f", state_name(trial->state), trial->us, trial->spread);
    fprintf(file, "\t%.4f\t%.1f\t%d\t%" PRId64 "\t%s\t%s\n", trial->predicted_us, trial->compile_ms, trial->registers,
            trial->shared_bytes, device, problem);
}

void tune_log_trial(const tune_job *job, const tj_trial *trial)
{
    char config[TJ_CONFIG_TEXT_BYTES];

    tj_config_print(&trial->config, config);
    if (is_tried_alone(job, trial))
        cli_print(stderr, "%s tried %s\n", job->shape->text, config);
    else
        cli_print(stderr, "%s %s %s %.2f us %s\n", job->shape->text, state_name(trial->state), config, trial->us, trial->why);
}

void tune_print_job(FILE *out, const tune_job *job, bool wants_record)
{
    char config[TJ_CONFIG_TEXT_BYTES];
    const tj_tune_result *r = &job->result;

    if (job->is_skipped) {
        cli_print(out, "%s: has a record already\n", job->shape->text);
        return;
    }
    if (job->status != TJ_OK) {
        cli_print(out, "%s: FAILED: %s\n", job->shape->text, job->err.message);
        return;
    }
    if (job->is_emulated) {
        cli_print(out,
                  "%s: %" PRId64 " tried on the emulator, %" PRId64 " refused, %" PRId64 " wrong, %.1f s%s; no record kept\n",
                  job->shape->text, r->evaluations, r->refused, r->wrong, r->seconds, r->was_cancelled ? ", cancelled" : "");
        return;
    }
    tj_config_print(&r->config, config);
    cli_print(out, "%s: %.2f us", job->shape->text, r->us);
    if (r->default_us > 0)
        cli_print(out, ", %.2f times as fast as the default's %.2f us", r->default_us / r->us, r->default_us);
    if (r->before_us < r->default_us || r->before_us > r->default_us)
        cli_print(out, ", %.3f times as fast as the earlier tuning's choice", r->before_us / r->us);
    cli_print(out, ": %s (%" PRId64 " tried, %" PRId64 " refused, %" PRId64 " wrong, %.1f s%s%s%s)\n", config, r->evaluations,
              r->refused, r->wrong, r->seconds, r->noise > TJ_TUNE_NOISE ? ", NOISY: was the device in use?" : "",
              r->was_cancelled ? ", cancelled" : "",
              r->has_record  ? ""
              : wants_record ? ", no record kept: --log warning says why"
                             : ", no record kept");
}

/* The shares, by the word that a line gives and that of --json. */
typedef struct share_name {
    const char *words, *name;
    size_t offset;
} share_name;

#define SHARE(words, name)                           \
    {                                                \
        words, #name, offsetof(tj_tune_shares, name) \
    }

static const share_name share_names[] = {
    SHARE("waiting for compiles", waiting), SHARE("measuring", measuring), SHARE("finals", finals),
    SHARE("verifying", verifying),          SHARE("choosing", choosing),   SHARE("placing operands", placing),
    SHARE("confirming", confirming),
};

enum { SHARES = sizeof share_names / sizeof *share_names };

static double share_of(const tj_tune_shares *spent, int i)
{
    return *(const double *)((const char *)spent + share_names[i].offset);
}

void tune_print_shares(FILE *out, const char *what, const tj_tune_shares *spent)
{
    double sum = 0;

    for (int i = 0; i < SHARES; i++)
        sum += share_of(spent, i);
    cli_print(out, "%s: %.1f s", what, sum);
    for (int i = 0; i < SHARES && sum > 0; i++)
        cli_print(out, "%s %.0f %% %s", i > 0 ? "," : ":", 100 * share_of(spent, i) / sum, share_names[i].words);
    cli_print(out, "\n");
}

void tune_add_shares(tj_tune_shares *sum, const tj_tune_shares *spent)
{
    for (int i = 0; i < SHARES; i++)
        *(double *)((char *)sum + share_names[i].offset) += share_of(spent, i);
}

/* Set a time; null on the emulator, whose times mean nothing. */
static void set_time(tj_json *object, const char *name, const tune_job *job, double value)
{
    cli_set_real(object, name, job->is_emulated ? (double)NAN : value);
}

static void set_config(tj_json *object, const char *name, const tj_config *config)
{
    char text[TJ_CONFIG_TEXT_BYTES];

    tj_config_print(config, text);
    cli_set_text(object, name, text);
}

void tune_set_job(tj_json *object, const tune_job *job)
{
    const tj_tune_result *r = &job->result;
    tj_json *spent;

    cli_set_text(object, "shape", job->shape->text);
    cli_set_problem(object, &job->shape->problem);
    cli_set_int(object, "device_ordinal", job->device);
    cli_set_bool(object, "done", job->is_done);
    cli_set_bool(object, "skipped", job->is_skipped);
    if (job->status != TJ_OK) {
        cli_set_text(object, "error", job->err.message);
        return;
    }
    if (job->is_skipped || !job->is_done) /* or no device reached it */
        return;
    set_config(object, "config", &r->config);
    set_time(object, "median_us", job, r->us);
    set_time(object, "spread", job, r->spread);
    set_time(object, "warm_us", job, r->warm_us);
    set_time(object, "noise", job, r->noise);
    set_config(object, "default_config", &r->default_config);
    set_time(object, "default_us", job, r->default_us);
    set_time(object, "before_us", job, r->before_us);
    set_config(object, "second_config", &r->second);
    set_time(object, "second_us", job, r->second_us);
    cli_set_int(object, "evaluations", r->evaluations);
    cli_set_int(object, "refused", r->refused);
    cli_set_int(object, "wrong", r->wrong);
    cli_set_int(object, "slow", r->slow);
    cli_set_real(object, "seconds", r->seconds);
    spent = cli_add_object(object, "spent");
    for (int i = 0; i < SHARES; i++)
        cli_set_real(spent, share_names[i].name, share_of(&r->spent, i));
    cli_set_real(object, "check_ratio", r->check_ratio);
    cli_set_int(object, "check_elements", r->check_elements);
    cli_set_bool(object, "complete", r->is_complete);
    cli_set_bool(object, "cancelled", r->was_cancelled);
    cli_set_bool(object, "recorded", r->has_record);
    cli_set_bool(object, "emulated", r->is_emulated);
}
