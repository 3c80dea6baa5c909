/*
 * Does an imaginary job in steps while this node leads a task.
 *
 *     node lead.js TASK [STEPS]
 *
 * Exit code: 0 all steps done, 1 another node leads, 2 cannot tell or leadership was lost, 3 misuse,
 * 4 nobody may lead it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { ZkleaderError, connect } from '../index.js'; // 'zkleader' where it is installed

const [task, steps = 3] = process.argv.slice(2);
let entered = false;

try {
	await connect().leading(task, async (lease) => {
		entered = true;
		for (let i = 1; i <= steps; i++) {
			lease.check(); // throws where leadership is lost, also while this program was stopped
			// Whatever a step writes goes along with the token: a store that compares it refuses a
			// smaller one than it has seen.
			console.log(`step ${i} of ${steps} with token ${lease.token}, ${(lease.leftMs / 1000).toFixed(1)} s left`);
			await sleep(100, undefined, { signal: lease.signal });
		}
	}, { waitMs: 1000 });
} catch (error) {
	console.error(error.message);
	process.exitCode = entered || !(error instanceof ZkleaderError) ? 2 : error.code;
}
