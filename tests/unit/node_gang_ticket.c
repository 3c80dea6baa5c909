#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "node/recipes/party/gang_ticket.h"

static const struct node_settings settings = {.root = "/r"};

Test(gang_ticket, there_and_back)
{
	static const char *const keys[] = {"host1", "a-b-3", "vm:/run/z/s", ".x", "k-s-0000000001"};
	struct gang_ticket t, back;
	char path[STORE_PATH_MAX], name[STORE_PATH_MAX + 16];

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		t = (struct gang_ticket){
			.id = 0x1234, .count = 256, .goes_on = i % 2, .session = -3};
		strcpy(t.key, keys[i]);
		cr_assert(gang_ticket_path(&settings, "g", &t, path));
		cr_assert_eq(strncmp(path, "/r/gangs/g/0000000000001234-256-", 32), 0, "%s", path);
		snprintf(name, sizeof(name), "%s0000000042", path + strlen("/r/gangs/g/"));
		cr_assert_null(strchr(name, '/'));
		cr_assert(gang_ticket_parse(name, &back), "%s", name);
		cr_assert(!back.left && back.id == t.id && back.count == 256 &&
			  back.goes_on == t.goes_on && back.session == -3 && back.number == 42);
		cr_assert_str_eq(back.key, keys[i]);
	}
	t = (struct gang_ticket){.id = 0x1234, .left = true};
	cr_assert(gang_ticket_path(&settings, "g", &t, path));
	cr_assert_str_eq(path, "/r/gangs/g/0000000000001234-left");
	cr_assert(gang_ticket_parse("0000000000001234-left", &back) && back.left);
}

Test(gang_ticket, what_is_none_of_ours)
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
	struct gang_ticket t;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		cr_expect(!gang_ticket_parse(names[i], &t), "%s", names[i]);
}
