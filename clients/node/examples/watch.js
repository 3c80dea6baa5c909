/*
 * Prints who leads tasks: now, and whenever that changes.
 *
 *     node watch.js [TASK...]
 */
import { connect } from '../index.js'; // 'zkleader' where it is installed

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());

try {
	for await (const { task, leader, version, token } of connect().watch(process.argv.slice(2), { signal: stop.signal }))
		console.log(leader === null ? `${task}: nobody leads` : `${task}: ${leader} (${version}), token ${token}`);
} catch (error) {
	if (!stop.signal.aborted) {
		console.error(error.message);
		process.exitCode = 3;
	}
}
