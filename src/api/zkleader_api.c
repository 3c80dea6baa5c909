#include "zkleader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/answer.h"
#include "api/handle.h"
#include "base/clock.h"
#include "base/text/name.h"
#include "wire/rpc.h"

/* The sizes of the structs in the first release that had a size. */
#define ANSWER_FIRST	   sizeof(struct zkleader_answer)
#define NOTIFICATION_FIRST sizeof(struct zkleader_notification)
#define AGAIN_PAUSE_MS	   20 /* pause before a check is asked again */
#define RECONNECTS_MAX	   1  /* reconnects of one check, each after a closed connection */

int zkleader_open(const char *path, struct zkleader **ret_z)
{
	struct zkleader *z;
	int e;

	z = calloc(1, sizeof(*z));
	if (!z)
		return -ENOMEM;
	e = link_init(&z->link, link_path(path));
	if (e < 0) {
		free(z);
		return e;
	}
	buffer_init_fallible(&z->out, RPC_REQUEST_MAX);
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

/*
 * Sends a request and waits for its answer. After a timeout the connection is closed, so that no
 * late answer is left on it.
 */
static int exchange(struct zkleader *z, const char *method, const void *params, size_t len,
		    size_t max, int64_t deadline, struct reader *ret_result)
{
	uint32_t id;
	int e;

	/*
	 * A connection that broke while it was idle is replaced, since no request was lost with it.
	 */
	if (!link_is_up(&z->link))
		handle_hang_up(z);
	e = handle_send(z, method, params, len, deadline, &id);
	if (e == 0)
		e = handle_await(z, id, max, deadline, ret_result);
	if (e == -ETIMEDOUT)
		handle_hang_up(z);
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
	e = exchange(z, method, params, len, RPC_RESPONSE_MAX, clock_boot_ms() + timeout_ms,
		     &result);
	if (e != 0)
		return e == -ETIMEDOUT ? handle_fail(z, e, timeout_ms) : e;
	z->subscribed = strcmp(method, "subscribe") == 0;
	*ret_result = result.p;
	*ret_len = (size_t)(result.end - result.p);
	return 0;
}

int zkleader_next(struct zkleader *z, int64_t timeout_ms, struct zkleader_notification *ret)
{
	int64_t deadline = timeout_ms < 0 ? LINK_FOREVER : clock_boot_ms() + timeout_ms;
	struct zkleader_notification n = {.size = 0};
	struct message m;
	int e;

	z->message[0] = '\0';
	if (timeout_ms > ZKLEADER_TIMEOUT_MAX_MS)
		return handle_refuse(z, -EINVAL, "not a timeout");
	if (!z->subscribed)
		return handle_refuse(z, -ENOTCONN, "this connection has not subscribed");
	e = handle_receive(z, RPC_RESPONSE_MAX, deadline, &m);
	if (e < 0)
		return e == -ETIMEDOUT ? handle_fail(z, e, timeout_ms) : e;
	if (m.is_answer) {
		handle_hang_up(z);
		return handle_fail(z, -EBADMSG, timeout_ms);
	}
	n.param = m.data.p;
	n.len = (size_t)(m.data.end - m.data.p);
	memcpy(n.method, m.method, sizeof(n.method));
	handle_copy_out(ret, &n, sizeof(n), NOTIFICATION_FIRST);
	return 0;
}

/* Sends one check. The lease counts from before the request was packed. */
static int ask(struct zkleader *z, const char *task, bool any, int64_t wait_ms, int64_t deadline,
	       struct zkleader_answer *ret_answer)
{
	int64_t sent_ms = clock_boot_ms();
	struct buffer params;
	struct reader result;
	struct pack p;
	int e;

	buffer_init_fallible(&params, RPC_REQUEST_MAX);
	pack_init(&p, &params);
	pack_array(&p, any ? 3 : 2);
	pack_str(&p, task);
	pack_int(&p, wait_ms);
	if (any) {
		pack_map(&p, 1);
		pack_kv_bool(&p, "any", true);
	}
	e = p.failed;
	if (e == 0)
		e = exchange(z, "check", params.data, params.len, HANDLE_ANSWER_MAX, deadline,
			     &result);
	buffer_done(&params);
	if (e == 0)
		e = answer_parse(result, task, sent_ms, ret_answer);
	if (e < 0)
		handle_hang_up(z);
	return e;
}

/* The time for which the sidecar may wait, so that its answer still comes in time. */
static int64_t wait_within(int64_t wait_ms, int64_t since, int64_t deadline)
{
	int64_t now = clock_boot_ms();
	int64_t left = wait_ms - (now - since);
	int64_t most = (deadline - now) / 10 * 9;

	if (left > most)
		left = most;
	return left > 0 ? left : 0;
}

/*
 * Whether the answer can still be given to the caller. The answer that this node leads cannot once
 * its lease is over.
 */
static bool is_good_now(struct zkleader_answer *a)
{
	a->lease_ms = a->leader ? a->valid_until - clock_boot_ms() : 0;
	return !a->leader || a->lease_ms > 0;
}

static int check(struct zkleader *z, const char *task, bool any, int64_t wait_ms,
		 int64_t timeout_ms, struct zkleader_answer *ret_answer)
{
	int64_t since = clock_boot_ms();
	int64_t deadline = since + timeout_ms;
	struct zkleader_answer a;
	int reconnects = 0;
	int e;

	z->message[0] = '\0';
	if (!timeout_is_valid(timeout_ms) || wait_ms < 0 || wait_ms > ZKLEADER_WAIT_MAX_MS)
		return handle_refuse(z, -EINVAL, "not a time to wait");
	if (any ? !name_is_task(task, strlen(task)) : !name_is_election(task, strlen(task))) {
		handle_say(z, "\"%s\" is not the name of a task", task);
		return ZKLEADER_MISUSE;
	}
	if (z->subscribed && link_is_up(&z->link))
		return handle_refuse(z, -EBUSY,
				     "this connection has subscribed and takes no calls");
	do {
		e = ask(z, task, any, wait_within(wait_ms, since, deadline), deadline, &a);
		if (e == 0 && is_good_now(&a)) {
			handle_copy_out(ret_answer, &a, sizeof(a), ANSWER_FIRST);
			return 0;
		}
		/* A check changes nothing, so it can be sent again if its answer was lost. */
		if ((e == -ECONNRESET || e == -EPIPE) && reconnects++ < RECONNECTS_MAX)
			e = 0;
		if (e == 0)
			e = link_pause(AGAIN_PAUSE_MS, deadline);
	} while (e == 0);
	return e < 0 ? handle_fail(z, e, timeout_ms) : e;
}

int zkleader_check(struct zkleader *z, const char *task, int64_t wait_ms, int64_t timeout_ms,
		   struct zkleader_answer *ret_answer)
{
	return check(z, task, false, wait_ms, timeout_ms, ret_answer);
}

int zkleader_check_any(struct zkleader *z, const char *task, int64_t wait_ms, int64_t timeout_ms,
		       struct zkleader_answer *ret_answer)
{
	return check(z, task, true, wait_ms, timeout_ms, ret_answer);
}

bool zkleader_still_leads(const struct zkleader_answer *answer)
{
	return answer->leader && clock_boot_ms() < answer->valid_until;
}
