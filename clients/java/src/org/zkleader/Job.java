package org.zkleader;

import java.util.Set;

/**
 * What has become of a job.
 * @param id its id
 * @param state queued, assigned or running; and for ever ok, dead, lost or cancelled
 * @param attempt the last that has begun, 0: none
 * @param node to which it was given last, "": to none yet
 * @param exitStatus of the last attempt that has ended, null: none has, or by no status
 * @param output the end of what it wrote, "" also where the caller may not see it
 * @param why a word for how the last attempt failed, "" where it did not
 * @param detail the same for people
 */
public record Job(String id, String state, long attempt, String node, Long exitStatus, String output, String why,
        String detail) {
    static Job of(Reply map) {
        return new Job(map.text("id"), map.text("state"), map.numberOr0("attempt"), map.textOrEmpty("node"),
                map.numberOrNull("exit_status"), map.textOrEmpty("output"), map.textOrEmpty("why"),
                map.textOrEmpty("detail"));
    }

    /** {@return whether it has ended, for ever} */
    public boolean ended() { return Set.of("ok", "dead", "lost", "cancelled").contains(state); }
}
