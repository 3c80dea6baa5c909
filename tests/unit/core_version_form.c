#include <criterion/criterion.h>

#include "core/fleet/version.h"
#include "core/fleet/version_form.h"

static const struct {
	const char *version;
	enum version_form form;
	const char *
		other; /* that it is less than, or for EARLY more than, though it does not look so */
} cases[] = {
	{"1.5.0", VERSION_PLAIN, NULL},
	{"1", VERSION_PLAIN, NULL},
	{"1.5.0-rc1", VERSION_PLAIN, NULL},
	{"1.5.0-SNAPSHOT", VERSION_PLAIN, NULL},
	{"1.5.0-hotfix.1", VERSION_PLAIN, NULL},
	{"1.5.0-14-g2414721", VERSION_PLAIN, NULL}, /* git describe */
	{"1.5.0+build.7", VERSION_PLAIN, NULL},
	{"20261123", VERSION_PLAIN, NULL},
	{"202611231530", VERSION_PLAIN, NULL},
	{"2026.11.23-1", VERSION_PLAIN, NULL},
	{"1.5.0-devonian", VERSION_PLAIN, NULL},
	{"1.5.0-Oslo", VERSION_PLAIN, NULL},
	{"1.5.0-lol", VERSION_PLAIN, NULL}, /* behind the numbers a word is a word */
	{"1.0.1a2b3c", VERSION_PLAIN, NULL},
	{"v1.6", VERSION_PREFIXED, "1.5.0"},
	{"V2", VERSION_PREFIXED, "1"},
	{"release-1.6.0", VERSION_PREFIXED, "1.5.0"},
	{"myapp_1.6", VERSION_PREFIXED, "1.5.0"},
	{"_1.6", VERSION_PREFIXED, NULL},
	{"1.5.O", VERSION_TYPO, NULL},
	{"1.O.5", VERSION_TYPO, NULL},
	{"l.5.0", VERSION_TYPO, NULL},
	{"1.5.1O-rc1", VERSION_TYPO, NULL},
	{"I.5", VERSION_TYPO, NULL},
	{"1.5.o", VERSION_TYPO, NULL},
	{"1.5.{", VERSION_PLAIN, NULL},
	{"1.5.[", VERSION_PLAIN, NULL},
	{"2414721f", VERSION_HASH, NULL},
	{"a1b2c3d", VERSION_HASH, NULL},
	{"f954f38c0ffee0123456789abcdef0123456789a", VERSION_HASH, NULL},
	{"a1b2c3", VERSION_PREFIXED, NULL}, /* too short for one */
	{"deadbeef", VERSION_WORDS, NULL},
	{"latest", VERSION_WORDS, "1.5.0"},
	{"-", VERSION_WORDS, NULL},
	{"1.5.0-dev", VERSION_EARLY, "1.5.0"},
	{"1.5.0-DEV3", VERSION_EARLY, "1.5.0"},
	{"1.5.0pre1", VERSION_EARLY, "1.5.0"},
	{"1.5.0-nightly.20261123", VERSION_EARLY, "1.5.0"},
	{"1.5.0~rc1", VERSION_EARLY, "1.5.0"},
	{"", VERSION_WORDS, NULL},
};

Test(version_form, of_each)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_expect_eq(version_form(cases[i].version), cases[i].form, "\"%s\": %d",
			     cases[i].version, version_form(cases[i].version));
}

/* Versions sort as their form says. */
Test(version_form, sorts_as_is_said)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (!cases[i].other)
			continue;
		int order = version_compare(cases[i].version, cases[i].other);
		cr_expect(cases[i].form == VERSION_EARLY ? order > 0 : order < 0, "%s and %s: %d",
			  cases[i].version, cases[i].other, order);
	}
}

Test(version_form, each_but_the_plain_one_has_a_text)
{
	for (enum version_form f = VERSION_PLAIN; f <= VERSION_EARLY; f++)
		cr_expect_eq(version_form_text(f)[0] == '\0', f == VERSION_PLAIN, "%d", f);
}

Test(version_form, outlines_tell_what_looks_alike)
{
	static const char *const outlines[][2] = {
		{"1.6.0", "N.N.N"},
		{"10.60.0", "N.N.N"},
		{"1.6.0-rc1", "N.N.N"},
		{"1.6.0-2", "N.N.N"},
		{"1.6.0+7", "N.N.N"},
		{"1.60", "N.N"},
		{"1,5,0", "N,N,N"},
		{"20261128", "Y"},
		{"2026-11-28", "Y-N-N"},
		{"2026.11.28", "Y.N.N"},
		{"v1.6", ""},
		{"1.", "N"},
		{"1.2.3.4.5.6.7.8.9.1.2.3.4.5.6.7.8.9", "N.N.N.N.N.N.N.N.N.N.N.N.N.N.N."},
	};
	char outline[VERSION_OUTLINE_MAX];

	for (size_t i = 0; i < sizeof(outlines) / sizeof(outlines[0]); i++) {
		version_outline(outlines[i][0], outline);
		cr_expect_str_eq(outline, outlines[i][1], "%s: %s", outlines[i][0], outline);
	}
}
