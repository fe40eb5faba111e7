import com.azure.core.util.BinaryData;
import com.azure.core.util.Context;
import com.azure.identity.ClientSecretCredentialBuilder;
import com.azure.storage.blob.BlobContainerClient;
import com.azure.storage.blob.BlobServiceClient;
import com.azure.storage.blob.BlobServiceClientBuilder;
import com.azure.storage.blob.models.BlobHttpHeaders;
import com.azure.storage.blob.models.BlobListDetails;
import com.azure.storage.blob.models.BlobRequestConditions;
import com.azure.storage.blob.models.BlobStorageException;
import com.azure.storage.blob.models.ListBlobsOptions;
import com.azure.storage.blob.options.BlobParallelUploadOptions;
import com.azure.storage.common.StorageSharedKeyCredential;
import com.azure.storage.common.policy.RequestRetryOptions;
import com.azure.storage.common.policy.RetryPolicyType;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

class BlobCases {
    static final Map<String, Main.Case> CASES = new TreeMap<>();

    static {
        CASES.put("upload", () -> {
            var b = container("upload").getBlobClient("a folder/größe.txt");
            b.uploadWithResponse(new BlobParallelUploadOptions(BinaryData.fromString("hello"))
                .setHeaders(new BlobHttpHeaders().setContentType("text/plain")).setMetadata(Map.of("generation", "7")), null, Context.NONE);
            Main.equal(b.downloadContent().toString(), "hello");
            var p = b.getProperties();
            Main.equal(List.of(p.getContentType(), p.getBlobSize(), p.getMetadata().get("generation")), List.of("text/plain", 5L, "7"));
        });
        CASES.put("conditions", () -> {
            var c = container("conditions");
            String etag = put(c, "one", new BlobRequestConditions().setIfNoneMatch("*"));
            fails(409, () -> put(c, "two", new BlobRequestConditions().setIfNoneMatch("*")));
            put(c, "two", new BlobRequestConditions().setIfMatch(etag));
            fails(412, () -> put(c, "three", new BlobRequestConditions().setIfMatch(etag)));
            Main.equal(c.getBlobClient("a").downloadContent().toString(), "two");
        });
        CASES.put("list", () -> {
            var c = container("list");
            for (String name : List.of("a/1", "a/2", "a/3", "b/1")) {
                c.getBlobClient(name).uploadWithResponse(
                    new BlobParallelUploadOptions(BinaryData.fromString("x")).setMetadata(Map.of("name", name.substring(2))), null, Context.NONE);
            }
            var options = new ListBlobsOptions().setPrefix("a/").setDetails(new BlobListDetails().setRetrieveMetadata(true)).setMaxResultsPerPage(2);
            var pages = new ArrayList<List<String>>();
            for (var page : c.listBlobs(options, null).iterableByPage()) {
                pages.add(page.getValue().stream().map(item -> item.getName() + " " + item.getMetadata().get("name")).toList());
            }
            Main.equal(pages, List.of(List.of("a/1 1", "a/2 2"), List.of("a/3 3")));
        });
        CASES.put("delete", () -> {
            var c = container("delete");
            var b = c.getBlobClient("a");
            String etag = put(c, "one", null);
            put(c, "two", null);
            fails(412, () -> b.deleteWithResponse(null, new BlobRequestConditions().setIfMatch(etag), null, Context.NONE));
            b.delete();
            fails(404, b::delete);
            fails(404, b::getProperties);
        });
        CASES.put("container", () -> {
            var c = container("container");
            fails(409, c::create);
            put(c, "one", null);
            c.delete();
            fails(404, () -> put(c, "one", null));
        });
        CASES.put("append-blob", () -> container("append").getBlobClient("a").getAppendBlobClient().create());
        CASES.put("shared-key", () -> builder().credential(new StorageSharedKeyCredential("local", "a2V5")).buildClient().createBlobContainer("shared-key"));
    }

    static BlobServiceClientBuilder builder() {
        return new BlobServiceClientBuilder().endpoint(System.getenv("BLOB_ENDPOINT"))
            .retryOptions(new RequestRetryOptions(RetryPolicyType.FIXED, 1, 10, null, null, null));
    }

    /** Creates a container. */
    static BlobContainerClient container(String name) {
        BlobServiceClient service = builder().credential(new ClientSecretCredentialBuilder()
            .tenantId(System.getenv("TENANT_ID")).clientId(System.getenv("CLIENT_ID")).clientSecret(System.getenv("CLIENT_SECRET"))
            .authorityHost(System.getenv("ENTRA_AUTHORITY")).disableInstanceDiscovery().build()).buildClient();
        return service.createBlobContainer(name);
    }

    /** Uploads a text and returns its ETag. */
    static String put(BlobContainerClient c, String text, BlobRequestConditions conditions) {
        var options = new BlobParallelUploadOptions(BinaryData.fromString(text)).setRequestConditions(conditions);
        return c.getBlobClient("a").uploadWithResponse(options, null, Context.NONE).getValue().getETag();
    }

    /** Checks the status of an error. */
    static void fails(int status, Main.Case c) throws Exception {
        try {
            c.run();
        } catch (BlobStorageException e) {
            Main.equal(e.getStatusCode(), status);
            return;
        }
        throw new AssertionError("no status " + status);
    }
}
