// Package datasource reads the people whom a runbook is about from where they are
// kept: it runs the runbook's query and gives the rows one by one, as JSON.
//
// It holds the contract of a source and the parts that all sources share: limits,
// the time a query may take, JSON for typed values, and errors that name runbook,
// source and cause and hold no secret. Each kind of source is a package below it; they
// do not import each other. None of them knows what a batch or a member is.
package datasource

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Source is where rows come from.
type Source interface {
	// Query begins the query and returns when the columns are known. The context
	// bounds it, and all of the reading that follows.
	Query(ctx context.Context) (Rows, error)
}

// Rows is a result that is being read. It is not safe for concurrent use.
type Rows interface {
	// Columns are the names of the columns, in the order of the values.
	Columns() []string
	// Next gives the values of the next row, of which each is JSON as [Value] makes
	// it, or io.EOF after the last. The slice is the caller's until the next call.
	//
	// io.EOF itself, never an error that wraps it, says that the result is complete, and
	// stays. Where anything else ended
	// the result (the context, Close, a connection that broke), the error is another:
	// members whose rows are missing would be taken for people who left.
	Next(ctx context.Context) ([]json.RawMessage, error)
	// Close ends the query, also where rows are left. It can be called twice.
	Close() error
}

// Spec is the configuration of a source. Connection and Warehouse are the values of
// the environment variables that the runbook names: they are secrets.
type Spec struct {
	Connection string
	Warehouse  string         // databricks only
	Query      string         // empty for csv and graph
	Graph      *runbook.Graph // graph only
	// Columns are those that the result should have. A csv reads its header by the delimiter that gives
	// most of them.
	Columns []string
	// Credential is this program's identity; nil where there is none.
	Credential azcore.TokenCredential
	// HTTPClient is for sources that are asked over HTTP; nil: http.DefaultClient.
	HTTPClient *http.Client
}

// Open makes a source. It does not connect. It refuses a connection that it does not
// understand, with an error that does not quote it.
type Open func(Spec) (Source, error)
