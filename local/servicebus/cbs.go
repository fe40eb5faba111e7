package servicebus

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// cbsNode is the node that takes the tokens of a connection.
const cbsNode = "$cbs"

// claims are the entity paths that the connection's tokens are for, lower case,
// with the end of their validity. They belong to the reading goroutine.
type claims map[string]time.Time

// cover reports whether a valid token is for the entity or something above it.
func (c claims) cover(path string) bool {
	path = strings.ToLower(path)
	now := time.Now()
	for {
		if until, ok := c[path]; ok && now.Before(until) {
			return true
		}
		if path == "" {
			return false
		}
		path = path[:max(0, strings.LastIndexByte(path, '/'))]
	}
}

// putToken handles requests to $cbs.
func (c *conn) putToken(r request) (answer, error) {
	if r.operation != "put-token" {
		return answer{}, bad("operation %q is not supported by $cbs", r.operation)
	}
	kind, _ := r.properties["type"].(string)
	audience, _ := r.properties["name"].(string)
	token, ok := r.body.(string)
	if !ok || audience == "" {
		return answer{}, bad("put-token needs a name and a token as its body")
	}
	var until time.Time
	var err error
	// The token itself says what it is: Python calls a shared access signature "jwt".
	switch signed := strings.HasPrefix(token, sasPrefix); {
	case kind != "servicebus.windows.net:sastoken" && kind != "jwt":
		return answer{}, bad("token type %q is not supported", kind)
	case signed:
		until, err = verifySAS(token, audience, c.server.cfg.Key, time.Now())
	default:
		until, err = c.verifyJWT(token, audience, r.properties["expiration"])
	}
	if err != nil {
		// Not every client shows the reason.
		c.server.cfg.Logger.Warn("service bus: token refused", "audience", audience, "error", err)
		return answer{}, &requestError{401, "amqp:unauthorized-access", "Unauthorized: " + err.Error()}
	}
	c.claims[strings.ToLower(nodePath(audience))] = until
	return answer{code: 202, text: "Accepted"}, nil
}

func (c *conn) verifyJWT(token, audience string, expiration any) (time.Time, error) {
	if c.server.cfg.VerifyToken == nil {
		return time.Time{}, errors.New("this namespace accepts no tokens of Entra ID: start it together with the local Entra ID, or use the shared access key")
	}
	if err := c.server.cfg.VerifyToken(token, audience); err != nil {
		return time.Time{}, err
	}
	return tokenExpiry(token, expiration)
}

// tokenExpiry is when a JWT ends: as the request says, else as the token itself says.
func tokenExpiry(token string, expiration any) (time.Time, error) {
	switch at := expiration.(type) {
	case time.Time:
		return at, nil
	case int64:
		return time.Unix(at, 0), nil
	case int32:
		return time.Unix(int64(at), 0), nil
	case uint64:
		return time.Unix(int64(at), 0), nil
	case string:
		seconds, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("expiration %q is not a number of seconds", at)
		}
		return time.Unix(seconds, 0), nil
	}
	var claims jwt.RegisteredClaims
	if _, _, err := jwt.NewParser().ParseUnverified(token, &claims); err != nil || claims.ExpiresAt == nil {
		return time.Time{}, errors.New("neither the request nor the token has an expiration")
	}
	return claims.ExpiresAt.Time, nil
}

// sasPrefix begins every shared access signature.
const sasPrefix = "SharedAccessSignature "

// verifySAS checks a shared access signature: who signed it, that it is for the
// audience, and until when it is valid. Its clock is the clients', not Config.Now.
func verifySAS(token, audience, key string, now time.Time) (time.Time, error) {
	fields, ok := strings.CutPrefix(token, sasPrefix)
	if !ok {
		return time.Time{}, fmt.Errorf("the token is not a shared access signature")
	}
	var resource, signature, expiry, name string
	for _, field := range strings.Split(fields, "&") {
		k, v, _ := strings.Cut(field, "=")
		switch k {
		case "sr":
			resource = v
		case "sig":
			signature = v
		case "se":
			expiry = v
		case "skn":
			name = v
		default:
			return time.Time{}, fmt.Errorf("the token has an unknown field %q", k)
		}
	}
	if name != KeyName {
		return time.Time{}, fmt.Errorf("there is no key of the name %q", name)
	}
	mac := hmac.New(sha256.New, []byte(key))
	mac.Write([]byte(resource + "\n" + expiry)) // never fails
	given, err := url.QueryUnescape(signature)
	if err != nil || !hmac.Equal([]byte(given), []byte(base64.StdEncoding.EncodeToString(mac.Sum(nil)))) {
		return time.Time{}, fmt.Errorf("the token's signature is wrong")
	}
	seconds, err := strconv.ParseInt(expiry, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the token's expiry is not a number of seconds")
	}
	until := time.Unix(seconds, 0)
	if !until.After(now) {
		return time.Time{}, fmt.Errorf("the token expired at %s", until.UTC().Format(time.RFC3339))
	}
	scope, err := url.QueryUnescape(resource)
	if err != nil || !within(strings.ToLower(audience), strings.ToLower(scope)) {
		return time.Time{}, fmt.Errorf("the token is for another audience")
	}
	return until, nil
}

// within reports whether address is scope or below it; it ignores the schemes.
func within(address, scope string) bool {
	strip := func(s string) string {
		if _, rest, ok := strings.Cut(s, "://"); ok {
			s = rest
		}
		return strings.TrimSuffix(s, "/") + "/"
	}
	return strings.HasPrefix(strip(address), strip(scope))
}
