// Package xlsx reads one sheet of an Excel workbook row by row, as the data sources that find such a file give it. The
// first row with a value names the columns.
//
// It reads what Excel stored and calculates nothing: a formula has its last value. Numbers, booleans and text keep
// their type; a number with the format of a date or a time is one, without a zone. A cell with an error, such as #N/A,
// and a formula without a value are errors that name the cell, and so are files that end early or would unpack to more
// than the limits.
//
// The contract is Office Open XML (ECMA-376), in its transitional and its strict form.
package xlsx

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/matoolkit/matoolkit/internal/datasource"
)

// The limits of what a file unpacks to, in bytes unless they say otherwise. A compressed file of a few kilobytes can
// hold gigabytes.
const (
	maxParts   = 5_000 // files in the archive
	maxSmall   = 8 << 20
	maxStrings = 128 << 20 // the XML of shared texts
	maxTexts   = 24 << 20  // shared texts, which are kept
	maxSheet   = 1 << 30
	maxColumns = 1_000 // columns
	maxCell    = 200_000
)

// Sheet is a sheet that is being read. It is not safe for concurrent use.
type Sheet struct {
	book    *book
	name    string
	body    io.ReadCloser
	xml     *xml.Decoder
	columns []string
	places  []int       // of columns, from 0
	named   map[int]int // the place of a column to its index
	values  []json.RawMessage
	err     error // what Next gives from now on
}

// Open finds a sheet by its name, the only visible one if that is empty, and reads the names of its columns.
func Open(file []byte, name string) (*Sheet, error) {
	b, err := openBook(file)
	if err != nil {
		return nil, err
	}
	chosen, err := b.choose(name)
	if err != nil {
		return nil, err
	}
	s := &Sheet{book: b, name: chosen.name, named: map[int]int{}}
	if s.body, err = b.open(chosen.part, maxSheet); err != nil {
		return nil, err
	}
	s.xml = xml.NewDecoder(s.body)
	if err := s.header(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Columns are the names in the first row.
func (s *Sheet) Columns() []string { return s.columns }

// Next gives the next row that has a value, as JSON in the order of the columns, or io.EOF after the last.
func (s *Sheet) Next() ([]json.RawMessage, error) {
	for s.err == nil {
		var cells []cell
		if cells, s.err = s.row(); s.err != nil {
			break
		}
		if s.err = s.convert(cells); s.err == nil && len(cells) > 0 {
			return s.values, nil
		}
	}
	return nil, s.err
}

// Close ends the reading.
func (s *Sheet) Close() {
	if s.err == nil {
		s.err = errors.New("the sheet is closed")
	}
	_ = s.body.Close() // nothing was written
}

// header reads the names of the columns.
func (s *Sheet) header() error {
	cells, err := s.row()
	for err == nil && len(cells) == 0 {
		cells, err = s.row()
	}
	if err == io.EOF { // itself
		return fmt.Errorf("the sheet %q is empty; its first row must name the columns", s.name)
	}
	if err != nil {
		return err
	}
	for _, c := range cells {
		value, err := s.value(c)
		if err != nil {
			return err
		}
		name := string(value)
		if c.text != nil {
			name = *c.text
		}
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if len(s.columns) >= maxColumns {
			return fmt.Errorf("the sheet %q has more than %d columns", s.name, maxColumns)
		}
		s.named[c.column] = len(s.columns)
		s.columns, s.places = append(s.columns, name), append(s.places, c.column)
	}
	s.values = make([]json.RawMessage, len(s.columns))
	return nil
}

var null = json.RawMessage("null")

// convert makes values of the cells of a row.
func (s *Sheet) convert(cells []cell) error {
	for i := range s.values {
		s.values[i] = null
	}
	for _, c := range cells {
		at, ok := s.named[c.column]
		if !ok {
			return s.at(c, errors.New("the column has no name in the first row"))
		}
		value, err := s.value(c)
		if err != nil {
			return err
		}
		s.values[at] = value
	}
	return nil
}

// value is the JSON of a cell.
func (s *Sheet) value(c cell) (json.RawMessage, error) {
	value, err := c.json(s.book)
	if err != nil {
		return nil, s.at(c, err)
	}
	return value, nil
}

func (s *Sheet) at(c cell, err error) error {
	return fmt.Errorf("sheet %q, cell %s: %w", s.name, c.name(), err)
}

// book has the parts that the sheets of a file share.
type book struct {
	parts    map[string]*zip.File // by path, in lower case
	sheets   []sheet
	texts    []string
	formats  []dateFormat // by the number of a style
	date1904 bool
}

type sheet struct {
	name, part string
	hidden     bool
}

// choose finds a sheet.
func (b *book) choose(name string) (sheet, error) {
	var visible []sheet
	var names []string
	for _, s := range b.sheets {
		if name != "" && strings.EqualFold(s.name, name) {
			return s, nil
		}
		if !s.hidden {
			visible = append(visible, s)
		}
		names = append(names, s.name)
	}
	switch {
	case name != "":
		return sheet{}, fmt.Errorf("the file has no sheet %q; it has %s", name, strings.Join(names, ", "))
	case len(visible) != 1:
		return sheet{}, fmt.Errorf("the file has the sheets %s: name one in sheet", strings.Join(names, ", "))
	}
	return visible[0], nil
}

func openBook(file []byte) (*book, error) {
	if bytes.HasPrefix(file, []byte{0xD0, 0xCF, 0x11, 0xE0}) {
		return nil, errors.New("the file is encrypted with a password or a label, or in the format .xls; store it as .xlsx without encryption")
	}
	z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		return nil, fmt.Errorf("the file is not a complete .xlsx file: %w", err)
	}
	if len(z.File) > maxParts {
		return nil, fmt.Errorf("the file has more than %d parts", maxParts)
	}
	b := &book{parts: map[string]*zip.File{}}
	for _, f := range z.File {
		b.parts[strings.ToLower(f.Name)] = f
	}
	return b, b.read()
}

// relation leads from one part to another.
type relation struct {
	ID     string `xml:"Id,attr"`
	Type   string `xml:"Type,attr"`
	Target string `xml:"Target,attr"`
}

func (r relation) is(kind string) bool { return strings.HasSuffix(r.Type, "/relationships/"+kind) }

// relations are those of a part.
func (b *book) relations(part string) ([]relation, error) {
	var found struct {
		Relations []relation `xml:"Relationship"`
	}
	dir, file := path.Split(part)
	if err := b.decode(dir+"_rels/"+file+".rels", &found); err != nil {
		return nil, err
	}
	for i, r := range found.Relations {
		if strings.HasPrefix(r.Target, "/") {
			found.Relations[i].Target = strings.TrimPrefix(r.Target, "/")
		} else {
			found.Relations[i].Target = path.Join(dir, r.Target)
		}
	}
	return found.Relations, nil
}

// read reads all but the sheets.
func (b *book) read() error {
	roots, err := b.relations("")
	if err != nil {
		return err
	}
	part := ""
	for _, r := range roots {
		if r.is("officeDocument") {
			part = r.Target
		}
	}
	if part == "" {
		return errors.New("the file is not an Excel workbook")
	}
	var document struct {
		Properties struct {
			Date1904 string `xml:"date1904,attr"`
		} `xml:"workbookPr"`
		Sheets []struct {
			Name  string     `xml:"name,attr"`
			State string     `xml:"state,attr"`
			Attrs []xml.Attr `xml:",any,attr"`
		} `xml:"sheets>sheet"`
	}
	if err := b.decode(part, &document); err != nil {
		return err
	}
	b.date1904 = document.Properties.Date1904 == "1" || document.Properties.Date1904 == "true"
	relations, err := b.relations(part)
	if err != nil {
		return err
	}
	targets := map[string]string{}
	for _, r := range relations {
		switch {
		case r.is("worksheet"):
			targets[r.ID] = r.Target
		case r.is("sharedStrings"):
			err = b.readTexts(r.Target)
		case r.is("styles"):
			err = b.readFormats(r.Target)
		}
		if err != nil {
			return err
		}
	}
	for _, s := range document.Sheets {
		for _, a := range s.Attrs {
			if target, ok := targets[a.Value]; ok && a.Name.Local == "id" {
				b.sheets = append(b.sheets, sheet{name: s.Name, part: target, hidden: s.State != "" && s.State != "visible"})
			}
		}
	}
	return nil
}

// decode reads a small part as a whole.
func (b *book) decode(part string, out any) error {
	body, err := b.open(part, maxSmall)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := xml.NewDecoder(body).Decode(out); err != nil {
		return broken(part, err)
	}
	return nil
}

// open opens a part that has at most so many bytes.
func (b *book) open(part string, limit int64) (io.ReadCloser, error) {
	f, ok := b.parts[strings.ToLower(part)]
	if !ok {
		return nil, fmt.Errorf("the file is not a complete .xlsx file: the part %q is missing", part)
	}
	body, err := f.Open()
	if err != nil {
		return nil, broken(part, err)
	}
	return &bounded{ReadCloser: body, left: limit}, nil
}

// broken explains why a part could not be read.
func broken(part string, err error) error {
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("the part %s of the file cannot be read: %w", part, err)
}

// bounded reads up to a limit.
type bounded struct {
	io.ReadCloser
	left int64
}

var errTooLarge = errors.New("it unpacks to more than the limit")

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooLarge
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// readTexts reads the texts that cells share.
func (b *book) readTexts(part string) error {
	body, err := b.open(part, maxStrings)
	if err != nil {
		return err
	}
	defer body.Close()
	d := xml.NewDecoder(body)
	total := 0
	for {
		token, err := d.Token()
		if err == io.EOF { // the decoder has seen the end of the root
			return nil
		}
		if err != nil {
			return broken(part, err)
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "si" {
			continue
		}
		text, err := richText(d)
		if err != nil {
			return broken(part, err)
		}
		if total += len(text) + 16; total > maxTexts {
			return broken(part, errTooLarge)
		}
		b.texts = append(b.texts, text)
	}
}

// richText reads a text up to the end of the element around it. It has the text of its runs, and not how East Asian
// characters are pronounced.
func richText(d *xml.Decoder) (string, error) {
	var text strings.Builder
	inText := 0
	for depth := 1; depth > 0; {
		token, err := d.Token()
		if err != nil {
			return "", err
		}
		switch t := token.(type) {
		case xml.StartElement:
			if t.Name.Local == "rPh" {
				if err := d.Skip(); err != nil {
					return "", err
				}
				continue
			}
			depth++
			if t.Name.Local == "t" {
				inText = depth
			}
		case xml.EndElement:
			if depth == inText {
				inText = 0
			}
			depth--
		case xml.CharData:
			if inText > 0 {
				text.Write(t)
			}
			if text.Len() > maxCell {
				return "", errTooLarge
			}
		}
	}
	return unescape(text.String()), nil
}

// jsonText is the JSON of a text.
func jsonText(text string) (json.RawMessage, error) { return datasource.Value(text) }
