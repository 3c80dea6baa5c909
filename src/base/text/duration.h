/* Durations as people write them: "500ms", "10s", "5m", "2h", "1d". */
#ifndef ZKLEADER_BASE_TEXT_DURATION_H
#define ZKLEADER_BASE_TEXT_DURATION_H

#include <stdint.h>

#define DURATION_TEXT_SIZE 24
#define DURATION_MAX_MS	   (INT64_C(3650) * 24 * 3600 * 1000) /* ten years */

/*
 * Digits followed by one of ms, s, m, h, d and nothing else. Returns 0 and the milliseconds,
 * -EINVAL for another form, -ERANGE above DURATION_MAX_MS.
 */
int duration_parse(const char *text, int64_t *ret_ms);
/* The shortest exact form: 1500 is "1500ms", 60000 is "1m", 0 is "0s". */
void duration_format(int64_t ms, char text[DURATION_TEXT_SIZE]);

#endif
