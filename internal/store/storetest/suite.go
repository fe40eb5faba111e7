// Package storetest holds the conformance suite of the store: what every driver of package store
// has to do, table by table. The driver's own tests run it; it is the specification of the
// contract where the comments of package store leave questions.
package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/store"
)

// Driver is a store under test. It may hold documents of other tests.
type Driver struct {
	Store store.Store

	// These inject faults, for the operations until the function that they return is called.
	// They are nil if the driver cannot, as over a live account.
	Unavailable func(t *testing.T) (end func()) // no operation is carried out
	LoseAnswer  func(t *testing.T) (end func()) // writes are carried out and their answers lost
	Full        func(t *testing.T) (end func()) // no partition has room
}

// Run runs the suite. Open is called for each test; it may return the same store each time.
func Run(t *testing.T, open func(t *testing.T) Driver) {
	for name, test := range map[string]func(t *testing.T, d Driver){
		"documents":     testDocuments,
		"writes":        testWrites,
		"atomicity":     testAtomicity,
		"later version": testLaterVersion,
		"limits":        testLimits,
		"refusals":      testRefusals,
		"faults":        testFaults,
		"concurrency":   testConcurrency,
		"serial order":  testSerial,
		"together":      testTogether,
		"each":          testEach,
		"lost together": testFaultsTogether,
		"paging":        testPaging,
		"continuations": testContinuations,
		"batches":       testBatches,
		"cache":         testCache,
		"records":       testRecords,
		"members":       testMembers,
		"runs":          testRuns,
		"shards":        testShards,
		"change marks":  testChangeMarks,
		"runbooks":      testRunbooks,
		"workers":       testWorkers,
		"audit":         testAudit,
		"messages":      testMessages,
		"notifications": testNotifications,
		"counts":        testCounts,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// tag is a text that no other test has.
func tag() string { return strings.ToLower(rand.Text()[:10]) }

// batchNumber is a number that no batch of another test has. The nine numbers behind it are
// free as well.
func batchNumber() int {
	n, err := rand.Int(rand.Reader, big.NewInt(90_000_000))
	if err != nil {
		panic(err) // it never fails
	}
	return 10 * (int(n.Int64()) + 1)
}

// epoch is the time from which fixtures count.
var epoch = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return epoch.Add(time.Duration(minutes) * time.Minute) }

func when(minutes int) *time.Time {
	t := at(minutes)
	return &t
}

// must applies writes that have to succeed.
func must(t *testing.T, s store.Store, writes ...store.Write) store.Applied {
	t.Helper()
	applied, err := s.Apply(t.Context(), writes)
	if err != nil {
		t.Fatal(err)
	}
	return applied
}

// row is one line of a table of reads: what a read returns, in short, in its order.
type row struct {
	name string
	read func(ctx context.Context) (any, error)
	want string // values with spaces between them
	any  bool   // the read has no order
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		got, err := r.read(t.Context())
		if err != nil {
			t.Errorf("%s: %v", r.name, err)
			continue
		}
		words := strings.Fields(strings.Trim(fmt.Sprint(got), "[]"))
		if r.any {
			slices.Sort(words)
		}
		if text := strings.Join(words, " "); text != r.want {
			t.Errorf("%s: got %q, want %q", r.name, text, r.want)
		}
	}
}

// shorten makes a short value of each item.
func shorten[T, V any](items []store.Item[T], err error, short func(T) V) (any, error) {
	var all []V
	for _, i := range items {
		all = append(all, short(i.Doc))
	}
	return all, err
}

// pages goes through all pages of a list, of two items each, and makes a short value of each
// item. Pages must not be longer, and only the last one may be empty.
func pages[T, V any](list func(store.Paging) (store.Page[T], error), sort store.Sort, short func(T) V) (any, error) {
	var all []V
	for paging := (store.Paging{Limit: 2, Sort: sort}); ; {
		page, err := list(paging)
		if err != nil {
			return all, err
		}
		if len(page.Items) > 2 || len(page.Items) == 0 && page.Continuation != "" {
			return all, fmt.Errorf("a page of %d items, continued %t", len(page.Items), page.Continuation != "")
		}
		for _, i := range page.Items {
			all = append(all, short(i.Doc))
		}
		if paging.Continuation = page.Continuation; paging.Continuation == "" {
			return all, nil
		}
	}
}
