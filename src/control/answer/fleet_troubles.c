#include "control/answer/fleet_troubles.h"

#include <stdio.h>
#include <string.h>

#include "base/text/duration.h"
#include "control/ask/explain_text.h"
#include "core/fleet/identity.h"
#include "core/fleet/version.h"
#include "core/fleet/version_form.h"
#include "node/election/listing.h"
#include "node/election/tasks.h"

#define UNLED_MS    30000
#define REASONS_MAX 20	/* reasons that are told apart */
#define LOOKED_MAX  200 /* tasks of one reason: of more it is not looked for */
#define FORMS_MAX   20	/* forms of versions that are told apart */

/* --- pins ------------------------------------------------------------------- */

/* An election of the task or partition; NULL: there is none here. */
static const struct task *any_task(const struct node *n, const char *name)
{
	const struct task *t = tasks_find(&n->leaders, name, strlen(name));
	const struct listing *l = listings_find(&n->leaders, name, strlen(name));

	return t || !l || l->n == 0 ? t : l->tasks[0];
}

/* Lists the versions of those that list the task. True: the pinned one is among them. */
static bool list_versions(const struct node *n, const struct task *t, const char *pinned,
			  char text[EXPLAIN_TEXT_MAX])
{
	const struct fleet *f = &n->registry.fleet;
	const char *last = "";
	size_t versions = 0;

	/* Members with the same version stand next to each other. */
	for (size_t i = 0; i < f->n_members; i++) {
		const char *version = f->by_version[i]->worker->version;

		if (!fleet_lists(f->by_version[i], t->index) || !strcmp(last, version))
			continue;
		if (version_compare(version, pinned) == 0)
			return true;
		last = version;
		explain_entry(text, versions++, " (there is ", version);
	}
	explain_say(text, versions > 0 ? ")" : "");
	return false;
}

static void find_pins(const struct node *n, struct problems *problems)
{
	for (size_t i = 0; i < n->policy.n; i++) {
		const struct policy_record *r = &n->policy.items[i]->record;
		const struct task *t =
			n->policy.items[i]->kind == POLICY_PIN ? any_task(n, r->task) : NULL;
		char versions[EXPLAIN_TEXT_MAX] = "";

		if (t && !list_versions(n, t, r->version, versions))
			problems_add(problems, r->task, PROBLEM_WHOLE_FILE,
				     "it is pinned to version %s, which no worker that lists it "
				     "has any more%s, so nobody can lead it: zkleader unpin %s",
				     r->version, versions, r->task);
	}
}

/* --- versions ---------------------------------------------------------------- */

struct form {
	char text[VERSION_OUTLINE_MAX];
	const struct member *member; /* the first that has it */
	const char *version;
	size_t workers, versions;
};

static size_t collect_forms(const struct fleet *f, struct form forms[FORMS_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < f->n_members; i++) {
		const char *version = f->by_version[i]->worker->version;
		char text[VERSION_OUTLINE_MAX];
		size_t at = 0;

		version_outline(version, text);
		if (strcmp(text, "N") == 0)
			continue; /* 2 is short for 2.0, and deceives nobody */
		while (at < n && strcmp(forms[at].text, text) != 0)
			at++;
		if (at == FORMS_MAX)
			continue;
		if (at == n) {
			memcpy(forms[n].text, text, sizeof(text));
			forms[n].member = f->by_version[i];
			forms[n].version = "";
			forms[n].workers = forms[n].versions = 0;
			n++;
		}
		forms[at].workers++;
		forms[at].versions += strcmp(forms[at].version, version) != 0;
		forms[at].version = version;
	}
	return n;
}

/* Whether the form is the odd one of the two: fewer have it; of as many the newer version. */
static bool is_odd(const struct form *a, const struct form *b)
{
	if (a->workers != b->workers)
		return a->workers < b->workers;
	return version_compare(a->version, b->version) > 0;
}

/* Whether the longer one goes on from the shorter one, as 1.4.1 does from 1.4. */
static bool continues(const char *shorter, const char *longer)
{
	size_t len = strlen(shorter);

	return strncmp(shorter, longer, len) == 0 && longer[len] == '.';
}

static void find_versions(const struct node *n, struct problems *problems)
{
	struct form forms[FORMS_MAX];
	size_t n_forms = collect_forms(&n->registry.fleet, forms), usual = 0;

	for (size_t i = 1; i < n_forms; i++)
		if (is_odd(&forms[usual], &forms[i]))
			usual = i;
	for (size_t i = 0; i < n_forms; i++) {
		int order = version_compare(forms[i].version, forms[usual].version);

		if (i == usual || forms[i].versions > 1 ||
		    continues(forms[i].version, forms[usual].version) ||
		    continues(forms[usual].version, forms[i].version))
			continue;
		problems_add(problems, identity_name(forms[i].member), PROBLEM_WHOLE_FILE,
			     "its version %s has another form than all others in the fleet, such "
			     "as %s, and is %s: if that is not meant, write it as they are",
			     forms[i].version, forms[usual].version,
			     order > 0	 ? "newer than that"
			     : order < 0 ? "older than that"
					 : "the same as that");
	}
}

/* --- lists ------------------------------------------------------------------- */

static void find_lists(const struct node *n, struct problems *problems)
{
	const struct lists *l = &n->registry.lists;
	const struct fleet *f = &n->registry.fleet;

	if (l->refused)
		problems_add(problems, "lists", PROBLEM_WHOLE_FILE,
			     "the ZooKeeper server refuses the list of this node's tasks, so its "
			     "record is a long one: see the log, and the ACL and quota of %s/lists",
			     n->settings->root);
	for (size_t i = 0; i < l->n; i++) {
		const struct lists_entry *e = &l->entries[i];
		const struct member *first = NULL;
		size_t workers = 0;

		for (size_t k = 0; e->why && k < f->n_members; k++) {
			if (!f->by_id[k]->worker->unlisted ||
			    strcmp(f->by_id[k]->worker->list, e->digest) != 0)
				continue;
			if (workers++ == 0)
				first = f->by_id[k];
		}
		if (first)
			problems_add(
				problems, identity_name(first), PROBLEM_WHOLE_FILE,
				"what it and %zu other workers list is in %s/lists/%s, which "
				"cannot be used: %s. Until it can they are no candidates here. "
				"They make it again by themselves; if they do not, delete it, "
				"or restart zkleaderd there",
				workers - 1, n->settings->root, e->digest, e->why);
	}
}

/* --- tasks that nobody leads -------------------------------------------------- */

/* The first reason why a candidate is none, and how many of them have one. */
struct obstacles {
	size_t listed, by[WHY_NOT_DRAFTED + 1];
};

static void count_obstacles(const struct node *n, const struct task *t, struct obstacles *o)
{
	const struct fleet *f = &n->registry.fleet;

	*o = (struct obstacles){.listed = 0};
	for (size_t i = 0; i < f->n_members; i++) {
		enum why why = fleet_fitness(f->by_id[i], &t->contest, t->index);
		o->by[why]++;
		o->listed += why != WHY_NOT_LISTED;
	}
}

static void say_reason(const struct node *n, const struct task *t, char text[EXPLAIN_TEXT_MAX])
{
	static const struct {
		enum why why;
		const char *text;
	} words[] = {
		{WHY_DRAINED, "drained (zkleader undrain HOST)"},
		{WHY_UNHEALTHY, "not healthy (zkleader status there says why)"},
		{WHY_BELOW_MINIMUM, "older than its min-version"},
		{WHY_NOT_PINNED, "of another version than it is pinned to (zkleader unpin)"},
	};
	struct standing s = fleet_stand(&n->registry.fleet, &t->contest, t->index, n->registry.id);
	struct obstacles o;
	size_t shown = 0;

	if (s.best) {
		explain_say(text,
			    "its best candidate is %s, which does not take it: zkleader status "
			    "there and its log say why",
			    identity_name(s.best));
		return;
	}
	count_obstacles(n, t, &o);
	if (o.listed == 0)
		explain_say(text, "no worker lists it as this one does: start one that has its "
				  "file");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (o.by[words[i].why] == 0)
			continue;
		explain_say(text, "%s%zu of %zu that list it %s %s",
			    shown++ > 0 ? "; " : "no worker is a candidate: ", o.by[words[i].why],
			    o.listed, o.by[words[i].why] == 1 ? "is" : "are", words[i].text);
	}
}

struct unled {
	const char *first;
	size_t n;
	int64_t since_ms;
	char reason[EXPLAIN_TEXT_MAX];
};

/* Those with other problems that say why are left out. */
static bool is_unled(const struct node *n, const struct task *t)
{
	char text[LEADERS_BLOCKED_MAX];

	return t->unled_ms > 0 && host_now_ms(n->host) >= t->unled_ms + UNLED_MS && !t->withdrawn &&
	       t->leader.refused == STORE_OK && !leaders_is_blocked(t, text);
}

static void add_unled(const struct node *n, const struct task *t, struct unled *list, size_t *ret_n)
{
	char reason[EXPLAIN_TEXT_MAX] = "";
	size_t at = 0;

	if (list[0].n >= LOOKED_MAX) {
		list[0].n++; /* its reason is most likely the same */
		return;
	}
	say_reason(n, t, reason);
	while (at < *ret_n && strcmp(list[at].reason, reason) != 0)
		at++;
	if (at == REASONS_MAX)
		return;
	if (at == *ret_n) {
		list[at] = (struct unled){.first = t->name, .since_ms = t->unled_ms};
		memcpy(list[at].reason, reason, sizeof(reason));
		(*ret_n)++;
	}
	list[at].n++;
}

static void find_unled(const struct node *n, struct problems *problems)
{
	struct unled list[REASONS_MAX] = {{.n = 0}};
	size_t n_list = 0;
	char age[DURATION_TEXT_SIZE];

	for (size_t i = 0; i < n->leaders.n_tasks; i++)
		if (is_unled(n, n->leaders.tasks[i]))
			add_unled(n, n->leaders.tasks[i], list, &n_list);
	for (size_t i = 0; i < n_list; i++) {
		char others[60] = "";
		int64_t ms = host_now_ms(n->host) - list[i].since_ms;

		duration_format(ms - ms % 1000, age);
		if (list[i].n > 1)
			snprintf(others, sizeof(others), ", nor %zu %s", list[i].n - 1,
				 list[i].n == 2 ? "other" : "others");
		problems_add(problems, list[i].first, PROBLEM_WHOLE_FILE,
			     "nobody has led it%s for %s: %s", others, age, list[i].reason);
	}
}

void fleet_troubles_find(const struct node *n, struct problems *problems)
{
	find_pins(n, problems);
	find_versions(n, problems);
	find_lists(n, problems);
	find_unled(n, problems);
}
