package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// Paging has the options of commands that list items page by page.
type Paging struct {
	Limit int
	All   bool
	token string
}

// Flags adds the options to a command.
func (p *Paging) Flags(cmd *cobra.Command) {
	Lists(cmd)
	cmd.Flags().IntVar(&p.Limit, "limit", 100, "number of items, 1 to 1000")
	cmd.Flags().BoolVar(&p.All, "all", false, "list all items")
	cmd.Flags().StringVar(&p.token, "continue", "", "continue the list after this token")
	cmd.MarkFlagsMutuallyExclusive("all", "limit")
}

// Sorted gives a list the option --sort, with the fields by which the API sorts it.
func Sorted(cmd *cobra.Command, o *api.ListOptions, by api.SortFields) {
	cmd.Flags().StringVar(&o.Sort, "sort", "", "sort by "+strings.Join(by.Names, ", ")+", or by a column of the listed items; with - in front for descending")
	annotate(cmd, sortFields, strings.Join(by.Names, ","))
	CompleteOption(cmd, "sort", Fixed(by.Values()...))
}

// Searched gives a list the option --search, which selects items as described.
func Searched(cmd *cobra.Command, o *api.ListOptions, items string) {
	cmd.Flags().StringVar(&o.Search, "search", "", "only "+items)
}

// Collect reads one page, or with --all all pages.
func Collect[V any](ctx context.Context, p Paging, o api.ListOptions, list func(context.Context, api.ListOptions) (api.Page[V], error)) (api.Page[V], error) {
	if p.Limit < 1 || p.Limit > 1000 {
		return api.Page[V]{}, exit.Usagef("--limit is %d; use 1 to 1000", p.Limit)
	}
	o.Limit, o.Continuation = p.Limit, p.token
	if p.All {
		o.Limit = 1000
	}
	all := api.Page[V]{Items: []V{}}
	for {
		page, err := list(ctx, o)
		if err != nil {
			return api.Page[V]{}, err
		}
		all.Items = append(all.Items, page.Items...)
		if !p.All || page.Continuation == "" {
			all.Continuation = page.Continuation
			return all, nil
		}
		o.Continuation = page.Continuation
	}
}

// PerBatch adapts a list of a batch to Collect.
func PerBatch[V any](id int, list func(context.Context, int, api.ListOptions) (api.Page[V], error)) func(context.Context, api.ListOptions) (api.Page[V], error) {
	return func(ctx context.Context, o api.ListOptions) (api.Page[V], error) { return list(ctx, id, o) }
}
