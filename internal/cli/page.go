package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
)

// paging is the options of the commands that list.
type paging struct {
	limit int
	all   bool
	token string
}

func (p *paging) flags(cmd *cobra.Command) {
	lists(cmd)
	cmd.Flags().IntVar(&p.limit, "limit", 100, "how many to list, 1 to 1000")
	cmd.Flags().BoolVar(&p.all, "all", false, "list all, however many there are")
	cmd.Flags().StringVar(&p.token, "continue", "", "go on after a list that ended with this token")
	cmd.MarkFlagsMutuallyExclusive("all", "limit")
}

// sorted gives a list the option to be sorted.
func sorted(cmd *cobra.Command, o *api.ListOptions, by api.SortFields) {
	cmd.Flags().StringVar(&o.Sort, "sort", "", "by what to sort: "+strings.Join(by.Names, ", ")+"; with - in front the other way round")
	completeOption(cmd, "sort", fixed(by.Values()...))
}

// searched gives a list the option to be narrowed to what begins with a text.
func searched(cmd *cobra.Command, o *api.ListOptions, what string) {
	cmd.Flags().StringVar(&o.Search, "search", "", "only "+what+" begins so; capital letters count")
}

// collect gets one page, or with --all every page, as one.
func collect[V any](ctx context.Context, p paging, o api.ListOptions, list func(context.Context, api.ListOptions) (api.Page[V], error)) (api.Page[V], error) {
	if p.limit < 1 || p.limit > 1000 {
		return api.Page[V]{}, exit.Usagef("--limit is %d; it can be 1 to 1000", p.limit)
	}
	o.Limit, o.Continuation = p.limit, p.token
	if p.all {
		o.Limit = 1000
	}
	all := api.Page[V]{Items: []V{}}
	for {
		page, err := list(ctx, o)
		if err != nil {
			return api.Page[V]{}, err
		}
		all.Items = append(all.Items, page.Items...)
		if !p.all || page.Continuation == "" {
			all.Continuation = page.Continuation
			return all, nil
		}
		o.Continuation = page.Continuation
	}
}

// perBatch makes the list of one batch's things a list like any other.
func perBatch[V any](id int, list func(context.Context, int, api.ListOptions) (api.Page[V], error)) func(context.Context, api.ListOptions) (api.Page[V], error) {
	return func(ctx context.Context, o api.ListOptions) (api.Page[V], error) { return list(ctx, id, o) }
}
