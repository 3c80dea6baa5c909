package org.zkleader;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.stream.Stream;

/**
 * Fuzzes the MessagePack of the Java client: FuzzMessagePack SECONDS SEED FOLDER. Begins with the files of the folder,
 * then with changes of these and with values that it makes. Each input is read at once, byte by byte and in two
 * parts, with the same result, which is one of an object, missing bytes and Malformed; and what was read is written
 * and read again. To standard output, for another reader to compare: the length and the bytes of each input, and
 * the same of the object written anew (0xc1 for Malformed, no bytes for missing ones).
 */
final class FuzzMessagePack {
    private static final int MAX = 4096;
    private static final Object MALFORMED = new Object();
    private static final byte[] BAD = {(byte) 0xc1};

    private final Random random;
    private final DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
    private final long[] verdicts = new long[3];

    private FuzzMessagePack(long seed) {
        random = new Random(seed);
    }

    /** Reads it in pieces of that size: the first object, or why there is none. */
    private static Object read(byte[] input, int piece) {
        MessagePack reader = new MessagePack(MAX);
        ByteBuffer in = ByteBuffer.allocate(input.length);
        Object value = MessagePack.MISSING;
        try {
            for (int at = 0; at < input.length && value == MessagePack.MISSING; at += piece) {
                in.put(input, at, Math.min(piece, input.length - at)).flip();
                value = reader.read(in);
                in.compact();
            }
        } catch (MessagePack.Malformed e) {
            return MALFORMED;
        }
        return value;
    }

    private static boolean same(Object a, Object b) {
        if (a instanceof byte[] x && b instanceof byte[] y)
            return Arrays.equals(x, y);
        if (a instanceof List<?> x && b instanceof List<?> y) {
            boolean same = x.size() == y.size();
            for (int i = 0; same && i < x.size(); i++)
                same = same(x.get(i), y.get(i));
            return same;
        }
        if (a instanceof Map<?, ?> x && b instanceof Map<?, ?> y)
            return x.keySet().equals(y.keySet()) && x.keySet().stream().allMatch(key -> same(x.get(key), y.get(key)));
        return Objects.equals(a, b);
    }

    private static void check(boolean good, String what, byte[] input) {
        if (!good)
            throw new AssertionError(what + ": " + java.util.HexFormat.of().formatHex(input));
    }

    private void tell(byte[] bytes) throws IOException {
        out.writeInt(bytes.length);
        out.write(bytes);
    }

    private void one(byte[] input) throws IOException {
        Object whole = read(input, Math.max(input.length, 1));
        check(same(whole, read(input, 1)), "byte by byte it is another", input);
        check(same(whole, read(input, Math.max(input.length / 2 + 1, 1))), "in two parts it is another", input);
        verdicts[whole == MALFORMED ? 0 : whole == MessagePack.MISSING ? 1 : 2]++;
        byte[] again = whole == MALFORMED ? BAD : new byte[0];
        if (whole != MALFORMED && whole != MessagePack.MISSING && !hasBig(whole)) {
            again = MessagePack.write(whole);
            MessagePack reader = new MessagePack(Long.MAX_VALUE / 2);
            ByteBuffer in = ByteBuffer.wrap(again);
            check(same(whole, reader.read(in)) && !in.hasRemaining(), "written and read it is another", input);
        }
        tell(input);
        tell(again);
    }

    /** Whether there is a number above an int64, which is read alone. */
    private static boolean hasBig(Object value) {
        return value instanceof java.math.BigInteger
                || value instanceof List<?> list && list.stream().anyMatch(FuzzMessagePack::hasBig)
                || value instanceof Map<?, ?> map && map.values().stream().anyMatch(FuzzMessagePack::hasBig);
    }

    private byte[] changed(byte[] input) {
        byte[] made = Arrays.copyOf(input, Math.min(Math.max(input.length + random.nextInt(9) - 4, 1), MAX));
        for (int i = random.nextInt(4); i >= 0; i--)
            made[random.nextInt(made.length)] = (byte) (random.nextBoolean() ? 0x80 + random.nextInt(0x60)
                    : random.nextInt());
        return made;
    }

    private Object value(int depth) {
        return switch (random.nextInt(depth > 15 ? 7 : 9)) {
            case 0 -> null;
            case 1 -> random.nextBoolean();
            case 2 -> random.nextLong() >> random.nextInt(64);
            case 3 -> random.nextDouble();
            case 4, 5 -> "é".repeat(random.nextInt(random.nextInt(8) == 0 ? 200 : 5)) + random.nextInt(99);
            case 6 -> new byte[random.nextInt(40)];
            case 7 -> new ArrayList<>(Stream.generate(() -> value(depth + 1)).limit(random.nextInt(5)).toList());
            default -> {
                Map<String, Object> map = new LinkedHashMap<>();
                for (int i = random.nextInt(5); i > 0; i--)
                    map.put("k" + random.nextInt(99), value(depth + 1));
                yield map;
            }
        };
    }

    /** What no chance is to be needed to find. */
    private static void limits() {
        for (int type : new int[] {0x91, 0x81}) {
            byte[] deep = new byte[2 * MessagePack.DEPTH_MAX + 3];
            for (int levels = MessagePack.DEPTH_MAX; levels <= MessagePack.DEPTH_MAX + 1; levels++) {
                int at = 0;
                for (int i = 0; i < levels; i++) {
                    deep[at++] = (byte) type;
                    if (type == 0x81)
                        deep[at++] = (byte) 0xa0;
                }
                boolean bad = read(Arrays.copyOf(deep, at + 1), 1) == MALFORMED;
                check(bad == levels > MessagePack.DEPTH_MAX, levels + " levels", deep);
            }
        }
        byte[][] bad = {{(byte) 0x82, (byte) 0xa1, 'a', 1, (byte) 0xa1, 'a', 2}, {(byte) 0xdb, -1, -1, -1, -1},
            {(byte) 0xc6, 0, 1, 0, 0}, {(byte) 0xc9, 127, -1, -1, -1}, {(byte) 0xdd, -1, -1, -1, -1},
            {(byte) 0xdf, 0, 0, 16, 0}, BAD};
        for (byte[] input : bad)
            check(read(input, 1) == MALFORMED, "taken", input);
    }

    public static void main(String[] args) throws IOException {
        FuzzMessagePack fuzz = new FuzzMessagePack(Long.parseLong(args[1]));
        List<byte[]> seeds = new ArrayList<>();
        limits();
        try (Stream<Path> files = Files.list(Path.of(args[2]))) {
            for (Path file : (Iterable<Path>) files.sorted()::iterator)
                seeds.add(Files.readAllBytes(file));
        }
        for (byte[] seed : seeds)
            fuzz.one(seed);
        long end = System.nanoTime() + (long) (Double.parseDouble(args[0]) * 1e9);
        for (long n = 0; System.nanoTime() < end && n < 10_000; n++) {
            fuzz.one(fuzz.changed(seeds.get(fuzz.random.nextInt(seeds.size()))));
            byte[] valid = MessagePack.write(fuzz.value(1));
            fuzz.one(valid);
            fuzz.one(fuzz.changed(valid));
        }
        fuzz.out.flush();
        System.err.println("malformed, missing, read: " + Arrays.toString(fuzz.verdicts));
    }
}
