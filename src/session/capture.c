/* SPDX-License-Identifier: Apache-2.0 */
/*
 * capture: a table of problems in memory, and its way into a file that other processes add to as well.
 *
 * The file is a list of shapes: a header that names columns, then a line for each problem, its count first. A writer locks the
 * file of that name, reads it, and replaces it by a new one: so no count is lost, and a reader sees a whole file.
 *
 * Notes are written by a thread of the capture's own now and then while there are new ones; when exit() is called; and at the
 * end. Written notes are dropped from memory, so that nothing is counted twice. A process that is killed loses what it noted
 * since.
 *
 * A line describes the problem of a kernel. If the library switched to a kernel for all extents of a dimension, it is the
 * problem that leaves that dimension open, with the extents of the launch: a line for each of them, which readers fold.
 */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <tilejit/field.h>

#include "canonical.h"
#include "ending.h"
#include "fs.h"
#include "hash.h"
#include "input.h"
#include "output.h"
#include "text.h"
#include "tree.h"
#include "varying.h"

enum {
    MOST_FILE_BYTES = 64 << 20,
    ROW_BYTES = TJ_PROBLEM_TEXT_BYTES + 512 + TJ_EPILOGUE_TEXT_BYTES,
    HEADER_BYTES = 512,
    TRIES = 100
};

typedef struct noted {
    tj_problem problem; /* with the extents of the launch */
    int64_t batch;      /* of the launch */
    bool is_makeshift;
    bool is_taken;
    uint64_t count;
} noted;

typedef struct notes {
    noted *slot; /* the capacity is a power of two */
    size_t count, capacity;
} notes;

struct tj_capture {
    char *path;
    pid_t pid; /* a forked child must not write what its parent counted */
    struct tj_varying *varying;
    const tj_log *log;
    int write_s;
    tj_ending_call at_exit;
    pthread_mutex_t writing; /* held by the writer, so that exit() does not overtake it. Taken before the lock */
    pthread_mutex_t lock;
    /* Under the lock: */
    notes noted;
    bool is_full; /* memory ran out: what came later is not counted */
    bool has_thread, is_ending, has_warned;
    pthread_cond_t ends;
    pthread_t thread;
};

/* ---- in memory ---------------------------------------------------------------------------------------------------- */

/* The log may not be there any more. */
static void write_at_exit(void *payload)
{
    tj_capture_write(payload, &(const tj_log){0});
}

struct tj_capture *tj_capture_create(const char *path, int write_s, struct tj_varying *varying, const tj_log *log)
{
    struct tj_capture *capture = calloc(1, sizeof *capture);
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0); /* where the program is now, wherever it goes */

    if (!capture || asprintf(&capture->path, "%s%s%s", here ? here : "", here ? "/" : "", path) < 0) {
        free(capture);
        free(here);
        return NULL;
    }
    free(here);
    capture->pid = getpid();
    capture->varying = varying;
    capture->log = log;
    capture->write_s = write_s;
    pthread_mutex_init(&capture->writing, NULL);
    pthread_mutex_init(&capture->lock, NULL);
    pthread_cond_init(&capture->ends, NULL);
    capture->at_exit = (tj_ending_call){write_at_exit, capture, NULL};
    tj_ending_ask(&capture->at_exit);
    return capture;
}

void tj_capture_free(struct tj_capture *capture)
{
    if (!capture)
        return;
    if (capture->pid == getpid()) { /* a forked child has neither thread nor call */
        tj_ending_forget(&capture->at_exit);
        pthread_mutex_lock(&capture->lock);
        capture->is_ending = true;
        pthread_cond_signal(&capture->ends);
        pthread_mutex_unlock(&capture->lock);
        if (capture->has_thread)
            pthread_join(capture->thread, NULL);
    }
    pthread_cond_destroy(&capture->ends);
    pthread_mutex_destroy(&capture->lock);
    pthread_mutex_destroy(&capture->writing);
    free(capture->noted.slot);
    free(capture->path);
    free(capture);
}

static bool is_same(const noted *a, const noted *b)
{
    return a->batch == b->batch && a->is_makeshift == b->is_makeshift && tj_problem_is_same(&a->problem, &b->problem);
}

static noted *slot_of(noted *slot, size_t capacity, const noted *one)
{
    size_t at = tj_hash_bytes64(&one->problem, tj_problem_bytes(&one->problem)) & (capacity - 1);

    while (slot[at].is_taken && !is_same(&slot[at], one))
        at = (at + 1) & (capacity - 1);
    return &slot[at];
}

static bool grow(notes *all)
{
    const size_t capacity = all->capacity ? 2 * all->capacity : 256;
    noted *larger = calloc(capacity, sizeof *larger);

    if (!larger)
        return false;
    for (size_t i = 0; i < all->capacity; i++)
        if (all->slot[i].is_taken)
            *slot_of(larger, capacity, &all->slot[i]) = all->slot[i];
    free(all->slot);
    all->slot = larger;
    all->capacity = capacity;
    return true;
}

/* False: out of memory. */
static bool add_note(notes *all, const noted *one)
{
    noted *slot;

    if (2 * (all->count + 1) > all->capacity && !grow(all))
        return false;
    slot = slot_of(all->slot, all->capacity, one);
    if (slot->is_taken) {
        slot->count += one->count;
        return true;
    }
    *slot = *one;
    slot->is_taken = true;
    all->count++;
    return true;
}

static void *write_now_and_then(void *payload)
{
    struct tj_capture *capture = payload;
    struct timespec until;

    pthread_mutex_lock(&capture->lock);
    while (!capture->is_ending) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += capture->write_s;
        while (!capture->is_ending && pthread_cond_timedwait(&capture->ends, &capture->lock, &until) == 0)
            ;
        if (!capture->is_ending && capture->noted.count > 0) {
            pthread_mutex_unlock(&capture->lock);
            tj_capture_write(capture, capture->log);
            pthread_mutex_lock(&capture->lock);
        }
    }
    pthread_mutex_unlock(&capture->lock);
    return NULL;
}

/*
 * Fill in an open dimension with the extent of the launch: from the call's problem, or the launch's operands. For a prepared
 * plan neither need have one; a line has a number all the same.
 */
static void fill(tj_dim *dim, const tj_dim *asked, int64_t extent)
{
    if (dim->mode == TJ_DIM_ANY)
        dim->extent = extent > 0 ? extent : asked->extent > 0 ? asked->extent : 1;
}

static noted note_of(const tj_captured *launch)
{
    static const tj_operands none = TJ_OPERANDS_INIT;
    const tj_operands *x = launch->operands ? launch->operands : &none;
    noted one = {.problem = *launch->served,
                 .batch = launch->asked->batch,
                 .is_makeshift = launch->is_makeshift,
                 .count = launch->operands != NULL};

    fill(&one.problem.j, &launch->asked->j, x->j);
    fill(&one.problem.k, &launch->asked->k, x->k);
    fill(&one.problem.l, &launch->asked->l, x->l);
    if (one.batch == TJ_ANY)
        one.batch = x->batch;
    return one;
}

void tj_capture_note(struct tj_capture *capture, const tj_captured *launch)
{
    const noted one = note_of(launch);

    pthread_mutex_lock(&capture->lock);
    if (!add_note(&capture->noted, &one))
        capture->is_full = true;
    if (!capture->has_thread && capture->pid == getpid())
        capture->has_thread = pthread_create(&capture->thread, NULL, write_now_and_then, capture) == 0;
    pthread_mutex_unlock(&capture->lock);
}

/* ---- a line for each problem --------------------------------------------------------------------------------------- */

/* Count the leading dimensions (or strides) that the launch gives; *all: the number that it could give. */
static int count_any(const tj_problem *c, bool of_strides, int *all)
{
    int any = 0;

    *all = 0;
    for (tj_which which = TJ_MATRIX_M; which <= (c->epilogue.has_beta ? TJ_MATRIX_C : TJ_MATRIX_P); which++) {
        const tj_matrix *matrix = tj_problem_matrix(c, which);
        const bool has_stride = !tj_is_grouped(c) || which == TJ_MATRIX_N;
        const bool can =
            !of_strides || (has_stride && matrix->stride != TJ_BROADCAST && !tj_stride_is_pointers(matrix->stride));

        *all += can;
        any += can && (of_strides ? matrix->stride : matrix->ld) == TJ_ANY;
    }
    return any;
}

static void print_header(char header[HEADER_BYTES])
{
    const char *name;

    strcpy(header, "count,j,k,l");
    for (size_t i = 0; (name = tj_problem_field(i)); i++)
        strcat(strcat(header, ","), name);
    strcat(header, "\n");
}

/* Print the part after the count; a problem that no line of a list can express becomes a comment. batch: of the launch. */
static void print_row(const tj_problem *c, int64_t batch, char row[ROW_BYTES])
{
    tj_text text = TJ_TEXT_INIT(ROW_BYTES - 1);
    char *line = NULL, cell[TJ_PROBLEM_FIELD_BYTES];
    int lds, strides;
    const int any_ld = count_any(c, false, &lds), any_stride = count_any(c, true, &strides);
    const bool is_said = (any_ld == 0 || any_ld == lds) && (any_stride == 0 || any_stride == strides);
    tj_problem launched = *c;
    const char *name;

    launched.batch = batch;
    for (int i = 0; i < 3; i++) {
        tj_text_append(&text, ",");
        tj_text_append_int(&text, (const tj_dim *const[]){&c->j, &c->k, &c->l}[i]->extent);
    }
    for (size_t i = 0; (name = tj_problem_field(i)); i++) {
        tj_problem_get(strcmp(name, "batch") == 0 ? &launched : c, name, cell);
        tj_text_append(&text, ",");
        tj_text_append(&text, cell);
    }
    row[0] = '\0';
    if (tj_text_take(&text, &line, NULL) == TJ_OK)
        strcpy(row, line);
    free(line);
    if (!is_said) {
        strcpy(row, "#,");
        tj_problem_print(c, row + 2);
    }
}

/* ---- the file ------------------------------------------------------------------------------------------------------ */

typedef struct counted {
    char *row; /* the part after the count; "#" first: no line can express it */
    uint64_t count;
} counted;

typedef struct rows {
    counted *at;
    size_t count, capacity;
} rows;

/* row: copied, length of it. False: out of memory. */
static bool add_row(rows *all, bool is_comment, const char *row, size_t length, uint64_t count)
{
    char *copy;

    if (all->count == all->capacity) {
        const size_t capacity = all->capacity ? 2 * all->capacity : 256;
        counted *larger = realloc(all->at, capacity * sizeof *larger);

        if (!larger)
            return false;
        all->at = larger;
        all->capacity = capacity;
    }
    if (asprintf(&copy, "%s%.*s", is_comment ? "#" : "", (int)length, row) < 0)
        return false;
    all->at[all->count++] = (counted){copy, count};
    return true;
}

static void drop_rows(rows *all)
{
    for (size_t i = 0; i < all->count; i++)
        free(all->at[i].row);
    free(all->at);
}

/* Read the rows of other processes. NULL: done; else the defect. */
static const char *read_rows(const char *text, rows *all)
{
    if (!*text)
        return NULL;
    char header[HEADER_BYTES];

    print_header(header);
    if (strncmp(text, header, strlen(header)) != 0)
        return "there is a file that is not a capture of this version, and it stays as it is: name another";
    for (text += strlen(header); *text;) {
        const bool is_comment = *text == '#';
        char *cells;
        const uint64_t count = strtoull(text + is_comment, &cells, 10);
        const size_t length = strcspn(cells, "\n");

        if (*cells != ',')
            return "a line of the file has no count, and it stays as it is: name another";
        if (!add_row(all, is_comment, cells, length, count))
            return "out of memory";
        text = cells + length + (cells[length] == '\n');
    }
    return NULL;
}

static int by_row(const void *a, const void *b)
{
    return strcmp(((const counted *)a)->row, ((const counted *)b)->row);
}

/* One line for each row, with the sum of its counts. NULL: out of memory. */
static char *print_rows(rows *all, size_t *size)
{
    tj_text text = TJ_TEXT_INIT(MOST_FILE_BYTES);
    char *printed = NULL, header[HEADER_BYTES];

    if (all->count > 0)
        qsort(all->at, all->count, sizeof *all->at, by_row);
    print_header(header);
    tj_text_append(&text, header);
    for (size_t i = 0; i < all->count; i++) {
        const char *row = all->at[i].row;
        const bool is_comment = row[0] == '#';
        uint64_t count = all->at[i].count;

        for (; i + 1 < all->count && strcmp(row, all->at[i + 1].row) == 0; i++)
            count += all->at[i + 1].count;
        tj_text_append(&text, is_comment ? "#" : "");
        tj_text_append_int(&text, (int64_t)count);
        tj_text_append(&text, row + is_comment);
        tj_text_append(&text, "\n");
    }
    *size = text.length;
    return tj_text_take(&text, &printed, NULL) == TJ_OK ? printed : NULL;
}

/* The locked file that the name stands for: another process may have put a new one in its place before the lock was ours. */
static int lock_file(const char *path)
{
    struct stat named, locked;

    for (int i = 0; i < TRIES; i++) {
        const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);

        if (fd < 0)
            return -1;
        if (flock(fd, LOCK_EX) == 0 && stat(path, &named) == 0 && fstat(fd, &locked) == 0 && named.st_ino == locked.st_ino &&
            named.st_dev == locked.st_dev)
            return fd;
        close(fd);
    }
    errno = EAGAIN;
    return -1;
}

/* By now it may be known that a dimension varies: then such a launch waits for one kernel for all its extents. */
static tj_problem settled(const struct tj_capture *capture, const noted *one)
{
    tj_request request, general;

    tj_request_derive(&one->problem, &request);
    if (!one->is_makeshift || !capture->varying || !tj_varying_find(capture->varying, &request, &general))
        return request.problem;
    fill(&general.problem.j, &one->problem.j, 0);
    fill(&general.problem.k, &one->problem.k, 0);
    fill(&general.problem.l, &one->problem.l, 0);
    return general.problem;
}

static bool add_noted(const struct tj_capture *capture, const notes *taken, rows *all)
{
    char row[ROW_BYTES];

    for (size_t i = 0; i < taken->capacity; i++)
        if (taken->slot[i].is_taken) {
            const tj_problem problem = settled(capture, &taken->slot[i]);

            print_row(&problem, taken->slot[i].batch, row);
            if (!add_row(all, false, row, strlen(row), taken->slot[i].count))
                return false;
        }
    return true;
}

/* Under the file's lock. NULL: written. */
static const char *merge(const struct tj_capture *capture, const notes *taken, tj_error *err)
{
    char *before = NULL, *after = NULL;
    rows all = {NULL, 0, 0};
    tj_output out;
    size_t size;
    const char *why;

    if (tj_input_read_whole(capture->path, MOST_FILE_BYTES, &before, &size, err) != TJ_OK)
        return err->message;
    why = read_rows(before, &all);
    if (!why && (!add_noted(capture, taken, &all) || !(after = print_rows(&all, &size))))
        why = "out of memory";
    if (!why) {
        const struct iovec piece = {after, size};

        if (tj_output_open(capture->path, &out, err) != TJ_OK || tj_output_write(&out, &piece, 1, err) != TJ_OK)
            why = err->message;
        tj_output_close(&out);
    }
    free(before);
    free(after);
    drop_rows(&all);
    return why;
}

/* For the next time, when the disk may have room again. */
static void put_back(struct tj_capture *capture, const notes *taken)
{
    pthread_mutex_lock(&capture->lock);
    for (size_t i = 0; i < taken->capacity; i++)
        if (taken->slot[i].is_taken && !add_note(&capture->noted, &taken->slot[i]))
            capture->is_full = true;
    pthread_mutex_unlock(&capture->lock);
}

static bool is_first_trouble(struct tj_capture *capture)
{
    bool is_first;

    pthread_mutex_lock(&capture->lock);
    is_first = !capture->has_warned;
    capture->has_warned = true;
    pthread_mutex_unlock(&capture->lock);
    return is_first;
}

/* Write the notes into the file. On failure: one line of text, and the notes stay for the next time. */
static const char *write_noted(struct tj_capture *capture, tj_error *err)
{
    const notes none = {NULL, 0, 0};
    const char *why;
    bool is_full;
    notes taken;
    int lock;

    pthread_mutex_lock(&capture->lock);
    taken = capture->noted;
    capture->noted = none;
    is_full = capture->is_full;
    pthread_mutex_unlock(&capture->lock);
    if (taken.count == 0) {
        free(taken.slot);
        return NULL;
    }
    lock = lock_file(capture->path);
    why = lock >= 0 ? merge(capture, &taken, err) : strerror(errno);
    if (lock >= 0)
        close(lock);
    if (why)
        put_back(capture, &taken);
    free(taken.slot);
    return !why && is_full ? "memory ran out, so that some calls were not counted" : why;
}

void tj_capture_write(struct tj_capture *capture, const tj_log *log)
{
    const char *why;
    tj_error err;

    if (capture->pid != getpid())
        return;
    pthread_mutex_lock(&capture->writing);
    why = write_noted(capture, &err);
    pthread_mutex_unlock(&capture->writing);
    if (why && is_first_trouble(capture))
        tj_log_line(log, TJ_LOG_WARNING, "the problems of this context are not all in %s: %s", capture->path, why);
}
