package org.zkleader;

import java.time.Duration;
import java.util.Optional;

/** Whether this node leads a task, as the sidecar has answered. It knows until when it is good. */
public final class Answer {
    private final boolean said;
    private final String task, state, why;
    private final long token;
    private final Optional<Leader> leader;
    private final Expiry expiry;

    Answer(String task, Reply reply) {
        this.task = task;
        said = reply.flag("leader");
        state = reply.text("state");
        token = reply.number("token");
        leader = reply.leader("led_by");
        why = reply.textOrEmpty("why");
        expiry = reply.expiry();
        if (said && token == 0)
            throw new MessagePack.Malformed("the answer has no token");
    }

    /**
     * Whether this node leads the task now: the sidecar has said so, and the lease is not over. Nothing is asked;
     * look again before each step that must not happen on two nodes.
     * @return false also where it cannot be told
     */
    public boolean leads() { return said && expiry.left() > 0; }

    /** {@return how long it will be so, zero where it is not} */
    public Duration remaining() { return Duration.ofNanos(said ? Math.max(expiry.left(), 0) : 0); }

    /** {@return the task that was asked about} */
    public String task() { return task; }

    /** {@return what this node is to it: leading, following, contending, paused, drained, disconnected, or newer} */
    public String state() { return state; }

    /** {@return the fencing token, which grows with each new leader; 0 while none is known} */
    public long token() { return token; }

    /** {@return who leads the task; empty while nobody is known to} */
    public Optional<Leader> leader() { return leader; }

    /** {@return the leader's version of the application; empty while nobody is known to lead} */
    public Optional<String> version() { return leader.map(Leader::version); }

    /** {@return the reason, a sentence for people} */
    public String why() { return why; }

    Lease.Term term() { return new Lease.Term(said, token, expiry); }

    @Override
    public String toString() { return task + ": " + state + (why.isEmpty() ? "" : ", " + why); }
}
