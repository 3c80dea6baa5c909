/**
 * Client of the zkleader sidecar of this host: whether this node leads a task, scopes and runs under
 * its leadership, what changes in the fleet, and jobs of queues.
 *
 * Times are in milliseconds. Whatever fails rejects with a {@link ZkleaderError}; what a `signal`
 * aborts rejects with its reason. An idle client does not keep the process alive.
 */

/** What went wrong: the exit code of `zkleader-check` that means the same. */
export class ZkleaderError extends Error {
	private constructor();
	/** 1: not the leader, or no longer. 2: cannot tell: no sidecar, no answer, no session. 3: misuse. 4: nobody may. */
	readonly code: 1 | 2 | 3 | 4;
	/** Of {@link Client.submit}: the id that was chosen. To submit it again is safe for 10 minutes. */
	readonly job?: string;
}

/** More may be added: treat one that you do not know like `contending`. */
export type State = 'leading' | 'following' | 'contending' | 'paused' | 'drained' | 'disconnected' | (string & {});

/** Who leads a task, as the sidecar said it. */
export interface Answer {
	readonly task: string;
	/**
	 * Whether this node leads the task *now*: false as soon as the lease of the answer is over, however
	 * long it is kept. Node has no clock that counts the time that a machine is suspended, so a lease is
	 * taken for half as long as it was promised, and for 5 s at most.
	 */
	readonly leads: boolean;
	/** How long `leads` stays true. */
	readonly leftMs: number;
	readonly state: State;
	/** The fencing token, which grows with each leader; 0 while none is known. A bigint only beyond 2^53. */
	readonly token: number | bigint;
	/** What the leader's node is called, and its version; null while nobody is known to lead. */
	readonly leader: string | null;
	readonly version: string | null;
	/** A sentence for people. */
	readonly why: string;
}

/** Another leads a task, or nobody does. News, no permission: see {@link Client.leads}. */
export interface Change {
	readonly task: string;
	readonly state: State;
	readonly leads: boolean;
	readonly token: number | bigint | null;
	readonly leader: string | null;
	readonly version: string | null;
	/** Who led before. */
	readonly previous: string | null;
	/** Why that one leads no longer, or why nobody leads. */
	readonly reason: string | null;
	/** When the leader claimed the task, and when the sidecar heard of it: RFC 3339. */
	readonly since: string | null;
	readonly time: string | null;
}

/** Leadership that is renewed while a function goes on. */
export interface Lease {
	readonly task: string;
	readonly token: number | bigint;
	/** Aborted when the leadership is lost, at least 100 ms before the lease is over; and when it is left. */
	readonly signal: AbortSignal;
	readonly leads: boolean;
	readonly leftMs: number;
	/** Throws if the leadership is lost. To be called before each step that must not happen twice. */
	check(): void;
}

/** A tick that is claimed for this call. */
export interface Run extends Lease {
	/** Such as `2026-11-20T02:00:00Z`; null where `tickMs` is 0. */
	readonly tick: string | null;
	readonly attempt: number;
	/** Which of how many, of a task with partitions. */
	readonly partition: number | null;
	readonly partitions: number | null;
}

export type Outcome<T> =
	| { ran: true; reason: 'ok'; tick: string | null; token: number | bigint; attempt: number; value: T }
	/** `taken`: the tick is claimed already; `waited`: another leads; `nobody`: nobody may run it. */
	| { ran: false; reason: 'taken' | 'waited' | 'nobody' | (string & {}); tick: string | null; why: string };

/** A job, as docs/PROTOCOL.md describes it. */
export interface Job {
	readonly id: string;
	readonly queue: string;
	readonly state: 'queued' | 'assigned' | 'running' | 'ok' | 'dead' | 'lost' | 'cancelled' | (string & {});
	readonly attempt: number;
	readonly exit_status: number | null;
	readonly output: string | null;
	readonly [key: string]: unknown;
}

export interface Signal {
	signal?: AbortSignal;
}

export interface Waiting extends Signal {
	waitMs?: number;
}

export interface Submission extends Signal {
	/** From an earlier attempt, or {@link Client.newJobId}; else one is chosen. */
	id?: string;
	at?: Date;
	delayMs?: number;
	/** The job of that key that is kept, or with `whileOpen` has not ended, takes the place of this one. */
	key?: string;
	whileOpen?: boolean;
	callback?: string;
}

export interface Options {
	/** The sidecar's socket: else that in ZKLEADER_SOCKET, or /run/zkleader/zkleader.sock. */
	path?: string;
	/** For an answer, beside the time that a question may wait; 5000 unless given. */
	timeoutMs?: number;
}

export class Client {
	constructor(options?: Options);
	/** Whether this node leads the task. While nobody does, the answer waits up to `waitMs` (1000) for that. */
	leads(task: string, options?: Waiting): Promise<Answer>;
	/** The changes of these tasks (none: of all), first their present state, over restarts of the sidecar. */
	watch(tasks?: string | Iterable<string>, options?: Signal): AsyncIterableIterator<Change>;
	/** Calls `fn` once this node leads the task; rejects where it does not within `waitMs` (for ever). */
	leading<T>(task: string, fn: (lease: Lease) => T | PromiseLike<T>, options?: Waiting): Promise<T>;
	/**
	 * Claims the present tick of the task, which is done once in the fleet, and calls `fn` if it is ours:
	 * its outcome is recorded. `tickMs` (whole seconds; 0: no tick) and `waitMs` are the task's unless given.
	 */
	run<T>(task: string, fn: (run: Run) => T | PromiseLike<T>, options?: Waiting & { tickMs?: number }): Promise<Outcome<T>>;
	/** Submits a job: its id, once it is committed. */
	submit(queue: string, payload?: string | Uint8Array, options?: Submission): Promise<string>;
	/** An id for a job to submit. */
	newJobId(queue: string, options?: Signal): Promise<string>;
	/** What becomes of a job: now, or once it has ended or `waitMs` is over. */
	job(id: string, options?: Waiting): Promise<Job>;
	/** The job, once it has ended, over restarts of the sidecar. */
	wait(id: string, options?: Signal): Promise<Job>;
	/** Ends a job, or has it never begin; false: it had ended already. */
	cancel(id: string, options?: Signal): Promise<boolean>;
	/** Any method of docs/PROTOCOL.md; `waitMs` is what the sidecar may take beside the timeout. */
	call(method: string, params?: unknown[], options?: Waiting): Promise<unknown>;
	/** Ends all that goes on: questions fail, watches end, leases are lost. */
	close(): void;
}

/** A client; it connects when it is first asked something, and anew when that is needed. */
export function connect(options?: string | Options): Client;
