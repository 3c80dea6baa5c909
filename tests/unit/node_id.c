/* Names that nobody else ever makes. */
#include "node_script.h"

#include "node/session/id.h"

static void drawn(unsigned char byte, char id[NAME_ID_MAX + 1])
{
	host.drawn = (unsigned char)(byte - 1);
	id_new(&host, id);
}

Test(id, a_uuid_of_version_4_by_its_random_bytes)
{
	static const struct {
		unsigned char byte;
		const char *id;
	} cases[] = {
		{0x00, "00000000-0000-4000-8000-000000000000"},
		{0xff, "ffffffff-ffff-4fff-bfff-ffffffffffff"},
		{0x5a, "5a5a5a5a-5a5a-4a5a-9a5a-5a5a5a5a5a5a"},
	};
	char id[NAME_ID_MAX + 1];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		drawn(cases[i].byte, id);
		cr_expect_str_eq(id, cases[i].id);
		cr_expect(name_is_id(id, strlen(id)));
	}
}
