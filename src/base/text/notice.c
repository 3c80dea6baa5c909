#include "base/text/notice.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/text/name.h"

static const char *const names[NOTICE_EVENTS] = {
	[NOTICE_LEADER] = "leader",	  [NOTICE_FAILED] = "failed",
	[NOTICE_LOST] = "lost",		  [NOTICE_MISSED] = "missed",
	[NOTICE_OVERDUE] = "overdue",	  [NOTICE_HALTED] = "halted",
	[NOTICE_DEAD] = "dead",		  [NOTICE_RETRYING] = "retrying",
	[NOTICE_RECOVERED] = "recovered", [NOTICE_DISCONNECTED] = "disconnected",
	[NOTICE_ROLLOUT] = "rollout"};

const char *notice_event_name(enum notice_event event)
{
	return names[event];
}

bool notice_event_parse(const char *text, size_t len, enum notice_event *ret_event)
{
	for (size_t i = 0; i < NOTICE_EVENTS; i++) {
		if (len != strlen(names[i]) || memcmp(text, names[i], len) != 0)
			continue;
		*ret_event = (enum notice_event)i;
		return true;
	}
	return false;
}

bool notice_rule_matches(const struct notice_rule *rule, enum notice_event event, const char *task)
{
	char whole[NAME_ELECTION_MAX + 1];

	if (!(rule->events & 1U << event))
		return false;
	if (rule->n_patterns == 0 || task[0] == '\0')
		return true;
	snprintf(whole, sizeof(whole), "%.*s", (int)strcspn(task, ":"), task);
	for (size_t i = 0; i < rule->n_patterns; i++)
		if (fnmatch(rule->patterns[i], task, 0) == 0 ||
		    fnmatch(rule->patterns[i], whole, 0) == 0)
			return true;
	return false;
}
