/** Asks the zkleader sidecar of this machine whether this node leads a task. */
module org.zkleader {
    exports org.zkleader;
}
