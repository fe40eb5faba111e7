package rabbitmq

import "github.com/matoolkit/matoolkit/internal/env"

// Environment variables of all programs that use RabbitMQ.
const (
	envURL    = "RABBITMQ_URL"    // RabbitMQ instead of Service Bus, such as amqps://user:password@host/vhost with special characters percent-encoded; it is a secret
	envPrefix = "RABBITMQ_PREFIX" // beginning of the names of exchanges and queues, so that installations can share a virtual host: up to 20 letters, digits, `-` and `_`
)

// Variables are the settings of Settings.
var Variables = []string{envURL, envPrefix}

// EnvURL is the setting that chooses RabbitMQ.
const EnvURL = envURL

// Settings say where RabbitMQ is. The zero value is another broker.
type Settings struct{ URL, Prefix string }

// On reports whether RabbitMQ is the broker.
func (s Settings) On() bool { return s.URL != "" }

// ReadSettings reads the settings. An error does not repeat the URL.
func ReadSettings(r *env.Reader) Settings {
	s := Settings{URL: r.Text(envURL), Prefix: r.Text(envPrefix)}
	switch {
	case s.On():
		if _, err := Dial(Config{URL: s.URL}); err != nil {
			r.Wrong(envURL, "invalid URL: use amqps:// with credentials, a host and a virtual host, and percent-encode special characters")
		}
	case s.Prefix != "":
		r.Wrong(envPrefix, "set it with %s only", envURL)
	}
	if !prefixForm.MatchString(s.Prefix) {
		r.Wrong(envPrefix, "invalid prefix %q: use letters, digits, '-' and '_', at most 20", s.Prefix)
	}
	return s
}
