/* SPDX-License-Identifier: Apache-2.0 */
/*
 * planted: one fault of each kind, on request. A sanitizer run that does not report them proves nothing.
 */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int shared_count;

static void *count(void *unused)
{
    (void)unused;
    for (int i = 0; i < 100000; i++)
        shared_count++;
    return NULL;
}

int main(int argc, char **argv)
{
    const char *fault = argc > 1 ? argv[1] : "";
    volatile int size = argc + 6;

    if (strcmp(fault, "leak") == 0) {
        char *volatile lost = malloc((size_t)size);
        lost[0] = 1;
        lost = NULL;
    } else if (strcmp(fault, "overrun") == 0) {
        volatile char *bytes = malloc((size_t)size);
        bytes[size] = 1;
        free((void *)bytes);
    } else if (strcmp(fault, "overflow") == 0) {
        volatile int largest = INT_MAX;
        largest = largest + size;
    } else if (strcmp(fault, "race") == 0) {
        pthread_t threads[2];
        pthread_create(&threads[0], NULL, count, NULL);
        pthread_create(&threads[1], NULL, count, NULL);
        pthread_join(threads[0], NULL);
        pthread_join(threads[1], NULL);
    } else {
        fprintf(stderr, "planted: no such fault: %s\n", fault);
    }
    return 0;
}
