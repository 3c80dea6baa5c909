/*
 * The order of versions on its own: two versions a line apart. That it is Maven's is compared by
 * tests/fuzz/maven over the corpus of this target; that an election does not depend on its oddities
 * is fuzz_fleet.c.
 */
#include "fuzz.h"

#include "base/text/name.h"
#include "core/fleet/version.h"

static int sign(int x)
{
	return (x > 0) - (x < 0);
}

/* A copy cut where versions end: it has to compare as the whole. */
static char *limited(const char *text)
{
	size_t len = strnlen(text, NAME_VERSION_MAX);

	return fuzz_text((const uint8_t *)text, len);
}

static char *upper(const char *text)
{
	char *copy = fuzz_text((const uint8_t *)text, strlen(text));

	for (char *c = copy; *c; c++)
		if (*c >= 'a' && *c <= 'z')
			*c = (char)(*c - 'a' + 'A');
	return copy;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = {data, size};
	char *a = feed_text(&f, '\n');
	char *b = feed_text(&f, '\n');
	char *short_a = limited(a), *short_b = limited(b);
	char *upper_b = upper(b);
	int order = sign(version_compare(a, b));

	FUZZ_CHECK(sign(version_compare(b, a)) == -order);
	FUZZ_CHECK(version_compare(a, a) == 0 && version_compare(b, b) == 0);
	FUZZ_CHECK(version_compare(a, short_a) == 0 && version_compare(short_b, b) == 0);
	FUZZ_CHECK(sign(version_compare(short_a, short_b)) == order);
	FUZZ_CHECK(strcmp(short_a, short_b) != 0 || order == 0);
	/* Case never matters, whether the strings are otherwise equal or not. */
	FUZZ_CHECK(sign(version_compare(a, upper_b)) == order);
	free(upper_b);
	free(short_b);
	free(short_a);
	free(b);
	free(a);
	return 0;
}
