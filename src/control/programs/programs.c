#include "control/programs/programs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "control/ask/options.h"
#include "control/programs/notifiers.h"
#include "control/programs/runners.h"

struct said {
	char task[NAME_TASK_MAX + 1];
	struct reader_text file, text;
};

static const struct key keys[] = {
	OPTION_TEXT(said, task, "task", name_is_task, "not the name of a task"),
	OPTION_READ(said, file, "file", options_read_text, "not a text"),
	OPTION_READ(said, text, "message", options_read_text, "not a text"),
};

static char *copy(struct reader_text text)
{
	size_t len = text.len < PROGRAMS_TEXT_MAX ? text.len : PROGRAMS_TEXT_MAX;

	return mem_strndup(text.data, strnlen(text.data, len));
}

bool program_problems_take(struct program_problems *all, struct reader *r, size_t n, bool of_tasks)
{
	all->list = mem_resize(all->list, all->n + n + 1, sizeof(*all->list));
	for (; n > 0; n--) {
		struct said said = {.file = {"", 0}, .text = {"", 0}};
		struct program_problem *to = &all->list[all->n];

		if (options_read(r, OPTIONS(keys), &said) || (of_tasks && !said.task[0]))
			return false;
		memcpy(to->task, said.task, sizeof(to->task));
		to->file = copy(said.file);
		to->text = copy(said.text);
		all->n++;
	}
	return true;
}

void program_problems_forget(struct program_problems *all)
{
	for (size_t i = 0; i < all->n; i++) {
		free(all->list[i].file);
		free(all->list[i].text);
	}
	free(all->list);
	*all = (struct program_problems){.list = NULL};
}

void programs_client_gone(struct methods *m, const struct peer *c)
{
	runners_client_gone(m, c);
	notifiers_client_gone(m, c);
}
