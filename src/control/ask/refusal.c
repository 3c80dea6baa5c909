#include "control/ask/refusal.h"

#include "control/ask/explain_text.h"
#include "control/ask/subject.h"
#include "control/ask/user.h"

struct refusal {
	struct ask ask;
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
	const struct task_config *config = task_files_find(r->ask.methods->process->tasks, r->task);
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

static void on_user(struct ask *a)
{
	char text[EXPLAIN_TEXT_MAX] = "";

	say((struct refusal *)a, text);
	ask_fail(a, RPC_MISUSE, text);
}

/* Answers the call, later. */
static void refuse(const struct call *call, const char *task)
{
	static const struct ask_kind kind = {.size = sizeof(struct refusal)};
	struct refusal *r = ask_new(call, &kind);

	subject_task_of(task, r->task);
	ask_user(&r->ask, r->user, on_user);
}

bool refusal_spares(const struct peer *c, const uid_t *uids, size_t n)
{
	bool may = peer_may_change(c);

	for (size_t i = 0; i < n && !may; i++)
		may = uids[i] == c->uid;
	return may;
}

bool refusal_may(const struct call *call, const struct task_settings *t, const char *name)
{
	if (refusal_spares(call->c, t->uids, t->n_uids))
		return true;
	if (t->users_asked)
		peer_put_off(call->c);
	else
		refuse(call, name);
	return false;
}
