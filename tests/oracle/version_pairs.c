/*
 * Random pairs of versions for the comparison with Maven's own order; see maven.sh.
 *
 *   version_pairs generate SEED PAIRS            writes the pairs, a tab between the two
 *   version_pairs check SEED PAIRS [< ANSWERS]   makes the same pairs again and compares
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text/name.h"
#include "core/fleet/version.h"

#define SHOWN_MAX 20

struct text {
	char at[NAME_VERSION_MAX + 1];
	size_t len;
};

static uint64_t state;

/* splitmix64 (Steele, Lea and Flood, 2014) */
static uint64_t next_random(void)
{
	uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static size_t below(size_t n)
{
	return (size_t)(next_random() % n);
}

static bool one_in(size_t n)
{
	return below(n) == 0;
}

static void put(struct text *t, char c)
{
	if (t->len < NAME_VERSION_MAX)
		t->at[t->len++] = c;
}

static void put_any_of(struct text *t, const char *set)
{
	put(t, set[below(strlen(set))]);
}

static void put_string(struct text *t, const char *s)
{
	size_t how = below(4); /* as it is, upper case, capital, mixed */
	for (size_t i = 0; s[i]; i++) {
		bool letter = s[i] >= 'a' && s[i] <= 'z';
		bool upper = how == 1 || (how == 2 && i == 0) || (how == 3 && one_in(2));
		put(t, letter && upper ? (char)(s[i] - 'a' + 'A') : s[i]);
	}
}

static void put_number(struct text *t)
{
	size_t kind = below(12);
	size_t zeroes = one_in(5) ? below(one_in(4) ? 25 : 3) : 0;
	/* Around the 9 and 18 digits where the original changes its kind of number, and far above.
	 */
	size_t digits = kind < 8     ? 1
			: kind == 8  ? 2 + below(4)
			: kind == 9  ? 8 + below(4)
			: kind == 10 ? 17 + below(4)
				     : below(60);
	for (size_t i = 0; i < zeroes; i++)
		put(t, '0');
	for (size_t i = 0; i < digits; i++)
		put_any_of(t, kind % 2 ? "0123456789" : "0123");
}

static void put_qualifier(struct text *t)
{
	static const char *const words[] = {
		"alpha", "beta",  "milestone", "rc",   "cr",	 "snapshot",
		"ga",	 "final", "release",   "sp",   "a",	 "b",
		"m",	 "x",	  "pre",       "dev",  "jre",	 "android",
		"r",	 "v",	  "alphaa",    "alph", "s",	 "z",
		"post",	 "build", "rc_",       "gaa",  "g",	 "finals",
		"sp_",	 "spa",	  "final_",    "c",    "redhat", "incubating",
	};
	put_string(t, words[below(sizeof(words) / sizeof(words[0]))]);
}

static void make_realistic(struct text *t)
{
	size_t numbers = 1 + below(4);
	for (size_t i = 0; i < numbers; i++) {
		if (i)
			put(t, '.');
		put_number(t);
	}
	for (size_t n = below(4); n > 0; n--) {
		if (!one_in(3))
			put_any_of(t, "--.-_+");
		put_qualifier(t);
		if (one_in(2)) {
			if (one_in(2))
				put_any_of(t, "-..");
			put_number(t);
		}
	}
}

static void make_parts(struct text *t)
{
	for (size_t n = 1 + below(10); n > 0; n--) {
		size_t kind = below(5);
		if (kind < 2)
			put_number(t);
		else if (kind < 4)
			put_qualifier(t);
		if (!one_in(4))
			put_any_of(t, ".-");
	}
}

static void make_odd(struct text *t)
{
	static const char *const sets[] = {"01a.-", "0.-",   "0a.-", "01.-xb",
					   "0.-sp", "1am.-", "ga0-."};
	const char *set = sets[below(sizeof(sets) / sizeof(sets[0]))];
	bool printable = one_in(3);
	size_t len = one_in(20) ? below(NAME_VERSION_MAX + 1) : 1 + below(10);
	for (size_t i = 0; i < len; i++) {
		if (printable)
			put(t, (char)(' ' + below(95)));
		else
			put_any_of(t, set);
	}
}

static void make(struct text *t)
{
	t->len = 0;
	switch (below(4)) {
	case 0: make_realistic(t); break;
	case 1: make_parts(t); break;
	case 2: make_odd(t); break;
	default:
		make_realistic(t);
		if (one_in(2))
			make_parts(t);
	}
}

static void insert_at(struct text *t, size_t at, const struct text *what)
{
	if (t->len + what->len > NAME_VERSION_MAX)
		return;
	memmove(t->at + at + what->len, t->at + at, t->len - at);
	memcpy(t->at + at, what->at, what->len);
	t->len += what->len;
}

static void mutate(struct text *t)
{
	struct text piece = {.len = 0};
	size_t at = below(t->len + 1);
	switch (below(6)) {
	case 0: /* drop some */
		if (at < t->len) {
			size_t n = 1 + below(t->len - at < 4 ? t->len - at : 4);
			memmove(t->at + at, t->at + at + n, t->len - at - n);
			t->len -= n;
		}
		break;
	case 1: /* change one */
		if (at < t->len)
			t->at[at] = "0123abmx.-AZ_ "[below(14)];
		break;
	case 2:
		put_number(&piece);
		insert_at(t, at, &piece);
		break;
	case 3:
		put_qualifier(&piece);
		insert_at(t, at, &piece);
		break;
	case 4:
		for (size_t n = 1 + below(3); n > 0; n--)
			put_any_of(&piece, ".-0");
		insert_at(t, at, &piece);
		break;
	default: /* at the end, where normalization is at work */
		put_any_of(t, ".-");
		if (one_in(2))
			put_any_of(t, "01");
		else
			put_qualifier(t);
	}
}

static void make_pair(struct text *a, struct text *b)
{
	make(a);
	if (one_in(3)) {
		make(b);
	} else {
		*b = *a;
		for (size_t n = 1 + below(3); n > 0; n--)
			mutate(b);
	}
	if (one_in(2)) {
		struct text swap = *a;
		*a = *b;
		*b = swap;
	}
	a->at[a->len] = '\0';
	b->at[b->len] = '\0';
}

static int sign(int x)
{
	return (x > 0) - (x < 0);
}

static int generate(uint64_t pairs)
{
	struct text a, b;
	for (uint64_t i = 0; i < pairs; i++) {
		make_pair(&a, &b);
		printf("%s\t%s\n", a.at, b.at);
	}
	return fflush(stdout) ? 1 : 0;
}

static int check(uint64_t pairs)
{
	struct text a, b;
	char line[16];
	uint64_t differ = 0;
	uint64_t outcomes[3] = {0, 0, 0};

	for (uint64_t i = 0; i < pairs; i++) {
		make_pair(&a, &b);
		int theirs;
		if (!fgets(line, sizeof(line), stdin) || sscanf(line, "%d", &theirs) != 1 ||
		    theirs < -1 || theirs > 1) {
			fprintf(stderr, "no answer to pair %" PRIu64 " of %" PRIu64 "\n", i + 1,
				pairs);
			return 1;
		}
		outcomes[theirs + 1]++;

		int ours = sign(version_compare(a.at, b.at));
		int back = sign(version_compare(b.at, a.at));
		if (ours == theirs && back == -theirs)
			continue;
		if (++differ <= SHOWN_MAX)
			printf("differs: \"%s\" \"%s\": Maven %d, ours %d, swapped %d\n", a.at,
			       b.at, theirs, ours, back);
	}
	if (fgets(line, sizeof(line), stdin)) {
		fprintf(stderr, "more answers than pairs\n");
		return 1;
	}
	printf("%" PRIu64 " pairs compared (less %" PRIu64 ", equal %" PRIu64 ", greater %" PRIu64
	       "), %" PRIu64 " differ\n",
	       pairs, outcomes[0], outcomes[1], outcomes[2], differ);
	return differ || pairs == 0;
}

int main(int argc, char **argv)
{
	if (argc != 4) {
		fprintf(stderr, "usage: version_pairs generate|check SEED PAIRS\n");
		return 2;
	}
	state = strtoull(argv[2], NULL, 10);
	uint64_t pairs = strtoull(argv[3], NULL, 10);
	if (strcmp(argv[1], "generate") == 0)
		return generate(pairs);
	if (strcmp(argv[1], "check") == 0)
		return check(pairs);
	fprintf(stderr, "version_pairs: unknown command %s\n", argv[1]);
	return 2;
}
