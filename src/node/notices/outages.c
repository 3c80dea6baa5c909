#include "node/notices/outages.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log/log.h"
#include "node/fleet/registry.h"
#include "node/notices/notices.h"
#include "node/session/session.h"
#include "node/tree/paths.h"

/* --- the connection ------------------------------------------------------- */

static void on_lost(void *arg)
{
	struct outages *o = arg;
	char since[CLOCK_TEXT_SIZE];
	struct notice_record event;

	if (o->since == 0 || o->told)
		return;
	if (!o->over) {
		int64_t gone_ms = host_now_ms(o->session->host) - o->since_ms;
		o->over = true;
		host_timer_start(&o->lost, gone_ms < OUTAGES_OWN_MS ? OUTAGES_OWN_MS - gone_ms : 0);
		return;
	}
	o->told = true;
	clock_format(o->since, since);
	notice_init(o->registry, &event, NOTICE_DISCONNECTED, "");
	snprintf(event.text, sizeof(event.text),
		 "%.200s has had no connection with ZooKeeper since %s, and leads nothing",
		 event.node, since);
	notices_note_here(o->registry, &event);
}

void outages_cut(struct outages *o)
{
	int64_t left = session_lease_left(o->session);

	if (o->since > 0)
		return;
	o->since = host_wall_ms(o->session->host);
	o->since_ms = host_now_ms(o->session->host);
	host_timer_start(&o->lost, left > ROLLOUTS_WAIT_MS ? left : ROLLOUTS_WAIT_MS);
}

void outages_up(struct outages *o)
{
	if (o->over)
		returns_note(&o->returns, o->since);
	o->since = 0;
	o->over = o->told = false;
	host_timer_stop(&o->lost);
	outages_fleet_changed(o);
}

/* --- a rollout ------------------------------------------------------------ */

/* The version of all workers, NULL: there are several, or the fleet is not known. */
static const char *version_of_all(const struct outages *o)
{
	const struct fleet *f = &o->registry->fleet;

	if (!session_is_up(o->session) || !registry_settled(o->registry) ||
	    !registry_self(o->registry))
		return NULL;
	for (size_t i = 1; i < f->n_members; i++)
		if (strcmp(f->by_id[i]->worker->version, f->by_id[0]->worker->version) != 0)
			return NULL;
	return f->n_members > 0 ? f->by_id[0]->worker->version : NULL;
}

static void look_again(struct outages *o)
{
	host_timer_start(&o->rolled, ROLLOUTS_WAIT_MS);
}

static void on_told(void *arg, const struct store_reply *reply)
{
	struct outages *o = arg;

	o->asking = false;
	/* If another node was quicker, the next read of ROOT/notices shows its version. */
	if (reply->code != STORE_ABANDONED && reply->code != STORE_OK) {
		o->version[0] = '\0';
		look_again(o);
	}
}

static void tell(struct outages *o, const char *version, int32_t at)
{
	const size_t n = o->registry->fleet.n_members;
	char path[STORE_PATH_MAX];
	struct notice_record event;
	bool first = o->version[0] == '\0'; /* no rollout: the version before is not known */

	path_of(o->session->settings, PATH_NOTICES, NULL, path);
	const struct store_op ops[] = {
		{.type = STORE_OP_CHECK, .path = o->session->registration, .version = -1},
		{.type = STORE_OP_SET,
		 .path = path,
		 .data = version,
		 .len = strlen(version),
		 .version = at},
	};
	notice_init(o->registry, &event, NOTICE_ROLLOUT, "");
	snprintf(event.version, sizeof(event.version), "%s", version);
	snprintf(event.text, sizeof(event.text),
		 "rollout of %s complete: %zu of %zu workers; before: %s", version, n, n,
		 o->version);
	snprintf(o->version, sizeof(o->version), "%s", version);
	o->asking = true;
	notices_multi(o->registry, ops, 2, first ? NULL : &event, on_told, o);
}

static void on_version(void *arg, const struct store_reply *reply)
{
	struct outages *o = arg;
	const char *version;

	o->asking = false;
	if (reply->code == STORE_ABANDONED)
		return;
	version = version_of_all(o);
	if (!version)
		return;
	if (reply->code != STORE_OK) {
		look_again(o);
		return;
	}
	o->version[0] = '\0';
	if (reply->len > 0 && reply->len <= NAME_VERSION_MAX &&
	    name_is_version(reply->data, reply->len))
		snprintf(o->version, sizeof(o->version), "%.*s", (int)reply->len,
			 (const char *)reply->data);
	if (strcmp(o->version, version) != 0)
		tell(o, version, reply->stat.version);
}

static void on_rolled(void *arg)
{
	struct outages *o = arg;
	const char *version = version_of_all(o);
	char path[STORE_PATH_MAX];

	if (!version || o->asking || strcmp(version, o->version) == 0 ||
	    !notices_wanted(o->registry, NOTICE_ROLLOUT, ""))
		return;
	o->asking = true;
	path_of(o->session->settings, PATH_NOTICES, NULL, path);
	store_get(o->session->store, path, false, on_version, o);
}

/* The first in the order of the ids is the first to look. */
void outages_fleet_changed(struct outages *o)
{
	const struct fleet *f = &o->registry->fleet;
	int64_t before = 0;

	returns_changed(&o->returns);
	if (!notices_wanted(o->registry, NOTICE_ROLLOUT, ""))
		return;
	for (size_t i = 0; i < f->n_members; i++)
		before += strcmp(f->by_id[i]->worker->id, o->registry->id) < 0;
	host_timer_start(&o->rolled, ROLLOUTS_WAIT_MS + before * ROLLOUTS_STAGGER_MS);
}

/* --- begin and end -------------------------------------------------------- */

void outages_init(struct outages *o, struct session *session, struct registry *registry)
{
	*o = (struct outages){.session = session, .registry = registry};
	returns_init(&o->returns, session, registry);
	host_timer_init(&o->lost, session->host, on_lost, o);
	host_timer_init(&o->rolled, session->host, on_rolled, o);
}

void outages_done(struct outages *o)
{
	returns_done(&o->returns);
	host_timer_done(&o->lost);
	host_timer_done(&o->rolled);
}
