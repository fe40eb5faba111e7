package applier

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/matoolkit/matoolkit/internal/artifact"
	"github.com/matoolkit/matoolkit/internal/model"
	"github.com/matoolkit/matoolkit/internal/store"
)

// memberOutputs is a line of the artifact with the outputs of a phase's members.
type memberOutputs struct {
	Key     string                     `json:"key"`
	Status  model.RunStatus            `json:"status"`  // of the member's run of the phase
	Outputs map[string]json.RawMessage `json:"outputs"` // also of earlier phases, without secret ones
}

// OutputsKey is the key of the artifact with the outputs of a phase execution; with phase 0, what the
// artifacts of all phases of the batch are below.
func OutputsKey(batch, phase int) artifact.Key {
	if phase == 0 {
		return artifact.NewKey("outputs", strconv.Itoa(batch))
	}
	return artifact.NewKey("outputs", strconv.Itoa(batch), strconv.Itoa(phase))
}

// LoadOutputs implements model.State. The artifact has a line of JSON for each member who took part in the phase,
// in the order of their ids. It is written again whenever a step that uses it is sent: members may have
// been retried since.
func (s *Snapshot) LoadOutputs(phase int) (string, error) {
	if s.applier.outputs == nil {
		return "", model.Refusef("the handler keeps no artifacts: set BLOB_ENDPOINT and BLOB_CONTAINER")
	}
	if s.from == memoryOnly {
		return "", errUnread
	}
	b, err := s.LoadBatch()
	if err != nil {
		return "", err
	}
	var content bytes.Buffer
	lines := json.NewEncoder(&content)
	for page := 1; page <= b.PageCount(); page++ {
		if err := s.writeOutputs(lines, phase, page); err != nil {
			return "", err
		}
		if content.Len() > artifact.MaxSize {
			return "", model.Refusef("they have more than %d MiB together: return references, such as keys of artifacts", artifact.MaxSize>>20)
		}
	}
	sum := sha256.Sum256(content.Bytes())
	key := OutputsKey(s.batch, phase)
	_, err = s.applier.outputs.Put(s.ctx, artifact.Artifact{
		Properties: artifact.Properties{Key: key, Fingerprint: hex.EncodeToString(sum[:]), Generation: s.Now.UnixMilli(), ContentType: "application/x-ndjson"},
		Content:    content.Bytes(),
	})
	var newer *artifact.ConflictError
	switch {
	case errors.As(err, &newer): // another delivery has read the members since
	case errors.Is(err, artifact.ErrRefused), errors.Is(err, artifact.ErrInvalid):
		return "", model.Refusef("%v", err)
	case err != nil:
		return "", fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return key.String(), nil
}

// writeOutputs writes the lines of a page. The members are not kept: a snapshot of all would be as large as
// the batch.
func (s *Snapshot) writeOutputs(lines *json.Encoder, phase, page int) error {
	runs, err := s.applier.store.RunsOfPage(s.ctx, s.batch, page, store.RunSelection{Phase: phase})
	if err != nil {
		return err
	}
	ended := map[int]model.RunStatus{}
	for _, run := range runs {
		ended[run.Doc.Member] = run.Doc.Status
	}
	members, err := s.applier.store.MembersOfPage(s.ctx, s.batch, page, "")
	if err != nil {
		return err
	}
	for _, m := range members {
		status, tookPart := ended[m.Doc.ID]
		if !tookPart {
			continue
		}
		line := memberOutputs{Key: m.Doc.Key, Status: status, Outputs: map[string]json.RawMessage{}}
		for name, value := range m.Doc.WorkerData {
			if _, secret := model.Sealed(value); !secret {
				line.Outputs[name] = value
			}
		}
		if err := lines.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// DeleteOutputs deletes the artifacts with outputs of a batch. It may be called again.
func (a *Applier) DeleteOutputs(ctx context.Context, batch int) error {
	if a.outputs == nil {
		return nil
	}
	for found, err := range a.outputs.List(ctx, OutputsKey(batch, 0)) {
		if err == nil {
			err = a.outputs.Delete(ctx, found.Key, math.MaxInt64)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
