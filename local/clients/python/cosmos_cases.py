import base64
import os

from azure.core import MatchConditions
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.exceptions import CosmosBatchOperationError, CosmosHttpResponseError

cases = {}


def case(name):
    def add(f):
        cases[name] = f
        return f

    return add


@case("items")
def _():
    c = container("items")
    c.create_item({"id": "1", "pk": "p", "n": 1})
    c.replace_item("1", {"id": "1", "pk": "p", "n": 2})
    equal(c.read_item("1", "p")["n"], 2)
    c.delete_item("1", "p")
    fails(404, lambda: c.read_item("1", "p"))


@case("query")
def _():
    c = container("query")
    for n in range(3):
        c.create_item({"id": str(n), "pk": "p", "n": n})
    items = c.query_items("SELECT * FROM c WHERE c.n > @n ORDER BY c.n", parameters=[{"name": "@n", "value": 0}], partition_key="p")
    equal([item["n"] for item in items], [1, 2])


@case("etag")
def _():
    c = container("etag")
    etag = c.create_item({"id": "1", "pk": "p"})["_etag"]

    def replace():
        c.replace_item("1", {"id": "1", "pk": "p"}, etag=etag, match_condition=MatchConditions.IfNotModified)

    replace()
    fails(412, replace)


@case("account")
def _():
    equal(new_client().get_database_account().ConsistencyPolicy["defaultConsistencyLevel"], "Strong")


@case("containers")
def _():
    database = new_client().create_database("containers")
    c = database.create_container("one", PartitionKey("/pk"))
    equal(c.read()["indexingPolicy"]["includedPaths"], [{"path": "/*"}])
    equal([p["id"] for p in database.list_containers()], ["one"])
    equal([p["id"] for p in database.query_containers("SELECT * FROM c WHERE c.id = 'one'")], ["one"])
    assert "containers" in [d["id"] for d in new_client().list_databases()]
    database.delete_container("one")
    new_client().delete_database("containers")
    fails(404, database.read)


@case("statuses")
def _():
    c = container("statuses")
    c.create_item({"id": "1", "pk": "p"})
    fails(409, lambda: c.create_item({"id": "1", "pk": "p"}))
    fails(404, lambda: c.replace_item("2", {"id": "2", "pk": "p"}))
    fails(404, lambda: c.delete_item("1", "q"))
    fails(412, lambda: c.delete_item("1", "p", etag='"0"', match_condition=MatchConditions.IfNotModified))


@case("upsert")
def _():
    c = container("upsert")
    c.upsert_item({"id": "1", "pk": "p", "n": 1})
    c.upsert_item({"id": "1", "pk": "p", "n": 2})
    equal(c.read_item("1", "p")["n"], 2)


@case("patch")
def _():
    c = container("patch")
    c.create_item({"id": "1", "pk": "p", "n": 1})
    operations = [{"op": "set", "path": "/text", "value": "x"}, {"op": "incr", "path": "/n", "value": 2}]
    item = c.patch_item("1", "p", operations)
    equal([item["text"], item["n"]], ["x", 3])
    fails(412, lambda: c.patch_item("1", "p", operations, filter_predicate="FROM c WHERE c.n = 1"))
    equal(c.read_item("1", "p")["n"], 3)


@case("batch")
def _():
    c = container("batch")
    c.create_item({"id": "1", "pk": "p", "n": 1})
    results = c.execute_item_batch(
        [
            ("create", ({"id": "2", "pk": "p"},)),
            ("replace", ("1", {"id": "1", "pk": "p", "n": 2})),
            ("patch", ("1", [{"op": "incr", "path": "/n", "value": 5}])),
            ("delete", ("2",)),
        ],
        "p",
    )
    equal([r["statusCode"] for r in results], [201, 200, 200, 204])
    equal(c.read_item("1", "p")["n"], 7)


@case("batch-rollback")
def _():
    c = container("batch-rollback")
    c.create_item({"id": "1", "pk": "p"})
    try:
        c.execute_item_batch([("create", ({"id": "2", "pk": "p"},)), ("create", ({"id": "1", "pk": "p"},))], "p")
        raise AssertionError("the batch does not fail")
    except CosmosBatchOperationError as e:
        equal([r["statusCode"] for r in e.operation_responses], [424, 409])
    fails(404, lambda: c.read_item("2", "p"))


@case("partition-query")
def _():
    c = spread("partition-query")
    options = {"partition_key": "p", "max_item_count": 2}
    equal(list(c.query_items("SELECT VALUE c.n FROM c ORDER BY c.n DESC", **options)), [8, 6, 4, 2, 0])
    equal(list(c.query_items("SELECT VALUE COUNT(1) FROM c", **options)), [5])
    pages = c.query_items("SELECT VALUE c.n FROM c ORDER BY c.n", **options).by_page()
    equal(list(next(pages)), [0, 2])
    pages = c.query_items("SELECT VALUE c.n FROM c ORDER BY c.n", **options).by_page(pages.continuation_token)
    equal(list(next(pages)), [4, 6])


@case("all-partitions")
def _():
    c = spread("all-partitions")
    for size in [100, 3]:
        options = {"enable_cross_partition_query": True, "max_item_count": size}
        equal(sorted(c.query_items("SELECT VALUE c.n FROM c WHERE c.n > 5", **options)), [6, 7, 8, 9])
    equal(len(list(c.read_all_items())), 10)
    equal(len(c.read_items([("1", "q"), ("2", "p"), ("2", "q")])), 2)


@case("all-partitions-order")
def _():
    c = spread("all-partitions-order")
    for size in [100, 3]:
        options = {"enable_cross_partition_query": True, "max_item_count": size}
        equal(list(c.query_items("SELECT VALUE c.n FROM c ORDER BY c.n DESC", **options)), list(range(9, -1, -1)))
        equal(list(c.query_items("SELECT VALUE COUNT(1) FROM c WHERE c.n > 2", **options)), [7])
        equal(list(c.query_items("SELECT TOP 4 VALUE c.n FROM c ORDER BY c.n", **options)), [0, 1, 2, 3])
        equal(list(c.query_items("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 4 LIMIT 3", **options)), [4, 5, 6])


@case("hierarchical-key")
def _():
    c = hierarchy("hierarchical-key")
    equal(c.read_item("1", ["a", "x"])["n"], 1)
    equal(list(c.query_items("SELECT VALUE c.n FROM c", partition_key=["a", "y"])), [2])


@case("hierarchical-prefix")
def _():
    c = hierarchy("hierarchical-prefix")
    equal(list(c.query_items("SELECT VALUE c.n FROM c ORDER BY c.n", partition_key=["a"])), [1, 2])


@case("too-large")
def _():
    c = container("too-large")
    fails(413, lambda: c.create_item({"id": "1", "pk": "p", "text": "x" * (3 << 20)}))


@case("missing-container")
def _():
    database = new_client().create_database_if_not_exists("clients")
    fails(404, lambda: database.get_container_client("none").read_item("1", "p"))


@case("wrong-key")
def _():
    key = base64.b64encode(b"wrong").decode()
    fails(401, lambda: CosmosClient(os.environ["COSMOS_ENDPOINT"], key).create_database("wrong-key"))


@case("change-feed")
def _():
    list(spread("change-feed").query_items_change_feed(start_time="Beginning"))


@case("stored-procedures")
def _():
    container("stored-procedures").scripts.create_stored_procedure({"id": "f", "body": "function f() {}"})


@case("unique-keys")
def _():
    database = new_client().create_database_if_not_exists("clients")
    database.create_container("unique-keys", PartitionKey("/pk"), unique_key_policy={"uniqueKeys": [{"paths": ["/n"]}]})


def new_client():
    return CosmosClient(os.environ["COSMOS_ENDPOINT"], os.environ["COSMOS_KEY"])


def container(name, partition_key=None):
    """Creates a container with the partition key /pk."""
    return new_client().create_database_if_not_exists("clients").create_container(name, partition_key or PartitionKey("/pk"))


def spread(name):
    """Creates a container with 10 items: those with an even n in partition p, the others in q."""
    c = container(name)
    for n in range(9, -1, -1):
        c.create_item({"id": str(n), "pk": "q" if n % 2 else "p", "n": n})
    return c


def hierarchy(name):
    """Creates a container with three items under a key of two levels."""
    c = container(name, PartitionKey(["/a", "/b"], kind="MultiHash"))
    for a, b, n in [("a", "x", 1), ("a", "y", 2), ("b", "x", 3)]:
        c.create_item({"id": str(n), "a": a, "b": b, "n": n})
    return c


def fails(status, f):
    """Checks the status of an error."""
    try:
        f()
    except CosmosHttpResponseError as e:
        equal(e.status_code, status)
        return
    raise AssertionError("no status %d" % status)


def equal(got, want):
    assert got == want, "got %r, want %r" % (got, want)
