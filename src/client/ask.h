/* Asking the sidecar on behalf of a command. */
#ifndef ZKLEADER_CLIENT_ASK_H
#define ZKLEADER_CLIENT_ASK_H

#include <jansson.h>

#include "client/command.h"

/*
 * Calls the method with the command's arguments and converts the result, which must be of the type.
 * Returns 0, or an exit code after a line on the error stream.
 */
int ask(struct context *c, const char *method, json_type type, json_t **ret_json);
/* The same without a line and without the result: as zkleader_call() returns. */
int ask_raw(struct context *c, const char *method, const void **ret_result, size_t *ret_len);
/* Says on the error stream why ask_raw() failed; returns the exit code. */
int ask_failed(const struct context *c, int r);

#endif
