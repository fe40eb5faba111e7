package functionshost

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// expandFields replaces each %SETTING% in place and names the one that is missing. As in the
// host, the case of names does not matter, a colon in a name stands for two underscores, and a
// value is not expanded again.
func expandFields(where string, settings map[string]string, fields ...*string) error {
	for _, field := range fields {
		parts := strings.Split(*field, "%")
		if len(parts)%2 == 0 {
			return fmt.Errorf("%s: %s: a %% has no second %%", where, *field)
		}
		for i := 1; i < len(parts); i += 2 {
			value, ok := setting(settings, parts[i])
			if !ok {
				return fmt.Errorf("%s: %s: the setting %s is missing", where, *field, parts[i])
			}
			parts[i] = value
		}
		*field = strings.Join(parts, "")
	}
	return nil
}

// setting finds a setting as the host's configuration does.
func setting(settings map[string]string, name string) (string, bool) {
	name = strings.ReplaceAll(name, ":", "__")
	if value, ok := settings[name]; ok {
		return value, true
	}
	for _, other := range slices.Sorted(maps.Keys(settings)) {
		if strings.EqualFold(strings.ReplaceAll(other, ":", "__"), name) {
			return settings[other], true
		}
	}
	return "", false
}

// OverridePrefix begins the names of settings that override fields of host.json, such as
// AzureFunctionsJobHost__extensions__serviceBus__maxConcurrentCalls.
const OverridePrefix = "AzureFunctionsJobHost__"

// override applies the settings AzureFunctionsJobHost__section__field to host.json
// as the host does.
func override(raw []byte, settings map[string]string) ([]byte, error) {
	var document map[string]any
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		path, ok := strings.CutPrefix(key, OverridePrefix)
		if !ok {
			continue
		}
		if document == nil {
			if err := json.Unmarshal(raw, &document); err != nil {
				return nil, err
			}
		}
		at, fields := document, strings.Split(path, "__")
		for _, field := range fields[:len(fields)-1] {
			next, ok := at[field].(map[string]any)
			if !ok {
				if at[field] != nil {
					return nil, fmt.Errorf("setting %s: %s is not a section", key, field)
				}
				next = map[string]any{}
				at[field] = next
			}
			at = next
		}
		at[fields[len(fields)-1]] = literal(settings[key])
	}
	if document == nil {
		return raw, nil
	}
	return json.Marshal(document)
}

// literal is a setting's text as the number or bool that it reads as, else as text.
func literal(s string) any {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n
	}
	switch strings.ToLower(s) {
	case "true":
		return true
	case "false":
		return false
	}
	return s
}

// timeSpan is a .NET TimeSpan: "[d.]hh:mm:ss[.fff]".
type timeSpan time.Duration

var timeSpanForm = regexp.MustCompile(`^(?:(\d{1,4})\.)?(\d{1,2}):(\d{2}):(\d{2})(\.\d{1,7})?$`)

func (t *timeSpan) UnmarshalJSON(raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return fmt.Errorf("a duration must be a string hh:mm:ss: %w", err)
	}
	m := timeSpanForm.FindStringSubmatch(s)
	if m == nil {
		return fmt.Errorf("invalid duration %q: use hh:mm:ss", s)
	}
	n := [4]int64{}
	for i := range n {
		n[i], _ = strconv.ParseInt(m[i+1], 10, 64) // digits only, by the pattern; "" is 0
	}
	if n[1] > 23 || n[2] > 59 || n[3] > 59 {
		return fmt.Errorf("invalid duration %q: use hh:mm:ss", s)
	}
	d := time.Duration(n[0])*24*time.Hour + time.Duration(n[1])*time.Hour + time.Duration(n[2])*time.Minute + time.Duration(n[3])*time.Second
	if m[5] != "" {
		fraction, err := time.ParseDuration("0" + m[5] + "s")
		if err != nil {
			return fmt.Errorf("invalid duration %q: use hh:mm:ss", s)
		}
		d += fraction
	}
	*t = timeSpan(d)
	return nil
}
