#include "daemon/control.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#define READ_CHUNK 4096
#define GROUPS_MAX 256

static void flush(struct client *c);
static void start_reading(struct client *c);
static size_t unsent(const struct client *c);

/* --- clients ----------------------------------------------------------------------------------- */

static void on_client_closed(uv_handle_t *handle)
{
	struct client *c = handle->data;

	buffer_done(&c->in);
	buffer_done(&c->out);
	buffer_done(&c->sending);
	free(c);
}

static void drop(struct client *c)
{
	if (c->closing)
		return;
	c->closing = true;
	c->control->gone(c->control->arg, c);
	if (c->prev)
		c->prev->next = c->next;
	else
		c->control->clients = c->next;
	if (c->next)
		c->next->prev = c->prev;
	c->control->n_clients--;
	uv_close((uv_handle_t *)&c->pipe, on_client_closed);
}

/* The client has said something that cannot be understood: it is told, and goes. */
static void fail(struct client *c, const char *why)
{
	if (c->failed)
		return;
	c->failed = true;
	buffer_clear(&c->in);
	log_debug("client refused", LOG_INT("pid", c->peer.pid), LOG_STR("why", why));
	control_error(c, 0, RPC_MISUSE, why);
}

/*
 * It may be saying more: closed now, it would find the connection reset, perhaps before it has read why. So
 * it hears the end first.
 */
static void linger(struct client *c)
{
	uv_os_fd_t fd;

	c->control->gone(c->control->arg, c);
	if (uv_fileno((uv_handle_t *)&c->pipe, &fd) != 0 || shutdown(fd, SHUT_WR) != 0) {
		drop(c);
		return;
	}
	start_reading(c);
}

static void handle_frames(struct client *c)
{
	while (!c->closing && !c->failed && c->in.len > 0 && unsent(c) < CONTROL_UNSENT_HIGH) {
		struct rpc_message m;
		size_t len;
		int state = reader_measure(c->in.data, c->in.len, RPC_REQUEST_MAX, &len);
		if (state == 0)
			return;
		if (state == -EMSGSIZE) {
			fail(c, "the frame is too large or too deeply nested");
			return;
		}
		if (state < 0 || rpc_parse(c->in.data, len, &m) != 0 || m.type == RPC_RESPONSE) {
			fail(c, "not a MessagePack-RPC request");
			return;
		}
		if (m.type == RPC_REQUEST && c->parked >= CONTROL_PARKED_MAX) {
			fail(c, "too many requests are waiting on this connection");
			return;
		}
		if (m.type == RPC_REQUEST)
			c->control->request(c->control->arg, c, &m);
		if (!c->closing)
			buffer_consume(&c->in, len);
	}
}

/* Handles the frames that are there; what they are answered at once is sent together. */
static void take_frames(struct client *c)
{
	bool full;

	do {
		c->corked = true;
		handle_frames(c);
		c->corked = false;
		full = unsent(c) >= CONTROL_UNSENT_HIGH;
		flush(c);
	} while (full && !c->closing && unsent(c) < CONTROL_UNSENT_HIGH);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
	struct client *c = handle->data;
	size_t room = buffer_reserve(&c->in, READ_CHUNK);

	(void)suggested;
	*buf = uv_buf_init((char *)c->in.data + c->in.len, (unsigned)room);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
	struct client *c = stream->data;

	(void)buf;
	if (n == 0)
		return;
	if (n < 0) {
		drop(c);
		return;
	}
	buffer_added(&c->in, (size_t)n);
	if (c->failed) {
		buffer_clear(&c->in);
		c->after += (size_t)n;
		if (c->after > CONTROL_AFTER_MAX)
			drop(c);
		return;
	}
	c->active_ms = clock_boot_ms();
	take_frames(c);
	if (!c->closing && unsent(c) >= CONTROL_UNSENT_HIGH && c->reading) {
		c->reading = false; /* it does not read what it asked for: so neither do we */
		uv_read_stop(stream);
	}
}

static void start_reading(struct client *c)
{
	if (c->reading || c->closing)
		return;
	c->reading = true;
	uv_read_start((uv_stream_t *)&c->pipe, on_alloc, on_read);
}

static size_t unsent(const struct client *c)
{
	return c->out.len + c->sending.len;
}

static void on_written(uv_write_t *write, int status)
{
	struct client *c = write->data;

	buffer_clear(&c->sending);
	if (status < 0) {
		drop(c);
		return;
	}
	if (c->failed && c->out.len == 0) {
		linger(c);
		return;
	}
	flush(c);
	if (!c->closing && unsent(c) < CONTROL_UNSENT_HIGH) {
		take_frames(c);
		start_reading(c);
	}
}

static void flush(struct client *c)
{
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
		drop(c);
		return;
	}
	if (c->sending.len == 0) {
		if (c->failed)
			linger(c);
		return;
	}
	buf = uv_buf_init((char *)c->sending.data, (unsigned)c->sending.len);
	c->write.data = c;
	if (uv_write(&c->write, (uv_stream_t *)&c->pipe, &buf, 1, on_written) != 0)
		drop(c);
}

static void drop_idlest(struct control *control)
{
	struct client *idlest = NULL;

	for (struct client *c = control->clients; c; c = c->next)
		if (c->parked == 0 && !c->subscription &&
		    (!idlest || c->active_ms < idlest->active_ms))
			idlest = c;
	if (!idlest)
		idlest = control->clients;
	assert(idlest);
	log_warning("too many clients", LOG_INT("dropped_pid", idlest->peer.pid),
		    LOG_INT("limit", CONTROL_CLIENTS_MAX));
	drop(idlest);
}

static void on_connection(uv_stream_t *listener, int status)
{
	struct control *control = listener->data;

	if (status < 0)
		return;
	if (control->n_clients >= CONTROL_CLIENTS_MAX)
		drop_idlest(control);
	struct client *c = mem_calloc(1, sizeof(*c));
	c->control = control;
	c->serial = ++control->last_serial;
	uv_pipe_init(control->loop, &c->pipe, 0);
	c->pipe.data = c;
	buffer_init(&c->in, RPC_REQUEST_MAX);
	buffer_init(&c->out, CONTROL_UNSENT_MAX);
	buffer_init(&c->sending, CONTROL_UNSENT_MAX);
	c->active_ms = clock_boot_ms();
	c->next = control->clients;
	if (c->next)
		c->next->prev = c;
	control->clients = c;
	control->n_clients++;
	uv_os_fd_t fd;
	socklen_t len = sizeof(c->peer);
	if (uv_accept(listener, (uv_stream_t *)&c->pipe) != 0 ||
	    uv_fileno((uv_handle_t *)&c->pipe, &fd) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c->peer, &len) != 0) {
		drop(c);
		return;
	}
	start_reading(c);
}

struct client *control_find(const struct control *control, uint64_t serial)
{
	for (struct client *c = control->clients; c; c = c->next)
		if (c->serial == serial)
			return c;
	return NULL;
}

/* --- answers ----------------------------------------------------------------------------------- */

struct pack *control_begin(struct client *c)
{
	c->begun = c->out.len;
	pack_init(&c->pack, &c->out);
	return &c->pack;
}

void control_end(struct client *c, int64_t msgid)
{
	if (c->pack.failed) {
		c->out.len = c->begun;
		pack_init(&c->pack, &c->out);
		if (msgid >= 0)
			rpc_pack_error(&c->pack, (uint32_t)msgid, RPC_CANNOT_TELL,
				       "the answer is too large");
		if (c->pack.failed) {
			drop(c);
			return;
		}
	}
	flush(c);
}

void control_error(struct client *c, uint32_t msgid, enum rpc_code code, const char *message)
{
	rpc_pack_error(control_begin(c), msgid, code, message);
	control_end(c, msgid);
}

bool control_may_change(const struct client *c)
{
	gid_t groups[GROUPS_MAX];
	socklen_t len = sizeof(groups);
	uv_os_fd_t fd;

	if (c->peer.uid == 0 || c->peer.uid == geteuid())
		return true;
	if (c->control->group == (gid_t)-1)
		return false;
	if (c->peer.gid == c->control->group)
		return true;
	if (uv_fileno((const uv_handle_t *)&c->pipe, &fd) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) != 0)
		return false;
	for (size_t i = 0; i < len / sizeof(groups[0]); i++)
		if (groups[i] == c->control->group)
			return true;
	return false;
}

/* --- the socket -------------------------------------------------------------------------------- */

/* A lock, as a socket file cannot tell whether its owner lives, and two may start at once. */
static int lock(struct control *c)
{
	size_t size = strlen(c->path) + sizeof(".lock");
	mem_auto char *path = mem_alloc(size);

	snprintf(path, size, "%s.lock", c->path);
	c->lock_fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (c->lock_fd < 0)
		return -errno;
	if (flock(c->lock_fd, LOCK_EX | LOCK_NB) != 0) {
		int error = errno == EWOULDBLOCK ? -EADDRINUSE : -errno;
		close(c->lock_fd);
		c->lock_fd = -1;
		return error;
	}
	return 0;
}

static int remove_stale(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST; /* not ours to remove */
	return unlink(path) == 0 ? 0 : -errno;
}

static int bind_and_listen(struct control *c, mode_t mode)
{
	/* Born closed: nobody gets in before the mode and the group are as they should be. */
	mode_t old = umask(0777);
	int error = uv_pipe_bind(&c->listener, c->path);
	umask(old);
	if (error)
		return error;
	c->bound = true;
	if ((c->group != (gid_t)-1 && chown(c->path, (uid_t)-1, c->group) != 0) ||
	    chmod(c->path, mode) != 0)
		return -errno;
	return uv_listen((uv_stream_t *)&c->listener, CONTROL_BACKLOG, on_connection);
}

int control_open(struct control *c, uv_loop_t *loop, const char *path, mode_t mode, gid_t group)
{
	c->loop = loop;
	c->path = mem_strdup(path);
	c->group = group;
	c->lock_fd = -1;
	uv_pipe_init(loop, &c->listener, 0);
	c->listener.data = c;
	int error = lock(c);
	if (!error)
		error = remove_stale(path);
	if (!error)
		error = bind_and_listen(c, mode);
	return error;
}

void control_close(struct control *c)
{
	while (c->clients)
		drop(c->clients);
	uv_close((uv_handle_t *)&c->listener, NULL);
	if (c->bound)
		unlink(c->path);
	if (c->lock_fd >= 0)
		close(c->lock_fd);
	free(c->path);
}
