/*
 * Which of the recipes hears of what: the table of it. The recipes themselves are the test's here, and note what
 * they are told; each has a test of its own.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "node/recipes/party/party_parts.h"
#include "node/recipes/recipes.h"

#define TIMEOUT_MS 9000
#define PATH	   "/r/locks/l"

static struct recipes recipes;
static struct session session;
static struct registry registry;
static const struct rolling_handlers handlers = {.arg = &session};
static char heard[400]; /* names of functions, with a space behind each */

static void hear(const char *what, const void *who, const void *should)
{
	size_t used = strlen(heard);

	cr_expect_eq(who, should, "%s", what);
	snprintf(heard + used, sizeof(heard) - used, "%s ", what);
}

/* A function of that recipe that is told nothing but that. */
#define NOTES(function, type, member)                \
	void function(struct type *x)                \
	{                                            \
		hear(#function, x, &recipes.member); \
	}
/* Likewise a function that makes the recipe. */
#define MAKES(function, type, member)                                        \
	void function(struct type *x, struct session *s, struct registry *r) \
	{                                                                    \
		cr_expect(s == &session && r == &registry, #function);       \
		hear(#function, x, &recipes.member);                         \
	}
#define MAKES_ON_ROSTER(function, type, member)                              \
	void function(struct type *x, struct session *s, struct registry *r, \
		      struct roster *roster)                                 \
	{                                                                    \
		cr_expect(s == &session && r == &registry, #function);       \
		cr_expect_eq(roster, &recipes.roster, #function);            \
		hear(#function, x, &recipes.member);                         \
	}
#define WATCHES(function, type, member)                  \
	void function(struct type *x, const char *path)  \
	{                                                \
		cr_expect_str_eq(path, PATH, #function); \
		hear(#function, x, &recipes.member);     \
	}

MAKES(counters_init, counters, counters)
NOTES(counters_up, counters, counters)
NOTES(counters_done, counters, counters)

MAKES(roster_init, roster, roster)
NOTES(roster_go_on, roster, roster)
NOTES(roster_expired, roster, roster)
WATCHES(roster_watch, roster, roster)
NOTES(roster_done, roster, roster)

MAKES(own_index_init, own_index, index)
NOTES(own_index_go_on, own_index, index)
NOTES(own_index_expired, own_index, index)
WATCHES(own_index_watch, own_index, index)
NOTES(own_index_done, own_index, index)

NOTES(rolling_up, rolling, rolling)
WATCHES(rolling_watch, rolling, rolling)
NOTES(rolling_done, rolling, rolling)

MAKES_ON_ROSTER(locks_init, locks, locks)
NOTES(locks_up, locks, locks)
NOTES(locks_leased, locks, locks)
NOTES(locks_expired, locks, locks)
NOTES(locks_keep, locks, locks)
NOTES(locks_stop, locks, locks)
NOTES(locks_revoke, locks, locks)
NOTES(locks_done, locks, locks)

/* Either barriers or gangs: one function is for both. */
static const char *hears_of(const struct parties *x, const char *function)
{
	static char names[64];

	cr_expect(x == &recipes.barriers || x == &recipes.gangs, "%s", function);
	snprintf(names, sizeof(names), "%s%s", x == &recipes.gangs ? "gangs" : "barriers",
		 function);
	return names;
}

#define NOTES_BOTH(function)                              \
	void parties##function(struct parties *x)         \
	{                                                 \
		hear(hears_of(x, #function), NULL, NULL); \
	}

NOTES_BOTH(_up)
NOTES_BOTH(_leased)
NOTES_BOTH(_expired)
NOTES_BOTH(_keep)
NOTES_BOTH(_stop)
NOTES_BOTH(_revoke)
NOTES_BOTH(_done)

const struct party_kind barrier_kind, gang_kind;

void parties_init(struct parties *x, const struct party_kind *kind, struct session *s,
		  struct registry *r, struct roster *roster)
{
	bool gangs = kind == &gang_kind;

	cr_expect(s == &session && r == &registry);
	cr_expect_eq(kind, x == &recipes.gangs ? &gang_kind : &barrier_kind);
	cr_expect_eq(roster, gangs ? &recipes.roster : NULL);
	hear(hears_of(x, "_init"), NULL, NULL);
}

void rolling_init(struct rolling *x, struct session *s, struct registry *r,
		  const struct rolling_handlers *h)
{
	cr_expect(s == &session && r == &registry && h == &handlers);
	hear("rolling_init", x, &recipes.rolling);
}

void locks_watch(struct locks *x, enum store_watch type, const char *path)
{
	cr_expect_eq(type, STORE_NODE_DELETED);
	cr_expect_str_eq(path, PATH);
	hear("locks_watch", x, &recipes.locks);
}

void parties_watch(struct parties *x, const char *path)
{
	cr_expect_str_eq(path, PATH);
	hear(hears_of(x, "_watch"), NULL, NULL);
}

void lock_sweep_take_over(struct lock_sweep *x, int64_t timeout_ms)
{
	cr_expect_eq(timeout_ms, TIMEOUT_MS);
	hear("lock_sweep_take_over", x, &recipes.locks.sweep);
}

void parties_take_over(struct parties *x, int64_t timeout_ms)
{
	cr_expect_eq(timeout_ms, TIMEOUT_MS);
	hear(hears_of(x, "_take_over"), NULL, NULL);
}

size_t locks_going(const struct locks *x)
{
	hear("locks_going", x, &recipes.locks);
	return 2;
}

size_t parties_going(const struct parties *x)
{
	hear(hears_of(x, "_going"), NULL, NULL);
	return 5;
}

/* Each of these heard it once, in any order, and no other did. */
#define hears(names) script_hears(names " ", __LINE__)
static void script_hears(const char *names, int line)
{
	cr_expect_eq(strlen(heard), strlen(names), "line %d: %s", line, heard);
	for (const char *name = names; *name; name = strchr(name, ' ') + 1) {
		char word[64];
		snprintf(word, sizeof(word), "%.*s ", (int)(strchr(name, ' ') - name), name);
		const char *found = strstr(heard, word);
		cr_expect(found && (found == heard || found[-1] == ' '),
			  "line %d: %sdid not hear: %s", line, word, heard);
	}
	heard[0] = '\0';
}

/* --- the table ------------------------------------------------------------------------------------------ */

Test(recipes, each_is_made_with_the_session_and_the_fleet)
{
	recipes_init(&recipes, &session, &registry, &handlers);
	hears("counters_init barriers_init roster_init own_index_init rolling_init locks_init "
	      "gangs_init");
}

Test(recipes, each_is_ended)
{
	recipes_done(&recipes);
	hears("counters_done barriers_done roster_done own_index_done rolling_done locks_done "
	      "gangs_done");
}

Test(recipes, a_session_that_is_up_lets_each_go_on)
{
	recipes_up(&recipes);
	hears("counters_up barriers_up roster_go_on own_index_go_on rolling_up locks_up gangs_up");
}

Test(recipes, a_lease_is_for_what_has_commands)
{
	recipes_leased(&recipes);
	hears("locks_leased gangs_leased");
}

/* The others have nothing that goes with the session, or ask again. */
Test(recipes, the_end_of_a_session_is_for_what_was_held_or_known_in_it)
{
	recipes_expired(&recipes);
	hears("barriers_expired locks_expired gangs_expired roster_expired own_index_expired");
}

/* Counters alone watch nothing. */
Test(recipes, a_watch_is_shown_to_all_that_watch)
{
	recipes_watch(&recipes, STORE_NODE_DELETED, PATH);
	hears("barriers_watch roster_watch own_index_watch rolling_watch locks_watch gangs_watch");
}

Test(recipes, another_fleet_is_for_the_numbers_of_nodes)
{
	recipes_fleet_changed(&recipes);
	hears("roster_go_on own_index_go_on");
}

Test(recipes, the_previous_sidecar_may_have_left_something_of_these)
{
	recipes_take_over(&recipes, TIMEOUT_MS);
	hears("barriers_take_over lock_sweep_take_over gangs_take_over");
}

Test(recipes, commands_of_locks_and_of_gangs_count)
{
	cr_expect_eq(recipes_going(&recipes), 2 + 5);
	hears("locks_going gangs_going");
}

Test(recipes, the_end_of_the_sidecar_is_for_what_has_commands)
{
	recipes_stop(&recipes);
	hears("locks_stop gangs_stop");
	recipes_revoke(&recipes);
	hears("locks_revoke gangs_revoke");
	recipes_keep(&recipes);
	hears("locks_keep gangs_keep");
}
