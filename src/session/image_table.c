/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_table: images in memory, and one compile per key.
 *
 * Buckets are chains. Images are looked for when a plan is made, so a lock for a moment is cheap enough; none is held while an
 * image is read or compiled. An image that the driver refused is marked and passed over. An image that nobody but the table has
 * leaves when the plan leaves that had it, or when the table holds more bytes than it may, the oldest first.
 *
 * A miss becomes a flight: the first thread that asks produces the image, outside the lock; those that ask meanwhile
 * wait for it and get what it got. A failure is theirs too, and is then forgotten: the next request tries again.
 */
#include "context.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "events.h"
#include "image.h"

enum { BUCKETS = 1024 };

typedef tj_image_body *image_chain;

/* An image being produced. Lives as long as somebody takes part. */
typedef struct image_flight {
    struct image_flight *next;
    const tj_key *key; /* of the thread that produces: valid until it has landed */
    unsigned passengers;
    bool has_landed;
    tj_status status;
    tj_error error;
    tj_image_body *body; /* one reference; NULL: none */
} image_flight;

struct tj_image_table {
    pthread_mutex_t lock;
    pthread_cond_t landed;
    /* Under the lock: */
    image_chain bucket[BUCKETS];
    image_flight *flights; /* none that has landed */
    int64_t bytes, most_bytes;
    uint64_t time;
};

struct tj_image_table *tj_image_table_create(int64_t most_bytes)
{
    struct tj_image_table *table = calloc(1, sizeof *table);

    if (!table)
        return NULL;
    table->most_bytes = most_bytes;
    pthread_mutex_init(&table->lock, NULL);
    pthread_cond_init(&table->landed, NULL);
    return table;
}

void tj_image_table_free(struct tj_image_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        tj_image_body *body = table->bucket[i];

        while (body) {
            tj_image_body *next = body->next;
            tj_image_body_release(body);
            body = next;
        }
    }
    pthread_cond_destroy(&table->landed);
    pthread_mutex_destroy(&table->lock);
    free(table);
}

/* The hash finds, the fields decide. */
static bool is_same_key(const tj_key *a, const tj_key *b)
{
    if (a->hash.high != b->hash.high || a->hash.low != b->hash.low || a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->field[i].name, b->field[i].name) != 0 || strcmp(a->field[i].value, b->field[i].value) != 0)
            return false;
    return true;
}

static image_chain *bucket_of(struct tj_image_table *table, const tj_key *key)
{
    return &table->bucket[key->hash.low % BUCKETS];
}

/* Under the lock. With a reference of the caller's own; NULL: not there. */
static tj_image_body *table_find(struct tj_image_table *table, const tj_key *key)
{
    tj_image_body *body = *bucket_of(table, key);

    while (body && (atomic_load_explicit(&body->is_rejected, memory_order_relaxed) || !is_same_key(&body->key, key)))
        body = body->next;
    if (body) {
        body->used = ++table->time;
        atomic_fetch_add_explicit(&body->references, 1, memory_order_relaxed);
    }
    return body;
}

static int64_t bytes_of(const tj_image_body *body)
{
    return (int64_t)(sizeof *body + body->ptx_bytes + body->cubin_bytes + body->key_bytes + strlen(body->log));
}

/* Does nobody but the table have it? Under the lock nobody else can come to have it. */
static bool is_idle(const tj_image_body *body)
{
    return atomic_load_explicit(&body->references, memory_order_acquire) == 1;
}

/* Under the lock. */
static void remove_idle(struct tj_image_table *table, tj_image_body *body)
{
    image_chain *link = bucket_of(table, &body->key);

    while (*link != body)
        link = &(*link)->next;
    *link = body->next;
    table->bytes -= bytes_of(body);
    tj_image_body_release(body);
}

/* Under the lock: the idle ones that were used longest ago go, until there is room. */
static void make_room(struct tj_image_table *table)
{
    while (table->bytes > table->most_bytes) {
        tj_image_body *oldest = NULL;

        for (size_t i = 0; i < BUCKETS; i++)
            for (tj_image_body *body = table->bucket[i]; body; body = body->next)
                if (is_idle(body) && (!oldest || body->used < oldest->used))
                    oldest = body;
        if (!oldest)
            return;
        remove_idle(table, oldest);
    }
}

/* Under the lock. The table takes a reference of its own. */
static void table_insert(struct tj_image_table *table, tj_image_body *body)
{
    image_chain *bucket = bucket_of(table, &body->key);

    atomic_fetch_add_explicit(&body->references, 1, memory_order_relaxed);
    body->used = ++table->time;
    body->next = *bucket;
    *bucket = body;
    table->bytes += bytes_of(body);
    make_room(table);
}

/* Under the lock. */
static void leave(image_flight *flight)
{
    if (--flight->passengers > 0)
        return;
    tj_image_body_release(flight->body);
    free(flight);
}

/* Under the lock: what the flight got, with a reference of the caller's own. */
static tj_status take(const image_flight *flight, tj_image_body **body, tj_error *err)
{
    *body = flight->body;
    if (*body)
        atomic_fetch_add_explicit(&(*body)->references, 1, memory_order_relaxed);
    if (flight->status != TJ_OK && err)
        *err = flight->error;
    return flight->status;
}

/* Under the lock: wait for a flight that is up. */
static tj_status wait_for(struct tj_image_table *table, image_flight *flight, tj_image_body **body, tj_error *err)
{
    tj_status status;

    flight->passengers++;
    while (!flight->has_landed)
        pthread_cond_wait(&table->landed, &table->lock);
    status = take(flight, body, err);
    leave(flight);
    return status;
}

/* Under the lock, which is given back while producing. */
static tj_status fly(tj_context *context, const tj_source *source, const tj_key *key, bool may_compile, tj_image_body **body,
                     tj_origin *origin, tj_error *err)
{
    struct tj_image_table *table = context->images;
    image_flight *mine = calloc(1, sizeof *mine), **link = &table->flights;
    tj_status status;

    *body = NULL;
    if (!mine)
        return tj_fail_memory(err, "an image");
    mine->key = key;
    mine->passengers = 1;
    mine->next = table->flights;
    table->flights = mine;

    pthread_mutex_unlock(&table->lock);
    status = tj_image_produce(&context->host, source, key, may_compile, &mine->body, origin, &mine->error);
    pthread_mutex_lock(&table->lock);

    while (*link != mine)
        link = &(*link)->next;
    *link = mine->next;
    mine->status = status;
    mine->has_landed = true;
    if (status == TJ_OK && mine->body)
        table_insert(table, mine->body);
    pthread_cond_broadcast(&table->landed);
    take(mine, body, err);
    leave(mine);
    return status;
}

/* TJ_OK without a body: it may not be compiled, and is nowhere; a flight that only looks gives none to who waits for it, either. */
static tj_status obtain(tj_context *context, const tj_source *source, const tj_key *key, bool may_compile, tj_image_body **body,
                        tj_origin *origin, tj_error *err)
{
    struct tj_image_table *table = context->images;
    image_flight *other;
    tj_status status = TJ_OK;

    pthread_mutex_lock(&table->lock);
    do {
        *origin = TJ_FROM_MEMORY;
        *body = table_find(table, key);
        for (other = table->flights; !*body && other && !is_same_key(other->key, key); other = other->next)
            ;
        if (*body)
            break;
        if (!other)
            status = fly(context, source, key, may_compile, body, origin, err);
        else if (may_compile)
            status = wait_for(table, other, body, err);
    } while (other && may_compile && status == TJ_OK && !*body);
    pthread_mutex_unlock(&table->lock);
    return status;
}

void tj_image_let_go(tj_context *context, tj_image **image)
{
    struct tj_image_table *table = context->images;
    tj_image_body *body = *image ? (*image)->body : NULL;

    if (!body)
        return;
    pthread_mutex_lock(&table->lock);
    for (tj_image_body *one = *bucket_of(table, &body->key); one; one = one->next)
        if (one == body) {
            tj_image_free(*image);
            *image = NULL;
            if (is_idle(body))
                remove_idle(table, body);
            break;
        }
    pthread_mutex_unlock(&table->lock);
}

static tj_status get(tj_context *context, const tj_source *source, const char *target, bool may_compile, tj_image **image,
                     tj_error *err)
{
    static const char *const where[] = {
        [TJ_FROM_MEMORY] = "memory", [TJ_FROM_STORE] = "store", [TJ_FROM_PACK] = "pack", [TJ_FROM_REMOTE] = "remote"};
    tj_image_key_text text;
    tj_image_body *body;
    tj_origin origin;
    tj_status status, wrapped;
    tj_key key;

    status = tj_image_make_key(&context->host, source, target, &text, &key, err);
    if (status != TJ_OK)
        return status;
    status = obtain(context, source, &key, may_compile, &body, &origin, err);
    if (status == TJ_OK && body && origin == TJ_FROM_MEMORY) {
        atomic_fetch_add_explicit(&context->stats.memory_hits, 1, memory_order_relaxed);
        tj_log_line(&context->host.log, TJ_LOG_DEBUG, "%s for %s from memory, key %s", tj_source_kernel(source), body->target,
                    key.hex);
    }
    if (status == TJ_OK && body && origin != TJ_FROM_COMPILER)
        tj_host_tell(&context->host, TJ_EVENT_HIT, source, (tj_outcome){.detail = where[origin]});
    wrapped = tj_image_wrap(body, origin, image, status == TJ_OK ? err : NULL);
    return status == TJ_OK ? wrapped : status;
}

tj_status tj_image_obtain(tj_context *context, const tj_source *source, const char *target, tj_image **image, tj_error *err)
{
    if (image)
        *image = NULL;
    if (TJ_HAS_NULL(err, image, context, source, target))
        return TJ_ERR_INVALID_ARGUMENT;
    return get(context, source, target, true, image, err);
}

tj_status tj_image_recall(tj_context *context, const tj_source *source, const char *target, tj_image **image, tj_error *err)
{
    *image = NULL;
    return get(context, source, target, false, image, err);
}
