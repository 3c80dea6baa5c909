/* Clients in memory: what they are answered and told is kept, and read by the test. */
#ifndef ZKLEADER_TEST_CONTROL_PEER_H
#define ZKLEADER_TEST_CONTROL_PEER_H

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "control/ask/peer.h"
#include "wire/pack.h"
#include "wire/reader.h"
#include "wire/rpc.h"

#define PEERS 3

static struct client {
	struct peer peer; /* the first */
	bool stranger;	  /* it may not change anything */
	bool full;	  /* there is no room for a long answer */
	bool dropped;
	size_t n_put_off;
	struct buffer sent; /* the last message */
	struct pack packed;
	size_t n_results, n_errors, n_told; /* since forget_answers() */
	uint32_t msgid;			    /* of the last answer */
	enum rpc_code code;		    /* of the last error */
	char error[1200];
} clients[PEERS];
static struct peer *const alice = &clients[0].peer, *const bob = &clients[1].peer;

static inline struct client *client_of(const struct peer *c)
{
	cr_assert_not_null(c, "one that is gone is told something");
	return &clients[(const struct client *)c - clients];
}

struct pack *peer_begin(struct peer *c)
{
	struct client *to = client_of(c);

	cr_assert_not(to->dropped, "one that was dropped is told something");
	if (!to->sent.limit)
		buffer_init(&to->sent, 1 << 20);
	buffer_clear(&to->sent);
	pack_init(&to->packed, &to->sent);
	return &to->packed;
}

void peer_end(struct peer *c, int64_t msgid)
{
	struct client *to = client_of(c);
	size_t len;

	cr_assert_eq(to->packed.failed, 0);
	cr_assert_eq(reader_measure(to->sent.data, to->sent.len, to->sent.limit, &len), 1,
		     "it is not whole");
	cr_assert_eq(len, to->sent.len, "something is left behind it");
	if (msgid == PEER_NOTIFICATION) {
		to->n_told++;
		return;
	}
	to->msgid = (uint32_t)msgid;
	to->n_results++;
}

void peer_error(struct peer *c, uint32_t msgid, enum rpc_code code, const char *message)
{
	struct client *to = client_of(c);

	to->n_errors++;
	to->msgid = msgid;
	to->code = code;
	snprintf(to->error, sizeof(to->error), "%s", message);
}

void peer_drop(struct peer *c)
{
	client_of(c)->dropped = true;
}

void peer_put_off(struct peer *c)
{
	client_of(c)->n_put_off++;
}

bool peer_may_change(const struct peer *c)
{
	return !client_of(c)->stranger;
}

bool peer_has_room(struct peer *c)
{
	return !client_of(c)->full;
}

bool peer_takes_more(const struct peer *c)
{
	return c != NULL;
}

struct pack *peer_begin_notification(struct peer *c, const char *method)
{
	struct pack *p = peer_begin(c);

	rpc_pack_notify(p, method);
	return p;
}

bool peer_may_wait(const struct peer *c)
{
	return c != NULL;
}

bool peer_may_subscribe(const struct peer *c, size_t n)
{
	return c != NULL && n < 1000;
}

/* --- what was answered ---------------------------------------------------------------------------------- */

static inline struct reader result_of(const struct peer *c)
{
	const struct client *to = client_of(c);
	struct rpc_message m;

	cr_assert_gt(to->n_results, 0, "there is no result, but: %s", to->error);
	cr_assert_eq(rpc_parse(to->sent.data, to->sent.len, &m), 0);
	cr_assert(!m.failed);
	return m.result;
}

/* The value of a key of the map. */
static inline struct reader value_of(struct reader map, const char *key)
{
	size_t n;

	cr_assert_eq(reader_map(&map, &n), 0);
	for (size_t i = 0; i < n; i++) {
		struct reader_text name;
		cr_assert_eq(reader_str(&map, &name), 0);
		if (reader_text_is(name, key))
			return map;
		cr_assert_eq(reader_skip(&map), 0);
	}
	cr_assert_fail("there is no %s", key);
	return map;
}

static inline bool flag_of(struct reader map, const char *key)
{
	struct reader r = value_of(map, key);
	bool value;

	cr_assert_eq(reader_bool(&r, &value), 0);
	return value;
}

static inline int64_t number_of(struct reader map, const char *key)
{
	struct reader r = value_of(map, key);
	int64_t value;

	cr_assert_eq(reader_int(&r, &value), 0);
	return value;
}

static inline bool text_is(struct reader map, const char *key, const char *text)
{
	struct reader r = value_of(map, key);
	struct reader_text value;

	cr_assert_eq(reader_str(&r, &value), 0);
	return reader_text_is(value, text);
}

static inline bool text_begins(struct reader map, const char *key, const char *text)
{
	struct reader r = value_of(map, key);
	struct reader_text value;

	cr_assert_eq(reader_str(&r, &value), 0);
	return value.len >= strlen(text) && memcmp(value.data, text, strlen(text)) == 0;
}

static inline size_t length_of(struct reader map, const char *key)
{
	struct reader r = value_of(map, key);
	size_t n;

	cr_assert_eq(reader_array(&r, &n), 0);
	return n;
}

/* Nothing was answered since the last look, nor is there a result or an error to read. */
static inline void forget_answers(struct peer *c)
{
	struct client *to = client_of(c);

	to->n_results = to->n_errors = to->n_told = 0;
	to->error[0] = '\0';
}

#define is_refused(c, with, text) peer_is_refused((c), (with), (text), __LINE__)
static inline void peer_is_refused(struct peer *c, enum rpc_code code, const char *text, int line)
{
	const struct client *to = client_of(c);

	cr_expect_eq(to->n_errors, 1, "line %d: %zu errors", line, to->n_errors);
	cr_expect_eq(to->code, code, "line %d: code %d", line, (int)to->code);
	cr_expect_not_null(strstr(to->error, text), "line %d: %s", line, to->error);
	forget_answers(c);
}

#define waits(c) \
	cr_expect((c)->parked == 1 && client_of(c)->n_results + client_of(c)->n_errors == 0)
#define is_free(c) cr_expect((c)->parked == 0 && (c)->asking == 0 && (c)->held == 0)

#endif
