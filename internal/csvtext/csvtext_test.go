package csvtext_test

import (
	"encoding/csv"
	"errors"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/csvtext"
)

func TestForeign(t *testing.T) {
	t.Parallel()
	for start, says := range map[string]string{
		"":                  "",
		"Id":                "",
		"PK,Mail":           "",
		"\xef\xbb\xbfId":    "",
		"\xff\xfeI\x00":     "UTF-16",
		"\xfe\xff\x00I":     "UTF-16",
		"PK\x03\x04more":    "workbook",
		"\xd0\xcf\x11\xe0m": "workbook",
		"\x1f\x8b\x08\x00":  "compressed",
		"I\x00d\x00":        "UTF-16",
		"\x00I\x00d":        "UTF-16",
	} {
		if err := csvtext.Foreign([]byte(start)); (err != nil) != (says != "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", start, err)
		}
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	for r := range rune(0x100) {
		want := r < 0x20 && r != 0x9 && r != 0xa && r != 0xd || r == 0x7f
		if got, found := csvtext.Control("a" + string(r)); found != want || found && got != r {
			t.Errorf("%U: %v", r, found)
		}
	}
}

func TestFault(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		src          string
		line, column int
		says         string
	}{
		{"a,b\n1,x\"y\n", 2, 4, "inside a field"},
		{"a,b\n1,\"x\"y\n", 2, 5, "not followed by a delimiter"},
		{"a,b\n1,\"x\n2,y\n", 2, 0, "not closed properly"},
	} {
		_, err := csv.NewReader(strings.NewReader(tt.src)).ReadAll()
		var e *csv.ParseError
		if !errors.As(err, &e) {
			t.Fatalf("%q: %v", tt.src, err)
		}
		if line, column, message := csvtext.Fault(e); line != tt.line || column != tt.column || !strings.Contains(message, tt.says) {
			t.Errorf("%q: line %d, column %d: %s", tt.src, line, column, message)
		}
	}
}
