package org.zkleader;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashMap;
import java.util.Map;

/**
 * A job to submit, by one thread at a time. It keeps the id that it gets when it is first submitted: to submit it
 * again, after an exception with the code {@link ZkLeaderException#CANNOT_TELL}, makes no second job for 10 minutes.
 */
public final class Submission {
    final String queue;
    final Map<String, Object> options = new HashMap<>();

    /**
     * A job for a queue.
     * @param queue its name
     * @param payload what the job reads, up to 16,384 bytes
     */
    public Submission(String queue, byte[] payload) {
        this.queue = queue;
        with("payload", payload.clone());
    }

    /** {@return the job's id; null: it was never submitted} */
    public String id() { return (String) options.get("id"); }

    /** {@return this, with that id}
     * @param id of an earlier try */
    public Submission id(String id) { return with("id", id); }

    /** {@return this, and no other while a job of that key is kept}
     * @param key up to 200 bytes */
    public Submission key(String key) { return with("key", key); }

    /** {@return this, with a key that counts only until its job has ended} */
    public Submission whileOpen() { return with("while", "open"); }

    /** {@return this, to begin no earlier}
     * @param at up to 90 days ahead, to the millisecond: what is finer is rounded up */
    public Submission at(Instant at) {
        return with("at", at.plusNanos(999_999).truncatedTo(ChronoUnit.MILLIS).toString());
    }

    /** {@return this, to begin so long after it is submitted}
     * @param delay up to 90 days */
    public Submission delay(Duration delay) { return with("in_ms", delay.toMillis()); }

    /** {@return this, with an URL to which its end is posted}
     * @param url one that the queue's callback-allow has */
    public Submission callback(String url) { return with("callback", url); }

    private Submission with(String option, Object value) {
        options.put(option, java.util.Objects.requireNonNull(value));
        return this;
    }
}
