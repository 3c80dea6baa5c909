/* Keys of jobs: the znode of a key holds "MINUTE.UUID KEY" of the job that has it. */
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

#include "node/queue/queue_parts.h"
#include "node/tree/paths.h"

/* XXH64 with two seeds gives 128 bits, so that two keys never have the same name by chance. */
void queue_path_of_key(const struct queues *q, const char *queue, const char *key,
		       char path[STORE_PATH_MAX])
{
	size_t len = strlen(key);
	char hash[33];

	snprintf(hash, sizeof(hash), "%016llx%016llx", (unsigned long long)hash_bytes(key, len, 0),
		 (unsigned long long)hash_bytes(key, len, 1));
	path_of_queue(q->registry->settings, queue, "key", hash, path);
}

bool queue_key_parse(const struct store_reply *reply, const char *queue, struct job_id *ret_id,
		     const char **ret_key, size_t *ret_len)
{
	const char *data = reply->data;
	const char *space = reply->len > 0 ? memchr(data, ' ', reply->len) : NULL;

	if (!space || !job_name_parse(data, (size_t)(space - data), ret_id))
		return false;
	snprintf(ret_id->queue, sizeof(ret_id->queue), "%s", queue);
	*ret_key = space + 1;
	*ret_len = reply->len - (size_t)(space + 1 - data);
	return true;
}

bool queue_key_is_of(const struct store_reply *reply, const struct job_id *id)
{
	struct job_id other;
	const char *key;
	size_t len;

	return reply->code == STORE_OK && queue_key_parse(reply, id->queue, &other, &key, &len) &&
	       other.minute == id->minute && strcmp(other.uuid, id->uuid) == 0;
}
