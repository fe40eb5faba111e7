import os

from azure.core import MatchConditions
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.exceptions import CosmosHttpResponseError

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


def container(name):
    """Creates a container with the partition key /pk."""
    client = CosmosClient(os.environ["COSMOS_ENDPOINT"], os.environ["COSMOS_KEY"])
    return client.create_database_if_not_exists("clients").create_container(name, PartitionKey("/pk"))


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
