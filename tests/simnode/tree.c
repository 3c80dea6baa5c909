#include "tree.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net.h"

/* --- bytes ---------------------------------------------------------------------------------------- */

struct blob *blob_new(const void *data, size_t len)
{
	struct blob *b;

	if (len == 0)
		return NULL;
	b = mem_alloc(sizeof(*b) + len);
	b->refs = 1;
	b->len = len;
	memcpy(b->bytes, data, len);
	return b;
}

struct blob *blob_keep(struct blob *b)
{
	if (b)
		b->refs++;
	return b;
}

void blob_drop(struct blob *b)
{
	if (b && --b->refs == 0)
		free(b);
}

/* --- paths: a hash table of all that were ever named ---------------------------------------------- */

struct path {
	char *text;
	const char *name;
	path_id parent;
	uint32_t hash;
};

static struct {
	struct path *list;
	size_t n, capacity;
	path_id *slots; /* number + 1; 0: free */
	size_t n_slots;
} paths;

static uint32_t hash_of(const char *text, size_t len)
{
	uint32_t hash = 2166136261U; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)text[i]) * 16777619U;
	return hash;
}

static void place(path_id p)
{
	size_t at = paths.list[p].hash & (paths.n_slots - 1);

	while (paths.slots[at] != 0)
		at = (at + 1) & (paths.n_slots - 1);
	paths.slots[at] = p + 1;
}

static void grow(void)
{
	if (paths.n == paths.capacity) {
		paths.capacity = paths.capacity ? 2 * paths.capacity : 1024;
		paths.list = mem_resize(paths.list, paths.capacity, sizeof(*paths.list));
	}
	if (2 * (paths.n + 1) <= paths.n_slots)
		return;
	paths.n_slots = paths.n_slots ? 2 * paths.n_slots : 4096;
	free(paths.slots);
	paths.slots = mem_calloc(paths.n_slots, sizeof(*paths.slots));
	for (path_id p = 0; p < paths.n; p++)
		place(p);
}

static path_id intern(const char *text, size_t len)
{
	uint32_t hash = hash_of(text, len);

	for (size_t at = hash & (paths.n_slots - 1); paths.slots[at] != 0;
	     at = (at + 1) & (paths.n_slots - 1)) {
		const struct path *p = &paths.list[paths.slots[at] - 1];
		if (p->hash == hash && strncmp(p->text, text, len) == 0 && p->text[len] == '\0')
			return paths.slots[at] - 1;
	}
	size_t slash = len;
	while (slash > 0 && text[slash - 1] != '/')
		slash--;
	/* "/a/b": "/a"; "/a": "/" */
	path_id parent = slash > 1 ? intern(text, slash - 1) : PATH_ROOT;
	grow();
	path_id number = (path_id)paths.n++;
	struct path *p = &paths.list[number];
	p->text = mem_strndup(text, len);
	p->name = p->text + slash;
	p->parent = parent;
	p->hash = hash;
	place(number);
	return number;
}

void paths_reset(void)
{
	for (size_t i = 0; i < paths.n; i++)
		free(paths.list[i].text);
	paths.n = 0;
	if (paths.slots)
		memset(paths.slots, 0, paths.n_slots * sizeof(*paths.slots));
	grow();
	intern("/", 1);
}

path_id path_intern(const char *text)
{
	return intern(text, strlen(text));
}

const char *path_text(path_id p)
{
	return paths.list[p].text;
}

const char *path_name(path_id p)
{
	return paths.list[p].name;
}

path_id path_parent(path_id p)
{
	return paths.list[p].parent;
}

/* --- transactions --------------------------------------------------------------------------------- */

struct transaction *transaction_new(enum transaction_type type, int64_t session, size_t n_ops)
{
	struct transaction *x = mem_calloc(1, sizeof(*x) + n_ops * sizeof(x->ops[0]));

	x->refs = 1;
	x->type = type;
	x->session = session;
	x->n_ops = n_ops;
	x->failed_op = -1;
	return x;
}

void transaction_drop(struct transaction *x)
{
	if (!x || --x->refs > 0)
		return;
	for (size_t i = 0; i < x->n_ops; i++)
		blob_drop(x->ops[i].data);
	connection_unref(x->connection);
	free(x);
}

/* --- znodes --------------------------------------------------------------------------------------- */

void tree_init(struct tree *t)
{
	tree_done(t);
	t->n_nodes = 64;
	t->nodes = mem_calloc(t->n_nodes, sizeof(*t->nodes));
	t->nodes[PATH_ROOT].exists = true;
}

void tree_done(struct tree *t)
{
	for (size_t i = 0; i < t->n_nodes; i++) {
		blob_drop(t->nodes[i].data);
		free(t->nodes[i].children);
	}
	free(t->nodes);
	free(t->sessions);
	*t = (struct tree){.zxid = 0};
}

void tree_copy(struct tree *t, const struct tree *from)
{
	tree_done(t);
	*t = *from;
	t->nodes = mem_calloc(t->n_nodes ? t->n_nodes : 1, sizeof(*t->nodes));
	for (size_t i = 0; i < t->n_nodes; i++) {
		struct znode *n = &t->nodes[i];
		*n = from->nodes[i];
		blob_keep(n->data);
		n->children = NULL;
		n->capacity = n->n_children;
		if (n->n_children == 0)
			continue;
		n->children = mem_calloc(n->n_children, sizeof(*n->children));
		memcpy(n->children, from->nodes[i].children, n->n_children * sizeof(*n->children));
	}
	t->sessions = mem_calloc(t->capacity ? t->capacity : 1, sizeof(*t->sessions));
	if (t->n_sessions > 0)
		memcpy(t->sessions, from->sessions, t->n_sessions * sizeof(*t->sessions));
}

const struct znode *tree_get(const struct tree *t, path_id path)
{
	return path < t->n_nodes && t->nodes[path].exists ? &t->nodes[path] : NULL;
}

const struct session_node *tree_session(const struct tree *t, int64_t id)
{
	for (size_t i = 0; i < t->n_sessions; i++)
		if (t->sessions[i].id == id)
			return &t->sessions[i];
	return NULL;
}

/* --- judging: what the operations before it in the same transaction have done counts --------------- */

struct judged {
	path_id path;
	bool exists, ephemeral;
	int32_t version, made;
	size_t n_children;
};

struct judge {
	const struct tree *tree;
	struct judged list[2 * STORE_OPS_MAX];
	size_t n;
};

static struct judged *look(struct judge *j, path_id path)
{
	const struct znode *node = tree_get(j->tree, path);
	struct judged *found;

	for (size_t i = 0; i < j->n; i++)
		if (j->list[i].path == path)
			return &j->list[i];
	found = &j->list[j->n++];
	*found = (struct judged){.path = path, .exists = node != NULL};
	if (node) {
		found->ephemeral = node->stat.owner != 0;
		found->version = node->stat.version;
		found->n_children = node->n_children;
		found->made = node->made;
	}
	return found;
}

/* As the server numbers it, by what was made before. */
static void name_sequential(struct op *op, int32_t made)
{
	char path[STORE_PATH_MAX];

	snprintf(path, sizeof(path), "%s%010d", path_text(op->path), (int)made);
	op->path = path_intern(path);
	op->type = STORE_OP_CREATE_EPHEMERAL;
}

static enum store_code judge_create(struct judge *j, struct op *op)
{
	struct judged *parent = look(j, path_parent(op->path)), *node;

	if (!parent->exists)
		return STORE_NO_NODE;
	if (op->type == STORE_OP_CREATE_SEQUENTIAL)
		name_sequential(op, parent->made);
	node = look(j, op->path);
	if (node->exists)
		return STORE_NODE_EXISTS;
	if (parent->ephemeral)
		return STORE_FAILED;
	*node = (struct judged){.path = op->path,
				.exists = true,
				.ephemeral = op->type == STORE_OP_CREATE_EPHEMERAL};
	parent->n_children++;
	parent->made++;
	return STORE_OK;
}

static enum store_code judge_op(struct judge *j, struct op *op)
{
	struct judged *node;

	if (op->type == STORE_OP_CREATE || op->type == STORE_OP_CREATE_EPHEMERAL ||
	    op->type == STORE_OP_CREATE_SEQUENTIAL)
		return judge_create(j, op);
	node = look(j, op->path);
	if (!node->exists)
		return STORE_NO_NODE;
	if (op->version != -1 && op->version != node->version)
		return STORE_BAD_VERSION;
	if (op->type == STORE_OP_SET)
		node->version++;
	if (op->type != STORE_OP_DELETE)
		return STORE_OK;
	if (node->n_children > 0)
		return STORE_FAILED;
	node->exists = false;
	look(j, path_parent(op->path))->n_children--;
	return STORE_OK;
}

void tree_judge(const struct tree *t, struct transaction *x)
{
	struct judge j;

	assert(x->n_ops <= STORE_OPS_MAX);
	j.tree = t;
	j.n = 0;
	x->code = STORE_OK;
	x->failed_op = -1;
	for (size_t i = 0; i < x->n_ops; i++) {
		x->code = judge_op(&j, &x->ops[i]);
		if (x->code != STORE_OK) {
			x->failed_op = (int)i;
			return;
		}
	}
}

/* --- applying ------------------------------------------------------------------------------------- */

static struct znode *node_at(struct tree *t, path_id path)
{
	if (path >= t->n_nodes) {
		size_t n = t->n_nodes ? t->n_nodes : 64;
		while (n <= path)
			n *= 2;
		t->nodes = mem_resize(t->nodes, n, sizeof(*t->nodes));
		memset(t->nodes + t->n_nodes, 0, (n - t->n_nodes) * sizeof(*t->nodes));
		t->n_nodes = n;
	}
	return &t->nodes[path];
}

static void create(struct tree *t, const struct transaction *x, const struct op *op,
		   tree_watch_fn fn, void *arg)
{
	path_id up = path_parent(op->path);
	struct znode *node = node_at(t, op->path), *parent = &t->nodes[up];

	*node = (struct znode){.exists = true,
			       .data = blob_keep(op->data),
			       .children = node->children,
			       .capacity = node->capacity,
			       .stat = {.czxid = x->zxid,
					.mzxid = x->zxid,
					.pzxid = x->zxid,
					.ctime = x->wall_ms,
					.mtime = x->wall_ms}};
	if (op->type == STORE_OP_CREATE_EPHEMERAL)
		node->stat.owner = x->session;
	if (parent->n_children == parent->capacity) {
		parent->capacity = parent->capacity ? 2 * parent->capacity : 8;
		parent->children = mem_resize(parent->children, parent->capacity, sizeof(path_id));
	}
	parent->children[parent->n_children++] = op->path;
	parent->stat.pzxid = x->zxid;
	parent->made++;
	if (fn) {
		fn(arg, op->path, STORE_NODE_CREATED);
		fn(arg, up, STORE_CHILDREN_CHANGED);
	}
}

static void delete (struct tree *t, int64_t zxid, path_id path, tree_watch_fn fn, void *arg)
{
	path_id up = path_parent(path);
	struct znode *node = &t->nodes[path], *parent = &t->nodes[up];

	blob_drop(node->data);
	node->data = NULL;
	node->exists = false;
	for (size_t i = 0; i < parent->n_children; i++)
		if (parent->children[i] == path)
			parent->children[i] = parent->children[--parent->n_children];
	parent->stat.pzxid = zxid;
	if (fn) {
		fn(arg, path, STORE_NODE_DELETED);
		fn(arg, up, STORE_CHILDREN_CHANGED);
	}
}

static void apply_op(struct tree *t, const struct transaction *x, const struct op *op,
		     tree_watch_fn fn, void *arg)
{
	struct znode *node;

	switch (op->type) {
	case STORE_OP_CHECK: break;
	case STORE_OP_CREATE:
	case STORE_OP_CREATE_EPHEMERAL: create(t, x, op, fn, arg); break;
	case STORE_OP_CREATE_SEQUENTIAL: assert(false); break; /* it was named when it was judged */
	case STORE_OP_SET:
		node = &t->nodes[op->path];
		blob_drop(node->data);
		node->data = blob_keep(op->data);
		node->stat.version++;
		node->stat.mzxid = x->zxid;
		node->stat.mtime = x->wall_ms;
		if (t->set.mzxid != x->zxid) {
			t->set = node->stat;
			t->set.children = (int32_t)node->n_children;
		}
		if (fn)
			fn(arg, op->path, STORE_NODE_CHANGED);
		break;
	case STORE_OP_DELETE: delete (t, x->zxid, op->path, fn, arg); break;
	}
}

static void open_session(struct tree *t, const struct transaction *x)
{
	if (t->n_sessions == t->capacity) {
		t->capacity = t->capacity ? 2 * t->capacity : 32;
		t->sessions = mem_resize(t->sessions, t->capacity, sizeof(*t->sessions));
	}
	t->sessions[t->n_sessions++] = (struct session_node){x->session, x->timeout_ms};
}

static void close_session(struct tree *t, const struct transaction *x, tree_watch_fn fn, void *arg)
{
	for (size_t i = 0; i < t->n_sessions; i++)
		if (t->sessions[i].id == x->session)
			t->sessions[i] = t->sessions[--t->n_sessions];
	for (path_id p = 0; p < t->n_nodes; p++)
		if (t->nodes[p].exists && t->nodes[p].stat.owner == x->session)
			delete (t, x->zxid, p, fn, arg);
}

void tree_apply(struct tree *t, const struct transaction *x, tree_watch_fn fn, void *arg)
{
	t->zxid = x->zxid;
	if (x->code != STORE_OK)
		return;
	if (x->type == TRANSACTION_OPEN)
		open_session(t, x);
	else if (x->type == TRANSACTION_CLOSE)
		close_session(t, x, fn, arg);
	for (size_t i = 0; i < x->n_ops; i++)
		apply_op(t, x, &x->ops[i], fn, arg);
}
