package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/pgconnect"
)

// failed is the error of a query that was under way in ctx, with what the server says
// beside its message.
func failed(ctx context.Context, what string, err error, statement string) error {
	var more string
	if answer := new(pgconn.PgError); errors.As(err, &answer) {
		more = details(answer, statement)
	}
	gone := away(err)
	err = fmt.Errorf("%s: %w%s", what, because(ctx, err), more)
	if gone {
		return datasource.Away(err)
	}
	return err
}

// unconnected is the error of a login, which has its own time within ctx. A login that does
// not end in that time is one to a server that does not answer.
func unconnected(ctx, login context.Context, err error) error {
	late := ctx.Err() == nil && login.Err() != nil
	if late {
		err = fmt.Errorf("%w (%w)", context.Cause(login), err)
	}
	err = failed(ctx, "connect to the server", err, "")
	if late {
		return datasource.Away(err)
	}
	return err
}

// details are the line of the query that an error is in, and the server's hint.
func details(e *pgconn.PgError, statement string) string {
	var text string
	if at := int(e.Position); at > 0 && strings.Contains(statement, "\n") {
		if characters := []rune(statement); at <= len(characters) {
			text += fmt.Sprintf(", in line %d of the query", 1+strings.Count(string(characters[:at-1]), "\n"))
		}
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// transient are the SQLSTATE, or the beginnings of them, of a server that is busy, starts
// or stops: the same query may succeed later.
var transient = []string{
	"08",    // connection
	"40",    // rollback, as of a query in the way of a replica's recovery
	"53",    // too many connections, no memory or disk
	"57P01", // shutdown, or ended by an administrator
	"57P02", // crash
	"57P03", // starting
	"57P05", // idle
	"58",    // system
}

// away tells whether the server does not answer, or says that it is busy.
func away(err error) bool {
	answer, local := new(pgconn.PgError), new(pgconnect.Error)
	switch {
	case errors.As(err, &answer):
		return slices.ContainsFunc(transient, func(code string) bool { return strings.HasPrefix(answer.Code, code) })
	case errors.As(err, &local), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return false
	}
	return true
}

// because says that a context ended where that is why err came about: the driver says many
// things when it is cut short.
func because(ctx context.Context, err error) error {
	if ctx.Err() == nil || errors.Is(err, ctx.Err()) {
		return err
	}
	return fmt.Errorf("%w (%w)", ctx.Err(), err)
}
