package adminhttp

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"
	"gopkg.in/yaml.v3"

	"github.com/matoolkit/matoolkit/internal/buildinfo"
)

// source describes the API (OpenAPI 3.1). It is written as YAML, for people, and served
// as JSON, which every tool reads. Tests hold it to the routes, the views and the answers.
//
//go:embed openapi.yaml
var source []byte

// documentVersion is the field of the document's info that names the running version
// of the handler. Like the whole document, only authenticated callers can read it.
const documentVersion = "x-handler-version"

// document is source as JSON, with the handler's version.
var document = sync.OnceValue(func() []byte {
	var d map[string]any
	err := yaml.Unmarshal(source, &d)
	if err != nil {
		panic(fmt.Sprintf("openapi.yaml: %v", err))
	}
	d["info"].(map[string]any)[documentVersion] = buildinfo.Version
	data, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Sprintf("openapi.yaml: %v", err))
	}
	return data
})

func getDocument(c *gin.Context) {
	c.Data(http.StatusOK, "application/json", document())
}
