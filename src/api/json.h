/* Answers of the sidecar as JSON: a bounded converter, and getters for the tables. */
#ifndef ZKLEADER_API_JSON_H
#define ZKLEADER_API_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define JSON_VALUES_MAX 4000000 /* values in one answer, without keys; some 300 MB at worst */

/*
 * Converts one whole MessagePack object. Order of keys is kept. An integer above INT64_MAX becomes
 * a string of its digits, since a number would be wrong; a float that JSON cannot express, and an
 * ext, become null; invalid UTF-8 becomes U+FFFD; a key that is an integer becomes a string.
 * Returns 0, -EBADMSG for an invalid object (or another kind of key), -E2BIG beyond
 * JSON_VALUES_MAX.
 */
int json_from_msgpack(const void *data, size_t len, json_t **ret_json);

/* A value of an object by its key; the fallback if it is missing or of another type. */
const char *json_text(const json_t *object, const char *key, const char *fallback);
int64_t json_number(const json_t *object, const char *key, int64_t fallback);
/* A worker's name: the first known of its node's name, its hostname, its id and "-". */
const char *json_worker_name(const json_t *worker);
bool json_flag(const json_t *object, const char *key);
/*
 * The output of a command, from its run or job: lines without anything that could
 * control a terminal or a page, and no newline at its end. Owned; NULL: there is none.
 */
char *json_output(const json_t *run);

#endif
