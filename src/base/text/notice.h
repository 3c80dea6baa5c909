/* The events that people are told of, and who wants to be told of which. */
#ifndef ZKLEADER_BASE_TEXT_NOTICE_H
#define ZKLEADER_BASE_TEXT_NOTICE_H

#include <stdbool.h>
#include <stddef.h>

enum notice_event {
	NOTICE_LEADER, /* a task has another leader */
	NOTICE_FAILED, /* the last attempt of a run, by its status or its timeout */
	NOTICE_LOST,   /* the same, with its node or its supervisor */
	NOTICE_MISSED, /* ticks that are not run any more */
	NOTICE_OVERDUE,
	NOTICE_HALTED,	  /* a rolling restart */
	NOTICE_DEAD,	  /* a job of a queue: a dead letter */
	NOTICE_RETRYING,  /* an attempt of a run or a job that another one follows */
	NOTICE_RECOVERED, /* a task or a queue has ended well again */
	NOTICE_DISCONNECTED,
	NOTICE_ROLLOUT, /* the rollout of a version is complete */
	NOTICE_EVENTS
};

/* Events for a channel that names none: all but the attempts that others follow. */
#define NOTICE_BY_DEFAULT   (((1U << NOTICE_EVENTS) - 1) & ~(1U << NOTICE_RETRYING))

#define NOTICE_TEXT_MAX	    400 /* bytes of what is said for people */
#define NOTICE_RULES_MAX    100
#define NOTICE_PATTERNS_MAX 100

/* The events that one channel is told of. The texts are borrowed. */
struct notice_rule {
	unsigned events;	     /* bits: 1 << enum notice_event */
	const char *const *patterns; /* for names of tasks and queues; none: all of them */
	size_t n_patterns;
};

/* "leader" and so on. */
const char *notice_event_name(enum notice_event event);
bool notice_event_parse(const char *text, size_t len, enum notice_event *ret_event);
/* task: a task or a partition; "": the event is about none, and patterns do not matter. */
bool notice_rule_matches(const struct notice_rule *rule, enum notice_event event, const char *task);

#endif
