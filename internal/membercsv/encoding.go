package membercsv

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/runbook"
)

// bufferSize is how many bytes of a file are read at once.
const bufferSize = 64 << 10

// decode checks that the file is text in UTF-8 and gives the offset at which the text begins, after a byte
// order mark. It refuses a line with more delimiters than a row can have: its parsed fields would take a
// hundred times its size. ok is false where there is a problem.
func (p *parser) decode() (begin int64, ok bool, err error) {
	if p.file.Size() > MaxBytes {
		p.add(Problem{Code: CodeTooLarge}, "the file has %d bytes; at most %d are allowed", p.file.Size(), MaxBytes)
		return 0, false, nil
	}
	text := bufio.NewReaderSize(io.NewSectionReader(p.file, 0, p.file.Size()), bufferSize)
	start, err := text.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, false, err
	}
	if err := csvtext.Foreign(start); err != nil {
		p.add(Problem{Line: 1, Code: CodeEncoding}, "%v", err)
		return 0, false, nil
	}
	if bytes.HasPrefix(start, csvtext.BOM) {
		n, err := text.Discard(len(csvtext.BOM))
		if err != nil {
			return 0, false, err
		}
		begin = int64(n)
	}
	err = p.checkLines(text)
	return begin, len(p.problems) == 0, err
}

// checkLines reports the lines that are not in UTF-8, and ends at one with too many delimiters.
func (p *parser) checkLines(text *bufio.Reader) error {
	for line := 1; len(p.problems) < maxProblems; line++ {
		invalid, delimiters, err := checkLine(text)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if invalid > 0 {
			p.add(Problem{Line: line, Column: invalid, Code: CodeEncoding}, "the line is not in UTF-8; %s", csvtext.SaveAs)
		}
		if delimiters > MaxRow+MaxColumns {
			p.add(Problem{Line: line, Code: CodeRowTooLong}, "the line has %d delimiters, more than a row can have", delimiters)
			return nil
		}
		if err != nil {
			return nil
		}
	}
	return nil
}

// checkLine reads one line and gives the column of the first byte that is not UTF-8, from 1,
// and how often it has the most frequent of the delimiters.
func checkLine(text *bufio.Reader) (invalid, delimiters int, err error) {
	var found [len(csvtext.Delimiters)]int
	for column := 1; ; {
		r, n, err := text.ReadRune()
		switch {
		case err != nil || r == '\n':
			return invalid, slices.Max(found[:]), err
		case r == utf8.RuneError && n == 1 && invalid == 0:
			invalid = column
		}
		for i, d := range csvtext.Delimiters {
			if r == d.Rune {
				found[i]++
			}
		}
		column += n
	}
}

// encode gives the JSON value of a field: a string, or for a multi-valued column an array.
func encode(format, field string) (json.RawMessage, error) {
	if format != "" {
		return runbook.ParseList(format, field)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(field); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}
