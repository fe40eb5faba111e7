package main

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// TestHandlerEndsAfterItsHost kills a shell that started the handler, as a host is killed: with a
// call in flight and without one.
func TestHandlerEndsAfterItsHost(t *testing.T) {
	t.Parallel()
	for name, inFlight := range map[string]bool{"idle": false, "with a call in flight": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t)
			port := freePort(t)
			host := exec.Command("sh", "-c", `"$0" & echo $!; wait`, binary)
			host.Env = append(os.Environ(), "FUNCTIONS_CUSTOMHANDLER_PORT="+port)
			for key, value := range s.settings() {
				host.Env = append(host.Env, key+"="+value)
			}
			out, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			pid, _ := strconv.Atoi(strings.TrimSpace(line))
			if err != nil || pid <= 0 {
				t.Fatalf("%q, %v", line, err)
			}
			defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }() // it has ended
			url := "http://127.0.0.1:" + port
			testenv.Eventually(t, "an answer", func() bool {
				response, err := http.Get(url + "/")
				return err == nil && response.Body.Close() == nil
			})
			if inFlight {
				reached := make(chan struct{}, 100)
				remove := s.cosmos.Inject(cosmos.Fault{Latency: time.Minute, Match: func(cosmos.Request) bool { reached <- struct{}{}; return true }})
				defer remove()
				go func() {
					response, err := http.Post(url+"/"+eventFunction, "application/json", strings.NewReader(message(encoded(`{"BatchId":7,"StepExecutionId":1,"Count":1}`), meta)))
					if err == nil {
						_ = response.Body.Close()
					}
				}()
				<-reached
			}
			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = host.Wait() // it was killed
			testenv.Eventually(t, "the end of the handler", func() bool {
				stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
				return err != nil || strings.Contains(string(stat), ") Z ")
			})
		})
	}
}
