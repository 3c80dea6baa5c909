/* A node with a notifier that wants some events, and with a folder for notices (node_site.h). */
#ifndef ZKLEADER_TEST_NOTICE_SITE_H
#define ZKLEADER_TEST_NOTICE_SITE_H

#include "node_site.h"

#include "node/notices/notices.h"

static struct notices notices;
static struct notice_record told;
static size_t n_told;

static inline bool tell(void *arg, const struct notice_record *record)
{
	(void)arg;
	told = *record;
	n_told++;
	return true;
}

/* Behind site_begin() and whatever else the test is about. */
static inline void notices_begin(const struct notice_rule *rule)
{
	notices_init(&notices, &session, &registry);
	notices.tell = tell;
	notices_set_rules(&notices, rule, 1);
	notices_listen(&notices, true);
	pass(0);
	asks("create notices", failed(STORE_NODE_EXISTS));
	pass(0);
	asks("list notices", names(NULL));
	idle();
}

/* The oldest open request begins so; behind it is the name of a notice, say. */
#define asks_begins(text, reply) script_asks_begins(text, reply, __LINE__)
static inline void script_asks_begins(const char *text, struct store_reply reply, int line)
{
	pass(0);
	script_confirm();
	cr_assert_gt(store.n_open, 0, "line %d: nothing is asked, wanted: %s", line, text);
	cr_assert_eq(strncmp(store.open[0].text, text, strlen(text)), 0,
		     "line %d: asked: %s, wanted: %s", line, store.open[0].text, text);
	script_answer(0, reply);
}

#endif
