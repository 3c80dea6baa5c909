#include "node/recipes/leftovers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/recipes/lock/lock_name.h"
#include "node/recipes/party/party_ticket.h"
#include "node/tree/paths.h"

#define LISTS_MAX 20 /* outstanding */

/* A look at the folders of all locks, gangs and queues, which are listed first. */
struct leftovers_look {
	struct leftovers *of; /* NULL: the leftovers have ended */
	struct leftovers_list {
		struct leftovers_look *look;
		enum path_folder folder;
		char *name; /* a lock, gang or queue; NULL: the folder of all */
	} * lists;
	size_t n, next, outstanding;
	bool any; /* a leftover exists, or may exist */
};

static struct session *session_of(const struct leftovers *l)
{
	return l->locks->session;
}

static int64_t now_of(const struct leftovers *l)
{
	return host_now_ms(session_of(l)->host);
}

static void add(struct leftovers_look *k, enum path_folder folder, const char *name)
{
	k->lists = mem_resize(k->lists, k->n + 1, sizeof(*k->lists));
	k->lists[k->n++] =
		(struct leftovers_list){.folder = folder, .name = name ? mem_strdup(name) : NULL};
}

/* --- names that are leftovers --------------------------------------------- */

static bool is_left_lock(const struct leftovers *l, const char *name)
{
	struct lock_name n;

	return lock_name_parse(name, &n) && n.session == session_of(l)->id &&
	       !locks_know(l->locks, n.id);
}

static bool is_left_member(const struct leftovers *l, const char *gang, const char *name)
{
	struct party_ticket t;

	return party_ticket_parse(PATH_GANGS, name, &t) && !t.left &&
	       t.session == session_of(l)->id && !parties_know(l->gangs, gang, t.id);
}

/*
 * Whether the name is a leftover. Any job given to this node may be running if its queue is not
 * configured here.
 */
static bool is_left(const struct leftovers *l, const struct leftovers_list *list, const char *name)
{
	if (list->folder == PATH_LOCKS)
		return is_left_lock(l, name);
	return list->folder != PATH_GANGS || is_left_member(l, list->name, name);
}

static void take_names(struct leftovers_look *k, const struct leftovers_list *list,
		       const struct store_reply *reply)
{
	bool jobs = list->folder == PATH_JOBS;

	for (size_t i = 0; i < reply->n_names; i++) {
		const char *name = reply->names[i];
		if (list->name)
			k->any |= is_left(k->of, list, name);
		else if (name_is_task(name, strlen(name)) &&
			 !(jobs && queues_serve(k->of->queues, name)))
			add(k, list->folder, name);
	}
}

/* --- the lists ------------------------------------------------------------ */

static void look_free(struct leftovers_look *k)
{
	for (size_t i = 0; i < k->n; i++)
		free(k->lists[i].name);
	free(k->lists);
	free(k);
}

static void go_on(struct leftovers_look *k);

static void on_list(void *arg, const struct store_reply *reply)
{
	struct leftovers_list *list = arg;
	struct leftovers_look *k = list->look;

	k->outstanding--;
	if (k->of && reply->code == STORE_OK)
		take_names(k, list, reply);
	else
		k->any |= reply->code != STORE_NO_NODE;
	free(list->name);
	free(list);
	go_on(k);
}

static bool path_of_list(const struct leftovers *l, const struct leftovers_list *list,
			 char path[STORE_PATH_MAX])
{
	const struct registry *r = l->locks->registry;

	if (list->folder == PATH_JOBS && list->name)
		return path_of_at(r->settings, list->name, r->node, NULL, path);
	path_of(r->settings, list->folder, list->name, path);
	return true;
}

/* Requests a list. It gets memory of its own, as the array may move. */
static void ask(struct leftovers_look *k, struct leftovers_list *from)
{
	struct leftovers_list *list = mem_calloc(1, sizeof(*list));
	char path[STORE_PATH_MAX];

	*list = (struct leftovers_list){.look = k, .folder = from->folder, .name = from->name};
	from->name = NULL;
	if (!path_of_list(k->of, list, path)) { /* a node with so long a name is given nothing */
		free(list->name);
		free(list);
		return;
	}
	k->outstanding++;
	store_children(session_of(k->of)->store, path, false, on_list, list);
}

static void go_on(struct leftovers_look *k)
{
	struct leftovers *l = k->of;

	while (l && k->next < k->n && k->outstanding < LISTS_MAX && !k->any)
		ask(k, &k->lists[k->next++]);
	if (k->outstanding > 0)
		return;
	if (l) {
		l->look = NULL;
		l->none = !k->any && l->locks->registry->same_node && queues_known(l->queues);
	}
	look_free(k);
}

static void look(struct leftovers *l)
{
	l->look = mem_calloc(1, sizeof(*l->look));
	l->look->of = l;
	add(l->look, PATH_LOCKS, NULL);
	add(l->look, PATH_GANGS, NULL);
	add(l->look, PATH_JOBS, NULL);
	go_on(l->look);
}

/* --- times of the looks --------------------------------------------------- */

size_t leftovers_going(const struct leftovers *l)
{
	return !l->none && now_of(l) < l->former.until_ms;
}

static void on_due(void *arg)
{
	struct leftovers *l = arg;

	if (!l->wanted || l->blind || leftovers_going(l) == 0)
		return;
	if (!l->look && session_is_up(session_of(l)))
		look(l);
	host_timer_start(&l->due, LEFTOVERS_AGAIN_MS);
}

void leftovers_want(struct leftovers *l)
{
	l->wanted = true;
	on_due(l);
}

void leftovers_take_over(struct leftovers *l, int64_t timeout_ms, bool runs_known)
{
	holder_former_take_over(&l->former, session_of(l), timeout_ms);
	l->blind = !runs_known;
}

void leftovers_up(struct leftovers *l)
{
	holder_former_up(&l->former, session_of(l));
	on_due(l);
}

void leftovers_expired(struct leftovers *l)
{
	l->former = (struct holder_former){.until_ms = 0};
}

void leftovers_init(struct leftovers *l, struct locks *locks, struct parties *gangs,
		    struct queues *queues)
{
	*l = (struct leftovers){.locks = locks, .gangs = gangs, .queues = queues};
	host_timer_init(&l->due, locks->session->host, on_due, l);
}

void leftovers_done(struct leftovers *l)
{
	if (l->look)
		l->look->of = NULL; /* freed behind its answers */
	host_timer_done(&l->due);
}
