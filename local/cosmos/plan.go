package cosmos

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/matoolkit/matoolkit/local/cosmos/query"
)

// planOf returns the plan of a query. A container has one partition key range, so a client
// that sends the query unchanged to that range gets the whole result and merges nothing.
func planOf(q *query.Query) string {
	return fmt.Sprintf(queryPlan, q.SelectsValue())
}

const queryPlan = `{"partitionedQueryExecutionInfoVersion":2,` +
	`"queryInfo":{"distinctType":"None","top":null,"offset":null,"limit":null,"orderBy":[],"orderByExpressions":[],` +
	`"groupByExpressions":[],"groupByAliases":[],"aggregates":[],"groupByAliasToAggregateType":{},` +
	`"rewrittenQuery":"","hasSelectValue":%t,"hasNonStreamingOrderBy":false},` +
	`"queryRanges":[{"min":"","max":"FF","isMinInclusive":true,"isMaxInclusive":false}]}`

// serveQueryPlan answers a request for the plan of a query. It refuses a query that
// serveQuery would refuse.
func (s *Server) serveQueryPlan(w http.ResponseWriter, c *container, body []byte) {
	q, err := parseQuery(body)
	if err == nil {
		err = c.sorts(q.Order())
	}
	if err != nil {
		respondFailure(w, failure(http.StatusBadRequest, err.Error()))
		return
	}
	respondJSON(w, http.StatusOK, "", []byte(planOf(q)))
}

// The sub-statuses by which clients tell failures with one status apart.
const (
	subKeyMismatch      = 1001 // 400: the partition key does not fit the document or the container
	subRangeGone        = 1002 // 410: the partition key range does not exist
	subNoOwner          = 1003 // 404: the parent of the resource does not exist
	subNotServable      = 1004 // 400: the query needs a plan
	subContainerChanged = 1024 // 400: the container was created again
)

func (o outcome) withSub(sub int) outcome {
	o.sub = sub
	return o
}

// inRange reports whether a request names the container's partition key range, as "0" or
// with the container's resource id in front. It refuses any other range.
func inRange(r *http.Request, c *container) (bool, outcome) {
	if rid := r.Header.Get("X-Ms-Cosmos-Intended-Collection-Rid"); rid != "" && rid != c.rid() {
		return false, failure(http.StatusBadRequest, fmt.Sprintf("the request is for the container with the resource id %s, which was deleted", rid)).withSub(subContainerChanged)
	}
	header := r.Header.Get("X-Ms-Documentdb-Partitionkeyrangeid")
	if header == "" {
		return false, outcome{status: http.StatusOK}
	}
	rid, id, qualified := strings.Cut(header, ",")
	switch {
	case !qualified:
		id = header
	case rid != c.rid():
		return false, failure(http.StatusBadRequest, fmt.Sprintf("the partition key range is of the container with the resource id %s, which was deleted", rid)).withSub(subContainerChanged)
	}
	if id != "0" {
		return false, failure(http.StatusGone, fmt.Sprintf("there is no partition key range %q: a container has one, 0", id)).withSub(subRangeGone)
	}
	return true, outcome{status: http.StatusOK}
}
