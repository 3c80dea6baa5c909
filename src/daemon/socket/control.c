#include "daemon/socket/control.h"

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
#include "base/doing.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "daemon/socket/connection.h"

#define GROUPS_MAX 256
#define WARN_MS	   10000 /* between two warnings that there are too many clients */

/* --- clients -------------------------------------------------------------- */

/*
 * The account that loses a client: the one with the most clients. A trusted account loses one only
 * if there is no other.
 */
static const struct account *payer(const struct control *control)
{
	const struct account *most = NULL;

	for (const struct account *a = TAILQ_FIRST(&control->accounts.list); a;
	     a = TAILQ_NEXT(a, link))
		if (!most || (most->trusted && !a->trusted) ||
		    (most->trusted == a->trusted && a->clients > most->clients))
			most = a;
	return most;
}

/*
 * Drops a client of that account: the one that has been idle for the longest time. If all of them
 * have requests waiting or a subscription, the newest one is dropped.
 */
static void make_room(struct control *control)
{
	const struct account *a = payer(control);
	struct client *newest = NULL, *idlest = NULL;
	int64_t now = clock_boot_ms();

	for (struct client *c = LIST_FIRST(&control->clients); c; c = LIST_NEXT(c, link)) {
		if (c->account != a)
			continue;
		newest = newest ? newest : c;
		if (c->peer.parked == 0 && !c->peer.subscription &&
		    (!idlest || c->active_ms < idlest->active_ms))
			idlest = c;
	}
	idlest = idlest ? idlest : newest;
	assert(idlest);
	if (control->warned_ms == 0 || now >= control->warned_ms + WARN_MS) {
		control->warned_ms = now;
		log_warning("too many clients", LOG_INT("dropped_pid", idlest->peer.pid),
			    LOG_INT("uid", idlest->peer.uid), LOG_INT("of_uid", a->clients),
			    LOG_INT("limit", CONTROL_CLIENTS_MAX));
	}
	connection_drop(idlest);
}

static bool is_trusted(const struct client *c, uv_os_fd_t fd)
{
	gid_t groups[GROUPS_MAX];
	socklen_t len = sizeof(groups);

	if (c->peer.uid == 0 || c->peer.uid == geteuid())
		return true;
	if (c->control->group == (gid_t)-1)
		return false;
	if (c->peer.gid == c->control->group)
		return true;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) != 0)
		return false;
	for (size_t i = 0; i < len / sizeof(groups[0]); i++)
		if (groups[i] == c->control->group)
			return true;
	return false;
}

static void on_refused(uv_handle_t *handle)
{
	free(handle->data);
}

static void take_connection(struct control *control)
{
	struct client *c = mem_calloc(1, sizeof(*c));
	struct ucred cred;
	socklen_t len = sizeof(cred);
	uv_os_fd_t fd;

	c->control = control;
	uv_pipe_init(control->loop, &c->pipe, 0);
	c->pipe.data = c;
	if (uv_accept((uv_stream_t *)&control->listener, (uv_stream_t *)&c->pipe) != 0 ||
	    uv_fileno((uv_handle_t *)&c->pipe, &fd) != 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) != 0) {
		uv_close((uv_handle_t *)&c->pipe, on_refused);
		return;
	}
	c->peer.uid = cred.uid;
	c->peer.gid = cred.gid;
	c->peer.pid = cred.pid;
	c->account = account_get(&control->accounts, c->peer.uid, is_trusted(c, fd));
	c->account->clients++;
	LIST_INSERT_HEAD(&control->clients, c, link);
	connection_begin(c);
	if (++control->n_clients > CONTROL_CLIENTS_MAX)
		make_room(control);
}

/*
 * Takes a new connection. Beyond the limit for one turn of the loop, connections wait for the next
 * turn, so that clients are served as well.
 */
static void on_connection(uv_stream_t *listener, int status)
{
	struct control *control = listener->data;

	if (status < 0)
		return;
	const char *before = doing_begin("a connection of the socket");
	if (++control->accepted > CONTROL_ACCEPTS)
		control->knocking = true;
	else
		take_connection(control);
	serve_soon(control);
	doing_end(before);
}

void control_accept_more(struct control *control)
{
	bool knocking = control->knocking;

	control->accepted = 0;
	control->knocking = false;
	if (knocking)
		take_connection(control);
}

void control_resume(struct control *control)
{
	for (struct client *c = LIST_FIRST(&control->clients), *next; c; c = next) {
		next = LIST_NEXT(c, link);
		if (!c->put_off)
			continue;
		c->put_off = false;
		connection_advance(c);
	}
}

bool peer_may_change(const struct peer *c)
{
	return ((const struct client *)c)->account->trusted;
}

/* --- the socket ----------------------------------------------------------- */

/*
 * Takes a lock beside the socket: a socket file does not tell whether its owner is alive, and two
 * sidecars may start at the same time.
 */
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
		return -EEXIST; /* another kind of file is not removed */
	return unlink(path) == 0 ? 0 : -errno;
}

static int bind_and_listen(struct control *c, mode_t mode)
{
	/*
	 * The socket is made without any permission, so that nobody can connect before it has its
	 * mode and group.
	 */
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
	TAILQ_INIT(&c->accounts.list);
	serve_init(c);
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
	while (!LIST_EMPTY(&c->clients))
		connection_drop(LIST_FIRST(&c->clients));
	serve_done(c);
	uv_close((uv_handle_t *)&c->listener, NULL);
	if (c->bound)
		unlink(c->path);
	if (c->lock_fd >= 0)
		close(c->lock_fd);
	free(c->path);
}
