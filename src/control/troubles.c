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

static void find_wrong_clock(const struct node *s, struct problems *problems)
{
	char off[CLOCKS_TEXT_MAX];

	if (!clocks_is_off(&s->registry.clocks))
		return;
	clocks_say_own(&s->registry.clocks, off);
	problems_add(problems, s->registry.hostname, PROBLEM_WHOLE_FILE,
		     "its clock is %s and most workers', so it leads last and claims no tick: "
		     "set it, and have it kept right (chrony, systemd-timesyncd)",
		     off);
}

void troubles_find(const struct node *s, struct problems *problems)
{
	if (!session_is_up(&s->session))
		return;
	find_wrong_clock(s, problems);
	find_blocked(s, problems);
}
