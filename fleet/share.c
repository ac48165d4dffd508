/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share: a thread of its own owns the only connection and does everything that can be slow: resolving the host, connecting,
 * every command. A caller queues a question and waits for its answer until the deadline, no longer.
 *
 * The circuit is closed while answers come in time. After a late answer no caller waits until it has arrived. Without a
 * connection no caller waits either: the thread reconnects after 1 s, then 2, up to 30, as long as there are questions. Only
 * the first question of all waits for a connection, so a server that is gone costs a process its deadline once.
 *
 * A process that compiles an image for all holds a lease, which the thread renews until the image is sent. A live lease proves
 * a live process, so the others wait for it; a lease that is not renewed expires in seconds, and another process may take it.
 */
#include "share.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "error.h"
#include "fs.h"
#include "names.h"
#include "records.h"
#include "trust.h"
#include "wire.h"

enum {
    MOST_OFFERS = 256,
    MOST_OFFERED_BYTES = 64 << 20,
    CONNECT_MS = 2000, /* on the thread, where no caller waits for it */
    ANSWER_MS =
        2000, /* likewise: a question's deadline is its caller's, and a later answer still shows that the server lives */
    GENERATION_MS = 5000,  /* large, and requested once */
    FLUSH_MS = 1000,       /* at the end */
    LEAST_PAUSE_MS = 1000, /* between two attempts to connect */
    MOST_PAUSE_MS = 30000,
    SLICE_MS = 10,     /* of a deadline */
    MOST_STRETCH = 20, /* limit in deadlines, on a busy machine */
    LEASE_MS = 2000,
    BEAT_MS = LEASE_MS / 4,
    SILENCE_MS = LEASE_MS, /* of a server that has just said that another process compiles */
    POLL_MS = 20,          /* for another process's image, at first */
    MOST_POLL_MS = 160
};

typedef enum ask { ASK_FETCH, ASK_LEAD, SEND_BYTES, SEND_YIELD, SEND_USED } ask;
typedef enum lead { LEAD_UNKNOWN, LEAD_MINE, LEAD_MADE, LEAD_BUSY, LEAD_NOBODY } lead;

typedef struct job {
    struct job *next;
    ask ask;
    fleet_kind kind;
    char of[24], name[FLEET_NAME_BYTES - 64];
    bool is_led, is_done;
    int references; /* of a question: the caller and the thread; under the lock */
    int deadline_ms;
    void *bytes; /* to send, or the answer */
    size_t size;
    bool is_found;
    lead lead;
} job;

/* An image that this process compiles for all. */
typedef struct led {
    struct led *next;
    char name[FLEET_NAME_BYTES - 64];
} led;

struct fleet_share {
    fleet_place place;
    fleet_trust trust;
    fleet_merge *merge;
    tj_log log;
    pid_t pid;
    char token[64];
    pthread_mutex_t lock; /* guards the members below */
    pthread_cond_t has_work, has_answer;
    pthread_t thread;
    bool is_started, is_ending, is_abandoned, has_ended;
    bool is_up, was_tried; /* connected; the first attempt to connect is over */
    bool is_late;          /* an answer is late: no caller waits until it has arrived */
    bool is_wanted;        /* a caller would have asked */
    bool was_in_vain;      /* a wait for another process's image timed out: there is no second one */
    int64_t next_try_ms, flush_until_ms;
    int pause_ms;
    job *question, *offer; /* two queues, oldest first */
    size_t offers, offered_bytes;
    bool has_warned_of_server, has_warned_of_seal, has_warned_of_offers;
    fleet_share_counts counts;
    fleet_wire wire; /* used by the thread alone */
    led *led;
    int64_t next_beat_ms;
};

/* Under the lock: once the share is abandoned, its log may be gone. */
static void say(const fleet_share *share, tj_log_level level, const char *what, const char *why)
{
    if (!share->is_abandoned)
        tj_log_line(&share->log, level, "%s: %s", what, why);
}

static void say_once(const fleet_share *share, bool *has_warned, const char *what, const char *why)
{
    if (!*has_warned)
        say(share, TJ_LOG_WARNING, what, why);
    *has_warned = true;
}

static void append(job **queue, job *one)
{
    while (*queue)
        queue = &(*queue)->next;
    *queue = one;
}

static void drop(job *one)
{
    if (--one->references > 0)
        return;
    free(one->bytes);
    free(one);
}

/* ---- what the thread does ----------------------------------------------------------------------------------------- */

static tj_status get(fleet_share *share, int64_t until, fleet_answer answer, const char *key, redisReply **reply, tj_error *err)
{
    return fleet_wire_ask(&share->wire, until, answer, 2, (const char *const[]){"GET", key}, (const size_t[]){3, strlen(key)},
                          reply, err);
}

static void name_key(char key[FLEET_NAME_BYTES], const char *what, const char *name)
{
    (void)snprintf(key, FLEET_NAME_BYTES, FLEET_PREFIX "%s:%s", what, name);
}

/* Return why the found bytes are not trusted; NULL: they are, and the job has a copy. */
static const char *take(const fleet_share *share, job *one, const char *sealed, size_t sealed_size)
{
    const char *content,
        *why = fleet_unseal(&share->trust, one->kind, one->of, one->name, sealed, sealed_size, &content, &one->size);

    if (why)
        return why;
    one->bytes = malloc(one->size + 1);
    if (!one->bytes)
        return "memory ran out";
    if (one->size > 0)
        memcpy(one->bytes, content, one->size);
    ((char *)one->bytes)[one->size] = '\0';
    return NULL;
}

/* Fetch the bytes of a digest; *why as above. */
static tj_status fetch_bytes(fleet_share *share, job *one, int64_t until, const char **why, tj_error *err)
{
    char key[FLEET_NAME_BYTES], digest[FLEET_DIGEST_BYTES], wanted[FLEET_DIGEST_BYTES];
    redisReply *reply = NULL;
    tj_status status;

    if (one->size != FLEET_DIGEST_BYTES - 1) {
        *why = "it names no digest";
        return TJ_OK;
    }
    memcpy(wanted, one->bytes, sizeof wanted);
    free(one->bytes);
    one->bytes = NULL;
    name_key(key, "bytes", wanted);
    status = get(share, until, FLEET_AN_IMAGE, key, &reply, err);
    if (status == TJ_OK && reply->type == REDIS_REPLY_STRING) {
        fleet_digest(reply->str, (size_t)reply->len, digest);
        *why = strcmp(digest, wanted) == 0 ? NULL : "its bytes do not fit their digest";
        one->size = (size_t)reply->len;
        one->bytes = *why ? NULL : malloc(one->size + 1);
        if (one->bytes)
            memcpy(one->bytes, reply->str, one->size + 1);
    }
    if (reply)
        freeReplyObject(reply);
    return status;
}

static tj_status do_fetch(fleet_share *share, job *one, tj_error *err)
{
    const int64_t until = fleet_now_ms() + (one->deadline_ms > ANSWER_MS ? one->deadline_ms : ANSWER_MS);
    char key[FLEET_NAME_BYTES];
    const char *why = NULL;
    redisReply *reply;
    tj_status status;

    if (one->kind == FLEET_RECORD) {
        (void)snprintf(key, sizeof key, FLEET_PREFIX "{%s}:records", one->of);
        status = fleet_wire_say(&share->wire, until, &reply, err, "HGET", key, one->name, NULL);
    } else {
        if (one->kind == FLEET_IMAGE)
            name_key(key, "image", one->name);
        else
            (void)snprintf(key, sizeof key, FLEET_PREFIX "{%s}:generation:%s", one->of, one->name);
        status = get(share, until, one->kind == FLEET_IMAGE ? FLEET_A_VALUE : FLEET_A_GENERATION, key, &reply, err);
    }
    if (status != TJ_OK)
        return status;
    if (reply->type == REDIS_REPLY_STRING) {
        why = take(share, one, reply->str, (size_t)reply->len);
        if (!why && one->kind == FLEET_IMAGE)
            status = fetch_bytes(share, one, until, &why, err);
    }
    freeReplyObject(reply);
    one->is_found = status == TJ_OK && !why && one->bytes;
    if (why) {
        char what[160];

        (void)snprintf(what, sizeof what, "what %.100s has is ignored", share->place.shown);
        pthread_mutex_lock(&share->lock);
        share->counts.ignored++;
        say_once(share, &share->has_warned_of_seal, what, why);
        pthread_mutex_unlock(&share->lock);
    }
    return status;
}

static tj_status exists(fleet_share *share, int64_t until, const char *what, const char *name, bool *is_there, tj_error *err)
{
    char key[FLEET_NAME_BYTES];
    redisReply *reply;
    tj_status status;

    name_key(key, what, name);
    status = fleet_wire_say(&share->wire, until, &reply, err, "EXISTS", key, NULL);
    *is_there = status == TJ_OK && reply->integer > 0;
    if (status == TJ_OK)
        freeReplyObject(reply);
    return status;
}

/* Renew a lease of ours, or give it up. */
static tj_status touch_lease(fleet_share *share, const char *name, const char *lease_ms, tj_error *err)
{
    static const char renew[] = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) "
                                "end return 0",
                      end[] = "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0";
    char key[FLEET_NAME_BYTES];
    redisReply *reply = NULL;
    tj_status status;

    name_key(key, "lease", name);
    status = fleet_wire_say(&share->wire, fleet_now_ms() + ANSWER_MS, &reply, err, "EVAL", lease_ms ? renew : end, "1", key,
                            share->token, lease_ms, NULL);
    if (reply)
        freeReplyObject(reply);
    return status;
}

/* Hold a lease. Without memory it is not renewed: no worse harm. */
static void hold_lease(fleet_share *share, const char *name)
{
    led *one = malloc(sizeof *one);

    if (!one)
        return;
    if (!share->led)
        share->next_beat_ms = fleet_now_ms() + BEAT_MS;
    (void)strcpy(one->name, name);
    one->next = share->led;
    share->led = one;
}

static tj_status give_up_lease(fleet_share *share, const char *name, tj_error *err)
{
    for (led **link = &share->led; *link; link = &(*link)->next)
        if (strcmp((*link)->name, name) == 0) {
            led *one = *link;

            *link = one->next;
            free(one);
            break;
        }
    return touch_lease(share, name, NULL, err);
}

static tj_status renew_leases(fleet_share *share, tj_error *err)
{
    tj_status status = TJ_OK;
    char lease[24];

    (void)snprintf(lease, sizeof lease, "%d", LEASE_MS);
    for (const led *one = share->led; one && status == TJ_OK; one = one->next)
        status = touch_lease(share, one->name, lease, err);
    share->next_beat_ms = fleet_now_ms() + BEAT_MS;
    return status;
}

/* Look for the image once more when the lease is ours: its last holder may have just stored it. */
static tj_status ask_lead(fleet_share *share, job *one, tj_error *err)
{
    const int64_t until = fleet_now_ms() + ANSWER_MS;
    char key[FLEET_NAME_BYTES], lease[24];
    bool is_made = false, is_leased = false;
    redisReply *reply = NULL;
    tj_status status;

    one->lead = LEAD_UNKNOWN;
    if (!share->trust.signs) { /* this process could not share the compiled image */
        status = exists(share, until, "image", one->name, &is_made, err);
        if (status == TJ_OK && !is_made)
            status = exists(share, until, "lease", one->name, &is_leased, err);
        if (status == TJ_OK)
            one->lead = is_made ? LEAD_MADE : is_leased ? LEAD_BUSY : LEAD_NOBODY;
        return status;
    }
    name_key(key, "lease", one->name);
    (void)snprintf(lease, sizeof lease, "%d", LEASE_MS);
    status = fleet_wire_say(&share->wire, until, &reply, err, "SET", key, share->token, "NX", "PX", lease, NULL);
    if (status != TJ_OK)
        return status;
    is_leased = reply->type == REDIS_REPLY_STATUS;
    freeReplyObject(reply);
    status = exists(share, until, "image", one->name, &is_made, err);
    if (status == TJ_OK && is_made && is_leased)
        status = touch_lease(share, one->name, NULL, err);
    if (status == TJ_OK)
        one->lead = is_made ? LEAD_MADE : is_leased ? LEAD_MINE : LEAD_BUSY;
    return status;
}

/* Get the lease; an image that others made comes with the answer. */
static tj_status do_lead(fleet_share *share, job *one, tj_error *err)
{
    const tj_status status = ask_lead(share, one, err);

    return status == TJ_OK && one->lead == LEAD_MADE ? do_fetch(share, one, err) : status;
}

static tj_status set(fleet_share *share, int64_t until, const char *key, const void *bytes, size_t size, tj_error *err)
{
    char seconds[24];
    const char *const word[] = {"SET", key, bytes, "EX", seconds};
    redisReply *reply = NULL;
    tj_status status;

    (void)snprintf(seconds, sizeof seconds, "%lld", 86400LL * share->place.image_days);
    status = fleet_wire_ask(&share->wire, until, FLEET_A_VALUE, 5, word,
                            (const size_t[]){3, strlen(key), size, 2, strlen(seconds)}, &reply, err);
    if (reply)
        freeReplyObject(reply);
    return status;
}

static tj_status send_image(fleet_share *share, const job *one, tj_error *err)
{
    const int64_t until = fleet_now_ms() + ANSWER_MS;
    char key[FLEET_NAME_BYTES], digest[FLEET_DIGEST_BYTES], *sealed;
    size_t size;
    tj_status status;

    fleet_digest(one->bytes, one->size, digest);
    sealed = fleet_seal(&share->trust, FLEET_IMAGE, one->of, one->name, digest, strlen(digest), &size);
    if (!sealed)
        return tj_fail_memory(err, "an image");
    name_key(key, "bytes", digest);
    status = set(share, until, key, one->bytes, one->size, err);
    if (status == TJ_OK) {
        name_key(key, "image", one->name);
        status = set(share, until, key, sealed, size, err);
    }
    free(sealed);
    return status;
}

static tj_status do_send(fleet_share *share, const job *one, tj_error *err)
{
    const int64_t until = fleet_now_ms() + ANSWER_MS;
    tj_status status = TJ_OK;
    fleet_kept kept;

    if (one->ask == SEND_YIELD)
        return give_up_lease(share, one->name, err);
    if (one->ask == SEND_USED) { /* a reader may lack the right */
        char key[FLEET_NAME_BYTES], seconds[24];
        redisReply *reply = NULL;
        tj_error ignored;

        (void)snprintf(seconds, sizeof seconds, "%lld", 86400LL * share->place.image_days);
        name_key(key, strlen(one->name) == FLEET_DIGEST_BYTES - 1 ? "bytes" : "image", one->name);
        status = fleet_wire_say(&share->wire, until, &reply, &ignored, "EXPIRE", key, seconds, NULL);
        if (reply)
            freeReplyObject(reply);
        if (status == TJ_ERR_IO && err)
            *err = ignored;
        return status == TJ_ERR_IO ? status : TJ_OK;
    }
    if (one->kind == FLEET_RECORD) {
        const fleet_offer offer = {
            .of = one->of, .id = one->name, .record = one->bytes, .merge = share->merge, .deadline_ms = ANSWER_MS};

        status = fleet_keep_record(&share->wire, &share->trust, &offer, &kept, NULL, err);
    } else {
        status = send_image(share, one, err);
    }
    if (one->is_led && share->wire.link) {
        tj_error ignored;

        (void)give_up_lease(share, one->name, &ignored);
    }
    return status;
}

/* ---- the thread --------------------------------------------------------------------------------------------------- */

/* Under the lock: no caller waits for an answer any more. */
static void refuse_questions(fleet_share *share)
{
    job *one;

    while ((one = share->question)) {
        share->question = one->next;
        one->is_done = true;
        drop(one);
    }
    pthread_cond_broadcast(&share->has_answer);
}

static void lose_link(fleet_share *share, const tj_error *why)
{
    share->is_up = share->is_late = false;
    share->was_tried = true;
    share->is_wanted = false;
    share->counts.troubles++;
    share->next_try_ms = fleet_now_ms() + share->pause_ms;
    share->pause_ms = 2 * share->pause_ms < MOST_PAUSE_MS ? 2 * share->pause_ms : MOST_PAUSE_MS;
    say_once(share, &share->has_warned_of_server, "nothing is shared for now, and all goes on without", why->message);
    refuse_questions(share);
}

/* Under the lock, which is released meanwhile. */
static void try_to_connect(fleet_share *share)
{
    tj_error why;
    tj_status status;

    pthread_mutex_unlock(&share->lock);
    status = fleet_wire_open(&share->wire, fleet_now_ms() + CONNECT_MS, &why);
    pthread_mutex_lock(&share->lock);
    if (status != TJ_OK) {
        lose_link(share, &why);
        return;
    }
    if (share->was_tried)
        say(share, TJ_LOG_INFO, "sharing goes on", share->place.shown);
    share->is_up = share->was_tried = true;
    share->is_late = share->has_warned_of_server = false;
}

/* Under the lock, released meanwhile. An error reported by the server concerns this job alone. */
static void do_job(fleet_share *share, job *one, bool is_question)
{
    tj_error why;
    tj_status status;

    if (is_question && one->references == 1) { /* its caller has gone on without it */
        share->is_late = false;
        drop(one);
        return;
    }
    pthread_mutex_unlock(&share->lock);
    status = one->ask == ASK_FETCH  ? do_fetch(share, one, &why)
             : one->ask == ASK_LEAD ? do_lead(share, one, &why)
                                    : do_send(share, one, &why);
    pthread_mutex_lock(&share->lock);
    share->is_late = false;
    if (status == TJ_OK)
        share->pause_ms = LEAST_PAUSE_MS;
    if (status == TJ_OK && one->lead == LEAD_MINE && one->references == 1) { /* its caller compiles for itself by now */
        one->ask = SEND_YIELD;
        append(&share->offer, one);
        share->offers++;
        return;
    }
    if (one->lead == LEAD_MINE)
        hold_lease(share, one->name);
    if (is_question) {
        one->is_done = true;
        pthread_cond_broadcast(&share->has_answer);
    } else if (one->ask == SEND_BYTES) {
        share->counts.sent += status == TJ_OK;
        share->counts.dropped += status != TJ_OK;
    }
    if (status == TJ_ERR_IO && !share->wire.link) {
        lose_link(share, &why);
    } else if (status != TJ_OK) {
        share->counts.troubles++;
        say_once(share, &share->has_warned_of_offers,
                 is_question ? "a question was not answered" : "what was made here is not shared", why.message);
    }
    drop(one);
}

static void wait_until(fleet_share *share, int64_t until_ms)
{
    const struct timespec until = {(time_t)(until_ms / 1000), (long)(until_ms % 1000) * 1000000};

    (void)pthread_cond_timedwait(&share->has_work, &share->lock, &until);
}

/* Under the lock, released meanwhile. */
static void beat(fleet_share *share)
{
    tj_error why;
    tj_status status;

    pthread_mutex_unlock(&share->lock);
    status = renew_leases(share, &why);
    pthread_mutex_lock(&share->lock);
    if (status == TJ_ERR_IO && !share->wire.link)
        lose_link(share, &why);
}

static bool is_over(const fleet_share *share)
{
    return share->is_ending && (!share->offer || !share->is_up || fleet_now_ms() > share->flush_until_ms);
}

static void release(fleet_share *share)
{
    job *one;

    while ((one = share->offer)) {
        share->offer = one->next;
        drop(one);
    }
    for (led *held; (held = share->led); free(held))
        share->led = held->next;
    fleet_wire_close(&share->wire);
    pthread_mutex_destroy(&share->lock);
    pthread_cond_destroy(&share->has_work);
    pthread_cond_destroy(&share->has_answer);
    free(share);
}

static void *serve(void *payload)
{
    fleet_share *share = payload;
    bool is_abandoned;

    pthread_mutex_lock(&share->lock);
    while (!is_over(share)) {
        const int64_t now = fleet_now_ms();
        const bool is_asked = share->question || share->offer || share->is_wanted;

        if (!share->is_up && is_asked && now >= share->next_try_ms && !share->is_ending) {
            try_to_connect(share);
        } else if (share->is_up && share->led && now >= share->next_beat_ms) {
            beat(share);
        } else if (share->is_up && (share->question || share->offer)) {
            const bool is_question = share->question != NULL;
            job **queue = is_question ? &share->question : &share->offer, *one = *queue;

            *queue = one->next;
            one->next = NULL;
            if (!is_question) {
                share->offers--;
                share->offered_bytes -= one->size;
            }
            do_job(share, one, is_question);
        } else {
            wait_until(share, share->is_up && share->led                              ? share->next_beat_ms
                              : !share->is_up && is_asked && share->next_try_ms > now ? share->next_try_ms
                                                                                      : now + MOST_PAUSE_MS);
        }
    }
    refuse_questions(share);
    share->has_ended = true;
    is_abandoned = share->is_abandoned;
    pthread_cond_broadcast(&share->has_answer);
    pthread_mutex_unlock(&share->lock);
    if (is_abandoned)
        release(share);
    return NULL;
}

/* Under the lock. Start the thread with signals blocked: they belong to the program. */
static bool is_running(fleet_share *share)
{
    sigset_t all, before;

    if (share->is_started || share->is_ending)
        return share->is_started;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    share->is_started = pthread_create(&share->thread, NULL, serve, share) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return share->is_started;
}

/* ---- what callers do ---------------------------------------------------------------------------------------------- */

static job *job_create(ask what, fleet_kind kind, const char *of, const char *name)
{
    job *one = calloc(1, sizeof *one);

    if (!one || strlen(of) >= sizeof one->of || strlen(name) >= sizeof one->name) {
        free(one);
        return NULL;
    }
    one->ask = what;
    one->kind = kind;
    one->references = 1;
    (void)strcpy(one->of, of);
    (void)strcpy(one->name, name);
    return one;
}

/* Processor time of the thread; 0 if unknown. */
static int64_t worked_us(const fleet_share *share)
{
    struct timespec worked = {0, 0};
    clockid_t clock;

    if (pthread_getcpuclockid(share->thread, &clock) != 0 || clock_gettime(clock, &worked) != 0)
        return 0;
    return (int64_t)worked.tv_sec * 1000000 + worked.tv_nsec / 1000;
}

/*
 * Under the lock: wait for the answer until the deadline, which is the server's. The deadline counts the time in which the
 * thread waits for the server or works, in slices that each count no more than their length. It does not count the time in
 * which a busy machine's threads wait for a processor: a compile would wait even longer.
 */
static void wait_for_answer(fleet_share *share, const job *one, int deadline_ms)
{
    const int64_t most = fleet_now_ms() + (int64_t)MOST_STRETCH * deadline_ms;
    int64_t left_us = 1000LL * deadline_ms, now = fleet_now_ms(), worked = worked_us(share);

    while (!one->is_done && left_us > 0 && now < most) {
        const int64_t left = left_us / 1000 + 1, slice = left < SLICE_MS ? left : SLICE_MS, until = now + slice,
                      before = worked;
        const struct timespec end = {(time_t)(until / 1000), (long)(until % 1000) * 1000000};
        int64_t took;

        (void)pthread_cond_timedwait(&share->has_answer, &share->lock, &end);
        took = fleet_now_ms() - now;
        now += took;
        worked = worked_us(share);
        left_us -= atomic_load(&share->wire.is_waiting) ? 1000 * (took < slice ? took : slice) : worked - before;
    }
}

/* True: the job is done, and the caller must drop it. False: there is no answer, and the job is gone. */
static bool ask_and_wait(fleet_share *share, job *one, int deadline_ms)
{
    bool is_done;

    one->deadline_ms = deadline_ms;
    if (share->pid != getpid()) { /* a forked child does not have the thread */
        free(one);
        return false;
    }
    pthread_mutex_lock(&share->lock);
    share->is_wanted = true;
    share->counts.asked++;
    if (!is_running(share) || (!share->is_up && share->was_tried) || (share->is_late && one->kind != FLEET_GENERATION)) {
        pthread_cond_signal(&share->has_work);
        drop(one);
        pthread_mutex_unlock(&share->lock);
        return false;
    }
    one->references++;
    append(&share->question, one);
    pthread_cond_signal(&share->has_work);
    wait_for_answer(share, one, deadline_ms);
    is_done = one->is_done && (one->is_found || one->lead != LEAD_UNKNOWN);
    if (!one->is_done) { /* later questions do not wait as well */
        share->is_late = true;
        share->counts.troubles++;
    }
    share->counts.found += is_done && one->is_found;
    if (!is_done)
        drop(one);
    pthread_mutex_unlock(&share->lock);
    return is_done;
}

/* Under the lock: an image that is not sent ends its lease all the same. */
static void refuse_offer(fleet_share *share, job *one)
{
    share->counts.dropped += one->ask == SEND_BYTES;
    say_once(share, &share->has_warned_of_offers, "what was made here is not shared", "too much waits to be sent already");
    free(one->bytes);
    one->bytes = NULL;
    one->size = 0;
    if (one->is_led)
        one->ask = SEND_YIELD;
}

static void leave(fleet_share *share, job *one)
{
    bool is_taken;

    if (!one)
        return;
    if (share->pid != getpid()) {
        free(one->bytes);
        free(one);
        return;
    }
    pthread_mutex_lock(&share->lock);
    is_taken = is_running(share) && share->offers < MOST_OFFERS && share->offered_bytes + one->size <= MOST_OFFERED_BYTES;
    if (!is_taken && one->ask != SEND_YIELD)
        refuse_offer(share, one);
    if (!is_taken && (one->ask != SEND_YIELD || !share->is_started)) {
        drop(one);
    } else {
        share->offers++;
        share->offered_bytes += one->size;
        append(&share->offer, one);
        pthread_cond_signal(&share->has_work);
    }
    pthread_mutex_unlock(&share->lock);
}

/* Give the answer to the caller and drop the question. */
static void take_answer(fleet_share *share, job *one, void **bytes, size_t *size)
{
    *bytes = one->bytes;
    *size = one->size;
    one->bytes = NULL;
    pthread_mutex_lock(&share->lock);
    drop(one);
    pthread_mutex_unlock(&share->lock);
}

/* An image in use expires later. */
static void tell_used(fleet_share *share, const char *name, const void *bytes, size_t size)
{
    char digest[FLEET_DIGEST_BYTES];

    fleet_digest(bytes, size, digest);
    leave(share, job_create(SEND_USED, FLEET_IMAGE, "", name));
    leave(share, job_create(SEND_USED, FLEET_IMAGE, "", digest));
}

bool fleet_share_fetch(fleet_share *share, fleet_kind kind, const char *of, const char *name, void **bytes, size_t *size)
{
    job *one = job_create(ASK_FETCH, kind, of, name);

    if (!one || !ask_and_wait(share, one, kind == FLEET_GENERATION ? GENERATION_MS : share->place.deadline_ms))
        return false;
    take_answer(share, one, bytes, size);
    if (kind == FLEET_IMAGE)
        tell_used(share, name, *bytes, *size);
    return true;
}

void fleet_share_offer(fleet_share *share, fleet_kind kind, const char *of, const char *name, const void *bytes, size_t size,
                       bool is_led)
{
    job *one;

    if (!share->trust.signs)
        return;
    one = size <= FLEET_MOST_IMAGE_BYTES ? job_create(SEND_BYTES, kind, of, name) : NULL;
    if (one && (one->bytes = malloc(size + 1))) {
        memcpy(one->bytes, bytes, size);
        ((char *)one->bytes)[size] = '\0';
        one->size = size;
        one->is_led = is_led;
        leave(share, one);
    } else {
        free(one);
        if (is_led)
            fleet_share_yield(share, name);
    }
}

static lead ask_for_lead(fleet_share *share, const char *name, void **bytes, size_t *size)
{
    job *one = job_create(ASK_LEAD, FLEET_IMAGE, "", name);
    lead found;

    if (!one || !ask_and_wait(share, one, share->place.deadline_ms))
        return LEAD_UNKNOWN;
    found = one->lead;
    take_answer(share, one, bytes, size);
    return found;
}

static bool has_link(fleet_share *share)
{
    bool is_up;

    pthread_mutex_lock(&share->lock);
    is_up = share->is_up;
    pthread_mutex_unlock(&share->lock);
    return is_up;
}

/* How long to wait for others' images. A caller that waited in vain does not wait again. */
static int patience(fleet_share *share, bool was_in_vain)
{
    int wait_ms;

    pthread_mutex_lock(&share->lock);
    share->was_in_vain |= was_in_vain;
    wait_ms = share->was_in_vain ? 0 : share->place.wait_ms;
    pthread_mutex_unlock(&share->lock);
    return wait_ms;
}

/*
 * Once the server has said that another process compiles the image, a late answer is not a reason to compile it too; a lost
 * server is.
 */
bool fleet_share_lead(fleet_share *share, const char *name, void **bytes, size_t *size)
{
    const int64_t until = fleet_now_ms() + patience(share, false);
    int64_t seen_ms = 0;
    int pause_ms = POLL_MS;

    *bytes = NULL;
    for (;;) {
        const lead found = ask_for_lead(share, name, bytes, size);
        const int64_t now = fleet_now_ms();
        const bool is_silent = found == LEAD_UNKNOWN && seen_ms > 0 && now - seen_ms < SILENCE_MS && has_link(share);
        const struct timespec pause = {0, pause_ms * 1000000L};

        if (found == LEAD_BUSY)
            seen_ms = now;
        else if (!is_silent)
            return found == LEAD_MINE;
        if (now >= until) {
            (void)patience(share, true);
            return false;
        }
        (void)nanosleep(&pause, NULL);
        pause_ms = pause_ms * 3 / 2 < MOST_POLL_MS ? pause_ms * 3 / 2 : MOST_POLL_MS;
    }
}

void fleet_share_yield(fleet_share *share, const char *name)
{
    leave(share, job_create(SEND_YIELD, FLEET_IMAGE, "", name));
}

const char *fleet_share_generation(const fleet_share *share)
{
    return share->place.generation[0] ? share->place.generation : NULL;
}

bool fleet_share_writes(const fleet_share *share)
{
    return share->trust.signs;
}

tj_status fleet_share_ping(fleet_share *share, const char **shown, tj_error *err)
{
    fleet_wire wire = {.place = &share->place};
    const tj_status status = fleet_wire_open(&wire, fleet_now_ms() + CONNECT_MS, err);

    if (shown)
        *shown = share->place.shown;
    fleet_wire_close(&wire);
    return status;
}

void fleet_share_count(fleet_share *share, fleet_share_counts *counts)
{
    pthread_mutex_lock(&share->lock);
    *counts = share->counts;
    pthread_mutex_unlock(&share->lock);
}

tj_status fleet_share_create(const char *url, fleet_merge *merge, const tj_log *log, fleet_share **out, tj_error *err)
{
    fleet_share *share = calloc(1, sizeof *share);
    pthread_condattr_t monotonic;
    tj_status status;

    *out = NULL;
    if (!share)
        return tj_fail_memory(err, "sharing");
    status = fleet_place_parse(url, &share->place, err);
    if (status == TJ_OK)
        status = fleet_trust_load(&share->place, &share->trust, err);
    if (status == TJ_OK && share->trust.count == 0)
        status = tj_fail(err, TJ_ERR_INVALID_ARGUMENT,
                         "the server's address trusts no key, so nothing from %.120s can be verified: add ?trust=FILE with the "
                         ".pub files of tilejit fleet key, or sign=FILE to write too",
                         share->place.shown);
    if (status != TJ_OK) {
        free(share);
        return status;
    }
    share->merge = merge;
    share->log = *log;
    share->pid = getpid();
    share->pause_ms = LEAST_PAUSE_MS;
    share->wire = (fleet_wire){.place = &share->place};
    tj_fs_unique_name(share->token);
    pthread_mutex_init(&share->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&share->has_work, &monotonic);
    pthread_cond_init(&share->has_answer, &monotonic);
    pthread_condattr_destroy(&monotonic);
    *out = share;
    return TJ_OK;
}

void fleet_share_free(fleet_share *share)
{
    int64_t until_ms;
    struct timespec until;
    bool has_ended;

    if (!share || share->pid != getpid())
        return;
    pthread_mutex_lock(&share->lock);
    share->is_ending = true;
    share->flush_until_ms = fleet_now_ms() + FLUSH_MS;
    until_ms = share->flush_until_ms + FLUSH_MS / 2;
    until = (struct timespec){(time_t)(until_ms / 1000), (long)(until_ms % 1000) * 1000000};
    pthread_cond_signal(&share->has_work);
    while (share->is_started && !share->has_ended && pthread_cond_timedwait(&share->has_answer, &share->lock, &until) == 0)
        ;
    has_ended = !share->is_started || share->has_ended;
    share->is_abandoned = !has_ended; /* perhaps it hangs while it resolves a host: it frees the share when it returns */
    pthread_mutex_unlock(&share->lock);
    if (!has_ended) {
        pthread_detach(share->thread);
        return;
    }
    if (share->is_started)
        pthread_join(share->thread, NULL);
    release(share);
}
