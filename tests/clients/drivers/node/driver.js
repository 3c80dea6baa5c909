/** Does what the contract asks for, with the client of clients/node: see tests/clients/README.md. */
import { createInterface } from 'node:readline';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { ZkleaderError, connect } from '../../../../clients/node/index.js';

const LOOK_MS = 50; // between looks whether a run still leads
const z = connect(process.argv[2]);
const kept = new Map(); // what later requests are about, by id

/** A token beyond 2^53 is written as the number that it is. */
const numbers = (_, value) => (typeof value === 'bigint' ? `bigint:${value}` : value);
const write = (message) => process.stdout.write(`${JSON.stringify(message, numbers).replace(/"bigint:(\d+)"/g, '$1')}\n`);
const seconds = (s) => (s === null || s === undefined ? undefined : s * 1000);

function lengthOf(text) {
	const [, n, unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? [];
	return n * { ms: 1, s: 1000, m: 60000, h: 3600000, d: 86400000 }[unit];
}

const told = ({ leads, token, state, leader, version }) => ({ leads, token, state, leader, version });

const does = {
	async leads({ id, task }) {
		const answer = await z.leads(task);
		kept.set(id, answer);
		return told(answer);
	},

	still({ of }) {
		return { leads: kept.get(of).leads };
	},

	watch({ id, tasks }) {
		const watch = z.watch(tasks);
		kept.set(id, watch);
		(async () => {
			try {
				for await (const change of watch)
					if (kept.has(id))
						write({ id, event: { task: change.task, ...told(change) } });
			} catch (error) {
				fail(id, error);
			}
		})();
		return {};
	},

	async unwatch({ of }) {
		const watch = kept.get(of);
		kept.delete(of);
		await watch.return();
		return {};
	},

	async leading({ id, task, wait }) {
		let entered = false;
		try {
			await z.leading(task, async (lease) => {
				entered = true;
				const left = new Promise((leave) => { kept.set(id, { lease, leave }); });
				const lost = new Promise((resolve) => {
					lease.signal.addEventListener('abort', () => {
						if (lease.isLost)
							write({ id, event: { lost: true, left_ms: Math.round(lease.leftMs) } });
						resolve();
					}, { once: true });
				});
				write({ id, event: { entered: true, token: lease.token } });
				await Promise.race([left, lost.then(() => left)]);
			}, { waitMs: seconds(wait) });
		} catch (error) {
			if (entered || error.code === 3)
				throw error;
			write({ id, event: { entered: false, code: error.code } });
		}
	},

	check({ of }) {
		const { lease } = kept.get(of);
		lease.check();
		return { leads: lease.leads };
	},

	leave({ of }) {
		const { leave } = kept.get(of);
		leave();
		return {};
	},

	async run({ id, task, tick, outcome, hold_ms: holdMs }) {
		const failure = new Error('as it was asked to');
		let lease;
		try {
			const { ran, reason } = await z.run(task, async (run) => {
				lease = run;
				write({ id, event: { began: true, tick: run.tick, token: run.token, attempt: run.attempt } });
				const until = performance.now() + holdMs;
				while (performance.now() < until) {
					await sleep(Math.min(LOOK_MS, until - performance.now()));
					run.check();
				}
				if (outcome === 'fail')
					throw failure;
			}, { tickMs: tick ? lengthOf(tick) : undefined });
			return { ran, reason };
		} catch (error) {
			if (error === failure)
				return { ran: true, reason: 'failed' };
			if (lease?.isLost)
				return { ran: true, reason: 'lost' };
			throw error;
		}
	},

	async submit({ queue, job, payload, delay, at_us: atUs }) {
		const at = atUs ? new Date(Math.ceil(atUs / 1000)) : undefined; // a Date has no more than that
		return { job: await z.submit(queue, payload, { id: job ?? undefined, delayMs: seconds(delay), at }) };
	},

	async job({ job, wait_ms: waitMs }) {
		const { id, state } = await z.job(job, { waitMs });
		return { job: id, state };
	},

	async wait({ job }) {
		const { id, state } = await z.wait(job);
		return { job: id, state };
	},

	async cancel({ job }) {
		return { job, done: await z.cancel(job) };
	},

	async many({ task, n }) {
		const answers = await Promise.all(Array.from({ length: n }, () => z.leads(task)));
		return { answers: answers.length, leading: answers.filter(({ leads }) => leads).length };
	},

	async bench({ task, n }) {
		const took = [];
		for (let i = -Math.min(n, 1000); i < n; i++) {
			const began = performance.now();
			await z.leads(task);
			if (i >= 0)
				took.push(performance.now() - began);
		}
		return { median_us: took.sort((a, b) => a - b)[n >> 1] * 1000 };
	},
};

function fail(id, error) {
	const code = error instanceof ZkleaderError ? error.code : 70;
	write({ id, error: { code, message: error instanceof ZkleaderError ? error.message : error.stack, job: error.job } });
}

createInterface({ input: process.stdin }).on('line', async (line) => {
	const request = JSON.parse(line);
	try {
		const ok = await does[request.do](request);
		if (ok !== undefined)
			write({ id: request.id, ok });
	} catch (error) {
		fail(request.id, error);
	}
}).on('close', () => {
	z.close();
	process.stdout.write('', () => process.exit(0));
});
