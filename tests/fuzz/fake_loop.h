/*
 * What the sidecar uses of libuv, in memory and in virtual time: timers, what is called around each
 * turn, work off the loop (done at once), and clients of the socket. uv_run() is the target's.
 */
#ifndef TESTS_FUZZ_FAKE_LOOP_H
#define TESTS_FUZZ_FAKE_LOOP_H

#include "fuzz.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "daemon/offload.h"
#include "wire/rpc.h"

#define LOOP_HANDLES_MAX 100
#define LOOP_TURNS_MAX	 500 /* without time passing: more, and it turns for ever */
#define PEERS_MAX	 5
#define PEER_OUT_MAX	 (4 << 20)
#define PEER_FD		 2000
#define BOOT_MS		 INT64_C(1000000)
#define WALL_MS		 INT64_C(1790000000000)

int64_t __wrap_clock_boot_ms(void);
int64_t __wrap_clock_boot_us(void);
int64_t __wrap_clock_wall_ms(void);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **ret);
void __wrap_freeaddrinfo(struct addrinfo *list);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_shutdown(int fd, int how);

/* One who talks to the sidecar. */
struct caller {
	struct ucred cred;
	uv_stream_t *stream; /* the sidecar's end, NULL: closed by one of the two */
	uv_alloc_cb alloc;
	uv_read_cb read; /* NULL: not reading */
	bool hung_up;	 /* we have closed, and it has not heard yet */
	bool stalled;	 /* we do not read */
	bool behind;	 /* we read now what was said while we did not */
	bool ended;	 /* it has said that nothing more comes, so we close */
	uv_write_t *write;
	uv_buf_t writing;
	struct buffer in;  /* to the sidecar */
	struct buffer out; /* from it */
};

static struct fake_loop {
	uv_loop_t uv;
	int64_t now;
	uint64_t started; /* timers ever */
	uv_timer_t *timers[LOOP_HANDLES_MAX];
	size_t n_timers;
	uv_prepare_t *prepares[LOOP_HANDLES_MAX];
	size_t n_prepares;
	uv_check_t *checks[LOOP_HANDLES_MAX];
	size_t n_checks;
	uv_idle_t *idle; /* the one that is started, NULL */
	struct work {
		void (*work)(void *arg);
		void (*done)(void *arg);
		void *arg;
	} works[LOOP_HANDLES_MAX];
	size_t n_works;
	struct closing {
		uv_handle_t *handle;
		uv_close_cb fn;
	} closings[LOOP_HANDLES_MAX];
	size_t n_closings;
	uv_signal_t *signals[LOOP_HANDLES_MAX];
	size_t n_signals;
	uv_stream_t *listener;
	uv_connection_cb on_connection;
	struct caller peers[PEERS_MAX], *connecting;
	bool stopped;
} loop;

static bool loop_deliver(void); /* fake_zookeeper.h: false if there was nothing */
/* The target's: there is something in p->out, which has just been written, or was written long ago. */
static void peer_hear(struct caller *p, bool late);

int64_t __wrap_clock_boot_ms(void)
{
	return loop.now;
}

int64_t __wrap_clock_boot_us(void)
{
	return loop.now * 1000;
}

int64_t __wrap_clock_wall_ms(void)
{
	return WALL_MS + loop.now - BOOT_MS;
}

/* --- timers and turns ------------------------------------------------------------------------------ */

int uv_timer_init(uv_loop_t *l, uv_timer_t *timer)
{
	memset(timer, 0, sizeof(*timer));
	timer->loop = l;
	timer->type = UV_TIMER;
	return 0;
}

int uv_timer_stop(uv_timer_t *timer)
{
	for (size_t i = 0; i < loop.n_timers; i++)
		if (loop.timers[i] == timer)
			loop.timers[i] = loop.timers[--loop.n_timers];
	return 0;
}

int uv_timer_start(uv_timer_t *timer, uv_timer_cb fn, uint64_t timeout, uint64_t repeat)
{
	FUZZ_CHECK(fn && timeout <= INT64_MAX / 2); /* no negative number of ms */
	uv_timer_stop(timer);
	timer->timer_cb = fn;
	timer->timeout = (uint64_t)loop.now + timeout;
	timer->repeat = repeat;
	timer->start_id = loop.started++;
	FUZZ_CHECK(loop.n_timers < LOOP_HANDLES_MAX);
	loop.timers[loop.n_timers++] = timer;
	return 0;
}

int uv_is_active(const uv_handle_t *handle)
{
	for (size_t i = 0; i < loop.n_timers; i++)
		if ((const uv_handle_t *)loop.timers[i] == handle)
			return 1;
	return 0;
}

/* The first that is due by then and was started before that number; NULL. */
FUZZ uv_timer_t *loop_next_timer(uint64_t until, uint64_t started)
{
	uv_timer_t *first = NULL;

	for (size_t i = 0; i < loop.n_timers; i++) {
		uv_timer_t *t = loop.timers[i];
		if (t->timeout <= until && t->start_id < started &&
		    (!first || t->timeout < first->timeout ||
		     (t->timeout == first->timeout && t->start_id < first->start_id)))
			first = t;
	}
	return first;
}

FUZZ bool loop_run_timers(void)
{
	uint64_t started = loop.started;
	bool any = false;

	for (uv_timer_t *t; (t = loop_next_timer((uint64_t)loop.now, started)); any = true) {
		uv_timer_stop(t);
		if (t->repeat > 0)
			uv_timer_start(t, t->timer_cb, t->repeat, t->repeat);
		t->timer_cb(t);
	}
	return any;
}

FUZZ bool loop_run_works(void)
{
	static struct work works[LOOP_HANDLES_MAX]; /* a frame of that size takes ASan long */
	size_t n = loop.n_works;

	memcpy(works, loop.works, n * sizeof(works[0]));
	loop.n_works = 0;
	for (size_t i = 0; i < n; i++) {
		works[i].work(works[i].arg);
		works[i].done(works[i].arg);
	}
	return n > 0;
}

FUZZ bool loop_run_closings(void)
{
	static struct closing closings[LOOP_HANDLES_MAX];
	size_t n = loop.n_closings;

	memcpy(closings, loop.closings, n * sizeof(closings[0]));
	loop.n_closings = 0;
	for (size_t i = 0; i < n; i++)
		if (closings[i].fn)
			closings[i].fn(closings[i].handle);
	return n > 0;
}

/* What was written while a peer did not read goes out once it does. */
static bool peer_written(struct caller *p)
{
	uv_write_t *write = p->write;

	if (!write || p->stalled || !p->stream)
		return false;
	FUZZ_CHECK(buffer_append(&p->out, p->writing.base, p->writing.len) == 0);
	p->write = NULL;
	p->behind = true;
	peer_hear(p, true);
	write->cb(write, 0);
	p->behind = false;
	return true;
}

static bool peer_read(struct caller *p)
{
	uv_stream_t *stream = p->stream;
	uv_buf_t buf = {NULL, 0};

	if (!stream || !p->read || (p->in.len == 0 && !p->hung_up && !p->ended))
		return false;
	p->alloc((uv_handle_t *)stream, 65536, &buf);
	size_t n = buf.len < p->in.len ? buf.len : p->in.len;
	FUZZ_CHECK(buf.len > 0); /* a full buffer would end the connection */
	if (n == 0) {
		p->read(stream, UV_EOF, &buf);
		return true;
	}
	memcpy(buf.base, p->in.data, n);
	buffer_consume(&p->in, n);
	p->read(stream, (ssize_t)n, &buf);
	return true;
}

/* One turn; false if there was nothing to do. */
FUZZ bool loop_turn(void)
{
	bool any = loop_run_timers();

	if (loop.idle) {
		loop.idle->idle_cb(loop.idle);
		any = true;
	}
	for (size_t i = 0; i < loop.n_prepares; i++)
		loop.prepares[i]->prepare_cb(loop.prepares[i]);
	any |= loop_run_works();
	any |= loop_deliver();
	for (size_t i = 0; i < PEERS_MAX; i++) {
		any |= peer_written(&loop.peers[i]);
		any |= peer_read(&loop.peers[i]);
	}
	for (size_t i = 0; i < loop.n_checks; i++)
		loop.checks[i]->check_cb(loop.checks[i]);
	any |= loop_run_closings();
	return any;
}

FUZZ void loop_settle(void)
{
	int turns = 0;

	while (loop_turn())
		FUZZ_CHECK(++turns < LOOP_TURNS_MAX);
}

/* Time passes, from one timer to the next. */
FUZZ void loop_pass(int64_t ms)
{
	int64_t until = loop.now + ms;

	loop_settle();
	for (uv_timer_t *t; (t = loop_next_timer((uint64_t)until, UINT64_MAX));) {
		if ((int64_t)t->timeout > loop.now)
			loop.now = (int64_t)t->timeout;
		loop_settle();
	}
	loop.now = until;
}

uv_loop_t *uv_default_loop(void)
{
	return &loop.uv;
}

void uv_stop(uv_loop_t *l)
{
	(void)l;
	loop.stopped = true;
}

int uv_loop_alive(const uv_loop_t *l)
{
	(void)l;
	return 0;
}

int uv_prepare_init(uv_loop_t *l, uv_prepare_t *prepare)
{
	prepare->loop = l;
	return 0;
}

int uv_prepare_start(uv_prepare_t *prepare, uv_prepare_cb fn)
{
	prepare->prepare_cb = fn;
	loop.prepares[loop.n_prepares++] = prepare;
	return 0;
}

int uv_idle_init(uv_loop_t *l, uv_idle_t *idle)
{
	idle->loop = l;
	return 0;
}

int uv_idle_start(uv_idle_t *idle, uv_idle_cb fn)
{
	idle->idle_cb = fn;
	loop.idle = idle;
	return 0;
}

int uv_idle_stop(uv_idle_t *idle)
{
	FUZZ_CHECK(loop.idle == NULL || loop.idle == idle);
	loop.idle = NULL;
	return 0;
}

/* Nothing takes any time. */
int uv_loop_configure(uv_loop_t *l, uv_loop_option option, ...)
{
	(void)l, (void)option;
	return 0;
}

uint64_t uv_hrtime(void)
{
	return (uint64_t)loop.now * 1000000;
}

uint64_t uv_metrics_idle_time(uv_loop_t *l)
{
	(void)l;
	return (uint64_t)loop.now * 1000000;
}

int uv_check_init(uv_loop_t *l, uv_check_t *check)
{
	check->loop = l;
	return 0;
}

int uv_check_start(uv_check_t *check, uv_check_cb fn)
{
	check->check_cb = fn;
	loop.checks[loop.n_checks++] = check;
	return 0;
}

int offload(uv_loop_t *l, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
	(void)l;
	FUZZ_CHECK(loop.n_works < LOOP_HANDLES_MAX);
	loop.works[loop.n_works++] = (struct work){work, done, arg};
	return 0;
}

void uv_update_time(uv_loop_t *l)
{
	(void)l;
}

/* Every name is the address of the one server. */
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **ret)
{
	static struct sockaddr_in address = {.sin_family = AF_INET};
	static struct addrinfo found = {.ai_family = AF_INET,
					.ai_addr = (struct sockaddr *)&address,
					.ai_addrlen = sizeof(address)};

	(void)node, (void)service, (void)hints;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	address.sin_port = htons(2181);
	*ret = &found;
	return 0;
}

void __wrap_freeaddrinfo(struct addrinfo *list)
{
	(void)list;
}

int uv_signal_init(uv_loop_t *l, uv_signal_t *handle)
{
	handle->loop = l;
	return 0;
}

int uv_signal_start(uv_signal_t *handle, uv_signal_cb fn, int number)
{
	handle->signal_cb = fn;
	handle->signum = number;
	loop.signals[loop.n_signals++] = handle;
	return 0;
}

FUZZ void loop_signal(int number)
{
	for (size_t i = 0; i < loop.n_signals; i++)
		if (loop.signals[i]->signum == number)
			loop.signals[i]->signal_cb(loop.signals[i], number);
}

/* --- handles --------------------------------------------------------------------------------------- */

static struct caller *peer_of(const uv_stream_t *stream)
{
	for (size_t i = 0; i < PEERS_MAX; i++)
		if (loop.peers[i].stream == stream)
			return &loop.peers[i];
	return NULL;
}

int uv_is_closing(const uv_handle_t *handle)
{
	(void)handle;
	return 0; /* asked of health's handles, which are not there, and when all is over */
}

void uv_close(uv_handle_t *handle, uv_close_cb fn)
{
	struct caller *p = peer_of((uv_stream_t *)handle);

	FUZZ_CHECK(loop.n_closings < LOOP_HANDLES_MAX);
	loop.closings[loop.n_closings++] = (struct closing){handle, fn};
	if (!p)
		return;
	p->stream = NULL;
	p->read = NULL;
	p->write = NULL; /* its callback would only hear that it is cancelled */
}

void uv_walk(uv_loop_t *l, uv_walk_cb fn, void *arg)
{
	(void)l, (void)fn, (void)arg; /* what is left are timers of ours */
}

int uv_pipe_init(uv_loop_t *l, uv_pipe_t *pipe, int ipc)
{
	(void)ipc;
	pipe->loop = l;
	pipe->type = UV_NAMED_PIPE;
	return 0;
}

int uv_pipe_bind(uv_pipe_t *pipe, const char *name)
{
	(void)pipe, (void)name;
	return 0;
}

int uv_listen(uv_stream_t *stream, int backlog, uv_connection_cb fn)
{
	(void)backlog;
	loop.listener = stream;
	loop.on_connection = fn;
	return 0;
}

int uv_accept(uv_stream_t *server, uv_stream_t *client)
{
	(void)server;
	FUZZ_CHECK(loop.connecting);
	loop.connecting->stream = client;
	loop.connecting = NULL;
	return 0;
}

int uv_fileno(const uv_handle_t *handle, uv_os_fd_t *fd)
{
	const struct caller *p = peer_of((const uv_stream_t *)handle);

	FUZZ_CHECK(p);
	*fd = PEER_FD + (int)(p - loop.peers);
	return 0;
}

/* Each is in a group of the number of its user, and in no other. */
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	const struct caller *p = &loop.peers[fd - PEER_FD];

	FUZZ_CHECK(fd >= PEER_FD && fd < PEER_FD + PEERS_MAX && level == SOL_SOCKET);
	if (name == SO_PEERCRED) {
		FUZZ_CHECK(*len == sizeof(p->cred));
		memcpy(value, &p->cred, sizeof(p->cred));
	} else {
		*len = 0;
	}
	return 0;
}

int __wrap_shutdown(int fd, int how)
{
	FUZZ_CHECK(fd >= PEER_FD && fd < PEER_FD + PEERS_MAX && how == SHUT_WR);
	loop.peers[fd - PEER_FD].ended = true;
	return 0;
}

uv_buf_t uv_buf_init(char *base, unsigned len)
{
	return (uv_buf_t){base, len};
}

int uv_read_start(uv_stream_t *stream, uv_alloc_cb alloc, uv_read_cb read)
{
	struct caller *p = peer_of(stream);

	FUZZ_CHECK(p && !p->read);
	p->alloc = alloc;
	p->read = read;
	return 0;
}

int uv_read_stop(uv_stream_t *stream)
{
	struct caller *p = peer_of(stream);

	FUZZ_CHECK(p);
	p->read = NULL;
	return 0;
}

int uv_try_write(uv_stream_t *stream, const uv_buf_t bufs[], unsigned n)
{
	struct caller *p = peer_of(stream);

	FUZZ_CHECK(p && n == 1 && bufs[0].len > 0);
	if (p->hung_up)
		return UV_EPIPE;
	if (p->stalled)
		return UV_EAGAIN;
	FUZZ_CHECK(buffer_append(&p->out, bufs[0].base, bufs[0].len) == 0);
	peer_hear(p, p->behind);
	return (int)bufs[0].len;
}

int uv_write(uv_write_t *write, uv_stream_t *stream, const uv_buf_t bufs[], unsigned n,
	     uv_write_cb fn)
{
	struct caller *p = peer_of(stream);

	FUZZ_CHECK(p && !p->write && n == 1);
	write->cb = fn;
	p->write = write;
	p->writing = bufs[0];
	return 0;
}

FUZZ void peer_connect(struct caller *p, uid_t uid)
{
	FUZZ_CHECK(!p->stream);
	buffer_clear(&p->in);
	buffer_clear(&p->out);
	p->cred = (struct ucred){.pid = 1, .uid = uid, .gid = uid};
	p->hung_up = p->stalled = p->ended = false;
	p->write = NULL;
	loop.connecting = p;
	loop.on_connection(loop.listener, 0);
}

FUZZ void loop_begin(void)
{
	memset(&loop, 0, sizeof(loop));
	loop.now = BOOT_MS;
	for (size_t i = 0; i < PEERS_MAX; i++) {
		buffer_init(&loop.peers[i].in, RPC_REQUEST_MAX);
		buffer_init(&loop.peers[i].out, PEER_OUT_MAX);
	}
}

FUZZ void loop_end(void)
{
	for (size_t i = 0; i < PEERS_MAX; i++) {
		buffer_done(&loop.peers[i].in);
		buffer_done(&loop.peers[i].out);
	}
}

#endif
