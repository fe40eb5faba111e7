import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.File;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Runs the cases of local/clients with the packages for Java. */
public class Main {
    /** A case fails by throwing. */
    interface Case {
        void run() throws Exception;
    }

    static final String CLIENT = "java";

    /** LIMIT is the number of seconds that a case may take. */
    static final int LIMIT = 60;

    static final Map<String, Map<String, Case>> PROGRAMS = Map.of("servicebus", ServiceBusCases.CASES, "cosmos", CosmosCases.CASES, "blob", BlobCases.CASES);

    public static void main(String[] args) throws Exception {
        List<String> prefixes = Arrays.asList(args).subList(1, args.length);
        Map<String, Integer> count = new TreeMap<>(Map.of("PASS", 0, "FAIL", 0, "REFUSED", 0));
        for (JsonNode c : new ObjectMapper().readTree(new File(args[0]))) {
            String service = c.get("service").asText(), name = service + "/" + c.get("name").asText();
            if (!prefixes.isEmpty() && prefixes.stream().noneMatch(name::startsWith) || c.at("/without/" + CLIENT).isTextual()) {
                continue;
            }
            String[] result = judge(execute(PROGRAMS.get(service).get(c.get("name").asText())), c.path("refused").asText());
            count.merge(result[0], 1, Integer::sum);
            System.out.println(result[0] + " " + name + (result[1].isEmpty() ? "" : ": " + result[1]));
        }
        System.out.printf("%d passed, %d failed, %d refused%n", count.get("PASS"), count.get("FAIL"), count.get("REFUSED"));
        System.exit(count.get("FAIL") > 0 ? 1 : 0);
    }

    /** Returns the error of a case. */
    static Throwable execute(Case c) {
        if (c == null) {
            return new IllegalStateException("the " + CLIENT + " client does not implement the case");
        }
        var thread = Executors.newSingleThreadExecutor();
        try {
            return thread.submit(() -> {
                try {
                    c.run();
                    return null;
                } catch (Throwable e) {
                    return e;
                }
            }).get(LIMIT, TimeUnit.SECONDS);
        } catch (TimeoutException e) {
            return new IllegalStateException("no end within " + LIMIT + "s");
        } catch (Exception e) {
            return e;
        } finally {
            thread.shutdownNow();
        }
    }

    /** Compares the error of a case with the refusal that cases.json expects. */
    static String[] judge(Throwable error, String refused) {
        if (error == null) {
            return refused.isEmpty() ? new String[] {"PASS", ""} : new String[] {"FAIL", "the server does not refuse " + refused};
        }
        String note = error.toString().replaceAll("\\s+", " ");
        boolean clear = !refused.isEmpty() && note.toLowerCase().contains(refused.toLowerCase());
        return new String[] {clear ? "REFUSED" : "FAIL", note};
    }

    static void equal(Object got, Object want) {
        if (!want.equals(got)) {
            throw new AssertionError("got " + got + ", want " + want);
        }
    }
}
