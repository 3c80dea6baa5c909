#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "node/recipes/party/party_ticket.h"

static const struct node_settings settings = {.root = "/r"};

Test(party_ticket, of_a_gang)
{
	static const char *const keys[] = {"host1", "a-b-3", "vm:/run/z/s", ".x", "k-s-0000000001"};
	struct party_ticket t, back;
	char path[STORE_PATH_MAX], name[STORE_PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		t = (struct party_ticket){
			.id = 0x1234, .count = 256, .kind = i % 2 ? 'c' : 's', .session = -3};
		strcpy(t.key, keys[i]);
		cr_assert(party_ticket_path(&settings, PATH_GANGS, "g", &t, path));
		cr_assert_eq(strncmp(path, "/r/gangs/g/0000000000001234-256-", 32), 0, "%s", path);
		snprintf(name, sizeof(name), "%s0000000042", path + strlen("/r/gangs/g/"));
		cr_assert_null(strchr(name, '/'));
		cr_assert(party_ticket_parse(PATH_GANGS, name, &back), "%s", name);
		cr_assert(!back.left && back.id == t.id && back.count == 256 &&
			  back.kind == t.kind && back.session == -3 && back.number == 42);
		cr_assert_str_eq(back.key, keys[i]);
	}
	t = (struct party_ticket){.id = 0x1234, .left = true};
	cr_assert(party_ticket_path(&settings, PATH_GANGS, "g", &t, path));
	cr_assert_str_eq(path, "/r/gangs/g/0000000000001234-left");
	cr_assert(party_ticket_parse(PATH_GANGS, "0000000000001234-left", &back) && back.left);
}

Test(party_ticket, what_is_none_of_a_gang)
{
	static const char *const names[] = {
		"",
		"left",
		"0000000000001234",
		"000000000000123g-left",
		"0000000000001234-lefts",
		"0000000000001234-0-s-0000000000000001-k-0000000001",
		"0000000000001234-257-s-0000000000000001-k-0000000001",
		"0000000000001234-2-x-0000000000000001-k-0000000001",
		"0000000000001234-2-s-000000000000001-k-0000000001",
		"0000000000001234-2-s-0000000000000001--0000000001",
		"0000000000001234-2-s-0000000000000001-k-000000001",
		"0000000000001234-2-s-0000000000000001-k%2-0000000001",
		"0000000000001234-2-s-0000000000000001-k-9999999999",
	};
	struct party_ticket t;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect(!party_ticket_parse(PATH_GANGS, names[i], &t), "%s", names[i]);
}

Test(party_ticket, of_a_barrier)
{
	static const struct party_ticket tickets[] = {
		{.id = 1, .count = 1, .kind = 'w', .session = 1},
		{.id = UINT64_MAX, .count = 1000, .kind = 'c', .session = -1},
	};

	for (size_t i = 0; i < 2; i++) {
		char path[STORE_PATH_MAX], name[STORE_PATH_MAX + 16];
		struct party_ticket back;
		cr_assert(party_ticket_path(&settings, PATH_BARRIERS, "b", &tickets[i], path));
		snprintf(name, sizeof(name), "%s2147483647", path + strlen("/r/barriers/b/"));
		cr_assert(strlen(name) < PARTY_NAME_MAX);
		cr_assert(party_ticket_parse(PATH_BARRIERS, name, &back), "%s", name);
		cr_assert(back.id == tickets[i].id && back.count == tickets[i].count &&
			  back.kind == tickets[i].kind && back.session == tickets[i].session &&
			  back.number == INT32_MAX);
		cr_assert_str_eq(back.name, name);
	}
}

Test(party_ticket, what_is_none_of_a_barrier)
{
	static const char *const names[] = {
		"",
		"other",
		"0123456789abcdef-left",
		"0123456789abcdef-3-s-0000000000000001-0000000001",
		"0123456789abcdef-3-c-0000000000000001-k-0000000001",
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
	struct party_ticket t;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_assert(!party_ticket_parse(PATH_BARRIERS, names[i], &t), "%s", names[i]);
}
