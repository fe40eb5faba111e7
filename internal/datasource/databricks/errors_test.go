package databricks

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/testenv"
	server "github.com/matoolkit/matoolkit/local/databricks"
)

func TestOpen(t *testing.T) {
	t.Parallel()
	good := datasource.Spec{Connection: "https://adb-1234567890123456.7.azuredatabricks.net", Warehouse: warehouseOne, Query: "SELECT 1", Credential: credential{}}
	for _, connection := range []string{
		good.Connection, good.Connection + "/", " " + good.Connection + "\n", "https://ADB-1.2.AzureDatabricks.net:443",
		"https://adb-1.2.databricks.azure.us", "https://adb-1.2.databricks.azure.cn",
		"http://127.0.0.1:8443", "http://localhost:8443", "https://[::1]:8443",
	} {
		spec := good
		spec.Connection = connection
		if _, err := Open(spec); err != nil {
			t.Errorf("%s: %v", connection, err)
		}
	}
	for _, connection := range []string{
		"", "secret", "adb-1.2.azuredatabricks.net", "http://adb-1.2.azuredatabricks.net", "https://azuredatabricks.net.secret.example",
		"https://secretazuredatabricks.net", "https://secret.example", "http://192.168.0.1", "https://u:secret@adb-1.2.azuredatabricks.net",
		"https://adb-1.2.azuredatabricks.net/?o=secret", "https://adb-1.2.azuredatabricks.net/sql/secret", "https://adb-1.2.azuredatabricks.net#secret",
		"https://:secret", "file:///secret", "https://%zzsecret", "ftp://127.0.0.1/",
	} {
		spec := good
		spec.Connection = connection
		_, err := Open(spec)
		if err == nil || strings.Contains(err.Error(), "secret") || !strings.Contains(err.Error(), "not the address of a Databricks workspace") {
			t.Errorf("%s: %v", connection, err)
		}
	}
	for want, change := range map[string]func(*datasource.Spec){
		"invalid ID of the SQL warehouse":       func(s *datasource.Spec) { s.Warehouse = "/sql/1.0/warehouses/secret" },
		"ID of the SQL warehouse":               func(s *datasource.Spec) { s.Warehouse = "" },
		"data_source.query: the query is empty": func(s *datasource.Spec) { s.Query = " \n" },
		"no identity":                           func(s *datasource.Spec) { s.Credential = nil },
	} {
		spec := good
		change(&spec)
		if _, err := Open(spec); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	type test struct {
		result server.Result
		fault  server.Fault
		want   string
	}
	on := func(op server.Operation, status int, message string) server.Fault {
		return server.Fault{On: []server.Operation{op}, Status: status, Message: message}
	}
	failing := func(code, message, state string) server.Result {
		return server.Result{Error: &server.Error{Code: code, Message: message, SQLState: state}}
	}
	for name, tt := range map[string]test{
		"not known":       {fault: server.Fault{On: []server.Operation{server.Execute}, Status: 401, Code: "401", Message: "Invalid access token."}, want: "the workspace answered 401: 401: Invalid access token.. The workspace does not know this identity"},
		"no right":        {fault: on(server.Execute, 403, "You do not have permission to use the SQL warehouse "+warehouseOne), want: "403: PERMISSION_DENIED: You do not have permission to use the SQL warehouse (the warehouse). This identity lacks a right: it needs Databricks SQL access in the workspace and CAN USE"},
		"not there":       {fault: on(server.Execute, 404, "nope"), want: "404: RESOURCE_DOES_NOT_EXIST: nope. The address of the workspace or the ID of the SQL warehouse is wrong"},
		"redirected":      {fault: on(server.Execute, 302, ""), want: "302: Found. The address is not the API of a workspace"},
		"too many":        {fault: on(server.Execute, 429, "slow down"), want: "429: RESOURCE_EXHAUSTED: slow down. The workspace gets too many requests"},
		"failing":         {result: failing("BAD_REQUEST", "[TABLE_OR_VIEW_NOT_FOUND] The table cannot\nbe found.", "42P01"), want: "the statement failed: BAD_REQUEST: [TABLE_OR_VIEW_NOT_FOUND] The table cannot be found. (SQLSTATE 42P01)"},
		"failing a right": {result: failing("BAD_REQUEST", "[INSUFFICIENT_PERMISSIONS] no", "42501"), want: "(SQLSTATE 42501). This identity needs SELECT on the tables of the query"},
		"closed":          {result: server.Result{Closed: true}, want: "the result of the statement is gone"},
		"cancelled":       {fault: server.Fault{On: []server.Operation{server.Get}, Alter: func(a map[string]any) { a["status"] = map[string]any{"state": "CANCELED"} }}, want: "the statement was cancelled in the workspace"},
		"another state":   {fault: server.Fault{On: []server.Operation{server.Get}, Alter: func(a map[string]any) { a["status"] = map[string]any{"state": "THINKING"} }}, want: `the unknown state "THINKING"`},
		"no ID":           {fault: server.Fault{On: []server.Operation{server.Execute}, Alter: func(a map[string]any) { delete(a, "statement_id") }}, want: "without an ID"},
		"a long message":  {fault: on(server.Execute, 400, strings.Repeat("long ", 1000)), want: "long …"},
		"no JSON":         {fault: server.Fault{On: []server.Operation{server.Execute}, Body: "<html>" + token}, want: "unexpected response of the workspace"},
		"no answer":       {fault: server.Fault{On: []server.Operation{server.Execute}, Drop: true}, want: "the workspace does not answer: EOF"},
		"no chunk":        {fault: server.Fault{On: []server.Operation{server.Download}, Drop: true}, want: "chunk 1 of 1 of the result: the storage of the workspace does not answer: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.result.Columns == nil {
				r, _ := people(1, 0)
				tt.result.Columns, tt.result.Rows = r.Columns, r.Rows
			}
			s := start(t, tt.result)
			s.Inject(tt.fault)
			_, err := read(t.Context(), openAt(t, s))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %v\nwant  %s", err, tt.want)
			}
			if len(err.Error()) > 1200 {
				t.Errorf("an error of %d bytes", len(err.Error()))
			}
			for _, secret := range []string{s.URL(), strings.TrimPrefix(s.URL(), "http://"), warehouseOne, token, "sig=", "results/"} {
				if strings.Contains(fmt.Sprintf("%+v", err), secret) {
					t.Errorf("the error tells %s: %v", secret, err)
				}
			}
		})
	}
}

// The error of an unreachable workspace does not name it, although the network error does.
func TestUnreached(t *testing.T) {
	t.Parallel()
	l := testenv.Must(net.Listen("tcp", "127.0.0.1:0"))(t)
	address := l.Addr().String()
	l.Close()
	source := testenv.Must(open(datasource.Spec{Connection: "http://" + address, Warehouse: warehouseOne, Query: "SELECT 1", Credential: credential{}}, hasty()))(t)
	_, err := source.Query(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the workspace does not answer: dial tcp (the workspace)") || strings.Contains(err.Error(), address) {
		t.Errorf("error %v", err)
	}
}

// Without a token the client sends no request and does not retry.
func TestNoToken(t *testing.T) {
	t.Parallel()
	result, _ := people(1, 0)
	s := start(t, result)
	spec := spec(s)
	spec.Credential = credential{err: errors.New("no managed identity\n here")}
	source := testenv.Must(open(spec, hasty()))(t)
	_, err := source.Query(t.Context())
	if err == nil || err.Error() != "no token for Databricks: no managed identity here" {
		t.Errorf("error %v", err)
	}
	if r := s.Requests(); len(r) != 0 {
		t.Errorf("asked %v", r)
	}
}

// A redirect is not followed: neither with a token, nor from a link.
func TestNoRedirects(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	t.Cleanup(elsewhere.Close)
	redirecting := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusFound))
	t.Cleanup(redirecting.Close)
	source := testenv.Must(open(datasource.Spec{Connection: redirecting.URL, Warehouse: warehouseOne, Query: "SELECT 1", Credential: credential{}}, hasty()))(t)
	if _, err := source.Query(t.Context()); err == nil || !strings.Contains(err.Error(), "the workspace answered 302. ") {
		t.Errorf("error %v", err)
	}
	result, _ := people(1, 0)
	s := start(t, result)
	s.Inject(server.Fault{On: []server.Operation{server.Get, server.Chunk}, Alter: func(a map[string]any) {
		alter(a, "external_link", func(m map[string]any) { m["external_link"] = redirecting.URL })
	}})
	if _, err := read(t.Context(), openAt(t, s)); err == nil || !strings.Contains(err.Error(), "the storage of the workspace answered 302") {
		t.Errorf("error %v", err)
	}
}

// A workspace elsewhere cannot send anybody to this machine, or to where a link can be
// read on its way.
func TestLinkOfElsewhere(t *testing.T) {
	t.Parallel()
	opened := testenv.Must(open(datasource.Spec{Connection: "https://adb-1.2.azuredatabricks.net", Warehouse: warehouseOne, Query: "SELECT 1", Credential: credential{}}, hasty()))(t)
	listening := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was asked") }))
	t.Cleanup(listening.Close)
	for _, address := range []string{listening.URL, "http://storage.example/x", "https://u:p@127.0.0.1/", "//127.0.0.1/", "", "https://", "%"} {
		if _, err := opened.(*source).client.fetch(t.Context(), link{Address: address}); err == nil || !strings.Contains(err.Error(), "not a trusted address") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
