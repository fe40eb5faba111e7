import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

class CosmosCases {
    static final Map<String, Main.Case> CASES = new TreeMap<>();
    static final PartitionKey P = new PartitionKey("p");

    static {
        System.setProperty("COSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED", "true");
        CASES.put("items", () -> container("items", c -> {
            c.createItem(item("1", 1));
            c.replaceItem(item("1", 2), "1", P, new CosmosItemRequestOptions());
            Main.equal(c.readItem("1", P, Map.class).getItem().get("n"), 2);
            c.deleteItem("1", P, new CosmosItemRequestOptions());
            fails(404, () -> c.readItem("1", P, Map.class));
        }));
        CASES.put("query", () -> container("query", c -> {
            for (int n = 0; n < 3; n++) {
                c.createItem(item("" + n, n));
            }
            var query = new SqlQuerySpec("SELECT * FROM c WHERE c.n > @n ORDER BY c.n", new SqlParameter("@n", 0));
            var items = c.queryItems(query, new CosmosQueryRequestOptions().setPartitionKey(P), Map.class);
            Main.equal(items.stream().map(i -> i.get("n")).toList(), List.of(1, 2));
        }));
        CASES.put("etag", () -> container("etag", c -> {
            var options = new CosmosItemRequestOptions().setIfMatchETag(c.createItem(item("1", 1)).getETag());
            c.replaceItem(item("1", 2), "1", P, options);
            fails(412, () -> c.replaceItem(item("1", 3), "1", P, options));
        }));
    }

    static Map<String, Object> item(String id, int n) {
        return Map.of("id", id, "pk", "p", "n", n);
    }

    interface Use {
        void use(CosmosContainer container) throws Exception;
    }

    /** Creates a container with the partition key /pk and calls use with it. */
    static void container(String name, Use use) throws Exception {
        var builder = new CosmosClientBuilder().endpoint(System.getenv("COSMOS_ENDPOINT")).key(System.getenv("COSMOS_KEY")).gatewayMode();
        try (var client = builder.buildClient()) {
            client.createDatabaseIfNotExists("clients");
            var database = client.getDatabase("clients");
            database.createContainer(name, "/pk");
            use.use(database.getContainer(name));
        }
    }

    /** Checks the status of an error. */
    static void fails(int status, Main.Case c) throws Exception {
        try {
            c.run();
        } catch (CosmosException e) {
            Main.equal(e.getStatusCode(), status);
            return;
        }
        throw new AssertionError("no status " + status);
    }
}
