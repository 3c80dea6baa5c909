import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.CuratorWatcher;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.CreateMode;

/**
 * usage: CuratorPeer selector|latch SERVER SESSION_TIMEOUT_MS ROOT VERSION TASKS
 *
 * The work of a sidecar, by Curator's recipes: registers with its version, takes part in an election for
 * each task, and gives up what it leads while a worker with a newer version (a bigger number) is there.
 * Prints "registered NS", and "+ NS" and "- NS" for each leadership gained and given up, by the clock
 * that System.nanoTime() reads. TERM closes the session.
 */
public class CuratorPeer {
    private static CuratorFramework client;
    private static String workers;
    private static int version;
    private static final Map<String, Integer> versions = new HashMap<>();
    private static boolean newer;
    private static final Object changed = new Object();
    private static LatchedTask[] latched = {};

    private static void say(String what) {
        System.out.println(what + " " + System.nanoTime());
    }

    /** Reads who is new among the workers, and goes on watching. */
    private static void look() {
        try {
            Map<String, Integer> now = new HashMap<>();
            CuratorWatcher again = event -> {
                if (event.getPath() != null) {
                    look();
                }
            };
            for (String id : client.getChildren().usingWatcher(again).forPath(workers)) {
                Integer known = versions.get(id);
                now.put(id, known != null ? known : read(id));
            }
            synchronized (changed) {
                versions.clear();
                versions.putAll(now);
                newer = versions.values().stream().anyMatch(v -> v > version);
                changed.notifyAll();
            }
            for (LatchedTask task : latched) {
                task.consider();
            }
        } catch (Exception e) {
            // The session is about to end.
        }
    }

    private static int read(String id) throws Exception {
        try {
            return Integer.parseInt(new String(client.getData().forPath(workers + "/" + id),
                    StandardCharsets.UTF_8));
        } catch (org.apache.zookeeper.KeeperException.NoNodeException e) {
            return 0;
        }
    }

    private static boolean newerIsThere() {
        synchronized (changed) {
            return newer;
        }
    }

    private static void select(String path) {
        LeaderSelector selector = new LeaderSelector(client, path, new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework c) throws Exception {
                say("+");
                try {
                    synchronized (changed) {
                        while (!newer) {
                            changed.wait();
                        }
                    }
                } finally {
                    say("-");
                }
            }
        });
        selector.autoRequeue();
        selector.start();
    }

    /** A latch that is closed, and another opened, to stand at the end of the queue again. */
    private static class LatchedTask implements LeaderLatchListener {
        private static final ExecutorService renewing = Executors.newSingleThreadExecutor();
        private final String path;
        private LeaderLatch latch;

        LatchedTask(String path) throws Exception {
            this.path = path;
            open();
        }

        private void open() throws Exception {
            latch = new LeaderLatch(client, path, workers);
            latch.addListener(this);
            latch.start();
        }

        @Override
        public void isLeader() {
            say("+");
            if (newerIsThere()) {
                consider();
            }
        }

        @Override
        public void notLeader() {
            say("-");
        }

        void consider() {
            renewing.submit(() -> {
                if (newerIsThere() && latch.hasLeadership()) {
                    latch.close(LeaderLatch.CloseMode.NOTIFY_LEADER);
                    open();
                }
                return null;
            });
        }
    }

    public static void main(String[] args) throws Exception {
        int timeoutMs = Integer.parseInt(args[2]);
        String root = args[3];
        int tasks = Integer.parseInt(args[5]);
        version = Integer.parseInt(args[4]);
        workers = root + "/workers";
        client = CuratorFrameworkFactory.newClient(args[1], timeoutMs, timeoutMs,
                new ExponentialBackoffRetry(100, 3));
        client.start();
        Runtime.getRuntime().addShutdownHook(new Thread(client::close));
        client.create().creatingParentsIfNeeded().withMode(CreateMode.EPHEMERAL)
                .forPath(workers + "/" + UUID.randomUUID(), args[4].getBytes(StandardCharsets.UTF_8));
        say("registered");
        look();
        LatchedTask[] made = new LatchedTask[args[0].equals("latch") ? tasks : 0];
        for (int i = 0; i < tasks; i++) {
            String path = String.format("%s/leaders/job-%05d", root, i);
            if (args[0].equals("latch")) {
                made[i] = new LatchedTask(path);
            } else {
                select(path);
            }
        }
        latched = made;
        look();
        Thread.sleep(Long.MAX_VALUE);
    }
}
