/* Removes lists that no worker has any more. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "base/text/names.h"
#include "node/fleet/lists.h"
#include "node/fleet/registry.h"
#include "node/tree/paths.h"

#define LOOKS 144 /* in the time for which an unused list stays: every 10 minutes of a day */

static int64_t keep_ms(const struct lists *l)
{
	int64_t ms = l->registry->settings->lists_keep_ms;

	return ms > 0 ? ms : LISTS_KEEP_MS;
}

/* Whether a worker that we know names the list. */
static bool is_used(const struct lists *l, const char *digest)
{
	const struct fleet *f = &l->registry->fleet;

	for (size_t i = 0; i < f->n_members; i++)
		if (strcmp(f->by_id[i]->worker->list, digest) == 0)
			return true;
	return strcmp(l->own_digest, digest) == 0;
}

/*
 * The first worker that knows lists, if it knows what every record names: one that was refused may
 * name any.
 */
static bool may_audit(const struct lists *l)
{
	const struct registry *r = l->registry;
	const struct member *self = registry_self(r);
	size_t i = 0;

	if (!self || !session_is_up(r->session) || !folder_settled(&r->workers) ||
	    r->n_refused > 0 || r->workers.quiet)
		return false;
	if (r->roll.state == ROLL_KEEPING)
		return true; /* the others know the fleet by hints */
	/* A record of ours that a sidecar of an older release has left does not say so. */
	while (i < r->fleet.n_members && !r->fleet.by_id[i]->worker->lists)
		i++;
	return i < r->fleet.n_members && r->fleet.by_id[i] == self;
}

static void path_of_unused(const struct lists *l, const char *digest, char list[STORE_PATH_MAX],
			   char unused[STORE_PATH_MAX + sizeof(LISTS_UNUSED)])
{
	path_of(l->registry->settings, PATH_LISTS, digest, list);
	snprintf(unused, STORE_PATH_MAX + sizeof(LISTS_UNUSED), "%s/" LISTS_UNUSED, list);
}

static void look(struct lists *l);

static void go_on(struct lists *l, const struct store_reply *reply)
{
	if (reply->code == STORE_ABANDONED)
		return;
	l->audit.busy = false;
	if (reply->code != STORE_UNKNOWN)
		look(l);
}

static void on_done(void *arg, const struct store_reply *reply)
{
	go_on(arg, reply);
}

/* Both go in one transaction, or neither: the note must be the one that was read. */
static void remove_list(struct lists *l, const char *digest, int32_t version)
{
	char path[STORE_PATH_MAX], unused[STORE_PATH_MAX + sizeof(LISTS_UNUSED)];

	path_of_unused(l, digest, path, unused);
	log_info("list removed, as no worker has it any more", LOG_STR("znode", path));
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = l->registry->session->registration, .version = -1},
		{.type = STORE_OP_DELETE, .path = unused, .version = version},
		{.type = STORE_OP_DELETE, .path = path, .version = -1},
	};
	store_multi(l->registry->session->store, ops, 3, on_done, l);
}

static void on_unused(void *arg, const struct store_reply *reply)
{
	struct lists *l = arg;
	int64_t now_ms;

	if (reply->code == STORE_ABANDONED)
		return;
	const char *digest = l->audit.names[l->audit.next - 1];
	if (!may_audit(l) || is_used(l, digest) || l->registry->workers.lists < l->audit.lists) {
		go_on(l, reply);
	} else if (reply->code == STORE_NO_NODE) {
		char path[STORE_PATH_MAX], unused[STORE_PATH_MAX + sizeof(LISTS_UNUSED)];
		path_of_unused(l, digest, path, unused);
		store_create(l->registry->session->store, unused, on_done, l);
	} else {
		now_ms = host_wall_ms(l->registry->session->host) - l->registry->clocks.offset_ms;
		if (reply->code == STORE_OK && reply->stat.ctime <= now_ms - keep_ms(l))
			remove_list(l, digest, reply->stat.version);
		else
			go_on(l, reply);
	}
}

/* Looks at the next list that no worker names, one at a time. */
static void look(struct lists *l)
{
	char path[STORE_PATH_MAX], unused[STORE_PATH_MAX + sizeof(LISTS_UNUSED)];

	while (l->audit.next < l->audit.n && may_audit(l)) {
		const char *name = l->audit.names[l->audit.next++];
		if (strlen(name) != WORKER_LIST_LEN || is_used(l, name))
			continue;
		path_of_unused(l, name, path, unused);
		l->audit.busy = true;
		l->audit.lists = registry_relist(l->registry);
		store_exists(l->registry->session->store, unused, false, on_unused, l);
		return;
	}
}

static void forget_names(struct lists *l)
{
	names_free(l->audit.names, l->audit.n);
	l->audit.names = NULL;
	l->audit.n = l->audit.next = 0;
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct lists *l = arg;

	if (reply->code == STORE_ABANDONED)
		return;
	l->audit.busy = false;
	if (reply->code != STORE_OK)
		return;
	forget_names(l);
	l->audit.names = names_copy((const char *const *)reply->names, reply->n_names);
	l->audit.n = reply->n_names;
	look(l);
}

static void on_due(void *arg)
{
	struct lists *l = arg;
	char path[STORE_PATH_MAX];

	host_timer_start(&l->audit.due, keep_ms(l) / LOOKS);
	if (l->audit.busy || !may_audit(l))
		return;
	path_of(l->registry->settings, PATH_LISTS, NULL, path);
	l->audit.busy = true;
	store_children(l->registry->session->store, path, false, on_names, l);
}

void lists_audit_init(struct lists *l)
{
	host_timer_init(&l->audit.due, l->registry->session->host, on_due, l);
	host_timer_start(&l->audit.due, keep_ms(l) / LOOKS);
}

void lists_audit_done(struct lists *l)
{
	host_timer_done(&l->audit.due);
	forget_names(l);
}
