/*
 * Drains of rolling restarts that nothing ends: the slot was deleted by hand, or its record is not
 * understood. Every sidecar looks at a few of them now and then, so that status can name them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/recipes/rolling/rolling_op.h"
#include "node/tree/paths.h"

#define ROUND_MS 10000
#define AGAIN_MS 2000 /* after a find: its drain may just be ending */
#define LOOKS	 8    /* slots that are read in a round */

static void next_look(struct rolling *r);

static struct rolling_stray *find_stray(const struct rolling_audit *a, const char *drain)
{
	for (size_t i = 0; i < a->n; i++)
		if (strcmp(a->strays[i].drain, drain) == 0)
			return &a->strays[i];
	return NULL;
}

bool rolling_is_stray(const struct rolling *r, const char *drain)
{
	const struct rolling_stray *s = find_stray(&r->audit, drain);

	return s && s->sure;
}

static void note(struct rolling_audit *a, const char *drain, bool is_stray)
{
	struct rolling_stray *s = find_stray(a, drain);

	if (s && is_stray) {
		s->sure = true;
	} else if (s) {
		*s = a->strays[--a->n];
	} else if (is_stray && a->n < ROLLING_STRAYS_MAX) {
		a->strays = mem_resize(a->strays, a->n + 1, sizeof(*a->strays));
		s = &a->strays[a->n++];
		*s = (struct rolling_stray){.sure = false};
		memcpy(s->drain, drain, sizeof(s->drain));
	}
}

static bool any_unsure(const struct rolling_audit *a)
{
	for (size_t i = 0; i < a->n; i++)
		if (!a->strays[i].sure)
			return true;
	return false;
}

static void on_slot(void *arg, const struct store_reply *reply)
{
	struct rolling *r = arg;
	struct rolling_audit *a = &r->audit;
	struct rolling_slot slot;
	const char *why;

	a->pending = false;
	if (reply->code == STORE_NO_NODE)
		note(a, a->asked, true);
	else if (reply->code == STORE_OK)
		note(a, a->asked,
		     record_parse_rolling_slot(reply->data, reply->len, &slot, &why) != 0 ||
			     strcmp(slot.drain, a->asked) != 0);
	if (any_unsure(a))
		host_timer_start(&a->due, AGAIN_MS);
	next_look(r);
}

/* The policy may have changed since: an item that is skipped comes in the next round. */
static void next_look(struct rolling *r)
{
	const struct policy *p = r->handlers.policy;
	struct rolling_audit *a = &r->audit;
	char path[STORE_PATH_MAX];

	while (p->n > 0 && a->left > 0 && a->looks > 0 && session_is_up(r->session)) {
		const struct policy_item *item = p->items[a->at++ % p->n];
		a->left--;
		if (item->kind != POLICY_DRAIN || !item->record.rolling[0] ||
		    !path_of_slot(r->registry->settings, item->record.rolling, item->record.node,
				  path))
			continue;
		a->looks--;
		a->pending = true;
		memcpy(a->asked, item->name, sizeof(a->asked));
		store_get(r->session->store, path, false, on_slot, r);
		return;
	}
}

static void on_round(void *arg)
{
	struct rolling *r = arg;
	struct rolling_audit *a = &r->audit;
	const struct policy *p = r->handlers.policy;

	for (size_t i = a->n; i > 0; i--)
		if (!policy_has(p, a->strays[i - 1].drain))
			a->strays[i - 1] = a->strays[--a->n];
	if (!a->pending && p->folder.ready && session_is_up(r->session)) {
		a->left = p->n;
		a->looks = LOOKS;
		next_look(r);
	}
	host_timer_start(&a->due, ROUND_MS);
}

void rolling_audit_init(struct rolling *r)
{
	host_timer_init(&r->audit.due, r->session->host, on_round, r);
	host_timer_start(&r->audit.due, ROUND_MS);
}

void rolling_audit_done(struct rolling *r)
{
	host_timer_done(&r->audit.due);
	free(r->audit.strays);
	r->audit.strays = NULL;
	r->audit.n = 0;
	r->audit.left = 0;
}
