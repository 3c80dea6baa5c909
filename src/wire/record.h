/* The records that live in ZooKeeper: msgpack maps with string keys. */
#ifndef ZKLEADER_WIRE_RECORD_H
#define ZKLEADER_WIRE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/worker.h"

#define RECORD_WORKER_MAX (1000 * 1024) /* bytes; under the server's default jute.maxbuffer */
#define RECORD_LEADER_MAX 4096

struct leader_record {
	char id[NAME_ID_MAX + 1];
	char ip[NAME_IP_MAX + 1];
	char hostname[NAME_HOST_MAX + 1];
	char version[NAME_VERSION_MAX + 1];
	int64_t since; /* ms since the epoch */
};

/* Each appends to out; 0 or -ENOBUFS. */
int record_pack_worker(struct buffer *out, const struct worker *w);
int record_pack_leader(struct buffer *out, const struct leader_record *l);

/*
 * Decodes what a znode held. Unknown keys are passed over; a missing, repeated or ill-formed one makes
 * it -EBADMSG, and *ret_why a constant text that names the key and what is wrong with it, such as
 * "random_ints: not an array of 5 int32". Duplicated task names count once.
 */
int record_parse_worker(const void *data, size_t len, struct worker **ret_worker,
			const char **ret_why);
int record_parse_leader(const void *data, size_t len, struct leader_record *ret_leader,
			const char **ret_why);

#endif
