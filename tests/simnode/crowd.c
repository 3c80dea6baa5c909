#include "crowd.h"

#include <stdio.h>
#include <string.h>

#include "client.h"
#include "node/election/tasks.h"
#include "node/session/watch_table.h"
#include "server.h"

#define CROWD_PREFIX  "crowd-"
#define CLIENTS	      2000
#define BUDGET	      (14 * 1024) /* bytes of watches of a sidecar: leader nodes have 8 KiB */
#define PACKET_MAX    (2 * BUDGET)
#define CUT_PER_MILLE 40	    /* of seconds */
#define GONE_PART     0.6	    /* of the run, after which the crowd is gone */
#define LEFT_US	      (20 * SECOND) /* then nothing is left of it */
#define TICK_MS	      INT64_C(60000)
#define CLAIMED	      50 /* ticks of every second task, while the crowd is there */
#define AGO_MS	      (INT64_C(400) * 24 * 3600 * 1000)

static struct client {
	bool waits;
	unsigned site;
	uint64_t life;
} clients[CLIENTS];
static char names[CROWD_TASKS][16];
static int64_t claimed[CROWD_TASKS]; /* the latest tick, as a number */
static uint32_t last_request;

bool crowd_has(const char *task)
{
	return strncmp(task, CROWD_PREFIX, strlen(CROWD_PREFIX)) == 0;
}

bool crowd_owns(const void *owner)
{
	const struct client *c = owner;

	return c >= clients && c < clients + CLIENTS;
}

void crowd_released(void *owner)
{
	((struct client *)owner)->waits = false;
}

size_t crowd_list(struct task_settings *list)
{
	for (unsigned k = 0; k < CROWD_TASKS; k++)
		list[k] = (struct task_settings){.name = names[k],
						 .yield = ELECTION_YIELD_RANK,
						 .rank_position = -1,
						 .version_policy = VERSION_NEWEST,
						 .tick_ms = TICK_MS,
						 .wait_ms = 1000,
						 .on_crash = TASK_ON_CRASH_RERUN,
						 .hold_max_ms = 1000,
						 .history = CLAIMED};
	return CROWD_TASKS;
}

void crowd_ended(const struct site *s)
{
	for (unsigned i = 0; i < CLIENTS; i++)
		if (clients[i].site == s->id)
			clients[i].waits = false;
}

/* --- who waits ------------------------------------------------------------------------------------ */

static void leave(struct client *c)
{
	struct site *s = &sites[c->site];

	c->waits = false;
	sim.figures.crowd_left++;
	if (s->running && s->life == c->life) {
		runs_owner_gone(&s->node.runs, c);
		machine_wake(s->machine, 0);
	}
}

/* The tick that is due for the leaders of every second task. */
static int64_t due_tick(void)
{
	double crowds = sim.options.hours * (double)HOUR * GONE_PART;

	return (int64_t)((double)sim.now / crowds * CLAIMED);
}

static struct task *task_at(struct site *s, unsigned k)
{
	if (!s->running || s->stopping || !machine_listens(s->machine) ||
	    !session_is_up(&s->node.session))
		return NULL;
	return tasks_find(&s->node.leaders, names[k], strlen(names[k]));
}

static void come(struct client *c, struct site *s, struct task *t, int64_t tick)
{
	const struct run_options options = {
		.once = true,
		.now_ms = EPOCH_MS + (tick - CLAIMED) * TICK_MS,
		.tick_ms = TICK_MS,
		.wait_ms = random_range(30, 120) * 1000,
		.index = -1,
	};

	*c = (struct client){.waits = true, .site = s->id, .life = s->life};
	sim.figures.crowd_asked++;
	runs_claim(&s->node.runs, c, ++last_request, t, &options);
	machine_wake(s->machine, 0);
}

/* Asks for the tick that is due of every second task, of the others for one that nobody claims. */
static void come_anywhere(struct client *c)
{
	struct site *s = &sites[random_range(0, sim.n_hosts - 1)];
	unsigned k = (unsigned)random_range(0, CROWD_TASKS / 2 - 1) * 2 + random_chance(200);
	struct task *t = task_at(s, k);

	if (t && t->election.state == ELECTION_FOLLOWING)
		come(c, s, t, k % 2 ? due_tick() : -random_range(0, AGO_MS / TICK_MS));
}

/* A client of its leader claims the tick that is due. */
static void claim_due(struct client *c, unsigned k)
{
	for (unsigned i = 0; i < sim.n_hosts && claimed[k] < due_tick(); i++) {
		struct task *t = task_at(&sites[i], k);
		if (!t || !election_leads(&t->election))
			continue;
		claimed[k] = due_tick();
		sim.figures.crowd_claimed++;
		come(c, &sites[i], t, claimed[k]);
	}
}

/* A reconnect sets all watches again. */
static void cut(const struct site *s)
{
	for (struct lib *l = s->machine->libs; l; l = l->next) {
		if (l->state != LIB_CONNECTED)
			continue;
		lib_lose(l);
		break;
	}
}

static bool is_over(void)
{
	return (double)sim.now > sim.options.hours * (double)HOUR * GONE_PART;
}

static void on_left(void *arg, uint64_t number)
{
	(void)arg, (void)number;
	crowd_judge();
}

static void on_move(void *arg, uint64_t number)
{
	(void)arg, (void)number;
	for (unsigned i = 0; is_over() && i < CLIENTS; i++)
		if (clients[i].waits)
			leave(&clients[i]);
	if (is_over()) {
		event_at(sim.now + LEFT_US, on_left, NULL, 0);
		return;
	}
	if (random_chance(CUT_PER_MILLE))
		cut(&sites[random_range(0, sim.n_hosts - 1)]);
	for (unsigned i = 0; i < CLIENTS / 20; i++) {
		struct client *c = &clients[random_range(0, CLIENTS - 1)];
		if (!c->waits)
			come_anywhere(c);
		else if (random_chance(100))
			leave(c);
	}
	for (unsigned i = 0, k = 1; i < CLIENTS && k < CROWD_TASKS; i++)
		if (!clients[i].waits) {
			claim_due(&clients[i], k);
			k += 2;
		}
	event_at(sim.now + random_exp(SECOND), on_move, NULL, 0);
}

/* --- what is judged ------------------------------------------------------------------------------- */

static void on_refused(const struct connection *c, int64_t bytes)
{
	sim_violation(
		"the watches of site %u fill a packet of %lld bytes, at which servers hang up",
		c->host, (long long)bytes);
}

/* The client of its session, NULL. */
static const struct lib *client_of(const struct site *s)
{
	for (const struct lib *l = s->machine->libs; l; l = l->next)
		if (l->state == LIB_CONNECTED && l->session == s->node.session.id)
			return l;
	return NULL;
}

static int64_t bytes_of(const struct path_set *set)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < set->n; i++)
		bytes += WATCH_PATH_BYTES + (int64_t)strlen(path_text(set->list[i]));
	return bytes;
}

void crowd_check(const struct site *s)
{
	const struct watches *w = &s->node.session.watches;
	const struct lib *l = client_of(s);

	if (!l)
		return;
	int64_t bytes = bytes_of(&l->data) + bytes_of(&l->exist) + bytes_of(&l->child);
	if (bytes > sim.figures.worst_packet)
		sim.figures.worst_packet = bytes;
	if ((int64_t)w->n_looks > sim.figures.worst_looks)
		sim.figures.worst_looks = (int64_t)w->n_looks;
	if (bytes > (int64_t)w->bytes)
		sim_violation("site %u counts %zu bytes of watches, and its client has %lld", s->id,
			      w->bytes, (long long)bytes);
	/* Folders and leader nodes alone may be more, in a session that has a part of the limit. */
	size_t always = w->used[WATCH_FOLDER] + w->used[WATCH_LEADER];
	if (w->bytes > w->limit && w->bytes > always)
		sim_violation("site %u has %zu bytes of watches, and may have %zu", s->id, w->bytes,
			      w->limit);
}

/* Others, as the roster, look by time as long as leaders take all the bytes there are. */
static size_t looks_of_waiters(const struct watches *w)
{
	const struct watch_entry *e;
	size_t n = 0;

	TAILQ_FOREACH (e, &w->looks, look)
		n += e->class == WATCH_WAIT;
	return n;
}

void crowd_judge(void)
{
	/* Clients of queues wait as well, where there are any. */
	bool alone = sim.options.crowd && !sim.options.queues;

	for (unsigned i = 0; alone && i < sim.n_hosts && !sim.stop; i++) {
		const struct watches *w = &sites[i].node.session.watches;
		if (!sites[i].running || !session_is_up(&sites[i].node.session) ||
		    !machine_listens(sites[i].machine))
			continue;
		size_t looks = looks_of_waiters(w);
		if (w->used[WATCH_WAIT] > w->leaving || looks > 0)
			sim_violation("nobody waits at site %u any more, and %zu bytes are watched "
				      "for that, %zu looked at",
				      i, w->used[WATCH_WAIT], looks);
	}
}

void crowd_reset(void)
{
	memset(clients, 0, sizeof(clients));
	memset(claimed, 0, sizeof(claimed));
	serve_refused_packet = NULL;
	if (!sim.options.crowd)
		return;
	for (unsigned k = 0; k < CROWD_TASKS; k++)
		snprintf(names[k], sizeof(names[k]), CROWD_PREFIX "%03u", k);
	for (unsigned i = 0; i < HOSTS_MAX; i++)
		sites[i].settings.watches_max = BUDGET;
	sim.packet_max = PACKET_MAX;
	serve_refused_packet = on_refused;
	event_at(20 * SECOND, on_move, NULL, 0);
}
