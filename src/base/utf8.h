/* UTF-8, which is what texts of messages and records are in. */
#ifndef ZKLEADER_BASE_UTF8_H
#define ZKLEADER_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The character at text: its length and code point, or 0 where it is no UTF-8. n is at least 1. */
size_t utf8_decode(const char *text, size_t n, uint32_t *ret_code);
bool utf8_is_valid(const char *s, size_t len);

#endif
