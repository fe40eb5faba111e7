package functionshost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// application is the parsed content of a staged folder: host.json and each function.json.
type application struct {
	root      string
	host      hostFile
	functions []function
}

// hostFile is host.json, with the fields that this host honours. Durations are
// "hh:mm:ss".
type hostFile struct {
	Version         string `json:"version"`
	ExtensionBundle *struct {
		ID      string `json:"id"`
		Version string `json:"version"`
	} `json:"extensionBundle"` // this host's triggers are built in: read, without effect
	FunctionTimeout timeSpan `json:"functionTimeout"`
	TelemetryMode   string   `json:"telemetryMode"` // OpenTelemetry: invocations carry a traceparent
	Extensions      struct {
		ServiceBus struct {
			MaxConcurrentCalls         int      `json:"maxConcurrentCalls"`
			PrefetchCount              int      `json:"prefetchCount"`
			AutoCompleteMessages       bool     `json:"autoCompleteMessages"`
			MaxAutoLockRenewalDuration timeSpan `json:"maxAutoLockRenewalDuration"`
		} `json:"serviceBus"`
		HTTP struct {
			RoutePrefix string `json:"routePrefix"`
		} `json:"http"`
	} `json:"extensions"`
	CustomHandler struct {
		Description struct {
			DefaultExecutablePath string   `json:"defaultExecutablePath"`
			WorkingDirectory      string   `json:"workingDirectory"`
			Arguments             []string `json:"arguments"`
		} `json:"description"`
		EnableProxyingHTTPRequest bool     `json:"enableProxyingHttpRequest"`
		InitializationTimeout     timeSpan `json:"initializationTimeout"`
	} `json:"customHandler"`
}

// function is one function folder; exactly one of the triggers is set.
type function struct {
	name  string
	timer *timerBinding
	bus   *serviceBusBinding
	http  *httpBinding
}

type timerBinding struct {
	Type         string `json:"type"`
	Direction    string `json:"direction"`
	Name         string `json:"name"`
	Schedule     string `json:"schedule"`
	RunOnStartup bool   `json:"runOnStartup"`
	UseMonitor   bool   `json:"useMonitor"`

	schedule schedule
}

type serviceBusBinding struct {
	Type             string `json:"type"`
	Direction        string `json:"direction"`
	Name             string `json:"name"`
	QueueName        string `json:"queueName"`
	TopicName        string `json:"topicName"`
	SubscriptionName string `json:"subscriptionName"`
	Connection       string `json:"connection"`
	Cardinality      string `json:"cardinality"`
	DataType         string `json:"dataType"`
}

type httpBinding struct {
	Type      string   `json:"type"`
	Direction string   `json:"direction"`
	Name      string   `json:"name"`
	AuthLevel string   `json:"authLevel"`
	Methods   []string `json:"methods"`
	Route     *string  `json:"route"`

	route  route
	output string // the name of the http output
}

// load reads the staged folder dir. What it cannot honour it refuses, naming the
// file and the field.
func load(dir string, settings map[string]string) (*application, error) {
	a := &application{root: dir}
	if err := a.loadHost(filepath.Join(dir, "host.json"), settings); err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read the app folder: %w", err)
	}
	for _, entry := range entries {
		file := filepath.Join(dir, entry.Name(), "function.json")
		raw, err := os.ReadFile(file)
		if !entry.IsDir() || errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read a function: %w", err)
		}
		f, err := parseFunction(entry.Name(), raw, settings)
		if err != nil {
			return nil, fmt.Errorf("%s/function.json: %w", entry.Name(), err)
		}
		if f.http != nil && !a.host.CustomHandler.EnableProxyingHTTPRequest {
			return nil, fmt.Errorf("%s/function.json: an httpTrigger needs customHandler.enableProxyingHttpRequest in host.json", entry.Name())
		}
		if !isDisabled(entry.Name(), settings) {
			a.functions = append(a.functions, f)
		}
	}
	if len(a.functions) == 0 {
		return nil, errors.New("the app folder has no <function>/function.json")
	}
	return a, nil
}

// isDisabled reports whether a setting keeps the trigger of a function from running. Unlike Azure's host,
// this one then does not run the function for an administrator either.
func isDisabled(function string, settings map[string]string) bool {
	value, _ := setting(settings, "AzureWebJobs."+function+".Disabled")
	return value == "1" || strings.EqualFold(value, "true")
}

func (a *application) loadHost(file string, settings map[string]string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read host.json: %w", err)
	}
	raw, err = override(raw, settings)
	if err != nil {
		return fmt.Errorf("host.json: %w", err)
	}
	h := &a.host
	h.FunctionTimeout = timeSpan(30 * time.Minute)
	h.Extensions.ServiceBus.MaxConcurrentCalls = 16
	h.Extensions.ServiceBus.AutoCompleteMessages = true
	h.Extensions.ServiceBus.MaxAutoLockRenewalDuration = timeSpan(5 * time.Minute)
	h.Extensions.HTTP.RoutePrefix = "api"
	h.CustomHandler.InitializationTimeout = timeSpan(30 * time.Second)
	if err := strict(raw, h); err != nil {
		return fmt.Errorf("host.json: %w", err)
	}
	switch bus := h.Extensions.ServiceBus; {
	case h.Version != "2.0":
		return fmt.Errorf("host.json: version is %q, want 2.0", h.Version)
	case h.TelemetryMode != "" && h.TelemetryMode != "OpenTelemetry" && h.TelemetryMode != "ApplicationInsights":
		return fmt.Errorf("host.json: telemetryMode %q is unknown", h.TelemetryMode)
	case h.FunctionTimeout <= 0:
		return errors.New("host.json: functionTimeout must be positive")
	case bus.MaxConcurrentCalls < 1 || bus.MaxConcurrentCalls > 1000:
		return fmt.Errorf("host.json: extensions.serviceBus.maxConcurrentCalls is %d, want 1 to 1000", bus.MaxConcurrentCalls)
	case bus.PrefetchCount != 0:
		return errors.New("host.json: extensions.serviceBus.prefetchCount must be 0 on the local host")
	case !bus.AutoCompleteMessages:
		return errors.New("host.json: extensions.serviceBus.autoCompleteMessages must be true on the local host")
	case h.CustomHandler.Description.DefaultExecutablePath == "":
		return errors.New("host.json: customHandler.description.defaultExecutablePath is missing")
	}
	return expandFields("host.json", settings, &h.CustomHandler.Description.DefaultExecutablePath)
}

var functionName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,127}$`)

func parseFunction(name string, raw []byte, settings map[string]string) (function, error) {
	f := function{name: name}
	if !functionName.MatchString(name) || strings.EqualFold(name, "host") {
		return f, fmt.Errorf("invalid function name %q", name)
	}
	var file struct {
		Bindings []json.RawMessage `json:"bindings"`
	}
	if err := strict(raw, &file); err != nil {
		return f, err
	}
	outputs, output := 0, ""
	for i, binding := range file.Bindings {
		var kind struct {
			Type      string `json:"type"`
			Direction string `json:"direction"`
		}
		if err := json.Unmarshal(binding, &kind); err != nil {
			return f, fmt.Errorf("bindings[%d]: %w", i, err)
		}
		var err error
		switch kind.Type + " " + kind.Direction {
		case "timerTrigger in":
			f.timer = &timerBinding{UseMonitor: true}
			err = f.timer.parse(binding, settings)
		case "serviceBusTrigger in":
			f.bus = &serviceBusBinding{DataType: "string"}
			err = f.bus.parse(binding, settings)
		case "httpTrigger in":
			f.http = &httpBinding{AuthLevel: "function"}
			err = f.http.parse(name, binding)
		case "http out":
			outputs++
			var out struct{ Type, Direction, Name string }
			err = strict(binding, &out)
			output = out.Name
		default:
			err = fmt.Errorf("unknown binding type %q with direction %q", kind.Type, kind.Direction)
		}
		if err != nil {
			return f, fmt.Errorf("bindings[%d]: %w", i, err)
		}
	}
	triggers := 0
	for _, set := range []bool{f.timer != nil, f.bus != nil, f.http != nil} {
		if set {
			triggers++
		}
	}
	if triggers != 1 || len(file.Bindings) != triggers+outputs {
		return f, errors.New("a function must have exactly one trigger")
	}
	if wanted := map[bool]int{true: 1}[f.http != nil]; outputs != wanted {
		return f, errors.New("an httpTrigger must have one http output; other triggers must have none")
	}
	if f.http != nil {
		f.http.output = output
	}
	return f, nil
}

func (b *timerBinding) parse(raw []byte, settings map[string]string) (err error) {
	if err := strict(raw, b); err != nil {
		return err
	}
	if err := named(b.Name); err != nil {
		return err
	}
	if err := expandFields("schedule", settings, &b.Schedule); err != nil {
		return err
	}
	b.schedule, err = parseSchedule(b.Schedule)
	return err
}

func (b *serviceBusBinding) parse(raw []byte, settings map[string]string) error {
	if err := strict(raw, b); err != nil {
		return err
	}
	if err := named(b.Name); err != nil {
		return err
	}
	if err := expandFields("serviceBusTrigger", settings, &b.QueueName, &b.TopicName, &b.SubscriptionName); err != nil {
		return err
	}
	switch {
	case b.Cardinality != "one":
		return fmt.Errorf("cardinality is %q, want one", b.Cardinality)
	case b.DataType != "binary" && b.DataType != "string":
		return fmt.Errorf("dataType is %q, want binary or string", b.DataType)
	case b.Connection == "":
		return errors.New("connection is missing")
	case (b.QueueName == "") == (b.TopicName == ""):
		return errors.New("give queueName or topicName")
	case (b.TopicName == "") != (b.SubscriptionName == ""):
		return errors.New("give topicName and subscriptionName together")
	}
	return nil
}

func (b *httpBinding) parse(function string, raw []byte) (err error) {
	if err := strict(raw, b); err != nil {
		return err
	}
	if err := named(b.Name); err != nil {
		return err
	}
	if b.AuthLevel != "anonymous" {
		return fmt.Errorf("authLevel is %q, want anonymous: the local host has no keys", b.AuthLevel)
	}
	for i, method := range b.Methods {
		b.Methods[i] = strings.ToUpper(method)
	}
	template := function
	if b.Route != nil {
		template = *b.Route
	}
	b.route, err = parseRoute(template)
	return err
}

func (b *httpBinding) allows(method string) bool {
	return len(b.Methods) == 0 || slices.Contains(b.Methods, method)
}

func named(name string) error {
	if name == "" {
		return errors.New("name is missing")
	}
	return nil
}

// strict decodes one JSON value and refuses fields that v does not have.
func strict(raw []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}
