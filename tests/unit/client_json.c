#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/json.h"

#define BYTES(x) x, sizeof(x) - 1

static const struct {
	const char *data;
	size_t len;
	const char *json;
} cases[] = {
	{BYTES("\xc0"), "null"},
	{BYTES("\xc2"), "false"},
	{BYTES("\xc3"), "true"},
	{BYTES("\x2a"), "42"},
	{BYTES("\xff"), "-1"},
	{BYTES("\xd3\x80\x00\x00\x00\x00\x00\x00\x00"), "-9223372036854775808"},
	{BYTES("\xcf\x7f\xff\xff\xff\xff\xff\xff\xff"), "9223372036854775807"},
	{BYTES("\xcf\x80\x00\x00\x00\x00\x00\x00\x00"), "\"9223372036854775808\""},
	{BYTES("\xcf\xff\xff\xff\xff\xff\xff\xff\xff"), "\"18446744073709551615\""},
	{BYTES("\xcb\x3f\xf8\x00\x00\x00\x00\x00\x00"), "1.5"},
	{BYTES("\xcb\x7f\xf8\x00\x00\x00\x00\x00\x00"), "null"}, /* not a number */
	{BYTES("\xcb\x7f\xf0\x00\x00\x00\x00\x00\x00"), "null"}, /* infinity */
	{BYTES("\xa0"), "\"\""},
	{BYTES("\xa3g\xc3\xbc"), "\"g\\u00FC\""},
	{BYTES("\xa3g\xfc"
	       "x"),
	 "\"g\\uFFFDx\""},
	{BYTES("\xa4\xed\xa0\x80!"), "\"\\uFFFD\\uFFFD\\uFFFD!\""}, /* half a surrogate pair */
	{BYTES("\xa3\x1b[m"), "\"\\u001B[m\""},
	{BYTES("\xa2\xc2\x9b"), "\"\\u009B\""},
	{BYTES("\xa3"
	       "a\0b"),
	 "\"a\\u0000b\""},
	{BYTES("\xc4\x02xy"), "null"},
	{BYTES("\xd4\x05x"), "null"},
	{BYTES("\x90"), "[]"},
	{BYTES("\x92\x01\x91\x02"), "[1,[2]]"},
	{BYTES("\x80"), "{}"},
	{BYTES("\x83\xa1z\x01\xa1"
	       "a\x02\xa1m\x80"),
	 "{\"z\":1,\"a\":2,\"m\":{}}"},
	{BYTES("\x82\x07\x01\xff\x02"), "{\"7\":1,\"-1\":2}"},
	{BYTES("\x81\xa1\xff\x01"), "{\"\\uFFFD\":1}"},
	{BYTES("\x81\xa1\x00\x01"), "{\"\\u0000\":1}"},
};

Test(json, conversion)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *json = NULL;
		char *text;

		cr_assert_eq(json_from_msgpack(cases[i].data, cases[i].len, &json), 0, "case %zu",
			     i);
		text = json_dumps(json, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY);
		cr_expect_str_eq(text, cases[i].json, "case %zu: %s", i, text);
		free(text);
		json_decref(json);
	}
}

Test(json, what_is_no_object)
{
	static const struct {
		const char *data;
		size_t len;
	} bad[] = {
		{BYTES("")},
		{BYTES("\xc1")},
		{BYTES("\x91")},
		{BYTES("\xa5"
		       "abc")},
		{BYTES("\x01\x01")},		     /* two of them */
		{BYTES("\xdd\xff\xff\xff\xff\x01")}, /* an array that is not there */
		{BYTES("\x81\xc3\x01")},	     /* a bool as key */
		{BYTES("\x81\xa1k")},
		{BYTES("\x92\x91\x80\x91\xc1")},
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json_t *json = NULL;

		cr_expect_eq(json_from_msgpack(bad[i].data, bad[i].len, &json), -EBADMSG,
			     "case %zu", i);
		cr_expect_null(json);
	}
}

Test(json, depth_is_bounded)
{
	char data[64];
	json_t *json;

	memset(data, 0x91, sizeof(data));
	data[16] = 0x01;
	cr_assert_eq(json_from_msgpack(data, 17, &json), 0);
	json_decref(json);
	data[16] = (char)0x91;
	data[17] = 0x01;
	cr_expect_eq(json_from_msgpack(data, 18, &json), -EBADMSG);
	data[17] = (char)0x91;
	data[63] = 0x01;
	cr_expect_eq(json_from_msgpack(data, 64, &json), -EBADMSG);
}

Test(json, the_number_of_values_is_bounded)
{
	size_t n = JSON_VALUES_MAX; /* with the array itself one too many */
	unsigned char *data = malloc(n + 5);
	json_t *json;

	memset(data, 0xc0, n + 5);
	data[0] = 0xdd;
	data[1] = (unsigned char)(n >> 24);
	data[2] = (unsigned char)(n >> 16);
	data[3] = (unsigned char)(n >> 8);
	data[4] = (unsigned char)n;
	cr_expect_eq(json_from_msgpack(data, n + 5, &json), -E2BIG);
	for (size_t i = 4; data[i]-- == 0; i--)
		;
	cr_assert_eq(json_from_msgpack(data, n + 4, &json), 0);
	json_decref(json);
	free(data);
}

Test(json, getters_take_what_is_not_there)
{
	json_t *o = json_pack("{s:s, s:i, s:b, s:n}", "s", "x", "i", 7, "b", 1, "n");

	cr_expect_str_eq(json_text(o, "s", "-"), "x");
	cr_expect_str_eq(json_text(o, "i", "-"), "-");
	cr_expect_str_eq(json_text(o, "nothing", "-"), "-");
	cr_expect_null(json_text(NULL, "s", NULL));
	cr_expect_null(json_text(json_object_get(o, "s"), "s", NULL));
	cr_expect_eq(json_number(o, "i", 1), 7);
	cr_expect_eq(json_number(o, "s", 1), 1);
	cr_expect_eq(json_number(NULL, "s", 1), 1);
	cr_expect(json_flag(o, "b"));
	cr_expect(!json_flag(o, "n"));
	cr_expect(!json_flag(o, "i"));
	cr_expect(!json_flag(NULL, "b"));
	json_decref(o);
}

Test(json, the_output_of_a_command)
{
	static const struct {
		const char *text;
		size_t len;
		const char *lines;
	} outputs[] = {
		{"", 0, NULL},
		{"one\n", 4, "one"},
		{"one\n\ntwo", 8, "one\n\ntwo"},
		{"\n", 1, ""},
		{"a\0b\033[1mc\xc2\x85\n<d>\te\n\n", 18, "a\\x00b\\x1b[1mc\\xc2\\x85\n<d>\\te\n"},
	};

	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
		json_t *run = json_pack("{ss%}", "output", outputs[i].text, outputs[i].len);
		char *lines = json_output(run);

		if (outputs[i].lines)
			cr_expect_str_eq(lines ? lines : "none", outputs[i].lines, "case %zu", i);
		else
			cr_expect_null(lines);
		free(lines);
		json_decref(run);
	}
	cr_expect_null(json_output(json_null()));
}
