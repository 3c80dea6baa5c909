#include "zkleader.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/duration.h"
#include "base/mem.h"
#include "base/name.h"
#include "client/answer.h"
#include "client/handle.h"
#include "client/printable.h"
#include "wire/rpc.h"

#define ANSWER_MAX     ((size_t)64 * 1024) /* bytes of the frame that answers a check */
#define AGAIN_PAUSE_MS 20		   /* before a question is asked again */
#define RECONNECTS_MAX 1		   /* of one check, where the sidecar hung up on it */

int zkleader_open(const char *path, struct zkleader **ret_z)
{
	struct zkleader *z;
	int e;

	if (!path) {
		path = getenv(ZKLEADER_SOCKET_ENV);
		if (!path || path[0] == '\0')
			path = ZKLEADER_SOCKET_DEFAULT;
	}
	z = mem_calloc(1, sizeof(*z));
	e = link_init(&z->link, path);
	if (e < 0) {
		free(z);
		return e;
	}
	buffer_init(&z->out, RPC_REQUEST_MAX);
	*ret_z = z;
	return 0;
}

void zkleader_close(struct zkleader *z)
{
	if (!z)
		return;
	link_done(&z->link);
	buffer_done(&z->out);
	free(z);
}

const char *zkleader_message(const struct zkleader *z)
{
	return z->message;
}

const char *zkleader_path(const struct zkleader *z)
{
	return z->link.address.sun_path;
}

int zkleader_fd(const struct zkleader *z)
{
	return z->link.fd;
}

__attribute__((format(printf, 2, 3))) static void say(struct zkleader *z, const char *format, ...)
{
	char text[ZKLEADER_TEXT_SIZE];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	printable(z->message, sizeof(z->message), text, strlen(text));
}

int handle_fail(struct zkleader *z, int e, int64_t timeout_ms)
{
	const char *path = zkleader_path(z);
	char text[DURATION_TEXT_SIZE] = "";

	switch (-e) {
	case ENOENT:
	case ECONNREFUSED:
		say(z, "no sidecar on %s (%s): is zkleaderd running?", path, strerror(-e));
		break;
	case EACCES:
	case EPERM:
		say(z,
		    "not allowed to ask the sidecar on %s (%s): the socket's owner, group and mode "
		    "say who may",
		    path, strerror(-e));
		break;
	case ETIMEDOUT:
		duration_format(timeout_ms, text);
		say(z, "no answer from the sidecar on %s within %s", path, text);
		break;
	case ECONNRESET:
	case EPIPE: say(z, "the sidecar on %s closed the connection", path); break;
	case EBADMSG: say(z, "the answer of the sidecar on %s makes no sense", path); break;
	default: say(z, "the sidecar on %s: %s", path, strerror(-e)); break;
	}
	return e;
}

int handle_refuse(struct zkleader *z, int e, const char *why)
{
	say(z, "%s", why);
	return e;
}

void handle_hang_up(struct zkleader *z)
{
	link_close(&z->link);
	z->subscribed = false;
}

int handle_connect(struct zkleader *z, int64_t deadline)
{
	if (link_is_up(&z->link))
		return 0;
	handle_hang_up(z);
	return link_open(&z->link, deadline);
}

int handle_pack_request(struct zkleader *z, const char *method, const void *params, size_t len)
{
	struct reader r;
	struct pack p;
	size_t n = 0;

	reader_init(&r, params, len);
	if (params && (reader_array(&r, &n) < 0))
		return -EINVAL;
	buffer_clear(&z->out);
	pack_init(&p, &z->out);
	rpc_pack_request(&p, ++z->msgid, method, n);
	if (p.failed || buffer_append(&z->out, r.p, (size_t)(r.end - r.p)) < 0)
		return -EMSGSIZE;
	for (; n > 0; n--)
		if (reader_skip(&r) < 0)
			return -EINVAL;
	return r.p == r.end ? 0 : -EINVAL;
}

int handle_take_refusal(struct zkleader *z, struct reader error)
{
	struct reader_text message;
	int code;
	int e = rpc_parse_error(error, &code, &message);

	if (e < 0)
		return e;
	printable(z->message, sizeof(z->message), message.data, message.len);
	return code;
}

/* -EMSGSIZE is kept for what the caller sends. */
static int receive(struct zkleader *z, size_t max, int64_t deadline, const void **ret_frame,
		   size_t *ret_len)
{
	int e = link_receive(&z->link, max, deadline, ret_frame, ret_len);

	return e == -EMSGSIZE ? -EBADMSG : e;
}

/* The response to the request that was sent last. */
static int receive_response(struct zkleader *z, size_t max, int64_t deadline,
			    struct rpc_message *ret_message)
{
	for (;;) {
		const void *frame;
		size_t len;
		int e = receive(z, max, deadline, &frame, &len);

		if (e < 0)
			return e;
		e = rpc_parse(frame, len, ret_message);
		if (e < 0)
			return e;
		/* A notification may come before its subscription's answer. */
		if (ret_message->type == RPC_NOTIFY)
			continue;
		if (ret_message->type != RPC_RESPONSE || ret_message->msgid != z->msgid)
			return -EBADMSG;
		return 0;
	}
}

/* Sends what is packed and waits for its response. */
static int exchange(struct zkleader *z, size_t max, int64_t deadline, struct reader *ret_result)
{
	struct rpc_message m = {.type = RPC_RESPONSE};
	int e = handle_connect(z, deadline);

	if (e == 0)
		e = link_send(&z->link, z->out.data, z->out.len, deadline);
	if (e == 0)
		e = receive_response(z, max, deadline, &m);
	if (e == 0 && m.failed)
		e = handle_take_refusal(z, m.error);
	/* Late answers and the rest of broken ones must not meet the next question. */
	if (e < 0)
		handle_hang_up(z);
	if (e == 0)
		*ret_result = m.result;
	return e;
}

static bool timeout_is_valid(int64_t timeout_ms)
{
	return timeout_ms >= 0 && timeout_ms <= ZKLEADER_TIMEOUT_MAX_MS;
}

int zkleader_call(struct zkleader *z, const char *method, const void *params, size_t len,
		  int64_t timeout_ms, const void **ret_result, size_t *ret_len)
{
	struct reader result;
	int e;

	z->message[0] = '\0';
	if (!timeout_is_valid(timeout_ms))
		return handle_refuse(z, -EINVAL, "not a timeout");
	if (z->subscribed && link_is_up(&z->link))
		return handle_refuse(z, -EBUSY,
				     "this connection has subscribed and takes no calls");
	e = handle_pack_request(z, method, params, len);
	if (e == -EMSGSIZE)
		return handle_refuse(z, e, "too much for one request");
	if (e < 0)
		return handle_refuse(z, e, "the parameters are not one array");
	e = exchange(z, RPC_RESPONSE_MAX, clock_boot_ms() + timeout_ms, &result);
	if (e < 0)
		return handle_fail(z, e, timeout_ms);
	if (e > 0)
		return e;
	z->subscribed = strcmp(method, "subscribe") == 0;
	*ret_result = result.p;
	*ret_len = (size_t)(result.end - result.p);
	return 0;
}

static int take_notification(const void *frame, size_t len, struct zkleader_notification *ret)
{
	struct zkleader_notification n;
	struct rpc_message m;
	int e = rpc_parse(frame, len, &m);

	if (e < 0)
		return e;
	if (m.type != RPC_NOTIFY || m.n_params != 1)
		return -EBADMSG;
	n.param = m.params.p;
	n.len = (size_t)(m.params.end - m.params.p);
	printable(n.method, sizeof(n.method), m.method.data, m.method.len);
	*ret = n;
	return 0;
}

int zkleader_next(struct zkleader *z, int64_t timeout_ms, struct zkleader_notification *ret)
{
	int64_t deadline = timeout_ms < 0 ? LINK_FOREVER : clock_boot_ms() + timeout_ms;
	const void *frame;
	size_t len;
	int e;

	z->message[0] = '\0';
	if (timeout_ms > ZKLEADER_TIMEOUT_MAX_MS)
		return handle_refuse(z, -EINVAL, "not a timeout");
	if (!z->subscribed)
		return handle_refuse(z, -ENOTCONN, "this connection has not subscribed");
	e = receive(z, RPC_RESPONSE_MAX, deadline, &frame, &len);
	if (e == 0)
		e = take_notification(frame, len, ret);
	if (e < 0 && e != -ETIMEDOUT)
		handle_hang_up(z);
	return e < 0 ? handle_fail(z, e, timeout_ms) : 0;
}

/* Asks once. The lease counts from before the question was even packed. */
static int ask(struct zkleader *z, const char *task, int64_t wait_ms, int64_t deadline,
	       struct zkleader_answer *ret_answer)
{
	int64_t sent_ms = clock_boot_ms();
	struct reader result;
	struct pack p;
	int e;

	buffer_clear(&z->out);
	pack_init(&p, &z->out);
	rpc_pack_request(&p, ++z->msgid, "check", 2);
	pack_str(&p, task);
	pack_int(&p, wait_ms);
	e = exchange(z, ANSWER_MAX, deadline, &result);
	if (e == 0)
		e = answer_parse(result, task, sent_ms, ret_answer);
	if (e < 0)
		handle_hang_up(z);
	return e;
}

/* How long the sidecar may wait, so that its answer still comes in time. */
static int64_t wait_within(int64_t wait_ms, int64_t since, int64_t deadline)
{
	int64_t now = clock_boot_ms();
	int64_t left = wait_ms - (now - since);
	int64_t most = (deadline - now) / 10 * 9;

	if (left > most)
		left = most;
	return left > 0 ? left : 0;
}

/* Whether the answer can still be given to the caller; a "leads" whose lease is over cannot. */
static bool is_good_now(struct zkleader_answer *a)
{
	a->lease_ms = a->leader ? a->valid_until - clock_boot_ms() : 0;
	return !a->leader || a->lease_ms > 0;
}

int zkleader_check(struct zkleader *z, const char *task, int64_t wait_ms, int64_t timeout_ms,
		   struct zkleader_answer *ret_answer)
{
	int64_t since = clock_boot_ms();
	int64_t deadline = since + timeout_ms;
	struct zkleader_answer a;
	int reconnects = 0;
	int e;

	z->message[0] = '\0';
	if (!timeout_is_valid(timeout_ms) || wait_ms < 0 || wait_ms > ZKLEADER_WAIT_MAX_MS)
		return handle_refuse(z, -EINVAL, "not a time to wait");
	if (!name_is_task(task, strlen(task))) {
		say(z, "\"%s\" is not the name of a task", task);
		return ZKLEADER_MISUSE;
	}
	if (z->subscribed && link_is_up(&z->link))
		return handle_refuse(z, -EBUSY,
				     "this connection has subscribed and takes no calls");
	do {
		e = ask(z, task, wait_within(wait_ms, since, deadline), deadline, &a);
		if (e == 0 && is_good_now(&a)) {
			*ret_answer = a;
			return 0;
		}
		/* A check changes nothing, so where the answer was lost it can be asked again. */
		if ((e == -ECONNRESET || e == -EPIPE) && reconnects++ < RECONNECTS_MAX)
			e = 0;
		if (e == 0)
			e = link_pause(AGAIN_PAUSE_MS, deadline);
	} while (e == 0);
	return e < 0 ? handle_fail(z, e, timeout_ms) : e;
}

bool zkleader_still_leads(const struct zkleader_answer *answer)
{
	return answer->leader && clock_boot_ms() < answer->valid_until;
}
