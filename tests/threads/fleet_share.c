/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * fleet_share: many threads ask one fleet_share for images and records, offer some and lead, while the server that it speaks to answers well,
 * answers nonsense, and closes connections; then the share is freed. Nothing may be found, and nothing may race.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fleet.h"
#include "share.h"
#include "trust.h"

enum { THREADS = 16, QUESTIONS = 200, ROUNDS = 3 };

static fleet_share *share;
static atomic_int found;

static void *serve(void *payload)
{
    static const char *const answers[] = {"+PONG\r\n", "$-1\r\n", "$-1\r\n", ":0\r\n", "$-1\r\n", "nonsense\r\n"};
    const int listener = *(int *)payload;
    int file;

    while ((file = accept(listener, NULL, NULL)) >= 0) {
        char asked[65536];

        for (size_t i = 0; i < sizeof answers / sizeof answers[0] && read(file, asked, sizeof asked) > 0; i++)
            if (send(file, answers[i], strlen(answers[i]), MSG_NOSIGNAL) < 0)
                break;
        close(file);
    }
    return NULL;
}

static void *ask(void *payload)
{
    (void)payload;
    for (int i = 0; i < QUESTIONS; i++) {
        void *bytes = NULL;
        size_t size;

        if (fleet_share_fetch(share, i % 2 ? FLEET_IMAGE : FLEET_RECORD, "0123456789abcdef", "name", &bytes, &size)) {
            atomic_fetch_add(&found, 1);
            free(bytes);
            bytes = NULL;
        }
        if (i % 16 == 0 && fleet_share_lead(share, "name", &bytes, &size))
            fleet_share_yield(share, "name");
        else if (i % 16 == 0)
            free(bytes);
        fleet_share_offer(share, FLEET_IMAGE, "", "name", "bytes", 5, false);
    }
    return NULL;
}

int main(void)
{
    static const tj_log silent = {TJ_LOG_OFF, NULL, NULL};
    char root[] = "/tmp/tilejit-fleet-share-XXXXXX", key[64], url[256], line[64];
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    pthread_t server, thread[THREADS];
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), faults = 0;
    tj_error err;

    if (!mkdtemp(root))
        return 1;
    snprintf(key, sizeof key, "%s/key", root);
    snprintf(place.sun_path, sizeof place.sun_path, "%s/socket", root);
    snprintf(url, sizeof url, "redis+unix://%s?sign=%s&wait=50", place.sun_path, key);
    if (fleet_make_key(key, &err) != TJ_OK || bind(listener, (struct sockaddr *)&place, sizeof place) != 0 ||
        listen(listener, 64) != 0)
        return 1;
    pthread_create(&server, NULL, serve, &listener);
    for (int round = 0; round < ROUNDS; round++) {
        fleet_share_counts counts;

        if (fleet_share_create(url, NULL, &silent, &share, &err) != TJ_OK) {
            fprintf(stderr, "fleet_share: %s\n", err.message);
            return 1;
        }
        for (int i = 0; i < THREADS; i++)
            pthread_create(&thread[i], NULL, ask, NULL);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
        fleet_share_count(share, &counts);
        printf("fleet_share: %d asked, %d troubles, %d sent, %d dropped\n", (int)counts.asked, (int)counts.troubles,
               (int)counts.sent, (int)counts.dropped);
        faults += counts.asked < THREADS * QUESTIONS || counts.troubles == 0;
        fleet_share_free(share);
    }
    faults += atomic_load(&found) != 0;
    shutdown(listener, SHUT_RDWR);
    close(listener);
    pthread_join(server, NULL);
    snprintf(line, sizeof line, "rm -rf %s", root);
    faults += system(line) != 0;
    return faults != 0;
}
