package render

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// A text is the same in YAML as in JSON, as a value and as a name.
func FuzzYAMLText(f *testing.F) {
	for _, s := range []string{"", "a", "no", "1e3", "\n a", "a\n\n", " \n", "\t\n", "- a", "? a", "<<", "a: b #c", "\u2028\n", "\r", "---", "...\n", "!!int 3", "&a", "*a", "%x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var out bytes.Buffer
		c := &Printer{Stdout: &out, Format: formatYAML}
		given := map[string]any{"text": s, "list": []string{s}, "name": map[string]string{s: s}}
		if err := c.Document(given); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		var want, got map[string]any
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(out.Bytes(), &got); err != nil {
			t.Fatalf("%v:\n%s", err, out.Bytes())
		}
		again, err := json.Marshal(got)
		if err != nil {
			t.Fatalf("%v:\n%s", err, out.Bytes())
		}
		if want, _ := json.Marshal(want); !bytes.Equal(want, again) {
			t.Errorf("%s is\n%s\nwhich says %s", want, out.Bytes(), again)
		}
	})
}

// No cell of a CSV file begins like a formula, and the file has as many rows as the list.
func FuzzCSVCell(f *testing.F) {
	for _, s := range []string{"", "=1", "a,b", "\"", "\r\n=1", "-", "\x1b[31m", "\x00=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var out bytes.Buffer
		table := (&Printer{Stdout: &out, Format: FormatCSV}).Table("a", "b")
		table.Row(1, s)
		table.Row(2, s)
		if err := table.csv(); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&out).ReadAll()
		if err != nil || len(rows) != 3 {
			t.Fatalf("%d rows: %v", len(rows), err)
		}
		if cell := rows[1][1]; cell != "" && strings.ContainsRune("=+-@\t\r\n", rune(cell[0])) {
			t.Errorf("%q is written as %q", s, cell)
		}
	})
}
