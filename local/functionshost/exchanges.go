package functionshost

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// ExchangesVariable is the environment variable that gives a local system Config.Exchanges.
const ExchangesVariable = "MATOOLKIT_LOCAL_EXCHANGES"

// Exchange is a request and the whole answer that the handler gave to it.
type Exchange struct {
	Method string      `json:"method"`
	URI    string      `json:"uri"` // the escaped path and the query, as the handler got them
	Status int         `json:"status"`
	Header http.Header `json:"header"`         // of the answer
	Body   []byte      `json:"body,omitempty"` // of an answer in JSON, as it was sent, compressed or not
	Cut    bool        `json:"cut,omitempty"`  // the body is larger than what is kept of it
}

// maxExchangeBody is how many bytes of a body an Exchange has.
const maxExchangeBody = 8 << 20

const exchangeSuffix = ".exchange.json"

// exchanges is a folder with a file for each Exchange.
type exchanges string

// record has an answer of the handler written to the folder once its body was read to its end. It does not hold the
// answer back, and leaves out one whose end does not come: the handler was killed, or the caller is gone.
func (e exchanges) record(answer *http.Response) error {
	answer.Body = &recordedBody{ReadCloser: answer.Body, kept: strings.Contains(answer.Header.Get("Content-Type"), "json"), to: e, exchange: Exchange{
		Method: answer.Request.Method, URI: answer.Request.URL.RequestURI(), Status: answer.StatusCode, Header: answer.Header.Clone(),
	}}
	return nil
}

// write renames a file when it is whole, so that a reader never finds a part of one.
func (e exchanges) write(x Exchange) error {
	data, err := json.Marshal(x)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(string(e), "*")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), file.Name()+exchangeSuffix)
}

// recordedBody is the body of an answer on its way to the caller.
type recordedBody struct {
	io.ReadCloser
	kept     bool // the exchange has the body
	body     bytes.Buffer
	to       exchanges
	exchange Exchange
	ended    bool
}

func (b *recordedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.kept {
		room := maxExchangeBody - b.body.Len()
		b.body.Write(p[:min(n, room)])
		b.exchange.Cut = b.exchange.Cut || n > room
	}
	if err == io.EOF && !b.ended {
		b.ended = true
		b.exchange.Body = b.body.Bytes()
		if failed := b.to.write(b.exchange); failed != nil {
			return n, fmt.Errorf("record an exchange: %w", failed)
		}
	}
	return n, err
}

// TakeExchanges reads and removes what hosts have recorded in a folder.
func TakeExchanges(folder string) ([]Exchange, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*"+exchangeSuffix))
	if err != nil {
		return nil, err
	}
	var all []Exchange
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var x Exchange
		if err := json.Unmarshal(data, &x); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if err := os.Remove(file); err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}
