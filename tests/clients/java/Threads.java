import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.zkleader.Lease;
import org.zkleader.Run;
import org.zkleader.ZkLeader;
import org.zkleader.ZkLeaderException;

/** What interrupts and a close do to what is under way: Threads SOCKET TASK OTHER; OTHER is led elsewhere. */
final class Threads {
    private static void check(boolean good, String what) {
        if (!good)
            throw new AssertionError(what);
    }

    private static String interrupted(long ms, Runnable what) throws Exception {
        return interrupted(CompletableFuture.supplyAsync(() -> null,
                CompletableFuture.delayedExecutor(ms, java.util.concurrent.TimeUnit.MILLISECONDS)), what);
    }

    /** The code with which it ends in a thread that is interrupted at that time, and whether its flag stays set. */
    private static String interrupted(CompletableFuture<?> when, Runnable what) throws Exception {
        StringBuilder said = new StringBuilder();
        Thread thread = new Thread(() -> {
            try {
                what.run();
            } catch (ZkLeaderException e) {
                said.append(e.code());
            }
            said.append(Thread.currentThread().isInterrupted() ? " set" : " gone");
        });
        thread.start();
        when.get();
        thread.interrupt();
        thread.join(20_000);
        check(!thread.isAlive(), "it ends");
        return said.toString();
    }

    public static void main(String[] args) throws Exception {
        String task = args[1];
        String other = args[2];
        ZkLeader zk = ZkLeader.connect(Path.of(args[0]));
        check(zk.leads(task).leads(), "it leads");
        check(interrupted(0, () -> Thread.currentThread().interrupt()).equals(" set"), "as such");
        check(interrupted(300, () -> zk.leading(other)).equals("2 set"), "leading() is interrupted");
        AtomicBoolean ran = new AtomicBoolean();
        check(interrupted(700, () -> zk.run(other, null, run -> ran.set(true))).equals("2 set"), "and run()");
        CompletableFuture<Void> begun = new CompletableFuture<>();
        check(interrupted(begun, () -> zk.run(task, null, run -> {
            begun.complete(null);
            while (!Thread.currentThread().isInterrupted())
                Thread.onSpinWait();
        })).equals(" set"), "work that ends so is recorded");
        check(zk.leads(task).leads(), "the connection is none the worse");
        System.out.println("interrupted");
        System.in.read();
        check(zk.leads(other, Duration.ofSeconds(20)).leads(), "it leads the other");
        check(!ran.get(), "work that was given up was not begun");
        check(zk.run(other, null, run -> ran.set(true)) == Run.Outcome.OK && ran.get(), "and its tick is nobody's");
        System.out.println("leads");
        System.in.read();

        Lease lease = zk.leading(task);
        CompletableFuture<Boolean> lost = new CompletableFuture<>();
        lease.onLost(() -> lost.complete(true));
        CompletableFuture<Object> waiting = CompletableFuture.supplyAsync(() -> zk.call("wait",
                java.util.Map.of("workers", 99, "timeout_ms", -1)));
        Thread.sleep(300);
        zk.close();
        check(lost.join() && !lease.isLeading(), "what is closed leads nothing");
        check(waiting.handle((answer, e) -> e != null).join(), "nor does it wait");
        try {
            zk.leads(task);
            check(false, "nor ask");
        } catch (ZkLeaderException e) {
            check(e.code() == ZkLeaderException.CANNOT_TELL, e.getMessage());
        }
        for (int i = 0; i < 100 && Thread.getAllStackTraces().keySet().stream()
                .anyMatch(t -> t.getName().startsWith("zkleader")); i++)
            Thread.sleep(100);
        check(Thread.getAllStackTraces().keySet().stream().noneMatch(t -> t.getName().startsWith("zkleader")), "no thread");
        System.out.println("good");
    }
}
