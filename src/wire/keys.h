/*
 * Records as tables of keys: the type of each key of a MessagePack map, its place in a struct, and
 * when it is written. One parser and one writer for all records, so that all refuse the same errors
 * in the same words, and none is written otherwise than it is read.
 */
#ifndef ZKLEADER_WIRE_KEYS_H
#define ZKLEADER_WIRE_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "wire/pack.h"
#include "wire/reader.h"

#define KEYS_MAX 32 /* keys of one record */

enum key_kind {
	KEY_TEXT,     /* char [size] */
	KEY_SHOWN,    /* char [size] for people: made printable and cut */
	KEY_BORROWED, /* struct reader_text, which points into what is read; only read */
	KEY_STRING,   /* const char *, only written; NULL: nil */
	KEY_INT,      /* int64_t */
	KEY_UINT,     /* uint64_t */
	KEY_BOOL,
	KEY_BYTES, /* const char *, borrowed, and their number, a size_t */
	KEY_CUSTOM
};

enum key_need {
	KEY_REQUIRED, /* a record without it is bad */
	KEY_ALWAYS,   /* always written, but a record may lack it */
	KEY_OPTIONAL, /* written where is_there() says so, or without that where it is not empty */
};

struct key {
	const char *name;
	enum key_kind kind;
	enum key_need need;
	size_t offset;
	size_t size;			       /* TEXT, SHOWN: of the array; BYTES: most of them */
	size_t count;			       /* BYTES and CUSTOM: offset of a size_t, 0: empty */
	bool (*is_good)(const char *, size_t); /* TEXT */
	const char *const *words;	       /* TEXT: or one of these, up to NULL */
	int64_t min, max;		       /* INT */
	int64_t none; /* INT: one that is not there; the others are greater */
	int (*parse)(struct reader *r, void *at); /* CUSTOM: 0 or a negative errno; at the offset */
	void (*pack)(struct pack *p, const void *record); /* CUSTOM: exactly one value */
	bool (*is_there)(const void *record);
	bool nil; /* read: nil leaves the member alone; written: nil where is_there() is false */
	const char *missing;
	const char *repeated;
	const char *wrong;
};

/* A record: all of its keys, in the order in which they are written. */
struct keys {
	const struct key *keys;
	size_t n;
	size_t size;				   /* size of the struct */
	size_t max;				   /* bytes of a record */
	const char *(*misfit)(const void *record); /* why its parts do not fit each other; NULL */
};

/* Constant texts, so that an error can be kept and printed without being owned by anybody. */
#define KEY_WHY(key, text) \
	.missing = key ": missing", .repeated = key ": repeated", .wrong = key ": " text

/* A key that is named like its member of the struct. More designators may follow. */
#define KEY(type, key, is_kind, is_needed) \
	.name = #key, .offset = offsetof(struct type, key), .kind = (is_kind), .need = (is_needed)
#define KEY_SIZE(type, key) sizeof(((struct type *)NULL)->key)
#define TEXT_KEY(type, key, need, check, why, ...)                                               \
	{                                                                                        \
		KEY(type, key, KEY_TEXT, need), .size = KEY_SIZE(type, key), .is_good = (check), \
						KEY_WHY(#key, why), __VA_ARGS__                  \
	}
#define WORD_KEY(type, key, need, list, why)                                                  \
	{                                                                                     \
		KEY(type, key, KEY_TEXT, need), .size = KEY_SIZE(type, key), .words = (list), \
						KEY_WHY(#key, why)                            \
	}
#define INT_KEY(type, key, need, least, most, why, ...)                                           \
	{                                                                                         \
		KEY(type, key, KEY_INT, need), .min = (least), .max = (most), KEY_WHY(#key, why), \
					       __VA_ARGS__                                        \
	}
#define BOOL_KEY(type, key, need)                                                  \
	{                                                                          \
		KEY(type, key, KEY_BOOL, need), KEY_WHY(#key, "not true or false") \
	}
/* A key of bytes. The struct also has a member KEY_len. */
#define BYTES_KEY(type, key, need, most, why, ...)                                          \
	{                                                                                   \
		KEY(type, key, KEY_BYTES, need), .size = (most),                            \
						 .count = offsetof(struct type, key##_len), \
						 KEY_WHY(#key, why), __VA_ARGS__            \
	}
#define CUSTOM_KEY(key, is_needed, parser, packer, why, ...)                               \
	{                                                                                  \
		.name = (key), .kind = KEY_CUSTOM, .need = (is_needed), .parse = (parser), \
		.pack = (packer), KEY_WHY(key, why), __VA_ARGS__                           \
	}
/* A key of a message: its errors have no words, and its name may differ from its member's. */
#define MESSAGE_KEY(key, type, member, is_kind, is_needed, ...)                          \
	{                                                                                \
		.name = (key), .kind = (is_kind), .need = (is_needed),                   \
		.offset = offsetof(struct type, member), .size = KEY_SIZE(type, member), \
		__VA_ARGS__                                                              \
	}
#define KEYS(table, type, most, ...)                                      \
	{                                                                 \
		.keys = (table), .n = sizeof(table) / sizeof((table)[0]), \
		.size = sizeof(struct type), .max = (most), __VA_ARGS__   \
	}

/*
 * Parses one map into the record, which is zeroed. Unknown keys are skipped; a missing, repeated or
 * ill-formed one makes it -EBADMSG, and *ret_why a constant text that names the key and what is
 * wrong with it. The record may then be half filled.
 */
int keys_parse(const void *data, size_t len, const struct keys *keys, void *record,
	       const char **ret_why);
/* The same, but a failure leaves the record unchanged. */
int keys_read(const void *data, size_t len, const struct keys *keys, void *ret_record,
	      const char **ret_why);
/*
 * Parses the map that the reader stands at, into a record with its defaults, and passes over it: 0
 * or a negative errno.
 */
int keys_take(struct reader *r, const struct keys *keys, void *record);
/* Packs the record as one map. */
void keys_pack(struct pack *p, const struct keys *keys, const void *record);
/* Appends the record to out: 0, or -ENOBUFS and nothing is appended. */
int keys_write(struct buffer *out, const struct keys *keys, const void *record);
/*
 * The functions of a kind of record, for its header: record_pack_NAME() as keys_write(), and
 * record_parse_NAME() as keys_read().
 */
#define RECORD_DECLARE(name, type)                                                     \
	int record_pack_##name(struct buffer *out, const struct type *record);         \
	int record_parse_##name(const void *data, size_t len, struct type *ret_record, \
				const char **ret_why)
/* The same for its file, with the table of its keys and the most bytes of a record. */
#define RECORD_DEFINE(name, type, table, ...)                                          \
	static const struct keys name##_form = KEYS(table, type, __VA_ARGS__);         \
	int record_pack_##name(struct buffer *out, const struct type *record)          \
	{                                                                              \
		return keys_write(out, &name##_form, record);                          \
	}                                                                              \
	int record_parse_##name(const void *data, size_t len, struct type *ret_record, \
				const char **ret_why)                                  \
	{                                                                              \
		return keys_read(data, len, &name##_form, ret_record, ret_why);        \
	}
/* An integer within these bounds: 0 or a negative errno. */
int keys_parse_int(struct reader *r, int64_t min, int64_t max, int64_t *ret_value);
/* A string that is good and short enough: 0 or a negative errno. */
int keys_parse_text(struct reader *r, bool (*is_good)(const char *, size_t), char *text,
		    size_t size);

#endif
