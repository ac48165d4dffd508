/* SPDX-License-Identifier: Apache-2.0 */
#include "call.h"

#include <pthread.h>
#include <stdio.h>

#include "finding.h"

static void copy_frames(emu_warp *warp, uint32_t mask, uint32_t from, uint32_t to, uint32_t bytes)
{
    const size_t frame = warp->block->launch->function->frame_bytes;

    EMU_EACH_LANE (i, mask)
        memcpy(warp->frame + (size_t)i * frame + to, warp->frame + (size_t)i * frame + from, bytes);
}

/* Read a string of the program at a generic address, for messages. */
static void read_text(uint64_t address, char *text, size_t bytes)
{
    const emu_allocation *one = emu_memory_find(address);
    size_t n = 0;

    while (one && n + 1 < bytes && address + n < one->base + one->size && one->host[address + n - one->base]) {
        text[n] = (char)one->host[address + n - one->base];
        n++;
    }
    text[n] = '\0';
}

static uint64_t frame_word(const emu_warp *warp, int lane, uint32_t offset, unsigned bytes)
{
    uint64_t value = 0;

    memcpy(&value, warp->frame + (size_t)lane * warp->block->launch->function->frame_bytes + offset, bytes);
    return value;
}

/* printf("%d %f\n", ...): the arguments lie in local memory, each aligned to its size. */
static void print(emu_warp *warp, const emu_call *call, int lane)
{
    const uint64_t list = frame_word(warp, lane, call->input_from[1], 8) - EMU_LOCAL_WINDOW;
    const uint64_t local_bytes = warp->block->launch->function->local_bytes;
    const uint8_t *local = warp->local + (size_t)lane * local_bytes;
    uint64_t at = list;
    char format[1024], text[1024];

    read_text(frame_word(warp, lane, call->input_from[0], 8), format, sizeof format);
    for (const char *p = format; *p; p++) {
        char piece[32];
        size_t n = 0;
        uint64_t bits = 0;
        unsigned bytes;
        if (*p != '%' || p[1] == '%') {
            p += *p == '%';
            putchar(*p);
            continue;
        }
        while (*p && n < sizeof piece - 4 && !strchr("diouxXcsfFeEgGaAp", *p))
            piece[n++] = *p++;
        if (!*p)
            break;
        bytes = strchr("fFeEgGaAsp", *p) || memchr(piece, 'l', n) ? 8 : 4;
        at = (at + bytes - 1) / bytes * bytes;
        if (at + bytes > local_bytes)
            break;
        memcpy(&bits, local + at, bytes);
        at += bytes;
        piece[n++] = *p;
        piece[n] = '\0';
        if (strchr("fFeEgGaA", *p)) {
            double value;
            memcpy(&value, &bits, 8);
            printf(piece, value);
        } else if (*p == 's') {
            read_text(bits, text, sizeof text);
            printf(piece, text);
        } else if (*p == 'p') {
            printf("0x%llx", (unsigned long long)bits);
        } else if (bytes == 8) {
            printf(piece, (unsigned long long)bits);
        } else {
            printf(piece, (unsigned)bits);
        }
    }
    fflush(stdout);
}

static void call_builtin(emu_warp *warp, const emu_inst *inst, uint32_t mask)
{
    static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;
    const emu_call *call = inst->call;

    if (call->kind == CALL_ASSERT) {
        const int lane = __builtin_ctz(mask);
        char what[128], file[128];
        read_text(frame_word(warp, lane, call->input_from[0], 8), what, sizeof what);
        read_text(frame_word(warp, lane, call->input_from[1], 8), file, sizeof file);
        emu_find(warp, inst, CUEMU_ASSERT, lane, 0, "assertion failed: %s, %s:%u", what, file,
                 (unsigned)frame_word(warp, lane, call->input_from[2], 4));
        return;
    }
    pthread_mutex_lock(&output);
    EMU_EACH_LANE (i, mask)
        print(warp, call, i);
    pthread_mutex_unlock(&output);
}

bool emu_enter_call(emu_warp *warp, emu_split *s, const emu_inst *inst)
{
    const emu_call *call = inst->call;

    if (call->kind != CALL_FUNCTION) {
        call_builtin(warp, inst, s->mask);
        s->pc++;
        return true;
    }
    if (s->depth == EMU_MAX_DEPTH) {
        emu_find(warp, inst, CUEMU_ILLEGAL, __builtin_ctz(s->mask), 0, "more than %d calls inside each other", EMU_MAX_DEPTH);
        return false;
    }
    for (uint32_t i = 0; i < call->inputs; i++)
        copy_frames(warp, s->mask, call->input_from[i], call->input_to[i], call->input_bytes[i]);
    s->call_from[s->depth] = s->pc;
    s->return_to[s->depth++] = s->pc + 1;
    s->pc = call->callee->first_inst;
    return true;
}

void emu_leave_call(emu_warp *warp, emu_split *s)
{
    const emu_call *call = warp->block->launch->module->inst[s->call_from[s->depth - 1]].call;

    for (uint32_t i = 0; i < call->outputs; i++)
        copy_frames(warp, s->mask, call->output_from[i], call->output_to[i], call->output_bytes[i]);
    s->pc = s->return_to[--s->depth];
}
