/*
 * All sequences of events of one election up to a depth, in a world that keeps ZooKeeper's promises
 * and before a server that keeps none. docs/SIMULATION.md says what is checked.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/queue/epoch.h"
#include "core/recipes/lock_place.h"
#include "core/recipes/party_step.h"
#include "core/recipes/rolling_step.h"
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
extern uint64_t model_epoch_moves[EPOCH_STATES][EPOCH_STATES];
extern uint64_t model_rolling_moves[ROLLING_STATES][ROLLING_STATES];
extern uint64_t model_party_moves[PARTY_STATES][PARTY_STATES];

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

/* Counts of the moves of a table. */
struct moves {
	const char *const *names;
	unsigned states;
	bool (*allowed)(unsigned from, unsigned to);
	const uint64_t *seen, *faithful; /* by from and to; faithful: NULL */
};

/* How often each allowed move was seen; false if one never was. */
static bool print_moves(const struct moves *m, size_t *seen, size_t *all)
{
	bool ok = true;

	for (unsigned from = 0; from < m->states; from++) {
		for (unsigned to = 0; to < m->states; to++) {
			uint64_t n = m->seen[from * m->states + to];
			if (!m->allowed(from, to))
				continue;
			++*all;
			*seen += n > 0;
			ok &= n > 0;
			printf("  %-9s -> %-9s %12llu%s\n", m->names[from], m->names[to],
			       (unsigned long long)n,
			       !n ? "  never seen"
			       : m->faithful && !m->faithful[from * m->states + to]
				       ? "  only before a server that breaks its promises"
				       : "");
		}
	}
	return ok;
}

static bool election_allows(unsigned from, unsigned to)
{
	return election_move_allowed((enum election_state)from, (enum election_state)to);
}

static bool lock_allows(unsigned from, unsigned to)
{
	return lock_move_allowed((enum lock_state)from, (enum lock_state)to);
}

static bool epoch_allows(unsigned from, unsigned to)
{
	return epoch_move_allowed((enum epoch_state)from, (enum epoch_state)to);
}

/* A slot whose state stays may have another process. */
static bool rolling_allows(unsigned from, unsigned to)
{
	return from != to &&
	       rolling_move_allowed((enum rolling_state)from, (enum rolling_state)to, true);
}

static bool party_allows(unsigned from, unsigned to)
{
	return party_move_allowed((enum party_state)from, (enum party_state)to);
}

int main(int argc, char **argv)
{
	static const char *const of_lock[] = {"entering", "waiting", "held", "leaving", "gone"};
	static const char *const of_epoch[] = {"begins", "reading", "read", "raising", "on"};
	static const char *const of_rolling[] = {"draining", "running", "soaking", "failed"};
	static const char *const of_party[] = {"waits", "runs", "leaves", "loses", "ends", "gone"};
	unsigned depth = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 40;
	size_t max_states = argc > 2 ? strtoul(argv[2], NULL, 10) : 600000;
	uint64_t faithful[ELECTION_STATES][ELECTION_STATES];
	const char *of_election[ELECTION_STATES];
	const struct moves election = {of_election, ELECTION_STATES, election_allows,
				       model_moves[0], faithful[0]};
	const struct moves lock = {of_lock, LOCK_STATES, lock_allows, model_lock_moves[0], NULL};
	const struct moves epoch = {of_epoch, EPOCH_STATES, epoch_allows, model_epoch_moves[0],
				    NULL};
	const struct moves rolling = {of_rolling, ROLLING_STATES, rolling_allows,
				      model_rolling_moves[0], NULL};
	const struct moves party = {of_party, PARTY_STATES, party_allows, model_party_moves[0],
				    NULL};
	struct explored total = {0};
	size_t seen = 0, all = 0;

	for (enum election_state s = 0; s < ELECTION_STATES; s++)
		of_election[s] = election_state_name(s);
	bool ok = run(&explore_of_world, depth, max_states, &total);
	memcpy(faithful, model_moves, sizeof(faithful));
	ok = run(&explore_of_hostile, depth, max_states, &total) && ok;
	ok = print_moves(&election, &seen, &all) && ok;
	ok = run(&explore_of_lock, depth, max_states / 4, &total) && ok;
	ok = print_moves(&lock, &seen, &all) && ok;
	ok = run(&explore_of_epoch, depth, max_states / 4, &total) && ok;
	ok = print_moves(&epoch, &seen, &all) && ok;
	ok = run(&explore_of_rolling, depth, max_states / 4, &total) && ok;
	ok = print_moves(&rolling, &seen, &all) && ok;
	for (int i = 0; i < MODEL_PARTIES; i++)
		ok = run(&explores_of_party[i], depth, max_states / 4, &total) && ok;
	ok = print_moves(&party, &seen, &all) && ok;
	printf("model: %zu states, %llu transitions, %zu of %zu moves, %s\n", total.states,
	       (unsigned long long)total.transitions, seen, all, ok ? "ok" : "FAILED");
	return ok ? 0 : 1;
}
