package org.zkleader;

/** The end of a lease, by two clocks: whichever says first that it is over is right. */
record Expiry(long nanos, long wallMs, long length) {
    private static final long MAX = 5_000_000_000L;

    /** The present moment, with no lease. */
    static Expiry now() { return new Expiry(System.nanoTime(), System.currentTimeMillis(), 0); }

    /** A lease from this moment on: half as long as the sidecar says, as neither clock surely counts suspend. */
    Expiry plus(long leaseMs) {
        return new Expiry(nanos, wallMs, Math.min(Math.max(Math.min(leaseMs, 60_000), 0) * 500_000L, MAX));
    }

    /** Nanoseconds that are left; 0 or less: it is over. */
    long left() {
        long wall = (System.currentTimeMillis() - wallMs) * 1_000_000L;
        return length - Math.max(System.nanoTime() - nanos, wall);
    }

    /** How much is to be left where a leadership is given up: time to stop what goes on under it. */
    long margin() { return Math.max(length / 5, 100_000_000L); }
}
