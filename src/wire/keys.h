/*
 * Records as tables of keys: the type of each key of a MessagePack map and its place in a struct.
 * One parser for all records, so that all refuse the same errors in the same words.
 */
#ifndef ZKLEADER_WIRE_KEYS_H
#define ZKLEADER_WIRE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/reader.h"

#define KEYS_MAX 32 /* of one record */

enum key_kind { KEY_TEXT, KEY_INT, KEY_BOOL, KEY_CUSTOM };

struct key {
	const char *name;
	enum key_kind kind;
	bool optional;
	size_t offset;
	size_t size;				      /* TEXT: of the array */
	bool (*is_good)(const char *, size_t);	      /* TEXT */
	int64_t min, max;			      /* INT: of an int64_t */
	int (*parse)(struct reader *r, void *record); /* CUSTOM: 0 or a negative errno */
	const char *missing;
	const char *repeated;
	const char *wrong;
};

/* Constant texts, so that an error can be kept and printed without being owned by anybody. */
#define KEY_WHY(key, text) \
	.missing = key ": missing", .repeated = key ": repeated", .wrong = key ": " text

/*
 * Parses one map of at most max bytes into the record. Unknown keys are skipped; a missing,
 * repeated or ill-formed one makes it -EBADMSG, and *ret_why a constant text that names the key and
 * what is wrong with it. The record may then be half filled.
 */
int keys_parse(const void *data, size_t len, size_t max, const struct key *keys, size_t n_keys,
	       void *record, const char **ret_why);
/* An integer within these bounds: 0 or a negative errno. */
int keys_parse_int(struct reader *r, int64_t min, int64_t max, int64_t *ret_value);

#endif
