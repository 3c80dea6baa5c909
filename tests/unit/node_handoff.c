/* A handoff is taken over in the same place alone: two nodes must never share a session. */
#include <criterion/criterion.h>

#include "node/session/handoff.h"

#define HERE                                 \
	{                                    \
		"machine-1 /run/a", "boot-1" \
	}

static const struct {
	const char *says;
	struct handoff_place left;
	struct handoff_place here;
	bool ours;
	const char *why; /* begins so */
} cases[] = {
	{"the same place",
	 {"machine-1 /run/a", "boot-1"},
	 {"machine-1 /run/a", "boot-1"},
	 true,
	 ""},
	{"a copied disk", {"machine-2 /run/a", "boot-1"}, HERE, false, "it is a copy"},
	{"another sidecar's", {"machine-1 /run/b", "boot-1"}, HERE, false, "it is a copy"},
	{"a longer name", {"machine-1 /run/ab", "boot-1"}, HERE, false, "it is a copy"},
	{"left by nobody that is known", {"", "boot-1"}, HERE, false, "it is a copy"},
	{"before a restart of the system",
	 {"machine-1 /run/a", "boot-0"},
	 HERE,
	 false,
	 "it is of before"},
	{"start of the system not to be seen then",
	 {"machine-1 /run/a", ""},
	 HERE,
	 false,
	 "it is of before"},
	{"start of the system not to be seen now",
	 HERE,
	 {"machine-1 /run/a", ""},
	 false,
	 "it is of before"},
	{"nor at any time",
	 {"machine-1 /run/a", ""},
	 {"machine-1 /run/a", ""},
	 false,
	 "it is of before"},
	{"both are others: the machine is said",
	 {"machine-2 /run/a", "boot-2"},
	 HERE,
	 false,
	 "it is a copy"},
};

Test(handoff, is_ours_in_the_same_place_of_the_same_running_system)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why = NULL;

		cr_expect_eq(handoff_is_ours(&cases[i].left, &cases[i].here, &why), cases[i].ours,
			     "%s", cases[i].says);
		cr_expect_eq(why == NULL, cases[i].ours, "%s: %s", cases[i].says, why ? why : "-");
		if (why)
			cr_expect_eq(strncmp(why, cases[i].why, strlen(cases[i].why)), 0, "%s: %s",
				     cases[i].says, why);
	}
}
