package org.zkleader;

import java.io.*;
import java.math.BigInteger;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.*;

/** MessagePack: reads objects of which the bytes come bit by bit, and trusts no length that they name. */
final class MessagePack {
    static final int DEPTH_MAX = 16;
    /** What is read while bytes of the object are missing. */
    static final Object MISSING = new Object();

    /** Bytes that are no MessagePack, or an answer that makes no sense. */
    static final class Malformed extends RuntimeException {
        private static final long serialVersionUID = 1;

        Malformed(String message) { super(message); }
    }

    /** An array or a map, of which `left` objects are to come. */
    private static final class Nest {
        final List<Object> list;
        final Map<String, Object> map = new LinkedHashMap<>();
        private Object key = MISSING;
        long left;

        Nest(boolean isList, long n) {
            list = isList ? new ArrayList<>() : null;
            left = isList ? n : 2 * n;
        }

        /** Adds it. Keys that are no strings are passed over with their values: a later release may have some. */
        void add(Object value) {
            left--;
            if (list != null) {
                list.add(value);
            } else if (key == MISSING) {
                key = value;
            } else {
                if (map.containsKey(key))
                    throw new Malformed("a key that is there twice");
                if (key instanceof String text)
                    map.put(text, value);
                key = MISSING;
            }
        }
    }

    private final long max;
    private final Deque<Nest> nests = new ArrayDeque<>();
    private long size;

    MessagePack(long max) { this.max = max; }

    // --- reading

    /** The next object, or MISSING. Either way what was read of the buffer is not needed again. */
    Object read(ByteBuffer in) {
        while (true) {
            int from = in.position();
            Object value;
            try {
                value = readOne(in);
            } catch (BufferUnderflowException e) {
                in.position(from);
                return MISSING;
            }
            size += in.position() - from;
            checkSize(value instanceof Nest nest ? nest.left : 0);
            if (value instanceof Nest nest) {
                nests.push(nest);
                if (nests.size() > DEPTH_MAX)
                    throw new Malformed("the frame is too deeply nested");
            } else if (nests.isEmpty()) {
                size = 0;
                return value;
            } else {
                nests.peek().add(value);
            }
            while (!nests.isEmpty() && nests.peek().left == 0) {
                Nest whole = nests.pop();
                Object made = whole.list != null ? whole.list : whole.map;
                if (nests.isEmpty()) {
                    size = 0;
                    return made;
                }
                nests.peek().add(made);
            }
        }
    }

    private void checkSize(long more) {
        if (size + more > max)
            throw new Malformed("the frame is too large");
    }

    private Object readOne(ByteBuffer in) {
        int type = in.get() & 0xff;
        if (type < 0x80 || type >= 0xe0)
            return (long) (byte) type;
        if (type < 0xa0)
            return new Nest(type >= 0x90, type & 15);
        if (type < 0xc0)
            return text(in, type & 31);
        return switch (type) {
            case 0xc0 -> null;
            case 0xc2, 0xc3 -> type == 0xc3;
            case 0xc4, 0xc5, 0xc6 -> bytes(in, length(in, 1 << type - 0xc4));
            case 0xc7, 0xc8, 0xc9 -> bytes(in, length(in, 1 << type - 0xc7) + 1); // of a type of its own, as bytes
            case 0xca -> (double) in.getFloat();
            case 0xcb -> in.getDouble();
            case 0xcc, 0xcd, 0xce -> length(in, 1 << type - 0xcc);
            case 0xcf -> unsigned(in.getLong());
            case 0xd0 -> (long) in.get();
            case 0xd1 -> (long) in.getShort();
            case 0xd2 -> (long) in.getInt();
            case 0xd3 -> in.getLong();
            case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8 -> bytes(in, 1 + (1L << type - 0xd4));
            case 0xd9, 0xda, 0xdb -> text(in, length(in, 1 << type - 0xd9));
            case 0xdc, 0xdd -> new Nest(true, length(in, 2 << type - 0xdc));
            case 0xde, 0xdf -> new Nest(false, length(in, 2 << type - 0xde));
            default -> throw new Malformed("no MessagePack");
        };
    }

    private static long length(ByteBuffer in, int bytes) {
        return bytes == 1 ? in.get() & 0xff : bytes == 2 ? in.getShort() & 0xffff : in.getInt() & 0xffffffffL;
    }

    private static Object unsigned(long n) {
        return n >= 0 ? (Object) n : BigInteger.valueOf(n).add(BigInteger.ONE.shiftLeft(64));
    }

    private byte[] bytes(ByteBuffer in, long n) {
        checkSize(n);
        if (n > in.remaining())
            throw new BufferUnderflowException();
        byte[] bytes = new byte[(int) n];
        in.get(bytes);
        return bytes;
    }

    private String text(ByteBuffer in, long n) {
        return new String(bytes(in, n), StandardCharsets.UTF_8);
    }

    // --- writing

    /** The bytes of null, a Boolean, an Integer, a Long, a Double, a String, a byte[], a List or a Map of these. */
    static byte[] write(Object value) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(128);
        try {
            write(new DataOutputStream(bytes), value);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return bytes.toByteArray();
    }

    private static void write(DataOutputStream out, Object value) throws IOException {
        if (value == null) {
            out.writeByte(0xc0);
        } else if (value instanceof Boolean flag) {
            out.writeByte(flag ? 0xc3 : 0xc2);
        } else if (value instanceof Integer || value instanceof Long) {
            long n = ((Number) value).longValue();
            out.writeByte(n >= -32 && n < 128 ? (int) n : 0xd3);
            if (n < -32 || n >= 128)
                out.writeLong(n);
        } else if (value instanceof Double number) {
            out.writeByte(0xcb);
            out.writeDouble(number);
        } else if (value instanceof String text) {
            byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
            head(out, bytes.length, 0xa0, 31, 0xdb);
            out.write(bytes);
        } else if (value instanceof byte[] bytes) {
            head(out, bytes.length, 0, -1, 0xc6);
            out.write(bytes);
        } else if (value instanceof List<?> list) {
            head(out, list.size(), 0x90, 15, 0xdd);
            for (Object element : list)
                write(out, element);
        } else if (value instanceof Map<?, ?> map) {
            head(out, map.size(), 0x80, 15, 0xdf);
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                write(out, entry.getKey());
                write(out, entry.getValue());
            }
        } else {
            throw new IllegalArgumentException("the protocol has no " + value.getClass().getName());
        }
    }

    private static void head(DataOutputStream out, int n, int fix, int fixMax, int wide) throws IOException {
        out.writeByte(n <= fixMax ? fix | n : wide);
        if (n > fixMax)
            out.writeInt(n);
    }
}
