/* The records of gangs: the content of the znodes of a gang and of each member or applicant. */
#ifndef ZKLEADER_WIRE_RECORDS_GANG_RECORD_H
#define ZKLEADER_WIRE_RECORDS_GANG_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text/name.h"
#include "base/text/worker.h"
#include "wire/keys.h"

#define GANG_COUNT_MAX	       256
#define GANG_KEY_MAX	       WORKER_NODE_MAX
#define RECORD_GANG_MAX	       (256 * 1024) /* bytes */
#define RECORD_GANG_MEMBER_MAX 2048

struct gang_record {
	int64_t instance; /* how often the gang has begun; 0: not yet */
	int64_t count;
	bool goes_on;  /* if a member is lost, the others go on */
	bool lost;     /* a member was lost, so all others have to end */
	int64_t empty; /* folder's pzxid after a minute without a member; 0: not noted */
	struct gang_place {
		char key[GANG_KEY_MAX + 1];
		uint64_t id; /* id of the member */
		char ip[NAME_IP_MAX + 1];
		char hostname[NAME_HOST_MAX + 1];
	} members[GANG_COUNT_MAX]; /* by the index of the member */
	size_t n;		   /* number of members: 0 or count */
};

/* The record of a member's or applicant's ephemeral znode: which node and host it is on. */
struct gang_member_record {
	char node[WORKER_NODE_MAX + 1];
	char machine[WORKER_MACHINE_MAX + 1]; /* "": not known */
	char ip[NAME_IP_MAX + 1];
	char hostname[NAME_HOST_MAX + 1];
};

RECORD_DECLARE(gang, gang_record);
RECORD_DECLARE(gang_member, gang_member_record);
#endif
