package datasource_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

func TestValue(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   any
		want string // empty: refused
	}{
		{nil, `null`},
		{true, `true`},
		{false, `false`},
		{"", `""`},
		{`a<b>&"c"\`, `"a<b>&\"c\"\\"`},
		{"Zoë\n\x00\u2028", `"Zoë\n\u0000\u2028"`},
		{"\ufffd", "\"\ufffd\""},
		{"ab\xff", ``},
		{int(-7), `-7`},
		{int8(math.MinInt8), `-128`},
		{int16(math.MaxInt16), `32767`},
		{int32(math.MinInt32), `-2147483648`},
		{int64(math.MinInt64), `-9223372036854775808`},
		{uint(7), `7`},
		{uint8(255), `255`},
		{uint16(65535), `65535`},
		{uint32(math.MaxUint32), `4294967295`},
		{uint64(math.MaxUint64), `18446744073709551615`},
		{0.1, `0.1`},
		{float32(0.1), `0.1`},
		{float64(float32(0.1)), `0.10000000149011612`},
		{5.0, `5`},
		{math.Copysign(0, -1), `0`},
		{1e20, `100000000000000000000`},
		{1e21, `1e+21`},
		{-1e-7, `-1e-07`},
		{math.MaxFloat64, `1.7976931348623157e+308`},
		{math.SmallestNonzeroFloat64, `5e-324`},
		{math.NaN(), ``},
		{math.Inf(-1), ``},
		{float32(math.Inf(1)), ``},
		{[]byte("a"), ``},
		{time.Unix(0, 0), ``},
		{struct{}{}, ``},
		{new(string), ``},
	}
	for _, tt := range tests {
		got, err := datasource.Value(tt.in)
		if (err != nil) != (tt.want == "") || string(got) != tt.want {
			t.Errorf("%T %v: %s, %v; want %s", tt.in, tt.in, got, err, tt.want)
		}
	}
	if _, err := datasource.Value("ab\ufffd\xff"); err == nil || !strings.Contains(err.Error(), "byte 6") {
		t.Errorf("text that is not UTF-8: %v", err)
	}
}

// Each single character is encoded as encoding/json does.
func TestEveryCharacter(t *testing.T) {
	t.Parallel()
	for r := range rune(0x3000) {
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode("a" + string(r)); err != nil {
			t.Fatal(err)
		}
		if got, err := datasource.Value("a" + string(r)); err != nil || string(got)+"\n" != want.String() {
			t.Errorf("%U: %s, %v; want %s", r, got, err, want.String())
		}
	}
}

func TestDecimal(t *testing.T) {
	t.Parallel()
	tests := []struct{ in, want string }{ // empty: refused
		{"0", "0"},
		{"-0.000", "0"},
		{"0E-18", "0"},
		{"0E999999999", "0"},
		{"1.50", "1.5"},
		{"+01.50E1", "15"},
		{"-12.3400", "-12.34"},
		{"100", "100"},
		{"100.", "100"},
		{".5", "0.5"},
		{"-.050", "-0.05"},
		{"1E-7", "0.0000001"},
		{"120e-1", "12"},
		{"12e3", "12000"},
		{"12345678901234567890123456789012345678.1234567890", "12345678901234567890123456789012345678.123456789"},
		{"1e399", "1" + strings.Repeat("0", 399)},
		{"1e400", ""},
		{"1e-400", "0." + strings.Repeat("0", 399) + "1"},
		{"1e-401", ""},
		{"1e2147483647", ""},
		{"1e-2147483648", ""},
		{"1e2147483648", ""},
		{"", ""},
		{".", ""},
		{"-", ""},
		{"e1", ""},
		{"1e", ""},
		{"1e1.5", ""},
		{"1,5", ""},
		{"1.2.3", ""},
		{" 1", ""},
		{"--1", ""},
		{"NaN", ""},
		{"0x10", ""},
		{"١", ""},
	}
	for _, tt := range tests {
		got, err := datasource.Decimal(tt.in)
		if (err != nil) != (tt.want == "") || string(got) != tt.want {
			t.Errorf("%q: %s, %v; want %s", tt.in, got, err, tt.want)
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("", 2*60*60)
	whole := time.Date(2026, 3, 1, 0, 30, 0, 0, berlin)
	fraction := whole.Add(1_230_000 * time.Nanosecond)
	tests := []struct {
		name string
		of   func(time.Time) (json.RawMessage, error)
		in   time.Time
		want string
	}{
		{"instant", datasource.Instant, whole, `"2026-02-28T22:30:00Z"`},
		{"instant", datasource.Instant, whole.UTC(), `"2026-02-28T22:30:00Z"`},
		{"instant", datasource.Instant, fraction, `"2026-02-28T22:30:00.00123Z"`},
		{"local time", datasource.LocalTime, whole, `"2026-03-01T00:30:00"`},
		{"local time", datasource.LocalTime, fraction, `"2026-03-01T00:30:00.00123"`},
		{"date", datasource.Date, whole, `"2026-03-01"`},
		{"clock", datasource.Clock, whole, `"00:30:00"`},
		{"clock", datasource.Clock, fraction, `"00:30:00.00123"`},
		{"instant", datasource.Instant, time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -2*60*60)), ``},
		{"local time", datasource.LocalTime, time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -2*60*60)), `"9999-12-31T23:00:00"`},
		{"date", datasource.Date, time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), ``},
	}
	for _, tt := range tests {
		got, err := tt.of(tt.in)
		if (err != nil) != (tt.want == "") || string(got) != tt.want {
			t.Errorf("%s of %v: %s, %v; want %s", tt.name, tt.in, got, err, tt.want)
		}
	}
}

func TestBytes(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"": `""`, "\xff\xfe?": `"//4/"`, "a": `"YQ=="`} {
		if got, err := datasource.Bytes([]byte(in)); err != nil || string(got) != want {
			t.Errorf("%q: %s, %v; want %s", in, got, err, want)
		}
	}
	if got, err := datasource.Bytes(nil); err != nil || string(got) != "null" {
		t.Errorf("nil: %s, %v", got, err)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		` {"b": 1.50, "a": [true, null, "<ü>"]} `: `{"a":[true,null,"<ü>"],"b":1.50}`,
		`12345678901234567890`:                    `12345678901234567890`,
		`[1]x`:                                    "",
		`[1`:                                      "",
		``:                                        "",
	} {
		if got, err := datasource.JSON(text); string(got) != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
}

// A text is either refused or becomes a JSON string that reads back as it was.
func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a", "\xff", "<&>", "\u2028\x00\"\\"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := datasource.Value(s)
		if err != nil {
			return
		}
		var back string
		if err := json.Unmarshal(got, &back); err != nil || back != s {
			t.Errorf("%q became %s, which is %q, %v", s, got, back, err)
		}
	})
}

// A float becomes JSON that reads back as the same float.
func FuzzFloat(f *testing.F) {
	for _, v := range []float64{0, -0.5, 1e-7, 1e21, 5e-324} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		got, err := datasource.Value(v)
		if err != nil {
			return
		}
		var back float64
		if err := json.Unmarshal(got, &back); err != nil || back != v {
			t.Errorf("%v became %s, which is %v, %v", v, got, back, err)
		}
	})
}

// A decimal becomes a JSON number of the same value, and the same again.
func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"0", "-0.10", "1e-7", "+12E3", "00012.3400", "1e400"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := datasource.Decimal(s)
		if err != nil {
			return
		}
		var n json.Number
		if err := json.Unmarshal(got, &n); err != nil || strings.ContainsAny(n.String(), "eE+") {
			t.Fatalf("%q became %s, %v", s, got, err)
		}
		if again, err := datasource.Decimal(n.String()); err != nil || string(again) != string(got) {
			t.Errorf("%q became %s and then %s, %v", s, got, again, err)
		}
		if len(s) > 100 || len(got) > 100 {
			return
		}
		want, ok := new(big.Rat).SetString(s)
		have, _ := new(big.Rat).SetString(n.String())
		if ok && want.Cmp(have) != 0 {
			t.Errorf("%q became %s", s, got)
		}
	})
}
