/*
 * The names of the ephemeral nodes below a barrier. A name says all that others have to know of the
 * member, so that one listing of the folder is enough:
 *
 *   ID-COUNT-KIND-SESSION-NUMBER   0123456789abcdef-3-c-100000000000002a-0000000007
 *
 * ID: of the member, drawn by its client; SESSION: that the node is of; NUMBER: by which the server
 * orders them.
 */
#ifndef ZKLEADER_NODE_TREE_TICKET_H
#define ZKLEADER_NODE_TREE_TICKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TICKET_NAME_MAX 64 /* bytes, with its NUL */

struct ticket {
	uint64_t id;
	unsigned count; /* members that it waits for */
	bool command;	/* its node stays until its command has ended */
	int64_t session;
	int64_t number; /* the smallest came first */
	char name[TICKET_NAME_MAX];
};

/* The name without the server's number. */
void ticket_name(const struct ticket *t, char name[TICKET_NAME_MAX]);
/* False: it is not one of ours. */
bool ticket_parse(const char *name, struct ticket *ret_ticket);
/* Parts of such names, and the text goes on behind them. So many hexadecimal digits as we write: */
bool ticket_take_hex(const char **at, uint64_t *ret);
/* A decimal number up to max without leading zeros, or of just so many digits. */
bool ticket_take_number(const char **at, size_t digits, int64_t max, int64_t *ret);
bool ticket_take_char(const char **at, char c);
/* For qsort(): by number. */
int ticket_compare(const void *a, const void *b);

#endif
