package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/apiclient"
	"github.com/matoolkit/matoolkit/internal/cli/render"
	"github.com/matoolkit/matoolkit/internal/cli/settings"
	"github.com/matoolkit/matoolkit/internal/message"
)

// The completion offers values of arguments and options to the shell. It runs while the user
// types, so it is quick and prints no errors.

// completionTime limits the wait for values of the API.
const completionTime = 2 * time.Second

// completionLimit is the maximum number of values.
const completionLimit = 200

// choices reads the values of an argument from the API, given the arguments before it.
type choices func(ctx context.Context, client *apiclient.Client, before []string) ([]cobra.Completion, error)

// placeholder matches the name of an argument in a usage line.
var placeholder = regexp.MustCompile(`<([a-z-]+)>`)

// Complete completes the arguments and options of a command and its subcommands by their names
// in the usage lines.
func (c *Console) Complete(cmd *cobra.Command) {
	for _, child := range cmd.Commands() {
		c.Complete(child)
	}
	if cmd.HasSubCommands() || cmd.ValidArgsFunction != nil {
		return
	}
	var names []string
	for _, found := range placeholder.FindAllStringSubmatch(cmd.Use, -1) {
		names = append(names, found[1])
	}
	repeated := strings.Contains(cmd.Use, "…") || strings.Contains(cmd.Use, "...")
	cmd.ValidArgsFunction = func(cmd *cobra.Command, before []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		n := len(before)
		if repeated && n >= len(names) {
			n = len(names) - 1
		}
		if n >= len(names) {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return c.completeArgument(names[n])(cmd, before, typed)
	}
	c.completeOptions(cmd)
}

// argumentChoices are the values of the API for arguments with these names.
var argumentChoices = map[string]choices{
	"name": RunbookChoices, "runbook": RunbookChoices, "version": VersionChoices,
	"id": batchChoices, "phase": phaseChoices, "member-id": memberChoices, "step-id": stepChoices,
	"message": messageChoices, "worker": workerChoices,
}

// completeArgument returns the completion of an argument with this name.
func (c *Console) completeArgument(name string) cobra.CompletionFunc {
	switch name {
	case "file":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	case "shell":
		return Fixed("bash", "zsh", "fish", "powershell")
	case "key":
		return Fixed(settingChoices()...)
	}
	of, ok := argumentChoices[name]
	if !ok {
		return cobra.NoFileCompletions
	}
	return func(cmd *cobra.Command, before []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return c.Ask(cmd, before, typed, of)
	}
}

// completeOptions sets the completion of the options of a command.
func (c *Console) completeOptions(cmd *cobra.Command) {
	for option, of := range map[string]choices{"runbook": RunbookChoices, "phase": phaseChoices, "member": memberChoices, "version": VersionChoices} {
		if cmd.Flags().Lookup(option) != nil {
			CompleteOption(cmd, option, func(cmd *cobra.Command, before []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
				return c.Ask(cmd, before, typed, of)
			})
		}
	}
	for option, words := range map[string][]cobra.Completion{
		"action": texts(api.AuditActions), "status": statusChoices(cmd), "format": {"csv", "html"}, "overdue": {api.OverdueIgnore, api.OverdueRerun},
		"topic": {message.TopicOrchestratorEvents, message.TopicWorkerResults, message.TopicWorkerJobs},
	} {
		if flag := cmd.Flags().Lookup(option); flag == nil || len(words) == 0 {
			continue
		} else if _, several := flag.Value.(pflag.SliceValue); several {
			CompleteOption(cmd, option, fixedList(words))
		} else {
			CompleteOption(cmd, option, Fixed(words...))
		}
	}
}

// CompleteOption sets the completion of an option that has none.
func CompleteOption(cmd *cobra.Command, option string, by cobra.CompletionFunc) {
	if _, there := cmd.GetFlagCompletionFunc(option); !there {
		if err := cmd.RegisterFlagCompletionFunc(option, by); err != nil {
			panic(err) // the command has no such option: a bug
		}
	}
}

// Fixed completes with a fixed list of words.
func Fixed(words ...cobra.Completion) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return beginning(typed, words)
	}
}

// fixedList completes the last of several words with commas between them.
func fixedList(words []cobra.Completion) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		all := make([]cobra.Completion, len(words))
		for i, word := range words {
			all[i] = before + word
		}
		return beginning(typed, all)
	}
}

// beginning returns the values that start with the typed text, in their order.
func beginning(typed string, all []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	for _, choice := range all {
		if strings.HasPrefix(choice, typed) {
			found = append(found, choice)
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// Ask reads values from the API, without retries. It returns none if the API does not answer
// or the user is not signed in.
func (c *Console) Ask(cmd *cobra.Command, before []string, typed string, of choices) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	quiet := *c
	quiet.Quiet, quiet.Env.Stderr = true, io.Discard
	quiet.Env.Wait = func(context.Context, time.Duration) error { return errors.New("completion does not wait") }
	s, err := quiet.Session()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, err := of(ctx, s.Client, before)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return beginning(typed, all)
}

// choice returns a value with its description. It refuses a value with control characters or
// line ends.
func choice(word string, about ...string) (cobra.Completion, bool) {
	var known []string
	for _, a := range about {
		if a != "" {
			known = append(known, render.Printable(a))
		}
	}
	return cobra.CompletionWithDesc(word, strings.Join(known, ", ")), word != "" && word == render.Printable(word)
}

// choose converts the items of a list to values.
func choose[V any](all []V, of func(V) (cobra.Completion, bool)) []cobra.Completion {
	var found []cobra.Completion
	for _, v := range all {
		if one, ok := of(v); ok {
			found = append(found, one)
		}
	}
	return found
}

// RunbookChoices returns the names of the runbooks.
func RunbookChoices(ctx context.Context, client *apiclient.Client, _ []string) ([]cobra.Completion, error) {
	page, err := client.Runbooks(ctx, api.ListOptions{Limit: completionLimit})
	return choose(page.Items, func(v api.Runbook) (cobra.Completion, bool) { return choice(v.Name, v.Description) }), err
}

// VersionChoices returns the versions of the runbook in the first argument.
func VersionChoices(ctx context.Context, client *apiclient.Client, before []string) ([]cobra.Completion, error) {
	if len(before) == 0 {
		return nil, errNothingBefore
	}
	page, err := client.Versions(ctx, before[0], api.ListOptions{Limit: completionLimit})
	return choose(page.Items, func(v api.RunbookVersion) (cobra.Completion, bool) {
		about := "published on " + render.Stamp(v.CreatedAt)
		if v.Active {
			about = "active, " + about
		}
		return choice(strconv.Itoa(v.Version), about, v.Description)
	}), err
}

func batchChoices(ctx context.Context, client *apiclient.Client, _ []string) ([]cobra.Completion, error) {
	page, err := client.Batches(ctx, api.ListOptions{Limit: completionLimit})
	return choose(page.Items, func(v api.Batch) (cobra.Completion, bool) {
		return choice(strconv.Itoa(v.ID), cmp.Or(v.Name, v.RunbookName), render.BatchStatus(v))
	}), err
}

// errNothingBefore says that the argument with the batch or the runbook is missing.
var errNothingBefore = errors.New("the batch or runbook is missing")

// batchBefore finds the batch in the first argument.
func batchBefore(ctx context.Context, client *apiclient.Client, before []string) (int, error) {
	if len(before) == 0 {
		return 0, errNothingBefore
	}
	return findBatch(ctx, client, before[0])
}

func phaseChoices(ctx context.Context, client *apiclient.Client, before []string) ([]cobra.Completion, error) {
	id, err := batchBefore(ctx, client, before)
	if err != nil {
		return nil, err
	}
	page, err := client.Phases(ctx, id)
	seen := map[string]bool{}
	return choose(page.Items, func(v api.Phase) (cobra.Completion, bool) {
		again := seen[v.Name] // of another version
		seen[v.Name] = true
		one, ok := choice(v.Name, v.Status)
		return one, ok && !again && v.Kind == api.KindPhase
	}), err
}

func memberChoices(ctx context.Context, client *apiclient.Client, before []string) ([]cobra.Completion, error) {
	id, err := batchBefore(ctx, client, before)
	if err != nil {
		return nil, err
	}
	page, err := client.Members(ctx, id, api.ListOptions{Limit: completionLimit})
	return choose(page.Items, func(v api.Member) (cobra.Completion, bool) {
		return choice(fmt.Sprint(v.ID), v.Key, v.Display, v.Status)
	}), err
}

// stepChoices returns the failed steps: users skip those or mark them as done.
func stepChoices(ctx context.Context, client *apiclient.Client, before []string) ([]cobra.Completion, error) {
	id, err := batchBefore(ctx, client, before)
	if err != nil {
		return nil, err
	}
	page, err := client.Steps(ctx, id, api.ListOptions{Limit: completionLimit, Statuses: []string{api.StepFailed}})
	return choose(page.Items, func(v api.Step) (cobra.Completion, bool) {
		return choice(fmt.Sprint(v.ID), v.Name, v.MemberKey, v.Status)
	}), err
}

func messageChoices(ctx context.Context, client *apiclient.Client, _ []string) ([]cobra.Completion, error) {
	page, err := client.UnprocessableMessages(ctx, api.ListOptions{Limit: completionLimit})
	return choose(page.Items, func(v api.UnprocessableMessage) (cobra.Completion, bool) { return choice(v.ID, v.Reason) }), err
}

func workerChoices(ctx context.Context, client *apiclient.Client, _ []string) ([]cobra.Completion, error) {
	page, err := client.Workers(ctx, api.ListOptions{Limit: completionLimit})
	return choose(page.Items, func(v api.Worker) (cobra.Completion, bool) {
		return choice(v.ID, render.Count(v.FunctionCount, "function"))
	}), err
}

func settingChoices() []cobra.Completion {
	return choose(settings.Definitions, func(s settings.Definition) (cobra.Completion, bool) { return choice(s.Key, s.Help) })
}

// statusChoices returns the values of --status of a command.
func statusChoices(cmd *cobra.Command) []cobra.Completion {
	switch _, path, _ := strings.Cut(cmd.CommandPath(), " "); path {
	case "batch list":
		return texts(api.BatchStatuses)
	case "batch members", "member list":
		return texts(api.MemberStatuses)
	case "batch steps", "step list":
		return texts(api.StepStatuses)
	case "batch checks":
		return texts(api.CheckStatuses)
	case "messages list":
		return texts([]api.UnprocessableStatus{api.UnprocessableOpen, api.UnprocessableReplayed, api.UnprocessableDiscarded})
	}
	return nil
}

func texts[S ~string](all []S) []string {
	var words []string
	for _, s := range all {
		words = append(words, string(s))
	}
	return words
}
