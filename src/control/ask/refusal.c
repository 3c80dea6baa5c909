#include "control/ask/refusal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/ask/explain_text.h"
#include "control/ask/subject.h"
#include "control/ask/user.h"

struct refusal {
	struct refusal *prev, *next;
	struct methods *methods;
	struct peer *client; /* NULL: gone */
	uint32_t msgid;
	uid_t uid;
	char user[POLICY_TEXT_MAX + 1];
	char task[NAME_TASK_MAX + 1];
};

static void say_users(const struct task_config *config, char text[EXPLAIN_TEXT_MAX])
{
	for (size_t i = 0; i < config->n_users; i++)
		explain_say(text, ", %s", config->users[i]);
}

/* The users of a queue are those in its key submitters. */
static void say(const struct refusal *r, char text[EXPLAIN_TEXT_MAX])
{
	const struct task_config *config = task_files_find(r->methods->process->tasks, r->task);
	bool queue = config && config->queue;
	const char *key = queue ? "submitters" : "users";

	explain_say(text, "not allowed: %s may not %s %s", r->user, queue ? "submit to" : "run",
		    r->task);
	if (config && config->users_line > 0)
		explain_say(text, ": add \"%s\" to its %s in %s:%d", r->user, key, config->file,
			    config->users_line);
	else if (config)
		explain_say(text, ": add %s = {\"%s\"} to the %s in %s:%d", key, r->user,
			    task_config_kind(config), config->file, config->line);
	explain_say(text, " (root, the sidecar's own user, the members of socket-group");
	if (config)
		say_users(config, text);
	explain_say(text, " may)");
}

static void find_user(void *arg)
{
	struct refusal *r = arg;

	user_name(r->uid, r->user, sizeof(r->user));
}

static void on_user_found(void *arg)
{
	struct refusal *r = arg;
	char text[EXPLAIN_TEXT_MAX] = "";

	if (r->prev)
		r->prev->next = r->next;
	else
		r->methods->refusals = r->next;
	if (r->next)
		r->next->prev = r->prev;
	if (r->client) {
		say(r, text);
		r->client->parked--;
		peer_error(r->client, r->msgid, RPC_MISUSE, text);
	}
	free(r);
}

void refusal_tell(const struct call *call, const char *task)
{
	const struct process *process = call->m->process;
	struct refusal *r = mem_calloc(1, sizeof(*r));

	r->methods = call->m;
	r->client = call->c;
	r->msgid = call->msgid;
	r->uid = call->c->uid;
	snprintf(r->user, sizeof(r->user), "uid %u", (unsigned)r->uid);
	subject_task_of(task, r->task);
	r->next = call->m->refusals;
	if (r->next)
		r->next->prev = r;
	call->m->refusals = r;
	call->c->parked++;
	if (process->offload(process->arg, find_user, on_user_found, r) != 0)
		on_user_found(r);
}

void refusals_client_gone(struct methods *m, const struct peer *c)
{
	for (struct refusal *r = m->refusals; r; r = r->next)
		if (r->client == c)
			r->client = NULL;
}

bool refusal_may(const struct call *call, const struct task_settings *t, const char *name)
{
	if (peer_may_change(call->c))
		return true;
	for (size_t i = 0; i < t->n_uids; i++)
		if (t->uids[i] == call->c->uid)
			return true;
	if (t->users_asked)
		peer_put_off(call->c);
	else
		refusal_tell(call, name);
	return false;
}
