package runbook

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

const (
	minutesOfDay  = 24 * 60
	minutesOfWeek = 7 * minutesOfDay
	maxWindows    = 50
)

// QuietHours is the daily time in which no phase of an automated batch begins.
// It is part of the stored batch, as JSON.
type QuietHours struct {
	TimeZone string   `json:"timeZone"` // IANA
	Windows  []Window `json:"windows"`
}

// Window is one span of quiet hours, by the clock on the wall. From and To are
// minutes after midnight, From below 1440. A To that is not after From is of the
// next day; 1440 is the end of the day itself.
type Window struct {
	Days []time.Weekday `json:"days,omitempty"` // on which it begins; none: every day
	From int            `json:"from"`
	To   int            `json:"to"`
}

// DailyQuietHours returns quiet hours between two times of each day, such as 20:00 and 07:00.
func DailyQuietHours(zone, from, to string) (*QuietHours, error) {
	if _, ok := lookUp(zone); !ok {
		return nil, fmt.Errorf("%q is not a time zone; use a name of the IANA time zone database, such as Europe/Berlin or UTC", clip(zone))
	}
	for _, s := range []string{from, to} {
		if !timeOfDay.MatchString(s) {
			return nil, fmt.Errorf(`%q is not a time of day, such as 08:00 or 17:30`, clip(s))
		}
	}
	w := Window{From: minutesAt(from), To: minutesAt(to)}
	if w.From == minutesOfDay || w.From == w.To%minutesOfDay {
		return nil, fmt.Errorf("quiet hours from %s to %s cover the whole day or begin at its end", from, to)
	}
	return &QuietHours{TimeZone: zone, Windows: []Window{w}}, nil
}

// String is the window as the format writes it, such as mon tue 08:00-17:30.
func (w Window) String() string {
	from, to := w.Times()
	text := from + "-" + to
	var days []string
	for _, d := range w.Days {
		days = append(days, dayNames[(int(d)+6)%7])
	}
	if days == nil {
		return text
	}
	return strings.Join(days, " ") + " " + text
}

// Times returns the two times of day as the format writes them, such as 08:00.
func (w Window) Times() (from, to string) {
	return fmt.Sprintf("%02d:%02d", w.From/60, w.From%60), fmt.Sprintf("%02d:%02d", w.To/60, w.To%60)
}

// Until tells whether t is quiet, and gives the first moment from t on that is not,
// which is t itself where it is not quiet. Windows that touch or overlap are one.
//
// A moment is quiet when a clock in the time zone shows a time within a window. So
// an hour that the clocks pass twice is quiet twice, and one that they leave out
// never comes. The end of quiet hours is given in their time zone.
//
// Nil has no quiet hours. Quiet hours that [Parse] did not give may cover the whole
// week, which never ends: a week after t is given then.
func (q *QuietHours) Until(t time.Time) (end time.Time, quiet bool) {
	if q == nil || len(q.Windows) == 0 {
		return t, false
	}
	week := q.week()
	local := t.In(q.location())
	if !week[minuteOfWeek(local)] {
		return t, false
	}
	if week.whole() {
		return local.AddDate(0, 0, 7), true
	}
	// Between two changes of the clocks, the minutes of the week follow each other.
	for week[minuteOfWeek(local)] {
		_, change := local.ZoneBounds()
		local = week.end(local)
		if !change.IsZero() && change.Before(local) {
			local = change
		}
	}
	return local, true
}

// location is the time zone, which Parse has seen to exist.
func (q *QuietHours) location() *time.Location {
	if l, ok := lookUp(q.TimeZone); ok {
		return l
	}
	return time.UTC
}

// week tells of each minute that the clock can show, from Sunday 00:00, whether it
// is quiet.
type week [minutesOfWeek]bool

func (q *QuietHours) week() *week {
	w := &week{}
	for _, window := range q.Windows {
		length := window.To - window.From
		if length <= 0 {
			length += minutesOfDay
		}
		days := window.Days
		if len(days) == 0 {
			days = everyDay
		}
		for _, day := range days {
			for i := range length {
				w[(int(day)*minutesOfDay+window.From+i)%minutesOfWeek] = true
			}
		}
	}
	return w
}

// whole tells whether every minute is quiet.
func (w *week) whole() bool { return !slices.Contains(w[:], false) }

func minuteOfWeek(t time.Time) int {
	return int(t.Weekday())*minutesOfDay + t.Hour()*60 + t.Minute()
}

// end is when the first minute after t that is not quiet begins, for clocks that do
// not change before. There has to be one.
func (w *week) end(t time.Time) time.Time {
	first := minuteOfWeek(t)
	minutes := 0
	for w[(first+minutes)%minutesOfWeek] {
		minutes++
	}
	intoMinute := time.Duration(t.Second())*time.Second + time.Duration(t.Nanosecond())
	return t.Add(time.Duration(minutes)*time.Minute - intoMinute)
}

var (
	everyDay = []time.Weekday{time.Sunday, time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday}
	dayNames = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}
)

// quietHours reads quiet_hours; nil when absent or not a mapping.
func (f fields) quietHours() *QuietHours {
	n, ok := f.values["quiet_hours"]
	if !ok {
		return nil
	}
	g, ok := f.p.object(n, f.join("quiet_hours"), quietObject)
	if !ok {
		return nil
	}
	q := &QuietHours{TimeZone: g.timeZone("time_zone")}
	for i, item := range g.list("windows", "window", 1, maxWindows) {
		if w, ok := f.p.window(item, fmt.Sprintf("%s[%d]", g.join("windows"), i)); ok {
			q.Windows = append(q.Windows, w)
		}
	}
	if q.week().whole() {
		f.p.errorf(g.at("windows"), g.join("windows"), CodeBadValue, "cover the whole week, so no phase could ever start")
	}
	return q
}

// window reads one window; false where it was refused, in part or as a whole.
func (p *parser) window(n *yaml.Node, path string) (Window, bool) {
	f, ok := p.object(n, path, windowObject)
	if !ok {
		return Window{}, false
	}
	from, begins := f.timeOfDay("from")
	to, ends := f.timeOfDay("to")
	days, known := f.days()
	if begins && from == minutesOfDay {
		p.errorf(f.at("from"), f.join("from"), CodeBadTimeOfDay, "24:00 can only be the end of a window; use 00:00 on the next day")
		begins = false
	}
	return Window{Days: days, From: from, To: to}, begins && ends && known
}

// days reads the days of a window, of which none stand for all; false where one is
// refused.
func (f fields) days() ([]time.Weekday, bool) {
	if f.refused["days"] {
		return nil, false
	}
	items := f.list("days", "day", 1, len(dayNames))
	sound := !f.has("days") || len(items) > 0
	var days []time.Weekday
	for i, item := range items {
		path := fmt.Sprintf("%s[%d]", f.join("days"), i)
		s := f.p.text(item, path)
		place := slices.Index(dayNames, s)
		day := time.Weekday((place + 1) % 7)
		switch {
		case s == "":
			sound = false
		case place < 0:
			f.p.errorf(at(item), path, CodeBadValue, "%q is invalid; use one of %s", clip(s), strings.Join(dayNames, ", "))
			sound = false
		case slices.Contains(days, day):
			f.p.errorf(at(item), path, CodeBadValue, "duplicate %q", s)
			sound = false
		default:
			days = append(days, day)
		}
	}
	return days, sound
}

var timeOfDay = regexp.MustCompile(`^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`)

// timeOfDay reads a field as minutes after midnight, up to 24:00; false when absent
// or refused.
func (f fields) timeOfDay(name string) (int, bool) {
	s := f.text(name)
	if s == "" {
		return 0, false
	}
	if !timeOfDay.MatchString(s) {
		f.p.errorf(f.at(name), f.join(name), CodeBadTimeOfDay, `%q is not a time of day from "00:00" to "24:00", such as 08:00 or 17:30`, clip(s))
		return 0, false
	}
	return minutesAt(s), true
}

// minutesAt returns the minutes after midnight of a time that matches timeOfDay.
func minutesAt(s string) int {
	number := func(digits string) int { return int(digits[0]-'0')*10 + int(digits[1]-'0') }
	return number(s[:2])*60 + number(s[3:])
}
