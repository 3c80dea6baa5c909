/* What the sidecar sent, as JSON: one bounded converter and the getters for the tables. */
#ifndef ZKLEADER_CLIENT_JSON_H
#define ZKLEADER_CLIENT_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define JSON_VALUES_MAX 4000000 /* of one answer, keys not counted; some 300 MB at worst */

/*
 * Converts one whole MessagePack object. Order of keys is kept. An integer above INT64_MAX becomes
 * a string of its digits, since a number would be wrong; a float that JSON does not have, and an
 * ext, become null; bytes that are no UTF-8 become U+FFFD; a key that is an integer becomes a
 * string. Returns 0, -EBADMSG for what is no such object (or has another kind of key), -E2BIG
 * beyond JSON_VALUES_MAX.
 */
int json_from_msgpack(const void *data, size_t len, json_t **ret_json);

/* A value of an object by its key; what is missing or of another type gives the fallback. */
const char *json_text(const json_t *object, const char *key, const char *fallback);
int64_t json_number(const json_t *object, const char *key, int64_t fallback);
/* What to call a worker: its node's name, its hostname, its id or "-", the first that is known. */
const char *json_worker_name(const json_t *worker);
bool json_flag(const json_t *object, const char *key);

#endif
