#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "core/fleet/identity.h"

static struct fleet f;

static void add(const char *id, const char *hostname, const char *node, const char *machine)
{
	struct worker *w = worker_new();

	snprintf(w->id, sizeof(w->id), "%s", id);
	snprintf(w->version, sizeof(w->version), "1");
	snprintf(w->hostname, sizeof(w->hostname), "%s", hostname);
	snprintf(w->node, sizeof(w->node), "%s", node);
	snprintf(w->machine, sizeof(w->machine), "%s", machine);
	cr_assert(fleet_add(&f, w, 1, 0));
}

static void drop(const char *id)
{
	size_t names = f.n_names;

	cr_assert(fleet_remove(&f, id));
	cr_assert_lt(f.n_names, names, "its names are found no more");
}

static const char *name(const char *id)
{
	return identity_name(fleet_find(&f, id));
}

Test(identity, names)
{
	fleet_init(&f);
	add("a", "app-1", "app-1:/run/s", "m1");
	cr_expect_str_eq(name("a"), "app-1");
	add("b", "app-1", "app-1:/run/t", "m1");
	cr_expect_str_eq(name("a"), "app-1:/run/s");
	cr_expect_str_eq(name("b"), "app-1:/run/t");
	add("c", "app-2", "blue", "m2");
	cr_expect_str_eq(name("c"), "blue");
	cr_expect_str_eq(identity_host(fleet_find(&f, "a")->worker), "app-1");
	cr_expect_str_eq(identity_host(fleet_find(&f, "c")->worker), "blue");
	/* A program that says nothing, on a host whose name begins another's. */
	add("d", "app", "", "");
	cr_expect_str_eq(name("d"), "app");
	drop("b");
	cr_expect_str_eq(name("a"), "app-1");
	/* The same node, registered anew. */
	add("e", "app-1", "app-1:/run/s", "m1");
	cr_expect_str_eq(name("a"), "app-1");
	cr_expect_not(fleet_find(&f, "a")->twin);
	/* Another on its host that the key names, and one elsewhere that is called like it. */
	add("f", "app-1", "green", "m1");
	cr_expect_str_eq(name("a"), "app-1:/run/s");
	cr_expect_str_eq(name("f"), "green");
	drop("f");
	cr_expect_str_eq(name("a"), "app-1");
	add("g", "app-9", "app-1", "m9");
	cr_expect_str_eq(name("a"), "app-1:/run/s");
	cr_expect_str_eq(name("g"), "app-1");
	fleet_done(&f);
}

Test(identity, who_is_meant)
{
	cr_expect(identity_means("app-1:/run/s", "app-1", 5));
	cr_expect(identity_means("app-1:/run/s", "app-1:/run/s", 12));
	cr_expect_not(identity_means("app-1:/run/s", "app-1:", 6));
	cr_expect_not(identity_means("app-1:/run/s", "app", 3));
	cr_expect(identity_means("blue", "blue", 4));
	cr_expect_not(identity_means("blue", "blu", 3));
}

Test(identity, twins)
{
	char machine[WORKER_MACHINE_MAX + 1];

	fleet_init(&f);
	add("a", "web", "web:/s", "m1");
	add("x", "web", "web:/s", "");
	cr_expect_not(fleet_find(&f, "a")->twin, "an older sidecar says nothing of its machine");
	add("b", "web", "web:/s", "m2");
	cr_expect(fleet_find(&f, "a")->twin && fleet_find(&f, "b")->twin);
	cr_expect_not(fleet_find(&f, "x")->twin);
	/* Decisions on one of them. */
	cr_expect(identity_concerns(&f, "web:/s", "m1", "web:/s", "m1"));
	cr_expect_not(identity_concerns(&f, "web:/s", "m1", "web:/s", "m2"));
	cr_expect(identity_concerns(&f, "web:/s", "m1", "web:/s", ""), "who does not say is meant");
	cr_expect(identity_concerns(&f, "web:/s", "", "web:/s", "m2"));
	cr_expect_not(identity_concerns(&f, "web:/s", "m1", "web:/t", "m1"));
	identity_machine(&f, "web:/s", "other", "m9", machine);
	cr_expect_str_eq(machine, "", "from elsewhere both are meant");
	identity_machine(&f, "web:/s", "web:/s", "m2", machine);
	cr_expect_str_eq(machine, "m2");
	/* A name that has gone to another machine. */
	drop("a");
	cr_expect_not(fleet_find(&f, "b")->twin);
	cr_expect(identity_concerns(&f, "web:/s", "m1", "web:/s", "m2"));
	drop("x");
	identity_machine(&f, "web:/s", "other", "m9", machine);
	cr_expect_str_eq(machine, "m2");
	identity_machine(&f, "", "other", "m9", machine);
	cr_expect_str_eq(machine, "");
	fleet_done(&f);
}
