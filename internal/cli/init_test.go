package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A runbook that init writes has no findings, with and without a CSV, and uses its columns.
func TestInitWritesARunbookWithoutFindings(t *testing.T) {
	t.Parallel()
	const (
		semicolons = "\xef\xbb\xbfE-Mail;Full Name;alias;Groups;Größe (cm)\r\neva@x.org;Eva E;eva;\"a;b\";170\r\nkim@x.org;Kim K;kim;c;\r\n"
		groups     = "Id,GroupId,UserId\n1,g,u\n2,g,v\n"
		awkward    = "no,Name\n7,Eva\n8,Eva\n"
	)
	for _, tt := range []struct {
		template, csv string
		has           []string
		says          string
	}{
		{"tenant-to-tenant", "", []string{"name: made", `"{{DisplayName}}"`, "primary_key: Mail "}, "Next: matoolkit runbook lint "},
		{"provisioning", "", []string{`"{{Alias}}@{{Domain}}"`}, "Lines with CHANGE"},
		{"group-cleanup", "", []string{"primary_key: Membership "}, ""},
		{"tenant-to-tenant", semicolons, []string{"primary_key: E-Mail ", `"{{Full Name}}"`, `"{{alias}}@{{TargetDomain}}"`, "- {name: Groups, format: semicolon_delimited}", "of ../people.csv:\n#   {{E-Mail}} {{Full Name}} {{alias}} {{Groups}}\n", "# CHANGE: ../people.csv has no column for\n#   {{NewUserPrincipalName}}\n", "--members ../people.csv --start", "batch create made ../people.csv\n"}, "people.csv has no column for: NewUserPrincipalName."},
		{"provisioning", semicolons, []string{`"{{alias}}@{{Domain}}"`}, `The column "Größe (cm)" cannot be used`},
		{"group-cleanup", groups, []string{"primary_key: Id ", `"{{GroupId}}"`}, ""},
		{"provisioning", awkward, []string{`primary_key: "no" `, `"{{Name}}"`}, "people.csv has no column for: Alias."},
	} {
		t.Run(tt.template+" "+strings.SplitN(tt.csv, "\n", 2)[0], func(t *testing.T) {
			t.Parallel()
			p := newPerson(t)
			csv := p.file("people.csv", tt.csv)
			made := filepath.Join(filepath.Dir(csv), "runbooks", "made.yaml")
			check(t, os.Mkdir(filepath.Dir(made), 0o700))
			args := []string{"runbook", "init", made, "--template", tt.template}
			if tt.csv != "" {
				args = append(args, "--from-csv", csv)
			}
			out, notices, status := p.run(args...)
			if status != 0 || out != "" || !strings.Contains(notices, tt.says) {
				t.Fatalf("status %d: %s%s", status, out, notices)
			}
			text, err := os.ReadFile(made)
			check(t, err)
			if !strings.HasPrefix(string(text), "# yaml-language-server: $schema=runbook.schema.json\n") {
				t.Errorf("the first line is no modeline:\n%s", text)
			}
			for _, part := range tt.has {
				if !strings.Contains(string(text), part) {
					t.Errorf("%q is missing in:\n%s", part, text)
				}
			}
			if _, notices, status := p.run("runbook", "lint", "--strict", made); status != 0 || !strings.Contains(notices, "no errors, no warnings") {
				t.Errorf("lint ends with %d: %s", status, notices)
			}
			schema, err := os.ReadFile(filepath.Join(filepath.Dir(made), "runbook.schema.json"))
			check(t, err)
			printed, _, status := p.run("runbook", "schema")
			if status != 0 || printed != string(schema) || !json.Valid(schema) {
				t.Errorf("schema ends with %d and prints another schema than init writes", status)
			}
			if _, notices, status := p.run(args...); status != 5 || !strings.Contains(notices, "made.yaml exists") {
				t.Errorf("a second init ends with %d: %s", status, notices)
			}
			if _, notices, status := p.run(append(args, "--force")...); status != 0 {
				t.Errorf("init --force ends with %d: %s", status, notices)
			}
		})
	}
}

// Every template has no findings with members of every source, and names the columns that it uses.
func TestInitWritesADataSource(t *testing.T) {
	t.Parallel()
	for _, template := range []string{"tenant-to-tenant", "provisioning", "group-cleanup"} {
		for source, has := range map[string][]string{
			"upload":     {"  type: csv\n  primary_key: ", "matoolkit batch create made members.csv"},
			"csv":        {"  type: csv\n  connection: PEOPLE # CHANGE", "StartsAt\n"},
			"sql":        {"  type: sql\n", "    SELECT \"M", ", \"StartsAt\"\n    FROM people\n"},
			"postgres":   {"  type: postgres\n", "    SELECT \"M", "matoolkit automation enable made\n"},
			"dataverse":  {"  type: dataverse\n"},
			"databricks": {"  type: databricks\n", "  warehouse_id: PEOPLE_WAREHOUSE ", "SELECT `M"},
			"groups":     {"  type: graph\n", "  groups: ", "    StartsAt: group/description # CHANGE"},
			"users":      {"  type: graph\n", "  users: ", "    StartsAt: onPremisesExtensionAttributes/extensionAttribute15 # CHANGE"},
			"list":       {"  type: graph\n", "    name: People # CHANGE", "    StartsAt: StartsAt # CHANGE"},
			"workbook":   {"  type: graph\n", "    path: people.xlsx # CHANGE", "StartsAt\n    site: "},
		} {
			t.Run(template+" "+source, func(t *testing.T) {
				t.Parallel()
				p := newPerson(t)
				made := filepath.Join(t.TempDir(), "made.yaml")
				if out, notices, status := p.run("runbook", "init", made, "--template", template, "--source", source); status != 0 || out != "" {
					t.Fatalf("status %d: %s%s", status, out, notices)
				}
				text, err := os.ReadFile(made)
				check(t, err)
				if source != "upload" {
					has = append(has, "  batch_time_column: StartsAt ")
				}
				for _, part := range has {
					if !strings.Contains(string(text), part) {
						t.Errorf("%q is missing in:\n%s", part, text)
					}
				}
				if _, notices, status := p.run("runbook", "lint", "--strict", made); status != 0 || !strings.Contains(notices, "no errors, no warnings") {
					t.Errorf("lint ends with %d: %s\n%s", status, notices, text)
				}
			})
		}
	}
}

// What init cannot use changes nothing.
func TestInitRefuses(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	for _, tt := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"a.yaml", "--template", "mail"}, 2, `--template is "mail"; use tenant-to-tenant, provisioning or group-cleanup`},
		{[]string{"a.yaml", "--source", "ldap"}, 2, `--source is "ldap"; use upload, sql, postgres, dataverse, databricks, csv, groups, users, list or workbook`},
		{[]string{"a.yaml", "--source", "sql", "--from-csv", p.file("some.csv", "Mail\na\n")}, 2, "--from-csv is for --source upload"},
		{[]string{"....yaml"}, 2, "does not make a name of a runbook"},
		{[]string{"a.yaml", "--from-csv", p.file("empty.csv", "")}, 5, "empty.csv: the file is empty; its first line has to name the columns"},
		{[]string{"a.yaml", "--from-csv", p.file("book.csv", "PK\x03\x04")}, 5, "the file is a workbook"},
		{[]string{"a.yaml", "--from-csv", p.file("torn.csv", "A,B\n1\n")}, 5, "wrong number of fields"},
		{[]string{"a.yaml", "--functions", p.file("none.json", "[]")}, 5, "the list of functions is empty"},
		{[]string{"a.yaml", "--output", "json"}, 2, "omit --output"},
	} {
		dir := t.TempDir()
		tt.args[0] = filepath.Join(dir, tt.args[0])
		_, notices, status := p.run(append([]string{"runbook", "init"}, tt.args...)...)
		if status != tt.status || !strings.Contains(notices, tt.says) {
			t.Errorf("%q ends with %d: %s", tt.args, status, notices)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%q leaves %v", tt.args, left)
		}
	}
}

// The schema has the functions that --functions names, and no others.
func TestSchemaHasTheFunctionsThatAreNamed(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	mine := p.file("mine.json", `[{"name":"New-Badge","params":[{"name":"Colour","required":true}]}]`)
	out, _, status := p.run("runbook", "schema", "--functions", mine)
	plain, _, _ := p.run("runbook", "schema")
	if status != 0 || !strings.Contains(out, `"New-Badge"`) || !strings.Contains(out, `"Colour"`) || strings.Contains(out, "New-EntraUser") || strings.Contains(plain, "New-Badge") {
		t.Errorf("schema ends with %d:\n%s", status, out)
	}
}
