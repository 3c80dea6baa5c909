#include "daemon/machine/server_names.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ADDRESS_SIZE 128

static struct {
	char address[ADDRESS_SIZE]; /* without brackets; "": the place is free */
	char name[SERVER_NAME_SIZE];
} known[SERVER_ADDRESSES_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void plain(const char *address, char text[ADDRESS_SIZE])
{
	size_t used = 0;

	for (const char *c = address; *c && used + 1 < ADDRESS_SIZE; c++)
		if (*c != '[' && *c != ']')
			text[used++] = *c;
	text[used] = '\0';
}

void server_names_forget(const char *name, const char *port)
{
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < SERVER_ADDRESSES_MAX; i++)
		if (known[i].address[0] && strcmp(known[i].name, name) == 0 &&
		    strcmp(strrchr(known[i].address, ':') + 1, port) == 0)
			known[i].address[0] = '\0';
	pthread_mutex_unlock(&lock);
}

void server_names_add(const char *address, const char *name)
{
	size_t i = 0;

	pthread_mutex_lock(&lock);
	while (i < SERVER_ADDRESSES_MAX && known[i].address[0])
		i++;
	if (i < SERVER_ADDRESSES_MAX && strchr(address, ':')) {
		plain(address, known[i].address);
		snprintf(known[i].name, sizeof(known[i].name), "%s", name);
	}
	pthread_mutex_unlock(&lock);
}

size_t server_names_find(const char *address, char names[SERVER_NAMES_MAX][SERVER_NAME_SIZE])
{
	char text[ADDRESS_SIZE];
	size_t n = 0;

	plain(address, text);
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < SERVER_ADDRESSES_MAX && n < SERVER_NAMES_MAX; i++)
		if (strcmp(known[i].address, text) == 0)
			memcpy(names[n++], known[i].name, SERVER_NAME_SIZE);
	pthread_mutex_unlock(&lock);
	return n;
}
