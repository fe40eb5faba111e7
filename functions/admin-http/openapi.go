package adminhttp

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/buildinfo"
)

// source describes the API (OpenAPI 3.1). It is written as YAML, for people, and served
// as JSON, which every tool reads. Tests hold it to the routes, the views and the answers.
//
//go:embed openapi.yaml
var source string

// documentVersion is the field of the document's info that names the running version
// of the handler. Like the whole document, only authenticated callers can read it.
const documentVersion = "x-handler-version"

// What source has for the authority and the scope, which differ with each deployment.
const (
	anyAuthority = "https://login.microsoftonline.com/organizations"
	anyScope     = "api://{client id of the API}/access_as_user"
)

// documentOf is source as JSON, with the handler's version, and with the authority and the scope of
// this deployment.
func documentOf(s SignIn) []byte {
	own := strings.NewReplacer(anyAuthority, cmp.Or(s.Authority, anyAuthority), anyScope, cmp.Or(s.Scope, anyScope)).Replace(source)
	var d map[string]any
	err := yaml.Unmarshal([]byte(own), &d)
	if err != nil {
		panic(fmt.Sprintf("openapi.yaml: %v", err))
	}
	d["info"].(map[string]any)[documentVersion] = buildinfo.Version
	data, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Sprintf("openapi.yaml: %v", err))
	}
	return data
}

func (a *server) getDocument(c *gin.Context) {
	c.Data(http.StatusOK, "application/json", a.document())
}
