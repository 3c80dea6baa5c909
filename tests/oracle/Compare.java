import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.maven.artifact.versioning.ComparableVersion;

/** Reads lines of two versions with a tab between them; prints -1, 0 or 1 for each. */
public final class Compare {
    public static void main(String[] args) throws Exception {
        BufferedReader in = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.ISO_8859_1), 1 << 16);
        StringBuilder out = new StringBuilder();
        PrintStream stdout = new PrintStream(System.out, false);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            int tab = line.indexOf('\t');
            ComparableVersion a = new ComparableVersion(line.substring(0, tab));
            ComparableVersion b = new ComparableVersion(line.substring(tab + 1));
            out.append(Integer.signum(a.compareTo(b))).append('\n');
            if (out.length() > 1 << 15) {
                stdout.append(out);
                out.setLength(0);
            }
        }
        stdout.append(out);
        stdout.flush();
        if (stdout.checkError())
            System.exit(1);
    }
}
