/* Asking the sidecar on behalf of a command. */
#ifndef ZKLEADER_CLI_UI_ASK_H
#define ZKLEADER_CLI_UI_ASK_H

#include <jansson.h>

#include "api/follow.h"
#include "base/buffer.h"
#include "cli/ui/command.h"
#include "wire/pack.h"

/*
 * Calls the method with the command's arguments and converts the result, which must be of the type.
 * Returns 0, or an exit code after a line on the error stream.
 */
int ask(struct context *c, const char *method, json_type type, json_t **ret_json);
/* The same with the given parameters, a packed array, whose memory it frees. */
int ask_packed(struct context *c, const char *method, struct pack *params, json_type type,
	       json_t **ret_json);
/* Like ask(), without arguments and without a line; NULL if there is no such answer. */
json_t *ask_quietly(struct context *c, const char *method, json_type type);
/* Like ask(), without a line and without the result; returns as zkleader_call() does. */
int ask_raw(struct context *c, const char *method, const void **ret_result, size_t *ret_len);
/*
 * The command's arguments as a packed array; -EMSGSIZE if they are too big for a request, or
 * -ENOMEM.
 */
int ask_pack(const struct context *c, struct buffer *params);
/*
 * Whether the sidecar's view of the fleet is current. 0, or an exit code after a line on the error
 * stream that says since when it may be out of date.
 */
int ask_stale(struct context *c);
/* Converts an answer to JSON. 0, or an exit code after a line on the error stream. */
int ask_to_json(struct context *c, const void *result, size_t len, json_type type,
		json_t **ret_json);

/*
 * Opens the command's handle and subscribes, with the command's arguments if args. 0, and then the
 * caller has to call follow_done(); or an error of zkleader_open() or follow_begin().
 */
int ask_follow(struct context *c, struct follow *f, bool args);
/* Asks on that subscription: see follow_ask(). */
void ask_on(struct context *c, struct follow *f, int question, const char *method, bool args);

#endif
