package starter

import (
	"fmt"
	"strings"
)

// Source is a kind of place from which the members come.
type Source string

// The sources.
const (
	Upload     Source = "upload" // a member CSV for each batch
	SQL        Source = "sql"
	Postgres   Source = "postgres"
	Dataverse  Source = "dataverse"
	Databricks Source = "databricks"
	CSV        Source = "csv" // a file or a blob that the handler reads
	Groups     Source = "groups"
	Users      Source = "users"
	List       Source = "list"
	Workbook   Source = "workbook"
)

// Sources are the names of all sources.
func Sources() []string {
	var names []string
	for _, s := range []Source{Upload, SQL, Postgres, Dataverse, Databricks, CSV, Groups, Users, List, Workbook} {
		names = append(names, string(s))
	}
	return names
}

// batchTime is the column with the time of the batch.
const batchTime = "StartsAt"

// property is a property of Graph that stands for a column.
type property struct {
	path   string
	change string // what to put there instead; empty: nothing
}

// userProperties stand for the columns of the templates where the members are users.
var userProperties = map[string]property{
	"Mail":                 {"mail", ""},
	"Membership":           {"id", ""},
	"DisplayName":          {"displayName", ""},
	"Alias":                {"mailNickname", ""},
	"NewUserPrincipalName": {"onPremisesExtensionAttributes/extensionAttribute1", "the property that has the new sign-in name"},
	"GroupId":              {"onPremisesExtensionAttributes/extensionAttribute2", "the property that has the id of the group"},
	"UserId":               {"id", ""},
	batchTime:              {"onPremisesExtensionAttributes/extensionAttribute15", "the property that has the time of the batch, such as 2030-03-01T18:00"},
}

// property returns the property of Graph for a column.
func (s Source) property(column string) property {
	switch {
	case s == List:
		return property{column, "the internal name of the column in the list"}
	case s == Groups && column == "GroupId":
		return property{"group/id", ""}
	case s == Groups && column == batchTime:
		return property{"group/description", "the property of the group that has the time of the batch, such as 2030-03-01T18:00"}
	}
	return userProperties[column]
}

// people are the lines that say where the members are.
var people = map[Source]string{
	Groups: `
  groups: # each group is a wave
    - 00000000-0000-0000-0000-000000000000 # CHANGE: the object id of a group`,
	Users: `
  users: "department eq 'Sales'" # CHANGE: a filter of Microsoft Graph`,
	List: `
  list:
    site: https://contoso.sharepoint.com/sites/migration # CHANGE: the site of the list
    name: People # CHANGE: the title of the list`,
	Workbook: `
  workbook: # its first row has the names {{columns}}
    site: https://contoso.sharepoint.com/sites/migration # CHANGE: the site of the library
    path: people.xlsx # CHANGE: the path of the file in the default library`,
}

// where returns the sentences that say where the members come from.
func (w *writer) where() string {
	if w.Source == Upload {
		return "You upload a CSV file of members for each batch:\n" +
			"#   matoolkit batch create " + w.Name + " " + w.Members + "\n" +
			"# runbook init --source writes where members come from instead: a database, groups, a list."
	}
	return "The handler reads them from the data source and makes the batches, once automation is on:\n" +
		"#   matoolkit query preview " + w.Name + "\n" +
		"#   matoolkit automation enable " + w.Name + "\n" +
		"# docs/run-a-migration.md says what the setting has to have, and which permissions the source needs."
}

// source returns the data source, with the columns that the template uses.
func (w *writer) source() string {
	columns := append([]string{keys[w.Template]}, w.used...)
	if w.Source == Upload {
		return "\n  type: csv" + w.identity()
	}
	columns = unique(append(columns, batchTime))
	var b strings.Builder
	kind := string(w.Source)
	if _, graph := people[w.Source]; graph {
		kind = "graph"
	}
	fmt.Fprintf(&b, "\n  type: %s\n  connection: PEOPLE # CHANGE: the setting of the handler that has the connection", kind)
	if w.Source == Databricks {
		b.WriteString("\n  warehouse_id: PEOPLE_WAREHOUSE # CHANGE: the setting that has the id of the warehouse")
	}
	switch w.Source {
	case SQL, Postgres, Dataverse, Databricks:
		quote := `"`
		if w.Source == Databricks {
			quote = "`"
		}
		fmt.Fprintf(&b, "\n  query: | # CHANGE: your table\n    SELECT %[1]s%[2]s%[1]s\n    FROM people", quote, strings.Join(columns, quote+", "+quote))
	case CSV:
		fmt.Fprintf(&b, " # a file with the columns %s", strings.Join(columns, ", "))
	default:
		b.WriteString(strings.ReplaceAll(people[w.Source], "{{columns}}", strings.Join(columns, ", ")))
		if w.Source != Workbook {
			b.WriteString("\n  columns:")
			for _, column := range columns {
				p := w.Source.property(column)
				fmt.Fprintf(&b, "\n    %s: %s", column, p.path)
				if p.change != "" {
					b.WriteString(" # CHANGE: " + p.change)
				}
			}
		}
	}
	b.WriteString(w.identity())
	fmt.Fprintf(&b, "\n  batch_time_column: %s # rows with one time are a batch\n  time_zone: UTC # CHANGE: of times that name none", batchTime)
	return b.String()
}

// identity returns the line of the key, and those of lists.
func (w *writer) identity() string {
	return "\n  primary_key: " + w.key() + " # identifies a person" + w.lists()
}

// unique returns the names without repetitions.
func unique(names []string) (all []string) {
	seen := map[string]bool{}
	for _, name := range names {
		if !seen[name] {
			all = append(all, name)
		}
		seen[name] = true
	}
	return all
}
