#include "base/text/name.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

/* <ctype.h> depends on the locale, and these forms do not. */
static bool is_alnum(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_printable(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

/* An alphanumeric character, then alphanumeric ones or those in `more`. */
static bool is_word(const char *text, size_t len, size_t max, const char *more)
{
	if (len == 0 || len > max || !is_alnum(text[0]))
		return false;
	for (size_t i = 1; i < len; i++) {
		/* strchr() finds the NUL at the end of `more` too. */
		if (!is_alnum(text[i]) && (text[i] == '\0' || !strchr(more, text[i])))
			return false;
	}
	return true;
}

bool name_is_task(const char *text, size_t len)
{
	return is_word(text, len, NAME_TASK_MAX, "._-");
}

bool name_partition_parse(const char *text, size_t len, size_t *ret_task_len,
			  unsigned *ret_partition)
{
	const char *colon = memchr(text, ':', len);
	size_t task_len = colon ? (size_t)(colon - text) : len;
	size_t digits = colon ? len - task_len - 1 : 0;
	unsigned number = 0;

	if (digits == 0 || digits > 3 || !name_is_task(text, task_len))
		return false;
	for (size_t i = task_len + 1; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		number = number * 10 + (unsigned)(text[i] - '0');
	}
	if (number >= NAME_PARTITIONS_MAX || (colon[1] == '0' && digits > 1))
		return false;
	if (ret_task_len)
		*ret_task_len = task_len;
	if (ret_partition)
		*ret_partition = number;
	return true;
}

bool name_is_election(const char *text, size_t len)
{
	return name_is_task(text, len) || name_partition_parse(text, len, NULL, NULL);
}

bool name_is_glob(const char *word)
{
	return strpbrk(word, "*?[") != NULL;
}

bool name_is_id(const char *text, size_t len)
{
	return is_word(text, len, NAME_ID_MAX, "-");
}

bool name_is_version(const char *text, size_t len)
{
	return len > 0 && len <= NAME_VERSION_MAX && is_printable(text, len) && text[0] != ' ' &&
	       text[len - 1] != ' ';
}

bool name_is_host(const char *text, size_t len)
{
	return len > 0 && len <= NAME_HOST_MAX && is_printable(text, len);
}

bool name_is_user(const char *text, size_t len)
{
	bool named = false; /* digits alone are taken for a uid by other programs */

	for (size_t i = 0; i < len; i++) {
		if (!is_alnum(text[i]) && (text[i] == '\0' || !strchr("._-$", text[i])))
			return false;
		named |= text[i] < '0' || text[i] > '9';
	}
	return named && len <= NAME_USER_MAX && text[0] != '-';
}

bool name_is_ip(const char *text, size_t len)
{
	char copy[NAME_IP_MAX + 1];
	struct in6_addr address; /* has room for an IPv4 one as well */

	if (len == 0 || len > NAME_IP_MAX || memchr(text, '\0', len))
		return false;
	memcpy(copy, text, len);
	copy[len] = '\0';
	return inet_pton(AF_INET, copy, &address) == 1 || inet_pton(AF_INET6, copy, &address) == 1;
}
