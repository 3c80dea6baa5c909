/* Decides the next step of a lock from ZooKeeper's answers. */
#include "base/log/log.h"
#include "node/recipes/lock/lock.h"

#define RETRY_MS     100 /* while the registration is renewed, or others make and sweep */
#define RESET_FOLDER 2	 /* index of the operation that fails if the folder is not empty */

static const char foreign[] = "there is something else in the lock's place";

static int64_t in_a_moment(const struct lock *l)
{
	return host_now_ms(l->locks->session->host) + RETRY_MS;
}

static void refuse(struct lock *l, const char *why)
{
	lock_fail(l, &(struct lock_answer){.outcome = LOCK_REFUSED, .why = why});
}

/* The node is in the list, and no answer was lost. */
static void take_place(struct lock *l)
{
	if (l->seen.before < (size_t)l->slots) {
		/* A waiter behind us may have seen more nodes before us than are left. */
		l->tells |= l->waited || (l->slots > 1 && l->seen.behind);
		l->need = LOCK_TAKE;
		return;
	}
	l->state = LOCK_WAITING;
	l->waited = true;
	/* The folder's watch was set with this list, so no change is missed. */
	bool watches = l->need == LOCK_WATCH && l->slots > 1 && l->first;
	l->first = l->seen.before == (size_t)l->slots;
	l->need = watches && l->first ? LOCK_NOTHING : LOCK_WATCH;
}

/*
 * A lock whose folder may not be made is not waited for. The parent of all locks may exist although
 * this node may not make it. Returns how the folder was refused, or OK.
 */
static enum store_code folder_refusal(const struct lock *l)
{
	return store_refusal(l->seen.folder == STORE_NO_NODE ? l->seen.folders : l->seen.folder);
}

/* The node was not made: the registration or the folder is missing, or the server refuses. */
static void not_made(struct lock *l)
{
	if (store_is_refusal(l->seen.made)) {
		refuse(l, store_refused_why(l->seen.made));
	} else if (folder_refusal(l) != STORE_OK) {
		refuse(l, store_refused_why(folder_refusal(l)));
	} else if (l->seen.failed_op == 1) {
		if (l->parents)
			l->retry_ms = in_a_moment(l);
		l->parents = true;
	} else {
		session_confirm(l->locks->session);
		l->retry_ms = in_a_moment(l);
	}
}

/* The node does not exist, and an outstanding creation cannot make it any more. */
static void not_found(struct lock *l)
{
	if (store_is_refusal(l->seen.listed)) {
		refuse(l, store_refused_why(l->seen.listed));
	} else if (l->held.attaching) {
		lock_fail(l, &(struct lock_answer){.outcome = LOCK_NOT_THERE});
	} else {
		if (!l->maybe) /* the node was made, and has been deleted */
			l->retry_ms = in_a_moment(l);
		l->maybe = false;
	}
}

static void refuse_slots(struct lock *l)
{
	lock_fail(l, &(struct lock_answer){.outcome = LOCK_OTHER_SLOTS, .slots = l->in_use});
}

/*
 * The lock has another number of slots. If nobody uses it any more, it is made anew. Other nodes in
 * its folder use the lock, or have come with another number as well.
 */
static void other_slots(struct lock *l)
{
	l->in_use = l->seen.slots;
	if (!l->seen.others)
		l->need = LOCK_RESET;
	else if (l->seen.other[0])
		l->need = LOCK_JUDGE;
	else
		refuse_slots(l); /* something of another program is in it */
}

static void entered(struct lock *l)
{
	l->maybe = l->entered = true;
	l->parents = false;
	if (l->seen.read != STORE_OK || l->seen.slots == 0) {
		refuse(l,
		       store_is_refusal(l->seen.read) ? store_refused_why(l->seen.read) : foreign);
	} else if (l->slots != 0 && l->seen.slots != l->slots) {
		other_slots(l);
	} else {
		l->slots = l->seen.slots;
		take_place(l);
	}
}

static void decide_entry(struct lock *l)
{
	if (l->seen.cut)
		l->maybe |= l->seen.making; /* looked for once there is a connection */
	else if (l->seen.making && l->seen.made != STORE_OK)
		not_made(l);
	else if (!l->seen.own)
		not_found(l);
	else
		entered(l);
}

/* Nobody uses the lock: the first in line makes it anew, once the others have stepped aside. */
static void decide_judge(struct lock *l)
{
	l->need = LOCK_ENTER;
	if (store_is_refusal(l->seen.read))
		refuse(l, store_refused_why(l->seen.read));
	else if (l->seen.held)
		refuse_slots(l);
	else if (l->seen.read == STORE_OK && !l->seen.ahead)
		l->need = LOCK_ASIDE;
	else if (l->seen.read == STORE_OK)
		l->retry_ms = in_a_moment(l);
}

/*
 * The lock was made anew, or a node has come meanwhile: enters again, and reads the number of
 * slots.
 */
static void decide_reset(struct lock *l)
{
	bool crowded = l->seen.made == STORE_FAILED && l->seen.failed_op == RESET_FOLDER;

	l->need = LOCK_ENTER;
	if (l->seen.cut || l->seen.made == STORE_OK)
		return;
	if (store_is_refusal(l->seen.made) && !crowded) {
		refuse(l, store_refused_why(l->seen.made));
		return;
	}
	if (!crowded)
		session_confirm(l->locks->session);
	l->retry_ms = in_a_moment(l);
}

static void decide_aside(struct lock *l)
{
	if (l->seen.cut)
		return;
	if (store_is_refusal(l->seen.made)) {
		refuse(l, store_refused_why(l->seen.made));
		return;
	}
	lock_reenter(l);
	l->retry_ms = in_a_moment(l);
}

static void decide_list(struct lock *l)
{
	if (l->seen.cut)
		l->need = LOCK_LIST;
	else if (store_is_refusal(l->seen.listed))
		refuse(l, store_refused_why(l->seen.listed));
	else if (!l->seen.own)
		lock_is_lost(l);
	else
		take_place(l);
}

/* The node before us is watched, or has gone. If it holds the lock, we are the first waiter. */
static void decide_watch(struct lock *l)
{
	if (store_is_refusal(l->seen.read)) {
		refuse(l, store_refused_why(l->seen.read));
	} else if (l->seen.cut || l->seen.read != STORE_OK) {
		l->need = LOCK_LIST;
	} else if (l->slots > 1 && l->seen.held) {
		l->first = true;
		l->need = LOCK_WATCH;
	} else {
		l->need = LOCK_NOTHING;
	}
}

static void decide_take(struct lock *l)
{
	if (l->seen.cut)
		return;
	if (store_is_refusal(l->seen.read)) {
		refuse(l, store_refused_why(l->seen.read));
	} else if (!l->seen.own) {
		lock_is_lost(l);
	} else {
		l->need = l->tells ? LOCK_TELL : LOCK_NOTHING;
		lock_is_held(l);
	}
}

/* Writing into our node has used up its watch. */
static void decide_tell(struct lock *l)
{
	if (l->seen.cut)
		return;
	l->tells = false;
	l->need = LOCK_TAKE;
}

static void decide_leave(struct lock *l)
{
	if (l->seen.cut)
		return;
	if (l->seen.own)
		return; /* the node was found, and is deleted now */
	if (store_is_refusal(l->seen.made) || store_is_refusal(l->seen.listed))
		log_warning("lock not given up", LOG_STR("lock", l->name));
	lock_is_gone(l);
}

void lock_decide(struct lock *l)
{
	enum lock_need need = l->need;

	if (l->dead) {
		lock_stepped(l);
		return;
	}
	if (l->state == LOCK_LEAVING && need != LOCK_DELETE) {
		l->maybe |= l->seen.making && (l->seen.cut || l->seen.made == STORE_OK);
		l->need = LOCK_DELETE;
		lock_stepped(l);
		return;
	}
	switch (need) {
	case LOCK_NOTHING: break;
	case LOCK_ENTER: decide_entry(l); break;
	case LOCK_LIST: decide_list(l); break;
	case LOCK_WATCH: l->first && l->slots > 1 ? decide_list(l) : decide_watch(l); break;
	case LOCK_TAKE: decide_take(l); break;
	case LOCK_TELL: decide_tell(l); break;
	case LOCK_JUDGE: decide_judge(l); break;
	case LOCK_RESET: decide_reset(l); break;
	case LOCK_ASIDE: decide_aside(l); break;
	case LOCK_DELETE: decide_leave(l); break;
	}
	lock_stepped(l);
}
