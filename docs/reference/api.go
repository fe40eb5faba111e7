package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// route is one operation of the admin API.
type route struct {
	Method, Path, Summary, Role, Success, Problems string
}

// operation is the part of an operation of OpenAPI that the page shows.
type operation struct {
	Summary     string               `yaml:"summary"`
	Description string               `yaml:"description"`
	Security    *[]any               `yaml:"security"`
	Responses   map[string]yaml.Node `yaml:"responses"`
}

// readAPI reads the description of the OpenAPI document and its operations, in their order.
func readAPI(root string) (any, error) {
	data, err := os.ReadFile(filepath.Join(root, "functions", "admin-http", "openapi.yaml"))
	if err != nil {
		return nil, err
	}
	var document struct {
		Info struct {
			Description string `yaml:"description"`
		} `yaml:"info"`
		Paths yaml.Node `yaml:"paths"`
	}
	if err := yaml.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	var routes []route
	for i := 0; i+1 < len(document.Paths.Content); i += 2 {
		path, item := document.Paths.Content[i].Value, document.Paths.Content[i+1]
		for j := 0; j+1 < len(item.Content); j += 2 {
			method := item.Content[j].Value
			if !slices.Contains([]string{"get", "put", "post", "patch", "delete"}, method) {
				continue
			}
			var o operation
			if err := item.Content[j+1].Decode(&o); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
			r, err := o.route(method, path)
			if err != nil {
				return nil, err
			}
			routes = append(routes, r)
		}
	}
	return struct {
		Description string
		Routes      []route
	}{strings.TrimSpace(document.Info.Description), routes}, nil
}

// requiredRole is how a description says which callers the API accepts. A GET without it requires
// the role Reader.
var requiredRole = regexp.MustCompile(`Requires the app role (\w+)`)

func (o operation) route(method, path string) (route, error) {
	r := route{Method: strings.ToUpper(method), Path: "/api" + path, Summary: o.Summary, Role: "Reader"}
	role := requiredRole.FindStringSubmatch(o.Description)
	switch {
	case o.Security != nil && len(*o.Security) == 0:
		r.Role = ""
	case role != nil:
		r.Role = role[1]
	case method != "get":
		return route{}, fmt.Errorf("%s %s: the description does not say which app role the API requires", method, path)
	}
	var success, problems []string
	for status := range o.Responses {
		if status < "300" {
			success = append(success, status)
		} else if status >= "400" && status != "default" {
			problems = append(problems, status)
		}
	}
	slices.Sort(success)
	slices.Sort(problems)
	r.Success, r.Problems = strings.Join(success, ", "), strings.Join(problems, ", ")
	return r, nil
}
