package main

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/matoolkit/matoolkit/console"
	"github.com/matoolkit/matoolkit/internal/invocation"
	"github.com/matoolkit/matoolkit/internal/logkey"
)

// route separates the requests from outside, which the host proxies under its prefix, from
// the host's own invocations; and of those from outside, the console's files from the admin API.
func route(triggers, api, pages http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path, ok := underPrefix(r.URL.Path); ok {
			r.URL.Path, r.URL.RawPath = path, ""
			if isPage(path) {
				pages.ServeHTTP(w, r)
				return
			}
			api.ServeHTTP(w, r)
			return
		}
		if r.URL.Path == "/"+httpFunction && r.Method == http.MethodPost && len(r.Header[invocation.HeaderProxiedID]) == 0 {
			refuseEnvelope(w, r, log)
			return
		}
		triggers.ServeHTTP(w, r)
	})
}

// prefix is that of the host's HTTP triggers. The host matches it in any case.
const prefix = "/api"

// isPage reports whether a path is one of the console's; its configuration is the admin API's.
func isPage(path string) bool {
	return path+"/" == console.Prefix || strings.HasPrefix(path, console.Prefix) && path != console.Prefix+"config.json"
}

// underPrefix returns a path with the prefix in lower case, and reports whether it has the prefix.
func underPrefix(path string) (string, bool) {
	if len(path) < len(prefix) || !strings.EqualFold(path[:len(prefix)], prefix) {
		return "", false
	}
	rest := path[len(prefix):]
	return prefix + rest, rest == "" || rest[0] == '/'
}

// The HTTP function, as its folder and its output binding are named.
const (
	httpFunction = "admin-http"
	httpOutput   = "response"
)

// notProxied is why the API does not work under a host that invokes the HTTP function.
const notProxied = "the Functions host does not support customHandler.enableProxyingHttpRequest: it sends HTTP requests as invocations. Use a newer version of the host (since April 2025)"

// refuseEnvelope answers an HTTP request that the host did not proxy. The invocation succeeds and
// its output is the answer to the caller, 500 with the reason: of an invocation that fails the
// host drops the reason.
func refuseEnvelope(w http.ResponseWriter, r *http.Request, log *slog.Logger) {
	log.ErrorContext(r.Context(), notProxied, logkey.Function, httpFunction)
	problem, err := json.Marshal(map[string]any{
		"type": "about:blank", "title": http.StatusText(http.StatusInternalServerError), "status": http.StatusInternalServerError,
		"error": "internal", "detail": notProxied,
	})
	if err != nil { // strings and numbers always marshal
		panic(err)
	}
	type object = map[string]any
	reply, err := json.Marshal(object{
		"Outputs": object{httpOutput: object{
			"statusCode": strconv.Itoa(http.StatusInternalServerError), "headers": object{"Content-Type": "application/problem+json"}, "body": string(problem),
		}},
		"Logs": []string{notProxied}, "ReturnValue": nil,
	})
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(reply) // the host is gone if this fails
}
