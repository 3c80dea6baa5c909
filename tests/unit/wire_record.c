#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/pack.h"
#include "wire/records/record.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* A value as its bytes on the wire. */
#define RAW(text) text, sizeof(text) - 1
/* Headers of short strings, apart from the text so that no letter joins their digits. */
#define S1	    "\xa1"
#define S2	    "\xa2"
#define S3	    "\xa3"
#define S5	    "\xa5"
#define S8	    "\xa8"
#define UUID	    "3f1c2a9e-8f6e-4c4b-9b7d-1f0a2b3c4d5e"

#define BAD_ID	    "not a string of 1 to 64 letters, digits and hyphens"
#define BAD_VERSION "not a string of 1 to 255 printable ASCII characters, no space at its ends"
#define BAD_HOST    "not a string of 1 to 255 printable ASCII characters"
#define BAD_IP	    "not a string with an IPv4 or IPv6 address"
#define BAD_RANDOM  "random_ints: not an array of 5 int32"
#define BAD_TASKS   "tasks: not an array of at most 10000 task names"
#define BAD_STARTED "started_at: not milliseconds since the epoch, before the year 10000"
#define BAD_SINCE   "since: not milliseconds since the epoch, before the year 10000"
#define BAD_TIMEOUT "timeout_ms: not milliseconds from 0 to 2147483647"

/* --- records with one thing wrong ------------------------------------------------------------- */

struct pair {
	const char *key;
	const char *value; /* packed */
	size_t len;
};

static const struct pair worker_pairs[] = {
	{"id", RAW("\xd9\x24" UUID)},
	{"version", RAW(S3 "1.2")},
	{"ip", RAW(S8 "10.0.0.1")},
	{"random_ints", RAW("\x95\x01\xff\xd2\x80\x00\x00\x00\xce\x7f\xff\xff\xff\x00")},
	{"hostname", RAW(S5 "app-1")},
	{"tasks", RAW("\x92" S1 "b" S1 "a")},
	{"started_at", RAW("\xcf\x00\x00\x01\xa1\xf6\x60\x59\x00")},
};

static const struct pair leader_pairs[] = {
	{"id", RAW("\xd9\x24" UUID)},
	{"ip", RAW("\xa3::1")},
	{"hostname", RAW(S5 "app-1")},
	{"version", RAW(S3 "1.2")},
	{"since", RAW("\xcf\x00\x00\x01\xa1\xf6\x60\x59\x00")},
};

/* Either kind of record, parsed the same way. */
struct form {
	const char *name;
	const struct pair *pairs;
	size_t n_pairs;
	size_t max;
	int (*parse)(const struct buffer *b, const char **ret_why);
};

/* The exact bytes on the heap, so that the sanitizer sees a step beyond them. */
static int parse_worker(const struct buffer *b, const char **ret_why)
{
	mem_auto uint8_t *exact = mem_alloc(b->len);
	struct worker *w = NULL;
	int e;

	if (b->len > 0)
		memcpy(exact, b->data, b->len);
	e = record_parse_worker(exact, b->len, &w, ret_why);
	cr_assert_eq(e == 0, w != NULL);
	worker_free(w);
	return e;
}

static int parse_leader(const struct buffer *b, const char **ret_why)
{
	static const struct leader_record zeros;
	mem_auto uint8_t *exact = mem_alloc(b->len);
	struct leader_record l = {0};
	int e;

	if (b->len > 0)
		memcpy(exact, b->data, b->len);
	e = record_parse_leader(exact, b->len, &l, ret_why);
	if (e < 0)
		cr_assert_eq(memcmp(&l, &zeros, sizeof(l)), 0, "touched on failure");
	return e;
}

static const struct form forms[] = {
	{"worker", worker_pairs, COUNT(worker_pairs), RECORD_WORKER_MAX, parse_worker},
	{"leader", leader_pairs, COUNT(leader_pairs), RECORD_LEADER_MAX, parse_leader},
};

static void add_pair(struct pack *p, const struct pair *pair)
{
	pack_str(p, pair->key);
	cr_assert_eq(buffer_append(p->buffer, pair->value, pair->len), 0);
}

/* The good record without `without` (or whole if NULL) and with n more pairs. */
static void make(struct buffer *b, const struct form *form, const char *without,
		 const struct pair *more, size_t n)
{
	size_t kept = 0;
	struct pack p;

	buffer_init(b, 4 * 1024 * 1024);
	pack_init(&p, b);
	for (size_t i = 0; i < form->n_pairs; i++)
		kept += !without || strcmp(form->pairs[i].key, without) != 0;
	pack_map(&p, kept + n);
	for (size_t i = 0; i < form->n_pairs; i++)
		if (!without || strcmp(form->pairs[i].key, without) != 0)
			add_pair(&p, &form->pairs[i]);
	for (size_t i = 0; i < n; i++)
		add_pair(&p, &more[i]);
	cr_assert_not(p.failed < 0);
}

/* Parses and is done with b: why is NULL for a good one. */
static void expect(const struct form *form, struct buffer *b, const char *why, const char *what)
{
	const char *got = NULL;
	int e = form->parse(b, &got);

	cr_assert_eq(e, why ? -EBADMSG : 0, "%s %s: %d %s", form->name, what, e, got);
	if (why)
		cr_assert_str_eq(got, why, "%s %s: %s", form->name, what, got);
	else
		cr_assert_null(got, "why is untouched");
	buffer_done(b);
}

Test(record, good_ones)
{
	for (size_t f = 0; f < COUNT(forms); f++) {
		struct buffer b;

		make(&b, &forms[f], NULL, NULL, 0);
		expect(&forms[f], &b, NULL, "good");
	}
}

Test(record, missing)
{
	for (size_t f = 0; f < COUNT(forms); f++) {
		for (size_t i = 0; i < forms[f].n_pairs; i++) {
			struct buffer b;
			char why[100];

			snprintf(why, sizeof(why), "%s: missing", forms[f].pairs[i].key);
			make(&b, &forms[f], forms[f].pairs[i].key, NULL, 0);
			expect(&forms[f], &b, why, forms[f].pairs[i].key);
		}
	}
}

Test(record, repeated)
{
	struct pair timeouts[] = {{"timeout_ms", RAW("\x01")}, {"timeout_ms", RAW("\x01")}};
	struct buffer b;

	for (size_t f = 0; f < COUNT(forms); f++) {
		for (size_t i = 0; i < forms[f].n_pairs; i++) {
			char why[100];

			snprintf(why, sizeof(why), "%s: repeated", forms[f].pairs[i].key);
			make(&b, &forms[f], NULL, &forms[f].pairs[i], 1);
			expect(&forms[f], &b, why, forms[f].pairs[i].key);
		}
	}
	make(&b, &forms[0], NULL, timeouts, 2);
	expect(&forms[0], &b, "timeout_ms: repeated", "timeout_ms");
}

/* Every kind of value that is no string, in the place of each string. */
Test(record, strings_of_another_type)
{
	static const struct pair values[] = {
		{"nil", RAW("\xc0")},
		{"true", RAW("\xc3")},
		{"int", RAW("\x01")},
		{"negative", RAW("\xff")},
		{"uint64", RAW("\xcf\xff\xff\xff\xff\xff\xff\xff\xff")},
		{"float", RAW("\xca\x00\x00\x00\x00")},
		{"bin", RAW("\xc4\x03"
			    "::1")},
		{"ext", RAW("\xd4\x01\x01")},
		{"array", RAW("\x91\xa3::1")},
		{"map", RAW("\x80")},
	};
	static const struct {
		const char *key;
		const char *why;
	} keys[] = {
		{"id", "id: " BAD_ID},
		{"version", "version: " BAD_VERSION},
		{"ip", "ip: " BAD_IP},
		{"hostname", "hostname: " BAD_HOST},
	};

	for (size_t f = 0; f < COUNT(forms); f++) {
		for (size_t k = 0; k < COUNT(keys); k++) {
			for (size_t v = 0; v < COUNT(values); v++) {
				struct pair pair = values[v];
				struct buffer b;

				pair.key = keys[k].key;
				make(&b, &forms[f], pair.key, &pair, 1);
				expect(&forms[f], &b, keys[k].why, values[v].key);
			}
		}
	}
}

Test(record, strings_of_bad_form)
{
	static const struct {
		const char *why;
		struct pair pair;
	} cases[] = {
		{"id: " BAD_ID, {"id", RAW("\xa0")}},
		{"id: " BAD_ID, {"id", RAW("\xa3-ab")}},
		{"id: " BAD_ID, {"id", RAW("\xa3../")}},
		{"id: " BAD_ID, {"id", RAW("\xa3\x61\x00\x62")}},
		{"id: " BAD_ID, {"id", RAW("\xa2\xc3\xa9")}},
		{NULL, {"id", RAW(S1 "a")}},
		{"version: " BAD_VERSION, {"version", RAW("\xa0")}},
		{"version: " BAD_VERSION, {"version", RAW("\xa2 1")}},
		{"version: " BAD_VERSION, {"version", RAW("\xa2\x31 ")}},
		{"version: " BAD_VERSION, {"version", RAW("\xa2\x31\n")}},
		{"version: " BAD_VERSION, {"version", RAW("\xa3\x31\x00\x31")}},
		{"version: " BAD_VERSION, {"version", RAW("\xa2\xc3\xa9")}},
		{NULL, {"version", RAW("\xa3\x31 2")}},
		{"hostname: " BAD_HOST, {"hostname", RAW("\xa0")}},
		{"hostname: " BAD_HOST, {"hostname", RAW("\xa2\x1b[")}},
		{"hostname: " BAD_HOST, {"hostname", RAW("\xa2\x61\x00")}},
		{"hostname: " BAD_HOST, {"hostname", RAW("\xa2\xc3\xa9")}},
		{"ip: " BAD_IP, {"ip", RAW("\xa0")}},
		{"ip: " BAD_IP, {"ip", RAW("\xa9localhost")}},
		{"ip: " BAD_IP, {"ip", RAW("\xa4\x31.2.")}},
		{"ip: " BAD_IP, {"ip", RAW("\xa4::1\x00")}},
		{NULL, {"ip", RAW("\xa2::")}},
	};

	for (size_t f = 0; f < COUNT(forms); f++) {
		for (size_t i = 0; i < COUNT(cases); i++) {
			struct pair pair = cases[i].pair;
			struct buffer b;

			make(&b, &forms[f], pair.key, &pair, 1);
			expect(&forms[f], &b, cases[i].why, pair.key);
		}
	}
}

/* Strings of every length around their limits. */
Test(record, strings_too_long)
{
	static const struct {
		const char *key;
		size_t max;
		const char *why;
	} cases[] = {
		{"id", NAME_ID_MAX, "id: " BAD_ID},
		{"version", NAME_VERSION_MAX, "version: " BAD_VERSION},
		{"hostname", NAME_HOST_MAX, "hostname: " BAD_HOST},
		{"ip", 0, "ip: " BAD_IP}, /* no text of a's is one */
	};

	for (size_t f = 0; f < COUNT(forms); f++) {
		for (size_t i = 0; i < COUNT(cases); i++) {
			for (size_t len = 1; len < 300; len++) {
				char value[3 + 300] = "\xda";
				struct pair pair = {cases[i].key, value, 3 + len};
				struct buffer b;

				value[1] = (char)(len >> 8);
				value[2] = (char)len;
				memset(value + 3, 'a', len);
				make(&b, &forms[f], pair.key, &pair, 1);
				expect(&forms[f], &b, len <= cases[i].max ? NULL : cases[i].why,
				       pair.key);
			}
		}
	}
}

static void check_values(const struct form *form, const char *key, const char *why,
			 const struct pair *values, size_t n)
{
	/* In the tables the key says whether it is good. */
	for (size_t i = 0; i < n; i++) {
		struct pair pair = {key, values[i].value, values[i].len};
		bool good = strcmp(values[i].key, "good") == 0;
		char what[32];
		struct buffer b;

		snprintf(what, sizeof(what), "%s value %zu", key, i);
		make(&b, form, key, &pair, 1);
		expect(form, &b, good ? NULL : why, what);
	}
}

Test(record, times)
{
	static const struct pair values[] = {
		{"good", RAW("\x00")},
		{"good", RAW("\x7f")},
		{"good", RAW("\xcd\xff\xff")},
		{"good", RAW("\xd3\x00\x00\x01\xa1\xf6\x60\x59\x00")},
		{"good", RAW("\xcf\x00\x00\xe6\x77\xd2\x1f\xdb\xff")}, /* 9999-12-31T23:59:59.999 */
		{"bad", RAW("\xcf\x00\x00\xe6\x77\xd2\x1f\xdc\x00")},
		{"bad", RAW("\xcf\x7f\xff\xff\xff\xff\xff\xff\xff")},
		{"bad", RAW("\xcf\x80\x00\x00\x00\x00\x00\x00\x00")},
		{"bad", RAW("\xcf\xff\xff\xff\xff\xff\xff\xff\xff")},
		{"bad", RAW("\xff")},
		{"bad", RAW("\xd3\x80\x00\x00\x00\x00\x00\x00\x00")},
		{"bad", RAW("\xc0")},
		{"bad", RAW("\xc3")},
		{"bad", RAW("\xcb\x00\x00\x00\x00\x00\x00\x00\x00")},
		{"bad", RAW(S1 "1")},
		{"bad", RAW("\x91\x01")},
		{"bad", RAW("\x80")},
		{"bad", RAW("\xd6\xff\x00\x00\x00\x00")}, /* a timestamp */
	};

	check_values(&forms[0], "started_at", BAD_STARTED, values, COUNT(values));
	check_values(&forms[1], "since", BAD_SINCE, values, COUNT(values));
}

Test(record, timeout)
{
	static const struct pair values[] = {
		{"good", RAW("\x00")},
		{"good", RAW("\xcd\x27\x10")},
		{"good", RAW("\xce\x7f\xff\xff\xff")},
		{"bad", RAW("\xce\x80\x00\x00\x00")},
		{"bad", RAW("\xff")},
		{"bad", RAW("\xc0")},
		{"bad", RAW(S1 "1")},
		{"bad", RAW("\xca\x00\x00\x00\x00")},
		{"bad", RAW("\x90")},
	};

	check_values(&forms[0], "timeout_ms", BAD_TIMEOUT, values, COUNT(values));
	/* In a leader's record it is one more key that is not known. */
	check_values(&forms[1], "timeout_ms", NULL, values, 3);
}

Test(record, random_ints)
{
	static const struct pair values[] = {
		{"good", RAW("\x95\x00\x00\x00\x00\x00")},
		{"good", RAW("\xdc\x00\x05\x00\x00\x00\x00\x00")},
		{"good", RAW("\x95\xd2\x80\x00\x00\x00\xff\x00\x01\xd2\x7f\xff\xff\xff")},
		{"good", RAW("\x95\xd3\xff\xff\xff\xff\x80\x00\x00\x00\xff\x00\x01\x02")},
		{"bad", RAW("\x94\x00\x00\x00\x00")},
		{"bad", RAW("\x96\x00\x00\x00\x00\x00\x00")},
		{"bad", RAW("\x90")},
		{"bad", RAW("\x95\xce\x80\x00\x00\x00\x00\x00\x00\x00")},
		{"bad", RAW("\x95\x00\x00\x00\x00\xce\x80\x00\x00\x00")},
		{"bad", RAW("\x95\x00\xd3\xff\xff\xff\xff\x7f\xff\xff\xff\x00\x00\x00")},
		{"bad", RAW("\x95\x00\x00\x00\x00\xcf\xff\xff\xff\xff\xff\xff\xff\xff")},
		{"bad", RAW("\x95\x00\x00\x00\x00\xc0")},
		{"bad", RAW("\x95\x00\x00\x00\x00" S1 "1")},
		{"bad", RAW("\x95\x00\x00\xca\x00\x00\x00\x00\x00\x00")},
		{"bad", RAW("\x95\x00\x00\x91\x00\x00\x00")},
		{"bad", RAW("\x85\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")},
		{"bad", RAW("\xc4\x05\x00\x00\x00\x00\x00")},
		{"bad", RAW("\x05")},
		{"bad", RAW("\xc0")},
	};

	check_values(&forms[0], "random_ints", BAD_RANDOM, values, COUNT(values));
}

Test(record, tasks)
{
	static const struct pair values[] = {
		{"good", RAW("\x90")},
		{"good", RAW("\x91" S1 "a")},
		{"good", RAW("\x93" S1 "a" S1 "b" S1 "a")},
		{"bad", RAW("\x91\xa0")},
		{"bad", RAW("\x91\xa2.a")},
		{"bad", RAW("\x91" S3 "a/b")},
		{"bad", RAW("\x91" S2 "a\x00")},
		{"bad", RAW("\x93" S1 "a" S1 "b" S1 "/")},
		{"bad", RAW("\x92" S1 "a\x01")},
		{"bad", RAW("\x92" S1 "a\xc0")},
		{"bad", RAW("\x91\xc4\x01"
			    "a")},
		{"bad", RAW("\x91\x91" S1 "a")},
		{"bad", RAW("\x81" S1 "a" S1 "b")},
		{"bad", RAW(S1 "a")},
		{"bad", RAW("\x00")},
		{"bad", RAW("\xc0")},
	};

	check_values(&forms[0], "tasks", BAD_TASKS, values, COUNT(values));
}

Test(record, task_name_too_long)
{
	char value[3 + NAME_TASK_MAX + 1] = "\x91\xd9";
	struct pair pair = {"tasks", value, sizeof(value)};
	struct buffer b;

	memset(value + 3, 'a', NAME_TASK_MAX + 1);
	value[2] = NAME_TASK_MAX + 1;
	make(&b, &forms[0], "tasks", &pair, 1);
	expect(&forms[0], &b, BAD_TASKS, "101 bytes");
	value[2] = NAME_TASK_MAX;
	pair.len--;
	make(&b, &forms[0], "tasks", &pair, 1);
	expect(&forms[0], &b, NULL, "100 bytes");
}

Test(record, too_many_tasks)
{
	for (size_t n = WORKER_TASKS_MAX - 1; n <= WORKER_TASKS_MAX + 1; n++) {
		mem_auto char *value = mem_alloc(3 + 2 * n);
		struct pair pair = {"tasks", value, 3 + 2 * n};
		struct buffer b;

		value[0] = '\xdc';
		value[1] = (char)(n >> 8);
		value[2] = (char)n;
		for (size_t i = 0; i < n; i++)
			memcpy(value + 3 + 2 * i, "\xa1t", 2);
		make(&b, &forms[0], "tasks", &pair, 1);
		expect(&forms[0], &b, n <= WORKER_TASKS_MAX ? NULL : BAD_TASKS, "many");
	}
}

/* --- the record as a whole -------------------------------------------------------------------- */

Test(record, unknown_keys)
{
	static const struct pair more[] = {
		{"x", RAW("\xc0")},
		{"x", RAW("\x93\x01\x81" S1 "a\x90\xca\x00\x00\x00\x00")},
		{"ID", RAW("\x01")},
		{"i", RAW("\x01")},
		{"idx", RAW("\x01")},
		{"", RAW("\xd6\xff\x00\x00\x00\x00")},
		{"id\n", RAW("\xcf\xff\xff\xff\xff\xff\xff\xff\xff")},
	};

	for (size_t f = 0; f < COUNT(forms); f++) {
		struct buffer b;

		make(&b, &forms[f], NULL, more, COUNT(more));
		expect(&forms[f], &b, NULL, "unknown keys");
	}
}

/* Keys that are no strings, "id" as bin among them, before the known ones. */
Test(record, keys_of_another_type)
{
	static const char pairs[] = "\x01\xc0"
				    "\xc0\x01"
				    "\xc4\x02id\x01"
				    "\x91\xa2id\x01"
				    "\x80\x01"
				    "\xca\x00\x00\x00\x00\x01";

	for (size_t f = 0; f < COUNT(forms); f++) {
		struct buffer good;
		struct buffer b;
		struct pack p;

		make(&good, &forms[f], NULL, NULL, 0);
		buffer_init(&b, 10000);
		pack_init(&p, &b);
		pack_map(&p, forms[f].n_pairs + 6);
		cr_assert_eq(buffer_append(&b, pairs, sizeof(pairs) - 1), 0);
		cr_assert_eq(buffer_append(&b, good.data + 1, good.len - 1), 0);
		expect(&forms[f], &b, NULL, "keys of another type");
		buffer_done(&good);
	}
}

Test(record, not_a_map)
{
	static const struct {
		const char *why;
		const char *data;
		size_t len;
	} cases[] = {
		{"the record is empty", RAW("")},
		{"the record is not a map", RAW("\xc0")},
		{"the record is not a map", RAW("\x01")},
		{"the record is not a map", RAW("\x90")},
		{"the record is not a map", RAW("\xa2{}")},
		{"the record is not MessagePack", RAW("\xc1")},
		{"the record is not MessagePack", RAW("\x81" S1 "a\xc1")},
		{"bytes follow the record", RAW("{}")}, /* JSON: the integers 123 and 125 */
		{"bytes follow the record", RAW("\x80\xc0")},
		{"id: missing", RAW("\x80")},
		{"the record ends too early", RAW("\x81")},
		{"the record ends too early", RAW("\xdf\xff\xff\xff\xff")},
		{"the record ends too early", RAW("\x81\xa2id")},
		{"the record ends too early", RAW("\x81\xa2id\xdb\xff\xff\xff\xff")},
		{"the record ends too early", RAW("\xde\x00")},
		{"the record is nested too deeply",
		 RAW("\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91\x91")},
	};

	for (size_t f = 0; f < COUNT(forms); f++) {
		for (size_t i = 0; i < COUNT(cases); i++) {
			struct buffer b;
			char what[32];

			snprintf(what, sizeof(what), "case %zu", i);
			buffer_init(&b, 100);
			cr_assert_eq(buffer_append(&b, cases[i].data, cases[i].len), 0);
			expect(&forms[f], &b, cases[i].why, what);
		}
	}
}

Test(record, no_data)
{
	struct leader_record l;
	struct worker *w;
	const char *why;

	cr_assert_eq(record_parse_worker(NULL, 0, &w, &why), -EBADMSG);
	cr_assert_str_eq(why, "the record is empty");
	cr_assert_eq(record_parse_leader(NULL, 0, &l, &why), -EBADMSG);
	cr_assert_str_eq(why, "the record is empty");
}

Test(record, cut_anywhere)
{
	for (size_t f = 0; f < COUNT(forms); f++) {
		struct buffer good;

		make(&good, &forms[f], NULL, NULL, 0);
		for (size_t n = 1; n < good.len; n++) {
			struct buffer b;

			buffer_init(&b, good.len);
			cr_assert_eq(buffer_append(&b, good.data, n), 0);
			expect(&forms[f], &b, "the record ends too early", "cut");
		}
		cr_assert_eq(buffer_append(&good, "\xc0", 1), 0);
		expect(&forms[f], &good, "bytes follow the record", "longer");
	}
}

/* Each byte of a good record changed in each way: refused or not, never more than that. */
Test(record, one_byte_wrong)
{
	for (size_t f = 0; f < COUNT(forms); f++) {
		struct buffer good;

		make(&good, &forms[f], NULL, NULL, 0);
		for (size_t n = 0; n < good.len; n++) {
			uint8_t was = good.data[n];

			for (unsigned c = 0; c < 256; c++) {
				const char *why = NULL;
				int e;

				good.data[n] = (uint8_t)c;
				e = forms[f].parse(&good, &why);
				cr_assert(e == 0 ? !why : e == -EBADMSG && why);
			}
			good.data[n] = was;
		}
		buffer_done(&good);
	}
}

/* An unknown key fills the record up to its limit and then a byte beyond. */
Test(record, too_long)
{
	for (size_t f = 0; f < COUNT(forms); f++) {
		for (size_t over = 0; over < 2; over++) {
			mem_auto char *value = mem_calloc(forms[f].max, 1);
			struct pair pair = {"x", value, 5};
			struct buffer b;
			size_t fill;

			make(&b, &forms[f], NULL, &pair, 1);
			fill = forms[f].max - b.len + over;
			buffer_done(&b);
			value[0] = '\xdb';
			value[1] = (char)(fill >> 24);
			value[2] = (char)(fill >> 16);
			value[3] = (char)(fill >> 8);
			value[4] = (char)fill;
			pair.len = 5 + fill;
			make(&b, &forms[f], NULL, &pair, 1);
			cr_assert_eq(b.len, forms[f].max + over);
			expect(&forms[f], &b, over ? "the record is too long" : NULL, "full");
		}
	}
}

/* --- there and back --------------------------------------------------------------------------- */

static struct worker *example(void)
{
	static const char *const tasks[] = {"nightly-report", "cleanup", "a.b_c"};
	struct worker *w = worker_new();

	strcpy(w->id, UUID);
	strcpy(w->version, "1.0-SNAPSHOT");
	strcpy(w->ip, "2001:db8::1");
	strcpy(w->hostname, "app-1.example.org");
	for (int i = 0; i < WORKER_RANDOM_INTS; i++)
		w->random_ints[i] = i % 2 ? INT32_MIN + i : INT32_MAX - i;
	w->started_at = INT64_C(1795140000000);
	w->timeout_ms = 10000;
	worker_set_tasks(w, tasks, 3);
	return w;
}

static void expect_same(const struct worker *a, const struct worker *b)
{
	cr_assert_str_eq(a->id, b->id);
	cr_assert_str_eq(a->version, b->version);
	cr_assert_str_eq(a->ip, b->ip);
	cr_assert_str_eq(a->hostname, b->hostname);
	cr_assert_eq(memcmp(a->random_ints, b->random_ints, sizeof(a->random_ints)), 0);
	cr_assert_eq(a->started_at, b->started_at);
	cr_assert_eq(a->timeout_ms, b->timeout_ms);
	cr_assert_eq(a->n_tasks, b->n_tasks);
	for (size_t i = 0; i < a->n_tasks; i++)
		cr_assert_str_eq(a->tasks[i], b->tasks[i]);
}

static void there_and_back(const struct worker *w)
{
	struct worker *back = NULL;
	const char *why = "";
	struct buffer b;

	buffer_init(&b, RECORD_WORKER_MAX + 100);
	cr_assert_eq(buffer_append(&b, "kept", 4), 0);
	cr_assert_eq(record_pack_worker(&b, w), 0);
	cr_assert_eq(memcmp(b.data, "kept", 4), 0);
	cr_assert_eq(record_parse_worker(b.data + 4, b.len - 4, &back, &why), 0, "%s", why);
	expect_same(w, back);
	worker_free(back);
	buffer_done(&b);
}

/* Queues that the worker serves, and those that it only answers for. */
Test(record, the_queues_of_a_worker)
{
	struct worker *w = example(), *back = NULL;
	char **answers = mem_calloc(2, sizeof(*answers));
	const char *why = "";
	struct buffer b;

	answers[0] = mem_strdup("old");
	answers[1] = mem_strdup("alone");
	worker_take_answers(w, answers, 2);
	w->queues = mem_calloc(1, sizeof(*w->queues));
	w->n_queues = 1;
	strcpy(w->queues[0].queue, "served");
	w->queues[0].slots = 2;
	buffer_init(&b, RECORD_WORKER_MAX);
	cr_assert_eq(record_pack_worker(&b, w), 0);
	cr_assert_eq(record_parse_worker(b.data, b.len, &back, &why), 0, "%s", why);
	cr_expect_eq(worker_slots(back, "served"), 2);
	cr_expect_eq(worker_slots(back, "old"), 0);
	cr_expect(worker_answers_for(back, back->node, "served") &&
		  worker_answers_for(back, back->node, "old") &&
		  worker_answers_for(back, back->node, "alone"));
	cr_expect_not(worker_answers_for(back, back->node, "other"));
	worker_free(back);
	worker_free(w);
	buffer_done(&b);
}

Test(record, worker_there_and_back)
{
	struct worker *w = example();

	there_and_back(w);
	w->timeout_ms = 0;
	there_and_back(w);
	worker_set_tasks(w, NULL, 0);
	there_and_back(w);
	worker_free(w);
}

/* All that the limits allow still fits into a record. */
Test(record, biggest_worker)
{
	const char **names = mem_calloc(WORKER_TASKS_MAX, sizeof(names[0]));
	struct worker *w = example();

	memset(w->id, 'a', NAME_ID_MAX);
	memset(w->version, '1', NAME_VERSION_MAX);
	memset(w->hostname, 'h', NAME_HOST_MAX);
	strcpy(w->ip, "ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255");
	w->timeout_ms = INT32_MAX;
	for (int i = 0; i < WORKER_TASKS_MAX; i++) {
		char name[NAME_TASK_MAX + 1];

		snprintf(name, sizeof(name), "%0100d", i);
		names[i] = mem_strdup(name);
	}
	worker_set_tasks(w, names, WORKER_TASKS_MAX);
	cr_assert_eq(w->n_tasks, WORKER_TASKS_MAX);
	there_and_back(w);
	for (int i = 0; i < WORKER_TASKS_MAX; i++)
		free((void *)(uintptr_t)names[i]);
	free(names);
	worker_free(w);
}

Test(record, tasks_come_sorted_and_once)
{
	static const struct pair tasks = {"tasks", RAW("\x94" S1 "b" S1 "a" S1 "b" S1 "B")};
	struct worker *w;
	const char *why;
	struct buffer b;

	make(&b, &forms[0], "tasks", &tasks, 1);
	cr_assert_eq(record_parse_worker(b.data, b.len, &w, &why), 0);
	cr_assert_eq(w->n_tasks, 3);
	cr_assert_str_eq(w->tasks[0], "B");
	cr_assert_str_eq(w->tasks[1], "a");
	cr_assert_str_eq(w->tasks[2], "b");
	cr_assert_eq(w->timeout_ms, 0);
	cr_assert_eq(w->random_ints[0], 1);
	cr_assert_eq(w->random_ints[1], -1);
	cr_assert_eq(w->random_ints[2], INT32_MIN);
	cr_assert_eq(w->random_ints[3], INT32_MAX);
	worker_free(w);
	buffer_done(&b);
}

Test(record, leader_there_and_back)
{
	struct leader_record l = {.id = UUID,
				  .ip = "10.0.0.1",
				  .hostname = "app-1",
				  .version = "1.0",
				  .since = INT64_C(1795140000000)};
	struct leader_record back;
	const char *why = "";
	struct buffer b;

	memset(&back, 0x55, sizeof(back));
	buffer_init(&b, 1000);
	cr_assert_eq(record_pack_leader(&b, &l), 0);
	cr_assert_eq(record_parse_leader(b.data, b.len, &back, &why), 0, "%s", why);
	cr_assert_str_eq(back.id, l.id);
	cr_assert_str_eq(back.ip, l.ip);
	cr_assert_str_eq(back.hostname, l.hostname);
	cr_assert_str_eq(back.version, l.version);
	cr_assert_eq(back.since, l.since);
	buffer_done(&b);
}

/* With too little room nothing is left behind what was there. */
Test(record, no_room)
{
	struct leader_record l = {
		.id = UUID, .ip = "10.0.0.1", .hostname = "app-1", .version = "1.0"};
	struct worker *w = example();
	size_t limit;
	int e;

	for (e = -ENOBUFS, limit = 2; e < 0; limit++) {
		struct buffer b;

		buffer_init(&b, limit);
		cr_assert_eq(buffer_append(&b, "ab", 2), 0);
		e = record_pack_worker(&b, w);
		cr_assert(e == 0 ? b.len == limit : e == -ENOBUFS && b.len == 2);
		cr_assert_eq(memcmp(b.data, "ab", 2), 0);
		buffer_done(&b);
	}
	for (e = -ENOBUFS, limit = 2; e < 0; limit++) {
		struct buffer b;

		buffer_init(&b, limit);
		cr_assert_eq(buffer_append(&b, "ab", 2), 0);
		e = record_pack_leader(&b, &l);
		cr_assert(e == 0 ? b.len == limit : e == -ENOBUFS && b.len == 2);
		buffer_done(&b);
	}
	worker_free(w);
}
