package org.zkleader;

/** What the sidecar refuses, or why it could not be asked. */
public class ZkLeaderException extends RuntimeException {
    /** Another node leads, or this one no longer. */
    public static final int NOT_LEADER = 1;
    /** No sidecar, no answer in time, no confirmed session. */
    public static final int CANNOT_TELL = 2;
    /** An unknown task, bad arguments, or a caller that may not. */
    public static final int MISUSE = 3;
    /** Nobody may now: the task is paused, the queue is full or not served. */
    public static final int NOBODY = 4;

    private static final long serialVersionUID = 1;

    /** One of the codes above. */
    private final int code;

    ZkLeaderException(int code, String message, Throwable cause) {
        super(message, cause);
        this.code = code;
    }

    /** {@return the code: that with which {@code zkleader-check} exits} */
    public int code() { return code; }

    /** No connection, or one that ended before the answer came. */
    static final class Unreachable extends ZkLeaderException {
        private static final long serialVersionUID = 1;

        Unreachable(String message, Throwable cause) { super(CANNOT_TELL, message, cause); }
    }
}
