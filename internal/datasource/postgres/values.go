package postgres

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/matoolkit/matoolkit/internal/datasource"
	"github.com/matoolkit/matoolkit/internal/pgconnect"
)

// decode makes the JSON of the text of a value.
type decode = datasource.Decode[string]

func plain(text string) (json.RawMessage, error) { return datasource.Value(text) }

// types are the built-in types that are not text alone.
var types = map[uint32]decode{
	pgtype.BoolOID: func(text string) (json.RawMessage, error) {
		if text != "t" && text != "f" {
			return nil, errors.New("it is neither true nor false")
		}
		return datasource.Value(text == "t")
	},
	pgtype.Int2OID: integer,
	pgtype.Int4OID: integer,
	pgtype.Int8OID: integer,
	pgtype.OIDOID:  integer,
	pgtype.Float4OID: func(text string) (json.RawMessage, error) {
		f, err := strconv.ParseFloat(text, 32)
		if err != nil {
			return nil, errors.New("it is not a number of this type")
		}
		return datasource.Value(float32(f))
	},
	pgtype.Float8OID: func(text string) (json.RawMessage, error) {
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, errors.New("it is not a number of this type")
		}
		return datasource.Value(f)
	},
	pgtype.NumericOID: datasource.Decimal,

	pgtype.TextOID:    plain,
	pgtype.VarcharOID: plain,
	pgtype.BPCharOID:  plain,
	pgtype.NameOID:    plain,
	pgtype.QCharOID:   plain,
	pgtype.XMLOID:     plain,
	pgtype.UUIDOID:    plain,
	pgtype.InetOID:    plain,
	pgtype.CIDROID:    plain,
	pgtype.MacaddrOID: plain,

	pgtype.DateOID:        at(time.DateOnly, datasource.Date),
	pgtype.TimeOID:        at(time.TimeOnly, datasource.Clock),
	pgtype.TimestampOID:   at(time.DateTime, datasource.LocalTime),
	pgtype.TimestamptzOID: at(time.DateTime+"-07", datasource.Instant),

	pgtype.ByteaOID: func(text string) (json.RawMessage, error) {
		digits, ok := strings.CutPrefix(text, `\x`)
		b, err := hex.DecodeString(digits)
		if !ok || err != nil {
			return nil, errors.New("it is not in hexadecimal form")
		}
		return datasource.Bytes(b)
	},
	pgtype.JSONOID:  datasource.JSON,
	pgtype.JSONBOID: datasource.JSON,
}

func integer(text string) (json.RawMessage, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, errors.New("it is not a whole number")
	}
	return datasource.Value(n)
}

// at reads dates and times: the infinities, years before Christ and of more than four
// digits, and 24:00 have no JSON.
func at(layout string, value func(time.Time) (json.RawMessage, error)) decode {
	return func(text string) (json.RawMessage, error) {
		t, err := time.Parse(layout, text)
		if err != nil {
			return nil, fmt.Errorf("%q has no stable JSON; cast it to text in the query", text)
		}
		return value(t)
	}
}

// catalog looks up the types that a database defines itself, and arrays.
type catalog struct{ conn *pgconn.PgConn }

// unstableError is a type that has no stable JSON.
type unstableError struct{ name string }

func (e *unstableError) Error() string { return e.name + " has no stable JSON" }

// lookup asks for the kind, the category, the element, the base and the name of a type.
const lookup = "SELECT typtype, typcategory, typelem, typbasetype, pg_catalog.format_type(oid, NULL) FROM pg_catalog.pg_type WHERE oid = "

// decode finds out how values of a type are read. A type that is none of them is an
// [*unstableError].
func (c catalog) decode(ctx context.Context, oid uint32) (decode, error) {
	if d, ok := types[oid]; ok {
		return d, nil
	}
	result := c.conn.ExecParams(ctx, lookup+strconv.FormatUint(uint64(oid), 10), nil, nil, nil, nil).Read()
	if result.Err != nil {
		return nil, result.Err
	}
	if len(result.Rows) != 1 || len(result.Rows[0]) != 5 {
		return nil, &pgconnect.Error{Reason: "the database does not know it any more"}
	}
	row := result.Rows[0]
	kind, category, name := string(row[0]), string(row[1]), string(row[4])
	element, err := strconv.ParseUint(string(row[2]), 10, 32)
	if err != nil {
		return nil, err
	}
	base, err := strconv.ParseUint(string(row[3]), 10, 32)
	if err != nil {
		return nil, err
	}
	switch {
	case kind == "d":
		return c.decode(ctx, uint32(base))
	case category == "A" && element != 0 && strings.HasSuffix(name, "[]"): // not the vectors of the catalog
		d, err := c.decode(ctx, uint32(element))
		if err != nil {
			return nil, err
		}
		return array(oid, d), nil
	case kind == "e", category == "S":
		return plain, nil
	}
	return nil, &unstableError{name}
}

// array reads "{a,b,NULL}" and, of several dimensions, "{{a,b},{c,d}}".
func array(oid uint32, element decode) decode {
	text := pgtype.ArrayCodec{ElementType: &pgtype.Type{Name: "text", OID: pgtype.TextOID, Codec: pgtype.TextCodec{}}}
	m := pgtype.NewMap()
	return func(s string) (json.RawMessage, error) {
		var a pgtype.Array[*string]
		plan := text.PlanScan(m, oid, pgtype.TextFormatCode, &a)
		if plan == nil {
			return nil, errors.New("the driver cannot read arrays")
		}
		if err := plan.Scan([]byte(s), &a); err != nil {
			return nil, errors.New("it is not an array")
		}
		elements := make([]json.RawMessage, len(a.Elements))
		for i, e := range a.Elements {
			if e == nil {
				elements[i] = json.RawMessage("null")
				continue
			}
			var err error
			if elements[i], err = element(*e); err != nil {
				return nil, fmt.Errorf("element %d: %w", i+1, err)
			}
		}
		// From the innermost dimension out, each group of elements becomes one.
		for _, d := range slices.Backward(a.Dims) {
			var groups []json.RawMessage
			for group := range slices.Chunk(elements, int(d.Length)) {
				groups = append(groups, slices.Concat([]byte{'['}, bytes.Join(rawBytes(group), []byte{','}), []byte{']'}))
			}
			elements = groups
		}
		if len(a.Dims) == 0 {
			return json.RawMessage("[]"), nil
		}
		return elements[0], nil
	}
}

func rawBytes(values []json.RawMessage) [][]byte {
	out := make([][]byte, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}
