#include "daemon/socket/users.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "base/sort.h"
#include "daemon/machine/offload.h"

#define USER_BUFFER_MAX 65536

/* The arguments of the look-up thread, and its results. */
struct user_lookup {
	struct users *users;
	struct user *list;
	size_t n;
};

static void free_list(struct user *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(list[i].name);
	free(list);
}

static int by_name(const void *name, const void *user)
{
	return strcmp(name, ((const struct user *)user)->name);
}

/* The index of the name in the sorted list, or the index where it has to be inserted. */
static size_t place_of(const struct users *u, const char *name, bool *ret_there)
{
	size_t at = sort_place(name, u->list, u->n, sizeof(*u->list), by_name);

	*ret_there = at < u->n && strcmp(u->list[at].name, name) == 0;
	return at;
}

/* --- in the thread ------------------------------------------------------------ */

/* Looks up a user. If that fails now, a user that was found before stays as it was. */
static void look_up(struct user *user, char *buffer)
{
	struct passwd entry, *found = NULL;
	int r = getpwnam_r(user->name, &entry, buffer, USER_BUFFER_MAX, &found);

	if (found) {
		user->state = USER_THERE;
		user->uid = found->pw_uid;
	} else if (r == 0 || r == ENOENT || r == ESRCH || user->state == USER_ASKED) {
		user->state = USER_MISSING;
	}
}

static void look_all_up(void *arg)
{
	struct user_lookup *l = arg;
	mem_auto char *buffer = mem_alloc(USER_BUFFER_MAX);

	for (size_t i = 0; i < l->n; i++)
		look_up(&l->list[i], buffer);
}

/* --- on the loop ------------------------------------------------------------ */

static void start(struct users *u);

static bool take_over(struct users *u, const struct user *found)
{
	bool there;
	struct user *user = &u->list[place_of(u, found->name, &there)];

	if (!there || (user->state == found->state && user->uid == found->uid))
		return false;
	if (found->state == USER_MISSING)
		log_warning("no such user on this host", LOG_STR("user", found->name));
	user->state = found->state;
	user->uid = found->uid;
	return true;
}

static void on_found(void *arg)
{
	struct user_lookup *l = arg;
	struct users *u = l->users;
	bool changed = false;

	for (size_t i = 0; i < l->n; i++)
		changed |= take_over(u, &l->list[i]);
	free_list(l->list, l->n);
	free(l);
	u->busy = false;
	if (u->again)
		start(u);
	if (changed)
		u->changed(u->arg);
}

static void start(struct users *u)
{
	u->again = u->busy;
	if (u->busy || u->n == 0)
		return;
	struct user_lookup *l = mem_calloc(1, sizeof(*l));
	l->users = u;
	l->list = mem_calloc(u->n, sizeof(*l->list));
	for (l->n = 0; l->n < u->n; l->n++) {
		l->list[l->n] = u->list[l->n];
		l->list[l->n].name = mem_strdup(u->list[l->n].name);
	}
	u->busy = true;
	if (offload(u->loop, look_all_up, on_found, l) == 0)
		return;
	look_all_up(l); /* no thread could be started: it blocks the loop instead */
	on_found(l);
}

void users_begin(struct users *u)
{
	for (size_t i = 0; i < u->n; i++)
		u->list[i].wanted = false;
}

enum user_state users_find(struct users *u, const char *name, uid_t *ret_uid)
{
	bool there;
	size_t at = place_of(u, name, &there);

	if (!there) {
		u->list = mem_resize(u->list, u->n + 1, sizeof(*u->list));
		memmove(u->list + at + 1, u->list + at, (u->n - at) * sizeof(*u->list));
		u->list[at] = (struct user){.name = mem_strdup(name), .state = USER_ASKED};
		u->n++;
	}
	u->list[at].wanted = true;
	if (u->list[at].state == USER_THERE)
		*ret_uid = u->list[at].uid;
	return u->list[at].state;
}

void users_look_up(struct users *u)
{
	size_t kept = 0;

	for (size_t i = 0; i < u->n; i++) {
		if (u->list[i].wanted)
			u->list[kept++] = u->list[i];
		else
			free(u->list[i].name);
	}
	u->n = kept;
	start(u);
}

void users_init(struct users *u, uv_loop_t *loop, void (*changed)(void *arg), void *arg)
{
	*u = (struct users){.loop = loop, .changed = changed, .arg = arg};
}

void users_done(struct users *u)
{
	free_list(u->list, u->n);
	u->list = NULL;
	u->n = 0;
}
