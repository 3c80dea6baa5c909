package org.zkleader;

import java.util.Map;
import java.util.Optional;
import org.zkleader.MessagePack.Malformed;

/** What the sidecar has answered, and when it was asked for. What has another type than it should is malformed. */
record Reply(Object value, Expiry sent) {
    private <T> T get(String key, Class<T> type) {
        Object found = value instanceof Map<?, ?> map ? map.get(key) : this;
        if (found != null && !type.isInstance(found))
            throw new Malformed("the answer has no right " + key);
        return type.cast(found);
    }

    private <T> T need(T found, String key) {
        if (found == null)
            throw new Malformed("the answer has no " + key);
        return found;
    }

    boolean flag(String key) { return need(get(key, Boolean.class), key); }

    long number(String key) { return need(get(key, Long.class), key); }

    /** Null for none, as are the next ones 0 and "". */
    Long numberOrNull(String key) { return get(key, Long.class); }

    long numberOr0(String key) { return get(key, Long.class) == null ? 0 : number(key); }

    String text(String key) { return need(get(key, String.class), key); }

    String textOrEmpty(String key) { return get(key, String.class) == null ? "" : text(key); }

    Optional<Leader> leader(String key) {
        return Optional.ofNullable(get(key, Map.class)).map(map -> Leader.of(new Reply(map, sent)));
    }

    /** When the lease of the answer ends, which counts from before it was asked for. */
    Expiry expiry() { return sent.plus(number("lease_ms")); }
}
