package adminhttp_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"pgregory.net/rapid"
)

// known are values that answers had, by the name of the parameter or field that takes
// them: what the next request is about is there, more often than not.
type known struct {
	mu     sync.Mutex
	values map[string][]string
}

func newKnown() *known { return &known{values: map[string][]string{}} }

// fields are the fields of answers that are learnt from, with the parameters that take
// their values.
var fields = map[string][]string{
	"etag": {"If-Match"}, "revision": {"revision"}, "continuationToken": {"continuationToken"}, "version": {"version", "from", "to"},
	"phase": {"phase"}, "step": {"step"}, "memberId": {"memberIds", "member"}, "memberKey": {"search", "member", "memberIds"}, "task": {"task"},
}

func (k *known) learn(s *sent) {
	var answer any
	if s.status >= 300 || json.Unmarshal(s.answer, &answer) != nil {
		return
	}
	id := ""
	switch o := s.operation; {
	case o.OperationID == "listSteps":
		id = "stepId"
	case o.OperationID == "listMembers":
		id = "member"
	case o.OperationID == "listMessages":
		id = "messageId"
	case o.OperationID == "listBatches", o.OperationID == "createBatch":
		id = "batchId"
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.walk(answer, id)
}

func (k *known) walk(node any, id string) {
	switch n := node.(type) {
	case []any:
		for _, child := range n {
			k.walk(child, id)
		}
	case map[string]any:
		for name, value := range n {
			switch v := value.(type) {
			case string, float64:
				for _, takes := range fields[name] {
					k.add(takes, v)
				}
				if name == "id" && id != "" {
					k.add(id, v)
				}
			default:
				k.walk(v, id)
			}
		}
	}
}

// add keeps the last few values.
func (k *known) add(name string, value any) {
	text := fmt.Sprint(value)
	if f, ok := value.(float64); ok {
		text = fmt.Sprintf("%.0f", f)
	}
	if text == "" || slices.Contains(k.values[name], text) {
		return
	}
	if k.values[name] = append(k.values[name], text); len(k.values[name]) > 12 {
		k.values[name] = k.values[name][1:]
	}
}

func (k *known) of(name string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.values[name])
}

// strange are values that no parameter has, or hardly one.
var strange = []string{
	"0", "-1", "1.5", "1e3", "007", "+1", "2147483648", "99999999999999999999", "x", "%", "a/b", "..", "a b", "ü", "\x00", "\xff", "null", `"`, "'--",
	strings.Repeat("9", 200), strings.Repeat("x", 5000), "true", "*", `"x"`, `W/"x"`, "=1+1", "\u202e",
}

// runbookNames are those of the runbooks that there are, and of one that there is not.
var runbookNames = []string{"moves", "gated", "waves", "failing", "none"}

// hundred draws evenly, unlike a range, and shrinks towards the common case.
var hundred = func() (numbers []int) {
	for n := range 100 {
		numbers = append(numbers, 100-n)
	}
	return numbers
}()

func chance(t *rapid.T, percent int, what string) bool {
	return rapid.SampledFrom(hundred).Draw(t, what) <= percent
}

// draw makes a request of an operation: mostly one that the document allows, now and
// then one that is wrong in one place or another.
func (k *known) draw(t *rapid.T, o operation) wanted {
	w := wanted{path: map[string]string{}, query: url.Values{}, header: map[string]string{}, caller: "admin"}
	if chance(t, 12, "other caller") {
		w.caller = rapid.SampledFrom([]string{"reader", "reader", "reader", "stranger", "forged", "none"}).Draw(t, "caller")
	}
	for _, ref := range o.Parameters {
		p := ref.Value
		if !p.Required && !chance(t, 35, p.Name+" given") {
			continue
		}
		name := p.Name
		if name == "id" {
			name = map[bool]string{true: "messageId", false: "batchId"}[strings.HasPrefix(o.Path, "/messages")]
		}
		value := k.value(t, name, p.Schema.Value)
		switch p.In {
		case openapi3.ParameterInPath:
			if value == "" {
				value = "x" // another address otherwise
			}
			w.path[p.Name] = value
		case openapi3.ParameterInQuery:
			w.query.Add(p.Name, value)
			if chance(t, 2, p.Name+" twice") {
				w.query.Add(p.Name, value)
			}
		case openapi3.ParameterInHeader:
			if name == "If-Match" && !strings.ContainsAny(value, `"*`) && chance(t, 90, "quoted") {
				value = `"` + value + `"`
			}
			if !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r > '~' }) { // no client sends another
				w.header[p.Name] = value
			}
		}
	}
	if chance(t, 3, "unknown parameter") {
		w.query.Set("unknown", "1")
	}
	if o.RequestBody == nil {
		if chance(t, 3, "body that belongs nowhere") {
			w.media, w.body = jsonMedia, "{}"
		}
		return w
	}
	k.body(t, o, &w)
	return w
}

// value is one of a parameter.
func (k *known) value(t *rapid.T, name string, s *openapi3.Schema) string {
	if chance(t, 8, name+" strange") {
		return rapid.SampledFrom(strange).Draw(t, name)
	}
	if name == "name" || name == "runbook" {
		return rapid.SampledFrom(runbookNames).Draw(t, name)
	}
	if values := k.of(name); len(values) > 0 && chance(t, 85, name+" known") {
		return rapid.SampledFrom(values).Draw(t, name)
	}
	if s.Type.Is("array") { // with commas between the values
		values := make([]string, rapid.IntRange(1, 3).Draw(t, name+" values"))
		for i := range values {
			values[i] = k.value(t, name, s.Items.Value)
		}
		return strings.Join(values, ",")
	}
	value := k.json(t, name, s, 0)
	if text, ok := value.(string); ok {
		return text
	}
	text, _ := json.Marshal(value)
	return string(text)
}

// json is a value that fits a schema.
func (k *known) json(t *rapid.T, name string, s *openapi3.Schema, depth int) any {
	switch {
	case len(s.Enum) > 0:
		return rapid.SampledFrom(s.Enum).Draw(t, name)
	case s.Type.Is("boolean"):
		return rapid.Bool().Draw(t, name)
	case s.Type.Is("integer"):
		least, most := 1, 20
		if s.Min != nil {
			least = int(*s.Min)
		}
		if s.Max != nil {
			most = int(min(*s.Max, 2000))
		}
		return rapid.IntRange(least, max(least, most)).Draw(t, name)
	case s.Type.Is("object"):
		return k.object(t, s, depth)
	case s.Type.Is("string") && s.Format == "date-time":
		return rapid.SampledFrom([]string{"2026-01-02T03:04:05Z", "2036-01-02T03:04:05Z", "2016-01-02T03:04:05+02:00"}).Draw(t, name)
	case s.Type.Is("string"):
		if values := k.of(name); len(values) > 0 {
			return rapid.SampledFrom(values).Draw(t, name)
		}
		return rapid.SampledFrom([]string{"because", "a", "Ünïcödé 🙂", strings.Repeat("y", 900), "moves"}).Draw(t, name)
	}
	return rapid.SampledFrom([]any{nil, 1, "text", true, []any{1, "x"}, map[string]any{"Id": "1"}}).Draw(t, name) // of any type
}

func (k *known) object(t *rapid.T, s *openapi3.Schema, depth int) map[string]any {
	out := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		required := slices.Contains(s.Required, name)
		if required && !chance(t, 95, name+" there") || !required && !chance(t, 40, name+" there") {
			continue
		}
		switch {
		case name == "yamlContent":
			out[name] = rapid.SampledFrom(runbooks).Draw(t, name)
		case (name == "memberIds") && len(k.of(name)) > 0:
			value := rapid.SampledFrom(k.of(name)).Draw(t, name)
			if out[name] = []any{value}; json.Valid([]byte(value)) {
				out[name] = []any{json.Number(value)}
			}
		default:
			out[name] = k.json(t, name, s.Properties[name].Value, depth+1)
		}
		if chance(t, 6, name+" wrong") {
			out[name] = rapid.SampledFrom([]any{nil, "", " ", 0, -1, 1.5, 1e30, []any{}, map[string]any{}, strings.Repeat("z", 1001), "\x00", true}).Draw(t, name+" instead")
		}
	}
	if chance(t, 3, "unknown field") {
		out["unknown"] = 1
	}
	return out
}

// body makes the body of a request, of one of the media types described.
func (k *known) body(t *rapid.T, o operation, w *wanted) {
	content := o.RequestBody.Value.Content
	w.media = rapid.SampledFrom(slices.Sorted(maps.Keys(content))).Draw(t, "media")
	schema := content[w.media].Schema.Value
	switch {
	case !o.RequestBody.Value.Required && chance(t, 30, "no body"):
		w.media = ""
		return
	case w.media == "application/yaml":
		w.body = rapid.SampledFrom(runbooks).Draw(t, "yaml")
	case w.media == "multipart/form-data":
		k.upload(t, schema, w)
	default:
		encoded, err := json.Marshal(k.object(t, schema, 0))
		if err != nil {
			t.Fatal(err)
		}
		w.body = string(encoded)
	}
	if chance(t, 6, "broken body") {
		w.body = rapid.SampledFrom([]string{
			"", "{", "null", "[]", "1", `"`, w.body + "x", w.body[:len(w.body)/2], "\xff\xfe", strings.Repeat("[", 20_000), strings.Repeat(" ", 100_000), `{"a":` + strings.Repeat(`{"a":`, 20_000), "\x00",
		}).Draw(t, "body")
	}
	if chance(t, 4, "wrong media") {
		w.media = rapid.SampledFrom([]string{"", "text/plain", "application/json; charset=latin1", "multipart/form-data", "application/x-www-form-urlencoded", ";"}).Draw(t, "media")
	}
}

// lists are CSV files of members, good and bad.
var lists = []string{
	"UserId,Mail\nu1,a\nu2,b\n", "UserId,Mail\nu3,fail\nu4,d\nu5,e\n", "UserId,Mail,Start\nu6,a,2036-01-01T00:00:00Z\n", "UserId,Mail\nu7,x\nu8,y\n",
	"", "UserId\n", "UserId,Mail\n", "UserId,Mail\nu1,a\nu1,b\n", "Mail\na\n", "UserId,UserId\na,b\n", "UserId,Mail\n\"u1,a\n", "UserId,Mail\nu1\n", "\xff\xfe", "UserId,Mail\n" + strings.Repeat("u", 3000) + ",a\n",
	"UserId;Mail\nu1;a\n", "UserId,Mail\n=1+1,a\n", "UserId,Mail\nu9,\x00\n",
}

func (k *known) upload(t *rapid.T, s *openapi3.Schema, w *wanted) {
	const boundary = "a-boundary"
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if !chance(t, 96, name+" there") {
			continue
		}
		if name == "file" {
			value := rapid.SampledFrom(lists).Draw(t, name)
			fmt.Fprintf(&b, "--%s\r\nContent-Disposition: form-data; name=\"file\"; filename=\"m.csv\"\r\nContent-Type: text/csv\r\n\r\n%s\r\n", boundary, value)
			continue
		}
		fmt.Fprintf(&b, "--%s\r\nContent-Disposition: form-data; name=%q\r\n\r\n%s\r\n", boundary, name, k.value(t, name, s.Properties[name].Value))
	}
	if chance(t, 3, "unknown part") {
		fmt.Fprintf(&b, "--%s\r\nContent-Disposition: form-data; name=\"other\"\r\n\r\n1\r\n", boundary)
	}
	b.WriteString("--" + boundary + "--\r\n")
	w.media, w.body = "multipart/form-data; boundary="+boundary, b.String()
}
