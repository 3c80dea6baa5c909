/*
 * MessagePack, as much of it as the sidecar's protocol has. Maps become plain objects, bin becomes
 * a Buffer, integers beyond 2^53 become BigInt, an extension becomes undefined.
 */
const DEPTH_MAX = 16; // levels of arrays and maps, as the sidecar's own
const FRAME_MAX = 64 << 20;
const TEXT_MAX = 1 << 20; // bytes of one str, bin or extension

/** Bytes that are no MessagePack, are nested too deeply, or are too many. */
export class Malformed extends Error {}

// --- encoding

let out = Buffer.allocUnsafe(4096);
let used = 0;

/** Appends n bytes, and gives the place where they go. */
function room(n) {
	if (used + n > out.length) {
		const larger = Buffer.allocUnsafe(2 * (used + n));
		out.copy(larger, 0, 0, used);
		out = larger;
	}
	used += n;
	return used - n;
}

/** A head, and behind it a number of `size` bytes. */
function putHead(head, size = 0, n = 0) {
	const at = room(1 + size);
	out[at] = head;
	if (size > 0)
		out.writeUIntBE(n, at + 1, size);
}

/** A head for n things: `fix` with n in it below `fixed`, else one of three with n behind it. */
function putLength(n, fixed, fix, head8, head16, head32) {
	if (n < fixed)
		putHead(fix | n);
	else if (head8 && n < 0x100)
		putHead(head8, 1, n);
	else if (n < 0x10000)
		putHead(head16, 2, n);
	else
		putHead(head32, 4, n);
}

function putNumber(n) {
	if (typeof n === 'number' && n >= 0 && n < 0x100000000 && Number.isInteger(n))
		putLength(n, 0x80, 0, 0xcc, 0xcd, 0xce);
	else if (typeof n === 'number' && !Number.isSafeInteger(n))
		out.writeDoubleBE(n, (putHead(0xcb), room(8)));
	else if (n < -(2n ** 63n) || n >= 2n ** 64n)
		throw new RangeError('an integer of more than 64 bits');
	else {
		putHead(n < 0 ? 0xd3 : 0xcf);
		const at = room(8); // may make another buffer of `out`
		out.writeBigUInt64BE(BigInt.asUintN(64, BigInt(n)), at);
	}
}

function put(value) {
	if (value === null || value === undefined)
		putHead(0xc0);
	else if (typeof value === 'string') {
		const n = Buffer.byteLength(value);
		putLength(n, 32, 0xa0, 0xd9, 0xda, 0xdb);
		const at = room(n);
		out.write(value, at, n);
	} else if (typeof value === 'number' || typeof value === 'bigint')
		putNumber(value);
	else if (typeof value === 'boolean')
		putHead(value ? 0xc3 : 0xc2);
	else if (value instanceof Uint8Array) {
		putLength(value.length, 0, 0, 0xc4, 0xc5, 0xc6);
		const at = room(value.length);
		out.set(value, at);
	} else if (Array.isArray(value)) {
		putLength(value.length, 16, 0x90, 0, 0xdc, 0xdd);
		value.forEach(put);
	} else if (typeof value === 'object') {
		const keys = Object.keys(value).filter((key) => value[key] !== undefined);
		putLength(keys.length, 16, 0x80, 0, 0xde, 0xdf);
		for (const key of keys) {
			put(key);
			put(value[key]);
		}
	} else
		throw new TypeError(`a ${typeof value} has no form in MessagePack`);
}

/** The bytes of a value. Members that are undefined are left out of their object. */
export function encode(value) {
	used = 0;
	put(value);
	return Buffer.from(out.subarray(0, used));
}

// --- decoding

function integer64(n) {
	return n >= Number.MIN_SAFE_INTEGER && n <= Number.MAX_SAFE_INTEGER ? Number(n) : n;
}

const toText = (bytes) => bytes.toString();
const toBinary = (bytes) => Buffer.from(bytes); // a copy: what has come is in one large buffer
const toNothing = () => undefined;

/** By the head: how many bytes follow, and what they stand for. */
const FIXED = {
	0xc0: [0, () => null], 0xc2: [0, () => false], 0xc3: [0, () => true],
	0xca: [4, (b) => b.readFloatBE()], 0xcb: [8, (b) => b.readDoubleBE()],
	0xcc: [1, (b) => b[0]], 0xcd: [2, (b) => b.readUInt16BE()], 0xce: [4, (b) => b.readUInt32BE()],
	0xcf: [8, (b) => integer64(b.readBigUInt64BE())],
	0xd0: [1, (b) => b.readInt8()], 0xd1: [2, (b) => b.readInt16BE()], 0xd2: [4, (b) => b.readInt32BE()],
	0xd3: [8, (b) => integer64(b.readBigInt64BE())],
	0xd4: [2, toNothing], 0xd5: [3, toNothing], 0xd6: [5, toNothing], 0xd7: [9, toNothing], 0xd8: [17, toNothing],
};
/** By the head: of how many bytes the length is, what it is the length of, and how many bytes come besides. */
const SIZED = {
	0xc4: [1, toBinary, 0], 0xc5: [2, toBinary, 0], 0xc6: [4, toBinary, 0],
	0xc7: [1, toNothing, 1], 0xc8: [2, toNothing, 1], 0xc9: [4, toNothing, 1],
	0xd9: [1, toText, 0], 0xda: [2, toText, 0], 0xdb: [4, toText, 0],
	0xdc: [2, 'array'], 0xdd: [4, 'array'], 0xde: [2, 'map'], 0xdf: [4, 'map'],
};
const MORE = Symbol('more'); // has to come until there is a value
const OPENED = Symbol('opened'); // is an array or a map, whose items follow

/**
 * Takes bytes as they come, and gives each message once it is whole. What it has built is never
 * larger than what has come: a length costs nothing but a number.
 */
export class Decoder {
	#data = Buffer.alloc(0);
	#at = 0;
	#size = 0; // of the message, as far as it was taken
	#levels = []; // arrays and maps that lack items: {items, left, isMap, key}

	/** Calls take(message) for each one. Throws Malformed; nothing may be fed after that. */
	feed(chunk, take) {
		this.#data = this.#at === this.#data.length ? chunk : Buffer.concat([this.#data.subarray(this.#at), chunk]);
		this.#at = 0;
		for (;;) {
			const begin = this.#at;
			const value = this.#value();
			if (value === MORE) {
				this.#at = begin;
				return;
			}
			this.#size += this.#at - begin;
			if (this.#size > FRAME_MAX)
				throw new Malformed('a message of more than 64 MiB');
			if (value !== OPENED)
				this.#add(value, take);
		}
	}

	#add(value, take) {
		while (this.#levels.length > 0) {
			const level = this.#levels.at(-1);
			if (!level.isMap)
				level.items.push(value);
			else if (level.key === undefined && typeof value !== 'string')
				throw new Malformed('the key of a map is no string');
			else if (level.key === undefined)
				level.key = value;
			else {
				if (level.key === '__proto__') // as JSON.parse() does it
					Object.defineProperty(level.items, level.key, { value, enumerable: true, configurable: true, writable: true });
				else
					level.items[level.key] = value;
				level.key = undefined;
			}
			if (--level.left > 0)
				return;
			this.#levels.pop();
			value = level.items;
		}
		this.#size = 0;
		take(value);
	}

	/** The next n bytes, undefined while they have not come. */
	#bytes(n) {
		this.#at += n;
		return this.#at <= this.#data.length ? this.#data.subarray(this.#at - n, this.#at) : undefined;
	}

	#read(n, make) {
		if (n > TEXT_MAX)
			throw new Malformed('a text of more than 1 MiB');
		const bytes = this.#bytes(n);
		return bytes === undefined ? MORE : make(bytes);
	}

	#open(n, isMap) {
		if (this.#levels.length === DEPTH_MAX)
			throw new Malformed('nested too deeply');
		if (n === 0)
			return isMap ? {} : [];
		this.#levels.push({ items: isMap ? {} : [], left: isMap ? 2 * n : n, isMap, key: undefined });
		return OPENED;
	}

	#value() {
		if (this.#at === this.#data.length)
			return MORE;
		const head = this.#data[this.#at++];
		if (head < 0x80)
			return head;
		if (head >= 0xe0)
			return head - 0x100;
		if (head < 0xa0)
			return this.#open(head & 0x0f, head < 0x90);
		if (head < 0xc0)
			return this.#read(head & 0x1f, toText);
		if (FIXED[head])
			return this.#read(...FIXED[head]);
		if (!SIZED[head])
			throw new Malformed('a byte that MessagePack does not have');
		const [size, make, besides] = SIZED[head];
		const bytes = this.#bytes(size);
		if (bytes === undefined)
			return MORE;
		const n = bytes.readUIntBE(0, size);
		return typeof make === 'string' ? this.#open(n, make === 'map') : this.#read(n + besides, make);
	}
}
