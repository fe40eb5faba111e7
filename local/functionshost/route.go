package functionshost

import (
	"fmt"
	"regexp"
	"strings"
)

// route is a parsed route template: literal segments, {name} for one segment, and
// a last {*name} for the rest.
type route struct {
	segments []string // "" stands for any one segment
	rest     bool
}

var parameter = regexp.MustCompile(`^\{(\*?)[A-Za-z_][A-Za-z0-9_]*\}$`)

func parseRoute(template string) (route, error) {
	var r route
	template = strings.Trim(template, "/")
	if template == "" {
		return r, nil
	}
	segments := strings.Split(template, "/")
	if strings.EqualFold(segments[0], "admin") {
		return r, fmt.Errorf("route %q: the segment admin is reserved for the host", template)
	}
	for i, segment := range segments {
		m := parameter.FindStringSubmatch(segment)
		switch {
		case m == nil && strings.ContainsAny(segment, "{}*?"):
			return r, fmt.Errorf("route %q: unsupported segment %q: use a word, {name} or a last {*name}", template, segment)
		case m == nil:
			r.segments = append(r.segments, segment)
		case m[1] == "":
			r.segments = append(r.segments, "")
		case i == len(segments)-1:
			r.rest = true
		default:
			return r, fmt.Errorf("route %q: %q must come last", template, segment)
		}
	}
	return r, nil
}

// matches tells whether the escaped path, without the prefix, is one of the
// route's. Words are compared without case, as the host does.
func (r route) matches(path string) bool {
	var segments []string
	if path = strings.Trim(path, "/"); path != "" {
		segments = strings.Split(path, "/")
	}
	if len(segments) < len(r.segments) || !r.rest && len(segments) > len(r.segments) {
		return false
	}
	for i, want := range r.segments {
		if want != "" && !strings.EqualFold(want, segments[i]) {
			return false
		}
	}
	return true
}
