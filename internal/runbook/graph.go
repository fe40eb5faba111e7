package runbook

import (
	"regexp"
	"strings"

	"github.com/matoolkit/matoolkit/internal/runbook/template"
)

// Graph says which people a source of the type graph has. One of Groups, Users, List and Workbook is set.
type Graph struct {
	Groups   []string // object ids
	Users    string   // a $filter
	List     *GraphList
	Workbook *GraphWorkbook
	Columns  []GraphColumn // in the order of the text; none for a workbook, which names its own
}

// GraphList is a SharePoint list, of which each item is a person.
type GraphList struct {
	Site   string // the URL
	Name   string // the title or the id
	Filter string // a $filter; empty: all items
}

// GraphWorkbook is a sheet of an Excel file in a library, of which each row is a person.
type GraphWorkbook struct {
	Site    string // the URL
	Library string // the name; empty: the site's default library
	Path    string // in the library, with slashes
	Sheet   string // empty: the only one
}

// GraphColumn names a column, and the property that its values come from: one of a user, one within it
// (onPremisesExtensionAttributes/extensionAttribute1), one of the group (group/displayName), or a field of a list.
type GraphColumn struct {
	Name     string
	Property string
}

// GroupProperty begins a [GraphColumn.Property] of the group.
const GroupProperty = "group/"

const maxGroups = 50

// peopleFields are those fields of data_source of which a graph source has one.
var peopleFields = []string{"groups", "users", "list", "workbook"}

var listObject = Object{
	Name: "data_source.list", Doc: "The items of a SharePoint list. `columns` names fields by their internal names.",
	Fields: []Field{
		{"site", true, "The URL of the site, such as `https://contoso.sharepoint.com/sites/migration`.", matching(siteURL)},
		{"name", true, "The title or the id of the list.", text()},
		{"filter", false, "A `$filter` of Microsoft Graph, such as `fields/Status eq 'Planned'`. Default: all items.", text()},
	},
}

var workbookObject = Object{
	Name: "data_source.workbook", Doc: "The rows of a sheet of an Excel file in a SharePoint library. The first row names the columns.",
	Fields: []Field{
		{"site", true, "The URL of the site, such as `https://contoso.sharepoint.com/sites/migration`.", matching(siteURL)},
		{"library", false, "The name of the library. Default: the site's default library.", text()},
		{"path", true, "The path of the file in the library, such as `Waves/people.xlsx`.", matching(workbookPath)},
		{"sheet", false, "The name of the sheet. Default: the only one.", text()},
	},
}

var (
	siteURL      = regexp.MustCompile(`^https://[A-Za-z0-9][A-Za-z0-9.-]*(/[^\s?#%\\:]*)?$`)
	workbookPath = regexp.MustCompile(`^[^\s/\\"*:<>?|#%]([^\\"*:<>?|#%]*[^/\\"*:<>?|#%])?\.[xX][lL][sS][xX]$`)
	objectID     = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)
	propertyPath = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,99}(/[A-Za-z_][A-Za-z0-9_]{0,99})?$`)
	extensionOne = regexp.MustCompile(`^extensionAttribute[0-9]+$`)
)

// graph reads the fields that only a graph source has.
func (f fields) graph(ds *draftSource) {
	var kinds []string
	for _, name := range peopleFields {
		if f.has(name) {
			kinds = append(kinds, name)
		}
	}
	if ds.Type != SourceGraph {
		for _, name := range append(kinds, "columns") {
			if f.has(name) && ds.Type != "" {
				f.p.errorf(f.at(name), f.join(name), CodeBadValue, "is only for graph")
			}
		}
		return
	}
	f.require("connection")
	if f.has("query") {
		f.p.errorf(f.at("query"), f.join("query"), CodeBadValue, "is not for graph; use one of %s", strings.Join(peopleFields, ", "))
	}
	ds.columnsAt = f.at("columns")
	if len(kinds) == 0 {
		for _, name := range peopleFields {
			if f.refused[name] {
				return
			}
		}
		f.p.errorf(f.pos, f.path, CodeMissingField, "the people are missing: one of %s", strings.Join(peopleFields, ", "))
		return
	}
	for _, name := range kinds[1:] {
		f.p.errorf(f.at(name), f.join(name), CodeBadValue, "excludes %s; keep one of the two", kinds[0])
	}
	g := &Graph{}
	switch kinds[0] {
	case "groups":
		g.Groups = f.groupIDs("groups")
	case "users":
		g.Users = f.text("users")
	case "list":
		g.List = f.sharePointList("list")
	case "workbook":
		g.Workbook = f.workbook("workbook")
	}
	switch {
	case kinds[0] != "workbook":
		f.require("columns")
		g.Columns = f.graphColumns("columns", kinds[0])
	case f.has("columns"):
		f.p.errorf(f.at("columns"), f.join("columns"), CodeBadValue, "is not for a workbook, whose first row names the columns")
	}
	ds.Graph = g
}

func (f fields) groupIDs(name string) []string {
	var ids []string
	seen := map[string]int{}
	for _, item := range f.list(name, "object id", 1, maxGroups) {
		id := strings.ToLower(f.p.text(item, f.join(name)))
		line, twice := seen[id]
		switch {
		case id == "":
			continue
		case !objectID.MatchString(id):
			f.p.errorf(at(item), f.join(name), CodeBadValue, "%q is invalid: use the object id of the group, not its name", clip(id))
			continue
		case twice:
			f.p.errorf(at(item), f.join(name), CodeBadValue, "%q is already on line %d", id, line)
		}
		seen[id] = at(item).line
		ids = append(ids, id)
	}
	return ids
}

func (f fields) sharePointList(name string) *GraphList {
	g, ok := f.p.object(f.values[name], f.join(name), listObject)
	if !ok {
		return nil
	}
	return &GraphList{Site: g.site("site"), Name: g.text("name"), Filter: g.text("filter")}
}

func (f fields) workbook(name string) *GraphWorkbook {
	g, ok := f.p.object(f.values[name], f.join(name), workbookObject)
	if !ok {
		return nil
	}
	return &GraphWorkbook{
		Site: g.site("site"), Library: g.text("library"), Sheet: g.text("sheet"),
		Path: g.matching("path", workbookPath, "use the path of an .xlsx file in the library, such as Waves/people.xlsx; a CSV file is a source of the type csv"),
	}
}

// site reads the URL of a site, without a slash at its end.
func (f fields) site(name string) string {
	return strings.TrimRight(f.matching(name, siteURL, "use the URL of the site, such as https://contoso.sharepoint.com/sites/migration"), "/")
}

// graphColumns reads the columns of people that one of the peopleFields gives.
func (f fields) graphColumns(name, people string) []GraphColumn {
	n, ok := f.values[name]
	if !ok {
		return nil
	}
	g, ok := f.p.mapping(n, f.join(name))
	if !ok {
		return nil
	}
	switch {
	case len(g.keys) == 0:
		f.p.errorf(g.pos, g.path, CodeMissingField, "names no column")
	case len(g.keys) > maxColumns:
		f.p.errorf(g.pos, g.path, CodeTooLarge, "has %d columns; at most %d are allowed", len(g.keys), maxColumns)
		return nil
	}
	var columns []GraphColumn
	folded := map[string]int{}
	for _, key := range g.keys {
		path := g.join(key.Value)
		if line, twice := folded[strings.ToLower(key.Value)]; twice {
			f.p.errorf(at(key), path, CodeDuplicateColumn, "differs only in case from the column on line %d", line)
		}
		folded[strings.ToLower(key.Value)] = at(key).line
		switch fault := template.CheckName(key.Value); {
		case strings.TrimSpace(key.Value) != key.Value:
			f.p.errorf(at(key), path, CodeBadName, "%q begins or ends with a space", clip(key.Value))
		case fault != nil:
			f.p.errorf(at(key), path, CodeBadName, "%v", fault)
		case strings.HasPrefix(key.Value, "_"):
			f.p.errorf(at(key), path, CodeReservedName, "names that begin with _ are reserved for special variables")
		}
		columns = append(columns, GraphColumn{Name: key.Value, Property: g.property(key.Value, people)})
	}
	return columns
}

// property reads where the values of a column come from.
func (f fields) property(name, people string) string {
	if isNull(f.values[name]) {
		f.p.errorf(f.at(name), f.join(name), CodeBadType, "has no value; give it the name of a property")
		return ""
	}
	s := f.matching(name, propertyPath, "use the name of a property, such as displayName, or of one within it, such as onPremisesExtensionAttributes/extensionAttribute1")
	first, inner, _ := strings.Cut(s, "/")
	wrong := ""
	switch {
	case people == "list" && inner != "":
		wrong = "use the internal name of a field of the list, without a slash"
	case people == "list":
	case extensionOne.MatchString(s):
		wrong = "use onPremisesExtensionAttributes/" + s
	case first == "group" && inner == "":
		wrong = "use a property of the group, such as group/displayName"
	case first == "group" && people != "groups":
		wrong = "only people from groups have a group"
	case first == "manager":
		wrong = "the manager is another user, and not a property"
	}
	if wrong != "" {
		f.p.errorf(f.at(name), f.join(name), CodeBadValue, "%q is invalid: %s", s, wrong)
	}
	return s
}

// graphColumns checks that the columns of a graph source have all that the runbook uses.
func (v *validator) graphColumns() {
	g := v.d.source.Graph
	if g == nil || g.Workbook != nil || len(g.Columns) == 0 {
		return
	}
	rb := v.d.runbook()
	used := rb.Columns()
	for _, name := range v.d.source.columnNames() {
		if !strings.EqualFold(name, v.d.source.PrimaryKey) {
			used = append(used, name)
		}
	}
	reported := map[string]bool{}
	for _, name := range used {
		if name == "" || reported[name] || g.has(name) || rb.Optional(name) {
			continue
		}
		reported[name] = true
		v.p.errorf(v.d.source.columnsAt, "data_source.columns", CodeMissingField, "%q is missing: the runbook uses it as a column", clip(name))
	}
}

// columnNames are the columns that data_source itself names.
func (d DataSource) columnNames() []string {
	names := []string{d.PrimaryKey, d.BatchTimeColumn}
	for _, m := range d.MultiValued {
		names = append(names, m.Name)
	}
	return names
}

func (g *Graph) has(column string) bool {
	for _, c := range g.Columns {
		if strings.EqualFold(c.Name, column) {
			return true
		}
	}
	return false
}
