package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/matoolkit/matoolkit/internal/membercsv"
	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

const (
	atOnce      = 8
	maxResident = 512 << 20 // of a handler that reads so many uploads at once
	uploadSize  = 40 << 20
)

// shape is a kind of member CSV. row writes row i of the file; keys begin with prefix.
type shape struct {
	name, runbook string
	columns, most int // how many columns, and how many rows at most
	row           func(w *bufio.Writer, prefix string, i int)
}

// shapes are files that need the most memory for one thing each.
func shapes() []shape {
	long := strings.Repeat("K", membercsv.MaxKey) // in capitals, which Read has to compare in lower case
	text, longer := strings.Repeat("v", 210), strings.Repeat("v", 520)
	cells, ones := strings.Repeat(","+strings.Repeat("c", 44), 899), strings.Repeat(",c", 899)
	quoted := `"` + strings.Repeat(`""`, 105) + "\n" + `"`
	return []shape{
		{"many rows of few columns", "few", 3, membercsv.MaxRows - 1, func(w *bufio.Writer, prefix string, i int) {
			fmt.Fprintf(w, "%s%05d@x,%s,%s\n", prefix, i, text, text)
		}},
		{"900 columns", "wide", 900, membercsv.MaxRows - 1, func(w *bufio.Writer, prefix string, i int) {
			fmt.Fprintf(w, "%s%d@x%s\n", prefix, i, cells)
		}},
		{"keys of 255 characters", "few", 3, membercsv.MaxKeys / membercsv.MaxKey, func(w *bufio.Writer, prefix string, i int) {
			key := fmt.Sprintf("%s%d", prefix, i)
			fmt.Fprintf(w, "%s%s,%s,%s\n", key, long[len(key):], longer, longer)
		}},
		{"many small cells", "wide", 900, membercsv.MaxRows - 1, func(w *bufio.Writer, prefix string, i int) {
			fmt.Fprintf(w, "%s%d@x%s\n", prefix, i, ones)
		}},
		{"quoted cells", "few", 3, membercsv.MaxRows - 1, func(w *bufio.Writer, prefix string, i int) {
			fmt.Fprintf(w, "%s%d@x,%s,%s\n", prefix, i, quoted, quoted)
		}},
	}
}

// columns names the columns of a file: the key first.
func columns(n int) []string {
	names := []string{"Upn"}
	for i := range n - 1 {
		names = append(names, "C"+strconv.Itoa(i))
	}
	return names
}

// usesColumns is a runbook that uses that many columns.
func usesColumns(name string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: %s\ndata_source: {type: csv, primary_key: Upn}\nphases:\n  - name: only\n    offset: T-0\n    steps:\n      - name: only\n        worker_id: worker-01\n        function: New\n        params:\n", name)
	for _, column := range columns(n) {
		fmt.Fprintf(&b, "          %s: '{{%s}}'\n", column, column)
	}
	return b.String()
}

// form writes an upload of about size bytes. It calls wait before the upload ends.
func (s shape) form(form *multipart.Writer, prefix string, size int, last string, wait func()) error {
	if err := form.WriteField("runbook", s.runbook); err != nil {
		return err
	}
	part, err := form.CreateFormFile("file", "people.csv")
	if err != nil {
		return err
	}
	written := &counted{Writer: part}
	w := bufio.NewWriter(written)
	fmt.Fprintln(w, strings.Join(columns(s.columns), ","))
	for i := 0; written.n < size && i < s.most; i++ {
		s.row(w, prefix, i)
	}
	fmt.Fprint(w, last)
	if err := w.Flush(); err != nil {
		return err
	}
	wait()
	return form.Close()
}

type counted struct {
	io.Writer
	n int
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += n
	return n, err
}

// uploadAtOnce sends uploads at once to a new handler and gives the answers and the
// greatest resident size of the handler. No upload ends before all have been sent.
func uploadAtOnce(t testing.TB, size int, last string, of func(i int) shape) (answers []string, resident int64) {
	t.Helper()
	s := newSystem(t)
	settings := s.settings()
	settings["TMPDIR"] = t.TempDir()
	p := start(t, settings)
	p.ready()
	token := testenv.Must(s.entra.IssueUserToken(entra.DefaultAdminUPN, entra.DefaultAdminAPIScope))(t)
	var answer any
	for name, n := range map[string]int{"few": 3, "wide": 900} {
		ask(t, http.MethodPost, p.url+"/api/runbooks", token, "application/yaml", usesColumns(name, n), &answer)
	}
	answers = make([]string, atOnce)
	var all, sent sync.WaitGroup
	sent.Add(atOnce)
	for i := range atOnce {
		body, w := io.Pipe()
		form := multipart.NewWriter(w)
		arrived := sync.OnceFunc(sent.Done)
		all.Go(func() {
			err := of(i).form(form, "u"+strconv.Itoa(i)+"-", size, last, func() { arrived(); sent.Wait() })
			arrived()
			_ = w.CloseWithError(err) // nil ends the body
		})
		all.Go(func() {
			answers[i] = upload(p.url+"/api/batches", token, form.FormDataContentType(), body)
			_ = body.Close() // it ends the writer where the answer came first
		})
	}
	all.Wait()
	if left, err := os.ReadDir(settings["TMPDIR"]); err != nil || len(left) > 0 {
		t.Errorf("the temporary folder has %d files: %v", len(left), err)
	}
	return answers, residentPeak(t, p.cmd.Process.Pid)
}

// upload sends a form and gives the status and the codes of the problems.
func upload(url, token, media string, body io.Reader) string {
	request, err := http.NewRequest(http.MethodPost, url, body)
	if err != nil {
		return err.Error()
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", media)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	var problem struct {
		Error    string
		Problems []struct{ Code string }
	}
	if err := json.NewDecoder(response.Body).Decode(&problem); err != nil {
		return err.Error()
	}
	text := strconv.Itoa(response.StatusCode)
	for _, p := range problem.Problems {
		text += " " + p.Code
	}
	return text
}

// residentPeak is the greatest resident size that a process has had, in bytes.
func residentPeak(t testing.TB, pid int) int64 {
	t.Helper()
	status := testenv.Must(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid)))(t)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kilobytes int64
	if _, err := fmt.Sscan(rest, &kilobytes); err != nil {
		t.Fatal(err)
	}
	return kilobytes << 10
}

// Eight uploads of 40 MB at once stay under 512 MB of the whole handler. Their last row
// is wrong: every row is checked, and nothing is written.
func TestMemoryOfUploadsAtOnce(t *testing.T) {
	t.Parallel()
	kinds := shapes()
	answers, resident := uploadAtOnce(t, uploadSize, "one field\n", func(i int) shape { return kinds[i%len(kinds)] })
	for i, answer := range answers {
		if answer != "422 field-count" {
			t.Errorf("%s: %s", kinds[i%len(kinds)].name, answer)
		}
	}
	t.Logf("%d MiB", resident>>20)
	if resident > maxResident {
		t.Errorf("the handler took %d MiB, at most %d are allowed", resident>>20, maxResident>>20)
	}
}

// The same of each shape alone, until the batches are created, with up to 800,000 members.
// All shapes together take some ten minutes: -timeout 0.
func BenchmarkMemoryOfUploadsAtOnce(b *testing.B) {
	for _, kind := range shapes() {
		b.Run(kind.name, func(b *testing.B) {
			for b.Loop() {
				answers, resident := uploadAtOnce(b, uploadSize, "", func(int) shape { return kind })
				b.ReportMetric(float64(resident>>20), "MiB")
				for _, answer := range answers {
					if answer != "201" {
						b.Error(answer)
					}
				}
				if resident > maxResident {
					b.Errorf("the handler took %d MiB, at most %d are allowed", resident>>20, maxResident>>20)
				}
			}
		})
	}
}
