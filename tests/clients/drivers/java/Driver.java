import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.stream.IntStream;
import org.zkleader.Answer;
import org.zkleader.Change;
import org.zkleader.Job;
import org.zkleader.Leader;
import org.zkleader.Lease;
import org.zkleader.Run;
import org.zkleader.Submission;
import org.zkleader.Watch;
import org.zkleader.ZkLeader;
import org.zkleader.ZkLeaderException;

/** Drives the Java client; see tests/clients/README.md. */
public final class Driver {
    private static final PrintStream OUT = new PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out),
            false, StandardCharsets.US_ASCII);
    private static final int WARM = 5000;

    private final ZkLeader client;
    private final Map<Object, Answer> answers = new ConcurrentHashMap<>();
    private final Map<Object, Watch> watches = new ConcurrentHashMap<>();
    private final Map<Object, Lease> leases = new ConcurrentHashMap<>();
    private final Set<Object> silent = ConcurrentHashMap.newKeySet();

    private Driver(Path socket) {
        client = ZkLeader.connect(socket);
    }

    /** A request, with its members by their names. */
    private record Asked(Map<?, ?> map) {
        Object get(String name) {
            return map.get(name);
        }

        String text(String name) {
            return (String) get(name);
        }

        int number(String name) {
            return ((Number) get(name)).intValue();
        }

        Duration seconds(String name) {
            return get(name) == null ? null : Duration.ofMillis((long) (((Number) get(name)).doubleValue() * 1000));
        }
    }

    private static final class Failed extends Exception {
        private static final long serialVersionUID = 1;
    }

    private static Map<String, Object> map(Object... pairs) {
        Map<String, Object> map = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2)
            map.put((String) pairs[i], pairs[i + 1]);
        return map;
    }

    private void say(Asked asked, String what, Object value) {
        synchronized (OUT) {
            if (what.equals("event") && silent.contains(asked.get("id")))
                return;
            OUT.println(Json.write(map("id", asked.get("id"), what, value)));
            OUT.flush();
        }
    }

    private static Map<String, Object> state(boolean leads, long token, String state, Optional<Leader> leader) {
        return map("leads", leads, "token", token, "state", state, "leader", leader.map(Leader::node).orElse(null),
                "version", leader.map(Leader::version).orElse(null));
    }

    private Object obey(Asked asked) throws Exception {
        Object id = asked.get("id");
        Object of = asked.get("of");
        switch (asked.text("do")) {
            case "leads":
                Answer answer = client.leads(asked.text("task"));
                answers.put(id, answer);
                return state(answer.leads(), answer.token(), answer.state(), answer.leader());
            case "still":
                return map("leads", answers.get(of).leads());
            case "watch":
                return watch(asked);
            case "unwatch":
                watches.remove(of).close();
                synchronized (OUT) {
                    silent.add(of);
                }
                return map();
            case "leading":
                lead(asked);
                return null;
            case "check":
                leases.get(of).check();
                return map("leads", true);
            case "leave":
                leases.remove(of).close();
                return map();
            case "run":
                return run(asked);
            case "submit":
                return submit(asked);
            case "job":
                Job job = client.job(asked.text("job"), Duration.ofMillis(asked.number("wait_ms")));
                return map("job", job.id(), "state", job.state());
            case "wait":
                Job ended = client.waitFor(asked.text("job"));
                return map("job", ended.id(), "state", ended.state());
            case "cancel":
                return map("job", asked.text("job"), "done", client.cancel(asked.text("job")));
            case "many":
                return many(asked.text("task"), asked.number("n"));
            case "bench":
                return bench(asked.text("task"), asked.number("n"));
            default:
                throw new IllegalArgumentException(asked.text("do"));
        }
    }

    private Object watch(Asked asked) {
        Object id = asked.get("id");
        CompletableFuture<Void> begun = new CompletableFuture<>();
        String[] tasks = ((List<?>) asked.get("tasks")).toArray(String[]::new);
        watches.put(id, client.watch(change -> {
            begun.join();
            say(asked, "event", told(change));
        }, tasks));
        say(asked, "ok", map());
        begun.complete(null);
        return null;
    }

    private static Object told(Change change) {
        Map<String, Object> event = map("task", change.task());
        event.putAll(state(change.leads(), change.token(), change.state(), change.leader()));
        return event;
    }

    private void lead(Asked asked) {
        Duration wait = asked.seconds("wait");
        Optional<Lease> entered = wait == null ? Optional.of(client.leading(asked.text("task")))
                : client.leading(asked.text("task"), wait);
        entered.ifPresent(lease -> leases.put(asked.get("id"), lease));
        say(asked, "event", entered.isEmpty() ? map("entered", false, "code", null)
                : map("entered", true, "token", entered.get().token()));
        entered.ifPresent(lease -> lease.onLost(() ->
                say(asked, "event", map("lost", true, "left_ms", lease.remaining().toMillis()))));
    }

    private Object run(Asked asked) {
        String tick = asked.text("tick");
        Duration length = tick == null ? null : tick.endsWith("ms")
                ? Duration.ofMillis(Long.parseLong(tick.substring(0, tick.length() - 2)))
                : Duration.parse("PT" + tick.toUpperCase(java.util.Locale.ROOT));
        try {
            Run.Outcome outcome = client.run(asked.text("task"), length, run -> {
                say(asked, "event", map("began", true, "tick", run.tick(), "token", run.token(), "attempt",
                        run.attempt()));
                long until = System.nanoTime() + asked.number("hold_ms") * 1_000_000L;
                while (System.nanoTime() < until) {
                    run.check();
                    Thread.sleep(50);
                }
                if (asked.text("outcome").equals("fail"))
                    throw new Failed();
            });
            return map("ran", outcome.ran(), "reason", outcome.name().toLowerCase(java.util.Locale.ROOT));
        } catch (Failed e) {
            return map("ran", true, "reason", "failed");
        } catch (ZkLeaderException e) {
            throw e;
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private Object submit(Asked asked) {
        Submission job = new Submission(asked.text("queue"), asked.text("payload").getBytes(StandardCharsets.UTF_8));
        if (asked.get("job") != null)
            job.id(asked.text("job"));
        if (asked.get("delay") != null)
            job.delay(asked.seconds("delay"));
        if (asked.get("at_us") instanceof Long us)
            job.at(Instant.EPOCH.plus(us, ChronoUnit.MICROS));
        try {
            return map("job", client.submit(job));
        } catch (ZkLeaderException e) {
            Map<String, Object> error = error(e);
            if (job.id() != null)
                error.put("job", job.id());
            say(asked, "error", error);
            return null;
        }
    }

    private Object many(String task, int n) {
        List<CompletableFuture<Answer>> asked = IntStream.range(0, n).mapToObj(i -> client.leadsAsync(task)).toList();
        List<Answer> answered = asked.stream().map(CompletableFuture::join).toList();
        return map("answers", answered.size(), "leading", answered.stream().filter(Answer::leads).count());
    }

    private Object bench(String task, int n) {
        long[] took = new long[n + WARM];
        for (int i = 0; i < took.length; i++) {
            long begun = System.nanoTime();
            client.leads(task);
            took[i] = System.nanoTime() - begun;
        }
        long[] warm = Arrays.copyOfRange(took, WARM, took.length);
        Arrays.sort(warm);
        return map("median_us", warm[n / 2] / 100 / 10.0);
    }

    private static Map<String, Object> error(ZkLeaderException e) {
        return map("code", e.code(), "message", e.getMessage());
    }

    private void serve(String line) {
        Asked asked = new Asked((Map<?, ?>) Json.read(line));
        try {
            Object done = obey(asked);
            if (done != null)
                say(asked, "ok", done);
        } catch (ZkLeaderException e) {
            say(asked, "error", error(e));
        } catch (Exception e) {
            e.printStackTrace();
            say(asked, "error", map("code", -1, "message", e.toString()));
        }
    }

    /**
     * Obeys what standard input says.
     *
     * @param args the socket
     */
    public static void main(String[] args) throws IOException {
        Driver driver = new Driver(Path.of(args[0]));
        ExecutorService threads = Executors.newCachedThreadPool();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null;) {
            String each = line;
            threads.execute(() -> driver.serve(each));
        }
        driver.client.close();
        synchronized (OUT) {
            Runtime.getRuntime().halt(0);
        }
    }
}
