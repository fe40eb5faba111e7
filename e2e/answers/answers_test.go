package answers

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/local/functionshost"
)

func TestAnswersThatDifferAreReported(t *testing.T) { //nolint:paralleltest // the comparison sets a variable of the environment
	t.Setenv(functionshost.ExchangesVariable, "")
	c, err := newComparison("../..", t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write([]byte(`{"status":"fine"}`))
	_ = z.Close()
	of := func(content, encoding string) http.Header {
		return http.Header{"Content-Type": {content}, "Content-Encoding": {encoding}, "X-Trace-Id": {"0af7651916cd43dd8448eb211c80319c"}}
	}
	for _, x := range []functionshost.Exchange{
		{Method: "GET", URI: "/api/console/app.js", Status: 200, Header: of("text/javascript", "")},
		{Method: "HEAD", URI: "/api/batches?limit=1", Status: 200, Header: of("application/json", "")},
	} {
		c.compare(x)
	}
	if out := new(strings.Builder); !c.report(out) {
		t.Errorf("what is right is reported: %s", out)
	}
	for _, tc := range []struct {
		x    functionshost.Exchange
		want string
	}{
		{functionshost.Exchange{Method: "GET", URI: "/api/nothing?x=1", Status: 200, Header: of("application/json", "")}, "no such operation"},
		{functionshost.Exchange{Method: "GET", URI: "/api/batches", Status: 200, Header: of("application/json", ""), Body: []byte("[]"), Cut: true}, "was not compared"},
		{functionshost.Exchange{Method: "GET", URI: "/api/batches", Status: 418, Header: of("application/json", ""), Body: []byte("{}")}, "418 is not described"},
		{functionshost.Exchange{Method: "GET", URI: "/api/batches", Status: 200, Header: of("application/json", "gzip"), Body: packed.Bytes()}, `{"status":"fine"}`},
		{functionshost.Exchange{Method: "GET", URI: "/api/batches", Status: 200, Header: of("application/json", "gzip"), Body: []byte("this is not compressed")}, "gzip"},
	} {
		c.wrong, c.count = nil, 0
		c.compare(tc.x)
		if out := new(strings.Builder); c.report(out) || !strings.Contains(out.String(), tc.want) || !strings.Contains(out.String(), tc.x.URI+": ") {
			t.Errorf("%s gives %s, want %q", tc.x.URI, out, tc.want)
		}
	}
}
