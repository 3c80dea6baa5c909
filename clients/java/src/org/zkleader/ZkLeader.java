package org.zkleader;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Consumer;
import java.util.function.Function;
import org.zkleader.ZkLeaderException.Unreachable;

/**
 * A client of the sidecar of this machine, to be kept for as long as the application runs. It connects when it is
 * first needed, and again when the connection was lost. Threads may share it. While nothing is asked it does nothing.
 *
 * <p>Its methods throw {@link ZkLeaderException}: with the code {@link ZkLeaderException#CANNOT_TELL} where the
 * sidecar cannot be reached or does not answer in time, or the thread is interrupted, whose flag stays set.
 */
public final class ZkLeader implements AutoCloseable {
    private static final Path DEFAULT_SOCKET = Path.of("/run/zkleader/zkleader.sock");
    private static final Duration SETTLE = Duration.ofSeconds(1), DAY = Duration.ofDays(1);
    static final Duration FOR_EVER = Duration.ofDays(36_500);

    private static final class Shared {
        static final ZkLeader CLIENT = connect();
    }

    final Loop loop = new Loop();
    final Duration timeout;
    private final Path socket;
    /** What is under way, and how it is ended. */
    private final Map<Object, Runnable> scopes = new HashMap<>();
    private Link link;
    private volatile boolean closed;

    private ZkLeader(Path socket, Duration timeout) {
        this.socket = socket;
        this.timeout = timeout;
    }

    /** {@return a client of the sidecar at {@code ZKLEADER_SOCKET}, or at /run/zkleader/zkleader.sock} */
    public static ZkLeader connect() {
        String named = System.getenv("ZKLEADER_SOCKET");
        return connect(named == null || named.isEmpty() ? DEFAULT_SOCKET : Path.of(named));
    }

    /** {@return a client of the sidecar with that socket}
     * @param socket its path */
    public static ZkLeader connect(Path socket) { return connect(socket, Duration.ofSeconds(5)); }

    /** {@return a client of the sidecar with that socket}
     * @param socket its path
     * @param timeout how long an answer may take, beside what it was asked to wait; 5 s unless named */
    public static ZkLeader connect(Path socket, Duration timeout) { return new ZkLeader(socket, timeout); }

    /** {@return the client that this process shares, made by {@link #connect()}; not to be closed} */
    public static ZkLeader shared() { return Shared.CLIENT; }

    // --- whether this node leads

    /** {@return whether this node leads the task} While nobody does, it waits for the handover for up to a second.
     * @param task its name, {@code T:K} of a partition */
    public Answer leads(String task) { return leads(task, SETTLE); }

    /** {@return whether this node leads the task}
     * @param task its name, {@code T:K} of a partition
     * @param wait how long to wait while nobody leads it, up to a day */
    public Answer leads(String task, Duration wait) { return await(check(task, wait), wait); }

    /** {@return the same as {@link #leads(String)}, later: many may be asked at a time} One thread completes all
     * of them: what follows may ask, and should not take long.
     * @param task its name, {@code T:K} of a partition */
    public CompletableFuture<Answer> leadsAsync(String task) {
        Duration limit = SETTLE.plus(timeout);
        return check(task, SETTLE).orTimeout(limit.toMillis(), TimeUnit.MILLISECONDS).handleAsync((answer, e) -> {
            if (e != null)
                throw failed(e, limit);
            return answer;
        }, loop.answers);
    }

    private CompletableFuture<Answer> check(String task, Duration wait) {
        List<Object> params = wait.isZero() ? List.of(task) : List.of(task, wait.toMillis());
        return ask("check", params, answer -> new Answer(task, answer), true);
    }

    /**
     * Tells of who leads tasks: first the present state of each, then each change, also after the connection was
     * lost. Where the sidecar is away, it is told once it is back.
     * @param listener is called by a thread of its own, for one change after the other
     * @param tasks their names; none: all tasks
     * @return to be closed when no more is to be told
     */
    public Watch watch(Consumer<Change> listener, String... tasks) {
        return watch(new Watch(this, List.of(tasks), false, listener, () -> { }));
    }

    private Watch watch(Watch watch) {
        remember(watch, watch::close);
        try {
            await(watch.subscribe());
        } catch (ZkLeaderException e) {
            if (isFinal(e)) {
                watch.close();
                throw e;
            }
        }
        return watch;
    }

    /** {@return a leadership, to be closed} It waits until this node leads the task, however long that takes.
     * @param task its name, {@code T:K} of a partition */
    public Lease leading(String task) { return leading(task, FOR_EVER).orElseThrow(); }

    /** {@return a leadership, to be closed; empty: this node has not led the task in that time}
     * @param task its name, {@code T:K} of a partition
     * @param wait for how long to wait for it */
    public Optional<Lease> leading(String task, Duration wait) {
        long until = System.nanoTime() + wait.toNanos();
        Semaphore news = new Semaphore(0);
        Optional<Lease> lease = enter(task, until);
        if (lease.isPresent() || until - System.nanoTime() <= 0)
            return lease;
        Watch watch = watch(new Watch(this, List.of(task), true, change -> { }, news::release));
        try {
            while (true) {
                news.drainPermits();
                lease = enter(task, until);
                long left = until - System.nanoTime();
                if (lease.isPresent() || left <= 0)
                    return lease;
                news.tryAcquire(Math.min(left, timeout.toNanos()), TimeUnit.NANOSECONDS);
            }
        } catch (InterruptedException e) {
            throw interrupted();
        } finally {
            watch.close();
        }
    }

    private Optional<Lease> enter(String task, long until) {
        Duration left = Duration.ofNanos(Math.max(Math.min(until - System.nanoTime(), SETTLE.toNanos()), 0));
        try {
            Lease.Term term = leads(task, left).term();
            if (term.holds())
                return Optional.of(new Lease(this, task, term, () -> check(task, Duration.ZERO).thenApply(Answer::term)));
        } catch (ZkLeaderException e) {
            if (isFinal(e))
                throw e;
        }
        return Optional.empty();
    }

    /** Whether it makes no sense to try again. */
    private boolean isFinal(ZkLeaderException e) {
        return e.code() != ZkLeaderException.CANNOT_TELL || closed || Thread.currentThread().isInterrupted();
    }

    /**
     * Claims a tick of the task and does its work in this thread: at most once in the fleet, as the task's file says.
     * How it ends is recorded.
     * @param <E> what the work may throw
     * @param task its name
     * @param tick how long a tick is, whole seconds up to a day; null: as the task's file says; zero: there is none,
     * leadership is all
     * @param work what to do
     * @return how it went
     * @throws E as the work did
     */
    public <E extends Exception> Run.Outcome run(String task, Duration tick, Run.Work<E> work) throws E {
        return Run.of(this, task, tick, work);
    }

    // --- jobs

    /** {@return the id of a job, once it is committed}
     * @param queue its queue
     * @param payload what it reads, up to 16,384 bytes */
    public String submit(String queue, byte[] payload) { return submit(new Submission(queue, payload)); }

    /** {@return the id of a job, once it is committed, or of the one that has its key} Where it cannot be told
     * whether it is, the same may be submitted again.
     * @param job what to submit */
    public String submit(Submission job) {
        if (job.id() == null)
            job.id(newJobId(job.queue));
        return await(ask("submit", List.of(job.queue, Map.copyOf(job.options)), answer -> answer.text("id"), true));
    }

    /** Asks the sidecar for one, which knows the clock that jobs go by; one that draws none leaves it to this host. */
    private String newJobId(String queue) {
        try {
            return await(ask("job_id", List.of(queue), answer -> answer.text("id"), true));
        } catch (ZkLeaderException e) {
            if (e.code() != ZkLeaderException.MISUSE)
                throw e;
            return queue + "." + Long.toString(System.currentTimeMillis() / 60_000, 36) + "." + UUID.randomUUID();
        }
    }

    /** {@return the present state of a job}
     * @param id its id */
    public Job job(String id) { return job(id, Duration.ZERO); }

    /** {@return the state of a job, once it has ended or the time is over}
     * @param id its id
     * @param wait for how long, up to a day */
    public Job job(String id, Duration wait) {
        Duration most = wait.compareTo(DAY) > 0 ? DAY : wait;
        List<Object> params = wait.isZero() ? List.of(id) : List.of(id, Map.of("wait_ms", most.toMillis()));
        return await(ask("job", params, Job::of, true), most);
    }

    /**
     * Waits until a job has ended, however long that takes and the sidecar is away meanwhile. One that is there and
     * cannot tell, as without ZooKeeper, ends it with {@link ZkLeaderException#CANNOT_TELL}: wait again. The other
     * languages call this {@code wait}, a name that each object of Java has for something else.
     * @param id its id
     * @return the job, which has ended
     */
    public Job waitFor(String id) {
        Job job;
        do {
            job = Run.insist(FOR_EVER, () -> job(id, Duration.ofMinutes(1)));
        } while (!job.ended());
        return job;
    }

    /** {@return whether a job was cancelled, so that it never begins or gets TERM; false: it had ended already}
     * @param id its id */
    public boolean cancel(String id) {
        return await(ask("cancel", List.of(id), answer -> answer.flag("done"), false));
    }

    // --- the protocol itself

    /** {@return the answer of a method that has none here: null, Boolean, Long, Double, String, byte[], List, Map}
     * @param method its name
     * @param params of the same types */
    public Object call(String method, Object... params) {
        return await(ask(method, Arrays.asList(params), Reply::value, false));
    }

    /** {@return the path of the sidecar's socket} */
    public Path socket() { return socket; }

    private <T> CompletableFuture<T> ask(String method, List<?> params, Function<Reply, T> parse, boolean again) {
        Request<T> request = new Request<>(method, params, parse, again ? this::send : null);
        send(request);
        return request;
    }

    private <T> void send(Request<T> request) {
        try {
            link().send(request);
        } catch (ZkLeaderException e) {
            request.completeExceptionally(e);
        }
    }

    /** The connection, made if there is none. */
    synchronized Link link() {
        if (link == null || !link.isOpen())
            link = open();
        return link;
    }

    /** A connection of its own. */
    Link open() {
        checkOpen();
        return new Link(loop, socket, (method, param) -> { }, why -> { });
    }

    <T> T await(CompletableFuture<T> answer) { return await(answer, Duration.ZERO); }

    private <T> T await(CompletableFuture<T> answer, Duration wait) {
        Duration limit = wait.plus(timeout);
        try {
            return answer.get(limit.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            throw interrupted();
        } catch (ExecutionException | TimeoutException e) {
            throw failed(e, limit);
        }
    }

    /** An exception with the trace of who asks. */
    private static ZkLeaderException failed(Throwable e, Duration limit) {
        Throwable cause = e instanceof ExecutionException || e instanceof CompletionException ? e.getCause() : e;
        if (cause instanceof Unreachable)
            return new Unreachable(cause.getMessage(), cause);
        if (cause instanceof ZkLeaderException refused)
            return new ZkLeaderException(refused.code(), refused.getMessage(), refused);
        String why = cause instanceof TimeoutException
                ? "the sidecar has not answered within " + limit.toMillis() + " ms" : cause.toString();
        return new ZkLeaderException(ZkLeaderException.CANNOT_TELL, why, cause);
    }

    private static ZkLeaderException interrupted() {
        Thread.currentThread().interrupt();
        return new ZkLeaderException(ZkLeaderException.CANNOT_TELL, "the thread was interrupted", null);
    }

    static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw interrupted();
        }
    }

    static void log(String text, Throwable why) {
        System.getLogger("org.zkleader").log(System.Logger.Level.WARNING, text, why);
    }

    // --- the end

    private void checkOpen() {
        if (closed)
            throw new ZkLeaderException(ZkLeaderException.CANNOT_TELL, "the client is closed", null);
    }

    synchronized void remember(Object scope, Runnable end) {
        checkOpen();
        scopes.put(scope, end);
    }


    synchronized void forget(Object scope) { scopes.remove(scope); }

    /** Ends all of it: what was asked fails, watches are closed, and leaderships are lost. */
    @Override
    public void close() {
        List<Runnable> left;
        synchronized (this) {
            closed = true;
            left = List.copyOf(scopes.values());
        }
        left.forEach(Runnable::run);
        if (link != null)
            link.end(new Unreachable("the client is closed", null));
        try {
            loop.close();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
