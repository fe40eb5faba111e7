package cli

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/csvtext"
	"github.com/matoolkit/matoolkit/internal/runbook/schema"
	"github.com/matoolkit/matoolkit/internal/runbook/starter"
	"github.com/matoolkit/matoolkit/internal/signature"
)

// schemaFile is the name of the JSON Schema that runbook init writes.
const schemaFile = "runbook.schema.json"

func schemaCommand(c *console) *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use: "schema", Short: "Print a JSON Schema of runbooks for editors", Args: command.Needs(),
		Long: `Prints a JSON Schema (draft 7) of the runbook format. Editors complete, explain and check
fields with it. With --functions it also has these functions and their parameters, and steps
can call no others.

In VS Code install the YAML extension of Red Hat, and make this the first line of a runbook:

  # yaml-language-server: $schema=runbook.schema.json

matoolkit runbook init writes both. A schema finds less than matoolkit runbook lint.`,
		Example: `  matoolkit runbook schema > runbook.schema.json
  matoolkit runbook schema --functions ./functions > runbook.schema.json
  matoolkit worker get worker-01 --output json > functions.json
  matoolkit runbook schema --functions functions.json > runbook.schema.json`,
		RunE: func(*cobra.Command, []string) error {
			text, err := schemaText(c, from)
			if err != nil {
				return err
			}
			_, err = c.Env.Stdout.Write(text)
			return err
		},
	}
	FunctionsFlag(cmd, &from)
	return command.Verbatim(cmd)
}

// schemaText is the JSON Schema with the functions that --functions names.
func schemaText(c *console, from string) ([]byte, error) {
	var functions []signature.Function
	if from != "" {
		var err error
		if functions, err = Functions(from, c.ReadFile); err != nil {
			return nil, err
		}
	}
	text, err := json.MarshalIndent(schema.Document(functions), "", "  ")
	return append(text, '\n'), err
}

func initCommand(c *console) *cobra.Command {
	var o starter.Options
	var from, members, source string
	var force bool
	cmd := &cobra.Command{
		Use: "init <file>", Short: "Write a first runbook, with comments", Args: command.Needs("the file"),
		Long: `Writes a runbook with comments that explains itself and passes matoolkit runbook lint. Its
first line names the JSON Schema runbook.schema.json, which the command writes beside it if
there is none: editors complete and check the runbook with it.

  --template tenant-to-tenant  accounts in another tenant, in three phases (default)
             provisioning      accounts for new people
             group-cleanup     people leave groups

  --source upload      you upload a member CSV for each batch (default)
           csv         a file or a blob
           sql         SQL Server, Azure SQL or SQLite
           postgres    PostgreSQL
           dataverse   Dataverse
           databricks  Databricks
           groups      members of groups in Microsoft 365
           users       users in Microsoft 365 whom a filter selects
           list        items of a SharePoint list
           workbook    rows of an Excel file in SharePoint

With --from-csv the runbook uses the columns of a member CSV. A column
whose values contain semicolons becomes a list.`,
		Example: `  matoolkit runbook init moves.yaml
  matoolkit runbook init moves.yaml --from-csv members.csv
  matoolkit runbook init waves.yaml --source groups
  matoolkit runbook init groups.yaml --template group-cleanup --functions ./functions`,
		RunE: func(_ *cobra.Command, args []string) error {
			if !slices.Contains(starter.Templates(), o.Template) {
				return exit.Usagef("--template is %q; use %s", o.Template, render.OneOf(starter.Templates()))
			}
			if !slices.Contains(starter.Sources(), source) {
				return exit.Usagef("--source is %q; use %s", source, render.OneOf(starter.Sources()))
			}
			o.Source = starter.Source(source)
			if members != "" && o.Source != starter.Upload {
				return exit.Usagef("--from-csv is for --source upload: the columns of %s are in the runbook's data source", source)
			}
			var err error
			if o.Name, err = runbookName(args[0]); err != nil {
				return err
			}
			var unusable []string
			if members != "" {
				if o.Columns, unusable, err = csvColumns(members); err != nil {
					return &exit.Error{Status: exit.Refused, Text: fmt.Sprintf("%s: %v", members, err)}
				}
				o.Members = render.ShellWord(render.Printable(besides(args[0], members)))
			}
			schema, err := schemaText(c, from)
			if err != nil {
				return err
			}
			o.File, o.Schema = render.ShellWord(filepath.Base(args[0])), schemaFile
			text, missing, err := starter.Write(o)
			if err != nil {
				return err
			}
			if err := command.SaveWhole(args[0], force, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
				return err
			}
			beside := filepath.Join(filepath.Dir(args[0]), schemaFile)
			replace := force || from != ""
			if _, err := os.Stat(beside); replace || errors.Is(err, fs.ErrNotExist) {
				if err := command.SaveWhole(beside, replace, func(w io.Writer) error { _, err := w.Write(schema); return err }); err != nil {
					return err
				}
			}
			for _, name := range unusable {
				c.Notice("The column %q cannot be used in a runbook: use letters, digits, spaces and _ - . only.", render.Printable(name))
			}
			if len(missing) > 0 {
				c.Notice("%s has no column for: %s. Add them, or change the runbook.", render.Printable(members), strings.Join(missing, ", "))
			}
			c.Outcome("matoolkit runbook lint "+render.ShellWord(args[0]), "Wrote the runbook %s to %s. Lines with CHANGE need your values.", o.Name, args[0])
			return nil
		},
	}
	cmd.Flags().StringVar(&o.Template, "template", starter.TenantToTenant, "the kind of runbook: "+render.OneOf(starter.Templates()))
	cmd.Flags().StringVar(&source, "source", string(starter.Upload), "where the members come from: "+render.OneOf(starter.Sources()))
	cmd.Flags().StringVar(&members, "from-csv", "", "a member CSV whose columns the runbook uses")
	FunctionsFlag(cmd, &from)
	cmd.Flags().BoolVar(&force, "force", false, "overwrite the files")
	return command.Verbatim(cmd)
}

// besides names a file as commands do that run in the folder of another one.
func besides(other, file string) string {
	if path, err := filepath.Rel(filepath.Dir(other), file); err == nil {
		return path
	}
	return file
}

var notInNames = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// runbookName makes the name of a runbook from the name of its file.
func runbookName(path string) (string, error) {
	base := filepath.Base(path)
	name := notInNames.ReplaceAllString(strings.TrimSuffix(base, filepath.Ext(base)), "-")
	if name = strings.Trim(name, ".-_"); name == "" || len(name) > 100 {
		return "", exit.Usagef("the file name %q does not make a name of a runbook: use letters and digits", base)
	}
	return name, nil
}

// sampledRows bounds the rows of a CSV that are read to know its columns.
const sampledRows = 10_000

// csvColumns reads the columns of a member CSV, and those that a runbook cannot use.
func csvColumns(path string) (columns []starter.Column, unusable []string, err error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	if err := csvtext.Foreign(text[:min(len(text), 4)]); err != nil {
		return nil, nil, err
	}
	trimmed := strings.TrimPrefix(string(text), string(csvtext.BOM))
	// Of several delimiters that fit, the one with which the header has most columns.
	delimiter, err := csvtext.Detect(func() io.Reader { return strings.NewReader(trimmed) }, func(names []string) int {
		return len(trimmed)*starter.Recognized(names) + len(names)
	})
	if err != nil {
		return nil, nil, err
	}
	r := csv.NewReader(strings.NewReader(trimmed))
	r.Comma = delimiter.Rune
	header, err := r.Read()
	if errors.Is(err, io.EOF) {
		return nil, nil, errors.New("the file is empty; its first line has to name the columns")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the header: %w", err)
	}
	columns = make([]starter.Column, len(header))
	seen := make([]map[string]bool, len(header))
	for i, name := range header {
		columns[i] = starter.Column{Name: strings.TrimSpace(name), Unique: true}
		seen[i] = map[string]bool{}
	}
	rows := 0
	for ; rows < sampledRows; rows++ {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, err
		}
		for i, value := range row {
			value = strings.TrimSpace(value)
			columns[i].Unique = columns[i].Unique && value != "" && !seen[i][strings.ToLower(value)]
			columns[i].List = columns[i].List || strings.Contains(value, ";")
			seen[i][strings.ToLower(value)] = true
		}
	}
	usable := columns[:0]
	for _, column := range columns {
		if !starter.Usable(column.Name) {
			unusable = append(unusable, column.Name)
			continue
		}
		column.Unique = column.Unique && !column.List
		usable = append(usable, column)
	}
	return usable, unusable, nil
}
