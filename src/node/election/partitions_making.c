/* Puts the numbers of partitions in force that listings need, where there is none. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "node/election/leaders.h"
#include "node/tree/paths.h"
#include "node/tree/unled.h"

#define RETRY_MS 1000 /* before what could not be made is tried again */

/* An outstanding request for a listing. */
struct making {
	struct leaders *leaders;
	struct partitions_rule rule;
	enum unled_marker marker;
};

#define MAKING_OPS 2 /* before those that prove that nobody leads the task */

static void retry_later(struct leaders *l, struct listing *listing)
{
	listing->making.retry_ms = host_now_ms(l->session->host) + RETRY_MS;
	host_timer_start(&l->partitions.retry, RETRY_MS);
}

static struct listing *listing_of(const struct making *m)
{
	struct listing *listing = listings_find(m->leaders, m->rule.task, strlen(m->rule.task));

	return listing && listing->settings.partitions == m->rule.n ? listing : NULL;
}

static void making_end(struct making *m)
{
	struct leaders *l = m->leaders;

	free(m);
	l->partitions.busy = false;
	partitions_advance(l);
}

/*
 * Reports a record that was read and refused. Removed from the folder, it is read again with the
 * next list.
 */
static void say_unreadable(struct listing *listing, const char *unread)
{
	struct leaders *l = listing->leaders;
	char name[NAME_ELECTION_MAX + 1]; /* the folder's own goes with it */
	char path[STORE_PATH_MAX], problem[PARTITIONS_TEXT_MAX];

	snprintf(name, sizeof(name), "%s", unread);
	path_of(l->registry->settings, PATH_SPLITS, name, path);
	snprintf(problem, PARTITIONS_TEXT_MAX,
		 "how many partitions of %s are in force cannot be read: delete %s, and what this "
		 "host's file says is put in force",
		 listing->name, path);
	free(listing->making.problem);
	listing->making.problem = mem_strdup(problem);
	listing->making.unreadable = true;
	folder_remove(&l->partitions.folder, name);
}

/*
 * Reports why a task cannot be split: it is led as a whole, or a znode that is not our marker is in
 * the place of its leader node.
 */
static void say_what_stands(struct listing *listing, const struct store_reply *reply)
{
	const struct leaders *l = listing->leaders;
	char path[STORE_PATH_MAX], problem[PARTITIONS_TEXT_MAX];
	struct leader_record record;
	const char *why;
	bool parsed = record_parse_leader(reply->data, reply->len, &record, &why) == 0;

	path_of(l->registry->settings, PATH_LEADERS, listing->name, path);
	if (reply->stat.owner == 0)
		snprintf(problem, PARTITIONS_TEXT_MAX,
			 "%s cannot be split: a znode that is not ephemeral stands in the place of "
			 "its leader's: delete %s",
			 listing->name, path);
	else
		snprintf(problem, PARTITIONS_TEXT_MAX,
			 "%s is led as a whole by %s still: give it partitions = %u in that host's "
			 "file too, or pause it",
			 listing->name, parsed ? record.hostname : "another node",
			 listing->settings.partitions);
	free(listing->making.problem);
	listing->making.problem = mem_strdup(problem);
}

static void on_occupant(void *arg, const struct store_reply *reply)
{
	struct making *m = arg;
	struct listing *listing = reply->code == STORE_ABANDONED ? NULL : listing_of(m);

	if (listing && reply->code == STORE_OK) {
		listing->making.marked =
			reply->stat.owner == 0 && record_is_marker(reply->data, reply->len);
		if (!listing->making.marked) {
			say_what_stands(listing, reply);
			retry_later(m->leaders, listing);
		}
	} else if (listing && reply->code != STORE_NO_NODE) {
		retry_later(m->leaders, listing);
	}
	making_end(m);
}

/*
 * Reports that a partition is led: usually by a host that has not heard yet that its number is
 * gone.
 */
static void on_partition(void *arg, const struct store_reply *reply)
{
	struct making *m = arg;
	struct listing *listing = reply->code == STORE_ABANDONED ? NULL : listing_of(m);
	char problem[PARTITIONS_TEXT_MAX];
	struct leader_record record;
	const char *why;

	if (listing && reply->code == STORE_OK) {
		bool parsed = record_parse_leader(reply->data, reply->len, &record, &why) == 0;
		snprintf(problem, PARTITIONS_TEXT_MAX,
			 "%s has no number of partitions in force, and one of them is led by %s "
			 "still: wait for its job, or pause the task",
			 listing->name, parsed ? record.hostname : "another node");
		free(listing->making.problem);
		listing->making.problem = mem_strdup(problem);
	}
	if (listing)
		retry_later(m->leaders, listing);
	making_end(m);
}

/*
 * Whether the transaction failed because somebody leads the task, or may lead it: that is looked
 * up.
 */
static bool is_led(struct making *m, struct listing *listing, const struct store_reply *reply)
{
	struct leaders *l = m->leaders;
	char path[STORE_PATH_MAX];

	if (reply->failed_op < MAKING_OPS ||
	    (reply->code != STORE_NODE_EXISTS && reply->code != STORE_NO_NODE &&
	     !(reply->code == STORE_FAILED && m->marker == UNLED_KEEPS)))
		return false;
	bool partition = unled_culprit(l->registry->settings, m->rule.task, m->marker,
				       (size_t)reply->failed_op - MAKING_OPS, path);
	if (!partition)
		listing->making.marked = false;
	store_get(l->session->store, path, false, partition ? on_partition : on_occupant, m);
	return true;
}

static void made(const struct making *m)
{
	struct partitions *p = &m->leaders->partitions;

	p->version++;
	if (!partitions_rule(m->leaders, m->rule.task))
		partitions_add_rule(p, &m->rule);
	folder_add(&p->folder, m->rule.name);
	log_info("partitions put in force", LOG_STR("task", m->rule.task),
		 LOG_INT("partitions", m->rule.n));
	folder_touch(&p->folder);
}

static void on_made(void *arg, const struct store_reply *reply)
{
	struct making *m = arg;
	struct leaders *l = m->leaders;
	struct listing *listing = reply->code == STORE_ABANDONED ? NULL : listing_of(m);

	if (reply->code == STORE_OK) {
		made(m);
		making_end(m);
		return;
	}
	if (listing && is_led(m, listing, reply))
		return;
	if (listing && reply->failed_op == 1 && reply->code == STORE_NODE_EXISTS)
		say_unreadable(listing, m->rule.name);
	/* Another node has changed something, or the connection went: look again. */
	if (reply->code != STORE_ABANDONED)
		partitions_refresh(l);
	if (listing)
		retry_later(l, listing);
	if (store_is_refusal(reply->code))
		log_error("partitions refused by the server", LOG_STR("task", m->rule.task),
			  LOG_STR("why", reply->text));
	making_end(m);
}

/*
 * The transaction writes the folder under the version at which it held no number. It also proves
 * that nobody leads the task, not even by a number that was in force before.
 */
static void make(struct leaders *l, const struct listing *listing)
{
	struct making *m = mem_calloc(1, sizeof(*m));
	struct unled *unled = mem_calloc(1, sizeof(*unled));
	struct store_op *ops = mem_calloc(MAKING_OPS + UNLED_OPS, sizeof(*ops));
	char folder[STORE_PATH_MAX], path[STORE_PATH_MAX];
	struct buffer data, marker;

	m->leaders = l;
	m->rule.n = listing->settings.partitions;
	snprintf(m->rule.task, sizeof(m->rule.task), "%s", listing->name);
	snprintf(m->rule.name, sizeof(m->rule.name), "%s:%u", listing->name, m->rule.n);
	m->rule.record = (struct split_record){.partitions = m->rule.n,
					       .since = host_wall_ms(l->session->host)};
	memcpy(m->rule.record.host, l->registry->hostname, sizeof(m->rule.record.host));
	buffer_init(&data, RECORD_SPLIT_MAX);
	buffer_init(&marker, RECORD_LEADER_MAX);
	int error = record_pack_split(&data, &m->rule.record);
	if (error == 0)
		error = record_pack_marker(&marker);
	assert(error == 0);
	(void)error;
	path_of(l->registry->settings, PATH_SPLITS, NULL, folder);
	path_of(l->registry->settings, PATH_SPLITS, m->rule.name, path);
	ops[0] = (struct store_op){
		.type = STORE_OP_SET, .path = folder, .version = l->partitions.version};
	ops[1] = (struct store_op){
		.type = STORE_OP_CREATE, .path = path, .data = data.data, .len = data.len};
	m->marker = listing->making.marked ? UNLED_KEEPS : UNLED_MAKES;
	unled_init(unled, l->registry->settings, listing->name, m->marker, &marker);
	memcpy(ops + MAKING_OPS, unled->ops, unled->n * sizeof(*ops));
	l->partitions.busy = true;
	store_multi(l->session->store, ops, MAKING_OPS + unled->n, on_made, m);
	buffer_done(&data);
	buffer_done(&marker);
	free(unled);
	free(ops);
}

/*
 * The version is read before the list: a number that is not in the list was not in force at that
 * version.
 */
static void on_version(void *arg, const struct store_reply *reply)
{
	struct leaders *l = arg;
	struct partitions *p = &l->partitions;

	p->busy = false;
	if (reply->code != STORE_OK) {
		if (reply->code == STORE_NO_NODE)
			registry_make_parents(l->registry);
		host_timer_start(&p->retry, RETRY_MS);
		return;
	}
	p->version = reply->stat.version;
	p->versioned = true;
	p->due = folder_refresh(&p->folder);
}

static struct listing *next_to_make(const struct leaders *l)
{
	int64_t now = host_now_ms(l->session->host);

	for (size_t i = 0; i < l->n_listings; i++) {
		struct listing *listing = l->listings[i];
		if (listing->state == PARTITIONS_UNKNOWN && listing->making.retry_ms <= now &&
		    !partitions_rule(l, listing->name))
			return listing;
	}
	return NULL;
}

void partitions_advance(struct leaders *l)
{
	struct partitions *p = &l->partitions;
	struct listing *listing;
	char folder[STORE_PATH_MAX];

	if (p->busy || l->leaving || !session_is_up(l->session) || !p->folder.ready)
		return;
	listing = next_to_make(l);
	if (!listing)
		return;
	if (!p->versioned) {
		p->busy = true;
		path_of(l->registry->settings, PATH_SPLITS, NULL, folder);
		store_get(l->session->store, folder, false, on_version, l);
	} else if (p->due <= p->folder.lists && folder_settled(&p->folder)) {
		unsigned n;
		const char *unread = partitions_name(l, listing->name, 0, &n);
		if (!unread) {
			make(l, listing);
			return;
		}
		/*
		 * A number is in force although its record is unreadable: whoever read it before
		 * goes by it.
		 */
		say_unreadable(listing, unread);
		partitions_refresh(l);
		retry_later(l, listing);
	}
}

void partitions_retry(void *arg)
{
	struct leaders *l = arg;

	for (size_t i = 0; i < l->n_listings; i++)
		l->listings[i]->making.retry_ms = 0;
	partitions_advance(l);
}
