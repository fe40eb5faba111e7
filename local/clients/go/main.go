// Package main runs the cases of local/clients with the packages for Go.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"
)

const client = "go"

// limit is the time that a case may take.
const limit = 60 * time.Second

// testCase is an entry of cases.json.
type testCase struct {
	Service, Name, Refused string
	Without                map[string]string
}

// run is one run of a case. A case fails by a panic.
type run struct{ context.Context }

func (run) must(err error) {
	if err != nil {
		panic(err)
	}
}

func (run) equal(got, want any) {
	if !reflect.DeepEqual(got, want) {
		panic(fmt.Errorf("got %v, want %v", got, want))
	}
}

var programs = map[string]map[string]func(run){"servicebus": servicebus, "cosmos": cosmos, "blob": blobs}

func main() {
	text, err := os.ReadFile(os.Args[1])
	var cases []testCase
	if err == nil {
		err = json.Unmarshal(text, &cases)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	count := map[string]int{}
	for _, c := range cases {
		name := c.Service + "/" + c.Name
		if !selected(name) || c.Without[client] != "" {
			continue
		}
		outcome, note := judge(execute(programs[c.Service][c.Name]), c.Refused)
		count[outcome]++
		fmt.Println(strings.TrimSuffix(outcome+" "+name+": "+note, ": "))
	}
	fmt.Printf("%d passed, %d failed, %d refused\n", count["PASS"], count["FAIL"], count["REFUSED"])
	if count["FAIL"] > 0 {
		os.Exit(1)
	}
}

// selected reports whether a case begins with one of the arguments.
func selected(name string) bool {
	prefixes := os.Args[2:]
	return len(prefixes) == 0 || slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}

// execute returns the error of a case.
func execute(f func(run)) error {
	if f == nil {
		return fmt.Errorf("the %s client does not implement the case", client)
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	end := make(chan error, 1)
	go func() {
		defer func() {
			switch e := recover().(type) {
			case nil:
				end <- nil
			case error:
				end <- e
			default:
				end <- fmt.Errorf("panic: %v", e)
			}
		}()
		f(run{ctx})
	}()
	select {
	case err := <-end:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no end within %s", limit)
	}
}

// judge compares the error of a case with the refusal that cases.json expects.
func judge(err error, refused string) (outcome, note string) {
	switch {
	case err == nil && refused == "":
		return "PASS", ""
	case err == nil:
		return "FAIL", "the server does not refuse " + refused
	}
	note = strings.Join(strings.Fields(err.Error()), " ")
	if refused != "" && strings.Contains(strings.ToLower(note), strings.ToLower(refused)) {
		return "REFUSED", note
	}
	return "FAIL", note
}
