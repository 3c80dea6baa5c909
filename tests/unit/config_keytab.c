/* Keytabs as MIT's ktutil writes them. */
#include <criterion/criterion.h>
#include <string.h>

#include "config/text/keytab.h"

/* Entries of a/b@R and c@R with a hole between them; each has a type, time, version and a key. */
#define TAIL       \
	"\0\0\0\1" \
	"\0\0\0\0" \
	"\1"       \
	"\0\21"    \
	"\0\2"     \
	"kk"
static const char two[] = "\5\2"
			  "\0\0\0\32\0\2\0\1R\0\1a\0\1b" TAIL "\377\377\377\375xyz"
			  "\0\0\0\27\0\1\0\1R\0\1c" TAIL;
#define SIZE (sizeof(two) - 1)

Test(keytab, finds_its_principals)
{
	cr_expect(keytab_has(two, SIZE, NULL));
	cr_expect(keytab_has(two, SIZE, "a/b@R"));
	cr_expect(keytab_has(two, SIZE, "c@R"));
	cr_expect_not(keytab_has(two, SIZE, "a@R"));
	cr_expect_not(keytab_has(two, SIZE, "c@S"));
}

Test(keytab, keeps_one_principal_alone)
{
	char out[SIZE];
	size_t len = keytab_only(two, SIZE, "c@R", out);

	cr_expect_eq(len, 2 + 4 + 23);
	cr_expect(keytab_has(out, len, "c@R"));
	cr_expect_not(keytab_has(out, len, "a/b@R"));
	cr_expect_eq(keytab_only(two, SIZE, "x@R", out), 0);
}

Test(keytab, what_is_cut_or_none_has_no_more_than_is_there)
{
	cr_expect_not(keytab_has("", 0, NULL));
	cr_expect_not(keytab_has("\5\1\0\0", 4, NULL));
	cr_expect_not(keytab_has("\5\2\177\377\377\377", 6, NULL));
	cr_expect_not(keytab_has("\5\2\200\0\0\0", 6, NULL));
	cr_expect_not(keytab_has("\5\2\0\0\0\4\377\377\0\0", 10, NULL));
	for (size_t i = 0; i < SIZE; i++)
		cr_expect_not(keytab_has(two, i, "c@R"), "%zu bytes", i);
}
