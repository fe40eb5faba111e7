package databricks

import (
	"slices"
	"strings"
	"testing"

	server "github.com/matoolkit/matoolkit/local/databricks"
)

func TestTypes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		column server.Column
		value  any
		want   string // or "error: " and a part of it
	}{
		{server.Column{Type: "BOOLEAN"}, "true", "true"},
		{server.Column{Type: "BOOLEAN"}, "FALSE", "false"},
		{server.Column{Type: "BOOLEAN"}, "1", "error: it is neither true nor false"},
		{server.Column{Type: "BYTE", Text: "TINYINT"}, "-128", "-128"},
		{server.Column{Type: "BYTE", Text: "TINYINT"}, "128", "error: whole number of 8 bits"},
		{server.Column{Type: "SHORT", Text: "SMALLINT"}, "32767", "32767"},
		{server.Column{Type: "SHORT"}, "32768", "error: whole number of 16 bits"},
		{server.Column{Type: "INT"}, "-0", "0"},
		{server.Column{Type: "INT"}, "1e3", "error: whole number of 32 bits"},
		{server.Column{Type: "INT"}, "", "error: whole number of 32 bits"},
		{server.Column{Type: "LONG", Text: "BIGINT"}, "9007199254740993", "9007199254740993"},
		{server.Column{Type: "LONG"}, "9223372036854775808", "error: whole number of 64 bits"},
		{server.Column{Type: "FLOAT"}, "0.1", "0.1"},
		{server.Column{Type: "FLOAT"}, "1.0E10", "10000000000"},
		{server.Column{Type: "FLOAT"}, "1e39", "error: not a number of this type"},
		{server.Column{Type: "DOUBLE"}, "-0.0", "0"},
		{server.Column{Type: "DOUBLE"}, "1.7976931348623157E308", "1.7976931348623157e+308"},
		{server.Column{Type: "DOUBLE"}, "NaN", "error: JSON cannot represent"},
		{server.Column{Type: "DOUBLE"}, "-Infinity", "error: JSON cannot represent"},
		{server.Column{Type: "DECIMAL", Text: "DECIMAL(38,2)"}, "12345678901234567890123456789012345.50", "12345678901234567890123456789012345.5"},
		{server.Column{Type: "DECIMAL", Text: "DECIMAL(10,0)"}, "0E-10", "0"},
		{server.Column{Type: "DECIMAL"}, "1,5", "error: is not a decimal number"},
		{server.Column{Type: "STRING"}, `Zoë "the" <b>`, `"Zoë \"the\" <b>"`},
		{server.Column{Type: "STRING"}, "", `""`},
		{server.Column{Type: "STRING"}, nil, "null"},
		{server.Column{Type: "CHAR", Text: "CHAR(3)"}, "a  ", `"a  "`},
		{server.Column{Type: "VARCHAR", Text: "VARCHAR(3)"}, "a", `"a"`},
		{server.Column{Type: "DATE"}, "2026-02-28", `"2026-02-28"`},
		{server.Column{Type: "DATE"}, "2026-02-30", "error: it is not a date"},
		{server.Column{Type: "DATE"}, "+12026-02-28", "error: it is not a date"},
		{server.Column{Type: "TIMESTAMP"}, "2026-03-01T18:00:00.000Z", `"2026-03-01T18:00:00Z"`},
		{server.Column{Type: "TIMESTAMP"}, "2026-03-01T18:00:00.120456+01:00", `"2026-03-01T17:00:00.120456Z"`},
		{server.Column{Type: "TIMESTAMP"}, "2026-03-01T18:00:00", "error: it is not a time with its zone"},
		{server.Column{Type: "TIMESTAMP"}, "2026-03-01 18:00:00", "error: it is not a time with its zone"},
		{server.Column{Type: "TIMESTAMP_NTZ"}, "2026-03-01T18:00:00.000", `"2026-03-01T18:00:00"`},
		{server.Column{Type: "TIMESTAMP_NTZ"}, "2026-03-01 18:00:00.5", `"2026-03-01T18:00:00.5"`},
		{server.Column{Type: "TIMESTAMP_NTZ"}, "2026-03-01T18:00:00Z", "error: it is not a time without a zone"},
		{server.Column{Type: "TIMESTAMP", Text: "TIMESTAMP_NTZ"}, "2026-03-01T18:00:00", `"2026-03-01T18:00:00"`},
		{server.Column{Text: "TIMESTAMP_NTZ"}, "2026-03-01T18:00:00", `"2026-03-01T18:00:00"`},
		{server.Column{Type: "BINARY"}, "AAH/", `"AAH/"`},
		{server.Column{Type: "BINARY"}, "", `""`},
		{server.Column{Type: "BINARY"}, "?", "error: it is not base64"},
		{server.Column{Type: "NULL", Text: "VOID"}, nil, "null"},
		{server.Column{Type: "NULL", Text: "VOID"}, "x", "error: it can only be NULL"},
		{server.Column{Type: "ARRAY", Text: "ARRAY<STRING>"}, ` ["b", "a<"] `, `["b","a<"]`},
		{server.Column{Type: "ARRAY"}, "[1]x", "error: more than one JSON value"},
		{server.Column{Type: "ARRAY"}, "[1", "error: it is not JSON"},
		{server.Column{Type: "MAP", Text: "MAP<STRING,DECIMAL(30,10)>"}, `{"b":1.50,"a":12345678901234567890}`, `{"a":12345678901234567890,"b":1.50}`},
		{server.Column{Type: "STRUCT", Text: "STRUCT<b: INT, a: INT>"}, `{"b":"2","a":null}`, `{"a":null,"b":"2"}`},
		{server.Column{Text: "VARIANT"}, `{"a":[1]}`, `{"a":[1]}`},
		{server.Column{Type: "INTERVAL", Text: "INTERVAL DAY TO SECOND"}, "1 00:00:00", `error: column "c": the type INTERVAL is not supported`},
		{server.Column{Type: "GEOGRAPHY"}, "x", `error: column "c": the type GEOGRAPHY is not supported`},
		{server.Column{Type: "USER_DEFINED_TYPE", Text: "VARIANT"}, "x", "error: the type USER_DEFINED_TYPE is not supported"},
		{server.Column{Type: "long"}, "1", "error: the type long is not supported"},
	} {
		tt.column.Name = "c"
		s := start(t, server.Result{Columns: []server.Column{tt.column}, Rows: [][]any{{tt.value}}})
		got, err := read(t.Context(), openAt(t, s))
		if part, ok := strings.CutPrefix(tt.want, "error: "); ok {
			if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), `column "c"`) {
				t.Errorf("%+v of %q: %v, %v; want the error %s", tt.value, tt.column, got, err, part)
			}
			continue
		}
		if err != nil || !slices.Equal(got, []string{"[" + tt.want + "]"}) {
			// Marshal of the line escapes what the value itself does not.
			if err == nil && unescape(got) == "["+tt.want+"]" {
				continue
			}
			t.Errorf("%+v of %q: %v, %v; want %s", tt.value, tt.column, got, err, tt.want)
		}
	}
}

// unescape takes back what json.Marshal does to the characters of HTML.
func unescape(lines []string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(strings.Join(lines, "\n"))
}
