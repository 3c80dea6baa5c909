#include "supervise/pending.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "api/context.h"
#include "api/handle.h"
#include "base/clock.h"
#include "wire/pack.h"

#define NO_SOCKET_MS 2000 /* patience if there is no socket at all: there may be no sidecar */
#define KNOCK_MS     100
#define PING_MS	     5000 /* between pings of the sidecar */

/*
 * Checks that the sidecar is still alive, as its answer to the request may take hours. -ETIMEDOUT:
 * the last ping was not answered.
 */
static int ping(struct pending *p)
{
	int e;

	if (p->ping_id != 0) {
		handle_hang_up(p->z);
		return handle_fail(p->z, -ETIMEDOUT, PING_MS);
	}
	e = p->ping(p, &p->ping_id);
	p->heard_ms = clock_boot_ms();
	return e;
}

/* Handles the signals that have come. False: one of them ends the wait. */
static bool take_signals(const struct pending *p)
{
	int sig;

	while ((sig = signals_next(p->signals)) != 0) {
		if (p->on_signal && !p->on_signal(p, sig))
			return false;
		if (!p->on_signal)
			signals_obey(p->signals, sig);
	}
	return true;
}

/* Waits until the request is answered, and pings meanwhile. Returns as handle_await() does. */
static int await(struct pending *p, uint32_t id, struct reader *ret_result)
{
	struct message m;

	p->heard_ms = clock_boot_ms();
	for (;;) {
		struct pollfd fds[] = {
			{.fd = zkleader_fd(p->z), .events = POLLIN},
			{.fd = p->signals->fd, .events = POLLIN},
		};
		int e = handle_receive(p->z, p->answer_max ? p->answer_max : HANDLE_ANSWER_MAX,
				       HANDLE_AT_ONCE, &m);
		int64_t left = p->heard_ms + PING_MS - clock_boot_ms();

		if (e == 0 && m.is_answer && m.id == id) {
			*ret_result = m.data;
			return m.code;
		}
		if (e == 0) {
			/* The only other request is the ping. Any answer to it will do. */
			p->ping_id = 0;
			continue;
		}
		if (e == -ETIMEDOUT && left <= 0 && ping(p) == 0)
			left = PING_MS;
		else if (e != -ETIMEDOUT || left <= 0)
			return e;
		poll(fds, 2, (int)left);
		if (!take_signals(p))
			return -EINTR;
	}
}

static void make_id(char id[PENDING_ID_SIZE])
{
	unsigned char bytes[(PENDING_ID_SIZE - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		/* getrandom() fills up to 256 bytes completely. */
		abort();
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(id + 2 * i, 3, "%02x", bytes[i]);
}

/* Sends the request once, and waits for its answer. 0, or how that failed. */
static int ask_once(struct pending *p)
{
	int64_t sent_ms = clock_boot_ms();
	struct reader result;
	uint32_t id;
	int e = p->send(p, &id);

	if (e == 0)
		e = await(p, id, &result);
	if (e == 0) {
		e = p->take(p, result, sent_ms);
		if (e < 0)
			handle_fail(p->z, e, 0);
	}
	return e;
}

/*
 * After a restart of the sidecar the request is sent again. The new sidecar continues what the one
 * before led and held, so nobody else can grant the request. It recognises a request from before
 * the restart by its id.
 */
int pending_wait(struct pending *p)
{
	int64_t began_ms = clock_boot_ms();
	bool was_there = false;

	make_id(p->id);
	p->sent = false;
	p->ping_id = 0;
	for (;;) {
		struct pollfd fd = {.fd = p->signals->fd, .events = POLLIN};
		int e = ask_once(p);
		int64_t limit_ms = p->patience_ms;

		if (e != -ENOENT && e != -ECONNREFUSED && e != -ECONNRESET && e != -EPIPE)
			return e;
		if (p->for_ever && (e == -ECONNRESET || e == -EPIPE))
			began_ms = clock_boot_ms();
		was_there |= e != -ENOENT;
		p->sent |= e == -ECONNRESET || e == -EPIPE;
		p->ping_id = 0;
		if (!was_there && limit_ms > NO_SOCKET_MS)
			limit_ms = NO_SOCKET_MS;
		if (clock_boot_ms() - began_ms + KNOCK_MS > limit_ms)
			return e;
		poll(&fd, 1, KNOCK_MS);
		if (!take_signals(p))
			return -EINTR;
	}
}

int pending_send(const struct pending *p, const char *method, struct request *request,
		 uint32_t *ret_id)
{
	return request_send(p->z, method, request, clock_boot_ms() + CONTEXT_TIMEOUT_MS, ret_id);
}

/* Asks the sidecar to wait until at least 0 workers are there, which it answers at once. */
int pending_ask_at_once(const struct pending *pending, uint32_t *ret_id)
{
	struct request request;
	struct pack *p = request_begin(&request, 1);

	pack_map(p, 2);
	pack_kv_int(p, "workers", 0);
	pack_kv_int(p, "timeout_ms", 0);
	return request_send(pending->z, "wait", &request, HANDLE_AT_ONCE, ret_id);
}
