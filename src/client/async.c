#include "client/async.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "base/clock.h"
#include "client/handle.h"
#include "client/printable.h"
#include "wire/rpc.h"

#define ASYNC_ANSWER_MAX (64 * 1024) /* bytes of the frame of an answer */
#define AT_ONCE		 0	     /* as a deadline */

static int give_up(struct zkleader *z, int e, int64_t timeout_ms)
{
	handle_hang_up(z);
	return handle_fail(z, e, timeout_ms);
}

int async_send(struct zkleader *z, const char *method, const struct buffer *params,
	       int64_t deadline, uint32_t *ret_id)
{
	int64_t timeout_ms = deadline - clock_boot_ms();
	int e = handle_pack_request(z, method, params->data, params->len);

	if (e < 0)
		return handle_refuse(z, e, "too much for one request");
	if (z->link.fd < 0)
		e = handle_connect(z, deadline);
	if (e == 0)
		e = link_send(&z->link, z->out.data, z->out.len, deadline);
	if (e < 0)
		return give_up(z, e, timeout_ms > 0 ? timeout_ms : 0);
	*ret_id = z->msgid;
	return 0;
}

int async_receive(struct zkleader *z, uint32_t *ret_id, struct reader *ret_result)
{
	struct rpc_message m = {0};
	const void *frame;
	size_t len;
	int e;

	do {
		e = link_receive(&z->link, ASYNC_ANSWER_MAX, AT_ONCE, &frame, &len);
		if (e == -ETIMEDOUT)
			return -EAGAIN;
		if (e == 0)
			e = rpc_parse(frame, len, &m);
	} while (e == 0 && m.type == RPC_NOTIFY);
	if (e == 0 && m.type != RPC_RESPONSE)
		e = -EBADMSG;
	if (e == 0 && m.failed)
		e = handle_take_refusal(z, m.error);
	if (e < 0)
		return give_up(z, e == -EMSGSIZE ? -EBADMSG : e, 0);
	*ret_id = m.msgid;
	if (e == 0)
		*ret_result = m.result;
	return e;
}

int async_await(struct zkleader *z, uint32_t id, int64_t until, struct reader *ret_result)
{
	uint32_t got = 0;

	for (;;) {
		struct pollfd fd = {.fd = zkleader_fd(z), .events = POLLIN};
		int e = async_receive(z, &got, ret_result);
		int64_t left = until - clock_boot_ms();

		if (e >= 0 && got != id)
			continue;
		if (e != -EAGAIN)
			return e;
		if (left <= 0)
			return -ETIMEDOUT;
		poll(&fd, 1, left < INT_MAX ? (int)left : INT_MAX);
	}
}

static int take_message(struct zkleader *z, const struct rpc_message *m, struct async_message *ret)
{
	const struct reader *data = m->type == RPC_NOTIFY ? &m->params : &m->result;

	*ret = (struct async_message){.is_answer = m->type == RPC_RESPONSE, .id = m->msgid};
	if (m->type == RPC_NOTIFY && m->n_params == 1)
		printable(ret->method, sizeof(ret->method), m->method.data, m->method.len);
	else if (m->type != RPC_RESPONSE)
		return -EBADMSG;
	if (m->type == RPC_RESPONSE && m->failed)
		ret->code = handle_take_refusal(z, m->error);
	ret->data = data->p;
	ret->len = (size_t)(data->end - data->p);
	return ret->code < 0 ? ret->code : 0;
}

int async_next(struct zkleader *z, int64_t deadline, struct async_message *ret)
{
	struct rpc_message m = {0};
	const void *frame;
	size_t len;
	int e = link_receive(&z->link, RPC_RESPONSE_MAX, deadline, &frame, &len);

	if (e == -ETIMEDOUT)
		return -EAGAIN;
	if (e == 0)
		e = rpc_parse(frame, len, &m);
	if (e == 0)
		e = take_message(z, &m, ret);
	return e < 0 ? give_up(z, e == -EMSGSIZE ? -EBADMSG : e, 0) : 0;
}
