/* SPDX-License-Identifier: Apache-2.0 */
#include "wire.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "error.h"
#include "text.h"

#define NO_REDIS "this is not a Redis server, or its answer is damaged"

enum { MOST_WORDS = 16, CHUNK_BYTES = 16 << 10 };

int64_t fleet_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void fleet_wire_close(fleet_wire *wire)
{
    if (wire->link)
        redisFree(wire->link);
    wire->link = NULL;
}

static tj_status lose(fleet_wire *wire, tj_error *err, const char *why)
{
    char reason[160]; /* the reason may lie in memory that is freed */

    (void)snprintf(reason, sizeof reason, "%s", why);
    fleet_wire_close(wire);
    return tj_fail(err, TJ_ERR_IO, "%.160s: %s", wire->place->shown, reason);
}

/* 1: ready; 0: timed out; -1: the process lacks a resource. */
static int wait_for(fleet_wire *wire, short events, int64_t until_ms)
{
    struct pollfd file = {.fd = wire->link->fd, .events = events};
    int answer;

    atomic_store(&wire->is_waiting, true);
    do {
        const int64_t left = until_ms - fleet_now_ms();

        answer = poll(&file, 1, left > 0 ? (int)left : 0);
    } while (answer < 0 && errno == EINTR);
    atomic_store(&wire->is_waiting, false);
    return answer;
}

/* Not hiredis's own write: SIGPIPE, after the server is gone, must not reach the program that uses a library. */
static tj_status send_all(fleet_wire *wire, const char *bytes, size_t size, int64_t until_ms, tj_error *err)
{
    while (size > 0) {
        ssize_t sent;

        if (wait_for(wire, POLLOUT, until_ms) <= 0)
            return lose(wire, err, "no answer by the deadline");
        sent = send(wire->link->fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EINTR && errno != EAGAIN)
            return lose(wire, err, strerror(errno));
        bytes += sent > 0 ? sent : 0;
        size -= sent > 0 ? (size_t)sent : 0;
    }
    return TJ_OK;
}

/* Receive the next bytes of an answer; hiredis gets the measured bytes. */
static tj_status receive_more(fleet_wire *wire, fleet_reply *measured, tj_error *err)
{
    char bytes[CHUNK_BYTES];
    const ssize_t got = recv(wire->link->fd, bytes, sizeof bytes, MSG_DONTWAIT);

    if (got == 0)
        return lose(wire, err, "the server closed the connection");
    if (got < 0)
        return errno == EINTR || errno == EAGAIN ? TJ_OK : lose(wire, err, strerror(errno));
    switch (fleet_reply_measure(measured, bytes, (size_t)got)) {
    case FLEET_TOO_MUCH:
        return lose(wire, err, "it sends more than was asked for");
    case FLEET_NONSENSE:
        return lose(wire, err, NO_REDIS);
    default:
        return redisReaderFeed(wire->link->reader, bytes, (size_t)got) == REDIS_OK
                   ? TJ_OK
                   : lose(wire, err, wire->link->reader->errstr);
    }
}

/* After the deadline look once more, for a thread that a busy machine delayed, and only once. */
static tj_status receive(fleet_wire *wire, int64_t until_ms, fleet_answer answer, redisReply **reply, tj_error *err)
{
    tj_status status = TJ_OK;
    fleet_reply measured;
    bool is_over = false;
    void *got = NULL;

    fleet_reply_begin(&measured, answer);
    while (status == TJ_OK && !got) {
        if (is_over || wait_for(wire, POLLIN, until_ms) <= 0)
            return lose(wire, err, "no answer by the deadline");
        is_over = fleet_now_ms() >= until_ms;
        status = receive_more(wire, &measured, err);
        if (status == TJ_OK && redisReaderGetReply(wire->link->reader, &got) != REDIS_OK)
            status = lose(wire, err, NO_REDIS);
    }
    *reply = got;
    return status;
}

tj_status fleet_wire_ask(fleet_wire *wire, int64_t until_ms, fleet_answer answer, int count, const char *const *word,
                         const size_t *bytes, redisReply **reply, tj_error *err)
{
    char *command = NULL;
    long long size; /* hiredis before 1.0 says int */
    tj_status status;

    *reply = NULL;
    if (!wire->link)
        return tj_fail(err, TJ_ERR_IO, "%.160s: there is no connection", wire->place->shown);
    size = redisFormatCommandArgv(&command, count, (const char **)word, bytes);
    if (size < 0)
        return tj_fail_memory(err, "a command to a server");
    status = send_all(wire, command, (size_t)size, until_ms, err);
    redisFreeCommand(command);
    if (status == TJ_OK)
        status = receive(wire, until_ms, answer, reply, err);
    if (status == TJ_OK && (*reply)->type == REDIS_REPLY_ERROR) {
        status = tj_fail(err, TJ_ERR_UNSUPPORTED, "%.160s: %.280s", wire->place->shown, (*reply)->str);
        freeReplyObject(*reply);
        *reply = NULL;
    }
    return status;
}

tj_status fleet_wire_say(fleet_wire *wire, int64_t until_ms, redisReply **reply, tj_error *err, ...)
{
    const char *word[MOST_WORDS];
    size_t bytes[MOST_WORDS];
    int count = 0;
    va_list list;

    va_start(list, err);
    while (count < MOST_WORDS && (word[count] = va_arg(list, const char *))) {
        bytes[count] = strlen(word[count]);
        count++;
    }
    va_end(list);
    return fleet_wire_ask(wire, until_ms, FLEET_A_VALUE, count, word, bytes, reply, err);
}

/* ---- opening ------------------------------------------------------------------------------------------------------ */

static tj_status connect_link(fleet_wire *wire, int64_t until_ms, tj_error *err)
{
    const fleet_place *place = wire->place;
    socklen_t size = sizeof(int);
    int trouble = 0;

    atomic_store(&wire->is_waiting, true); /* for the name service */
    wire->link = place->socket[0] ? redisConnectUnixNonBlock(place->socket) : redisConnectNonBlock(place->host, place->port);
    atomic_store(&wire->is_waiting, false);
    if (!wire->link)
        return tj_fail_memory(err, "a connection");
    if (wire->link->err)
        return lose(wire, err, wire->link->errstr);
    if (wait_for(wire, POLLOUT, until_ms) <= 0)
        return lose(wire, err, "nobody answers there by the deadline");
    if (getsockopt(wire->link->fd, SOL_SOCKET, SO_ERROR, &trouble, &size) != 0 || trouble != 0)
        return lose(wire, err, strerror(trouble ? trouble : errno));
    return TJ_OK;
}

/* Send a command that the server must accept; its refusal ends the connection. */
static tj_status expect(fleet_wire *wire, int64_t until_ms, const char *remedy, tj_error *err, const char *word,
                        const char *first, const char *second)
{
    redisReply *reply = NULL;
    tj_error why;
    tj_status status = first ? fleet_wire_say(wire, until_ms, &reply, &why, word, first, second, NULL)
                             : fleet_wire_say(wire, until_ms, &reply, &why, word, NULL);

    if (reply)
        freeReplyObject(reply);
    if (status == TJ_OK)
        return TJ_OK;
    fleet_wire_close(wire);
    if (status == TJ_ERR_IO && fleet_now_ms() < until_ms) /* the server closed the connection, or its answer is not Redis */
        return tj_fail(err, TJ_ERR_IO, "%.300s: is it a Redis server, and does it speak without TLS? If not, name another port",
                       why.message);
    return tj_fail(err, TJ_ERR_IO, "%.300s%s%s", why.message, status == TJ_ERR_UNSUPPORTED ? ": " : "",
                   status == TJ_ERR_UNSUPPORTED ? remedy : "");
}

tj_status fleet_wire_open(fleet_wire *wire, int64_t until_ms, tj_error *err)
{
    static const char password[] = "name the right user and password in the address, as redis://user:password@host";
    const fleet_place *place = wire->place;
    char database[24];
    tj_status status;

    fleet_wire_close(wire);
    status = connect_link(wire, until_ms, err);
    if (status == TJ_OK && place->password[0])
        status = place->user[0] ? expect(wire, until_ms, password, err, "AUTH", place->user, place->password)
                                : expect(wire, until_ms, password, err, "AUTH", place->password, NULL);
    if (status == TJ_OK && place->database > 0) {
        tj_format_int(database, place->database);
        status = expect(wire, until_ms, "name a database that the server has", err, "SELECT", database, NULL);
    }
    return status == TJ_OK ? expect(wire, until_ms, password, err, "PING", NULL, NULL) : status;
}
