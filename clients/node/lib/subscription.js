import { setTimeout as sleep } from 'node:timers/promises';
import { CODE } from './error.js';
import { isToken, nameOf } from './lease.js';
import { Link, backoff } from './link.js';

/**
 * News of tasks, over restarts of the sidecar. They have a connection of their own: a subscription
 * replaces the one before it on its connection, and who reads slowly holds up himself alone.
 */
export class Subscription {
	#link;
	#closing = new AbortController();

	/** onNews(method, map) for each notification, and without arguments when a connection has ended. */
	constructor(site, params, onNews, onError) {
		this.#link = new Link(site, true);
		this.#link.onNotification = (method, [map]) => onNews(method, map);
		this.#keep(params, onNews).catch((error) => {
			this.close();
			onError(error);
		});
	}

	async #keep(params, onNews) {
		const { signal } = this.#closing;
		let pause = backoff();
		for (;;) {
			try {
				await this.#link.call('subscribe', params);
				pause = backoff();
				await this.#link.ended();
			} catch (error) {
				if (error.code !== CODE.CANNOT_TELL && !signal.aborted)
					throw error;
				this.#link.hangUp('it does not answer');
			}
			if (signal.aborted)
				return;
			onNews();
			await sleep(pause(), undefined, { signal }).catch(() => {});
		}
	}

	close() {
		this.#closing.abort();
		this.#link.close();
	}
}

/** A notification `leadership` as a change, or null where it makes no sense. */
function changeOf(map) {
	if (typeof map?.task !== 'string' || typeof map.state !== 'string')
		return null;
	return Object.freeze({
		task: map.task,
		state: map.state,
		leads: map.self === true,
		token: isToken(map.token) ? map.token : null,
		leader: nameOf(map.leader),
		version: map.leader?.version ?? null,
		previous: nameOf(map.previous),
		reason: map.reason ?? null,
		since: map.since ?? null,
		time: map.time ?? null,
	});
}

const isSame = (a, b) => a !== undefined &&
	['state', 'leads', 'token', 'leader', 'version'].every((key) => a[key] === b[key]);

/** The changes of tasks as an async iterator. Who reads slowly gets the last state of each task. */
export class Watch {
	#open; // opens the subscription, when the first change is asked for
	#subscription = null;
	#told = new Map(); // the last change of each task that was given out
	#fresh = new Map(); // those that were not yet
	#wakes = []; // of calls of next() that wait
	#ended = false;
	#error; // to be told once

	constructor(open) {
		this.#open = open;
	}

	#take(method, map) {
		const change = method === 'leadership' ? changeOf(map) : null;
		if (change === null)
			return;
		this.#fresh.delete(change.task);
		if (isSame(this.#told.get(change.task), change))
			return;
		this.#fresh.set(change.task, change);
		this.#wakes.shift()?.();
	}

	async next() {
		if (!this.#ended)
			this.#subscription ??= this.#open((method, map) => this.#take(method, map), (error) => this.close(error));
		while (this.#fresh.size === 0 && !this.#ended)
			await new Promise((resolve) => { this.#wakes.push(resolve); });
		if (this.#error !== undefined) {
			const error = this.#error;
			this.#error = undefined;
			throw error;
		}
		for (const [task, change] of this.#fresh) {
			this.#fresh.delete(task);
			this.#told.set(task, change);
			return { value: change, done: false };
		}
		return { value: undefined, done: true };
	}

	async return(value) {
		this.close();
		return { value, done: true };
	}

	/** Ends the iteration, with an error if there is one. */
	close(error) {
		if (this.#ended)
			return;
		this.#ended = true;
		this.#error = error;
		this.#subscription?.close();
		this.#fresh.clear();
		for (const wake of this.#wakes)
			wake();
	}

	[Symbol.asyncIterator]() {
		return this;
	}
}
