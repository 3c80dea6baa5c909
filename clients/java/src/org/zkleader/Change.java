package org.zkleader;

import java.util.Optional;

/**
 * News of who leads a task. It permits nothing: only {@link ZkLeader#leads} tells whether this node may act.
 * @param task its name, {@code T:K} of a partition
 * @param state what this node is to it, as in {@link Answer#state}
 * @param leads whether this node has the role
 * @param token the fencing token, 0 while nobody is known to lead
 * @param leader who leads, empty while nobody is known to
 */
public record Change(String task, String state, boolean leads, long token, Optional<Leader> leader) {
    static Change of(Reply map) {
        return new Change(map.text("task"), map.text("state"), map.flag("self"), map.numberOr0("token"),
                map.leader("leader"));
    }
}
