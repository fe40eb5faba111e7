package adminhttp

import (
	_ "embed"
	"net/http"

	"github.com/gin-gonic/gin"
)

// document describes the API (OpenAPI 3.1). A test holds it to the routes and the
// views.
//
//go:embed openapi.yaml
var document []byte

func getDocument(c *gin.Context) {
	c.Data(http.StatusOK, "application/yaml", document)
}
