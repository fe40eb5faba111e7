// Package webhook posts JSON to addresses that settings of the program have, and signs it as the
// specification Standard Webhooks 1.0 says: HMAC-SHA256 over the id, the time and the body.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/matoolkit/matoolkit/internal/loopback"
)

// The headers of a post.
const (
	HeaderID        = "webhook-id"        // the same for each attempt
	HeaderTimestamp = "webhook-timestamp" // of the attempt, in seconds since 1970
	HeaderSignature = "webhook-signature" // v1, and the signature in base64
)

const (
	keyPrefix = "whsec_"
	minKey    = 24 // bytes
	maxKey    = 64
	// attemptTime bounds one post.
	attemptTime = 10 * time.Second
	// maxAnswer is how much of an answer is read. Its content is not used.
	maxAnswer = 64 << 10
	// unresolved begins a reference to Key Vault that Azure could not resolve.
	unresolved = "@Microsoft.KeyVault("
)

// Sender posts. It is safe for concurrent use.
type Sender struct {
	config Config
	client http.Client
}

// Config configures a Sender.
type Config struct {
	Program   string // whose settings these are, such as handler
	List      string // setting that lists the names of the settings that may be used
	Parameter string // of the deployment, which fills the list

	Settings []string            // the names of the settings that may be used
	Getenv   func(string) string // os.Getenv when nil
	HTTP     *http.Client        // http.DefaultClient when nil
	Local    bool                // addresses of this machine may be http
}

// New returns a Sender. It follows no redirect: the receiver is the one that the setting names.
func New(c Config) *Sender {
	if c.Getenv == nil {
		c.Getenv = os.Getenv
	}
	if c.HTTP == nil {
		c.HTTP = http.DefaultClient
	}
	s := &Sender{config: c, client: *c.HTTP}
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s
}

// CheckTarget returns an error if a setting may not be used or has no usable value. Errors do not
// contain the values.
func (s *Sender) CheckTarget(urlSetting, keySetting string) error {
	if _, err := s.address(urlSetting); err != nil {
		return err
	}
	if keySetting == "" {
		return nil
	}
	_, err := s.key(keySetting)
	return err
}

// Post posts a JSON body once, signed if keySetting is not empty. It fails unless the status of the
// answer is from 200 to 299.
func (s *Sender) Post(ctx context.Context, urlSetting, keySetting, id string, body []byte) error {
	address, err := s.address(urlSetting)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the setting %s does not contain a URL", urlSetting)
	}
	at := time.Now()
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "matoolkit")
	request.Header.Set(HeaderID, id)
	request.Header.Set(HeaderTimestamp, strconv.FormatInt(at.Unix(), 10))
	if keySetting != "" {
		key, err := s.key(keySetting)
		if err != nil {
			return err
		}
		request.Header.Set(HeaderSignature, Sign(key, id, at, body))
	}
	answer, err := s.client.Do(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) { // without the address, which can be a secret
			err = wrapped.Err
		}
		return fmt.Errorf("no answer from the address in %s: %w", urlSetting, err)
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)) // the connection can be used again
	if answer.StatusCode < 200 || answer.StatusCode > 299 {
		return &StatusError{Setting: urlSetting, Status: answer.StatusCode, RetryAfter: answer.Header.Get("Retry-After")}
	}
	return nil
}

// StatusError reports an answer with a status of an error.
type StatusError struct {
	Setting    string // with the address
	Status     int
	RetryAfter string // the header
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the address in %s answered with the status %d", e.Setting, e.Status)
}

// value returns the value of a setting that may be used.
func (s *Sender) value(name string) (string, error) {
	c := s.config
	if !slices.Contains(c.Settings, name) {
		return "", fmt.Errorf("the setting %q is not listed in %s of the %s; give it in %s of the deployment (on this machine: matoolkit local up --setting NAME=VALUE for the handler, an environment variable for a worker), or name a setting that is listed", name, c.List, c.Program, c.Parameter)
	}
	value := strings.TrimSpace(c.Getenv(name))
	switch {
	case value == "":
		return "", fmt.Errorf("the setting %s of the %s is not set or empty", name, c.Program)
	case strings.HasPrefix(value, unresolved):
		return "", fmt.Errorf("the setting %s is a Key Vault reference that Azure could not resolve; check that the secret exists and that the identity of the %s may read it", name, c.Program)
	}
	return value, nil
}

func (s *Sender) address(name string) (string, error) {
	value, err := s.value(name)
	if err != nil {
		return "", err
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" || u.Scheme != "https" && !(s.config.Local && u.Scheme == "http" && loopback.Is(u.Hostname())) {
		return "", fmt.Errorf("the setting %s does not contain an https URL", name)
	}
	return value, nil
}

func (s *Sender) key(name string) ([]byte, error) {
	value, err := s.value(name)
	if err != nil {
		return nil, err
	}
	key, err := ParseKey(value)
	if err != nil {
		return nil, fmt.Errorf("the setting %s: %w", name, err)
	}
	return key, nil
}

// ParseKey reads a key: 24 to 64 bytes in base64, with or without whsec_ before them.
func ParseKey(text string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, keyPrefix))
	if err != nil || len(key) < minKey || len(key) > maxKey {
		return nil, fmt.Errorf("the key is not %d to %d bytes in base64", minKey, maxKey)
	}
	return key, nil
}

// Sign returns the signature of a post.
func Sign(key []byte, id string, at time.Time, body []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%d.", id, at.Unix()) // a hash takes everything
	_, _ = mac.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
