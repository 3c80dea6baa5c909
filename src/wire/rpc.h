/* MessagePack-RPC, as spoken on the control socket. */
#ifndef ZKLEADER_WIRE_RPC_H
#define ZKLEADER_WIRE_RPC_H

#include <stddef.h>
#include <stdint.h>

#include "wire/pack.h"
#include "wire/reader.h"

#define RPC_REQUEST_MAX	 (64 * 1024)	    /* bytes of one frame that a client may send */
#define RPC_RESPONSE_MAX (64 * 1024 * 1024) /* bytes of one frame that the sidecar may send */
#define RPC_METHOD_MAX	 32

enum rpc_type { RPC_REQUEST = 0, RPC_RESPONSE = 1, RPC_NOTIFY = 2 };

/* The exit codes of the interface, also the `code` of an error. */
enum rpc_code {
	RPC_OK = 0,
	RPC_NOT_LEADER = 1,
	RPC_CANNOT_TELL = 2,
	RPC_MISUSE = 3,
	RPC_NOBODY = 4
};

struct rpc_message {
	enum rpc_type type;
	uint32_t msgid;		   /* request and response */
	struct reader_text method; /* request and notification */
	struct reader params;	   /* request and notification: at the array's first element */
	size_t n_params;
	bool failed;	      /* response: there is an error */
	struct reader error;  /* response: at the error (a nil if none) */
	struct reader result; /* response: at the result */
};

/* Parses one whole frame as measured by reader_measure(); 0 or -EBADMSG. Borrows the bytes. */
int rpc_parse(const void *frame, size_t len, struct rpc_message *ret_message);

/* The beginnings of messages: the caller packs exactly n params, or one result, behind them. */
void rpc_pack_request(struct pack *p, uint32_t msgid, const char *method, size_t n_params);
void rpc_pack_result(struct pack *p, uint32_t msgid);
void rpc_pack_notify(struct pack *p, const char *method); /* a param follows, a map */
/* A whole error response: {"code": code, "message": message}. */
void rpc_pack_error(struct pack *p, uint32_t msgid, enum rpc_code code, const char *message);
/* Reads an error map; -EBADMSG if it is none. */
int rpc_parse_error(struct reader error, int *ret_code, struct reader_text *ret_message);

#endif
