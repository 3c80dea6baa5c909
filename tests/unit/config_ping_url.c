/* Key ping-url: which texts are one, what is made of it, and what may be shown. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "config/keys/ping_url.h"

Test(ping_url, is_http_with_a_host)
{
	static const char *const good[] = {
		"http://h",
		"https://hc.example/uuid",
		"https://user:pass@hc.example:8443/a/b?x=1&y=2",
		"http://[::1]:80/x",
		"http://127.0.0.1:1",
	};
	static const char *const bad[] = {
		"",
		"http://",
		"https:///path",
		"http://?q",
		"ftp://h",
		"file:///etc/passwd",
		"HTTP://h",
		"h/x",
		"http://user@/x",
		"http://:80",
		"http://h/a b",
		"http://h/#f",
		"http://h/\n",
		"http://h/\"",
		"http://h/\xc3\xa4",
		"http://h\\@evil",
	};
	char *longest = calloc(PING_URL_MAX + 2, 1);

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		cr_expect(ping_url_is_good(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		cr_expect_not(ping_url_is_good(bad[i]), "%s", bad[i]);
	memset(longest, 'x', PING_URL_MAX + 1);
	memcpy(longest, "http://", 7);
	cr_expect_not(ping_url_is_good(longest));
	longest[PING_URL_MAX] = '\0';
	cr_expect(ping_url_is_good(longest));
	free(longest);
}

Test(ping_url, a_word_comes_behind_the_path)
{
	static const struct {
		const char *url, *word, *rid, *expected;
	} cases[] = {
		{"http://h/a", "0", "1-2", "http://h/a/0?rid=1-2"},
		{"http://h/a?x", "0", "1-2", "http://h/a/0?x&rid=1-2"},
		{"http://h/a?rid=7", "0", "1-2", "http://h/a/0?rid=7"},
		{"http://h", "start", "", "http://h/start"},
		{"http://h/", "0", "", "http://h/0"},
		{"https://h/a/b", "255", "", "https://h/a/b/255"},
		{"https://h/a/b//", "fail", "", "https://h/a/b/fail"},
		{"https://h/a?x=1/2&y", "start", "", "https://h/a/start?x=1/2&y"},
		{"https://h?x", "start", "", "https://h/start?x"},
	};
	char text[PING_URL_SIZE];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ping_url_add(cases[i].url, cases[i].word, cases[i].rid, text);
		cr_expect_str_eq(text, cases[i].expected);
	}
}

Test(ping_url, no_secret_of_it_is_shown)
{
	static const struct {
		const char *url, *shown;
	} cases[] = {
		{"https://hc.example/uuid?key=1", "https://hc.example"},
		{"https://user:pa@ss@hc.example:8443/uuid", "https://hc.example:8443"},
		{"http://h?secret", "http://h"},
	};
	char text[PING_URL_SIZE];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ping_url_shown(cases[i].url, text);
		cr_expect_str_eq(text, cases[i].shown);
	}
}
