package org.zkleader;

/**
 * Whether this node leads one task. Its methods are those of Curator's {@code LeaderLatch}, so code written for that
 * changes the line that makes it. It stands for no election itself: the sidecar does, for the whole node.
 */
public class TaskLeader implements AutoCloseable {
    private final ZkLeader client;
    private final String task;

    /**
     * By the client that this process shares.
     * @param task its name
     */
    public TaskLeader(String task) { this(ZkLeader.shared(), task); }

    /**
     * By a client of one's own.
     * @param client stays open when this is closed
     * @param task its name
     */
    public TaskLeader(ZkLeader client, String task) {
        this.client = client;
        this.task = task;
    }

    /**
     * Whether this node leads the task now. It is asked each time, and waits for a handover for up to a second. For
     * work of more than a moment take {@link ZkLeader#leads} or {@link ZkLeader#leading}: they know until when.
     * @return false also where it cannot be told
     * @throws ZkLeaderException with the code {@link ZkLeaderException#MISUSE}: there is no such task
     */
    public boolean isLeader() {
        try {
            return client.leads(task).leads();
        } catch (ZkLeaderException e) {
            if (e.code() == ZkLeaderException.MISUSE)
                throw e;
            return false;
        }
    }

    /** {@return the same as isLeader(), under Curator's name} */
    public boolean hasLeadership() { return isLeader(); }

    /** {@return who leads the task, never null: {@link Leader#NOBODY} while nobody is known to} */
    public Leader getLeader() { return client.leads(task).leader().orElse(Leader.NOBODY); }

    /** Does nothing, as there is nothing to start. */
    public void start() { }

    /** Does nothing, as there is nothing to give up. */
    @Override
    public void close() { }
}
