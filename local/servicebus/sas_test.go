package servicebus_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/Azure/go-amqp"

	"github.com/matoolkit/matoolkit/local/servicebus"
)

func typeName(v any) string { return fmt.Sprint(reflect.TypeOf(v)) }

// sign makes a shared access signature as clients do.
func sign(audience, key string, until time.Time) string {
	resource := strings.ToLower(url.QueryEscape(audience))
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "%s\n%d", resource, until.Unix())
	return fmt.Sprintf("SharedAccessSignature sr=%s&sig=%s&se=%d&skn=%s", resource,
		url.QueryEscape(base64.StdEncoding.EncodeToString(mac.Sum(nil))), until.Unix(), servicebus.KeyName)
}

func TestSharedAccessSignatures(t *testing.T) {
	t.Parallel()
	e := newLocal(t, "")
	session, err := raw(e, &amqp.ConnOptions{SASLType: amqp.SASLTypeAnonymous()}).NewSession(e.ctx, nil)
	e.must(err)
	const audience, other = "amqp://localhost/plain", "amqp://localhost/pla"
	soon := time.Now().Add(time.Hour)
	good := sign(audience, testKey, soon)
	for name, c := range map[string]struct {
		token any
		kind  string
		want  int32
	}{
		"valid":              {good, "servicebus.windows.net:sastoken", 202},
		"of the namespace":   {sign("amqp://localhost/", testKey, soon), "servicebus.windows.net:sastoken", 202},
		"of another entity":  {sign(other, testKey, soon), "servicebus.windows.net:sastoken", 401},
		"of another key":     {sign(audience, "x", soon), "servicebus.windows.net:sastoken", 401},
		"expired":            {sign(audience, testKey, time.Now().Add(-time.Minute)), "servicebus.windows.net:sastoken", 401},
		"prolonged":          {strings.Replace(good, "&se=", "&se=1", 1), "servicebus.windows.net:sastoken", 401},
		"of another name":    {strings.Replace(good, servicebus.KeyName, "Other", 1), "servicebus.windows.net:sastoken", 401},
		"with unknown field": {good + "&x=1", "servicebus.windows.net:sastoken", 401},
		"not a signature":    {"text", "servicebus.windows.net:sastoken", 401},
		"of unknown type":    {good, "magic", 400},
		"JWT, none expected": {"a.b.c", "jwt", 401},
		"not a text":         {int64(1), "jwt", 400},
	} {
		reply := call(e, session, "$cbs", &amqp.Message{
			Value:                 c.token,
			ApplicationProperties: map[string]any{"operation": "put-token", "type": c.kind, "name": audience},
		})
		if got := reply.ApplicationProperties["status-code"]; got != c.want {
			t.Errorf("%s: %v, want %d", name, reply.ApplicationProperties, c.want)
		}
	}
}
