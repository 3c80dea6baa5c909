#include "api/handle.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text/duration.h"
#include "base/text/printable.h"
#include "wire/pack.h"
#include "wire/rpc.h"

/* --- failures in words ---------------------------------------------------- */

__attribute__((format(printf, 2, 3))) void handle_say(struct zkleader *z, const char *format, ...)
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
		handle_say(z, "no sidecar on %s (%s): is zkleaderd running?", path, strerror(-e));
		break;
	case EACCES:
	case EPERM:
		handle_say(z,
			   "not allowed to ask the sidecar on %s (%s): the socket's owner, group "
			   "and mode "
			   "say who may",
			   path, strerror(-e));
		break;
	case ETIMEDOUT:
		duration_format(timeout_ms, text);
		handle_say(z, "no answer from the sidecar on %s within %s", path, text);
		break;
	case ECONNRESET:
	case EPIPE: handle_say(z, "the sidecar on %s closed the connection", path); break;
	case ENOMEM: handle_say(z, "out of memory"); break;
	case EMSGSIZE: handle_say(z, "too much for one request"); break;
	case EBADMSG: handle_say(z, "the answer of the sidecar on %s makes no sense", path); break;
	default: handle_say(z, "the sidecar on %s: %s", path, strerror(-e)); break;
	}
	return e;
}

int handle_refuse(struct zkleader *z, int e, const char *why)
{
	handle_say(z, "%s", why);
	return e;
}

/* --- requests ------------------------------------------------------------- */

void handle_hang_up(struct zkleader *z)
{
	link_close(&z->link);
	z->subscribed = false;
}

static int give_up(struct zkleader *z, int e, int64_t timeout_ms)
{
	handle_hang_up(z);
	return handle_fail(z, e, timeout_ms);
}

/* Packs a request into z->out. 0, -EINVAL if params is not one array, -EMSGSIZE or -ENOMEM. */
static int pack_request(struct zkleader *z, const char *method, const void *params, size_t len)
{
	struct reader r;
	struct pack p;
	size_t n = 0;
	int e;

	reader_init(&r, params, len);
	if (params && reader_array(&r, &n) < 0)
		return -EINVAL;
	buffer_clear(&z->out);
	pack_init(&p, &z->out);
	rpc_pack_request(&p, ++z->msgid, method, n);
	e = p.failed < 0 ? p.failed : buffer_append(&z->out, r.p, (size_t)(r.end - r.p));
	if (e < 0)
		return e == -ENOBUFS ? -EMSGSIZE : e;
	for (; n > 0; n--)
		if (reader_skip(&r) < 0)
			return -EINVAL;
	return r.p == r.end ? 0 : -EINVAL;
}

int handle_send(struct zkleader *z, const char *method, const void *params, size_t len,
		int64_t deadline, uint32_t *ret_id)
{
	int64_t timeout_ms = deadline - clock_boot_ms();
	int e = pack_request(z, method, params, len);

	if (e == -EINVAL)
		return handle_refuse(z, e, "the parameters are not one array");
	if (e < 0)
		return handle_fail(z, e, 0);
	if (z->link.fd < 0)
		e = link_open(&z->link, deadline);
	if (e == 0)
		e = link_send(&z->link, z->out.data, z->out.len, deadline);
	if (e < 0)
		return give_up(z, e, timeout_ms > 0 ? timeout_ms : 0);
	*ret_id = z->msgid;
	return 0;
}

/* --- messages ------------------------------------------------------------- */

/* Takes the sidecar's refusal. Returns its code, or -EBADMSG. */
static int take_refusal(struct zkleader *z, struct reader error)
{
	struct reader_text message;
	int code;
	int e = rpc_parse_error(error, &code, &message);

	if (e < 0)
		return e;
	printable(z->message, sizeof(z->message), message.data, message.len);
	return code;
}

static int take_message(struct zkleader *z, const struct rpc_message *m, struct message *ret)
{
	*ret = (struct message){.is_answer = m->type == RPC_RESPONSE, .id = m->msgid};
	ret->data = ret->is_answer ? m->result : m->params;
	if (ret->is_answer && m->failed)
		ret->code = take_refusal(z, m->error);
	else if (m->type == RPC_NOTIFY && m->n_params == 1)
		printable(ret->method, sizeof(ret->method), m->method.data, m->method.len);
	else if (!ret->is_answer)
		return -EBADMSG;
	return ret->code < 0 ? ret->code : 0;
}

int handle_receive(struct zkleader *z, size_t max, int64_t deadline, struct message *ret)
{
	struct rpc_message m = {0};
	const void *frame;
	size_t len;
	int e = link_receive(&z->link, max, deadline, &frame, &len);

	if (e == -ETIMEDOUT)
		return e;
	if (e == 0)
		e = rpc_parse(frame, len, &m);
	if (e == 0)
		e = take_message(z, &m, ret);
	/*
	 * To callers -EMSGSIZE means that their request is too large, so here it becomes -EBADMSG.
	 */
	return e < 0 ? give_up(z, e == -EMSGSIZE ? -EBADMSG : e, 0) : 0;
}

int handle_await(struct zkleader *z, uint32_t id, size_t max, int64_t deadline,
		 struct reader *ret_result)
{
	struct message m = {.is_answer = false};

	do {
		int e = handle_receive(z, max, deadline, &m);
		if (e < 0)
			return e;
	} while (!m.is_answer || (int32_t)(m.id - id) < 0);
	if (m.id != id)
		return give_up(z, -EBADMSG, 0);
	if (m.code == 0) {
		z->message[0] = '\0'; /* the message is of an earlier failure */
		*ret_result = m.data;
	}
	return m.code;
}

/* --- structs that grow ---------------------------------------------------- */

void handle_copy_out(void *to, const void *from, size_t size, size_t first)
{
	size_t theirs, n;

	memcpy(&theirs, to, sizeof(theirs));
	n = theirs < first ? first : theirs < size ? theirs : size;
	memcpy((char *)to + sizeof(theirs), (const char *)from + sizeof(theirs),
	       n - sizeof(theirs));
}

int handle_copy_in(void *to, const void *from, size_t size, size_t first)
{
	size_t theirs, n;

	memcpy(&theirs, from, sizeof(theirs));
	n = theirs < first ? first : theirs < size ? theirs : size;
	for (size_t i = n; i < theirs; i++)
		if (((const char *)from)[i] != 0)
			return -E2BIG;
	memset(to, 0, size);
	memcpy(to, from, n);
	return 0;
}
