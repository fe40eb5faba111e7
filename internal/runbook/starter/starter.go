// Package starter writes the first version of a runbook, with comments, from a template.
//
// It is pure. It must not know files, or which of its templates is chosen why.
package starter

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	variables "github.com/matoolkit/matoolkit/internal/runbook/template"
)

//go:embed templates
var files embed.FS

// The templates.
const (
	TenantToTenant = "tenant-to-tenant"
	Provisioning   = "provisioning"
	GroupCleanup   = "group-cleanup"
)

// Templates are the names of all templates.
func Templates() []string { return []string{TenantToTenant, Provisioning, GroupCleanup} }

// keys are the columns that identify a person, by template.
var keys = map[string]string{TenantToTenant: "Mail", Provisioning: "Mail", GroupCleanup: "Membership"}

// synonyms are other names of the columns that templates use, in lower case and without
// separators.
var synonyms = map[string][]string{
	"Mail":                 {"mail", "email", "emailaddress", "primarysmtpaddress", "mailaddress", "userprincipalname", "upn", "sourceupn", "sourceemail"},
	"Membership":           {"membership", "membershipid", "id", "key"},
	"DisplayName":          {"displayname", "name", "fullname", "cn"},
	"Alias":                {"alias", "mailnickname", "nickname", "samaccountname", "account", "login"},
	"NewUserPrincipalName": {"newuserprincipalname", "newupn", "targetupn", "targetuserprincipalname", "userprincipalname", "upn"},
	"GroupId":              {"groupid", "group", "groupobjectid"},
	"UserId":               {"userid", "user", "objectid", "userobjectid"},
}

// Options are the inputs of a new runbook.
type Options struct {
	Template string
	Source   Source // empty means Upload
	Name     string // of the runbook
	File     string // of the runbook, as commands name it
	Schema   string // the address of the JSON Schema, as the file names it
	Members  string // the member CSV, as commands name it; empty means members.csv
	// Columns are those of the member CSV; nil if there is none.
	Columns []Column
}

// Column is a column of a member CSV.
type Column struct {
	Name   string
	Unique bool // each row has a value, and no two rows the same
	List   bool // values are separated by semicolons
}

// Write returns the runbook and the columns that it needs and the CSV lacks.
func Write(o Options) (text []byte, missing []string, err error) {
	body, err := files.ReadFile("templates/" + o.Template + ".yaml")
	if err != nil {
		return nil, nil, fmt.Errorf("unknown template %q: use %s", o.Template, strings.Join(Templates(), ", "))
	}
	w := &writer{Options: o}
	if w.Members == "" {
		w.Members = "members.csv"
	}
	if w.Source == "" {
		w.Source = Upload
	}
	if !slices.Contains(Sources(), string(w.Source)) {
		return nil, nil, fmt.Errorf("unknown source %q: use %s", w.Source, strings.Join(Sources(), ", "))
	}
	parsed, err := template.New(o.Template).Delims("[[", "]]").Funcs(template.FuncMap{
		"where": w.where, "source": w.source, "worker": func() string { return "worker-01" },
		"name":   func(name string) string { return quoted(w.column(name)) },
		"column": func(name string) string { return `"{{` + w.column(name) + `}}"` },
		"text":   func(name, rest string) string { return `"{{` + w.column(name) + `}}` + rest + `"` },
	}).Parse(string(body))
	if err != nil {
		return nil, nil, err
	}
	var b strings.Builder
	for range 2 { // the data source comes first, and has the columns that the rest uses
		b.Reset()
		if err := parsed.Execute(&b, w); err != nil {
			return nil, nil, err
		}
	}
	return []byte(w.head() + b.String()), w.missing, nil
}

type writer struct {
	Options
	missing []string
	used    []string // columns of the template, in order
}

// head is the text above the template, made once the columns of the template are known.
func (w *writer) head() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# yaml-language-server: $schema=%s
#
# Lines with CHANGE need your values. Then check, simulate and publish the runbook:
#   matoolkit runbook lint %s
#   matoolkit runbook simulate %[2]s --members %s --start "2030-03-01 18:00"
#   matoolkit runbook publish %[2]s
#
`, w.Schema, w.File, w.Members)
	switch {
	case w.Source != Upload:
		b.WriteString("# {{Name}} is the value of a column of the data source. To simulate, give its rows as a CSV file.\n")
	case len(w.Columns) == 0:
		b.WriteString("# {{Name}} is the value of a column of the member CSV.\n")
	default:
		fmt.Fprintf(&b, "# The columns of %s:\n#   %s\n", w.Members, braced(w.columnNames()))
	}
	if len(w.missing) > 0 {
		fmt.Fprintf(&b, "# CHANGE: %s has no column for\n#   %s\n# Add them to it, or use other columns in the lines that name them.\n", w.Members, braced(w.missing))
	}
	fmt.Fprintf(&b, "name: %s\n", w.Name)
	return b.String()
}

func (w *writer) columnNames() []string {
	var names []string
	for _, c := range w.Columns {
		names = append(names, c.Name)
	}
	return names
}

// braced writes columns as templates name them.
func braced(names []string) string { return "{{" + strings.Join(names, "}} {{") + "}}" }

// key returns the column that identifies a person.
func (w *writer) key() string {
	name, found := w.find(keys[w.Template], func(c Column) bool { return c.Unique })
	if !found {
		if i := slices.IndexFunc(w.Columns, func(c Column) bool { return c.Unique }); i >= 0 {
			return quoted(w.Columns[i].Name)
		}
		w.miss(name)
	}
	return quoted(name)
}

// column returns the column of the CSV that stands for one of the template's.
func (w *writer) column(name string) string {
	w.used = unique(append(w.used, name))
	found, ok := w.find(name, func(c Column) bool { return !c.List })
	if !ok {
		w.miss(name)
	}
	return found
}

func (w *writer) miss(name string) {
	if len(w.Columns) > 0 && !slices.Contains(w.missing, name) {
		w.missing = append(w.missing, name)
	}
}

// find returns the first column with a name that means the same, or the name itself.
func (w *writer) find(name string, fits func(Column) bool) (string, bool) {
	for _, synonym := range synonyms[name] {
		for _, c := range w.Columns {
			if fits(c) && plain(c.Name) == synonym {
				return c.Name, true
			}
		}
	}
	return name, false
}

// lists returns the field for columns that hold lists.
func (w *writer) lists() string {
	var b strings.Builder
	for _, c := range w.Columns {
		if c.List {
			fmt.Fprintf(&b, "\n    - {name: %s, format: semicolon_delimited}", quoted(c.Name))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n  multi_valued_columns: # a parameter gets the list" + b.String()
}

var separators = strings.NewReplacer(" ", "", "_", "", "-", "", ".", "")

func plain(name string) string { return separators.Replace(strings.ToLower(name)) }

var word = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// quoted writes a name as YAML that reads as text.
func quoted(name string) string {
	if word.MatchString(name) && !slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(name)) {
		return name
	}
	return `"` + name + `"`
}

// Recognized counts the names that stand for a column of a template.
func Recognized(names []string) int {
	n := 0
	for _, name := range names {
		for _, all := range synonyms {
			if slices.Contains(all, plain(strings.TrimSpace(name))) {
				n++
				break
			}
		}
	}
	return n
}

// Usable tells whether a template can use a column.
func Usable(column string) bool {
	return variables.CheckName(column) == nil && !strings.HasPrefix(column, "_") && strings.TrimSpace(column) == column
}
