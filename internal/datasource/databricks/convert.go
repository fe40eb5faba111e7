package databricks

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// conversion makes JSON of a value that is not NULL. The API writes them all as text.
type conversion func(text string) (json.RawMessage, error)

// kind is the name of a column's type. TIMESTAMP_NTZ and VARIANT are younger than the
// list of type_names and may be told by the type_text only.
func (c column) kind() string {
	text, _, _ := strings.Cut(strings.ToUpper(c.Text), "(")
	if c.Type == "" || c.Type == "TIMESTAMP" && text == "TIMESTAMP_NTZ" {
		return text
	}
	return c.Type
}

// conversions are those of the types that are supported.
var conversions = map[string]conversion{
	"BOOLEAN": boolean,
	"BYTE":    integer(8), "SHORT": integer(16), "INT": integer(32), "LONG": integer(64),
	"FLOAT": float32s, "DOUBLE": float64s, "DECIMAL": datasource.Decimal,
	"STRING": plainText, "CHAR": plainText, "VARCHAR": plainText,
	"DATE": date, "TIMESTAMP": timestamp, "TIMESTAMP_NTZ": localTime,
	"BINARY": binary,
	"NULL":   null, "VOID": null,
	"ARRAY": datasource.JSON, "MAP": datasource.JSON, "STRUCT": datasource.JSON, "VARIANT": datasource.JSON,
}

func (c column) conversion() (conversion, error) {
	kind := c.kind()
	if convert, ok := conversions[kind]; ok {
		return convert, nil
	}
	if len(kind) > 60 {
		kind = kind[:60] + "…"
	}
	return nil, fmt.Errorf("the type %s is not supported: remove the column from the query, or cast it to STRING", kind)
}

func plainText(text string) (json.RawMessage, error) { return datasource.Value(text) }

func null(string) (json.RawMessage, error) { return nil, errors.New("it can only be NULL") }

func boolean(text string) (json.RawMessage, error) {
	switch {
	case strings.EqualFold(text, "true"):
		return datasource.Value(true)
	case strings.EqualFold(text, "false"):
		return datasource.Value(false)
	}
	return nil, errors.New("it is neither true nor false")
}

func integer(bits int) conversion {
	return func(text string) (json.RawMessage, error) {
		n, err := strconv.ParseInt(text, 10, bits)
		if err != nil {
			return nil, fmt.Errorf("it is not a whole number of %d bits", bits)
		}
		return datasource.Value(n)
	}
}

func float32s(text string) (json.RawMessage, error) {
	f, err := strconv.ParseFloat(text, 32)
	if err != nil {
		return nil, errors.New("it is not a number of this type")
	}
	return datasource.Value(float32(f))
}

func float64s(text string) (json.RawMessage, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errors.New("it is not a number of this type")
	}
	return datasource.Value(f)
}

func date(text string) (json.RawMessage, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return nil, errors.New("it is not a date such as 2026-01-31")
	}
	return datasource.Date(t)
}

// timestamp is a moment. The service writes it with the zone of the session, UTC by
// default; without a zone the moment would be a guess.
func timestamp(text string) (json.RawMessage, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, errors.New("it is not a time with its zone, such as 2026-01-31T08:00:00.000Z")
	}
	return datasource.Instant(t)
}

// localTime is a time without a zone.
func localTime(text string) (json.RawMessage, error) {
	for _, layout := range []string{"2006-01-02T15:04:05", "2006-01-02 15:04:05"} {
		if t, err := time.Parse(layout, text); err == nil { // with or without a fraction
			return datasource.LocalTime(t)
		}
	}
	return nil, errors.New("it is not a time without a zone, such as 2026-01-31T08:00:00.000")
}

func binary(text string) (json.RawMessage, error) {
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("it is not base64")
	}
	return datasource.Bytes(b)
}
