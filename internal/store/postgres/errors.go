package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/matoolkit/matoolkit/internal/store"
)

// classify turns an error of the driver into an error of the store. Of an error to connect it keeps only
// the cause: the error itself has the connection.
func classify(err error) error {
	answer, connect := new(pgconn.PgError), new(pgconn.ConnectError)
	switch {
	case err == nil, errors.Is(err, store.ErrUnavailable), errors.Is(err, store.ErrRefused):
		return err
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.As(err, &answer):
		return fmt.Errorf("%w: %s (SQLSTATE %s)", kind(answer), answer.Message, answer.Code)
	case errors.As(err, &connect):
		return fmt.Errorf("%w: connecting: %w", store.ErrUnavailable, connect.Unwrap())
	}
	return fmt.Errorf("%w: %w", store.ErrUnavailable, err)
}

// kind returns the error of the store for one of the server. A full disk, a role without rights or a
// missing table passes when an administrator ends it.
func kind(e *pgconn.PgError) error {
	switch e.Code[:min(2, len(e.Code))] {
	case "22": // a value that no column takes
		return store.ErrRefused
	case "54": // a limit of the server
		if e.ConstraintName == "" && e.TableName == "" { // a table has no room left: 32 TB
			return store.ErrFull
		}
		return store.ErrRefused // a value that no index takes
	}
	return store.ErrUnavailable
}
