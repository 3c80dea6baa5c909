/*
 * Deletes the records of ended jobs: after `keep`, dead letters after `keep-dead`, and the oldest
 * sooner if there are more than QUEUE_ENDED_MAX; never within QUEUE_KEEP_LEAST_MS of the end. The
 * records lie in folders by the minute of their submission. A minute is counted once it is over,
 * and looked at when something of it may go: so jobs that wait for long cost nothing.
 */
#include "node/queue/lead/queue_prune.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/tree/paths.h"

#define ROUND_MS	  20000	 /* between two listings of the minutes */
#define LATE_MINUTES	  13	 /* a submit may add to a minute's folder for so long */
#define SLACK_MS	  120000 /* clocks may differ by so much, on top of QUEUE_KEEP_LEAST_MS */
#define PRUNE_READS_MAX	  32	 /* outstanding reads */
#define PRUNE_READS_LEAST 2	 /* likewise, however many others there are */
#define PRUNE_CALLS_MAX	  50	 /* outstanding requests of all queues at which no more are sent */

const char prune_digits[] = "0123456789abcdef";

int64_t prune_server_ms(const struct prune *p)
{
	return queues_server_ms(lead_queues(p->lead));
}

bool prune_may_read(const struct prune *p)
{
	return p->flying < PRUNE_READS_LEAST ||
	       (p->flying < PRUNE_READS_MAX && lead_calls(p->lead)->n < PRUNE_CALLS_MAX);
}

int64_t prune_least_ms(void)
{
	return QUEUE_KEEP_LEAST_MS + SLACK_MS;
}

int64_t prune_kept_ms(const struct prune *p, bool letter)
{
	int64_t ms = letter ? p->keep_dead_ms : p->keep_ms;

	return ms > prune_least_ms() ? ms : prune_least_ms();
}

static void end_round(struct prune *p)
{
	p->phase = PRUNE_REST;
	p->looks = false;
	p->at = 0;
}

/* --- which minutes there are ---------------------------------------------- */

static int by_minute(const void *a, const void *b)
{
	int64_t x = ((const struct prune_minute *)a)->minute,
		y = ((const struct prune_minute *)b)->minute;

	return x < y ? -1 : x > y;
}

/* Jobs of a minute end after it has begun, and few before it is over. */
static struct prune_minute minute_new(const struct prune *p, int64_t minute)
{
	int64_t keep_ms = prune_kept_ms(p, false), dead_ms = prune_kept_ms(p, true);
	int64_t over_ms = minute < INT64_MAX / JOB_MINUTE_MS / 2 ? (minute + 1) * JOB_MINUTE_MS
								 : INT64_MAX / 2;

	return (struct prune_minute){.minute = minute,
				     .again_ms = over_ms + (keep_ms < dead_ms ? keep_ms : dead_ms),
				     .early_ms = over_ms + prune_least_ms()};
}

static void take_minutes(struct prune *p, const struct store_reply *reply)
{
	struct prune_minute *minutes = mem_calloc(reply->n_names + 1, sizeof(*minutes));
	int64_t minute;
	size_t n = 0;

	for (size_t i = 0; i < reply->n_names; i++) {
		if (!job_minute_parse(reply->names[i], strlen(reply->names[i]), &minute))
			continue;
		minutes[n] = minute_new(p, minute);
		const struct prune_minute *known = p->n > 0 ? bsearch(&minutes[n], p->minutes, p->n,
								      sizeof(*minutes), by_minute)
							    : NULL;
		if (known)
			minutes[n] = *known;
		n++;
	}
	if (n > 0)
		qsort(minutes, n, sizeof(*minutes), by_minute);
	free(p->minutes);
	p->minutes = minutes;
	p->n = n;
}

static void on_minutes(void *arg, const struct store_reply *reply)
{
	struct prune *p = arg;

	p->flying--;
	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		if (!lead_took(p->lead, reply))
			end_round(p);
		return;
	}
	take_minutes(p, reply);
	p->phase = PRUNE_COUNT;
	p->at = 0;
	p->x = 0;
	queues_wake(lead_queues(p->lead), 0);
}

/*
 * Dead letters were purged or requeued: their records may now go sooner than planned. Any minute
 * may have had them.
 */
static void on_letters(void *arg, const struct store_reply *reply)
{
	struct prune *p = arg;
	int64_t now = prune_server_ms(p);
	char path[STORE_PATH_MAX];

	if (reply->code != STORE_OK && reply->code != STORE_NO_NODE) {
		p->flying--;
		if (!lead_took(p->lead, reply))
			end_round(p);
		return;
	}
	for (size_t i = 0; i < p->n && reply->stat.children < p->letters; i++) {
		struct prune_minute *m = &p->minutes[i];
		int64_t again_ms = now + prune_kept_ms(p, false), early_ms = now + prune_least_ms();
		m->again_ms = m->again_ms < again_ms ? m->again_ms : again_ms;
		m->early_ms = m->early_ms < early_ms ? m->early_ms : early_ms;
	}
	p->letters = reply->stat.children;
	path_of_queue(lead_paths(p->lead), lead_name(p->lead), "job", NULL, path);
	queue_children(lead_calls(p->lead), path, on_minutes, p);
}

static void begin_round(struct prune *p)
{
	const struct queue_settings *s = &p->lead->queue->settings;
	char path[STORE_PATH_MAX];

	if (p->keep_ms != s->keep_ms || p->keep_dead_ms != s->keep_dead_ms)
		p->n = 0; /* when each minute is due has changed */
	p->keep_ms = s->keep_ms;
	p->keep_dead_ms = s->keep_dead_ms;
	p->phase = PRUNE_LIST;
	p->refused = false;
	p->flying++;
	path_of_queue(lead_paths(p->lead), lead_name(p->lead), "dead", NULL, path);
	queue_exists(lead_calls(p->lead), path, on_letters, p);
}

/* --- count of records ------------------------------------------------------ */

static void on_count(void *arg, const struct store_reply *reply)
{
	struct prune *p = arg;

	p->flying--;
	if (reply->code == STORE_OK)
		p->minutes[p->at].count += (size_t)reply->stat.children;
	else if (reply->code != STORE_NO_NODE && !lead_took(p->lead, reply))
		p->refused = true;
}

/* Number of records of ended jobs above QUEUE_ENDED_MAX. */
static size_t surplus_of(const struct prune *p)
{
	size_t all = 0, others = due_count(p->lead) + given_count(p->lead);

	for (size_t i = 0; i < p->n; i++)
		all += p->minutes[i].count;
	return all > others + QUEUE_ENDED_MAX ? all - others - QUEUE_ENDED_MAX : 0;
}

/* Whether that minute is over, or nearly: few records are added late. */
static bool is_to_be_counted(const struct prune *p, const struct prune_minute *m)
{
	return !m->counted && m->minute < prune_server_ms(p) / JOB_MINUTE_MS - 1;
}

static void count_on(struct prune *p)
{
	char path[STORE_PATH_MAX];

	while (p->at < p->n) {
		struct prune_minute *m = &p->minutes[p->at];
		bool counts = is_to_be_counted(p, m);
		if (p->x == 0)
			m->count = counts ? 0 : m->count;
		while (counts && prune_digits[p->x] != '\0' && prune_may_read(p)) {
			path_of_job_folder(lead_paths(p->lead), lead_name(p->lead), m->minute,
					   prune_digits[p->x++], path);
			p->flying++;
			queue_exists(lead_calls(p->lead), path, on_count, p);
		}
		if (p->flying > 0)
			return;
		m->counted |= counts && !p->refused;
		p->x = 0;
		p->at++;
	}
	p->surplus = surplus_of(p);
	p->phase = PRUNE_LOOK;
	p->at = 0;
}

/* --- minutes, one after the other ------------------------------------------ */

static void on_folder_gone(void *arg, const struct store_reply *reply)
{
	struct prune *p = arg;

	p->flying--;
	if (queue_is_cut(reply))
		(void)lead_took(p->lead, reply);
	/* Any other failure is harmless: folders were missing, or a record has been added. */
}

/* Deletes the minute's folders, to which no submit can add any more. */
static void delete_folder(struct prune *p, int64_t minute)
{
	char paths[17][STORE_PATH_MAX];
	struct store_op ops[17];

	for (unsigned i = 0; i < 17; i++) {
		path_of_job_folder(lead_paths(p->lead), lead_name(p->lead), minute, prune_digits[i],
				   paths[i]);
		ops[i] =
			(struct store_op){.type = STORE_OP_DELETE, .path = paths[i], .version = -1};
	}
	p->flying++;
	queue_multi(lead_calls(p->lead), ops, 17, on_folder_gone, p);
}

static void end_minute(struct prune *p)
{
	struct prune_minute *m = &p->minutes[p->at];
	int64_t later = prune_server_ms(p) + 30 * ROUND_MS;

	p->looks = false;
	m->count = p->kept;
	m->counted = true;
	m->again_ms = p->again_ms == INT64_MAX ? later : p->again_ms;
	m->early_ms = p->early_ms == INT64_MAX ? later : p->early_ms;
	if (p->kept == 0)
		delete_folder(p, m->minute);
	p->at++;
}

/* Whether a record of the minute may go. A minute that is not over is left alone. */
static bool is_due(const struct prune *p, const struct prune_minute *m)
{
	int64_t now = prune_server_ms(p);

	return m->minute < now / JOB_MINUTE_MS - LATE_MINUTES &&
	       (m->again_ms <= now || (p->surplus > 0 && m->early_ms <= now));
}

static void look_on(struct prune *p)
{
	while (p->flying == 0 || p->looks) {
		if (!p->looks) {
			while (p->at < p->n && !is_due(p, &p->minutes[p->at]))
				p->at++;
			if (p->at >= p->n) {
				end_round(p);
				return;
			}
			p->looks = true;
			p->x = 0;
			p->kept = 0;
			p->again_ms = p->early_ms = INT64_MAX;
		}
		if (prune_look(p))
			return;
		if (p->refused) {
			end_round(p);
			return;
		}
		if (prune_digits[++p->x] == '\0')
			end_minute(p);
	}
}

void prune_pump(struct queue_lead *lead, int64_t now)
{
	struct prune *p = lead->prune;

	if (!p) {
		p = lead->prune = mem_calloc(1, sizeof(*p));
		p->lead = lead;
		p->round_ms = now + ROUND_MS;
	}
	if (p->phase == PRUNE_COUNT)
		count_on(p);
	if (p->phase == PRUNE_LOOK && due_is_known(lead))
		look_on(p);
	if (p->phase != PRUNE_REST || p->flying > 0)
		return;
	if (now < p->round_ms) {
		queues_wake(lead_queues(lead), p->round_ms - now);
		return;
	}
	p->round_ms = now + ROUND_MS;
	queues_wake(lead_queues(lead), ROUND_MS);
	begin_round(p);
}

void prune_done(struct queue_lead *lead)
{
	struct prune *p = lead->prune;

	lead->prune = NULL;
	if (!p)
		return;
	queue_calls_forget(lead_calls(lead), p);
	prune_look_done(p);
	free(p->minutes);
	free(p);
}
