package batches

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

func findCommand(c *runner) *cobra.Command {
	var p command.Paging
	find := &cobra.Command{
		Use: "find <text>", Short: "Find people in all batches", Args: command.Needs("the text"),
		Long: `Finds the members of all batches, the newest batches first, and shows where they stand. The
text can be anywhere in the key, in the column that the runbook names in display, or in
another column, in any case. Secrets are not searched. Removed members are found, too.

Of each column the first 100 bytes are searched, of each member some 1,000 bytes: the key,
the display column, then the others by name.`,
		Example: `  matoolkit find lovelace
  matoolkit find ada@contoso.com --output json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.TrimSpace(args[0])
			if n := utf8.RuneCountInString(text); n == 0 || n > api.MaxFind {
				return exit.Usagef("the text has %d characters; use 1 to %d", n, api.MaxFind)
			}
			s, err := c.Session()
			if err != nil {
				return err
			}
			page, err := command.Collect(cmd.Context(), p, api.ListOptions{}, filled(func(ctx context.Context, o api.ListOptions) (api.Page[api.FoundMember], error) {
				return s.Client.Find(ctx, text, o)
			}))
			if err != nil {
				return err
			}
			return c.PrintPage(page, len(page.Items), page.Continuation, c.FoundTable(page.Items...))
		},
	}
	p.Flags(find)
	return find
}

// filled makes a list whose pages can be short, or empty, one of full pages.
func filled[V any](list func(context.Context, api.ListOptions) (api.Page[V], error)) func(context.Context, api.ListOptions) (api.Page[V], error) {
	return func(ctx context.Context, o api.ListOptions) (api.Page[V], error) {
		all := api.Page[V]{Items: []V{}}
		for most := o.Limit; ; {
			page, err := list(ctx, o)
			if err != nil {
				return all, err
			}
			all.Items, all.Continuation = append(all.Items, page.Items...), page.Continuation
			if o.Limit = most - len(all.Items); o.Limit <= 0 || page.Continuation == "" {
				return all, nil
			}
			o.Continuation = page.Continuation
		}
	}
}
