package runbook

import (
	"regexp"
	"sync"
	"time"
	_ "time/tzdata" // a machine without a time zone database knows the same zones
)

// zoneName is how the zones of the IANA database are written. What the directories
// of some machines hold besides, such as localtime or posix/, is not in it.
var zoneName = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

// zones holds those that were loaded, by name: a load reads files.
var zones sync.Map

// lookUp gives the time zone of that name.
func lookUp(name string) (*time.Location, bool) {
	if l, ok := zones.Load(name); ok {
		return l.(*time.Location), true
	}
	if name == "Local" || !zoneName.MatchString(name) {
		return nil, false
	}
	l, err := time.LoadLocation(name)
	if err != nil {
		return nil, false
	}
	zones.Store(name, l)
	return l, true
}

// timeZone reads a field as the name of a time zone; empty when absent or refused.
func (f fields) timeZone(name string) string {
	s := f.text(name)
	if s == "" {
		return ""
	}
	if _, ok := lookUp(s); !ok {
		f.p.errorf(f.at(name), f.join(name), CodeBadTimeZone, "%q is invalid; use a name of the IANA time zone database, such as Europe/Berlin or UTC", clip(s))
		return ""
	}
	return s
}
