/* A token bucket: so many within so long, and as many at once after a pause. */
#ifndef ZKLEADER_CORE_BUCKET_H
#define ZKLEADER_CORE_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket {
	int64_t most;	   /* 0: no limit */
	int64_t period_ms; /* within which it is filled */
	int64_t level;	   /* in parts of which a token has period_ms */
	int64_t since_ms;  /* when that was so */
};

/* Full. */
void bucket_fill(struct bucket *b, int64_t most, int64_t period_ms, int64_t now_ms);
/* The limit is another: no more is in it than was, or than fits. */
void bucket_resize(struct bucket *b, int64_t most, int64_t period_ms, int64_t now_ms);
/* Empty. */
void bucket_drain(struct bucket *b, int64_t now_ms);
/* Takes one out, if there is one. */
bool bucket_take(struct bucket *b, int64_t now_ms);
/* One that was taken was not needed. */
void bucket_give_back(struct bucket *b);
/* After how long one can be taken. */
int64_t bucket_wait_ms(const struct bucket *b, int64_t now_ms);

#endif
