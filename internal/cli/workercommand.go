package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/app"
)

func workerCommand(c *console) *cobra.Command {
	g := group("worker", "See what workers can be asked for, and verify them", listWorkersCommand(c), getWorkerCommand(c))
	g.Long = `See the workers that have announced themselves, and verify workers that you write.

A worker says when it starts which functions it can be asked for, custom ones included.
Runbooks are checked against them when they are published: each step against those of
the worker that it names.`
	return g
}

func listWorkersCommand(c *console) *cobra.Command {
	var p paging
	list := &cobra.Command{
		Use: "list", Short: "List the workers that have announced themselves", Args: needs(),
		Long: `List the workers that have announced themselves, by id, with the version of their
program, when the one that started last did so, and how many functions it has. Whether
a worker runs now is not told: it may end when there is nothing to do.`,
		Example: `  matoolkit worker list
  matoolkit worker list --output json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.session()
			if err != nil {
				return err
			}
			page, err := collect(cmd.Context(), p, app.ListOptions{}, s.Client.Workers)
			if err != nil {
				return err
			}
			t := c.table("worker", "version", "functions", "started", "seen")
			for _, v := range page.Items {
				t.row(v.ID, v.Version, v.FunctionCount, v.StartedAt, v.SeenAt)
			}
			return c.printPage(page, len(page.Items), page.Continuation, t)
		},
	}
	p.flags(list)
	return list
}

func getWorkerCommand(c *console) *cobra.Command {
	return lists(&cobra.Command{
		Use: "get <worker>", Short: "List the functions of a worker", Args: needs("the worker"),
		Long: `List the functions that a worker can be asked for, as it announced them when it last
started: their parameters, of which those with * are required, the fields of what they
answer, and the permissions that they need.

With --output json it is also a file for matoolkit runbook lint --functions.`,
		Example: `  matoolkit worker get worker-01
  matoolkit worker get worker-01 --output json > functions.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := c.session()
			if err != nil {
				return err
			}
			view, err := s.Client.Worker(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if c.format == formatTable {
				c.notice("%s %s started on %s.", printable(view.ID), printable(view.Version), stamp(view.StartedAt))
			}
			return c.print(view, c.functionTable(view.Functions))
		},
	})
}

func (c *console) functionTable(functions []app.Function) *sheet {
	t := c.table("function", "parameters", "answers", "permissions")
	for _, f := range functions {
		var params, fields []string
		for _, p := range f.Params {
			mark := ""
			if p.Required {
				mark = "*"
			}
			if p.Secret {
				mark += " (secret)"
			}
			params = append(params, strings.TrimSpace(fmt.Sprintf("%s%s %s", p.Name, mark, p.Type)))
		}
		for _, r := range f.Result {
			fields = append(fields, r.Name)
		}
		if len(fields) == 0 {
			fields = []string{"true"}
		}
		t.row(f.Name, strings.Join(params, ", "), strings.Join(fields, ", "), strings.Join(f.Permissions, ", "))
	}
	return t
}
