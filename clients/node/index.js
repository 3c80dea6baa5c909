/**
 * Client of the zkleader sidecar of this host. What is exported is described in index.d.ts.
 *
 * @module zkleader
 */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { CODE, KIND, ZkleaderError, closed, isAway, misuse } from './lib/error.js';
import { Answer, Lease, goodMs } from './lib/lease.js';
import { Link, backoff } from './lib/link.js';
import { runTick } from './lib/run.js';
import { Subscription, Watch } from './lib/subscription.js';

const SOCKET = '/run/zkleader/zkleader.sock';
const TIMEOUT_MS = 5000;
const SETTLE_MS = 1000; // how long an answer may wait for an election, as zkleader-check has it
const LOOK_MS = 5000; // between questions while another leads, beside the news of that
const DAY_MS = 86400_000; // the longest that a request may wait
const JOB_WAIT_MS = 3600_000; // of one request; then it is sent anew
const DELAY_MAX_MS = 90 * DAY_MS;
const PAYLOAD_MAX = 16384;
const ENDED = ['ok', 'dead', 'lost', 'cancelled'];

/** The code that says why this node does not lead, as zkleader-check has it. */
function codeOf({ state, leader }) {
	if (state === 'paused')
		return CODE.NOBODY;
	if (state !== 'disconnected' && leader !== null)
		return CODE.NOT_LEADER;
	return state === 'drained' ? CODE.NOBODY : CODE.CANNOT_TELL;
}

function needText(text, what) {
	if (typeof text !== 'string' || text === '')
		throw misuse(`${what} is a text`);
}

/** Whole milliseconds; undefined stays so. */
function needMs(ms, what, max = DAY_MS) {
	if (ms !== undefined && !(ms >= 0 && ms <= max))
		throw misuse(`${what} is a number of milliseconds from 0 to ${max}`);
	return ms === undefined ? ms : Math.ceil(ms);
}

export class Client {
	#site; // {path, timeoutMs}
	#link;
	#ends = new Set(); // what close() has to call
	#closed = false;

	constructor({ path = process.env.ZKLEADER_SOCKET || SOCKET, timeoutMs = TIMEOUT_MS } = {}) {
		needText(path, 'the path of the socket');
		this.#site = { path, timeoutMs: needMs(timeoutMs, 'timeoutMs') };
		this.#link = new Link(this.#site);
	}

	close() {
		this.#closed = true;
		this.#ends.forEach((end) => end());
		this.#link.close();
	}

	/** Has close() call this; the function that is returned takes that back. */
	#onClose(end) {
		if (this.#closed)
			throw closed();
		this.#ends.add(end);
		return () => this.#ends.delete(end);
	}

	async call(method, params = [], { waitMs = 0, signal } = {}) {
		return (await this.#link.call(method, params, { waitMs: needMs(waitMs, 'waitMs'), signal })).result;
	}

	// --- leadership

	/** Asks: {answer, sent, goodMs}. */
	async #check(task, waitMs, signal) {
		const params = waitMs > 0 ? [task, waitMs] : [task];
		const { result, sent } = await this.#link.call('check', params, { waitMs, repeatable: true, signal });
		const fault = Answer.fault(result);
		if (fault)
			throw this.#link.nonsense(fault);
		return { answer: new Answer(task, result, sent), sent, goodMs: goodMs(result.lease_ms) };
	}

	async leads(task, { waitMs = SETTLE_MS, signal } = {}) {
		needText(task, 'a task');
		return (await this.#check(task, needMs(waitMs, 'waitMs'), signal)).answer;
	}

	watch(tasks = [], { signal } = {}) {
		const names = typeof tasks === 'string' ? [tasks] : [...tasks];
		names.forEach((name) => needText(name, 'a task'));
		const watch = new Watch((onNews, onError) => {
			const onAbort = () => watch.close(signal.reason);
			const forget = this.#onClose(() => watch.close());
			const subscription = new Subscription(this.#site, names, onNews, onError);
			signal?.addEventListener('abort', onAbort);
			return {
				close() {
					signal?.removeEventListener('abort', onAbort);
					forget();
					subscription.close();
				},
			};
		});
		if (signal?.aborted)
			watch.close(signal.reason);
		return watch;
	}

	/** Waits until this node leads: as #check(). */
	async #enter(task, waitMs, signal) {
		const until = performance.now() + waitMs;
		const left = (most) => Math.max(0, Math.min(most, Math.ceil(until - performance.now())));
		let wait = backoff();
		let wake = new AbortController(); // aborted by any news since the last question
		const news = () => wake.abort();
		const forget = this.#onClose(news);
		let subscription;
		signal?.addEventListener('abort', news);
		try {
			for (;;) {
				let pause = LOOK_MS;
				let failure;
				wake = new AbortController();
				try {
					const last = await this.#check(task, left(SETTLE_MS), signal);
					if (last.answer.leads && Lease.isEnough(last))
						return last;
					failure = new ZkleaderError(codeOf(last.answer), last.answer.why, 'answered');
					wait = backoff();
					subscription ??= new Subscription(this.#site, [task, { mine: true }], news, news);
				} catch (error) {
					if (error?.code !== CODE.CANNOT_TELL || error[KIND] === 'closed')
						throw error;
					failure = error;
					pause = wait();
				}
				if (left(1) === 0)
					throw failure;
				await sleep(left(pause), undefined, { signal: wake.signal }).catch(() => {});
			}
		} finally {
			forget();
			signal?.removeEventListener('abort', news);
			subscription?.close();
		}
	}

	async leading(task, fn, { waitMs = Infinity, signal } = {}) {
		needText(task, 'a task');
		const first = await this.#enter(task, needMs(waitMs, 'waitMs', Infinity), signal);
		const { token } = first.answer;
		const lease = new Lease(task, token, async () => {
			const { answer, sent, goodMs: good } = await this.#check(task, 0);
			return { leads: answer.leads && answer.token === token, sent, goodMs: good, why: answer.why };
		});
		const onAbort = () => lease.cancel(signal.reason);
		const forget = this.#onClose(() => lease.lose('the client is closed'));
		signal?.addEventListener('abort', onAbort);
		lease.begin(first);
		try {
			return await fn(lease);
		} finally {
			lease.leave();
			forget();
			signal?.removeEventListener('abort', onAbort);
		}
	}

	async run(task, fn, { tickMs, waitMs, signal } = {}) {
		needText(task, 'a task');
		if (tickMs % 1000)
			throw misuse('a tick is whole seconds');
		const options = { tickMs: needMs(tickMs, 'tickMs'), waitMs: needMs(waitMs, 'waitMs'), signal };
		const link = new Link(this.#site); // of its own: closing it takes back a claim that waits
		let lease;
		const end = () => {
			lease?.lose('the client is closed');
			link.close();
		};
		const forget = this.#onClose(end);
		try {
			return await runTick(link, task, fn, options, (begun) => { lease = begun; });
		} finally {
			forget();
			link.close();
		}
	}

	// --- jobs

	async newJobId(queue, { signal } = {}) {
		needText(queue, 'a queue');
		try {
			const { result } = await this.#link.call('job_id', [queue], { repeatable: true, signal });
			if (typeof result?.id === 'string')
				return result.id;
		} catch (error) {
			if (error?.code !== CODE.MISUSE)
				throw error;
		} // of a release that has no such method
		return `${queue}.${Math.floor(Date.now() / 60000).toString(36)}.${randomUUID()}`;
	}

	async submit(queue, payload = '', { id, at, delayMs, key, whileOpen = false, callback, signal } = {}) {
		const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload;
		if (!(bytes instanceof Uint8Array) || bytes.length > PAYLOAD_MAX)
			throw misuse(`a payload is a text or bytes, at most ${PAYLOAD_MAX}: submit where it lies if it is more`);
		const options = { id: id ?? await this.newJobId(queue, { signal }), payload: bytes, at: at?.toISOString(),
			in_ms: needMs(delayMs, 'delayMs', DELAY_MAX_MS), key, while: whileOpen ? 'open' : undefined, callback };
		try {
			const { result } = await this.#link.call('submit', [queue, options], { repeatable: true, signal });
			return typeof result?.id === 'string' ? result.id : options.id;
		} catch (error) {
			if (error instanceof ZkleaderError)
				error.job = options.id; // the same again is safe
			throw error;
		}
	}

	async job(id, { waitMs = 0, signal } = {}) {
		needText(id, 'the id of a job');
		const wait = needMs(waitMs, 'waitMs');
		const params = wait > 0 ? [id, { wait_ms: wait }] : [id];
		const { result } = await this.#link.call('job', params, { waitMs: wait, repeatable: true, signal });
		if (typeof result?.state !== 'string')
			throw this.#link.nonsense('a job without a state');
		return result;
	}

	async wait(id, { signal } = {}) {
		let pause = backoff();
		for (;;) {
			try {
				const job = await this.job(id, { waitMs: JOB_WAIT_MS, signal });
				if (ENDED.includes(job.state))
					return job;
				pause = backoff();
			} catch (error) {
				if (!isAway(error))
					throw error;
			}
			await sleep(pause(), undefined, { signal });
		}
	}

	async cancel(id, { signal } = {}) {
		needText(id, 'the id of a job');
		return (await this.#link.call('cancel', [id], { signal })).result?.done === true;
	}
}

export { ZkleaderError };

/** A client for a sidecar: that on the socket of this path, or of these options. */
export function connect(options) {
	return new Client(typeof options === 'string' ? { path: options } : options);
}
