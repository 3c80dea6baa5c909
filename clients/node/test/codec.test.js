import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { test } from 'node:test';
import { Decoder, Malformed, encode } from '../lib/codec.js';

function decode(bytes, pieces = [bytes]) {
	const found = [];
	const decoder = new Decoder();
	for (const piece of pieces)
		decoder.feed(piece, (value) => found.push(value));
	return found;
}

const VALUES = [
	null, true, false, 0, 1, 127, 128, 255, 256, 65535, 65536, 4294967295, 4294967296, Number.MAX_SAFE_INTEGER,
	-1, -32, -33, -128, -129, -32768, -32769, -2147483649, Number.MIN_SAFE_INTEGER, 0.5, -1e300, 2n ** 64n - 1n, -(2n ** 63n),
	'', 'a', 'ä€😀', 'x'.repeat(31), 'x'.repeat(32), 'x'.repeat(255), 'x'.repeat(256), 'x'.repeat(65536),
	[], [1, [2, [3]]], Array(16).fill('y'), Array(70000).fill(1), {}, { a: { b: null }, c: [] },
	Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, i])),
	Buffer.alloc(0), Buffer.from([0, 255]), Buffer.alloc(300, 7), Buffer.alloc(70000, 7),
];

test('what is encoded is decoded', () => {
	for (const value of VALUES)
		assert.deepEqual(decode(encode(value)), [value]);
});

test('a frame may come in any pieces', () => {
	const messages = [[1, 5, null, { task: 'ä', token: 2 ** 40, list: [1, -7, 'xyz', { a: Buffer.from('b') }] }], [2, 'x', [{}]], 7];
	const bytes = Buffer.concat(messages.map(encode));
	for (let size = 1; size <= bytes.length; size++) {
		const pieces = [];
		for (let at = 0; at < bytes.length; at += size)
			pieces.push(bytes.subarray(at, at + size));
		assert.deepEqual(decode(bytes, pieces), messages);
	}
});

test('the frame of the documentation', () => {
	assert.equal(encode([0, 1, 'check', ['nightly-report', 1000]]).toString('hex'),
		'940001a5636865636b92ae6e696768746c792d7265706f7274cd03e8');
});

test('members that are undefined are left out', () => {
	assert.deepEqual(decode(encode({ a: undefined, b: 1 })), [{ b: 1 }]);
});

test('integers beyond 2^53 stay exact', () => {
	assert.deepEqual(decode(Buffer.from('cf0020000000000001', 'hex')), [2n ** 53n + 1n]);
	assert.throws(() => encode(2n ** 64n), RangeError);
});

test('a key __proto__ is a key as any other', () => {
	const [map] = decode(Buffer.concat([Buffer.from([0x81, 0xa9]), Buffer.from('__proto__'), Buffer.from([0x81, 0xa1, 0x78, 1])]));
	assert.equal(Object.getPrototypeOf(map), Object.prototype);
	assert.equal(map.x, undefined);
	assert.deepEqual(Object.keys(map), ['__proto__']);
});

test('extensions are passed over', () => {
	for (const hex of ['d4010b', 'd5010203', 'c703010a0a0a', 'c80001010a', 'c900000001010a'])
		assert.equal(decode(Buffer.from(`92${hex}07`, 'hex'))[0].at(-1), 7, hex);
});

test('lengths that lie cost no memory', () => {
	for (const head of ['dd', 'df', 'db', 'c6', 'c9', 'dc', 'de'])
		for (const n of ['ffffffff', '7fffffff', '00100000', '04000000']) {
			const before = process.memoryUsage();
			try {
				assert.deepEqual(decode(Buffer.from(head + n + '01', 'hex')), []);
			} catch (error) {
				assert.ok(error instanceof Malformed, error.stack);
			}
			const after = process.memoryUsage();
			assert.ok(after.heapUsed + after.external - before.heapUsed - before.external < 4 << 20, head + n);
		}
});

test('what is nested too deeply, too long or nothing at all is malformed', () => {
	assert.deepEqual(decode(Buffer.from('91'.repeat(16) + '01', 'hex')).flat(16), [1]);
	for (const bytes of [Buffer.from('91'.repeat(17) + '01', 'hex'), Buffer.from('c1', 'hex'), Buffer.from('810101', 'hex'),
		Buffer.from('91'.repeat(16) + '90', 'hex')])
		assert.throws(() => decode(bytes), Malformed);
	const decoder = new Decoder();
	const piece = Buffer.alloc(1 << 20, 0x01);
	decoder.feed(Buffer.from('dd7fffffff', 'hex'), assert.fail);
	assert.throws(() => {
		for (let i = 0; i < 65; i++)
			decoder.feed(piece, assert.fail);
	}, /64 MiB/);
});

test('random, broken and truncated bytes are values, unfinished or malformed', () => {
	const whole = VALUES.filter((value) => encode(value).length < 400).map(encode);
	for (let i = 0; i < 20000; i++) {
		let bytes = i % 2 ? randomBytes(randomInt(64)) : Buffer.concat([Buffer.from([0x9f]), whole[randomInt(whole.length)]]);
		if (i % 2 === 0 && bytes.length > 1) {
			bytes = bytes.subarray(0, randomInt(1, bytes.length + 1));
			bytes[randomInt(bytes.length)] = randomInt(256);
		}
		const cut = randomInt(bytes.length + 1);
		let found;
		try {
			found = decode(bytes);
		} catch (error) {
			assert.ok(error instanceof Malformed, error.stack);
			continue;
		}
		assert.deepEqual(decode(bytes, [bytes.subarray(0, cut), bytes.subarray(cut)]), found);
	}
});
