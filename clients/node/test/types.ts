// What index.d.ts promises, as a program that is compiled and not run.
import { Answer, Client, Job, Lease, ZkleaderError, connect } from '../index.js';

const z: Client = connect({ path: '/run/zkleader/zkleader.sock', timeoutMs: 1000 });

export async function use(signal: AbortSignal): Promise<string> {
	const answer: Answer = await z.leads('nightly-report', { waitMs: 0, signal });
	if (answer.leads && answer.state === 'leading')
		return `${answer.token} ${answer.leader ?? 'nobody'}`;
	for await (const change of z.watch(['a', 'b'], { signal }))
		if (change.leads)
			break;
	const n: number = await z.leading('a', (lease: Lease) => {
		lease.check();
		return lease.leftMs;
	});
	const outcome = await z.run('a', async (run) => run.attempt + n, { tickMs: 60000 });
	const done: number = outcome.ran ? outcome.value : -1;
	const id = await z.submit('q', new Uint8Array(3), { delayMs: 5, key: 'k', whileOpen: true });
	const job: Job = await z.wait(id);
	try {
		await z.cancel(job.id);
	} catch (error) {
		if (error instanceof ZkleaderError && error.code === 2)
			return error.job ?? error.message;
	}
	z.close();
	// @ts-expect-error: the value of a run that did not run
	const none = outcome.value;
	return `${done} ${none}`;
}
