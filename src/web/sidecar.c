#include "web/sidecar.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/text/printable.h"
#include "wire/pack.h"
#include "wire/rpc.h"

#define RETRY_MS   500 /* between attempts to connect, and checks for late answers */
#define AT_ONCE	   0   /* a deadline that has passed: do not wait */
#define WHY_SIZE   512
#define METHOD_MAX 32
#define NO_RESULT  ((struct reader){.p = NULL})

/* --- answers ---------------------------------------------------------------- */

static void answer(struct sidecar *s, struct sidecar_question *q, int code, const char *why,
		   struct reader result)
{
	sidecar_answer_fn fn = q->fn;
	void *arg = q->arg;

	q->id = 0;
	s->n_asked--;
	fn(arg, code, why, result);
}

static struct sidecar_question *find(struct sidecar *s, uint32_t id)
{
	for (size_t i = 0; id != 0 && i < SIDECAR_ASKED_MAX; i++)
		if (s->asked[i].id == id)
			return &s->asked[i];
	return NULL;
}

/* Fails all questions whose deadline is not later than until_ms; INT64_MAX: all questions. */
static void give_up(struct sidecar *s, int64_t until_ms, int code, const char *why)
{
	for (size_t i = 0; s->n_asked > 0 && i < SIDECAR_ASKED_MAX; i++)
		if (s->asked[i].id != 0 && s->asked[i].until_ms <= until_ms)
			answer(s, &s->asked[i], code, why, NO_RESULT);
}

static void on_poll_closed(uv_handle_t *handle)
{
	free(handle);
}

static void stop_polling(struct sidecar *s)
{
	if (!s->poll)
		return;
	uv_poll_stop(s->poll);
	uv_close((uv_handle_t *)s->poll, on_poll_closed);
	s->poll = NULL;
}

static void hang_up(struct sidecar *s)
{
	stop_polling(s);
	link_close(&s->link);
	if (!s->up)
		return;
	s->up = false;
	give_up(s, INT64_MAX, -ECONNRESET, "the sidecar has gone");
	s->handlers.connected(s->handlers.arg, false);
}

static void take_answer(struct sidecar *s, const struct rpc_message *m)
{
	struct sidecar_question *q = find(s, m->msgid);
	struct reader_text text = {.data = ""};
	char why[WHY_SIZE];
	int code = 0;

	if (!q)
		return; /* the question was given up before */
	if (!m->failed) {
		answer(s, q, 0, NULL, m->result);
		return;
	}
	if (rpc_parse_error(m->error, &code, &text) < 0 || code <= 0)
		code = RPC_CANNOT_TELL;
	printable(why, sizeof(why), text.data, text.len);
	answer(s, q, code, why, NO_RESULT);
}

static void take(struct sidecar *s, const struct rpc_message *m)
{
	char method[METHOD_MAX];

	if (m->type == RPC_RESPONSE) {
		take_answer(s, m);
	} else if (m->type == RPC_NOTIFY && m->n_params == 1) {
		printable(method, sizeof(method), m->method.data, m->method.len);
		s->handlers.told(s->handlers.arg, method, m->params);
	}
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
	struct sidecar *s = poll->data;
	struct rpc_message m;
	const void *frame;
	size_t len;
	int e = status;

	(void)events;
	while (e == 0 && s->link.fd >= 0) {
		e = link_receive(&s->link, RPC_RESPONSE_MAX, AT_ONCE, &frame, &len);
		if (e == -ETIMEDOUT)
			return;
		if (e == 0)
			e = rpc_parse(frame, len, &m);
		if (e == 0)
			take(s, &m);
	}
	hang_up(s);
}

/* --- the connection --------------------------------------------------------- */

static void connect_again(struct sidecar *s)
{
	if (link_open(&s->link, AT_ONCE) < 0)
		return;
	s->poll = mem_calloc(1, sizeof(*s->poll));
	if (uv_poll_init(s->loop, s->poll, s->link.fd) < 0) {
		free(s->poll);
		s->poll = NULL;
		link_close(&s->link);
		return;
	}
	s->poll->data = s;
	uv_poll_start(s->poll, UV_READABLE, on_readable);
	s->up = true;
	s->handlers.connected(s->handlers.arg, true);
}

static void on_timer(uv_timer_t *timer)
{
	struct sidecar *s = timer->data;

	give_up(s, clock_boot_ms(), -ETIMEDOUT, "the sidecar does not answer");
	if (s->link.fd < 0)
		connect_again(s);
}

int sidecar_init(struct sidecar *s, uv_loop_t *loop, const char *path,
		 const struct sidecar_handlers *handlers)
{
	memset(s, 0, sizeof(*s));
	int e = link_init(&s->link, path);
	if (e < 0)
		return e;
	s->loop = loop;
	s->handlers = *handlers;
	buffer_init(&s->out, RPC_REQUEST_MAX);
	uv_timer_init(loop, &s->timer);
	s->timer.data = s;
	uv_timer_start(&s->timer, on_timer, 0, RETRY_MS);
	return 0;
}

void sidecar_done(struct sidecar *s)
{
	uv_timer_stop(&s->timer);
	stop_polling(s);
	s->up = false;
	give_up(s, INT64_MAX, -ECANCELED, "the server ends");
	link_done(&s->link);
	buffer_done(&s->out);
}

/* --- questions -------------------------------------------------------------- */

static struct sidecar_question *free_place(struct sidecar *s)
{
	for (size_t i = 0; i < SIDECAR_ASKED_MAX; i++)
		if (s->asked[i].id == 0)
			return &s->asked[i];
	return NULL;
}

static void pack_request(struct pack *p, uint32_t id, const struct sidecar_request *r)
{
	size_t options = (size_t)(r->since_ms > 0) + (r->last > 0) + r->no_outputs;
	char since[CLOCK_TEXT_SIZE];

	rpc_pack_request(p, id, r->method, (size_t)(r->name != NULL) + (options > 0));
	if (r->name)
		pack_str(p, r->name);
	if (options > 0)
		pack_map(p, options);
	if (r->since_ms > 0) {
		clock_format(r->since_ms, since);
		pack_kv_str(p, "since", since);
	}
	if (r->last > 0)
		pack_kv_int(p, "last", r->last);
	if (r->no_outputs)
		pack_kv_bool(p, "no_outputs", true);
}

int sidecar_ask(struct sidecar *s, const struct sidecar_request *request, int64_t timeout_ms,
		sidecar_answer_fn fn, void *arg)
{
	struct sidecar_question *q = free_place(s);
	struct pack p;

	if (!s->up)
		return -ENOTCONN;
	if (!q)
		return -EBUSY;
	if (++s->last_id == 0)
		s->last_id = 1;
	buffer_clear(&s->out);
	pack_init(&p, &s->out);
	pack_request(&p, s->last_id, request);
	if (p.failed)
		return -EMSGSIZE;
	/*
	 * If the sidecar has not read for so long that the socket's buffer is full, it will not
	 * answer either.
	 */
	int e = link_send(&s->link, s->out.data, s->out.len, AT_ONCE);
	if (e < 0) {
		hang_up(s);
		return e;
	}
	*q = (struct sidecar_question){
		.id = s->last_id, .until_ms = clock_boot_ms() + timeout_ms, .fn = fn, .arg = arg};
	s->n_asked++;
	return 0;
}
