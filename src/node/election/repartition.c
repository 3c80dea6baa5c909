#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "core/fleet/identity.h"
#include "node/election/leaders.h"
#include "node/tree/paths.h"
#include "node/tree/unled.h"

/*
 * The operations of a repartition, which is one transaction. They check that this worker is
 * registered, that the task is paused, that the number in force is the one read after a write of
 * ours, and that nobody leads the task (unled.h). All that the folder has about the task is
 * deleted, readable or not.
 */
#define RULES_OPS    (NAME_PARTITIONS_MAX + 4)
#define OPS_MAX	     (RULES_OPS + UNLED_OPS)
#define TRIES	     5	  /* of a change that others have come before */
#define TIME_GOOD_MS 3000 /* for which the server's time is relied on */
#define PATHS_MAX    RULES_OPS

static_assert(OPS_MAX <= STORE_OPS_MAX, "a repartition is one transaction");

struct partitions_change {
	LIST_ENTRY(partitions_change) link;
	struct leaders *leaders;
	char task[NAME_TASK_MAX + 1];
	unsigned n;
	unsigned old; /* in force when it was sent; 0: none was */
	struct split_record record;
	enum {
		CHANGE_CLOCK,	/* the server's time is being asked for */
		CHANGE_VERSION, /* the folder's version is being read */
		CHANGE_MARKER,	/* the marker, or what is in its place, is being read */
		CHANGE_LIST,	/* waits for a list that is no older */
		CHANGE_SENT,
		CHANGE_OCCUPANT, /* the leaders are being read */
		CHANGE_UNSURE	 /* its answer was lost: it waits for the next connection's list */
	} phase;
	int32_t version;
	uint64_t due;	 /* folder.lists */
	int64_t time_ms; /* CLOCK_BOOTTIME: the server's time was asked for then */
	int tries;
	bool marked; /* the marker was there */
	enum unled_marker marker;
	size_t first_leader; /* of the operations */
	partitions_fn fn;
	void *arg;
};

/* The operations of a change, and what they point to. */
struct draft {
	struct store_op ops[OPS_MAX];
	size_t n;
	char paths[PATHS_MAX][STORE_PATH_MAX];
	size_t n_paths;
	struct unled unled;
};

static void begin(struct partitions_change *c);

static void end(struct partitions_change *c, enum partitions_result result, const char *text)
{
	LIST_REMOVE(c, link);
	c->fn(c->arg, result, text);
	free(c);
}

/* --- the transaction ------------------------------------------------------ */

static const char *add_path(struct draft *d, const struct leaders *l, enum path_folder folder,
			    const char *name)
{
	char *path = d->paths[d->n_paths++];

	assert(d->n_paths <= PATHS_MAX);
	path_of(l->registry->settings, folder, name, path);
	return path;
}

static void add(struct draft *d, enum store_op_type type, const char *path, int32_t version,
		const struct buffer *data)
{
	assert(d->n < OPS_MAX);
	d->ops[d->n++] = (struct store_op){.type = type,
					   .path = path,
					   .version = version,
					   .data = data ? data->data : NULL,
					   .len = data ? data->len : 0};
}

static void add_rules(struct draft *d, const struct partitions_change *c,
		      const struct policy_item *pause, const struct buffer *record)
{
	struct leaders *l = c->leaders;
	char name[NAME_ELECTION_MAX + 1];
	const char *old;
	unsigned n;

	snprintf(name, sizeof(name), "%s:%u", c->task, c->n);
	add(d, STORE_OP_CHECK, l->session->registration, -1, NULL);
	add(d, STORE_OP_CHECK, add_path(d, l, PATH_POLICY, pause->name), -1, NULL);
	add(d, STORE_OP_SET, add_path(d, l, PATH_SPLITS, NULL), c->version, NULL);
	for (size_t i = 0; (old = partitions_name(l, c->task, i, &n)) != NULL; i++)
		add(d, STORE_OP_DELETE, add_path(d, l, PATH_SPLITS, old), -1, NULL);
	add(d, STORE_OP_CREATE, add_path(d, l, PATH_SPLITS, name), 0, record);
}

/*
 * Checks that nobody leads the task, and makes or drops the marker: only with n = 1 it is led as a
 * whole.
 */
static void add_leaders(struct draft *d, struct partitions_change *c, const struct buffer *marker)
{
	if (c->n > 1)
		c->marker = c->marked ? UNLED_KEEPS : UNLED_MAKES;
	else
		c->marker = c->marked ? UNLED_DROPS : UNLED_NONE;
	c->first_leader = d->n;
	unled_init(&d->unled, c->leaders->registry->settings, c->task, c->marker, marker);
	memcpy(d->ops + d->n, d->unled.ops, d->unled.n * sizeof(d->ops[0]));
	d->n += d->unled.n;
}

/* The ticks up to the change count as claimed, by the server's clock: it has to be right. */
static bool is_clock_off(const struct leaders *l, char text[PARTITIONS_TEXT_MAX])
{
	const struct clocks *clocks = &l->registry->clocks;
	char off[CLOCKS_TEXT_MAX];
	int64_t ms = 0;

	if (!clocks_offset(clocks, &ms) ||
	    (ms < clocks->tolerance_ms && -ms < clocks->tolerance_ms))
		return false;
	clocks_say_own(clocks, off);
	snprintf(text, PARTITIONS_TEXT_MAX, "this node's clock is %s: make them agree first", off);
	return true;
}

/* --- what came of it ------------------------------------------------------ */

static void say_led(struct partitions_change *c, const struct store_reply *reply, const char *path)
{
	struct leader_record record;
	char text[PARTITIONS_TEXT_MAX];
	const char *why, *leader = "somebody";
	const struct member *m =
		fleet_find_session(&c->leaders->registry->fleet, reply->stat.owner);

	if (reply->code == STORE_OK && m)
		leader = identity_name(m);
	else if (reply->code == STORE_OK && reply->stat.owner != 0 &&
		 record_parse_leader(reply->data, reply->len, &record, &why) == 0)
		leader = record.hostname;
	snprintf(text, sizeof(text), "%s is led by %s still: wait for its job or its pause",
		 strrchr(path, '/') + 1, leader);
	end(c, PARTITIONS_LED, text);
}

struct occupant {
	struct partitions_change *change;
	char path[STORE_PATH_MAX];
};

static void on_occupant(void *arg, const struct store_reply *reply)
{
	struct occupant *o = arg;
	struct partitions_change *c = o->change;

	if (reply->code == STORE_NO_NODE && c->tries++ < TRIES)
		begin(c); /* it was led a moment ago */
	else
		say_led(c, reply, o->path);
	free(o);
}

static void ask_who_leads(struct partitions_change *c, int failed_op)
{
	struct occupant *o = mem_calloc(1, sizeof(*o));

	c->phase = CHANGE_OCCUPANT;
	o->change = c;
	(void)unled_culprit(c->leaders->registry->settings, c->task, c->marker,
			    (size_t)failed_op - c->first_leader, o->path);
	store_get(c->leaders->session->store, o->path, false, on_occupant, o);
}

static void done(struct partitions_change *c)
{
	log_info("partitions changed", LOG_STR("task", c->task), LOG_INT("from", c->old),
		 LOG_INT("partitions", c->n), LOG_STR("by", c->record.by));
	partitions_refresh(c->leaders);
	end(c, PARTITIONS_DONE, "");
}

static void on_reply(void *arg, const struct store_reply *reply)
{
	struct partitions_change *c = arg;
	bool led = reply->failed_op >= 0 && (size_t)reply->failed_op >= c->first_leader;
	char text[PARTITIONS_TEXT_MAX];

	if (reply->code == STORE_OK) {
		clocks_heard(&c->leaders->registry->clocks, reply);
		if (is_clock_off(c->leaders, text))
			log_warning("partitions changed by a wrong clock", LOG_STR("task", c->task),
				    LOG_STR("why", text));
		done(c);
	} else if (reply->code == STORE_UNKNOWN) {
		c->phase = CHANGE_UNSURE;
		c->due = UINT64_MAX; /* until the connection is back */
	} else if (reply->code == STORE_ABANDONED) {
		end(c, PARTITIONS_NOT_KNOWN, "the session has ended");
	} else if ((reply->code == STORE_NODE_EXISTS ||
		    (reply->code == STORE_FAILED && c->marked)) &&
		   led) {
		ask_who_leads(c, reply->failed_op);
	} else if (reply->code == STORE_NO_NODE && reply->failed_op == 1) {
		end(c, PARTITIONS_NOT_PAUSED, "it is paused no more");
	} else if ((reply->code == STORE_BAD_VERSION || reply->code == STORE_NO_NODE ||
		    reply->code == STORE_NODE_EXISTS) &&
		   c->tries++ < TRIES) {
		begin(c); /* another node was first */
	} else {
		end(c, PARTITIONS_FAILED, reply->text);
	}
}

static void send(struct partitions_change *c)
{
	struct leaders *l = c->leaders;
	const struct policy_item *pause = policy_find_own(l->policy, POLICY_PAUSE, c->task, "");
	const struct partitions_rule *rule = partitions_rule(l, c->task);
	unsigned named = 0;
	const char *unread = rule ? NULL : partitions_name(l, c->task, 0, &named);
	struct buffer record, marker;

	if (host_now_ms(l->session->host) > c->time_ms + TIME_GOOD_MS) {
		if (c->tries++ < TRIES)
			begin(c); /* we were paused, say: the clocks may have been set since */
		else
			end(c, PARTITIONS_FAILED, "ZooKeeper answers too late: try again");
		return;
	}
	/* A record that cannot be read has its number in its name. */
	c->old = rule ? rule->n : named;
	if (!unread && (c->old == c->n || (c->old == 0 && c->n == 1))) {
		end(c, PARTITIONS_NOTHING, "");
		return;
	}
	if (!pause) {
		end(c, PARTITIONS_NOT_PAUSED, "it is not paused");
		return;
	}
	struct draft *d = mem_calloc(1, sizeof(*d));
	c->record.from = c->old > 0 ? c->old : 1;
	buffer_init(&record, RECORD_SPLIT_MAX);
	buffer_init(&marker, RECORD_LEADER_MAX);
	int error = record_pack_split(&record, &c->record);
	if (error == 0)
		error = record_pack_marker(&marker);
	assert(error == 0);
	(void)error;
	add_rules(d, c, pause, &record);
	add_leaders(d, c, &marker);
	c->phase = CHANGE_SENT;
	store_multi(l->session->store, d->ops, d->n, on_reply, c);
	buffer_done(&record);
	buffer_done(&marker);
	free(d);
}

/* After a lost answer, the number in force says whether the change was made. */
static void look_back(struct partitions_change *c)
{
	const struct partitions_rule *rule = partitions_rule(c->leaders, c->task);

	if (rule && rule->n == c->n && rule->record.since == c->record.since &&
	    strcmp(rule->record.host, c->record.host) == 0)
		done(c);
	else
		end(c, PARTITIONS_FAILED, "the connection went, and it was not done");
}

/* --- steps ---------------------------------------------------------------- */

static void end_unread(struct partitions_change *c, const struct store_reply *reply)
{
	bool gone = store_is_lost(reply->code);

	end(c, PARTITIONS_FAILED, gone ? "the connection went, and it was not done" : reply->text);
}

static void read_list(struct partitions_change *c)
{
	c->phase = CHANGE_LIST;
	c->due = folder_refresh(&c->leaders->partitions.folder);
}

/* A leader's node is not the marker, and is not deleted. */
static void on_marker(void *arg, const struct store_reply *reply)
{
	struct partitions_change *c = arg;
	char path[STORE_PATH_MAX];

	c->marked = reply->code == STORE_OK;
	path_of(c->leaders->registry->settings, PATH_LEADERS, c->task, path);
	if (reply->code == STORE_OK && reply->stat.owner != 0)
		say_led(c, reply, path);
	else if (reply->code == STORE_OK || reply->code == STORE_NO_NODE)
		read_list(c);
	else
		end_unread(c, reply);
}

static void on_version(void *arg, const struct store_reply *reply)
{
	struct partitions_change *c = arg;
	const struct leaders *l = c->leaders;
	char path[STORE_PATH_MAX];

	if (reply->code != STORE_OK) {
		end_unread(c, reply);
		return;
	}
	c->version = reply->stat.version;
	c->phase = CHANGE_MARKER;
	path_of(l->registry->settings, PATH_LEADERS, c->task, path);
	store_get(l->session->store, path, false, on_marker, c);
}

/* The quorum may have another leader since its time was last heard. */
static void on_time(void *arg, const struct store_reply *reply)
{
	struct partitions_change *c = arg;
	struct leaders *l = c->leaders;
	char folder[STORE_PATH_MAX], text[PARTITIONS_TEXT_MAX];

	clocks_heard(&l->registry->clocks, reply);
	c->time_ms = reply->sent_ms;
	if (reply->code == STORE_NO_NODE) {
		end(c, PARTITIONS_FAILED, "this node registers anew: try again");
	} else if (reply->code != STORE_OK) {
		end_unread(c, reply);
	} else if (is_clock_off(l, text)) {
		end(c, PARTITIONS_CLOCK, text);
	} else {
		c->phase = CHANGE_VERSION;
		path_of(l->registry->settings, PATH_SPLITS, NULL, folder);
		store_get(l->session->store, folder, false, on_version, c);
	}
}

/*
 * A write of ours comes first: what is read after it is at least as new as what others were told.
 */
static void begin(struct partitions_change *c)
{
	c->phase = CHANGE_CLOCK;
	clocks_ask(&c->leaders->registry->clocks, on_time, c);
}

void partitions_changes_run(struct leaders *l)
{
	struct partitions *p = &l->partitions;

	for (struct partitions_change *c = LIST_FIRST(&p->changes), *next; c; c = next) {
		next = LIST_NEXT(c, link);
		if ((c->phase != CHANGE_LIST && c->phase != CHANGE_UNSURE) ||
		    c->due > p->folder.lists || !folder_settled(&p->folder))
			continue;
		if (c->phase == CHANGE_LIST)
			send(c);
		else
			look_back(c);
	}
}

void partitions_changes_up(struct leaders *l)
{
	for (struct partitions_change *c = LIST_FIRST(&l->partitions.changes); c;
	     c = LIST_NEXT(c, link))
		if (c->phase == CHANGE_UNSURE || c->phase == CHANGE_LIST)
			c->due = folder_refresh(&l->partitions.folder);
}

void partitions_changes_done(struct leaders *l)
{
	while (!LIST_EMPTY(&l->partitions.changes)) /* NOLINTNEXTLINE: it takes itself out */
		end(LIST_FIRST(&l->partitions.changes), PARTITIONS_NOT_KNOWN,
		    "the sidecar has ended");
}

void partitions_change(struct leaders *l, const char *task, unsigned n, const char *reason,
		       const char *by, partitions_fn fn, void *arg)
{
	struct partitions_change *c = mem_calloc(1, sizeof(*c));

	assert(n >= 1 && n <= NAME_PARTITIONS_MAX);
	c->leaders = l;
	snprintf(c->task, sizeof(c->task), "%s", task);
	c->n = n;
	c->record = (struct split_record){.partitions = n, .since = host_wall_ms(l->session->host)};
	snprintf(c->record.reason, sizeof(c->record.reason), "%s", reason ? reason : "");
	snprintf(c->record.by, sizeof(c->record.by), "%s", by);
	memcpy(c->record.host, l->registry->hostname, sizeof(c->record.host));
	c->fn = fn;
	c->arg = arg;
	if (!session_is_up(l->session)) {
		fn(arg, PARTITIONS_FAILED, SESSION_NONE);
		free(c);
		return;
	}
	LIST_INSERT_HEAD(&l->partitions.changes, c, link);
	begin(c);
}
