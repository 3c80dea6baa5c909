#include "daemon/socket/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/log/log.h"

/* The buffers have twice that, for which malloc() has a quick way. Most answers fit. */
#define READ_CHUNK   500
#define ANSWER_CHUNK 250

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf);
static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf);
static void start_reading(struct client *c);
static void stop_reading(struct client *c);

static struct client *client_of(struct peer *peer)
{
	return (struct client *)peer;
}

/* Bytes not yet sent to it. */
static size_t unsent(const struct client *c)
{
	return c->out.len + c->sending.len;
}

/* The number of unsent bytes with which no further request of the client is served. */
static size_t unsent_high(const struct client *c)
{
	return account_share(c->account, c->account->clients, CONTROL_UNSENT_LOW,
			     CONTROL_UNSENT_HIGH);
}

static struct account_use use_of(const struct client *c)
{
	/* A small input buffer is not counted, as every client has one. */
	size_t in = c->in.cap > 2 * CONTROL_AHEAD_MAX ? c->in.cap : 0;

	if (c->closing)
		return (struct account_use){.bytes = 0};
	return (struct account_use){.bytes = in + c->out.cap + c->sending.cap + c->peer.held,
				    .parked = c->peer.parked,
				    .asking = c->peer.asking,
				    .subscribed = c->peer.subscribed,
				    .subscribers = c->peer.subscription != NULL};
}

void connection_count(struct client *c)
{
	struct account_use now = use_of(c);

	account_count(c->account, &c->counted, &now);
	c->counted = now;
}

/* --- the end -------------------------------------------------------------- */

static void on_closed(uv_handle_t *handle)
{
	struct client *c = handle->data;

	buffer_done(&c->in);
	buffer_done(&c->out);
	buffer_done(&c->sending);
	account_put(&c->control->accounts, c->account);
	free(c);
}

void connection_drop(struct client *c)
{
	if (c->closing)
		return;
	c->closing = true;
	c->control->gone(c->control->arg, &c->peer);
	serve_dequeue(c);
	LIST_REMOVE(c, link);
	c->control->n_clients--;
	c->account->clients--;
	connection_count(c);
	uv_close((uv_handle_t *)&c->pipe, on_closed);
	if (c->control->short_of_room)
		serve_soon(c->control);
}

/*
 * Drops the client in the next turn of the loop. Callers that are sending to it still use what is
 * freed with it: its requests, its subscription, its place in a queue.
 */
static void give_up(struct client *c)
{
	if (c->closing || c->broken)
		return;
	c->broken = true;
	stop_reading(c);
	serve_dequeue(c);
	serve_enqueue(c, URGENCY_HEARD);
}

/* The client has sent something malformed: it gets an error, and is dropped. */
static void fail(struct client *c, const char *why)
{
	if (c->failed)
		return;
	c->failed = true;
	buffer_done(&c->in);
	log_debug("client refused", LOG_INT("pid", c->peer.pid), LOG_STR("why", why));
	peer_error(&c->peer, 0, RPC_MISUSE, why);
}

/*
 * Shuts down only our direction of the connection, after an error was sent. The client may still be
 * sending. If the sidecar closed the connection now, the client would find it reset, perhaps before
 * it has read the error.
 */
static void linger(struct client *c)
{
	uv_os_fd_t fd;

	c->control->gone(c->control->arg, &c->peer);
	if (uv_fileno((uv_handle_t *)&c->pipe, &fd) != 0 || shutdown(fd, SHUT_WR) != 0) {
		connection_drop(c);
		return;
	}
	start_reading(c);
}

/* --- requests ------------------------------------------------------------- */

static enum urgency urgency_of(struct reader_text method)
{
	static const struct {
		const char *method;
		enum urgency urgency;
	} list[] = {{"check", URGENCY_CHECK},	  {"claim", URGENCY_CHECK},
		    {"renew", URGENCY_JOB},	  {"finish", URGENCY_JOB},
		    {"attach", URGENCY_JOB},	  {"lock", URGENCY_CHECK},
		    {"lock_renew", URGENCY_JOB},  {"lock_finish", URGENCY_JOB},
		    {"lock_attach", URGENCY_JOB}, {"job_begin", URGENCY_CHECK},
		    {"job_renew", URGENCY_JOB},	  {"job_finish", URGENCY_JOB},
		    {"job_attach", URGENCY_JOB}};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (reader_text_is(method, list[i].method))
			return list[i].urgency;
	return URGENCY_TABLE;
}

/* Requests about jobs wait to be read; others may be what some that are parked wait for. */
static bool may_wait(struct reader_text method)
{
	static const char *const list[] = {"submit", "job",	"cancel", "queue",
					   "dead",   "requeue", "purge"};
	size_t i = 0;

	while (i < sizeof(list) / sizeof(list[0]) && !reader_text_is(method, list[i]))
		i++;
	return i < sizeof(list) / sizeof(list[0]);
}

/* Whether the client's next request has been read completely. Notifications are skipped. */
static bool find_request(struct client *c)
{
	struct rpc_message m;
	size_t len;

	while (!c->closing && !c->failed && c->in.len > 0) {
		int state = reader_measure(c->in.data, c->in.len, RPC_REQUEST_MAX, &len);
		if (state == 0)
			return false;
		if (state == -EMSGSIZE) {
			fail(c, "the frame is too large or too deeply nested");
			return false;
		}
		if (state < 0 || rpc_parse(c->in.data, len, &m) != 0 || m.type == RPC_RESPONSE) {
			fail(c, "not a MessagePack-RPC request");
			return false;
		}
		c->full = m.type == RPC_REQUEST && c->peer.parked >= CONTROL_PARKED_MAX;
		if (c->full && may_wait(m.method))
			return false; /* handled once some of the others are answered */
		if (c->full) {
			fail(c, "too many requests are waiting on this connection");
			return false;
		}
		if (m.type == RPC_REQUEST) {
			c->frame = len;
			c->parsed = m;
			c->parsed_at = c->in.data;
			c->urgency = urgency_of(m.method);
			return true;
		}
		buffer_consume(&c->in, len);
	}
	return false;
}

void connection_serve(struct client *c)
{
	struct rpc_message m = c->parsed;

	if (c->parsed_at == c->in.data || rpc_parse(c->in.data, c->frame, &m) == 0)
		c->control->request(c->control->arg, &c->peer, &m);
	if (c->put_off)
		return;
	if (!c->closing)
		buffer_consume(&c->in, c->frame);
	c->frame = 0;
}

void peer_put_off(struct peer *peer)
{
	client_of(peer)->put_off = true;
}

static void start_reading(struct client *c)
{
	if (c->reading || c->ended || c->broken || c->closing)
		return;
	c->reading = true;
	uv_read_start((uv_stream_t *)&c->pipe, on_alloc, on_read);
}

static void stop_reading(struct client *c)
{
	if (!c->reading)
		return;
	c->reading = false;
	uv_read_stop((uv_stream_t *)&c->pipe);
}

/*
 * Reads up to CONTROL_AHEAD_MAX bytes ahead of the requests that are served. More is read only for
 * a long request, if the client's account has room.
 */
static void read_or_wait(struct client *c)
{
	bool far = c->in.len >= CONTROL_AHEAD_MAX;

	if (far && (c->full || c->queued || c->frame > 0 || !peer_has_room(&c->peer)))
		stop_reading(c);
	else
		start_reading(c);
	connection_count(c);
}

void connection_advance(struct client *c)
{
	bool full = unsent(c) >= unsent_high(c);

	if (c->broken && !c->corked)
		connection_drop(c);
	if (c->closing || c->failed || c->broken)
		return;
	if (full && !c->ended) {
		/* A client that does not read its answers is not read from either. */
		stop_reading(c);
		return;
	}
	if (c->frame == 0 && !c->queued)
		find_request(c);
	if (c->closing || c->failed || c->broken)
		return;
	if (c->frame > 0 && !c->queued && !c->put_off && !full)
		serve_enqueue(c, c->urgency);
	if (c->ended && !c->queued && !c->corked) {
		connection_drop(c);
		return;
	}
	if (c->in.len == 0)
		buffer_done(&c->in);
	read_or_wait(c);
}

void connection_sort(struct client *c)
{
	serve_dequeue(c);
	connection_advance(c);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct client *c = handle->data;
	/*
	 * A long request is measured again after each read, so each read takes as much as is
	 * buffered already.
	 */
	size_t room = buffer_reserve(&c->in, c->in.len > READ_CHUNK ? c->in.len : READ_CHUNK);

	(void)suggested;
	*buf = uv_buf_init((char *)c->in.data + c->in.len, (unsigned)room);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct client *c = stream->data;

	(void)buf;
	if (n == 0)
		return;
	if (n < 0 && c->failed) {
		connection_drop(c);
		return;
	}
	if (n < 0) {
		/*
		 * The client's requests are still served. If many clients end at once, each waits
		 * its turn.
		 */
		c->ended = true;
		stop_reading(c);
		if (!c->queued)
			serve_enqueue(c, URGENCY_HEARD);
		return;
	}
	buffer_added(&c->in, (size_t)n);
	if (c->failed) {
		buffer_clear(&c->in);
		c->after += (size_t)n;
		if (c->after > CONTROL_AFTER_MAX)
			connection_drop(c);
		return;
	}
	c->active_ms = clock_boot_ms();
	if (!c->queued)
		serve_enqueue(c, URGENCY_HEARD);
	read_or_wait(c);
}

void connection_begin(struct client *c)
{
	c->pipe.data = c;
	buffer_init(&c->in, RPC_REQUEST_MAX);
	buffer_init(&c->out, CONTROL_UNSENT_MAX);
	buffer_init(&c->sending, CONTROL_UNSENT_MAX);
	c->active_ms = clock_boot_ms();
	start_reading(c);
}

/* --- answers -------------------------------------------------------------- */

static void on_written(uv_write_t *write, int status)
{
	struct client *c = write->data;

	buffer_done(&c->sending);
	if (status < 0) {
		connection_drop(c);
		return;
	}
	c->active_ms = clock_boot_ms();
	if (c->failed && c->out.len == 0) {
		linger(c);
		return;
	}
	connection_flush(c);
	connection_advance(c);
	if (!c->closing && c->peer.subscription && peer_takes_more(&c->peer))
		c->control->drained(c->control->arg, &c->peer);
	if (c->control->short_of_room)
		serve_soon(c->control);
}

void connection_flush(struct client *c)
{
	if (c->broken)
		buffer_done(&c->out);
	if (c->closing || c->corked || c->sending.len > 0 || c->out.len == 0)
		return;
	struct buffer sending = c->sending;
	c->sending = c->out;
	c->out = sending;
	uv_buf_t buf = uv_buf_init((char *)c->sending.data, (unsigned)c->sending.len);
	int n = uv_try_write((uv_stream_t *)&c->pipe, &buf, 1);
	if (n > 0)
		buffer_consume(&c->sending, (size_t)n);
	if (n < 0 && n != UV_EAGAIN) {
		give_up(c);
		return;
	}
	if (c->sending.len == 0) {
		buffer_done(&c->sending);
		if (c->failed)
			linger(c);
		return;
	}
	buf = uv_buf_init((char *)c->sending.data, (unsigned)c->sending.len);
	c->write.data = c;
	if (uv_write(&c->write, (uv_stream_t *)&c->pipe, &buf, 1, on_written) != 0)
		give_up(c);
}

struct pack *peer_begin(struct peer *peer)
{
	struct client *c = client_of(peer);

	if (c->out.len == 0)
		buffer_reserve(&c->out, ANSWER_CHUNK);
	c->begun = c->out.len;
	pack_init(&c->pack, &c->out);
	return &c->pack;
}

void peer_end(struct peer *peer, int64_t msgid)
{
	struct client *c = client_of(peer);

	if (c->pack.failed < 0) {
		buffer_truncate(&c->out, c->begun);
		pack_init(&c->pack, &c->out);
		if (msgid >= 0)
			rpc_pack_error(&c->pack, (uint32_t)msgid, RPC_CANNOT_TELL,
				       "the answer is too large");
		if (c->pack.failed < 0) {
			give_up(c);
			return;
		}
	}
	connection_flush(c);
	connection_count(c);
	if (c->full && !c->queued && !c->closing)
		serve_enqueue(c, URGENCY_HEARD);
	/* Other clients of the same user may have waited for room. */
	if (c->control->short_of_room)
		serve_soon(c->control);
}

void peer_error(struct peer *c, uint32_t msgid, enum rpc_code code, const char *message)
{
	rpc_pack_error(peer_begin(c), msgid, code, message);
	peer_end(c, msgid);
}

/* --- limits --------------------------------------------------------------- */

bool peer_has_room(struct peer *peer)
{
	struct client *c = client_of(peer);

	if (account_has_room(c->account))
		return true;
	c->control->short_of_room = true;
	return false;
}

void peer_drop(struct peer *peer)
{
	give_up(client_of(peer));
}

bool peer_takes_more(const struct peer *peer)
{
	const struct client *c = (const struct client *)peer;

	return !c->closing && !c->failed && !c->broken && unsent(c) < unsent_high(c);
}

bool peer_may_wait(const struct peer *peer)
{
	return account_may_wait(((const struct client *)peer)->account);
}

bool peer_may_subscribe(const struct peer *peer, size_t n)
{
	const struct client *c = (const struct client *)peer;

	return account_may_subscribe(c->account,
				     n > c->peer.subscribed ? n - c->peer.subscribed : 0,
				     c->peer.subscription ? 0 : 1);
}

struct pack *peer_begin_notification(struct peer *peer, const char *method)
{
	struct client *c = client_of(peer);
	size_t most = account_share(c->account, c->account->use.subscribers, CONTROL_UNSENT_LOW,
				    CONTROL_UNSENT_MAX / 2);

	if (c->broken)
		return NULL;
	if (unsent(c) < most) {
		struct pack *p = peer_begin(peer);

		rpc_pack_notify(p, method);
		return p;
	}
	log_warning("a subscriber does not read, and is dropped", LOG_INT("pid", c->peer.pid),
		    LOG_INT("unsent", unsent(c)));
	give_up(c);
	return NULL;
}
