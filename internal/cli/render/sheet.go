package render

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// Sheet is a table. All lists and results are sheets, so that all of them have the same
// formats, columns and order.
type Sheet struct {
	c     *Printer
	head  []string
	raw   [][]any    // the values
	rows  [][]string // the values as text, made by Print
	minor []string   // columns that are hidden first on a narrow terminal
	extra []string   // columns of --output wide, --output csv and --columns only
	data  bool       // the columns of a data source: all of them are shown, with their own names
}

// Shown is a value with a text of its own in tables. CSV and --sort use the value.
type Shown struct {
	Value any
	Text  string
}

// Table returns an empty table with these columns.
func (c *Printer) Table(head ...string) *Sheet { return &Sheet{c: c, head: head} }

// Row adds a row.
func (s *Sheet) Row(cells ...any) { s.raw = append(s.raw, cells) }

// choose sorts the rows by a column, and keeps the chosen columns in their order.
func (s *Sheet) choose(columns []string, sortBy string) error {
	if by, descending := strings.CutPrefix(sortBy, "-"); by != "" {
		i, err := s.index("--sort", by)
		if err != nil {
			return err
		}
		slices.SortStableFunc(s.raw, func(a, b []any) int {
			if descending {
				a, b = b, a
			}
			return compare(a[i], b[i])
		})
	}
	if len(columns) == 0 {
		return nil
	}
	var chosen []int
	var head []string
	for _, name := range columns {
		i, err := s.index("--columns", name)
		if err != nil {
			return err
		}
		chosen, head = append(chosen, i), append(head, s.head[i])
	}
	for r, row := range s.raw {
		cells := make([]any, len(chosen))
		for i, from := range chosen {
			cells[i] = row[from]
		}
		s.raw[r] = cells
	}
	s.head, s.extra = head, nil
	return nil
}

// index finds a column by its name, in any case, with - or _ for a space.
func (s *Sheet) index(option, name string) (int, error) {
	plain := strings.NewReplacer("-", " ", "_", " ").Replace(strings.ToLower(strings.TrimSpace(name)))
	if i := slices.IndexFunc(s.head, func(h string) bool { return strings.EqualFold(h, plain) }); i >= 0 {
		return i, nil
	}
	var known []string
	for _, h := range s.head {
		known = append(known, strings.ReplaceAll(h, " ", "-"))
	}
	return 0, exit.Usagef("%s: unknown column %q: use %s", option, name, OneOf(known))
}

// compare orders two values of a column. Values of different types are compared as text.
func compare(a, b any) int {
	a, b = plain(a), plain(b)
	switch x := a.(type) {
	case time.Time:
		if y, ok := b.(time.Time); ok {
			return x.Compare(y)
		}
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

// plain returns the value of a cell as a time, an integer or anything else.
func plain(v any) any {
	switch v := v.(type) {
	case Shown:
		return plain(v.Value)
	case *time.Time:
		if v == nil {
			return time.Time{}
		}
		return *v
	case int:
		return int64(v)
	}
	return v
}

// Print prints the table, or with --quiet its first column.
func (s *Sheet) Print() error {
	s.format()
	if s.c.Quiet {
		return s.printFirstColumn()
	}
	hidden, whole := s.narrow()
	if _, err := fmt.Fprintln(s.c.Stdout, s.render(whole)); err != nil {
		return err
	}
	if n := len(hidden); n > 0 {
		s.c.Notice("(%s hidden: %s; use -o wide)", Count(n, "column"), strings.Join(hidden, ", "))
	}
	return nil
}

// format turns the cells into text, without the columns that only -o wide shows.
func (s *Sheet) format() {
	if s.c.Format != FormatWide && !s.data {
		for _, name := range s.extra {
			s.remove(slices.Index(s.head, name))
		}
	}
	s.extra = nil
	s.rows = make([][]string, len(s.raw))
	for i, cells := range s.raw {
		for _, cell := range cells {
			s.rows[i] = append(s.rows[i], s.c.Cell(cell))
		}
	}
}

func (s *Sheet) printFirstColumn() error {
	for _, row := range s.rows {
		if _, err := fmt.Fprintln(s.c.Stdout, row[0]); err != nil {
			return err
		}
	}
	return nil
}

// narrow fits the table to the terminal. It returns the columns that it hid, and whether no row
// needs to be cut.
func (s *Sheet) narrow() (hidden []string, whole bool) {
	switch {
	case !s.c.Terminal || s.c.Format == FormatWide:
		return nil, true
	case s.data:
		return nil, false
	case len(s.c.Columns) == 0:
		s.dropEmpty()
	}
	return s.fit(s.c.Width)
}

// render returns the table; unless it is whole, its rows are cut at the terminal's width.
func (s *Sheet) render(whole bool) string {
	style := table.StyleLight
	style.Options = table.OptionsNoBordersAndSeparators
	style.Format.Header = text.FormatUpper
	if s.data {
		style.Format.Header = text.FormatDefault
	}
	style.Box.PaddingLeft, style.Box.PaddingRight = "", "  "
	style.Box.UnfinishedRow = "…"
	if !whole {
		style.Size.WidthMax = s.c.Width
	}
	w := table.NewWriter()
	w.SetStyle(style)
	w.SuppressTrailingSpaces()
	head := make(table.Row, len(s.head))
	for i, h := range s.head {
		head[i] = h
	}
	w.AppendHeader(head)
	for _, row := range s.rows {
		w.AppendRow(s.row(row))
	}
	return w.Render()
}

// row returns the cells of a row; a status has its color.
func (s *Sheet) row(texts []string) table.Row {
	cells := make(table.Row, len(texts))
	for i, cell := range texts {
		cells[i] = cell
		if (s.head[i] == "status" || s.head[i] == "state") && !s.data {
			cells[i] = s.c.status(cell)
		}
	}
	return cells
}

// dropEmpty removes the columns that are empty or zero in all rows.
func (s *Sheet) dropEmpty() {
	if len(s.rows) == 0 {
		return
	}
	for i := len(s.head) - 1; i > 0; i-- {
		if slices.ContainsFunc(s.rows, func(row []string) bool { return row[i] != "-" && row[i] != "0" }) {
			continue
		}
		s.remove(i)
	}
}

// remove removes a column.
func (s *Sheet) remove(i int) {
	s.head = slices.Delete(slices.Clone(s.head), i, i+1)
	for r := range s.raw {
		s.raw[r] = slices.Delete(slices.Clone(s.raw[r]), i, i+1)
	}
	for r := range s.rows {
		s.rows[r] = slices.Delete(s.rows[r], i, i+1)
	}
}
