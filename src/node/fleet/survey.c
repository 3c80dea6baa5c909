#include "node/fleet/survey.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "node/tree/paths.h"
#include "wire/records/record.h"

struct owner {
	int64_t session;
	char id[NAME_ID_MAX + 1]; /* "": the record did not say */
};

struct survey {
	struct registry *registry;
	survey_ours_fn *ours;
	const void *ours_arg;
	void (*done)(void *arg);
	void *arg;
	size_t pending;
	bool abandoned; /* free it when the last answer has come */
	struct owner *owners;
	size_t n;
};

static void answered(struct survey *s)
{
	if (--s->pending > 0)
		return;
	if (s->abandoned) {
		free(s->owners);
		free(s);
	} else {
		s->done(s->arg);
	}
}

static void on_leader(void *arg, const struct store_reply *reply)
{
	struct survey *s = arg;
	struct leader_record record;
	const char *why;

	if (reply->code == STORE_OK && !s->abandoned) {
		s->owners = mem_resize(s->owners, s->n + 1, sizeof(*s->owners));
		struct owner *o = &s->owners[s->n++];
		o->session = reply->stat.owner;
		o->id[0] = '\0';
		if (record_parse_leader(reply->data, reply->len, &record, &why) == 0)
			memcpy(o->id, record.id, sizeof(o->id));
	}
	answered(s);
}

static void on_names(void *arg, const struct store_reply *reply)
{
	struct survey *s = arg;
	const struct registry *r = s->registry;
	char path[STORE_PATH_MAX];

	for (size_t i = 0; reply->code == STORE_OK && !s->abandoned && i < reply->n_names; i++) {
		const char *name = reply->names[i];
		if (!name_is_election(name, strlen(name)) || s->ours(s->ours_arg, name))
			continue;
		path_of(r->settings, PATH_LEADERS, name, path);
		s->pending++;
		store_get(r->session->store, path, false, on_leader, s);
	}
	answered(s);
}

struct survey *survey_start(struct registry *r, survey_ours_fn *ours, const void *ours_arg,
			    void (*done)(void *arg), void *arg)
{
	struct survey *s = mem_calloc(1, sizeof(*s));
	char path[STORE_PATH_MAX];

	s->registry = r;
	s->ours = ours;
	s->ours_arg = ours_arg;
	s->done = done;
	s->arg = arg;
	s->pending = 1;
	path_of(r->settings, PATH_LEADERS, NULL, path);
	store_children(r->session->store, path, false, on_names, s);
	return s;
}

bool survey_is_done(const struct survey *s)
{
	return s->pending == 0;
}

void survey_each(const struct survey *s, void (*fn)(void *arg, const struct member *m), void *arg)
{
	const struct fleet *f = &s->registry->fleet;

	for (size_t i = 0; i < s->n; i++) {
		const struct owner *o = &s->owners[i];
		const struct member *m = fleet_find(f, o->id);
		if (!m || m->session != o->session)
			m = fleet_find_session(f, o->session);
		if (m)
			fn(arg, m);
	}
}

void survey_free(struct survey *s)
{
	if (!s)
		return;
	s->abandoned = true;
	if (s->pending == 0) {
		free(s->owners);
		free(s);
	}
}
