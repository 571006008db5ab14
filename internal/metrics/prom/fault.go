package prom

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
)

// ErrRefused is an answer that no waiting will change: who asks is not let in.
var ErrRefused = errors.New("the server does not let us in")

// ErrUnreachable is no answer at all.
var ErrUnreachable = errors.New("cannot be reached")

// errTooMuch says that a query asks for more than the server gives at once. The
// same query over a shorter range may pass.
type errTooMuch struct {
	err  error
	slow bool // there was no answer in time
}

func (e errTooMuch) Error() string { return e.err.Error() }
func (e errTooMuch) Unwrap() error { return e.err }

// tooMuch recognises by its words a refusal of a query for its size: those of
// Prometheus, Thanos, Mimir and VictoriaMetrics.
func tooMuch(message string) bool {
	message = strings.ToLower(message)
	for _, words := range []string{
		"exceeded maximum resolution", "too many samples", "too many points", "too many series", "too many chunks",
		"too large", "exceeds the limit", "exceeded the limit", "exceeds limit", "limit exceeded", "exceeded maximum",
		"maxsamplesperquery", "maxpointspertimeseries",
		"max-query-length", "max_query_length", "err-mimir-max", "query timed out", "search.max", "maximum number of",
	} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

func isTLS(err error) bool {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	return errors.As(err, &unknown) || errors.As(err, &invalid) || errors.As(err, &host) || errors.As(err, &verify) || errors.As(err,
		&record)
}

// notShown stands for what a server says (Server.Unquoted).
const notShown = "what it says is not shown here; loadline doctor shows it"

// ours reports whether an error without an answer has no words of the server: those of the network and
// the time have none, while one about a malformed answer or a certificate quotes it.
func ours(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// explain turns a failure into what it means and what to do.
func (c *Client) explain(ctx context.Context, err error, seen *outcome) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	said := c.hide(firstLine(message(err, seen)))
	if c.server.Unquoted && (seen.code != 0 || !ours(err)) {
		said = notShown
	}
	switch {
	case errors.Is(err, errTooLarge):
		return errTooMuch{err: err}
	case errors.Is(err, context.DeadlineExceeded):
		slow := fmt.Errorf("%s does not answer within %v; give it longer with --timeout, or ask for less at once with --concurrency 1",
			c.URL(), c.server.Timeout)
		if !c.retry.reached.Load() {
			return slow // nobody may be there at all
		}
		return errTooMuch{err: slow, slow: true}
	case isTLS(err):
		return fmt.Errorf("%s: %s; give the certificate authority with --ca-file, or the name in the certificate with --server-name",
			c.URL(), said)
	case seen.code == http.StatusUnauthorized:
		return fmt.Errorf("%w: %s answers 401 (%s); check the token, or the user and the password", ErrRefused, c.URL(), said)
	case seen.code == http.StatusForbidden:
		return fmt.Errorf("%w: %s answers 403 (%s); the token or user needs the right to query (on OpenShift: "+
			"cluster-monitoring-view; on Mimir: the tenant in --header X-Scope-OrgID=...)", ErrRefused, c.URL(), said)
	case seen.code/100 == 3 && seen.location != nil:
		return c.redirected(seen)
	case seen.code == http.StatusNotFound:
		return fmt.Errorf("%s has no /api/v1 (404); must be the base URL of Prometheus (Mimir: .../prometheus; VictoriaMetrics "+
			"cluster: .../select/0/prometheus)", c.URL())
	case seen.code == http.StatusRequestEntityTooLarge,
		seen.code/100 >= 4 && tooMuch(message(err, seen)+" "+seen.body):
		return errTooMuch{err: fmt.Errorf("%s answers %d: %s", c.URL(), seen.code, said)}
	case seen.asked > mostAsked:
		return fmt.Errorf("%s answers %d and asks to wait %v; try again then, what has been pulled is kept", c.URL(), seen.code,
			seen.asked.Round(time.Second))
	case seen.code == http.StatusTooManyRequests:
		return fmt.Errorf("%s answers 429 (%s) after %s; ask for less at once with --concurrency 1", c.URL(), said, attempts(seen))
	case seen.code >= 500:
		return fmt.Errorf("%s answers %d (%s) after %s; what has been pulled is kept, run the same command again", c.URL(),
			seen.code, said, attempts(seen))
	case seen.code/100 == 2:
		return fmt.Errorf("%s does not answer as Prometheus does: %s; is it a login page, or another service's address?", c.URL(),
			said)
	case seen.code == 0:
		return fmt.Errorf("%s %w: %s, after %s; check the address, or forward the port first (kubectl port-forward)", c.URL(),
			ErrUnreachable, said, attempts(seen))
	}
	return fmt.Errorf("%s answers %d: %s", c.URL(), seen.code, said)
}

// redirected says where an answer leads that was not followed: to the API elsewhere, or to a
// login page. The query of the location is left out: it may hold secrets.
func (c *Client) redirected(seen *outcome) error {
	if c.server.Unquoted {
		return fmt.Errorf("%s answers %d and redirects: where to is not shown here; loadline doctor shows it. Redirects to other "+
			"servers are not followed, since they would get the credentials", c.URL(), seen.code)
	}
	to := url.URL{Scheme: seen.location.Scheme, Host: seen.location.Host, Path: seen.location.Path}
	if base, _, api := strings.Cut(to.Path, "/api/v1/"); api {
		to.Path = base
		return fmt.Errorf("%s answers %d and redirects to %s: give that address instead", c.URL(), seen.code, to.String())
	}
	return fmt.Errorf("%w: %s answers %d and redirects to %s, a login page; queries need an address without an interactive login: "+
		"give a token (--token-file) or a user (--user, --password-file) that its proxy accepts, or the address of Prometheus behind "+
		"the proxy (kubectl port-forward)", ErrRefused, c.URL(), seen.code, c.hide(to.String()))
}

// message is what the server said, or what went wrong before it could.
func message(err error, seen *outcome) string {
	var e *v1.Error
	if errors.As(err, &e) {
		if text := strings.TrimSpace(e.Detail); text != "" && !strings.HasPrefix(text, "<") && !strings.HasPrefix(text, "{") {
			return e.Msg + ": " + text
		}
		return e.Msg
	}
	if err == nil {
		return seen.body
	}
	return err.Error()
}

// hide keeps secrets, and the address of a proxy, out of messages even if a server
// sends them back.
func (c *Client) hide(text string) string {
	text = strings.ReplaceAll(text, c.server.URL, c.URL())
	secrets := []string{c.server.Token, c.server.Password}
	for _, file := range []string{c.server.TokenFile, c.server.PasswordFile} {
		if content, err := os.ReadFile(file); file != "" && err == nil {
			secrets = append(secrets, strings.TrimSpace(string(content)))
		}
	}
	for _, secret := range secrets {
		if len(secret) > 3 {
			text = strings.ReplaceAll(text, secret, "<hidden>")
		}
	}
	return text
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return short(s)
}

func attempts(seen *outcome) string {
	if seen.attempts == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", seen.attempts)
}
