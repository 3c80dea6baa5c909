#include "node/schedule/trigger.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/hash.h"
#include "base/log/log.h"
#include "base/mem.h"
#include "core/time/tick.h"
#include "node/election/leaders.h"
#include "node/tree/paths.h"

#define TRIES 5 /* while folders are */

struct put {
	struct leaders *leaders;
	struct policy_record record;
	char name[NAME_ID_MAX + 1];
	int32_t version;
	int tries;
	trigger_fn fn;
	void *arg;
};

static void send(struct put *p);

static void end(struct put *p, enum trigger_result result)
{
	p->fn(p->arg, result);
	free(p);
}

/*
 * The znode's name follows from task and tick, so that a tick has only one order, whoever gives it.
 */
static void name_of(const struct policy_record *r, char name[NAME_ID_MAX + 1])
{
	char subject[NAME_ELECTION_MAX + TICK_NAME_SIZE + 2];
	uint64_t high, low;

	snprintf(subject, sizeof(subject), "%s %.20s", r->task, r->node);
	high = hash_bytes(subject, strlen(subject), 0);
	low = hash_bytes(subject, strlen(subject), 1);
	snprintf(name, NAME_ID_MAX + 1,
		 "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64, high >> 32,
		 high >> 16 & 0xffff, high & 0xffff, low >> 48, low & UINT64_C(0xffffffffffff));
}

static void on_folder(void *arg, const struct store_reply *reply)
{
	struct put *p = arg;

	if (reply->code == STORE_OK || reply->code == STORE_NODE_EXISTS)
		send(p);
	else
		end(p, store_is_refusal(reply->code) ? TRIGGER_FAILED : TRIGGER_UNKNOWN);
}

static void on_runs(void *arg, const struct store_reply *reply)
{
	struct put *p = arg;
	char path[STORE_PATH_MAX];

	if (reply->code != STORE_OK && reply->code != STORE_NODE_EXISTS) {
		on_folder(p, reply);
		return;
	}
	path_of_tick(p->leaders->session->settings, p->record.task, NULL, path);
	store_create(p->leaders->session->store, path, on_folder, p);
}

/* The folder of the task's runs, or that of all policy, is missing. */
static void make_folders(struct put *p, bool runs)
{
	char path[STORE_PATH_MAX];

	if (p->tries++ == TRIES) {
		end(p, TRIGGER_FAILED);
		return;
	}
	if (!runs)
		registry_make_parents(p->leaders->registry);
	path_of(p->leaders->session->settings, PATH_RUNS, NULL, path);
	store_create(p->leaders->session->store, path, on_runs, p);
}

static void on_put(void *arg, const struct store_reply *reply)
{
	struct put *p = arg;
	bool again = p->version != TRIGGER_NO_RECORD;

	switch (reply->code) {
	case STORE_OK:
		session_confirmed(p->leaders->session, reply->sent_ms);
		policy_made(p->leaders->policy, p->name, &p->record);
		end(p, TRIGGER_DONE);
		return;
	case STORE_NODE_EXISTS: end(p, TRIGGER_TAKEN); return;
	case STORE_BAD_VERSION: end(p, TRIGGER_CHANGED); return;
	case STORE_NO_NODE:
		if (again && reply->failed_op == 1)
			end(p, TRIGGER_CHANGED);
		else
			make_folders(p, reply->failed_op == 1);
		return;
	case STORE_UNKNOWN:
	case STORE_ABANDONED: end(p, TRIGGER_UNKNOWN); return;
	case STORE_NO_AUTH:
	case STORE_FULL:
	case STORE_FAILED: break;
	}
	log_error("decision refused by the server", LOG_STR("kind", p->record.kind),
		  LOG_STR("why", reply->text));
	end(p, reply->code == STORE_FULL ? TRIGGER_FULL : TRIGGER_FAILED);
}

/* Making and deleting a record in the transaction proves that the tick has none. */
static void send(struct put *p)
{
	const struct node_settings *settings = p->leaders->session->settings;
	char order[STORE_PATH_MAX], tick[STORE_PATH_MAX];
	struct buffer data;
	size_t n = 2;

	buffer_init(&data, RECORD_POLICY_MAX);
	int error = record_pack_policy(&data, &p->record);
	assert(error == 0); /* its texts are bounded */
	(void)error;
	path_of(settings, PATH_POLICY, p->name, order);
	path_of_tick(settings, p->record.task, p->record.node, tick);
	struct store_op ops[3] = {
		{.type = STORE_OP_CREATE, .path = order, .data = data.data, .len = data.len},
		{.type = STORE_OP_CHECK, .path = tick, .version = p->version},
	};
	if (p->version == TRIGGER_NO_RECORD) {
		ops[1] = (struct store_op){.type = STORE_OP_CREATE, .path = tick};
		ops[n++] = (struct store_op){.type = STORE_OP_DELETE, .path = tick, .version = -1};
	}
	store_multi(p->leaders->session->store, ops, n, on_put, p);
	buffer_done(&data);
}

void trigger_put(struct leaders *l, const struct policy_record *record, int32_t version,
		 trigger_fn fn, void *arg)
{
	struct put *p = mem_calloc(1, sizeof(*p));

	p->leaders = l;
	p->record = *record;
	p->version = version;
	p->fn = fn;
	p->arg = arg;
	name_of(record, p->name);
	send(p);
}
