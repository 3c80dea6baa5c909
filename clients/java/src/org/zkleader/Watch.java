package org.zkleader;

import java.util.*;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import org.zkleader.ZkLeaderException.Unreachable;

/** A watch of tasks, on connections of its own. A slow listener hears of the last state of each task alone. */
public final class Watch implements AutoCloseable {
    private static final long FIRST_NS = 50_000_000, LAST_NS = 1_000_000_000;

    private final ZkLeader client;
    private final List<Object> params;
    private final Consumer<Change> listener;
    /** What is called at each news, also of the connection; may not block. */
    private final Runnable onNews;

    private final Map<String, Change> told = new HashMap<>(), news = new LinkedHashMap<>();
    private boolean telling, closed;
    private Link link;
    private long pause = FIRST_NS;

    Watch(ZkLeader client, List<String> tasks, boolean mine, Consumer<Change> listener, Runnable onNews) {
        this.client = client;
        this.listener = listener;
        this.onNews = onNews;
        params = new ArrayList<>(tasks);
        if (mine)
            params.add(Map.of("mine", true));
    }

    /** The next pause after this one; 0 or less: the first. */
    static long longer(long pause) { return pause <= 0 ? FIRST_NS : Math.min(pause * 2, LAST_NS); }

    static long jittered(long pause) {
        return pause - ThreadLocalRandom.current().nextLong(pause / 4);
    }

    /** Subscribes, and again whenever that fails or the connection ends. */
    Request<Boolean> subscribe() {
        Request<Boolean> request = new Request<>("subscribe", params, reply -> true, null);
        request.whenComplete((done, e) -> subscribed(e));
        synchronized (this) {
            if (closed)
                return request;
            try {
                link = new Link(client.loop, client.socket(), this::take, why -> again());
                link.send(request);
            } catch (Unreachable e) {
                request.lost(e);
                again();
            }
        }
        return request;
    }

    private synchronized void subscribed(Throwable e) {
        if (e == null)
            pause = FIRST_NS;
        else if (link != null) // no connection without a subscription
            link.end(new Unreachable(e.getMessage(), e));
        onNews.run();
    }

    private synchronized void again() {
        if (closed)
            return;
        client.loop.after(jittered(pause), this::subscribe);
        pause = longer(pause);
    }

    private synchronized void take(String method, Object param) {
        if (method.equals("leadership")) {
            Change change = Change.of(new Reply(param, null));
            news.put(change.task(), change);
            if (!telling && !closed)
                Loop.daemon(this::tell, "zkleader-watch").start();
            telling = true;
        }
        onNews.run();
    }

    private synchronized Change next() {
        while (!closed && !news.isEmpty()) {
            Change change = news.remove(news.keySet().iterator().next());
            if (!change.equals(told.put(change.task(), change)))
                return change;
        }
        telling = false;
        return null;
    }

    private void tell() {
        for (Change change; (change = next()) != null;) {
            try {
                listener.accept(change);
            } catch (RuntimeException e) {
                ZkLeader.log("the listener of a watch has failed", e);
            }
        }
    }

    /** Ends it: no call of the listener begins after this. */
    @Override
    public void close() {
        synchronized (this) {
            closed = true;
            if (link != null)
                link.end(new Unreachable("the watch is closed", null));
        }
        client.forget(this);
    }
}
