#include "node/recipes/lock/lock_name.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "node/tree/paths.h"

#define SESSION_LEN 16
#define NUMBER_LEN  10 /* or 11: the server's 32-bit counter becomes negative */

/* Parses len hexadecimal digits in lower case, or decimal digits. */
static bool take_digits(const char *text, size_t len, unsigned base, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned digit = text[i] >= '0' && text[i] <= '9'   ? (unsigned)(text[i] - '0')
				 : text[i] >= 'a' && text[i] <= 'f' ? (unsigned)(text[i] - 'a') + 10
								    : base;
		if (digit >= base)
			return false;
		value = value * base + digit;
	}
	*ret_value = value;
	return true;
}

bool lock_is_id(const char *text, size_t len)
{
	uint64_t value;

	return len == LOCK_ID_LEN && take_digits(text, len, 16, &value);
}

/* Parses an int32_t as the server writes it, in at least ten characters. */
static bool take_number(const char *text, uint32_t *ret_number)
{
	bool negative = text[0] == '-';
	size_t len = strlen(text);
	uint64_t value;

	if (len < NUMBER_LEN || len > NUMBER_LEN + 1 ||
	    !take_digits(text + negative, len - negative, 10, &value) ||
	    value > (uint64_t)INT32_MAX + negative)
		return false;
	*ret_number = negative ? -(uint32_t)value : (uint32_t)value;
	return true;
}

bool lock_name_parse(const char *text, struct lock_name *ret)
{
	const char *id = text + SESSION_LEN + 1, *number = id + LOCK_ID_LEN + 1;
	uint64_t session;

	if (strlen(text) < (size_t)(number - text) ||
	    !take_digits(text, SESSION_LEN, 16, &session) || id[-1] != '-' ||
	    !lock_is_id(id, LOCK_ID_LEN) || number[-1] != '-' || !take_number(number, &ret->number))
		return false;
	memcpy(&ret->session, &session, sizeof(ret->session));
	memcpy(ret->id, id, LOCK_ID_LEN);
	ret->id[LOCK_ID_LEN] = '\0';
	return true;
}

bool lock_name_is_before(const struct lock_name *a, const struct lock_name *b)
{
	return a->number != b->number && b->number - a->number < UINT32_C(1) << 31;
}

/* Builds ROOT/locks/LOCK/ and the text. */
static void path_in(const struct node_settings *s, const char *lock, const char *text,
		    char path[STORE_PATH_MAX])
{
	size_t len;

	path_of(s, PATH_LOCKS, lock, path);
	len = strlen(path);
	snprintf(path + len, STORE_PATH_MAX - len, "/%s", text);
}

void lock_path_new(const struct node_settings *s, const char *lock, int64_t session, const char *id,
		   char path[STORE_PATH_MAX])
{
	char name[LOCK_NODE_MAX + 1];

	snprintf(name, sizeof(name), "%016" PRIx64 "-%s-", (uint64_t)session, id);
	path_in(s, lock, name, path);
}

void lock_path_of(const struct node_settings *s, const char *lock, const char *node,
		  char path[STORE_PATH_MAX])
{
	path_in(s, lock, node, path);
}
