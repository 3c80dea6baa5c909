/* Breadth-first search over states of a fixed size, each met once. */
#ifndef TESTS_MODEL_EXPLORE_H
#define TESTS_MODEL_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct explore {
	const char *name;
	size_t state_size;
	unsigned n_events;
	unsigned depth;	   /* the longest sequence of events */
	size_t max_states; /* no sequences are followed from states beyond */
	void (*init)(void *state);
	/* Lets event number i happen to the state; false: it is not possible there. */
	bool (*apply)(void *state, unsigned event);
	/* Says what is wrong with the state, NULL: nothing. May use the state up. */
	const char *(*check)(void *state);
	size_t (*pack)(const void *state, uint8_t *bytes);
	const char *(*event_name)(unsigned event);
};

struct explored {
	size_t states;
	uint64_t transitions;
	double sequences; /* of events that lead to these states by the shortest way */
	unsigned depth;	  /* up to which nothing was left out */
};

/* False, with the sequence of events printed, if some state is wrong. */
bool explore(const struct explore *x, struct explored *ret_explored);

extern const struct explore explore_of_hostile;
extern const struct explore explore_of_lock;
extern const struct explore explore_of_epoch;
extern const struct explore explore_of_rolling;
#define MODEL_PARTIES 6 /* a barrier, and gangs of both kinds, the deeper the less goes wrong */
extern const struct explore explores_of_party[MODEL_PARTIES];

#endif
