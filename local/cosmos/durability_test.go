package cosmos_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"

	"github.com/matoolkit/matoolkit/internal/testenv"
	"github.com/matoolkit/matoolkit/local/cosmos"
)

// crashDir makes the test binary a server on that directory, to be killed.
const crashDir = "COSMOS_TEST_CRASH_DIR"

func TestMain(m *testing.M) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	server, err := cosmos.Start(context.Background(), cosmos.Config{DataDir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(server.URL())
	select {}
}

func TestDataSurviveARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := testenv.Must(cosmos.Start(context.Background(), cosmos.Config{DataDir: dir}))(t)
	client := clientFor(t, first.URL(), first.Key())
	if _, err := client.CreateDatabase(context.Background(), azcosmos.DatabaseProperties{ID: "db"}, nil); err != nil {
		t.Fatal(err)
	}
	database, _ := client.NewDatabase("db")
	properties := azcosmos.ContainerProperties{ID: "things", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}}}
	if _, err := database.CreateContainer(context.Background(), properties, nil); err != nil {
		t.Fatal(err)
	}
	c, _ := database.NewContainer("things")
	written := mustCreate(t, c, "a", `"n":1`)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}

	second := start(t, cosmos.Config{DataDir: dir})
	c, _ = clientFor(t, second.URL(), second.Key()).NewContainer("db", "things")
	if read := wantItem(t, c, "a", `"n":1`); read.ETag != written.ETag {
		t.Errorf("the ETag was %s and is %s", written.ETag, read.ETag)
	}
	if created := mustCreate(t, c, "b", ""); created.ETag == written.ETag {
		t.Errorf("the ETag %s was given out twice", created.ETag)
	}
}

func TestAcknowledgedWritesSurviveKill(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	dir := t.TempDir()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), crashDir+"="+dir)
	command.Stderr = os.Stderr
	out := testenv.Must(command.StdoutPipe())(t)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	client := clientFor(t, strings.TrimSpace(url), cosmos.DefaultKey)
	if _, err := client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "db"}, nil); err != nil {
		t.Fatal(err)
	}
	database, _ := client.NewDatabase("db")
	properties := azcosmos.ContainerProperties{ID: "things", PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/pk"}}}
	if _, err := database.CreateContainer(ctx, properties, nil); err != nil {
		t.Fatal(err)
	}
	c, _ := database.NewContainer("things")

	// Writers create pairs in batches until the server is gone.
	var mu sync.Mutex
	var acknowledged []string
	enough := make(chan struct{})
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d", worker, i)
				batch := c.NewTransactionalBatch(p1)
				batch.CreateItem(doc(id, ""), nil)
				batch.CreateItem(doc(id+"-twin", ""), nil)
				if response, err := c.ExecuteTransactionalBatch(ctx, batch, nil); err != nil || !response.Success {
					return
				}
				mu.Lock()
				if acknowledged = append(acknowledged, id); len(acknowledged) == 400 {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	<-enough
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = command.Wait() // it was killed
	wg.Wait()

	server := start(t, cosmos.Config{DataDir: dir})
	c, _ = clientFor(t, server.URL(), server.Key()).NewContainer("db", "things")
	present := map[string]bool{}
	for _, row := range queryAll(t, c, p1, "SELECT VALUE c.id FROM c", &azcosmos.QueryOptions{PageSizeHint: -1}) {
		present[strings.Trim(row, `"`)] = true
	}
	for _, id := range acknowledged {
		if !present[id] || !present[id+"-twin"] {
			t.Errorf("%s was acknowledged and is lost", id)
		}
	}
	for id := range present {
		if twin := strings.TrimSuffix(id, "-twin"); !present[twin] || !present[twin+"-twin"] {
			t.Errorf("half of the batch %s is there", twin)
		}
	}
}
