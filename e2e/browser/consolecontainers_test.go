//go:build browser

package browser

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus"
	"github.com/chromedp/chromedp"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/entra"
)

// newContainers is an installation with the container scaler and two containers at most, of which the one of the message
// "lost" fails before it receives, and the others run until the end.
func newContainers(t *testing.T) *installation {
	t.Helper()
	const image = "registry.example/validator:1"
	folder := t.TempDir()
	topology, container := filepath.Join(folder, "topology.json"), filepath.Join(folder, "container.sh")
	var subscriptions []string
	for _, area := range []string{"north", "south"} {
		subscriptions = append(subscriptions, fmt.Sprintf(`{"Name":%q,"Properties":{"LockDuration":"PT1M","MaxDeliveryCount":3},"Rules":[{"Name":"r","Properties":{"FilterType":"Sql","SqlFilter":{"SqlExpression":"area = '%s'"}}}]}`, area, area))
	}
	for file, text := range map[string]string{
		topology:  `{"UserConfig":{"Namespaces":[{"Name":"local","Topics":[{"Name":"validations","Subscriptions":[` + strings.Join(subscriptions, ",") + `]}]}]}}`,
		container: "#!/bin/sh\ntest \"$MESSAGE\" = lost && exit 3\nexec sleep 600\n",
	} {
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return newInstallation(t, "--topology", topology, "--container", image+"="+container, "--setting", "ACI_IMAGE="+image, "--setting", "ACI_MAX_INSTANCES=2",
		"--setting", "SB_TOPIC_NAME=validations", "--setting", "INSTANCE_MESSAGE_ENV_NAME=MESSAGE", "--setting", "ALARM_URL=http://127.0.0.1:9", "--setting", "ALARM_KEY=whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=")
}

// send sends a message to a subscription of the container scaler.
func (i *installation) send(area, id, body string) {
	i.t.Helper()
	client := testenv.Connected(azservicebus.NewClientFromConnectionString(i.at.Handler["SB_CONNECTION_STR"], nil))(i.t)
	sender := testenv.Connected(client.NewSender("validations", nil))(i.t)
	m := &azservicebus.Message{MessageID: &id, Body: []byte(body), ApplicationProperties: map[string]any{"area": area}}
	if err := sender.SendMessage(i.t.Context(), m, nil); err != nil {
		i.t.Fatal(err)
	}
}

// scale has the container scaler tick.
func (i *installation) scale() {
	i.t.Helper()
	response := testenv.Must(http.Post("http://"+i.at.Addresses.Host+"/_local/functions/containerscaler", "application/json", strings.NewReader("{}")))(i.t)
	if response.Body.Close(); response.StatusCode != http.StatusOK {
		i.t.Fatal(response.Status)
	}
}

// wantVerdicts waits for the rows of messages by verdict in a section, such as "2 Create", whose sum is the count of a heading.
func (b *browser) wantVerdicts(section, heading string, want ...string) {
	b.t.Helper()
	at := fmt.Sprintf(`document.querySelector(%s)?.closest("section")`, quoted(section))
	b.await(at + `.querySelectorAll("tbody tr:has([data-label=Messages])").values().map((r) => r.children[0].innerText + " " + r.children[1].innerText).toArray().join() === ` + quoted(strings.Join(want, ",")))
	b.await(fmt.Sprintf(`%s.querySelector(%s).innerText === %s`, at, quoted(heading+" .count"), quoted(fmt.Sprint(sum(b.t, want)))))
}

func sum(t *testing.T, rows []string) (total int) {
	t.Helper()
	for _, row := range rows {
		n := 0
		if _, err := fmt.Sscan(row, &n); err != nil {
			t.Fatal(err)
		}
		total += n
	}
	return total
}

// TestConsoleContainers: an administrator plans the next tick, which changes nothing, and sees the verdict on each message
// in the ticks, the containers, those that were lost, and the rule that tells of them.
func TestConsoleContainers(t *testing.T) {
	t.Parallel()
	i := newContainers(t)
	b := i.browser()
	b.signIn("containers", entra.DefaultAdminUPN)
	b.shows("One container of registry.example/validator:1 for each message of validations.")

	i.send("north", "n1", `{"file_size_mb":2560}`)
	i.send("north", "n2", `{"file_size_mb":1}`)
	i.send("north", "unreadable", "nonsense")
	i.send("south", "lost", `{"data":{"file_size_mb":1}}`)
	b.press("Plan the next tick")
	b.shows("a tick would create 2 container groups and delete 0; 0 of 2 are active. Nothing was changed.")
	b.wantVerdicts("#plan", "h3", "2 Create", "1 Waits for capacity", "1 Not JSON")
	b.shows("1 core, 2.5 GB")
	if out := i.run("scaler", "status"); strings.Contains(out, "n1") {
		t.Errorf("the plan was carried out: %s", out)
	}

	i.scale()
	b.shows("0 active and 2 created make 2 container groups. It deleted 0 that had ended.")
	b.wantVerdicts("#messages", "h2", "2 Create", "1 Waits for capacity", "1 Not JSON")
	b.shows("2 of 2 container groups are active.")
	b.await(`document.querySelector("#attention").closest("section").innerText.includes("Message unreadable")`)

	for range 3 { // the lock that the container may have held is over by the last
		i.run("local", "clock", "--advance", "2m")
		i.scale()
	}
	b.shows("1 container of message lost ended before it received it. Error.")
	b.await(`document.querySelector("nav a[href='/api/console/containers'] .count")?.innerText === "1"`)
	b.await(`document.querySelector("#containers").closest("section").innerText.includes("Running")`)
	axe := readAxe(t)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 390} {
			b.theme(theme)
			b.do(chromedp.EmulateViewport(width, 900))
			b.press("Plan again")
			b.wantAccessible(axe, fmt.Sprintf("containers in %s at %d px", theme, width))
			b.keep("containers", theme, width)
		}
	}
	b.theme("light")
	b.do(chromedp.EmulateViewport(1280, 900))
	b.open("now", "Now")
	b.shows("south: containers end before they receive their messages")
	b.press("Open containers")
	b.await(`location.pathname.endsWith("/containers")`)

	b.open("notifications", "Notifications")
	b.press("New rule…")
	b.fill("Name", "containers")
	b.fill("Setting of the handler with the URL", "ALARM_URL")
	b.fill("Setting of the handler with the key", "ALARM_KEY")
	b.do(chromedp.Evaluate[chromedp.Void](`void ` + find + `("label", "containers end before they receive").click()`))
	b.press("Add the rule")
	b.await(`location.pathname.endsWith("/notifications/containers")`)
	if out := i.run("notification", "get", "containers", "--output", "json"); !strings.Contains(out, "containers_lost") {
		t.Error(out)
	}
}

// TestConsoleContainersReader: a reader sees the ticks and no plan, which needs the role Admin.
func TestConsoleContainersReader(t *testing.T) {
	t.Parallel()
	i := newContainers(t)
	i.send("north", "n1", `{"file_size_mb":1}`)
	i.scale()
	b := i.browser()
	b.signIn("containers", entra.DefaultReaderUPN)
	b.shows("1 of 2 container groups are active.")
	b.wantVerdicts("#messages", "h2", "1 Create")
	b.refuses("Plan the next tick", "This needs the app role Admin; you have Reader.")
	b.do(chromedp.Evaluate[chromedp.Void](`void ` + find + `("button", "Plan the next tick").click()`))
	i.send("south", "s1", `{"file_size_mb":1}`)
	i.scale()
	b.shows("2 of 2 container groups are active.") // the page has asked since
	if n := eval[int](b, `performance.getEntriesByType("resource").filter((e) => e.name.endsWith("/scaler/plan")).length`); n != 0 {
		t.Errorf("the reader's page asked for %d plans", n)
	}
}
