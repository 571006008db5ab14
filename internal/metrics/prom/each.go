package prom

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
)

// maxFault is how much of an answer that is no success is read.
const maxFault = 64 << 10

// Each asks for one instant and hands over series by series as they arrive, so that an answer of any
// size takes the memory of one series. Begin is called before the first, and again when an attempt
// failed half-way and all series come anew.
func (c *Client) Each(ctx context.Context, query string, at time.Time, begin func(), each func(*Series)) error {
	err := c.ask(streamed(ctx), func(ctx context.Context) error {
		form := url.Values{"query": {query}, "time": {strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', -1, 64)}}.Encode()
		address := c.retry.URL("/api/v1/query", nil)
		resp, body, err := c.send(ctx, http.MethodPost, address.String(), form, begin, each)
		if err == nil && (resp.StatusCode == http.StatusMethodNotAllowed || resp.StatusCode == http.StatusNotImplemented) {
			// Some proxies let only GET through.
			address.RawQuery = form
			resp, body, err = c.send(ctx, http.MethodGet, address.String(), "", begin, each)
		}
		if err == nil && resp.StatusCode/100 != 2 {
			err = fault(resp.StatusCode, body)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("query %s: %w", short(query), err)
	}
	return nil
}

// send a request until it is answered for good. The body is that of an answer that is no success.
func (c *Client) send(ctx context.Context, method, address, form string, begin func(), each func(*Series)) (*http.Response, []byte,
	error) {
	req, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form))
	if err != nil {
		return nil, nil, err
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	return c.retry.until(ctx, req, func(ctx context.Context, req *http.Request) (*http.Response, []byte, error) {
		begin()
		resp, err := c.direct.Do(req.WithContext(ctx))
		if err != nil {
			return nil, nil, err
		}
		defer resp.Body.Close()
		if resp.StatusCode/100 != 2 {
			body, err := io.ReadAll(io.LimitReader(resp.Body, maxFault))
			return resp, body, err
		}
		if err := readVector(resp.Body, each); err != nil {
			return resp, nil, err
		}
		// The connection is used again only if all was read.
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, maxFault))
		return resp, nil, err
	})
}

// fault is what an answer says that is no success.
func fault(code int, body []byte) error {
	var said struct {
		Type  v1.ErrorType `json:"errorType"`
		Error string       `json:"error"`
	}
	if err := json.Unmarshal(body, &said); err == nil && said.Error != "" {
		return &v1.Error{Type: said.Type, Msg: said.Error}
	}
	return &v1.Error{Type: v1.ErrServer, Msg: fmt.Sprintf("%d %s", code, http.StatusText(code)), Detail: string(body)}
}
