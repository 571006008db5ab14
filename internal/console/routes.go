package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/console/page"
	"github.com/loadline/loadline/internal/decisionlog"
)

// mostListed applications are in one answer.
const mostListed = 5000

// List is the applications that the user may read.
type List struct {
	Applications []Application `json:"applications"`
	Leader       bool          `json:"leader"` // the answer is of the process that decides
}

// Explanations are decisions in sentences.
type Explanations struct {
	Explanations []decisionlog.Explanation `json:"explanations"`
	From         *time.Time                `json:"from,omitempty"`
	To           *time.Time                `json:"to,omitempty"`
	Note         string                    `json:"note,omitempty"`
}

// Changes of an application, latest first.
type Changes struct {
	Changes []Change `json:"changes"`
}

// fault is an answer other than 200.
type fault struct {
	code int
	text string
}

func (f fault) Error() string { return f.text }

// errHidden: there is no such thing, or the user may not know of it. It is the same answer.
var errHidden = fault{http.StatusNotFound, "there is no such LoadLine, or you may not read it"}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	one := "GET /api/v1/applications/{namespace}/{name}"
	mux.Handle("GET /api/v1/applications", s.answer(s.list))
	mux.Handle(one, s.answer(s.ofOne(s.detail)))
	mux.Handle(one+"/series", s.answer(s.ofOne(s.series)))
	mux.Handle(one+"/changes", s.answer(s.ofOne(s.changes)))
	mux.Handle(one+"/explain", s.answer(s.ofOne(s.explain)))
	mux.Handle(one+"/decision", s.answer(s.ofOne(s.decision)))
	mux.Handle(one+"/models", s.answer(s.ofOne(s.models)))
	mux.Handle("GET /api/v1/events", s.forward(http.HandlerFunc(s.events)))
	mux.HandleFunc("GET /api/v1/leader", func(w http.ResponseWriter, r *http.Request) {
		if _, err := s.access.userOf(r.Context(), r); err != nil {
			s.refuse(w, r, err)
			return
		}
		write(w, map[string]bool{"leader": s.elected()})
	})
	shown := page.Handler(page.ByToken)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if page.Has(r.URL.Path) { // it says nothing of the cluster
			shown.ServeHTTP(w, r)
			return
		}
		fail(w, http.StatusNotFound, "the console has no such path: see docs/see.md#console")
	})
	return mux
}

// answer with what a function returns, for a user who is known.
func (s *Server) answer(f func(ctx context.Context, u user, r *http.Request) (any, error)) http.Handler {
	return s.forward(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), answerWithin)
		defer cancel()
		u, err := s.access.userOf(ctx, r)
		var result any
		if err == nil {
			result, err = f(ctx, u, r)
		}
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		write(w, result)
	}))
}

// refuse a request. What went wrong inside is logged, without anything of the request but its
// path.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var f fault
	switch {
	case errors.Is(err, errNoToken):
		w.Header().Set("WWW-Authenticate", `Bearer realm="loadline"`)
		fail(w, http.StatusUnauthorized, err.Error())
	case errors.As(err, &f):
		fail(w, f.code, f.text)
	case r.Context().Err() != nil:
		fail(w, http.StatusServiceUnavailable, "the request took too long")
	default:
		s.options.Log.Warn("request to the console failed", "path", r.URL.Path, "error", err)
		fail(w, http.StatusServiceUnavailable, "the answer is not known at present; the log of the controller says why")
	}
}

func fail(w http.ResponseWriter, code int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": text})
}

func write(w http.ResponseWriter, result any) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(result); err != nil {
		fail(w, http.StatusInternalServerError, "the answer cannot be written as JSON")
		return
	}
	if b.Len() > mostAnswer {
		fail(w, http.StatusInsufficientStorage, fmt.Sprintf("the answer has %d MB, more than %d MB: ask for a service, or for less time",
			b.Len()>>20, mostAnswer>>20))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b.Bytes())
}

// readable are the LoadLines that a user may list, of one namespace or of all, by namespace and
// name.
func (s *Server) readable(ctx context.Context, u user, namespace string) ([]v1alpha1.LoadLine, error) {
	if namespace != "" {
		if may, err := s.access.mayList(ctx, u, namespace); err != nil || !may {
			return nil, err
		}
	}
	var all v1alpha1.LoadLineList
	if err := s.options.Client.List(ctx, &all, client.InNamespace(namespace)); err != nil {
		return nil, err
	}
	var list []v1alpha1.LoadLine
	for i := range all.Items {
		l := &all.Items[i]
		if may, err := s.access.mayList(ctx, u, l.Namespace); err != nil {
			return nil, err
		} else if may && s.ours(l) {
			list = append(list, *l)
		}
	}
	slices.SortFunc(list, func(a, b v1alpha1.LoadLine) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return list[:min(len(list), mostListed)], nil
}

// ours reports whether this process, or its leader, decides for a LoadLine.
func (s *Server) ours(l *v1alpha1.LoadLine) bool {
	return l.Labels[v1alpha1.AgentLabel] == s.options.Agent
}

func (s *Server) list(ctx context.Context, u user, r *http.Request) (any, error) {
	readable, err := s.readable(ctx, u, r.URL.Query().Get("namespace"))
	if err != nil {
		return nil, err
	}
	answer := List{Applications: []Application{}, Leader: s.elected()}
	for i := range readable {
		answer.Applications = append(answer.Applications, summary(&readable[i], s.pastOf(&readable[i])))
	}
	return answer, nil
}

// pastOf a LoadLine; nil in a process that does not decide.
func (s *Server) pastOf(l *v1alpha1.LoadLine) *past {
	if !s.elected() {
		return nil
	}
	return s.history.of(keyOf(l))
}

// ofOne looks a LoadLine up, once it is clear that the user may read it.
func (s *Server) ofOne(f func(ctx context.Context, l *v1alpha1.LoadLine, r *http.Request) (any, error),
) func(context.Context, user, *http.Request) (any, error) {
	return func(ctx context.Context, u user, r *http.Request) (any, error) {
		namespace, name := r.PathValue("namespace"), r.PathValue("name")
		may, err := s.access.mayRead(ctx, u, namespace, name)
		if err != nil {
			return nil, err
		}
		if !may {
			return nil, errHidden
		}
		var l v1alpha1.LoadLine
		err = s.options.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &l)
		if apierrors.IsNotFound(err) || err == nil && !s.ours(&l) {
			return nil, errHidden
		}
		if err != nil {
			return nil, err
		}
		return f(ctx, &l, r)
	}
}

func (s *Server) detail(_ context.Context, l *v1alpha1.LoadLine, _ *http.Request) (any, error) {
	record := "of this process, and of the decision log"
	switch {
	case !s.elected():
		record = "not known: this process is on standby, and the one that decides does not answer"
	case s.options.Decisions == "":
		record = "none: the controller keeps no decision log (--decisions)"
	}
	return detail(l, s.pastOf(l), record), nil
}

// errNotHere: only the process that decides has the record.
var errNotHere = fault{http.StatusServiceUnavailable,
	"this process is on standby and has no record of decisions, and the one that decides does not answer: try again"}

func (s *Server) series(_ context.Context, l *v1alpha1.LoadLine, r *http.Request) (any, error) {
	since, err := s.since(r, Window)
	if err != nil {
		return nil, err
	}
	p := s.pastOf(l)
	if p == nil {
		return nil, errNotHere
	}
	return p.series(since, r.URL.Query().Get("service")), nil
}

func (s *Server) changes(_ context.Context, l *v1alpha1.LoadLine, r *http.Request) (any, error) {
	since, err := s.since(r, Window)
	if err != nil {
		return nil, err
	}
	most := mostChanges
	if text := r.URL.Query().Get("limit"); text != "" {
		if most, err = strconv.Atoi(text); err != nil || most < 1 || most > mostChanges {
			return nil, fault{http.StatusBadRequest, fmt.Sprintf("limit %q must be a number from 1 to %d", text, mostChanges)}
		}
	}
	p := s.pastOf(l)
	if p == nil {
		return nil, errNotHere
	}
	return Changes{p.changesOf(since, r.URL.Query().Get("service"), most)}, nil
}

// since is the beginning of the stretch that is asked for.
func (s *Server) since(r *http.Request, usual time.Duration) (time.Time, error) {
	span := usual
	if text := r.URL.Query().Get("since"); text != "" {
		var err error
		if span, err = time.ParseDuration(text); err != nil || span <= 0 || span > Window {
			return time.Time{}, fault{http.StatusBadRequest, fmt.Sprintf("since %q must be a duration up to %v, such as 1h", text, Window)}
		}
	}
	return s.options.Now().Add(-span), nil
}

// explain decisions from the log: with since every change of that time, else what is in force.
func (s *Server) explain(ctx context.Context, l *v1alpha1.LoadLine, r *http.Request) (any, error) {
	query := r.URL.Query()
	at, err := s.at(r)
	if err != nil {
		return nil, err
	}
	reader, done, err := s.open(ctx, l)
	if err == nil {
		defer done()
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, decisionlog.ErrEmpty) {
		return Explanations{Explanations: []decisionlog.Explanation{}, Note: "no decision has been recorded yet"}, nil
	}
	if err != nil {
		return nil, err
	}
	service := query.Get("service")
	if query.Get("since") == "" {
		list, err := reader.InForce(at, service)
		if err != nil {
			return nil, askedFor(err)
		}
		return Explanations{Explanations: list}, nil
	}
	since, err := s.since(r, Window)
	if err != nil {
		return nil, err
	}
	list, from, to, err := reader.ChangesSince(at, s.options.Now().Sub(since), service, mostChanges)
	if err != nil {
		return nil, askedFor(err)
	}
	return Explanations{Explanations: list, From: &from, To: &to}, nil
}

// at is the instant that is asked for; zero = none.
func (s *Server) at(r *http.Request) (at time.Time, err error) {
	if text := r.URL.Query().Get("at"); text != "" {
		if at, err = time.Parse(time.RFC3339, text); err != nil {
			return at, fault{http.StatusBadRequest, fmt.Sprintf("at %q must be a time such as 2026-03-01T12:04:15Z", text)}
		}
	}
	return at, nil
}

// open the decision log of a LoadLine, once it is its turn. Without an error, done ends the turn.
func (s *Server) open(ctx context.Context, l *v1alpha1.LoadLine) (reader *decisionlog.Reader, done func(), err error) {
	if !s.elected() {
		return nil, nil, errNotHere
	}
	if s.options.Decisions == "" {
		return nil, nil, fault{http.StatusNotFound, "the controller keeps no decision log: set --decisions"}
	}
	select {
	case s.reading <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	done = func() { <-s.reading }
	if reader, err = decisionlog.OpenReader(s.history.folder(keyOf(l))); err != nil {
		done()
	}
	return reader, done, err
}

// askedFor is an error about the question: an unknown service, or a time before the log. The
// folder's path is no business of the user's.
func askedFor(err error) error {
	text := err.Error()
	if strings.HasPrefix(text, "decision log ") {
		if _, rest, cut := strings.Cut(strings.TrimPrefix(text, "decision log "), " "); cut {
			text = "the decision log " + rest
		}
	}
	return fault{http.StatusNotFound, text}
}
