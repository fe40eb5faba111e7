package cosmos_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/local/cosmos"
)

// rawClient sends requests as the clients of other languages do.
type rawClient struct {
	t   *testing.T
	url string
	key []byte
}

type rawResponse struct {
	status int
	sub    string
	header http.Header
	body   string
}

func newRawClient(t *testing.T) rawClient {
	server := start(t, cosmos.Config{})
	key, err := base64.StdEncoding.DecodeString(server.Key())
	if err != nil {
		t.Fatal(err)
	}
	return rawClient{t: t, url: server.URL(), key: key}
}

// send sends a request that is signed over the resource type and the link. Headers are
// names and values in turn.
func (c rawClient) send(method, path, resourceType, link, body string, headers ...string) rawResponse {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.url+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	date := time.Now().UTC().Format(http.TimeFormat)
	mac := hmac.New(sha256.New, c.key)
	fmt.Fprintf(mac, "%s\n%s\n%s\n%s\n\n", strings.ToLower(method), resourceType, link, strings.ToLower(date))
	request.Header.Set("X-Ms-Date", date)
	request.Header.Set("Authorization", url.QueryEscape("type=master&ver=1.0&sig="+base64.StdEncoding.EncodeToString(mac.Sum(nil))))
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return rawResponse{response.StatusCode, response.Header.Get("X-Ms-Substatus"), response.Header, string(text)}
}

const rawColl = "dbs/db/colls/things"

// docs sends a request to the documents of the container.
func (c rawClient) docs(body string, headers ...string) rawResponse {
	c.t.Helper()
	return c.send("POST", "/"+rawColl+"/docs", "docs", rawColl, body, headers...)
}

func (r rawResponse) want(t *testing.T, status int, sub string, parts ...string) rawResponse {
	t.Helper()
	if r.status != status || r.sub != sub {
		t.Errorf("status %d, sub-status %q, want %d, %q: %s", r.status, r.sub, status, sub, r.body)
	}
	for _, part := range parts {
		if !strings.Contains(r.body, part) {
			t.Errorf("the answer has no %q: %s", part, r.body)
		}
	}
	return r
}

func (r rawResponse) member(t *testing.T, name string) any {
	t.Helper()
	var all map[string]any
	if err := json.Unmarshal([]byte(r.body), &all); err != nil {
		t.Fatalf("%v: %s", err, r.body)
	}
	return all[name]
}

// withContainer creates the container with some documents in two partitions.
func (c rawClient) withContainer(keyDefinition string, docs ...string) rawResponse {
	c.t.Helper()
	c.send("POST", "/dbs", "dbs", "", `{"id":"db"}`).want(c.t, 201, "")
	created := c.send("POST", "/dbs/db/colls", "colls", "dbs/db", `{"id":"things","partitionKey":`+keyDefinition+`}`).want(c.t, 201, "")
	for _, text := range docs {
		key, doc, _ := strings.Cut(text, " ")
		c.docs(doc, "x-ms-documentdb-partitionkey", key).want(c.t, 201, "")
	}
	return created
}

const hashV2 = `{"paths":["/pk"],"kind":"Hash","version":2}`

var threeDocs = []string{
	`["p1"] {"id":"a","pk":"p1","n":3}`,
	`["p2"] {"id":"a","pk":"p2","n":1}`,
	`["p2"] {"id":"b","pk":"p2","n":2}`,
}

func TestAccountHasWhatOtherClientsRead(t *testing.T) {
	t.Parallel()
	account := newRawClient(t).send("GET", "/", "", "", "").want(t, 200, "")
	configuration, _ := account.member(t, "queryEngineConfiguration").(string)
	if !json.Valid([]byte(configuration)) || !strings.Contains(configuration, "maxSqlQueryInputLength") {
		t.Errorf("queryEngineConfiguration is %q", configuration)
	}
	if account.member(t, "userReplicationPolicy") == nil {
		t.Error("userReplicationPolicy is missing")
	}
}

func TestResourceIDs(t *testing.T) {
	t.Parallel()
	c := newRawClient(t)
	created := c.withContainer(hashV2, threeDocs...)
	// The Java client makes links from the owner's path.
	if got := created.header.Get("X-Ms-Alt-Content-Path"); got != "dbs/db" {
		t.Errorf("the owner of the container is %q", got)
	}
	rid := created.member(t, "_rid").(string)
	raw, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(rid, "-", "/"))
	if err != nil || len(raw) != 8 || binary.BigEndian.Uint32(raw[4:])>>31 != 1 {
		t.Fatalf("the resource id %q (% x) is not a container's: %v", rid, raw, err)
	}
	database := c.send("GET", "/dbs/db", "dbs", "dbs/db", "").want(t, 200, "").member(t, "_rid").(string)
	path := "/dbs/" + url.PathEscape(database) + "/colls/" + url.PathEscape(rid)
	lower := strings.ToLower(rid)
	c.send("GET", path+"/pkranges", "pkranges", lower, "", "A-IM", "Incremental feed").want(t, 200, "", `"maxExclusive":"FF"`)
	c.send("GET", path, "colls", lower, "").want(t, 200, "", `"id":"things"`)
	c.send("GET", path+"/pkranges", "pkranges", rid+"x", "").want(t, 401, "")
	missing := base64.StdEncoding.EncodeToString(append(raw[:4:4], 0x80, 0, 0, 99))
	c.send("GET", "/dbs/"+url.PathEscape(database)+"/colls/"+url.PathEscape(missing)+"/pkranges", "pkranges", strings.ToLower(missing), "").want(t, 404, "1003")
}

func TestQueryOnFeedsByIsQuery(t *testing.T) {
	t.Parallel()
	c := newRawClient(t)
	c.withContainer(hashV2)
	for _, header := range []string{"x-ms-documentdb-query", "x-ms-documentdb-isquery"} {
		query := `{"query":"SELECT * FROM c WHERE c.id = @id","parameters":[{"name":"@id","value":"other"}]}`
		c.send("POST", "/dbs", "dbs", "", query, header, "True").want(t, 200, "", `"_count":0`)
		c.send("POST", "/dbs/db/colls", "colls", "dbs/db", query, header, "True").want(t, 200, "", `"_count":0`)
	}
}

func TestContainerHasTheDefaultPolicies(t *testing.T) {
	t.Parallel()
	c := newRawClient(t)
	created := c.withContainer(hashV2)
	read := c.send("GET", "/"+rawColl, "colls", rawColl, "").want(t, 200, "", `"path":"/*"`, `"path":"/\"_etag\"/?"`, "LastWriterWins")
	if created.body != read.body {
		t.Errorf("the created container is %s, read %s", created.body, read.body)
	}
	c.send("PUT", "/"+rawColl, "colls", rawColl, read.body).want(t, 200, "", `"path":"/\"_etag\"/?"`)
	c.send("POST", "/dbs/db/colls", "colls", "dbs/db", `{"id":"more","partitionKey":`+hashV2+`,"uniqueKeyPolicy":{"uniqueKeys":[]}}`).want(t, 201, "")
	// The Java client sends the version as text.
	c.send("POST", "/dbs/db/colls", "colls", "dbs/db", `{"id":"java","partitionKey":{"paths":["/a","/b"],"kind":"MultiHash","version":"V2"}}`).want(t, 201, "", `"version":2`)
	c.send("POST", "/dbs/db/colls", "colls", "dbs/db", `{"id":"bad","partitionKey":{"paths":["/a"],"version":"x"}}`).want(t, 400, "")
	c.send("POST", "/dbs/db/colls", "colls", "dbs/db", `{"id":"unique","partitionKey":`+hashV2+`,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a"]}]}}`).
		want(t, 400, "", "unique keys are not supported")
}

func TestQueryPlanThenRange(t *testing.T) {
	t.Parallel()
	c := newRawClient(t)
	rid := c.withContainer(hashV2, threeDocs...).member(t, "_rid").(string)
	isQuery := []string{"x-ms-documentdb-isquery", "True", "x-ms-documentdb-query-enablecrosspartition", "True"}
	for text, want := range map[string]string{
		"SELECT VALUE c.n FROM c ORDER BY c.n":                  `[1,2,3]`,
		"SELECT VALUE c.n FROM c ORDER BY c.n DESC":             `[3,2,1]`,
		"SELECT VALUE c.pk FROM c ORDER BY c.id":                `["p1","p2","p2"]`,
		"SELECT VALUE COUNT(1) FROM c":                          `[3]`,
		"SELECT TOP 2 VALUE c.n FROM c ORDER BY c.n":            `[1,2]`,
		"SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 1 LIMIT 1": `[2]`,
	} {
		body := `{"query":"` + text + `"}`
		refused := c.docs(body, isQuery...).want(t, 400, "1004", "across partitions")
		if info, _ := refused.member(t, "additionalErrorInfo").(string); !strings.Contains(info, "queryRanges") {
			t.Errorf("additionalErrorInfo is %q, want the plan", info)
		}
		plan := c.docs(body, "x-ms-cosmos-is-query-plan-request", "True").want(t, 200, "", `"distinctType":"None"`, `"hasSelectValue":true`)
		if got := fmt.Sprint(plan.member(t, "queryRanges")); got != "[map[isMaxInclusive:false isMinInclusive:true max:FF min:]]" {
			t.Errorf("queryRanges is %s", got)
		}
		for _, size := range []string{"1", "2", "100"} {
			for _, id := range []string{"0", rid + ",0"} {
				var rows []string
				for token := ""; ; {
					page := c.docs(body, append(isQuery, "x-ms-documentdb-partitionkeyrangeid", id, "x-ms-max-item-count", size, "x-ms-continuation", token)...).want(t, 200, "")
					var documents struct{ Documents []json.RawMessage }
					if err := json.Unmarshal([]byte(page.body), &documents); err != nil {
						t.Fatal(err)
					}
					for _, row := range documents.Documents {
						rows = append(rows, string(row))
					}
					if token = page.header.Get("X-Ms-Continuation"); token == "" {
						break
					}
				}
				if got := "[" + strings.Join(rows, ",") + "]"; got != want {
					t.Errorf("%s in pages of %s: %s, want %s", text, size, got, want)
				}
			}
		}
	}
	c.docs(`{"query":"SELECT c.n FROM c"}`, "x-ms-cosmos-is-query-plan-request", "True").want(t, 200, "", `"hasSelectValue":false`)
	for _, headers := range [][]string{{"x-ms-cosmos-is-query-plan-request", "True"}, append(isQuery, "x-ms-documentdb-partitionkeyrangeid", "0")} {
		c.docs(`{"query":"SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk"}`, headers...).want(t, 400, "", "COUNT")
		c.docs(`{"query":"SELECT DISTINCT VALUE c.pk FROM c"}`, headers...).want(t, 400, "", "DISTINCT is not supported")
	}
	all := `{"query":"SELECT * FROM c"}`
	c.docs(all, append(isQuery, "x-ms-documentdb-partitionkeyrangeid", "1")...).want(t, 410, "1002", "no partition key range")
	c.docs(all, append(isQuery, "x-ms-documentdb-partitionkeyrangeid", "AAAA,0")...).want(t, 400, "1024", "AAAA")
	c.docs(all, append(isQuery, "x-ms-cosmos-intended-collection-rid", "AAAA")...).want(t, 400, "1024", "AAAA")
}

// The Python client reads all items without a header for cross-partition queries.
func TestFeedOfAllPartitions(t *testing.T) {
	t.Parallel()
	c := newRawClient(t)
	c.withContainer(hashV2, threeDocs...)
	c.send("GET", "/"+rawColl+"/docs", "docs", rawColl, "").want(t, 200, "", `"_count":3`)
	c.docs(`{"query":"SELECT * FROM c"}`, "x-ms-documentdb-isquery", "True").want(t, 400, "", "not enabled")
}

func TestEffectivePartitionKeyRanges(t *testing.T) {
	t.Parallel()
	c := newRawClient(t)
	c.withContainer(`{"paths":["/a","/b"],"kind":"MultiHash","version":2}`,
		`["a","x"] {"id":"1","a":"a","b":"x","n":2}`, `["a","y"] {"id":"2","a":"a","b":"y","n":1}`, `["b","x"] {"id":"3","a":"b","b":"x","n":0}`)
	ranged := []string{"x-ms-documentdb-isquery", "True", "x-ms-documentdb-query-enablecrosspartition", "True", "x-ms-documentdb-partitionkeyrangeid", "0"}
	const prefixA = "3A5381E1114EB8D3FCC90795045B49B7"
	ofA := append(slices.Clone(ranged), "x-ms-start-epk", prefixA, "x-ms-end-epk", prefixA+"FF")
	c.docs(`{"query":"SELECT VALUE c.id FROM c"}`, append(ranged, "x-ms-start-epk", "", "x-ms-end-epk", "FF")...).want(t, 200, "", `["1","2","3"]`)
	c.docs(`{"query":"SELECT VALUE c.id FROM c"}`, ofA...).want(t, 200, "", `["1","2"]`)
	c.docs(`{"query":"SELECT VALUE c.id FROM c ORDER BY c.n"}`, ofA...).want(t, 200, "", `["2","1"]`)
	c.docs(`{"query":"SELECT VALUE COUNT(1) FROM c"}`, ofA...).want(t, 200, "", `[2]`)
	first := c.docs(`{"query":"SELECT VALUE c.id FROM c"}`, append(ofA, "x-ms-max-item-count", "1")...).want(t, 200, "", `["1"]`)
	c.docs(`{"query":"SELECT VALUE c.id FROM c"}`, append(ranged, "x-ms-continuation", first.header.Get("X-Ms-Continuation"))...).want(t, 400, "", "another query")
	c.docs(`{"query":"SELECT VALUE c.id FROM c"}`, append(ranged, "x-ms-start-epk", "no", "x-ms-end-epk", "FF")...).want(t, 400, "", "hexadecimal")
	c.docs(`{"query":"SELECT VALUE c.id FROM c"}`, append(ranged, "x-ms-start-epk", "B0", "x-ms-end-epk", "A0")...).want(t, 400, "", "less than")
	c.docs(`{"id":"4","a":"a","b":"x"}`, "x-ms-documentdb-partitionkey", `["a","x"]`, "x-ms-start-epk", "A0", "x-ms-end-epk", "B0").want(t, 400, "", "x-ms-start-epk")

	// The Java and JavaScript clients send the prefix as the partition key.
	byKey := append(slices.Clone(ranged[:4]), "x-ms-documentdb-partitionkey", `["a"]`)
	c.docs(`{"query":"SELECT VALUE c.id FROM c ORDER BY c.n"}`, byKey...).want(t, 200, "", `["2","1"]`)
	c.docs(`{"query":"SELECT VALUE c.id FROM c WHERE c.a = 'b' AND c.b = 'x'"}`, byKey...).want(t, 200, "", `[]`)
	c.docs(`{"query":"SELECT VALUE c.id FROM c"}`, append(ranged, "x-ms-documentdb-partitionkey", `["a","x","z"]`)...).want(t, 400, "1001", "components")
	c.docs(`{"query":"SELECT VALUE c.id FROM c"}`, append(ranged, "x-ms-documentdb-partitionkey", `[]`)...).want(t, 400, "1001", "components")

	old := newRawClient(t)
	old.withContainer(`{"paths":["/pk"],"kind":"Hash"}`, threeDocs...)
	old.docs(`{"query":"SELECT VALUE c.id FROM c"}`, ofA...).want(t, 400, "", "version 1")
}

func TestSubStatuses(t *testing.T) {
	t.Parallel()
	c := newRawClient(t)
	c.withContainer(hashV2, threeDocs...)
	const p1 = `["p1"]`
	c.send("POST", "/dbs/db/colls/none/docs", "docs", "dbs/db/colls/none", `{"id":"x","pk":"p1"}`, "x-ms-documentdb-partitionkey", p1).want(t, 404, "1003")
	c.send("GET", "/dbs/none/colls/things", "colls", "dbs/none/colls/things", "").want(t, 404, "1003")
	c.send("GET", "/dbs/db/colls/none", "colls", "dbs/db/colls/none", "").want(t, 404, "")
	c.send("GET", "/"+rawColl+"/docs/none", "docs", rawColl+"/docs/none", "", "x-ms-documentdb-partitionkey", p1).want(t, 404, "")
	c.docs(`{"id":"x","pk":"p2"}`, "x-ms-documentdb-partitionkey", p1).want(t, 400, "1001", "partition key")
	c.docs(`{"id":"x","pk":"p1"}`, "x-ms-documentdb-partitionkey", `["p1","p2"]`).want(t, 400, "1001", "components")
	c.docs(`{"query":"SELECT VALUE COUNT(1) FROM c"}`, "x-ms-documentdb-isquery", "True", "x-ms-documentdb-query-enablecrosspartition", "True").want(t, 400, "1004")
}

func TestBarePatchArray(t *testing.T) {
	t.Parallel()
	c := newRawClient(t)
	c.withContainer(hashV2, threeDocs...)
	patch := func(body string) rawResponse {
		return c.send("PATCH", "/"+rawColl+"/docs/a", "docs", rawColl+"/docs/a", body, "x-ms-documentdb-partitionkey", `["p1"]`)
	}
	patch(` [{"op":"incr","path":"/n","value":4}]`).want(t, 200, "", `"n":7`)
	patch(`[]`).want(t, 400, "", "1 to 10 operations")
	patch(`[{"op":"incr","path":"/n"}]`).want(t, 400, "", "value")
}

func TestBatchesOfOtherClients(t *testing.T) {
	t.Parallel()
	c := newRawClient(t)
	c.withContainer(hashV2, threeDocs...)
	batch := []string{"x-ms-cosmos-is-batch-request", "True", "x-ms-cosmos-batch-atomic", "True", "x-ms-documentdb-partitionkey", `["p1"]`}
	c.docs("\x81\x00\x00\x00", batch...).want(t, 400, "", "HybridRow")

	bulk := []string{"x-ms-cosmos-is-batch-request", "True", "x-ms-cosmos-batch-atomic", "False", "x-ms-documentdb-partitionkeyrangeid", "0"}
	operations := `[{"operationType":"Create","partitionKey":"[\"p3\"]","resourceBody":{"id":"c","pk":"p3"}},` +
		`{"operationType":"Create","partitionKey":"[\"p1\"]","resourceBody":{"id":"a","pk":"p1"}},` +
		`{"operationType":"Read","partitionKey":"[\"p2\"]","id":"b"},` +
		`{"operationType":"Upsert","partitionKey":"[\"p2\"]","resourceBody":{"id":"d","pk":"p1"}},` +
		`{"operationType":"Delete","id":"b"}]`
	statuses := func(r rawResponse) string {
		var results []struct{ StatusCode, SubStatusCode int }
		if err := json.Unmarshal([]byte(r.body), &results); err != nil {
			t.Fatalf("%v: %s", err, r.body)
		}
		return fmt.Sprint(results)
	}
	if got, want := statuses(c.docs(operations, bulk...).want(t, 207, "")), "[{201 0} {409 0} {424 0} {424 0} {424 0}]"; got != want {
		t.Errorf("statuses %s, want %s", got, want)
	}
	operations = strings.Replace(operations, `"c"`, `"e"`, 1)
	continued := c.docs(operations, append(bulk, "x-ms-cosmos-batch-continue-on-error", "True")...).want(t, 207, "", `"n":2`)
	if got, want := statuses(continued), "[{201 0} {409 0} {200 0} {400 1001} {400 1001}]"; got != want {
		t.Errorf("statuses %s, want %s", got, want)
	}
	c.docs("\x81\x00\x00\x00", bulk...).want(t, 400, "", "HybridRow")
	c.docs(operations, append(bulk, "x-ms-documentdb-partitionkeyrangeid", "7")...).want(t, 410, "1002")
	c.docs(operations, bulk[:4]...).want(t, 400, "", "x-ms-documentdb-partitionkey")
	c.docs(operations, append(bulk, "x-ms-cosmos-batch-atomic", "True")...).want(t, 400, "", "one partition")
}

// TestMinimalReturnPreference: an operation of a batch can ask for no content.
func TestMinimalReturnPreference(t *testing.T) {
	t.Parallel()
	c := newRawClient(t)
	c.withContainer(hashV2, threeDocs...)
	batch := []string{"x-ms-cosmos-is-batch-request", "True", "x-ms-cosmos-batch-atomic", "True", "x-ms-documentdb-partitionkey", `["p1"]`}
	upsert := func(id, more string) string {
		return `{"operationType":"Upsert"` + more + `,"resourceBody":{"id":"` + id + `","pk":"p1"}}`
	}
	answer := c.docs(`[`+upsert("x", `,"minimalReturnPreference":true`)+`,`+upsert("y", `,"minimalReturnPreference":false`)+`]`, batch...).want(t, 200, "")
	var results []struct {
		ETag         string
		ResourceBody struct{ ID string }
	}
	if err := json.Unmarshal([]byte(answer.body), &results); err != nil {
		t.Fatal(err)
	}
	if len(results) != 2 || results[0].ETag == "" || results[0].ResourceBody.ID != "" || results[1].ResourceBody.ID != "y" {
		t.Errorf("results %+v", results)
	}
	c.docs(`[`+upsert("x", `,"minimalReturnPreference":1`)+`]`, batch...).want(t, 400, "", "operation 0")
}

func TestBatchThatIsNotValidIsRefused(t *testing.T) {
	t.Parallel()
	c := newRawClient(t)
	c.withContainer(hashV2, threeDocs...)
	batch := []string{"x-ms-cosmos-is-batch-request", "True", "x-ms-cosmos-batch-atomic", "True", "x-ms-documentdb-partitionkey", `["p1"]`}
	for body, want := range map[string]string{
		``:                                      "the batch is not valid",
		`[{"operationType":"Read"},`:            "the batch is not valid",
		` {"operationType":"Read"}`:             "it is not an array",
		` [ ] `:                                 "1 to 100 operations, not 0",
		`[{"operationType":"Read"}, 1]`:         "operation 1: it is not an object",
		`[{"operationType":"Read","id":7}]`:     "operation 0: ",
		`[{"operationType":"Rename","id":"a"}]`: `the type \"Rename\"`,
	} {
		c.docs(body, batch...).want(t, 400, "", want)
	}
	for body, want := range map[string]string{
		`[{"operationType":"Upsert","resourceBody":["a"]}]`:                                 "not a JSON object",
		`[{"operationType":"Upsert"}]`:                                                      "not a JSON object",
		"[{\"operationType\":\"Upsert\",\"resourceBody\":{\"id\":\"\xff\",\"pk\":\"p1\"}}]": "not valid UTF-8",
		`[{"operationType":"Upsert","resourceBody":{"id":"x","pk":"p1","n":1e999}}]`:        "double",
	} {
		c.docs(body, batch...).want(t, 207, "", want)
	}
	c.docs(` [ {"resourceBody" : {"id":"x","pk":"p1"} , "operationType" : "\u0055psert"} ] `, batch...).want(t, 200, "", "201")
}

func TestUnsupportedRequestsNameTheCause(t *testing.T) {
	t.Parallel()
	c := newRawClient(t)
	c.withContainer(hashV2, threeDocs...)
	for path, want := range map[string]string{
		"/" + rawColl + "/sprocs":           "stored procedures are not supported",
		"/" + rawColl + "/triggers/x":       "triggers are not supported",
		"/" + rawColl + "/udfs":             "user-defined functions are not supported",
		"/offers":                           "offers (throughput) are not supported",
		"/addresses/?$resolveFor=dbs%2fdb1": "direct mode is not supported",
		"/dbs/db/users":                     "users are not supported",
	} {
		c.send("GET", path, "", "", "").want(t, 400, "", want)
	}
	c.send("GET", "/"+rawColl+"/docs", "docs", rawColl, "", "A-IM", "Incremental feed").want(t, 400, "", "change feed")
	c.docs(`{"id":"x","pk":"p1"}`, "x-ms-documentdb-partitionkey", `["p1"]`, "If-None-Match", "*").want(t, 400, "", "if-none-match")
	c.docs(`{"id":"x","pk":"p1"}`, "x-ms-documentdb-partitionkey", `["p1"]`, "x-ms-indexing-directive", "Exclude").want(t, 400, "", "x-ms-indexing-directive")
	large := `{"id":"x","pk":"p1","text":"` + string(bytes.Repeat([]byte("x"), 2<<20)) + `"}`
	c.docs(large, "x-ms-documentdb-partitionkey", `["p1"]`).want(t, 413, "", "2 MB")
}
