package arm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
)

// groupBody is a container group as requests and answers have it.
type groupBody struct {
	ID         string            `json:"id,omitempty"`
	Name       string            `json:"name,omitempty"`
	Type       string            `json:"type,omitempty"`
	Location   string            `json:"location"`
	Tags       map[string]string `json:"tags,omitempty"`
	Zones      []string          `json:"zones,omitempty"`
	Identity   *identityBody     `json:"identity,omitempty"`
	Properties propertiesBody    `json:"properties"`
}

type identityBody struct {
	Type     string              `json:"type"`
	Assigned map[string]struct{} `json:"userAssignedIdentities,omitempty"`
}

type propertiesBody struct {
	ProvisioningState string          `json:"provisioningState,omitempty"`
	Containers        []containerBody `json:"containers"`
	OSType            string          `json:"osType"`
	RestartPolicy     string          `json:"restartPolicy,omitempty"`
	SKU               string          `json:"sku,omitempty"`
	Priority          string          `json:"priority,omitempty"`
	Registries        []registryBody  `json:"imageRegistryCredentials,omitempty"`
	Subnets           []subnetBody    `json:"subnetIds,omitempty"`
	InstanceView      *groupViewBody  `json:"instanceView,omitempty"`
}

type subnetBody struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

type registryBody struct {
	Server   string `json:"server"`
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
	Identity string `json:"identity,omitempty"`
}

type containerBody struct {
	Name       string `json:"name"`
	Properties struct {
		Image     string         `json:"image"`
		Command   []string       `json:"command,omitempty"`
		Env       []variableBody `json:"environmentVariables,omitempty"`
		Resources struct {
			Requests struct {
				CPU    *float64 `json:"cpu"`
				Memory *float64 `json:"memoryInGB"`
			} `json:"requests"`
		} `json:"resources"`
		InstanceView *containerViewBody `json:"instanceView,omitempty"`
	} `json:"properties"`
}

type variableBody struct {
	Name   string  `json:"name"`
	Value  *string `json:"value,omitempty"`
	Secure *string `json:"secureValue,omitempty"`
}

type groupViewBody struct {
	State  string      `json:"state"`
	Events []eventBody `json:"events"`
}

type containerViewBody struct {
	RestartCount int         `json:"restartCount"`
	CurrentState stateBody   `json:"currentState"`
	Events       []eventBody `json:"events"`
}

type stateBody struct {
	State        string     `json:"state"`
	StartTime    *time.Time `json:"startTime,omitempty"`
	FinishTime   *time.Time `json:"finishTime,omitempty"`
	ExitCode     *int       `json:"exitCode,omitempty"`
	DetailStatus string     `json:"detailStatus"`
}

type eventBody struct {
	Count   int       `json:"count"`
	First   time.Time `json:"firstTimestamp"`
	Last    time.Time `json:"lastTimestamp"`
	Name    string    `json:"name"`
	Message string    `json:"message"`
	Type    string    `json:"type"`
}

var (
	nameForm     = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	variableForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_]{0,61}[A-Za-z0-9])?$`)
)

// parse reads the body of a request to create a group, by the rules of the service.
func parse(name string, raw []byte) (*groupBody, *refusal) {
	var g groupBody
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&g); err != nil {
		return nil, &refusal{400, "InvalidRequestContent", "The request content was invalid: " + err.Error()}
	}
	invalid := func(code, format string, args ...any) (*groupBody, *refusal) {
		return nil, &refusal{400, code, fmt.Sprintf(format, args...)}
	}
	p := g.Properties
	switch {
	case !nameForm.MatchString(name) || len(name) > 63:
		return invalid("InvalidContainerGroupName", "The container group name '%s' is invalid.", name)
	case g.Location == "":
		return invalid("LocationRequired", "The location property is required for this definition.")
	case len(g.Tags) > 50:
		return invalid("InvalidTags", "There are more than 50 tags.")
	case p.OSType != "Linux":
		return invalid("InvalidOsType", "The osType '%s' is not supported here.", p.OSType)
	case p.RestartPolicy != "" && p.RestartPolicy != "Never" && p.RestartPolicy != "OnFailure" && p.RestartPolicy != "Always":
		return invalid("InvalidRestartPolicy", "The restartPolicy '%s' is invalid.", p.RestartPolicy)
	case len(p.Containers) != 1:
		return invalid("InvalidContainers", "Groups of %d containers are not supported here.", len(p.Containers))
	case p.InstanceView != nil || p.ProvisioningState != "":
		return invalid("InvalidRequestContent", "The request has fields that only answers have.")
	}
	for tag, text := range g.Tags {
		if len(text) > 256 {
			return invalid("InvalidTagValueLength", "The tag '%s' has more than 256 characters.", tag)
		}
	}
	return checkContainer(&g)
}

func checkContainer(g *groupBody) (*groupBody, *refusal) {
	invalid := func(code, format string, args ...any) (*groupBody, *refusal) {
		return nil, &refusal{400, code, fmt.Sprintf(format, args...)}
	}
	c := g.Properties.Containers[0]
	request := c.Properties.Resources.Requests
	switch {
	case !nameForm.MatchString(c.Name) || len(c.Name) > 63:
		return invalid("InvalidContainerName", "The container name '%s' is invalid.", c.Name)
	case c.Properties.Image == "":
		return invalid("InvalidImageName", "The image is missing in container '%s'.", c.Name)
	case request.CPU == nil || request.Memory == nil:
		return invalid("ResourceRequestsNotSpecified", "The CPU and the memory of container '%s' are required.", c.Name)
	case *request.CPU < 1 || *request.CPU > 31 || *request.Memory < 1 || *request.Memory > 240:
		return invalid("ResourceRequestOutOfRange", "The request of %v CPU and %v GB is out of range.", *request.CPU, *request.Memory)
	case math.Abs(*request.Memory*10-math.Round(*request.Memory*10)) > 1e-9:
		return invalid("InvalidMemory", "The memory %v GB is not a multiple of 0.1.", *request.Memory)
	}
	for _, v := range c.Properties.Env {
		if !variableForm.MatchString(v.Name) || (v.Value == nil) == (v.Secure == nil) {
			return invalid("InvalidEnvironmentVariable", "The environment variable '%s' is invalid.", v.Name)
		}
	}
	for _, r := range g.Properties.Registries {
		switch {
		case r.Server == "" || strings.Contains(r.Server, "/"):
			return invalid("InvalidImageRegistryCredential", "The server '%s' is invalid.", r.Server)
		case r.Identity == "" && (r.Username == "" || r.Password == ""):
			return invalid("InvalidImageRegistryCredential", "The registry '%s' has neither an identity nor a user with a password.", r.Server)
		case r.Identity != "" && !g.has(r.Identity):
			return invalid("InvalidImageRegistryCredential", "The identity '%s' of the registry is not attached to the group.", r.Identity)
		}
	}
	return g, nil
}

// has reports whether the group has an identity.
func (g *groupBody) has(identity string) bool {
	if g.Identity == nil || g.Identity.Type != "UserAssigned" {
		return false
	}
	_, ok := g.Identity.Assigned[identity]
	return ok
}
