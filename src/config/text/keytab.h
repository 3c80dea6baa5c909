/* Reads the principals of a Kerberos keytab, version 2 (0x05 0x02), as MIT and Heimdal write it. */
#ifndef ZKLEADER_CONFIG_TEXT_KEYTAB_H
#define ZKLEADER_CONFIG_TEXT_KEYTAB_H

#include <stdbool.h>
#include <stddef.h>

#define KEYTAB_PRINCIPAL_MAX 512

/* Whether there is a key of the principal "name/host@REALM"; NULL: of any. */
bool keytab_has(const void *bytes, size_t len, const char *principal);
/*
 * Keeps the keys of the principal alone: writes them to `out`, of at least len bytes. Returns how
 * many bytes that are; 0: there is none, or this is no keytab.
 */
size_t keytab_only(const void *bytes, size_t len, const char *principal, void *out);

#endif
