/* SPDX-License-Identifier: Apache-2.0 */
/*
 * work: tune one shape after the other. A second thread sends heartbeats for the shape in hand; each has its own connection.
 *
 * A record stays in the spool from the moment that it is found until the server has it, so it survives the death of this
 * process or the server. An entry leaves the queue in the script that keeps its record.
 *
 * A worker takes a shape from a silent one only after it was connected for a whole lease itself: after the server was down, all
 * workers look silent.
 */
#include "queue.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "fs.h"
#include "json.h"
#include "names.h"
#include "records.h"

enum { LEAST_PAUSE_MS = 200, MOST_PAUSE_MS = 10000, IDLE_MS = 250, TOLD_BYTES = 600, TRIES_OF_A_NAME = 3 };

typedef struct worker {
    const fleet_work *work;
    fleet connection; /* of the working thread */
    fleet beating;    /* of the heartbeat thread */
    char name[128], token[64];
    int64_t connected_ms; /* start of the present unbroken connection */
    int pause_ms;
    bool was_told_of_server, was_told_of_spool;
    fleet_worked worked;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t has_ended;
    bool is_ending, is_doubled;
    char entry[48]; /* in hand; "": none */
    char shape[33];
    int64_t since_ms, last_trouble_ms, done, failed;
} worker;

/* ---- scripts ------------------------------------------------------------------------------------------------------ */

/*
 * All times are the server's. A clock that has jumped forward makes workers look silent until their next heartbeat. A clock
 * that has jumped back makes dead workers look alive until it has caught up: so their times, and those of their entries, become
 * the time after the jump. KEYS: workers, clock, queue, compile.
 */
#define TELL_TIME                                                                                                        \
    "local t = redis.call('TIME') local now = t[1] * 1000 + math.floor(t[2] / 1000) "                                    \
    "if now + 1000 < tonumber(redis.call('GET', KEYS[2]) or '0') then "                                                  \
    "  for i = 3, 4 do "                                                                                                 \
    "    local held = redis.pcall('XPENDING', KEYS[i], 'w', '-', '+', 10000) "                                           \
    "    for _, e in ipairs(held.err and {} or held) do "                                                                \
    "      redis.call('XCLAIM', KEYS[i], 'w', e[2], 0, e[1], 'IDLE', 0, 'JUSTID') "                                      \
    "    end "                                                                                                           \
    "  end "                                                                                                             \
    "  local all = redis.call('HGETALL', KEYS[1]) "                                                                      \
    "  for i = 1, #all, 2 do "                                                                                           \
    "    local seen, rest = string.match(all[i + 1], '^(%d+)( .*)$') "                                                   \
    "    if seen and tonumber(seen) > now then redis.call('HSET', KEYS[1], all[i], string.format('%.0f', now) .. rest) " \
    "    end "                                                                                                           \
    "  end "                                                                                                             \
    "end "                                                                                                               \
    "redis.call('SET', KEYS[2], string.format('%.0f', now)) "

/* ARGV: name, token, JSON, lease. Returns "" or the entry of another live worker of that name. */
static const char *const register_keys[] = {"workers", "clock", "queue", "compile"};
static const fleet_script register_script = {
    TELL_TIME
    "local all = redis.call('HGETALL', KEYS[1]) "
    "for i = 1, #all, 2 do "
    "  local seen, token = string.match(all[i + 1], '^(%d+) (%S+) ') "
    "  if all[i] == ARGV[1] and token ~= ARGV[2] and now - tonumber(seen or 0) < tonumber(ARGV[4]) then return all[i + 1] end "
    "  if now - tonumber(seen or 0) > 86400000 then redis.call('HDEL', KEYS[1], all[i]) end "
    "end "
    "redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now) .. ' ' .. ARGV[2] .. ' ' .. ARGV[3]) "
    "return ''",
    register_keys, 4};

/*
 * ARGV: name, token, JSON, entry. -1: another worker has this name. Else: is the entry still this worker's? Only then does the
 * lease continue.
 */
static const char *const beat_keys[] = {"workers", "clock", "queue", "compile", "queue"};
static const char *const beat_to_compile_keys[] = {"workers", "clock", "queue", "compile", "compile"};
static const char BEAT_SCRIPT[] =
    TELL_TIME "local token = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^%d+ (%S+) ') "
              "if token and token ~= ARGV[2] then return -1 end "
              "redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now) .. ' ' .. ARGV[2] .. ' ' .. ARGV[3]) "
              "if ARGV[4] == '' then return 1 end "
              "local held = redis.pcall('XPENDING', KEYS[5], 'w', ARGV[4], ARGV[4], 1) "
              "if held.err or not held[1] or held[1][2] ~= ARGV[1] then return 0 end "
              "redis.call('XCLAIM', KEYS[5], 'w', ARGV[1], 0, ARGV[4], 'JUSTID') "
              "return 1";
static const fleet_script beat_script = {BEAT_SCRIPT, beat_keys, 5},
                          beat_to_compile_script = {BEAT_SCRIPT, beat_to_compile_keys, 5};

/*
 * ARGV: name, lease, may it claim, maximum failures, does it compile. Takes first an entry given to this worker by an answer
 * that never arrived, then one of a dead worker, then a new one. Returns entry, shape, problem; or the number of entries left.
 */
static const char *const take_keys[] = {"queue", "queued", "compile", "failures", "poison", "counts", "queue"};
static const char *const take_to_compile_keys[] = {"compile", "queued", "compile", "failures", "poison", "counts", "queue"};
#define TAKE_SCRIPT                                                                                                           \
    "local function drop(id) "                                                                                                \
    "  redis.call('XACK', KEYS[1], 'w', id) redis.call('XDEL', KEYS[1], id) "                                                 \
    "end "                                                                                                                    \
    "local function is_live(id, f) return f and f[2] and redis.call('HGET', KEYS[2], f[2]) == id end "                        \
    "local own = redis.pcall('XREADGROUP', 'GROUP', 'w', ARGV[1], 'COUNT', 8, 'STREAMS', KEYS[1], '0') "                      \
    "if own and own.err then own = false redis.call('XGROUP', 'CREATE', KEYS[1], 'w', '0', 'MKSTREAM') end "                  \
    "if own and own[1] then for _, e in ipairs(own[1][2]) do "                                                                \
    "  if is_live(e[1], e[2]) then return {e[1], e[2][2], e[2][4]} end drop(e[1]) "                                           \
    "end end "                                                                                                                \
    "local cursor = '0-0' "                                                                                                   \
    "repeat "                                                                                                                 \
    "  local c = ARGV[3] == '1' and redis.call('XAUTOCLAIM', KEYS[1], 'w', ARGV[1], ARGV[2], cursor, 'COUNT', 1) or {'0-0', " \
    "{}} "                                                                                                                    \
    "  cursor = c[1] "                                                                                                        \
    "  local e = c[2][1] "                                                                                                    \
    "  if e and not is_live(e[1], e[2]) then drop(e[1]) "                                                                     \
    "  elseif e and ARGV[5] == '1' then return {e[1], e[2][2], e[2][4]} "                                                     \
    "  elseif e then "                                                                                                        \
    "    local id, shape, problem = e[1], e[2][2], e[2][4] "                                                                  \
    "    if redis.call('HINCRBY', KEYS[4], shape, 1) < tonumber(ARGV[4]) then return {id, shape, problem} end "               \
    "    drop(id) redis.call('XDEL', KEYS[3], id) redis.call('HDEL', KEYS[2], shape) redis.call('HDEL', KEYS[4], shape) "     \
    "    redis.call('HINCRBY', KEYS[6], 'failed', 1) "                                                                        \
    "    redis.call('HSET', KEYS[5], shape, '{\"problem\":' .. problem .. ',\"why\":\"its workers ended or fell silent ' "    \
    "      .. ARGV[4] .. ' times\"}') "                                                                                       \
    "  end "                                                                                                                  \
    "until cursor == '0-0' "                                                                                                  \
    "while true do "                                                                                                          \
    "  local r = redis.call('XREADGROUP', 'GROUP', 'w', ARGV[1], 'COUNT', 1, 'STREAMS', KEYS[1], '>') "                       \
    "  if not r or not r[1] then return redis.call('XLEN', KEYS[1]) end "                                                     \
    "  local e = r[1][2][1] "                                                                                                 \
    "  local is_ahead = true "                                                                                                \
    "  if ARGV[5] == '1' then "                                                                                               \
    "    local g = redis.pcall('XPENDING', KEYS[7], 'w', e[1], e[1], 1) "                                                     \
    "    is_ahead = g.err or not g[1] "                                                                                       \
    "  end "                                                                                                                  \
    "  if is_ahead and is_live(e[1], e[2]) then return {e[1], e[2][2], e[2][4]} end "                                         \
    "  drop(e[1]) "                                                                                                           \
    "end"
static const fleet_script take_script = {TAKE_SCRIPT, take_keys, 7},
                          take_to_compile_script = {TAKE_SCRIPT, take_to_compile_keys, 7};

/*
 * ARGV: shape, entry, problem, does it count, maximum failures, JSON of why. The shape goes to the end of the queue, or becomes
 * poisoned.
 */
static const char *const fail_keys[] = {"queue", "queued", "compile", "failures", "poison", "counts"};
static const fleet_script fail_script = {
    "if redis.call('HGET', KEYS[2], ARGV[1]) ~= ARGV[2] then return 0 end "
    "redis.pcall('XACK', KEYS[1], 'w', ARGV[2]) redis.call('XDEL', KEYS[1], ARGV[2]) redis.call('XDEL', KEYS[3], ARGV[2]) "
    "if ARGV[4] == '1' then "
    "  redis.call('HINCRBY', KEYS[6], 'failed', 1) "
    "  if redis.call('HINCRBY', KEYS[4], ARGV[1], 1) >= tonumber(ARGV[5]) then "
    "    redis.call('HDEL', KEYS[2], ARGV[1]) redis.call('HDEL', KEYS[4], ARGV[1]) "
    "    redis.call('HSET', KEYS[5], ARGV[1], ARGV[6]) "
    "    return 2 "
    "  end "
    "end "
    "local id = redis.call('XADD', KEYS[1], '*', 's', ARGV[1], 'p', ARGV[3]) "
    "redis.call('HSET', KEYS[2], ARGV[1], id) "
    "return 1",
    fail_keys, 6};

/* Remove an entry that was compiled ahead. ARGV: entry. */
static const char *const compiled_keys[] = {"compile"};
static const fleet_script compiled_script = {
    "redis.pcall('XACK', KEYS[1], 'w', ARGV[1]) return redis.call('XDEL', KEYS[1], ARGV[1])", compiled_keys, 1};

static const char *const leave_keys[] = {"workers"};
static const fleet_script leave_script = {
    "local token = string.match(redis.call('HGET', KEYS[1], ARGV[1]) or '', '^%d+ (%S+) ') "
    "if token == ARGV[2] then return redis.call('HDEL', KEYS[1], ARGV[1]) end return 0",
    leave_keys, 1};

/* ---- telling ------------------------------------------------------------------------------------------------------ */

static void tell(const worker *w, const char *problem, const char *format, ...) __attribute__((format(printf, 3, 4)));

static void tell(const worker *w, const char *problem, const char *format, ...)
{
    char line[TOLD_BYTES];
    va_list list;

    if (!w->work->tell)
        return;
    va_start(list, format);
    (void)vsnprintf(line, sizeof line, format, list);
    va_end(list);
    w->work->tell(w->work->payload, problem, line);
}

static bool is_cancelled(const worker *w)
{
    bool is_doubled;

    pthread_mutex_lock((pthread_mutex_t *)&w->lock);
    is_doubled = w->is_doubled;
    pthread_mutex_unlock((pthread_mutex_t *)&w->lock);
    return is_doubled || (w->work->is_cancelled && w->work->is_cancelled(w->work->payload));
}

/* Sleep; end early when the worker must end. */
static void pause_for(const worker *w, int ms)
{
    const int64_t until = fleet_now_ms() + ms;

    while (fleet_now_ms() < until && !is_cancelled(w)) {
        const int64_t left = until - fleet_now_ms();
        const struct timespec nap = {0, (left < 50 ? left > 0 ? left : 1 : 50) * 1000000L};

        (void)nanosleep(&nap, NULL);
    }
}

/* Describe a worker for the server. The caller owns the text; NULL: out of memory. */
static char *describe(worker *w)
{
    char host[128] = "?";
    tj_json *object = tj_json_new();
    char *text;

    (void)gethostname(host, sizeof host - 1);
    tj_json_add_foreign(object, "host", host);
    tj_json_add_int(object, "pid", getpid());
    tj_json_add_int(object, "lease_ms", w->work->lease_ms);
    tj_json_add_text(object, "does", w->work->compiles ? "compile" : "measure");
    tj_json_add_int(object, "done", w->done);
    tj_json_add_int(object, "failed", w->failed);
    tj_json_add_foreign(object, "shape", w->shape);
    tj_json_add_real(object, "shape_s", w->entry[0] ? (double)(fleet_now_ms() - w->since_ms) / 1e3 : 0.0);
    text = tj_json_print(object);
    tj_json_free(object);
    return text;
}

/* ---- beats -------------------------------------------------------------------------------------------------------- */

static tj_status beat(worker *w, tj_error *err)
{
    fleet *c = &w->beating;
    char entry[sizeof w->entry], *text;
    redisReply *reply;
    tj_status status = TJ_OK;

    if (!c->wire.link)
        status = fleet_wire_open(&c->wire, fleet_now_ms() + FLEET_COMMAND_MS, err);
    pthread_mutex_lock(&w->lock);
    text = describe(w);
    /* a shape that takes longer than any should is hung, and others may take it */
    (void)snprintf(entry, sizeof entry, "%s", fleet_now_ms() - w->since_ms > w->work->patience_ms ? "" : w->entry);
    pthread_mutex_unlock(&w->lock);
    if (status == TJ_OK && text) {
        status = fleet_run(&c->wire, w->work->of.id, w->work->compiles ? &beat_to_compile_script : &beat_script, 4,
                           (const char *const[]){w->name, w->token, text, entry}, &reply, err);
        if (status == TJ_OK && reply->integer == -1) {
            pthread_mutex_lock(&w->lock);
            w->is_doubled = true;
            pthread_mutex_unlock(&w->lock);
        }
        if (reply)
            freeReplyObject(reply);
    }
    free(text);
    return status;
}

static void *keep_beating(void *payload)
{
    worker *w = payload;

    pthread_mutex_lock(&w->lock);
    while (!w->is_ending) {
        const int64_t next_ms = fleet_now_ms() + w->work->lease_ms / 3;
        const struct timespec next = {(time_t)(next_ms / 1000), (long)(next_ms % 1000) * 1000000};
        tj_status status;
        tj_error why;

        pthread_mutex_unlock(&w->lock);
        status = beat(w, &why);
        pthread_mutex_lock(&w->lock);
        if (status != TJ_OK)
            w->last_trouble_ms = fleet_now_ms();
        while (!w->is_ending && pthread_cond_timedwait(&w->has_ended, &w->lock, &next) == 0)
            ;
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* ---- the server --------------------------------------------------------------------------------------------------- */

static tj_status enrol(worker *w, tj_error *err)
{
    fleet *c = &w->connection;
    char lease[24], *text;
    redisReply *reply = NULL;
    tj_status status = fleet_name_class(&c->wire, &w->work->of, err);

    if (status != TJ_OK)
        return status;
    pthread_mutex_lock(&w->lock);
    text = describe(w);
    pthread_mutex_unlock(&w->lock);
    if (!text)
        return tj_fail_memory(err, "a worker");
    (void)snprintf(lease, sizeof lease, "%d", w->work->lease_ms);
    status = fleet_run(&c->wire, w->work->of.id, &register_script, 4, (const char *const[]){w->name, w->token, text, lease},
                       &reply, err);
    if (status == TJ_OK && reply->type == REDIS_REPLY_STRING && reply->len > 0)
        status = tj_fail(err, TJ_ERR_CANCELLED, "another live worker has the name %.60s: use another name (%.200s)", w->name,
                         reply->str);
    if (reply)
        freeReplyObject(reply);
    free(text);
    return status;
}

/* After trouble with the server: wait, longer each time, and reconnect. False: the worker must end. */
static bool is_back(worker *w, const tj_error *why)
{
    tj_error again;

    if (!w->was_told_of_server)
        tell(w, NULL, "the server does not %s, and work goes on when it does: %s",
             why->status == TJ_ERR_IO ? "answer" : "take a command", why->message);
    w->was_told_of_server = true;
    while (!is_cancelled(w)) {
        pause_for(w, w->pause_ms);
        w->pause_ms = 2 * w->pause_ms < MOST_PAUSE_MS ? 2 * w->pause_ms : MOST_PAUSE_MS;
        if (!is_cancelled(w) && fleet_wire_open(&w->connection.wire, fleet_now_ms() + FLEET_COMMAND_MS, &again) == TJ_OK &&
            enrol(w, &again) == TJ_OK) {
            w->connected_ms = fleet_now_ms();
            return true;
        }
    }
    return false;
}

static void is_well(worker *w)
{
    if (w->was_told_of_server)
        tell(w, NULL, "the server answers again");
    w->was_told_of_server = false;
    w->pause_ms = LEAST_PAUSE_MS;
}

/* ---- spool -------------------------------------------------------------------------------------------------------- */

static bool spool_path(const worker *w, const char *shape, char path[PATH_MAX])
{
    return snprintf(path, PATH_MAX, "%s/%s-%s.json", w->work->spool, w->work->of.id, shape) < PATH_MAX;
}

static tj_status spool_keep(const worker *w, const char *shape, const char *record, tj_error *err)
{
    char part[64], path[PATH_MAX];
    int folder = -1;
    bool is_kept;

    if (tj_fs_make_path(w->work->spool) == 0)
        folder = open(w->work->spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || !spool_path(w, shape, path))
        return tj_fail(err, TJ_ERR_IO, "cannot keep a record in %.200s: %s", w->work->spool, strerror(errno));
    tj_fs_unique_name(part);
    is_kept =
        tj_fs_write_new(folder, part, record, strlen(record)) && renameat(folder, part, folder, strrchr(path, '/') + 1) == 0;
    if (!is_kept) {
        (void)tj_fail(err, TJ_ERR_IO, "cannot keep a record in %.200s: %s", w->work->spool, strerror(errno));
        (void)unlinkat(folder, part, 0);
    }
    close(folder);
    return is_kept ? TJ_OK : TJ_ERR_IO;
}

/* Send one record; *is_server: the fault is the server's, and the next record would meet it too. */
static tj_status send_record(worker *w, const char *shape, const char *record, tj_error *err)
{
    fleet_kept kept;
    bool was_queued;
    const fleet_offer offer = {w->work->of.id, shape, record, w->work->merge, w->work->payload, true, FLEET_COMMAND_MS};
    tj_status status = fleet_keep_record(&w->connection.wire, &w->connection.trust, &offer, &kept, &was_queued, err);

    if (status == TJ_OK) {
        w->worked.improved += kept != FLEET_PRESENT_STAYS;
        w->worked.done += was_queued;
        pthread_mutex_lock(&w->lock);
        w->done = w->worked.done;
        pthread_mutex_unlock(&w->lock);
    }
    return status;
}

static bool is_of_class(const worker *w, const char *name, char shape[33])
{
    const size_t class = strlen(w->work->of.id);

    if (strncmp(name, w->work->of.id, class) != 0 || name[class] != '-' || strlen(name + class + 1) != 32 + 5 ||
        strcmp(name + class + 33, ".json") != 0)
        return false;
    memcpy(shape, name + class + 1, 32);
    shape[32] = '\0';
    return true;
}

/* Send the records that this worker and earlier ones could not send. */
static tj_status spool_send(worker *w, tj_error *err)
{
    DIR *folder = opendir(w->work->spool);
    tj_status status = TJ_OK;
    struct dirent *entry;

    w->worked.spooled = 0;
    while (folder && (entry = readdir(folder))) {
        char shape[33], *record;
        size_t size;

        if (!is_of_class(w, entry->d_name, shape))
            continue;
        w->worked.spooled++;
        if (status != TJ_OK)
            continue;
        if (!tj_fs_read(dirfd(folder), entry->d_name, FLEET_MOST_RECORD_BYTES, &record, &size)) {
            if (!w->was_told_of_spool)
                tell(w, NULL, "%s/%s cannot be read and is left there", w->work->spool, entry->d_name);
            w->was_told_of_spool = true;
            continue;
        }
        status = send_record(w, shape, record, err);
        free(record);
        if (status == TJ_OK) {
            (void)unlinkat(dirfd(folder), entry->d_name, 0);
            w->worked.spooled--;
        }
    }
    if (folder)
        closedir(folder);
    return status;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------- */

typedef struct taken {
    char entry[48], shape[33], *problem; /* problem NULL: it cannot be had */
    int64_t queued;
} taken;

static bool copy(char *to, size_t bytes, const redisReply *from)
{
    if (from->type != REDIS_REPLY_STRING || (size_t)from->len >= bytes)
        return false;
    memcpy(to, from->str, (size_t)from->len + 1);
    return true;
}

static tj_status take(worker *w, taken *t, tj_error *err)
{
    const int64_t now = fleet_now_ms();
    char lease[24], most[24];
    redisReply *reply;
    bool may_claim;
    tj_status status;

    *t = (taken){.queued = 0};
    (void)snprintf(lease, sizeof lease, "%d", w->work->lease_ms);
    (void)snprintf(most, sizeof most, "%d", FLEET_MOST_FAILURES);
    pthread_mutex_lock(&w->lock);
    may_claim = now - w->connected_ms > w->work->lease_ms && now - w->last_trouble_ms > w->work->lease_ms;
    pthread_mutex_unlock(&w->lock);
    status = fleet_run(&w->connection.wire, w->work->of.id, w->work->compiles ? &take_to_compile_script : &take_script, 5,
                       (const char *const[]){w->name, lease, may_claim ? "1" : "0", most, w->work->compiles ? "1" : "0"},
                       &reply, err);
    if (status != TJ_OK)
        return status;
    if (reply->type == REDIS_REPLY_INTEGER)
        t->queued = reply->integer;
    else if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 && copy(t->entry, sizeof t->entry, reply->element[0]) &&
             copy(t->shape, sizeof t->shape, reply->element[1]) && reply->element[2]->type == REDIS_REPLY_STRING)
        t->problem = strdup(reply->element[2]->str);
    else
        status = tj_fail(err, TJ_ERR_UNSUPPORTED,
                         "%.200s: the queue holds an entry that is not a shape: tilejit fleet cancel empties it",
                         w->connection.place.shown);
    freeReplyObject(reply);
    return status;
}

static void hold(worker *w, const taken *t)
{
    pthread_mutex_lock(&w->lock);
    (void)snprintf(w->entry, sizeof w->entry, "%s", t ? t->entry : "");
    (void)snprintf(w->shape, sizeof w->shape, "%s", t ? t->shape : "");
    w->since_ms = fleet_now_ms();
    pthread_mutex_unlock(&w->lock);
}

/* Give a shape back; counts: the shape caused the failure, or may have. */
static tj_status give_back(worker *w, const taken *t, bool counts, const char *why, tj_error *err)
{
    tj_json *object = tj_json_new(), *problem = NULL;
    char *json, most[24];
    redisReply *reply = NULL;
    tj_status status = TJ_OK;

    if (tj_json_read(t->problem, strlen(t->problem), &problem, NULL) == TJ_OK)
        (void)tj_json_add_copy(object, "problem", problem);
    tj_json_add_foreign(object, "why", why);
    json = tj_json_print(object);
    tj_json_free(problem);
    tj_json_free(object);
    (void)snprintf(most, sizeof most, "%d", FLEET_MOST_FAILURES);
    status = fleet_run(&w->connection.wire, w->work->of.id, &fail_script, 6,
                       (const char *const[]){t->shape, t->entry, t->problem, counts ? "1" : "0", most, json ? json : "{}"},
                       &reply, err);
    if (status == TJ_OK && reply->integer == 2)
        tell(w, t->problem, "failed %d times and is not tried again: tilejit fleet status lists it", FLEET_MOST_FAILURES);
    if (reply)
        freeReplyObject(reply);
    free(json);
    return status;
}

static tj_status end_compile(worker *w, const taken *t, tj_error *err)
{
    redisReply *reply = NULL;
    tj_status status =
        fleet_run(&w->connection.wire, w->work->of.id, &compiled_script, 1, (const char *const[]){t->entry}, &reply, err);

    if (reply)
        freeReplyObject(reply);
    pthread_mutex_lock(&w->lock);
    w->done = ++w->worked.done;
    pthread_mutex_unlock(&w->lock);
    return status;
}

/* *fatal: the worker must end, whatever the server says. */
static tj_status handle(worker *w, const taken *t, tj_error *fatal, tj_error *err)
{
    const fleet_work *work = w->work;
    char *record = NULL;
    tj_error why = {TJ_OK, ""};
    tj_status status = work->tune(work->payload, t->problem, &record, &why);

    fatal->status = status == TJ_ERR_DEVICE_LOST || status == TJ_ERR_NO_DRIVER ? status : TJ_OK;
    if (fatal->status != TJ_OK)
        *fatal = why;
    if (work->compiles)
        return status == TJ_ERR_CANCELLED ? TJ_OK : end_compile(w, t, err);
    if (status == TJ_OK && record) {
        status = spool_keep(w, t->shape, record, &why);
        if (status == TJ_OK)
            status = spool_send(w, err);
        else if (!w->was_told_of_spool) /* the record is sent all the same */
            tell(w, NULL, "%s", why.message);
        if (why.status == TJ_ERR_IO) {
            w->was_told_of_spool = true;
            status = send_record(w, t->shape, record, err);
        }
        free(record);
        return status;
    }
    free(record);
    w->worked.failed += status != TJ_ERR_CANCELLED;
    pthread_mutex_lock(&w->lock);
    w->failed = w->worked.failed;
    pthread_mutex_unlock(&w->lock);
    return give_back(w, t, status != TJ_ERR_CANCELLED, status == TJ_OK ? "nothing was measured" : why.message, err);
}

/* Is the error permanent? Keys of another program under these names, a user without the right. */
static bool is_for_ever(const tj_error *why)
{
    return why->status == TJ_ERR_UNSUPPORTED &&
           (strstr(why->message, "WRONGTYPE") || strstr(why->message, "NOPERM") || strstr(why->message, "unknown command") ||
            strstr(why->message, "is not a shape"));
}

static tj_status work_on(worker *w, tj_error *err)
{
    tj_error why, fatal = {TJ_OK, ""};
    bool is_spooled = true; /* are there records of earlier workers? */

    while (!is_cancelled(w)) {
        taken t = {.queued = 0};
        tj_status status = w->work->compiles || !is_spooled ? TJ_OK : spool_send(w, &why);

        is_spooled = status != TJ_OK;
        if (status == TJ_OK)
            status = take(w, &t, &why);
        if (status == TJ_OK) {
            is_well(w);
            if (t.problem) {
                hold(w, &t);
                status = handle(w, &t, &fatal, &why);
                is_spooled = status != TJ_OK;
                hold(w, NULL);
            } else if (t.queued == 0 && w->work->until_empty) {
                return TJ_OK;
            } else {
                pause_for(w, IDLE_MS);
            }
        }
        free(t.problem);
        if (fatal.status != TJ_OK) {
            *err = fatal;
            return fatal.status;
        }
        if (status != TJ_OK && is_for_ever(&why)) {
            *err = why;
            return status;
        }
        if (status != TJ_OK && !is_back(w, &why))
            break;
    }
    return w->is_doubled ? tj_fail(err, TJ_ERR_CANCELLED, "another worker took the name %.60s: name each differently", w->name)
                         : TJ_OK;
}

/* ---- beginning and end -------------------------------------------------------------------------------------------- */

static void choose_name(worker *w)
{
    char host[64] = "host", unique[64];

    (void)gethostname(host, sizeof host - 1);
    tj_fs_unique_name(unique);
    (void)snprintf(w->token, sizeof w->token, "%s", unique);
    if (w->work->name)
        (void)snprintf(w->name, sizeof w->name, "%.100s", w->work->name);
    else
        (void)snprintf(w->name, sizeof w->name, "%.48s:%.48s", host, unique);
}

/* A killed worker may have left its name: after a silent lease the name is free. */
static tj_status enter(worker *w, tj_error *err)
{
    const int64_t until = fleet_now_ms() + w->work->lease_ms + 500;
    tj_status status;

    status = fleet_wire_open(&w->connection.wire, fleet_now_ms() + FLEET_COMMAND_MS, err);
    while (status == TJ_OK && (status = enrol(w, err)) == TJ_ERR_CANCELLED && fleet_now_ms() < until && !is_cancelled(w)) {
        pause_for(w, 200);
        status = TJ_OK;
    }
    return status;
}

tj_status fleet_work_on(const fleet_work *work, fleet_worked *worked, tj_error *err)
{
    worker *w = calloc(1, sizeof *w);
    pthread_condattr_t monotonic;
    sigset_t all, before;
    bool beats = false;
    tj_status status;

    *worked = (fleet_worked){0, 0, 0, 0};
    if (!w)
        return tj_fail_memory(err, "a worker");
    w->work = work;
    w->pause_ms = LEAST_PAUSE_MS;
    w->connected_ms = w->since_ms = fleet_now_ms();
    pthread_mutex_init(&w->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->has_ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    choose_name(w);
    status = fleet_begin(&w->connection, work->url, true, err);
    if (status == TJ_OK)
        status = fleet_begin(&w->beating, work->url, true, err);
    if (status == TJ_OK)
        status = enter(w, err);
    if (status == TJ_OK) {
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &before);
        beats = pthread_create(&w->thread, NULL, keep_beating, w) == 0;
        pthread_sigmask(SIG_SETMASK, &before, NULL);
        status = beats ? work_on(w, err) : tj_fail(err, TJ_ERR_OUT_OF_MEMORY, "no thread could be started");
    }
    if (beats) {
        redisReply *reply;
        tj_error ignored;

        pthread_mutex_lock(&w->lock);
        w->is_ending = true;
        pthread_cond_signal(&w->has_ended);
        pthread_mutex_unlock(&w->lock);
        pthread_join(w->thread, NULL);
        if (fleet_run(&w->connection.wire, work->of.id, &leave_script, 2, (const char *const[]){w->name, w->token}, &reply,
                      &ignored) == TJ_OK)
            freeReplyObject(reply);
    }
    *worked = w->worked;
    fleet_wire_close(&w->connection.wire);
    fleet_wire_close(&w->beating.wire);
    pthread_cond_destroy(&w->has_ended);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return status;
}
