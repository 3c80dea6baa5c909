package org.zkleader;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import org.zkleader.ZkLeaderException.Unreachable;

/** One request and what comes of it, over as many connections as it takes. */
final class Request<T> extends CompletableFuture<T> {
    final String method;
    final List<?> params;
    private final Function<Reply, T> parse;
    /** What sends it once more where a connection ended; null: nothing does. */
    private Consumer<Request<T>> again;
    /** When it was about to be sent last. */
    volatile Expiry sent;

    Request(String method, List<?> params, Function<Reply, T> parse, Consumer<Request<T>> again) {
        this.method = method;
        this.params = params;
        this.parse = parse;
        this.again = again;
    }

    /** Whether the sidecar never has it wait, so that it need not wait for others either. */
    boolean isQuick() { return method.equals("check") && params.size() == 1; }

    void answered(Object result) { complete(parse.apply(new Reply(result, sent))); }

    void refused(int code, String message, Throwable cause) {
        completeExceptionally(new ZkLeaderException(code, message, cause));
    }

    /** Its connection has ended before it was answered. */
    void lost(Unreachable why) {
        Consumer<Request<T>> sender = again;
        again = null;
        if (sender != null && !isDone())
            sender.accept(this);
        else
            completeExceptionally(why);
    }
}
