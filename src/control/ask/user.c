#include "control/ask/user.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/ask/methods.h"

#define BUFFER_MAX 16384

struct user {
	SLIST_ENTRY(user) link;
	struct methods *methods;
	uid_t uid;
	bool known, busy;
	int64_t at_ms; /* when the name was looked up, by host_now_ms() */
	char name[USER_NAME_MAX + 1], found[USER_NAME_MAX + 1];
};

/* Looks the name up, which may block on a directory service. */
static void find(void *arg)
{
	struct user *u = arg;
	struct passwd entry, *found = NULL;
	char *buffer = mem_alloc(BUFFER_MAX);

	if (getpwuid_r(u->uid, &entry, buffer, BUFFER_MAX, &found) == 0 && found)
		snprintf(u->found, sizeof(u->found), "%s", found->pw_name);
	free(buffer);
}

static bool serve(struct ask *a, void *user)
{
	const struct user *u = user;

	if (a->user != u)
		return true;
	a->user = NULL;
	memcpy(a->name, u->name, sizeof(u->name));
	a->then(a);
	return true;
}

static void on_found(void *arg)
{
	struct user *u = arg;

	u->busy = false;
	u->known = true;
	u->at_ms = host_now_ms(u->methods->node->host);
	memcpy(u->name, u->found, sizeof(u->name));
	asks_each(&u->methods->asks, NULL, serve, u);
}

static void look_up(struct user *u)
{
	const struct process *process = u->methods->process;

	u->busy = true;
	snprintf(u->found, sizeof(u->found), "uid %u", (unsigned)u->uid);
	if (process->offload(process->arg, find, on_found, u) != 0)
		on_found(u);
}

/* The entry of the user; NULL: there are too many users. */
static struct user *user_of(struct methods *m, uid_t uid)
{
	struct user *u;
	size_t n = 0;

	SLIST_FOREACH (u, &m->users, link) {
		if (u->uid == uid)
			return u;
		n++;
	}
	if (n >= USERS_MAX)
		return NULL;
	u = mem_calloc(1, sizeof(*u));
	u->methods = m;
	u->uid = uid;
	SLIST_INSERT_HEAD(&m->users, u, link);
	return u;
}

const char *user_known(struct methods *m, uid_t uid)
{
	const struct user *u = user_of(m, uid);
	bool fresh = u && (u->busy || host_now_ms(m->node->host) - u->at_ms < USERS_KEPT_MS);

	return u && u->known && fresh ? u->name : NULL;
}

void ask_user(struct ask *a, char *name, ask_fn then)
{
	const char *known = user_known(a->methods, a->uid);
	struct user *u = user_of(a->methods, a->uid);

	if (known || !u) {
		if (known)
			snprintf(name, USER_NAME_MAX + 1, "%s", known);
		else
			snprintf(name, USER_NAME_MAX + 1, "uid %u", (unsigned)a->uid);
		then(a);
		return;
	}
	a->user = u;
	a->name = name;
	a->then = then;
	if (!u->busy)
		look_up(u);
}

void user_names_done(struct methods *m)
{
	while (!SLIST_EMPTY(&m->users)) {
		struct user *u = SLIST_FIRST(&m->users);

		SLIST_REMOVE_HEAD(&m->users, link);
		if (!u->busy)
			free(u);
	}
}
