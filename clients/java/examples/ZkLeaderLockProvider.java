package com.example;

import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.zkleader.Lease;
import org.zkleader.ZkLeader;
import org.zkleader.ZkLeaderException;

/**
 * ShedLock's locks, each had by who leads the task of its name: of {@code @SchedulerLock(name = "nightly-report")}
 * the method runs on the node that leads nightly-report, and there once at a time. It needs no database.
 *
 * <p>A lock ends with the leadership, whatever {@code lockAtMostFor} says, and the thread that has it is interrupted
 * then. {@code lockAtLeastFor} is not looked at: when the leader changes within a tick, the new one may run it again.
 * Where that must not be, have {@link ZkLeader#run} claim the tick.
 */
public final class ZkLeaderLockProvider implements LockProvider {
    private final ZkLeader client;
    private final Set<String> held = ConcurrentHashMap.newKeySet();

    public ZkLeaderLockProvider(ZkLeader client) {
        this.client = client;
    }

    @Override
    public Optional<SimpleLock> lock(LockConfiguration configuration) {
        String task = configuration.getName();
        if (!held.add(task))
            return Optional.empty();
        Optional<Lease> lease = Optional.empty();
        try {
            lease = client.leading(task, Duration.ZERO);
        } catch (ZkLeaderException e) {
            if (e.code() != ZkLeaderException.CANNOT_TELL)
                throw e;
        } finally {
            if (lease.isEmpty())
                held.remove(task);
        }
        lease.ifPresent(had -> had.onLost(Thread.currentThread()::interrupt));
        return lease.map(had -> () -> {
            had.close();
            held.remove(task);
        });
    }
}
