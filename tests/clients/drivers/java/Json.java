import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON as the driver says and hears it: numbers are Double, or Long where they are whole. */
final class Json {
    private final String text;
    private int at;

    private Json(String text) {
        this.text = text;
    }

    static Object read(String text) {
        return new Json(text).value();
    }

    private char peek() {
        while (Character.isWhitespace(text.charAt(at)))
            at++;
        return text.charAt(at);
    }

    private boolean take(char c) {
        boolean there = peek() == c;
        at += there ? 1 : 0;
        return there;
    }

    private Object value() {
        char c = peek();
        if (c == '"')
            return string();
        if (c == '{')
            return object();
        if (c == '[')
            return array();
        int from = at;
        while (at < text.length() && ",]} \t".indexOf(text.charAt(at)) < 0)
            at++;
        String word = text.substring(from, at);
        return switch (word) {
            case "null" -> null;
            case "true", "false" -> word.equals("true");
            default -> word.matches("-?\\d+") ? (Object) Long.valueOf(word) : Double.valueOf(word);
        };
    }

    private Map<String, Object> object() {
        Map<String, Object> map = new LinkedHashMap<>();
        take('{');
        while (!take('}')) {
            take(',');
            peek();
            String key = string();
            take(':');
            map.put(key, value());
        }
        return map;
    }

    private List<Object> array() {
        List<Object> list = new ArrayList<>();
        take('[');
        while (!take(']')) {
            take(',');
            if (peek() != ']')
                list.add(value());
        }
        return list;
    }

    private String string() {
        StringBuilder made = new StringBuilder();
        for (at++; text.charAt(at) != '"'; at++) {
            char c = text.charAt(at);
            if (c == '\\') {
                c = text.charAt(++at);
                int escape = "nrtbf".indexOf(c);
                if (c == 'u') {
                    c = (char) Integer.parseInt(text.substring(at + 1, at + 5), 16);
                    at += 4;
                } else if (escape >= 0) {
                    c = "\n\r\t\b\f".charAt(escape);
                }
            }
            made.append(c);
        }
        at++;
        return made.toString();
    }

    static String write(Object value) {
        StringBuilder made = new StringBuilder();
        write(made, value);
        return made.toString();
    }

    private static void write(StringBuilder to, Object value) {
        if (value instanceof Map<?, ?> map) {
            String between = "{";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                to.append(between);
                write(to, entry.getKey());
                to.append(':');
                write(to, entry.getValue());
                between = ",";
            }
            to.append(map.isEmpty() ? "{}" : "}");
        } else if (value instanceof String string) {
            to.append('"');
            for (char c : string.toCharArray())
                to.append(c < ' ' || c == '"' || c == '\\' || c > '~' ? String.format("\\u%04x", (int) c) : c);
            to.append('"');
        } else {
            to.append(value);
        }
    }
}
