/*
 * Submits a job and waits for its end.
 *
 *     node submit.js QUEUE PAYLOAD
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../index.js'; // 'zkleader' where it is installed

const z = connect();

/** Goes on until it is known that the job is there: of one id there is one job, however often it is submitted. */
async function submit(queue, payload) {
	for (let id; ;) {
		try {
			return await z.submit(queue, payload, { id });
		} catch (error) {
			if (error.code !== 2)
				throw error;
			id = error.job;
			await sleep(100);
		}
	}
}

try {
	const [queue, payload] = process.argv.slice(2);
	const job = await z.wait(await submit(queue, payload), { signal: AbortSignal.timeout(300_000) });
	console.log(`${job.id}: ${job.state}, exit status ${job.exit_status}`);
	process.stdout.write(job.output ?? '');
} catch (error) {
	console.error(error.message);
	process.exitCode = 2;
}
