package org.zkleader;

/**
 * A node that leads a task; {@link #getId} and {@link #isLeader} are as of Curator's {@code Participant}.
 * @param id of its worker; another after it has registered anew
 * @param node what people call it, the same over restarts
 * @param hostname of its host
 * @param ip its address
 * @param version of the application there
 */
public record Leader(String id, String node, String hostname, String ip, String version) {
    /** Who leads while no node is known to. */
    public static final Leader NOBODY = new Leader("", "", "", "", "");

    static Leader of(Reply map) {
        String node = map.textOrEmpty("node"), hostname = map.textOrEmpty("hostname");
        return new Leader(map.text("id"), node.isEmpty() ? hostname : node, hostname, map.textOrEmpty("ip"),
                map.textOrEmpty("version"));
    }

    /** {@return the id of its worker, "" of nobody} */
    public String getId() { return id; }

    /** {@return whether this is a node, and not nobody} */
    public boolean isLeader() { return !id.isEmpty(); }
}
