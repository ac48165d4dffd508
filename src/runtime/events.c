/* SPDX-License-Identifier: Apache-2.0 */
#include "events.h"

#include <stdio.h>

#include "canonical.h"
#include "nvtx.h"

const char *tj_event_name(tj_event_kind kind)
{
    static const char *const name[] = {"?", "miss", "hit", "compiled", "proven", "replaced", "evicted"};

    return kind >= TJ_EVENT_MISS && kind <= TJ_EVENT_EVICTED ? name[kind] : name[0];
}

static void tell(const tj_host *host, tj_event_kind kind, const tj_problem *problem, const tj_source *source,
                 tj_outcome outcome)
{
    char of[TJ_PROBLEM_TEXT_BYTES] = "", config[TJ_CONFIG_TEXT_BYTES] = "";
    const tj_event event = {.struct_size = sizeof event,
                            .kind = kind,
                            .problem = of,
                            .config = config,
                            .kernel = source ? tj_source_kernel(source) : "",
                            .detail = outcome.detail ? outcome.detail : "",
                            .milliseconds = outcome.milliseconds,
                            .failed = outcome.failed};

    if (problem) /* a family of the application's own has none */
        tj_problem_print(problem, of);
    if (source)
        tj_config_print(tj_source_config(source), config);
    host->on_event(&event, host->event_payload);
}

void tj_host_tell(const tj_host *host, tj_event_kind kind, const tj_source *source, tj_outcome outcome)
{
    if (host->on_event)
        tell(host, kind, tj_source_problem(source), source, outcome);
}

void tj_host_tell_proof(tj_host *host, const tj_source *source, const tj_proof *proof)
{
    atomic_fetch_add_explicit(&host->stats.proofs, 1, memory_order_relaxed);
    tj_host_tell(host, TJ_EVENT_PROVEN, source, (tj_outcome){proof->passed ? NULL : proof->reason, proof->ms, !proof->passed});
}

void tj_host_tell_problem(const tj_host *host, tj_event_kind kind, const tj_problem *problem)
{
    if (host->on_event)
        tell(host, kind, problem, NULL, (tj_outcome){0});
}

/* A variable names the profiler's library. */
static bool has_ranges(const tj_host *host)
{
    return !host->ignores_environment && tj_nvtx_is_there();
}

void tj_range_open(const tj_host *host, const char *what, const char *kernel)
{
    char text[160];

    if (!has_ranges(host))
        return;
    (void)snprintf(text, sizeof text, "tilejit %s %s", what, kernel);
    tj_nvtx_push(text);
}

void tj_range_close(const tj_host *host)
{
    if (has_ranges(host))
        tj_nvtx_pop();
}
