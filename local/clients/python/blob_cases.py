import os

from azure.core import MatchConditions
from azure.core.exceptions import HttpResponseError
from azure.identity import ClientSecretCredential
from azure.storage.blob import BlobServiceClient, ContentSettings

cases = {}
ENV = os.environ


def case(name):
    def add(f):
        cases[name] = f
        return f

    return add


@case("upload")
def _():
    b = container("upload").get_blob_client("a folder/größe.txt")
    b.upload_blob(b"hello", content_settings=ContentSettings(content_type="text/plain"), metadata={"generation": "7"})
    equal(b.download_blob().readall(), b"hello")
    p = b.get_blob_properties()
    equal((p.content_settings.content_type, p.size, p.metadata["generation"]), ("text/plain", 5, "7"))


@case("conditions")
def _():
    b = container("conditions").get_blob_client("a")
    etag = b.upload_blob(b"one")["etag"]  # with If-None-Match: *
    fails(409, lambda: b.upload_blob(b"two"))

    def replace(text):
        b.upload_blob(text, overwrite=True, etag=etag, match_condition=MatchConditions.IfNotModified)

    replace(b"two")
    fails(412, lambda: replace(b"three"))
    equal(b.download_blob().readall(), b"two")


@case("list")
def _():
    c = container("list")
    for name in ["a/1", "a/2", "a/3", "b/1"]:
        c.upload_blob(name, b"x", metadata={"name": name[-1]})
    pages = c.list_blobs(name_starts_with="a/", include=["metadata"], results_per_page=2).by_page()
    got = [["%s %s" % (item.name, item.metadata["name"]) for item in page] for page in pages]
    equal(got, [["a/1 1", "a/2 2"], ["a/3 3"]])


@case("delete")
def _():
    b = container("delete").get_blob_client("a")
    etag = b.upload_blob(b"one")["etag"]
    b.upload_blob(b"two", overwrite=True)
    fails(412, lambda: b.delete_blob(etag=etag, match_condition=MatchConditions.IfNotModified))
    b.delete_blob()
    fails(404, b.delete_blob)
    fails(404, b.get_blob_properties)


@case("container")
def _():
    c = container("container")
    fails(409, c.create_container)
    c.upload_blob("a", b"one")
    c.delete_container()
    fails(404, lambda: c.upload_blob("a", b"one"))


@case("append-blob")
def _():
    container("append").get_blob_client("a").create_append_blob()


@case("shared-key")
def _():
    service({"account_name": "local", "account_key": "a2V5"}).create_container("shared-key")


def service(credential):
    return BlobServiceClient(ENV["BLOB_ENDPOINT"], credential, connection_verify=ENV["CA_FILE"], retry_total=0)


def container(name):
    """Creates a container."""
    credential = ClientSecretCredential(
        ENV["TENANT_ID"], ENV["CLIENT_ID"], ENV["CLIENT_SECRET"], authority=ENV["ENTRA_AUTHORITY"], disable_instance_discovery=True, connection_verify=ENV["CA_FILE"]
    )
    return service(credential).create_container(name)


def fails(status, f):
    """Checks the status of an error."""
    try:
        f()
    except HttpResponseError as e:
        equal(e.status_code, status)
        return
    raise AssertionError("no status %d" % status)


def equal(got, want):
    assert got == want, "got %r, want %r" % (got, want)
