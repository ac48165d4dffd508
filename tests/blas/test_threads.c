/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Work on threads of the library's own: in which order it is done, and on how many threads.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#include "threads.h"

static double done[16]; /* the sizes of the tasks that ran, in their order */
static atomic_int count, at_work, most_at_work;

static void pause_ms(int ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static void note(blas_task *task)
{
    done[count] = task->size;
    atomic_fetch_add(&count, 1);
}

static void note_and_wait(blas_task *task)
{
    const int now = atomic_fetch_add(&at_work, 1) + 1;

    (void)task;
    if (now > atomic_load(&most_at_work))
        atomic_store(&most_at_work, now);
    pause_ms(50);
    atomic_fetch_sub(&at_work, 1);
    atomic_fetch_add(&count, 1);
}

static void wait_for(int tasks)
{
    for (int i = 0; i < 5000 && atomic_load(&count) < tasks; i++)
        pause_ms(1);
    cr_assert(atomic_load(&count) == tasks, "%d", (int)count);
}

/* Let the process have that many processors. false: there are fewer. */
static bool have_processors(int wanted)
{
    cpu_set_t all, some;
    int found = 0;

    CPU_ZERO(&some);
    cr_assert(sched_getaffinity(0, sizeof all, &all) == 0);
    for (int i = 0; i < CPU_SETSIZE && found < wanted; i++)
        if (CPU_ISSET(i, &all)) {
            CPU_SET(i, &some);
            found++;
        }
    return found == wanted && sched_setaffinity(0, sizeof some, &some) == 0;
}

Test(threads, the_largest_of_a_burst_runs_first)
{
    blas_task late[3] = {{note, 1, true, NULL}, {note, 3, true, NULL}, {note, 2, true, NULL}}, at_once = {note, 0, false, NULL};

    cr_assert(have_processors(1));
    for (int i = 0; i < 3; i++)
        cr_expect(blas_threads_run(&late[i]));
    cr_expect(blas_threads_run(&at_once));
    wait_for(4);
    cr_expect(done[0] == 0 && done[1] == 3 && done[2] == 2 && done[3] == 1, "%g %g %g %g", done[0], done[1], done[2], done[3]);
}

static void again(blas_task *task)
{
    note(task);
    *task = (blas_task){note, 5, false, NULL};
    blas_threads_run_again(task);
}

Test(threads, a_task_may_run_again)
{
    blas_task twice = {again, 9, false, NULL};

    cr_assert(blas_threads_run(&twice));
    wait_for(2);
    cr_expect(done[0] == 9 && done[1] == 5);
}

static void expect_threads(int processors, int threads)
{
    blas_task task[12];

    if (!have_processors(processors))
        cr_skip("it needs %d processors", processors);
    for (int i = 0; i < 12; i++) {
        task[i] = (blas_task){note_and_wait, i, false, NULL};
        cr_expect(blas_threads_run(&task[i]));
    }
    wait_for(12);
    cr_expect(most_at_work == threads, "%d threads", (int)most_at_work);
}

Test(threads, one_on_a_processor)
{
    expect_threads(1, 1);
}

Test(threads, a_quarter_of_the_processors)
{
    expect_threads(8, 2);
}
