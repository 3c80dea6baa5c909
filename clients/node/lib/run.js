import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { KIND, cannotTell, isAway } from './error.js';
import { Lease, goodMs, isCount, isToken } from './lease.js';
import { backoff } from './link.js';

const PING_MS = 5000; // between looks whether the sidecar is there while a claim waits
const PATIENCE_MS = 10000; // for a sidecar that went while a claim, or the end of a run, was outstanding

/** Has a claim answered, by a sidecar that was started anew as well, which knows it by its id. */
async function claim(link, task, options, signal) {
	const pause = backoff();
	let patientUntil = 0;
	const ping = setInterval(() => link.isConnected && link.call('check', [task]).catch((error) => {
		if (error[KIND] === 'late')
			link.hangUp('the sidecar does not answer');
	}), PING_MS);
	try {
		for (;;) {
			try {
				return (await link.call('claim', [task, options], { waitMs: Infinity, signal })).result;
			} catch (error) {
				if (error?.[KIND] === 'cut')
					patientUntil = performance.now() + PATIENCE_MS;
				if (!isAway(error) || performance.now() >= patientUntil)
					throw error;
			}
			options.again = true;
			await sleep(pause(), undefined, { signal });
		}
	} finally {
		clearInterval(ping);
	}
}

/** A run whose tick is claimed. It belongs to a connection, and is attached to the next one. */
class Run {
	#link;
	#name;
	#id;
	#number;
	#serial; // of the connection that it belongs to

	constructor(link, name, id, number) {
		this.#link = link;
		this.#name = name;
		this.#id = id;
		this.#number = number;
		this.#serial = link.serial;
	}

	/** Makes the run this connection's: null. Where that is no use: {recorded}, whether its end is. */
	async #attach() {
		if (this.#link.isConnected && this.#link.serial === this.#serial)
			return null;
		const { result } = await this.#link.call('attach', [this.#name, this.#id], { waitMs: Infinity });
		if (result?.attached !== true || !isCount(result.run))
			return { recorded: result?.recorded === true };
		this.#number = result.run;
		this.#serial = this.#link.serial;
		return null;
	}

	async renew() {
		if (await this.#attach())
			return { leads: false, sent: 0, goodMs: 0, why: 'the sidecar that was started anew knows nothing of it' };
		const { result, sent } = await this.#link.call('renew', [this.#number]);
		if (typeof result?.leads !== 'boolean' || !isCount(result.lease_ms))
			throw this.#link.nonsense('no word on the lease of a run');
		return { leads: result.leads, sent, goodMs: goodMs(result.lease_ms), why: 'the sidecar says so' };
	}

	/** Has its end recorded, by the next sidecar if need be. */
	async finish(end) {
		const until = performance.now() + PATIENCE_MS;
		const pause = backoff();
		for (;;) {
			try {
				const over = await this.#attach();
				if (over === null)
					await this.#link.call('finish', [this.#number, end]);
				else if (!over.recorded)
					throw cannotTell('answered', 'the sidecar knows nothing of it');
				return;
			} catch (error) {
				if (!isAway(error) || performance.now() >= until)
					throw cannotTell(error[KIND], `the end of the run could not be recorded: ${error.message}`, error);
			}
			await sleep(pause());
		}
	}
}

/** Calls fn(lease) once the tick is claimed, and has the outcome recorded. begun(lease) comes before. */
export async function runTick(link, task, fn, { tickMs, waitMs, signal }, begun) {
	const id = randomUUID();
	const now = new Date();
	const claimed = await claim(link, task, { kind: 'run', id, again: false, now_ms: now.getTime(),
		zone_ms: -now.getTimezoneOffset() * 60000, tick_ms: tickMs, wait_ms: waitMs }, signal);
	const { outcome, tick = null, token, attempt, partition = null, partitions = null, why = '' } = claimed ?? {};
	if (typeof outcome !== 'string' || (outcome === 'yours' && !(isToken(token) && isCount(claimed.run))))
		throw link.nonsense('no word on the outcome of a claim');
	if (outcome !== 'yours')
		return { ran: false, reason: outcome, tick, why };
	const run = new Run(link, partition === null ? task : `${task}:${partition}`, id, claimed.run);
	const lease = Object.assign(new Lease(task, token, () => run.renew()), { tick, attempt, partition, partitions });
	const onAbort = () => lease.cancel(signal.reason);
	signal?.addEventListener('abort', onAbort);
	let failure; // {error}
	let value;
	try {
		const first = await run.renew(); // the claim's answer may have been long on its way
		if (first.leads && Lease.isEnough(first))
			lease.begin(first);
		begun(lease);
		lease.check();
		signal?.throwIfAborted();
		value = await fn(lease);
		lease.check();
	} catch (error) {
		failure = { error };
	}
	signal?.removeEventListener('abort', onAbort);
	const interrupted = lease.isLost || (failure !== undefined && signal?.aborted === true);
	lease.leave();
	const recorded = run.finish({ exit_status: failure ? 1 : 0, interrupted });
	if (failure) {
		await recorded.catch(() => {}); // what failed first is what the caller hears of
		throw failure.error;
	}
	await recorded;
	return { ran: true, reason: 'ok', tick, token, attempt, value };
}
