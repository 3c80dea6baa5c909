/*
 * Nodes that earlier releases left open to the world are closed once, where there is an identity.
 */
#include "node_site.h"

#include "node/recipes/roster/closing.h"

static struct roster roster = {.session = &session, .registry = &registry};
static struct closing closing;
static struct node_settings settings;

/* We are the first in rank of a fleet, with that scheme of authentication. */
static void begin(const char *scheme)
{
	site_begin();
	joins("me", "1.0", 5)->worker->scheme = 1;
	settings = site_settings;
	settings.auth_scheme = scheme;
	session.settings = &settings;
	closing_init(&closing, &session, &roster);
	closing_up(&closing);
	pass(10000);
}

Test(closing, records_keys_and_notices_are_closed_and_marked_so)
{
	begin("digest");
	asks("exists closed", failed(STORE_NO_NODE));
	asks("list runs", names("a", "b", NULL));
	asks("list runs/b", names("2026-11-20T02:00:00Z", NULL));
	asks("hide runs/b/2026-11-20T02:00:00Z", ok());
	asks("list runs/a", failed(STORE_NO_NODE));
	asks("list jobs", names("q", NULL));
	asks("list jobs/q/key", names("00ff", "0100", NULL));
	asks("hide jobs/q/key/0100", failed(STORE_NO_NODE));
	asks("hide jobs/q/key/00ff", ok());
	asks("list notices", names("1.2.3", NULL));
	asks("hide notices/1.2.3",
	     failed(STORE_NO_AUTH)); /* another identity's: the rest goes on */
	asks("create closed", ok());
	cr_expect(closing.done && !closing.going);
	pass(200000);
	closing_up(&closing);
	pass(200000);
	idle();
}

Test(closing, what_is_marked_is_left_alone)
{
	begin("digest");
	asks("exists closed", ok());
	pass(200000);
	idle();
}

Test(closing, without_an_identity_everybody_may_read)
{
	begin(NULL);
	pass(200000);
	idle();
}

Test(closing, the_first_in_rank_does_it)
{
	begin("digest");
	asks("exists closed", failed(STORE_UNKNOWN));
	joins("a", "1.0", 9)->worker->scheme = 1;
	pass(200000);
	idle();
	leaves("a");
	pass(60000);
	asks("exists closed", ok());
	idle();
}

Test(closing, what_a_lost_connection_cut_short_begins_anew)
{
	begin("digest");
	asks("exists closed", failed(STORE_NO_NODE));
	asks("list runs", names("a", NULL));
	asks("list runs/a", names("2026-11-20T02:00:00Z", "2026-11-20T02:01:00Z", NULL));
	asks("hide runs/a/2026-11-20T02:01:00Z", failed(STORE_UNKNOWN));
	asks("hide runs/a/2026-11-20T02:00:00Z", failed(STORE_UNKNOWN));
	idle();
	pass(60000);
	asks("exists closed", failed(STORE_NO_NODE));
	asks("list runs", failed(STORE_NO_NODE));
	asks("list jobs", failed(STORE_NO_NODE));
	asks("list notices", failed(STORE_NO_NODE));
	asks("create closed", failed(STORE_NODE_EXISTS));
	cr_expect(closing.done);
	idle();
}

Test(closing, many_are_closed_some_at_a_time)
{
	static char text[64][24];
	char *list[64];
	struct store_reply reply = {
		.code = STORE_OK, .failed_op = -1, .names = list, .n_names = 64};

	for (size_t i = 0; i < 64; i++) {
		snprintf(text[i], sizeof(text[i]), "2026-11-20T02:%02zu:00Z", i);
		list[i] = text[i];
	}
	begin("digest");
	asks("exists closed", failed(STORE_NO_NODE));
	asks("list runs", names("a", NULL));
	asks("list runs/a", reply);
	cr_expect_eq(store.n_open, 20);
	/* The end of the session: nothing is asked any more. */
	answer_all(STORE_ABANDONED);
	cr_expect(!closing.going);
	closing_done(&closing);
	idle();
}
