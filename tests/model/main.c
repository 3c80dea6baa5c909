/*
 * All sequences of events of one election up to a depth, in a world that keeps ZooKeeper's promises
 * and before a server that keeps none. docs/SIMULATION.md says what is checked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/recipes/lock_place.h"
#include "explore.h"
#include "world.h"

static void init(void *state)
{
	world_init(state);
}

static bool apply(void *state, unsigned event)
{
	if (!world_possible(state, (enum happening)event))
		return false;
	world_happen(state, (enum happening)event);
	return true;
}

static const char *check(void *state)
{
	struct world *w = state;

	if (!w->fault)
		world_settle(w);
	return w->fault;
}

static size_t pack(const void *state, uint8_t *bytes)
{
	return world_pack(state, bytes);
}

static const char *event_name(unsigned event)
{
	return happening_name((enum happening)event);
}

static const struct explore explore_of_world = {
	.name = "faithful server",
	.state_size = sizeof(struct world),
	.n_events = HAPPENINGS,
	.init = init,
	.apply = apply,
	.check = check,
	.pack = pack,
	.event_name = event_name,
};

extern uint64_t model_lock_moves[LOCK_STATES][LOCK_STATES];

static bool run(const struct explore *base, unsigned depth, size_t max_states,
		struct explored *total)
{
	struct explore x = *base;
	struct explored result;

	x.depth = depth;
	x.max_states = max_states;
	bool ok = explore(&x, &result);
	printf("%s: %zu states, %llu transitions, %.3g shortest sequences, depth %u\n", x.name,
	       result.states, (unsigned long long)result.transitions, result.sequences,
	       result.depth);
	fflush(stdout);
	total->states += result.states;
	total->transitions += result.transitions;
	return ok;
}

/* How often each allowed move was seen with each server; false if one never was. */
static bool print_moves(uint64_t (*faithful)[ELECTION_STATES], size_t *ret_seen, size_t *ret_all)
{
	size_t seen = *ret_seen, all_moves = *ret_all;

	for (enum election_state from = 0; from < ELECTION_STATES; from++) {
		for (enum election_state to = 0; to < ELECTION_STATES; to++) {
			uint64_t all = model_moves[from][to], real = faithful[from][to];
			if (!election_move_allowed(from, to))
				continue;
			++*ret_all;
			*ret_seen += all > 0;
			printf("  %-9s -> %-9s %12llu%s\n", election_state_name(from),
			       election_state_name(to), (unsigned long long)all,
			       !all    ? "  never seen"
			       : !real ? "  only before a server that breaks its promises"
				       : "");
		}
	}
	return *ret_seen - seen == *ret_all - all_moves;
}

/* The same for the moves of a place in the line of a lock. */
static bool print_lock_moves(size_t *ret_seen, size_t *ret_all)
{
	static const char *const names[] = {"entering", "waiting", "held", "leaving", "gone"};
	size_t seen = *ret_seen, all = *ret_all;

	for (enum lock_state from = 0; from < LOCK_STATES; from++) {
		for (enum lock_state to = 0; to < LOCK_STATES; to++) {
			uint64_t n = model_lock_moves[from][to];
			if (!lock_move_allowed(from, to))
				continue;
			++*ret_all;
			*ret_seen += n > 0;
			printf("  %-9s -> %-9s %12llu%s\n", names[from], names[to],
			       (unsigned long long)n, n ? "" : "  never seen");
		}
	}
	return *ret_seen - seen == *ret_all - all;
}

int main(int argc, char **argv)
{
	unsigned depth = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 40;
	size_t max_states = argc > 2 ? strtoul(argv[2], NULL, 10) : 600000;
	uint64_t faithful[ELECTION_STATES][ELECTION_STATES];
	struct explored total = {0};
	size_t seen = 0, all = 0;

	bool ok = run(&explore_of_world, depth, max_states, &total);
	memcpy(faithful, model_moves, sizeof(faithful));
	ok = run(&explore_of_hostile, depth, max_states, &total) && ok;
	ok = print_moves(faithful, &seen, &all) && ok;
	ok = run(&explore_of_lock, depth, max_states / 4, &total) && ok;
	ok = print_lock_moves(&seen, &all) && ok;
	printf("model: %zu states, %llu transitions, %zu of %zu moves, %s\n", total.states,
	       (unsigned long long)total.transitions, seen, all, ok ? "ok" : "FAILED");
	return ok ? 0 : 1;
}
