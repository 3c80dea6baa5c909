#include <criterion/criterion.h>
#include <string.h>

#include "base/mem.h"
#include "base/text/name.h"

struct name_case {
	const char *text;
	bool good;
};

static void check(const char *form, bool (*is_good)(const char *, size_t),
		  const struct name_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(is_good(cases[i].text, strlen(cases[i].text)), cases[i].good,
			     "%s \"%s\"", form, cases[i].text);
	cr_assert_not(is_good("", 0), "%s of nothing", form);
}

#define CHECK(is_good, cases) check(#is_good, is_good, cases, sizeof(cases) / sizeof((cases)[0]))

/* Only a's: good up to max, bad above. */
static void check_length(bool (*is_good)(const char *, size_t), size_t max)
{
	char text[512];

	memset(text, 'a', sizeof(text));
	for (size_t len = 1; len <= sizeof(text); len++)
		cr_assert_eq(is_good(text, len), len <= max, "length %zu of %zu", len, max);
}

/* Every byte, first and later; `first` and `later` list the good ones. */
static void check_bytes(bool (*is_good)(const char *, size_t), bool (*first)(int),
			bool (*later)(int))
{
	for (int c = 0; c < 256; c++) {
		char begins[3] = {(char)c, 'a', 'a'};
		char inside[3] = {'a', (char)c, 'a'};

		cr_assert_eq(is_good(begins, 3), first(c), "first byte %#x", (unsigned)c);
		cr_assert_eq(is_good(inside, 3), later(c), "inner byte %#x", (unsigned)c);
	}
}

static bool alnum(int c)
{
	return c > 0 && strchr("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", c);
}

static bool alnum_or_hyphen(int c)
{
	return alnum(c) || c == '-';
}

static bool task_byte(int c)
{
	return alnum(c) || c == '-' || c == '.' || c == '_';
}

static bool printable(int c)
{
	return c >= 32 && c < 127;
}

static bool printable_no_space(int c)
{
	return c > 32 && c < 127;
}

Test(name, task)
{
	static const struct name_case cases[] = {
		{"nightly-report", true},
		{"a", true},
		{"0", true},
		{"A.b_c-9", true},
		{"a..", true},
		{".a", false},
		{"-a", false},
		{"_a", false},
		{"a/b", false},
		{"a b", false},
		{"..", false},
		{"\xc3\xa9", false},
	};

	CHECK(name_is_task, cases);
	check_length(name_is_task, NAME_TASK_MAX);
	check_bytes(name_is_task, alnum, task_byte);
}

Test(name, id)
{
	static const struct name_case cases[] = {
		{"3f1c2a9e-8f6e-4c4b-9b7d-1f0a2b3c4d5e", true},
		{"3F1C2A9E", true},
		{"a-", true},
		{"-a", false},
		{"a.b", false},
		{"a_b", false},
		{"../a", false},
	};

	CHECK(name_is_id, cases);
	check_length(name_is_id, NAME_ID_MAX);
	check_bytes(name_is_id, alnum, alnum_or_hyphen);
}

Test(name, version)
{
	static const struct name_case cases[] = {
		{"1.0", true},	     {"1.0-SNAPSHOT", true}, {"-", true},
		{"release 7", true}, {" 1.0", false},	     {"1.0 ", false},
		{" ", false},	     {"1.0\n", false},	     {"1.0\t2", false},
		{"1.0\x7f", false},  {"1.0\xc3\xa9", false},
	};

	CHECK(name_is_version, cases);
	check_length(name_is_version, NAME_VERSION_MAX);
	check_bytes(name_is_version, printable_no_space, printable);
}

Test(name, host)
{
	static const struct name_case cases[] = {
		{"app-1.example.org", true}, {"app_1", true},  {"localhost", true},
		{"app\x1b[2J", false},	     {"app\n", false},
	};

	CHECK(name_is_host, cases);
	check_length(name_is_host, NAME_HOST_MAX);
	check_bytes(name_is_host, printable, printable);
}

Test(name, user)
{
	static const struct name_case cases[] = {
		{"app", true},	 {"app-1", true}, {"_apt", true}, {"rep.orts-2", true},
		{"host$", true}, {"4u", true},	  {"1", false},	  {"1000", false},
		{"", false},	 {"-a", false},	  {"a b", false}, {"a:b", false},
	};

	CHECK(name_is_user, cases);
	check_length(name_is_user, NAME_USER_MAX);
}

Test(name, ip)
{
	static const struct name_case cases[] = {
		{"10.0.0.1", true},
		{"0.0.0.0", true},
		{"255.255.255.255", true},
		{"::", true},
		{"::1", true},
		{"fe80::1", true},
		{"2001:DB8::A", true},
		{"::ffff:10.0.0.1", true},
		{"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", true}, /* 45 characters */
		{"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555", false},
		{"256.0.0.1", false},
		{"10.0.0", false},
		{"10.0.0.1.2", false},
		{"10.0.0.1 ", false},
		{" 10.0.0.1", false},
		{"10.0.0.1:80", false},
		{"0x0a.0.0.1", false},
		{"[::1]", false},
		{"fe80::1%eth0", false},
		{":::", false},
		{"1:2:3:4:5:6:7:8:9", false},
		{"localhost", false},
		{"10.0.0.1\n", false},
	};

	CHECK(name_is_ip, cases);
	cr_assert_not(name_is_ip("10.0.0.1\0x", 10));
	cr_assert_not(name_is_ip("10.0.0.1", 9));
	cr_assert(name_is_ip("10.0.0.123", 8), "only the first 8 bytes count");
}

/* Only the len bytes are looked at, which need no terminator. */
Test(name, unterminated)
{
	mem_auto char *text = mem_alloc(3);

	memcpy(text, "a1b", 3);
	cr_assert(name_is_task(text, 3));
	cr_assert(name_is_id(text, 3));
	cr_assert(name_is_version(text, 3));
	cr_assert(name_is_host(text, 3));
	cr_assert_not(name_is_ip(text, 3));
}

static void check_partition(const char *text, bool good, size_t task_len, unsigned partition)
{
	size_t len = 9999;
	unsigned number = 9999;

	cr_expect_eq(name_partition_parse(text, strlen(text), &len, &number), good, "%s", text);
	cr_expect_eq(len, good ? task_len : 9999, "%s", text);
	cr_expect_eq(number, good ? partition : 9999, "%s", text);
}

Test(name, partition)
{
	char text[NAME_ELECTION_MAX + 2];

	check_partition("a:0", true, 1, 0);
	check_partition("scan-1.x_y:17", true, 10, 17);
	check_partition("a:255", true, 1, 255);
	check_partition("1:99", true, 1, 99);
	static const char *const bad[] = {"",	   "a",	    "a:",     ":1",   "a:00", "a:01",
					  "a:256", "a:999", "a:1000", "a:-1", "a:+1", "a: 1",
					  "a:1 ",  "a:x",   "a:1:2",  "a:1x", "-a:1", "a b:1"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		check_partition(bad[i], false, 0, 0);
	cr_expect(!name_partition_parse("a:1", 4, NULL, NULL), "with the NUL");
	cr_expect(name_partition_parse("a:12", 3, NULL, NULL), "what is behind it does not count");
	memset(text, 'a', sizeof(text));
	memcpy(text + NAME_TASK_MAX, ":255", 4);
	cr_expect(name_partition_parse(text, NAME_ELECTION_MAX, NULL, NULL));
	cr_expect(name_is_election(text, NAME_ELECTION_MAX));
	cr_expect(name_is_election(text, NAME_TASK_MAX));
	cr_expect(!name_is_election(text, NAME_TASK_MAX + 1));
	memcpy(text + NAME_TASK_MAX, "a:25", 4);
	cr_expect(!name_is_election(text, NAME_ELECTION_MAX));
}
