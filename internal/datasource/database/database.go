// Package database reads people from SQL databases: SQL Server and
// Azure SQL, Dataverse by its TDS endpoint, SQLite files, and any further driver of
// database/sql that a build registers (see [Register]).
//
// A query is one statement that reads. Recognisable writes are refused, and the
// database is set to read only where it can be: SQL Server runs the query in a
// transaction that is always rolled back, SQLite opens the file for reading only. Neither is a boundary: the account should be one that may only
// read.
//
// Each query has a connection of its own, which is closed with its result. The package
// does not retry; that is the caller's decision. No error of this package quotes the
// connection.
//
// [OpenSQL] lists the conversion of each type. A value that has no stable JSON is an
// error that names row and column, never a guess.
package database

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// OpenSQL opens a source of the type sql. The connection is one of
//
//   - "sqlserver://user:password@host:port?database=…" or
//     "Server=host,port;Database=…;User ID=…;Password=…", as the SQL Server drivers have
//     it: SQL Server or Azure SQL. With Authentication=Active Directory Default (or
//     Managed Identity), and for Azure SQL also without any authentication, this
//     program's identity signs in; with Active Directory Service Principal the user is
//     an application (client id, or client id@tenant id). The connection is always
//     encrypted and the certificate checked; Certificate names a PEM file of the CA.
//   - "sqlite:path" or "file:path": a SQLite file, opened for reading only.
//   - a URL with the scheme of a driver that was registered.
//
// From SQL Server come: whole numbers, bit, real and float as JSON numbers and booleans,
// decimal, numeric and money as numbers with all their digits, character types and xml as
// text (char and nchar with the spaces at their end), uniqueidentifier as lower-case text,
// date, time, and datetime, datetime2 and smalldatetime as text without a zone,
// datetimeoffset as a moment in UTC, binary types as base64. sql_variant and CLR types
// are refused.
//
// Values from SQLite have their stored type, not the declared type of the column:
// INTEGER and REAL as numbers, TEXT as text, also that of dates and times, BLOB as
// base64. Only the 0 and 1 of a column declared BOOLEAN or BOOL are false and true.
func OpenSQL(spec datasource.Spec) (datasource.Source, error) {
	scheme, _, _ := strings.Cut(spec.Connection, ":")
	registered.RLock()
	driver, ok := registered.drivers[scheme]
	registered.RUnlock()
	switch {
	case ok:
		return openOther(spec, driver)
	case scheme == "sqlite" || scheme == "file":
		return openSQLite(spec)
	case scheme == "sqlserver" || !strings.Contains(spec.Connection, "://") && strings.Contains(spec.Connection, "="):
		return openSQLServer(spec, false)
	}
	if scheme == "postgres" || scheme == "postgresql" {
		return nil, errors.New("use type: postgres for a connection to PostgreSQL")
	}
	registered.RLock()
	defer registered.RUnlock()
	schemes := append([]string{"sqlserver", "sqlite", "file"}, slices.Sorted(maps.Keys(registered.drivers))...)
	return nil, fmt.Errorf(`use "Server=…;Database=…", or a URL with one of the schemes %s`, strings.Join(schemes, ", "))
}

// OpenDataverse opens a source of the type dataverse: the TDS endpoint of an environment,
// "Server=organization.crm4.dynamics.com,5558" (or port 1433, which may be left out) or the
// same as a URL. This program's identity signs in, or the application that a connection
// with Authentication=Active Directory Service Principal names; Dataverse knows no
// passwords. The query runs without a transaction: the endpoint only reads, and what it
// documents of SQL has none. For the types see [OpenSQL]; times come in UTC and
// carry no zone.
func OpenDataverse(spec datasource.Spec) (datasource.Source, error) {
	if scheme, _, ok := strings.Cut(spec.Connection, "://"); ok && scheme != "sqlserver" || !strings.Contains(spec.Connection, "=") && !ok {
		return nil, errors.New(`use "Server=organization.crm4.dynamics.com,5558", or a URL with the scheme sqlserver; to try the runbook without Dataverse, use type: sql with sqlite:PATH, or type: csv`)
	}
	return openSQLServer(spec, true)
}
