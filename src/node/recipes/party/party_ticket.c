#include "node/recipes/party/party_ticket.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wire/records/barrier_record.h"
#include "wire/records/gang_record.h"

#define ID_LEN	   16
#define NUMBER_LEN 10

static const char left[] = "left";

/* Parses ID_LEN hexadecimal digits in lower case, and the hyphen behind them. */
static bool take_hex(const char **at, uint64_t *ret)
{
	static const char digits[] = "0123456789abcdef";
	uint64_t value = 0;

	for (size_t i = 0; i < ID_LEN; i++, (*at)++) {
		const char *digit = **at ? strchr(digits, **at) : NULL;
		if (!digit)
			return false;
		value = value << 4 | (uint64_t)(digit - digits);
	}
	*ret = value;
	return *(*at)++ == '-';
}

/* Parses a decimal number up to max without leading zeros, or of exactly that many digits. */
static bool take_number(const char **at, size_t digits, int64_t max, int64_t *ret)
{
	size_t n = 0;
	int64_t value = 0;

	while ((*at)[n] >= '0' && (*at)[n] <= '9')
		n++;
	if (n == 0 || n > NUMBER_LEN || (digits > 0 ? n != digits : **at == '0'))
		return false;
	for (size_t i = 0; i < n; i++)
		value = value * 10 + ((*at)[i] - '0');
	*at += n;
	*ret = value;
	return value <= max;
}

/* Parses the key, if there is one, and NUMBER behind it. */
static bool take_rest(const char *at, bool keyed, struct party_ticket *t)
{
	size_t len = strlen(at);
	char key[STORE_PATH_MAX];

	if (keyed) {
		if (len < NUMBER_LEN + 2 || len - NUMBER_LEN - 1 >= sizeof(key) ||
		    at[len - NUMBER_LEN - 1] != '-')
			return false;
		snprintf(key, sizeof(key), "%.*s", (int)(len - NUMBER_LEN - 1), at);
		if (!path_is_node(key, t->key))
			return false;
		at += len - NUMBER_LEN;
	}
	return take_number(&at, NUMBER_LEN, INT32_MAX, &t->number) && *at == '\0';
}

bool party_ticket_parse(enum path_folder folder, const char *name, struct party_ticket *ret_ticket)
{
	struct party_ticket t = {.name = name, .index = -1, .seat = -1};
	bool keyed = folder == PATH_GANGS;
	const char *at = name;
	uint64_t session;
	int64_t count;

	if (strlen(name) >= STORE_PATH_MAX || !take_hex(&at, &t.id))
		return false;
	t.left = keyed && strcmp(at, left) == 0;
	if (t.left) {
		*ret_ticket = t;
		return true;
	}
	if (!take_number(&at, 0, keyed ? GANG_COUNT_MAX : BARRIER_COUNT_MAX, &count) ||
	    *at++ != '-')
		return false;
	t.count = (unsigned)count;
	t.kind = *at;
	if ((*at != 'c' && *at != (keyed ? 's' : 'w')) || *++at != '-')
		return false;
	at++;
	if (!take_hex(&at, &session) || !take_rest(at, keyed, &t))
		return false;
	t.session = (int64_t)session;
	*ret_ticket = t;
	return true;
}

int party_ticket_compare(const void *a, const void *b)
{
	const struct party_ticket *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

bool party_ticket_path(const struct node_settings *s, enum path_folder folder, const char *party,
		       const struct party_ticket *t, char path[STORE_PATH_MAX])
{
	char prefix[80];

	if (t->name)
		return path_in_party(s, folder, party, t->name, NULL, path);
	if (t->left)
		snprintf(prefix, sizeof(prefix), "%016" PRIx64 "-%s", t->id, left);
	else
		snprintf(prefix, sizeof(prefix), "%016" PRIx64 "-%u-%c-%016" PRIx64 "-", t->id,
			 t->count, t->kind, (uint64_t)t->session);
	return path_in_party(s, folder, party, prefix, t->left || !t->key[0] ? NULL : t->key, path);
}
