import com.azure.cosmos.CosmosClient;
import com.azure.cosmos.CosmosClientBuilder;
import com.azure.cosmos.CosmosContainer;
import com.azure.cosmos.CosmosException;
import com.azure.cosmos.models.CosmosBatch;
import com.azure.cosmos.models.CosmosBatchResponse;
import com.azure.cosmos.models.CosmosBulkOperations;
import com.azure.cosmos.models.CosmosChangeFeedRequestOptions;
import com.azure.cosmos.models.CosmosContainerProperties;
import com.azure.cosmos.models.CosmosItemOperation;
import com.azure.cosmos.models.CosmosItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchItemRequestOptions;
import com.azure.cosmos.models.CosmosPatchOperations;
import com.azure.cosmos.models.CosmosQueryRequestOptions;
import com.azure.cosmos.models.CosmosStoredProcedureProperties;
import com.azure.cosmos.models.FeedRange;
import com.azure.cosmos.models.PartitionKey;
import com.azure.cosmos.models.PartitionKeyBuilder;
import com.azure.cosmos.models.PartitionKeyDefinition;
import com.azure.cosmos.models.PartitionKeyDefinitionVersion;
import com.azure.cosmos.models.PartitionKind;
import com.azure.cosmos.models.SqlParameter;
import com.azure.cosmos.models.SqlQuerySpec;
import com.azure.cosmos.models.UniqueKey;
import com.azure.cosmos.models.UniqueKeyPolicy;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

class CosmosCases {
    static final Map<String, Main.Case> CASES = new TreeMap<>();
    static final PartitionKey P = new PartitionKey("p"), Q = new PartitionKey("q");
    static final String KEY = System.getenv("COSMOS_KEY");

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
        CASES.put("containers", () -> client(KEY, client -> {
            client.createDatabase("containers");
            var database = client.getDatabase("containers");
            database.createContainer("one", "/pk");
            var read = database.getContainer("one").read().getProperties().getIndexingPolicy().getIncludedPaths();
            Main.equal(read.stream().map(p -> p.getPath()).toList(), List.of("/*"));
            Main.equal(database.readAllContainers().stream().map(c -> c.getId()).toList(), List.of("one"));
            Main.equal(database.queryContainers("SELECT * FROM c WHERE c.id = 'one'").stream().count(), 1L);
            Main.equal(client.readAllDatabases().stream().filter(d -> d.getId().equals("containers")).count(), 1L);
            database.getContainer("one").delete();
            database.delete();
            fails(404, database::read);
        }));
        CASES.put("statuses", () -> container("statuses", c -> {
            c.createItem(item("1", 1));
            fails(409, () -> c.createItem(item("1", 1)));
            fails(404, () -> c.replaceItem(item("2", 1), "2", P, new CosmosItemRequestOptions()));
            fails(404, () -> c.deleteItem("1", Q, new CosmosItemRequestOptions()));
            fails(412, () -> c.deleteItem("1", P, new CosmosItemRequestOptions().setIfMatchETag("\"0\"")));
        }));
        CASES.put("upsert", () -> container("upsert", c -> {
            Main.equal(c.upsertItem(item("1", 1)).getStatusCode(), 201);
            Main.equal(c.upsertItem(item("1", 2)).getStatusCode(), 200);
            Main.equal(number(c, "1"), 2);
        }));
        CASES.put("patch", () -> container("patch", c -> {
            c.createItem(item("1", 1));
            var operations = CosmosPatchOperations.create().set("/text", "x").increment("/n", 2);
            c.patchItem("1", P, operations, Map.class);
            Main.equal(number(c, "1"), 3);
            var options = new CosmosPatchItemRequestOptions().setFilterPredicate("FROM c WHERE c.n = 1");
            fails(412, () -> c.patchItem("1", P, operations, options, Map.class));
            Main.equal(number(c, "1"), 3);
        }));
        CASES.put("batch", () -> container("batch", c -> {
            c.createItem(item("1", 1));
            var batch = CosmosBatch.createCosmosBatch(P);
            batch.createItemOperation(item("2", 1));
            batch.replaceItemOperation("1", item("1", 2));
            batch.patchItemOperation("1", CosmosPatchOperations.create().increment("/n", 5));
            batch.deleteItemOperation("2");
            Main.equal(statuses(c.executeCosmosBatch(batch)), List.of(201, 200, 200, 204));
            Main.equal(number(c, "1"), 7);
        }));
        CASES.put("batch-rollback", () -> container("batch-rollback", c -> {
            c.createItem(item("1", 1));
            var batch = CosmosBatch.createCosmosBatch(P);
            batch.createItemOperation(item("2", 1));
            batch.createItemOperation(item("1", 1));
            Main.equal(statuses(c.executeCosmosBatch(batch)), List.of(424, 409));
            fails(404, () -> c.readItem("2", P, Map.class));
        }));
        CASES.put("partition-query", () -> container("partition-query", c -> {
            spread(c);
            var options = new CosmosQueryRequestOptions().setPartitionKey(P);
            Main.equal(all(c, "SELECT VALUE c.n FROM c ORDER BY c.n DESC", options, 2), List.of(8, 6, 4, 2, 0));
            Main.equal(all(c, "SELECT VALUE COUNT(1) FROM c", options, 2), List.of(5));
            String query = "SELECT VALUE c.n FROM c ORDER BY c.n";
            var first = c.queryItems(query, options, Integer.class).iterableByPage(2).iterator().next();
            Main.equal(first.getResults(), List.of(0, 2));
            var next = c.queryItems(query, options, Integer.class).iterableByPage(first.getContinuationToken(), 2).iterator().next();
            Main.equal(next.getResults(), List.of(4, 6));
        }));
        CASES.put("all-partitions", () -> container("all-partitions", c -> {
            spread(c);
            for (int size : new int[] {100, 3}) {
                var found = all(c, "SELECT VALUE c.n FROM c WHERE c.n > 5", new CosmosQueryRequestOptions(), size);
                Main.equal(found.stream().sorted().toList(), List.of(6, 7, 8, 9));
            }
        }));
        CASES.put("all-partitions-order", () -> container("all-partitions-order", c -> {
            spread(c);
            for (int size : new int[] {100, 3}) {
                var options = new CosmosQueryRequestOptions();
                Main.equal(all(c, "SELECT VALUE c.n FROM c ORDER BY c.n DESC", options, size), List.of(9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
                Main.equal(all(c, "SELECT VALUE COUNT(1) FROM c WHERE c.n > 2", options, size), List.of(7));
                Main.equal(all(c, "SELECT TOP 4 VALUE c.n FROM c ORDER BY c.n", options, size), List.of(0, 1, 2, 3));
                Main.equal(all(c, "SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 4 LIMIT 3", options, size), List.of(4, 5, 6));
            }
        }));
        CASES.put("hierarchical-key", () -> hierarchy("hierarchical-key", c -> {
            var key = new PartitionKeyBuilder().add("a").add("y").build();
            Main.equal(c.readItem("2", key, Map.class).getItem().get("n"), 2);
            Main.equal(all(c, "SELECT VALUE c.n FROM c", new CosmosQueryRequestOptions().setPartitionKey(key), 10), List.of(2));
        }));
        CASES.put("hierarchical-prefix", () -> hierarchy("hierarchical-prefix", c -> {
            var options = new CosmosQueryRequestOptions().setPartitionKey(new PartitionKeyBuilder().add("a").build());
            Main.equal(all(c, "SELECT VALUE c.n FROM c ORDER BY c.n", options, 10), List.of(1, 2));
        }));
        CASES.put("bulk", () -> container("bulk", c -> {
            c.createItem(Map.of("id", "7", "pk", "p7"));
            List<CosmosItemOperation> operations = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                operations.add(CosmosBulkOperations.getCreateItemOperation(Map.of("id", "" + i, "pk", "p" + i), new PartitionKey("p" + i)));
            }
            List<Integer> failed = new ArrayList<>();
            for (var response : c.executeBulkOperations(operations)) {
                if (response.getResponse().getStatusCode() != 201) {
                    failed.add(response.getResponse().getStatusCode());
                }
            }
            Main.equal(failed, List.of(409));
            Main.equal(all(c, "SELECT VALUE COUNT(1) FROM c", new CosmosQueryRequestOptions(), 100), List.of(50));
        }));
        CASES.put("too-large", () -> container("too-large", c ->
            fails(413, () -> c.createItem(Map.of("id", "1", "pk", "p", "text", "x".repeat(3 << 20))))));
        CASES.put("wrong-partition-key", () -> container("wrong-partition-key", c ->
            Main.equal(fails(400, () -> c.createItem(item("1", 1), Q, new CosmosItemRequestOptions())).getSubStatusCode(), 1001)));
        CASES.put("missing-container", () -> client(KEY, client -> {
            client.createDatabaseIfNotExists("clients");
            fails(404, () -> client.getDatabase("clients").getContainer("none").readItem("1", P, Map.class));
        }));
        CASES.put("wrong-key", () -> {
            try {
                client("d3Jvbmc=", client -> client.createDatabase("wrong-key"));
            } catch (RuntimeException e) { // the client reads the account before its first call
                Main.equal(e.getMessage().contains("StatusCode: Unauthorized"), true);
                return;
            }
            throw new AssertionError("no status 401");
        });
        CASES.put("change-feed", () -> container("change-feed", c -> {
            spread(c);
            c.queryChangeFeed(CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(FeedRange.forLogicalPartition(P)), Map.class).stream().count();
        }));
        CASES.put("stored-procedures", () -> container("stored-procedures", c ->
            c.getScripts().createStoredProcedure(new CosmosStoredProcedureProperties("f", "function f() {}"))));
        CASES.put("unique-keys", () -> client(KEY, client -> {
            client.createDatabaseIfNotExists("clients");
            var keys = new UniqueKeyPolicy().setUniqueKeys(List.of(new UniqueKey(List.of("/n"))));
            client.getDatabase("clients").createContainer(new CosmosContainerProperties("unique-keys", "/pk").setUniqueKeyPolicy(keys));
        }));
    }

    static Map<String, Object> item(String id, int n) {
        return Map.of("id", id, "pk", "p", "n", n);
    }

    static Object number(CosmosContainer c, String id) {
        return c.readItem(id, P, Map.class).getItem().get("n");
    }

    static List<Integer> statuses(CosmosBatchResponse response) {
        return response.getResults().stream().map(r -> r.getStatusCode()).toList();
    }

    /** Reads all pages of a query that selects numbers. */
    static List<Integer> all(CosmosContainer c, String query, CosmosQueryRequestOptions options, int size) {
        List<Integer> all = new ArrayList<>();
        c.queryItems(query, options, Integer.class).iterableByPage(size).forEach(page -> all.addAll(page.getResults()));
        return all;
    }

    /** Creates 10 items: those with an even n in partition p, the others in q. */
    static void spread(CosmosContainer c) {
        for (int n = 9; n >= 0; n--) {
            c.createItem(Map.of("id", "" + n, "pk", n % 2 == 1 ? "q" : "p", "n", n));
        }
    }

    interface Use<T> {
        void use(T value) throws Exception;
    }

    static void client(String key, Use<CosmosClient> use) throws Exception {
        var builder = new CosmosClientBuilder().endpoint(System.getenv("COSMOS_ENDPOINT")).key(key).gatewayMode();
        try (var client = builder.buildClient()) {
            use.use(client);
        }
    }

    /** Creates a container with the partition key /pk and calls use with it. */
    static void container(String name, Use<CosmosContainer> use) throws Exception {
        container(new CosmosContainerProperties(name, "/pk"), use);
    }

    static void container(CosmosContainerProperties properties, Use<CosmosContainer> use) throws Exception {
        client(KEY, client -> {
            client.createDatabaseIfNotExists("clients");
            var database = client.getDatabase("clients");
            database.createContainer(properties);
            use.use(database.getContainer(properties.getId()));
        });
    }

    /** Creates a container with three items under a key of two levels. */
    static void hierarchy(String name, Use<CosmosContainer> use) throws Exception {
        var key = new PartitionKeyDefinition().setPaths(List.of("/a", "/b")).setKind(PartitionKind.MULTI_HASH).setVersion(PartitionKeyDefinitionVersion.V2);
        container(new CosmosContainerProperties(name, key), c -> {
            c.createItem(Map.of("id", "1", "a", "a", "b", "x", "n", 1));
            c.createItem(Map.of("id", "2", "a", "a", "b", "y", "n", 2));
            c.createItem(Map.of("id", "3", "a", "b", "b", "x", "n", 3));
            use.use(c);
        });
    }

    /** Checks the status of an error and returns the error. */
    static CosmosException fails(int status, Main.Case c) throws Exception {
        try {
            c.run();
        } catch (CosmosException e) {
            Main.equal(e.getStatusCode(), status);
            return e;
        }
        throw new AssertionError("no status " + status);
    }
}
