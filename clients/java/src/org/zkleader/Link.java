package org.zkleader;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.*;
import java.nio.file.Path;
import java.util.*;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.zkleader.MessagePack.Malformed;
import org.zkleader.ZkLeaderException.Unreachable;

/** One connection to the sidecar. Any thread sends; the loop's reads. */
final class Link {
    private static final int REQUEST_MAX = 64 << 10, ANSWER_MAX = 64 << 20, IN = 16 << 10;
    /** The sidecar has 1,000 wait at most, and ends the connection of who asks for more. */
    private static final int WAITING_MAX = 900, HELD_MAX = 100_000;

    private final SocketChannel channel;
    private final BiConsumer<String, Object> onNotification;
    private final Consumer<Unreachable> onEnd;
    private final SelectionKey key;
    private final MessagePack reader = new MessagePack(ANSWER_MAX);
    private ByteBuffer in = ByteBuffer.allocate(IN);

    private final Map<Long, Request<?>> waiting = new HashMap<>();
    private final Deque<Request<?>> held = new ArrayDeque<>();
    private final Deque<ByteBuffer> out = new ArrayDeque<>();
    private long msgid;
    private Unreachable ended;

    /** Connects at once or not at all. */
    Link(Loop loop, Path socket, BiConsumer<String, Object> onNotification, Consumer<Unreachable> onEnd) {
        this.onNotification = onNotification;
        this.onEnd = onEnd;
        SocketChannel made = null;
        try {
            made = SocketChannel.open(StandardProtocolFamily.UNIX);
            made.configureBlocking(false);
            if (!made.connect(UnixDomainSocketAddress.of(socket)))
                throw new IOException("it takes no more connections now");
            synchronized (this) { // the loop may look at it at once
                channel = made;
                key = loop.register(made, this);
            }
        } catch (IOException | java.nio.channels.ClosedSelectorException e) {
            close(made);
            throw new Unreachable("the sidecar at " + socket + " cannot be reached: " + e.getMessage(), e);
        }
    }

    private static void close(SocketChannel channel) {
        try {
            if (channel != null)
                channel.close();
        } catch (IOException e) {
            // It is gone in any case.
        }
    }

    // --- sending

    /** Sends it, now or once enough of those before it are answered. */
    <T> Request<T> send(Request<T> request) {
        Unreachable why;
        synchronized (this) {
            why = ended;
            if (why == null && (request.isQuick() || waiting.size() < WAITING_MAX))
                why = transmit(request);
            else if (why == null)
                hold(request);
        }
        if (why != null) {
            end(why);
            request.lost(why);
        }
        return request;
    }

    private void hold(Request<?> request) {
        if (held.size() >= HELD_MAX)
            held.removeIf(Request::isDone);
        if (held.size() >= HELD_MAX)
            request.refused(ZkLeaderException.CANNOT_TELL, "too many requests are waiting", null);
        else
            held.add(request);
    }

    /** Null; or why the connection is of no use any more, and the request was not sent. */
    private Unreachable transmit(Request<?> request) {
        msgid = msgid % 0xffffffffL + 1;
        byte[] frame = MessagePack.write(Arrays.asList(0, msgid, request.method, request.params));
        if (frame.length > REQUEST_MAX) {
            request.refused(ZkLeaderException.MISUSE, "the request has more than 64 KiB", null);
            return null;
        }
        request.sent = Expiry.now();
        out.add(ByteBuffer.wrap(frame));
        Unreachable why = out.size() == 1 ? flush() : null;
        if (why == null)
            waiting.put(msgid, request);
        return why;
    }

    private Unreachable flush() {
        try {
            while (!out.isEmpty() && (channel.write(out.peek()) >= 0 && !out.peek().hasRemaining()))
                out.remove();
            int ops = out.isEmpty() ? SelectionKey.OP_READ : SelectionKey.OP_READ | SelectionKey.OP_WRITE;
            if (key.interestOps() != ops) {
                key.interestOps(ops);
                key.selector().wakeup();
            }
            return null;
        } catch (IOException | CancelledKeyException e) {
            return new Unreachable("the sidecar has closed the connection", e);
        }
    }

    // --- receiving, in the loop's thread

    void ready() {
        Unreachable why;
        try {
            synchronized (this) {
                why = key.isWritable() ? flush() : null;
            }
            if (why == null && key.isReadable())
                read();
        } catch (IOException | RuntimeException | OutOfMemoryError e) {
            why = new Unreachable("the connection to the sidecar has ended: " + e.getMessage(), e);
        }
        if (why != null)
            end(why);
    }

    private void read() throws IOException {
        int n = channel.read(in);
        in.flip();
        for (Object frame; (frame = reader.read(in)) != MessagePack.MISSING;)
            take(frame);
        if (!in.hasRemaining() && in.capacity() > IN)
            in = ByteBuffer.allocate(IN);
        else if (in.remaining() == in.capacity()) // one text that is longer
            in = ByteBuffer.allocate(in.capacity() * 2).put(in);
        else
            in.compact();
        if (n < 0)
            throw new IOException("the sidecar has closed it");
    }

    private void take(Object frame) {
        if (frame instanceof List<?> list && list.size() == 3 && Long.valueOf(2).equals(list.get(0))
                && list.get(1) instanceof String method && list.get(2) instanceof List<?> params)
            onNotification.accept(method, params.isEmpty() ? null : params.get(0));
        else if (frame instanceof List<?> list && list.size() == 4 && Long.valueOf(1).equals(list.get(0))
                && list.get(1) instanceof Long id)
            answer(id, list.get(2), list.get(3));
        else
            throw new Malformed("what came is no answer");
    }

    private void answer(long id, Object error, Object result) {
        Request<?> request;
        Request<?> next;
        synchronized (this) { request = waiting.remove(id); }
        Reply refusal = new Reply(error, null);
        try {
            if (error != null && id == 0) // it is about the connection, which ends with it
                throw new Malformed(refusal.text("message"));
            if (error != null && request != null)
                request.refused((int) refusal.number("code"), refusal.text("message"), null);
            else if (request != null)
                request.answered(result);
        } catch (RuntimeException e) {
            if (request != null)
                request.refused(ZkLeaderException.CANNOT_TELL, e.getMessage(), e);
            throw e;
        }
        do {
            synchronized (this) { next = waiting.size() < WAITING_MAX ? held.poll() : null; }
            if (next != null && !next.isDone())
                send(next);
        } while (next != null);
    }

    // --- the end

    synchronized boolean isOpen() { return ended == null; }

    void end(Unreachable why) {
        List<Request<?>> unanswered;
        synchronized (this) {
            if (ended != null)
                return;
            ended = why;
            unanswered = new ArrayList<>(waiting.values());
            unanswered.addAll(held);
            waiting.clear();
            held.clear();
        }
        close(channel);
        onEnd.accept(why);
        for (Request<?> request : unanswered)
            request.lost(why);
    }
}
