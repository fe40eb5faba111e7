package storable_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/storable"
)

func nested(levels int, value string) string {
	return strings.Repeat("[", levels) + value + strings.Repeat("]", levels)
}

func TestJSONKeepsEveryDigit(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`null`:                       `null`,
		`"12345678901234567890"`:     `"12345678901234567890"`,
		`123456789012345`:            `123456789012345`,
		`-123456789012345`:           `-123456789012345`,
		`9007199254740992`:           `9007199254740992`,
		`9007199254740993`:           `"9007199254740993"`,
		`-9007199254740993`:          `"-9007199254740993"`,
		`12345678901234567890`:       `"12345678901234567890"`,
		`10000000000000000000000`:    `10000000000000000000000`,
		`0.1`:                        `0.1`,
		`0.30000000000000004`:        `0.30000000000000004`,
		`0.300000000000000041`:       `"0.300000000000000041"`,
		`100.00000000000000000`:      `100.00000000000000000`,
		`1e3`:                        `1e3`,
		`1E+300`:                     `1E+300`,
		`1.5e-7`:                     `1.5e-7`,
		`1e-400`:                     `"1e-400"`,
		`1e-99999999999999999999`:    `"1e-99999999999999999999"`,
		`0e5`:                        `0e5`,
		`-0.0e-99`:                   `-0.0e-99`,
		`{"a":[1,9007199254740993]}`: `{"a":[1,"9007199254740993"]}`,
		`{"\"9007199254740993":"\\", "b" : 9007199254740993 }`: `{"\"9007199254740993":"\\", "b" : "9007199254740993" }`,
		nested(storable.MaxDepth, `1`):                         nested(storable.MaxDepth, `1`),
	} {
		got, err := storable.JSON(json.RawMessage(value))
		if err != nil || string(got) != want {
			t.Errorf("JSON(%s) = %s, %v; want %s", value, got, err, want)
		}
	}
}

func TestJSONNamesThePlaceOfWhatCannotBeStored(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		`1e309`:                                       "the number 1e309 is beyond the range of a double",
		`-1e309`:                                      "the number -1e309 is beyond the range of a double",
		`{"a":{"b":[0,{"c":[],"d":1e400}]}}`:          "a.b[1].d: the number 1e400 is beyond the range of a double",
		`[1,[2,3],{"x":"1e400"},1e400]`:               "[3]: the number 1e400 is beyond the range of a double",
		`{"a":1,"":2e999}`:                            ": the number 2e999 is beyond the range of a double",
		nested(storable.MaxDepth+1, ``):               strings.Repeat("[0]", 67) + "…: is nested more than 120 levels deep",
		`{"a":` + nested(storable.MaxDepth, ``) + `}`: "a" + strings.Repeat("[0]", 67) + "…: is nested more than 120 levels deep",
		"{\"a\":\"\xff\"}":                            "is not UTF-8 from byte 7 on",
		`{"a"`:                                        "is not JSON",
		``:                                            "is not JSON",
	} {
		got, err := storable.JSON(json.RawMessage(value))
		var e *storable.Error
		if !errors.As(err, &e) || got != nil || strings.TrimPrefix(err.Error(), ": ") != strings.TrimPrefix(want, ": ") {
			t.Errorf("JSON(%.60s) = %.60s, %v; want %s", value, got, err, want)
		}
	}
}

// The result of JSON has the value's numbers, each as a double or as text, and applying
// JSON again changes nothing.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,9007199254740993]}`, `1e400`, `[[[]]]`, `"\\\""`, `-0.1e-5`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		got, err := storable.JSON(value)
		if err != nil {
			return
		}
		again, err := storable.JSON(got)
		if err != nil || !bytes.Equal(again, got) {
			t.Fatalf("%s becomes %s, and that %s, %v", value, got, again, err)
		}
		var doubles any // fails for numbers beyond a double
		if err := json.Unmarshal(got, &doubles); err != nil {
			t.Fatalf("%s becomes %s: %v", value, got, err)
		}
		before, after := scalars(t, value), scalars(t, got)
		if len(before) != len(after) {
			t.Fatalf("%s becomes %s", value, got)
		}
		for i := range before {
			if before[i] != after[i] {
				t.Fatalf("%s becomes %s: %s became %s", value, got, before[i], after[i])
			}
		}
	})
}

// scalars are the texts of a value's keys and scalars, in order.
func scalars(t *testing.T, value []byte) (all []string) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return all
		}
		switch token := token.(type) {
		case json.Number:
			all = append(all, token.String())
		case string:
			all = append(all, token)
		case bool:
			all = append(all, strconv.FormatBool(token))
		case json.Delim:
			all = append(all, token.String())
		default:
			all = append(all, "null")
		}
	}
}

func BenchmarkJSON(b *testing.B) {
	value := json.RawMessage(`[` + strings.Repeat(`{"id":"7d9f2c1a","n":12345,"mails":["a@x","b@x"]},`, 2000) + `1]`)
	b.SetBytes(int64(len(value)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := storable.JSON(value); err != nil {
			b.Fatal(err)
		}
	}
}
