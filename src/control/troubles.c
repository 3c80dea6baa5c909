#include "control/troubles.h"

static void find_blocked(const struct node *s, struct problems *problems)
{
	char text[LEADERS_BLOCKED_MAX];

	for (size_t i = 0; i < s->leaders.n_tasks; i++) {
		const struct task *t = s->leaders.tasks[i];
		if (!t->withdrawn && leaders_is_blocked(t, text))
			problems_add(problems, t->name, PROBLEM_WHOLE_FILE,
				     "nobody can lead it: %s", text);
	}
}

void troubles_find(const struct node *s, struct problems *problems)
{
	if (session_is_up(&s->session))
		find_blocked(s, problems);
}
