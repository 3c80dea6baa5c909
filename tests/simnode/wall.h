/* Wall clocks that are wrong, and whose is off in truth. */
#ifndef TESTS_SIMNODE_WALL_H
#define TESTS_SIMNODE_WALL_H

#include <stdbool.h>
#include <stdint.h>

#include "core/fleet/fleet.h"

struct site;

/*
 * By how many milliseconds a clock is wrong: not at all, or by whole minutes, up to a day, and at most a
 * second, so that no two clocks are about as far apart as is tolerated.
 */
int64_t wall_draw(void);
/* The same of a clock that is wrong by so much. */
int64_t wall_round(int64_t wall_ms);
/* Whether a clock that is wrong by so much is so by minutes only. */
bool wall_is_near(int64_t wall_ms);
/* Marks the members whose clocks are off by the true clocks; whether that is another for one of them. */
bool wall_judge(struct fleet *f);
/*
 * The time that jobs go by, by the true clocks. False: the site cannot know it now, as some members have not
 * published what is true, or the server's clock has jumped just now; or too few clocks agree.
 */
bool wall_jobs(const struct site *s, int64_t *ret_ms);
/* Whether all members that a process acts for have published what is true of their clocks. */
bool wall_is_known(const struct fleet *f);

#endif
