package adminhttp

import (
	"net/http"

	"github.com/klauspost/compress/gzhttp"
)

// minCompressed is the length of an answer from which compression saves more than it costs.
const minCompressed = 1024

// compress has the answers of h compressed with gzip for callers who accept it. zstd would need
// several megabytes for each concurrent answer.
func compress(h http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.CompressionLevel(1), gzhttp.EnableZstd(false))
	if err != nil { // the options contradict each other
		panic(err)
	}
	return wrap(h)
}
