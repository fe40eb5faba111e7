package topology

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/sosodev/duration"
	"github.com/tailscale/hujson"

	"github.com/matoolkit/matoolkit/local/servicebus/filter"
)

// Parse reads a Config.json, in which comments and trailing commas are allowed.
func Parse(config []byte) (Topology, error) {
	config = bytes.TrimPrefix(config, []byte("\ufeff"))
	standard, err := hujson.Standardize(append(bytes.Clone(config), '\n')) // a comment may be the last line
	if err != nil {
		return Topology{}, err
	}
	var f file
	warnings, err := decode(standard, &f)
	if err != nil {
		return Topology{}, err
	}
	if n := len(f.UserConfig.Namespaces); n != 1 {
		return Topology{}, fmt.Errorf("UserConfig.Namespaces: has %d entries where one is expected", n)
	}
	ns := f.UserConfig.Namespaces[0]
	t := Topology{Warnings: warnings}
	names := uniqueNames{}
	for i, raw := range ns.Queues {
		at := place("Queues", i, raw.Name)
		q, err := raw.queue(at)
		if err == nil {
			err = names.add(at, raw.Name)
		}
		if err != nil {
			return Topology{}, err
		}
		t.Queues = append(t.Queues, q)
	}
	for i, raw := range ns.Topics {
		at := place("Topics", i, raw.Name)
		topic, err := raw.topic(at)
		if err == nil {
			err = names.add(at, raw.Name)
		}
		if err != nil {
			return Topology{}, err
		}
		t.Topics = append(t.Topics, topic)
	}
	t.warn()
	return t, nil
}

// warn adds a warning for every entity that is unsupported.
func (t *Topology) warn() {
	add := func(at string, d Delivery) {
		if d.Unsupported != "" {
			t.Warnings = append(t.Warnings, fmt.Sprintf("%s: the local Service Bus does not support %s; it refuses senders and receivers of this entity", at, d.Unsupported))
		}
	}
	for i, q := range t.Queues {
		add(place("Queues", i, q.Name), q.Delivery)
	}
	for i, topic := range t.Topics {
		for j, s := range topic.Subscriptions {
			add(place("Topics", i, topic.Name)+"."+place("Subscriptions", j, s.Name), s.Delivery)
		}
	}
}

type file struct {
	UserConfig struct {
		Namespaces []struct {
			Name   string
			Queues []queue
			Topics []topic
		}
		Logging json.RawMessage // of the emulator itself, without effect here
	}
}

type queue struct {
	Name       string
	Properties struct {
		deliveryProperties
		duplicateProperties
	}
}

type topic struct {
	Name       string
	Properties struct {
		duplicateProperties
		DefaultMessageTimeToLive *iso
	}
	Subscriptions []subscription
}

type subscription struct {
	Name       string
	Properties deliveryProperties
	Rules      []rule
}

type deliveryProperties struct {
	LockDuration                     *iso
	MaxDeliveryCount                 *int
	DefaultMessageTimeToLive         *iso
	DeadLetteringOnMessageExpiration bool
	RequiresSession                  bool
	ForwardTo                        string
	ForwardDeadLetteredMessagesTo    string
}

type duplicateProperties struct {
	RequiresDuplicateDetection          bool
	DuplicateDetectionHistoryTimeWindow *iso
}

type rule struct {
	Name       string
	Properties struct {
		FilterType        string
		SqlFilter         *struct{ SqlExpression string }
		CorrelationFilter *correlation
		Action            *struct{ SqlExpression string }
	}
}

type correlation struct {
	ContentType, CorrelationId, Label, MessageId, ReplyTo, ReplyToSessionId, SessionId, To *string
	Properties                                                                             map[string]any
}

// iso is a duration as ISO 8601 writes it. The longest one means no limit.
type iso time.Duration

func (d *iso) UnmarshalText(text []byte) error {
	if string(text) == "P10675199DT2H48M5.4775807S" {
		*d = 0
		return nil
	}
	v, err := duration.Parse(string(text))
	if err != nil {
		return fmt.Errorf("%q is not an ISO 8601 duration", text)
	}
	// The emulator counts a year as 365 days and a month as 30.
	v.Days += 365*v.Years + 30*v.Months
	v.Years, v.Months = 0, 0
	if td := v.ToTimeDuration(); td > 0 {
		*d = iso(td)
		return nil
	}
	return fmt.Errorf("%q is not a positive duration", text)
}

// decode reads JSON. A field that is not known, which may be a misspelt one, is a warning;
// the decoder tells of the first only.
func decode(data []byte, v *file) (warnings []string, err error) {
	if err := decodeWith(data, v, true); err != nil && strings.Contains(err.Error(), "unknown field") {
		warnings = []string{err.Error() + ", without effect"}
		*v = file{}
	} else if err != nil {
		return nil, err
	} else {
		return nil, nil
	}
	return warnings, decodeWith(data, v, false)
}

// decodeWith reads JSON, whose decoder names a field but not where it is, so that the line
// is added to its errors.
func decodeWith(data []byte, v *file, strict bool) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	if strict {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(v); err != nil {
		line := 1 + bytes.Count(data[:min(dec.InputOffset(), int64(len(data)))], []byte("\n"))
		return fmt.Errorf("at or after line %d: %w", line, err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the end of the configuration")
	}
	return nil
}

func (q queue) queue(at string) (Queue, error) {
	d, err := q.Properties.deliveryProperties.delivery(at)
	if err != nil {
		return Queue{}, err
	}
	window, err := q.Properties.window(at)
	return Queue{Name: q.Name, Delivery: d, DuplicateWindow: window}, err
}

func (t topic) topic(at string) (Topic, error) {
	window, err := t.Properties.window(at)
	if err != nil {
		return Topic{}, err
	}
	out := Topic{Name: t.Name, DuplicateWindow: window}
	if ttl := t.Properties.DefaultMessageTimeToLive; ttl != nil {
		out.TimeToLive = time.Duration(*ttl)
	}
	names := uniqueNames{}
	for i, raw := range t.Subscriptions {
		at := at + "." + place("Subscriptions", i, raw.Name)
		s, err := raw.subscription(at)
		if err == nil {
			err = names.add(at, raw.Name)
		}
		if err != nil {
			return Topic{}, err
		}
		out.Subscriptions = append(out.Subscriptions, s)
	}
	return out, nil
}

func (s subscription) subscription(at string) (Subscription, error) {
	d, err := s.Properties.delivery(at)
	if err != nil {
		return Subscription{}, err
	}
	out := Subscription{Name: s.Name, Delivery: d}
	for i, raw := range s.Rules {
		at := at + "." + place("Rules", i, raw.Name)
		f, err := raw.filter()
		var action *filter.Action
		if err == nil {
			action, err = raw.action()
		}
		if errors.Is(err, filter.ErrUnsupported) {
			out.Unsupported = fmt.Sprintf("a rule (%v)", err)
			continue
		}
		if err != nil {
			return Subscription{}, fmt.Errorf("%s: %w", at, err)
		}
		out.Rules = append(out.Rules, Rule{Name: raw.Name, Filter: f, Action: action})
	}
	if len(out.Rules) == 0 {
		out.Rules = []Rule{{Name: "$Default", Filter: filter.True{}}}
	}
	return out, nil
}

func (r rule) filter() (filter.Filter, error) {
	p := r.Properties
	switch {
	case strings.EqualFold(p.FilterType, "Sql") && p.SqlFilter != nil:
		f, err := filter.Parse(p.SqlFilter.SqlExpression)
		if err != nil {
			return nil, fmt.Errorf("SqlExpression %q: %w", p.SqlFilter.SqlExpression, err)
		}
		return f, nil
	case strings.EqualFold(p.FilterType, "Correlation") && p.CorrelationFilter != nil:
		return p.CorrelationFilter.filter()
	}
	return nil, fmt.Errorf("FilterType %q: use Sql with a SqlFilter, or Correlation with a CorrelationFilter", p.FilterType)
}

func (r rule) action() (*filter.Action, error) {
	a := r.Properties.Action
	if a == nil || strings.TrimSpace(a.SqlExpression) == "" {
		return nil, nil
	}
	action, err := filter.ParseAction(a.SqlExpression)
	if err != nil {
		return nil, fmt.Errorf("Action %q: %w", a.SqlExpression, err)
	}
	return action, nil
}

func (c correlation) filter() (filter.Filter, error) {
	f := filter.Correlation{System: map[string]string{}, User: map[string]any{}}
	for name, v := range map[string]*string{
		"ContentType": c.ContentType, "CorrelationId": c.CorrelationId, "Label": c.Label,
		"MessageId": c.MessageId, "ReplyTo": c.ReplyTo, "ReplyToSessionId": c.ReplyToSessionId, "SessionId": c.SessionId, "To": c.To,
	} {
		if v != nil {
			f.System[name] = *v
		}
	}
	for name, v := range c.Properties {
		switch v.(type) {
		case string, bool, float64:
			f.User[name] = v
		default:
			return nil, fmt.Errorf("CorrelationFilter.Properties.%s: a value is a string, a number or a boolean", name)
		}
	}
	if len(f.System)+len(f.User) == 0 {
		return nil, errors.New("CorrelationFilter: has no condition")
	}
	return f, nil
}

func (p deliveryProperties) delivery(at string) (Delivery, error) {
	d := Delivery{
		LockDuration: defaultLockDuration, MaxDeliveryCount: defaultMaxDeliveryCount,
		DeadLetterOnExpiration: p.DeadLetteringOnMessageExpiration,
	}
	switch {
	case p.RequiresSession:
		d.Unsupported = "sessions"
	case p.ForwardTo != "":
		d.Unsupported = "forwarding (ForwardTo)"
	case p.ForwardDeadLetteredMessagesTo != "":
		d.Unsupported = "forwarding of dead letters (ForwardDeadLetteredMessagesTo)"
	}
	if p.LockDuration != nil {
		d.LockDuration = time.Duration(*p.LockDuration)
		if d.LockDuration <= 0 || d.LockDuration > 5*time.Minute {
			return d, fmt.Errorf("%s: LockDuration: must be at most PT5M", at)
		}
	}
	if p.MaxDeliveryCount != nil {
		if *p.MaxDeliveryCount < 1 || *p.MaxDeliveryCount > 2000 {
			return d, fmt.Errorf("%s: MaxDeliveryCount: must be 1 to 2000", at)
		}
		d.MaxDeliveryCount = uint32(*p.MaxDeliveryCount)
	}
	if p.DefaultMessageTimeToLive != nil {
		d.TimeToLive = time.Duration(*p.DefaultMessageTimeToLive)
	}
	return d, nil
}

func (p duplicateProperties) window(at string) (time.Duration, error) {
	if !p.RequiresDuplicateDetection {
		return 0, nil
	}
	if p.DuplicateDetectionHistoryTimeWindow == nil {
		return defaultDuplicateWindow, nil
	}
	w := time.Duration(*p.DuplicateDetectionHistoryTimeWindow)
	if w <= 0 || w > 7*24*time.Hour {
		return 0, fmt.Errorf("%s: DuplicateDetectionHistoryTimeWindow: must be at most P7D", at)
	}
	return w, nil
}

func place(list string, i int, name string) string { return fmt.Sprintf("%s[%d] %q", list, i, name) }

// uniqueNames checks the names of siblings, which differ by more than case.
type uniqueNames map[string]bool

var validName = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,258}[A-Za-z0-9])?$`)

func (u uniqueNames) add(at, name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("%s: Name: use letters, digits, '.', '-', '_' and '/', with a letter or digit at both ends", at)
	}
	if u[strings.ToLower(name)] {
		return fmt.Errorf("%s: Name: is taken", at)
	}
	u[strings.ToLower(name)] = true
	return nil
}
