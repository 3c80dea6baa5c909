/* The small forms: durations, names, and what is printed of them. */
#include "fuzz.h"

#include <errno.h>

#include "base/text/duration.h"
#include "base/text/name.h"
#include "base/text/printable.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

static bool is_duration(const char *text)
{
	size_t n = strspn(text, "0123456789");
	const char *unit = text + n;

	return n > 0 && (strcmp(unit, "ms") == 0 || (strlen(unit) == 1 && strchr("smhd", unit[0])));
}

static void check_duration(const char *text)
{
	char shown[DURATION_TEXT_SIZE];
	int64_t ms = -1, again = -1;
	int e = duration_parse(text, &ms);

	FUZZ_CHECK((e == -EINVAL) == !is_duration(text));
	FUZZ_CHECK(e == 0 || (ms == -1 && (e == -EINVAL || e == -ERANGE)));
	if (e < 0)
		return;
	FUZZ_CHECK(ms >= 0 && ms <= DURATION_MAX_MS);
	duration_format(ms, shown);
	FUZZ_CHECK(memchr(shown, '\0', sizeof(shown)));
	FUZZ_CHECK(duration_parse(shown, &again) == 0 && again == ms);
}

/* Letters, digits and `more`, beginning with a letter or digit: said as a whole, not step by step. */
static bool is_word(const char *text, size_t len, size_t max, const char *more)
{
	char all[sizeof(LETTERS) + 4] = LETTERS;

	strcat(all, more);
	return len > 0 && len <= max && strlen(text) == len && strspn(text, all) == len &&
	       strchr(LETTERS, text[0]);
}

static void check_names(const char *text, size_t len)
{
	bool ascii = true;

	for (size_t i = 0; i < len; i++)
		ascii = ascii && text[i] >= 0x20 && text[i] < 0x7f;
	FUZZ_CHECK(name_is_task(text, len) == is_word(text, len, NAME_TASK_MAX, "._-"));
	FUZZ_CHECK(name_is_id(text, len) == is_word(text, len, NAME_ID_MAX, "-"));
	FUZZ_CHECK(name_is_host(text, len) == (ascii && len > 0 && len <= NAME_HOST_MAX));
	FUZZ_CHECK(name_is_version(text, len) == (ascii && len > 0 && len <= NAME_VERSION_MAX &&
						  text[0] != ' ' && text[len - 1] != ' '));
	if (name_is_ip(text, len))
		FUZZ_CHECK(strspn(text, "0123456789abcdefABCDEF:.") == len);
}

static void check_printable(const char *text, size_t len, size_t size)
{
	char *out = malloc(size), *whole = printable_dup(text, len);
	size_t n;

	FUZZ_CHECK(out);
	n = printable(out, size, text, len);
	FUZZ_CHECK(n < size && strlen(out) == n && fuzz_is_line(out, n));
	FUZZ_CHECK(fuzz_is_line(whole, strlen(whole)));
	if (strlen(whole) < size)
		FUZZ_CHECK(strcmp(out, whole) == 0);
	else
		FUZZ_CHECK(strcmp(out + n - 3, "...") == 0 && strncmp(out, whole, n - 3) == 0);
	free(whole);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct feed f = {data, size};
	size_t room = 4 + feed_byte(&f) % 64;
	/* The names may have NUL bytes in them, and are not terminated. */
	char *text = fuzz_text(f.p, f.left);
	size_t len = f.left;
	char *bare = malloc(len ? len : 1);

	FUZZ_CHECK(bare);
	memcpy(bare, text, len);
	check_duration(text);
	check_names(text, len);
	(void)name_is_task(bare, len);
	(void)name_is_id(bare, len);
	(void)name_is_version(bare, len);
	(void)name_is_host(bare, len);
	(void)name_is_ip(bare, len);
	check_printable(bare, len, room);
	free(bare);
	free(text);
	return 0;
}
