/**
 * Asks the zkleader sidecar of this machine whether this node leads a task.
 * {@link org.zkleader.ZkLeader} is the client; {@link org.zkleader.TaskLeader} takes the place of Curator's latch.
 *
 * <p><b>The clock of a lease.</b> An answer is good for a lease, counted from before the question was sent. No clock
 * of Java is sure to go on while the machine is suspended ({@link System#nanoTime} stands still). So each lease is
 * taken half as long as the sidecar gives it, and never longer than 5 seconds. It is over as soon as
 * {@link System#nanoTime} or the clock of the wall says so: by the second a suspend is noticed as well, unless
 * somebody sets that clock back by as much. When a process is stopped, both go on.
 */
package org.zkleader;
