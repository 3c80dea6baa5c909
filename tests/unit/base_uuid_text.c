#include <criterion/criterion.h>
#include <string.h>

#include "base/text/uuid_text.h"

Test(uuid_text, by_its_bytes_and_by_those_of_the_system)
{
	static const uint8_t bytes[UUID_BYTES] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef,
						  0xff, 0xdc, 0xba, 0x98, 0x76, 0x54, 0x32, 0x10};
	char text[UUID_TEXT_SIZE], other[UUID_TEXT_SIZE];

	uuid_text_of(bytes, text);
	cr_expect_str_eq(text, "01234567-89ab-4def-bfdc-ba9876543210");
	cr_expect(uuid_text_is(text, strlen(text)));
	cr_expect_eq(uuid_text_new(text), 0);
	cr_expect_eq(uuid_text_new(other), 0);
	cr_expect_str_neq(text, other);
	cr_expect_eq(text[14], '4');
	cr_expect(uuid_text_is(text, strlen(text)));
}

Test(uuid_text, what_is_none)
{
	static const char *const texts[] = {
		"",
		"01234567-89ab-4def-bfdc-ba987654321",
		"01234567-89ab-4def-bfdc-ba98765432100",
		"01234567-89AB-4def-bfdc-ba9876543210",
		"01234567-89ab-4def-bfdc-ba987654321g",
		"01234567089ab-4def-bfdc-ba9876543210",
		"0123456-789ab-4def-bfdc-ba9876543210",
		" 1234567-89ab-4def-bfdc-ba9876543210",
		"+1234567-89ab-4def-bfdc-ba9876543210",
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		cr_expect_not(uuid_text_is(texts[i], strlen(texts[i])), "%s", texts[i]);
	cr_expect_not(uuid_text_is("01234567-89ab-4def-bfdc-ba98765\0"
				   "3210",
				   36));
}
