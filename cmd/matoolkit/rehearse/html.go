package rehearse

import (
	_ "embed"
	"encoding/json"
	"html/template"
	"io"
	"time"

	"github.com/matoolkit/matoolkit/internal/simulate"
)

//go:embed report.html
var page string

var reportPage = template.Must(template.New("report").Funcs(template.FuncMap{
	"time":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") },
	"when":  whenText,
	"span":  func(s float64) string { return simulate.Span(seconds(s)) },
	"value": valueText,
	"free":  License.Free,
	"count": count,
}).Parse(page))

func whenText(t *time.Time) string {
	if t == nil {
		return "–"
	}
	return t.UTC().Format("Mon 2006-01-02 15:04:05")
}

// valueText is a value as JSON; nothing for one that is missing.
func valueText(v any) string {
	if v == nil {
		return "–"
	}
	if text, is := v.(string); is {
		return text
	}
	encoded, err := json.Marshal(v)
	if err != nil {
		panic(err) // it came from JSON
	}
	return string(encoded)
}

// HTML writes the report as a page that needs no other file and no network.
func (r *Report) HTML(w io.Writer) error { return reportPage.Execute(w, r) }
