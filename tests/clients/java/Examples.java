import com.example.LeaderCondition;
import com.example.NightlyReport;
import com.example.ZkLeaderLockProvider;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.core.SimpleLock;
import org.zkleader.TaskLeader;
import org.zkleader.ZkLeader;
import org.zkleader.ZkLeaderException;

/** Uses the examples as their frameworks do, with the sidecar at ZKLEADER_SOCKET: Examples TASK OTHER, OTHER led elsewhere. */
final class Examples {
    private static void check(boolean good, String what) {
        if (!good)
            throw new AssertionError(what);
    }

    private static Optional<SimpleLock> lock(LockProvider provider, String task) {
        return provider.lock(new LockConfiguration(Instant.now(), task, Duration.ofMinutes(1), Duration.ZERO));
    }

    private static void latch(String task, String other) {
        try (TaskLeader leader = new TaskLeader(task); TaskLeader follower = new TaskLeader(other);
                TaskLeader unknown = new TaskLeader("unknown")) {
            leader.start();
            check(leader.isLeader() && leader.hasLeadership(), "it leads");
            check(leader.getLeader().isLeader() && !leader.getLeader().getId().isEmpty(), "and is known to");
            check(!follower.isLeader(), "another leads");
            check(follower.getLeader().node().equals("elsewhere"), follower.getLeader().toString());
            try {
                unknown.isLeader();
                check(false, "a task that is not there is no matter of who leads");
            } catch (ZkLeaderException e) {
                check(e.code() == ZkLeaderException.MISUSE, e.getMessage());
            }
        }
        try (ZkLeader nowhere = ZkLeader.connect(Path.of("/nowhere/socket"))) {
            check(!new TaskLeader(nowhere, task).isLeader(), "in doubt it does not");
        }
    }

    public static void main(String[] args) {
        String task = args[0];
        String other = args[1];
        latch(task, other);
        LeaderCondition condition = new LeaderCondition();
        check(condition.matches(() -> key -> null, null), "no task is named");
        check(condition.matches(() -> key -> key.equals("leader.task") ? task : null, null), "it leads it");
        check(!condition.matches(() -> key -> other, null), "it does not lead it");
        NightlyReport report = new NightlyReport();
        report.cleanUp();
        report.report();
        report.bill();
        LockProvider provider = new ZkLeaderLockProvider(ZkLeader.shared());
        SimpleLock lock = lock(provider, task).orElseThrow();
        check(lock(provider, task).isEmpty(), "it is held");
        lock.unlock();
        lock(provider, task).orElseThrow().unlock();
        check(lock(provider, other).isEmpty(), "another node has it");
        System.out.println("good");
    }
}
