/*
 * The part of libuv that the daemon itself uses, on the simulator's machine
 * (tests/simnode/machine.c): its timers are timers of that machine, work off the loop is done in
 * its next turn, and clients of the socket are in memory.
 */
#ifndef TESTS_FUZZ_FAKE_UV_H
#define TESTS_FUZZ_FAKE_UV_H

#include "fuzz.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <uv.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "daemon/machine/host_uv.h"
#include "daemon/machine/offload.h"
#include "machine.h"
#include "wire/rpc.h"

#define HANDLES_MAX  100
#define EVENTS_MAX   200000 /* in one pass of time: more, and it turns for ever */
#define PEERS_MAX    5
#define PEER_OUT_MAX (4 << 20)
#define PEER_FD	     2000

int64_t __wrap_clock_boot_ms(void);
int64_t __wrap_clock_boot_us(void);
int64_t __wrap_clock_wall_ms(void);
int __wrap_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
		       struct addrinfo **ret);
void __wrap_freeaddrinfo(struct addrinfo *list);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_shutdown(int fd, int how);

/* A client of the sidecar's socket. */
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

/* A timer of libuv's; the idle handle is one that is due at once. */
struct uv_clockwork {
	uv_timer_t *timer;
	struct host_timer host;
};

struct work {
	void (*work)(void *arg);
	void (*done)(void *arg);
	void *arg;
};

static struct fake_uv {
	uv_loop_t loop;
	struct host *host; /* the sidecar's, of machine 0 */
	struct uv_clockwork timers[HANDLES_MAX];
	size_t n_timers;
	uv_idle_t *idle;
	struct host_timer idling, working, moving; /* moving: what peers have said */
	struct work works[HANDLES_MAX];
	size_t n_works;
	struct handle_closing {
		uv_handle_t *handle;
		uv_close_cb fn;
	} closings[HANDLES_MAX];
	size_t n_closings;
	uv_signal_t *signals[HANDLES_MAX];
	size_t n_signals;
	uv_stream_t *listener;
	uv_connection_cb on_connection;
	struct caller peers[PEERS_MAX], *connecting;
	bool stopped;
} fake;

/* The target's: there is something in p->out, which has just been written, or was written long ago. */
static void peer_hear(struct caller *p, bool late);

/* --- the machine ----------------------------------------------------------------------------------- */

struct machine *machine_of(const struct host *h)
{
	(void)h;
	return &machines[0];
}

struct host *machine_host(struct machine *m)
{
	(void)m;
	return fake.host;
}

/* Names are looked up by the daemon's own file. */
void lookups_end(struct machine *m)
{
	(void)m;
}

int64_t __wrap_clock_boot_ms(void)
{
	return machine_us(&machines[0]) / MS;
}

int64_t __wrap_clock_boot_us(void)
{
	return machine_us(&machines[0]);
}

int64_t __wrap_clock_wall_ms(void)
{
	return host_wall_ms(fake.host);
}

/* Time passes, with all that happens meanwhile. */
FUZZ void pass(int64_t us)
{
	int64_t end = sim.now + us;
	uint64_t before = sim.figures.events;

	while (event_next(end))
		FUZZ_CHECK(sim.figures.events < before + EVENTS_MAX);
	sim.now = end;
}

/* --- turns ----------------------------------------------------------------------------------------- */

static void on_idling(void *arg)
{
	(void)arg;
	if (!fake.idle)
		return;
	host_timer_start(&fake.idling, 0);
	fake.idle->idle_cb(fake.idle);
}

static void on_working(void *arg)
{
	static struct work works[HANDLES_MAX]; /* a frame of that size takes ASan long */
	size_t n = fake.n_works;

	(void)arg;
	memcpy(works, fake.works, n * sizeof(works[0]));
	fake.n_works = 0;
	for (size_t i = 0; i < n; i++) {
		works[i].work(works[i].arg);
		works[i].done(works[i].arg);
	}
}

/* Sends what was written while the peer did not read, once it reads again. */
static void peer_written(struct caller *p)
{
	uv_write_t *write = p->write;

	if (!write || p->stalled || !p->stream)
		return;
	FUZZ_CHECK(buffer_append(&p->out, p->writing.base, p->writing.len) == 0);
	p->write = NULL;
	p->behind = true;
	peer_hear(p, true);
	write->cb(write, 0);
	p->behind = false;
}

static void peer_read(struct caller *p)
{
	uv_stream_t *stream = p->stream;
	uv_buf_t buf = {NULL, 0};

	if (!stream || !p->read || (p->in.len == 0 && !p->hung_up && !p->ended))
		return;
	p->alloc((uv_handle_t *)stream, 65536, &buf);
	size_t n = buf.len < p->in.len ? buf.len : p->in.len;
	FUZZ_CHECK(buf.len > 0);	   /* a full buffer would end the connection */
	host_timer_start(&fake.moving, 0); /* until nothing comes of it */
	if (n == 0) {
		p->read(stream, UV_EOF, &buf);
		return;
	}
	memcpy(buf.base, p->in.data, n);
	buffer_consume(&p->in, n);
	p->read(stream, (ssize_t)n, &buf);
}

static void on_moving(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < PEERS_MAX; i++) {
		peer_written(&fake.peers[i]);
		peer_read(&fake.peers[i]);
	}
}

/* A peer has said something, or reads. */
FUZZ void peers_move(void)
{
	host_timer_start(&fake.moving, 0);
}

/* At the end of each turn. */
static void on_turn_end(void *arg)
{
	static struct handle_closing closings[HANDLES_MAX];
	size_t n = fake.n_closings;

	(void)arg;
	memcpy(closings, fake.closings, n * sizeof(closings[0]));
	fake.n_closings = 0;
	for (size_t i = 0; i < n; i++)
		if (closings[i].fn)
			closings[i].fn(closings[i].handle);
}

void host_init(struct host *h, uv_loop_t *l)
{
	h->loop = l;
	fake.host = h;
	machine_start(&machines[0], on_turn_end, NULL);
	host_timer_init(&fake.idling, h, on_idling, NULL);
	host_timer_init(&fake.working, h, on_working, NULL);
	host_timer_init(&fake.moving, h, on_moving, NULL);
}

int offload(uv_loop_t *l, void (*work)(void *arg), void (*done)(void *arg), void *arg)
{
	(void)l;
	FUZZ_CHECK(fake.n_works < HANDLES_MAX);
	fake.works[fake.n_works++] = (struct work){work, done, arg};
	host_timer_start(&fake.working, 0);
	return 0;
}

/* --- the loop and its timers ----------------------------------------------------------------------- */

static struct uv_clockwork *clockwork_of(const uv_timer_t *timer)
{
	for (size_t i = 0; i < fake.n_timers; i++)
		if (fake.timers[i].timer == timer)
			return &fake.timers[i];
	return NULL;
}

static void on_clockwork(void *arg)
{
	uv_timer_t *timer = arg;

	if (timer->repeat > 0)
		uv_timer_start(timer, timer->timer_cb, timer->repeat, timer->repeat);
	timer->timer_cb(timer);
}

int uv_timer_init(uv_loop_t *l, uv_timer_t *timer)
{
	struct uv_clockwork *c = &fake.timers[fake.n_timers++];

	FUZZ_CHECK(fake.n_timers <= HANDLES_MAX);
	memset(timer, 0, sizeof(*timer));
	timer->loop = l;
	timer->type = UV_TIMER;
	c->timer = timer;
	host_timer_init(&c->host, fake.host, on_clockwork, timer);
	return 0;
}

int uv_timer_start(uv_timer_t *timer, uv_timer_cb fn, uint64_t timeout, uint64_t repeat)
{
	FUZZ_CHECK(fn && timeout <= INT64_MAX / 2); /* no negative number of ms */
	timer->timer_cb = fn;
	timer->repeat = repeat;
	host_timer_start(&clockwork_of(timer)->host, (int64_t)timeout);
	return 0;
}

int uv_timer_stop(uv_timer_t *timer)
{
	host_timer_stop(&clockwork_of(timer)->host);
	return 0;
}

int uv_is_active(const uv_handle_t *handle)
{
	const struct uv_clockwork *c = clockwork_of((const uv_timer_t *)handle);

	return c && host_timer_is_set(&c->host);
}

uv_loop_t *uv_default_loop(void)
{
	return &fake.loop;
}

void uv_stop(uv_loop_t *l)
{
	(void)l;
	fake.stopped = true;
}

int uv_loop_alive(const uv_loop_t *l)
{
	(void)l;
	return 0;
}

/* Stubs for turn.c, which measures turns: here no turn takes any time. */
int uv_prepare_init(uv_loop_t *l, uv_prepare_t *prepare)
{
	prepare->loop = l;
	return 0;
}

int uv_prepare_start(uv_prepare_t *prepare, uv_prepare_cb fn)
{
	(void)prepare, (void)fn;
	return 0;
}

int uv_loop_configure(uv_loop_t *l, uv_loop_option option, ...)
{
	(void)l, (void)option;
	return 0;
}

uint64_t uv_hrtime(void)
{
	return 0;
}

uint64_t uv_metrics_idle_time(uv_loop_t *l)
{
	(void)l;
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
	fake.idle = idle;
	host_timer_start(&fake.idling, 0);
	return 0;
}

int uv_idle_stop(uv_idle_t *idle)
{
	FUZZ_CHECK(fake.idle == NULL || fake.idle == idle);
	fake.idle = NULL;
	host_timer_stop(&fake.idling);
	return 0;
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
	fake.signals[fake.n_signals++] = handle;
	return 0;
}

FUZZ void send_signal(int number)
{
	for (size_t i = 0; i < fake.n_signals; i++)
		if (fake.signals[i]->signum == number)
			fake.signals[i]->signal_cb(fake.signals[i], number);
	machine_wake(&machines[0], 0); /* what is asked for is sent at the end of a turn */
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

/* --- the socket ------------------------------------------------------------------------------------ */

static struct caller *peer_of(const uv_stream_t *stream)
{
	for (size_t i = 0; i < PEERS_MAX; i++)
		if (fake.peers[i].stream == stream)
			return &fake.peers[i];
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

	FUZZ_CHECK(fake.n_closings < HANDLES_MAX);
	fake.closings[fake.n_closings++] = (struct handle_closing){handle, fn};
	machine_wake(&machines[0], 0);
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
	fake.listener = stream;
	fake.on_connection = fn;
	return 0;
}

int uv_accept(uv_stream_t *server, uv_stream_t *client)
{
	(void)server;
	FUZZ_CHECK(fake.connecting);
	fake.connecting->stream = client;
	fake.connecting = NULL;
	return 0;
}

int uv_fileno(const uv_handle_t *handle, uv_os_fd_t *fd)
{
	const struct caller *p = peer_of((const uv_stream_t *)handle);

	FUZZ_CHECK(p);
	*fd = PEER_FD + (int)(p - fake.peers);
	return 0;
}

/* Each is in a group of the number of its user, and in no other. */
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	const struct caller *p = &fake.peers[fd - PEER_FD];

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
	fake.peers[fd - PEER_FD].ended = true;
	peers_move();
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
	peers_move();
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
	fake.connecting = p;
	fake.on_connection(fake.listener, 0);
}

FUZZ void fake_begin(void)
{
	memset(&fake, 0, sizeof(fake));
	for (size_t i = 0; i < PEERS_MAX; i++) {
		buffer_init(&fake.peers[i].in, RPC_REQUEST_MAX);
		buffer_init(&fake.peers[i].out, PEER_OUT_MAX);
	}
}

/* The process has ended. */
FUZZ void fake_end(void)
{
	on_turn_end(NULL);
	for (size_t i = 0; i < fake.n_timers; i++)
		host_timer_done(&fake.timers[i].host);
	host_timer_done(&fake.idling);
	host_timer_done(&fake.working);
	host_timer_done(&fake.moving);
	machine_end(&machines[0]);
	for (size_t i = 0; i < PEERS_MAX; i++) {
		buffer_done(&fake.peers[i].in);
		buffer_done(&fake.peers[i].out);
	}
}

#endif
