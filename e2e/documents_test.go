package e2e_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	fencedBlocks = regexp.MustCompile("(?ms)^```.*?^```")
	pageLinks    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	pageHeadings = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinksOfDocuments follows the links between the documents, to a file and to a
// heading in it.
func TestLinksOfDocuments(t *testing.T) {
	t.Parallel()
	pages := []string{filepath.Join(root, "README.md")}
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md", "examples/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(found), err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		for _, link := range pageLinks.FindAllStringSubmatch(withoutBlocks(t, page), -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			file, heading, _ := strings.Cut(link[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: %s: %v", page, link[1], err)
				continue
			}
			if heading != "" && !anchors(withoutBlocks(t, target))[heading] {
				t.Errorf("%s: %s: there is no such heading", page, link[1])
			}
		}
	}
}

// withoutBlocks is the text of a page without what is in its fenced blocks.
func withoutBlocks(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return fencedBlocks.ReplaceAllString(string(text), "")
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
