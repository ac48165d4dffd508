/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_table: images in memory, and one compile per key.
 *
 * A hit takes no lock: buckets are chains that only grow, at their head, and an image is published last, with release
 * order. Nothing leaves a chain before the table is freed; an image that the driver refused is marked and passed over.
 *
 * A miss becomes a flight: the first thread that asks produces the image, outside the lock; those that ask meanwhile
 * wait for it and get what it got. A failure is theirs too, and is then forgotten: the next request tries again.
 */
#include "context.h"

#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "image.h"

enum { BUCKETS = 1024 };

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
    _Atomic(tj_image_body *) bucket[BUCKETS];
    pthread_mutex_t lock;
    pthread_cond_t landed;
    image_flight *flights; /* under lock; none that has landed */
};

struct tj_image_table *tj_image_table_create(void)
{
    struct tj_image_table *table = calloc(1, sizeof *table);

    if (!table)
        return NULL;
    pthread_mutex_init(&table->lock, NULL);
    pthread_cond_init(&table->landed, NULL);
    return table;
}

void tj_image_table_free(struct tj_image_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < BUCKETS; i++) {
        tj_image_body *body = atomic_load_explicit(&table->bucket[i], memory_order_relaxed);
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

static _Atomic(tj_image_body *) *bucket_of(struct tj_image_table *table, const tj_key *key)
{
    return &table->bucket[key->hash.low % BUCKETS];
}

/* With a reference of the caller's own; NULL: not there. The table's reference keeps every body alive meanwhile. */
static tj_image_body *table_find(struct tj_image_table *table, const tj_key *key)
{
    tj_image_body *body = atomic_load_explicit(bucket_of(table, key), memory_order_acquire);

    while (body && (atomic_load_explicit(&body->is_rejected, memory_order_relaxed) || !is_same_key(&body->key, key)))
        body = body->next;
    if (body)
        atomic_fetch_add_explicit(&body->references, 1, memory_order_relaxed);
    return body;
}

/* Under the lock. The table takes a reference of its own. */
static void table_insert(struct tj_image_table *table, tj_image_body *body)
{
    _Atomic(tj_image_body *) *bucket = bucket_of(table, &body->key);

    atomic_fetch_add_explicit(&body->references, 1, memory_order_relaxed);
    body->next = atomic_load_explicit(bucket, memory_order_relaxed);
    atomic_store_explicit(bucket, body, memory_order_release);
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
static tj_status fly(tj_context *context, const tj_source *source, const tj_key *key, tj_image_body **body, tj_origin *origin,
                     tj_error *err)
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
    status = tj_image_produce(&context->host, source, key, &mine->body, origin, &mine->error);
    pthread_mutex_lock(&table->lock);

    while (*link != mine)
        link = &(*link)->next;
    *link = mine->next;
    mine->status = status;
    mine->has_landed = true;
    if (status == TJ_OK)
        table_insert(table, mine->body);
    pthread_cond_broadcast(&table->landed);
    take(mine, body, err);
    leave(mine);
    return status;
}

static tj_status obtain(tj_context *context, const tj_source *source, const tj_key *key, tj_image_body **body,
                        tj_origin *origin, tj_error *err)
{
    struct tj_image_table *table = context->images;
    image_flight *other;
    tj_status status = TJ_OK;

    *origin = TJ_FROM_MEMORY;
    *body = table_find(table, key);
    if (*body)
        return TJ_OK;
    pthread_mutex_lock(&table->lock);
    /* Again: it may have landed between the look and the lock. */
    *body = table_find(table, key);
    if (!*body) {
        for (other = table->flights; other && !is_same_key(other->key, key); other = other->next)
            ;
        status = other ? wait_for(table, other, body, err) : fly(context, source, key, body, origin, err);
    }
    pthread_mutex_unlock(&table->lock);
    return status;
}

tj_status tj_image_obtain(tj_context *context, const tj_source *source, const char *target, tj_image **image, tj_error *err)
{
    if (image)
        *image = NULL;
    if (TJ_HAS_NULL(err, image, context, source, target))
        return TJ_ERR_INVALID_ARGUMENT;
    tj_image_key_text text;
    tj_image_body *body;
    tj_origin origin;
    tj_status status, wrapped;
    tj_key key;

    status = tj_image_make_key(&context->host, source, target, &text, &key, err);
    if (status != TJ_OK)
        return status;
    status = obtain(context, source, &key, &body, &origin, err);
    if (status == TJ_OK && origin == TJ_FROM_MEMORY) {
        atomic_fetch_add_explicit(&context->stats.memory_hits, 1, memory_order_relaxed);
        tj_log_line(&context->host.log, TJ_LOG_DEBUG, "%s for %s from memory, key %s", tj_source_kernel(source), body->target,
                    key.hex);
    }
    wrapped = tj_image_wrap(body, origin, image, status == TJ_OK ? err : NULL);
    return status == TJ_OK ? wrapped : status;
}
