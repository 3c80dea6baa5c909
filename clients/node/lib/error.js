/**
 * What failed, for this library alone. `answered`: the sidecar said so; `away`: nobody listens;
 * `cut`: the connection ended before the answer; `late`: no answer in time; `nonsense`: one that
 * cannot be understood; `closed`: the client is; `lost`: a lease is over; `misuse`: nothing was sent.
 */
export const KIND = Symbol('kind');
export const CODE = Object.freeze({ NOT_LEADER: 1, CANNOT_TELL: 2, MISUSE: 3, NOBODY: 4 });

/** The error of this library; `code` is the exit code of `zkleader-check` that means the same. */
export class ZkleaderError extends Error {
	constructor(code, message, kind, cause) {
		super(message, cause && { cause });
		this.code = code;
		Object.defineProperty(this, KIND, { value: kind });
	}
}
Object.defineProperty(ZkleaderError.prototype, 'name', { value: 'ZkleaderError', configurable: true, writable: true });

export const cannotTell = (kind, message, cause) => new ZkleaderError(CODE.CANNOT_TELL, message, kind, cause);
export const misuse = (message) => new ZkleaderError(CODE.MISUSE, message, 'misuse');
export const closed = () => cannotTell('closed', 'the client is closed');

/** Whether the same may be asked of the next sidecar. */
export const isAway = (error) => error?.[KIND] === 'away' || error?.[KIND] === 'cut';
