#include "daemon/zookeeper/zk_store.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/* Servers from 3.8 on return this code if enforceQuota is set. The library has no name for it. */
#define QUOTA_EXCEEDED (-125)

/* --- in the library's threads --------------------------------------------- */

static enum store_code code_of(int rc)
{
	switch (rc) {
	case ZOK: return STORE_OK;
	case ZNONODE:
	case ZNOWATCHER: return STORE_NO_NODE;
	case ZNODEEXISTS: return STORE_NODE_EXISTS;
	case ZBADVERSION: return STORE_BAD_VERSION;
	case ZNOAUTH: return STORE_NO_AUTH;
	case QUOTA_EXCEEDED: return STORE_FULL;
	case ZCONNECTIONLOSS:
	case ZOPERATIONTIMEOUT:
	case ZRUNTIMEINCONSISTENCY:
	case ZCLOSING:
	case ZSESSIONEXPIRED:
	case ZINVALIDSTATE: return STORE_UNKNOWN;
	default: return STORE_FAILED;
	}
}

static void set_stat(struct store_reply *reply, const struct Stat *stat)
{
	if (stat)
		reply->stat = (struct store_stat){.czxid = stat->czxid,
						  .mzxid = stat->mzxid,
						  .pzxid = stat->pzxid,
						  .ctime = stat->ctime,
						  .mtime = stat->mtime,
						  .owner = stat->ephemeralOwner,
						  .version = stat->version,
						  .children = stat->numChildren};
}

/*
 * Whether a result comes from a server, and not from the library itself. In doubt this is false,
 * because an answer of a server counts as a heartbeat.
 */
static bool is_answer(int rc)
{
	switch (rc) {
	case ZOK:
	case ZNONODE:
	case ZNODEEXISTS:
	case ZBADVERSION:
	case ZNOAUTH:
	case QUOTA_EXCEEDED:
	case ZNOTEMPTY:
	case ZNOCHILDRENFOREPHEMERALS:
	case ZINVALIDACL: return true;
	default: return false;
	}
}

static void reply_ready(struct request *r, int rc)
{
	r->store->unanswered--;
	r->heard = !r->refused && is_answer(rc);
	r->reply.code = code_of(rc);
	if (rc == ZSESSIONCLOSEDREQUIRESASLAUTH)
		zk_wants_sasl(r->store);
	r->reply.text =
		rc == QUOTA_EXCEEDED ? "quota exceeded: raise it with setquota" : zerror(rc);
	zk_enqueue(r->store, &r->item);
}

static void on_data(int rc, const char *value, int len, const struct Stat *stat,
		    const void *context)
{
	struct request *r = (struct request *)(uintptr_t)context;

	if (rc == ZOK) {
		set_stat(&r->reply, stat);
		if (value && len > 0) {
			r->data = mem_alloc((size_t)len);
			memcpy(r->data, value, (size_t)len);
			r->reply.data = r->data;
			r->reply.len = (size_t)len;
		}
	}
	reply_ready(r, rc);
}

static void on_stat(int rc, const struct Stat *stat, const void *context)
{
	struct request *r = (struct request *)(uintptr_t)context;

	if (rc == ZOK)
		set_stat(&r->reply, stat);
	reply_ready(r, rc);
}

/* Copies the names into one block of memory: first the pointers, then the texts. */
static char **copy_names(char *const *names, size_t n)
{
	size_t size = n * sizeof(char *);

	for (size_t i = 0; i < n; i++)
		size += strlen(names[i]) + 1;
	char **copy = mem_alloc(size);
	char *at = (char *)(copy + n);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(names[i]) + 1;
		memcpy(at, names[i], len);
		copy[i] = at;
		at += len;
	}
	return copy;
}

static void on_strings(int rc, const struct String_vector *strings, const struct Stat *stat,
		       const void *context)
{
	struct request *r = (struct request *)(uintptr_t)context;

	if (rc == ZOK)
		set_stat(&r->reply, stat);
	if (rc == ZOK && strings && strings->count > 0) {
		r->reply.n_names = (size_t)strings->count;
		r->names = copy_names(strings->data, r->reply.n_names);
		r->reply.names = r->names;
	}
	reply_ready(r, rc);
}

static void on_string(int rc, const char *value, const void *context)
{
	(void)value;
	reply_ready((struct request *)(uintptr_t)context, rc);
}

static void on_done(int rc, const void *context)
{
	on_stat(rc, NULL, context);
}

static void on_multi(int rc, const void *context)
{
	struct request *r = (struct request *)(uintptr_t)context;

	r->reply.failed_op = -1;
	/*
	 * Only the operation that failed has the code of the whole transaction. The others have
	 * another one, such as RUNTIMEINCONSISTENCY.
	 */
	for (size_t i = 0; rc != ZOK && code_of(rc) != STORE_UNKNOWN && i < r->n_ops; i++) {
		if (r->results[i].err == rc) {
			r->reply.failed_op = (int)i;
			break;
		}
	}
	if (rc == ZOK)
		set_stat(&r->reply, &r->set);
	reply_ready(r, rc);
}

/* --- on the loop thread --------------------------------------------------- */

static struct request *request_new(struct store *store, size_t n_ops, store_reply_fn fn, void *arg)
{
	struct request *r = mem_calloc(1, sizeof(*r) + n_ops * sizeof(r->results[0]));

	r->item.kind = ITEM_REPLY;
	r->item.request = r;
	r->store = store;
	r->fn = fn;
	r->arg = arg;
	r->n_ops = n_ops;
	r->reply.failed_op = -1;
	TAILQ_INSERT_TAIL(&store->outstanding, r, link);
	store->unanswered++;
	store->busy++;
	r->reply.sent_ms = clock_boot_ms();
	return r;
}

void zk_request_free(struct request *r)
{
	TAILQ_REMOVE(&r->store->outstanding, r, link);
	free(r->names);
	free(r->data);
	free(r);
}

/* A request that cannot be sent gets its reply as well: later, and from the loop. */
static void not_sent(struct request *r, int rc)
{
	r->refused = true;
	reply_ready(r, rc);
}

/* Handles the library's return code for a request. */
static void sent(struct request *r, int rc)
{
	if (rc != ZOK)
		not_sent(r, rc);
}

void store_get(struct store *store, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	struct request *r = request_new(store, 0, fn, arg);

	sent(r, zoo_aget(store->handle, path, watch, on_data, r));
}

void store_exists(struct store *store, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	struct request *r = request_new(store, 0, fn, arg);

	sent(r, zoo_aexists(store->handle, path, watch, on_stat, r));
}

void store_children(struct store *store, const char *path, bool watch, store_reply_fn fn, void *arg)
{
	struct request *r = request_new(store, 0, fn, arg);

	sent(r, zoo_aget_children2(store->handle, path, watch, on_strings, r));
}

/*
 * The other way of this call, `local`, writes to what it takes for the memory of a waiting thread,
 * even when asked without one.
 */
void store_unwatch(struct store *store, const char *path, bool children, store_reply_fn fn,
		   void *arg)
{
	struct request *r = request_new(store, 0, fn, arg);
	int rc = zoo_aremove_all_watches(
		store->handle, path, children ? ZWATCHTYPE_CHILD : ZWATCHTYPE_DATA, 0,
		/* The library's type is wrong: it calls what it is given. */
		(void_completion_t *)(uintptr_t)on_done, r);

	sent(r, rc);
}

/*
 * The access rights of a new node. With an identity, the node belongs to it, and everybody may read
 * it unless it is closed. Without an identity everybody may do everything.
 */
static struct ACL_vector *acl_of(const struct store *store, bool closed)
{
	static struct ACL owned[2];
	static struct ACL_vector owned_vector = {2, owned}, closed_vector = {1, owned};

	owned[0] = (struct ACL){ZOO_PERM_ALL, ZOO_AUTH_IDS};
	owned[1] = (struct ACL){ZOO_PERM_READ, ZOO_ANYONE_ID_UNSAFE};
	if (!store->authenticated)
		return &ZOO_OPEN_ACL_UNSAFE;
	return closed ? &closed_vector : &owned_vector;
}

void store_create(struct store *store, const char *path, store_reply_fn fn, void *arg)
{
	struct request *r = request_new(store, 0, fn, arg);

	sent(r, zoo_acreate(store->handle, path, "", 0, acl_of(store, false), ZOO_PERSISTENT,
			    on_string, r));
}

void store_hide(struct store *store, const char *path, store_reply_fn fn, void *arg)
{
	struct request *r = request_new(store, 0, fn, arg);

	sent(r, zoo_aset_acl(store->handle, path, -1, acl_of(store, true), on_done, r));
}

static bool is_node(const char *path)
{
	size_t len = strlen(path);

	return len > 0 && path[len - 1] != '/';
}

static int create_mode(enum store_op_type type)
{
	if (type == STORE_OP_CREATE)
		return ZOO_PERSISTENT;
	return type == STORE_OP_CREATE_EPHEMERAL ? ZOO_EPHEMERAL : ZOO_EPHEMERAL_SEQUENTIAL;
}

void store_multi(struct store *store, const struct store_op *ops, size_t n, store_reply_fn fn,
		 void *arg)
{
	assert(n > 0 && n <= STORE_OPS_MAX);
	for (size_t i = 0; i < n; i++) {
		/*
		 * For an invalid path the library would free memory that is not its own. There is
		 * no node of that name, so this is the reply.
		 */
		if (!is_node(ops[i].path)) {
			struct request *r = request_new(store, 0, fn, arg);
			r->reply.failed_op = (int)i;
			not_sent(r, ZNONODE);
			return;
		}
	}
	/*
	 * On a handle whose session has ended, the library frees an uninitialised pointer for each
	 * operation but the first. If the session ends between this check and the call, free()
	 * aborts.
	 */
	if (is_unrecoverable(store->handle)) {
		not_sent(request_new(store, 0, fn, arg), ZINVALIDSTATE);
		return;
	}
	struct request *r = request_new(store, n, fn, arg);
	struct Stat *set = &r->set;
	zoo_op_t *list = mem_calloc(n, sizeof(*list));
	for (size_t i = 0; i < n; i++) {
		const struct store_op *op = &ops[i];
		const char *data = op->len > 0 ? op->data : "";
		switch (op->type) {
		case STORE_OP_CHECK: zoo_check_op_init(&list[i], op->path, op->version); break;
		case STORE_OP_CREATE:
		case STORE_OP_CREATE_EPHEMERAL:
		case STORE_OP_CREATE_SEQUENTIAL:
			zoo_create_op_init(&list[i], op->path, data, (int)op->len,
					   acl_of(store, op->closed), create_mode(op->type), NULL,
					   0);
			break;
		case STORE_OP_SET:
			zoo_set_op_init(&list[i], op->path, data, (int)op->len, op->version, set);
			set = NULL;
			break;
		case STORE_OP_DELETE: zoo_delete_op_init(&list[i], op->path, op->version); break;
		}
	}
	/*
	 * The same happens on a handle whose session has expired, which we may not have been told
	 * yet. A connected handle has to lose its connection and make another before it can learn
	 * that, which takes longer than the call below.
	 */
	if (zoo_state(store->handle) != ZOO_CONNECTED_STATE)
		not_sent(r, ZCONNECTIONLOSS);
	else
		sent(r, zoo_amulti(store->handle, (int)n, list, r->results, on_multi, r));
	free(list);
}
