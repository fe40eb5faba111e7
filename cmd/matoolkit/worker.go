package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
	"github.com/spf13/cobra"

	"github.com/matoolkit/matoolkit/internal/bus"
	"github.com/matoolkit/matoolkit/internal/bus/servicebus"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/cli/exit"
	environment "github.com/matoolkit/matoolkit/internal/env"
	"github.com/matoolkit/matoolkit/internal/message"
	"github.com/matoolkit/matoolkit/worker/verify"
)

// The environment variables with the broker, as for a worker.
const (
	envBus          = "ServiceBusConnection"
	envBusNamespace = "ServiceBusConnection__fullyQualifiedNamespace"
)

// addVerify adds the command "worker verify".
func addVerify(root *cobra.Command, getenv func(string) string) {
	group, _, err := root.Find([]string{"worker"})
	if err != nil {
		panic(err) // the root has it
	}
	group.AddCommand(verifyCommand(getenv))
}

type verifyFlags struct {
	config                     verify.Config
	parameters, hugeParameters string
}

func verifyCommand(getenv func(string) string) *cobra.Command {
	f := &verifyFlags{}
	c := command.Lists(&cobra.Command{
		Use:   "verify <worker-id>",
		Short: "Check a running worker against the message contract",
		Long: `Sends jobs over Service Bus to a running worker, in any language, and checks its answers
against the message contract (docs/write-a-worker.md).

The command connects to the broker as a worker does: with the connection string
ServiceBusConnection, or with the namespace ServiceBusConnection__fullyQualifiedNamespace, in
which you need permission to send and receive. Names of topics and subscriptions are settings
of the worker, such as WORKER_JOBS_TOPIC; give the command the same (docs/reference/settings.md).

It reads all results from a subscription of the topic worker-results that nothing else may
read. The subscription "orchestrator" is possible only with a broker on this machine and
while no orchestrator runs. An orchestrator of the same namespace receives the results as
well and keeps them as unprocessable messages, so use a system that is not in production.

The exit status is 1 when a check failed. Warnings, for example about missing heartbeats, do
not change it.`,
		Example: `  matoolkit local up --parts servicebus --ephemeral    in one terminal, the worker in another
  eval "$(matoolkit local env --for worker)"
  matoolkit worker verify worker-01 --results-subscription orchestrator
  matoolkit worker verify worker-02 --function Get-Badge --parameters '{"UserId":"7"}' \
      --required UserId`,
		Args: command.Needs("worker-id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.config.WorkerID = args[0]
			return f.run(cmd, getenv)
		},
	})
	flags := c.Flags()
	flags.StringVar(&f.config.Results, "results-subscription", verify.DefaultResults, "subscription of worker-results to read")
	flags.StringVar(&f.config.Function, "function", "", "a function that succeeds on every call, such as one that only reads")
	flags.StringVar(&f.parameters, "parameters", "", "parameters of the function, a JSON object")
	flags.StringSliceVar(&f.config.Required, "required", nil, "parameters without which the function must fail")
	flags.StringVar(&f.config.Huge, "huge-function", "", "a function whose result is larger than a message")
	flags.StringVar(&f.hugeParameters, "huge-parameters", "", "parameters of the function, a JSON object")
	flags.IntVar(&f.config.Jobs, "jobs", 32, "number of concurrent jobs in the check for lost jobs")
	flags.DurationVar(&f.config.Timeout, "timeout", 30*time.Second, "timeout of each check")
	flags.SortFlags = false
	return c
}

func (f *verifyFlags) run(cmd *cobra.Command, getenv func(string) string) error {
	var err error
	if f.config.Parameters, err = object("--parameters", f.parameters); err != nil {
		return err
	}
	if f.config.HugeParameters, err = object("--huge-parameters", f.hugeParameters); err != nil {
		return err
	}
	connection := getenv(envBus)
	switch {
	case f.config.Function == "" && (f.parameters != "" || len(f.config.Required) > 0):
		return exit.Usage(errors.New("--parameters and --required need --function"))
	case f.config.Huge == "" && f.hugeParameters != "":
		return exit.Usage(errors.New("--huge-parameters need --huge-function"))
	case f.config.Jobs < 1 || f.config.Jobs > 10_000:
		return exit.Usage(fmt.Errorf("--jobs is %d; use 1 to 10000", f.config.Jobs))
	case f.config.Timeout <= 0:
		return exit.Usage(errors.New("--timeout: give a duration such as 30s"))
	}
	read := environment.New(getenv)
	names := servicebus.ReadNames(read)
	if err := read.Err(); err != nil {
		return exit.Usage(err)
	}
	if strings.EqualFold(f.config.Results, names.Subscription(message.TopicWorkerResults, message.SubscriptionOrchestrator)) {
		if !onThisMachine(connection) {
			return exit.Usage(fmt.Errorf("--results-subscription %s belongs to the orchestrator; create another subscription", f.config.Results))
		}
		f.config.Results = message.SubscriptionOrchestrator
	}
	if f.config.Client, err = dial(connection, getenv(envBusNamespace), names); err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		_ = f.config.Client.Close(ctx) // the process ends; the broker notices either way
	}()
	findings, err := verify.Run(cmd.Context(), f.config)
	if err != nil {
		return err
	}
	table, failed := command.Table{Head: []string{"check", "outcome", "detail"}}, false
	for _, found := range findings {
		table.Rows = append(table.Rows, []any{found.Check, string(found.Outcome), found.Detail})
		failed = failed || found.Outcome == verify.Failed
	}
	if err := command.Print(cmd, findings, table); err != nil || !failed {
		return err
	}
	return command.Failed()
}

// object parses an option with a JSON object.
func object(option, text string) (json.RawMessage, error) {
	if text == "" {
		return nil, nil
	}
	var any map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &any); err != nil || any == nil {
		return nil, exit.Usage(fmt.Errorf("%s: give a JSON object", option))
	}
	return json.RawMessage(text), nil
}

// onThisMachine reports whether a connection string is that of an emulator.
func onThisMachine(connection string) bool {
	return strings.Contains(strings.ToLower(connection), "usedevelopmentemulator=true")
}

func dial(connection, namespace string, names servicebus.Names) (bus.Client, error) {
	config := servicebus.Config{ConnectionString: connection, Namespace: namespace, Names: names, ApplicationID: "matoolkit-verify"}
	switch {
	case (connection == "") == (namespace == ""):
		return nil, exit.Usage(fmt.Errorf("set one of %s (a connection string) and %s (such as name.servicebus.windows.net)", envBus, envBusNamespace))
	case connection != "":
		client, err := servicebus.Dial(config)
		if err != nil {
			return nil, exit.Usage(errors.New(envBus + " is not a connection string of a namespace"))
		}
		return client, nil
	}
	credential, err := azidentity.NewDefaultAzureCredential(nil)
	if err != nil {
		return nil, err
	}
	config.Credential = credential
	return servicebus.Dial(config)
}
