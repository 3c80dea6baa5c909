/* A token bucket: at most `most` tokens in period_ms, or all of them at once after a pause. */
#ifndef ZKLEADER_CORE_QUEUE_BUCKET_H
#define ZKLEADER_CORE_QUEUE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
	int64_t most;	   /* capacity in tokens; 0: no limit */
	int64_t period_ms; /* from empty to full */
	int64_t level;	   /* in units of 1/period_ms token */
	int64_t since_ms;  /* when `level` was computed */
};

/* Makes a full bucket. */
void bucket_fill(struct bucket *b, int64_t most, int64_t period_ms, int64_t now_ms);
/* Changes the limit. Keeps the tokens, as many as fit. */
void bucket_resize(struct bucket *b, int64_t most, int64_t period_ms, int64_t now_ms);
/* Empties it. */
void bucket_drain(struct bucket *b, int64_t now_ms);
/* Takes a token, if there is one. */
bool bucket_take(struct bucket *b, int64_t now_ms);
/* Returns a token that was not used. */
void bucket_give_back(struct bucket *b);
/* How long until a token can be taken. */
int64_t bucket_wait_ms(const struct bucket *b, int64_t now_ms);

#endif
