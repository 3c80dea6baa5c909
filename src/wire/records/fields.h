/* Keys and error texts that many of the records share. */
#ifndef ZKLEADER_WIRE_RECORDS_FIELDS_H
#define ZKLEADER_WIRE_RECORDS_FIELDS_H

#include "base/text/name.h"
#include "base/utf8.h"
#include "wire/keys.h"

#define TIME_MAX_MS  INT64_C(253402300799999) /* the end of 9999, the last year of RFC 3339 */

#define NOT_ID	     "not a string of 1 to 64 letters, digits and hyphens"
#define NOT_VERSION  "not a string of 1 to 255 printable ASCII characters, no space at its ends"
#define NOT_HOST     "not a string of 1 to 255 printable ASCII characters"
#define NOT_IP	     "not a string with an IPv4 or IPv6 address"
#define NOT_NODE     "not a string of at most 400 bytes of UTF-8"
#define NOT_MACHINE  "not a string of 1 to 32 printable ASCII characters"
#define NOT_NAME     "not the name of a task"
#define NOT_POSITIVE "not a positive integer"
#define NOT_NUMBER   "not a number from 0 to 2147483647"
#define NOT_STATUS   "not a number from 0 to 255"
#define NOT_TEXT     "not a string of at most 200 bytes of UTF-8"
#define NOT_WHY	     "not a word of at most 15 bytes"
#define NOT_OUTPUT   "not at most 2048 bytes"
#define NOT_TIME     "not milliseconds since the epoch, before the year 10000"

/* keys.c checks that a text fits its array and has no NUL byte. */
#define UTF8_KEY(type, key, need, why) TEXT_KEY(type, key, need, utf8_is_valid, why)
#define TIME_KEY(type, key, need)      INT_KEY(type, key, need, 0, TIME_MAX_MS, NOT_TIME)
/* An exit status, -1: none. */
#define STATUS_KEY(type, key) INT_KEY(type, key, KEY_OPTIONAL, 0, 255, NOT_STATUS, .none = -1)

#endif
