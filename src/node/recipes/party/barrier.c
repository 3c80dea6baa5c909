/*
 * Barriers: the record has the last rounds with their members. A member without a command has
 * nothing to do once it was counted; one with a command is inside until it leaves, and the next
 * round opens when all have left.
 */
#include "node/recipes/party/barrier.h"

#include <string.h>

#include "base/mem.h"
#include "node/recipes/party/party_parts.h"

static int index_of(const struct party *p, uint64_t id)
{
	const struct barrier_record *r = p->rounds;

	for (size_t i = 0; i < r->n_ids; i++)
		if (r->ids[i] == id)
			return i < r->sizes[0] ? 0 : 1;
	return -1;
}

static void fill_sight(struct party *p, struct party_sight *s)
{
	s->round = p->rounds->round;
	s->first = s->round - (int64_t)p->rounds->n_rounds + 1;
}

/* A random member of the last round that has not left; NULL: all have left. */
static const struct party_ticket *inside(const struct party *p)
{
	const struct party_ticket *found = NULL;
	uint64_t n = 0, random;

	for (size_t i = 0; i < p->sight->n; i++) {
		const struct party_ticket *t = &p->sight->tickets[i];
		if (t->kind != 'c' || t->index != 0)
			continue;
		host_random(p->all->session->host, &random, sizeof(random));
		if (random % ++n == 0)
			found = t;
	}
	return found;
}

/* A member without a command has nothing more to do here: its node goes. */
static void open_round(struct party *p, const struct party_chosen *c)
{
	mem_auto struct barrier_record *record = mem_alloc(sizeof(*record));
	uint64_t ids[BARRIER_COUNT_MAX];
	struct party_ops o;

	*record = *p->rounds;
	for (size_t i = 0; i < c->n; i++)
		ids[i] = c->list[i]->id;
	barrier_record_open(record, ids, c->n);
	party_ops_init(&o, p, c->n + 1, false);
	party_ops_record(&o, STORE_OP_SET, p->version, record);
	for (size_t i = 0; i < c->n; i++)
		party_ops_node(&o, c->list[i]->kind == 'c' ? STORE_OP_CHECK : STORE_OP_DELETE,
			       c->list[i], NULL);
	party_ops_send(&o, party_on_done);
}

/* The first local member that waits for others to leave watches one of their nodes. */
static void set_watches(struct party *p)
{
	if (p->busy > 1)
		return; /* the state is read again */
	const struct party_ticket *t = inside(p);
	for (struct party_member *m = STAILQ_FIRST(&p->members); m; m = STAILQ_NEXT(m, link)) {
		if (m->place.state != PARTY_LEAVES && m->place.state != PARTY_WAITS)
			continue;
		party_watch_end(m, t);
		t = NULL;
	}
}

/* An unused barrier is removed, unless a member has come or it has opened. */
static void on_removed(void *arg, const struct store_reply *reply)
{
	(void)reply;
	party_answered(arg);
}

static void remove_unused(struct party *p)
{
	struct party_ops o;

	party_ops_init(&o, p, 2, true);
	party_ops_record(&o, STORE_OP_DELETE, p->version, NULL);
	party_ops_send(&o, on_removed);
}

static int pack(struct buffer *out, const void *record)
{
	return record_pack_barrier(out, record);
}

static int parse(const void *data, size_t len, void *ret_record, const char **ret_why)
{
	return record_parse_barrier(data, len, ret_record, ret_why);
}

const struct party_kind barrier_kind = {
	.word = "barrier",
	.refused = "barrier refused by the server",
	.strange = "barrier not understood",
	.foreign = "there is something else in the barrier's place",
	.folder = PATH_BARRIERS,
	.keep_ms = BARRIER_KEEP_MS,
	.orphan_ms = BARRIER_ORPHAN_MS,
	.record_size = sizeof(struct barrier_record),
	.record_max = RECORD_BARRIER_MAX,
	.pack = pack,
	.parse = parse,
	.index = index_of,
	.fill = fill_sight,
	.remove = remove_unused,
	.open = open_round,
	.watch = set_watches,
};

/* --- from outside --------------------------------------------------------- */

/* The limit that the member exceeds; NULL: none. */
static const char *limit(const struct parties *all, const struct barrier_entry *e)
{
	char path[STORE_PATH_MAX];
	const char *why = party_limit(all);

	if (why)
		return why;
	/* Each path takes its version and header as well, see docs/SCALE.md. */
	path_of(all->registry->settings, PATH_BARRIERS, e->name, path);
	size_t len = strlen(path) + 1 + PARTY_NAME_MAX;
	if (len >= STORE_PATH_MAX || (len + 20) * e->count > BARRIER_PATHS_MAX)
		return "the root's path is too long for so many members";
	return NULL;
}

static struct party_member *member_of(struct parties *all, const struct barrier_entry *e,
				      party_fn fn, void *arg)
{
	struct party_member *m = party_add(party_get(all, e->name), e->id);

	m->fn = fn;
	m->arg = arg;
	m->place.as.count = e->count;
	m->place.as.kind = e->command ? 'c' : 'w';
	m->place.round = e->round;
	m->patient = true;
	holder_take(&m->held, e->owner);
	return m;
}

void barriers_enter(struct parties *all, const struct barrier_entry *e, party_fn fn, void *arg)
{
	struct party_answer no = {.outcome = PARTY_MISUSE, .why = limit(all, e)};

	if (!no.why && !session_is_up(all->session) && !e->again)
		no = (struct party_answer){.outcome = PARTY_FAILED, .why = SESSION_NONE};
	else if (!no.why && parties_know(all, e->name, e->id))
		no.why = "that member is there already";
	if (no.why) {
		fn(arg, &no);
		return;
	}
	struct party_member *m = member_of(all, e, fn, arg);
	if (e->timeout_ms >= 0)
		m->deadline_ms = host_now_ms(all->session->host) + e->timeout_ms;
	if (e->command && e->round > 0)
		party_happens(m, PARTY_INSIDE);
	party_changed(m->party);
}

void barriers_leave(struct parties *all, const char *name, uint64_t id, int64_t round, void *owner,
		    party_fn fn, void *arg)
{
	const struct barrier_entry left = {.name = name, .id = id, .round = round, .owner = owner};
	struct party_member *m = party_find(party_get(all, name), id);

	if (m && (m->place.state != PARTY_RUNS || m->fn)) {
		fn(arg, &(struct party_answer){.outcome = PARTY_MISUSE,
					       .why = "that member is not inside"});
		return;
	}
	if (!m) /* made by the previous sidecar */
		m = member_of(all, &left, NULL, NULL);
	holder_take(&m->held, owner);
	m->fn = fn;
	m->arg = arg;
	party_happens(m, PARTY_FINISHED);
	party_changed(m->party);
}
