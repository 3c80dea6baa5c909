#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "wire/rpc.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define RAW(text)    text, sizeof(text) - 1
/* Headers of short strings, apart from the text so that no letter joins their digits. */
#define S1 "\xa1"
#define S4 "\xa4"
#define S7 "\xa7"

/* Parses a copy of exactly len bytes, which the sanitizer guards; it lives as long as *frame. */
static int parse(const char *data, size_t len, char **frame, struct rpc_message *m)
{
	*frame = mem_alloc(len);
	if (len > 0)
		memcpy(*frame, data, len);
	return rpc_parse(*frame, len, m);
}

static size_t left(const struct reader *r)
{
	return (size_t)(r->end - r->p);
}

/* --- there and back --------------------------------------------------------------------------- */

Test(rpc, request)
{
	static const uint32_t msgids[] = {0, 1, 127, 128, 65536, UINT32_MAX};

	for (size_t i = 0; i < COUNT(msgids); i++) {
		struct reader_text text;
		struct rpc_message m;
		struct buffer b;
		struct pack p;
		size_t len;

		buffer_init(&b, 1000);
		pack_init(&p, &b);
		rpc_pack_request(&p, msgids[i], "check", 2);
		pack_str(&p, "nightly-report");
		pack_nil(&p);
		cr_assert_not(p.failed < 0);
		cr_assert_eq(reader_measure(b.data, b.len, RPC_REQUEST_MAX, &len), 1);
		cr_assert_eq(len, b.len);
		cr_assert_eq(rpc_parse(b.data, b.len, &m), 0);
		cr_assert_eq(m.type, RPC_REQUEST);
		cr_assert_eq(m.msgid, msgids[i]);
		cr_assert(reader_text_is(m.method, "check"));
		cr_assert_eq(m.n_params, 2);
		cr_assert_eq(reader_str(&m.params, &text), 0);
		cr_assert(reader_text_is(text, "nightly-report"));
		cr_assert_eq(reader_nil(&m.params), 0);
		cr_assert_eq(left(&m.params), 0);
		buffer_done(&b);
	}
}

Test(rpc, request_without_params)
{
	struct rpc_message m;
	struct buffer b;
	struct pack p;

	buffer_init(&b, 1000);
	pack_init(&p, &b);
	rpc_pack_request(&p, 7, "workers", 0);
	cr_assert_eq(rpc_parse(b.data, b.len, &m), 0);
	cr_assert_eq(m.n_params, 0);
	cr_assert_eq(left(&m.params), 0);
	buffer_done(&b);
}

Test(rpc, result)
{
	struct rpc_message m;
	struct buffer b;
	struct pack p;
	int64_t value;
	size_t n;

	buffer_init(&b, 1000);
	pack_init(&p, &b);
	rpc_pack_result(&p, 9);
	pack_array(&p, 2);
	pack_int(&p, 1);
	pack_int(&p, -2);
	cr_assert_eq(rpc_parse(b.data, b.len, &m), 0);
	cr_assert_eq(m.type, RPC_RESPONSE);
	cr_assert_eq(m.msgid, 9);
	cr_assert_not(m.failed);
	cr_assert_eq(left(&m.error), 1);
	cr_assert_eq(reader_nil(&m.error), 0);
	cr_assert_eq(reader_array(&m.result, &n), 0);
	cr_assert_eq(n, 2);
	cr_assert_eq(reader_int(&m.result, &value), 0);
	cr_assert_eq(value, 1);
	cr_assert_eq(reader_int(&m.result, &value), 0);
	cr_assert_eq(value, -2);
	cr_assert_eq(left(&m.result), 0);
	buffer_done(&b);
}

Test(rpc, notification)
{
	struct rpc_message m;
	struct buffer b;
	struct pack p;
	size_t n;

	buffer_init(&b, 1000);
	pack_init(&p, &b);
	rpc_pack_notify(&p, "leadership");
	pack_map(&p, 1);
	pack_kv_str(&p, "task", "a");
	cr_assert_eq(rpc_parse(b.data, b.len, &m), 0);
	cr_assert_eq(m.type, RPC_NOTIFY);
	cr_assert(reader_text_is(m.method, "leadership"));
	cr_assert_eq(m.n_params, 1);
	cr_assert_eq(reader_map(&m.params, &n), 0);
	cr_assert_eq(n, 1);
	buffer_done(&b);
}

Test(rpc, error)
{
	static const enum rpc_code codes[] = {RPC_NOT_LEADER, RPC_CANNOT_TELL, RPC_MISUSE,
					      RPC_NOBODY};

	for (size_t i = 0; i < COUNT(codes); i++) {
		struct reader_text message;
		struct rpc_message m;
		struct buffer b;
		struct pack p;
		int code;

		buffer_init(&b, 1000);
		pack_init(&p, &b);
		rpc_pack_error(&p, 5, codes[i], "no such task");
		cr_assert_eq(rpc_parse(b.data, b.len, &m), 0);
		cr_assert_eq(m.type, RPC_RESPONSE);
		cr_assert_eq(m.msgid, 5);
		cr_assert(m.failed);
		cr_assert_eq(reader_nil(&m.result), 0);
		cr_assert_eq(rpc_parse_error(m.error, &code, &message), 0);
		cr_assert_eq(code, (int)codes[i]);
		cr_assert(reader_text_is(message, "no such task"));
		buffer_done(&b);
	}
}

/* --- other people's messages ------------------------------------------------------------------ */

static const struct {
	int result;
	const char *data;
	size_t len;
} frames[] = {
	/* Requests. */
	{0, RAW("\x94\x00\x01\xa1m\x90")},
	{0, RAW("\xdc\x00\x04\xcc\x00\xd1\x00\x01\xd9\x01m\xdc\x00\x00")}, /* wide forms */
	{0, RAW("\x94\x00\xce\xff\xff\xff\xff\xa1m\x91\x90")},
	{0, RAW("\x94\x00\x01\xa0\x90")}, /* an unknown method, not a malformed message */
	{-EBADMSG, RAW("\x94\x00\xcf\x00\x00\x00\x01\x00\x00\x00\x00\xa1m\x90")},
	{-EBADMSG, RAW("\x94\x00\xff\xa1m\x90")},
	{-EBADMSG, RAW("\x94\x00\xc0\xa1m\x90")},
	{-EBADMSG, RAW("\x94\x00\xa1\x31\xa1m\x90")},
	{-EBADMSG, RAW("\x94\x00\xca\x00\x00\x00\x00\xa1m\x90")},
	{-EBADMSG, RAW("\x94\x00\x01\xc4\x01m\x90")},
	{-EBADMSG, RAW("\x94\x00\x01\x01\x90")},
	{-EBADMSG, RAW("\x94\x00\x01\xc0\x90")},
	{-EBADMSG, RAW("\x94\x00\x01\xa1m\x80")},
	{-EBADMSG, RAW("\x94\x00\x01\xa1m\xc0")},
	{-EBADMSG, RAW("\x94\x00\x01\xa1m\xa0")},
	{-EBADMSG, RAW("\x94\x00\x01\xa1m\x92\x01")},
	{-EBADMSG, RAW("\x94\x00\x01\xa1m\x91\xc1")},
	{-EBADMSG, RAW("\x93\x00\x01\xa1m")},
	{-EBADMSG, RAW("\x93\x00\xa1m\x90")},
	{-EBADMSG, RAW("\x95\x00\x01\xa1m\x90\xc0")},
	{-EBADMSG, RAW("\x94\x00\x01\xa1m\x90\xc0")},
	/* Responses. */
	{0, RAW("\x94\x01\x01\xc0\xc0")},
	{0, RAW("\x94\x01\x01\x80\xc0")},
	{0, RAW("\x94\x01\x01\xa1x\x92\x01\x02")},
	{-EBADMSG, RAW("\x93\x01\x01\xc0")},
	{-EBADMSG, RAW("\x94\x01\xff\xc0\xc0")},
	{-EBADMSG, RAW("\x94\x01\x01\xc1\xc0")},
	{-EBADMSG, RAW("\x94\x01\x01\xc0\xc1")},
	{-EBADMSG, RAW("\x94\x01\x01\xc0\x91")},
	{-EBADMSG, RAW("\x94\x01\x01\xc0\xc0\xc0")},
	/* Notifications. */
	{0, RAW("\x93\x02\xa1m\x90")},
	{0, RAW("\x93\x02\xa1m\x92\x01\x02")},
	{-EBADMSG, RAW("\x94\x02\xa1m\x90\xc0")},
	{-EBADMSG, RAW("\x94\x02\x01\xa1m\x90")},
	{-EBADMSG, RAW("\x93\x02\x01\x90")},
	{-EBADMSG, RAW("\x93\x02\xa1m\xc0")},
	/* Nothing of that. */
	{-EBADMSG, RAW("\x94\x03\x01\xa1m\x90")},
	{-EBADMSG, RAW("\x93\x03\xa1m\x90")},
	{-EBADMSG, RAW("\x94\xff\x01\xa1m\x90")},
	{-EBADMSG, RAW("\x94\xc0\x01\xa1m\x90")},
	{-EBADMSG, RAW("\x94\xce\xff\xff\xff\xff\x01\xa1m\x90")},
	{-EBADMSG, RAW("\x94\xcf\x00\x00\x00\x01\x00\x00\x00\x00\x01\xa1m\x90")},
	{-EBADMSG, RAW("\x90")},
	{-EBADMSG, RAW("\x84\x00\x01\xa1m\x90\x00\x00\x00")},
	{-EBADMSG, RAW("\xc0")},
	{-EBADMSG, RAW("G")},
	{-EBADMSG, RAW("\xc1")},
	{-EBADMSG, RAW("")},
};

Test(rpc, frames)
{
	for (size_t i = 0; i < COUNT(frames); i++) {
		mem_auto char *frame = NULL;
		struct rpc_message m;
		struct rpc_message before;
		int e;

		memset(&m, 0x55, sizeof(m));
		before = m;
		e = parse(frames[i].data, frames[i].len, &frame, &m);
		cr_assert_eq(e, frames[i].result, "case %zu: %d", i, e);
		if (e < 0)
			cr_assert_eq(memcmp(&m, &before, sizeof(m)), 0, "touched on failure");
	}
}

Test(rpc, wide_forms)
{
	mem_auto char *frame = NULL;
	struct rpc_message m;

	cr_assert_eq(
		parse(RAW("\xdc\x00\x04\xcc\x00\xd1\x00\x2a\xd9\x01m\xdc\x00\x01\x07"), &frame, &m),
		0);
	cr_assert_eq(m.type, RPC_REQUEST);
	cr_assert_eq(m.msgid, 42);
	cr_assert(reader_text_is(m.method, "m"));
	cr_assert_eq(m.n_params, 1);
	cr_assert_eq(left(&m.params), 1);
}

Test(rpc, method_length)
{
	for (size_t len = 0; len < 100; len++) {
		char method[101] = "";
		struct rpc_message m;
		struct buffer b;
		struct pack p;

		memset(method, 'm', len);
		buffer_init(&b, 1000);
		pack_init(&p, &b);
		rpc_pack_request(&p, 1, method, 0);
		cr_assert_eq(rpc_parse(b.data, b.len, &m), len <= RPC_METHOD_MAX ? 0 : -EBADMSG);
		buffer_clear(&b);
		rpc_pack_notify(&p, method);
		pack_map(&p, 0);
		cr_assert_eq(rpc_parse(b.data, b.len, &m), len <= RPC_METHOD_MAX ? 0 : -EBADMSG);
		buffer_done(&b);
	}
}

/* Cut anywhere and with each byte changed: never more than an error. */
Test(rpc, broken_frames)
{
	struct buffer b;
	struct pack p;

	buffer_init(&b, 1000);
	pack_init(&p, &b);
	rpc_pack_error(&p, 500, RPC_MISUSE, "no such task");
	for (size_t n = 0; n < b.len; n++) {
		mem_auto char *frame = NULL;
		struct rpc_message m;

		cr_assert_eq(parse((const char *)b.data, n, &frame, &m), -EBADMSG);
	}
	for (size_t n = 0; n < b.len; n++) {
		uint8_t was = b.data[n];

		for (unsigned c = 0; c < 256; c++) {
			mem_auto char *frame = NULL;
			struct reader_text text;
			struct rpc_message m;
			int code = 0;

			b.data[n] = (uint8_t)c;
			if (parse((const char *)b.data, b.len, &frame, &m) == 0 &&
			    m.type == RPC_RESPONSE && m.failed &&
			    rpc_parse_error(m.error, &code, &text) == 0)
				cr_assert(code > 0);
		}
		b.data[n] = was;
	}
	buffer_done(&b);
}

/* --- errors ----------------------------------------------------------------------------------- */

Test(rpc, error_maps)
{
	static const struct {
		int code; /* 0: not an error map */
		const char *data;
		size_t len;
	} cases[] = {
		{3, RAW("\x82" S4 "code\x03" S7 "message\xa1x")},
		{3, RAW("\x82" S7 "message\xa1x" S4 "code\x03")},
		{255, RAW("\x82" S4 "code\xcc\xff" S7 "message\xa0")},
		{1, RAW("\x85" S1 "a\x80" S4 "code\x01\x07\x08" S7 "message\xa1x\xc0\x91\xc0")},
		/* 0 would be "leads". */
		{0, RAW("\x82" S4 "code\x00" S7 "message\xa1x")},
		{0, RAW("\x82" S4 "code\xff" S7 "message\xa1x")},
		{0, RAW("\x82" S4 "code\xcd\x01\x00" S7 "message\xa1x")},
		{0, RAW("\x82" S4 "code\xcf\xff\xff\xff\xff\xff\xff\xff\xff" S7 "message\xa1x")},
		{0, RAW("\x82" S4 "code\xa1\x33" S7 "message\xa1x")},
		{0, RAW("\x82" S4 "code\xc0" S7 "message\xa1x")},
		{0, RAW("\x82" S4 "code\x03" S7 "message\xc0")},
		{0, RAW("\x82" S4 "code\x03" S7 "message\xc4\x01x")},
		{0, RAW("\x81" S4 "code\x03")},
		{0, RAW("\x81" S7 "message\xa1x")},
		{0, RAW("\x83" S4 "code\x03" S7 "message\xa1x" S4 "code\x03")},
		{0, RAW("\x83" S4 "code\x03" S7 "message\xa1x" S7 "message\xa1x")},
		{0, RAW("\x82" S4 "code\x03" S7 "message\xa1x\xc0")},
		{0, RAW("\x82" S4 "code\x03" S7 "message\xa2x")},
		{0, RAW("\x82" S4 "code\x03" S7 "message")},
		{0, RAW("\x82" S4 "code\x03")},
		{0, RAW("\x82" S4 "code")},
		{0, RAW("\x82\xc1\x03" S4 "code")},
		{0, RAW("\x80")},
		{0, RAW("\x90")},
		{0, RAW("\xc0")},
		{0, RAW(S4 "code")},
		{0, RAW("")},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		mem_auto char *exact = mem_alloc(cases[i].len);
		struct reader_text message = {NULL, 77};
		struct reader r;
		int code = -77;
		int e;

		if (cases[i].len > 0)
			memcpy(exact, cases[i].data, cases[i].len);
		reader_init(&r, exact, cases[i].len);
		e = rpc_parse_error(r, &code, &message);
		cr_assert_eq(e, cases[i].code > 0 ? 0 : -EBADMSG, "case %zu: %d", i, e);
		cr_assert_eq(code, cases[i].code > 0 ? cases[i].code : -77, "case %zu", i);
		cr_assert_eq(message.len == 77, cases[i].code == 0, "case %zu", i);
	}
}
