#include "config/text/keytab.h"

#include <stdint.h>
#include <string.h>

#define HEAD_SIZE 2 /* the version */

struct cursor {
	const uint8_t *at;
	size_t left;
};

static bool take(struct cursor *c, size_t n, uint32_t *ret_value)
{
	uint32_t value = 0;

	if (c->left < n)
		return false;
	for (size_t i = 0; i < n; i++)
		value = value << 8 | c->at[i];
	c->at += n;
	c->left -= n;
	*ret_value = value;
	return true;
}

/* Appends a counted text; false: it does not fit, or ends too soon. */
static bool take_text(struct cursor *c, const char *before, char *text, size_t *used)
{
	size_t gap = strlen(before);
	uint32_t len;

	if (!take(c, 2, &len) || c->left < len || *used + gap + len >= KEYTAB_PRINCIPAL_MAX)
		return false;
	memcpy(text + *used, before, gap);
	memcpy(text + *used + gap, c->at, len);
	*used += gap + len;
	text[*used] = '\0';
	c->at += len;
	c->left -= len;
	return true;
}

/* The principal of an entry: a count, the realm, and so many parts. */
static bool principal_of(struct cursor entry, char text[KEYTAB_PRINCIPAL_MAX])
{
	char realm[KEYTAB_PRINCIPAL_MAX];
	size_t used = 0, realm_len = 0;
	uint32_t n;

	if (!take(&entry, 2, &n) || !take_text(&entry, "@", realm, &realm_len))
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!take_text(&entry, i ? "/" : "", text, &used))
			return false;
	if (used + realm_len >= KEYTAB_PRINCIPAL_MAX)
		return false;
	memcpy(text + used, realm, realm_len + 1);
	return true;
}

/* Goes through the entries; out may be NULL. Returns the bytes of those that were kept. */
static size_t walk(const void *bytes, size_t len, const char *principal, uint8_t *out)
{
	struct cursor all = {bytes, len};
	char text[KEYTAB_PRINCIPAL_MAX];
	uint32_t value;
	size_t kept = 0;

	if (!take(&all, HEAD_SIZE, &value) || value != 0x0502)
		return 0;
	while (take(&all, 4, &value)) {
		/* A negative size is a hole where an entry was. */
		bool hole = (value & 0x80000000U) != 0;
		size_t size = hole ? (size_t)(0U - value) : value;

		if (size == 0 || size > all.left)
			break;
		struct cursor entry = {all.at, size};
		if (!hole && principal_of(entry, text) &&
		    (!principal || strcmp(text, principal) == 0)) {
			if (out)
				memcpy(out + HEAD_SIZE + kept, all.at - 4, size + 4);
			kept += size + 4;
		}
		all.at += size;
		all.left -= size;
	}
	if (out && kept > 0)
		memcpy(out, bytes, HEAD_SIZE);
	return kept > 0 ? kept + HEAD_SIZE : 0;
}

bool keytab_has(const void *bytes, size_t len, const char *principal)
{
	return walk(bytes, len, principal, NULL) > 0;
}

size_t keytab_only(const void *bytes, size_t len, const char *principal, void *out)
{
	return walk(bytes, len, principal, out);
}
