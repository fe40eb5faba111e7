package command

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// Paging is the options of the commands that list.
type Paging struct {
	Limit int
	All   bool
	token string
}

// Flags adds the options to a command.
func (p *Paging) Flags(cmd *cobra.Command) {
	Lists(cmd)
	cmd.Flags().IntVar(&p.Limit, "limit", 100, "how many to list, 1 to 1000")
	cmd.Flags().BoolVar(&p.All, "all", false, "list all, however many there are")
	cmd.Flags().StringVar(&p.token, "continue", "", "go on after a list that ended with this token")
	cmd.MarkFlagsMutuallyExclusive("all", "limit")
}

// Sorted gives a list the option to be sorted.
func Sorted(cmd *cobra.Command, o *api.ListOptions, by api.SortFields) {
	cmd.Flags().StringVar(&o.Sort, "sort", "", "by what to sort: "+strings.Join(by.Names, ", ")+"; with - in front the other way round")
	CompleteOption(cmd, "sort", Fixed(by.Values()...))
}

// Searched gives a list the option to be narrowed to what begins with a text.
func Searched(cmd *cobra.Command, o *api.ListOptions, what string) {
	cmd.Flags().StringVar(&o.Search, "search", "", "only "+what+" begins so; capital letters count")
}

// Collect gets one page, or with --all every page, as one.
func Collect[V any](ctx context.Context, p Paging, o api.ListOptions, list func(context.Context, api.ListOptions) (api.Page[V], error)) (api.Page[V], error) {
	if p.Limit < 1 || p.Limit > 1000 {
		return api.Page[V]{}, exit.Usagef("--limit is %d; it can be 1 to 1000", p.Limit)
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

// PerBatch makes the list of one batch's things a list like any other.
func PerBatch[V any](id int, list func(context.Context, int, api.ListOptions) (api.Page[V], error)) func(context.Context, api.ListOptions) (api.Page[V], error) {
	return func(ctx context.Context, o api.ListOptions) (api.Page[V], error) { return list(ctx, id, o) }
}
