/* Writing MessagePack into a bounded buffer, on msgpack-c's packer. */
#ifndef ZKLEADER_WIRE_PACK_H
#define ZKLEADER_WIRE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* failed stays set once the buffer took no more: write everything, look at it once. */
struct pack {
	struct buffer *buffer;
	int failed; /* 0, -EMSGSIZE at the buffer's limit, or -ENOMEM: see base/buffer.h */
};

void pack_init(struct pack *p, struct buffer *buffer);
void pack_array(struct pack *p, size_t n);
void pack_map(struct pack *p, size_t n);
/*
 * Opens a map whose pairs need not be counted: closing it counts what was packed since. The bytes
 * are those of pack_map().
 */
size_t pack_open(struct pack *p);
void pack_close(struct pack *p, size_t opened);
void pack_nil(struct pack *p);
void pack_bool(struct pack *p, bool value);
void pack_int(struct pack *p, int64_t value);
void pack_uint(struct pack *p, uint64_t value);
void pack_str(struct pack *p, const char *text); /* NULL: nil; what is no UTF-8 is replaced */
void pack_strn(struct pack *p, const char *text, size_t len);
void pack_bin(struct pack *p, const void *data, size_t len);
/* Whole objects that were packed elsewhere. */
void pack_raw(struct pack *p, const void *data, size_t len);
/* A key and its value, for maps. */
void pack_kv_nil(struct pack *p, const char *key);
void pack_kv_bool(struct pack *p, const char *key, bool value);
void pack_kv_int(struct pack *p, const char *key, int64_t value);
void pack_kv_uint(struct pack *p, const char *key, uint64_t value);
void pack_kv_str(struct pack *p, const char *key, const char *text);
/* nil for "". */
void pack_kv_text(struct pack *p, const char *key, const char *text);
/* nil for NULL. */
void pack_kv_strn(struct pack *p, const char *key, const char *text, size_t len);
/* nil unless it is known. */
void pack_kv_known(struct pack *p, const char *key, bool known, int64_t value);
/* A time as RFC 3339, nil for 0. */
void pack_kv_time(struct pack *p, const char *key, int64_t wall_ms);
void pack_kv_bin(struct pack *p, const char *key, const void *data, size_t len);

#endif
