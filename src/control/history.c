#include "control/history.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/answers.h"
#include "control/subject.h"
#include "node/ledger.h"
#include "node/node.h"

#define TOGETHER    4		       /* ledgers that are read at a time */
#define ENTRIES_MAX 40000	       /* of all partitions of a task, in equal parts */
#define OUTPUTS_MAX (16 * 1024 * 1024) /* bytes of output; of the newest */

/* A request whose answer is on its way. */
struct history {
	struct history *prev, *next;
	struct methods *methods;
	struct peer *client; /* NULL: gone */
	uint32_t msgid;
	bool whole;   /* of all partitions of a task: each entry says of which */
	bool outputs; /* who asks may run the task, and so see what it wrote */
	bool failed;
	char task[NAME_ELECTION_MAX + 1];
	size_t n_ledgers, asked, answered;
	struct entry *entries;
	size_t n;
};

/* The reading of one ledger. */
struct part {
	struct history *history;
	unsigned partition;
};

struct entry {
	struct ledger_entry entry; /* with an output of its own */
	unsigned partition;
};

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->entry.tick, y->entry.tick);

	return order ? order : (x->partition > y->partition) - (x->partition < y->partition);
}

static void pack_entry(struct pack *p, const struct history *h, const struct entry *entry)
{
	const struct registry *registry = &h->methods->node->registry;
	const struct ledger_entry *e = &entry->entry;
	const struct run_record *r = &e->record;
	char task[NAME_ELECTION_MAX + 16];

	pack_map(p, h->whole ? 14 : 12);
	pack_kv_str(p, "tick", e->tick);
	pack_kv_str(p, "state", ledger_state(registry, r->state, r->session));
	pack_kv_str(p, "id", r->id);
	pack_kv_str(p, "hostname", r->hostname);
	pack_kv_str(p, "node", r->node[0] ? r->node : r->hostname);
	pack_kv_int(p, "token", r->token);
	pack_kv_int(p, "attempt", r->attempt);
	answers_pack_time(p, "started_at", r->started_at);
	answers_pack_time(p, "ended_at", r->ended_at);
	if (r->exit_status >= 0)
		pack_kv_int(p, "exit_status", r->exit_status);
	else
		pack_kv_nil(p, "exit_status");
	pack_kv_str(p, "by", r->by[0] ? r->by : NULL);
	pack_str(p, "output");
	if (e->output)
		pack_strn(p, e->output, r->output_len);
	else
		pack_nil(p);
	if (!h->whole)
		return;
	snprintf(task, sizeof(task), "%s:%u", h->task, entry->partition);
	pack_kv_str(p, "task", task);
	pack_kv_uint(p, "partition", entry->partition);
}

/* What is older than the newest outputs, where those of all are too long for an answer. */
static void drop_outputs(const struct history *h)
{
	size_t bytes = 0;

	for (size_t i = h->n; i > 0; i--) {
		struct ledger_entry *e = &h->entries[i - 1].entry;

		bytes += e->output ? e->record.output_len : 0;
		if (bytes <= OUTPUTS_MAX)
			continue;
		free(e->output);
		e->output = NULL;
	}
}

static void answer(const struct history *h)
{
	struct peer *c = h->client;
	struct pack *p = peer_begin(c);

	rpc_pack_result(p, h->msgid);
	pack_array(p, h->n);
	drop_outputs(h);
	for (size_t i = 0; i < h->n; i++)
		pack_entry(p, h, &h->entries[i]);
	peer_end(c, h->msgid);
}

static void end_history(struct history *h)
{
	if (h->prev)
		h->prev->next = h->next;
	else
		h->methods->histories = h->next;
	if (h->next)
		h->next->prev = h->prev;
	if (h->client) {
		h->client->parked--;
		h->client->asking--;
	}
	if (h->n > 0)
		qsort(h->entries, h->n, sizeof(*h->entries), compare_entries);
	if (h->client && h->failed)
		peer_error(h->client, h->msgid, RPC_CANNOT_TELL, "the ledger could not be read");
	else if (h->client)
		answer(h);
	for (size_t i = 0; i < h->n; i++)
		free(h->entries[i].entry.output);
	free(h->entries);
	free(h);
}

static void read_some(struct history *h);

/* The entries that it is told of are not its own. */
static void take_output(const struct history *h, struct ledger_entry *e)
{
	const char *told = e->output;

	e->output = NULL;
	if (!h->outputs || !told)
		return;
	e->output = mem_alloc(e->record.output_len);
	memcpy(e->output, told, e->record.output_len);
}

static void on_history(void *arg, bool ok, const struct ledger_entry *entries, size_t n)
{
	struct part *part = arg;
	struct history *h = part->history;
	size_t most = ENTRIES_MAX / h->n_ledgers;

	/* The newest come last. */
	for (size_t i = n > most && h->whole ? n - most : 0; i < n; i++) {
		if (h->n % 64 == 0)
			h->entries = mem_resize(h->entries, h->n + 64, sizeof(*h->entries));
		h->entries[h->n] = (struct entry){entries[i], part->partition};
		take_output(h, &h->entries[h->n++].entry);
	}
	h->failed |= !ok;
	h->answered++;
	free(part);
	if (h->failed || !h->client)
		h->n_ledgers = h->asked; /* what comes of the rest is of no use */
	if (h->answered == h->n_ledgers)
		end_history(h);
	else
		read_some(h);
}

static void read_some(struct history *h)
{
	char name[NAME_ELECTION_MAX + 16];

	while (h->asked < h->n_ledgers && h->asked - h->answered < TOGETHER) {
		struct part *part = mem_calloc(1, sizeof(*part));

		part->history = h;
		part->partition = (unsigned)h->asked++;
		snprintf(name, sizeof(name), "%s:%u", h->task, part->partition);
		ledger_history(&h->methods->node->leaders, h->whole ? name : h->task, on_history,
			       part);
	}
}

/* What a job wrote is for those who may run it. */
static bool may_read(const struct peer *c, const struct task_settings *t)
{
	bool may = peer_may_change(c);

	for (size_t i = 0; i < t->n_uids && !may; i++)
		may = t->uids[i] == c->uid;
	return may;
}

/* Of the task's n partitions, or for n = 0 of that name alone. */
static void begin(struct methods *m, struct peer *c, uint32_t msgid, const char *name, size_t len,
		  size_t n, const struct task_settings *settings)
{
	if (!session_is_up(&m->node->session)) {
		peer_error(c, msgid, RPC_CANNOT_TELL, "no confirmed session with ZooKeeper");
		return;
	}
	struct history *h = mem_calloc(1, sizeof(*h));
	h->methods = m;
	h->client = c;
	h->msgid = msgid;
	h->whole = n > 0;
	h->outputs = may_read(c, settings);
	h->n_ledgers = n > 0 ? n : 1;
	snprintf(h->task, sizeof(h->task), "%.*s", (int)len, name);
	h->next = m->histories;
	if (h->next)
		h->next->prev = h;
	m->histories = h;
	c->parked++;
	c->asking++;
	read_some(h);
}

void history_answer(struct methods *m, struct peer *c, uint32_t msgid, const struct subject *s)
{
	const char *name = subject_name(s);

	begin(m, c, msgid, name, strlen(name), s->task ? 0 : s->listing->n,
	      s->task ? &s->task->settings : &s->listing->settings);
}

bool history_is_of_partition(const struct node *n, struct reader_text name)
{
	size_t len;

	return name_partition_parse(name.data, name.len, &len, NULL) &&
	       listings_find(&n->leaders, name.data, len);
}

void history_answer_partition(struct methods *m, struct peer *c, uint32_t msgid,
			      struct reader_text name)
{
	const struct listing *l;
	size_t len;

	name_partition_parse(name.data, name.len, &len, NULL);
	l = listings_find(&m->node->leaders, name.data, len);
	begin(m, c, msgid, name.data, name.len, 0, &l->settings);
}

void histories_client_gone(struct methods *m, const struct peer *c)
{
	for (struct history *h = m->histories; h; h = h->next)
		if (h->client == c)
			h->client = NULL;
}
