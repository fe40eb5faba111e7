// Package databricks is the data source `databricks`: a query on a SQL warehouse of an
// Azure Databricks workspace, over the SQL Statement Execution API 2.0.
//
// The statement runs while this package asks how far it is. Its result comes in
// chunks, as links to the storage of the workspace, so that a large result passes
// through here row by row; the other way of the API, a result inside the answers, ends
// at 25 MiB. A result is whole or an error: the package compares it with the numbers
// of rows and chunks that the service gave before the first row, since a person missing from
// it would be removed from a batch.
//
// The contract is the reference of the Statement Execution API
// (https://docs.databricks.com/api/statement-execution/v1/statement-execution) and
// the comments of its fields in the SDKs of Databricks.
package databricks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"github.com/matoolkit/matoolkit/internal/datasource"
	words "github.com/matoolkit/matoolkit/internal/datasource/statement"
	"github.com/matoolkit/matoolkit/internal/loopback"
)

// tuning is how patient a source is. Tests are in more of a hurry.
type tuning struct {
	wait  func(context.Context, time.Duration) error
	retry policy.RetryOptions // of one request
	// Between two looks at a running statement; it doubles from the first to the last.
	firstPoll, lastPoll time.Duration
	// attempts is how often a chunk is begun, retry aside; backOff is waited after the
	// first that fails, twice that after the second, and so on.
	attempts int
	backOff  time.Duration
	// farewell bounds each of the two things that are done after the time of a query is
	// over: learning the ID of a statement that is just being sent, and cancelling it.
	farewell time.Duration
}

var patient = tuning{
	wait: wait,
	retry: policy.RetryOptions{
		MaxRetries: 5, RetryDelay: 500 * time.Millisecond, MaxRetryDelay: time.Minute, TryTimeout: time.Minute,
	},
	firstPoll: 100 * time.Millisecond,
	lastPoll:  5 * time.Second,
	attempts:  4,
	backOff:   time.Second,
	farewell:  5 * time.Second,
}

type source struct {
	client    *client
	query     string
	warehouse string
}

// Open makes a source of a query on a warehouse. The connection is the address of the
// workspace, https://adb-….azuredatabricks.net; http is for this machine only.
func Open(spec datasource.Spec) (datasource.Source, error) { return open(spec, patient) }

func open(spec datasource.Spec, t tuning) (datasource.Source, error) {
	base, err := workspace(spec.Connection)
	switch {
	case err != nil:
		return nil, err
	case !warehouseID.MatchString(spec.Warehouse):
		return nil, errors.New("invalid ID of the SQL warehouse: use the last part of the warehouse's HTTP path, such as 1234567890abcdef")
	case spec.Credential == nil:
		return nil, errors.New("the handler has no identity for Databricks")
	case spec.HTTPClient == nil:
		spec.HTTPClient = http.DefaultClient
	}
	query, err := words.Databricks.Check(spec.Query)
	if err != nil {
		return nil, err
	}
	return &source{client: newClient(base, spec, t), query: query, warehouse: spec.Warehouse}, nil
}

var warehouseID = regexp.MustCompile(`^[0-9A-Za-z]{1,64}$`)

// workspaces are the domains of the public cloud and of the sovereign ones. A token
// for Databricks is sent nowhere else.
var workspaces = []string{".azuredatabricks.net", ".databricks.azure.us", ".databricks.azure.cn"}

func workspace(connection string) (*url.URL, error) {
	refused := errors.New("the connection is not the address of a Databricks workspace, such as https://adb-1234567890123456.7.azuredatabricks.net; to try the runbook without Databricks, use type: sql with sqlite:PATH, or type: csv")
	u, err := url.Parse(strings.TrimSpace(connection))
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return nil, refused
	}
	if loopback.Is(u.Hostname()) && (u.Scheme == "http" || u.Scheme == "https") {
		return u, nil
	}
	for _, domain := range workspaces {
		if u.Scheme == "https" && strings.HasSuffix(strings.ToLower(u.Hostname()), domain) {
			return u, nil
		}
	}
	return nil, refused
}

// Query runs the statement and waits for its end. Where it fails, or the time is over,
// nothing of it is left running.
func (s *source) Query(ctx context.Context) (datasource.Rows, error) {
	st, err := s.client.submit(ctx, s.query, s.warehouse)
	if err != nil {
		return nil, err
	}
	st, err = s.client.await(ctx, st)
	if err != nil {
		return nil, err
	}
	m, err := st.Manifest.check()
	if err != nil {
		return nil, fmt.Errorf("the result of the statement: %w", err)
	}
	return newRows(ctx, s.client, st, m), nil
}

func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
