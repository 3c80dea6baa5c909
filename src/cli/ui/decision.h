/* Decisions of operators about a task or a node, in words. */
#ifndef ZKLEADER_CLI_UI_DECISION_H
#define ZKLEADER_CLI_UI_DECISION_H

#include <stdint.h>

#include <jansson.h>

/* "paused", "drained", "resigned", "pinned to version 1.2"; owned by the caller. */
char *decision_word(const json_t *decision);
/*
 * "WORD by USER at HOST AGE ago, until TIME: REASON", with the parts that are known; owned by the
 * caller.
 */
char *decision_text(const json_t *decision, int64_t now_ms);

#endif
