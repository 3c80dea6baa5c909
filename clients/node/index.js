/**
 * Client of the zkleader sidecar of this host: whether this node leads a task, scopes and runs under
 * its leadership, what changes in the fleet, and jobs of queues.
 *
 * @module zkleader
 */
export { Client, connect } from './lib/client.js';
export { ZkleaderError } from './lib/error.js';
