package pages

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Command is one command of a shell, as a document shows it.
type Command struct {
	Where  string   // page and line
	Words  []string // the program and its arguments; what only the shell knows is as written
	Inline bool     // in running text, where arguments may be left out
}

// Program is the name of the program, without the folder that it is in.
func (c Command) Program() string {
	return c.Words[0][strings.LastIndex(c.Words[0], "/")+1:]
}

// String is the command as one line.
func (c Command) String() string { return strings.Join(c.Words, " ") }

// Commands are the commands that a page shows: those of its sh and console blocks, and
// those of the named programs that its text quotes. The error tells all that a shell
// could not read.
func (p Page) Commands(programs ...string) ([]Command, error) {
	var all []Command
	var faults []error
	for _, b := range p.Blocks {
		commands, err := b.Commands()
		if err != nil {
			faults = append(faults, err)
		}
		all = append(all, commands...)
	}
	commands, err := p.quoted(programs)
	if err != nil {
		faults = append(faults, err)
	}
	return append(all, commands...), errors.Join(faults...)
}

// Commands are the commands of an sh or console block; other blocks have none.
func (b Block) Commands() ([]Command, error) {
	switch b.Language {
	case "sh":
		return parse(b.Page, b.Line+1, b.Text)
	case "console":
		return parse(b.Page, b.Line+1, Prompted(b.Text))
	}
	return nil, nil
}

// Prompted is what a console block has after its prompts; empty lines stand for answers.
func Prompted(console string) string {
	var script strings.Builder
	for line := range strings.Lines(console) {
		if given, ok := strings.CutPrefix(line, "$ "); ok {
			script.WriteString(given)
		} else {
			script.WriteString("\n")
		}
	}
	return script.String()
}

var (
	quotation   = regexp.MustCompile("`([^`\n]+)`")
	placeholder = regexp.MustCompile(`<([a-zA-Z -]+)>`)
)

// quoted are the commands of these programs in running text. A <placeholder> is a word.
func (p Page) quoted(programs []string) ([]Command, error) {
	var all []Command
	var faults []error
	for i, line := range strings.Split(p.Prose, "\n") {
		for _, m := range quotation.FindAllStringSubmatch(line, -1) {
			first, rest, _ := strings.Cut(m[1], " ")
			named := false
			for _, program := range programs {
				named = named || strings.TrimPrefix(first, "bin/") == program
			}
			if !named || rest == "" {
				continue
			}
			commands, err := parse(p.Name, i+1, placeholder.ReplaceAllString(strings.ReplaceAll(m[1], "…", "X"), "X"))
			if err != nil {
				faults = append(faults, err)
			}
			for _, c := range commands {
				c.Inline = true
				all = append(all, c)
			}
		}
	}
	return all, errors.Join(faults...)
}

// parse reads a script whose first line is a page's line.
func parse(page string, line int, script string) ([]Command, error) {
	file, err := syntax.NewParser().Parse(strings.NewReader(script), page)
	if err != nil {
		return nil, fmt.Errorf("%s: the block from line %d on is no shell script: %w", page, line, err)
	}
	var all []Command
	syntax.Walk(file, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		c := Command{Where: fmt.Sprintf("%s:%d", page, line+int(call.Pos().Line())-1)}
		for _, w := range call.Args {
			c.Words = append(c.Words, text(script, w))
		}
		all = append(all, c)
		return true
	})
	return all, nil
}

// text is a word without its quotes; expansions are as they were written.
func text(script string, w *syntax.Word) string {
	var out strings.Builder
	part := func(p syntax.WordPart) {
		switch p := p.(type) {
		case *syntax.Lit:
			out.WriteString(strings.ReplaceAll(p.Value, "\\\n", ""))
		case *syntax.SglQuoted:
			out.WriteString(p.Value)
		default:
			out.WriteString(script[p.Pos().Offset():p.End().Offset()])
		}
	}
	for _, p := range w.Parts {
		if quoted, ok := p.(*syntax.DblQuoted); ok {
			for _, inner := range quoted.Parts {
				part(inner)
			}
			continue
		}
		part(p)
	}
	return out.String()
}
