/*
 * The log: one line per change of state, on standard error, as key=value text or as JSON. If
 * standard error is the journal, each line is an entry whose fields can be searched.
 */
#ifndef ZKLEADER_BASE_LOG_LOG_H
#define ZKLEADER_BASE_LOG_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_LINE_MAX 2048 /* with its newline; a longer one is cut at a whole field, see below */
#define LOG_LINE_MIN 128
#define LOG_LIST_MAX 1200 /* bytes of a list's strings, by names_fit(), so that no list is cut */

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
enum log_format { LOG_TEXT, LOG_JSON };

struct log_field {
	const char *key; /* NULL ends a list of fields */
	enum log_type {
		LOG_TYPE_STRING,
		LOG_TYPE_INT,
		LOG_TYPE_UINT,
		LOG_TYPE_HEX,
		LOG_TYPE_LIST
	} type;
	const char *string; /* untrusted text is welcome: it is quoted and escaped; NULL omits the
			       field */
	int64_t integer;    /* list: the number of its strings */
	const char *const *list; /* list: its strings, as untrusted */
};

#define LOG_STR(k, v) ((struct log_field){.key = (k), .type = LOG_TYPE_STRING, .string = (v)})
#define LOG_INT(k, v) \
	((struct log_field){.key = (k), .type = LOG_TYPE_INT, .integer = (int64_t)(v)})
#define LOG_UINT(k, v) \
	((struct log_field){.key = (k), .type = LOG_TYPE_UINT, .integer = (int64_t)(v)})
#define LOG_HEX(k, v) \
	((struct log_field){.key = (k), .type = LOG_TYPE_HEX, .integer = (int64_t)(v)})

#define LOG_LIST(k, v, n)    \
	((struct log_field){ \
		.key = (k), .type = LOG_TYPE_LIST, .list = (v), .integer = (int64_t)(n)})

#define LOG_END ((struct log_field){.key = NULL}) /* alone, where a line has no fields */

/*
 * Process-wide settings, made once at the start (and at a reload, on the loop thread).
 * With journal, text lines begin with "<N>", the priority prefix that journald reads.
 */
void log_setup(enum log_level level, enum log_format format, bool journal);
/*
 * Sends lines to the journal's socket at this path, which stays the caller's. The line is MESSAGE,
 * its constant part ZKLEADER_EVENT, and each field ZKLEADER_ and its key; a list is a field for
 * each of its strings. A line that the journal does not take goes to standard error. To be called
 * before other threads log.
 */
void log_to_journal(const char *path);
/*
 * Both, as a program begins, by what $JOURNAL_STREAM says of standard error. Returns the journal's
 * socket, or NULL where lines go to standard error.
 */
const char *log_begin(enum log_level level, enum log_format format);
bool log_enabled(enum log_level level);

/*
 * Safe from any thread: a line is made on the stack, leaves at once, and is lost where it cannot,
 * since an election must not wait for a log. A later line then says how many were lost.
 */
void log_write(enum log_level level, const char *message, const struct log_field *fields);
/*
 * Logs how many lines were lost, if that can be written now. To be called from time to time, as the
 * next line may be far off.
 */
void log_catch_up(void);
/* The number of lost lines that have not been reported yet; 0 while the log is read. */
uint64_t log_lost(void);
/*
 * Formats a line without its newline, terminated, as without journal; returns its length. Size is
 * at least LOG_LINE_MIN. From the first field on that does not fit, all are left out: text then
 * ends with " ...", JSON has the field "cut":"...".
 */
size_t log_format_line(char *line, size_t size, enum log_level level, enum log_format format,
		       int64_t wall_ms, const char *message, const struct log_field *fields);

#define log_at(level, message, ...)                                                  \
	do {                                                                         \
		if (log_enabled(level))                                              \
			log_write((level), (message),                                \
				  (const struct log_field[]){__VA_ARGS__, LOG_END}); \
	} while (0)
#define log_error(message, ...)	  log_at(LOG_ERROR, message, __VA_ARGS__)
#define log_warning(message, ...) log_at(LOG_WARNING, message, __VA_ARGS__)
#define log_info(message, ...)	  log_at(LOG_INFO, message, __VA_ARGS__)
#define log_debug(message, ...)	  log_at(LOG_DEBUG, message, __VA_ARGS__)

#endif
