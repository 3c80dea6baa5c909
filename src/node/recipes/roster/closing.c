#include "node/recipes/roster/closing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log/log.h"
#include "base/mem.h"
#include "node/session/session.h"
#include "node/tree/paths.h"

#define BEGIN_MS   5000	 /* after a start, which has more urgent requests */
#define AGAIN_MS   60000 /* between looks whether this node is to do it */
#define PENDING	   20	 /* nodes that are closed at a time */
#define KEY_FOLDER "/key"

static void go_on(struct closing *c);

static void push(char ***list, size_t *n, const char *folder, const char *name, const char *end)
{
	char path[STORE_PATH_MAX];
	int len = snprintf(path, sizeof(path), "%s%s%s%s", folder, name ? "/" : "",
			   name ? name : "", end);

	if (len < 0 || (size_t)len >= sizeof(path))
		return; /* no node of ours */
	*list = mem_resize(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = mem_strdup(path);
}

static void drop(char ***list, size_t *n)
{
	while (*n > 0)
		free((*list)[--*n]);
	free(*list);
	*list = NULL;
}

static void end(struct closing *c)
{
	drop(&c->folders, &c->n_folders);
	drop(&c->nodes, &c->n_nodes);
	c->going = false;
	if (!c->done)
		host_timer_start(&c->timer, AGAIN_MS);
}

/* Whether the server has answered. */
static bool took(struct closing *c, const struct store_reply *reply)
{
	if (!store_is_lost(reply->code))
		return true;
	c->broken = true;
	return false;
}

static void on_marked(void *arg, const struct store_reply *reply)
{
	struct closing *c = arg;

	c->done = reply->code == STORE_OK || reply->code == STORE_NODE_EXISTS;
	end(c);
}

static void on_hidden(void *arg, const struct store_reply *reply)
{
	struct closing *c = arg;

	c->pending--;
	if (took(c, reply) && store_is_refusal(reply->code) && c->refused++ == 0)
		log_warning("a record stays open to the world", LOG_STR("why", reply->text));
	go_on(c);
}

/* The list has records, or folders with records or a folder of keys in them. */
static void on_list(void *arg, const struct store_reply *reply)
{
	struct closing *c = arg;
	char *folder = c->folders[--c->n_folders];
	char runs[STORE_PATH_MAX], jobs[STORE_PATH_MAX];

	c->pending--;
	path_of(c->session->settings, PATH_RUNS, NULL, runs);
	path_of(c->session->settings, PATH_JOBS, NULL, jobs);
	for (size_t i = 0; took(c, reply) && reply->code == STORE_OK && i < reply->n_names; i++) {
		const char *name = reply->names[i];

		if (strcmp(folder, runs) == 0)
			push(&c->folders, &c->n_folders, folder, name, "");
		else if (strcmp(folder, jobs) == 0)
			push(&c->folders, &c->n_folders, folder, name, KEY_FOLDER);
		else
			push(&c->nodes, &c->n_nodes, folder, name, "");
	}
	free(folder);
	go_on(c);
}

static void go_on(struct closing *c)
{
	struct store *store = c->session->store;
	char path[STORE_PATH_MAX];

	while (!c->broken && c->n_nodes > 0 && c->pending < PENDING) {
		char *node = c->nodes[--c->n_nodes];

		c->pending++;
		store_hide(store, node, on_hidden, c);
		free(node);
	}
	if (c->pending > 0)
		return;
	if (c->broken) {
		end(c);
	} else if (c->n_folders > 0) {
		c->pending++;
		store_children(store, c->folders[c->n_folders - 1], false, on_list, c);
	} else {
		log_info("what earlier releases wrote is closed to the world",
			 LOG_INT("refused", (int64_t)c->refused));
		path_of(c->session->settings, PATH_CLOSED, NULL, path);
		store_create(store, path, on_marked, c);
	}
}

static void on_mark(void *arg, const struct store_reply *reply)
{
	static const enum path_folder folders[] = {PATH_NOTICES, PATH_JOBS, PATH_RUNS};
	struct closing *c = arg;
	char path[STORE_PATH_MAX];

	c->done = reply->code == STORE_OK;
	if (reply->code != STORE_NO_NODE) {
		end(c);
		return;
	}
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		path_of(c->session->settings, folders[i], NULL, path);
		push(&c->folders, &c->n_folders, path, NULL, "");
	}
	go_on(c);
}

static void on_due(void *arg)
{
	struct closing *c = arg;
	char path[STORE_PATH_MAX];

	if (c->going || c->done || !session_is_up(c->session))
		return;
	host_timer_start(&c->timer, AGAIN_MS);
	if (!roster_is_assigner(c->roster))
		return;
	c->going = true;
	c->broken = false;
	c->refused = 0;
	path_of(c->session->settings, PATH_CLOSED, NULL, path);
	store_exists(c->session->store, path, false, on_mark, c);
}

void closing_up(struct closing *c)
{
	if (c->session->settings->auth_scheme && !c->done)
		host_timer_start(&c->timer, BEGIN_MS);
}

void closing_init(struct closing *c, struct session *session, const struct roster *roster)
{
	*c = (struct closing){.session = session, .roster = roster};
	host_timer_init(&c->timer, session->host, on_due, c);
}

void closing_done(struct closing *c)
{
	drop(&c->folders, &c->n_folders);
	drop(&c->nodes, &c->n_nodes);
	host_timer_done(&c->timer);
}
