package org.zkleader;

import java.util.Map;

/** The clocks of a lease, which a test cannot have stand still but by hand: prints "good". */
final class Clocks {
    private static void check(boolean good, String what) {
        if (!good)
            throw new AssertionError(what);
    }

    private static Expiry since(long nanosAgo, long wallMsAgo, long leaseMs) {
        return new Expiry(System.nanoTime() - nanosAgo, System.currentTimeMillis() - wallMsAgo, 0).plus(leaseMs);
    }

    private static Answer answer(Expiry sent, boolean leader, long leaseMs) {
        return new Answer("t", new Reply(Map.of("leader", leader, "state", "leading", "token", 5L, "lease_ms", leaseMs),
                sent));
    }

    public static void main(String[] args) {
        long second = 1_000_000_000L;
        check(since(0, 0, 60_000).length() == 5 * second, "never over 5 s");
        check(since(0, 0, Long.MAX_VALUE).length() == 5 * second, "whatever the sidecar says");
        check(since(0, 0, 4_000).length() == 2 * second, "half as long");
        check(since(0, 0, -1).left() <= 0 && since(0, 0, 0).left() <= 0, "none");
        check(answer(since(second, 1_000, 4_000), true, 4_000).leads(), "a second of two is over");
        check(!answer(since(3 * second, 0, 4_000), true, 4_000).leads(), "by the one clock it is over");
        check(!answer(since(0, 3_000, 4_000), true, 4_000).leads(), "by the other: it was suspended");
        check(answer(since(0, -3_600_000, 4_000), true, 4_000).leads(), "set back by an hour: the first one counts");
        check(!answer(since(3 * second, -3_600_000, 4_000), true, 4_000).leads(), "and says when it is over");
        check(!answer(Expiry.now(), false, 4_000).leads(), "a lease alone is no leadership");
        check(answer(Expiry.now(), false, 4_000).remaining().isZero(), "and nothing is left of it");
        System.out.println("good");
    }
}
