#include "control/orders/orders.h"

#include <string.h>

#include "control/answer/answers.h"

static void on_reloaded(void *arg, const struct changes *changes)
{
	struct ask *a = arg;
	const char *line = changes ? (const char *)changes->text.data : NULL;
	size_t lines = 0;
	struct pack *p;

	if (!changes) {
		ask_fail(a, RPC_CANNOT_TELL, "this sidecar is being stopped");
		return;
	}
	for (size_t i = 0; i < changes->text.len; i++)
		lines += line[i] == '\n';
	p = ask_result(a);
	pack_map(p, 3);
	pack_str(p, "changes");
	pack_array(p, lines);
	for (size_t i = 0; i < lines; i++) {
		const char *end = strchr(line, '\n');
		pack_strn(p, line, (size_t)(end - line));
		line = end + 1;
	}
	answers_pack_problems(p, a->methods->process->problems);
	ask_end(a);
}

void reload_answer(struct call *call)
{
	static const struct ask_kind kind = {.size = sizeof(struct ask), .asks = true};
	const struct process *process = call->m->process;

	process->reload(process->arg, on_reloaded, ask_new(call, &kind));
}
