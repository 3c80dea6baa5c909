package org.zkleader;

import java.time.*;
import java.util.*;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.zkleader.ZkLeaderException.Unreachable;

/** A run of a task at a tick, which was claimed for this process. */
public final class Run {
    /** How {@link ZkLeader#run} ended. */
    public enum Outcome {
        /** The work was done. */
        OK,
        /** The work was begun, and the leadership lost before its end: recorded as lost. */
        LOST,
        /** Not begun: the tick was claimed before. */
        TAKEN,
        /** Not begun: another node leads, or none does. */
        WAITED,
        /** Not begun: the task is paused. */
        NOBODY;

        /** {@return whether the work was begun} */
        public boolean ran() { return this == OK || this == LOST; }
    }

    /**
     * The work of a task.
     * @param <E> what it may throw; the run is recorded as failed then
     */
    @FunctionalInterface
    public interface Work<E extends Exception> {
        /**
         * Does it.
         * @param run tells whether this node still leads: to be looked at before each step
         * @throws E where it fails
         */
        void run(Run run) throws E;
    }

    private record Claim(String outcome, String tick, long token, long attempt, long number, Long partition) {
        static Claim of(Reply map) {
            String outcome = map.text("outcome");
            if (!Set.of("yours", "taken", "waited", "nobody").contains(outcome))
                throw new MessagePack.Malformed("the answer has the outcome " + outcome);
            return new Claim(outcome, map.textOrEmpty("tick"), map.numberOr0("token"),
                    map.numberOr0("attempt"), map.numberOr0("run"), map.numberOrNull("partition"));
        }

        boolean isOurs() { return outcome.equals("yours"); }
    }

    /** What `attach` answers, or the same of a run that need not be attached. */
    private record Place(boolean there, long number, boolean recorded) { }

    /** As long as it takes to start a sidecar anew. */
    private static final Duration PATIENCE = Duration.ofSeconds(10);

    private final ZkLeader client;
    private final String id = UUID.randomUUID().toString();
    private String task;
    private Claim claim;
    private Lease lease;
    /** The connection of this run alone: with it a claim that waits is taken back. */
    private Link link;
    private CompletableFuture<Place> place;

    private Run(ZkLeader client, String task) {
        this.client = client;
        this.task = task;
    }

    static <E extends Exception> Outcome of(ZkLeader client, String task, Duration tick, Work<E> work) throws E {
        Run run = new Run(client, task);
        client.remember(run, run::hangUp);
        try {
            run.claim(tick);
            if (!run.claim.isOurs())
                return Outcome.valueOf(run.claim.outcome.toUpperCase(Locale.ROOT));
            run.begin();
            return run.work(work);
        } finally {
            client.forget(run);
            run.hangUp();
        }
    }

    private synchronized Link connect() {
        link = client.open();
        return link;
    }

    private synchronized void hangUp() {
        if (link != null)
            link.end(new Unreachable("the run of " + task + " is over", null));
    }

    /** Asks again while the sidecar is away, for that long. */
    static <T> T insist(Duration patience, Supplier<T> ask) {
        for (long until = System.nanoTime() + patience.toNanos(), pause = 0;;) {
            try {
                return ask.get();
            } catch (Unreachable e) {
                if (System.nanoTime() > until)
                    throw e;
                pause = Watch.longer(pause);
                ZkLeader.sleep(TimeUnit.NANOSECONDS.toMillis(Watch.jittered(pause)));
            }
        }
    }

    // --- the claim

    private void claim(Duration tick) {
        Instant now = Instant.now();
        Map<String, Object> options = new HashMap<>(Map.of("kind", "run", "id", id, "now_ms", now.toEpochMilli(),
                "zone_ms", ZoneId.systemDefault().getRules().getOffset(now).getTotalSeconds() * 1000));
        if (tick != null && tick.getNano() != 0)
            throw new ZkLeaderException(ZkLeaderException.MISUSE, "a tick is whole seconds, not " + tick, null);
        if (tick != null)
            options.put("tick_ms", tick.toMillis());
        Link first = connect();
        try {
            claim = claim(first, options);
        } catch (Unreachable e) { // the sidecar that is started anew knows it by its id
            options.put("again", true);
            claim = insist(PATIENCE, () -> claim(connect(), options));
        }
        place = CompletableFuture.completedFuture(new Place(true, claim.number, false));
        if (claim.partition != null)
            task += ":" + claim.partition;
    }

    /** Waits for as long as the task's file says, which may be hours, while the sidecar answers at all. */
    private Claim claim(Link on, Map<String, Object> options) {
        Request<Claim> request = on.send(new Request<>("claim", List.of(task, Map.copyOf(options)), Claim::of, null));
        while (true) {
            try {
                return client.await(request);
            } catch (ZkLeaderException e) {
                if (request.isDone() || Thread.currentThread().isInterrupted())
                    throw e;
            }
            try {
                client.await(on.send(new Request<>("check", List.of(task), Reply::value, null)));
            } catch (ZkLeaderException e) {
                on.end(new Unreachable(e.getMessage(), e));
            }
        }
    }

    // --- the run

    /** Renews at once, as the lease counts from before the claim, which may have waited. */
    private void begin() {
        try {
            Lease.Term first = insist(PATIENCE, () -> client.await(renew()));
            if (!first.holds())
                throw new ZkLeaderException(ZkLeaderException.CANNOT_TELL, task + " was lost as it began", null);
            lease = new Lease(client, task, first, this::renew);
        } catch (ZkLeaderException e) {
            end(1, true);
            throw e;
        }
    }

    private <E extends Exception> Outcome work(Work<E> work) throws E {
        int status = 1;
        boolean lost = true;
        try {
            work.run(this);
            status = 0;
        } catch (ZkLeaderException e) {
            if (lease.isLeading())
                throw e; // else it is that of check()
        } finally {
            lost = !lease.isLeading();
            lease.close();
            end(status, lost);
        }
        return lost ? Outcome.LOST : Outcome.OK;
    }

    private CompletableFuture<Lease.Term> renew() {
        return place().thenCompose(at -> {
            if (!at.there)
                throw new ZkLeaderException(ZkLeaderException.NOT_LEADER, "the run of " + task + " is over", null);
            return current().send(new Request<>("renew", List.of(at.number),
                    answer -> new Lease.Term(answer.flag("leads"), claim.token, answer.expiry()), null));
        });
    }

    private synchronized Link current() { return link; }

    /** Under which number it goes on, once it is attached to another connection if the one before has ended. */
    private synchronized CompletableFuture<Place> place() {
        try {
            if (!link.isOpen())
                place = connect().send(new Request<>("attach", List.of(task, id), answer -> new Place(
                        answer.flag("attached"), answer.numberOr0("run"), answer.flag("recorded")), null));
            return place;
        } catch (ZkLeaderException e) {
            return CompletableFuture.failedFuture(e);
        }
    }

    // --- its end

    private CompletableFuture<Boolean> finish(Place at, int status, boolean cut) {
        if (!at.there)
            return CompletableFuture.completedFuture(at.recorded);
        return current().send(new Request<>("finish", List.of(at.number, Map.of("exit_status", status, "interrupted",
                cut)), answer -> Boolean.TRUE.equals(answer.value()), null));
    }

    /** Has the end recorded. If that fails the work is done all the same. */
    private void end(int status, boolean cut) {
        boolean interrupted = Thread.interrupted(); // perhaps to end the work, which it has
        Throwable why = null;
        try {
            if (insist(PATIENCE, () -> client.await(place().thenCompose(at -> finish(at, status, cut)))))
                return;
        } catch (ZkLeaderException e) {
            why = e;
        } finally {
            if (interrupted)
                Thread.currentThread().interrupt();
        }
        if (!claim.tick.isEmpty())
            ZkLeader.log("the end of the run of " + task + " at " + claim.tick + " could not be recorded", why);
    }

    // --- for the work

    /** {@return the task, {@code T:K} of a partition} */
    public String task() { return task; }

    /** {@return the tick, as 2026-11-20T02:00:00Z; "" of a run without one} */
    public String tick() { return claim.tick; }

    /** {@return the fencing token, greater than that of any leader before} */
    public long token() { return claim.token; }

    /** {@return which attempt at the tick this is: 1, 2, …} */
    public long attempt() { return claim.attempt; }

    /** {@return the leadership under which it runs; it is closed behind the work} */
    public Lease lease() { return lease; }

    /**
     * Throws unless this node still leads the task.
     * @throws ZkLeaderException with the code {@link ZkLeaderException#NOT_LEADER}
     */
    public void check() { lease.check(); }
}
