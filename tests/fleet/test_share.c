/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/*
 * Sharing at run time, with servers of the test's own that misbehave: anything they do is a miss, and a broken server is not
 * asked again. And the answers of a working server that are trusted.
 */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "fleet.h"
#include "place.h"
#include "queue.h"
#include "records.h"
#include "share.h"
#include "trust.h"
#include "wire.h"

static char root[] = "/tmp/tilejit-share-XXXXXX";
static char socket_path[64], key_path[64], other_key[64];
static const tj_log silent = {TJ_LOG_OFF, NULL, NULL};

static void make_root(void)
{
    tj_error err;

    cr_assert(mkdtemp(root) != NULL);
    snprintf(socket_path, sizeof socket_path, "%s/socket", root);
    snprintf(key_path, sizeof key_path, "%s/key", root);
    snprintf(other_key, sizeof other_key, "%s/other", root);
    cr_assert(fleet_make_key(key_path, &err) == TJ_OK, "%s", err.message);
    cr_assert(fleet_make_key(other_key, &err) == TJ_OK, "%s", err.message);
}

static void remove_root(void)
{
    char line[64];

    snprintf(line, sizeof line, "rm -rf %s", root);
    cr_expect(system(line) == 0);
}

TestSuite(share, .init = make_root, .fini = remove_root, .timeout = 60);

/* ---- a server that answers without listening ------------------------------------------------------------------------ */

typedef struct liar {
    const char *answers; /* to one question after the other, with | between them; NULL: nothing, for ever; "": it closes */
    const char *flood;   /* after the last one, again and again until nobody takes it; NULL: it closes */
    useconds_t pause_us; /* after each */
    int listener;
    atomic_int connections;
    atomic_size_t sent; /* of floods */
    pthread_t thread;
} liar;

static void flood(liar *l, int file)
{
    ssize_t sent;

    while ((sent = send(file, l->flood, strlen(l->flood), MSG_NOSIGNAL)) > 0) {
        atomic_fetch_add(&l->sent, (size_t)sent);
        if (l->pause_us > 0)
            usleep(l->pause_us);
    }
}

static void answer(liar *l, int file)
{
    char asked[4096];

    for (const char *next = l->answers; next; next = strchr(next, '|') ? strchr(next, '|') + 1 : NULL)
        if (read(file, asked, sizeof asked) <= 0 || send(file, next, strcspn(next, "|"), MSG_NOSIGNAL) < 0)
            return;
    if (l->flood)
        flood(l, file);
}

static void *lie(void *payload)
{
    liar *l = payload;
    int open_ones[16], count = 0, file;

    while ((file = accept(l->listener, NULL, NULL)) >= 0) {
        atomic_fetch_add(&l->connections, 1);
        answer(l, file);
        if (!l->answers && count < 16)
            open_ones[count++] = file;
        else
            close(file);
    }
    while (count > 0)
        close(open_ones[--count]);
    return NULL;
}

static void begin_flood(liar *l, const char *answers, const char *text, useconds_t pause_us)
{
    struct sockaddr_un place = {.sun_family = AF_UNIX};

    *l = (liar){.answers = answers, .flood = text, .pause_us = pause_us};
    l->listener = socket(AF_UNIX, SOCK_STREAM, 0);
    strcpy(place.sun_path, socket_path);
    unlink(socket_path);
    cr_assert(bind(l->listener, (struct sockaddr *)&place, sizeof place) == 0 && listen(l->listener, 16) == 0);
    cr_assert(pthread_create(&l->thread, NULL, lie, l) == 0);
}

static void begin_lies(liar *l, const char *answers)
{
    begin_flood(l, answers, NULL, 0);
}

static void end_lies(liar *l)
{
    shutdown(l->listener, SHUT_RDWR);
    close(l->listener);
    pthread_join(l->thread, NULL);
}

static fleet_share *open_share(const char *parameters)
{
    char url[256];
    fleet_share *share = NULL;
    tj_error err;

    snprintf(url, sizeof url, "redis+unix://%s?sign=%s%s", socket_path, key_path, parameters);
    cr_assert(fleet_share_create(url, NULL, &silent, &share, &err) == TJ_OK, "%s", err.message);
    return share;
}

Test(share, takes_no_harm_from_servers_that_are_none)
{
    static const char *const answers[] = {NULL,
                                          "",
                                          "HTTP/1.1 400 Bad Request\r\n\r\n",
                                          "\x15\x03\x03\x00\x02\x02\x28", /* a TLS alert */
                                          "$999999999999\r\n",
                                          "*2000000000\r\n",
                                          "$5\r\nab",
                                          "-NOAUTH Authentication required.\r\n",
                                          "-WRONGPASS invalid username-password pair\r\n",
                                          "-LOADING Redis is loading the dataset in memory\r\n",
                                          ":1\r\n:1\r\n:1\r\n:1\r\n"};

    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        fleet_share_counts counts;
        fleet_share *share;
        size_t size;
        void *bytes;
        liar l;

        begin_lies(&l, answers[i]);
        share = open_share("&deadline=50&wait=50");
        for (int k = 0; k < 20; k++) {
            cr_expect(fleet_share_fetch(share, FLEET_IMAGE, "", "key", &bytes, &size) == false, "answer %zu", i);
            cr_expect(fleet_share_lead(share, "key", &bytes, &size) == false && !bytes, "answer %zu", i);
        }
        fleet_share_offer(share, FLEET_IMAGE, "", "key", "bytes", 5, true);
        fleet_share_count(share, &counts);
        cr_expect(counts.asked >= 40 && counts.found == 0, "answer %zu", i);
        fleet_share_free(share);
        cr_expect(atomic_load(&l.connections) <= 3, "answer %zu: asked %d times", i, atomic_load(&l.connections));
        end_lies(&l);
    }
}

/* Replies with their ends and their errors. Each of them was once read without limit. */
static const struct {
    const char *answers, *flood;
    useconds_t pause_us;
    const char *complaint;
} floods[] = {
    {"+", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0, "more than was asked for"},
    {"*100000000\r\n", ":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n", 0, "more than was asked for"},
    {"+PONG\r\n|", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n", 0, "more than was asked for"},
    {"+PONG\r\n|*16\r\n", "$32\r\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", 0, "more than was asked for"},
    {"+PONG\r\n|$100000000\r\n", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0, "more than was asked for"},
    {"+PONG\r\n|$60000\r\n", "a", 1000, "no answer by the deadline"},
    {"+", "a", 1000, "no answer by the deadline"},
};

enum { MOST_TAKEN = 2 << 20 }; /* that is, a chunk and what the sockets hold */

Test(share, reads_no_answer_beyond_its_bound_or_its_deadline)
{
    for (size_t i = 0; i < sizeof floods / sizeof floods[0]; i++) {
        redisReply *reply = NULL;
        fleet_place place;
        tj_status status;
        fleet_wire wire;
        char url[128];
        int64_t began;
        tj_error err;
        liar l;

        snprintf(url, sizeof url, "redis+unix://%s", socket_path);
        cr_assert(fleet_place_parse(url, &place, &err) == TJ_OK);
        wire = (fleet_wire){.place = &place};
        begin_flood(&l, floods[i].answers, floods[i].flood, floods[i].pause_us);
        began = fleet_now_ms();
        status = fleet_wire_open(&wire, began + 300, &err);
        if (status == TJ_OK)
            status = fleet_wire_say(&wire, fleet_now_ms() + 300, &reply, &err, "GET", "key", NULL);
        cr_expect(status == TJ_ERR_IO && !reply && !wire.link, "flood %zu", i);
        cr_expect(strstr(err.message, floods[i].complaint) != NULL, "flood %zu: %s", i, err.message);
        cr_expect(fleet_now_ms() - began < 20000, "flood %zu took %d ms", i, (int)(fleet_now_ms() - began));
        end_lies(&l);
        cr_expect(atomic_load(&l.sent) < MOST_TAKEN, "flood %zu: %zu bytes", i, atomic_load(&l.sent));
    }
}

Test(share, goes_on_without_a_server_that_floods)
{
    for (size_t i = 0; i < sizeof floods / sizeof floods[0]; i++) {
        fleet_share *share;
        int64_t began;
        size_t size;
        void *bytes;
        liar l;

        begin_flood(&l, floods[i].answers, floods[i].flood, floods[i].pause_us);
        share = open_share("&deadline=50&wait=50");
        began = fleet_now_ms();
        for (int k = 0; k < 20; k++)
            cr_expect(fleet_share_fetch(share, FLEET_RECORD, "class", "key", &bytes, &size) == false, "flood %zu", i);
        cr_expect(fleet_now_ms() - began < 20000, "flood %zu took %d ms", i, (int)(fleet_now_ms() - began));
        fleet_share_free(share);
        end_lies(&l);
        cr_expect(atomic_load(&l.connections) <= 3, "flood %zu: asked %d times", i, atomic_load(&l.connections));
        cr_expect(atomic_load(&l.sent) < 3 * MOST_TAKEN, "flood %zu: %zu bytes", i, atomic_load(&l.sent));
    }
}

/* Numbers where Redis has text, and lists that have no end. */
Test(share, takes_no_harm_from_answers_of_other_types)
{
    int64_t ignored;
    fleet *connection;
    const char *why;
    char url[128], *json;
    tj_error err;
    liar l;

    snprintf(url, sizeof url, "redis+unix://%s", socket_path);
    begin_lies(&l, "+PONG\r\n|$-1\r\n|*2\r\n:1\r\n:2\r\n|*2\r\n:1\r\n:2\r\n");
    cr_assert(fleet_open(url, false, &connection, &err) == TJ_OK, "%s", err.message);
    cr_expect(fleet_status(connection, &json, &err) == TJ_OK && strstr(json, "\"classes\":[]"), "%s", err.message);
    free(json);
    fleet_close(connection);
    end_lies(&l);
    begin_lies(&l, "+PONG\r\n|$-1\r\n|*2\r\n$1\r\n7\r\n*2\r\n:1\r\n:2\r\n|*2\r\n$1\r\n0\r\n:5\r\n");
    cr_assert(fleet_open(url, false, &connection, &err) == TJ_OK, "%s", err.message);
    cr_expect(fleet_each_record(connection, "class", NULL, NULL, &ignored, &why, &err) == TJ_OK && ignored == 1, "%s",
              err.message);
    fleet_close(connection);
    end_lies(&l);
}

Test(share, says_what_a_server_is_not)
{
    /* A TLS server resets the connection or sends an alert. */
    static const char *const answers[] = {"", "\x15\x03\x03\x00\x02\x02\x28", "HTTP/1.1 400 Bad Request\r\n\r\n"};

    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        fleet_share *share = open_share("");
        tj_error err;
        liar l;

        begin_lies(&l, answers[i]);
        cr_expect(fleet_share_ping(share, NULL, &err) == TJ_ERR_IO);
        cr_expect(strstr(err.message, "is it a Redis server, and does it speak without TLS?") != NULL, "%s", err.message);
        end_lies(&l);
        fleet_share_free(share);
    }
}

Test(share, asks_nobody_where_nobody_listens)
{
    fleet_share *share = open_share("");
    fleet_share_counts counts;
    size_t size;
    void *bytes;

    for (int i = 0; i < 1000; i++)
        cr_expect(fleet_share_fetch(share, FLEET_RECORD, "0123456789abcdef", "id", &bytes, &size) == false);
    fleet_share_count(share, &counts);
    cr_expect(counts.asked == 1000 && counts.found == 0 && counts.troubles <= 2);
    fleet_share_free(share);
}

Test(share, loses_what_is_too_much_to_be_sent)
{
    static char large[1 << 20];
    fleet_share_counts counts;
    fleet_share *share;
    liar l;

    begin_lies(&l, NULL);
    share = open_share("&deadline=20");
    for (int i = 0; i < 300; i++)
        fleet_share_offer(share, FLEET_IMAGE, "", "key", large, sizeof large, false);
    fleet_share_count(share, &counts);
    cr_expect(counts.dropped >= 300 - 64 - 1 && counts.sent == 0, "%d", (int)counts.dropped);
    end_lies(&l);
    fleet_share_free(share);
}

/* ---- a real one --------------------------------------------------------------------------------------------------- */

static int command(const char *format)
{
    char line[512];

    snprintf(line, sizeof line, format, root, root, root);
    return system(line);
}

static void end_redis(void)
{
    cr_expect(command("kill $(cat %s/pid)") == 0);
}

static void need_redis(void)
{
    if (system("redis-server --version | grep -qE 'v=([7-9]|[1-9][0-9])\\.'") != 0) {
        fprintf(stderr,
                "SKIPPED: no redis-server of version 7 or later here, so NOTHING of leases was tried: install redis-server\n");
        cr_expect(getenv("TILEJIT_REQUIRE_REDIS") == NULL || system("command -v redis-server") == 0,
                  "redis-server is required");
        cr_skip("no redis-server");
    }
    cr_assert(command("redis-server --port 0 --unixsocket %s/socket --save '' --daemonize yes --pidfile %s/pid --dir %s "
                      ">/dev/null") == 0);
    for (int i = 0; i < 50 && access(socket_path, F_OK) != 0; i++)
        usleep(100000);
}

typedef struct asker {
    fleet_share *share;
    const char *name;
    bool leads;
    char *bytes;
    size_t size;
} asker;

static void *ask_to_lead(void *payload)
{
    asker *a = payload;
    void *bytes;

    a->leads = fleet_share_lead(a->share, a->name, &bytes, &a->size);
    a->bytes = bytes;
    return NULL;
}

/* A compile that takes longer than a lease lasts: the lease is renewed, and whoever waits gets what comes of it. */
Test(share, waits_for_a_process_that_compiles_for_all)
{
    asker first = {.name = "slow"}, second = {.name = "slow"};
    pthread_t thread;

    need_redis();
    first.share = open_share("");
    second.share = open_share("&deadline=1000");
    ask_to_lead(&first);
    cr_expect(first.leads && !first.bytes);
    cr_assert(pthread_create(&thread, NULL, ask_to_lead, &second) == 0);
    usleep(2700000);
    fleet_share_offer(first.share, FLEET_IMAGE, "", "slow", "image", 5, true);
    pthread_join(thread, NULL);
    cr_expect(second.leads == false && second.bytes && second.size == 5 && memcmp(second.bytes, "image", 5) == 0);
    free(second.bytes);
    fleet_share_free(first.share);
    fleet_share_free(second.share);
    end_redis();
}

static tj_status prefer_present(void *payload, const char *present, const char *found, char **better, tj_error *err)
{
    (void)payload, (void)present, (void)found, (void)err;
    *better = NULL;
    return TJ_OK;
}

/* A record that no answer may hold is replaced by a valid one, and blocks nothing. */
Test(share, replaces_what_is_too_large_to_be_a_record)
{
    static const char *const records[] = {"first", "second"};
    char parameters[128], url[256];
    fleet_kept kept;
    fleet *connection;
    bool was_queued;
    tj_error err;

    need_redis();
    snprintf(parameters, sizeof parameters, "sign=%s", key_path);
    snprintf(url, sizeof url, "redis+unix://%s?%s", socket_path, parameters);
    cr_assert(
        command("head -c 20000000 /dev/zero | redis-cli -s %s/socket -x hset 'tilejit:1:{class}:records' id >/dev/null") == 0);
    cr_assert(fleet_open(url, true, &connection, &err) == TJ_OK, "%s", err.message);
    for (int i = 0; i < 2; i++) {
        const fleet_offer offer = {"class", "id", records[i], prefer_present, NULL, true, 5000};

        cr_expect(fleet_keep_record(&connection->wire, &connection->trust, &offer, &kept, &was_queued, &err) == TJ_OK, "%s",
                  err.message);
        cr_expect(kept == (i == 0 ? FLEET_IS_NEW : FLEET_PRESENT_STAYS), "record %d", i);
    }
    fleet_close(connection);
    end_redis();
}

/* Gone without a word, it is followed by another; and a wait that was in vain is the last one. */
Test(share, follows_a_process_that_died_while_it_compiled)
{
    asker dead = {.name = "left"}, heir = {.name = "left"}, impatient = {.name = "left"};
    fleet_share_counts counts;

    need_redis();
    dead.share = open_share("");
    ask_to_lead(&dead);
    cr_expect(dead.leads);
    fleet_share_free(dead.share); /* its thread renews nothing any more */
    heir.share = open_share("&deadline=1000");
    ask_to_lead(&heir);
    cr_expect(heir.leads && !heir.bytes);
    impatient.share = open_share("&deadline=1000&wait=100");
    for (int i = 0; i < 20; i++) {
        ask_to_lead(&impatient);
        cr_expect(impatient.leads == false && !impatient.bytes);
    }
    fleet_share_count(impatient.share, &counts);
    cr_expect(counts.asked < 20 + 10, "%d questions", (int)counts.asked);
    fleet_share_yield(heir.share, "left");
    fleet_share_free(heir.share); /* sends that */
    ask_to_lead(&impatient);
    cr_expect(impatient.leads);
    fleet_share_free(impatient.share);
    end_redis();
}

/* ---- trust -------------------------------------------------------------------------------------------------------- */

static fleet_trust trust_of(const char *parameters)
{
    fleet_place place;
    fleet_trust trust;
    char url[256];
    tj_error err;

    snprintf(url, sizeof url, "redis://h?%s", parameters);
    cr_assert(fleet_place_parse(url, &place, &err) == TJ_OK, "%s", err.message);
    cr_assert(fleet_trust_load(&place, &trust, &err) == TJ_OK, "%s", err.message);
    return trust;
}

static const char *judge(const fleet_trust *trust, fleet_kind kind, const char *of, const char *name, const char *sealed,
                         size_t size)
{
    const char *content;
    size_t length;

    return fleet_unseal(trust, kind, of, name, sealed, size, &content, &length);
}

Test(share, believes_what_a_trusted_key_signed_for_this_place_alone)
{
    char parameters[128];
    fleet_trust writer, reader, stranger, nobody;
    size_t size, length;
    const char *content;
    char *sealed;

    snprintf(parameters, sizeof parameters, "sign=%s", key_path);
    writer = trust_of(parameters);
    snprintf(parameters, sizeof parameters, "trust=%s.pub", key_path);
    reader = trust_of(parameters);
    snprintf(parameters, sizeof parameters, "trust=%s.pub", other_key);
    stranger = trust_of(parameters);
    nobody = trust_of("days=1");
    sealed = fleet_seal(&writer, FLEET_RECORD, "class", "name", "content", 7, &size);
    cr_assert(sealed != NULL);
    cr_expect(fleet_unseal(&reader, FLEET_RECORD, "class", "name", sealed, size, &content, &length) == NULL);
    cr_expect(length == 7 && memcmp(content, "content", 7) == 0);
    cr_expect(judge(&writer, FLEET_RECORD, "class", "name", sealed, size) == NULL);
    cr_expect(strstr(judge(&stranger, FLEET_RECORD, "class", "name", sealed, size), "not trusted") != NULL);
    cr_expect(strstr(judge(&nobody, FLEET_RECORD, "class", "name", sealed, size), "no key is trusted") != NULL);
    cr_expect(judge(&reader, FLEET_IMAGE, "class", "name", sealed, size) != NULL);
    cr_expect(judge(&reader, FLEET_RECORD, "clas", "sname", sealed, size) != NULL);
    cr_expect(judge(&reader, FLEET_RECORD, "class", "other", sealed, size) != NULL);
    for (size_t i = 0; i < size; i++) { /* every byte counts, and every length */
        sealed[i] ^= 1;
        cr_expect(judge(&reader, FLEET_RECORD, "class", "name", sealed, size) != NULL, "byte %zu", i);
        sealed[i] ^= 1;
        cr_expect(judge(&reader, FLEET_RECORD, "class", "name", sealed, i) != NULL, "%zu bytes", i);
    }
    cr_expect(strstr(judge(&reader, FLEET_RECORD, "class", "name", "tilejit 2 record\n", 17), "another version") != NULL);
    cr_expect(strstr(judge(&reader, FLEET_RECORD, "class", "name", "{}", 2), "not signed") != NULL);
    free(sealed);
}

Test(share, refuses_key_files_that_are_none)
{
    char parameters[160], line[256];
    fleet_place place;
    fleet_trust trust;
    tj_error err;

    static const struct {
        const char *make, *parameter, *complaint;
    } rows[] = {
        {"true", "trust=%s/none", "No such file"},
        {"echo hello >%s/bad", "trust=%s/bad", "line 1 is not a key"},
        {"printf '# nothing\\n' >%s/bad", "trust=%s/bad", "names no key"},
        {"cp %s/key.pub %s/open; chmod 666 %s/open", "trust=%s/open", "others can write to it: chmod go-w"},
        {"cp %s/key %s/open; chmod 644 %s/open", "sign=%s/open", "chmod 600"},
        {"true", "sign=%s/key.pub", "chmod 600"},
        {"ln -s open %s/link", "sign=%s/link", "others can read it: chmod 600"},
        {"rm -f %s/link; ln -s %s/pipe %s/link; mkfifo %s/pipe", "trust=%s/link", "not a regular file"},
        {"rm -f %s/link; ln -s %s/link %s/link", "trust=%s/link", "Too many levels"},
        {"chmod 600 %s/key.pub", "sign=%s/key.pub", "is not a key to sign with"},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char url[256];

        snprintf(line, sizeof line, rows[i].make, root, root, root, root);
        cr_assert(system(line) == 0);
        snprintf(parameters, sizeof parameters, rows[i].parameter, root);
        snprintf(url, sizeof url, "redis://h?%s", parameters);
        cr_assert(fleet_place_parse(url, &place, &err) == TJ_OK);
        cr_expect(fleet_trust_load(&place, &trust, &err) != TJ_OK, "%s", url);
        cr_expect(strstr(err.message, rows[i].complaint) != NULL, "%s: %s", url, err.message);
    }
    cr_expect(fleet_make_key(key_path, &err) == TJ_ERR_IO && strstr(err.message, "File exists"), "%s", err.message);
}

/* As Kubernetes mounts them: key -> ..data/key, ..data -> a folder with a date, which is exchanged as a whole. */
Test(share, follows_links_to_key_files)
{
    char parameters[160];
    fleet_trust trust;

    cr_assert(command("cd %s && mkdir ..2026 && mv key key.pub ..2026 && ln -s ..2026 ..data && ln -s ..data/key key && "
                      "ln -s ..data/key.pub key.pub") == 0);
    snprintf(parameters, sizeof parameters, "sign=%s&trust=%s.pub", key_path, key_path);
    trust = trust_of(parameters);
    cr_expect(trust.signs && trust.count == 1);
}

/* ---- places ------------------------------------------------------------------------------------------------------- */

Test(share, reads_addresses)
{
    fleet_place place;
    tj_error err;

    cr_assert(fleet_place_parse("redis://a%40b:p%3aq@[::1]:7000/3?deadline=250&wait=0&generation=g-1", &place, &err) == TJ_OK,
              "%s", err.message);
    cr_expect(strcmp(place.user, "a@b") == 0 && strcmp(place.password, "p:q") == 0 && strcmp(place.host, "::1") == 0);
    cr_expect(place.port == 7000 && place.database == 3 && place.deadline_ms == 250 && place.wait_ms == 0);
    cr_expect(strcmp(place.generation, "g-1") == 0 && !strstr(place.shown, "p:q"));
    cr_assert(fleet_place_parse("valkey://head", &place, &err) == TJ_OK);
    cr_expect(place.port == 6379 && place.deadline_ms == 100 && place.wait_ms == 10000 &&
              strcmp(place.shown, "redis://head:6379/0") == 0);
    cr_assert(fleet_place_parse("redis+unix:///run/redis.sock?db=2", &place, &err) == TJ_OK);
    cr_expect(strcmp(place.socket, "/run/redis.sock") == 0 && place.database == 2);
}

Test(share, says_what_is_wrong_with_an_address)
{
    static const char *const rows[][2] = {
        {"", "begins with"},
        {"head:6379", "begins with \"head:6379\""},
        {"http://head", "begins with"},
        {"redis://", "no host"},
        {"redis://:6379", "no host"},
        {"redis://head:0", "port"},
        {"redis://head:70000", "port"},
        {"redis://head:6379x", "port"},
        {"redis://head/one", "database"},
        {"redis://[::1", "no ]"},
        {"redis://a:%4@head", "wrong %"},
        {"redis://a:%zz@head", "wrong %"},
        {"redis+unix://socket", "absolute path"},
        {"rediss://head", "begins with \"rediss\" and so asks for TLS"},
        {"redis://head?colour=red", "no parameter colour"},
        {"redis://head?deadline=0", "from 1 to 60000"},
        {"redis://head?deadline", "has no ="},
        {"redis://head?wait=-1", "from 0"},
        {"redis://head?generation=a/b", "use letters"},
        {"redis://head?password-file=/nonexistent", "cannot read the password"},
    };
    fleet_place place;
    tj_error err;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        cr_expect(fleet_place_parse(rows[i][0], &place, &err) != TJ_OK, "%s", rows[i][0]);
        cr_expect(strstr(err.message, rows[i][1]) != NULL, "%s: %s", rows[i][0], err.message);
    }
}
