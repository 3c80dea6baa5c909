package org.zkleader;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicBoolean;

/** The thread that reads all connections of a client, and others while something is to be done. */
final class Loop implements Runnable {
    private final Selector selector;
    private final ScheduledThreadPoolExecutor timer = new ScheduledThreadPoolExecutor(1,
            task -> daemon(task, "zkleader-timer"), new ThreadPoolExecutor.DiscardPolicy());
    /** Completes what was asked asynchronously: what an application does then is not done in the loop. */
    final ThreadPoolExecutor answers = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(),
            task -> daemon(task, "zkleader-answers"));
    private final AtomicBoolean started = new AtomicBoolean();
    private volatile boolean closed;

    Loop() {
        try {
            selector = Selector.open();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        timer.setKeepAliveTime(1, TimeUnit.SECONDS);
        timer.allowCoreThreadTimeOut(true);
        answers.allowCoreThreadTimeOut(true);
    }

    static Thread daemon(Runnable task, String name) {
        Thread thread = new Thread(task, name);
        thread.setDaemon(true);
        return thread;
    }

    SelectionKey register(SocketChannel channel, Link link) throws IOException {
        if (!started.getAndSet(true))
            daemon(this, "zkleader").start();
        SelectionKey key = channel.register(selector, SelectionKey.OP_READ, link);
        selector.wakeup();
        return key;
    }

    /** Runs the task after that time, unless it is closed before. The task may not block. */
    void after(long nanos, Runnable task) { timer.schedule(task, nanos, TimeUnit.NANOSECONDS); }

    void close() throws IOException {
        closed = true;
        timer.shutdownNow();
        selector.close();
    }

    @Override
    public void run() {
        try {
            while (!closed)
                selector.select(key -> ((Link) key.attachment()).ready());
        } catch (IOException | java.nio.channels.ClosedSelectorException e) {
            // It was closed. Who asks from now on is told so.
        }
    }
}
