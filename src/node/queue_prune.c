/*
 * Deletes the records of ended jobs: after `keep`, dead letters after `keep-dead`, and sooner if
 * there are too many; never within QUEUE_KEEP_LEAST_MS of the end. One request at a time, minute by
 * minute; a minute is read again when records of it may go.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "core/rank.h"
#include "node/paths.h"
#include "node/queue_lead.h"

#define ROUND_MS     20000  /* between two looks at which minutes there are */
#define LATE_MINUTES 13	    /* until then a submit may come into a minute's folder */
#define SLACK_MS     120000 /* by which clocks may differ, behind QUEUE_KEEP_LEAST_MS */
#define LETTERS_MAX  9000   /* dead letters that are kept */

static const char digits[] = "0123456789abcdef";

struct prune_minute {
	int64_t minute;
	int64_t again_ms; /* the server's clock: nothing of it goes before */
	size_t count;	  /* records, as they were counted last */
};

struct prune {
	struct queue_lead *lead;
	struct prune_minute *minutes; /* sorted; owned */
	size_t n, at;		      /* minutes[at] is being pruned */
	bool busy;		      /* a request is outstanding */
	bool looks;		      /* at minutes[at] */
	int64_t round_ms;	      /* CLOCK_BOOTTIME: not before */
	size_t letters;
	unsigned x;   /* the digit */
	bool listed;  /* the folder of that */
	char **names; /* in it; owned, as is each */
	size_t n_names, next;
	size_t kept;	  /* of the minute */
	int64_t again_ms; /* the soonest that something of it may go */
	/* the record being checked */
	struct job_id id;
	int32_t version, key_version;
	bool letter;
	char key[JOB_KEY_MAX + 1];
};

static void go_on(struct prune *p);

static int64_t server_ms(const struct prune *p)
{
	return queues_server_ms(lead_queues(p->lead));
}

static void forget_names(struct prune *p)
{
	names_free(p->names, p->n_names);
	p->names = NULL;
	p->n_names = p->next = 0;
	p->listed = false;
}

static void keep(struct prune *p, int64_t again_ms)
{
	p->kept++;
	if (again_ms < p->again_ms)
		p->again_ms = again_ms;
}

/* --- one record ----------------------------------------------------------- */

static void on_gone(void *arg, const struct store_reply *reply)
{
	struct prune *p = arg;

	p->busy = false;
	if (lead_took(p->lead, reply))
		return; /* it is freed */
	if (reply->code != STORE_OK)
		keep(p, server_ms(p) + ROUND_MS); /* it has changed: the next look tells */
	go_on(p);
}

/* Its pointer and its key go with it. */
static void delete_it(struct prune *p, bool own_key)
{
	struct queue_lead *lead = p->lead;
	char queue[STORE_PATH_MAX], job[STORE_PATH_MAX], dead[STORE_PATH_MAX], key[STORE_PATH_MAX];
	struct store_op ops[LEAD_CHECKS + 3];
	char name[JOB_NAME_MAX + 1];
	size_t n = LEAD_CHECKS;

	lead_checks(lead, queue, ops);
	path_of_job(lead_paths(lead), &p->id, job);
	ops[n++] = (struct store_op){.type = STORE_OP_DELETE, .path = job, .version = p->version};
	job_name_format(&p->id, name);
	path_of_queue(lead_paths(lead), lead_name(lead), "dead", name, dead);
	if (p->letter)
		ops[n++] = (struct store_op){.type = STORE_OP_DELETE, .path = dead, .version = -1};
	queue_path_of_key(lead_queues(lead), lead->queue->name, p->key, key);
	if (own_key)
		ops[n++] = (struct store_op){
			.type = STORE_OP_DELETE, .path = key, .version = p->key_version};
	p->busy = true;
	queue_multi(lead_calls(lead), ops, n, on_gone, p);
}

/* Another job may have the key by now. */
static void on_key(void *arg, const struct store_reply *reply)
{
	struct prune *p = arg;
	char name[JOB_NAME_MAX + 1];
	const char *data = reply->data;

	p->busy = false;
	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		(void)lead_took(p->lead, reply);
		return;
	}
	p->key_version = reply->stat.version; /* another may get it meanwhile */
	job_name_format(&p->id, name);
	size_t len = strlen(name);
	delete_it(p, reply->code == STORE_OK && reply->len > len && memcmp(data, name, len) == 0 &&
			     data[len] == ' ');
}

/* When it may go; INT64_MAX: it has not ended. */
static int64_t goes_at(const struct prune *p, const struct job_record *j)
{
	const struct queue_settings *s = &p->lead->queue->settings;
	int64_t kept_ms = p->letter ? s->keep_dead_ms : s->keep_ms;
	int64_t least_ms = QUEUE_KEEP_LEAST_MS + SLACK_MS;
	size_t all = 0;

	if (j->ended == 0)
		return INT64_MAX;
	for (size_t i = 0; i < p->n; i++)
		all += p->minutes[i].count;
	if (kept_ms < least_ms || all > QUEUE_ENDED_MAX || (p->letter && p->letters > LETTERS_MAX))
		kept_ms = least_ms;
	return j->ended + kept_ms;
}

static void on_record(void *arg, const struct store_reply *reply)
{
	struct prune *p = arg;
	struct job_record j;
	char path[STORE_PATH_MAX];
	const char *why;

	p->busy = false;
	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		(void)lead_took(p->lead, reply);
		return;
	}
	if (reply->code == STORE_NO_NODE) {
		go_on(p);
		return;
	}
	if (record_parse_job(reply->data, reply->len, &j, &why) != 0) {
		keep(p, INT64_MAX); /* a hand's */
		go_on(p);
		return;
	}
	p->version = reply->stat.version;
	p->letter = strcmp(j.state, "dead") == 0 || strcmp(j.state, "lost") == 0;
	memcpy(p->key, j.key, sizeof(p->key));
	int64_t at = goes_at(p, &j);
	if (at > server_ms(p)) {
		keep(p, at == INT64_MAX ? server_ms(p) + 3 * ROUND_MS : at);
		go_on(p);
	} else if (j.key[0]) {
		p->busy = true;
		queue_path_of_key(lead_queues(p->lead), p->lead->queue->name, p->key, path);
		queue_get(lead_calls(p->lead), path, on_key, p);
	} else {
		delete_it(p, false);
	}
}

static void read_record(struct prune *p, const char *uuid)
{
	char path[STORE_PATH_MAX], name[JOB_NAME_MAX + 1];

	job_minute_format(p->minutes[p->at].minute, name);
	size_t used = strlen(name);
	snprintf(name + used, sizeof(name) - used, ".%s", uuid);
	if (!job_name_parse(name, strlen(name), &p->id)) {
		keep(p, INT64_MAX); /* a hand's */
		return;
	}
	snprintf(p->id.queue, sizeof(p->id.queue), "%s", lead_name(p->lead));
	path_of_job(lead_paths(p->lead), &p->id, path);
	p->busy = true;
	queue_get(lead_calls(p->lead), path, on_record, p);
}

/* --- one minute ----------------------------------------------------------- */

static void on_names(void *arg, const struct store_reply *reply)
{
	struct prune *p = arg;

	p->busy = false;
	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		(void)lead_took(p->lead, reply);
		return;
	}
	p->names = mem_calloc(reply->n_names + 1, sizeof(*p->names));
	for (size_t i = 0; reply->code == STORE_OK && i < reply->n_names; i++)
		p->names[p->n_names++] = mem_strdup(reply->names[i]);
	p->listed = true;
	go_on(p);
}

static void on_folder_gone(void *arg, const struct store_reply *reply)
{
	struct prune *p = arg;

	p->busy = false;
	if (queue_is_cut(reply))
		(void)lead_took(p->lead, reply);
	else
		go_on(p); /* not all of them were there, or something has come: what of it */
}

/* Nothing comes into it any more. */
static void delete_folder(struct prune *p)
{
	char paths[17][STORE_PATH_MAX];
	struct store_op ops[17];

	for (unsigned i = 0; i < 17; i++) {
		path_of_job_folder(lead_paths(p->lead), lead_name(p->lead),
				   p->minutes[p->at].minute, digits[i], paths[i]);
		ops[i] =
			(struct store_op){.type = STORE_OP_DELETE, .path = paths[i], .version = -1};
	}
	p->busy = true;
	queue_multi(lead_calls(p->lead), ops, 17, on_folder_gone, p);
}

static void end_minute(struct prune *p)
{
	struct prune_minute *m = &p->minutes[p->at];
	int64_t now = server_ms(p);

	p->looks = false;
	m->count = p->kept;
	m->again_ms = p->again_ms == INT64_MAX ? now + 30 * ROUND_MS : p->again_ms;
	if (p->kept == 0 && m->minute < now / JOB_MINUTE_MS - LATE_MINUTES)
		delete_folder(p);
	p->at++;
}

/* The next request for the current minute. */
static void look_on(struct prune *p)
{
	char path[STORE_PATH_MAX];

	while (p->listed && p->next < p->n_names && !p->busy)
		read_record(p, p->names[p->next++]);
	if (p->busy)
		return;
	if (p->listed) {
		forget_names(p);
		p->x++;
	}
	if (digits[p->x] == '\0') {
		end_minute(p);
		return;
	}
	path_of_job_folder(lead_paths(p->lead), lead_name(p->lead), p->minutes[p->at].minute,
			   digits[p->x], path);
	p->busy = true;
	queue_children(lead_calls(p->lead), path, on_names, p);
}

/* --- all of them ---------------------------------------------------------- */

static int by_minute(const void *a, const void *b)
{
	int64_t x = ((const struct prune_minute *)a)->minute,
		y = ((const struct prune_minute *)b)->minute;

	return x < y ? -1 : x > y;
}

static void on_minutes(void *arg, const struct store_reply *reply)
{
	struct prune *p = arg;
	struct prune_minute *minutes = mem_calloc(reply->n_names + 1, sizeof(*minutes));
	size_t n = 0;

	p->busy = false;
	for (size_t i = 0; i < reply->n_names; i++) {
		struct prune_minute *m = &minutes[n];
		if (!job_minute_parse(reply->names[i], strlen(reply->names[i]), &m->minute))
			continue;
		const struct prune_minute *known =
			p->n > 0 ? bsearch(m, p->minutes, p->n, sizeof(*m), by_minute) : NULL;
		if (known)
			*m = *known;
		n++;
	}
	qsort(minutes, n, sizeof(*minutes), by_minute);
	free(p->minutes);
	p->minutes = minutes;
	p->n = n;
	p->at = 0;
	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE)
		(void)lead_took(p->lead, reply);
	else
		go_on(p);
}

static void on_letters(void *arg, const struct store_reply *reply)
{
	struct prune *p = arg;
	char path[STORE_PATH_MAX];

	p->busy = false;
	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		(void)lead_took(p->lead, reply);
		return;
	}
	p->letters = (size_t)reply->stat.children;
	path_of_queue(lead_paths(p->lead), lead_name(p->lead), "job", NULL, path);
	p->busy = true;
	queue_children(lead_calls(p->lead), path, on_minutes, p);
}

/* Of a minute whose time has come; a minute that is not over is left alone. */
static bool is_due(const struct prune *p, const struct prune_minute *m)
{
	int64_t now = server_ms(p);

	return m->minute < now / JOB_MINUTE_MS - LATE_MINUTES && m->again_ms <= now;
}

static void go_on(struct prune *p)
{
	while (!p->busy) {
		if (p->looks) {
			look_on(p);
			continue;
		}
		while (p->at < p->n && !is_due(p, &p->minutes[p->at]))
			p->at++;
		if (p->at >= p->n)
			return;
		p->looks = true;
		p->x = 0;
		p->kept = 0;
		p->again_ms = INT64_MAX;
		forget_names(p);
	}
}

void prune_pump(struct queue_lead *lead, int64_t now)
{
	struct prune *p = lead->prune;
	char path[STORE_PATH_MAX];

	if (!p) {
		p = lead->prune = mem_calloc(1, sizeof(*p));
		p->lead = lead;
		p->round_ms = now + ROUND_MS;
	}
	if (p->busy)
		return;
	if (now < p->round_ms) {
		queues_wake(lead_queues(lead), p->round_ms - now);
		return;
	}
	p->round_ms = now + ROUND_MS;
	queues_wake(lead_queues(lead), ROUND_MS);
	path_of_queue(lead_paths(lead), lead_name(lead), "dead", NULL, path);
	p->busy = true;
	queue_exists(lead_calls(lead), path, on_letters, p);
}

void prune_done(struct queue_lead *lead)
{
	struct prune *p = lead->prune;

	lead->prune = NULL;
	if (!p)
		return;
	queue_calls_forget(lead_calls(lead), p);
	forget_names(p);
	free(p->minutes);
	free(p);
}
