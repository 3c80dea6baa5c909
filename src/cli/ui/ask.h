/* Asking the sidecar on behalf of a command. */
#ifndef ZKLEADER_CLI_UI_ASK_H
#define ZKLEADER_CLI_UI_ASK_H

#include <jansson.h>

#include "api/call.h"
#include "api/follow.h"
#include "base/buffer.h"
#include "cli/ui/command.h"
#include "wire/reader.h"

/*
 * Calls the method with the command's arguments and converts the result, which must be of the type.
 * Returns 0, or an exit code after a line on the error stream.
 */
int ask(struct context *c, const char *method, json_type type, json_t **ret_json);
/* Calls it so, and prints the result: as JSON, or by show. Returns the exit code. */
int ask_and_show(struct context *c, const char *method, json_type type,
		 void (*show)(const struct context *c, const json_t *result));
/* Like ask() with the given parameters, which it frees. */
int ask_packed(struct context *c, const char *method, struct request *request, json_type type,
	       json_t **ret_json);
/* Like ask(), without arguments and without a line; NULL if there is no such answer. */
json_t *ask_quietly(struct context *c, const char *method, json_type type);
/* Begins a request with the command's arguments. */
void ask_begin(const struct context *c, struct request *request);
/* Sends a request and frees it, without a line; returns as zkleader_call() does. */
int ask_call(struct context *c, const char *method, struct request *request, int64_t timeout_ms,
	     struct reader *ret_result);
/*
 * Whether the sidecar's view of the fleet is current. 0, or an exit code after a line on the error
 * stream that says since when it may be out of date.
 */
int ask_stale(struct context *c);
/* Converts an answer to JSON. 0, or an exit code after a line on the error stream. */
int ask_to_json(struct context *c, struct reader result, json_type type, json_t **ret_json);

/*
 * Opens the command's handle and subscribes, with the command's arguments if args. 0, and then the
 * caller has to call follow_done(); or an error of zkleader_open() or follow_begin().
 */
int ask_follow(struct context *c, struct follow *f, bool args);
/* Asks on that subscription: see follow_ask(). */
void ask_on(struct context *c, struct follow *f, int question, const char *method, bool args);

#endif
