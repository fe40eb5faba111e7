package cosmos

import "math"

// Request charges follow the numbers that Microsoft publishes: a point read of 1 KB
// costs 1 RU and of 100 KB 10, a create about 5 and 50, and a replace twice a
// create. Sizes in between are on the line through both.
//
// What a write costs for the index is not documented as a rule. Microsoft's example of
// a document of a little less than 1 KB with 25 values, all of them indexed, cost about
// 15 RU to create: 10 for 25 values.

const (
	chargeFailed  = 1.0
	chargeQuery   = 2.3 // the least a query page costs
	chargeScanned = 0.02
	chargeIndexed = 0.4 // a value in the index, at each write
)

func perSize(atOneKB, atHundredKB float64, bytes int) float64 {
	kb := math.Max(1, float64(bytes)/1024)
	return math.Round(100*(atOneKB+(atHundredKB-atOneKB)*(kb-1)/99)) / 100
}

func chargeRead(bytes int) float64    { return perSize(1, 10, bytes) }
func chargeCreate(bytes int) float64  { return perSize(5, 50, bytes) }
func chargeReplace(bytes int) float64 { return 2 * chargeCreate(bytes) }

// chargeIndex returns the request units that a write of a document costs for the container's indexes.
func (c *container) chargeIndex(doc []byte) float64 {
	return chargeIndexed * float64(c.index.values(doc, 0))
}
