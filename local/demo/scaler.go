package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"

	"github.com/matoolkit/matoolkit/functions/containerscaler"
	"github.com/matoolkit/matoolkit/internal/api"
	"github.com/matoolkit/matoolkit/internal/cli/command"
	"github.com/matoolkit/matoolkit/internal/tlsroots"
	"github.com/matoolkit/matoolkit/local/arm"
	"github.com/matoolkit/matoolkit/local/system"
)

// ScalerConfig has the paths of the programs, and the size of the demo.
type ScalerConfig struct {
	Matoolkit string // the executable
	App       string // the built Functions app
	Container string // the program that runs as the container
	Messages  int
	Instances int // containers at once
	Console   command.Environment
}

const (
	scalerTopic = "validations"
	scalerImage = "registry.example/validator:1"
	// scalerTime bounds the demo: a container takes seconds.
	scalerTime = 5 * time.Minute
)

var scalerAreas = []string{"east", "north", "west"}

// RunScaler runs the container scaler on messages of different sizes in three subscriptions. It fails
// unless all messages are settled, each by one container and never by more at once than allowed, and
// all container groups are deleted.
func RunScaler(ctx context.Context, c ScalerConfig) (err error) {
	dir, err := os.MkdirTemp("", "matoolkit-demo-")
	if err != nil {
		return err
	}
	d := &scalerDemo{demo: demo{Config: Config{Matoolkit: c.Matoolkit, App: c.App, Console: c.Console}, dir: dir, out: c.Console.Stdout}, config: c}
	defer func() {
		err = errors.Join(err, d.stop())
		if err != nil {
			err = fmt.Errorf("%w\nLogs of this run: %s", err, dir)
			return
		}
		err = os.RemoveAll(dir)
	}()
	ctx, cancel := context.WithTimeout(ctx, scalerTime)
	defer cancel()
	return d.steps(ctx, []step{
		{"Start Azure on this machine", d.start},
		{"Sign in as an administrator", d.command("auth", "login")},
		{fmt.Sprintf("Send %d messages to %d subscriptions", c.Messages, len(scalerAreas)), d.send},
		{"Plan a tick of the container scaler", d.command("scaler", "plan")},
		{"Tick until all messages are settled and all container groups are deleted", d.tick},
		{"Show the container scaler", d.command("scaler", "status")},
		{"Check the result", d.check},
	})
}

type scalerDemo struct {
	demo
	config ScalerConfig
}

// topology has a subscription for each area.
func topology() ([]byte, error) {
	type object = map[string]any
	var subscriptions []object
	for _, area := range scalerAreas {
		subscriptions = append(subscriptions, object{
			"Name": area, "Properties": object{"LockDuration": "PT1M", "MaxDeliveryCount": 3},
			"Rules": []object{{"Name": "area", "Properties": object{"FilterType": "Sql", "SqlFilter": object{"SqlExpression": "area = '" + area + "'"}}}},
		})
	}
	return json.Marshal(object{"UserConfig": object{"Namespaces": []object{{"Name": "local", "Topics": []object{{"Name": scalerTopic, "Subscriptions": subscriptions}}}}}})
}

func (d *scalerDemo) start(ctx context.Context) error {
	text, err := topology()
	if err != nil {
		return err
	}
	file, endpoints := filepath.Join(d.dir, "topology.json"), filepath.Join(d.dir, "endpoints.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return err
	}
	args := []string{
		"local", "up", "--free-ports", "--auto-approve", "--data-dir", filepath.Join(d.dir, "data"), "--app", d.App, "--endpoints", endpoints,
		"--topology", file, "--container", scalerImage + "=" + d.config.Container,
	}
	settings := map[string]string{
		"ACI_IMAGE": scalerImage, "ACI_MAX_INSTANCES": fmt.Sprint(d.config.Instances), "ACI_MEMORY_MULTIPLIER": "20", "SB_TOPIC_NAME": scalerTopic,
		"INSTANCE_SB_TOPIC": scalerTopic, "INSTANCE_SUBSCRIPTION_ENV_NAME": "SB_SUBSCRIPTION",
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "--setting", name+"="+settings[name])
	}
	starting, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	up, err := d.spawn("system", nil, d.Matoolkit, args...)
	if err != nil {
		return err
	}
	if d.endpoints, err = system.WaitEndpoints(starting, endpoints, up); err != nil {
		return err
	}
	a := d.endpoints.Addresses
	for _, line := range [][2]string{{"Service Bus", "amqp://" + a.ServiceBus}, {"Azure Resource Manager", "https://" + a.ARM}, {"Functions host", d.endpoints.CLI["MATOOLKIT_API_URL"]}} {
		fmt.Fprintf(d.out, "%-22s %s\n", line[0], line[1])
	}
	return nil
}

// send sends messages of 50 MB and more, in turn to each subscription.
func (d *scalerDemo) send(ctx context.Context) error {
	client, err := azservicebus.NewClientFromConnectionString(d.endpoints.Handler["SB_CONNECTION_STR"], nil)
	if err != nil {
		return err
	}
	defer client.Close(ctx) // every message was accepted
	sender, err := client.NewSender(scalerTopic, nil)
	if err != nil {
		return err
	}
	for i := range d.config.Messages {
		id := fmt.Sprintf("validation-%02d", i+1)
		m := &azservicebus.Message{
			MessageID: &id, Body: fmt.Appendf(nil, `{"data":{"file_size_mb":%d}}`, 50*(i+1)),
			ApplicationProperties: map[string]any{"area": scalerAreas[i%len(scalerAreas)]},
		}
		if err := sender.SendMessage(ctx, m, nil); err != nil {
			return err
		}
	}
	return nil
}

// tick runs ticks, which come each minute in Azure, one after the other.
func (d *scalerDemo) tick(ctx context.Context) error {
	address := strings.TrimSuffix(d.endpoints.CLI["MATOOLKIT_API_URL"], "/api") + "/_local/functions/" + containerscaler.Name
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
		if err != nil {
			return err
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		if response.Body.Close(); response.StatusCode != http.StatusOK {
			return fmt.Errorf("the tick ended with %s", response.Status)
		}
		plan, err := ask[api.ScalerPlan](ctx, &d.demo, "scaler", "plan")
		if err != nil {
			return err
		}
		state, err := d.state(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(d.out, "%2d messages wait, %d containers run, %2d container groups\n", len(plan.Messages), state.Running, state.Groups)
		if len(plan.Messages) == 0 && state.Groups == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// state reads the counters of the local Azure Resource Manager.
func (d *scalerDemo) state(ctx context.Context) (counters arm.Counters, err error) {
	client, err := tlsroots.HTTPClient(d.endpoints.Handler["EXTRA_CA_FILE"])
	if err != nil {
		return counters, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+d.endpoints.Addresses.ARM+"/_local/state", nil)
	if err != nil {
		return counters, err
	}
	response, err := client.Do(request)
	if err != nil {
		return counters, err
	}
	defer response.Body.Close()
	err = json.NewDecoder(response.Body).Decode(&counters)
	return counters, err
}

func (d *scalerDemo) check(ctx context.Context) error {
	state, err := d.state(ctx)
	if err != nil {
		return err
	}
	var errs []error
	if len(state.Starts) != d.config.Messages {
		errs = append(errs, fmt.Errorf("%d containers were started for %d messages", len(state.Starts), d.config.Messages))
	}
	for name, n := range state.Starts {
		if n != 1 {
			errs = append(errs, fmt.Errorf("the container of %s was started %d times", name, n))
		}
	}
	if state.Peak > d.config.Instances {
		errs = append(errs, fmt.Errorf("%d containers ran at once, %d are allowed", state.Peak, d.config.Instances))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%d messages were settled, each by one container, at most %d at once. All container groups are deleted.\n", d.config.Messages, state.Peak)
	return nil
}
