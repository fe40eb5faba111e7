package membership

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/problem"
)

// CheckDetails returns the details of a batch without surrounding spaces. It refuses texts that are too
// long or have control characters, and a name that is a number, by which batches are found. Errors:
// CodeInvalid.
func CheckDetails(d api.BatchDetails) (api.BatchDetails, error) {
	for _, f := range []struct {
		name  string
		text  **string
		limit int
		lines bool
	}{{"name", &d.Name, api.MaxBatchName, false}, {"note", &d.Note, api.MaxBatchNote, true}, {"owner", &d.Owner, api.MaxBatchOwner, false}} {
		if *f.text == nil {
			continue
		}
		text := strings.TrimSpace(**f.text)
		if n := utf8.RuneCountInString(text); n > f.limit {
			return d, problem.New(api.CodeInvalid, "the %s of the batch has %d characters; at most %d are allowed", f.name, n, f.limit)
		}
		r, found := csvtext.Control(text)
		if i := strings.IndexAny(text, "\t\r\n"); !found && !f.lines && i >= 0 {
			r, found = rune(text[i]), true
		}
		if found {
			return d, problem.New(api.CodeInvalid, "the %s of the batch has the control character %U; remove it", f.name, r)
		}
		*f.text = &text
	}
	if d.Name != nil {
		if _, err := strconv.Atoi(*d.Name); err == nil {
			return d, problem.New(api.CodeInvalid, "the name of the batch is the number %s; add a letter, because a number names the batch with that number", *d.Name)
		}
	}
	return d, nil
}
