import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * usage: CuratorLeader SERVER SESSION_TIMEOUT_MS
 *
 * A LeaderSelector as its documentation says: leadership is cancelled when the connection is suspended or
 * lost. Prints "stands by" once it is connected, "leads" and "leaves" as it happens.
 */
public class CuratorLeader {
    public static void main(String[] args) throws Exception {
        int timeoutMs = Integer.parseInt(args[1]);
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], timeoutMs, timeoutMs,
                new ExponentialBackoffRetry(100, 3));
        client.start();
        LeaderSelector selector = new LeaderSelector(client, "/curator", new LeaderSelectorListenerAdapter() {
            @Override
            public void takeLeadership(CuratorFramework c) throws Exception {
                System.out.println("leads");
                try {
                    Thread.sleep(Long.MAX_VALUE);
                } finally {
                    System.out.println("leaves");
                }
            }
        });
        selector.autoRequeue();
        selector.start();
        client.blockUntilConnected();
        System.out.println("stands by");
        Thread.sleep(Long.MAX_VALUE);
    }
}
