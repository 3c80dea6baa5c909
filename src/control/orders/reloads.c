#include "control/orders/reloads.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/answer/answers.h"

/* A request whose answer is outstanding. */
struct reload {
	struct reload *prev, *next;
	struct methods *methods;
	struct peer *client; /* NULL: gone */
	uint32_t msgid;
};

static void end_reload(struct reload *r)
{
	if (r->prev)
		r->prev->next = r->next;
	else
		r->methods->reloads = r->next;
	if (r->next)
		r->next->prev = r->prev;
	if (r->client) {
		r->client->parked--;
		r->client->asking--;
	}
	free(r);
}

static void answer(struct peer *c, uint32_t msgid, const struct changes *changes,
		   const struct problems *problems)
{
	const char *line = (const char *)changes->text.data;
	size_t lines = 0;

	for (size_t i = 0; i < changes->text.len; i++)
		lines += line[i] == '\n';
	struct pack *p = peer_begin(c);
	rpc_pack_result(p, msgid);
	pack_map(p, 3);
	pack_str(p, "changes");
	pack_array(p, lines);
	for (size_t i = 0; i < lines; i++) {
		const char *end = strchr(line, '\n');
		pack_strn(p, line, (size_t)(end - line));
		line = end + 1;
	}
	answers_pack_problems(p, problems);
	peer_end(c, msgid);
}

static void on_reloaded(void *arg, const struct changes *changes)
{
	struct reload *r = arg;
	struct peer *c = r->client;
	uint32_t msgid = r->msgid;
	const struct problems *problems = r->methods->process->problems;

	end_reload(r);
	if (c && changes)
		answer(c, msgid, changes, problems);
	else if (c)
		peer_error(c, msgid, RPC_CANNOT_TELL, "this sidecar is being stopped");
}

void reload_answer(struct call *call)
{
	const struct process *process = call->m->process;

	if (!peer_may_change(call->c)) {
		peer_error(call->c, call->msgid, RPC_MISUSE, METHODS_NOT_ALLOWED);
		return;
	}
	struct reload *r = mem_calloc(1, sizeof(*r));
	r->methods = call->m;
	r->client = call->c;
	r->msgid = call->msgid;
	r->next = call->m->reloads;
	if (r->next)
		r->next->prev = r;
	call->m->reloads = r;
	call->c->parked++;
	call->c->asking++;
	process->reload(process->arg, on_reloaded, r);
}

void reloads_client_gone(struct methods *m, const struct peer *c)
{
	for (struct reload *r = m->reloads; r; r = r->next)
		if (r->client == c)
			r->client = NULL;
}
