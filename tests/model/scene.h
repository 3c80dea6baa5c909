/* The tree of a barrier or a gang, its clients, and what two sidecars see of it and request. */
#ifndef TESTS_MODEL_SCENE_H
#define TESTS_MODEL_SCENE_H

#include "core/recipes/party_step.h"

#define CLIENTS	     3
#define SIDECARS     2
#define NEED	     2
#define ENTRIES	     3 /* of a client, each with another id */
#define IDS	     (1 + CLIENTS * ENTRIES)
#define NODES_MAX    10
#define SETTLE_STEPS 200
#define TROUBLES_MAX 2

enum kind { BARRIER, GANG_STOPS, GANG_GOES_ON };
enum stage { OUT, ASKS, INSIDE, LEAVES };

/* A client, and its member at the sidecar. */
struct client {
	enum stage stage;
	uint8_t entry;
	bool excused; /* its node was taken from it */
	/* the member, if it is here: struct party_place, without what its client says */
	bool here, looked, late, placed, left, rival_goes;
	enum party_state state;
	struct party_verdict verdict;
	uint8_t round, czxid, index, rival;
	bool asked, owned, told, attaching, lost, timed;
	uint8_t watch; /* number of the node that it watches; 0: none */
	/* what is requested */
	enum party_act act;
	enum party_how how;
	uint8_t node;
};

/* A node's number: the id of its member, with OLD for an earlier session, or MARK. */
#define OLD  16
#define MARK 32
#define ID   15

struct sidecar {
	bool dirty, fresh, sweeps, refused, turn, tries, wakes;
	bool alone; /* nothing but marks was there */
	enum party_act act;
	uint8_t chosen[NEED]; /* numbers of nodes */
};

struct scene {
	enum kind kind;
	struct client clients[CLIENTS];
	struct sidecar sidecars[SIDECARS];
	uint8_t nodes[NODES_MAX], n;
	/* the record */
	bool there, lost, noted;
	uint8_t czxid, round, size;
	uint8_t ids[NEED];	 /* of the gang, or of the last round */
	bool earlier[IDS];	 /* counted in a round before that */
	uint8_t counted_in[IDS]; /* the round, or the gang, since all began; 0: none */
	uint8_t openings;
	enum way { LIKE_OTHERS, OTHER_COUNT, OTHER_KEY } ways[IDS];
	bool minute;	     /* nobody has been there for that long */
	bool forbids;	     /* the server does nothing more */
	bool begun, unheard; /* something has happened that no member hears of */
	bool troubled;
	uint8_t troubles; /* that there may not be any more, of TROUBLES_MAX */
	const char *fault;
};

unsigned scene_client_of(uint8_t id);
uint8_t scene_id_of(const struct scene *w, unsigned c);
unsigned scene_sidecar_of(unsigned c);
bool scene_same_key(const struct scene *w, uint8_t a, uint8_t b);
unsigned scene_count_of(const struct scene *w, uint8_t id);
/* At a barrier the third has no command. */
char scene_kind_of(const struct scene *w, unsigned c);
int scene_index_of(const struct scene *w, uint8_t id);
int scene_seat_of(const struct scene *w, uint8_t id);
int scene_find(const struct scene *w, uint8_t node);
/* A node of a member that was counted is there; but: not that one's. */
bool scene_anybody_inside(const struct scene *w, uint8_t but, bool commands);
/* Whether another of its round is still inside. */
bool scene_with_others(const struct scene *w, uint8_t id);
/* Nothing but marks is there. */
bool scene_is_deserted(const struct scene *w);
bool scene_has_members(const struct scene *w, unsigned s);
/* The record has another version: all who have members here hear of it. */
void scene_changed(struct scene *w);
bool scene_drop(struct scene *w, uint8_t node);
void scene_give(struct scene *w, unsigned c, struct party_event e);
void scene_happens(struct scene *w, unsigned c, enum party_event_type type);
bool scene_is_busy(const struct scene *w, unsigned s);
void scene_look(struct scene *w, unsigned s);
/* The server does what was requested, or loses it. Either way the sidecar looks again. */
void scene_answer(struct scene *w, unsigned s, bool done);

#endif
