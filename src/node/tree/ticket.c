#include "node/tree/ticket.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "wire/records/barrier_record.h"

#define ID_LEN	   16
#define NUMBER_LEN 10

void ticket_name(const struct ticket *t, char name[TICKET_NAME_MAX])
{
	snprintf(name, TICKET_NAME_MAX, "%016" PRIx64 "-%u-%c-%016" PRIx64 "-", t->id, t->count,
		 t->command ? 'c' : 'w', (uint64_t)t->session);
}

bool ticket_take_hex(const char **at, uint64_t *ret)
{
	uint64_t value = 0;

	for (size_t i = 0; i < ID_LEN; i++, (*at)++) {
		const char *digits = "0123456789abcdef";
		const char *digit = **at ? strchr(digits, **at) : NULL;
		if (!digit)
			return false;
		value = value << 4 | (uint64_t)(digit - digits);
	}
	*ret = value;
	return true;
}

bool ticket_take_number(const char **at, size_t digits, int64_t max, int64_t *ret)
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

bool ticket_take_char(const char **at, char c)
{
	if (**at != c)
		return false;
	(*at)++;
	return true;
}

bool ticket_parse(const char *name, struct ticket *ret_ticket)
{
	struct ticket t;
	uint64_t session;
	const char *at = name;
	int64_t count;

	if (!ticket_take_hex(&at, &t.id) || !ticket_take_char(&at, '-') ||
	    !ticket_take_number(&at, 0, BARRIER_COUNT_MAX, &count) || !ticket_take_char(&at, '-'))
		return false;
	t.count = (unsigned)count;
	t.command = *at == 'c';
	if ((*at != 'c' && *at != 'w') || !ticket_take_char(&at, *at) ||
	    !ticket_take_char(&at, '-') || !ticket_take_hex(&at, &session) ||
	    !ticket_take_char(&at, '-') ||
	    !ticket_take_number(&at, NUMBER_LEN, INT32_MAX, &t.number) || *at)
		return false;
	t.session = (int64_t)session;
	snprintf(t.name, sizeof(t.name), "%s", name);
	*ret_ticket = t;
	return true;
}

int ticket_compare(const void *a, const void *b)
{
	const struct ticket *x = a, *y = b;

	return (x->number > y->number) - (x->number < y->number);
}
