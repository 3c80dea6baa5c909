#include <criterion/criterion.h>
#include <string.h>

#include "node/tree/ticket.h"

Test(ticket, there_and_back)
{
	static const struct ticket tickets[] = {
		{.id = 1, .count = 1, .session = 1},
		{.id = UINT64_MAX, .count = 1000, .command = true, .session = -1},
	};

	for (size_t i = 0; i < 2; i++) {
		char name[2 * TICKET_NAME_MAX];
		struct ticket back;
		ticket_name(&tickets[i], name);
		strcat(name, "2147483647");
		cr_assert(strlen(name) < TICKET_NAME_MAX);
		cr_assert(ticket_parse(name, &back), "%s", name);
		cr_assert(back.id == tickets[i].id && back.count == tickets[i].count &&
			  back.command == tickets[i].command &&
			  back.session == tickets[i].session && back.number == INT32_MAX);
		cr_assert_str_eq(back.name, name);
	}
}

Test(ticket, what_is_none)
{
	static const char *const names[] = {
		"",
		"other",
		"0123456789abcdef-3-c-0000000000000001-",
		"0123456789abcdef-3-c-0000000000000001-000000001",
		"0123456789abcdef-3-c-0000000000000001-00000000001",
		"0123456789abcdef-3-c-0000000000000001-2147483648",
		"0123456789abcdef-3-c-0000000000000001-0000000001x",
		"0123456789abcdef-03-c-0000000000000001-0000000001",
		"0123456789abcdef-0-c-0000000000000001-0000000001",
		"0123456789abcdef-1001-c-0000000000000001-0000000001",
		"0123456789abcdef-99999999999-c-0000000000000001-0000000001",
		"0123456789abcdef-3-d-0000000000000001-0000000001",
		"0123456789abcdeF-3-c-0000000000000001-0000000001",
		"0123456789abcde-3-c-0000000000000001-0000000001",
		"0123456789abcdef-3-c-000000000000001-0000000001",
		"0123456789abcdef-3-c-0000000000000001--000000001",
	};
	struct ticket t;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_assert(!ticket_parse(names[i], &t), "%s", names[i]);
}
