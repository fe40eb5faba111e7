package adminhttp

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/gin-gonic/gin"
	"gopkg.in/yaml.v3"
)

// source describes the API (OpenAPI 3.1). It is written as YAML, for people, and served
// as JSON, which every tool reads. Tests hold it to the routes, the views and the answers.
//
//go:embed openapi.yaml
var source []byte

// document is source as JSON.
var document = sync.OnceValue(func() []byte {
	var d any
	err := yaml.Unmarshal(source, &d)
	if err != nil {
		panic(fmt.Sprintf("openapi.yaml: %v", err))
	}
	data, err := json.Marshal(d)
	if err != nil {
		panic(fmt.Sprintf("openapi.yaml: %v", err))
	}
	return data
})

func getDocument(c *gin.Context) {
	c.Data(http.StatusOK, "application/json", document())
}
