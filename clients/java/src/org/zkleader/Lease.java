package org.zkleader;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.zkleader.ZkLeaderException.Unreachable;

/**
 * A leadership of this node, renewed until it is closed or lost. One that was lost is not had again: who wants to
 * lead again enters anew.
 */
public final class Lease implements AutoCloseable {
    /** What one renewal has brought. */
    record Term(boolean leads, long token, Expiry expiry) {
        boolean holds() { return leads && expiry.left() > expiry.margin(); }
    }

    private enum State { HELD, LOST, CLOSED }

    private final ZkLeader client;
    private final String task;
    private final long token;
    private final Supplier<CompletableFuture<Term>> renewal;
    private final List<Runnable> callbacks = new ArrayList<>();
    private volatile State state = State.HELD;
    private volatile Expiry expiry;

    Lease(ZkLeader client, String task, Term first, Supplier<CompletableFuture<Term>> renewal) {
        this.client = client;
        this.task = task;
        this.token = first.token;
        this.renewal = renewal;
        client.remember(this, this::lose);
        arm(first.expiry);
    }

    // --- renewing

    /** Has it renewed when a third is over, and lost when no more than the margin is left. */
    private void arm(Expiry next) {
        long left = next.left();
        expiry = next;
        client.loop.after(left - next.length() / 3 * 2, () -> renew(next, 0));
        client.loop.after(left - next.margin(), () -> {
            if (expiry == next)
                lose();
        });
    }

    private void renew(Expiry of, long pause) {
        if (state == State.HELD && expiry == of)
            renewal.get().whenComplete((term, e) -> renewed(of, term, e, pause));
    }

    private synchronized void renewed(Expiry of, Term term, Throwable e, long pause) {
        Throwable cause = e instanceof CompletionException ? e.getCause() : e;
        long next = Watch.longer(pause);
        if (!isLeading() || expiry != of)
            return; // over, whatever the answer says now
        if (cause instanceof Unreachable)
            client.loop.after(Watch.jittered(next), () -> renew(of, next));
        else if (cause != null || !term.holds() || term.token != token)
            lose();
        else
            arm(term.expiry);
    }

    synchronized void lose() {
        if (end(State.LOST))
            callbacks.forEach(this::call);
    }

    /** Whether it was held until now. */
    private synchronized boolean end(State how) {
        boolean held = state == State.HELD;
        if (held)
            state = how;
        client.forget(this);
        return held;
    }

    /** A thread of its own: whatever another callback does, this one is called in time. */
    private void call(Runnable callback) { Loop.daemon(callback, "zkleader-lost").start(); }

    // --- for the application

    /** {@return whether this node leads the task now; for ever false once it was} Nothing is asked. */
    public boolean isLeading() {
        if (state == State.HELD && expiry.left() <= 0)
            lose();
        return state == State.HELD;
    }

    /**
     * Throws unless this node leads the task now.
     * @throws ZkLeaderException with the code {@link ZkLeaderException#NOT_LEADER}
     */
    public void check() {
        if (!isLeading())
            throw new ZkLeaderException(ZkLeaderException.NOT_LEADER, task + " is led here no longer", null);
    }

    /**
     * Has a thread of its own call this once the leadership is lost: as the sidecar says so, or while a fifth of the
     * lease, and at least 100 ms, is left. At once where it is lost already; never where it was closed.
     * @param callback such as {@code Thread.currentThread()::interrupt}
     */
    public synchronized void onLost(Runnable callback) {
        if (state == State.LOST)
            call(callback);
        else
            callbacks.add(callback);
    }

    /** {@return what is left of the lease, also of one that was lost before its end} */
    public Duration remaining() { return Duration.ofNanos(Math.max(expiry.left(), 0)); }

    /** {@return the task} */
    public String task() { return task; }

    /** {@return the fencing token, greater than that of any leader before} */
    public long token() { return token; }

    /** Ends it: it is renewed no more. The node leads the task on, as the sidecar knows nothing of leases. */
    @Override
    public void close() { end(State.CLOSED); }
}
