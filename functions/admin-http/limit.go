package adminhttp

import (
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/matoolkit/matoolkit/internal/api"
)

// The limits of how much is asked at once. They are those of one process, of which there
// are several under load.
const (
	DefaultRate        = 50  // requests a second of one caller
	DefaultBurst       = 200 // requests of one caller at once, after a pause
	DefaultLong        = 8   // reports, and previews, that are being made at once
	DefaultSimulations = 2   // at once: each keeps a processor busy for as long as simulationTime

	maxCallers   = 10_000 // who are told apart; the one who was away longest begins anew
	waitForARoom = 2      // seconds that a caller is asked to wait where others are at it
)

// The memory that uploads take: of a CSV, whose text is in a file, for its keys, the places of its rows and the page that is
// written; of a request to a pipeline for each field of each item by itself, and sorted.
var (
	csvMemory   = memory{name: "uploads", share: 24, page: 1 << 20, most: 32 << 20, all: 8 * 32 << 20}
	itemsMemory = memory{name: "requests with many items", share: 32, page: 16 << 10, most: 32 * maxItemsBody, all: 2 * 32 * maxItemsBody}
)

// buckets hold how many requests each caller may still send.
type buckets struct {
	limit rate.Limit
	burst int
	by    *lru.Cache[string, *rate.Limiter]
}

func newBuckets(limit rate.Limit, burst int) *buckets {
	by, err := lru.New[string, *rate.Limiter](maxCallers)
	if err != nil { // only of a size below 1
		panic(err)
	}
	return &buckets{limit: limit, burst: burst, by: by}
}

// take takes a request out of a caller's bucket. Where that is empty, it tells how long
// the caller has to wait.
func (b *buckets) take(caller string, now time.Time) (time.Duration, bool) {
	fresh := rate.NewLimiter(b.limit, b.burst)
	bucket, there, _ := b.by.PeekOrAdd(caller, fresh)
	if there {
		b.by.Get(caller) // it was used
	} else {
		bucket = fresh
	}
	r := bucket.ReserveN(now, 1)
	wait := r.DelayFrom(now)
	if wait > 0 {
		r.CancelAt(now)
	}
	return wait, wait == 0
}

// throttle lets a request pass only if its caller has not sent too many.
func (a *server) throttle(c *gin.Context) {
	if wait, ok := a.buckets.take(callerOf(c).Identity(), a.Now()); !ok {
		tooMany(c, int(math.Ceil(wait.Seconds())), "%s sends too many requests; %g a second are allowed", callerOf(c).Name, float64(a.Rate))
	}
}

// atOnce makes what lets only so many requests that take long be carried out at once.
func atOnce(n int, what string) gin.HandlerFunc {
	rooms := semaphore.NewWeighted(int64(n))
	return func(c *gin.Context) {
		if !rooms.TryAcquire(1) {
			tooMany(c, waitForARoom, "%d %s are already running; try again when one has ended", n, what)
			return
		}
		defer rooms.Release(1)
		c.Next()
	}
}

// atOnceEach makes what lets each caller have only so many requests carried out at once of those that take
// long, so that one caller leaves room for others.
func atOnceEach(n int, what string) gin.HandlerFunc {
	var mu sync.Mutex
	running := map[string]int{}
	return func(c *gin.Context) {
		caller := callerOf(c).Identity()
		mu.Lock()
		full := running[caller] >= n
		if !full {
			running[caller]++
		}
		mu.Unlock()
		if full {
			tooMany(c, waitForARoom, "%d %s of %s are already running; try again when one has ended", n, what, callerOf(c).Name)
			return
		}
		defer func() {
			mu.Lock()
			defer mu.Unlock()
			if running[caller]--; running[caller] == 0 {
				delete(running, caller)
			}
		}()
		c.Next()
	}
}

// memory is how many bytes of memory uploads take.
type memory struct {
	name  string // what the caller is told that others are running
	share int64  // for each byte of an upload
	page  int64  // for any
	most  int64  // for one
	all   int64  // for those in hand
}

// rooms let uploads in only as long as they fit into memory together: few large ones, or many small ones.
type rooms struct {
	memory
	free *semaphore.Weighted
}

func newRooms(m memory) *rooms { return &rooms{m, semaphore.NewWeighted(m.all)} }

// enter lets an upload of so many bytes in until leave is called. It answers and returns false where there is no room.
func (r *rooms) enter(c *gin.Context, bytes int64) (leave func(), ok bool) {
	size := min(bytes*r.share+r.page, r.most)
	if !r.free.TryAcquire(size) {
		tooMany(c, waitForARoom, "other %s are running; try again when one has ended", r.name)
		return nil, false
	}
	return func() { r.free.Release(size) }, true
}

// uploads makes what lets the upload of a file in before it is read. One that does not say how large it is counts as the
// largest.
func (a *server) uploads() gin.HandlerFunc {
	rooms := newRooms(csvMemory)
	return func(c *gin.Context) {
		size := c.Request.ContentLength
		if size < 0 || size > a.MaxBody {
			size = a.MaxBody
		}
		if leave, ok := rooms.enter(c, size); ok {
			defer leave()
			c.Next()
		}
	}
}

func tooMany(c *gin.Context, seconds int, format string, args ...any) {
	c.Header("Retry-After", strconv.Itoa(max(seconds, 1)))
	refuse(c, http.StatusTooManyRequests, api.CodeTooManyRequests, format, args...)
}
