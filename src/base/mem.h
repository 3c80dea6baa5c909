/* Memory: allocation that does not fail, and the cleanup attribute for locals. */
#ifndef ZKLEADER_BASE_MEM_H
#define ZKLEADER_BASE_MEM_H

#include <stddef.h>
#include <stdio.h>

/*
 * Every array, queue and frame of zkleader has a named limit, so an allocation that fails means
 * that the machine itself is out of memory. A sidecar that dies stops saying "leads" and its
 * session runs out, which is the safe outcome; limping on is not. So these abort, after a line on
 * standard error.
 */
void *mem_alloc(size_t size);
/* n zeroed elements of size bytes each. */
void *mem_calloc(size_t n, size_t size);
/* Resizes to n elements of size bytes each; like realloc, the old pointer is gone. */
void *mem_resize(void *old, size_t n, size_t size);
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t len);

/* A stream into a heap text, as open_memstream(3); after mem_stream_end() the text is whole. */
FILE *mem_stream(char **text, size_t *len);
void mem_stream_end(FILE *f);

/* Gives free memory back to the system, as after a burst of work. */
void mem_trim(void);

/* For locals: `mem_auto char *text = mem_strdup(x);` is freed at the end of its scope. */
void mem_free_pointer(void *pointer_to_pointer);
#define mem_auto __attribute__((cleanup(mem_free_pointer)))

#endif
