import net from 'node:net';
import { performance } from 'node:perf_hooks';
import { Decoder, Malformed, encode } from './codec.js';
import { KIND, ZkleaderError, cannotTell, closed, misuse } from './error.js';

const REQUEST_MAX = 64 << 10; // bytes of a request that the sidecar takes
const IN_FLIGHT_MAX = 900; // requests; the sidecar ends a connection with more than 1,000 that wait
const ID_MAX = 2 ** 32 - 1;
const FIRST_PAUSE_MS = 50;
const LAST_PAUSE_MS = 1000;

/** A function that gives the next pause before a sidecar is tried again: from 50 ms to 1 s, with a little chance. */
export function backoff() {
	let next = FIRST_PAUSE_MS / 2;
	return () => {
		next = Math.min(2 * next, LAST_PAUSE_MS);
		return next * (0.9 + 0.2 * Math.random());
	};
}

/** The error map of an answer as an error. */
function refusal(error) {
	if (typeof error !== 'object' || !Number.isInteger(error.code) || typeof error.message !== 'string')
		throw new Malformed('an error without code and message');
	return new ZkleaderError(error.code, error.message, 'answered');
}

/**
 * A connection to a sidecar: made when it is first needed, and anew when it is needed again after it
 * has ended. It keeps the process alive while an answer is outstanding, or always if it is `busy`.
 */
export class Link {
	#path;
	#timeoutMs;
	#busy;
	#socket = null;
	#connecting = null;
	#pending = new Map(); // by msgid
	#turns = []; // of calls that wait until fewer are in flight
	#lastId = 0;
	#closed = false;
	#onEnd = null;

	/** How many connections there have been. */
	serial = 0;
	/** Called with (method, params) of each notification. */
	onNotification = null;

	constructor({ path, timeoutMs }, busy = false) {
		this.#path = path;
		this.#timeoutMs = timeoutMs;
		this.#busy = busy;
	}

	get isConnected() {
		return this.#socket !== null;
	}

	/** Resolves when the present connection has ended. */
	async ended() {
		if (this.#socket !== null)
			await new Promise((resolve) => { this.#onEnd = resolve; });
	}

	/**
	 * Asks, and resolves to {result, sent}, `sent` by performance.now() from before the request went.
	 * `waitMs` is what the sidecar may take beside the timeout, Infinity: for ever. A request that is
	 * `repeatable` is sent once more, where its connection ends before the answer.
	 */
	async call(method, params, { waitMs = 0, repeatable = false, signal } = {}) {
		try {
			return await this.#ask(method, params, waitMs, signal);
		} catch (error) {
			if (!repeatable || error?.[KIND] !== 'cut')
				throw error;
			return this.#ask(method, params, waitMs, signal);
		}
	}

	async #ask(method, params, waitMs, signal) {
		signal?.throwIfAborted();
		while (this.#socket === null || this.#pending.size >= IN_FLIGHT_MAX) {
			if (this.#closed)
				throw closed();
			if (this.#socket === null)
				await (this.#connecting ??= this.#connect().finally(() => { this.#connecting = null; }));
			else
				await new Promise((resolve) => { this.#turns.push(resolve); });
			if (signal?.aborted) {
				this.#turns.shift()?.();
				throw signal.reason;
			}
		}
		return new Promise((resolve, reject) => this.#send(method, params, waitMs, signal, { resolve, reject }));
	}

	#send(method, params, waitMs, signal, call) {
		do
			this.#lastId = this.#lastId === ID_MAX ? 1 : this.#lastId + 1;
		while (this.#pending.has(this.#lastId));
		const id = this.#lastId;
		let frame;
		try {
			frame = encode([0, id, method, params]);
		} catch (error) {
			throw misuse(`${method}: ${error.message}`);
		}
		if (frame.length > REQUEST_MAX)
			throw misuse(`${method}: a request of more than 64 KiB`);
		if (waitMs !== Infinity)
			call.timer = setTimeout(() => this.#settle(id)?.reject(cannotTell('late',
				`the sidecar on ${this.#path} did not answer in time`)), waitMs + this.#timeoutMs);
		if (signal) {
			const onAbort = () => this.#settle(id)?.reject(signal.reason);
			signal.addEventListener('abort', onAbort);
			call.forget = () => signal.removeEventListener('abort', onAbort);
		}
		this.#pending.set(id, call);
		if (this.#pending.size === 1)
			this.#socket.ref();
		call.sent = performance.now();
		this.#socket.write(frame);
	}

	/** The request is over: what waits for that, once. */
	#settle(id) {
		const call = this.#pending.get(id);
		if (call === undefined)
			return undefined;
		this.#pending.delete(id);
		clearTimeout(call.timer);
		call.forget?.();
		this.#turns.shift()?.();
		this.#relax();
		return call;
	}

	/** Lets the process end if nobody needs the connection. */
	#relax() {
		if (this.#pending.size === 0 && !this.#busy)
			this.#socket?.unref();
	}

	#connect() {
		return new Promise((resolve, reject) => {
			const socket = net.createConnection(this.#path);
			const decoder = new Decoder();
			let failure;
			socket.once('connect', () => {
				if (this.#closed)
					return void socket.destroy();
				this.#socket = socket;
				this.serial++;
				this.#relax();
				return resolve();
			});
			socket.on('error', (error) => { failure = error; });
			socket.on('data', (chunk) => {
				try {
					decoder.feed(chunk, (message) => this.#socket === socket && this.#take(message));
				} catch (error) {
					if (!(error instanceof Malformed))
						throw error;
					this.nonsense(error.message);
				}
			});
			socket.once('close', () => {
				if (this.#socket === socket)
					this.#drop(cannotTell('cut', `the sidecar on ${this.#path} has closed the connection`, failure));
				else // of no effect on one that was connected
					reject(this.#closed ? closed() : cannotTell('away',
						`no sidecar answers on ${this.#path}: ${failure?.code ?? 'closed'}`, failure));
			});
		});
	}

	/** Ends the connection for what was wrong in an answer: the error that says so. */
	nonsense(why) {
		const error = cannotTell('nonsense', `the answer of the sidecar makes no sense: ${why}`);
		this.#drop(error);
		return error;
	}

	/** Ends the connection; what was asked may be asked again. */
	hangUp(why) {
		this.#drop(cannotTell('cut', why));
	}

	close() {
		this.#closed = true;
		this.#drop(closed());
	}

	#drop(error) {
		const socket = this.#socket;
		if (socket === null)
			return;
		this.#socket = null;
		socket.destroy();
		for (const id of [...this.#pending.keys()])
			this.#settle(id).reject(error);
		for (const resolve of this.#turns.splice(0))
			resolve();
		this.#onEnd?.();
	}

	#take(message) {
		const [kind, id, error, result] = Array.isArray(message) ? message : [];
		if (kind === 2 && message.length === 3 && typeof id === 'string' && Array.isArray(error)) {
			this.onNotification?.(id, error);
		} else if (kind === 1 && message.length === 4 && Number.isInteger(id)) {
			const refused = error === null ? null : refusal(error);
			if (id === 0 && refused)
				this.nonsense(refused.message); // it did not understand us, and hangs up
			const call = this.#settle(id); // none, where it has timed out
			if (refused)
				call?.reject(refused);
			else
				call?.resolve({ result, sent: call.sent });
		} else
			throw new Malformed('a message of no known form');
	}
}
