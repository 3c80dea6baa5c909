import { performance } from 'node:perf_hooks';
import { CODE, KIND, ZkleaderError } from './error.js';
import { backoff } from './link.js';

/*
 * Node has no clock that goes on while the machine is suspended: performance.now() is
 * CLOCK_MONOTONIC. So a lease is taken for half as long as it was promised, and for 5 s at most.
 */
const GOOD_MAX_MS = 5000;
const MARGIN_MS = 100; // at least, between word of a loss and the end of the lease

export const isCount = (n) => Number.isSafeInteger(n) && n >= 0;
export const isToken = (n) => isCount(n) || (typeof n === 'bigint' && n >= 0);

/** How long a lease of the sidecar's is taken for. */
export const goodMs = (leaseMs) => Math.min(leaseMs / 2, GOOD_MAX_MS);

/** What a node is called; null where nobody is known. */
export const nameOf = (worker) => (worker ? worker.node || worker.hostname || worker.id || null : null);

/** An answer to "who leads?". It does not change, but for `leads`, which ends with the lease. */
export class Answer {
	#until;

	constructor(task, result, sent) {
		this.task = task;
		this.state = result.state;
		this.token = result.token;
		this.leader = nameOf(result.led_by);
		this.version = result.led_by?.version ?? null;
		this.why = result.why ?? '';
		this.#until = result.leader ? sent + goodMs(result.lease_ms) : -Infinity;
		Object.freeze(this);
	}

	/** What is wrong with the result of a `check`; undefined: nothing. */
	static fault(result) {
		if (typeof result?.leader !== 'boolean' || typeof result.state !== 'string')
			return 'no word on who leads';
		if (typeof (result.led_by ?? null) !== 'object')
			return 'a leader that is no map';
		return isToken(result.token) && isCount(result.lease_ms) ? undefined : 'a token or a lease that is no number';
	}

	get leads() {
		return performance.now() < this.#until;
	}

	get leftMs() {
		return Math.max(0, this.#until - performance.now());
	}
}

/**
 * Leadership that is asked for again and again, until it is lost or left. `ask` resolves to
 * {leads, sent, goodMs, why}.
 */
export class Lease {
	#ask;
	#controller = new AbortController();
	#until = -Infinity;
	#tellAt = -Infinity; // when it counts as lost
	#timers = {};
	#over = null; // the error once it is lost or left
	#lost = false;

	constructor(task, token, ask) {
		this.task = task;
		this.token = token;
		this.#ask = ask;
	}

	/** Whether the lease of an answer is long enough to be held. */
	static isEnough({ sent, goodMs: good }) {
		return sent + good - performance.now() > Math.max(good / 5, MARGIN_MS);
	}

	/** Goes on from an answer that says that we lead. */
	begin({ sent, goodMs: good }) {
		this.#until = sent + good;
		this.#tellAt = this.#until - Math.max(good / 5, MARGIN_MS);
		this.#set('tell', this.#tellAt, () => this.lose('the lease is over'));
		this.#set('ask', sent + good / 3, () => this.#renew(backoff()));
	}

	#set(name, at, then) {
		clearTimeout(this.#timers[name]);
		this.#timers[name] = setTimeout(then, Math.max(0, at - performance.now()));
	}

	async #renew(pause) {
		let answer;
		try {
			answer = await this.#ask();
		} catch (error) {
			if (error[KIND] === 'answered' || error.code !== CODE.CANNOT_TELL)
				this.lose(error.message);
			else if (!this.#over)
				this.#set('ask', performance.now() + pause(), () => this.#renew(pause));
			return;
		}
		if (!answer.leads)
			this.lose(answer.why);
		else if (!this.#over)
			this.begin(answer);
	}

	#end(message, kind) {
		Object.values(this.#timers).forEach(clearTimeout);
		this.#over = new ZkleaderError(CODE.NOT_LEADER, `${this.task}: ${message}`, kind);
		this.#controller.abort(this.#over);
	}

	lose(why) {
		if (this.#over)
			return;
		this.#lost = true;
		this.#end(`leadership is lost: ${why}`, 'lost');
	}

	leave() {
		if (!this.#over)
			this.#end('leadership was left', 'left');
	}

	/** Tells the function that its caller wants it to end. The lease goes on until it has. */
	cancel(reason) {
		this.#controller.abort(reason);
	}

	/** Word of the end may be late: the process was stopped, or something holds up its loop. */
	#look() {
		if (performance.now() >= this.#tellAt)
			this.lose('the lease is over');
		return this.#over;
	}

	get signal() {
		return this.#controller.signal;
	}

	get leads() {
		return this.#look() === null;
	}

	get isLost() {
		this.#look();
		return this.#lost;
	}

	get leftMs() {
		return Math.max(0, this.#until - performance.now());
	}

	check() {
		if (this.#look())
			throw this.#over;
	}
}
