package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/loadline/loadline/api/v1alpha1"
	"github.com/loadline/loadline/internal/portfolio"
	"github.com/loadline/loadline/internal/registry"
	"github.com/loadline/loadline/internal/resource"
)

// mostFile is the size of a file of the registry that is read for an answer.
const mostFile = 2 << 20

// Models is what runs, what it was judged beside, and where it comes from.
type Models struct {
	Policy string `json:"policy,omitempty"` // in control, by the status
	Mode   string `json:"mode"`
	// Source says where the policy comes from, in words.
	Source string `json:"source"`
	// Previous is what a rollback returns to; absent: there was no promotion.
	Previous *Previous `json:"previous,omitempty"`
	// Estimate is what the twin makes of the deployments under the load of the last hours.
	Estimate *Estimate `json:"estimate,omitempty"`
	// Judged is the evaluation that the policy was promoted by.
	Judged *portfolio.Judged `json:"judged,omitempty"`
	// Versions of the registry, rising, and the one that is current. Pinned is the version that the
	// LoadLine names; 0 = it follows the current one.
	Versions []registry.Promotion `json:"versions,omitempty"`
	Current  int                  `json:"current,omitempty"`
	Pinned   int                  `json:"pinned,omitempty"`
	// Card of the version that was asked for, or runs, as Markdown.
	Card string `json:"card,omitempty"`
	// Notes say what is not known, and why.
	Notes []string `json:"notes,omitempty"`
}

// Previous policy and mode.
type Previous struct {
	Policy string `json:"policy"`
	Mode   string `json:"mode"`
}

// Estimate of the deployments that were judged, by the twin.
type Estimate struct {
	Basis    string               `json:"basis"`
	Currency string               `json:"currency,omitempty"`
	Current  DeploymentEstimate   `json:"current"`
	Others   []DeploymentEstimate `json:"others"`
	Ahead    string               `json:"ahead,omitempty"`
	InARow   int32                `json:"in_a_row,omitempty"`
}

// DeploymentEstimate is that of one. What is not known is left out.
type DeploymentEstimate struct {
	Name     string   `json:"name"`
	Policy   string   `json:"policy,omitempty"`
	PerMonth *float64 `json:"per_month,omitempty"`
	OverSLO  *float64 `json:"over_slo,omitempty"`
	Error    *float64 `json:"error,omitempty"` // of the cost, relative
}

// models of a LoadLine.
func (s *Server) models(ctx context.Context, l *v1alpha1.LoadLine, r *http.Request) (any, error) {
	asked := 0
	if text := r.URL.Query().Get("version"); text != "" {
		var err error
		if asked, err = strconv.Atoi(text); err != nil || asked < 1 {
			return nil, fault{http.StatusBadRequest, fmt.Sprintf("version %q must be a number from 1", text)}
		}
	}
	m := Models{Policy: l.Status.Policy, Mode: string(l.Status.Mode), Source: sourceOf(l), Previous: previousOf(l), Estimate: estimateOf(l)}
	if m.Mode == "" {
		m.Mode = string(l.Spec.Mode)
	}
	if err := s.versions(l, &m, asked); err != nil {
		return nil, err
	}
	if m.Judged == nil {
		if err := s.judgedWithTwin(ctx, l, &m); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// sourceOf a policy in words.
func sourceOf(l *v1alpha1.LoadLine) string {
	p := l.Spec.Policy
	switch {
	case p.Model == nil && p.Baseline != "":
		return "the policy " + string(p.Baseline) + ", which needs no model"
	case p.Model == nil:
		return "the default policy"
	case p.Model.ConfigMap != nil:
		return "a model in the ConfigMap " + p.Model.ConfigMap.Name
	case p.Model.Claim != nil:
		return "a registry on the volume " + p.Model.Claim.Name
	}
	if p.Model.Folder == "." {
		return "the registry of the controller"
	}
	return "the registry " + string(p.Model.Folder)
}

// previousOf reads the annotation that promotions write.
func previousOf(l *v1alpha1.LoadLine) *Previous {
	var was struct {
		Policy v1alpha1.Policy `json:"policy"`
		Mode   v1alpha1.Mode   `json:"mode"`
	}
	if json.Unmarshal([]byte(l.Annotations[v1alpha1.PreviousAnnotation]), &was) != nil {
		return nil
	}
	then := v1alpha1.LoadLine{Spec: v1alpha1.LoadLineSpec{Policy: was.Policy}}
	text := sourceOf(&then)
	if m := was.Policy.Model; m != nil && m.Version != nil {
		text += fmt.Sprintf(", version %d", *m.Version)
	}
	return &Previous{text, string(was.Mode)}
}

func estimateOf(l *v1alpha1.LoadLine) *Estimate {
	p := l.Status.Portfolio
	if p == nil {
		return nil
	}
	of := func(d *v1alpha1.DeploymentEstimate) DeploymentEstimate {
		return DeploymentEstimate{d.Name, d.Policy, number(d.PerMonth), number(d.OverSLO), number(d.Error)}
	}
	e := &Estimate{Basis: p.Basis, Currency: p.Currency, Current: of(&p.Current), Others: []DeploymentEstimate{},
		Ahead: p.Ahead, InARow: p.InARow}
	for i := range p.Others {
		e.Others = append(e.Others, of(&p.Others[i]))
	}
	return e
}

// versions of the registry that the LoadLine's model is in, with the card and the evaluation of the
// one that is asked for, or runs.
func (s *Server) versions(l *v1alpha1.LoadLine, m *Models, asked int) error {
	where, has, err := resource.RegistryOf(l, s.options.Models)
	if err != nil || !has || s.options.Models == "" {
		if err != nil {
			m.Notes = append(m.Notes, err.Error())
		}
		return nil
	}
	// The errors name paths of the controller, which are no business of the user's.
	unread := func(what string, err error) {
		s.options.Log.Debug("registry not read for the console", "loadline", l.Namespace+"/"+l.Name, "error", err)
		m.Notes = append(m.Notes, what+" cannot be read; the log of the controller says why")
	}
	versions := registry.Open(where.Dir)
	app, err := versions.App(where.Application)
	if err != nil {
		unread("the registry", err)
		return nil
	}
	m.Versions, m.Current, m.Pinned = app.Versions, app.Current, where.Version
	show := asked
	if show == 0 {
		show = where.Version
	}
	if show == 0 {
		show = app.Current
	}
	known := false
	for i := range app.Versions {
		known = known || app.Versions[i].Version == show
	}
	switch {
	case !known && asked != 0:
		return fault{http.StatusNotFound, fmt.Sprintf("the registry has no version %d of %s", asked, where.Application)}
	case !known:
		m.Notes = append(m.Notes, "nothing was promoted to the registry yet")
		return nil
	}
	folder := versions.Folder(where.Application, show)
	if card, err := readFile(filepath.Join(folder, registry.CardFile)); err != nil {
		unread(fmt.Sprintf("the card of version %d", show), err)
	} else {
		m.Card = string(card)
	}
	text, err := readFile(filepath.Join(folder, portfolio.JudgedFile))
	if err == nil {
		m.Judged, err = portfolio.Read(portfolio.JudgedFile, text)
	}
	if err != nil {
		unread(fmt.Sprintf("the evaluation of version %d", show), err)
	}
	return nil
}

// judgedWithTwin reads the evaluation beside the twin, in its ConfigMap.
func (s *Server) judgedWithTwin(ctx context.Context, l *v1alpha1.LoadLine, m *Models) error {
	if l.Spec.Twin == nil {
		m.Notes = append(m.Notes, "there is no evaluation: the LoadLine has no twin (spec.twin)")
		return nil
	}
	var c corev1.ConfigMap
	if err := s.options.Client.Get(ctx, client.ObjectKey{Namespace: l.Namespace, Name: l.Spec.Twin.Name}, &c); err != nil {
		switch {
		case apierrors.IsNotFound(err):
			m.Notes = append(m.Notes, fmt.Sprintf("the ConfigMap %s of the twin does not exist", l.Spec.Twin.Name))
		case apierrors.IsForbidden(err):
			m.Notes = append(m.Notes, fmt.Sprintf("the controller may not read the ConfigMap %s of the twin", l.Spec.Twin.Name))
		default:
			return err
		}
		return nil
	}
	text, has := c.Data[portfolio.JudgedFile]
	if !has {
		m.Notes = append(m.Notes, fmt.Sprintf("the ConfigMap %s has no evaluation: loadline promote prints the command that adds it", c.Name))
		return nil
	}
	var err error
	if m.Judged, err = portfolio.Read("ConfigMap "+c.Name+" key "+portfolio.JudgedFile, []byte(text)); err != nil {
		m.Notes = append(m.Notes, err.Error())
	}
	return nil
}

// readFile reads a regular file of a bounded size.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	if err == nil && len(text) > mostFile {
		err = errors.New("the file is too large")
	}
	return text, err
}
