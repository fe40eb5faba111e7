package database

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// described gives the types of the columns. The drivers panic at a type that they do not
// know.
func described(rows *sql.Rows) (types []*sql.ColumnType, err error) {
	defer func() {
		if v := recover(); v != nil {
			types, err = nil, fmt.Errorf("the driver does not know the type of a column: %v", v)
		}
	}()
	return rows.ColumnTypes()
}

// as is a decode of values that the driver gives as T.
func as[T any](convert func(T) (json.RawMessage, error)) decode {
	return func(v any) (json.RawMessage, error) {
		t, ok := v.(T)
		if !ok {
			return nil, fmt.Errorf("unexpected Go type %T for this column type", v)
		}
		return convert(t)
	}
}

func plain[T any](v T) (json.RawMessage, error) { return datasource.Value(v) }

func decimal(digits []byte) (json.RawMessage, error) { return datasource.Decimal(string(digits)) }

// blob tells an empty value from NULL, which has been dealt with: drivers give nil for
// both.
func blob(b []byte) (json.RawMessage, error) {
	if b == nil {
		b = []byte{}
	}
	return datasource.Bytes(b)
}

// sqlServerTypes are the types by the names that the driver gives them.
var sqlServerTypes = map[string]decode{
	"TINYINT":  as(plain[int64]),
	"SMALLINT": as(plain[int64]),
	"INT":      as(plain[int64]),
	"BIGINT":   as(plain[int64]),
	"BIT":      as(plain[bool]),
	// The driver widens it; 0.1 is to be 0.1.
	"REAL":  as(func(f float64) (json.RawMessage, error) { return datasource.Value(float32(f)) }),
	"FLOAT": as(plain[float64]),

	"DECIMAL":    as(decimal), // and numeric
	"MONEY":      as(decimal),
	"SMALLMONEY": as(decimal),

	"CHAR":     as(plain[string]),
	"VARCHAR":  as(plain[string]),
	"NCHAR":    as(plain[string]),
	"NVARCHAR": as(plain[string]),
	"TEXT":     as(plain[string]),
	"NTEXT":    as(plain[string]),
	"XML":      as(plain[string]),

	// The bytes are in the order of the text: the connection is set to that.
	"UNIQUEIDENTIFIER": as(func(b []byte) (json.RawMessage, error) {
		u, err := uuid.FromBytes(b)
		if err != nil {
			return nil, err
		}
		return datasource.Value(u.String())
	}),

	"DATE":           as(datasource.Date),
	"TIME":           as(datasource.Clock),
	"DATETIME":       as(datasource.LocalTime),
	"SMALLDATETIME":  as(datasource.LocalTime),
	"DATETIME2":      as(datasource.LocalTime),
	"DATETIMEOFFSET": as(datasource.Instant),

	"BINARY":    as(blob), // and rowversion
	"VARBINARY": as(blob),
	"IMAGE":     as(blob),
}

// sqlServerColumn is the decode of a column of SQL Server.
func sqlServerColumn(c *sql.ColumnType) (decode, error) {
	if d, ok := sqlServerTypes[c.DatabaseTypeName()]; ok {
		return d, nil
	}
	return nil, fmt.Errorf("the column %q has the type %s, which has no stable JSON; CAST it to another type in the query", c.Name(), strings.ToLower(c.DatabaseTypeName()))
}

// stored is the decode of a column of SQLite, whose values have their type with them.
func stored(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case int64, float64, string:
		return datasource.Value(v)
	case []byte:
		return blob(v)
	}
	return nil, fmt.Errorf("unexpected Go type %T from SQLite", v)
}

// storedBoolean is that of a column which was declared BOOLEAN.
func storedBoolean(v any) (json.RawMessage, error) {
	if n, ok := v.(int64); ok && (n == 0 || n == 1) {
		return datasource.Value(n == 1)
	}
	return stored(v)
}

// otherColumn is the decode of a column of a driver that was registered: what the Go type
// does not tell, the name of the column's type has to.
func otherColumn(c *sql.ColumnType) (decode, error) {
	name, _, _ := strings.Cut(strings.ToUpper(c.DatabaseTypeName()), "(")
	name = strings.TrimSpace(name)
	return func(v any) (json.RawMessage, error) {
		switch v := v.(type) {
		case bool, int64, float64, float32:
			return datasource.Value(v)
		case string:
			return otherText(name, v)
		case []byte:
			switch name {
			case "BINARY", "VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "BYTEA":
				return blob(v)
			}
			return otherText(name, string(v))
		case time.Time:
			switch name {
			case "DATE":
				return datasource.Date(v)
			case "TIME":
				return datasource.Clock(v)
			case "TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE":
				return datasource.Instant(v)
			case "TIMESTAMP", "DATETIME", "TIMESTAMP WITHOUT TIME ZONE":
				return datasource.LocalTime(v)
			}
		}
		return nil, fmt.Errorf("a value of the type %s (Go: %T) has no stable JSON; CAST it to another type in the query", name, v)
	}, nil
}

func otherText(name, v string) (json.RawMessage, error) {
	switch name {
	case "DECIMAL", "NUMERIC":
		return datasource.Decimal(v)
	case "", "CHAR", "VARCHAR", "NCHAR", "NVARCHAR", "BPCHAR", "TEXT", "TINYTEXT", "MEDIUMTEXT", "LONGTEXT", "UUID", "ENUM", "XML":
		return datasource.Value(v)
	}
	return nil, fmt.Errorf("text of the type %s has no stable JSON; CAST it to another type in the query", name)
}
