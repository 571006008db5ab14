package prom

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/loadline/loadline/internal/atomicfile"
	"github.com/loadline/loadline/internal/history"
)

// Pull is a stretch of the past that goes into a folder.
type Pull struct {
	Client    *Client
	Dir       string
	Namespace string
	Preset    *Preset // nil = find the one that fits
	Variables map[string]string
	Queues    []Queue // of services that take their work from one
	Since     time.Duration
	Until     time.Time // zero = Now
	Now       time.Time
	Step      time.Duration
	Scrape    time.Duration // 0 = find it
	PartSteps int           // in one part; 0 = a day of them
	By        string        // who wrote the history

	Progress func(share float64) // may be nil
	Say      func(text string)   // may be nil: what was found out, for people
}

// Report is what came of a pull.
type Report struct {
	Manifest history.Manifest `json:"manifest"`
	Services []string         `json:"services"`
	Calls    int              `json:"calls"`
	Parts    int              `json:"parts"`
	Kept     int              `json:"kept"` // parts that were there already
}

// behind is how far a pull stays behind the present, so that the last scrapes
// are in.
const behind = time.Minute

// stateFile is what a pull keeps in the folder until it is over.
const stateFile = "pull.json"

var namespaceName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// CheckNamespace refuses what is not the name of a namespace, before it becomes
// part of a query.
func CheckNamespace(name string) error {
	if !namespaceName.MatchString(name) {
		return fmt.Errorf("namespace %q must be the name of a Kubernetes namespace: lower-case letters, digits and -", name)
	}
	return nil
}

// Validate says everything that is wrong before anything is asked.
func (p *Pull) Validate() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if err := CheckNamespace(p.Namespace); err != nil {
		faults = append(faults, err)
	}
	if p.Step < time.Second || p.Step > time.Hour || p.Step%time.Second != 0 {
		add("step %v must be whole seconds from 1s to 1h", p.Step)
	}
	if p.Step > 0 && p.Since < 2*p.Step {
		add("since %v must be at least two steps of %v", p.Since, p.Step)
	}
	if p.Scrape < 0 {
		add("scrape interval %v must not be negative", p.Scrape)
	}
	if p.Until.After(p.Now) {
		add("until %s lies in the future", p.Until.Format(time.RFC3339))
	}
	if p.Preset != nil {
		if err := p.Preset.Override(p.Variables); err != nil {
			faults = append(faults, err)
		}
	}
	for i := range p.Queues {
		faults = append(faults, p.Queues[i].Check())
	}
	return errors.Join(faults...)
}

// Run pulls part by part. It goes on where one that was interrupted stopped.
func (p *Pull) Run(ctx context.Context) (*Report, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	m, seen, err := p.begun()
	if err != nil {
		return nil, err
	}
	if err := p.settle(ctx, &m, seen); err != nil {
		return nil, err
	}
	setting := Setting{Namespace: p.Namespace, Step: p.Step, Scrape: seen.Scrape, Variables: p.Variables}
	preset, err := p.Preset.WithQueues(p.Queues, true)
	if err != nil {
		return nil, err
	}
	list := jobs(preset, setting)
	w, err := history.NewWriter(p.Dir, m)
	if err != nil {
		return nil, err
	}
	if err := seen.sameQueries(list, p.Dir); err != nil {
		return nil, err
	}
	m = w.Manifest()
	report := &Report{Parts: m.Parts()}
	if err := p.parts(ctx, w, list, seen, report); err != nil {
		return nil, err
	}
	if len(seen.services()) == 0 {
		return nil, p.forget(fmt.Errorf("no query of preset %s has a result for namespace %s: nothing was written", p.Preset.Name,
			p.Namespace))
	}
	scaled, notes, err := p.Client.autoscalers(ctx, p.Preset, setting, m.At(m.Steps-1))
	if err != nil {
		return nil, err
	}
	for _, note := range notes {
		seen.note(note)
	}
	err = w.Finish(func(m *history.Manifest) {
		m.Autoscalers = scaled
		m.Absent = seen.absences(p.Preset)
		m.Notes = seen.notes(m.Start, m.At(m.Steps-1), m.Step)
	})
	if err != nil {
		return nil, err
	}
	report.Manifest, report.Services, report.Calls = w.Manifest(), seen.services(), len(seen.Values["call rate"])
	return report, os.Remove(filepath.Join(p.Dir, stateFile))
}

// begun is the manifest to write, and what is known from a pull that was
// interrupted: its end, fixed when it began, stays.
func (p *Pull) begun() (history.Manifest, *Seen, error) {
	end := p.Until
	if end.IsZero() {
		end = p.Now.Add(-behind)
	}
	end = stepEnd(end, p.Step)
	steps := int(p.Since / p.Step)
	m := history.Manifest{
		Source: p.Client.Source(), Namespace: p.Namespace, Step: p.Step, Steps: steps, By: p.By, Part: p.PartSteps,
		Start: end.Add(-time.Duration(steps-1) * p.Step),
	}
	if m.Part == 0 {
		m.Part = history.PartOf(p.Step)
	}
	seen := &Seen{Values: map[string][]string{}}
	there, err := history.ReadManifest(p.Dir)
	if errors.Is(err, history.ErrNoHistory) {
		return m, seen, nil
	}
	if err != nil {
		return m, nil, err
	}
	if there.Complete {
		_, err := history.NewWriter(p.Dir, there) // it says so
		return m, nil, err
	}
	if p.Until.IsZero() {
		m.Start = there.Start
	}
	if p.Preset == nil {
		m.Preset = there.Preset
	}
	if err := seen.load(p.Dir); err != nil {
		return m, nil, err
	}
	return m, seen, nil
}

// settle finds out what is not given: the preset and how often it was scraped.
func (p *Pull) settle(ctx context.Context, m *history.Manifest, seen *Seen) error {
	start, end := m.At(0), m.At(m.Steps-1)
	rough := Setting{Namespace: p.Namespace, Step: p.Step, Scrape: max(p.Scrape, seen.Scrape), Variables: p.Variables}
	if p.Preset == nil && m.Preset != "" { // that of the pull that was interrupted
		preset, err := Load(m.Preset)
		if err != nil {
			return fmt.Errorf("go on in %s: %w; give the preset or the queries again", p.Dir, err)
		}
		p.Preset = preset
	}
	if p.Preset != nil && seen.Queries == "" {
		found, err := p.Client.fits(ctx, p.Preset, rough, start, end)
		switch {
		case err != nil:
			return err
		case found == noNumbers:
			return onlyNaN([]string{p.Preset.Name}, p.Namespace, start, end)
		case found == noSeries:
			return p.Client.nothing(ctx, p.Preset, p.Namespace, start, end)
		}
	}
	if p.Preset == nil {
		best, others, err := p.Client.Detect(ctx, rough, start, end)
		if err != nil {
			return err
		}
		p.Preset = best
		text := fmt.Sprintf("preset %s fits: %s", best.Name, best.About)
		for _, other := range others {
			text += fmt.Sprintf("; %s would fit too (--preset %s)", other, other)
		}
		p.say(text)
		if err := best.Override(p.Variables); err != nil {
			return err
		}
	}
	m.Preset = p.Preset.Name
	switch {
	case seen.Scrape > 0:
		if p.Scrape > 0 && p.Scrape != seen.Scrape {
			return fmt.Errorf("%s was begun with a scrape interval of %v, not %v; choose another folder or remove it", p.Dir,
				seen.Scrape, p.Scrape)
		}
		return nil
	case p.Scrape > 0:
		seen.Scrape = p.Scrape
		return nil
	}
	scrape, err := p.Client.ScrapeInterval(ctx, p.Preset, rough, start, end)
	if errors.Is(err, errNoScrapes) {
		scrape, err = p.Step, nil
		seen.note(fmt.Sprintf("how often the server scrapes could not be seen; taken as the step of %v", p.Step))
	}
	if err != nil {
		return err
	}
	seen.Scrape = scrape
	p.say(fmt.Sprintf("scraped every %v: rates are taken over %v", scrape, Setting{Step: p.Step, Scrape: scrape}.Window()))
	return nil
}

// parts reads and writes those that are not there yet.
func (p *Pull) parts(ctx context.Context, w *history.Writer, list []*job, seen *Seen, report *Report) error {
	m := w.Manifest()
	total := float64(m.Parts() * len(list))
	for i := range m.Parts() {
		done := i * len(list)
		if w.Has(i) {
			if !seen.loaded {
				return fmt.Errorf("%s holds parts of a pull but no %s, without which it is not known what is absent in them; remove "+
					"the folder and pull again", p.Dir, stateFile)
			}
			report.Kept++
			continue
		}
		p.progress(float64(done) / total)
		from, to := m.Span(i)
		tick := make(chan struct{}, len(list))
		finished := make(chan struct{})
		go func() { // progress is told by one goroutine only
			defer close(finished)
			for range tick {
				done++
				p.progress(float64(done) / total)
			}
		}()
		h, err := readPart(ctx, p.Client, list, Span{Start: m.At(from), Step: m.Step, Steps: to - from}, seen,
			func() { tick <- struct{}{} })
		close(tick)
		<-finished
		if err != nil {
			return err
		}
		// What was seen first: if it ends between the two, the part is read
		// again and nothing is forgotten.
		if err := seen.save(p.Dir); err != nil {
			return err
		}
		if err := w.WritePart(i, h); err != nil {
			return err
		}
	}
	return nil
}

// forget removes what a pull that found nothing has written.
func (p *Pull) forget(err error) error {
	m, readErr := history.ReadManifest(p.Dir)
	if readErr != nil {
		return err
	}
	files := []string{stateFile}
	for part := range m.Parts() {
		files = append(files, fmt.Sprintf("services-%04d.parquet", part), fmt.Sprintf("calls-%04d.parquet", part),
			fmt.Sprintf("nodes-%04d.parquet", part))
	}
	for _, name := range append(files, history.ManifestFile) {
		if removeErr := os.Remove(filepath.Join(p.Dir, name)); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			return errors.Join(err, removeErr)
		}
	}
	return err
}

func (p *Pull) progress(share float64) {
	if p.Progress != nil {
		p.Progress(share)
	}
}

func (p *Pull) say(text string) {
	if p.Say != nil {
		p.Say(text)
	}
}

// sameQueries refuses to go on with other queries than those of the parts that
// are there.
func (s *Seen) sameQueries(list []*job, dir string) error {
	hash := sha256.New()
	for _, j := range list {
		fmt.Fprintf(hash, "%s %s %v %v\n%s\n", j.of, j.name(), j.query.Scale, j.labels(), j.text)
	}
	sum := fmt.Sprintf("%x", hash.Sum(nil))
	if s.Queries != "" && s.Queries != sum {
		return fmt.Errorf("the pull in %s was begun with other queries; give the same preset, queries and variables, choose another "+
			"folder or remove it", dir)
	}
	s.Queries = sum
	return nil
}

func (s *Seen) load(dir string) error {
	path := filepath.Join(dir, stateFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was killed before its first part
	}
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if err != nil {
		return fmt.Errorf("go on with the pull: %s: %w; remove the folder and pull again", path, err)
	}
	if s.Values == nil {
		s.Values = map[string][]string{}
	}
	s.loaded = true
	return nil
}

func (s *Seen) save(dir string) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(dir, stateFile), func(w io.Writer) error {
		_, err := w.Write(append(data, '\n'))
		return err
	})
}
