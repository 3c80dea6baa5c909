#include "node/recipes/party/gang_ticket.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "node/tree/paths.h"
#include "node/tree/ticket.h"

#define NUMBER_LEN 10

static const char left[] = "left";

/* The key, and -NUMBER at the end. */
static bool take_key(const char *at, struct gang_ticket *t)
{
	size_t len = strlen(at), key_len = len - NUMBER_LEN - 1;
	const char *number = at + key_len;
	char key[STORE_PATH_MAX];

	if (len < NUMBER_LEN + 2 || key_len >= sizeof(key) || !ticket_take_char(&number, '-') ||
	    !ticket_take_number(&number, NUMBER_LEN, INT32_MAX, &t->number) || *number)
		return false;
	memcpy(key, at, key_len);
	key[key_len] = '\0';
	return path_is_node(key, t->key);
}

bool gang_ticket_parse(const char *name, struct gang_ticket *ret_ticket)
{
	struct gang_ticket t = {.left = false};
	const char *at = name;
	uint64_t session;
	int64_t count;

	if (strlen(name) >= sizeof(t.name) || !ticket_take_hex(&at, &t.id) ||
	    !ticket_take_char(&at, '-'))
		return false;
	snprintf(t.name, sizeof(t.name), "%s", name);
	t.left = strcmp(at, left) == 0;
	if (t.left) {
		*ret_ticket = t;
		return true;
	}
	if (!ticket_take_number(&at, 0, GANG_COUNT_MAX, &count) || !ticket_take_char(&at, '-'))
		return false;
	t.count = (unsigned)count;
	t.goes_on = *at == 'c';
	if ((*at != 'c' && *at != 's') || !ticket_take_char(&at, *at) ||
	    !ticket_take_char(&at, '-') || !ticket_take_hex(&at, &session) ||
	    !ticket_take_char(&at, '-') || !take_key(at, &t))
		return false;
	t.session = (int64_t)session;
	*ret_ticket = t;
	return true;
}

int gang_ticket_compare(const void *a, const void *b)
{
	const struct gang_ticket *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}

bool gang_ticket_path(const struct node_settings *s, const char *gang, const struct gang_ticket *t,
		      char path[STORE_PATH_MAX])
{
	char prefix[80];

	if (t->name[0])
		return path_in_gang(s, gang, t->name, NULL, path);
	if (t->left) {
		snprintf(prefix, sizeof(prefix), "%016" PRIx64 "-%s", t->id, left);
		return path_in_gang(s, gang, prefix, NULL, path);
	}
	snprintf(prefix, sizeof(prefix), "%016" PRIx64 "-%u-%c-%016" PRIx64 "-", t->id, t->count,
		 t->goes_on ? 'c' : 's', (uint64_t)t->session);
	return path_in_gang(s, gang, prefix, t->key, path);
}
