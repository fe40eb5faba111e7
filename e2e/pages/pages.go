// Package pages reads what the documents show, for the tests that hold the documents
// against the programs: fenced blocks with what is said about them, and the commands in
// blocks and in running text.
//
// A block begins with a fence and its language, which the name of a file may follow: the
// block is then the file, or lines of it. What else a reader of a page does not have to
// know stands in a mark, an HTML comment on the line before the fence:
//
//	<!-- needs Azure -->
//	```sh
//	az login
//	```
//
// Which marks there are, and what becomes of a block of which language, is told in
// e2e/blocks_test.go.
package pages

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Page is one document.
type Page struct {
	Name   string // within the repository, with slashes
	Blocks []Block
	Prose  string // the text with empty lines in the place of blocks
	Stray  []int  // the lines of marks that no block follows, from 1
}

// Block is one fenced block.
type Block struct {
	Page     string
	Line     int    // of the opening fence, from 1
	Language string // as in the fence; "" for none
	File     string // what else stands in the fence
	Mark     string // of the line before, without <!-- and -->
	Text     string // without the fences, and without their indentation
}

// Where is the block's place, for messages.
func (b Block) Where() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Marked splits the mark: "checked: as one reads it" is "checked" and "as one reads it".
func (b Block) Marked() (word, rest string) {
	word, rest, _ = strings.Cut(b.Mark, ":")
	return strings.TrimSpace(word), strings.TrimSpace(rest)
}

// All reads every document of the repository: each *.md file but those in folders whose
// name is testdata or begins with a dot, and in what make puts there.
func All(root string) ([]Page, error) {
	var all []Page
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (slices.Contains([]string{"testdata", "bin", "dist", "node_modules"}, name) || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".md") {
			return nil
		}
		within, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		page, err := Parse(filepath.ToSlash(within), string(text))
		all = append(all, page)
		return err
	})
	return all, err
}

var (
	fence = regexp.MustCompile("^( *)(```+|~~~+)(.*)$")
	mark  = regexp.MustCompile(`^ *<!-- *(.*?) *-->$`)
	// Only these are missed where no block follows: pages have comments of other kinds.
	marks = regexp.MustCompile(`^(run|needs Azure|found|is|output)\b`)
)

// Parse reads a document. The error names a fence that does not end.
func Parse(name, text string) (Page, error) {
	page := Page{Name: name}
	var prose strings.Builder
	var open *Block
	var indent, closing, said string
	saidAt := 0
	for i, line := range strings.Split(text, "\n") {
		found := fence.FindStringSubmatch(line)
		switch {
		case open != nil && found != nil && strings.HasPrefix(found[2], closing) && strings.TrimSpace(found[3]) == "":
			page.Blocks = append(page.Blocks, *open)
			open = nil
		case open != nil:
			open.Text += strings.TrimPrefix(line, indent) + "\n"
		case found != nil:
			indent, closing = found[1], found[2]
			language, file, _ := strings.Cut(strings.TrimSpace(found[3]), " ")
			open = &Block{Page: name, Line: i + 1, Language: language, File: strings.TrimSpace(file), Mark: said}
			said = ""
		default:
			if marks.MatchString(said) {
				page.Stray = append(page.Stray, saidAt)
			}
			said = ""
			if m := mark.FindStringSubmatch(line); m != nil {
				said, saidAt = m[1], i+1
			} else {
				prose.WriteString(line)
			}
		}
		prose.WriteString("\n")
	}
	if marks.MatchString(said) {
		page.Stray = append(page.Stray, saidAt)
	}
	page.Prose = prose.String()
	if open != nil {
		return page, fmt.Errorf("%s: the block has no end", open.Where())
	}
	return page, nil
}
