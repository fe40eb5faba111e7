package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matoolkit/matoolkit/internal/api"
)

var (
	pageLinks      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageHeadings   = regexp.MustCompile(`(?m)^#+ (.*)$`)
	decisionNumber = regexp.MustCompile(`^\d{4}`)
	decisionRow    = regexp.MustCompile(`(?m)^(\| \d+ \| \[.*\]\(.*\) \|) [^|]{20,} \|$`)
	notInAnchor    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksOfDocuments follows the links between the documents, to a file and to a
// heading in it.
func TestLinksOfDocuments(t *testing.T) {
	t.Parallel()
	all := documents(t)
	prose := map[string]string{}
	for _, page := range all {
		prose[filepath.Join(root, filepath.FromSlash(page.Name))] = page.Prose
	}
	for _, page := range all {
		from := filepath.Join(root, filepath.FromSlash(page.Name))
		for _, link := range pageLinks.FindAllStringSubmatch(page.Prose, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			file, heading, _ := strings.Cut(link[1], "#")
			target := from
			if file != "" {
				target = filepath.Join(filepath.Dir(from), filepath.FromSlash(file))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: %v", page.Name, link[1], err)
				continue
			}
			if heading != "" && !anchors(prose[target])[heading] {
				t.Errorf("%s: %s: there is no such heading", page.Name, link[1])
			}
		}
	}
}

// TestEveryAuditActionIsDocumented looks for each action of the audit trail in the table of
// docs/operating.md.
func TestEveryAuditActionIsDocumented(t *testing.T) {
	t.Parallel()
	for _, page := range documents(t) {
		if page.Name != "docs/operating.md" {
			continue
		}
		_, table, _ := strings.Cut(page.Prose, "\n| actions | of |\n")
		table, _, _ = strings.Cut(table, "\n\n")
		for _, action := range api.AuditActions {
			if !strings.Contains(table, "`"+action+"`") {
				t.Errorf("the table of actions lacks %s", action)
			}
		}
	}
}

// TestEveryPageIsInTheIndex looks for each page of docs in the README's list of documents.
func TestEveryPageIsInTheIndex(t *testing.T) {
	t.Parallel()
	index := ""
	for _, page := range documents(t) {
		if page.Name == "README.md" {
			_, index, _ = strings.Cut(page.Prose, "\n## Documents\n")
			index, _, _ = strings.Cut(index, "\n## ")
		}
	}
	for _, page := range documents(t) {
		if filepath.Dir(page.Name) == "docs" && !strings.Contains(index, "]("+page.Name+")") {
			t.Errorf("README.md does not list %s", page.Name)
		}
	}
}

// TestEveryDecisionIsInTheIndex compares the table of the decisions with their pages: it has
// each of them once under its number and its heading, with a line, in the order of the
// numbers.
func TestEveryDecisionIsInTheIndex(t *testing.T) {
	t.Parallel()
	index, want, last := "", []string(nil), ""
	for _, page := range documents(t) {
		file, decision := strings.CutPrefix(page.Name, "docs/decisions/")
		switch {
		case !decision:
		case file == "README.md":
			index = page.Prose
		default:
			heading, _, _ := strings.Cut(page.Prose, "\n")
			number := decisionNumber.FindString(file)
			if number <= last {
				t.Errorf("%s: its name does not begin with a number of four digits above %s", page.Name, last)
			}
			want, last = append(want, fmt.Sprintf("| %s | [%s](%s) |", number, strings.TrimPrefix(heading, "# "), file)), number
		}
	}
	var got []string
	for _, row := range decisionRow.FindAllStringSubmatch(index, -1) {
		got = append(got, row[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/decisions/README.md has\n%s\nwant, each with a line behind it,\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// anchors are the headings of a page, as GitHub makes anchors of them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, heading := range pageHeadings.FindAllStringSubmatch(text, -1) {
		plain := notInAnchor.ReplaceAllString(strings.ToLower(strings.TrimSpace(heading[1])), "")
		all[strings.ReplaceAll(plain, " ", "-")] = true
	}
	return all
}
