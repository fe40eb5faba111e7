package datasource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"github.com/matoolkit/matoolkit/internal/runbook"
)

// Reader runs the queries of runbooks. It is safe for concurrent use as long as its
// fields stay as they are.
type Reader struct {
	// Sources are the kinds of sources by the type that a runbook gives.
	Sources map[string]Open
	// Settings are the names of the environment variables that runbooks may name. The
	// others are not for authors of runbooks, for example the handler's keys.
	Settings []string
	// Getenv gives the value of an environment variable; nil: os.Getenv.
	Getenv func(string) string
	// Credential and HTTPClient go into the [Spec] of every source.
	Credential azcore.TokenCredential
	HTTPClient *http.Client
	// Limits bound a result; those that are 0 are the ones of [DefaultLimits].
	Limits Limits
}

// Limits are how much a result may hold. A result that holds more is an error: a part
// of it would look as if the rest of the members had left.
type Limits struct {
	Rows     int
	RowBytes int   // of the JSON of a row's values
	Bytes    int64 // of the JSON of all values
}

// DefaultLimits are those of a [Reader] that is given none.
var DefaultLimits = Limits{Rows: MaxRows, RowBytes: MaxRowBytes, Bytes: MaxBytes}

// The limits of a result.
const (
	MaxRows     = 100_000
	MaxRowBytes = 128_000
	MaxBytes    = 64_000_000
)

// Read runs the query of rb. It calls begin once with the names of the columns, then
// row with the values of each row, which are JSON as [Value] makes it and belong to
// row only until it returns. Nothing of the result is held here. What row has got is
// the whole result only if Read returns nil.
//
// An error of begin or row ends the reading and is returned as it is; every other
// error is an [*Error].
func (r *Reader) Read(ctx context.Context, rb *runbook.Runbook, begin func(columns []string) error, row func(values []json.RawMessage) error) error {
	ds := rb.DataSource
	connection, err := r.variable("connection", ds.Connection)
	if err != nil {
		return newError(rb.Name, ds.Type, ds.Connection, err, nil)
	}
	var warehouse string
	if ds.WarehouseID != "" {
		if warehouse, err = r.variable("warehouse_id", ds.WarehouseID); err != nil {
			return newError(rb.Name, ds.Type, ds.Connection, err, nil)
		}
	}
	s := &stream{limits: r.limits(), begin: begin, row: row}
	err = r.query(ctx, ds, s, Spec{
		Connection: connection, Warehouse: warehouse, Query: ds.Query, Graph: ds.Graph, Columns: append(rb.Columns(), ds.BatchTimeColumn),
		Credential: r.Credential, HTTPClient: r.HTTPClient,
	})
	switch {
	case err == nil:
		return nil
	case s.refused != nil:
		return s.refused
	}
	return newError(rb.Name, ds.Type, ds.Connection, err, secretsOf(connection, warehouse))
}

// CheckSetting returns an error if runbooks may not name this environment variable.
func (r *Reader) CheckSetting(name string) error {
	if slices.Contains(r.Settings, name) {
		return nil
	}
	return fmt.Errorf("the setting %s is not listed in DATA_SOURCES of the handler; give it in dataSourceSettings or dataSourceVaultSettings of the deployment (on this machine: matoolkit local up --setting %s=VALUE), or name a setting that is listed", name, name)
}

// CheckValue returns an error if the setting that a field of data_source names has no value.
func (r *Reader) CheckValue(field, name string) error {
	_, err := r.variable(field, name)
	return err
}

// variable is the value of the environment variable that a field of data_source
// names, without the spaces and line ends around it. It checks the name here too, and not
// only when a runbook is published: the list may have become shorter since.
func (r *Reader) variable(field, name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("data_source.%s is missing", field)
	}
	if err := r.CheckSetting(name); err != nil {
		return "", fmt.Errorf("data_source.%s: %w", field, err)
	}
	getenv := r.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	value := strings.TrimSpace(getenv(name))
	if value == "" {
		return "", fmt.Errorf("the environment variable %s of data_source.%s is not set or empty; set it in the settings of the handler", name, field)
	}
	if strings.HasPrefix(value, unresolved) {
		return "", fmt.Errorf("the environment variable %s of data_source.%s is a Key Vault reference that Azure could not resolve; check that the secret exists and that the handler's identity may read it", name, field)
	}
	return value, nil
}

// unresolved is how a setting begins that refers to a secret of a Key Vault. Azure
// gives the program the secret; where it cannot read it, the reference as it stands.
const unresolved = "@Microsoft.KeyVault("

func (r *Reader) limits() Limits {
	l := r.Limits
	if l.Rows == 0 {
		l.Rows = DefaultLimits.Rows
	}
	if l.RowBytes == 0 {
		l.RowBytes = DefaultLimits.RowBytes
	}
	if l.Bytes == 0 {
		l.Bytes = DefaultLimits.Bytes
	}
	return l
}

// errTooLong is the cause of a context that ended because the query took too long.
var errTooLong = errors.New("the query took too long")

// query opens the source and passes its result to s, within the time that a query may
// take.
func (r *Reader) query(ctx context.Context, ds runbook.DataSource, s *stream, spec Spec) error {
	open, ok := r.Sources[ds.Type]
	if !ok {
		return fmt.Errorf("unsupported data source type; use one of %s", strings.Join(slices.Sorted(maps.Keys(r.Sources)), ", "))
	}
	source, err := open(spec)
	var query *QueryError
	if errors.As(err, &query) {
		return query
	}
	if err != nil {
		return fmt.Errorf("invalid connection in the environment variable %s: %w", ds.Connection, err)
	}
	timeout := ds.Timeout
	if timeout == 0 {
		timeout = runbook.DefaultQueryTimeout
	}
	bounded, cancel := context.WithTimeoutCause(ctx, timeout, errTooLong)
	defer cancel()
	err = s.read(bounded, source)
	switch {
	case err == nil || bounded.Err() == nil:
		return err
	case context.Cause(bounded) == errTooLong:
		return &timeoutError{limit: timeout, cause: err}
	case errors.Is(err, context.Cause(ctx)):
		return fmt.Errorf("the read ended before the result was complete: %w", err)
	}
	return fmt.Errorf("the read ended before the result was complete: %w (%w)", context.Cause(ctx), err)
}

// timeoutError is the error of a query that took too long. Drivers return various
// errors when interrupted, so the text includes the driver's error unless it says the same.
type timeoutError struct {
	limit time.Duration
	cause error
}

func (e *timeoutError) Error() string {
	text := fmt.Sprintf("the query took longer than %s; make it faster, or raise data_source.timeout (at most %s)", brief(e.limit), brief(runbook.MaxQueryTimeout))
	if !errors.Is(e.cause, context.DeadlineExceeded) {
		text += fmt.Sprintf(" (error of the source: %v)", e.cause)
	}
	return text
}

// Unwrap makes it a context.DeadlineExceeded for every driver.
func (e *timeoutError) Unwrap() []error { return []error{context.DeadlineExceeded, e.cause} }

// brief is a duration as a runbook writes it: 2m, not 2m0s.
func brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// stream passes a result on, row by row, and counts it.
type stream struct {
	limits  Limits
	begin   func([]string) error
	row     func([]json.RawMessage) error
	refused error // what begin or row returned
	rows    int
	bytes   int64
}

func (s *stream) read(ctx context.Context, source Source) error {
	rows, err := source.Query(ctx)
	if err != nil {
		return err
	}
	// What Close says is of no interest: the rows are complete, or the reason why not
	// is known.
	defer rows.Close()
	columns := slices.Clone(rows.Columns())
	if err := checkColumns(columns); err != nil {
		return err
	}
	if s.refused = s.begin(columns); s.refused != nil {
		return s.refused
	}
	for {
		values, err := rows.Next(ctx)
		if err == io.EOF { // itself: a connection that broke may wrap it
			// The end of a result that was cut short may look like any other.
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		if err := s.count(columns, values); err != nil {
			return err
		}
		if s.refused = s.row(values); s.refused != nil {
			return s.refused
		}
	}
}

// count counts a row and returns an error that names the exceeded limit.
func (s *stream) count(columns []string, values []json.RawMessage) error {
	s.rows++
	size := 0
	for _, v := range values {
		size += len(v)
	}
	s.bytes += int64(size)
	switch {
	case len(values) != len(columns):
		return fmt.Errorf("row %d of the result has %d values for %d columns", s.rows, len(values), len(columns))
	case s.rows > s.limits.Rows:
		return fmt.Errorf("the result has more than %d rows; restrict the query, or split the runbook", s.limits.Rows)
	case size > s.limits.RowBytes:
		return fmt.Errorf("row %d of the result has %d bytes; at most %d are allowed: remove columns that the runbook does not use", s.rows, size, s.limits.RowBytes)
	case s.bytes > s.limits.Bytes:
		return fmt.Errorf("the result has more than %d bytes from row %d on; remove columns that the runbook does not use, or restrict the query", s.limits.Bytes, s.rows)
	}
	return nil
}

// checkColumns refuses columns that a value cannot be looked up by.
func checkColumns(columns []string) error {
	if len(columns) == 0 {
		return errors.New("the result has no columns; the query must return rows")
	}
	var wrong []string
	seen := map[string]int{} // name → its place, from 1
	for i, name := range columns {
		first, twice := seen[name]
		switch {
		case strings.TrimSpace(name) == "":
			wrong = append(wrong, fmt.Sprintf("column %d has no name", i+1))
		case twice:
			wrong = append(wrong, fmt.Sprintf("columns %d and %d are both named %q", first, i+1, short(name)))
		default:
			seen[name] = i + 1
		}
	}
	if wrong == nil {
		return nil
	}
	return fmt.Errorf("each column of the result needs a unique name: %s", strings.Join(wrong, "; "))
}
